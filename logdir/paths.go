package logdir

import (
	"cmp"
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
)

// partitionInput takes in a partition directory that is itself a PATH, with the files of the log
// directory around it if there is one.
func (d *discovery) partitionInput(in *input) {
	f := in.top
	base := lastParts(in.name, 1)
	f.shown = in.prefix
	if f.shown == "" {
		f.shown = base
	}
	if v, ok := d.seen(in.info); ok && v.part != nil {
		d.note(NoteDuplicate, []string{v.part.Dir, f.shown}, fmt.Sprintf("%q and %q are the same directory; looked at once", v.part.Dir, f.shown))
		return
	}
	d.report(f)
	dn, err := ParseDirName(base)
	if err != nil && in.host != "" {
		dn, err = ParseDirName(filepath.Base(in.host)) // the PATH is a link
	}
	if err != nil {
		dn = DirName{Topic: base, Partition: -1}
		d.noteName(f.shown, base, err)
	}
	fd := d.logDirAround(in)
	if fd == nil {
		if in.fsys == nil { // closed since it was listed
			if in.fsys, err = d.tree(in.host); err != nil {
				d.fail(in.given, err)
				return
			}
		}
		fd = d.alone(in, in.shown("."), f.info)
	} else {
		// The tree of the log directory serves for its partitions too.
		f.in, f.name = fd.in, joinName(fd.ld.Root, filepath.Base(in.host))
	}
	fd.paths = append(fd.paths, in.name, filepath.ToSlash(in.host))
	p := d.partition(f, dn)
	d.addPartition(fd.ld, p)
}

func (d *discovery) noteName(shown, base string, err error) {
	d.note(NoteName, []string{shown}, fmt.Sprintf("the name of %q tells no topic and partition (%v); it is called topic %q, partition -1", shown, err, base))
}

// alone makes a log directory for a partition or file that has none around it.
func (d *discovery) alone(in *input, shown string, info fs.FileInfo) *found {
	fd := &found{
		ld: &LogDir{FS: in.fsys, Path: shown, Root: ".", Bare: true, Partial: true},
		in: in, info: info, name: path.Dir(in.name), alone: true,
	}
	d.dirs = append(d.dirs, fd)
	return fd
}

// logDirAround returns the log directory that a partition PATH lies in, reading nothing but the
// files that a log directory has; nil if the folder above is none.
func (d *discovery) logDirAround(in *input) *found {
	if in.host == "" || filepath.Dir(in.host) == in.host {
		return nil
	}
	host := filepath.Dir(in.host)
	info, err := os.Stat(host)
	if err != nil {
		d.fail(host, err)
		return nil
	}
	for _, fd := range d.dirs {
		if !fd.alone && os.SameFile(fd.info, info) {
			return fd
		}
	}
	fsys, err := rofs.Dir(host)
	if err != nil {
		d.fail(host, err)
		return nil
	}
	name := filepath.ToSlash(host)
	around := &input{given: in.given, host: host, name: name, prefix: lastParts(name, 1), info: info, fsys: fsys}
	if i := strings.LastIndexByte(in.prefix, '/'); i >= 0 {
		around.prefix = in.prefix[:i] // was lengthened to be unique
	}
	f := &folder{in: around, name: ".", shown: around.prefix, info: info}
	for _, known := range slices.Sorted(maps.Keys(logDirFiles)) {
		e := entry{name: known}
		e.info, e.err = fsys.Lstat(known)
		if errors.Is(e.err, fs.ErrNotExist) {
			continue
		}
		if e.err == nil && e.info.Mode()&fs.ModeSymlink != 0 {
			e.link, e.mode = true, fs.ModeSymlink
			e.info, e.err = rofs.Stat(fsys, known)
		}
		if e.err != nil {
			e.info, f.incomplete = nil, true
		}
		f.entries = append(f.entries, e)
	}
	if f.kind() != logDirFolder {
		rofs.Close(fsys)
		return nil
	}
	d.c.trees = append(d.c.trees, fsys)
	d.report(f)
	ld := &LogDir{FS: fsys, Path: f.shown, Root: ".", HostPath: host, Partial: true, Incomplete: f.incomplete}
	fd := &found{ld: ld, in: around, info: info, name: path.Dir(in.name), paths: []string{name, path.Dir(in.name)}}
	d.dirs = append(d.dirs, fd)
	for i := range f.entries {
		d.logDirFile(ld, f, &f.entries[i])
	}
	return fd
}

// fileInput takes in a single file: a .log as a partition of just that segment, anything else as
// unknown.
func (d *discovery) fileInput(in *input) {
	dir := filepath.Dir(in.host)
	fsys, err := d.tree(dir)
	if err != nil {
		d.fail(in.given, err)
		return
	}
	d.looked = true
	base := filepath.Base(in.host)
	shown := in.prefix
	if shown == "" {
		shown = base
	}
	parent := &folder{in: &input{given: in.given, host: dir, name: path.Dir(in.name), fsys: fsys}, name: "."}
	e := &entry{name: base, info: in.info}
	fn := parseFileName(base)
	if fn.kind == KindOther {
		if known := parseLogDirFile(base); known.kind != KindOther {
			fn = known
		}
	}
	isLog := fn.kind == KindLog && fn.suffix == NoSuffix
	if !isLog && fn.why == "" {
		fn.why = "a single file that is no .log"
	}
	file := d.newFile(parent, e, fn)
	file.Path = shown
	if !isLog {
		d.c.Unknown = append(d.c.Unknown, file)
		return
	}
	dirInfo, err := os.Stat(dir)
	if err != nil {
		d.fail(in.given, err)
		return
	}
	if v, ok := d.seen(dirInfo); ok && v.part != nil {
		d.addFile(v.part, file)
		return
	}
	folderName := lastParts(parent.in.name, 1)
	dn, err := ParseDirName(folderName)
	if err != nil {
		dn = DirName{Topic: folderName, Partition: -1}
		d.noteName(shown, folderName, err)
	}
	fd := d.alone(parent.in, ".", dirInfo)
	fd.paths = []string{in.name, filepath.ToSlash(in.host)}
	partitionDir := folderName
	if i := strings.LastIndexByte(shown, '/'); i >= 0 {
		partitionDir = shown[:i] // was lengthened to be unique
	}
	p := &Partition{
		Topic: dn.Topic, Partition: dn.Partition, State: dn.State, TopicCut: dn.TopicCut,
		Dir: partitionDir, HostPath: dir, Root: ".", files: []*File{file},
	}
	p.Segments = groupSegments(p.files)
	d.visited = append(d.visited, visit{dirInfo, p})
	d.addPartition(fd.ld, p)
}

// addFile joins a second file PATH of one partition directory with the first.
func (d *discovery) addFile(p *Partition, file *File) {
	for _, f := range p.files {
		if f.Name == file.Name {
			d.note(NoteDuplicate, []string{f.Path, file.Path}, fmt.Sprintf("%q and %q are the same file; looked at once", f.Path, file.Path))
			return
		}
	}
	p.files = append(p.files, file)
	slices.SortFunc(p.files, func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
	p.Segments = groupSegments(p.files)
	p.LogDir.newest(file)
}

// tree opens a directory on disk once.
func (d *discovery) tree(host string) (rofs.FS, error) {
	if fsys := d.trees[host]; fsys != nil {
		return fsys, nil
	}
	fsys, err := rofs.Dir(host)
	if err != nil {
		return nil, err
	}
	if d.trees == nil {
		d.trees = map[string]rofs.FS{}
	}
	d.trees[host] = fsys
	d.c.trees = append(d.c.trees, fsys)
	return fsys, nil
}
