//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// meeting is a disk on which, before one operation, something else happens.
type meeting struct {
	*dying
	once sync.Once
}

func meet(at int, what func()) *meeting {
	m := &meeting{dying: &dying{system: quick{}, left: at}}
	m.die = func() { m.once.Do(what) }
	return m
}

// refusedBy tells whether a run was kept out by another one.
func refusedBy(err error, says ...string) bool {
	if _, ok := errors.AsType[*Refused](err); !ok {
		return false
	}
	for _, s := range says {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

const atWork = "another kafsck is at work in"

// everyOriginal fails if one of the files of a root is neither there nor among the originals.
func everyOriginal(t *testing.T, root string, want map[string]string) {
	t.Helper()
	now := sumTree(t, root)
	backups, err := filepath.Glob(root + ".kafsck-*")
	must(t, err)
	for _, b := range backups {
		if _, err := os.Lstat(filepath.Join(b, oldFolder)); err == nil {
			for name, sum := range sumTree(t, filepath.Join(b, oldFolder)) {
				if now[name] != want[name] {
					now[name] = sum
				}
			}
		}
	}
	for name, sum := range want {
		if !strings.HasSuffix(name, "/") && now[name] != sum {
			t.Errorf("the original of %s is nowhere", name)
		}
	}
}

// TestSecondRunIsKeptOut begins another run at several operations of a first one: it is refused, and
// the first one does what it does alone.
func TestSecondRunIsKeptOut(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	step := max(1, c.operations/11)
	if testing.Short() {
		step = c.operations / 3
	}
	for at := 0; at < c.operations; at += step {
		root, p := c.fresh(t)
		met := 0
		kept := func(what string, err error) {
			met++
			if !refusedBy(err, atWork) {
				t.Errorf("%s, at operation %d: %v", what, at, err)
			}
		}
		others := func() {
			_, err := Run(t.Context(), c.at(root), Options{InPlace: true, sys: quick{}})
			kept("another in place", err)
			other := c.at(root)
			other.ID = "fedcba9876543210"
			_, err = Run(t.Context(), other, Options{InPlace: true, sys: quick{}})
			kept("another plan in place", err)
			if _, err := os.Lstat(filepath.Join(root+".kafsck-"+p.ID, journalName)); err == nil {
				_, err = undo(t.Context(), quick{}, root)
				kept("undo", err)
			}
		}
		_, err := Run(t.Context(), p, Options{InPlace: true, sys: meet(at, others)})
		must(t, err)
		sameTree(t, fmt.Sprintf("in place, met at operation %d", at), sumTree(t, root), c.new)
		everyOriginal(t, root, c.old)
		_, err = undo(t.Context(), meet(at%20, func() {
			_, err := undo(t.Context(), quick{}, root)
			kept("another undo", err)
			_, err = Run(t.Context(), c.at(root), Options{InPlace: true, sys: quick{}})
			kept("in place during an undo", err)
		}), root)
		must(t, err)
		sameTree(t, "undone", sumTree(t, root), c.old)
		if met < 4 {
			t.Errorf("at operation %d: %d runs met", at, met)
		}
		must(t, os.RemoveAll(filepath.Dir(root)))
	}

	dir := t.TempDir()
	count := &dying{system: quick{}, left: 1 << 30}
	_, err := Run(t.Context(), c.plan, Options{Out: filepath.Join(dir, "whole"), sys: count})
	must(t, err)
	want := resultOf(t, filepath.Join(dir, "whole"))
	for at := 1; at < count.n; at += max(1, count.n/9) {
		out := filepath.Join(dir, fmt.Sprint("OUT", at))
		_, err := Run(t.Context(), c.at(c.from), Options{Out: out, Resume: at%2 == 0, sys: meet(at, func() {
			for _, resume := range []bool{true, false} {
				_, err := Run(t.Context(), c.at(c.from), Options{Out: out, Resume: resume, sys: quick{}})
				if at < count.n-1 && !refusedBy(err, atWork) || !refusedBy(err, atWork, "exists") {
					t.Errorf("at operation %d of %d, resume %v: %v", at, count.n, resume, err)
				}
			}
		})})
		must(t, err)
		sameTree(t, fmt.Sprintf("met at operation %d", at), resultOf(t, out), want)
		checkSums(t, out)
	}
}

// TestTwoRunsAtOnce has pairs of runs race. One does its work, the other is refused; or it comes so
// late that all is done.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	pair := func(one, two func() error) (errs [2]error) {
		var wg sync.WaitGroup
		for i, f := range []func() error{one, two} {
			wg.Go(func() { errs[i] = f() })
		}
		wg.Wait()
		return errs
	}
	for round := range rounds {
		root, _ := c.fresh(t)
		out := filepath.Join(filepath.Dir(root), "OUT")
		inPlace := func() error {
			_, err := Run(t.Context(), c.at(root), Options{InPlace: true, sys: quick{}})
			return err
		}
		into := func(resume bool) func() error {
			return func() error {
				_, err := Run(t.Context(), c.at(root), Options{Out: out, Resume: resume, sys: quick{}})
				return err
			}
		}
		back := func() error {
			_, err := undo(t.Context(), quick{}, root)
			return err
		}
		one := func(what string, errs [2]error, says ...string) {
			t.Helper()
			first, second := errs[0], errs[1]
			if first != nil {
				first, second = second, first
			}
			if first != nil || !refusedBy(second, says...) {
				t.Errorf("round %d, %s: %v", round, what, errs)
			}
		}
		one("out", pair(into(true), into(round%2 == 0)), atWork, "exists", "a run that was stopped left")
		checkSums(t, out)
		one("in place", pair(inPlace, inPlace), atWork, "was carried out")
		sameTree(t, "in place", sumTree(t, root), c.new)
		everyOriginal(t, root, c.old)
		one("undo", pair(back, back), atWork, "has undone", "not repaired in place")
		sameTree(t, "undone", sumTree(t, root), c.old)
		must(t, os.RemoveAll(filepath.Dir(root)))
	}
}

// TestBackupIsNotRemoved: what a run has not made it does not remove, whatever it was that failed.
func TestBackupIsNotRemoved(t *testing.T) {
	t.Parallel()
	c := newInPlaceCase(t)
	defer os.RemoveAll(c.from)

	// Originals without a journal.
	root, p := c.fresh(t)
	defer os.RemoveAll(filepath.Dir(root))
	_, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}})
	must(t, err)
	backup := root + ".kafsck-" + p.ID
	old := sumTree(t, filepath.Join(backup, oldFolder))
	must(t, os.Remove(filepath.Join(backup, journalName)))
	if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); !refusedBy(err, "originals lie in") {
		t.Error(err)
	}
	sameTree(t, "originals", sumTree(t, filepath.Join(backup, oldFolder)), old)

	// A folder of that name, and a plan whose inputs changed.
	root, p = c.fresh(t)
	defer os.RemoveAll(filepath.Dir(root))
	backup = root + ".kafsck-" + p.ID
	must(t, os.Mkdir(backup, 0o755))
	must(t, os.WriteFile(filepath.Join(backup, "mine"), []byte("mine"), 0o644))
	appendTo(t, filepath.Join(root, "meta.properties"), "x=1\n")
	if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); !refusedBy(err, "stays in "+backup) {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(backup, "mine")); string(b) != "mine" {
		t.Error(err)
	}

	// A stage of a run that was stopped, and inputs that changed.
	root, p = c.fresh(t)
	defer os.RemoveAll(filepath.Dir(root))
	out := filepath.Join(filepath.Dir(root), "OUT")
	_, err = Run(t.Context(), p, Options{Out: out, sys: &dying{system: quick{}, left: 40, fail: errKilled}})
	s, ok := errors.AsType[*Stopped](err)
	if !ok {
		t.Fatal(err)
	}
	name := filepath.Join(root, "tx-orders-0", "00000000000000000004.log")
	b, err := os.ReadFile(name)
	must(t, err)
	b[len(b)-1] ^= 1
	must(t, os.WriteFile(name, b, 0o644))
	if _, err := Run(t.Context(), p, Options{Out: out, Resume: true, sys: quick{}}); !refusedBy(err, "stays in "+s.Stage) {
		t.Error(err)
	}
	if _, err := os.Lstat(s.Stage); err != nil {
		t.Error(err)
	}
}
