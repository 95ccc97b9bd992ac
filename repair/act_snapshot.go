package repair

import (
	"fmt"
	"slices"

	"kafsck/logdir"
	"kafsck/replica"
)

// badSnapshots are the producer snapshots that the batches contradict or that cannot be read.
func (w *work) badSnapshots() []string {
	var out []string
	for _, a := range w.log.Anomalies.Kept {
		if (a.Kind == replica.SnapshotMalformed || a.Kind == replica.SnapshotContent) && a.File != nil && !slices.Contains(out, a.File.Name) {
			out = append(out, a.File.Name)
		}
	}
	return out
}

// snapshots rebuilds producer snapshots from the batches, and takes out those that lie nowhere.
func (w *work) snapshots() error {
	if w.swapping() {
		return nil
	}
	list := w.of(w.dir, "producer-snapshot-corrupt", "producer-snapshot-content")
	if len(list) > 0 {
		results := w.asItLies()
		var edits []Edit
		for _, name := range w.badSnapshots() {
			at := w.snapshotFile(name)
			if at == nil || w.edited(name) || at.BaseOffset > w.end {
				continue
			}
			from := w.snapshotAt(at.BaseOffset - 1)
			logs := logsBetween(w.dir, results, offsetOf(from), at.BaseOffset)
			if from == "" && len(logs) == 0 { // nothing is left to build it from, and a load finds no producers without it
				edits = append(edits, Edit{Op: Remove, File: file(w.dir, name)})
				continue
			}
			edits = append(edits, Edit{Op: Rebuild, File: file(w.dir, name), Snapshot: from, Logs: logs})
		}
		if len(edits) > 0 {
			w.add(w.t, w.dir, Action{Kind: RebuildSnapshot, Does: plural(len(edits), "producer snapshot", "producer snapshots") + " built anew from the batches: " + names(edits),
				Why: firstSummary(list) + "; the batches say which producers there are, and their sequence numbers", Undo: "the old files are in lost+found", Edits: edits}, list)
		} else if w.mends() {
			for _, x := range list {
				x.answered = true
			}
		}
	}
	list = w.of(w.dir, "producer-snapshot-stray", "producer-snapshot-beyond-end")
	if len(list) == 0 {
		return nil
	}
	bases := map[int64]bool{w.end: true}
	for _, seg := range w.log.Segments {
		bases[seg.BaseOffset] = true
	}
	beyond := slices.ContainsFunc(list, func(x *found) bool { return x.Code == "producer-snapshot-beyond-end" })
	stray := slices.ContainsFunc(list, func(x *found) bool { return x.Code == "producer-snapshot-stray" })
	var edits []Edit
	for _, seg := range w.dir.Segments {
		f := seg.Snapshot
		if f == nil || f.Suffix != logdir.NoSuffix || bases[f.BaseOffset] || w.edited(f.Name) || f.BaseOffset > w.end && !beyond || f.BaseOffset < w.end && !stray {
			continue
		}
		edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
	}
	if len(edits) > 0 {
		w.add(w.t, w.dir, Action{Kind: RemoveFile, Does: plural(len(edits), "producer snapshot", "producer snapshots") + " that no segment begins at: " + names(edits),
			Why: firstSummary(list) + "; a load goes by those at the segments' base offsets and at the log end", Undo: "the files are in lost+found", Edits: edits}, list)
	}
	return nil
}

// mends reports whether an action of this directory changes its .log files.
func (w *work) mends() bool { return len(w.mended) > 0 }

func (w *work) snapshotFile(name string) *logdir.File {
	for _, seg := range w.dir.Segments {
		if f := seg.Snapshot; f != nil && f.Name == name && f.Suffix == logdir.NoSuffix {
			return f
		}
	}
	return nil
}

// asItLies are the segments of the log without a change.
func (w *work) asItLies() []result {
	var out []result
	for _, seg := range w.log.Segments {
		out = append(out, result{base: seg.BaseOffset, name: fmt.Sprintf("%020d.log", seg.BaseOffset)})
	}
	return out
}
