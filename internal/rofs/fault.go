package rofs

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
)

// Fault wraps fsys and asks f before every operation; an error that f returns becomes the result.
//
//	op        name       pos, length
//	"open"    the file   0, 0
//	"readdir" the folder 0, 0
//	"lstat"   the name   0, 0          also when a directory entry is asked for its Info
//	"stat"    the name   0, 0          Stat of an open file, and following a symbolic link
//	"read"    the file   the range [pos, pos+length) asked for
//
// It simulates what a test cannot produce everywhere: bad sectors, missing permissions (tests may
// run as root), files that vanish.
func Fault(fsys FS, f func(op, name string, pos, length int64) error) FS {
	return &faultFS{fsys, f}
}

type faultFS struct {
	fsys FS
	f    func(op, name string, pos, length int64) error
}

func (w *faultFS) ask(op, name string, pos, length int64) error {
	if err := w.f(op, name, pos, length); err != nil {
		return pathError(op, name, err)
	}
	return nil
}

func (w *faultFS) Close() error { return Close(w.fsys) }

func (w *faultFS) Open(name string) (File, error) {
	if err := w.ask("open", name, 0, 0); err != nil {
		return nil, err
	}
	f, err := w.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, w, name}, nil
}

func (w *faultFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := w.ask("readdir", name, 0, 0); err != nil {
		return nil, err
	}
	entries, err := w.fsys.ReadDir(name)
	wrapped := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		wrapped[i] = faultEntry{e, w, path.Join(name, e.Name())}
	}
	return wrapped, err
}

func (w *faultFS) Lstat(name string) (fs.FileInfo, error) {
	if err := w.ask("lstat", name, 0, 0); err != nil {
		return nil, err
	}
	return w.fsys.Lstat(name)
}

func (w *faultFS) stat(name string) (fs.FileInfo, error) {
	if err := w.ask("stat", name, 0, 0); err != nil {
		return nil, err
	}
	return Stat(w.fsys, name)
}

func (w *faultFS) readlink(name string) (string, error) {
	if err := w.ask("readlink", name, 0, 0); err != nil {
		return "", err
	}
	return Readlink(w.fsys, name)
}

type faultEntry struct {
	fs.DirEntry
	w    *faultFS
	name string
}

func (e faultEntry) Info() (fs.FileInfo, error) {
	if err := e.w.ask("lstat", e.name, 0, 0); err != nil {
		return nil, err
	}
	return e.DirEntry.Info()
}

type faultFile struct {
	f    File
	w    *faultFS
	name string
}

func (f *faultFile) Close() error { return f.f.Close() }

func (f *faultFile) ReadAt(p []byte, pos int64) (int, error) {
	if err := f.w.ask("read", f.name, pos, int64(len(p))); err != nil {
		return 0, err
	}
	return f.f.ReadAt(p, pos)
}

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if err := f.w.ask("stat", f.name, 0, 0); err != nil {
		return nil, err
	}
	return f.f.Stat()
}

func (f *faultFile) SyscallConn() (syscall.RawConn, error) {
	if c, ok := f.f.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, pathError("stat", f.name, errors.ErrUnsupported)
}
