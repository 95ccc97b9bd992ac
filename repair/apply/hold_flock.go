//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package apply

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// holdFolder keeps other runs out of a folder until release, or the end of the process. busy: another
// one is in it. fs.ErrNotExist: the folder is not there, or was renamed meanwhile; errNoLocks: its
// file system knows no such locks. It is flock(2), which no broker takes and which writes nothing.
func holdFolder(path string) (release func(), busy bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			break
		}
	}
	switch err {
	case nil:
	case unix.EWOULDBLOCK:
		f.Close()
		return nil, true, nil
	default:
		f.Close()
		return nil, false, fmt.Errorf("%s: %w (%v)", path, errNoLocks, err)
	}
	held, err := f.Stat()
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Stat(path); err == nil && !os.SameFile(held, named) {
			err = &fs.PathError{Op: "lock", Path: path, Err: fs.ErrNotExist}
		}
	}
	if err != nil {
		f.Close()
		return nil, false, err
	}
	return func() { f.Close() }, false, nil
}
