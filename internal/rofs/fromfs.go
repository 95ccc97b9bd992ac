package rofs

import (
	"bytes"
	"io"
	"io/fs"
)

// FromFS presents any fs.FS, such as an embed.FS or fstest.MapFS. Files without ReadAt are read into
// memory when opened, so fsys should be small. Symbolic links are followed as fsys does.
func FromFS(fsys fs.FS) FS { return wrapFS{fsys} }

type wrapFS struct{ fsys fs.FS }

func (w wrapFS) Open(name string) (File, error) {
	f, err := w.fsys.Open(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", name, err)
	}
	if r, ok := f.(io.ReaderAt); ok {
		return readerFile{r, f}, nil
	}
	b, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, pathError("read", name, err)
	}
	return readerFile{bytes.NewReader(b), f}, nil
}

func (w wrapFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.fsys, name)
	if err != nil {
		return entries, pathError("readdir", name, err)
	}
	return entries, nil
}

func (w wrapFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(w.fsys, name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return info, nil
}

func (w wrapFS) stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(w.fsys, name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return info, nil
}

func (w wrapFS) readlink(name string) (string, error) {
	to, err := fs.ReadLink(w.fsys, name)
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return to, nil
}

// readerFile reads at positions from one value and closes another.
type readerFile struct {
	io.ReaderAt
	f fs.File
}

func (r readerFile) Close() error               { return r.f.Close() }
func (r readerFile) Stat() (fs.FileInfo, error) { return r.f.Stat() }
