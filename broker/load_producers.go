package broker

import (
	"maps"
	"math"
	"slices"
	"strings"

	"kafsck/segment"
)

const (
	// producerExpiryMs is producer.id.expiration.ms.
	producerExpiryMs = 24 * 60 * 60 * 1000
	// maxProducers is how many producers are kept. Beyond that those without an open transaction are
	// forgotten: they decide nothing but the size of a snapshot.
	maxProducers = 1 << 20
	snapshotHead = 10
)

// noTxn is the first offset of no transaction. A damaged batch may begin one at -1.
const noTxn = math.MinInt64

// producer is a ProducerStateEntry, without its last batches.
type producer struct {
	id        int64
	timestamp int64 // ms, of its last batch or marker
	txnFirst  int64 // first offset of its open transaction, or noTxn
	epoch     int16
}

func (p *producer) expired(nowMs int64) bool {
	return nowMs != 0 && p.txnFirst == noTxn && nowMs-p.timestamp >= producerExpiryMs
}

// producerState is a ProducerStateManager. LogLoader has one for the log, and makes another one for
// every segment that it recovers.
type producerState struct {
	l         *loader
	snapshots map[int64]string   // offset to file name
	producers map[int64]producer // by id
	ongoing   map[int64]int64    // open transactions: first offset to producer id
	completed map[int64]int64    // those ended, above the high watermark: first offset to marker's offset

	mapEnd, snapEnd int64
}

// newProducerState lists the snapshots that are there. A name that is no offset stops the broker.
func (l *loader) newProducerState() (*producerState, error) {
	ps := &producerState{l: l, producers: map[int64]producer{}, ongoing: map[int64]int64{}, completed: map[int64]int64{}}
	return ps, ps.list()
}

// list is ProducerStateManager.loadSnapshots.
func (ps *producerState) list() error {
	ps.snapshots = map[int64]string{}
	for _, name := range ps.l.snapshotNames() {
		offset, err := offsetFromFileName(name)
		if err != nil {
			return err
		}
		ps.snapshots[offset] = name
	}
	return nil
}

func (l *loader) snapshotNames() []string {
	var names []string
	for n := range l.dir.files {
		if strings.HasSuffix(n, ".snapshot") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func (ps *producerState) latest() (int64, bool) {
	if len(ps.snapshots) == 0 {
		return 0, false
	}
	return slices.Max(slices.Collect(maps.Keys(ps.snapshots))), true
}

func (ps *producerState) offsets() []int64 { return slices.Sorted(maps.Keys(ps.snapshots)) }

// drop is removeAndDeleteSnapshot.
func (ps *producerState) drop(offset int64, why string) {
	name := ps.snapshots[offset]
	delete(ps.snapshots, offset)
	if f := ps.l.dir.files[name]; f != nil {
		delete(ps.l.dir.files, name)
		ps.l.act(Action{Action: ActDeleteSnapshot, File: name, Bytes: f.size, Why: why})
	}
}

// markDeleted is removeAndMarkSnapshotForDeletion.
func (ps *producerState) markDeleted(offset int64) error {
	name, ok := ps.snapshots[offset]
	if !ok {
		return nil
	}
	delete(ps.snapshots, offset)
	f := ps.l.dir.files[name]
	if f == nil {
		return nil // gone already: NoSuchFileException is caught
	}
	if err := ps.l.dir.rename(f, name+".deleted"); err != nil {
		return err
	}
	ps.l.act(Action{Action: ActMarkDeleted, File: name, To: f.name, Bytes: f.size, Why: "its segment is deleted."})
	return nil
}

// removeStray is removeStraySnapshots: snapshots are wanted at segments' base offsets, and one more,
// the largest of the others, if it is not below the last base offset.
func (ps *producerState) removeStray(bases []int64) error {
	if err := ps.list(); err != nil {
		return err
	}
	const why = "no segment begins at its offset."
	stray, some := int64(0), false
	for _, offset := range ps.offsets() {
		if slices.Contains(bases, offset) {
			continue
		}
		if some {
			ps.drop(stray, why)
		}
		stray, some = offset, true
	}
	if some && len(bases) > 0 && stray < slices.Max(bases) {
		ps.drop(stray, why)
	}
	return nil
}

// clear is truncateFullyAndStartAt.
func (ps *producerState) clear(offset int64, why string) {
	clear(ps.producers)
	clear(ps.ongoing)
	clear(ps.completed)
	for _, o := range ps.offsets() {
		ps.drop(o, why)
	}
	ps.snapEnd, ps.mapEnd = 0, offset
}

func (ps *producerState) empty() bool { return len(ps.producers) == 0 && len(ps.completed) == 0 }

// truncateAndReload removes the snapshots out of [logStart, logEnd], and begins with the newest one
// of the rest that can be read.
func (ps *producerState) truncateAndReload(logStart, logEnd int64) error {
	for _, o := range ps.offsets() {
		switch {
		case o > logEnd:
			ps.drop(o, "recovery has got to offset "+itoa(logEnd)+", and snapshots above that are dropped.")
		case o <= logStart:
			ps.drop(o, "it is of offset "+itoa(o)+", not above the log start "+itoa(logStart)+".")
		}
	}
	if logEnd == ps.mapEnd {
		for first, last := range ps.completed {
			if last < logStart {
				delete(ps.completed, first)
			}
		}
		ps.mapEnd = max(ps.mapEnd, logStart)
		ps.snapEnd = logStart
		if o, ok := ps.latest(); ok {
			ps.snapEnd = o
		}
		return nil
	}
	clear(ps.producers)
	clear(ps.ongoing)
	clear(ps.completed)
	for {
		o, ok := ps.latest()
		if !ok {
			ps.snapEnd, ps.mapEnd = logStart, logStart
			return nil
		}
		refused, err := ps.read(ps.snapshots[o])
		if err != nil {
			return err
		}
		if refused == "" {
			ps.snapEnd, ps.mapEnd = o, o
			return nil
		}
		ps.drop(o, "Kafka cannot read it ("+refused+").")
	}
}

// read takes in the producers of a snapshot. refused says why Kafka cannot read the file.
func (ps *producerState) read(name string) (refused string, err error) {
	f := ps.l.dir.files[name]
	if f == nil {
		return "", throw(ioException, "NoSuchFileException", name, "is missing")
	}
	if f.broken {
		return "the rest of a longer file follows it", nil
	}
	take := func(p producer) {
		if p.txnFirst < 0 {
			p.txnFirst = noTxn
		}
		if p.expired(ps.l.in.NowMs) {
			return
		}
		ps.producers[p.id] = p
		if p.txnFirst != noTxn {
			ps.ongoing[p.txnFirst] = p.id
		}
	}
	if f.isState {
		for _, p := range f.state {
			take(p)
		}
		return "", nil
	}
	if f.src == nil {
		return "short", nil
	}
	h, err := ps.l.reader.handle(f.src)
	if err != nil {
		return "", err
	}
	s, err := segment.ReadSnapshot(h, f.size)
	if err != nil {
		return "", err
	}
	if s.Problem != nil {
		if s.Problem.Limit() {
			return "", &tooLarge{file: name, size: f.size}
		}
		return s.Problem.Error(), nil
	}
	for _, e := range s.Producers {
		take(producer{id: e.ProducerID, timestamp: e.Timestamp, txnFirst: e.CurrentTxnFirstOffset, epoch: e.ProducerEpoch})
	}
	return "", nil
}

// take is takeSnapshot: nothing is written where nothing is new.
func (ps *producerState) take() error {
	if ps.mapEnd <= ps.snapEnd {
		return nil
	}
	name := segmentName(ps.mapEnd, ".snapshot")
	f, created, err := ps.l.dir.open(name)
	if err != nil {
		return err
	}
	size := int64(snapshotHead + segment.SnapshotEntrySize*len(ps.producers))
	f.broken = !created && f.size > size // the file is not cut
	f.src, f.held, f.isState = nil, 0, true
	f.size = max(f.size, size)
	f.state = make([]producer, 0, len(ps.producers))
	for _, p := range ps.producers {
		f.state = append(f.state, p)
	}
	ps.l.forgetStates(f)
	ps.snapshots[ps.mapEnd] = name
	ps.snapEnd = ps.mapEnd
	ps.l.act(Action{Action: ActWriteSnapshot, File: name, Why: "the state of " + count(len(ps.producers), "producer") + " at offset " + itoa(ps.mapEnd) + "."})
	return nil
}

// firstUnstable is the first offset of the oldest transaction that is open, or ended above the high
// watermark.
func (ps *producerState) firstUnstable() (int64, bool) {
	least := int64(math.MaxInt64)
	for o := range ps.ongoing {
		least = min(least, o)
	}
	for o := range ps.completed {
		least = min(least, o)
	}
	return least, len(ps.ongoing)+len(ps.completed) > 0
}

// onHighWatermark is onHighWatermarkUpdated.
func (ps *producerState) onHighWatermark(hw int64) {
	for first, last := range ps.completed {
		if last < hw {
			delete(ps.completed, first)
		}
	}
}

// shrink bounds the memory.
func (ps *producerState) shrink() error {
	if len(ps.producers) <= maxProducers {
		return nil
	}
	maps.DeleteFunc(ps.producers, func(_ int64, p producer) bool { return p.txnFirst == noTxn })
	if len(ps.producers) > maxProducers/2 {
		return &tooLarge{file: ps.l.p.Dir, what: "open transactions", size: int64(len(ps.producers))}
	}
	return nil
}

// rebuildProducers is UnifiedLog.rebuildProducerState: the newest snapshot, and then every batch from
// there to the end. Without any snapshot after a clean shutdown the state is taken to be empty.
func (l *loader) rebuildProducers(ps *producerState, logStart, end int64, fromClean bool) error {
	var wanted []int64
	if n := len(l.segments); n > 0 {
		if n > 1 {
			wanted = append(wanted, l.segments[n-2].base)
		}
		wanted = append(wanted, l.segments[n-1].base)
	}
	wanted = append(wanted, end)
	if len(ps.snapshots) == 0 && fromClean {
		for _, o := range wanted {
			ps.mapEnd = o
			if err := ps.take(); err != nil {
				return err
			}
		}
		return nil
	}
	nothingBefore := ps.empty() && ps.mapEnd >= end
	if err := ps.truncateAndReload(logStart, end); err != nil {
		return err
	}
	if end > ps.mapEnd && !nothingBefore {
		last := l.floor(end)
		for _, s := range l.from(ps.mapEnd, end) {
			start := max(s.base, ps.mapEnd, logStart)
			ps.mapEnd = start
			if slices.Contains(wanted, s.base) {
				if err := ps.take(); err != nil {
					return err
				}
			}
			stop := s.log.size
			if s == last {
				at, err := l.translate(s, end)
				if err != nil {
					return err
				}
				if at.ok {
					stop = at.pos
				}
			}
			if err := l.replay(ps, s, start, stop); err != nil {
				return err
			}
		}
	}
	ps.mapEnd = end
	return ps.take()
}

// replay is LogSegment.read and UnifiedLog.loadProducersFromRecords.
func (l *loader) replay(ps *producerState, s *modelSegment, start, stop int64) error {
	at, err := l.translate(s, start)
	if err != nil || !at.ok {
		return err
	}
	if stop < at.pos {
		return throwAt(unchecked, "IllegalArgumentException", s.log.name, at.pos, "offset %d is found behind the end of what is to be read, position %d", start, stop)
	}
	return l.loadProducers(ps, s.log, at.pos, min(stop, s.log.size))
}
