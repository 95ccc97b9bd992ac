package repair_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// planOf plans all that can be planned for a folder.
func planOf(t *testing.T, dir string) *repair.Plan {
	t.Helper()
	return planWith(t, dir, repair.BuildOptions{All: true})
}

func planWith(t *testing.T, dir string, opt repair.BuildOptions) *repair.Plan {
	t.Helper()
	opt.Kafsck, opt.Kafka, opt.KafkaNamed, opt.Now = "test", broker.Latest, true, time.Unix(1700000000, 0)
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
	p, err := repair.Build(t.Context(), inc, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// segmentFiles are the segments' files of a partition directory after a plan, with the sizes of those
// that the plan keeps as they are and -1 of those that it makes.
func segmentFiles(t *testing.T, p *repair.Plan, dir, part string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	entries, err := os.ReadDir(filepath.Join(dir, part))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); len(name) > 20 && strings.Trim(name[:20], "0123456789") == "" && !strings.Contains(name, ".snapshot") {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			out[name] = info.Size()
		}
	}
	before := maps.Clone(out)
	local := func(file string) string { return strings.TrimPrefix(file, part+"/") }
	for _, op := range []repair.Op{repair.Remove, repair.Rename, repair.Rebuild, repair.Compose} {
		for _, a := range p.Actions {
			if filepath.Join(p.Roots[a.Root].Path, a.Dir) != filepath.Join(dir, part) || a.Confirm {
				continue
			}
			for _, e := range a.Edits {
				_, there := before[local(e.File)]
				switch {
				case e.Op != op || strings.HasSuffix(e.File, ".snapshot") || len(local(e.File)) < 21:
				case op == repair.Remove:
					if !there {
						t.Errorf("%s removes %s, which is not there", a.ID, e.File)
					}
					delete(out, local(e.File))
				case op == repair.Rename:
					if _, taken := out[local(e.To)]; taken || !there {
						t.Errorf("%s renames %s to %s, there: %v, taken: %v", a.ID, e.File, e.To, there, taken)
					}
					out[local(e.To)] = before[local(e.File)]
					delete(out, local(e.File))
				default:
					out[local(e.File)] = -1
				}
			}
		}
	}
	return out
}

// caseDir is a copy of a case that may be changed.
func caseDir(t *testing.T, name string) string {
	t.Helper()
	sub, err := fs.Sub(fixture.Tree(t, "cases"), name)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, sub); err != nil {
		t.Fatal(err)
	}
	return dir
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

// change puts other bytes into a file.
func change(t *testing.T, name string, how func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, how(bytes.Clone(b)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func kinds(p *repair.Plan) []string {
	var out []string
	for _, a := range p.Actions {
		out = append(out, string(a.Kind))
	}
	slices.Sort(out)
	return out
}

// whole are the names of a segment's files.
func whole(logs map[int64]int64) map[string]int64 {
	out := map[string]int64{}
	for base, size := range logs {
		for _, ext := range []string{"index", "log", "timeindex"} {
			out[fmt.Sprintf("%020d.%s", base, ext)] = size
		}
	}
	return out
}

// TestSwaps: every way in which a cleaning can be interrupted, and those of a rename. The files that the
// plan leaves, and the sizes of the .log files, are those that Kafka 4.3.1 has after a start of
// the same directory (its LogManager, run on each: cases/kafka_on_start.json and the same program
// for the variants), except where Kafka destroys records: there the originals stay, which Kafka
// reads in BR-56a.
func TestSwaps(t *testing.T) {
	t.Parallel()
	originals := map[int64]int64{0: 393, 115: 3538, 230: 5880}
	swapped := map[int64]int64{0: 3931, 230: 5880}
	orders := map[int64]int64{0: 23010, 100: 23010, 200: 23010}
	const first, second, third = "00000000000000000000", "00000000000000000115", "00000000000000000230"
	for _, c := range []struct {
		name, from string
		vary       func(t *testing.T, dir string) // the partition directory
		kinds      []string                       // that concern the swap
		want       map[int64]int64
		why        string // in the action
	}{
		{"only cleaned files", "BR-56a", nil, []string{"undo-cleaning"}, originals, "the originals hold every record"},
		{"cleaned and swap files", "BR-56b", nil, []string{"undo-cleaning"}, originals, "the originals hold every record"},
		{"all swap files", "BR-56c", nil, []string{"finish-cleaning"}, swapped, "a start would do the same"},
		{"all swap files, originals deleted", "BR-56d", nil, []string{"finish-cleaning"}, swapped, "a start would do the same"},
		{"swap done, originals left", "BR-56e", nil, []string{"finish-cleaning"}, swapped, "the next start deletes them"},
		{"swap log cut", "BR-56f", nil, []string{"undo-cleaning"}, originals, "its output is not whole, and the originals are"},
		{"swap set of the first half", "BR-56g", nil, []string{"undo-cleaning"}, originals, "its output is not whole, and the originals are"},
		{"an earlier cleaning's original beside its successor", "BR-56a", func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, first+".log"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, first+".log.deleted"), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, []string{"undo-cleaning"}, originals, "1 file is among them"},
		{"a deleted segment below the output", "BR-56a", func(t *testing.T, dir string) {
			for _, ext := range []string{".log", ".index", ".timeindex"} {
				rename(t, dir, first+ext+".cleaned", second+ext+".cleaned")
				rename(t, dir, first+ext, first+ext+".deleted")
			}
		}, []string{"undo-cleaning"}, map[int64]int64{115: 3538, 230: 5880}, "3 files are among them"},
		{"swap log cut, originals deleted", "BR-56d", func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, first+".log.swap"), func(b []byte) []byte { return b[:len(b)/2] })
		}, []string{"undo-cleaning"}, originals, "its output is not whole, and the originals are"},
		{"swap files up to the end of the log", "BR-56d", func(t *testing.T, dir string) {
			for _, ext := range []string{".log", ".index", ".timeindex", ".snapshot"} {
				if err := os.Remove(filepath.Join(dir, third+ext)); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"finish-cleaning"}, map[int64]int64{0: 3931}, "a start would do the same"},
		{"an index that was not renamed", "BR-56e", func(t *testing.T, dir string) { rename(t, dir, second+".index.deleted", second+".index") },
			[]string{"finish-cleaning"}, swapped, "the next start deletes them"},
		{"indexes that were not renamed", "BR-56e", func(t *testing.T, dir string) {
			rename(t, dir, second+".index.deleted", second+".index")
			rename(t, dir, second+".timeindex.deleted", second+".timeindex")
		}, []string{"finish-cleaning", "finish-rename"}, swapped, "the files of a deleted segment go"},
		{"the only copy was renamed", "BR-70a", nil, []string{"finish-rename"}, orders, "gets its name back"},
		{"a deleted twin", "BR-70b", nil, []string{"finish-rename"}, orders, "every batch of the one that stays is whole"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, part := caseDir(t, c.from), "orders-0"
			if strings.HasPrefix(c.from, "BR-56") {
				dir, part = filepath.Join(dir, "b1"), "kv-0"
			}
			if c.vary != nil {
				c.vary(t, filepath.Join(dir, part))
			}
			p := planOf(t, dir)
			var got []string
			said := ""
			for _, a := range p.Actions {
				if k := string(a.Kind); strings.HasSuffix(k, "-cleaning") || k == "finish-rename" {
					got = append(got, k)
					said += a.Does + "\n" + a.Why + "\n"
					if len(a.Loses) > 0 || a.Confirm {
						t.Errorf("%s loses %v, confirm %v", a.Kind, a.Loses, a.Confirm)
					}
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(c.kinds, got); d != "" {
				t.Errorf("actions (-want +got):\n%s", d)
			}
			if !strings.Contains(said, c.why) {
				t.Errorf("said:\n%swant %q", said, c.why)
			}
			files := segmentFiles(t, p, dir, part)
			want := whole(c.want)
			for name := range want {
				if _, ok := files[name]; ok && !strings.HasSuffix(name, ".log") {
					want[name] = files[name] // Kafka's own may be built anew, with other sizes
				}
			}
			if d := cmp.Diff(want, files); d != "" {
				t.Errorf("files (-Kafka's +plan's):\n%s", d)
			}
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			for _, x := range p.Promises {
				if x.Partition == part && x.LogStartOffset != slices.Min(slices.Collect(maps.Keys(c.want))) {
					t.Errorf("log start %d", x.LogStartOffset)
				}
			}
		})
	}
}

// TestDamagedTwin: where the .log that stays has a damaged batch, its deleted twin may be the better one,
// and neither goes. Kafka deletes the twin.
func TestDamagedTwin(t *testing.T) {
	t.Parallel()
	dir := caseDir(t, "BR-70b")
	change(t, filepath.Join(dir, "orders-0", "00000000000000000100.log"), func(b []byte) []byte { b[5000] ^= 0xff; return b })
	p := planOf(t, dir)
	if slices.Contains(kinds(p), "finish-rename") {
		t.Errorf("%v", kinds(p))
	}
	if !slices.ContainsFunc(p.Left, func(l repair.Left) bool { return l.Code == "partial-rename" }) {
		t.Errorf("the renamed file is not told of: %+v", p.Left)
	}
	if files := segmentFiles(t, p, dir, "orders-0"); files["00000000000000000100.log.deleted"] != 23010 {
		t.Errorf("%v", files)
	}
}
