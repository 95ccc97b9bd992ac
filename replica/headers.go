package replica

import (
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
)

// What the header of a batch says by itself although its CRC is right, and how its timestamps lie
// beside a clock.
const (
	// HeaderImpossible: more records than offsets, or a negative number of one of them.
	HeaderImpossible AnomalyKind = "header-impossible"
	// AttributesUnknown: bits of the attributes are set that Kafka does not use.
	AttributesUnknown AnomalyKind = "attributes-unknown"
	// TimestampNegative: a timestamp below -1, which is none.
	TimestampNegative AnomalyKind = "timestamp-negative"
	// FutureTimestamp: the largest timestamp of a segment lies more than a day ahead of the clock
	// in Options.NowMs. From, Position and Length are the batch that has it. One a segment.
	FutureTimestamp AnomalyKind = "timestamp-future"
)

// unusedAttributes are the bits that every Kafka writes as 0.
const unusedAttributes = 1<<16 - 1<<7

// odd reports whether a header needs a look: the number of its records is not that of its offsets,
// or it claims what no broker writes.
func odd(h *batch.Header) bool {
	return h.RecordCount-1 != h.LastOffsetDelta || uint16(h.Attributes)&unusedAttributes != 0 || h.Attributes.Codec() > batch.Zstd || h.MaxTimestamp < -1
}

// oddHeader says what is impossible in one.
func (l *Log) oddHeader(seg int, position int64, h *batch.Header) {
	tell := func(kind AnomalyKind, want, got, detail string) {
		l.Anomalies.add(placed(Anomaly{Kind: kind, Segment: seg, Position: position, Length: h.Size(), Want: want, Got: got, Detail: detail}, h))
	}
	offsets := int64(h.LastOffsetDelta) + 1
	switch {
	case h.LastOffsetDelta < 0 && l.Anomalies.room(HeaderImpossible):
		tell(HeaderImpossible, "at least 0", fmt.Sprint(h.LastOffsetDelta), "lastOffsetDelta")
	case h.LastOffsetDelta >= 0 && (h.RecordCount < 0 || int64(h.RecordCount) > offsets) && l.Anomalies.room(HeaderImpossible):
		tell(HeaderImpossible, fmt.Sprintf("0 to %d records", offsets), fmt.Sprint(h.RecordCount), "recordCount: the batch has no more offsets")
	}
	if x := uint16(h.Attributes) & unusedAttributes; x != 0 && l.Anomalies.room(AttributesUnknown) {
		tell(AttributesUnknown, "bits 7 to 15 are 0", fmt.Sprintf("0x%04x", uint16(h.Attributes)), "attributes")
	}
	if c := h.Attributes.Codec(); c > batch.Zstd && l.Anomalies.room(CodecUnknown) {
		tell(CodecUnknown, "a codec of 0 to 4", fmt.Sprint(int(c)), "")
	}
	if h.MaxTimestamp < -1 && l.Anomalies.room(TimestampNegative) {
		tell(TimestampNegative, "-1 (none) or above", fmt.Sprint(h.MaxTimestamp), "maxTimestamp")
	}
}

const (
	// futureSlack, ms, is how far a stamp may lie ahead: clocks differ, and so do time zones.
	futureSlack = 24 * 3600 * 1000
	// maxFuture bounds how many segments are read again for the batch with the stamp.
	maxFuture = 8
)

// future looks for timestamps that lie ahead of the clock. A log whose epochs all began in that
// future speaks of a clock that is wrong here, and nothing is said.
//
// Source: UnifiedLog.deleteRetentionMsBreachedSegments: the largest stamp of a segment is its age.
func (l *Log) future(nowMs int64) error {
	if nowMs <= 0 {
		return nil
	}
	limit := nowMs + futureSlack
	ahead := true
	for _, ms := range l.EpochStarted {
		ahead = ahead && (ms < 0 || ms > limit)
	}
	if ahead && !slices.ContainsFunc(l.segmentTimes, func(ms int64) bool { return ms >= 0 && ms <= limit }) {
		return nil
	}
	read := 0
	for i, ms := range l.segmentTimes {
		if ms <= limit {
			continue
		}
		a := Anomaly{Kind: FutureTimestamp, Segment: i, Position: -1, Length: -1, From: -1, To: -1, Epoch: -1, Got: fmt.Sprint(ms)}
		if read++; read <= maxFuture {
			if err := l.stamped(i, ms, limit, &a); err != nil {
				return err
			}
		}
		l.Anomalies.add(a)
	}
	return nil
}

// stamped finds the batch of a segment that has its largest stamp, and counts those beyond a limit.
func (l *Log) stamped(seg int, ms, limit int64, a *Anomaly) error {
	s := stream{log: l, prevNext: -1, prevEpoch: -1}
	n := 0
	err := s.run(seg, 0, func(b *Block) bool {
		if b.Segment != seg {
			return false
		}
		if b.Whole() && b.MaxTimestamp > limit {
			n++
			if b.MaxTimestamp == ms && a.From < 0 {
				a.Position, a.Length, a.From, a.To, a.Epoch = b.Position, b.Length, b.Base, b.Next(), b.Epoch
			}
		}
		return true
	})
	if a.Detail = "1 batch of the segment is stamped so"; n != 1 {
		a.Detail = fmt.Sprintf("%s batches of the segment are stamped so", humanize.Comma(int64(n)))
	}
	return err
}
