package apply

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/logdir"
	"kafsck/repair"
)

// touched are the partition directories of the inputs of which the actions change a file, or a line of
// a checkpoint, in a root that is written, each with the first such action.
func (l *layout) touched(r *root) map[string]*repair.Action {
	dirs := map[string]*repair.Action{}
	note := func(a *repair.Action, dir string) {
		if _, err := logdir.ParseDirName(dir); err == nil && dirs[dir] == nil && l.anyAt(r, dir) {
			dirs[dir] = a
		}
	}
	for _, a := range l.todo {
		if l.roots[a.Root] != r {
			continue
		}
		for i := range a.Edits {
			e := &a.Edits[i]
			switch e.Op {
			case repair.Keep:
			case repair.Line:
				if e.Line != nil {
					note(a, fmt.Sprintf("%s-%d", e.Line.Topic, e.Line.Partition))
				}
			default:
				for _, name := range []string{e.File, e.To} {
					dir, _, _ := strings.Cut(name, "/")
					note(a, dir)
				}
			}
		}
	}
	return dirs
}

// promised refuses a plan that changes a partition in any file, or in a line of a checkpoint, and
// promises nothing of it: nobody would look what a start makes of that one. A directory that goes as a
// whole has no promise: what it holds must be among the losses, see verifyGone. Nor has a log that a
// broker deletes or has set aside, whose files it does not load.
func (l *layout) promised() error {
	for _, r := range l.roots {
		if !r.written || r.New {
			continue
		}
		touched := l.touched(r)
		for _, g := range l.logs(r) {
			if g.changed() && touched[g.dir] == nil {
				touched[g.dir] = nil // a log in a folder that is no partition's
			}
		}
		for dir, a := range touched {
			d, err := logdir.ParseDirName(dir)
			stays := slices.ContainsFunc(l.files, func(t *target) bool { return t.root == r && nested(dir, t.file) })
			if !stays || err == nil && d.State != logdir.Live || slices.ContainsFunc(l.plan.Promises, func(p repair.Promise) bool { return p.Root == r.index && p.Dir == dir }) {
				continue
			}
			by := "it"
			if a != nil {
				by = "action " + a.ID
			}
			return nonsense("%s changes %s, and the plan promises nothing of it", by, path.Join(r.Name, dir))
		}
	}
	return nil
}
