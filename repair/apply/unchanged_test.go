package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafsck/repair"
)

// repaired is a root that was repaired in place: a log of its partition tx-orders-0 is cut, and
// gone-0 with its file is aside.
func (c *inPlaceCase) repaired(t *testing.T) (root, backup string) {
	t.Helper()
	root, p := c.fresh(t)
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(root)) })
	_, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
	must(t, err)
	return root, root + ".kafsck-" + p.ID
}

// refusedUndo fails unless an undo is refused with those words, and changes nothing.
func refusedUndo(t *testing.T, path, folder string, says ...string) {
	t.Helper()
	before := sumTree(t, folder)
	_, err := undo(t.Context(), quick{}, path)
	for _, s := range says {
		if !refusedBy(err, s) {
			t.Errorf("want %q: %v", s, err)
		}
	}
	sameTree(t, "a refused undo", sumTree(t, folder), before)
}

// TestUndoMovedDirectory: what a journal says of other places is not followed.
func TestUndoMovedDirectory(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	root, backup := c.repaired(t)
	home := filepath.Dir(root)
	away := filepath.Join(home, "elsewhere")
	must(t, os.Mkdir(away, 0o755))
	moved := filepath.Join(away, filepath.Base(root))

	// A copy: neither it nor what it is a copy of changes.
	copyTree(t, root, moved)
	copyTree(t, backup, filepath.Join(away, filepath.Base(backup)))
	refusedUndo(t, moved, home, "was moved or copied", backup)
	must(t, os.RemoveAll(away))
	must(t, os.Mkdir(away, 0o755))

	must(t, os.Rename(root, moved))
	refusedUndo(t, backup, home, root+" is not there")
	must(t, os.Rename(backup, filepath.Join(away, filepath.Base(backup))))
	for _, path := range []string{moved, filepath.Join(away, filepath.Base(backup)), filepath.Join(away, filepath.Base(backup), journalName)} {
		refusedUndo(t, path, home, "was moved or copied", root, backup)
	}
	must(t, os.Rename(moved, root))
	must(t, os.Rename(filepath.Join(away, filepath.Base(backup)), backup))
	u, err := undo(t.Context(), quick{}, root)
	must(t, err)
	if u.Files != 10 || u.Taken != 3 {
		t.Errorf("%+v", u)
	}
	sameTree(t, "put back and undone", sumTree(t, root), c.old)
}

// TestUndoMissingOriginal: an original that is missing, cut or another one is found before anything
// is moved.
func TestUndoMissingOriginal(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	root, backup := c.repaired(t)
	old := filepath.Join(backup, oldFolder)
	for _, name := range []string{"old.name", "gone-0/deep/x", "tx-orders-0/00000000000000000017.log"} {
		at := filepath.Join(old, filepath.FromSlash(name))
		b, err := os.ReadFile(at)
		must(t, err)
		must(t, os.Remove(at))
		refusedUndo(t, root, filepath.Dir(root), old+" has not all", name+" is not there")
		must(t, os.WriteFile(at, b[:0], 0o644))
		refusedUndo(t, root, filepath.Dir(root), fmt.Sprintf("%s has 0 bytes, it had %d", name, len(b)))
		b[0] ^= 1
		must(t, os.WriteFile(at, b, 0o644))
		refusedUndo(t, root, filepath.Dir(root), name+" has other bytes")
		b[0] ^= 1
		must(t, os.WriteFile(at, b, 0o644))
	}
	_, err := undo(t.Context(), quick{}, root)
	must(t, err)
	sameTree(t, "undone", sumTree(t, root), c.old)
}

// afterRepair is what may happen to a directory after a repair, and what is said of it.
var afterRepair = []struct {
	name, says string
	change     func(t *testing.T, root string)
}{
	{"a file is gone", "meta.properties is gone", func(t *testing.T, root string) { must(t, os.Remove(filepath.Join(root, "meta.properties"))) }},
	{"an append", "00000000000000000004.log has ", func(t *testing.T, root string) {
		appendTo(t, filepath.Join(root, "tx-orders-0", "00000000000000000004.log"), "a batch")
	}},
	{"a cut", "00000000000000000004.log has 9 bytes, it had", func(t *testing.T, root string) {
		must(t, os.Truncate(filepath.Join(root, "tx-orders-0", "00000000000000000004.log"), 9))
	}},
	{"a new checkpoint of the same size", "meta.properties has other bytes", func(t *testing.T, root string) {
		name := filepath.Join(root, "meta.properties")
		b, err := os.ReadFile(name)
		must(t, err)
		b[0] ^= 1
		must(t, os.WriteFile(name+".tmp", b, 0o644))
		must(t, os.Rename(name+".tmp", name))
	}},
	{"a new partition", "new-0 came", func(t *testing.T, root string) { must(t, os.Mkdir(filepath.Join(root, "new-0"), 0o755)) }},
	{"a file in a folder that did not change", "kept-0/x came", func(t *testing.T, root string) {
		must(t, os.WriteFile(filepath.Join(root, "kept-0", "x"), nil, 0o644))
	}},
	{"a lock file", ".lock came", func(t *testing.T, root string) { must(t, os.WriteFile(filepath.Join(root, ".lock"), nil, 0o644)) }},
	{"a deleted partition", "kept-0 is gone", func(t *testing.T, root string) {
		must(t, os.RemoveAll(filepath.Join(root, "kept-0")))
	}},
	{"a new file that was written", "made-0/leader-epoch-checkpoint has", func(t *testing.T, root string) {
		appendTo(t, filepath.Join(root, "made-0", "leader-epoch-checkpoint"), "1\n")
	}},
	{"a new file that is gone", "new.name is gone", func(t *testing.T, root string) { must(t, os.Remove(filepath.Join(root, "new.name"))) }},
	{"a file that was taken out is there again", "old.name came", func(t *testing.T, root string) {
		must(t, os.WriteFile(filepath.Join(root, "old.name"), nil, 0o644))
	}},
}

// TestUndoAfterBroker: whatever a broker that ran left is noticed, also in files that the repair did
// not touch; a time alone is nothing.
func TestUndoAfterBroker(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	for _, x := range afterRepair {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			root, _ := c.repaired(t)
			x.change(t, root)
			refusedUndo(t, root, filepath.Dir(root), "a broker ran?", x.says)
		})
	}
	t.Run("a partition elsewhere", func(t *testing.T) {
		t.Parallel()
		root, _ := c.repaired(t)
		away := filepath.Join(filepath.Dir(root), "away")
		must(t, os.Rename(filepath.Join(root, "tx-orders-0"), away))
		must(t, os.Symlink(away, filepath.Join(root, "tx-orders-0")))
		before := sumTree(t, away)
		if _, err := undo(t.Context(), quick{}, root); !refusedBy(err, "tx-orders-0 came") {
			t.Error(err)
		}
		sameTree(t, "elsewhere", sumTree(t, away), before)
	})
	t.Run("times", func(t *testing.T) {
		t.Parallel()
		root, _ := c.repaired(t)
		must(t, os.Chtimes(filepath.Join(root, "meta.properties"), time.Time{}, time.Now().Add(-time.Hour)))
		must(t, os.Chtimes(filepath.Join(root, "new.name"), time.Time{}, time.Now()))
		_, err := undo(t.Context(), quick{}, root)
		must(t, err)
		sameTree(t, "undone", sumTree(t, root), c.old)
	})
}

// TestBrokerRanOnHalfARepair: neither the same command nor an undo makes a mixture.
func TestBrokerRanOnHalfARepair(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	for n := c.operations - 8; n < c.operations-2; n += 3 {
		root, p := c.fresh(t)
		_, err := Run(t.Context(), p, Options{InPlace: true, sys: &dying{system: quick{}, left: n, fail: errKilled}})
		if err == nil || !strings.Contains(err.Error(), "half-way") {
			t.Fatal(err)
		}
		log := filepath.Join(root, "kept-0", "leader-epoch-checkpoint")
		info, err := os.Stat(log)
		must(t, err)
		appendTo(t, log, "a batch")
		before := sumTree(t, filepath.Dir(root))
		if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); !refusedBy(err, "going on would leave a mixture") {
			t.Error(err)
		}
		sameTree(t, "refused", sumTree(t, filepath.Dir(root)), before)
		refusedUndo(t, root, filepath.Dir(root), "kept-0/leader-epoch-checkpoint has")
		must(t, os.Truncate(log, info.Size()))
		_, err = Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
		must(t, err)
		sameTree(t, "finished", sumTree(t, root), c.new)
		must(t, os.RemoveAll(filepath.Dir(root)))
	}
}

// TestOneOfTwoBackupsIsGone: of a repair of two directories nothing is undone, and nothing made anew,
// while one of the folders with originals is missing.
func TestOneOfTwoBackupsIsGone(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	copyTree(t, c.from, one)
	copyTree(t, c.from, two)
	text := "0\n0\n"
	p := handPlan(t, one, two)
	p.Roots[1].Source = false
	for i, file := range []string{"old.name", "old.name"} {
		p.Actions = append(p.Actions, repair.Action{ID: fmt.Sprint("a", i+1), Kind: repair.MoveAside, Root: i, Findings: []string{}, Does: "x", Why: "y", Loses: []repair.PlanLoss{},
			Edits: []repair.Edit{{Op: repair.Remove, File: file}, {Op: repair.Write, File: "made-0/leader-epoch-checkpoint", Text: &text}}})
	}
	old := [2]map[string]string{sumTree(t, one), sumTree(t, two)}
	for _, stop := range []bool{true, false} {
		d := &dying{system: quick{}, left: 1 << 30, fail: errKilled}
		if stop { // when the first original is aside
			d.left = 1 << 30
			moved := &stopAfterMove{dying: d}
			if _, err := Run(t.Context(), p, Options{InPlace: true, sys: moved}); err == nil {
				t.Fatal("was not stopped")
			}
		} else if _, err := Run(t.Context(), p, Options{InPlace: true, sys: d}); err != nil {
			t.Fatal(err)
		}
		backup, hidden := two+".kafsck-"+p.ID, filepath.Join(dir, "hidden")
		must(t, os.Rename(backup, hidden))
		refusedUndo(t, one, dir, backup)
		before := sumTree(t, dir)
		if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); !refusedBy(err, "originals lie in", "was carried out") {
			t.Error(err)
		}
		sameTree(t, "refused", sumTree(t, dir), before)
		must(t, os.Rename(hidden, backup))
		_, err := undo(t.Context(), quick{}, two)
		must(t, err)
		sameTree(t, "one", sumTree(t, one), old[0])
		sameTree(t, "two", sumTree(t, two), old[1])
	}
}

// stopAfterMove is killed once an original is aside.
type stopAfterMove struct{ *dying }

func (s *stopAfterMove) Rename(from, to string) error {
	err := s.dying.Rename(from, to)
	if strings.Contains(to, string(filepath.Separator)+oldFolder+string(filepath.Separator)) {
		s.mu.Lock()
		s.left = 0
		s.mu.Unlock()
	}
	return err
}
