package logdir

import (
	"fmt"
	"strings"
	"testing"
)

// segmentLine tells the files of a segment by their ending.
func segmentLine(s *Segment) string {
	line := fmt.Sprintf("%d%s:", s.BaseOffset, s.Suffix)
	for _, f := range []*File{s.Log, s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot} {
		if f == nil {
			line += " -"
		} else {
			line += " " + f.Name[21:]
		}
	}
	return line
}

func TestGroupSegments(t *testing.T) {
	for _, c := range []struct{ name, files, want string }{
		{"plain", "D0.log D0.index D0.timeindex D7.log D7.snapshot D7.txnindex",
			"0: log index timeindex - -|7: log - - txnindex snapshot"},
		{"by number, not by name", "D100.log D9.log D20.log", "9: log - - - -|20: log - - - -|100: log - - - -"},
		{"snapshot at the log end", "D0.log D300.snapshot", "0: log - - - -|300: - - - - snapshot"},
		{"orphan index", "D5.index", "5: - index - - -"},
		{"original and deleted", "D0.log D0.index D0.log.deleted D0.index.deleted",
			"0: log index - - -|0.deleted: log.deleted index.deleted - - -"},
		{"half renamed to deleted stays visible", "D0.log.deleted D0.index D0.timeindex",
			"0: - index timeindex - -|0.deleted: log.deleted - - - -"},
		{"cleaner at work", "D0.log D0.index D0.log.cleaned D0.index.cleaned",
			"0: log index - - -|0.cleaned: log.cleaned index.cleaned - - -"},
		{"complete swap set", "D0.log D0.log.swap D0.index.swap D0.timeindex.swap",
			"0: log - - - -|0.swap: log.swap index.swap timeindex.swap - -"},
		{"killed between renames to swap", "D0.log D0.log.swap D0.index.swap D0.timeindex.cleaned D0.txnindex.cleaned",
			"0: log - - - -|0.swap: log.swap index.swap timeindex.cleaned txnindex.cleaned -"},
		{"killed between renames to final", "D0.log D0.index D0.timeindex.swap D0.log.deleted",
			"0: log index timeindex.swap - -|0.deleted: log.deleted - - - -"},
		{"a place that is taken stays", "D0.log D0.index D0.index.swap",
			"0: log index - - -|0.swap: - index.swap - - -"},
		{"cleaned without a log", "D0.log D0.timeindex.cleaned", "0: log - - - -|0.cleaned: - - timeindex.cleaned - -"},
		{"largest offset", "D9223372036854775807.log", "9223372036854775807: log - - - -"},
		{"unknown ones are left out", "D0.log 7.log D0.log.bak", "0: log - - - -"},
	} {
		lines := []string{"t-0/partition.metadata"}
		for _, f := range strings.Fields(c.files) {
			lines = append(lines, "t-0/"+f)
		}
		var got []string
		for _, s := range discoverTree(t, lines...).Brokers[0].Dirs[0].Partitions[0].Segments {
			got = append(got, segmentLine(s))
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, g, c.want)
		}
	}
}
