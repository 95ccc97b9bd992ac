package replica

import (
	"fmt"
	"math"

	"kafsck/batch"
)

// What the batches of one producer say about each other. Position and Length are the batch or
// marker in the .log that contradicts the one before it.
const (
	// SequenceGap: its sequence numbers leave some out after the producer's batch before it.
	SequenceGap AnomalyKind = "sequence-gap"
	// SequenceRepeat: its sequence numbers were there before.
	SequenceRepeat AnomalyKind = "sequence-repeat"
	// ProducerEpochBack: a batch or marker of an older producer epoch than the one before it.
	ProducerEpochBack AnomalyKind = "producer-epoch-back"
	// CoordinatorEpochBack: a marker of an older coordinator epoch than the one before it.
	CoordinatorEpochBack AnomalyKind = "coordinator-epoch-back"
	// MarkerInvalid: a control batch of a producer whose record is no transaction marker.
	MarkerInvalid AnomalyKind = "marker-invalid"
	// ProducersNotCompared: there were more producers than are kept; nothing is said of those
	// beyond.
	ProducersNotCompared AnomalyKind = "producers-not-compared"
)

// follows looks at a data batch beside what is known of its producer, before it is added to it.
//
//	epoch, sequences    7: 0–9 | 7: 10–14 | 7: 17–19 | 7: 10–14 | 8: 0–4 | 7: 20–24
//	                                        gap        repeat              epoch back
//
// It is ProducerAppendInfo.checkProducerEpoch and checkSequence, which leaders ask of what clients
// send, and of nothing else. Kafka takes any sequence of a producer that it does not know, so
// that nothing is said where it may have forgotten it (idle for producer.id.expiration.ms, or all
// below the log start), or where a batch between the two may be missing: bytes that cannot
// be read, offsets that the cleaner or somebody else took out.
func (w *producerWatch) follows(p *Producer, position int64, h *batch.Header) {
	if h.ProducerEpoch == p.ProducerEpoch && h.BaseSequence == p.LastSequence+1 || p.breaks < 0 {
		return // in line, or the first batch of a producer
	}
	if w.state.stepped || w.forgotten(p, h) {
		return
	}
	if h.ProducerEpoch < p.ProducerEpoch {
		w.epochBack(p, position, h, "batch")
		p.fenced = true // what it and the real producer write from here on is told with this
		return
	}
	if h.BaseSequence < 0 || p.breaks != w.state.breaks || p.fenced {
		return // a coordinator's own batches have no sequence
	}
	want, last := int32(0), "new producer epoch"
	if h.ProducerEpoch == p.ProducerEpoch && p.LastSequence >= 0 {
		want = batch.IncrementSequence(p.LastSequence, 1)
		last = fmt.Sprintf("last one at offset %d", p.LastOffset)
	}
	if h.BaseSequence == want {
		return
	}
	// Sequences are a circle of 2³¹ numbers: less than half of it ahead is a gap.
	ahead := int64(h.BaseSequence) - int64(want)
	if ahead < 0 {
		ahead += math.MaxInt32 + 1
	}
	kind := SequenceGap
	if ahead >= 1<<30 {
		kind = SequenceRepeat
	}
	if !w.log.Anomalies.room(kind) {
		return
	}
	detail := fmt.Sprintf("producer %d, epoch %d (%s): %d sequence numbers are left out", h.ProducerID, h.ProducerEpoch, last, ahead)
	if kind == SequenceRepeat {
		detail = fmt.Sprintf("producer %d, epoch %d (%s): sequence numbers that were there before", h.ProducerID, h.ProducerEpoch, last)
	}
	a := w.about(kind, position, h)
	a.Want, a.Got, a.Detail = fmt.Sprintf("sequence %d", want), fmt.Sprintf("sequence %d", h.BaseSequence), detail
	w.log.Anomalies.add(a)
}

// ends looks at a marker beside what is known of its producer, before it is added to it.
// Source: ProducerAppendInfo.appendEndTxnMarker, checkCoordinatorEpoch, checkProducerEpoch.
func (w *producerWatch) ends(p *Producer, position int64, h *batch.Header, c *batch.Control) {
	if w.state.stepped {
		return
	}
	if h.ProducerEpoch < p.ProducerEpoch && p.lastEvent() >= 0 && !w.forgotten(p, h) {
		w.epochBack(p, position, h, "marker")
	}
	if p.LastMarker >= 0 && c.CoordinatorEpoch < p.CoordinatorEpoch && w.log.Anomalies.room(CoordinatorEpochBack) {
		a := w.about(CoordinatorEpochBack, position, h)
		a.Want, a.Got = fmt.Sprintf("coordinator epoch %d or above", p.CoordinatorEpoch), fmt.Sprint(c.CoordinatorEpoch)
		a.Detail = fmt.Sprintf("producer %d, epoch %d, marker before it at offset %d", h.ProducerID, h.ProducerEpoch, p.LastMarker)
		w.log.Anomalies.add(a)
	}
}

func (w *producerWatch) epochBack(p *Producer, position int64, h *batch.Header, what string) {
	if !w.log.Anomalies.room(ProducerEpochBack) {
		return
	}
	a := w.about(ProducerEpochBack, position, h)
	a.Want, a.Got = fmt.Sprintf("producer epoch %d or above", p.ProducerEpoch), fmt.Sprint(h.ProducerEpoch)
	a.Detail = fmt.Sprintf("%s of producer %d; its epoch %d was at offset %d", what, h.ProducerID, p.ProducerEpoch, p.lastEvent())
	w.log.Anomalies.add(a)
}

// forgotten reports whether a broker may have known nothing of the producer when it took a batch.
func (w *producerWatch) forgotten(p *Producer, h *batch.Header) bool {
	return p.lastEvent() < w.floor || h.BaseOffset < w.floor ||
		p.Timestamp >= 0 && h.MaxTimestamp-p.Timestamp >= producerExpiry.Milliseconds()
}

// about is an anomaly with the place of a batch.
func (w *producerWatch) about(kind AnomalyKind, position int64, h *batch.Header) Anomaly {
	a := w.anomaly(kind)
	a.Position, a.Length = position, h.Size()
	return placed(a, h)
}

// tooMany says of which producers nothing was looked at.
func (w *producerWatch) tooMany() {
	if !w.state.Overflow {
		return
	}
	a := w.anomaly(ProducersNotCompared)
	a.Position, a.Detail = -1, fmt.Sprintf("the log has more than %d producers: sequences and epochs of those that came later were not compared", maxProducers)
	w.log.Anomalies.add(a)
}

// invalidMarker tells of a control batch of a producer that ends no transaction.
func (w *producerWatch) invalidMarker(position int64, h *batch.Header, raw []byte) {
	if !w.log.Anomalies.room(MarkerInvalid) {
		return
	}
	a := w.about(MarkerInvalid, position, h)
	a.Want, a.Got = "an ABORT or COMMIT record", "none"
	v := batch.View{Header: *h, Raw: raw}
	for r, err := range v.Records(nil) {
		if err != nil {
			a.Got = err.Error()
			break
		}
		c, err := batch.ParseControl(r.Key, r.Value)
		if a.Got = c.Type.String(); err != nil {
			a.Got = err.Error()
		}
		break
	}
	a.Detail = fmt.Sprintf("producer %d, epoch %d", h.ProducerID, h.ProducerEpoch)
	w.log.Anomalies.add(a)
}
