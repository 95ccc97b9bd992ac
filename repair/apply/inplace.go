package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"kafsck/repair"
)

// Names in a backup folder.
const (
	newFolder   = "new" // files that wait for their place
	oldFolder   = "old" // originals
	journalName = "journal.json"
)

// lockName is the file on which a broker holds a lock of its log directory.
const lockName = ".lock"

// backup is the folder with the originals of a root: beside it, since in a log directory a
// foreign folder stops a broker; of a partition directory beside its log directory.
//
//	/kafka/data                        /kafka/data/t-0 (a root of its own)
//	/kafka/data.kafsck-ID/journal.json /kafka/data.t-0.kafsck-ID/journal.json
//	                     /old/t-0/…                             /old/t-0/…
//	                     /new/t-0/…                             /new/t-0/…
func (x *run) backup(r *root) string {
	dir, base := filepath.Dir(r.host), filepath.Base(r.host)
	if r.Partition {
		dir, base = filepath.Dir(dir), filepath.Base(dir)+"."+base
	}
	return filepath.Join(dir, base+".kafsck-"+x.l.plan.ID)
}

// runInPlace changes the roots themselves.
//
//	hold     the log directory of each root, for the whole run
//	stage    new/ in the backup folders; verified as the tree that it would become
//	journal  one a root, flushed; nothing is moved before the last one is there
//	move     originals to old/, flushed; then new files to their places, flushed
//	done     the journals say so
//
// A run that is killed before the last journal is there has changed nothing and begins anew;
// killed later it is finished by the same command, or reversed by Undo.
func (x *run) runInPlace(ctx context.Context) (*Done, error) {
	var written []*root
	var dirs []string
	for _, r := range x.l.roots {
		if !r.written {
			continue
		}
		host, err := filepath.Abs(r.Path)
		if err == nil {
			host, err = filepath.EvalSymlinks(host)
		}
		if errors.Is(err, fs.ErrNotExist) {
			// The run that is to be finished may have moved it aside.
			if host, err = filepath.Abs(r.Path); err == nil {
				var dir string
				if dir, err = filepath.EvalSymlinks(filepath.Dir(host)); err == nil {
					host = filepath.Join(dir, filepath.Base(host))
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, refused("%s is not there (a plan's roots can be edited where copies were moved); nothing was written", r.Path)
		}
		if err != nil {
			return nil, err
		}
		r.host = host
		written = append(written, r)
		dirs = append(dirs, logDirOf(host, r.Partition))
	}
	release, err := holdDirs(dirs)
	if err != nil {
		return nil, err
	}
	defer release()
	journals, err := x.journals(written)
	if err != nil {
		return nil, err
	}
	if journals != nil {
		began, err := x.finishMoves(ctx, journals, func() error { return unchanged(ctx, journals, goOn) })
		if _, no := errors.AsType[*Refused](err); err != nil && !began && !no {
			err = halfwayOf(err, journals) // where the earlier run was stopped
		}
		if err != nil {
			return nil, err
		}
		for _, j := range journals {
			x.done.Backups = append(x.done.Backups, j.dir)
		}
		x.note("an earlier run had been stopped half-way: it was finished. Check the result before you start the broker")
		return &x.done, nil
	}
	var made []string
	journals, err = x.prepare(ctx, written, &made)
	began := false
	if err == nil {
		began, err = x.finishMoves(ctx, journals, x.stillListed)
	}
	if err != nil && !began {
		return nil, x.dropBackups(written, made, err)
	}
	if err != nil {
		return nil, err
	}
	return &x.done, nil
}

// dropBackups removes the backup folders that this run made and in which no original lies yet; those
// of an earlier run stay.
func (x *run) dropBackups(written []*root, made []string, err error) error {
	for _, r := range written { // all journals first: with one missing nothing is ever moved
		if removeErr := removeAll(x.sys, filepath.Join(x.backup(r), journalName)); removeErr != nil {
			return &leftover{err, fmt.Sprintf("and %s could not be removed: %v", filepath.Join(x.backup(r), journalName), removeErr)}
		}
	}
	for _, r := range written {
		dir := x.backup(r)
		there, lookErr := exists(dir)
		if lookErr == nil && !there {
			continue
		}
		old, lookErr := exists(filepath.Join(dir, oldFolder))
		switch {
		case !slices.Contains(made, dir) || old || lookErr != nil:
			err = &leftover{err, fmt.Sprintf("what an earlier run had made stays in %s", dir)}
		default:
			if removeErr := removeAll(x.sys, dir); removeErr != nil {
				err = &leftover{err, fmt.Sprintf("and %s could not be removed: %v", dir, removeErr)}
			}
		}
	}
	return err
}

// halfway is a failure after the journals were written.
type halfway struct {
	err     error
	backups []string
}

func (h *halfway) Error() string { return fmt.Sprintf("%v; stopped half-way, %s", h.err, h.ways()) }

func (h *halfway) ways() string {
	return fmt.Sprintf("do not start the broker: the same command goes on, and kafsck repair undo %s goes back", h.backups[0])
}

// Left says what is left where a signal ended the run.
func (h *halfway) Left() string {
	return "the repair is half-way, " + h.ways()
}

func (h *halfway) Unwrap() error { return h.err }

func halfwayOf(err error, list []*journal) *halfway {
	h := &halfway{err: err}
	for _, j := range list {
		h.backups = append(h.backups, j.dir)
	}
	return h
}

// leftover is what ended a run before it moved anything, with what could not be removed, or was not
// its own to remove.
type leftover struct {
	err  error
	what string
}

func (l *leftover) Error() string { return fmt.Sprintf("%v (%s)", l.err, l.what) }
func (l *leftover) Unwrap() error { return l.err }

// Left says what is left where a signal ended the run.
func (l *leftover) Left() string {
	if more, ok := l.err.(*leftover); ok {
		return more.Left() + "; " + l.what
	}
	return "nothing was changed; " + l.what
}

// journals reads those of a run that was stopped. nil: none was, or it was stopped before it
// moved anything.
func (x *run) journals(written []*root) ([]*journal, error) {
	var list []*journal
	var over *journal // one that is done
	var gone string   // a folder without a journal
	open := false
	for _, r := range written {
		j, err := readJournal(x.backup(r))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			gone = x.backup(r)
			continue
		case err != nil:
			return nil, err
		case j.State == stateUndo || j.State == stateGone:
			return nil, refused("this plan is being undone: finish that with kafsck repair undo %s; nothing was changed", j.dir)
		case j.State == stateDone:
			over = j
		default:
			open = true
		}
		list = append(list, j)
	}
	switch {
	case over != nil && (!open || gone != ""):
		return nil, refused("this plan was carried out on %s: the originals are in %s (kafsck repair undo goes back); nothing was changed", over.Root, over.dir)
	case gone == "":
		return list, nil
	}
	for _, r := range written {
		old := filepath.Join(x.backup(r), oldFolder)
		if there, err := exists(old); err != nil {
			return nil, err
		} else if there {
			return nil, refused("a run of this plan was stopped half-way, originals lie in %s, and the journal of %s is missing: put that folder back where it was; nothing was changed", old, gone)
		}
	}
	for _, j := range list { // nothing was moved yet
		if err := x.sys.Remove(filepath.Join(j.dir, journalName)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// prepare makes and verifies the new files, and writes the journals. made gets the backup folders that
// were not there.
func (x *run) prepare(ctx context.Context, written []*root, made *[]string) ([]*journal, error) {
	if err := x.openRoots(); err != nil {
		return nil, err
	}
	for _, r := range written {
		dir := x.backup(r)
		if same, err := sameDevice(filepath.Dir(dir), r.host); err != nil {
			return nil, err
		} else if !same {
			return nil, refused("%s is the root of a file system, so that no backup can be made beside it: repair into a new directory with --out; nothing was changed", r.Path)
		}
		if there, err := exists(dir); err != nil {
			return nil, err
		} else if !there {
			if err := x.sys.Mkdir(dir); err != nil {
				return nil, err
			}
			*made = append(*made, dir)
		}
		if err := makeParents(x.sys, filepath.Join(dir, newFolder, "x")); err != nil {
			return nil, err
		}
		x.done.Backups = append(x.done.Backups, dir)
	}
	if err := x.makeFiles(ctx); err != nil {
		return nil, err
	}
	if err := x.stillListed(); err != nil {
		return nil, err
	}
	if err := x.verify(ctx); err != nil {
		return nil, err
	}
	for _, d := range x.l.drops {
		t := d.told()
		t.Kept = path.Join(oldFolder, d.file)
		x.done.Dropped = append(x.done.Dropped, t)
	}
	for _, r := range written {
		dir := x.backup(r)
		b, err := json.MarshalIndent(&x.done, "", "  ")
		if err != nil {
			return nil, err
		}
		at := filepath.Join(dir, reportName)
		if there, err := exists(at); err != nil {
			return nil, err
		} else if there {
			if err := x.sys.Remove(at); err != nil {
				return nil, err
			}
		}
		if err := writeFile(x.sys, at, append(b, '\n')); err != nil {
			return nil, err
		}
		if err := syncTree(x.sys, dir); err != nil {
			return nil, err
		}
		if err := x.sys.SyncDir(filepath.Dir(dir)); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []*journal
	for _, r := range written {
		list = append(list, x.journalOf(r, x.done.Backups))
	}
	for _, j := range list {
		if err := j.write(x.sys, stateMove); err != nil {
			return nil, err // without the last one nothing is ever moved
		}
	}
	return list, nil
}

// journalOf lists what is to be moved in a root.
func (x *run) journalOf(r *root, all []string) *journal {
	j := &journal{dir: x.backup(r), Type: "repair-journal", Version: repair.DoneVersion, Plan: x.l.plan.ID, Root: r.host, Partition: r.Partition, All: all}
	moves := map[string]*move{}
	at := func(file string) *move {
		if moves[file] == nil {
			moves[file] = &move{File: file}
		}
		return moves[file]
	}
	kept := map[string]bool{}
	folders := map[string]bool{}
	for _, t := range x.l.files {
		if t.root != r {
			continue
		}
		for dir := parent(t.file); dir != "."; dir = parent(dir) {
			folders[dir] = true
		}
		if x.stays(t) {
			kept[t.file] = true
			j.Stays = append(j.Stays, stay{t.file, r.inputs[t.file].Size, r.inputs[t.file].SHA256, r.infos[t.file].ModTime()})
			continue
		}
		m := at(t.file)
		m.New, m.Size, m.SHA256 = true, t.size, t.sum
	}
	for name, in := range r.inputs {
		if !kept[name] {
			m := at(name)
			m.Old, m.OldSize, m.OldSHA256 = true, in.Size, in.SHA256
		}
	}
	for _, name := range slices.Sorted(maps.Keys(moves)) {
		j.Moves = append(j.Moves, *moves[name])
	}
	was := map[string]bool{}
	for _, dir := range r.folders {
		was[dir] = true
		if x.l.removes(r, dir) && !folders[dir] {
			j.Removed = append(j.Removed, dir)
		} else {
			j.Folders = append(j.Folders, dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if !was[dir] {
			j.Made = append(j.Made, dir)
		}
	}
	return j
}

// finishMoves moves what the journals say, from wherever an earlier run was stopped, if look has
// nothing against it. began: something may have been moved.
func (x *run) finishMoves(ctx context.Context, list []*journal, look func() error) (began bool, err error) {
	err = withLocks(x.sys, list, func() error {
		if err := cmp.Or(look(), ctx.Err()); err != nil {
			return err
		}
		began = true
		for _, j := range list {
			if err := j.forward(x.sys); err != nil {
				return err
			}
		}
		for _, j := range list {
			if err := j.write(x.sys, stateDone); err != nil {
				return err
			}
		}
		return nil
	})
	if _, ok := errors.AsType[*Refused](err); ok || err == nil || !began {
		return began, err
	}
	return began, halfwayOf(err, list)
}

// withLocks holds the locks of the log directories meanwhile, so that no broker starts in the
// middle.
func withLocks(sys system, list []*journal, f func() error) error {
	var held []string
	for _, j := range list {
		at := filepath.Join(logDirOf(j.Root, j.Partition), lockName)
		if there, err := exists(at); err != nil {
			return err
		} else if !there || slices.Contains(held, at) {
			continue
		}
		release, err := sys.Lock(at)
		if err != nil {
			return err
		}
		held = append(held, at)
		defer release()
	}
	return f()
}
