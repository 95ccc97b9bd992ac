package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kafsck/internal/rofs"
)

// Options of a discovery.
type Options struct {
	// BrokerIDs names brokers whose directories do not.
	BrokerIDs []BrokerID
}

// BrokerID says which broker a directory and all below it belong to, unless meta.properties knows.
// Path is a path of the operating system or a shown path; the longest match wins.
type BrokerID struct {
	Path string
	ID   int32
}

// input is one PATH.
type input struct {
	given  string // as the user wrote it
	host   string // absolute, links in it followed; "" if not on disk
	name   string // absolute as given, for the names of the folders above; slashes
	prefix string // shown in front of everything, "" with a single PATH
	info   fs.FileInfo
	fsys   rofs.FS
	top    *folder // of a partition directory
}

// discovery is the state of one Discover.
type discovery struct {
	c          *Case
	opt        Options
	dirs       []*found
	visited    []visit  // directories that were listed, to notice links to them
	links      []func() // links to directories, looked through at the end
	folders    int      // listed while looking for log directories
	maxFolders int
	tooDeep    []string // shown paths of folders that were not looked into
	tooMany    string   // shown path of the first folder beyond maxFolders
	trees      map[string]rofs.FS
	looked     bool   // something could be looked at
	used       []bool // which opt.BrokerIDs matched
}

// found is a log directory before it has a broker.
type found struct {
	ld    *LogDir
	in    *input
	info  fs.FileInfo // of the directory; of the partition's, when that stands alone
	name  string      // absolute name of the directory, slashes, as the user would write it
	paths []string    // names by which Options.BrokerIDs may mean it
	whole bool        // the PATH itself is this log directory
	alone bool        // there is no log directory, only the partition or file given
}

// Discover looks at paths. Trouble with one of them, or with a part of it, is in Case.Errors, and
// everything else is still reported. The error is not nil only if nothing at all could be looked at;
// the Case is never nil. See the package comment for what a path may be and how paths are shown.
//
// Shown paths have slashes and are relative to the PATH; with several PATHs they begin with its base
// name, lengthened by the folders above where two would be equal. A partition directory and a file
// are shown by their own name. The log directory around a partition PATH is shown by its folder's name.
func Discover(paths []string, opt Options) (*Case, error) {
	d := newDiscovery(opt)
	d.c.Inputs = append(d.c.Inputs, paths...)
	inputs := d.openInputs(paths)
	setPrefixes(inputs)

	// Whole directories come first, so that a partition PATH inside one of them is noticed.
	var partitions, files []*input
	for _, in := range inputs {
		if in.info.Mode().IsRegular() {
			files = append(files, in)
			continue
		}
		fsys, err := rofs.Dir(in.host)
		if err != nil {
			d.fail(in.given, err)
			continue
		}
		in.fsys = fsys
		if d.visitInput(in) {
			// A shell pattern may give thousands of these: do not hold them all open.
			rofs.Close(fsys)
			in.fsys = nil
			partitions = append(partitions, in)
			continue
		}
		d.c.trees = append(d.c.trees, fsys)
	}
	d.followLinks()
	for _, in := range partitions {
		d.partitionInput(in)
	}
	for _, in := range files {
		d.fileInput(in)
	}
	return d.finish()
}

// DiscoverFS looks at the tree fsys as Discover does at one directory; name is what to call it
// (shown in Case.Inputs, and the folder's name of the root).
func DiscoverFS(fsys rofs.FS, name string, opt Options) (*Case, error) {
	return newDiscovery(opt).oneTree(fsys, name)
}

func (d *discovery) oneTree(fsys rofs.FS, name string) (*Case, error) {
	d.c.Inputs = []string{name}
	in := &input{given: name, name: filepath.ToSlash(name), fsys: fsys}
	info, err := fsys.Lstat(".")
	if err != nil {
		d.fail(name, err)
		return d.finish()
	}
	in.info = info
	d.c.trees = append(d.c.trees, fsys)
	if d.visitInput(in) {
		d.partitionInput(in)
	}
	d.followLinks()
	return d.finish()
}

func newDiscovery(opt Options) *discovery {
	return &discovery{c: &Case{}, opt: opt, used: make([]bool, len(opt.BrokerIDs)), maxFolders: maxFolders}
}

func (d *discovery) finish() (*Case, error) {
	d.assignBrokers()
	d.nameCutTopics()
	d.noteLimits()
	for i, used := range d.used {
		if !used {
			b := d.opt.BrokerIDs[i]
			d.note(NoteBroker, []string{b.Path}, fmt.Sprintf("--broker %d=%q fits no log directory that needs it", b.ID, b.Path))
		}
	}
	if d.looked {
		return d.c, nil
	}
	var errs []error
	for _, e := range d.c.Errors {
		errs = append(errs, e)
	}
	if len(errs) == 0 {
		return d.c, errors.New("no path given")
	}
	return d.c, errors.Join(errs...)
}

// openInputs looks at each path and drops those that are the same as an earlier one.
func (d *discovery) openInputs(paths []string) []*input {
	var inputs []*input
next:
	for _, p := range paths {
		info, err := os.Stat(p)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: p, Err: errors.New("neither a directory nor a regular file")}
		}
		var abs, host string
		if err == nil {
			abs, err = filepath.Abs(p)
		}
		if err == nil {
			// The user may name a link; what it points to is the tree.
			host, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			d.fail(p, err)
			continue
		}
		for _, earlier := range inputs {
			if os.SameFile(earlier.info, info) {
				d.note(NoteDuplicate, []string{earlier.given, p}, fmt.Sprintf("%q and %q are the same; looked at once", earlier.given, p))
				continue next
			}
		}
		inputs = append(inputs, &input{given: p, host: host, name: filepath.ToSlash(abs), info: info})
	}
	return inputs
}

// setPrefixes gives each of several inputs the shortest unique end of its path.
func setPrefixes(inputs []*input) {
	if len(inputs) < 2 {
		return
	}
	depth := make([]int, len(inputs))
	for i, in := range inputs {
		depth[i] = 1
		in.prefix = lastParts(in.name, 1)
	}
	for {
		byPrefix := map[string][]int{}
		for i, in := range inputs {
			byPrefix[in.prefix] = append(byPrefix[in.prefix], i)
		}
		longer := false
		for _, same := range byPrefix {
			if len(same) < 2 {
				continue
			}
			for _, i := range same {
				depth[i]++
				if p := lastParts(inputs[i].name, depth[i]); p != inputs[i].prefix {
					inputs[i].prefix, longer = p, true
				}
			}
		}
		if !longer {
			break
		}
	}
}

// lastParts returns the last n folders of a slash path, all if there are fewer. The root of the
// file system has no name and is called "root".
func lastParts(name string, n int) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	if len(parts) == 0 {
		return "root"
	}
	return strings.Join(parts[max(0, len(parts)-n):], "/")
}

// fail records what could not be read.
func (d *discovery) fail(shown string, err error) {
	d.c.Errors = append(d.c.Errors, PathError{Path: shown, Err: plainError(err)})
}

// plainError drops the path from an error that will be told with the shown one.
func plainError(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}

func (d *discovery) noteLimits() {
	if d.tooMany != "" {
		d.note(NoteLimit, []string{d.tooMany}, fmt.Sprintf("more than %d folders to search; none from %q on was looked into", d.maxFolders, d.tooMany))
	}
	if n := len(d.tooDeep); n > 0 {
		d.note(NoteLimit, d.tooDeep, fmt.Sprintf("%d folders are nested too deep and were not looked into, the first is %q; give a PATH nearer to the log directories", n, d.tooDeep[0]))
	}
}

func (d *discovery) note(kind NoteKind, paths []string, text string) {
	d.c.Notes = append(d.c.Notes, Note{Kind: kind, Paths: paths, Text: text})
}
