package replica

import (
	"kafsck/logdir"
	"kafsck/segment"
)

// AnomalyKind names a fact about a log that a sound one does not have.
type AnomalyKind string

// The kinds of anomaly. Whether one is harmless is for the check package to say:
// a torn tail is normal after a kill.
const (
	BadChecksum    AnomalyKind = "bad-crc"
	JunkBytes      AnomalyKind = "junk"
	ZeroHole       AnomalyKind = "zero-hole" // zero bytes with batches behind them
	ZeroTail       AnomalyKind = "zero-tail"
	TornTail       AnomalyKind = "torn-tail"
	EmbeddedBatch  AnomalyKind = "embedded"
	BaseOutOfLine  AnomalyKind = "base-offset-out-of-line"
	EpochOutOfLine AnomalyKind = "epoch-out-of-line"
	Backwards      AnomalyKind = "offsets-backwards"
	Gap            AnomalyKind = "offset-gap"  // inside a segment
	SegmentGap     AnomalyKind = "segment-gap" // between two segments
	BelowSegment   AnomalyKind = "batch-below-segment"
	FormatBack     AnomalyKind = "format-back" // a lower magic than that of the batch before
)

// Anomaly is one such fact with its place.
type Anomaly struct {
	Kind     AnomalyKind
	Segment  int          // index into Log.Segments
	File     *logdir.File // the file concerned; nil: the segment's .log
	Position int64        // byte position of the first byte concerned
	Length   int64        // bytes
	From, To int64        // offsets concerned [From, To), -1 unknown
	Epoch    int32
	Want     string
	Got      string
	Detail   string
}

// maxAnomalies bounds how many anomalies of one kind are kept with their place;
// all are counted.
const maxAnomalies = 256

// Anomalies collects the anomalies of a log.
type Anomalies struct {
	Kept   []Anomaly           // at most maxAnomalies of each kind, in file order
	Counts map[AnomalyKind]int // all of them
}

func (a *Anomalies) add(x Anomaly) {
	if a.Counts == nil {
		a.Counts = map[AnomalyKind]int{}
	}
	a.Counts[x.Kind]++
	if a.Counts[x.Kind] <= maxAnomalies {
		a.Kept = append(a.Kept, x)
	}
}

// room reports whether one more anomaly of a kind is kept with its place, and counts it if not:
// then it need not be made.
func (a *Anomalies) room(kind AnomalyKind) bool {
	if a.Counts[kind] < maxAnomalies {
		return true
	}
	a.Counts[kind]++
	return false
}

func holeKind(k segment.FrameKind, atEnd bool) AnomalyKind {
	switch {
	case k == segment.Zeros && atEnd:
		return ZeroTail
	case k == segment.Zeros:
		return ZeroHole
	case k == segment.Torn && atEnd:
		return TornTail
	}
	return JunkBytes
}
