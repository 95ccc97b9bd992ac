package repair_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/repair"
)

// TestJunkAtTheEnd: bytes behind the last batch that are no zeros and no broken-off batch were not left
// by a crash. They go only when somebody says so, with what the high watermark says of them. What
// stays is what Kafka's recovery of the same directory leaves (its LogManager 4.3.1, without the marker
// of a clean shutdown): offsets 0–279, and an empty log.
func TestJunkAtTheEnd(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{95})
	junk := func(name string, n int64) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n < 0 {
			n = int64(len(b))
		}
		random.Read(b[int64(len(b))-n:])
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const last = "00000000000000000200.log"
	for _, c := range []struct {
		name    string
		spoil   func(dir string)
		loses   []repair.PlanLoss
		sizes   map[string]int64 // of the .log files; -1: put together
		end     int64
		epochs  [][2]int64
		removed []string
	}{
		{"behind batches, and others have them", func(dir string) {
			if err := os.CopyFS(filepath.Join(dir, "b1", "sound"), os.DirFS(filepath.Join(dir, "b2", "orders-0"))); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "b1", "orders-0")); err != nil {
				t.Fatal(err)
			}
			rename(t, filepath.Join(dir, "b1"), "sound", "orders-0")
			junk(filepath.Join(dir, "b1", "orders-0", last), 4602)
		}, []repair.PlanLoss{{From: 280, To: 300, HeldBy: []int32{2, 3}}}, map[string]int64{"00000000000000000000.log": 23010, "00000000000000000100.log": 23010, last: -1}, 280, [][2]int64{{0, 0}, {2, 80}, {3, 150}, {5, 240}}, nil},
		{"nothing else, anywhere", func(dir string) {
			for _, b := range []string{"b1", "b2", "b3"} {
				for _, name := range []string{"00000000000000000000.log", "00000000000000000100.log", last} {
					junk(filepath.Join(dir, b, "orders-0", name), -1)
				}
			}
		}, []repair.PlanLoss{{From: 0, To: 300, HeldBy: []int32{}}}, map[string]int64{"00000000000000000000.log": -1}, 0, [][2]int64{}, []string{"00000000000000000100.log", last}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := caseDir(t, "BR-25b")
			c.spoil(dir)
			p := planOf(t, dir)
			i := slices.IndexFunc(p.Actions, func(a repair.Action) bool {
				return strings.HasSuffix(p.Roots[a.Root].Path, "b1") && a.Kind == repair.Quarantine
			})
			if i < 0 {
				t.Fatalf("%v", kinds(p))
			}
			a := &p.Actions[i]
			if !a.Confirm || a.Confirmed || !strings.Contains(a.Why, "not the zeros or the broken-off batch that a crash leaves") {
				t.Errorf("confirm %v: %s", a.Confirm, a.Why)
			}
			for k := range a.Loses {
				if a.Loses[k].Note == "" || a.Loses[k].Records != nil {
					t.Errorf("%+v", a.Loses[k])
				}
				a.Loses[k].Note = ""
			}
			if d := cmp.Diff(c.loses, a.Loses); d != "" {
				t.Errorf("loses (-want +got):\n%s", d)
			}
			var removed []string
			for _, e := range a.Edits {
				if e.Op == repair.Remove && filepath.Ext(e.File) == ".log" {
					removed = append(removed, filepath.Base(e.File))
				}
			}
			if d := cmp.Diff(c.removed, removed); d != "" {
				t.Errorf("removed (-want +got):\n%s", d)
			}
			a.Confirm = false // as segmentFiles takes what is done
			logs := segmentFiles(t, p, filepath.Join(dir, "b1"), "orders-0")
			for name := range logs {
				if filepath.Ext(name) != ".log" {
					delete(logs, name)
				}
			}
			if d := cmp.Diff(c.sizes, logs); d != "" {
				t.Errorf("files (-Kafka's +plan's):\n%s", d)
			}
			for _, x := range p.Promises {
				if x.Root == a.Root && (x.LogEndOffset != c.end || !cmp.Equal(x.Epochs, c.epochs)) {
					t.Errorf("promised end %d, epochs %v, want %d, %v", x.LogEndOffset, x.Epochs, c.end, c.epochs)
				}
			}
		})
	}
}
