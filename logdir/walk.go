package logdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"kafsck/internal/rofs"
)

const (
	// maxDepth is how many folders may lie between a PATH and a log directory, such as incidents /
	// moments / brokers / disks. Deeper is more likely a PATH given by mistake.
	maxDepth = 4
	// maxFolders bounds the search when somebody gives the root of a file system.
	maxFolders = 10_000
)

// entry is one directory entry with a symbolic link already followed.
type entry struct {
	name string
	info fs.FileInfo // of the link's target; nil with err
	mode fs.FileMode // type only, where info is nil
	link bool
	err  error
}

func (e *entry) isDir() bool { return e.info != nil && e.info.IsDir() }

// mayBeFile is true for regular files and for what could not be looked at: its name still counts as
// evidence of what the folder is.
func (e *entry) mayBeFile() bool {
	if e.info == nil {
		return !e.mode.IsDir()
	}
	return e.info.Mode().IsRegular()
}

// folder is a listed directory.
type folder struct {
	in         *input
	name       string // path inside the input's tree
	shown      string
	info       fs.FileInfo
	entries    []entry
	err        error // listing failed; entries are what was listed before
	incomplete bool
	behindLink bool
}

func (in *input) shown(name string) string {
	if name != "." {
		return joinShown(in.prefix, name)
	}
	if in.prefix == "" {
		return "."
	}
	return in.prefix
}

// fullName is the absolute name of a folder as the user would write it.
func (in *input) fullName(name string) string { return path.Join(in.name, name) }

func (in *input) hostPath(name string) string {
	if in.host == "" {
		return ""
	}
	return filepath.Join(in.host, filepath.FromSlash(name))
}

// list reads a directory: one ReadDir, one look at each entry, and one more through each link. What
// went wrong is told by report.
func (d *discovery) list(in *input, name, shown string, info fs.FileInfo, behindLink bool) *folder {
	f := &folder{in: in, name: name, shown: shown, info: info, behindLink: behindLink}
	entries, err := in.fsys.ReadDir(name)
	if err != nil {
		f.err, f.incomplete = err, true
	}
	f.entries = make([]entry, 0, len(entries))
	for _, de := range entries {
		e := entry{name: de.Name(), mode: de.Type(), link: de.Type()&fs.ModeSymlink != 0}
		if e.link {
			e.info, e.err = rofs.Stat(in.fsys, joinName(name, e.name))
		} else {
			e.info, e.err = de.Info()
		}
		if e.err != nil {
			e.info, f.incomplete = nil, true
		}
		f.entries = append(f.entries, e)
	}
	return f
}

// report tells what list could not do.
func (d *discovery) report(f *folder) {
	if f.err != nil {
		d.fail(f.shown, f.err)
	}
	for i := range f.entries {
		e := &f.entries[i]
		if e.err == nil {
			continue
		}
		at := joinShown(f.shown, e.name)
		if e.link && refusedLink(e.err) {
			d.fail(at, notFollowed(e.err))
			continue
		}
		d.fail(at, e.err)
	}
}

// notFollowed is the error of a link that cannot or must not be followed: what it stands for is
// missing from the case.
func notFollowed(err error) error {
	if leavesTree(err) {
		return errors.New("symbolic link that was not followed: it leads out of the PATH; give what it leads to as a PATH, too")
	}
	return fmt.Errorf("symbolic link that was not followed: %w", plainError(err))
}

// leavesTree tells the refusal of os.Root to leave the tree: it is no error number of the
// operating system.
func leavesTree(err error) bool {
	_, isErrno := errors.AsType[syscall.Errno](err)
	return !isErrno && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
}

// refusedLink tells a link that cannot or must not be followed from a failed read.
func refusedLink(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || leavesTree(err)
}

type folderKind uint8

const (
	plainFolder folderKind = iota
	logDirFolder
	partitionFolder
)

func (f *folder) kind() folderKind {
	kind := plainFolder
	for i := range f.entries {
		e := &f.entries[i]
		if !e.mayBeFile() {
			continue
		}
		if parseLogDirFile(e.name).kind.marksLogDir() {
			return logDirFolder
		}
		if parseFileName(e.name).kind.marksPartition() {
			kind = partitionFolder
		}
	}
	return kind
}

// visitInput walks a directory PATH. A partition directory is only listed: it returns true.
func (d *discovery) visitInput(in *input) (isPartition bool) {
	f := d.list(in, ".", in.shown("."), in.info, false)
	if f.err != nil && len(f.entries) == 0 {
		d.fail(in.given, f.err)
		return false
	}
	d.looked = true
	kind := f.kind()
	if kind == partitionFolder {
		in.top = f
		return true
	}
	d.report(f)
	if kind == logDirFolder {
		d.logDir(f, nil)
	} else {
		_, unknown := d.container(f, 0)
		d.c.Unknown = append(d.c.Unknown, unknown...)
	}
	return false
}

// container looks for log directories below a folder that is none itself. found tells whether there
// was one; unknown is everything else in it.
func (d *discovery) container(f *folder, depth int) (found bool, unknown []*File) {
	d.saw(f, nil)
	claimed := map[string]bool{}  // children that became something
	below := map[string][]*File{} // what was unknown below them
	children := map[string]*folder{}
	why := map[string]string{}
	bare := false
	for i := range f.entries {
		e := &f.entries[i]
		if !e.isDir() {
			continue
		}
		if e.link {
			claimed[e.name] = true
			d.later(f, e, func(child *folder) { d.linked(f, child, depth) })
			continue
		}
		if e.name == "lost+found" { // its files have the names of those that they are pieces of
			why[e.name] = "not looked into: what a repair, or a check of the file system, has set aside"
			continue
		}
		if d.folders++; d.folders > d.maxFolders {
			why[e.name] = fmt.Sprintf("not looked into: more than %d folders were searched before it", d.maxFolders)
			if d.tooMany == "" {
				d.tooMany = joinShown(f.shown, e.name)
			}
			continue
		}
		child := d.list(f.in, joinName(f.name, e.name), joinShown(f.shown, e.name), e.info, f.behindLink)
		d.report(child)
		children[e.name] = child
		switch child.kind() {
		case logDirFolder:
			d.logDir(child, nil)
			claimed[e.name], found = true, true
		case partitionFolder:
			if _, err := ParseDirName(e.name); err == nil {
				bare = true
			}
		case plainFolder:
			why[e.name] = "no log directory in it"
			if child.err != nil {
				why[e.name] = fmt.Sprintf("could not be listed: %v", plainError(child.err))
			}
			if depth > maxDepth && child.hasDir() {
				why[e.name] = "not looked into: nested too deep"
				d.tooDeep = append(d.tooDeep, child.shown)
			} else if ok, files := d.container(child, depth+1); ok {
				claimed[e.name], found = true, true
				below[e.name] = files
			}
		}
	}
	if bare {
		// Partition directories without any file of a log directory beside them.
		rest := *f
		rest.entries = nil
		for _, e := range f.entries {
			if !claimed[e.name] {
				rest.entries = append(rest.entries, e)
			}
		}
		d.logDir(&rest, children)
		found = true
	}
	for i := range f.entries {
		e := &f.entries[i]
		unknown = append(unknown, below[e.name]...)
		if claimed[e.name] || bare {
			continue
		}
		child := children[e.name]
		fn := fileName{kind: KindOther, base: -1, epoch: -1, why: why[e.name]}
		if child != nil && child.kind() == partitionFolder {
			_, err := ParseDirName(e.name)
			fn.why = d.nameless(child, err)
		}
		if fn.why == "" {
			fn.why = cmp.Or(e.unusable(), "not in a log directory")
		}
		file := d.newFile(f, e, fn)
		if child != nil && child.err != nil {
			file.Err = plainError(child.err)
		}
		unknown = append(unknown, file)
	}
	return found, unknown
}

// nameless notes a folder with the files of a partition that is left out for its name.
func (d *discovery) nameless(f *folder, err error) (why string) {
	d.note(NoteName, []string{f.shown}, fmt.Sprintf("%q holds files of a partition but its name tells no topic and partition (%v), so it was left out; give it as a PATH of its own to look at it", f.shown, err))
	return notPartition(err)
}

func (f *folder) hasDir() bool {
	for i := range f.entries {
		if f.entries[i].isDir() {
			return true
		}
	}
	return false
}

// visit is a directory that was listed, and its partition if it is one.
type visit struct {
	info fs.FileInfo
	part *Partition
}

func (d *discovery) saw(f *folder, p *Partition) { d.visited = append(d.visited, visit{f.info, p}) }

func (d *discovery) seen(info fs.FileInfo) (visit, bool) {
	for _, v := range d.visited {
		if os.SameFile(v.info, info) {
			return v, true
		}
	}
	return visit{}, false
}

// later looks through a link to a directory after everything that is really there, so that a
// directory is listed under its own name and a link to it is only noted.
func (d *discovery) later(f *folder, e *entry, then func(child *folder)) {
	d.links = append(d.links, func() {
		at := joinShown(f.shown, e.name)
		if _, ok := d.seen(e.info); ok {
			d.note(NoteSymlink, []string{at}, fmt.Sprintf("symbolic link %q leads to a directory that is listed under its own name", at))
			return
		}
		if f.behindLink {
			d.fail(at, notFollowed(errors.New("it was itself reached through one")))
			return
		}
		child := d.list(f.in, joinName(f.name, e.name), at, e.info, true)
		d.report(child)
		then(child)
	})
}

// followLinks runs what later put off. A linked folder may hold further links; those add to the
// list but are not followed, so it ends.
func (d *discovery) followLinks() {
	for len(d.links) > 0 {
		next := d.links[0]
		d.links = d.links[1:]
		next()
	}
}

// linked takes in a directory that a link in the folder f leads to.
func (d *discovery) linked(f, child *folder, depth int) {
	switch child.kind() {
	case logDirFolder:
		d.logDir(child, nil)
	case partitionFolder:
		if _, err := ParseDirName(path.Base(child.name)); err != nil {
			d.c.Unknown = append(d.c.Unknown, d.newFile(f, child.asEntry(), fileName{base: -1, epoch: -1, why: d.nameless(child, err)}))
			return
		}
		d.partitionEntry(d.bareLogDir(f), child)
	case plainFolder:
		found, unknown := false, []*File(nil)
		if depth <= maxDepth {
			found, unknown = d.container(child, depth+1)
		}
		if !found {
			unknown = []*File{d.newFile(f, child.asEntry(), fileName{base: -1, epoch: -1, why: "no log directory in it"})}
		}
		d.c.Unknown = append(d.c.Unknown, unknown...)
	}
}

// asEntry is the entry that led to a folder.
func (f *folder) asEntry() *entry {
	return &entry{name: path.Base(f.name), info: f.info, link: f.behindLink}
}

// bareLogDir returns the log directory found at a folder, or makes one.
func (d *discovery) bareLogDir(f *folder) *LogDir {
	for _, fd := range d.dirs {
		if fd.in == f.in && fd.ld.Root == f.name {
			return fd.ld
		}
	}
	rest := *f
	rest.entries = nil
	return d.logDir(&rest, nil)
}
