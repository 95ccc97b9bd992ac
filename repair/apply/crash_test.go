package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kafsck/internal/rofs"
	"kafsck/repair"
)

// dying is a disk on which, after a number of operations, nothing happens any more: as for a
// process that was killed. die is called there instead, if it is set.
type dying struct {
	system
	mu    sync.Mutex
	left  int // operations
	n     int // done so far
	fail  error
	die   func()
	local bool // only the one operation fails
}

var errKilled = errors.New("killed")

func (d *dying) op() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.left--; d.left >= 0 || d.local && d.left != -1 {
		return nil
	}
	if d.die != nil {
		d.die()
	}
	return d.fail
}

func (d *dying) Mkdir(p string) error {
	if err := d.op(); err != nil {
		return err
	}
	return d.system.Mkdir(p)
}

func (d *dying) Create(p string) (writer, error) {
	if err := d.op(); err != nil {
		return nil, err
	}
	w, err := d.system.Create(p)
	if err != nil {
		return nil, err
	}
	return &dyingFile{w, d}, nil
}

func (d *dying) Clone(from, to string) error { return errNoClone }

func (d *dying) Link(from, to string) error {
	if err := d.op(); err != nil {
		return err
	}
	return d.system.Link(from, to)
}

func (d *dying) Rename(from, to string) error {
	if err := d.op(); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil && filepath.Base(to) != journalName {
		return fmt.Errorf("%s would be replaced", to)
	}
	return d.system.Rename(from, to)
}

func (d *dying) Remove(p string) error {
	if err := d.op(); err != nil {
		return err
	}
	return d.system.Remove(p)
}

func (d *dying) Dress(p string, as fs.FileInfo) error {
	if err := d.op(); err != nil {
		return err
	}
	return d.system.Dress(p, as)
}

func (d *dying) SyncFile(p string) error { return d.op() }
func (d *dying) SyncDir(p string) error  { return d.op() }
func (d *dying) SyncAll(p string) error  { return d.op() }

type dyingFile struct {
	writer
	d *dying
}

// Write of a process that is killed may have written a part.
func (f *dyingFile) Write(p []byte) (int, error) {
	if err := f.d.op(); err != nil {
		n, _ := f.writer.Write(p[:len(p)/2])
		return n, err
	}
	return f.writer.Write(p)
}

func (f *dyingFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.d.op(); err != nil {
		n, _ := f.writer.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.writer.WriteAt(p, at)
}

// crashPlan is the plan of the crash tests: a cut, a folder that goes, a file that gets another
// name, and one in a folder that is new. kept-0 stays as it is.
func crashPlan(t testing.TB, root string) *repair.Plan {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(root, "gone-0", "deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "gone-0", "deep", "x"), []byte("x"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "old.name"), []byte("y"), 0o640))
	must(t, os.Mkdir(filepath.Join(root, "kept-0"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "kept-0", "leader-epoch-checkpoint"), []byte("0\n0\n"), 0o644))
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 20)
	text := "0\n0\n"
	p.Actions = append(p.Actions, repair.Action{ID: "a2", Kind: repair.MoveAside, Findings: []string{}, Does: "x", Why: "y", Loses: []repair.PlanLoss{}, Edits: []repair.Edit{
		{Op: repair.Remove, File: "gone-0"},
		{Op: repair.Rename, File: "old.name", To: "new.name"},
		{Op: repair.Write, File: "made-0/leader-epoch-checkpoint", Text: &text},
	}})
	return p
}

// slim is a log directory with three segments of the recording.
func slim(t testing.TB) string {
	t.Helper()
	root := transactionsRoot(t)
	entries, err := os.ReadDir(root)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() && e.Name() != "tx-orders-0" && e.Name() != "__cluster_metadata-0" {
			must(t, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 30)
	out := filepath.Join(t.TempDir(), "slim")
	_, err = Run(t.Context(), p, Options{Out: out, sys: quick{}})
	must(t, err)
	return filepath.Join(out, "broker-2")
}

// copyTree copies a directory for a run that may spoil it.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	must(t, os.CopyFS(to, os.DirFS(from)))
}

// steps is how far apart the operations are at which a run is stopped: 1 with
// KAFSCK_EVERY=1, which takes minutes.
func steps() int {
	switch {
	case os.Getenv("KAFSCK_EVERY") != "":
		return 1
	case testing.Short():
		return 23
	}
	return 11
}

// TestStoppedAfterEveryOperation: whenever a run into a new directory is stopped, OUT is not
// there, the input is what it was, and a rerun makes the same result.
func TestStoppedAfterEveryOperation(t *testing.T) {
	t.Parallel()
	root := slim(t)
	p := crashPlan(t, root)
	before := sumTree(t, root)
	count := &dying{system: quick{}, left: 1 << 30}
	out := filepath.Join(t.TempDir(), "OUT")
	_, err := Run(t.Context(), p, Options{Out: out, sys: count})
	must(t, err)
	want := sumTree(t, out)
	delete(want, reportName) // tells how many files were kept, and where OUT lies
	delete(want, sumsName)
	step := steps()
	for n := 0; n < count.n; n += step {
		dir, err := os.MkdirTemp("", "kafsck-crash")
		must(t, err)
		out := filepath.Join(dir, "OUT")
		_, err = Run(t.Context(), p, Options{Out: out, sys: &dying{system: quick{}, left: n, fail: errKilled}})
		if !errors.Is(err, errKilled) {
			t.Fatalf("after %d operations: %v", n, err)
		}
		if _, statErr := os.Lstat(out); statErr == nil {
			// Only the flush of the name was left.
			if n != count.n-1 {
				t.Fatalf("after %d of %d operations OUT is there (%v)", n, count.n, err)
			}
			must(t, os.RemoveAll(dir))
			continue
		}
		if _, err = Run(t.Context(), p, Options{Out: out, Resume: true, sys: quick{}}); err != nil {
			t.Fatalf("rerun after %d operations: %v", n, err)
		}
		got := sumTree(t, out)
		delete(got, reportName)
		delete(got, sumsName)
		sameTree(t, fmt.Sprintf("after %d operations", n), got, want)
		must(t, os.RemoveAll(dir))
	}
	sameTree(t, "the input", sumTree(t, root), before)
	t.Log(count.n, "operations")
}

// inPlaceCase is a root in a folder of its own, with its plan and both complete states.
type inPlaceCase struct {
	plan       *repair.Plan
	from       string // the root, never changed
	old, new   map[string]string
	operations int
}

func newInPlaceCase(t testing.TB) *inPlaceCase {
	c := &inPlaceCase{from: slim(t)}
	c.plan = crashPlan(t, c.from)
	c.old = sumTree(t, c.from)
	root, p := c.fresh(t)
	count := &dying{system: quick{}, left: 1 << 30}
	_, err := Run(t.Context(), p, Options{InPlace: true, sys: count})
	must(t, err)
	c.new, c.operations = sumTree(t, root), count.n
	must(t, os.RemoveAll(filepath.Dir(root)))
	return c
}

// fresh is a copy of the root with a plan for it.
func (c *inPlaceCase) fresh(t testing.TB) (string, *repair.Plan) {
	t.Helper()
	dir, err := os.MkdirTemp("", "kafsck-inplace")
	must(t, err)
	root := filepath.Join(dir, "data")
	copyTree(t, c.from, root)
	return root, c.at(root)
}

func (c *inPlaceCase) at(root string) *repair.Plan {
	p := *c.plan
	p.Roots = slices.Clone(p.Roots)
	p.Actions, p.Promises = slices.Clone(p.Actions), slices.Clone(p.Promises) // a run may drop some
	p.Roots[0].Path = root
	return &p
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// TestInPlaceStoppedAfterEveryOperation: whenever an in-place repair is stopped, the same
// command makes the new state complete, and an undo the old one; an undo that is stopped is
// finished by another.
func TestInPlaceStoppedAfterEveryOperation(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	step := steps()
	for n := 0; n < c.operations; n += step {
		for _, way := range []string{"rerun", "undo"} {
			root, p := c.fresh(t)
			_, err := Run(t.Context(), p, Options{InPlace: true, sys: &dying{system: quick{}, left: n, fail: errKilled}})
			if !errors.Is(err, errKilled) {
				t.Fatalf("after %d operations: %v", n, err)
			}
			if way == "rerun" {
				_, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
				if r, ok := errors.AsType[*Refused](err); ok && strings.Contains(r.Reason, "was carried out") {
					err = nil // it was only the last flush
				}
				if err != nil {
					t.Fatalf("rerun after %d operations: %v", n, err)
				}
				if !same(sumTree(t, root), c.new) {
					sameTree(t, fmt.Sprintf("rerun after %d operations", n), sumTree(t, root), c.new)
				}
			}
			_, err = undo(t.Context(), quick{}, root)
			if r, ok := errors.AsType[*Refused](err); ok && way == "undo" && strings.Contains(r.Reason, "not repaired in place") {
				err = nil // nothing had been moved
			}
			if err != nil {
				t.Fatalf("%s after %d operations: undo: %v", way, n, err)
			}
			if !same(sumTree(t, root), c.old) {
				sameTree(t, fmt.Sprintf("%s and undo after %d operations", way, n), sumTree(t, root), c.old)
			}
			must(t, os.RemoveAll(filepath.Dir(root)))
		}
	}
	t.Log(c.operations, "operations")
}

// TestUndoStoppedAfterEveryOperation: an undo that is stopped is finished by another one.
func TestUndoStoppedAfterEveryOperation(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	step := steps()
	for n := 0; ; n += step {
		root, p := c.fresh(t)
		_, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
		must(t, err)
		stopped := &dying{system: quick{}, left: n, fail: errKilled}
		_, err = undo(t.Context(), stopped, root)
		if err == nil {
			t.Log(stopped.n, "operations")
			return
		}
		if _, err := undo(t.Context(), quick{}, root); err != nil && !strings.Contains(err.Error(), "not repaired in place") {
			t.Fatalf("undo again after %d operations: %v", n, err)
		}
		if !same(sumTree(t, root), c.old) {
			sameTree(t, fmt.Sprintf("undo after %d operations", n), sumTree(t, root), c.old)
		}
		must(t, os.RemoveAll(filepath.Dir(root)))
	}
}

// TestInPlaceRefusals: what an undo or a second run would spoil is refused.
func TestInPlaceRefusals(t *testing.T) {
	c := newInPlaceCase(t)
	root, p := c.fresh(t)
	if _, err := undo(t.Context(), quick{}, root); err == nil || !strings.Contains(err.Error(), "not repaired in place") {
		t.Error(err)
	}
	_, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
	must(t, err)
	sameTree(t, "in place", sumTree(t, root), c.new)
	if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); err == nil || !strings.Contains(err.Error(), "was carried out") {
		t.Error(err)
	}
	name := filepath.Join(root, "tx-orders-0", "00000000000000000017.log")
	b, err := os.ReadFile(name)
	must(t, err)
	appendTo(t, name, "a broker wrote this")
	if _, err := undo(t.Context(), quick{}, root); err == nil || !strings.Contains(err.Error(), "has 292 bytes, it had 273") {
		t.Error(err)
	}
	must(t, os.WriteFile(name, b, 0o644))
	more := filepath.Join(root, "tx-orders-0", "00000000000000000999.log")
	must(t, os.WriteFile(more, nil, 0o644))
	if _, err := undo(t.Context(), quick{}, root); err == nil || !strings.Contains(err.Error(), "00000000000000000999.log came") {
		t.Error(err)
	}
	must(t, os.Remove(more))
	if _, err := undo(t.Context(), quick{}, root); err != nil {
		t.Error(err)
	}
	sameTree(t, "undone", sumTree(t, root), c.old)
	if left, _ := filepath.Glob(root + ".kafsck*"); len(left) > 0 {
		t.Error(left)
	}
}

// TestFailingDisk: a disk that is full, a folder without permission, and a read error half-way
// leave nothing that looks done, and say what to do.
func TestFailingDisk(t *testing.T) {
	root := slim(t)
	p := crashPlan(t, root)
	before := sumTree(t, root)
	count := &dying{system: quick{}, left: 1 << 30}
	_, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: count})
	must(t, err)
	for n := 1; n < count.n-1; n += max(1, count.n/9) {
		out := filepath.Join(t.TempDir(), "OUT")
		_, err := Run(t.Context(), p, Options{Out: out, sys: &dying{system: quick{}, left: n, fail: syscall.ENOSPC, local: true}})
		s, ok := errors.AsType[*Stopped](err)
		if !ok || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--resume") {
			t.Fatalf("%d: %T %v", n, err, err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Error("OUT is there")
		}
		if _, err := os.Lstat(s.Stage); err != nil {
			t.Error(err)
		}
		if _, err := Run(t.Context(), p, Options{Out: out, Resume: true, sys: quick{}}); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	broken := func(host string) (rofs.FS, error) {
		fsys, err := rofs.Dir(host)
		return rofs.Fault(fsys, func(op, name string, pos, length int64) error {
			if op == "read" && strings.HasSuffix(name, "00000000000000000004.log") {
				return syscall.EIO
			}
			return nil
		}), err
	}
	out := filepath.Join(t.TempDir(), "OUT")
	if _, err := Run(t.Context(), p, Options{Out: out, sys: quick{}, open: broken}); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "00000000000000000004.log") {
		t.Error(err)
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("OUT is there")
	}
	// In place nothing is changed, and nothing is left.
	c := &inPlaceCase{plan: p, from: root}
	copied, q := c.fresh(t)
	if _, err := Run(t.Context(), q, Options{InPlace: true, sys: quick{}, open: broken}); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	sameTree(t, "in place", sumTree(t, copied), before)
	if left, _ := filepath.Glob(copied + ".kafsck*"); len(left) > 0 {
		t.Error(left)
	}
	// Interrupted.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, p, Options{Out: out, sys: quick{}, Resume: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	sameTree(t, "the input", sumTree(t, root), before)
}

// TestReallyKilled re-executes this test binary, which kills itself with SIGKILL at a random
// operation on a real disk.
func TestReallyKilled(t *testing.T) {
	if root := os.Getenv("KAFSCK_TEST_KILLED_ROOT"); root != "" {
		var n int
		fmt.Sscan(os.Getenv("KAFSCK_TEST_KILLED_AFTER"), &n)
		c := &inPlaceCase{plan: handPlan(t, root)}
		truncation(t, c.plan, "tx-orders-0", 20)
		d := &dying{system: disk{}, left: n, die: func() {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		}}
		var err error
		if out := os.Getenv("KAFSCK_TEST_KILLED_OUT"); out != "" {
			_, err = Run(t.Context(), c.plan, Options{Out: out, sys: d})
		} else {
			_, err = Run(t.Context(), c.plan, Options{InPlace: true, sys: d})
		}
		must(t, err)
		return
	}
	self, err := os.Executable()
	must(t, err)
	from := slim(t)
	plan := handPlan(t, from)
	truncation(t, plan, "tx-orders-0", 20)
	c := &inPlaceCase{plan: plan, from: from, old: sumTree(t, from)}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	killed := 0
	for i := range rounds {
		root, p := c.fresh(t)
		out := ""
		if i%3 == 0 {
			out = filepath.Join(filepath.Dir(root), "OUT")
		}
		cmd := exec.Command(self, "-test.run=^TestReallyKilled$")
		cmd.Env = append(os.Environ(), "KAFSCK_TEST_KILLED_ROOT="+root, "KAFSCK_TEST_KILLED_OUT="+out, fmt.Sprint("KAFSCK_TEST_KILLED_AFTER=", random.IntN(200)))
		if err := cmd.Run(); err != nil {
			killed++
		}
		if out != "" {
			sameTree(t, "killed", sumTree(t, root), c.old)
			if _, err := os.Lstat(out); err != nil {
				if _, err := Run(t.Context(), p, Options{Out: out, Resume: true, sys: quick{}}); err != nil {
					t.Error(err)
				}
			}
			must(t, os.RemoveAll(filepath.Dir(root)))
			continue
		}
		if i%3 == 1 {
			if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); err != nil && !strings.Contains(err.Error(), "was carried out") {
				t.Error(err)
			}
		}
		if _, err := undo(t.Context(), quick{}, root); err != nil && !strings.Contains(err.Error(), "not repaired in place") {
			t.Error(err)
		}
		sameTree(t, "killed and undone", sumTree(t, root), c.old)
		must(t, os.RemoveAll(filepath.Dir(root)))
	}
	t.Log(killed, "of", rounds, "killed")
	if killed == 0 {
		t.Error("none was killed")
	}
}
