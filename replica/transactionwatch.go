package replica

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

const (
	// maxOpen bounds how many open transactions are known at a time: about 50 MB.
	maxOpen = 1 << 18
	// maxClosed bounds of how many producers without an open transaction the last marker
	// is remembered. Beyond, all are forgotten, and with them what their next marker would
	// be compared with.
	maxClosed = 1 << 17
)

// transactionWatch follows the transactions beside the pass.
type transactionWatch struct {
	log  *Log
	sum  *TransactionTally
	each func(*Transaction) bool // told of finished ones; nil to count only
	open map[int64]*Transaction
	// lastMarker is the last marker of producers without an open transaction.
	lastMarker map[int64]lastMarker
	waiting    []*Transaction // for a marker behind their last batch
	lost       lostMarkers

	seg     int
	prevEnd int64 // position behind the last batch of the segment
	next    int64 // offset behind the last batch, -1 before the first
	holes   int64 // stretches that no batch could be read from
	gaps    int64 // stretches of offsets without a batch
	stopped bool
}

type lastMarker struct {
	coordinatorEpoch int32
	ms               int64
}

func newTransactionWatch(l *Log, sum *TransactionTally) *transactionWatch {
	*sum = TransactionTally{NewestMarkerMs: -1, EndMs: -1, FirstUnknown: -1, unreplicated: -1}
	return &transactionWatch{log: l, sum: sum, open: map[int64]*Transaction{}, lastMarker: map[int64]lastMarker{}, next: -1}
}

func (w *transactionWatch) begin(seg int) error {
	w.seg, w.prevEnd = seg, 0
	if err := w.lost.begin(w.log.Segments[seg]); err != nil {
		return err
	}
	if seg == 0 {
		return w.begunBelow()
	}
	return nil
}

// begunBelow takes transactions that began below the log from producer snapshots: retention
// deletes segments without regard to them. The snapshot at the first segment knows all of
// them; the newest one knows those that were open to its offset, and is all that a start leaves.
func (w *transactionWatch) begunBelow() error {
	l := w.log
	base := l.Segments[0].BaseOffset
	if base == 0 {
		return nil
	}
	switch l.State {
	case Live, Future, Stray, Delete:
	default:
		return nil
	}
	var list []*logdir.File
	for _, s := range l.Partition.Segments { // by base offset
		if f := s.Snapshot; f != nil && logdir.SuffixOf(f.Name) == logdir.NoSuffix && f.BaseOffset >= base {
			list = append(list, f)
		}
	}
	for i, f := range list {
		if i > 0 && i < len(list)-1 {
			continue
		}
		var snap *segment.ProducerSnapshot
		err := withFile(f, func(r rofs.File) error {
			var err error
			snap, err = segment.ReadSnapshot(r, f.Size)
			return err
		})
		if err != nil {
			return err
		}
		if snap.Problem != nil {
			continue // Kafka deletes it
		}
		for i := range snap.Producers {
			e := &snap.Producers[i]
			if first := e.CurrentTxnFirstOffset; first < 0 || first >= base || w.open[e.ProducerID] != nil || w.full() {
				continue
			}
			t := &Transaction{ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch, FirstEpoch: e.ProducerEpoch, State: TransactionOpen,
				First: e.CurrentTxnFirstOffset, Last: -1, Marker: -1, FromSnapshot: true, MarkerEpoch: -1, CoordinatorEpoch: e.CoordinatorEpoch, CoordinatorBefore: e.CoordinatorEpoch,
				FirstMs: -1, LastMs: e.Timestamp, MarkerMs: -1, BeforeMs: -1, AfterMs: -1, Emptied: -1, Segment: -1, Position: -1}
			if e.HasBatch() {
				t.Last = e.LastOffset
			}
			w.open[e.ProducerID] = t
			w.wait(t)
		}
	}
	return nil
}

func (w *transactionWatch) message(position, size int64, h *batch.LegacyHeader) error {
	return w.pass(position, size, h.Offset, h.Offset, h.Codec() != batch.None)
}

// pass takes the place of a batch into account. A compressed message of format 0 or 1 only
// says where it ends.
func (w *transactionWatch) pass(position, size, base, last int64, wrapper bool) error {
	var err error
	switch {
	case position != w.prevEnd:
		w.holes++
		err = w.hole(position-w.prevEnd, w.next, base)
	case w.next >= 0 && base > w.next && !wrapper:
		w.gaps++
		w.sum.Gaps++
		err = w.hole(0, w.next, base)
	}
	w.prevEnd = position + size
	w.next = max(w.next, addOffset(last, 1))
	return err
}

func (w *transactionWatch) batch(position int64, h *batch.Header, raw []byte) error {
	if err := w.pass(position, h.Size(), h.BaseOffset, addOffset(h.BaseOffset, int64(h.LastOffsetDelta)), false); err != nil {
		return err
	}
	w.sum.EndMs = h.MaxTimestamp
	if h.ProducerID < 0 || w.stopped {
		return nil
	}
	switch {
	case !h.Attributes.Control():
		w.data(position, h)
	case h.RecordCount == 0:
		if t := w.open[h.ProducerID]; t != nil {
			t.Emptied = h.BaseOffset
		}
	default:
		c, timestamp, ok := markerOf(h, raw)
		if !ok {
			if w.sum.Unknown++; w.sum.Unknown == 1 {
				w.sum.FirstUnknown = h.BaseOffset
			}
			return nil
		}
		return w.marker(position, h, &c, timestamp)
	}
	return nil
}

// full reports whether no further open transaction can be kept.
func (w *transactionWatch) full() bool {
	if len(w.open) >= maxOpen {
		w.sum.Overflow = true
	}
	return len(w.open) >= maxOpen
}

// data is ProducerAppendInfo.appendDataBatch: the first transactional batch begins a
// transaction, all others belong to it.
func (w *transactionWatch) data(position int64, h *batch.Header) {
	t := w.open[h.ProducerID]
	if !h.Attributes.Transactional() {
		if t != nil {
			t.Mixed = true
		}
		return
	}
	if t == nil {
		if w.full() {
			return
		}
		t = &Transaction{ProducerID: h.ProducerID, FirstEpoch: h.ProducerEpoch, State: TransactionOpen, First: h.BaseOffset, Marker: -1, MarkerEpoch: -1,
			CoordinatorEpoch: -1, CoordinatorBefore: -1, FirstMs: h.MaxTimestamp, MarkerMs: -1, BeforeMs: -1, AfterMs: -1, Emptied: -1, Segment: w.seg, Position: position, holes: w.holes, gaps: w.gaps}
		if m, known := w.lastMarker[h.ProducerID]; known {
			t.CoordinatorEpoch, t.CoordinatorBefore, t.BeforeMs = m.coordinatorEpoch, m.coordinatorEpoch, m.ms
			delete(w.lastMarker, h.ProducerID)
		}
		w.open[h.ProducerID] = t
	}
	t.ProducerEpoch, t.Last, t.LastMs = h.ProducerEpoch, addOffset(h.BaseOffset, int64(h.LastOffsetDelta)), h.MaxTimestamp
	t.AppendTime = h.Attributes.TimestampType() == batch.LogAppendTime
	w.wait(t)
	t.Batches++
	t.Records += int64(max(h.RecordCount, 0))
}

// wait has the next marker say when the last batch was there at the latest.
func (w *transactionWatch) wait(t *Transaction) {
	t.AfterMs = -1
	if !t.waits {
		t.waits, w.waiting = true, append(w.waiting, t)
	}
}

// marker is ProducerAppendInfo.appendEndTxnMarker.
func (w *transactionWatch) marker(position int64, h *batch.Header, c *batch.Control, timestamp int64) error {
	t := w.open[h.ProducerID]
	if t == nil {
		t = &Transaction{ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, FirstEpoch: h.ProducerEpoch, First: -1, Last: -1,
			CoordinatorBefore: -1, FirstMs: -1, LastMs: -1, BeforeMs: -1, AfterMs: -1, Emptied: -1, Segment: w.seg, Position: position, holes: w.holes, gaps: w.gaps}
		if m, known := w.lastMarker[h.ProducerID]; known {
			t.CoordinatorBefore, t.BeforeMs = m.coordinatorEpoch, m.ms
		}
	}
	delete(w.open, h.ProducerID)
	if len(w.lastMarker) >= maxClosed {
		clear(w.lastMarker)
	}
	w.lastMarker[h.ProducerID] = lastMarker{c.CoordinatorEpoch, timestamp}
	w.sum.NewestMarkerMs = max(w.sum.NewestMarkerMs, timestamp)
	for _, x := range w.waiting {
		x.AfterMs, x.waits = timestamp, false
	}
	w.waiting = w.waiting[:0]
	t.State, t.Marker, t.MarkerEpoch, t.CoordinatorEpoch, t.MarkerMs = TransactionCommitted, h.BaseOffset, h.ProducerEpoch, c.CoordinatorEpoch, timestamp
	if c.Type == batch.ControlAbort {
		t.State = TransactionAborted
	}
	if err := w.doubt(t); err != nil {
		return err
	}
	w.finish(t)
	return nil
}

// finish counts a transaction that has ended, and tells of it.
func (w *transactionWatch) finish(t *Transaction) {
	w.settle(t)
	s := w.sum
	switch {
	case t.First < 0:
		s.MarkerOnly++
	case t.State == TransactionAborted:
		s.Aborted++
	default:
		s.Committed++
	}
	if t.FromIndex {
		s.AbortedByIndex++
	}
	if t.Doubtful() {
		s.Doubtful++
	}
	if t.SpansEpochs() {
		s.Spanned++
	}
	if t.CoordinatorBefore > t.CoordinatorEpoch {
		s.Regressed++
	}
	if hw := w.log.HighWatermark; hw != nil && t.First >= 0 && t.Marker >= *hw && (s.unreplicated < 0 || t.First < s.unreplicated) {
		s.unreplicated = t.First
	}
	if w.each != nil && !w.each(t) {
		w.stopped = true
	}
}

// settle says what lay between its beginning and here.
func (w *transactionWatch) settle(t *Transaction) {
	t.Damaged, t.Gap = w.holes > t.holes, w.gaps > t.gaps
}

func (w *transactionWatch) end(seg int) error {
	if rest := w.log.Segments[seg].Log.Size - w.prevEnd; rest > 0 {
		w.holes++
		to := int64(math.MaxInt64)
		if seg+1 < len(w.log.Segments) {
			to = w.log.Segments[seg+1].BaseOffset
		}
		if err := w.hole(rest, w.next, to); err != nil {
			return err
		}
	}
	if seg < len(w.log.Segments)-1 {
		return nil
	}
	w.sum.Open = make([]Transaction, 0, len(w.open))
	for t := range maps.Values(w.open) {
		w.settle(t)
		t.waits = false
		w.sum.Open = append(w.sum.Open, *t)
	}
	slices.SortFunc(w.sum.Open, func(a, b Transaction) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return nil
}

// until and skip: batches without a producer need not be seen one by one.
func (w *transactionWatch) until(next int64) (position, offset int64) {
	if w.next != next {
		return 0, 0
	}
	return math.MaxInt64, math.MaxInt64
}

func (w *transactionWatch) skip(x *skipped) {
	w.prevEnd, w.next, w.sum.EndMs = x.end, x.next, x.maxTime
}
