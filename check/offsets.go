package check

import (
	"fmt"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// Offsets judges what the checkpoint files of the log directory say of a log:
// against its ends and against each other. known is false where the log was not
// read, so that only what needs no record is judged.
func Offsets(l *replica.Log, s Subject) []finding.Finding {
	if l.State != replica.Live && l.State != replica.Future {
		return nil
	}
	var out []finding.Finding
	add := func(f *finding.Finding) bool {
		if f != nil {
			out = append(out, *f)
		}
		return f != nil
	}
	emptied := add(logStart(l, s))
	if !emptied {
		add(shortOfOwnPast(l, s))
	}
	add(cleanerPosition(l, s))
	return out
}

// logStart: LogLoader.load, where the log end lies below the log start.
func logStart(l *replica.Log, s Subject) *finding.Finding {
	d := l.Partition.LogDir
	v, ok := d.LogStarts.Line(l.Partition)
	if !ok || len(l.Segments) == 0 {
		return nil
	}
	at := s.At(d.LogStarts.File.Path)
	var f finding.Finding
	switch first := l.Segments[0].BaseOffset; {
	case v < 0:
		f = raise("log-start-negative", warning, at, fmt.Sprintf("log-start-offset-checkpoint says %d", v))
	case v > l.LogEndOffset && l.LogEndOffset > first:
		at.From, at.To = first, l.LogEndOffset
		f = raise("log-start-beyond-end", loss, at, fmt.Sprintf("log-start-offset-checkpoint says %d, the log holds %s: the next start deletes them all", v, span(first, l.LogEndOffset)),
			finding.Evidence{Claim: d.LogStarts.File.Path, Want: fmt.Sprintf("at most %d", l.LogEndOffset), Got: fmt.Sprint(v)})
	default:
		return nil
	}
	return &f
}

// shortOfOwnPast: the high watermark or the recovery point lies above the log
// end. Where the log ends in a torn batch or in zeros, that finding tells it.
func shortOfOwnPast(l *replica.Log, s Subject) *finding.Finding {
	if newView(l, s).torn {
		return nil
	}
	hw, end := l.HighWatermark, l.LogEndOffset
	var f finding.Finding
	switch {
	case hw != nil && *hw > end:
		at := s.At(l.HighWatermarkFile.Path)
		at.From, at.To = end, *hw
		code, summary := finding.Code("replica-far-behind-own-hw"), fmt.Sprintf("this copy once held everything below %d (its own high watermark), and ends at %d: %s are gone from it", *hw, end, span(end, *hw))
		var evidence []finding.Evidence
		if left := leftovers(l); len(left) > 0 {
			code = "active-segment-removed"
			summary = fmt.Sprintf("the newest segment is gone: the log ends at %d, its high watermark is %d, and files of what followed are left", end, *hw)
			evidence = fileList(left)
		}
		evidence = append([]finding.Evidence{{Claim: l.HighWatermarkFile.Path, Want: fmt.Sprintf("at most the log end, %d", end), Got: fmt.Sprint(*hw)}}, evidence...)
		if l.RecoveryPoint != nil && *l.RecoveryPoint > end {
			evidence = append(evidence, says("the recovery point, up to which everything had been flushed, is %d", *l.RecoveryPoint))
		}
		f = raise(code, loss, at, summary, evidence...)
	case l.RecoveryPoint != nil && *l.RecoveryPoint > end && len(l.Segments) > 0:
		file := l.Partition.LogDir.RecoveryPoints.File.Path
		at := s.At(file)
		at.From, at.To = end, *l.RecoveryPoint
		f = raise("recovery-point-beyond-end", warning, at, fmt.Sprintf("everything below %d had been flushed to this disk, and the log ends at %d", *l.RecoveryPoint, end),
			finding.Evidence{Claim: file, Want: fmt.Sprintf("at most the log end, %d", end), Got: fmt.Sprint(*l.RecoveryPoint)})
	default:
		return nil
	}
	return &f
}

// leftovers are files of segments above the log end: snapshots taken when they
// were rolled or closed, and their indexes.
func leftovers(l *replica.Log) []*logdir.File {
	var out []*logdir.File
	for _, seg := range l.Partition.Segments {
		if seg.Log != nil || seg.Suffix != logdir.NoSuffix {
			continue
		}
		for _, f := range []*logdir.File{seg.Index, seg.TimeIndex, seg.TxnIndex, seg.Snapshot} {
			if f != nil && (f.BaseOffset > l.LogEndOffset || f.BaseOffset == l.LogEndOffset && f.Kind != logdir.KindProducerSnapshot) {
				out = append(out, f)
			}
		}
	}
	return out
}

// cleanerPosition: the first dirty offset lies in [first segment, active segment].
func cleanerPosition(l *replica.Log, s Subject) *finding.Finding {
	d := l.Partition.LogDir
	v, ok := d.CleanerOffsets.Line(l.Partition)
	if !ok || len(l.Segments) == 0 {
		return nil
	}
	first, active := l.Segments[0].BaseOffset, l.Segments[len(l.Segments)-1].BaseOffset
	where := ""
	switch {
	case v > l.LogEndOffset:
		where = fmt.Sprintf("above the log end, %d", l.LogEndOffset)
	case v < first:
		where = fmt.Sprintf("below the first segment, %d", first)
	case v > active:
		where = fmt.Sprintf("inside the active segment, which begins at %d", active)
	default:
		return nil
	}
	f := raise("cleaner-position-out-of-range", warning, s.At(d.CleanerOffsets.File.Path), fmt.Sprintf("the cleaner's position is %d, %s", v, where),
		finding.Evidence{Claim: d.CleanerOffsets.File.Path, Want: fmt.Sprintf("%d to %d", first, active), Got: fmt.Sprint(v)})
	return &f
}
