package check

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/replica"
)

// difference is what a kind of difference between leader-epoch-checkpoint and the
// batches becomes. Kinds that are not here are what healthy brokers leave behind
// and nothing to tell, or told by another rule.
type difference struct {
	kind    epoch.DifferenceKind
	code    finding.Code
	summary string
}

// differences in the order in which one that explains the others comes first: a
// file that Kafka reads otherwise than it is written makes every other difference
// its consequence.
var differences = []difference{
	{epoch.FileAbsent, "epoch-file-missing", "leader-epoch-checkpoint is absent, though batches carry leader epochs"},
	{epoch.FileEmpty, "epoch-file-missing", "leader-epoch-checkpoint has no entries, though batches carry leader epochs"},
	{epoch.FileOnOldFormat, "epoch-file-on-legacy-format", "leader-epoch-checkpoint has entries, but no batch of this log carries a leader epoch"},
	{epoch.NotMonotonic, "epoch-file-not-monotonic", "leader-epoch-checkpoint does not ascend: Kafka holds other entries than it lists"},
	{siblingFile, "epoch-file-of-sibling", "leader-epoch-checkpoint is another replica's, and does not fit the batches of this log"},
	{epoch.InsideOtherEpoch, "epoch-start-wrong", "leader-epoch-checkpoint lets an epoch begin inside the batches of another"},
	{epoch.WrongStart, "epoch-start-wrong", "leader-epoch-checkpoint lets an epoch begin above its first batch"},
	{epoch.EpochMissing, "epoch-range-missing", "batches carry an epoch that leader-epoch-checkpoint does not know"},
	{epoch.BatchesMissing, "epoch-batches-missing", "leader-epoch-checkpoint knows of an epoch whose batches are not in the log"},
	{epoch.BeyondEnd, "epoch-starts-beyond-end", "leader-epoch-checkpoint has an entry above the log end: this copy once reached that offset"},
	{epoch.AtEnd, "epoch-entry-without-batches", "the leader of the newest epoch has written nothing yet"},
	{epoch.EpochFallsBack, "epoch-falls-back", "batches carry an older epoch than batches before them"},
}

// siblingFile is a kind that needs more than one replica to be seen.
const siblingFile epoch.DifferenceKind = "sibling-file"

// sweeping kinds are causes of all differences that follow.
var sweeping = []epoch.DifferenceKind{epoch.FileAbsent, epoch.FileEmpty, epoch.FileOnOldFormat, epoch.NotMonotonic, siblingFile, epoch.InsideOtherEpoch}

// Epochs judges how leader-epoch-checkpoint differs from the batches of a log.
func Epochs(l *replica.Log, s Subject, ds []epoch.Difference) []finding.Finding {
	if l.State != replica.Live && l.State != replica.Future {
		return nil
	}
	if onlyLogs(l.Partition) {
		return nil
	}
	if !slices.ContainsFunc(ds, func(x epoch.Difference) bool { return contradiction(l, x) }) {
		ds = slices.DeleteFunc(slices.Clone(ds), func(x epoch.Difference) bool { return x.Kind == siblingFile })
	}
	var out []finding.Finding
	for _, d := range differences {
		var list []epoch.Difference
		for _, x := range ds {
			if x.Kind == d.kind && !explainedElsewhere(l, x) && (!x.Legitimate || d.kind == epoch.AtEnd || d.kind == epoch.EpochFallsBack) {
				list = append(list, x)
			}
		}
		if len(list) == 0 {
			continue
		}
		swept := slices.Contains(sweeping, d.kind)
		if swept {
			for _, x := range ds {
				if x.Kind != d.kind && !x.Legitimate {
					list = append(list, x)
				}
			}
		}
		out = append(out, epochFinding(l, s, d, list))
		if swept {
			break
		}
	}
	return out
}

// contradiction reports whether the batches disprove an entry of the file, by something
// other than a leader epoch that is wrong itself. Healthy replicas have equal files, so
// that without one an equal file of another replica accuses nobody.
func contradiction(l *replica.Log, d epoch.Difference) bool {
	return d.Kind == epoch.InsideOtherEpoch && !slices.ContainsFunc(l.Anomalies.Kept, func(a replica.Anomaly) bool {
		return a.Kind == replica.EpochOutOfLine && a.From <= d.StartOffset && d.StartOffset < a.To
	})
}

// explainedElsewhere: an entry above the log end and a high watermark above it
// have one cause, and so have an entry whose batches are missing and the gap or the
// damage in which they lay.
func explainedElsewhere(l *replica.Log, d epoch.Difference) bool {
	switch d.Kind {
	case epoch.BeyondEnd:
		return lacks(l) != ""
	case epoch.BatchesMissing:
		for _, a := range l.Anomalies.Kept {
			switch a.Kind {
			case replica.BadChecksum, UnknownMagic, replica.JunkBytes, replica.ZeroHole, replica.Gap, replica.SegmentGap:
				if a.From <= d.StartOffset && d.StartOffset < a.To {
					return true
				}
			}
		}
	}
	return false
}

func epochFinding(l *replica.Log, s Subject, d difference, list []epoch.Difference) finding.Finding {
	c, _ := Lookup(d.code)
	severity := c.Severities[0]
	switch d.kind {
	case epoch.InsideOtherEpoch:
		severity = damage
	case epoch.FileAbsent, epoch.FileEmpty:
		severity = warning
		if rebuilds(l) || l.Partition.EpochsFile == nil && l.Partition.MetaFile == nil && l.Partition.LogDir.Bare {
			severity = note // where both files are missing only some were copied
		}
	}
	at := s.At(l.Partition.Dir)
	if f := l.Partition.EpochsFile; f != nil {
		at.File = f.Path
	}
	first := list[0]
	at.Epoch, at.From = first.Epoch, first.StartOffset
	f := raise(d.code, severity, at, d.summary)
	for _, x := range list {
		if x.Kind == d.kind {
			f.Count++
		}
	}
	f.Count--
	if f.Count > 1 {
		f.Summary = fmt.Sprintf("%s (%d entries)", f.Summary, f.Count)
	}
	for _, x := range list[:min(len(list), maxExamples)] {
		f.Evidence = append(f.Evidence, says("epoch %d at %d: %s", x.Epoch, x.StartOffset, x.Reason))
		if x.Epoch < 0 {
			f.Evidence[len(f.Evidence)-1] = says("%s", x.Reason)
		}
	}
	switch d.kind {
	case epoch.NotMonotonic, siblingFile, epoch.InsideOtherEpoch, epoch.WrongStart:
		f.Evidence = append(f.Evidence, columns(l)...)
	}
	return f
}

// rebuilds reports whether the next start scans the log from its first segment, and
// so writes the whole file again (LogLoader.recoverLog).
func rebuilds(l *replica.Log) bool {
	p, ok := l.Partition.LogDir.RecoveryPoints.Line(l.Partition)
	if !ok {
		p = 0 // no line, or a file that Kafka resets
	}
	return !l.Partition.LogDir.CleanShutdown && !l.Partition.LogDir.Bare && len(l.Segments) > 0 && (len(l.Segments) == 1 || p < l.Segments[1].BaseOffset)
}

// columns shows the file three times: as written, as Kafka holds it, and as the
// batches tell it.
func columns(l *replica.Log) []finding.Evidence {
	return []finding.Evidence{
		{Claim: "as written", Got: entries(l.Checkpoint)},
		{Claim: "as Kafka holds it", Got: entries(l.Loaded)},
		{Claim: "from the batches", Got: entries(l.Lineage.Rebuild())},
	}
}

// entries lists epochs and starts, as a line of the file has them.
func entries(list []epoch.Entry) string {
	const most = 12
	var words []string
	for i, e := range list {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		words = append(words, fmt.Sprintf("%d %d", e.Epoch, e.StartOffset))
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
