package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/manifest"
	"kafsck/repair"
)

func TestRun(t *testing.T) {
	root := transactionsRoot(t)
	before := sumTree(t, root)
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 110)
	out := filepath.Join(t.TempDir(), "OUT")
	done, err := Run(t.Context(), p, Options{Out: out, sys: quick{}})
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, "the input", sumTree(t, root), before)
	if !done.Complete() || len(done.Starts) != 1 || len(done.Starts[0].Partitions) != 1 {
		t.Errorf("%+v", done)
	}
	got := sumTree(t, out)
	// Everything that is not edited is there unchanged.
	edited := map[string]bool{}
	for _, e := range p.Actions[0].Edits {
		edited[e.File] = true
	}
	for name, sum := range before {
		if g := got["broker-2/"+name]; !edited[name] && g != sum {
			t.Errorf("%s: %s, want %s", name, g, sum)
		}
	}
	checkSums(t, out)
	b, err := os.ReadFile(filepath.Join(out, reportName))
	var told Done
	if err == nil {
		err = json.Unmarshal(b, &told)
	}
	if err != nil || told.Plan.ID != p.ID || len(told.Dropped) == 0 {
		t.Errorf("%v %+v", err, told)
	}
	everyBatch(t, p, out)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
		t.Error(left)
	}
}

// checkSums holds every file of the result against SHA256SUMS.
func checkSums(t *testing.T, out string) {
	t.Helper()
	f, err := os.Open(filepath.Join(out, sumsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := manifest.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, e := range entries {
		want[e.Path] = e.SHA256
	}
	got := sumTree(t, out)
	for name := range got {
		if strings.HasSuffix(name, "/") || name == sumsName {
			delete(got, name)
		}
	}
	sameTree(t, "SHA256SUMS", got, want)
}

// TestRefusals: nothing is left of a run that is refused.
func TestRefusals(t *testing.T) {
	for _, x := range []struct {
		name, want string
		change     func(t *testing.T, root, out string, p *repair.Plan)
	}{
		{"OUT exists", "exists", func(t *testing.T, root, out string, p *repair.Plan) { must(t, os.Mkdir(out, 0o755)) }},
		{"a file grew", "bytes, it had", func(t *testing.T, root, out string, p *repair.Plan) {
			appendTo(t, filepath.Join(root, "tx-orders-0/leader-epoch-checkpoint"), "\n")
		}},
		{"a byte changed", "SHA-256 is another", func(t *testing.T, root, out string, p *repair.Plan) {
			name := filepath.Join(root, "tx-orders-0/00000000000000000004.log")
			b, err := os.ReadFile(name)
			must(t, err)
			b[len(b)-1] ^= 1
			must(t, os.WriteFile(name, b, 0o644))
		}},
		{"a file came", "it is new", func(t *testing.T, root, out string, p *repair.Plan) {
			must(t, os.WriteFile(filepath.Join(root, "tx-orders-0/new"), nil, 0o644))
		}},
		{"a file went", "it is gone", func(t *testing.T, root, out string, p *repair.Plan) {
			must(t, os.Remove(filepath.Join(root, "meta.properties")))
		}},
		{"a link", "symbolic link", func(t *testing.T, root, out string, p *repair.Plan) {
			must(t, os.Symlink("/etc/passwd", filepath.Join(root, "tx-orders-0/x")))
		}},
		{"the root went", "is not there", func(t *testing.T, root, out string, p *repair.Plan) { must(t, os.RemoveAll(root)) }},
		{"nothing confirmed", "must be confirmed|none of the 1 actions", func(t *testing.T, root, out string, p *repair.Plan) { p.Actions[0].Confirmed = false }},
		{"a path out", "no path below", func(t *testing.T, root, out string, p *repair.Plan) { p.Actions[0].Edits[0].File = "../x" }},
		{"a version", "version", func(t *testing.T, root, out string, p *repair.Plan) { p.Version = 9 }},
		{"a stopped run", "--resume", func(t *testing.T, root, out string, p *repair.Plan) {
			must(t, os.Mkdir(filepath.Join(filepath.Dir(out), ".OUT.kafsck-"+p.ID), 0o755))
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			root := transactionsRoot(t)
			p := handPlan(t, root)
			truncation(t, p, "tx-orders-0", 110)
			dir := t.TempDir()
			out := filepath.Join(dir, "OUT")
			x.change(t, root, out, p)
			before := sumTree(t, dir)
			_, err := Run(t.Context(), p, Options{Out: out, sys: quick{}})
			if _, ok := errors.AsType[*Refused](err); !ok {
				t.Fatalf("%T %v", err, err)
			}
			found := false
			for w := range strings.SplitSeq(x.want, "|") {
				found = found || strings.Contains(err.Error(), w)
			}
			if !found || !strings.Contains(err.Error(), "nothing was written") {
				t.Error(err)
			}
			sameTree(t, "afterwards", sumTree(t, dir), before)
		})
	}
	// Inside of an input.
	root := transactionsRoot(t)
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 110)
	if _, err := Run(t.Context(), p, Options{Out: filepath.Join(root, "OUT")}); err == nil || !strings.Contains(err.Error(), "inside the input") {
		t.Error(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, name, s string) {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, append(b, s...), 0o644))
}

// TestBrokenPromises: what is not as promised does not appear under the name.
func TestBrokenPromises(t *testing.T) {
	for _, x := range []struct {
		name, want string
		change     func(p *repair.Plan)
	}{
		{"log end", "plan promises", func(p *repair.Plan) { p.Promises[0].LogEndOffset++ }},
		{"epochs", "the epochs", func(p *repair.Plan) { p.Promises[0].Epochs = nil }},
		{"no such log", "finds none", func(p *repair.Plan) {
			p.Promises = append(p.Promises, repair.Promise{Dir: "tx-orders-7", Partition: "tx-orders-7"})
		}},
		{"a batch cut in two", "middle of a batch|cannot be built|not a batch", func(p *repair.Plan) {
			for i := range p.Actions[0].Edits {
				if e := &p.Actions[0].Edits[i]; e.Op == repair.Compose {
					e.Pieces[0].Length -= 7
				}
			}
		}},
		{"a broken line", "recovery-point-offset-checkpoint|would not start", func(p *repair.Plan) {
			text := "0\n9\n"
			for i := range p.Actions[0].Edits {
				if e := &p.Actions[0].Edits[i]; e.File == "recovery-point-offset-checkpoint" {
					*e = repair.Edit{Op: repair.Write, File: e.File, Text: &text}
				}
			}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			root := transactionsRoot(t)
			p := handPlan(t, root)
			truncation(t, p, "tx-orders-0", 110)
			x.change(p)
			out := filepath.Join(t.TempDir(), "OUT")
			_, err := Run(t.Context(), p, Options{Out: out, sys: quick{}})
			f, ok := errors.AsType[*Failed](err)
			if !ok {
				t.Fatalf("%T %v", err, err)
			}
			found := false
			for w := range strings.SplitSeq(x.want, "|") {
				found = found || strings.Contains(err.Error(), w)
			}
			if !found {
				t.Error(err)
			}
			if f.Kept != out+".failed" {
				t.Error(f.Kept)
			}
			if _, err := os.Lstat(out); err == nil {
				t.Error("OUT is there")
			}
		})
	}
}

// everyBatch: every byte of a .log of the result is that of an input's batch, and every batch
// of the inputs is in the result or in lost+found.
func everyBatch(t *testing.T, p *repair.Plan, out string) {
	t.Helper()
	batches := func(dir string, skip func(string) bool) map[string]int {
		all := map[string]int{}
		must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".log") || skip(name) {
				return err
			}
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, raw := range split(b) {
				all[string(raw)]++
			}
			return nil
		}))
		return all
	}
	in := map[string]int{}
	for _, r := range p.Roots {
		for k, n := range batches(r.Path, func(string) bool { return false }) {
			in[k] += n
		}
	}
	result := batches(out, func(name string) bool { return strings.Contains(name, lostFound) })
	lost := map[string]int{}
	if _, err := os.Stat(filepath.Join(out, lostFound)); err == nil {
		lost = batches(filepath.Join(out, lostFound), func(string) bool { return false })
	}
	for raw := range result {
		if in[raw] == 0 {
			t.Errorf("a batch of %d bytes of the result is in no input", len(raw))
		}
	}
	mended := map[int]bool{}
	for a := range p.Carried() {
		mended[a.Root] = true
	}
	for i := range mended {
		for raw := range batches(p.Roots[i].Path, func(string) bool { return false }) {
			if result[raw]+lost[raw] == 0 {
				t.Errorf("a batch of %d bytes is neither in the result nor in lost+found", len(raw))
			}
		}
	}
}

// split cuts a log into its batches by their lengths alone; what is left is one more.
func split(b []byte) (out [][]byte) {
	for len(b) >= 12 {
		n := 12 + int(uint32(b[8])<<24|uint32(b[9])<<16|uint32(b[10])<<8|uint32(b[11]))
		if n < 26 || n > len(b) {
			break
		}
		out = append(out, b[:n])
		b = b[n:]
	}
	if len(b) > 0 && !bytes.Equal(b, make([]byte, len(b))) {
		out = append(out, b)
	}
	return out
}
