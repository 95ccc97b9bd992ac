package replica

import (
	"math"

	"kafsck/batch"
)

// producerWatch keeps the producer state beside the pass, and compares the
// .snapshot and .txnindex files with it.
type producerWatch struct {
	log     *Log
	state   *Producers
	floor   int64 // checkpointed log start: recovery does not read what lies below
	seg     int
	prevEnd int64    // position behind the last batch of the segment
	unread  bool     // bytes before the batch that is judged were no readable batch
	damaged bool     // so were some before any batch
	held    *Anomaly // about a batch behind a gap, until the next one tells whether its offset is right

	txns  txnCursor
	snaps snapshotQueue

	later     []laterStart
	nextLater int64 // the lowest of them, math.MaxInt64 without one
}

func newProducerWatch(l *Log) *producerWatch {
	w := &producerWatch{log: l, state: newProducers(), nextLater: math.MaxInt64}
	if l.State == Live || l.State == Future {
		if v, ok := l.Partition.LogDir.LogStarts.Line(l.Partition); ok {
			w.floor = v
		}
	}
	w.snaps.collect(l)
	l.Producers = w.state
	return w
}

func (w *producerWatch) begin(seg int) error {
	w.seg, w.prevEnd = seg, 0
	return w.beginTxns(w.log.Segments[seg])
}

func (w *producerWatch) message(position, size int64, h *batch.LegacyHeader) error {
	w.prevEnd = position + size
	base := h.Offset
	if h.Codec() != batch.None && w.state.First >= 0 {
		base = min(base, w.state.Next)
	}
	w.pass(base, h.Offset, true)
	return nil
}

// pass takes the offsets of a batch into account.
func (w *producerWatch) pass(base, last int64, whole bool) {
	if w.state.First < 0 && base > w.log.Segments[0].BaseOffset {
		w.state.Complete = false
	}
	w.state.pass(base, last, whole)
}

func (w *producerWatch) batch(position int64, h *batch.Header, raw []byte) error {
	if w.unread = position != w.prevEnd; w.unread {
		w.damaged = true
		w.state.breaks++
	}
	w.prevEnd = position + h.Size()
	last := addOffset(h.BaseOffset, int64(h.LastOffsetDelta))
	if w.held != nil {
		w.release(h.BaseOffset)
	}
	if last >= w.snaps.at {
		if err := w.snaps.before(w, last); err != nil {
			return err
		}
	}
	w.pass(h.BaseOffset, last, int64(h.RecordCount) == int64(h.LastOffsetDelta)+1)
	if last >= w.nextLater {
		w.passLater(h, last)
	}
	if h.ProducerID >= 0 {
		if p := w.state.producer(h.ProducerID); p == nil {
			return nil
		} else if !h.Attributes.Control() {
			w.follows(p, position, h)
			w.state.data(p, h)
		} else if c, timestamp, ok := markerOf(h, raw); ok {
			w.ends(p, position, h, &c)
			done := w.state.marker(p, h, &c, timestamp)
			if done.aborted {
				return w.passTxns(h, last, &done)
			}
		} else if h.RecordCount == 0 { // emptied by the cleaner: it may have been any marker
			if err := w.skipTxns(h, last); err != nil {
				return err
			}
		} else if raw != nil {
			w.invalidMarker(position, h, raw)
		}
	}
	if last >= w.txns.at {
		return w.passTxns(h, last, nil)
	}
	return nil
}

// markerOf decodes the one record of a transaction marker. An empty control batch has
// none; other control records are none.
func markerOf(h *batch.Header, raw []byte) (batch.Control, int64, bool) {
	if raw == nil || h.RecordCount < 1 {
		return batch.Control{}, 0, false
	}
	v := batch.View{Header: *h, Raw: raw}
	for r, err := range v.Records(nil) {
		if err != nil {
			break
		}
		c, err := batch.ParseControl(r.Key, r.Value)
		if err != nil || c.Type != batch.ControlAbort && c.Type != batch.ControlCommit {
			break
		}
		return c, r.Timestamp, true
	}
	return batch.Control{}, 0, false
}

func (w *producerWatch) end(seg int) error {
	if w.prevEnd < w.log.Segments[seg].Log.Size {
		w.state.Complete, w.damaged = false, true // a tail that cannot be read
		w.state.breaks++
	}
	if w.held != nil {
		w.release(math.MaxInt64)
	}
	w.endLater()
	if err := w.endTxns(); err != nil {
		return err
	}
	if seg == len(w.log.Segments)-1 {
		w.tooMany()
		return w.snaps.end(w)
	}
	return nil
}

// anomaly is the frame of one about this segment without offsets.
func (w *producerWatch) anomaly(kind AnomalyKind) Anomaly {
	return Anomaly{Kind: kind, Segment: w.seg, From: -1, To: -1, Epoch: -1}
}
