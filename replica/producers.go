package replica

import (
	"cmp"
	"slices"

	"kafsck/batch"
	"kafsck/segment"
)

// maxProducers bounds how many producers are known at a time: about 100 MB.
const maxProducers = 1 << 19

// Producer is the state of one producer id, as Kafka keeps it, and what it takes
// to explain it.
type Producer struct {
	segment.ProducerEntry

	// TxnFirstRecords is the first offset of the open transaction's first batch that has
	// records, -1 none: the cleaner leaves empty batches of transactions that are over.
	TxnFirstRecords int64
	// TxnStarted is the timestamp of the open transaction's first batch, ms.
	TxnStarted int64
	// LastMarker is the offset of the last transaction marker, -1 none.
	LastMarker int64

	seen   int64 // the snapshot that had it last
	breaks int64 // that the pass had met at its last batch, -1 before the first
	fenced bool  // an older epoch has written: its sequences say nothing
}

// lastEvent is the offset of the last batch or marker.
func (p *Producer) lastEvent() int64 { return max(p.LastOffset, p.LastMarker) }

// open reports whether a transaction is open.
func (p *Producer) open() bool { return p.CurrentTxnFirstOffset >= 0 }

// Producers is the producer state at one offset, as ProducerStateManager would rebuild
// it from all batches before, with two differences that make it a witness: nothing
// expires, and batches below the log start count.
type Producers struct {
	// Complete says that every offset since First was there to read, with all
	// its records. A compacted or damaged log has producers that Kafka knew better.
	Complete bool
	First    int64 // base offset of the first batch, -1 none
	Next     int64 // behind the last batch
	// Overflow says that there were more than 524,288 producers; those beyond are not known.
	Overflow bool

	stepped bool  // an offset stepped back: this one or one before is wrong
	breaks  int64 // places at which a batch may be missing
	byID    map[int64]*Producer
	last    *Producer   // of the batch before
	slab    []Producer  // room for new ones
	all     []*Producer // in order of their first batch
	ongoing []openTxn   // by first offset; those before head and those that ended are over
	head    int
	opened  int // how many are open
}

type openTxn struct {
	first int64
	p     *Producer
}

func newProducers() *Producers { return &Producers{Complete: true, First: -1} }

// All returns the producers in the order in which they were first seen.
func (s *Producers) All() []*Producer { return s.all }

// Get returns the state of a producer id, nil if it is not known.
func (s *Producers) Get(id int64) *Producer { return s.byID[id] }

// Open returns the producers with an open transaction, by its first offset.
func (s *Producers) Open() []*Producer {
	var out []*Producer
	for _, t := range s.ongoing[s.head:] {
		if t.p.CurrentTxnFirstOffset == t.first {
			out = append(out, t.p)
		}
	}
	slices.SortStableFunc(out, func(a, b *Producer) int { return cmp.Compare(a.CurrentTxnFirstOffset, b.CurrentTxnFirstOffset) })
	return slices.Compact(out)
}

// LastStableOffset is the first offset of the oldest open transaction, else the
// offset behind the last batch. The high watermark, which also bounds it, is not
// looked at.
func (s *Producers) LastStableOffset() int64 {
	if t := s.oldestOpen(nil); t != nil {
		return t.first
	}
	return s.Next
}

// oldestOpen returns the oldest open transaction of a producer other than but, which
// has none or none that is the oldest.
func (s *Producers) oldestOpen(but *Producer) *openTxn {
	for s.head < len(s.ongoing) && s.ongoing[s.head].over() {
		s.head++
	}
	for i := s.head; i < len(s.ongoing); i++ {
		if t := &s.ongoing[i]; !t.over() && t.p != but {
			return t
		}
	}
	return nil
}

// began remembers a transaction, and forgets those that are over when they are most.
func (s *Producers) began(p *Producer) {
	s.opened++
	if len(s.ongoing) > 2*s.opened+1024 {
		s.ongoing, s.head = slices.DeleteFunc(s.ongoing, func(t openTxn) bool { return t.over() }), 0
	}
	s.ongoing = append(s.ongoing, openTxn{p.CurrentTxnFirstOffset, p})
}

// sortOngoing puts those of a snapshot, which come in any order, by first offset.
func (s *Producers) sortOngoing() {
	slices.SortFunc(s.ongoing, func(a, b openTxn) int { return cmp.Compare(a.first, b.first) })
}

func (t *openTxn) over() bool { return t.p.CurrentTxnFirstOffset != t.first }

// completed is a transaction that a marker ended, as in CompletedTxn.
type completed struct {
	first, firstRecords int64 // -1: no batch of it was seen
	aborted             bool
	lastStable          int64
}

// pass takes the offsets of a batch into account, whoever wrote it.
func (s *Producers) pass(base, last int64, whole bool) {
	if s.First < 0 {
		s.First, s.Next = base, base
	}
	s.stepped = s.stepped || base < s.Next
	if base != s.Next {
		s.breaks++
	}
	if base != s.Next || !whole {
		s.Complete = false
	}
	s.Next = max(s.Next, addOffset(last, 1))
}

// producer returns the state of an id, new if it must be; nil above the limit.
func (s *Producers) producer(id int64) *Producer {
	if s.last != nil && s.last.ProducerID == id {
		return s.last
	}
	p := s.byID[id]
	if p == nil {
		if len(s.all) >= maxProducers {
			s.Overflow = true
			return nil
		}
		if s.byID == nil {
			s.byID = map[int64]*Producer{}
		}
		if len(s.slab) == 0 {
			s.slab = make([]Producer, min(max(8, len(s.all)), 4096))
		}
		p, s.slab = &s.slab[0], s.slab[1:]
		*p = Producer{ProducerEntry: segment.ProducerEntry{ProducerID: id, ProducerEpoch: -1, LastSequence: -1, LastOffset: -1, Timestamp: -1, CoordinatorEpoch: -1, CurrentTxnFirstOffset: -1}, TxnFirstRecords: -1, TxnStarted: -1, LastMarker: -1, breaks: -1}
		s.byID[id] = p
		s.all = append(s.all, p)
	}
	s.last = p
	return p
}

// data is ProducerAppendInfo.appendDataBatch and ProducerStateEntry.addBatch.
func (s *Producers) data(p *Producer, h *batch.Header) {
	p.newEpoch(h.ProducerEpoch)
	p.breaks = s.breaks
	p.LastSequence, p.LastOffset, p.OffsetDelta, p.Timestamp = h.LastSequence(), h.LastOffset(), h.LastOffsetDelta, h.MaxTimestamp
	if !h.Attributes.Transactional() {
		return
	}
	if !p.open() {
		p.CurrentTxnFirstOffset, p.TxnFirstRecords, p.TxnStarted = h.BaseOffset, -1, h.MaxTimestamp
		s.began(p)
	}
	if p.TxnFirstRecords < 0 && h.RecordCount > 0 {
		p.TxnFirstRecords = h.BaseOffset
	}
}

// newEpoch is ProducerStateEntry.maybeUpdateProducerEpoch: with another epoch, a
// bumped one in the marker of transaction protocol 2 as well, the batches are
// forgotten.
func (p *Producer) newEpoch(epoch int16) {
	if p.ProducerEpoch != epoch {
		p.ProducerEpoch, p.LastSequence, p.LastOffset, p.OffsetDelta = epoch, -1, -1, 0
	}
}

// marker is ProducerAppendInfo.appendEndTxnMarker, ProducerStateEntry.update and
// ProducerStateManager.lastStableOffset(CompletedTxn).
func (s *Producers) marker(p *Producer, h *batch.Header, c *batch.Control, timestamp int64) completed {
	done := completed{first: p.CurrentTxnFirstOffset, firstRecords: p.TxnFirstRecords, aborted: c.Type == batch.ControlAbort}
	if p.open() {
		s.opened--
	}
	p.newEpoch(h.ProducerEpoch)
	p.CurrentTxnFirstOffset, p.TxnFirstRecords, p.TxnStarted = -1, -1, -1
	p.CoordinatorEpoch, p.Timestamp, p.LastMarker = c.CoordinatorEpoch, timestamp, h.BaseOffset
	if done.aborted {
		done.lastStable = addOffset(h.BaseOffset, 1)
		if t := s.oldestOpen(p); t != nil {
			done.lastStable = t.first
		}
	}
	return done
}
