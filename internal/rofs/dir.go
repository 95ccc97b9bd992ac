package rofs

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Dir returns the tree below the directory at path, a path of the operating system. The path itself
// may be or contain symbolic links: the user named it. Below it os.Root keeps every access inside.
// Release it with [Close].
func Dir(path string) (FS, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &dirFS{root: root}, nil
}

type dirFS struct{ root *os.Root }

func (d *dirFS) Close() error { return d.root.Close() }

// Open looks before it opens: see the package comment on pipes and devices. The second look, at the
// open descriptor, is the one that counts; the first only avoids touching what is no file.
func (d *dirFS) Open(name string) (File, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, pathError("open", name, ErrNotRegular)
	}
	f, err := d.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, pathError("open", name, err)
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", name, err)
	}
	return &osFile{f: f, name: name}, nil
}

// ReadDir costs one open, the directory reads, and one stat per entry: os.File gives entries of a
// Root their FileInfo at once, relative to the open directory, so Info never walks the path again.
func (d *dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := d.stat(name)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	f, err := d.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if err != nil {
		return entries, pathError("readdir", name, err)
	}
	return entries, nil
}

func (d *dirFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return info, nil
}

func (d *dirFS) stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return info, nil
}

func (d *dirFS) readlink(name string) (string, error) {
	to, err := d.root.Readlink(filepath.FromSlash(name))
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return to, nil
}

// osFile hides the writing methods of os.File, although its descriptor could not write anyway.
type osFile struct {
	f    *os.File
	name string
}

func (o *osFile) ReadAt(p []byte, pos int64) (int, error) { return o.f.ReadAt(p, pos) }
func (o *osFile) Close() error                            { return o.f.Close() }

func (o *osFile) Stat() (fs.FileInfo, error) {
	info, err := o.f.Stat()
	if err != nil {
		return nil, pathError("stat", o.name, err)
	}
	return info, nil
}

// SyscallConn gives access to the descriptor for questions that ReadAt cannot ask (is this file
// locked?). It is there only for files on disk.
func (o *osFile) SyscallConn() (syscall.RawConn, error) { return o.f.SyscallConn() }
