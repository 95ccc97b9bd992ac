package apply

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/repair"
)

// input is a log directory whose epoch file lacks its newest entry, and the plan for
// it.
func input(t *testing.T) (dir string, files []File) {
	t.Helper()
	root := logtest.Dir(t, "broker 1 ; topic t-0 ; segment 0 ; batch records=10 epoch=0 ; batch records=5 epoch=3 ; batch records=5 epoch=3\nepochs 0:0\n")
	dir, err := filepath.EvalSymlinks(filepath.Join(root, "broker-1"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for p := range incident.Open(c, incident.Options{}).Partitions(t.Context()) {
		plan, err := repair.PlanEpochs(t.Context(), p, p.Copies[0], repair.EpochOptions{})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{"t-0/leader-epoch-checkpoint", plan})
	}
	return dir, files
}

// tree describes all below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	fsys, err := rofs.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rofs.Close(fsys)
	s, err := rofs.Snapshot(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWritten(t *testing.T) {
	dir, files := input(t)
	before := tree(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	if err := Epochs(out, []string{dir}, files); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(out, path)
		got = append(got, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{".", "t-0", "t-0/leader-epoch-checkpoint"}, got); d != "" {
		t.Error(d)
	}
	b, err := os.ReadFile(filepath.Join(out, "t-0", "leader-epoch-checkpoint"))
	if err != nil || string(b) != "0\n2\n0 0\n3 10\n" {
		t.Errorf("%q, %v", b, err)
	}
	if d := rofs.Changes(before, tree(t, dir)); d != nil {
		t.Error(d)
	}
}

// TestRefused: nothing is written, and nothing is left behind.
func TestRefused(t *testing.T) {
	touch := func(name, content string) func(t *testing.T, dir, out string, files []File) {
		return func(t *testing.T, dir, _ string, _ []File) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(t *testing.T, dir, out string, files []File){
		"out exists": func(t *testing.T, _, out string, _ []File) {
			if err := os.Mkdir(out, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"out is a dangling link": func(t *testing.T, _, out string, _ []File) {
			if err := os.Symlink("nowhere", out); err != nil {
				t.Fatal(err)
			}
		},
		"a broker runs":      func(_ *testing.T, _, _ string, files []File) { files[0].Plan.Live = true },
		"epoch file changed": touch("t-0/leader-epoch-checkpoint", "0\n1\n1 0\n"),
		"epoch file gone": func(t *testing.T, dir, _ string, _ []File) {
			if err := os.Remove(filepath.Join(dir, "t-0/leader-epoch-checkpoint")); err != nil {
				t.Fatal(err)
			}
		},
		"log grew": func(t *testing.T, dir, _ string, _ []File) {
			f, err := os.OpenFile(filepath.Join(dir, "t-0/00000000000000000000.log"), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("x")
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"log touched": func(t *testing.T, dir, _ string, _ []File) {
			if err := os.Chtimes(filepath.Join(dir, "t-0/00000000000000000000.log"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"segment came": touch("t-0/00000000000000000015.log", ""),
	} {
		t.Run(name, func(t *testing.T) {
			dir, files := input(t)
			folder := t.TempDir()
			out := filepath.Join(folder, "out")
			spoil(t, dir, out, files)
			before, inputs := tree(t, folder), tree(t, dir)
			err := Epochs(out, []string{dir}, files)
			if _, ok := errors.AsType[*Refused](err); !ok && name != "epoch file gone" || err == nil {
				t.Errorf("%v", err)
			}
			for name := range tree(t, folder) {
				if _, ok := before[name]; !ok {
					t.Errorf("left behind: %s", name)
				}
			}
			if d := rofs.Changes(inputs, tree(t, dir)); d != nil {
				t.Error(d)
			}
		})
	}
}

func TestNotIntoInputs(t *testing.T) {
	dir, files := input(t)
	before := tree(t, dir)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{filepath.Join(dir, "out"), filepath.Join(dir, "t-0", "out"), filepath.Join(link, "out")} {
		err := Epochs(out, []string{dir}, files)
		if r, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(r.Reason, "inside the input") {
			t.Errorf("%s: %v", out, err)
		}
	}
	if d := rofs.Changes(before, tree(t, dir)); d != nil {
		t.Error(d)
	}
}

// broken is a directory of which one step fails.
type broken struct {
	step string
	gone bool
}

var errDisk = errors.New("no space left")

func (b *broken) WriteFile(name string, r io.Reader, at time.Time) error {
	if b.step == "write" {
		return errDisk
	}
	return nil
}

func (b *broken) Commit() error {
	if b.step == "commit" {
		return errDisk
	}
	return nil
}

func (b *broken) Discard() { b.gone = true }

// TestFailingWrites: the error is told as it is, and what was begun is given up.
func TestFailingWrites(t *testing.T) {
	_, files := input(t)
	for _, step := range []string{"open", "write", "commit"} {
		b := &broken{step: step}
		err := write(filepath.Join(t.TempDir(), "out"), files, func() (dir, error) {
			if step == "open" {
				return nil, errDisk
			}
			return b, nil
		})
		if !errors.Is(err, errDisk) || step != "open" && !b.gone {
			t.Errorf("%s: %v, given up %t", step, err, b.gone)
		}
	}
	// What cannot be read back is an error, too.
	if err := write(filepath.Join(t.TempDir(), "out"), files, func() (dir, error) { return &broken{}, nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read back: %v", err)
	}
	if err := Epochs(filepath.Join(t.TempDir(), "no", "out"), nil, files); err == nil {
		t.Error("written into a folder that does not exist")
	}
}
