package repair

import (
	"cmp"
	"math"
	"slices"

	"kafsck/diff"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// salvaging is one partition under way.
//
//	copies                              line                             result
//	1 live     |--0--|XXXX|--2--|       chosen: leader, else the         |--0--|--0--|--2--|--2--|
//	2 live     |--0--|--0-|--2--|--2|   newest chain of epochs            from 1  2     1     2
//	3 stray    |--0--|--1--------|      1's batches, filled where
//	                                    a sibling holds the same ones
//	                                    on both sides of the hole        3's epoch 1: lost+found
type salvaging struct {
	*salvage
	p         *incident.Partition
	told      SalvagedPartition
	sources   []*source
	line      []lineRun // the result, ascending
	ref       *source
	compacted bool
	lastWide  bool            // of some copy the last batch alone has fewer records than offsets
	head      int64           // no batch below it is taken: records there were deleted on purpose
	holes     []zone          // of the chosen copy, where bytes are damaged
	wrecks    []replica.Block // its damaged batches whose headers can be read, by written offset
	losses    []replica.Span  // where the chosen copy lacks a segment, or the latest value of a key; compacted
	file      epoch.Cache     // the chosen copy's epoch file, as it lies there; nil malformed
	torn      bool            // bytes that are no batch lie behind its last one
	later     []epoch.Entry   // epochs above those of its batches, and where they began
	final     bool            // the line is finished
	twinsOnly bool            // nothing is taken but what a damaged header names
	reached   int64           // something says that the log once went on to here, exclusive
	reachedBy string
	result    output
	edits     []Edit
	into      *newRoot
}

// source is one copy of the partition.
type source struct {
	copy *incident.Copy
	log  *replica.Log
	t    *target
	told int // index in SalvagedPartition.Copies
	rank int // live 0, then what is set aside

	// cut is where each segment of the log ends for this salvage: behind, another segment has other
	// batches at the same offsets, which a broker reads in place of these. MaxInt64: nowhere.
	cut []int64

	first, next int64 // offsets of its good batches, first > next none
	covers      int64 // offsets that these have
	records     int64 // and records, by their headers
	odd         int64 // whole batches that cannot be taken: others contradict them, or nothing bears them out
	same        []byteRun
	zones       []zone // of offsets that it has otherwise
	waiting     bool   // it has good batches that the line lacks
	ever        bool   // a batch of it is in the line
	file        epoch.Cache

	cleaned bool      // some batch has fewer records than offsets, and is not wrong
	doubted bool      // some offsets may be wrong: bytes are damaged, or offsets do not go on
	sparse  bool      // there are holes between batches that lie side by side: a cleaner or a salvage took some out
	packed  bool      // some batch is compressed, or may have been
	islands []byteRun // whole batches that may be the content of a value, in file order
	// By segment and position: batches whose offsets nothing beside them bears out or which are in a log
	// with holes, and that something else bears out; or that other copies have at other offsets, which
	// then are right, or may be.
	vouched, moved, contested map[[2]int64]bool
	// By segment and position: how many offsets the records take of a batch that claims more, which others have.
	wide map[[2]int64]int64
	// The first and the last offset in compressed messages of format 0 or 1, where the header or
	// the neighbours say another one.
	inside map[[2]int64][2]int64
}

// byteRun is a run of bytes of a segment.
type byteRun struct {
	seg      int
	position int64
	length   int64
}

// zone is a run of offsets of a copy that is not in the result as it stands there, and the bytes.
type zone struct {
	byteRun
	from, to int64 // offsets [from, to), from > to unknown
	epoch    int32 // -1 several or unknown
	mixed    bool
	why      zoneWhy
	blocks   int64
	records  int64 // that the headers claim
	zeros    bool
}

type zoneWhy uint8

const (
	zoneDamaged zoneWhy = iota
	zoneDouble          // offsets that another batch of the same copy has
	zoneShadow          // behind the base of a later segment with other batches
	zoneSame            // a double of what the result has
	zoneOther           // another line
	zoneUnproven
	zoneCleaned    // the same offsets, cleaned at another time
	zoneDeleted    // below the log start: deleted on purpose
	zoneEpoch      // the same records with another leader epoch in the header
	zoneImpossible // whole, with offsets that no log can have
	zoneWide       // whole, and claims more offsets than it has records, which others have
	zoneOffset     // whole, with an offset that it cannot have; the result has it where it belongs
	zoneDenied     // the same, and the result has not
	zoneAlone      // whole, with an offset that nothing bears out
)

// run is a run of neighbouring batches of a copy in the line.
type lineRun struct {
	src      *source
	seg      int
	position int64
	length   int64
	from, to int64 // offsets: first base, last next
	blocks   int64
	records  int64
	epoch    int32 // of all its batches
	soft     bool  // a batch whose epoch field nothing bears out; alone in its run
	instead  bool  // alone too: in the place of the line's batch, which has another epoch
	legacy   bool
}

// maxWrecks bounds the damaged headers that are remembered as evidence.
const maxWrecks = 200_000

const flawed = replica.BadCRC | replica.Unreadable | replica.SuspectBase | replica.Misplaced

// good reports whether a batch can stand in a result where it claims to stand.
func good(b *replica.Block) bool {
	return b.Flaws&flawed == 0 && possible(b)
}

// records is how many a batch has by its header: never more than it has offsets.
func records(b *replica.Block) int64 {
	return max(0, min(int64(b.Records), b.WrittenSpan()))
}

// possible reports whether a log can have a batch's offsets: behind the last one another must be countable, and
// replica cuts what is beyond 2^63−2 off there.
func possible(b *replica.Block) bool {
	return b.Base >= 0 && b.Last >= b.Base && b.Last < math.MaxInt64-1
}

// gather finds the copies that could be read, and reports whether there is one.
func (w *salvaging) gather() bool {
	for _, c := range w.p.Copies {
		if c.State == incident.RemoteState || c.Log == nil && c.Err == nil {
			continue
		}
		told := SalvagedOf{Broker: c.Broker.Name, State: string(c.State), Dir: c.Dir}
		x := &source{copy: c, log: c.Log, told: len(w.told.Copies), first: math.MaxInt64, next: math.MinInt64}
		switch {
		case c.Err != nil:
			told.Error = c.Err.Error()
		case w.byDir[c.Dir] == nil:
			told.Error = "it lies in no directory of the inputs"
		}
		w.told.Copies = append(w.told.Copies, told)
		if told.Error != "" {
			continue
		}
		x.t = w.byDir[c.Dir]
		x.rank = slices.Index([]replica.State{replica.Live, replica.Future, replica.Stray, replica.Delete, replica.Deleted, replica.Replaced, replica.Swap, replica.Cleaned}, c.State)
		if c.Extra {
			x.rank++
		}
		if f := x.log.Partition.Epochs; f != nil && f.Malformed == nil {
			x.file = epoch.Load(f.Entries)
		}
		w.sources = append(w.sources, x)
		for range c.Log.Segments {
			x.cut = append(x.cut, math.MaxInt64)
		}
	}
	return len(w.sources) > 0
}

func (w *salvaging) release() {
	for _, x := range w.sources {
		x.log.Release()
	}
}

// run does all of it.
func (w *salvaging) run() error {
	for _, x := range w.sources {
		if err := w.doubt(x); err != nil {
			return err
		}
	}
	if err := w.wideEverywhere(); err != nil {
		return err
	}
	for _, x := range w.sources {
		if err := w.survey(x); err != nil {
			return err
		}
	}
	if err := w.witness(); err != nil {
		return err
	}
	w.choose()
	w.lendInputs()
	if w.ref == nil {
		return w.nothing()
	}
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.fill(); err != nil {
		return err
	}
	if err := w.classify(); err != nil {
		return err
	}
	if err := w.contradictions(); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	w.gaps()
	return w.keep()
}

// nothing tells of a partition of which no batch is whole; its bytes go to lost+found.
func (w *salvaging) nothing() error {
	w.told.Why = "no copy has a whole batch"
	w.note("nothing could be salvaged: there is no directory for it in the result")
	for _, x := range w.sources {
		if _, err := w.compare(x); err != nil {
			return err
		}
	}
	if err := w.contradictions(); err != nil {
		return err
	}
	if slices.ContainsFunc(w.sources, func(x *source) bool {
		return slices.ContainsFunc(x.zones, func(z zone) bool { return z.why == zoneAlone || z.why == zoneDenied })
	}) {
		w.told.Why = "no copy has a whole batch of which anything bears the offset out"
	}
	return w.keep()
}

// lendInputs makes every .log of every copy an input, and the small files that say something.
func (w *salvaging) lendInputs() {
	for _, x := range w.sources {
		p := x.log.Partition
		for _, seg := range x.log.Segments {
			w.lendFile(p, seg.Log)
		}
		for f := range p.AllFiles() {
			if f.Kind == logdir.KindEpochs || f.Kind == logdir.KindPartitionMetadata {
				w.lendFile(p, f)
			}
		}
		for _, f := range []*logdir.CheckpointFile{p.LogDir.HighWatermarks, p.LogDir.LogStarts} {
			if f != nil {
				w.lend(p.LogDir, f.File)
			}
		}
	}
}

// begin makes the line of the chosen copy's good batches.
func (w *salvaging) begin() error {
	x := w.ref
	w.told.Line = x.told
	w.head = math.MinInt64
	if x.log.LogStartSource != "segment" && x.rank < 2 {
		w.head = x.log.LogStartOffset
	}
	at, damaged := int64(math.MinInt64), false
	if len(x.log.Segments) > 0 {
		at = x.log.Segments[0].BaseOffset
	}
	ends := make([]int64, len(x.log.Segments)) // how far each segment is covered
	var prev *replica.Block
	for b, err := range x.taking() {
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return err
		}
		if !b.ok {
			why := w.misfit(x, b)
			damaged = damaged || why != zoneDouble || b.Next() > at
			if len(w.wrecks) < maxWrecks && (b.Flaws == replica.BadCRC || b.placed) {
				wreck := b.Block
				if b.placed {
					wreck.WrittenBase = b.Base
				}
				w.wrecks = append(w.wrecks, wreck)
			}
			continue
		}
		if prev != nil && (b.Segment != prev.Segment && ends[prev.Segment] < x.log.Segments[prev.Segment].Log.Size || b.Segment == prev.Segment && ends[b.Segment] < b.Position) {
			damaged = true
		}
		if b.Base > at && damaged {
			w.holes = append(w.holes, zone{from: at, to: b.Base, why: zoneDamaged})
		}
		ends[b.Segment] = b.Position + b.Length
		at, damaged = b.Next(), false
		w.push(x, &b.Block)
		prev = &b.Block
	}
	slices.SortFunc(w.wrecks, func(a, b replica.Block) int { return cmp.Compare(a.WrittenBase, b.WrittenBase) })
	for i, seg := range x.log.Segments {
		w.torn = w.torn || (prev == nil || i >= prev.Segment) && seg.Log.Size > ends[i]
	}
	if w.head > w.end() { // the log no longer reaches to where that line says it starts
		w.head = math.MinInt64
	}
	w.limits()
	for _, o := range w.sources {
		if !w.compacted || o == x || o.rank > 0 || x.rank > 0 {
			continue
		}
		ds, err := diff.Pair(x.copy.Content(), o.copy.Content(), diff.Options{Ruler: 0, Compacted: true})
		if err != nil {
			return err
		}
		for _, d := range ds {
			if d.Kind == diff.RecordLoss && d.Bad == 0 {
				w.losses = append(w.losses, replica.Span{From: d.From, To: d.To})
			}
		}
	}
	// An index without its .log tells of a segment that is gone.
	for _, seg := range x.log.Partition.Segments {
		if !w.compacted || x.rank > 0 || seg.Log != nil || seg.Index == nil || seg.Index.Suffix != logdir.NoSuffix {
			continue
		}
		next := int64(math.MaxInt64)
		for _, o := range x.log.Segments {
			if o.BaseOffset > seg.BaseOffset {
				next = min(next, o.BaseOffset)
			}
		}
		w.losses = append(w.losses, replica.Span{From: seg.BaseOffset, To: next})
	}
	return nil
}

// limits finds where, on the chosen copy's line, epochs began that none of its batches has: batches of
// lower epochs at or above such an offset are another line.
func (w *salvaging) limits() {
	x := w.ref
	newest := x.log.Lineage.Latest()
	w.file = nil
	if f := x.log.Partition.Epochs; f != nil && f.Malformed == nil {
		w.file = epoch.Load(f.Entries)
		for _, e := range f.Entries {
			if e.Epoch > newest && e.StartOffset >= w.end() {
				w.later = append(w.later, e)
			}
		}
	}
	short := w.torn
	for _, line := range []*int64{x.log.HighWatermark, x.log.RecoveryPoint} {
		short = short || line != nil && *line > w.end()
	}
	c := newestLeadership(w.p)
	if c != nil && !w.p.Stale && !c.Uncertain && !short && len(w.later) == 0 && x.copy.State == replica.Live && x.copy.Broker.Known && c.Leader == x.copy.Broker.ID && c.LeaderEpoch > newest {
		w.later = append(w.later, epoch.Entry{Epoch: c.LeaderEpoch, StartOffset: w.end()})
	}
}

// push adds a batch to the end of the line.
func (w *salvaging) push(x *source, b *replica.Block) { w.line = appendRun(w.line, x, b, w.compacted) }

// appendRun adds a batch to the last run, or begins one. Where the log was compacted a run may have
// holes between its offsets, as long as its bytes have none.
func appendRun(line []lineRun, x *source, b *replica.Block, sparse bool) []lineRun {
	soft := b.Flaws&replica.SuspectEpoch != 0
	if k := len(line) - 1; k >= 0 && !soft {
		if r := &line[k]; r.src == x && r.seg == b.Segment && r.position+r.length == b.Position && r.epoch == b.Epoch && !r.soft && (sparse || r.to == b.Base) && r.legacy == b.Legacy {
			r.length += b.Length
			r.to = b.Next()
			r.blocks++
			r.records += records(b)
			return line
		}
	}
	return append(line, lineRun{src: x, seg: b.Segment, position: b.Position, length: b.Length, from: b.Base, to: b.Next(), blocks: 1, records: records(b), epoch: b.Epoch, soft: soft, legacy: b.Legacy})
}

// end is the offset behind the line's last batch.
func (w *salvaging) end() int64 {
	if n := len(w.line); n > 0 {
		return w.line[n-1].to
	}
	return math.MinInt64
}
