package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Dir is a directory under way. Write files into it, then Commit; Discard without
// Commit leaves nothing behind.
type Dir struct {
	path   string // the target
	stage  string // where files are written
	into   bool   // the target exists, empty: the stage lies inside it
	root   *os.Root
	folder map[string]bool // made in the stage, slash paths
	done   bool
}

// NewDir begins the directory at path, which must not exist or be empty. The directory
// above it must exist.
//
// Errors are *fs.PathError; errors.Is tells ErrExists.
func NewDir(path string) (*Dir, error) {
	d := &Dir{path: path, folder: map[string]bool{}}
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && len(entries) > 0:
		return nil, exists(path)
	case err == nil:
		d.into = true
	case !errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Lstat(path); statErr == nil && !isDir(path) {
			return nil, exists(path)
		}
		return nil, err
	case dangles(path):
		return nil, exists(path)
	}
	where, pattern := filepath.Dir(filepath.Clean(path)), "."+filepath.Base(filepath.Clean(path))+".kafsck-*"
	if d.into {
		where, pattern = path, ".kafsck-*"
	}
	if d.stage, err = os.MkdirTemp(where, pattern); err != nil {
		return nil, err
	}
	if err := os.Chmod(d.stage, 0o755); err != nil {
		d.Discard()
		return nil, err
	}
	if d.root, err = os.OpenRoot(d.stage); err != nil {
		d.Discard()
		return nil, err
	}
	return d, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// dangles tells a symbolic link that leads nowhere from a name that is free.
func dangles(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// WriteFile writes one file, flushed to disk, with the modification time given (zero:
// now). name is a slash path inside the directory; folders on the way are made.
func (d *Dir) WriteFile(name string, r io.Reader, modTime time.Time) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	if err := d.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	local := filepath.FromSlash(name)
	f, err := d.root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && !modTime.IsZero() {
		err = d.root.Chtimes(local, modTime, modTime)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (d *Dir) makeFolder(name string) error {
	if name == "." || d.folder[name] {
		return nil
	}
	if err := d.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	if err := d.root.Mkdir(filepath.FromSlash(name), 0o755); err != nil {
		return err
	}
	d.folder[name] = true
	return nil
}

// Commit makes the directory appear under its name, complete and on disk, or not at
// all; one that existed is filled entry by entry.
func (d *Dir) Commit() error {
	if d.done {
		panic("outfile: Commit or Discard came before Commit")
	}
	defer d.Discard()
	for name := range d.folder {
		if err := syncDir(filepath.Join(d.stage, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if err := syncDir(d.stage); err != nil {
		return err
	}
	d.root.Close()
	if d.into {
		return d.fill()
	}
	// os.Rename refuses a directory that exists, and the system one that is a file.
	if err := os.Rename(d.stage, d.path); err != nil {
		if _, statErr := os.Lstat(d.path); statErr == nil {
			return exists(d.path)
		}
		return err
	}
	return syncDir(filepath.Dir(filepath.Clean(d.path)))
}

// fill moves what was written out of the stage into the directory around it.
func (d *Dir) fill() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	stage := filepath.Base(d.stage)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != stage }) {
		return exists(d.path)
	}
	if entries, err = os.ReadDir(d.stage); err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(d.stage, e.Name()), filepath.Join(d.path, e.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(d.stage); err != nil {
		return err
	}
	return syncDir(d.path)
}

// Discard gives the directory up and removes what was written. After Commit it does
// nothing.
func (d *Dir) Discard() {
	if d.done {
		return
	}
	d.done = true
	if d.root != nil {
		d.root.Close()
	}
	os.RemoveAll(d.stage) // gone already after a Commit
}
