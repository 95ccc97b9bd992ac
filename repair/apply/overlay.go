package apply

import (
	"io/fs"
	"os"
	"path"
	"slices"

	"kafsck/internal/rofs"
)

// overlay is the tree that an in-place repair would make of a root: files that stay where
// they are, and new ones that wait beside the root.
type overlay struct {
	x       *run
	r       *root
	files   map[string]*target
	folders map[string][]string // names in it
}

func (x *run) overlay(r *root) rofs.FS {
	o := &overlay{x, r, map[string]*target{}, map[string][]string{".": nil}}
	seen := map[string]bool{}
	add := func(name string) {
		for ; name != "." && !seen[name]; name = parent(name) {
			seen[name] = true
			o.folders[parent(name)] = append(o.folders[parent(name)], path.Base(name))
		}
	}
	for _, dir := range r.folders {
		if !x.l.removes(r, dir) {
			if o.folders[dir] == nil {
				o.folders[dir] = []string{}
			}
			add(dir)
		}
	}
	for _, t := range x.l.files {
		if t.root == r {
			o.files[t.file] = t
			add(t.file)
		}
	}
	return o
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

func (o *overlay) Open(name string) (rofs.File, error) {
	t := o.files[name]
	if t == nil {
		return nil, missing("open", name)
	}
	if o.x.stays(t) {
		return o.r.fsys.Open(o.r.inside(name))
	}
	return openStaged(o.x.staged(t))
}

func (o *overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	names, ok := o.folders[name]
	if !ok {
		return nil, missing("readdir", name)
	}
	slices.Sort(names)
	var out []fs.DirEntry
	for _, n := range names {
		info, err := o.Lstat(path.Join(name, n))
		if err != nil {
			return out, err
		}
		out = append(out, fs.FileInfoToDirEntry(info))
	}
	return out, nil
}

func (o *overlay) Lstat(name string) (fs.FileInfo, error) {
	if t := o.files[name]; t != nil {
		if o.x.stays(t) {
			return o.r.fsys.Lstat(o.r.inside(name))
		}
		return os.Lstat(o.x.staged(t))
	}
	if _, ok := o.folders[name]; !ok {
		return nil, missing("lstat", name)
	}
	if info := o.r.infos[name]; info != nil && info.IsDir() {
		return folderInfo{info, path.Base(name)}, nil
	}
	info, err := os.Lstat(o.r.host)
	if err != nil {
		return nil, err
	}
	return folderInfo{info, path.Base(name)}, nil
}

// folderInfo is a folder under the name that it has in the overlay.
type folderInfo struct {
	fs.FileInfo
	name string
}

func (f folderInfo) Name() string { return f.name }
