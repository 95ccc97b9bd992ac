package apply

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Undone is what Undo did.
type Undone struct {
	Plan  string   // id
	Roots []string // that are again what they were
	Files int      // that were put back
}

// Undo reverses an in-place repair, in all roots of the run. path is a backup folder, its
// journal, or the directory that was repaired. A run that was stopped half-way is reversed
// from where it stands; so is an Undo that was stopped.
//
// It refuses if a broker runs, or has written since: what it wrote would be gone.
func Undo(ctx context.Context, path string) (*Undone, error) { return undo(ctx, disk{}, path) }

func undo(ctx context.Context, sys system, path string) (*Undone, error) {
	first, err := findJournal(path)
	if err != nil {
		return nil, err
	}
	var list []*journal
	for _, dir := range first.All {
		j, err := readJournal(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing was moved yet in any root, or the undo of this one is over
		}
		if err != nil {
			return nil, err
		}
		if j.Plan != first.Plan {
			return nil, refused("%s and %s are of different plans; nothing was changed", first.dir, dir)
		}
		list = append(list, j)
	}
	done := &Undone{Plan: first.Plan}
	for _, j := range list {
		if err := j.unchanged(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = withLocks(sys, list, func() error {
		for _, j := range list {
			if j.State != stateUndo && j.State != stateGone {
				if err := j.write(sys, stateUndo); err != nil {
					return err
				}
			}
		}
		for _, j := range list {
			done.Roots = append(done.Roots, j.Root)
			if j.State == stateGone {
				continue
			}
			n, err := j.backward(sys)
			if err != nil {
				return err
			}
			done.Files += n
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
		if r, ok := errors.AsType[*Refused](err); ok {
			return nil, r
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

type undoHalfway struct {
	err error
	dir string
}

func (u *undoHalfway) Error() string {
	return u.err.Error() + "; the undo was stopped half-way, do not start the broker: kafsck repair undo " + u.dir + " goes on"
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
	for _, prefix := range []string{abs, filepath.Dir(abs) + "." + filepath.Base(abs)} {
		entries, err := os.ReadDir(filepath.Dir(prefix))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			dir := filepath.Join(filepath.Dir(prefix), e.Name())
			if strings.HasPrefix(e.Name(), filepath.Base(prefix)+".kafsck-") && e.IsDir() {
				if _, err := os.Stat(filepath.Join(dir, journalName)); err == nil && !slices.Contains(found, dir) {
					found = append(found, dir)
				}
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, refused("%s was not repaired in place: there is no journal in it and none beside it (DIR.kafsck-ID/%s)", path, journalName)
	case 1:
		return readJournal(found[0])
	}
	return nil, refused("%s was repaired in place more than once: name the one to undo, the last one first: %s", path, strings.Join(found, ", "))
}

// unchanged refuses if something has written since the repair.
func (j *journal) unchanged(ctx context.Context) error {
	if j.State == stateGone {
		return nil
	}
	for i := range j.Moves {
		m := &j.Moves[i]
		at := j.inRoot(m.File)
		old, err := exists(j.aside(oldFolder, m.File))
		if err != nil {
			return err
		}
		fresh, err := exists(j.aside(newFolder, m.File))
		if err != nil {
			return err
		}
		switch {
		case m.New && !fresh && j.State != stateUndo:
			same, err := sameFile(ctx, at, m.Size, m.SHA256)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if !same {
				return refused("%s was written since the repair (a broker ran?): an undo would lose that. The originals are in %s; nothing was changed", at, filepath.Join(j.dir, oldFolder))
			}
		case m.Old && old && (!m.New || fresh):
			if there, err := exists(at); err != nil {
				return err
			} else if there {
				return refused("%s is there again since the repair (a broker ran?): an undo would lose that. The originals are in %s; nothing was changed", at, filepath.Join(j.dir, oldFolder))
			}
		}
	}
	if j.State != stateDone {
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(j.After)) {
		at := j.Root
		if dir != "." {
			at = j.inRoot(dir)
		}
		entries, err := os.ReadDir(at)
		if errors.Is(err, fs.ErrNotExist) && len(j.After[dir]) == 0 {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() && !slices.Contains(j.After[dir], e.Name()) {
				return refused("%s came since the repair (a broker ran?): an undo would leave a mixture. The originals are in %s; nothing was changed", filepath.Join(at, e.Name()), filepath.Join(j.dir, oldFolder))
			}
		}
	}
	return nil
}

// backward puts the originals back.
func (j *journal) backward(sys system) (files int, err error) {
	for i := range j.Moves {
		m := &j.Moves[i]
		if !m.New {
			continue
		}
		at, fresh := j.inRoot(m.File), j.aside(newFolder, m.File)
		waits, err := exists(fresh)
		if err != nil {
			return 0, err
		}
		if waits {
			continue
		}
		if err := sys.Rename(at, fresh); err != nil {
			return 0, err
		}
	}
	if err := j.syncFolders(sys); err != nil {
		return 0, err
	}
	for _, dir := range slices.Backward(j.Made) {
		if err := removeEmpty(sys, j.inRoot(dir)); err != nil {
			return 0, err
		}
	}
	for _, dir := range j.Removed {
		at := j.inRoot(dir)
		if there, err := exists(at); err != nil {
			return 0, err
		} else if there {
			continue
		}
		if err := makeParents(sys, filepath.Join(at, "x")); err != nil {
			return 0, err
		}
		if info, err := os.Lstat(j.aside(oldFolder, dir)); err == nil {
			if err := sys.Dress(at, info); err != nil {
				return 0, err
			}
		}
	}
	for i := range j.Moves {
		m := &j.Moves[i]
		at, old := j.inRoot(m.File), j.aside(oldFolder, m.File)
		aside, err := exists(old)
		if err != nil {
			return 0, err
		}
		if !aside {
			continue
		}
		if taken, err := exists(at); err != nil {
			return 0, err
		} else if taken {
			return 0, refused("%s is there: something else writes here", at)
		}
		if err := sys.Rename(old, at); err != nil {
			return 0, err
		}
		files++
	}
	return files, j.syncFolders(sys)
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
