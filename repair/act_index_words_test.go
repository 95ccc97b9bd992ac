package repair_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/repair"
)

const (
	firstSegment  = "00000000000000000000"
	secondSegment = "00000000000000000100"
	lastSegment   = "00000000000000000200"
)

// TestIndexWhy: the why of an action counts its own files, and names every finding that it answers.
func TestIndexWhy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(caseDir(t, "BR-37c"), "orders-0")
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	change(t, filepath.Join(dir, firstSegment+".index"), cut(3))
	change(t, filepath.Join(dir, secondSegment+".index"), cut(3))
	change(t, filepath.Join(dir, firstSegment+".timeindex"), cut(5))
	change(t, filepath.Join(dir, lastSegment+".timeindex"), func(b []byte) []byte { b[15]++; return b })
	p := planOf(t, filepath.Dir(dir))
	want := map[repair.Kind][]string{
		repair.RebuildIndex:     {"the sizes of 2 .index files are no multiples of their entries'"},
		repair.RebuildTimeIndex: {"the size of 1 .timeindex is no multiple of its entries'", "1 segment has no .timeindex", "entries of 2 .timeindex files contradict the batches", "never fills it"},
	}
	for _, a := range p.Actions {
		for _, s := range want[a.Kind] {
			if !strings.Contains(a.Why, s) {
				t.Errorf("%s: no %q in: %s", a.Kind, s, a.Why)
			}
		}
		delete(want, a.Kind)
		if n := strings.Count(a.Why, "; ") + 1; n < len(a.Findings) {
			t.Errorf("%s: %d sentences for %v: %s", a.Kind, n, a.Findings, a.Why)
		}
	}
	if len(want) > 0 {
		t.Errorf("no action of %v", want)
	}
}

// TestTimeIndexThatNoStartBuilds: a missing .timeindex is planned without --all where a start of Kafka 4.3.1
// makes an empty one and leaves it so, as the load oracle shows: after a clean stop, and below the recovery
// point after a kill. It builds the file where it reads the segment, and where the .index is missing too.
func TestTimeIndexThatNoStartBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		segment       string
		index, marker bool
		point         string // recovery point
		planned       bool
	}{
		{"a clean stop", secondSegment, true, true, "300", true},
		{"a kill, below the recovery point", secondSegment, true, false, "300", true},
		{"a kill, at the recovery point", secondSegment, true, false, "150", false},
		{"a kill, above the recovery point", lastSegment, true, false, "150", false},
		{"a kill, the last segment", lastSegment, true, false, "300", false},
		{"a clean stop, without .index", secondSegment, false, true, "300", false},
		{"a kill, without .index", secondSegment, false, false, "300", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := caseDir(t, "BR-25b")
			dir := filepath.Join(root, "b2")
			gone := []string{filepath.Join("orders-0", c.segment+".timeindex")}
			if !c.index {
				gone = append(gone, filepath.Join("orders-0", c.segment+".index"))
			}
			marker := filepath.Join(dir, ".kafka_cleanshutdown")
			if _, err := os.Stat(marker); err != nil {
				t.Fatal(err)
			}
			if !c.marker {
				gone = append(gone, ".kafka_cleanshutdown")
			}
			for _, name := range gone {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			change(t, filepath.Join(dir, "recovery-point-offset-checkpoint"), func(b []byte) []byte {
				return []byte(strings.ReplaceAll(string(b), "orders 0 300", "orders 0 "+c.point))
			})
			p := planWith(t, dir, repair.BuildOptions{})
			if planned := slices.ContainsFunc(p.Actions, func(a repair.Action) bool { return a.Kind == repair.RebuildTimeIndex }); planned != c.planned {
				t.Errorf("planned: %v; %+v", planned, p.Actions)
			}
		})
	}
}

// TestStartReads: an action that lowers the recovery point or takes the marker away says how much the next
// start reads. The case's segments have 23,010 bytes each, and the damaged batch lies in the second.
func TestStartReads(t *testing.T) {
	t.Parallel()
	const segment = 23010
	for _, c := range []struct {
		name   string
		marker bool
		want   repair.StartReads
	}{
		{"a clean stop", true, repair.StartReads{Marker: true, RecoveryPoint: 100, Bytes: 2 * segment}},
		{"a kill", false, repair.StartReads{RecoveryPoint: 100, Bytes: 2 * segment, BytesBefore: segment}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := caseDir(t, "BR-25b")
			if !c.marker {
				if err := os.Remove(filepath.Join(root, "b1", ".kafka_cleanshutdown")); err != nil {
					t.Fatal(err)
				}
			}
			p := planWith(t, root, repair.BuildOptions{})
			if len(p.Actions) != 1 || p.Actions[0].Reads == nil {
				t.Fatalf("%+v", p.Actions)
			}
			got := *p.Actions[0].Reads
			if got.Was == nil || *got.Was != 300 {
				t.Errorf("was %v", got.Was)
			}
			if got.Was = nil; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
