package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/manifest"
)

// openRoots opens the directories that the plan rests on, refuses if a broker runs on one,
// and looks whether names and sizes of the files are those of the plan. What is in them is
// held against the plan while they are read.
func (x *run) openRoots() error {
	for _, r := range x.l.roots {
		if !x.needed(r) || r.New {
			continue
		}
		host, err := filepath.Abs(r.Path)
		if err == nil {
			host, err = filepath.EvalSymlinks(host)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return refused("%s is not there (a plan's roots can be edited where copies were moved); nothing was written", r.Path)
		}
		if err != nil {
			return err
		}
		if r.File {
			host, r.base = filepath.Split(host)
			host = filepath.Clean(host)
		}
		r.host = host
		if r.fsys, err = x.open(host); err != nil {
			return err
		}
		x.closers = append(x.closers, r.fsys)
		if r.written && !r.New {
			if err := x.quickLook(r); err != nil {
				return err
			}
		}
		if !r.File {
			if err := x.refuseLive(r); err != nil {
				return err
			}
		}
		if err := x.listed(r); err != nil {
			return err
		}
		if err := x.sameIdentity(r); err != nil {
			return err
		}
	}
	return nil
}

// needed reports whether the inputs of a root must be what they were: those of a root that
// is not written and of which no bytes are taken say nothing of the result, unless the plan
// calls it a source.
func (x *run) needed(r *root) bool { return r.used || r.Source && len(r.inputs) > 0 }

// refuseLive refuses if a broker holds the lock of the log directory.
func (x *run) refuseLive(r *root) error {
	c, err := logdir.Discover([]string{r.host}, logdir.Options{})
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		return err
	}
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			if d.Live {
				return refused("a running broker holds the lock on the log directory of %s: stop it, or work on a copy; nothing was written", r.Path)
			}
		}
	}
	return nil
}

// listed holds names and sizes of a root against the plan.
func (x *run) listed(r *root) error {
	r.infos = map[string]fs.FileInfo{}
	if !r.written {
		for _, name := range slices.Sorted(maps.Keys(r.inputs)) {
			info, err := r.fsys.Lstat(r.inside(name))
			if errors.Is(err, fs.ErrNotExist) {
				return changed(r, name, "it is gone")
			}
			if err != nil {
				return err
			}
			if err := x.sameSize(r, name, info); err != nil {
				return err
			}
		}
		return nil
	}
	var failed error
	prefix := ""
	for name := range r.inputs {
		if r.Partition {
			prefix, _, _ = strings.Cut(name, "/")
			break
		}
	}
	seen := map[string]bool{}
	for _, f := range manifest.Files(r.fsys, ".", func(name string, err error) {
		if failed == nil {
			failed = fmt.Errorf("%s: %w", path.Join(r.Path, name), err)
		}
	}) {
		name := path.Join(prefix, f.Path)
		if f.Odd != "" {
			return refused("%s is %s, which has no place in a result: copy the directory with what it leads to, and plan again; nothing was written", path.Join(r.Path, f.Path), f.Odd)
		}
		if r.inputs[name] == nil {
			return changed(r, name, "it is new")
		}
		seen[name] = true
		info, err := r.fsys.Lstat(f.Path)
		if err != nil {
			return err
		}
		if err := x.sameSize(r, name, info); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
	}
	for _, name := range slices.Sorted(maps.Keys(r.inputs)) {
		if !seen[name] {
			return changed(r, name, "it is gone")
		}
	}
	return x.listFolders(r, prefix)
}

// listFolders notes the folders of a root, empty ones too: a broker knows a partition by its
// folder.
func (x *run) listFolders(r *root, prefix string) error {
	r.folders = nil
	var walk func(string) error
	walk = func(dir string) error {
		name := path.Join(prefix, dir)
		if dir == "." {
			name = cmpOr(prefix, ".")
		}
		info, err := r.fsys.Lstat(dir)
		if err != nil {
			return err
		}
		r.infos[name] = info
		if name != "." {
			r.folders = append(r.folders, name)
		}
		entries, err := r.fsys.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				if err := walk(path.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk("."); err != nil {
		return err
	}
	slices.Sort(r.folders)
	return nil
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (x *run) sameSize(r *root, name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return changed(r, name, "it is no regular file")
	}
	if in := r.inputs[name]; info.Size() != in.Size {
		return changed(r, name, fmt.Sprintf("%d bytes, it had %d", info.Size(), in.Size))
	}
	r.infos[name] = info
	return nil
}

// changed is the refusal for an input that is not what the plan was made from.
func changed(r *root, name, how string) error {
	return refused("%s changed since the plan was made: %s. Make the plan anew; nothing was written", path.Join(filepath.ToSlash(r.Path), r.inside(name)), how)
}

// stillListed holds the names against the plan again, at the end.
func (x *run) stillListed() error {
	for _, r := range x.l.roots {
		if x.needed(r) && !r.New {
			if err := x.listed(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *run) open(host string) (rofs.FS, error) {
	if x.opt.open != nil {
		return x.opt.open(host)
	}
	return rofs.Dir(host)
}

// hostOf is where an input lies on this machine.
func (r *root) hostOf(file string) string {
	return filepath.Join(r.host, filepath.FromSlash(r.inside(file)))
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
