package apply

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"kafsck/internal/rofs"
	"kafsck/repair"
)

// layout is what the actions that are carried out make of the roots: every file of the
// result with where its bytes come from, and every byte of the inputs that is in none.
type layout struct {
	plan *repair.Plan
	todo []*repair.Action
	left []NotDone
	// cut are the actions that promises rest on and that were taken out of the plan.
	cut map[string]bool
	// overtaken are actions inside directories that others take out.
	overtaken []repair.Overtaken
	roots     []*root // one for each of Plan.Roots

	files []*target // of the result, by root and name
	drops []*drop
}

// root is a directory of the inputs.
type root struct {
	repair.Root
	index   int
	host    string // absolute path without symbolic links
	fsys    rofs.FS
	written bool // it has a twin in the result
	used    bool // written, or bytes are taken from it
	inputs  map[string]*repair.PlanInput
	folders []string // all below it
	infos   map[string]fs.FileInfo
	base    string // of a root that is a file: its name in the host path
}

// inside is the name below the host path of a file of the plan: those of a partition
// directory begin with its name. Of a root that is a file the host path is its folder.
func (r *root) inside(file string) string {
	if r.File {
		return r.base
	}
	if r.Partition {
		_, rest, _ := strings.Cut(file, "/")
		return cmp.Or(rest, ".")
	}
	return file
}

// target is a file of the result.
type target struct {
	root   *root
	file   string // slash path below the root
	from   string // the input that it is a copy of, "" for one that an edit makes
	edit   *repair.Edit
	action *repair.Action
	lines  []repair.OffsetLine // of an offset checkpoint
	size   int64               // of a copy or a composed file; else set once it is written
	sum    string              // SHA-256 in hexadecimal, likewise
}

// name is its slash path below OUT.
func (t *target) name() string { return path.Join(t.root.Name, t.file) }

// drop is a run of bytes of an input that no file of the result holds.
type drop struct {
	root     *root
	file     string
	from, to int64 // bytes [from, to)
	whole    bool  // all of the file
	action   *repair.Action
	said     *repair.Kept // of a keep edit
	sum      string
}

// kept is the slash path of the bytes below lost+found.
func (d *drop) kept() string {
	name := path.Join(d.root.Name, d.file)
	if d.whole {
		return name
	}
	return fmt.Sprintf("%s.%d-%d", name, d.from, d.to)
}

// choose sorts the actions into those that are carried out and the others.
func choose(p *repair.Plan) (todo []*repair.Action, left []NotDone, cut map[string]bool, err error) {
	done, out := map[string]bool{}, map[string]string{}
	for i := range p.Actions {
		a := &p.Actions[i]
		if a.ID == "" || done[a.ID] || out[a.ID] != "" {
			return nil, nil, nil, refused("the plan has two actions %q, or one without an id: nothing was written", a.ID)
		}
		if a.Confirm && !a.Confirmed {
			out[a.ID] = "it must be confirmed"
		} else {
			done[a.ID] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range p.Actions {
			a := &p.Actions[i]
			for _, id := range a.After {
				if done[a.ID] && !done[id] {
					done[a.ID], out[a.ID], again = false, "it needs "+id+", which is not done", true
				}
			}
		}
	}
	for i := range p.Actions {
		if a := &p.Actions[i]; done[a.ID] {
			todo = append(todo, a)
		} else {
			left = append(left, NotDone{ID: a.ID, Why: out[a.ID]})
		}
	}
	cut = map[string]bool{}
	for i := range p.Promises {
		for _, id := range p.Promises[i].Actions {
			if _, known := done[id]; !known && out[id] == "" && !cut[id] {
				cut[id] = true
				left = append(left, NotDone{ID: id, Why: "it was left out, or taken out of the plan: what it is about in " + p.Promises[i].Dir + " stays as it is"})
			}
		}
	}
	return todo, left, cut, nil
}

// nonsense is a plan that cannot be carried out as it stands.
func nonsense(format string, args ...any) error {
	return refused("the plan cannot be carried out: "+format+"; nothing was written", args...)
}

// newLayout makes sense of the plan without looking at any file.
func newLayout(p *repair.Plan) (*layout, error) {
	if p.Type != "repair-plan" || p.Version != repair.PlanVersion {
		return nil, nonsense("it is %q of version %d, and this kafsck carries out repair-plan of version %d", p.Type, p.Version, repair.PlanVersion)
	}
	if !goodID(p.ID) {
		return nil, nonsense("its id %q is not 16 hexadecimal digits", p.ID)
	}
	l := &layout{plan: p, overtaken: p.DropOvertaken()}
	if err := p.Validate(); err != nil {
		return nil, refused("%v; nothing was written", err)
	}
	var err error
	if l.todo, l.left, l.cut, err = choose(p); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range p.Roots {
		r := &root{Root: p.Roots[i], index: i, inputs: map[string]*repair.PlanInput{}}
		top, _, _ := strings.Cut(r.Name, "/")
		switch {
		case r.Source:
		case !fs.ValidPath(r.Name), top == lostFound || top == sumsName || top == reportName || top == gapsName:
			return nil, nonsense("%q is no name for a root of the result", r.Name)
		case names[r.Name]:
			return nil, nonsense("two roots are called %q", r.Name)
		}
		if !r.Source {
			for other := range names {
				if nested(other, r.Name) || nested(r.Name, other) {
					return nil, nonsense("the root %q would lie in the root %q", r.Name, other)
				}
			}
			names[r.Name] = true
		}
		l.roots = append(l.roots, r)
	}
	for i := range p.Inputs {
		in := &p.Inputs[i]
		r, err := l.root(in.Root)
		if err != nil {
			return nil, err
		}
		if !validFile(r, in.File) || in.Size < 0 || len(in.SHA256) != 64 {
			return nil, nonsense("the input %q of %s is no file with size and SHA-256", in.File, r.Path)
		}
		if r.inputs[in.File] != nil {
			return nil, nonsense("the input %s of %s is there twice", in.File, r.Path)
		}
		r.inputs[in.File] = in
	}
	return l, l.place()
}

func nested(outer, inner string) bool {
	return outer != "." && strings.HasPrefix(inner, outer+"/")
}

func goodID(id string) bool {
	return len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}

func validFile(r *root, name string) bool {
	return fs.ValidPath(name) && name != "." && (!r.Partition || strings.Contains(name, "/"))
}

func (l *layout) root(i int) (*root, error) {
	if i < 0 || i >= len(l.roots) {
		return nil, nonsense("it speaks of root %d of %d", i, len(l.roots))
	}
	return l.roots[i], nil
}

// place puts every file of the result in its place.
func (l *layout) place() error {
	for _, a := range l.todo {
		r, err := l.root(a.Root)
		if err != nil {
			return err
		}
		if r.Source {
			return nonsense("action %s would change %s, from which bytes are only taken", a.ID, r.Path)
		}
		for i := range a.Edits {
			e := &a.Edits[i]
			if e.Op == repair.Keep {
				if err := l.keep(a, e); err != nil {
					return err
				}
				continue
			}
			r.written, r.used = true, true
			if !validFile(r, e.File) || e.Op == repair.Rename && !validFile(r, e.To) {
				return nonsense("action %s names the file %q", a.ID, e.File)
			}
		}
	}
	files := make([]map[string]*target, len(l.roots))
	for i, r := range l.roots {
		if !r.written {
			continue
		}
		files[i] = map[string]*target{}
		for name, in := range r.inputs {
			files[i][name] = &target{root: r, file: name, from: name, size: in.Size, sum: in.SHA256}
		}
	}
	// Names become free before they are taken.
	for _, ops := range [][]repair.Op{{repair.Remove}, {repair.Rename}, {repair.Compose, repair.Write, repair.Rebuild, repair.Line}} {
		var made []*target
		for _, a := range l.todo {
			for i := range a.Edits {
				e := &a.Edits[i]
				if !slices.Contains(ops, e.Op) {
					continue
				}
				t, err := l.edit(files[a.Root], l.roots[a.Root], a, e)
				if err != nil {
					return err
				}
				if t != nil {
					made = append(made, t)
				}
			}
		}
		for _, t := range made {
			old := files[t.root.index][t.file]
			if old != nil && old.edit != nil && old != t && old.edit.Op == repair.Write && t.edit != nil && t.edit.Op == repair.Write && *old.edit.Text == *t.edit.Text {
				continue // two actions that write the same
			}
			if old != nil && old.action != nil && old != t {
				return nonsense("the actions %s and %s both make %s", old.action.ID, t.action.ID, t.file)
			}
			files[t.root.index][t.file] = t
		}
	}
	for i := range files {
		for name, t := range files[i] {
			for dir := parent(name); dir != "."; dir = parent(dir) {
				if files[i][dir] != nil {
					return nonsense("%s would be a file and a folder", dir)
				}
			}
			l.files = append(l.files, t)
		}
	}
	slices.SortFunc(l.files, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.root.index, b.root.index), cmp.Compare(a.file, b.file))
	})
	l.findDrops(files)
	return l.promised()
}

func parent(name string) string { return path.Dir(name) }

// keep has the bytes of an input that an edit names go to lost+found.
func (l *layout) keep(a *repair.Action, e *repair.Edit) error {
	if len(e.Pieces) != 1 || e.Kept == nil {
		return nonsense("action %s keeps no bytes as %q", a.ID, e.File)
	}
	p := e.Pieces[0]
	from, err := l.root(p.Root)
	if err != nil {
		return err
	}
	in := from.inputs[p.File]
	if in == nil || !from.Source || p.Position < 0 || p.Length <= 0 || p.Position > in.Size-p.Length {
		return nonsense("action %s keeps bytes %d to %d of %s, which is no input of a source, or is not as long", a.ID, p.Position, p.Position+p.Length, p.File)
	}
	from.used = true
	l.drops = append(l.drops, &drop{root: from, file: p.File, from: p.Position, to: p.Position + p.Length, whole: p.Length == in.Size, action: a, said: e.Kept})
	return nil
}

// copyOf is the input of which a file of a new root is a copy: an edit composes it of that one alone,
// whole. nil: of none.
func (l *layout) copyOf(t *target) *repair.PlanInput {
	if t.edit == nil || t.edit.Op != repair.Compose || len(t.edit.Pieces) != 1 || !t.root.New {
		return nil
	}
	p := t.edit.Pieces[0]
	if in := l.roots[p.Root].inputs[p.File]; p.Position == 0 && in != nil && p.Length == in.Size {
		return in
	}
	return nil
}

// edit takes away what one edit takes away, and returns what it makes.
func (l *layout) edit(files map[string]*target, r *root, a *repair.Action, e *repair.Edit) (*target, error) {
	made := &target{root: r, file: e.File, edit: e, action: a, size: -1}
	switch e.Op {
	case repair.Remove:
		for name := range files {
			if name == e.File || strings.HasPrefix(name, e.File+"/") {
				delete(files, name)
			}
		}
		if !l.anyAt(r, e.File) {
			return nil, nonsense("action %s removes %s, which is not there", a.ID, e.File)
		}
		return nil, nil
	case repair.Rename:
		in := r.inputs[e.File]
		if in == nil || files[e.File] == nil {
			return nil, nonsense("action %s renames %s, which is not there", a.ID, e.File)
		}
		delete(files, e.File)
		made.file, made.from, made.size, made.sum = e.To, e.File, in.Size, in.SHA256
	case repair.Write:
		if e.Text == nil {
			return nil, nonsense("action %s writes %s without a text", a.ID, e.File)
		}
	case repair.Line:
		if e.Line == nil {
			return nil, nonsense("action %s sets no line of %s", a.ID, e.File)
		}
		// Lines of one file are one file.
		if t := files[e.File]; t != nil && len(t.lines) > 0 {
			if !slices.ContainsFunc(t.lines, func(o repair.OffsetLine) bool {
				return o.Topic == e.Line.Topic && o.Partition == e.Line.Partition
			}) { // else it is the same value: Validate
				t.lines = append(t.lines, *e.Line)
			}
			return nil, nil
		}
		made.lines = []repair.OffsetLine{*e.Line}
		files[e.File] = made
	case repair.Compose:
		made.size = 0
		for _, p := range e.Pieces {
			from, err := l.root(p.Root)
			if err != nil {
				return nil, err
			}
			in := from.inputs[p.File]
			if in == nil || p.Position < 0 || p.Length <= 0 || p.Position > in.Size-p.Length {
				return nil, nonsense("action %s takes bytes %d to %d of %s, which is no input or is not as long", a.ID, p.Position, p.Position+p.Length, p.File)
			}
			from.used = true
			made.size += p.Length
		}
	case repair.Rebuild:
		if _, ok := rebuilder(e); !ok {
			return nil, nonsense("action %s rebuilds %s, which is no index and no snapshot with logs to be built from", a.ID, e.File)
		}
	default:
		return nil, nonsense("action %s has an edit %q", a.ID, e.Op)
	}
	return made, nil
}

// anyAt reports whether there is an input at or below a path.
func (l *layout) anyAt(r *root, file string) bool {
	for name := range r.inputs {
		if name == file || strings.HasPrefix(name, file+"/") {
			return true
		}
	}
	return false
}

// findDrops finds the bytes of the inputs that are in no file of the result.
func (l *layout) findDrops(files []map[string]*target) {
	type span struct{ from, to int64 }
	taken := map[*root]map[string][]span{}
	for _, t := range l.files {
		if taken[t.root] == nil {
			taken[t.root] = map[string][]span{}
		}
		if t.from != "" {
			taken[t.root][t.from] = append(taken[t.root][t.from], span{0, t.size})
		}
		if t.edit == nil || t.edit.Op != repair.Compose {
			continue
		}
		for _, p := range t.edit.Pieces {
			if p.Root == t.root.index {
				taken[t.root][p.File] = append(taken[t.root][p.File], span{p.Position, p.Position + p.Length})
			}
		}
	}
	for _, r := range l.roots {
		if !r.written {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.inputs)) {
			in := r.inputs[name]
			held := taken[r][name]
			slices.SortFunc(held, func(a, b span) int { return cmp.Compare(a.from, b.from) })
			by := l.droppedBy(files[r.index], r, name)
			at := int64(0)
			lose := func(to int64) {
				if to > at {
					l.drops = append(l.drops, &drop{root: r, file: name, from: at, to: to, whole: to-at == in.Size, action: by})
				}
			}
			for _, s := range held {
				lose(s.from)
				at = max(at, s.to)
			}
			lose(in.Size)
			if in.Size == 0 && len(held) == 0 { // its name goes, and nothing else
				l.drops = append(l.drops, &drop{root: r, file: name, whole: true, action: by})
			}
		}
	}
}

// droppedBy is the action that takes an input away.
func (l *layout) droppedBy(files map[string]*target, r *root, name string) *repair.Action {
	if t := files[name]; t != nil && t.action != nil {
		return t.action
	}
	for _, a := range l.todo {
		for i := range a.Edits {
			e := &a.Edits[i]
			if l.roots[a.Root] == r && (e.File == name || e.To == name || e.Op == repair.Remove && strings.HasPrefix(name, e.File+"/")) {
				return a
			}
		}
	}
	return nil
}
