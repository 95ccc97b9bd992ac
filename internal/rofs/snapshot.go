package rofs

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"slices"
)

// Snapshot describes every name of the tree: mode, size, modification time, and SHA-256 of the
// content of regular files. Two snapshots with an act in between prove that the act created,
// removed, renamed and changed nothing; compare them with [Changes]. Symbolic links are not
// followed. It reads the whole tree: for tests, and for inputs that must not have changed.
func Snapshot(fsys FS) (map[string]string, error) {
	tree := map[string]string{}
	return tree, snapshot(fsys, ".", tree)
}

func snapshot(fsys FS, dir string, tree map[string]string) error {
	info, err := fsys.Lstat(dir)
	if err != nil {
		return err
	}
	// The time of a directory tells of names that came and went.
	tree[dir] = fmt.Sprintf("%v %v", info.Mode(), info.ModTime().UTC())
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := fsys.Lstat(name)
		if err != nil {
			return err
		}
		what := info.Mode().String() // links, pipes, devices
		switch {
		case info.IsDir():
			if err := snapshot(fsys, name, tree); err != nil {
				return err
			}
			continue
		case info.Mode().IsRegular():
			sum, err := hash(fsys, name)
			if err != nil {
				return err
			}
			what = fmt.Sprintf("%v %d bytes %v SHA-256 %x", info.Mode(), info.Size(), info.ModTime().UTC(), sum)
		}
		tree[name] = what
	}
	return nil
}

func hash(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return nil, pathError("read", name, err)
	}
	return h.Sum(nil), nil
}

// Changes names what differs between two snapshots, sorted; nothing if nothing does.
func Changes(before, after map[string]string) []string {
	var lines []string
	for name, was := range before {
		if is, ok := after[name]; !ok {
			lines = append(lines, fmt.Sprintf("%q is gone", name))
		} else if is != was {
			lines = append(lines, fmt.Sprintf("%q was %s, is %s", name, was, is))
		}
	}
	for name, is := range after {
		if _, ok := before[name]; !ok {
			lines = append(lines, fmt.Sprintf("%q is new: %s", name, is))
		}
	}
	slices.Sort(lines)
	return lines
}
