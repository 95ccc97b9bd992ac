package check

import (
	"fmt"
	"iter"
	"strings"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// half is a segment whose .log is gone or was renamed away while files of the
// same base offset kept their names.
type half struct {
	base    int64
	file    *logdir.File // the file that shows it
	renamed *logdir.File // the .log.deleted, nil when the .log is gone
	twin    bool         // a .log of that base exists all the same
	gone    bool         // the offsets of the .log are in no segment of the log
}

// halves finds them. Only directories that a broker would load are looked at.
//
// Renaming goes one file at a time, log first (LogSegment.changeFileSuffixes), and
// a truncation renames a segment that may never have had index files: a
// .log.deleted is half renamed only if it holds something and an index of its
// base offset still has its name.
func halves(l *replica.Log) iter.Seq[half] {
	type names struct{ log, index, deletedLog, deletedIndex *logdir.File }
	byBase := map[int64]*names{}
	var order []int64
	for _, s := range l.Partition.Segments {
		n := byBase[s.BaseOffset]
		if n == nil {
			n = &names{}
			byBase[s.BaseOffset] = n
			order = append(order, s.BaseOffset)
		}
		for _, f := range []*logdir.File{s.Log, s.Index, s.TimeIndex, s.TxnIndex} {
			switch {
			case f == nil:
			case f.Kind == logdir.KindLog && f.Suffix == logdir.Deleted:
				n.deletedLog = f
			case f.Kind == logdir.KindLog:
				n.log = f // a .swap or .cleaned explains its indexes too
			case f.Suffix == logdir.Deleted:
				n.deletedIndex = f
			case f.Suffix == logdir.NoSuffix && n.index == nil:
				n.index = f
			}
		}
	}
	return func(yield func(half) bool) {
		for _, base := range order {
			n := byBase[base]
			if n.index == nil {
				continue
			}
			h := half{base: base, file: n.index, twin: n.log != nil}
			switch {
			case n.deletedLog != nil && n.deletedLog.Size > 0 && n.deletedIndex == nil:
				h.renamed, h.file = n.deletedLog, n.deletedLog
			case n.log != nil:
				continue
			}
			h.gone = !h.twin && inGap(l, base)
			if !yield(h) {
				return
			}
		}
	}
}

// missing yields the base offsets of segments that the log lacks though files of
// them are left: the gap that they leave has its cause told already.
func missing(l *replica.Log) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if l.State != replica.Live && l.State != replica.Future {
			return
		}
		for h := range halves(l) {
			if h.gone && !yield(h.base) {
				return
			}
		}
	}
}

// inGap reports whether a gap between two segments begins at an offset, or
// whether the log ends there while its watermark lies above.
func inGap(l *replica.Log, base int64) bool {
	for _, a := range l.Anomalies.Kept {
		if a.Kind == replica.SegmentGap && a.From == base {
			return true
		}
	}
	return base == l.LogEndOffset && lacks(l) != ""
}

// Directory judges the names in a partition directory and its small files: what a
// broker meets before it reads any record. kraft says that the broker belongs to a
// cluster without ZooKeeper.
func Directory(l *replica.Log, s Subject, kraft bool) []finding.Finding {
	p := l.Partition
	if l.State != replica.Live && l.State != replica.Future {
		return nil
	}
	out := Names(p, s, kraft)
	out = append(out, renames(l, s)...)
	out = append(out, snapshots(l, s)...)
	return out
}

// Names judges the small files and the names of a directory by themselves, whatever
// its log holds. The directory is one that a broker would load.
func Names(p *logdir.Partition, s Subject, kraft bool) []finding.Finding {
	var out []finding.Finding
	out = append(out, partitionMetadata(p, s, kraft)...)
	out = append(out, epochFileText(p, s)...)
	out = append(out, oddNames(p.Unknown, s)...)
	return out
}

// partitionMetadata: PartitionMetadataFile.read, LogManager.isStrayKraftReplica.
func partitionMetadata(p *logdir.Partition, s Subject, kraft bool) []finding.Finding {
	switch {
	case p.MetaFile == nil && kraft && p.State == logdir.Live && !p.Incomplete:
		return []finding.Finding{raise("partition-metadata-missing", damage, s.At(p.Dir), "partition.metadata is missing; this broker would set the directory aside as -stray")}
	case p.Meta != nil && p.Meta.Malformed != nil:
		f := raise("partition-metadata-malformed", damage, s.At(p.MetaFile.Path), fmt.Sprintf("partition.metadata cannot be parsed: %s", p.Meta.Malformed),
			badLine(p.MetaFile.Path, p.Meta.Malformed))
		f.Kafka = startOutcome(p.Meta.Malformed.Unchecked)
		return []finding.Finding{f}
	}
	return nil
}

// startOutcome is what a start does when reading a file of a partition fails:
// LogManager.loadLogs handles an IOException, and nothing else.
func startOutcome(unchecked bool) string {
	if unchecked {
		return "Aborts the start of the broker: the error is one that nobody catches."
	}
	return "Takes the whole log directory offline; with one log directory the broker stops."
}

func epochFileText(p *logdir.Partition, s Subject) []finding.Finding {
	if p.Epochs == nil || p.Epochs.Malformed == nil {
		return nil
	}
	m := p.Epochs.Malformed
	f := raise("epoch-file-malformed", damage, s.At(p.EpochsFile.Path), fmt.Sprintf("leader-epoch-checkpoint cannot be parsed (%s)", m),
		badLine(p.EpochsFile.Path, m))
	f.Kafka = startOutcome(m.Unchecked)
	return []finding.Finding{f}
}

// oddNames judges entries of a directory that no broker gives a meaning to.
func oddNames(unknown []*logdir.File, s Subject) []finding.Finding {
	var left, bad []*logdir.File
	for _, f := range unknown {
		switch {
		case f.Kind == logdir.KindTemporary:
			left = append(left, f)
		case f.Kind == logdir.KindBadSegmentName && f.Suffix != logdir.Deleted && f.Mode.IsRegular():
			bad = append(bad, f) // .deleted files are removed before their names are read
		}
	}
	var out []finding.Finding
	if len(left) > 0 {
		f := raise("tmp-file-leftover", note, s.At(left[0].Path), count(len(left), "unfinished write of a checkpoint was left behind", "unfinished writes of checkpoints were left behind"))
		f.Count, f.Evidence = len(left), fileList(left)
		out = append(out, f)
	}
	if len(bad) > 0 {
		f := raise("bad-segment-name", damage, s.At(bad[0].Path), count(len(bad), "file ends like a segment's but has no base offset for a name", "files end like a segment's but have no base offset for a name"))
		f.Count = len(bad)
		for _, x := range bad[:min(len(bad), maxExamples)] {
			f.Evidence = append(f.Evidence, says("%s: %s", x.Path, x.Why))
		}
		if strings.Contains(bad[0].Why, "20 digits") {
			f.Kafka = "Opens, and so creates, the file with that number in 20 digits instead: these records are not served."
		}
		out = append(out, f)
	}
	return out
}

func fileList(list []*logdir.File) []finding.Evidence {
	var out []finding.Evidence
	for _, f := range list[:min(len(list), maxExamples)] {
		out = append(out, says("%s, %s", f.Path, inBytes(f.Size)))
	}
	return out
}

// renames judges segments of which some files are gone.
func renames(l *replica.Log, s Subject) []finding.Finding {
	var out []finding.Finding
	var orphans []half
	lost := 0
	for h := range halves(l) {
		if h.renamed == nil {
			if h.base >= l.LogEndOffset && h.gone {
				continue // activeSegment tells
			}
			if h.gone {
				orphans = append([]half{h}, orphans...)
				lost++
			} else {
				orphans = append(orphans, h)
			}
			continue
		}
		severity, what := warning, "a .log of that base offset exists as well"
		switch {
		case h.gone:
			severity, what = loss, "it is the only copy of its offsets here, and the next start deletes it"
		case !h.twin: // renames go log first, and this one was seen in the middle
			severity, what = note, "other segments hold its offsets"
		}
		at := s.At(h.file.Path)
		at.From = h.base
		out = append(out, raise("partial-rename", severity, at, fmt.Sprintf("segment %d: the .log was renamed to .log.deleted, its index files were not; %s", h.base, what),
			says("%s, %s", h.renamed.Path, inBytes(h.renamed.Size))))
	}
	if len(orphans) > 0 {
		severity, summary := note, count(len(orphans), "index file has no .log", "index files have no .log")
		if lost > 0 {
			severity = loss
			summary = count(lost, "segment has index files but no .log, and its offsets are in no other segment", "segments have index files but no .log, and their offsets are in no other segment")
		}
		f := raise("index-orphan", severity, s.At(orphans[0].file.Path), summary)
		f.Count = len(orphans)
		if lost > 0 {
			f.At.From = orphans[0].base
			f.At.To = gapEnd(l, orphans[0].base)
		}
		for _, h := range orphans[:min(len(orphans), maxExamples)] {
			claim := says("%s has no .log", h.file.Path)
			if end := gapEnd(l, h.base); h.gone && end > h.base {
				claim.Claim += fmt.Sprintf(": %s are missing", span(h.base, end))
			}
			f.Evidence = append(f.Evidence, claim)
		}
		out = append(out, f)
	}
	return out
}

// gapEnd is where the gap between segments that begins at an offset ends, -1
// without one.
func gapEnd(l *replica.Log, from int64) int64 {
	for _, a := range l.Anomalies.Kept {
		if a.Kind == replica.SegmentGap && a.From == from {
			return a.To
		}
	}
	return -1
}

// snapshots judges producer snapshots by their names (ProducerStateManager.
// removeStraySnapshots): sound ones lie at a segment's base or at the log end.
func snapshots(l *replica.Log, s Subject) []finding.Finding {
	bases := map[int64]bool{l.LogEndOffset: true}
	for _, seg := range l.Segments {
		bases[seg.BaseOffset] = true
	}
	for h := range halves(l) {
		bases[h.base] = true // what became of the segment is told by renames
	}
	var stray, beyond []*logdir.File
	for _, seg := range l.Partition.Segments {
		f := seg.Snapshot
		switch {
		case f == nil || f.Suffix != logdir.NoSuffix || bases[f.BaseOffset]:
		case f.BaseOffset > l.LogEndOffset:
			beyond = append(beyond, f)
		default:
			stray = append(stray, f)
		}
	}
	var out []finding.Finding
	if len(stray) > 0 {
		f := raise("producer-snapshot-stray", note, s.At(stray[0].Path), count(len(stray), "producer snapshot lies at no segment's base offset", "producer snapshots lie at no segment's base offset"))
		f.Count, f.Evidence = len(stray), fileList(stray)
		out = append(out, f)
	}
	// Where the watermark or the recovery point lies above the log end the missing tail
	// is told of already.
	if len(beyond) > 0 && lacks(l) == "" {
		severity := note // old versions leave them behind when they truncate
		if l.Partition.LogDir.CleanShutdown && !l.HasLegacy {
			severity = warning
		}
		f := raise("producer-snapshot-beyond-end", severity, s.At(beyond[0].Path), fmt.Sprintf("%s above the log end, %d", count(len(beyond), "producer snapshot lies", "producer snapshots lie"), l.LogEndOffset))
		f.Count, f.Evidence = len(beyond), fileList(beyond)
		out = append(out, f)
	}
	return out
}
