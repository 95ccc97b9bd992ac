package check

import (
	"fmt"

	"kafsck/finding"
	"kafsck/replica"
)

// reading is what the next start does with a segment of a log before anybody reads it.
type reading uint8

// LogLoader.load: every segment without its .index is recovered alone (loadSegmentFiles); without a clean
// shutdown marker each one that reaches above the recovery point is, and the log ends at the first batch
// that is not whole (recoverLog); all others are taken as they are.
const (
	readUnknown   reading = iota // the copy does not tell
	readNever                    // the clean shutdown marker is there
	readBelow                    // no marker, and the segment lies below the recovery point
	readAlone                    // its .index is missing: it is cut, and the later segments stay
	readRecovered                // it is cut, and every later segment is deleted
)

func (v *view) reading(segment int) reading {
	dir := v.log.Partition
	if v.log.State != replica.Live && v.log.State != replica.Future || dir == nil || dir.LogDir == nil || v.log.Swapped {
		return readUnknown
	}
	d := dir.LogDir
	if d.Bare || d.Partial || d.Incomplete || onlyLogs(dir) {
		return readUnknown
	}
	point, _ := d.RecoveryPoints.Line(dir)
	switch {
	case v.log.Segments[segment].Index == nil:
		return readAlone
	case d.CleanShutdown:
		return readNever
	case v.last(segment) || v.log.Segments[segment+1].BaseOffset > point:
		return readRecovered
	}
	return readBelow
}

// later counts the segments behind one that hold anything.
func (v *view) later(segment int) int {
	n := 0
	for _, s := range v.log.Segments[segment+1:] {
		if s.Log.Size > 0 {
			n++
		}
	}
	return n
}

// cutsOff reports whether the next start deletes good segments behind the zeros at the end of a sealed one.
func (v *view) cutsOff(a replica.Anomaly) bool {
	return v.reading(a.Segment) == readRecovered && v.later(a.Segment) > 0
}

// zeroTailFate says what the next start does with the zeros at the end of a segment, and what that leaves
// to do: in the newest segment they are cut off or stop the broker, in a sealed one they are passed over
// or cost all that follows. "" where the copy does not tell.
func (v *view) zeroTailFate(a replica.Anomaly) (kafka, next string) {
	n := v.later(a.Segment)
	if n == 0 {
		return v.zerosAtEnd(a)
	}
	behind := v.log.Segments[a.Segment+1].BaseOffset
	at := behind // no offset is missing between the zeros and the next segment
	if a.From >= 0 {
		at = a.From
	}
	drops := fmt.Sprintf("cut the log at offset %d and delete the %s behind it, with %s", at, count(n, "segment", "segments"), span(behind, v.log.LogEndOffset))
	const cuts = "kafsck repair plan cuts the zeros off and keeps what follows"
	switch v.reading(a.Segment) {
	case readRecovered:
		kafka = fmt.Sprintf("The next start reads this segment (no clean shutdown marker, recovery point below %d). It will %s.", behind, drops)
		next = "Do not start this broker as it is: " + cuts + "; kafsck predict start shows what a start deletes."
	case readNever:
		kafka = fmt.Sprintf("With the clean shutdown marker the start leaves the zeros where they are, and readers go on with the next segment. A start without the marker that reads this segment (recovery point below %d) would %s.", behind, drops)
		next = "Leave .kafka_cleanshutdown where it is until they are gone: " + cuts + "."
	case readBelow:
		kafka = fmt.Sprintf("The next start does not read this segment: it lies below the recovery point. Readers go on with the next one. A start with a recovery point below %d would %s.", behind, drops)
		next = "Do not lower or delete the recovery point before they are gone: " + cuts + "."
	case readAlone:
		kafka = "The .index of this segment is missing, so that the next start reads it alone: it cuts the zeros off and keeps what follows."
		next = "Nothing for these zeros: the start cuts them off. kafsck repair plan does it beforehand."
	}
	return kafka, next
}

// zerosAtEnd: behind the zeros there is no batch.
func (v *view) zerosAtEnd(a replica.Anomaly) (kafka, next string) {
	switch v.reading(a.Segment) {
	case readNever:
		if !v.last(a.Segment) {
			return "", "" // an empty segment follows: what a start makes of it was not seen
		}
		kafka = "With the clean shutdown marker the start aborts (CorruptRecordException): it looks for the log end in these bytes."
		next = "kafsck repair plan cuts the zeros off; with the marker the broker does not start before."
	case readRecovered, readAlone:
		kafka = "The next start cuts the zeros off."
		next = "Nothing for the zeros: the start cuts them off, and so does kafsck repair plan."
	default:
		return "", ""
	}
	if v.lacks != "" {
		next += " But records of this copy are gone with them: a replica that holds them must lead, not this one (kafsck diff)."
	}
	return kafka, next
}

// tailFate puts what the next start does with a torn or zero tail into its finding.
func (v *view) tailFate(f *finding.Finding, a replica.Anomaly) {
	kafka, next := "", ""
	switch {
	case f.Code == "zero-tail":
		if a.Kind == replica.BadChecksum { // the zeros begin inside it
			a = *v.zeros
		}
		kafka, next = v.zeroTailFate(a)
	case f.Code == "torn-tail" && v.marker() && v.last(a.Segment):
		kafka, next = v.tornBehindMarker(a)
	}
	if next != "" {
		f.Kafka, f.Next = kafka, next
	}
}
