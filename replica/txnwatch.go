package replica

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// txnCursor walks the entries of a .txnindex by the offset of the ABORT marker.
type txnCursor struct {
	at int64 // LastOffset of cur, math.MaxInt64 without one: what each batch is compared with
	ok bool  // there is one

	file    *logdir.File
	base    int64 // base offset of the segment
	cur     segment.AbortedTxn
	chunk   []segment.AbortedTxn
	next    int
	read    int64 // entries read
	last    int64 // LastOffset of the entry before, base - 1 before the first
	refused bool  // the rest is unreadable to Kafka, or not compared
	bad     int
	stale   int // entries behind the log end
}

func (c *txnCursor) open(file *logdir.File, base int64) error {
	*c = txnCursor{at: math.MaxInt64, file: file, base: base, last: base - 1, chunk: c.chunk[:0]}
	return nil
}

func (c *txnCursor) fill(f rofs.File) error {
	from := c.read * segment.TxnEntrySize
	n := min(c.file.Size-from, chunkEntries*segment.TxnEntrySize)
	c.chunk, c.next = c.chunk[:0], 0
	for t, err := range segment.ScanTxnIndex(io.NewSectionReader(f, from, n), n) {
		if err != nil {
			return at(err, from)
		}
		t.Number = c.read + int64(len(c.chunk))
		c.chunk = append(c.chunk, t)
	}
	c.read += int64(len(c.chunk))
	return nil
}

// take makes the next entry current.
func (c *txnCursor) take() (bool, error) {
	c.at, c.ok = math.MaxInt64, false
	if c.file == nil || c.refused {
		return false, nil
	}
	if c.next == len(c.chunk) {
		if c.file.Size-c.read*segment.TxnEntrySize < segment.TxnEntrySize {
			return false, nil
		}
		if err := withFile(c.file, c.fill); err != nil || len(c.chunk) == 0 {
			return false, err
		}
	}
	c.cur = c.chunk[c.next]
	c.next++
	c.at, c.ok = c.cur.LastOffset, true
	return true, nil
}

func (c *txnCursor) stop() { c.at, c.ok, c.refused = math.MaxInt64, false, true }

// beginTxns makes the first entry of a segment current.
func (w *producerWatch) beginTxns(s *logdir.Segment) error {
	if err := w.txns.open(s.TxnIndex, s.BaseOffset); err != nil {
		return err
	}
	if f := s.TxnIndex; f != nil {
		if n := f.Size % segment.TxnEntrySize; n > 0 {
			a := w.anomaly(TxnIndexMalformed)
			a.File, a.Position, a.Length = f, f.Size-n, n
			a.Want, a.Got, a.Detail = fmt.Sprintf("a multiple of %d bytes", segment.TxnEntrySize), humanize.Comma(f.Size)+" bytes", "partial entry; Kafka ignores it"
			w.log.Anomalies.add(a)
		}
	}
	return w.nextTxn()
}

// nextTxn makes the next entry current that is well formed.
func (w *producerWatch) nextTxn() error {
	c := &w.txns
	for {
		ok, err := c.take()
		if err != nil || !ok {
			return err
		}
		t := &c.cur
		want, got, why := "", "", ""
		switch {
		case t.Refused():
			want, got, why = "version 0", fmt.Sprintf("version 0x%04x", uint16(t.Version)), "refused: Kafka throws here and reads no further"
		case t.LastOffset < c.base:
			want, got, why = fmt.Sprintf("last offset %d or above, the base offset of the segment", c.base), fmt.Sprint(t.LastOffset), "below the segment: Kafka recovers the segment"
		case t.LastOffset <= c.last:
			want, got, why = fmt.Sprintf("last offset above %d, that of the entry before", c.last), fmt.Sprint(t.LastOffset), "order"
		case t.FirstOffset > t.LastOffset:
			want, got, why = fmt.Sprintf("first offset at most %d, the last", t.LastOffset), fmt.Sprint(t.FirstOffset), "first behind last"
		case t.Version != 0:
			c.last = t.LastOffset
			w.badTxn(TxnIndexMalformed, "version 0", fmt.Sprintf("version 0x%04x", uint16(t.Version)), "Kafka reads the entry all the same")
			return nil
		default:
			c.last = t.LastOffset
			return nil
		}
		w.badTxn(TxnIndexMalformed, want, got, why)
		if t.Refused() {
			c.stop()
			return nil
		}
	}
}

// txnAnomaly is one of the current entry.
func (w *producerWatch) txnAnomaly(kind AnomalyKind, want, got, why string) Anomaly {
	c := &w.txns
	a := w.anomaly(kind)
	a.File, a.Position, a.Length = c.file, c.cur.Pos(), segment.TxnEntrySize
	a.From, a.To = c.cur.FirstOffset, addOffset(c.cur.LastOffset, 1)
	a.Want, a.Got, a.Detail = want, got, why
	return a
}

// badTxn tells of the current entry.
func (w *producerWatch) badTxn(kind AnomalyKind, want, got, why string) {
	c := &w.txns
	w.log.Anomalies.add(w.txnAnomaly(kind, want, got, why))
	if c.bad++; c.bad == maxBad {
		w.log.notCompared(w.seg, c.file, c.cur.Pos(), fmt.Sprintf("after %d wrong entries", maxBad))
		c.stop()
	}
}

// passTxns judges the entries up to the last offset of a batch. done is the transaction
// that it aborted, nil if the batch is no ABORT marker.
func (w *producerWatch) passTxns(h *batch.Header, last int64, done *completed) error {
	c := &w.txns
	for c.ok && c.at <= last {
		t := &c.cur
		switch {
		case done != nil && t.LastOffset == h.BaseOffset && t.ProducerID == h.ProducerID:
			w.compareTxn(h, done)
			done = nil
		case w.state.stepped:
		case h.BaseOffset <= t.LastOffset:
			w.badTxn(TxnIndexMismatch, fmt.Sprintf("an ABORT marker of producer %d at offset %d", t.ProducerID, t.LastOffset), describe(h), "no marker")
		case w.state.Complete: // no batch has the offset of the marker, in a log without gaps: they step back
			w.badTxn(TxnIndexMismatch, fmt.Sprintf("an ABORT marker of producer %d at offset %d", t.ProducerID, t.LastOffset), "no batch there", "no marker")
		case !w.unread:
			w.lostMarker()
		}
		if err := w.nextTxn(); err != nil {
			return err
		}
	}
	if done == nil || done.firstRecords < 0 || c.refused || w.state.stepped {
		// An abort without records in this log has no entry: nothing was written, or the
		// cleaner dropped it.
		return nil
	}
	kind := TxnIndexMismatch
	if !c.ok && !w.log.closedSegment(w.seg) {
		kind = TxnIndexBehind
	}
	a := w.anomaly(kind)
	a.File, a.From, a.To = c.file, done.first, addOffset(h.BaseOffset, 1)
	if c.file != nil {
		a.Position = c.read * segment.TxnEntrySize
		if c.ok {
			a.Position = c.cur.Pos()
		}
	}
	a.Want, a.Got, a.Detail = fmt.Sprintf("an entry for the transaction of producer %d that began at offset %d and was aborted at %d", h.ProducerID, done.first, h.BaseOffset), "none", "missing"
	w.held = &a
	return nil
}

// release tells of the anomaly that was held back, unless the next offset shows that
// that of its batch is wrong.
func (w *producerWatch) release(next int64) {
	if next >= w.held.To {
		w.log.Anomalies.add(*w.held)
	}
	w.held = nil
}

// lostMarker tells of a gap where the marker of the current entry should be, if records
// of its transaction are here.
func (w *producerWatch) lostMarker() {
	t := &w.txns.cur
	p := w.state.Get(t.ProducerID)
	if p == nil || !p.open() || p.TxnFirstRecords < t.FirstOffset || p.TxnFirstRecords > t.LastOffset {
		return
	}
	w.badTxn(TxnDataWithoutMarker, fmt.Sprintf("an ABORT marker of producer %d at offset %d, as long as records of its transaction are here", t.ProducerID, t.LastOffset),
		fmt.Sprintf("records from offset %d, no marker", p.TxnFirstRecords), "marker gone")
}

func describe(h *batch.Header) string {
	kind := "a batch of records"
	if h.Attributes.Control() {
		kind = "a control batch"
	}
	if h.ProducerID < 0 {
		return fmt.Sprintf("%s at offset %d without producer id", kind, h.BaseOffset)
	}
	return fmt.Sprintf("%s of producer %d at offset %d that is no ABORT marker", kind, h.ProducerID, h.BaseOffset)
}

// compareTxn compares the current entry with the transaction that the marker ended.
func (w *producerWatch) compareTxn(h *batch.Header, done *completed) {
	t, s := &w.txns.cur, w.state
	switch {
	case s.stepped:
		return
	case !s.Complete:
		// What was cleaned away or damaged may have been part of the transaction. Its records
		// that are left cannot be in front of it.
		if !w.damaged && done.firstRecords >= 0 && t.FirstOffset > done.firstRecords {
			w.badTxn(TxnIndexMismatch, fmt.Sprintf("first offset at most %d", done.firstRecords), fmt.Sprint(t.FirstOffset), "first offset")
		}
		return
	case t.FirstOffset < s.First: // it began before this log does
	case done.first < 0:
		w.badTxn(TxnIndexMismatch, fmt.Sprintf("no entry: the marker at offset %d ends no transaction of producer %d", h.BaseOffset, h.ProducerID), fmt.Sprintf("a transaction from offset %d", t.FirstOffset), "no transaction")
		return
	case t.FirstOffset != done.first && done.first >= w.floor:
		w.badTxn(TxnIndexMismatch, fmt.Sprintf("first offset %d", done.first), fmt.Sprint(t.FirstOffset), "first offset")
		return
	}
	next := h.BaseOffset + 1
	switch {
	case t.LastStableOffset == done.lastStable, t.LastStableOffset >= 0 && t.LastStableOffset < max(s.First, w.floor): // an older transaction, open before this log begins
	case done.lastStable == next && t.LastStableOffset > next:
		// A follower completes the transactions of one fetch at its end: those begun behind
		// the marker in the same fetch are open by then. One that begins there must come.
		if len(w.later) < maxBad {
			w.later = append(w.later, laterStart{t.LastStableOffset, w.txnAnomaly(TxnIndexMismatch, fmt.Sprintf("last stable offset %d, or the first offset of a transaction behind the marker", next), fmt.Sprint(t.LastStableOffset), "last stable offset")})
			w.nextLater = min(w.nextLater, t.LastStableOffset)
		}
	case done.lastStable < w.floor:
	default:
		w.badTxn(TxnIndexMismatch, fmt.Sprintf("last stable offset %d", done.lastStable), fmt.Sprint(t.LastStableOffset), "last stable offset")
	}
}

// laterStart is the last stable offset of an entry that lies behind its marker: where a
// transaction must begin, in the same append and so in the same segment. A larger one makes
// Kafka end its search in the .txnindex too early, and aborted records become visible
// (TransactionIndex.collectAbortedTxns).
type laterStart struct {
	offset int64
	not    Anomaly // told unless a transaction begins there
}

// passLater compares a batch, before the producer state has it, with the starts that it reaches.
func (w *producerWatch) passLater(h *batch.Header, last int64) {
	begins := int64(-1)
	if h.Attributes.Transactional() && !h.Attributes.Control() && h.ProducerID >= 0 {
		if p := w.state.byID[h.ProducerID]; p == nil || !p.open() {
			begins = h.BaseOffset
		}
	}
	w.nextLater = math.MaxInt64
	w.later = slices.DeleteFunc(w.later, func(l laterStart) bool {
		if l.offset > last {
			w.nextLater = min(w.nextLater, l.offset)
			return false
		}
		if l.offset != begins {
			w.lacksStart(l)
		}
		return true
	})
}

// endLater judges the starts that the segment did not reach. The end of the active segment of a
// broker that was killed may be lost, and a start makes its index anew.
func (w *producerWatch) endLater() {
	for _, l := range w.later {
		if w.log.closedSegment(w.seg) || w.log.Partition.LogDir.CleanShutdown {
			w.lacksStart(l)
		}
	}
	w.later, w.nextLater = w.later[:0], math.MaxInt64
}

// lacksStart tells of an entry, where all batches since its marker are known.
func (w *producerWatch) lacksStart(l laterStart) {
	if w.state.Complete && !w.state.stepped && !w.damaged {
		w.log.Anomalies.add(l.not)
	}
}

// skipTxns passes an empty control batch, which may have been the marker.
func (w *producerWatch) skipTxns(h *batch.Header, last int64) error {
	for w.txns.ok && w.txns.at <= last && w.txns.at >= h.BaseOffset {
		if err := w.nextTxn(); err != nil {
			return err
		}
	}
	return nil
}

// endTxns judges the entries behind the last batch of the segment.
func (w *producerWatch) endTxns() error {
	c := &w.txns
	first := int64(-1)
	for c.ok {
		want := fmt.Sprintf("last offset below %d, the end of the segment", w.state.Next)
		switch {
		case !w.log.closedSegment(w.seg):
			if c.stale++; c.stale == 1 {
				first = c.cur.Number
			}
		case w.state.Complete:
			w.badTxn(TxnIndexMismatch, want, fmt.Sprint(c.cur.LastOffset), "behind the segment")
		case w.prevEnd == w.log.Segments[w.seg].Log.Size:
			w.lostMarker()
		}
		if c.stale > maxBad {
			break
		}
		if err := w.nextTxn(); err != nil {
			return err
		}
	}
	if first >= 0 {
		a := w.anomaly(IndexStale)
		a.File, a.Position = c.file, first*segment.TxnEntrySize
		a.Length = c.file.Size - a.Position
		a.Detail = "entries of transactions behind the log end"
		w.log.Anomalies.add(a)
	}
	return nil
}
