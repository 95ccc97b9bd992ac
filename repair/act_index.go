package repair

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// indexCodes are findings on index files, and the anomalies that they stand for. A finding names one
// file and counts the others.
var indexCodes = map[finding.Code][]replica.AnomalyKind{
	"index-missing":           {replica.IndexMissing},
	"timeindex-missing":       {replica.TimeIndexMissing},
	"timeindex-empty":         {replica.TimeIndexEmpty},
	"index-misaligned":        {replica.IndexMisaligned},
	"index-not-trimmed":       {replica.IndexNotTrimmed},
	"index-full-of-zeros":     {replica.IndexFullOfZeros},
	"timeindex-full-of-zeros": {replica.TimeIndexFullOfZeros},
	"zero-capacity-index":     {replica.ZeroCapacityIndex},
	"index-stale-entries":     {replica.IndexStale},
	"index-out-of-order":      {replica.IndexOutOfOrder},
	"timeindex-out-of-order":  {replica.TimeIndexOutOfOrder},
	"index-points-nowhere":    {replica.IndexPointsNowhere},
	"index-wrong-offset":      {replica.IndexWrongOffset},
	"timeindex-wrong":         {replica.TimeIndexWrong},
	"index-span-missing":      {replica.IndexSpanMissing},
	"txnindex-malformed":      {replica.TxnIndexMalformed},
	"txnindex-mismatch":       {replica.TxnIndexMismatch},
	"txnindex-behind":         {replica.TxnIndexBehind},
}

var indexKinds = map[string]Kind{".index": RebuildIndex, ".timeindex": RebuildTimeIndex, ".txnindex": RebuildTxnIndex}

// indexes rebuilds index files from their .log, one action for each kind of file.
func (w *work) indexes() error {
	if w.swapping() || len(w.of(w.dir, "segment-offset-overflow")) > 0 {
		return nil // where a start splits a segment, it builds the indexes too
	}
	var list []*found
	for _, x := range w.found {
		if x.dir == w.dir && indexCodes[x.Code] != nil && (w.opt.All || x.Severity > finding.Note || w.stays(x)) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *found) int { return strings.Compare(string(a.Code), string(b.Code)) })
	files := map[string]int64{} // name: base offset of its segment
	var faults []indexFault
	for _, x := range list {
		for _, a := range w.log.Anomalies.Kept {
			if slices.Contains(indexCodes[x.Code], a.Kind) && a.Segment >= 0 && a.Segment < len(w.log.Segments) {
				seg := w.log.Segments[a.Segment]
				files[indexName(&a, seg)] = seg.BaseOffset
				faults = append(faults, indexFault{x.Code, indexName(&a, seg)})
				if a.Kind == replica.ZeroCapacityIndex {
					if name := w.roomless(seg); name != "" {
						files[name] = seg.BaseOffset
						faults = append(faults, indexFault{x.Code, name})
					}
				}
			}
		}
		for _, kind := range indexCodes[x.Code] {
			if w.log.Anomalies.Counts[kind] > 256 { // not all are listed
				for _, seg := range w.log.Segments {
					for _, ext := range []string{".index", ".timeindex"} {
						files[fmt.Sprintf("%020d", seg.BaseOffset)+ext] = seg.BaseOffset
					}
				}
			}
		}
	}
	var orphans []Edit
	empty := map[string][]Edit{}
	for _, ext := range []string{".index", ".timeindex", ".txnindex"} {
		var edits []Edit
		stay := false // files that a broker makes stay missing
		for _, name := range slices.Sorted(maps.Keys(files)) {
			switch {
			case path.Ext(name) != ext || w.mended[files[name]] || w.edited(name):
			case w.emptySegment(files[name]):
				// Kafka makes the index files of an empty segment when it needs them; one of 0
				// bytes it cannot fill.
				if slices.ContainsFunc(w.segmentFiles(files[name]), func(f *logdir.File) bool { return f.Name == name }) {
					empty[ext] = append(empty[ext], Edit{Op: Remove, File: file(w.dir, name)})
				} else {
					stay = true
				}
			default:
				edits = append(edits, w.rebuild(name, files[name]))
			}
		}
		if len(edits) == 0 {
			continue
		}
		answers := slices.DeleteFunc(slices.Clone(list), func(x *found) bool { return !w.speaksOf(x, ext) })
		why := w.indexWhy(answers, faults, edits)
		if slices.ContainsFunc(answers, w.stays) {
			why += "; a start makes an empty one where there is none, and never fills it: retention and lookups by time then go by the time at which the .log file was last modified"
		}
		if stay {
			// The finding is still there afterwards, of empty segments alone: no action mends that.
			answers = slices.DeleteFunc(answers, func(x *found) bool {
				if x.Code == "index-missing" || x.Code == "timeindex-missing" {
					x.answered = true
					return true
				}
				return false
			})
			why += " (those of empty segments are made by the broker)"
		}
		w.add(w.t, w.dir, Action{
			Kind:  indexKinds[ext],
			Does:  fmt.Sprintf("%s built anew from %s: %s", plural(len(edits), ext+" file", ext+" files"), map[bool]string{true: "its .log", false: "their .log files"}[len(edits) == 1], names(edits)),
			Why:   why + w.proved(len(edits)),
			Undo:  w.undoIndexes(edits),
			Edits: edits,
		}, answers)
	}
	for _, ext := range []string{".index", ".timeindex", ".txnindex"} {
		orphans = append(orphans, empty[ext]...)
	}
	if len(orphans) > 0 {
		roomless := slices.DeleteFunc(slices.Clone(list), func(x *found) bool { return x.Code != "zero-capacity-index" })
		w.add(w.t, w.dir, Action{Kind: RemoveFile, Does: "index files of an empty segment go: " + names(orphans), Why: w.indexWhy(roomless, faults, orphans) + "; a broker makes them at its next start (after a clean shutdown with a line at level ERROR that it could not find them, which means nothing)",
			Undo: "the files are in lost+found", Edits: orphans}, roomless)
	}
	if e := w.orphans(); len(e) > 0 {
		list := slices.DeleteFunc(w.of(w.dir, "index-orphan"), func(x *found) bool { return x.Severity >= finding.Loss })
		w.add(w.t, w.dir, Action{Kind: RemoveFile, Does: plural(len(e), "index file", "index files") + " without a .log: " + names(e), Why: because(list, "there is no .log beside them") + "; a broker deletes them at its start",
			Undo: "the files are in lost+found", Edits: e}, list)
	}
	return nil
}

// proved says why a file that is built from a .log can be believed.
func (w *work) proved(files int) string {
	for _, kind := range unreadable {
		if w.log.Anomalies.Counts[kind] > 0 {
			return "; every batch of the .log passes its CRC, or is dealt with by another action"
		}
	}
	if files == 1 {
		return "; every batch of the .log passes its CRC"
	}
	return "; every batch of the .log files passes its CRC"
}

// undoIndexes says where the old files are, if there were any.
func (w *work) undoIndexes(edits []Edit) string {
	there := map[string]bool{}
	for _, seg := range w.dir.Segments {
		for _, f := range []*logdir.File{seg.Index, seg.TimeIndex, seg.TxnIndex} {
			if f != nil {
				there[file(w.dir, f.Name)] = true
			}
		}
	}
	old := 0
	for _, e := range edits {
		if there[e.File] {
			old++
		}
	}
	switch {
	case old == 0 && len(edits) == 1:
		return "remove the file: there was none"
	case old == 0:
		return "remove the files: there were none"
	case old == len(edits) && old == 1:
		return "the old file is in lost+found"
	case old == len(edits):
		return "the old files are in lost+found"
	}
	return "the old files are in lost+found; remove those that are new"
}

// roomless names the time index of 0 bytes of a segment, "" none: beside an .index without room it has
// none either, and a segment is rolled where either is full (LogSegment.shouldRoll).
func (w *work) roomless(seg *logdir.Segment) string {
	for _, f := range w.segmentFiles(seg.BaseOffset) {
		if f.Kind == logdir.KindTimeIndex && f.Size == 0 {
			return f.Name
		}
	}
	return ""
}

// speaksOf reports whether a finding is about a kind of index file.
func (w *work) speaksOf(x *found, ext string) bool {
	for _, a := range w.log.Anomalies.Kept {
		if slices.Contains(indexCodes[x.Code], a.Kind) && a.Segment >= 0 && a.Segment < len(w.log.Segments) && path.Ext(indexName(&a, w.log.Segments[a.Segment])) == ext {
			return true
		}
	}
	return false
}

// indexName is the file that an anomaly is about: the one it names, else the one that is missing.
func indexName(a *replica.Anomaly, seg *logdir.Segment) string {
	stem := fmt.Sprintf("%020d", seg.BaseOffset)
	switch {
	case a.File != nil && indexKinds[path.Ext(a.File.Name)] != "":
		return a.File.Name
	case a.Kind == replica.TimeIndexMissing || a.Kind == replica.TimeIndexEmpty || a.Kind == replica.TimeIndexFullOfZeros || a.Kind == replica.TimeIndexOutOfOrder || a.Kind == replica.TimeIndexWrong:
		return stem + ".timeindex"
	case a.Kind == replica.TxnIndexMalformed || a.Kind == replica.TxnIndexMismatch || a.Kind == replica.TxnIndexBehind:
		return stem + ".txnindex"
	}
	return stem + ".index"
}

func (w *work) emptySegment(base int64) bool {
	for _, seg := range w.log.Segments {
		if seg.BaseOffset == base {
			return seg.Log.Size == 0
		}
	}
	return false
}

// orphans removes index files without a .log, where no offset is missing for it.
func (w *work) orphans() []Edit {
	if len(w.of(w.dir, "index-orphan")) == 0 || !slices.ContainsFunc(w.of(w.dir, "index-orphan"), func(x *found) bool { return x.Severity < finding.Loss }) {
		return nil
	}
	var out []Edit
	for _, seg := range w.dir.Segments {
		if seg.Log != nil {
			continue
		}
		for _, f := range []*logdir.File{seg.Index, seg.TimeIndex, seg.TxnIndex} {
			if f != nil && f.Suffix == logdir.NoSuffix && !w.edited(f.Name) {
				out = append(out, Edit{Op: Remove, File: file(w.dir, f.Name)})
			}
		}
	}
	return out
}

// because is what the findings say is wrong, else what is said here.
func because(list []*found, else_ string) string {
	if len(list) == 0 {
		return else_
	}
	return firstSummary(list)
}

// names lists the files of edits, the first of many.
func names(edits []Edit) string {
	var out []string
	for i, e := range edits {
		if i == 3 && len(edits) > 4 {
			out = append(out, fmt.Sprintf("%d more", len(edits)-3))
			break
		}
		out = append(out, e.File)
	}
	return join(out)
}

func join(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}
