package apply

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"kafsck/repair"
)

// sharing is a disk on which Clone does what it is told to: nil makes a plain copy, as the blocks
// are not looked at.
type sharing struct {
	quick
	clone error
	asked *atomic.Int64
}

func (s sharing) Clone(from, to string) error {
	s.asked.Add(1)
	if s.clone != nil {
		return s.clone
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// TestShared: --link makes one file of closed .log files alone; whatever else is shared or copied, the
// result is the same and the input is untouched.
func TestShared(t *testing.T) {
	t.Parallel()
	root := transactionsRoot(t)
	before := sumTree(t, root)
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 110)
	var want map[string]string
	for _, c := range []struct {
		name                 string
		link                 bool
		clone                error
		linked, cloned, asks bool
	}{
		{name: "copied", clone: errNoClone, asks: true},
		{name: "linked", link: true, clone: errNoClone, linked: true, asks: true},
		{name: "cloned", cloned: true, asks: true},
	} {
		var count atomic.Int64
		out := filepath.Join(t.TempDir(), "OUT")
		done, err := Run(t.Context(), p, Options{Out: out, Link: c.link, sys: sharing{clone: c.clone, asked: &count}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f, asked := done.Files, count.Load()
		if (f.Linked > 0) != c.linked || (f.Cloned > 0) != c.cloned || (asked > 0) != c.asks || c.clone != nil && asked > 8 {
			t.Errorf("%s: %+v, Clone was asked %d times", c.name, f, asked)
		}
		got := sumTree(t, filepath.Join(out, "broker-2"))
		if want == nil {
			want = got
		}
		sameTree(t, c.name, got, want)
		closed := 0
		for name := range before {
			is, err := os.Stat(filepath.Join(root, name))
			must(t, err)
			made, err := os.Stat(filepath.Join(out, "broker-2", name))
			if err != nil || is.IsDir() || !os.SameFile(is, made) {
				continue
			}
			closed++
			if !c.linked || !strings.HasSuffix(name, ".log") || !linkable(rootOf(p.Inputs[0].Root, before), name) {
				t.Errorf("%s: %s is one file with its input", c.name, name)
			}
		}
		if closed != f.Linked {
			t.Errorf("%s: %d files are one with their input, %d were told", c.name, closed, f.Linked)
		}
		sameTree(t, "the input", sumTree(t, root), before)
	}
}

// rootOf is a root with these files, for linkable.
func rootOf(index int, files map[string]string) *root {
	r := &root{index: index, inputs: map[string]*repair.PlanInput{}}
	for name := range files {
		r.inputs[name] = &repair.PlanInput{}
	}
	return r
}

// TestCloneHere: on a file system that shares blocks the real disk does, elsewhere it says that it
// cannot and leaves nothing behind.
func TestCloneHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := strings.Repeat("x", 1<<16)
	must(t, os.WriteFile(from, []byte(content), 0o600))
	switch err := (disk{}).Clone(from, to); err {
	case nil:
		b, err := os.ReadFile(to)
		if err != nil || string(b) != content {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	case errNoClone:
		if _, err := os.Lstat(to); !os.IsNotExist(err) {
			t.Error("a file is left: ", err)
		}
	default:
		t.Error(err)
	}
}
