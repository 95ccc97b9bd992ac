package repair

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/logdir"
)

// derive adds what follows from a change inside the .log files: their index files, the producer
// snapshots above it, the epoch file, and the lines and the marker that would make a broker trust
// what is gone. changed is the first offset at which another record stands than before, -1 none.
func (s *surgery) derive(a *Action, results []result, changed int64) {
	lastBase, firstChanged := int64(0), int64(math.MaxInt64)
	bases := map[int64]bool{}
	for _, r := range results {
		name := file(s.dir, r.name)
		switch {
		case r.drop:
			a.Edits = append(a.Edits, Edit{Op: Remove, File: name})
			a.Edits = append(a.Edits, s.dropIndexes(r.base)...)
			s.work.mended[r.base] = true
			firstChanged = min(firstChanged, r.base)
			continue
		case r.changed:
			a.Edits = append(a.Edits, Edit{Op: Compose, File: name, Pieces: r.pieces})
			a.Edits = append(a.Edits, s.rebuiltIndexes(r.base, len(r.pieces) == 0)...)
			s.work.mended[r.base] = true
			firstChanged = min(firstChanged, r.base)
		}
		bases[r.base] = true
		lastBase = r.base
	}
	s.sized(results)
	end := s.newEnd(lastBase)
	s.work.end = end
	if changed >= 0 {
		s.derivedSnapshots(a, results, bases, changed, end)
	}
	// The epoch file.
	lineage := s.lineage.TruncateFromEnd(end)
	for _, h := range s.holes {
		for _, b := range h.taken {
			if b.Epoch >= 0 && !lineage.Has(b.Epoch) && (len(lineage) == 0 || b.Epoch > lineage.EpochFor(b.Base)) {
				lineage = insertEpoch(lineage, b.Epoch, b.Base)
			}
		}
	}
	s.lineage = lineage
	if s.epochs.Changed || !slices.Equal(s.epochs.Old.Loaded.TruncateFromEnd(end), lineage.TruncateFromEnd(end)) ||
		slices.ContainsFunc(s.epochs.Old.Written, func(e epoch.Entry) bool { return e.StartOffset > end }) {
		text := string(checkpoint.FormatEpochs(lineage))
		a.Edits = append(a.Edits, Edit{Op: Write, File: file(s.dir, "leader-epoch-checkpoint"), Text: &text})
	}
	if s.t.only != nil {
		a.Why += "; the lines of this partition in its log directory's checkpoints, and the marker .kafka_cleanshutdown, are not in the result: plan on the whole log directory before a broker uses it"
		return
	}
	s.lower(a, firstChanged, end, lastBase)
}

// insertEpoch puts an entry in its place, if epochs and starts go on growing.
func insertEpoch(c epoch.Cache, e int32, start int64) epoch.Cache {
	out := slices.Clone(c)
	at := slices.IndexFunc(out, func(x epoch.Entry) bool { return x.Epoch > e })
	if at < 0 {
		at = len(out)
	}
	if at > 0 && out[at-1].StartOffset >= start || at < len(out) && out[at].StartOffset <= start {
		return c
	}
	return slices.Insert(out, at, epoch.Entry{Epoch: e, StartOffset: start})
}

// newEnd is the log end behind the repair.
func (s *surgery) newEnd(lastBase int64) int64 {
	end := lastBase
	if s.last != nil {
		end = max(end, s.last.Next())
	}
	for _, h := range s.holes {
		if k := len(h.taken); k > 0 {
			end = max(end, h.taken[k-1].Next())
		}
	}
	return end
}

// segmentFiles are the files of a segment that carry no suffix, by base offset.
func (w *work) segmentFiles(base int64) []*logdir.File {
	var out []*logdir.File
	for _, seg := range w.dir.Segments {
		if seg.BaseOffset != base {
			continue
		}
		for _, f := range []*logdir.File{seg.Index, seg.TimeIndex, seg.TxnIndex, seg.Snapshot} {
			if f != nil && f.Suffix == logdir.NoSuffix {
				out = append(out, f)
			}
		}
	}
	return out
}

func (w *work) dropIndexes(base int64) []Edit {
	var out []Edit
	for _, f := range w.segmentFiles(base) {
		if f.Kind != logdir.KindProducerSnapshot {
			out = append(out, Edit{Op: Remove, File: file(w.dir, f.Name)})
		}
	}
	return out
}

// rebuiltIndexes rebuilds the indexes beside a .log; the transaction index where there is one, or
// there are transactions. A broker makes those of an empty segment itself, when it needs them.
func (w *work) rebuiltIndexes(base int64, empty bool) []Edit {
	if empty {
		return w.dropIndexes(base)
	}
	stem := fmt.Sprintf("%020d", base)
	exts := []string{".index", ".timeindex"}
	if w.transactional(base) {
		exts = append(exts, ".txnindex")
	}
	var out []Edit
	for _, ext := range exts {
		out = append(out, w.rebuild(stem+ext, base))
	}
	return out
}

func (w *work) transactional(base int64) bool {
	if w.log.Txns != nil && w.log.Txns.Aborted > 0 {
		return true
	}
	return slices.ContainsFunc(w.segmentFiles(base), func(f *logdir.File) bool { return f.Kind == logdir.KindTxnIndex })
}

// rebuild is the edit of one index file.
func (w *work) rebuild(name string, base int64) Edit {
	e := Edit{Op: Rebuild, File: file(w.dir, name), Logs: []string{file(w.dir, fmt.Sprintf("%020d.log", base))}}
	switch path.Ext(name) {
	case ".index", ".timeindex":
		e.Interval = indexInterval
	case ".txnindex":
		e.Snapshot = w.snapshotAt(base)
	}
	return e
}

// snapshotAt is the newest sound producer snapshot at or below an offset, "" none.
func (w *work) snapshotAt(offset int64) string {
	bad := w.badSnapshots()
	name, best := "", int64(-1)
	for _, seg := range w.dir.Segments {
		f := seg.Snapshot
		if f == nil || f.Suffix != logdir.NoSuffix || f.BaseOffset > offset || f.BaseOffset <= best || slices.Contains(bad, f.Name) || w.edited(f.Name) {
			continue
		}
		name, best = file(w.dir, f.Name), f.BaseOffset
	}
	return name
}

// derivedSnapshots rebuilds the producer snapshots above a change that a load would use, and takes
// the others out.
func (s *surgery) derivedSnapshots(a *Action, results []result, bases map[int64]bool, changed, end int64) {
	below := s.snapshotAt(changed)
	for _, seg := range s.dir.Segments {
		f := seg.Snapshot
		if f == nil || f.Suffix != logdir.NoSuffix || f.BaseOffset <= changed || slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.File == file(s.dir, f.Name) }) {
			continue
		}
		if f.BaseOffset > end || !bases[f.BaseOffset] && f.BaseOffset != end {
			a.Edits = append(a.Edits, Edit{Op: Remove, File: file(s.dir, f.Name)})
			continue
		}
		logs := logsBetween(s.dir, results, offsetOf(below), f.BaseOffset)
		if below == "" && len(logs) == 0 {
			// The log begins here now. What the snapshot says of producers is all that is left of them, as
			// where retention took the segments below.
			if slices.Contains(s.badSnapshots(), f.Name) {
				a.Edits = append(a.Edits, Edit{Op: Remove, File: file(s.dir, f.Name)})
			}
			continue
		}
		a.Edits = append(a.Edits, Edit{Op: Rebuild, File: file(s.dir, f.Name), Snapshot: below, Logs: logs})
	}
}

// offsetOf is the offset in a snapshot's name, -1 for none.
func offsetOf(name string) int64 {
	var n int64 = -1
	fmt.Sscanf(strings.TrimLeft(strings.TrimSuffix(path.Base(name), ".snapshot"), "0")+" ", "%d", &n)
	if n < 0 && name != "" {
		return 0
	}
	return n
}

// logsBetween are the .log files of the result that hold offsets of [from, to); from -1: all below to.
func logsBetween(dir *logdir.Partition, results []result, from, to int64) []string {
	var out []string
	for i, r := range results {
		if r.drop || r.base >= to {
			continue
		}
		next := int64(math.MaxInt64)
		for _, o := range results[i+1:] {
			if !o.drop {
				next = o.base
				break
			}
		}
		if next > from {
			out = append(out, file(dir, r.name))
		}
	}
	return out
}

const (
	watermarks     = "replication-offset-checkpoint"
	recoveryPoints = "recovery-point-offset-checkpoint"
	logStarts      = "log-start-offset-checkpoint"
	cleanerOffsets = "cleaner-offset-checkpoint"
	cleanMarker    = ".kafka_cleanshutdown"
)

// lower takes the lines of a partition in the checkpoints of its log directory down to what the log
// holds, and the marker of a clean shutdown away, so that the broker reads what was changed.
func (w *work) lower(a *Action, changed, end, lastBase int64) {
	d := w.t.dir
	if d.CleanShutdown {
		a.Edits = append(a.Edits, Edit{Op: Remove, File: cleanMarker})
	}
	for _, l := range []struct {
		name string
		file *logdir.CheckpointFile
		most int64 // what the line may be
	}{
		{recoveryPoints, d.RecoveryPoints, max(changed, 0)},
		{watermarks, d.HighWatermarks, end},
		{logStarts, d.LogStarts, end},
		{cleanerOffsets, d.CleanerOffsets, lastBase},
	} {
		if l.file == nil || l.file.Malformed != nil || w.dir.State != logdir.Live {
			continue
		}
		if v, ok := l.file.Line(w.dir); ok && v > l.most && (l.name != cleanerOffsets || v > end) {
			w.line(a, l.name, &l.most)
		}
	}
}

// line edits the partition's line of a checkpoint.
func (w *work) line(a *Action, name string, offset *int64) {
	if offset != nil {
		v := *offset
		offset = &v
	}
	a.Edits = append(a.Edits, Edit{Op: Line, File: name, Line: &OffsetLine{Topic: w.dir.Topic, Partition: w.dir.Partition, Offset: offset}})
	w.t.lines[lineKey(name, w.dir.Topic, w.dir.Partition)] = true
}

func lineKey(name, topic string, partition int32) string {
	return fmt.Sprintf("%s %s %d", name, topic, partition)
}
