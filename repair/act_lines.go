package repair

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/finding"
	"kafsck/logdir"
)

// offsets corrects the partition's lines in the checkpoints of its log directory.
func (w *work) offsets() error {
	if w.t.only != nil || w.dir.State != logdir.Live {
		return nil
	}
	first := w.log.LogStartOffset
	if len(w.log.Segments) > 0 {
		first = w.log.Segments[0].BaseOffset
	}
	for _, l := range []struct {
		code    finding.Code
		name    string
		offset  int64
		what    string
		because string
	}{
		{"log-start-beyond-end", logStarts, first, "the base offset of the first segment", "the records are there, and a start with the line as it is deletes them all"},
		{"log-start-negative", logStarts, first, "the base offset of the first segment", "no log starts below 0"},
		{"recovery-point-beyond-end", recoveryPoints, w.end, "the log end", "no record was flushed above the log end"},
		{"cleaner-position-out-of-range", cleanerOffsets, w.log.LogStartOffset, "the log start", "the cleaner begins there again, which costs time and nothing else"},
	} {
		list := w.of(w.dir, l.code)
		if len(list) == 0 || w.t.lines[lineKey(l.name, w.dir.Topic, w.dir.Partition)] {
			for _, x := range list {
				x.answered = true // an action on the log has the line
			}
			continue
		}
		a := Action{Kind: FixLine, Does: fmt.Sprintf("%s: the line of %s becomes %d, %s; all other lines stay", l.name, w.p.Name, l.offset, l.what), Why: firstSummary(list) + "; " + l.because,
			Undo: "the old file is in lost+found"}
		w.line(&a, l.name, &l.offset)
		if l.name == logStarts {
			w.start = l.offset
		}
		w.add(w.t, w.dir, a, list)
	}
	return nil
}

// directories plans for the files of log directories, when all partitions are known.
func (b *builder) directories() error {
	for _, t := range b.roots {
		if err := b.topicIDs(t); err != nil {
			return err
		}
		if t.only != nil {
			continue
		}
		b.checkpoints(t)
		b.staleLines(t)
		b.scanned(t)
		b.metaProperties(t)
		b.foreign(t)
		b.remoteCache(t)
	}
	return nil
}

// scanned raises the recovery points of logs that the next start would scan from far below their end,
// although every batch, index and snapshot of theirs was read here and nothing is wrong with any: a
// start then scans their last segment alone. Nothing is raised for a log of which anything was told.
func (b *builder) scanned(t *target) {
	list := b.at(t, "recovery-will-scan")
	if len(list) == 0 || t.dir.CleanShutdown || t.dir.RecoveryPoints == nil || t.dir.RecoveryPoints.Malformed != nil || b.writer(t, recoveryPoints) != nil {
		return
	}
	a := Action{Kind: FixLine, Undo: "the old file is in lost+found"}
	for _, f := range t.facts {
		key := lineKey(recoveryPoints, f.dir.Topic, f.dir.Partition)
		told := slices.ContainsFunc(b.found, func(x *found) bool { return x.dir == f.dir && x.Severity > finding.Note })
		at, _ := t.dir.RecoveryPoints.Line(f.dir)
		if f.dir.State != logdir.Live || told || t.lines[key] || at >= f.end || slices.ContainsFunc(b.plan.Actions, func(a Action) bool { return a.Root == t.index && a.Dir == base(f.dir) }) {
			continue
		}
		t.lines[key] = true
		end := f.end
		a.Edits = append(a.Edits, Edit{Op: Line, File: recoveryPoints, Line: &OffsetLine{Topic: f.dir.Topic, Partition: f.dir.Partition, Offset: &end}})
	}
	if len(a.Edits) == 0 {
		return
	}
	a.Does = fmt.Sprintf("%s: %s to the log end; all others stay", recoveryPoints, plural(len(a.Edits), "line is raised", "lines are raised"))
	a.Why = firstSummary(list) + "; every CRC, index and snapshot of these logs was checked here and nothing is wrong with them, so that a scan of their last segments is enough"
	b.add(t, nil, a, list)
}

// checkpoints writes offset checkpoints anew that Kafka refuses, from the lines that can be read and
// believed, and from what the partitions hold.
func (b *builder) checkpoints(t *target) {
	for _, c := range []struct {
		code finding.Code
		name string
		file *logdir.CheckpointFile
		how  string
	}{
		{"recovery-point-file-malformed", recoveryPoints, t.dir.RecoveryPoints, "a partition without a line that can be believed begins its recovery at its last segment"},
		{"watermark-file-malformed", watermarks, t.dir.HighWatermarks, "a partition without a line that can be believed has none: its high watermark comes back from its leader, or its replicas"},
		{"log-start-file-malformed", logStarts, t.dir.LogStarts, "a partition without a line that can be believed starts where its batches and its epoch file say"},
		{"cleaner-file-malformed", cleanerOffsets, t.dir.CleanerOffsets, "a partition without a line is cleaned from its start"},
	} {
		list := b.at(t, c.code)
		if len(list) == 0 || c.file == nil {
			continue
		}
		var lines []checkpoint.OffsetEntry
		for _, f := range t.facts {
			if f.dir.State != logdir.Live {
				continue
			}
			lowest, stands := f.written(c.file)
			e := checkpoint.OffsetEntry{Topic: f.dir.Topic, Partition: f.dir.Partition, Offset: lowest}
			switch {
			case stands:
			case c.name == recoveryPoints:
				e.Offset = f.last
			case c.name == logStarts && f.start > f.first:
				e.Offset = f.start
			default:
				continue
			}
			lines = append(lines, e)
		}
		text := string(checkpoint.FormatOffsets(lines))
		b.add(t, nil, Action{Kind: RewriteOffsets, Does: fmt.Sprintf("%s with %s", c.name, plural(len(lines), "line", "lines")), Why: firstSummary(list) + "; " + c.how,
			Undo: "the old file is in lost+found", Edits: []Edit{{Op: Write, File: c.name, Text: &text}}}, list)
	}
}

// written is the lowest line of a partition in a file that Kafka refuses, and whether it can be
// believed: it lies in the log.
func (f *dirFacts) written(c *logdir.CheckpointFile) (int64, bool) {
	offset, ok := int64(0), false
	for _, e := range c.Entries {
		if e.Topic == f.dir.Topic && e.Partition == f.dir.Partition && e.Offset >= f.first && e.Offset <= f.end && (!ok || e.Offset < offset) {
			offset, ok = e.Offset, true
		}
	}
	// A line may be cut short and still be a number: the last one of a file whose end is missing
	// counts no more than none.
	if n := len(c.Entries); ok && c.Malformed != nil && n > 0 && c.Malformed.Line > n+2 && c.Entries[n-1].Topic == f.dir.Topic && c.Entries[n-1].Partition == f.dir.Partition {
		return 0, false
	}
	return offset, ok
}

// staleLines takes lines out that belong to no directory here.
func (b *builder) staleLines(t *target) {
	for _, c := range []struct {
		name string
		file *logdir.CheckpointFile
	}{{watermarks, t.dir.HighWatermarks}, {recoveryPoints, t.dir.RecoveryPoints}, {logStarts, t.dir.LogStarts}, {cleanerOffsets, t.dir.CleanerOffsets}} {
		if c.file == nil || c.file.Malformed != nil || t.dir.Incomplete {
			continue
		}
		list := b.at(t, "checkpoint-entry-orphan")
		if c.name == cleanerOffsets {
			list = append(list, b.at(t, "cleaner-checkpoint-for-foreign-partition")...)
		}
		list = slices.DeleteFunc(list, func(x *found) bool {
			return !strings.Contains(x.At.File+" "+x.Summary+fmt.Sprint(x.Evidence), c.name)
		})
		if len(list) == 0 {
			continue
		}
		a := Action{Kind: FixLine, Why: firstSummary(list) + "; no directory here is that partition's", Undo: "the old file is in lost+found"}
		var gone []string
		for _, e := range c.file.Entries {
			here := slices.ContainsFunc(t.dir.Partitions, func(p *logdir.Partition) bool {
				return p.Topic == e.Topic && p.Partition == e.Partition && (p.State == logdir.Live || p.State == logdir.Future)
			})
			key := lineKey(c.name, e.Topic, e.Partition)
			if here || t.lines[key] {
				continue
			}
			t.lines[key] = true
			gone = append(gone, fmt.Sprintf("%s-%d", e.Topic, e.Partition))
			a.Edits = append(a.Edits, Edit{Op: Line, File: c.name, Line: &OffsetLine{Topic: e.Topic, Partition: e.Partition}})
		}
		if len(a.Edits) == 0 {
			continue
		}
		if len(gone) > 4 {
			gone = append(gone[:3], fmt.Sprintf("%d more", len(gone)-3))
		}
		a.Does = fmt.Sprintf("%s: the lines of %s go; all others stay", c.name, join(gone))
		b.add(t, nil, a, list)
	}
}
