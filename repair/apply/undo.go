package apply

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Undone is what Undo did.
type Undone struct {
	Plan  string   // id
	Roots []string // that are again what they were
	Files int      // originals that are back
	Taken int      // files that the repair had added, and that are gone
}

// Undo reverses an in-place repair, in all roots of the run. path is a backup folder, its
// journal, or the directory that was repaired. A run that was stopped half-way is reversed
// from where it stands; so is an Undo that was stopped.
//
// It refuses if a broker runs, or if anything is not what the repair left: what a broker wrote
// would be gone; or if an original is missing or another one. Then nothing is changed.
func Undo(ctx context.Context, path string) (*Undone, error) { return undo(ctx, disk{}, path) }

const undoneMeanwhile = "another kafsck has undone the repair of %s meanwhile; nothing was changed"

func undo(ctx context.Context, sys system, path string) (*Undone, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	first, list, err := readJournals(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused(undoneMeanwhile, path)
	} else if err != nil {
		return nil, err
	}
	var dirs []string
	for _, j := range list {
		dirs = append(dirs, logDirOf(j.Root, j.Partition))
	}
	release, err := holdDirs(dirs)
	if err != nil {
		return nil, err
	}
	defer release()
	// Another run may have ended before this one had the directories for itself.
	if first, list, err = readJournals(first.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, refused(undoneMeanwhile, path)
	} else if err != nil {
		return nil, err
	}
	done := &Undone{Plan: first.Plan}
	began := false
	err = withLocks(sys, list, func() error {
		if err := cmp.Or(unchanged(ctx, list, goBack), ctx.Err()); err != nil {
			return err
		}
		began = true
		for _, j := range list {
			done.Roots = append(done.Roots, j.Root)
			if err := done.count(j); err != nil {
				return err
			}
			if j.State != stateUndo && j.State != stateGone {
				if err := j.write(sys, stateUndo); err != nil {
					return err
				}
			}
		}
		for _, j := range list {
			if j.State != stateGone {
				if err := j.backward(sys); err != nil {
					return err
				}
			}
		}
		for _, j := range list {
			if j.State != stateGone {
				if err := j.write(sys, stateGone); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		if _, ok := errors.AsType[*Refused](err); ok || !began && !slices.ContainsFunc(list, func(j *journal) bool { return j.State != stateDone }) {
			return nil, err
		}
		return nil, &undoHalfway{err, first.dir}
	}
	for _, j := range list {
		if err := j.removeBackup(sys); err != nil {
			return nil, &undoHalfway{err, j.dir}
		}
	}
	return done, nil
}

// count adds what the undo of a root puts back and takes out; of an undo that was stopped all that
// it had to.
func (u *Undone) count(j *journal) error {
	for i := range j.Moves {
		m := &j.Moves[i]
		aside, err := exists(j.aside(oldFolder, m.File))
		if err != nil {
			return err
		}
		waits, err := exists(j.aside(newFolder, m.File))
		if err != nil {
			return err
		}
		begun := j.State == stateUndo || j.State == stateGone
		switch {
		case m.Old && (aside || begun):
			u.Files++
		case !m.Old && (!waits || begun):
			u.Taken++
		}
	}
	return nil
}

// readJournals reads those of the run that a path means. It refuses if they were moved, so that what
// they say is of other folders, or if one of those whose files were moved is missing.
func readJournals(path string) (first *journal, list []*journal, err error) {
	if first, err = findJournal(path); err != nil {
		return nil, nil, err
	}
	here, err := os.Stat(first.dir)
	if err != nil {
		return nil, nil, err
	}
	found, gone := false, ""
	for _, dir := range first.All {
		if info, err := os.Stat(dir); err == nil && os.SameFile(here, info) {
			found = true
		}
		j, err := readJournal(dir)
		if errors.Is(err, fs.ErrNotExist) {
			gone = dir // nothing was moved yet in any root, or the undo of this one is over
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if j.Plan != first.Plan {
			return nil, nil, refused("%s and %s are of different plans; nothing was changed", first.dir, dir)
		}
		list = append(list, j)
	}
	if !found {
		return nil, nil, refused("%s was moved or copied: what its journal says is of %s, with the originals in %s. Put both back there, then undo; nothing was changed", first.dir, first.Root, strings.Join(first.All, ", "))
	}
	if gone == "" {
		return first, list, nil
	}
	for _, j := range list {
		old, err := exists(filepath.Join(j.dir, oldFolder))
		if err != nil {
			return nil, nil, err
		}
		if j.State == stateDone || j.State != stateGone && old {
			return nil, nil, refused("the repair was of several directories, and the folder with the originals of one of them is missing: %s. Put it back where it was, then undo; nothing was changed", gone)
		}
	}
	return first, list, nil
}

type undoHalfway struct {
	err error
	dir string
}

func (u *undoHalfway) Error() string { return u.err.Error() + "; " + u.Left() }

// Left says what is left where a signal ended the run.
func (u *undoHalfway) Left() string {
	return "the undo was stopped half-way, do not start the broker: kafsck repair undo " + u.dir + " goes on"
}

func (u *undoHalfway) Unwrap() error { return u.err }

// findJournal finds the journal that a path of the user means.
func findJournal(path string) (*journal, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	if filepath.Base(abs) == journalName {
		return readJournal(filepath.Dir(abs))
	}
	j, err := readJournal(abs)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return j, err
	}
	var found []string
	stopped := "" // before anything was moved
	for _, prefix := range []string{abs, filepath.Dir(abs) + "." + filepath.Base(abs)} {
		entries, err := os.ReadDir(filepath.Dir(prefix))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			dir := filepath.Join(filepath.Dir(prefix), e.Name())
			id, ok := strings.CutPrefix(e.Name(), filepath.Base(prefix)+".kafsck-")
			if !ok || !e.IsDir() || !goodID(id) {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, journalName)); err != nil {
				stopped = dir
			} else if !slices.Contains(found, dir) {
				found = append(found, dir)
			}
		}
	}
	switch len(found) {
	case 0:
		if stopped != "" {
			return nil, refused("%s was not repaired in place: %s has no %s, as a run leaves it that was stopped before it moved anything. There is nothing to go back to: the same repair apply begins anew, or remove that folder; nothing was changed", path, stopped, journalName)
		}
		return nil, refused("%s was not repaired in place: there is no journal in it and none beside it (DIR.kafsck-ID/%s)", path, journalName)
	case 1:
		return readJournal(found[0])
	}
	return nil, refused("%s was repaired in place more than once: name the one to undo, the last one first: %s", path, strings.Join(found, ", "))
}

// backward puts the originals back.
func (j *journal) backward(sys system) error {
	for i := range j.Moves {
		m := &j.Moves[i]
		if !m.New {
			continue
		}
		at, fresh := j.inRoot(m.File), j.aside(newFolder, m.File)
		waits, err := exists(fresh)
		if err != nil {
			return err
		}
		if waits {
			continue
		}
		if err := sys.Rename(at, fresh); err != nil {
			return err
		}
	}
	if err := j.syncFolders(sys); err != nil {
		return err
	}
	for _, dir := range slices.Backward(j.Made) {
		if err := removeEmpty(sys, j.inRoot(dir)); err != nil {
			return err
		}
	}
	for _, dir := range j.Removed {
		at := j.inRoot(dir)
		if there, err := exists(at); err != nil {
			return err
		} else if there {
			continue
		}
		if err := makeParents(sys, filepath.Join(at, "x")); err != nil {
			return err
		}
		if info, err := os.Lstat(j.aside(oldFolder, dir)); err == nil {
			if err := sys.Dress(at, info); err != nil {
				return err
			}
		}
	}
	for i := range j.Moves {
		m := &j.Moves[i]
		at, old := j.inRoot(m.File), j.aside(oldFolder, m.File)
		aside, err := exists(old)
		if err != nil {
			return err
		}
		if !aside {
			continue
		}
		if taken, err := exists(at); err != nil {
			return err
		} else if taken {
			return refused("%s is there: something else writes here", at)
		}
		if err := sys.Rename(old, at); err != nil {
			return err
		}
	}
	return j.syncFolders(sys)
}

// removeBackup removes the backup folder, which holds only what the repair had made, the
// journal last.
func (j *journal) removeBackup(sys system) error {
	for _, name := range []string{newFolder, reportName, journalName + ".tmp"} {
		if err := removeAll(sys, filepath.Join(j.dir, name)); err != nil {
			return err
		}
	}
	if err := removeEmptyTree(sys, filepath.Join(j.dir, oldFolder)); err != nil {
		return err
	}
	if err := sys.Remove(filepath.Join(j.dir, journalName)); err != nil {
		return err
	}
	if err := sys.Remove(j.dir); err != nil {
		return err
	}
	return sys.SyncDir(filepath.Dir(j.dir))
}

// removeEmptyTree removes folders; a file in one is an error.
func removeEmptyTree(sys system, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return &fs.PathError{Op: "remove", Path: filepath.Join(dir, e.Name()), Err: errors.New("an original was not put back")}
		}
		if err := removeEmptyTree(sys, filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return sys.Remove(dir)
}
