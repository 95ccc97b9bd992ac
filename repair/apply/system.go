package apply

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"
)

// system is every operation that changes the file system. All of this package goes through
// it, so that tests can stop a run after any of them. Paths are those of the operating
// system.
type system interface {
	Mkdir(path string) error
	// Create makes a file that must not exist.
	Create(path string) (writer, error)
	// Clone makes to a copy of from that shares its blocks. errNoClone: this file system cannot.
	Clone(from, to string) error
	Link(from, to string) error
	// Rename must not be asked to replace anything: callers look before.
	Rename(from, to string) error
	Remove(path string) error
	// Dress gives a file or folder the mode, owner and time of another one.
	Dress(path string, as fs.FileInfo) error
	// SyncFile and SyncDir make content and names durable. SyncAll may do so for everything of
	// the file system on which path lies, so that the single calls find nothing left to do.
	SyncFile(path string) error
	SyncDir(path string) error
	SyncAll(path string) error
	// Lock takes the lock of a log directory's .lock, as a broker does. release gives it back.
	Lock(path string) (release func(), err error)
}

// writer is a new file.
type writer interface {
	io.Writer
	io.WriterAt
	io.Closer
}

// errNoClone: the copy must be made byte by byte.
var errNoClone = errors.New("no blocks can be shared here")

// disk is the real system.
type disk struct{}

func (disk) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

func (disk) Create(path string) (writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: f}, nil
}

// diskFile has the system write to the disk what has come so far, so that little is left to
// wait for in the end.
type diskFile struct {
	*os.File
	waits atomic.Int64 // bytes; a file that is put together has several writers
}

// behind is how many bytes wait before the system is asked to write.
const behind = 8 << 20

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	if f.waits.Add(int64(n)) >= behind {
		f.waits.Store(0)
		startWriting(f.File)
	}
	return n, err
}

func (f *diskFile) Close() error {
	if f.waits.Load() >= behind/16 { // a small file costs the disk less with others
		startWriting(f.File)
	}
	return f.File.Close()
}

func (disk) Link(from, to string) error   { return os.Link(from, to) }
func (disk) Rename(from, to string) error { return os.Rename(from, to) }
func (disk) Remove(path string) error     { return os.Remove(path) }

// Dress keeps what a broker needs of a file: that its user may open it, and its time, which
// is what retention goes by where records have no timestamps. The owner can only be given
// by root; otherwise it is the user who repairs.
func (disk) Dress(path string, as fs.FileInfo) error {
	if err := chown(path, as); err != nil {
		return err
	}
	if err := os.Chmod(path, as.Mode().Perm()); err != nil {
		return err
	}
	if as.IsDir() {
		return nil
	}
	return os.Chtimes(path, time.Time{}, as.ModTime())
}

func (disk) SyncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (disk) SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be flushed there
	}
	if err := (disk{}).SyncFile(path); err != nil {
		return fmt.Errorf("making names durable: %w", err)
	}
	return nil
}

// makeParents makes the folders in which a file is to lie.
func makeParents(sys system, path string) error {
	dir := filepath.Dir(path)
	if there, err := exists(dir); err != nil || there {
		return err
	}
	if err := makeParents(sys, dir); err != nil {
		return err
	}
	return sys.Mkdir(dir)
}

// removeAll removes what this package has made, operation by operation.
func removeAll(sys system, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := removeAll(sys, filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	return sys.Remove(path)
}

// writeFile writes a small file that must not exist, and flushes it.
func writeFile(sys system, path string, content []byte) error {
	f, err := sys.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return sys.SyncFile(path)
}

// syncTree makes all below a folder durable, the folder itself included.
func syncTree(sys system, path string) error {
	if err := sys.SyncAll(path); err != nil {
		return err
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return sys.SyncDir(p)
		}
		return sys.SyncFile(p)
	})
}
