package outfile

import (
	"path/filepath"
	"strings"
)

// Inside reports whether a name that need not exist lies in a directory or below it, symbolic links
// on the way resolved. The folder of the name must exist; a directory that does not holds nothing.
func Inside(name, dir string) (bool, error) {
	parent, err := real(filepath.Dir(filepath.Clean(name)))
	if err != nil {
		return false, err
	}
	root, err := real(dir)
	if err != nil {
		return false, nil
	}
	rel, err := filepath.Rel(root, parent)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)), nil
}

// real is the absolute path without symbolic links.
func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
