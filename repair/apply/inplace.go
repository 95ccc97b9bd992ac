package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
//	stage    new/ in the backup folders; verified as the tree that it would become
//	journal  one a root, flushed; nothing is moved before the last one is there
//	move     originals to old/, flushed; then new files to their places, flushed
//	done     the journals say so
//
// A run that is killed before the last journal is there has changed nothing and begins anew;
// killed later it is finished by the same command, or reversed by Undo.
func (x *run) runInPlace(ctx context.Context) (*Done, error) {
	var written []*root
	for _, r := range x.l.roots {
		if !r.written {
			continue
		}
		host, err := filepath.Abs(r.Path)
		if err == nil {
			host, err = filepath.EvalSymlinks(host)
		}
		if err != nil {
			return nil, err
		}
		r.host = host
		written = append(written, r)
	}
	journals, err := x.journals(written)
	if err != nil {
		return nil, err
	}
	if journals != nil {
		if err := x.finishMoves(journals); err != nil {
			return nil, err
		}
		for _, j := range journals {
			x.done.Backups = append(x.done.Backups, j.dir)
		}
		x.note("an earlier run had been stopped half-way: it was finished. Check the result before you start the broker")
		return &x.done, nil
	}
	journals, err = x.prepare(ctx, written)
	if err != nil {
		if _, ok := errors.AsType[*halfway](err); ok {
			return nil, err
		}
		for _, r := range written {
			if removeErr := removeAll(x.sys, x.backup(r)); removeErr != nil {
				err = fmt.Errorf("%w (and %s could not be removed: %v)", err, x.backup(r), removeErr)
			}
		}
		return nil, err
	}
	if err := x.finishMoves(journals); err != nil {
		return nil, err
	}
	return &x.done, nil
}

// halfway is a failure after the journals were written.
type halfway struct {
	err     error
	backups []string
}

func (h *halfway) Error() string {
	return fmt.Sprintf("%v; stopped half-way, do not start the broker: the same command goes on, and kafsck repair undo %s goes back", h.err, h.backups[0])
}

func (h *halfway) Unwrap() error { return h.err }

// journals reads those of a run that was stopped. nil: none was, or it was stopped before it
// moved anything.
func (x *run) journals(written []*root) ([]*journal, error) {
	var list []*journal
	for _, r := range written {
		j, err := readJournal(x.backup(r))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case j.State == stateDone:
			return nil, refused("this plan was carried out on %s: the originals are in %s (kafsck repair undo goes back); nothing was changed", r.Path, j.dir)
		case j.State == stateUndo || j.State == stateGone:
			return nil, refused("this plan is being undone: finish that with kafsck repair undo %s; nothing was changed", j.dir)
		}
		list = append(list, j)
	}
	if len(list) == len(written) {
		return list, nil
	}
	for _, j := range list { // nothing was moved yet
		if err := x.sys.Remove(filepath.Join(j.dir, journalName)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// prepare makes and verifies the new files, and writes the journals.
func (x *run) prepare(ctx context.Context, written []*root) ([]*journal, error) {
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
		for _, d := range []string{dir, filepath.Join(dir, newFolder)} {
			if err := makeParents(x.sys, filepath.Join(d, "x")); err != nil {
				return nil, err
			}
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
			// Some may be there: without the last one nothing is ever moved.
			for _, j := range list {
				os.Remove(filepath.Join(j.dir, journalName))
			}
			return nil, err
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
			continue
		}
		m := at(t.file)
		m.New, m.Size, m.SHA256 = true, t.size, t.sum
	}
	for name := range r.inputs {
		if !kept[name] {
			at(name).Old = true
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
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if !was[dir] {
			j.Made = append(j.Made, dir)
		}
	}
	// What is in the folders that change, to tell later whether a broker has been there.
	touched := map[string][]string{}
	for i := range j.Moves {
		touched[parent(j.Moves[i].File)] = []string{}
	}
	for _, t := range x.l.files {
		if names, ok := touched[parent(t.file)]; ok && t.root == r {
			touched[parent(t.file)] = append(names, path.Base(t.file))
		}
	}
	j.After = touched
	return j
}

// finishMoves moves what the journals say, from wherever an earlier run was stopped.
func (x *run) finishMoves(list []*journal) error {
	err := withLocks(x.sys, list, func() error {
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
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*Refused](err); ok {
		return r
	}
	h := &halfway{err: err}
	for _, j := range list {
		h.backups = append(h.backups, j.dir)
	}
	return h
}

// withLocks holds the locks of the log directories meanwhile, so that no broker starts in the
// middle.
func withLocks(sys system, list []*journal, f func() error) error {
	var held []string
	for _, j := range list {
		at := filepath.Join(j.Root, ".lock")
		if j.Partition {
			at = filepath.Join(filepath.Dir(j.Root), ".lock")
		}
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
