//go:build unix

package logdir

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"kafsck/internal/rofs"
)

// lockHeld asks whether another process holds the lock that a broker takes on .lock, and which one
// (0 if that is not told).
//
// Java's FileChannel.tryLock is a POSIX record lock over the whole file; flock does not see those.
// F_GETLK only asks what would stand in the way of an exclusive lock and takes none, and needs no
// permission to write. Files that are not on disk have no locks.
func lockHeld(f rofs.File) (held bool, pid int, err error) {
	sc, ok := f.(syscall.Conn)
	if !ok {
		return false, 0, nil
	}
	conn, err := sc.SyscallConn()
	if errors.Is(err, errors.ErrUnsupported) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	var asked error
	if err := conn.Control(func(fd uintptr) { asked = unix.FcntlFlock(fd, unix.F_GETLK, &lock) }); err != nil {
		return false, 0, err
	}
	if asked != nil {
		return false, 0, asked
	}
	if lock.Type == unix.F_UNLCK {
		return false, 0, nil
	}
	return true, max(int(lock.Pid), 0), nil
}
