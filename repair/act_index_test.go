package repair_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/logtest"
	"kafsck/repair"
)

// TestIndexes: which index files of a damaged directory are built anew, and which go. That a directory
// calls for it is what its case says (cases.json, "offer"); that these are all is that Kafka 4.3.1 has
// the same index files after a start (cases/kafka_on_start.json, and the same program for
// the variants).
func TestIndexes(t *testing.T) {
	t.Parallel()
	const first, second, third, fourth = "00000000000000000000", "00000000000000000100", "00000000000000000200", "00000000000000000300"
	gone := func(names ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			for _, name := range names {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name, from, part string
		vary             func(t *testing.T, dir string)
		rebuilt, removed []string // of the segments' index files
		absent           []string // that a broker makes by itself, and no plan does
		why              string
	}{
		{"preallocated", "BR-34", "orders-0", nil, []string{third + ".index", third + ".timeindex"}, nil, nil, ""},
		{"full of zeros", "BR-36", "orders-0", nil, []string{third + ".timeindex"}, nil, nil, ""},
		{"of an empty segment", "BR-37a", "orders-0", nil, nil, nil, []string{fourth + ".index"}, ""},
		{"of an empty segment and another one", "BR-37a", "orders-0", gone(second + ".index"), []string{second + ".index"}, nil, []string{fourth + ".index"}, "those of empty segments are made by the broker"},
		{"of an empty segment, and another one that is cut off", "BR-37a", "orders-0", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, second+".index"), func(b []byte) []byte { return b[:len(b)-3] })
		}, []string{second + ".index"}, nil, []string{fourth + ".index"}, "those of empty segments are made by the broker"},
		// The .log was the only copy: what is left of it tells where to look, until somebody has it.
		{"of a log that is gone", "BR-88c", "orders-0", nil, nil, nil, nil, ""},
		{"without a log", "BR-37b", "orders-0", nil, nil, []string{"00000000000000000500.index", "00000000000000000500.timeindex"}, nil, "there is no .log|without a .log"},
		{"a missing time index", "BR-37c", "orders-0", nil, []string{second + ".timeindex"}, nil, nil, ""},
		{"missing ones of both kinds", "BR-37c", "orders-0", gone(first + ".index"), []string{first + ".index", second + ".timeindex"}, nil, nil, ""},
		{"without room", "BR-39", "orders-0", nil, nil, []string{fourth + ".index", fourth + ".timeindex"}, nil, "which means nothing"},
		{"of the size that they cannot shrink from", "BR-91", "orders-0", nil, []string{first + ".index", first + ".timeindex", second + ".index", second + ".timeindex", third + ".index", third + ".timeindex"}, nil, nil, ""},
		// Those of a set-aside cleaning are no index files of the log: nothing is built for it.
		{"while a cleaning is open", "BR-56c", "b1/kv-0", gone(third[:17] + "230.index"), nil, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := caseDir(t, c.from)
			part := filepath.Base(c.part)
			dir := filepath.Dir(filepath.Join(root, filepath.FromSlash(c.part)))
			if c.vary != nil {
				c.vary(t, filepath.Join(dir, part))
			}
			p := planOf(t, dir)
			var rebuilt, removed []string
			said := ""
			for _, a := range p.Actions {
				if !strings.HasPrefix(string(a.Kind), "rebuild-") && a.Kind != repair.RemoveFile || a.Kind == repair.RebuildSnapshot {
					continue
				}
				said += a.Does + "\n" + a.Why + "\n"
				for _, e := range a.Edits {
					switch name := filepath.Base(e.File); e.Op {
					case repair.Rebuild:
						rebuilt = append(rebuilt, name)
						if want := part + "/" + strings.TrimSuffix(name, filepath.Ext(name)) + ".log"; len(e.Logs) != 1 || e.Logs[0] != want {
							t.Errorf("%s is built from %v", name, e.Logs)
						}
					case repair.Remove:
						removed = append(removed, name)
					default:
						t.Errorf("%+v", e)
					}
				}
				if len(a.Loses) > 0 || a.Confirm {
					t.Errorf("%s loses %v", a.Kind, a.Loses)
				}
			}
			slices.Sort(rebuilt)
			slices.Sort(removed)
			if d := cmp.Diff(c.rebuilt, rebuilt); d != "" {
				t.Errorf("rebuilt (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.removed, removed); d != "" {
				t.Errorf("removed (-want +got):\n%s", d)
			}
			for _, name := range c.absent {
				if slices.Contains(rebuilt, name) {
					t.Errorf("%s is built", name)
				}
			}
			if c.why != "" && !slices.ContainsFunc(strings.Split(c.why, "|"), func(s string) bool { return strings.Contains(said, s) }) {
				t.Errorf("said:\n%swant %s", said, c.why)
			}
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManyIndexes: a finding counts more places than it lists, and every file is built all the same:
// a broker builds what is missing beside each .log (LogSegment.sanityCheck).
func TestManyIndexes(t *testing.T) {
	t.Parallel()
	var spec strings.Builder
	spec.WriteString("broker 1 ; topic t-0\n")
	const segments = 300
	for i := range segments {
		fmt.Fprintf(&spec, "segment %d ; batch base=%d records=1 epoch=0\n", i, i)
	}
	fmt.Fprintf(&spec, "epochs 0:0\nhw %d\nrecovery %d\n", segments, segments)
	p := planOf(t, logtest.Dir(t, spec.String()))
	built := map[repair.Kind]int{}
	for _, a := range p.Actions {
		built[a.Kind] += len(a.Edits)
		if a.Kind == repair.RebuildIndex && !strings.Contains(a.Does, "300 .index files") {
			t.Error(a.Does)
		}
	}
	if built[repair.RebuildIndex] != segments || built[repair.RebuildTimeIndex] != segments {
		t.Errorf("%v", built)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}
