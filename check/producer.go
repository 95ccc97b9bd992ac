package check

import (
	"fmt"

	"kafsck/finding"
	"kafsck/replica"
)

// inDenseLog: cleaning takes batches out, and with them their sequence numbers.
func inDenseLog(code finding.Code, severity finding.Severity) func(*view, replica.Anomaly) verdict {
	return func(v *view, _ replica.Anomaly) verdict {
		if v.s.Compacted || v.log.Sparse || v.log.State != replica.Live && v.log.State != replica.Future {
			return verdict{}
		}
		return verdict{code, severity}
	}
}

// producerRules judge what the batches of a producer say about each other.
var producerRules = []rule{
	{replica.SequenceGap, inDenseLog("sequence-gap", warning), plural("batch leaves out sequence numbers of its producer", "batches leave out sequence numbers of their producers")},
	{replica.SequenceRepeat, inDenseLog("sequence-repeat", warning), plural("batch repeats sequence numbers of its producer", "batches repeat sequence numbers of their producers")},
	{replica.ProducerEpochBack, is("producer-epoch-regression", damage), plural("batch has an older producer epoch than the one before it", "batches have older producer epochs than those before them")},
	{replica.CoordinatorEpochBack, is("coordinator-epoch-regression", note), plural("transaction marker has an older coordinator epoch than the one before it", "transaction markers have older coordinator epochs than those before them")},
	{replica.MarkerInvalid, is("transaction-marker-invalid", damage), plural("control batch of a producer holds no transaction marker", "control batches of producers hold no transaction markers")},
	{replica.ProducersNotCompared, is("producers-not-compared", note), func(int) string { return "some producers were not compared" }},
}

// cleanerStuck: the cleaner reads from its position on, and at bytes that it cannot read gives the
// partition up until the broker starts again (LogCleaner.CleanerThread.cleanFilthiestLog,
// LogCleanerManager.markPartitionUncleanable). Its position then never passes them.
func (v *view) cleanerStuck() []finding.Finding {
	l := v.log
	n := len(l.Segments)
	if n == 0 || l.State != replica.Live || !v.s.Compacted {
		return nil
	}
	position, from, known := l.Segments[0].BaseOffset, "the log start: cleaner-offset-checkpoint has no line", false
	if f := l.Partition.LogDir.CleanerOffsets; f != nil {
		if p, ok := f.Line(l.Partition); ok {
			position, from, known = p, f.File.Path, true
		}
	}
	if !known && !v.s.PolicyKnown {
		return nil
	}
	active := l.Segments[n-1].BaseOffset
	if position > l.LogEndOffset || position < l.Segments[0].BaseOffset {
		return nil // told as cleaner-position-out-of-range
	}
	first := -1
	for i := range l.Anomalies.Kept {
		a := &l.Anomalies.Kept[i]
		if a.File != nil || !stopsCleaner(a) {
			continue
		}
		behind := a.To > position
		if a.From < 0 {
			behind = a.Segment == n-1 || l.Segments[a.Segment+1].BaseOffset > position
		}
		if behind && (first < 0 || earlier(a, &l.Anomalies.Kept[first])) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	a := l.Anomalies.Kept[first]
	dirty, segments := int64(0), 0
	for i, s := range l.Segments {
		if i == n-1 || l.Segments[i+1].BaseOffset > position {
			dirty += s.Log.Size
			segments++
		}
	}
	at := v.s.At(v.file(a))
	at.Position, at.Length, at.From, at.To, at.Epoch = a.Position, a.Length, a.From, a.To, a.Epoch
	what := fmt.Sprintf("position %d of %s", a.Position, v.file(a))
	if a.From >= 0 {
		what = span(a.From, a.To)
	}
	wait := fmt.Sprintf("%s from there on, the active one (from offset %d) included, are not cleaned: %s", count(segments, "segment", "segments"), active, inBytes(dirty))
	if a.Segment == n-1 {
		wait += "; the cleaner comes to the damage when the active segment is rolled"
	}
	f := raise("cleaner-stuck-before", damage, at, fmt.Sprintf("the cleaner stands at offset %d and cannot pass %s: %s in %s stay uncleaned", position, what, inBytes(dirty), count(segments, "segment", "segments")),
		finding.Evidence{Claim: from, Got: fmt.Sprintf("%d, the first offset that is not cleaned", position)},
		finding.Evidence{Claim: v.claim(a), Want: a.Want, Got: a.Got},
		says("%s", wait))
	return []finding.Finding{f}
}

// stopsCleaner: Cleaner.buildOffsetMapForSegment and cleanInto check each CRC and decode each
// record; zeros behind the last batch of a segment stop them as well (KAFKA-5431).
func stopsCleaner(a *replica.Anomaly) bool {
	switch a.Kind {
	case replica.BadChecksum, UnknownMagic, replica.JunkBytes, replica.ZeroHole, replica.RecordInvalid, replica.CodecUnknown, replica.LZ4HeaderChecksum:
		return true
	}
	return false
}

func earlier(a, b *replica.Anomaly) bool {
	return a.Segment < b.Segment || a.Segment == b.Segment && a.Position < b.Position
}
