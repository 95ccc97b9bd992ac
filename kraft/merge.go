package kraft

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"

	"kafsck/batch"
)

// Merged is the history that several copies of one metadata log tell together.
type Merged struct {
	// Log is the history: every batch that some copy on the common line holds whole, and
	// the snapshots of all of them. StartOffset is the lowest, EndOffset the highest of
	// the copies; Gaps are offsets of which no copy has a sound batch. Damaged holds only
	// what stayed unusable: damage within one copy is told by [Read] of that copy.
	Log    *Log
	Copies []Line // parallel to the inputs
}

// Line is how one copy stands to the others.
type Line struct {
	From, To int64 // offsets of its sound batches, those set aside included, half open; -1, -1 without any
	// ForkAt is the base offset of the first batch that differs from that of a copy with
	// precedence, -1 if there is none. What the copy holds from there on is not in the
	// history. Agreed tells that it has batches before which are equal to another copy's:
	// else its line may part earlier.
	ForkAt    int64
	Agreed    bool
	Against   int   // the copy with precedence; -1 without a fork
	RaftEpoch int32 // of the batch at ForkAt; -1 without a fork
	Other     int32 // raft epoch of the other copy's batch there; -1 without a fork
	// Adds counts the batches that the history has from this copy and from none with
	// precedence.
	Adds int
	// Snapshots counts the snapshots that the history has from this copy; of equal ones,
	// that of the copy with precedence.
	Snapshots int
}

// Merge replays several copies of one metadata log as one. An older copy may hold
// records that the newer ones have replaced by a snapshot, and one copy's damage may be
// whole in another:
//
//	copy 0            | snapshot 410 | 405 … 502
//	copy 1   | 0 …                           449
//	merged   | 0 …                           502
//
// Where copies hold different batches at one offset (another CRC or another raft epoch:
// an uncommitted tail that its node would have truncated, or two clusters), the earlier
// of copies counts, and the other one is left out from there on.
//
// The error is a failed read and says nothing about the bytes; Merged is then nil.
func Merge(copies []Input) (*Merged, error) {
	l := &Log{StartOffset: -1, EndOffset: -1, RaftEpoch: -1, EndTimeMs: -1, SnapshotEnd: -1, OpenTransaction: -1}
	m := &merger{
		out: &Merged{Log: l},
		rd: &reader{log: l, replayer: newReplayer(l), decompressor: batch.NewDecompressor(batch.DefaultLimit),
			next: -1, epoch: -1, suspect: -1, left: make([]int64, len(copies))},
	}
	var snapshots []snapshotFile
	for i, in := range copies {
		m.rd.left[i] = math.MaxInt64
		m.out.Copies = append(m.out.Copies, Line{From: -1, To: -1, ForkAt: -1, Against: -1, RaftEpoch: -1, Other: -1})
		s := newSource(in)
		m.sources = append(m.sources, s)
		defer s.stop()
		for _, f := range (&Log{}).snapshots(in.Snapshots) {
			f.copy = i
			snapshots = append(snapshots, f)
		}
		if s.fromZero {
			m.rd.started, m.rd.fromZero, m.rd.certain, m.rd.next = true, true, true, 0
		}
	}
	slices.SortStableFunc(snapshots, func(a, b snapshotFile) int {
		return cmp.Or(cmp.Compare(a.info.EndOffset, b.info.EndOffset), cmp.Compare(b.info.Epoch, a.info.Epoch), cmp.Compare(a.copy, b.copy))
	})
	if err := m.rd.verifyAll(snapshots); err != nil {
		return nil, err
	}
	l.Damaged, l.DamagedDropped = nil, 0 // unusable snapshots are told with their copy
	if err := m.run(); err != nil {
		return nil, err
	}
	if err := m.rd.end(nil); err != nil {
		return nil, err
	}
	for _, f := range snapshots {
		l.Snapshots = append(l.Snapshots, *f.info)
		if f.info.Used {
			m.out.Copies[f.copy].Snapshots++
		}
	}
	if tx := m.rd.replayer.tx; tx != nil {
		l.OpenTransaction = tx.began
	}
	return m.out, nil
}

// merger walks all copies side by side.
type merger struct {
	out     *Merged
	rd      *reader // of the merged line
	sources []*source
}

// source is the batches of one copy, in offset order.
type source struct {
	head     placed
	have     bool // head is a batch that has not been merged yet
	fromZero bool // some segment begins at offset 0
	pull     func() (placed, error, bool)
	stop     func()
}

// placed is a batch with its place. It borrows its bytes until the next one is asked for.
type placed struct {
	file  *segmentFile
	pos   int64
	view  batch.View
	epoch int32 // raft epoch; where the field contradicts its neighbours, theirs
}

var errStop = errors.New("enough")

func newSource(in Input) *source {
	own := &Log{StartOffset: -1}
	segments := own.segments(in.Logs)
	s := &source{}
	for _, f := range segments {
		s.fromZero = s.fromZero || f.base == 0
		if !f.old && own.StartOffset < 0 {
			own.StartOffset = f.base
		}
	}
	s.pull, s.stop = iter.Pull2(batches(own, segments))
	return s
}

// batches yields what [Read] would apply of one copy's segments.
func batches(own *Log, segments []segmentFile) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		rd := &reader{log: own, next: -1, epoch: -1, suspect: -1}
		rd.emit = func(f *segmentFile, pos int64, v batch.View) error {
			if !yield(placed{f, pos, v, rd.raftEpoch(f, pos, &v)}, nil) {
				return errStop
			}
			return nil
		}
		var err error
		for i := range segments {
			if err = rd.segment(&segments[i], i+1 == len(segments)); err != nil {
				break
			}
		}
		if err == nil {
			err = rd.settleLast()
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(placed{}, err)
		}
	}
}

// advance takes the next batch of a copy.
func (m *merger) advance(i int) error {
	s := m.sources[i]
	head, err, ok := s.pull()
	s.have = ok && err == nil
	if !s.have {
		return err
	}
	s.head = head
	line := &m.out.Copies[i]
	if line.From < 0 {
		line.From = head.view.BaseOffset
	}
	line.To = head.view.NextOffset()
	return nil
}

func (m *merger) run() error {
	for i := range m.sources {
		if err := m.advance(i); err != nil {
			return err
		}
	}
	for {
		i := m.lowest()
		if i < 0 {
			return nil
		}
		if err := m.take(i); err != nil {
			return err
		}
	}
}

// lowest is the copy whose next batch has the lowest offset, of several the first; -1
// at the end.
func (m *merger) lowest() int {
	best := -1
	for i, s := range m.sources {
		if s.have && (best < 0 || s.head.view.BaseOffset < m.sources[best].head.view.BaseOffset) {
			best = i
		}
	}
	return best
}

// take merges the batch at the head of a copy, with the same batch of all others.
func (m *merger) take(i int) error {
	b := &m.sources[i].head
	if b.view.BaseOffset < m.rd.next {
		return m.fork(i, -1) // cut differently from what was taken
	}
	// A copy with precedence begins within this batch: it was cut differently.
	for k, s := range m.sources[:i] {
		if s.have && s.head.view.BaseOffset < b.view.NextOffset() {
			return m.fork(i, k)
		}
	}
	others := []int{}
	for k := i + 1; k < len(m.sources); k++ {
		s := m.sources[k]
		if !s.have || s.head.view.BaseOffset != b.view.BaseOffset {
			continue
		}
		if s.head.view.CRC != b.view.CRC || s.head.epoch != b.epoch || s.head.view.NextOffset() != b.view.NextOffset() {
			if err := m.fork(k, i); err != nil {
				return err
			}
			continue
		}
		others = append(others, k)
	}
	line := &m.out.Copies[i]
	line.Adds++
	if m.rd.log.StartOffset < 0 {
		m.rd.log.StartOffset = b.view.BaseOffset
	}
	v := b.view
	v.PartitionLeaderEpoch = b.epoch
	if err := m.rd.batch(b.file, b.pos, v); err != nil {
		return err
	}
	for _, k := range others {
		line.Agreed, m.out.Copies[k].Agreed = true, true
		if err := m.advance(k); err != nil {
			return err
		}
	}
	return m.advance(i)
}

// fork leaves a copy out from its next batch on, since another one contradicts it, and
// reads what is left of it for its end.
func (m *merger) fork(i, against int) error {
	s, line := m.sources[i], &m.out.Copies[i]
	line.ForkAt, line.RaftEpoch = s.head.view.BaseOffset, s.head.epoch
	m.rd.left[i] = line.ForkAt
	line.Other = m.rd.epoch
	if against < 0 {
		against = slices.IndexFunc(m.out.Copies, func(o Line) bool { return o.ForkAt < 0 && o.From >= 0 && o.To > line.ForkAt })
	} else {
		line.Other = m.sources[against].head.epoch
	}
	line.Against = against
	// Nothing says that the copies were one line before: what this one told alone may
	// not be the other's past.
	if !line.Agreed && line.Adds > 0 {
		m.rd.replayer.lose()
		m.rd.certain = false
	}
	for s.have {
		if err := m.advance(i); err != nil {
			return err
		}
	}
	return nil
}
