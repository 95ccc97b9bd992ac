//go:build unix

package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// chown gives path the owner of another file, where that is allowed.
func chown(path string, as fs.FileInfo) error {
	st, ok := as.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}

// Lock takes the POSIX lock that Java's FileChannel.tryLock takes, so that no broker starts
// meanwhile (LogManager.lockLogDirs). The system gives it back when the process ends.
func (disk) Lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EAGAIN) {
		err = refused("another process holds the lock on %s: a broker runs here; nothing was changed", path)
	} else if err != nil {
		err = fmt.Errorf("taking the lock on %s: %w", path, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// sameDevice reports whether a name can be moved between two folders.
func sameDevice(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	i, ok := x.Sys().(*syscall.Stat_t)
	j, okay := y.Sys().(*syscall.Stat_t)
	return !ok || !okay || i.Dev == j.Dev, nil
}
