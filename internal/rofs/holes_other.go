//go:build !(linux || darwin || freebsd)

package rofs

import "io"

// Holes is nil: the system cannot say where a file has holes.
func Holes(io.ReaderAt) func(pos int64) (end int64) { return nil }
