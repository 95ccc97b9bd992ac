package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// A run has what it writes for itself, from before it looks until it ends:
//
//	into a new directory   the stage .OUT.kafsck-ID
//	in place, undo         the log directory of each root
//
// The system gives the locks back when the process ends, however it ends, so that another run
// can go on.

// errNoLocks is what holdFolder says where folders cannot be locked.
var errNoLocks = errors.New("folders cannot be locked here")

// holdDirs keeps other runs out of all of some folders, or of none.
func holdDirs(dirs []string) (release func(), err error) {
	var held []func()
	release = func() {
		for _, f := range held {
			f()
		}
	}
	dirs = slices.Clone(dirs)
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		one, busy, err := holdFolder(dir)
		switch {
		case busy:
			err = refused("another kafsck is at work in %s: wait for it, or stop it; nothing was changed", dir)
		case errors.Is(err, errNoLocks):
			err = refused("%v, so that another kafsck could not be kept out of an in-place change: repair into a new directory with --out; nothing was changed", err)
		case errors.Is(err, fs.ErrNotExist):
			err = refused("%s is not there; nothing was changed", dir)
		}
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, one)
	}
	return release, nil
}

// logDirOf is the folder that is held for a root: of a partition directory the log directory
// around it, which may be a root of another plan.
func logDirOf(root string, partition bool) string {
	if partition {
		return filepath.Dir(root)
	}
	return root
}

// holdStage makes the stage, or takes the one that a run that was stopped left, and keeps other
// runs out of it. found: it was there.
func (x *run) holdStage(out string, keepOut []string) (release func(), found bool, err error) {
	for range 100 { // each time another run ended, or began, between two looks
		if err := MayCreate(out, keepOut); err != nil {
			return nil, false, err
		}
		there, err := exists(x.stage)
		if err != nil {
			return nil, false, err
		}
		if !there {
			if x.opt.Resume {
				if err := x.nothingElse(out); err != nil {
					return nil, false, err
				}
			}
			if err := x.sys.Mkdir(x.stage); errors.Is(err, fs.ErrExist) {
				continue
			} else if err != nil {
				return nil, false, err
			}
		}
		release, busy, err := holdFolder(x.stage)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case busy:
			return nil, false, refused("another kafsck is at work in %s: wait for it, or stop it; nothing was written", x.stage)
		case errors.Is(err, errNoLocks):
			if there && x.opt.Resume {
				x.note("%v: see to it that no other kafsck works on the same --out", err)
			}
			release = func() {}
		case err != nil:
			return nil, false, err
		}
		if there && !x.opt.Resume {
			release()
			return nil, false, refused("a run that was stopped left %s: --resume goes on with it, or remove it first; nothing was written", x.stage)
		}
		// The run that had the stage may have ended with OUT before this one made its own.
		if ended, err := exists(out); err == nil && ended && !there {
			err := x.sys.Remove(x.stage)
			release()
			return nil, false, errors.Join(refused("%s exists; nothing was written", x.opt.Out), err)
		}
		return release, there, nil
	}
	return nil, false, fmt.Errorf("%s comes and goes: other runs work on the same --out", x.stage)
}
