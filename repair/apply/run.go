package apply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kafsck/internal/rofs"
	"kafsck/manifest"
	"kafsck/repair"
)

// Names beside the roots of a result.
const (
	lostFound  = "lost+found"
	lostList   = "manifest.json"
	sumsName   = "SHA256SUMS"
	reportName = "repair.json"
	gapsName   = "gaps.json" // of a salvage
)

// Options say where a plan is carried out, and how.
type Options struct {
	// Out is the directory to make. It must not exist.
	Out string
	// Link makes hard links of .log files before the last one of their folder where blocks cannot
	// be shared: then a change of one is a change of both.
	Link bool
	// Resume goes on with what a run that was stopped left beside Out. Files that are complete by
	// size and SHA-256 are kept.
	Resume bool
	// InPlace changes the roots themselves, with a backup and a journal beside each; Out is
	// empty then.
	InPlace bool
	// KeepOut are further paths below which nothing may be made.
	KeepOut []string
	// Kafsck is the version that repairs.
	Kafsck string
	// Progress is told how many bytes of the inputs have been read, of how many; nil for none.
	// Several goroutines call it.
	Progress func(done, total int64)

	open func(host string) (rofs.FS, error) // tests: how inputs are opened
	sys  system                             // tests: in place of disk
}

// Failed is a repair whose result is not what the plan promises. Nothing has appeared under
// the name that was asked for.
type Failed struct {
	Where string // file or partition of the result
	What  string
	Kept  string // where the result lies for a look, "" nowhere
}

func (f *Failed) Error() string {
	s := fmt.Sprintf("the result is not what the plan promises: %s: %s", f.Where, f.What)
	if f.Kept != "" {
		s += "; it lies in " + f.Kept + " for a look, do not start a broker on it"
	}
	return s
}

// Stopped is a run that a failed read or write, or the user, ended before its time. Nothing
// has appeared under the name that was asked for.
type Stopped struct {
	Err   error
	Stage string // what is left to go on with
}

func (s *Stopped) Error() string {
	return fmt.Sprintf("%v; stopped half-way: what was made lies in %s, and --resume goes on with it (or remove it)", s.Err, s.Stage)
}

// Left says what is left where a signal ended the run.
func (s *Stopped) Left() string {
	return fmt.Sprintf("what was made lies in %s: the same command with --resume goes on with it (or remove it)", s.Stage)
}

func (s *Stopped) Unwrap() error { return s.Err }

// run is one plan under way.
type run struct {
	opt     Options
	sys     system
	l       *layout
	stage   string // folder in which everything is made
	lost    string // folder of what is dropped, "" for none
	inPlace bool
	closers []rofs.FS
	done    Done

	mu      sync.Mutex
	noClone bool
	asNewIn map[string]fs.FileInfo // of files of new roots, by folder
	read    int64
	total   int64
}

// Run carries out the actions of a plan that are confirmed where they must be, into a new
// directory, and verifies the result before it appears.
//
//	refuse?   OUT exists or lies in an input; a broker runs; a file came, went or has another size
//	copy      .OUT.kafsck-ID/  every input read once: SHA-256, unchanged files, composed files, lost+found
//	refuse?   a SHA-256 is another
//	write     texts; indexes and snapshots from the logs as they are in the result
//	verify    composed files against their sources, findings gone, a start of it as promised
//	appear    everything flushed, one rename
//
// The error is a *Refused (nothing was written), a *Failed, a *Stopped, or a failed read or
// write before anything was made.
func Run(ctx context.Context, plan *repair.Plan, opt Options) (*Done, error) {
	x := &run{opt: opt, sys: opt.sys, inPlace: opt.InPlace}
	if x.sys == nil {
		x.sys = disk{}
	}
	defer x.closeRoots()
	var err error
	if x.l, err = newLayout(plan); err != nil {
		return nil, err
	}
	x.done.Type, x.done.Version, x.done.Plan, x.done.Kafsck = "repair", repair.DoneVersion, plan, opt.Kafsck
	x.done.NotDone = append([]NotDone{}, x.l.left...)
	for _, a := range x.l.todo {
		x.done.Carried = append(x.done.Carried, a.ID)
	}
	for _, o := range x.l.overtaken {
		x.note("%s is not needed: %s takes %s out of the log directory", o.ID, o.By, o.Dir)
	}
	if len(x.l.todo) == 0 {
		return &x.done, nothingToDo(x.l)
	}
	if opt.InPlace {
		if slices.ContainsFunc(plan.Roots, func(r repair.Root) bool { return r.New }) {
			return nil, refused("the plan makes a new directory, so that there is none to change in place: --out; nothing was written")
		}
		return x.runInPlace(ctx)
	}
	return x.runOut(ctx)
}

// nothingToDo is the refusal of a plan none of whose actions is to be carried out.
func nothingToDo(l *layout) error {
	if len(l.left) == 0 {
		return refused("the plan has no action: nothing was written")
	}
	return refused("none of the %d actions is confirmed: name those that you want with --only or --confirm; nothing was written", len(l.left))
}

func (x *run) closeRoots() {
	for _, f := range x.closers {
		rofs.Close(f)
	}
}

func (x *run) runOut(ctx context.Context) (*Done, error) {
	out := filepath.Clean(x.opt.Out)
	if err := x.openRoots(); err != nil {
		return nil, err
	}
	keepOut := slices.Clone(x.opt.KeepOut)
	for _, r := range x.l.roots {
		switch {
		case r.host == "", r.File: // OUT may lie beside a file
		case r.Partition: // a foreign folder in its log directory stops a broker
			keepOut = append(keepOut, filepath.Dir(r.host))
		default:
			keepOut = append(keepOut, r.host)
		}
	}
	x.stage = filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".kafsck-"+x.l.plan.ID)
	x.lost = filepath.Join(x.stage, lostFound)
	x.done.Out = filepath.ToSlash(x.opt.Out)
	release, found, err := x.holdStage(out, keepOut)
	if err != nil {
		return nil, err
	}
	defer release()
	if found {
		if err := x.prune(); err != nil {
			return nil, &Stopped{err, x.stage}
		}
	}
	if err := x.fill(ctx, out); err != nil {
		return nil, x.giveUp(err, out, found)
	}
	return &x.done, nil
}

// nothingElse refuses to resume where a run of another plan was stopped, and none of this one.
func (x *run) nothingElse(out string) error {
	list, err := os.ReadDir(filepath.Dir(out))
	if err != nil {
		return err
	}
	for _, e := range list {
		if id, ok := strings.CutPrefix(e.Name(), "."+filepath.Base(out)+".kafsck-"); ok && e.IsDir() && goodID(id) {
			return refused("%s is what a run of another plan left, made from other inputs, with other options or by another kafsck: there is nothing to go on with. Give the plan, or the options, of that run; or remove it and leave --resume out; nothing was written", filepath.Join(filepath.Dir(out), e.Name()))
		}
	}
	return nil
}

// giveUp leaves of a run that failed what is of use: nothing after a refusal, but for what an
// earlier run had made (found), everything to look at or to go on with else.
func (x *run) giveUp(err error, out string, found bool) error {
	if r, ok := errors.AsType[*Refused](err); ok {
		if found {
			return refused("%s; what the stopped run had made stays in %s", r.Reason, x.stage)
		}
		if removeErr := removeAll(x.sys, x.stage); removeErr != nil {
			return fmt.Errorf("%w (but %s could not be removed: %v)", err, x.stage, removeErr)
		}
		return err
	}
	failed, ok := errors.AsType[*Failed](err)
	if !ok {
		return &Stopped{err, x.stage}
	}
	failed.Kept = x.stage
	aside := out + ".failed"
	if there, lookErr := exists(aside); lookErr == nil && !there {
		if x.sys.Rename(x.stage, aside) == nil {
			failed.Kept = aside
		}
	}
	return failed
}

// fill makes everything in the stage, and lets it appear.
func (x *run) fill(ctx context.Context, out string) error {
	if err := x.makeFolders(); err != nil {
		return err
	}
	if err := x.makeFiles(ctx); err != nil {
		return err
	}
	if err := x.stillListed(); err != nil {
		return err
	}
	// The disk writes while the result is verified.
	flushed := make(chan error, 1)
	go func() { flushed <- x.sys.SyncAll(x.stage) }()
	err := x.verify(ctx)
	if flushErr := <-flushed; err == nil {
		err = flushErr
	}
	if err != nil {
		return err
	}
	if err := x.writeLists(ctx); err != nil {
		return err
	}
	if err := x.dressFolders(); err != nil {
		return err
	}
	if err := syncTree(x.sys, x.stage); err != nil {
		return err
	}
	if there, err := exists(out); err != nil {
		return err
	} else if there {
		return refused("%s exists; nothing was written", x.opt.Out)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := x.sys.Rename(x.stage, out); err != nil {
		return err
	}
	return x.sys.SyncDir(filepath.Dir(out))
}

// makeFiles makes every file that is not left where it is.
func (x *run) makeFiles(ctx context.Context) error {
	jobs, outs := x.jobs()
	if err := x.copyAll(ctx, jobs, outs); err != nil {
		return err
	}
	for _, o := range outs {
		x.count(o)
	}
	if err := x.writeTexts(ctx); err != nil {
		return err
	}
	return x.rebuildAll(ctx)
}

// makeFolders makes the folders of the result: all of the inputs that are not removed, empty
// ones too.
func (x *run) makeFolders() error {
	for _, r := range x.l.roots {
		if !r.written {
			continue
		}
		if err := makeParents(x.sys, filepath.Join(x.stage, filepath.FromSlash(r.Name), "x")); err != nil {
			return err
		}
		for _, dir := range r.folders {
			if x.l.removes(r, dir) {
				continue
			}
			if err := makeParents(x.sys, filepath.Join(x.stage, filepath.FromSlash(path.Join(r.Name, dir)), "x")); err != nil {
				return err
			}
		}
	}
	return nil
}

// removes reports whether an action removes a folder, or one above it.
func (l *layout) removes(r *root, dir string) bool {
	for _, a := range l.todo {
		for i := range a.Edits {
			if e := &a.Edits[i]; l.roots[a.Root] == r && e.Op == repair.Remove && (e.File == dir || nested(e.File, dir)) {
				return true
			}
		}
	}
	return false
}

func (x *run) dressFolders() error {
	for _, r := range x.l.roots {
		if !r.written {
			continue
		}
		for _, dir := range append([]string{"."}, r.folders...) {
			info := r.infos[dir]
			at := filepath.Join(x.stage, filepath.FromSlash(path.Join(r.Name, dir)))
			if there, err := exists(at); info == nil || err != nil || !there || at == x.stage {
				if err != nil {
					return err
				}
				continue
			}
			if err := x.sys.Dress(at, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// prune removes from the stage of a run that was stopped what is no file of this result, and
// what is written last.
func (x *run) prune() error {
	wanted := map[string]bool{}
	for _, t := range x.l.files {
		wanted[x.staged(t)] = t.from != "" || x.l.copyOf(t) != nil
	}
	var extra []string
	err := filepath.WalkDir(x.stage, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !wanted[p] {
			extra = append(extra, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range extra {
		if err := x.sys.Remove(p); err != nil {
			return err
		}
	}
	return nil
}

// staged is where a file of the result is made.
func (x *run) staged(t *target) string {
	if x.inPlace {
		return filepath.Join(x.backup(t.root), newFolder, filepath.FromSlash(t.file))
	}
	return filepath.Join(x.stage, filepath.FromSlash(t.name()))
}

// progress tells of bytes of the inputs that were read.
func (x *run) progress(n int64) {
	x.mu.Lock()
	x.read += n
	read, total := x.read, x.total
	x.mu.Unlock()
	if x.opt.Progress != nil {
		x.opt.Progress(read, total)
	}
}

// writeLists writes what lies beside the roots: what was dropped, what was done, and the
// SHA-256 of everything.
func (x *run) writeLists(ctx context.Context) error {
	entries := []manifest.Entry{}
	for _, t := range x.l.files {
		if t.sum == "" {
			return fmt.Errorf("%s: no SHA-256 was taken", t.name()) // never: verify takes those that are composed
		}
		entries = append(entries, manifest.Entry{Path: t.name(), SHA256: t.sum})
	}
	for _, d := range x.l.drops {
		if d.sum == "" {
			var err error
			if d.sum, err = sumOf(ctx, filepath.Join(x.lost, filepath.FromSlash(d.kept()))); err != nil {
				return err
			}
		}
		x.done.Dropped = append(x.done.Dropped, d.told())
		entries = append(entries, manifest.Entry{Path: path.Join(lostFound, d.kept()), SHA256: d.sum})
	}
	if len(x.l.drops) > 0 {
		if err := x.writeJSON(path.Join(lostFound, lostList), lostManifest{"lost+found", repair.DoneVersion, x.l.plan.ID, x.done.Dropped}, &entries); err != nil {
			return err
		}
	}
	if s := x.l.plan.Salvaged; s != nil {
		if err := x.writeJSON(gapsName, s, &entries); err != nil {
			return err
		}
	}
	if err := x.writeJSON(reportName, &x.done, &entries); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b manifest.Entry) int { return cmp.Compare(a.Path, b.Path) })
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.Line() + "\n")
	}
	return writeFile(x.sys, filepath.Join(x.stage, sumsName), b.Bytes())
}

func (x *run) writeJSON(name string, v any, entries *[]manifest.Entry) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	at := filepath.Join(x.stage, filepath.FromSlash(name))
	if err := makeParents(x.sys, at); err != nil {
		return err
	}
	if err := writeFile(x.sys, at, b); err != nil {
		return err
	}
	*entries = append(*entries, manifest.Entry{Path: name, SHA256: sumOfBytes(b)})
	return nil
}
