package kraft

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// segmentFile is a .log file with what its name says.
type segmentFile struct {
	File
	base int64
	old  bool // set aside by Kafka: .log.deleted
}

// snapshotFile is a .checkpoint file with what its name says.
type snapshotFile struct {
	File
	info *Snapshot
	copy int // whose, in a merge
}

// parseDigits reads exactly n decimal digits.
func parseDigits(s string, n int) (int64, bool) {
	if len(s) != n || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

const misnamed = "not the name of a file of the metadata log"

// segments orders the segments of the log, with those set aside that lie before it.
// Names that are no segment's are told as damage.
func (l *Log) segments(files []File) []segmentFile {
	var live, old []segmentFile
	for _, f := range files {
		number, suffix, _ := strings.Cut(f.Name, ".")
		base, ok := parseDigits(number, 20)
		switch {
		case ok && suffix == "log":
			live = append(live, segmentFile{f, base, false})
		case ok && suffix == "log.deleted":
			old = append(old, segmentFile{f, base, true})
		default:
			l.damage(Damage{File: f.Name, Offset: -1, Why: misnamed})
		}
	}
	byBase := func(a, b segmentFile) int { return cmp.Compare(a.base, b.base) }
	slices.SortStableFunc(live, byBase)
	slices.SortStableFunc(old, byBase)
	if len(live) > 0 {
		// A follower far behind sets its whole log aside for a newer snapshot; only
		// what lies before the log can belong to its history.
		old = slices.DeleteFunc(old, func(f segmentFile) bool { return f.base >= live[0].base })
	}
	return append(old, live...)
}

// snapshots orders the snapshots by end offset, then epoch, in l.Snapshots as well.
func (l *Log) snapshots(files []File) []snapshotFile {
	var out []snapshotFile
	for _, f := range files {
		// org.apache.kafka.snapshot.Snapshots.parse: 20 digits, a dash, 10 digits
		number, suffix, _ := strings.Cut(f.Name, ".")
		end, epochText, _ := strings.Cut(number, "-")
		offset, ok := parseDigits(end, 20)
		epoch, ok2 := parseDigits(epochText, 10)
		if !ok || !ok2 || epoch > 1<<31-1 || suffix != "checkpoint" && suffix != "checkpoint.deleted" {
			l.damage(Damage{File: f.Name, Offset: -1, Why: misnamed})
			continue
		}
		out = append(out, snapshotFile{f, &Snapshot{Name: f.Name, EndOffset: offset, Epoch: int32(epoch), TimeMs: -1}, 0})
	}
	slices.SortStableFunc(out, func(a, b snapshotFile) int {
		return cmp.Or(cmp.Compare(a.info.EndOffset, b.info.EndOffset), cmp.Compare(a.info.Epoch, b.info.Epoch))
	})
	return out
}
