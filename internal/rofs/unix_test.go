//go:build unix

package rofs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSymlinks: links inside the tree are followed, links out of it are refused, by every operation.
func TestSymlinks(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "in")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.MkdirAll(filepath.Join(base, "out"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "sub/f"), []byte("in"), 0o644))
	must(t, os.WriteFile(filepath.Join(base, "out/f"), []byte("out"), 0o644))
	for name, target := range map[string]string{
		"file": "sub/f", "folder": "sub", "out": "../out", "outfile": "../out/f", "absolute": filepath.Join(base, "out/f"),
		"gone": "nothing", "loop": "loop", "sub/up": "../../out/f",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	fsys, err := Dir(dir)
	must(t, err)
	defer Close(fsys)
	for _, name := range []string{"file", "folder/f"} {
		if b, err := ReadFile(fsys, name, 10); err != nil || string(b) != "in" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if e, err := fsys.ReadDir("folder"); err != nil || len(e) != 2 {
		t.Errorf("folder: %v, %v", e, err)
	}
	for _, name := range []string{"outfile", "absolute", "out/f", "gone", "loop", "sub/up", "folder/up"} {
		if b, err := ReadFile(fsys, name, 10); err == nil {
			t.Errorf("%s: read %q", name, b)
		}
		if _, err := Stat(fsys, name); err == nil {
			t.Errorf("%s: described", name)
		}
	}
	if _, err := fsys.ReadDir("out"); err == nil {
		t.Error("a folder outside was listed")
	}
	for _, name := range []string{"out", "gone", "loop"} {
		if info, err := fsys.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("Lstat %s: %v, %v", name, info, err)
		}
	}
	if _, err := Stat(fsys, "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dangling: %v", err)
	}
	// The root itself may be reached by a link: it was named.
	must(t, os.Symlink(dir, filepath.Join(base, "link")))
	linked, err := Dir(filepath.Join(base, "link"))
	must(t, err)
	defer Close(linked)
	if b, err := ReadFile(linked, "sub/f", 10); err != nil || string(b) != "in" {
		t.Errorf("through a linked root: %q, %v", b, err)
	}
}

// TestNoPipes: a pipe without a writer would block an open for ever.
func TestNoPipes(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	fsys, err := Dir(dir)
	must(t, err)
	defer Close(fsys)
	done := make(chan error, 4)
	go func() {
		for _, name := range []string{"pipe", "link"} {
			_, err := fsys.Open(name)
			done <- err
			_, err = fsys.ReadDir(name)
			done <- err
		}
	}()
	for range 4 {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a pipe was opened")
			}
		case <-time.After(30 * time.Second):
			t.Fatal("hangs")
		}
	}
}
