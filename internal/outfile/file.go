package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// ErrExists says that the target exists (for a directory: and is not empty). Nothing
// was written.
var ErrExists = errors.New("exists already")

// bufferSize of a File's writes, in bytes.
const bufferSize = 256 << 10

// File is a file under way. Write to it, then Commit; Discard without Commit leaves
// nothing behind. A failed write is kept and returned by Commit, too.
type File struct {
	path string // the target
	tmp  *os.File
	w    *bufio.Writer
	done bool
}

// Create begins the file at path, which must not exist. Its directory must.
//
// Errors are *fs.PathError; errors.Is tells ErrExists.
func Create(path string) (*File, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, exists(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".kafsck-*")
	if err != nil {
		return nil, err
	}
	return &File{path: path, tmp: tmp, w: bufio.NewWriterSize(tmp, bufferSize)}, nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) { return f.w.Write(p) }

// Commit makes the file appear under its name, complete and on disk, or not at all.
func (f *File) Commit() error {
	if f.done {
		panic("outfile: Commit or Discard came before Commit")
	}
	defer f.Discard()
	if err := f.w.Flush(); err != nil {
		return err
	}
	if err := f.tmp.Chmod(0o644); err != nil { // CreateTemp's 0600 is for secrets
		return err
	}
	if err := f.tmp.Sync(); err != nil {
		return err
	}
	if err := f.tmp.Close(); err != nil {
		return err
	}
	if err := place(f.tmp.Name(), f.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// Discard gives the file up. After Commit it does nothing.
func (f *File) Discard() {
	if f.done {
		return
	}
	f.done = true
	f.tmp.Close()
	os.Remove(f.tmp.Name()) // gone already after a Commit by rename
}

// place gives the file at from the name to unless that exists. A hard link is the one
// portable way that cannot overwrite; where the file system has none, the name is
// looked at and then taken.
func place(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		if err != nil {
			return exists(to)
		}
		return nil
	}
	if _, statErr := os.Lstat(to); statErr == nil {
		return exists(to)
	}
	return os.Rename(from, to)
}

func exists(path string) error { return &fs.PathError{Op: "create", Path: path, Err: ErrExists} }

// syncDir makes names in a directory durable.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be flushed there
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("making names durable: %w", err)
	}
	return nil
}
