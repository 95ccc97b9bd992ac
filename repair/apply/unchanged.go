package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// What unchanged is asked for.
const (
	goBack = "an undo would lose what was written, or leave a mixture"
	goOn   = "going on would leave a mixture"
)

// unchanged refuses if an original is not where the journals say, or if something has written to
// the directories since the repair: a broker that ran. Nothing may be moved before it was asked.
//
//	moved, or to be     by size and SHA-256, originals and new files
//	left as it was      by size and time; by SHA-256 where the time is another
//	whatever else       has come since
func unchanged(ctx context.Context, list []*journal, what string) error {
	for _, j := range list {
		if j.State == stateGone { // all is back, and a broker may run on it
			continue
		}
		d := &differences{j: j, what: what}
		if err := d.moves(ctx); err != nil {
			return err
		}
		if err := d.rest(ctx); err != nil {
			return err
		}
		if len(d.lost) > 0 {
			return refused("%s has not all that the repair moved there: %s. Put that back, from another copy of the directory if you have one; nothing was changed", filepath.Join(j.dir, oldFolder), some(d.lost))
		}
		if len(d.since) > 0 {
			return refused("%s is not what the repair left (a broker ran?): %s. So %s. The originals are in %s; nothing was changed", j.Root, some(d.since), what, filepath.Join(j.dir, oldFolder))
		}
	}
	return nil
}

// some is a list of at most five.
func some(list []string) string {
	const most = 5
	if n := len(list) - most; n > 0 {
		return strings.Join(list[:most], "; ") + fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(list, "; ")
}

// differences are those between a root with its backup folder, and a journal.
type differences struct {
	j     *journal
	what  string   // goBack, goOn
	lost  []string // originals
	since []string // written since
}

// moves looks at the files that the repair moves. See journal for where they may be.
func (d *differences) moves(ctx context.Context) error {
	j := d.j
	for i := range j.Moves {
		m := &j.Moves[i]
		at, old := j.inRoot(m.File), j.aside(oldFolder, m.File)
		var there, aside, waits bool
		for _, x := range []struct {
			path string
			is   *bool
		}{{at, &there}, {old, &aside}, {j.aside(newFolder, m.File), &waits}} {
			var err error
			if *x.is, err = exists(x.path); err != nil {
				return err
			}
		}
		if m.Old && aside {
			if err := d.hold(ctx, &d.lost, m.File, old, m.OldSize, m.OldSHA256); err != nil {
				return err
			}
		}
		var err error
		switch {
		case m.Old && !aside && (!there || m.New && !waits):
			d.lost = append(d.lost, m.File+" is not there")
		case m.Old && !aside && j.State == stateDone:
			err = d.hold(ctx, &d.lost, m.File, at, m.OldSize, m.OldSHA256)
		case m.Old && !aside: // it was not moved yet, or is back
			err = d.hold(ctx, &d.since, m.File, at, m.OldSize, m.OldSHA256)
		case m.New && !waits && !there:
			d.since = append(d.since, m.File+" is gone")
		case m.New && !waits:
			err = d.hold(ctx, &d.since, m.File, at, m.Size, m.SHA256)
		case there:
			d.since = append(d.since, m.File+" came")
		}
		if err == nil && m.New && waits && d.what == goOn {
			err = d.hold(ctx, &d.since, path.Join(filepath.Base(j.dir), newFolder, m.File), j.aside(newFolder, m.File), m.Size, m.SHA256)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hold adds to a list how a file is not one of that size and SHA-256.
func (d *differences) hold(ctx context.Context, list *[]string, name, file string, size int64, sum string) error {
	wrong, err := differs(ctx, file, size, sum)
	if wrong != "" {
		*list = append(*list, name+" "+wrong)
	}
	return err
}

// differs says how a file is not one of that size and SHA-256, "" it is.
func differs(ctx context.Context, file string, size int64, sum string) (string, error) {
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "is no file", nil
	case info.Size() != size:
		return fmt.Sprintf("has %d bytes, it had %d", info.Size(), size), nil
	}
	got, err := sumOf(ctx, file)
	if err != nil || got == sum {
		return "", err
	}
	return "has other bytes", nil
}

// rest looks at all else that is in the root.
func (d *differences) rest(ctx context.Context) error {
	j := d.j
	moves, stays := map[string]bool{}, map[string]*stay{}
	for i := range j.Moves {
		moves[j.Moves[i].File] = true
	}
	for i := range j.Stays {
		stays[j.Stays[i].File] = &j.Stays[i]
	}
	folders := map[string]bool{} // whether it must be there
	for _, list := range [][]string{j.Removed, j.Made} {
		for _, dir := range list {
			folders[dir] = false
		}
	}
	for _, dir := range j.Folders {
		folders[dir] = true
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(j.Root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, err := filepath.Rel(j.Root, p)
		if err != nil {
			return err
		}
		name := path.Join(j.prefix(), filepath.ToSlash(rel))
		switch {
		case p == j.Root && !e.IsDir():
			d.since = append(d.since, "it is no folder any more")
			return nil
		case e.IsDir():
			seen[name] = true
			if _, ok := folders[name]; !ok && p != j.Root {
				d.since = append(d.since, name+" came")
				return fs.SkipDir
			}
			return nil
		}
		s := stays[name]
		switch {
		case s == nil && !moves[name]:
			d.since = append(d.since, name+" came")
		case s != nil:
			seen[name] = true
			wrong, err := s.differs(ctx, p)
			if err != nil {
				return err
			}
			if wrong != "" {
				d.since = append(d.since, name+" "+wrong)
			}
		}
		return nil
	})
	if err != nil {
		if _, lookErr := os.Lstat(j.Root); !errors.Is(lookErr, fs.ErrNotExist) { // a partition directory may be what was removed
			return err
		}
	}
	gone := map[string]bool{}
	for _, dir := range j.Folders {
		if gone[dir] = !seen[dir]; gone[dir] && !gone[path.Dir(dir)] {
			d.since = append(d.since, dir+" is gone")
		}
	}
	for i := range j.Stays {
		if f := j.Stays[i].File; !seen[f] && !gone[path.Dir(f)] {
			d.since = append(d.since, f+" is gone")
		}
	}
	return nil
}

// differs says how a file is not what it was, "" it is. The file on which a broker holds a lock is
// never opened: to close it would give back the lock that this process holds.
func (s *stay) differs(ctx context.Context, file string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	same := info.ModTime().Equal(s.ModTime) || path.Base(s.File) == lockName
	if same && info.Mode().IsRegular() && info.Size() == s.Size {
		return "", nil
	}
	return differs(ctx, file, s.Size, s.SHA256)
}

// prefix is what the names of the plan have before those in the root: of a partition directory its
// name.
func (j *journal) prefix() string {
	if !j.Partition {
		return ""
	}
	for i := range j.Moves {
		first, _, _ := strings.Cut(j.Moves[i].File, "/")
		return first
	}
	for _, dir := range append(j.Removed, j.Folders...) {
		first, _, _ := strings.Cut(dir, "/")
		return first
	}
	return filepath.Base(j.Root)
}
