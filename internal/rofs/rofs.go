package rofs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// FS is a tree of files that can only be looked at. Names are slash-separated and relative to the
// root, which is ".".
type FS interface {
	// Open opens a regular file. It follows a symbolic link that stays inside the tree.
	Open(name string) (File, error)
	// ReadDir returns the entries of a directory, sorted by name. If listing fails in the middle it
	// returns the entries read so far and the error.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes the name itself, not what a symbolic link points to.
	Lstat(name string) (fs.FileInfo, error)
}

// File is an open regular file, read at positions.
type File interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

var (
	// ErrNotRegular says that a name is a directory, named pipe, socket or device where a file was
	// to be opened.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge says that a file is larger than its reader accepts. Nothing was allocated for it.
	ErrTooLarge = errors.New("file too large")
)

// statter is an FS that can follow a symbolic link.
type statter interface {
	stat(name string) (fs.FileInfo, error)
}

// Stat describes name, following symbolic links that stay inside the tree. A link that dangles
// gives fs.ErrNotExist, one that leaves the tree another error.
func Stat(fsys FS, name string) (fs.FileInfo, error) {
	if s, ok := fsys.(statter); ok {
		return s.stat(name)
	}
	info, err := fsys.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: errors.New("symbolic links are not followed here")}
	}
	return info, err
}

// linkReader is an FS that can read symbolic links.
type linkReader interface {
	readlink(name string) (string, error)
}

// Readlink returns where a symbolic link leads, as it is written; it follows nothing.
func Readlink(fsys FS, name string) (string, error) {
	if l, ok := fsys.(linkReader); ok {
		return l.readlink(name)
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: errors.ErrUnsupported}
}

// Close releases what fsys holds open (the directory handle of [Dir]). Files opened before stay
// usable; the FS does not.
func Close(fsys FS) error {
	if c, ok := fsys.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// ReadFile returns the content of a file of at most limit bytes (limit ≥ 0). A larger file gives
// [ErrTooLarge] before a byte of it is read. The size is not believed beyond that check: memory grows
// with the bytes that really arrive, and a file that grows past the limit meanwhile is refused too.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	if info.Size() > limit {
		return nil, tooLarge(name, info.Size(), limit)
	}
	n := limit
	if n < math.MaxInt64 {
		n++ // one byte more than allowed tells a file that grew
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, n))
	if err != nil {
		return nil, pathError("read", name, err)
	}
	if int64(len(b)) > limit {
		return nil, tooLarge(name, int64(len(b)), limit)
	}
	return b, nil
}

func tooLarge(name string, size, limit int64) error {
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, limit)}
}

// pathError makes sure that an error names its operation and file.
func pathError(op, name string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: op, Path: name, Err: pe.Err}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
