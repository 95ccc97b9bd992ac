//go:build !unix

package logdir

import "kafsck/internal/rofs"

// lockHeld cannot ask on this system: a running broker is not noticed.
func lockHeld(rofs.File) (held bool, pid int, err error) { return false, 0, nil }
