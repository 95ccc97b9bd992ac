//go:build linux || darwin || freebsd

package rofs

import (
	"errors"
	"io"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// Holes returns a function that tells, of a position in an open file, where the hole that it lies in ends:
// bytes that the file system does not keep and that are read as zeros. Behind the last byte that is kept
// that is the highest int64; where there is no hole, or the system cannot say, it is the position itself.
// nil: it cannot say of any. Positions are asked with lseek; ReadAt does not mind.
func Holes(f io.ReaderAt) func(pos int64) (end int64) {
	c, ok := f.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func(pos int64) int64 {
		data, err := pos, error(nil)
		if e := raw.Control(func(fd uintptr) { data, err = unix.Seek(int(fd), pos, unix.SEEK_DATA) }); e != nil {
			return pos
		}
		switch {
		case errors.Is(err, unix.ENXIO):
			return math.MaxInt64
		case err != nil:
			return pos
		}
		return max(data, pos)
	}
}
