//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package apply

import "fmt"

// holdFolder keeps nobody out: a folder cannot be locked here.
func holdFolder(path string) (release func(), busy bool, err error) {
	return nil, false, fmt.Errorf("%s: %w", path, errNoLocks)
}
