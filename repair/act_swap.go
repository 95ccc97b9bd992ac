package repair

import (
	"fmt"
	"slices"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// swapping reports whether an interrupted cleaning or rename of this directory is open or planned:
// then the log is not yet what it will be, and nothing else is planned for its files.
func (w *work) swapping() bool { return w.log.Swapped || w.settled }

// swaps finishes or undoes an interrupted cleaning (LogLoader.load, passes 1 to 3): any .cleaned file
// means that the set is incomplete, and so does one with fewer records than the originals.
func (w *work) swaps() error {
	list := w.of(w.dir, "interrupted-swap")
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	var cleaned, swaps, deleted []*logdir.File
	for f := range w.dir.AllFiles() {
		if !segmentKind(f.Kind) {
			continue
		}
		switch f.Suffix {
		case logdir.Cleaned:
			cleaned = append(cleaned, f)
		case logdir.Swap:
			swaps = append(swaps, f)
		case logdir.Deleted:
			deleted = append(deleted, f)
		}
	}
	switch {
	case len(cleaned) > 0 || x.Severity >= finding.Loss:
		return w.undoCleaning(list, append(cleaned, swaps...), deleted)
	case len(swaps) > 0:
		w.finishCleaning(list, swaps, deleted)
	case len(deleted) > 0:
		var edits []Edit
		for _, f := range deleted {
			edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
		}
		w.add(w.t, w.dir, Action{Kind: FinishCleaning, Does: plural(len(edits), "file", "files") + " that the cleaner replaced go: " + names(edits), Why: firstSummary(list) + "; the next start deletes them",
			Undo: "the files are in lost+found", Edits: edits}, list)
	}
	return nil
}

func segmentKind(k logdir.Kind) bool {
	return k == logdir.KindLog || k == logdir.KindIndex || k == logdir.KindTimeIndex || k == logdir.KindTxnIndex
}

// undoCleaning takes the cleaner's output out. The originals must be there, under their own names or
// as .deleted.
func (w *work) undoCleaning(list []*found, output, deleted []*logdir.File) error {
	var edits []Edit
	for _, f := range output {
		edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
	}
	originals, earlier := w.originals(), 0
	for _, f := range deleted {
		name := f.Name[:len(f.Name)-len(".deleted")]
		if originals[f.BaseOffset] || !slices.ContainsFunc(output, func(o *logdir.File) bool { return o.BaseOffset <= f.BaseOffset }) {
			// Its name is taken, or it lies below this output: an earlier cleaning replaced it.
			edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
			earlier++
			continue
		}
		edits = append(edits, Edit{Op: Rename, File: file(w.dir, f.Name), To: file(w.dir, name)})
	}
	a := Action{Kind: UndoCleaning, Does: "the cleaner's unfinished output goes, the originals stay: " + names(edits),
		Why:  firstSummary(list) + "; the originals hold every record that the output has",
		Undo: "the files are in lost+found", Edits: edits}
	if earlier > 0 {
		a.Does += fmt.Sprintf("; %s among them that an earlier cleaning replaced, which the next start deletes", plural(earlier, "file is", "files are"))
	}
	if w.log.Swapped {
		w.beforeSwap()
		a.Why = firstSummary(list) + "; its output is not whole, and the originals are"
	}
	w.add(w.t, w.dir, a, list)
	w.settled = w.log.Swapped
	// The output was judged as if it were the log: with it gone, that does not count.
	for _, x := range w.found {
		if x.dir == w.dir && slices.ContainsFunc(output, func(f *logdir.File) bool { return f.Path == x.At.File }) {
			x.answered = true
		}
		if w.settled && x.dir == w.dir && (x.Code == "segment-overlap" || x.Code == "index-points-nowhere") {
			x.answered = true
		}
	}
	return nil
}

// originals are the base offsets with a .log under its own name.
func (w *work) originals() map[int64]bool {
	out := map[int64]bool{}
	for _, seg := range w.dir.Segments {
		if seg.Log != nil && seg.Suffix == logdir.NoSuffix {
			out[seg.BaseOffset] = true
		}
	}
	return out
}

// beforeSwap takes the log end from the originals too, where the view was that after the swap.
func (w *work) beforeSwap() {
	for _, c := range w.p.Copies {
		if c.Log != nil && c.Err == nil && c.Log.Partition == w.dir && c.State == replica.Replaced {
			w.end = max(w.end, c.Log.LogEndOffset)
			w.lineage = w.lineage.TruncateFromEnd(w.end)
		}
	}
}

// finishCleaning gives the swapped files their names, and takes everything out that they replace.
func (w *work) finishCleaning(list []*found, swaps, deleted []*logdir.File) {
	from, to := swaps[0].BaseOffset, int64(0)
	taken := map[string]bool{}
	var edits []Edit
	for _, f := range swaps {
		from = min(from, f.BaseOffset)
		name := f.Name[:len(f.Name)-len(".swap")]
		edits = append(edits, Edit{Op: Rename, File: file(w.dir, f.Name), To: file(w.dir, name)})
		taken[name] = true
	}
	live := map[int64]bool{}
	for _, seg := range w.log.Segments {
		live[seg.BaseOffset] = true
		if seg.Log.Suffix == logdir.NoSuffix && seg.BaseOffset > from {
			to = max(to, seg.BaseOffset)
			break
		}
	}
	if to == 0 {
		to = w.log.LogEndOffset
	}
	for f := range w.dir.AllFiles() {
		snapshot := f.Kind == logdir.KindProducerSnapshot
		if f.Suffix == logdir.NoSuffix && (segmentKind(f.Kind) || snapshot) && f.BaseOffset >= from && f.BaseOffset < to && !(snapshot && live[f.BaseOffset]) {
			edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
		}
	}
	for _, f := range deleted {
		edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
	}
	w.add(w.t, w.dir, Action{Kind: FinishCleaning, Does: fmt.Sprintf("the cleaner's complete output takes the place of the originals: %s", names(edits)),
		Why:  firstSummary(list) + "; the output is whole, and a start would do the same",
		Undo: "the originals are in lost+found", Edits: edits}, list)
	w.settled = true
	for _, x := range w.found {
		if x.dir == w.dir && x.Code == "producer-snapshot-stray" && x.At.From < to {
			x.answered = true
		}
	}
}

// renames finishes or undoes the renaming of a segment's files.
func (w *work) renames() error {
	for _, x := range w.of(w.dir, "partial-rename") {
		var seg, twin *logdir.Segment
		for _, s := range w.dir.Segments {
			switch {
			case s.BaseOffset != x.At.From || s.Log == nil:
			case s.Log.Suffix == logdir.Deleted:
				seg = s
			case s.Log.Suffix == logdir.NoSuffix:
				twin = s
			}
		}
		if seg == nil {
			continue
		}
		name := seg.Log.Name[:len(seg.Log.Name)-len(".deleted")]
		switch {
		case twin != nil && slices.ContainsFunc(w.log.Anomalies.Kept, func(a replica.Anomaly) bool {
			return a.Segment >= 0 && a.Segment < len(w.log.Segments) && w.log.Segments[a.Segment].Log == twin.Log && a.File == nil && a.Kind != replica.IndexMissing && a.Kind != replica.TimeIndexMissing
		}):
			continue // which of the two is the better one is for salvage to say
		case twin != nil:
			edits := []Edit{{Op: Remove, File: file(w.dir, seg.Log.Name)}}
			w.add(w.t, w.dir, Action{Kind: FinishRename, Does: fmt.Sprintf("%s goes, %s stays", seg.Log.Name, name), Why: firstSummary([]*found{x}) + "; every batch of the one that stays is whole",
				Undo: "the file is in lost+found", Edits: edits}, []*found{x})
		case x.Severity >= finding.Loss:
			w.settled = true
			w.add(w.t, w.dir, Action{Kind: FinishRename, Does: fmt.Sprintf("%s gets its name back: %s", seg.Log.Name, name), Why: firstSummary([]*found{x}),
				Undo: "the file keeps its bytes; rename it back", Edits: []Edit{{Op: Rename, File: file(w.dir, seg.Log.Name), To: file(w.dir, name)}}}, []*found{x})
			w.end = max(w.end, w.asideEnd(seg))
		default:
			edits := []Edit{{Op: Remove, File: file(w.dir, seg.Log.Name)}}
			for _, f := range w.segmentFiles(seg.BaseOffset) {
				if segmentKind(f.Kind) {
					edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
				}
			}
			w.add(w.t, w.dir, Action{Kind: FinishRename, Does: "the files of a deleted segment go: " + names(edits), Why: firstSummary([]*found{x}), Undo: "the files are in lost+found", Edits: edits}, []*found{x})
		}
	}
	return nil
}

// asideEnd is the log end of a segment that was set aside.
func (w *work) asideEnd(seg *logdir.Segment) int64 {
	for _, c := range w.p.Copies {
		if c.Log != nil && c.Err == nil && slices.ContainsFunc(c.Log.Segments, func(s *logdir.Segment) bool { return s.Log == seg.Log }) {
			return c.Log.LogEndOffset
		}
	}
	return 0
}
