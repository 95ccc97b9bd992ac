package repair

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/replica"
)

// indexSaid says of n files of one sort what is wrong with them: # is the number, * the sort. The finding
// speaks of all files of a log; an action only of its own.
var indexSaid = map[finding.Code]struct{ one, many string }{
	"index-missing":           {"1 segment has no *", "# segments have no *"},
	"timeindex-missing":       {"1 segment has no *", "# segments have no *"},
	"timeindex-empty":         {"1 * of a closed segment has no entry", "# * files of closed segments have no entry"},
	"index-misaligned":        {"the size of 1 * is no multiple of its entries'", "the sizes of # * files are no multiples of their entries'"},
	"index-not-trimmed":       {"1 * has its preallocated size", "# * files have their preallocated size"},
	"index-full-of-zeros":     {"1 * is full of zeros and holds no entry", "# * files are full of zeros and hold no entry"},
	"timeindex-full-of-zeros": {"1 * is full of zeros and holds no entry", "# * files are full of zeros and hold no entry"},
	"zero-capacity-index":     {"1 * has 0 bytes, and no room for an entry", "# * files have 0 bytes, and no room for an entry"},
	"index-stale-entries":     {"1 * keeps entries from before a truncation", "# * files keep entries from before a truncation"},
	"index-out-of-order":      {"entries of 1 * do not ascend", "entries of # * files do not ascend"},
	"timeindex-out-of-order":  {"entries of 1 * do not ascend", "entries of # * files do not ascend"},
	"index-points-nowhere":    {"entries of 1 * point to no batch", "entries of # * files point to no batch"},
	"index-wrong-offset":      {"entries of 1 * have offsets that their batches do not have", "entries of # * files have offsets that their batches do not have"},
	"timeindex-wrong":         {"entries of 1 * contradict the batches", "entries of # * files contradict the batches"},
	"index-span-missing":      {"1 * has no entry for a part of its segment", "# * files have no entries for parts of their segments"},
	"txnindex-malformed":      {"entries of 1 * cannot be right", "entries of # * files cannot be right"},
	"txnindex-mismatch":       {"1 * and its .log differ in aborted transactions", "# * files and their .log files differ in aborted transactions"},
	"txnindex-behind":         {"1 * lacks the newest aborted transactions", "# * files lack the newest aborted transactions"},
}

// indexFault is what is wrong with one file.
type indexFault struct {
	code finding.Code
	file string
}

// indexWhy names every finding that an action mends, each with the action's own files, the worst one
// first. Where more places were counted than are known, the finding's own words stand.
func (w *work) indexWhy(answers []*found, faults []indexFault, edits []Edit) string {
	sort := path.Ext(edits[0].File)
	if slices.ContainsFunc(edits, func(e Edit) bool { return path.Ext(e.File) != sort }) {
		sort = "index"
	}
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b *found) int { return int(b.Severity) - int(a.Severity) })
	var said []string
	for _, x := range answers {
		files := map[string]bool{}
		for _, f := range faults {
			if f.code == x.Code && slices.ContainsFunc(edits, func(e Edit) bool { return path.Base(e.File) == f.file }) {
				files[f.file] = true
			}
		}
		s, n, noun := indexSaid[x.Code].one, len(files), sort
		switch {
		case n > 1:
			s = indexSaid[x.Code].many
		case sort == "index":
			noun = "index file"
		}
		if s = strings.NewReplacer("#", fmt.Sprint(n), "*", noun).Replace(s); n == 0 || s == "" || w.uncounted(x.Code) {
			s = strings.TrimSuffix(x.Summary, ".")
		}
		if !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	return strings.Join(said, "; ")
}

// uncounted reports whether more places of a code were counted than are known.
func (w *work) uncounted(code finding.Code) bool {
	known := map[replica.AnomalyKind]int{}
	for _, a := range w.log.Anomalies.Kept {
		known[a.Kind]++
	}
	return slices.ContainsFunc(indexCodes[code], func(k replica.AnomalyKind) bool { return w.log.Anomalies.Counts[k] > known[k] })
}

// stays reports whether a finding that is a note is about something that no start of a broker mends: a
// time index that is missing, or has no entry, of a segment that the next start does not read. It makes
// an empty one for it and never fills that (LogSegment.sanityCheck).
func (w *work) stays(x *found) bool {
	if x.Code != "timeindex-missing" && x.Code != "timeindex-empty" || w.copy.State != replica.Live {
		return false
	}
	return slices.ContainsFunc(w.log.Anomalies.Kept, func(a replica.Anomaly) bool {
		return slices.Contains(indexCodes[x.Code], a.Kind) && a.Segment >= 0 && a.Segment < len(w.log.Segments) && !w.startReads(a.Segment) && w.log.SegmentTime(a.Segment) >= 0
	})
}

// startReads reports whether the next start reads a segment and so builds its indexes anew: it lies at or
// above the recovery point and there is no clean shutdown marker, or it has no .index. Of a partition
// directory without its log directory that is not known, and only the last counts.
func (w *work) startReads(segment int) bool {
	if w.log.Segments[segment].Index == nil {
		return true
	}
	if w.t.only != nil || w.t.dir.CleanShutdown {
		return false
	}
	return segment+1 == len(w.log.Segments) || w.log.RecoveryPoint == nil || *w.log.RecoveryPoint < w.log.Segments[segment+1].BaseOffset
}
