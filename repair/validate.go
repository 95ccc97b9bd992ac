package repair

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kafsck/broker"
)

// Validate refuses a plan that cannot be carried out as it stands: paths outside of a root,
// pieces that no input has, two edits of one file, actions that need others. It looks at no file.
// The error is a *Malformed.
func (p *Plan) Validate() error {
	v := &validator{plan: p, files: map[place]*PlanInput{}, actions: map[string]*Action{}, kept: map[string]bool{}}
	for _, step := range []func() error{v.head, v.roots, v.inputs, v.all, v.needs, v.conflicts, v.rest} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// place is a file of a root.
type place struct {
	root int
	file string
}

type validator struct {
	plan    *Plan
	files   map[place]*PlanInput
	actions map[string]*Action
	kept    map[string]bool // names below lost+found
}

func (v *validator) head() error {
	p := v.plan
	switch {
	case p.Type != planType:
		return malformed("type", "%q is no %q", short(p.Type), planType)
	case p.Version != PlanVersion:
		return malformed("version", "%d, but this kafsck knows version %d", p.Version, PlanVersion)
	case len(p.ID) != 16 || !isHex(p.ID):
		return malformed("id", "%q: want 16 hexadecimal digits", short(p.ID))
	}
	if _, err := broker.ParseVersion(p.Kafka); err != nil {
		return malformed("kafka", "%q is no release of Kafka", short(p.Kafka))
	}
	return nil
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// reserved are names beside the roots in an output directory.
var reserved = []string{"lost+found", "repair.json", "gaps.json", "SHA256SUMS"}

func (v *validator) roots() error {
	roots := v.plan.Roots
	for i := range roots {
		r, at := &roots[i], fmt.Sprintf("root %d", i)
		switch {
		case r.New && (r.Path != "" || r.Source):
			return malformed(at, "a new root has no path, and is no source of bytes")
		case r.Path == "" && !r.New:
			return malformed(at, "no path")
		case r.File && (!r.Source || r.Partition || r.New):
			return malformed(at, "a file is a source of bytes, and nothing else")
		case r.Name == "." && r.Partition:
		case !relative(r.Name):
			return malformed(at, "name %q is no path below the output", r.Name)
		case slices.Contains(reserved, strings.Split(r.Name, "/")[0]):
			return malformed(at, "name %q belongs to kafsck", r.Name)
		}
		for j := range i {
			o := &roots[j]
			if o.Name == r.Name || !o.Source && !r.Source && (below(o.Name, r.Name) || below(r.Name, o.Name)) {
				return malformed(at, "name %q is that of root %d, or one lies inside the other", r.Name, j)
			}
		}
	}
	return nil
}

// relative reports whether a slash path names something below where it starts, on any system.
func relative(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\x00") &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > maxName })
}

// maxName is how many bytes the name of a file has at most, on the file systems that brokers use.
const maxName = 255

// below reports whether a path lies inside a directory.
func below(name, dir string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

func (v *validator) inputs() error {
	for i := range v.plan.Inputs {
		in, at := &v.plan.Inputs[i], fmt.Sprintf("input %d", i)
		switch {
		case in.Root < 0 || in.Root >= len(v.plan.Roots):
			return malformed(at, "there is no root %d", in.Root)
		case v.plan.Roots[in.Root].New:
			return malformed(at, "root %d is new, so that it has no inputs", in.Root)
		case !v.inside(in.Root, in.File):
			return malformed(at, "file %q is no path below root %d", in.File, in.Root)
		case in.Size < 0:
			return malformed(at, "size %d", in.Size)
		case len(in.SHA256) != 64 || !isHex(in.SHA256):
			return malformed(at, "sha256 %q: want 64 hexadecimal digits", in.SHA256)
		case v.files[place{in.Root, in.File}] != nil:
			return malformed(at, "file %q of root %d stands twice", in.File, in.Root)
		}
		v.files[place{in.Root, in.File}] = in
	}
	return nil
}

// inside reports whether a file can lie below a root. That of a partition directory holds only
// files of its one directory, and nothing below.
func (v *validator) inside(root int, file string) bool {
	return relative(file) && (!v.plan.Roots[root].Partition || strings.Count(file, "/") > 0) && (!v.plan.Roots[root].File || strings.Count(file, "/") == 0)
}

var kinds = []Kind{RewriteEpochs, RebuildIndex, RebuildTimeIndex, RebuildTxnIndex, RebuildSnapshot, CutTail, Truncate, Quarantine, TakeRange, SplitSegment, FixLine, RewriteOffsets,
	WritePartitionMeta, WriteMetaProperties, FinishCleaning, UndoCleaning, FinishRename, LowerRecovery, RemoveFile, MoveAside, SalvageLog, WriteDirectory}

func (v *validator) all() error {
	for i := range v.plan.Actions {
		a := &v.plan.Actions[i]
		at := "action " + a.ID
		if a.ID == "" {
			return malformed(fmt.Sprintf("action %d", i), "no id")
		}
		if v.actions[a.ID] != nil {
			return malformed(at, "the id stands twice")
		}
		v.actions[a.ID] = a
		switch {
		case slices.Contains(kinds, Kind(a.ID)):
			return malformed(at, "an id cannot be the name of a kind")
		case !slices.Contains(kinds, a.Kind):
			return malformed(at, "unknown kind %q", short(string(a.Kind)))
		case a.Root < 0 || a.Root >= len(v.plan.Roots):
			return malformed(at, "there is no root %d", a.Root)
		case v.plan.Roots[a.Root].Source:
			return malformed(at, "root %d is a source of bytes: nothing is written for it", a.Root)
		case a.Dir != "" && !relative(a.Dir):
			return malformed(at, "dir %q is no path below the root", a.Dir)
		case a.Does == "" || a.Why == "":
			return malformed(at, "it must say what it does, and why")
		case len(a.Edits) == 0:
			return malformed(at, "it has no edits")
		case a.Confirmed && !a.Confirm:
			return malformed(at, "confirmed, but there is nothing to confirm")
		case len(a.Loses) > 0 && !a.Confirm:
			return malformed(at, "it loses records, so it must be confirmed: confirm cannot be false")
		}
		for j, l := range a.Loses {
			if l.From < 0 || l.To <= l.From || l.Records != nil && (*l.Records < 0 || *l.Records > l.To-l.From) {
				return malformed(fmt.Sprintf("%s, loss %d", at, j), "no range of offsets: from %d to %d", l.From, l.To)
			}
		}
		for j := range a.Edits {
			e := &a.Edits[j]
			if why := v.edit(a, e); why != "" {
				return malformed(fmt.Sprintf("%s, edit %d, file %q", at, j, e.File), "%s", why)
			}
		}
	}
	return nil
}

// edit says what is wrong with an edit, "" nothing.
func (v *validator) edit(a *Action, e *Edit) string {
	if e.Op == Keep {
		return v.keep(e)
	}
	if e.Kept != nil {
		return "kept is for keep"
	}
	if !v.inside(a.Root, e.File) {
		return fmt.Sprintf("no path below root %d", a.Root)
	}
	has := func(op Op, fields ...bool) string {
		if e.Op == op && slices.Contains(fields, false) {
			return "a field that " + string(op) + " needs is missing, or there is one that it does not have"
		}
		return ""
	}
	bare := e.To == "" && e.Pieces == nil && e.Text == nil && e.Logs == nil && e.Snapshot == "" && e.Interval == 0 && e.Line == nil
	known := v.files[place{a.Root, e.File}] != nil
	switch e.Op {
	case Compose:
		if why := has(Compose, e.To == "", e.Text == nil, e.Logs == nil, e.Snapshot == "", e.Interval == 0, e.Line == nil); why != "" {
			return why
		}
		return v.pieces(e)
	case Write:
		if e.Text != nil && len(*e.Text) > maxFile {
			return "the text is too long"
		}
		return has(Write, e.Text != nil, e.To == "", e.Pieces == nil, e.Logs == nil, e.Snapshot == "", e.Interval == 0, e.Line == nil)
	case Rebuild:
		return v.rebuild(a, e)
	case Remove:
		if !bare {
			return "remove has no other field"
		}
		if !known && !v.anyBelow(a.Root, e.File) {
			return "no such input to remove"
		}
	case Rename:
		switch {
		case !known:
			return "no such input to rename"
		case !v.inside(a.Root, e.To):
			return fmt.Sprintf("to %q is no path below root %d", e.To, a.Root)
		case e.To == e.File:
			return "to is the same name"
		}
		return has(Rename, e.Pieces == nil, e.Text == nil, e.Logs == nil, e.Snapshot == "", e.Interval == 0, e.Line == nil)
	case Line:
		if why := has(Line, e.To == "", e.Pieces == nil, e.Text == nil, e.Logs == nil, e.Snapshot == "", e.Interval == 0, e.Line != nil); why != "" {
			return why
		}
		return e.Line.wrong(e.File)
	default:
		return fmt.Sprintf("unknown op %q", e.Op)
	}
	return ""
}

// keep says what is wrong with an edit that saves bytes of an input, "" nothing.
func (v *validator) keep(e *Edit) string {
	switch {
	case len(e.Pieces) != 1 || e.Kept == nil || e.To != "" || e.Text != nil || e.Logs != nil || e.Snapshot != "" || e.Interval != 0 || e.Line != nil:
		return "keep has file, one piece and kept, and nothing else"
	case e.Kept.Why == "":
		return "it must say why the bytes are not in the result"
	}
	if why := v.pieces(e); why != "" {
		return why
	}
	x := e.Pieces[0]
	if r := &v.plan.Roots[x.Root]; !r.Source {
		return fmt.Sprintf("root %d is written: what edits take out of it is kept by itself", x.Root)
	} else if want := KeptAs(r, x, v.files[place{x.Root, x.File}].Size); e.File != want {
		return fmt.Sprintf("the bytes are kept as %q", want)
	}
	if v.kept[e.File] {
		return "these bytes are kept already"
	}
	v.kept[e.File] = true
	return ""
}

// offsetFiles are the checkpoints with a line a partition.
var offsetFiles = []string{"replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"}

func (l *OffsetLine) wrong(file string) string {
	switch {
	case !slices.Contains(offsetFiles, file):
		return "no offset checkpoint"
	case l.Topic == "" || strings.ContainsAny(l.Topic, " \t\r\n\v\f"):
		return fmt.Sprintf("topic %q would make a line that Kafka refuses", l.Topic)
	case l.Partition < 0 && l.Offset != nil:
		return fmt.Sprintf("partition %d", l.Partition)
	case l.Offset != nil && *l.Offset < 0:
		return fmt.Sprintf("offset %d", *l.Offset)
	}
	return ""
}

func (v *validator) pieces(e *Edit) string {
	taken := map[place][]Piece{}
	for i, x := range e.Pieces {
		if i > 0 && e.Op == Compose {
			if before := e.Pieces[i-1]; before.Root == x.Root && before.File == x.File && before.Position > x.Position && !v.plan.Roots[x.Root].Source {
				return fmt.Sprintf("piece %d: it lies before the last one in %q: batches of a log stay in their order", i, x.File)
			}
		}
		in := v.files[place{x.Root, x.File}]
		switch {
		case in == nil:
			return fmt.Sprintf("piece %d: root %d has no input %q", i, x.Root, x.File)
		case x.Position < 0 || x.Length <= 0 || x.Position > in.Size || x.Length > in.Size-x.Position:
			return fmt.Sprintf("piece %d: %d bytes at position %d of %q, which has %d", i, x.Length, x.Position, x.File, in.Size)
		}
		taken[place{x.Root, x.File}] = append(taken[place{x.Root, x.File}], x)
	}
	for at, list := range taken {
		slices.SortFunc(list, func(a, b Piece) int { return cmp.Compare(a.Position, b.Position) })
		for i := 1; i < len(list); i++ {
			if list[i].Position < list[i-1].Position+list[i-1].Length {
				return fmt.Sprintf("byte %d of %q is taken twice", list[i].Position, at.file)
			}
		}
	}
	return ""
}

func (v *validator) rebuild(a *Action, e *Edit) string {
	switch {
	case e.To != "" || e.Pieces != nil || e.Text != nil || e.Line != nil:
		return "rebuild has file, logs, snapshot and interval only"
	case !slices.Contains([]string{".index", ".timeindex", ".txnindex", ".snapshot"}, path.Ext(e.File)):
		return "only .index, .timeindex, .txnindex and .snapshot can be rebuilt"
	case e.Interval < 0:
		return fmt.Sprintf("interval %d", e.Interval)
	}
	if path.Ext(e.File) == ".snapshot" && len(e.Logs) == 0 && e.Snapshot == "" {
		return "a snapshot is built from logs, from another snapshot, or from both"
	}
	if ext := path.Ext(e.File); ext != ".snapshot" && (len(e.Logs) != 1 || e.Snapshot != "" && ext != ".txnindex") {
		return "it is built from one log"
	}
	for _, l := range e.Logs {
		if !v.inside(a.Root, l) || path.Ext(l) != ".log" || path.Dir(l) != path.Dir(e.File) {
			return fmt.Sprintf("%q is no .log beside it", l)
		}
	}
	if e.Snapshot != "" && (!v.inside(a.Root, e.Snapshot) || path.Ext(e.Snapshot) != ".snapshot" || e.Snapshot == e.File) {
		return fmt.Sprintf("%q is no other .snapshot", e.Snapshot)
	}
	return ""
}

// anyBelow reports whether an input lies inside a directory of a root.
func (v *validator) anyBelow(root int, dir string) bool {
	for _, in := range v.plan.Inputs {
		if in.Root == root && below(in.File, dir) {
			return true
		}
	}
	return false
}

// needs follows After.
func (v *validator) needs() error {
	for i := range v.plan.Actions {
		a := &v.plan.Actions[i]
		for _, id := range a.After {
			b := v.actions[id]
			switch {
			case b == nil:
				return malformed("action "+a.ID, "it needs action %s, which is not in the plan", id)
			case a.Carried() && !b.Carried():
				return malformed("action "+a.ID, "it needs action %s, which is not confirmed", id)
			}
		}
	}
	seen := map[string]int{} // 1 under way, 2 done
	var walk func(id string) error
	walk = func(id string) error {
		switch seen[id] {
		case 1:
			return malformed("action "+id, "it needs itself")
		case 2:
			return nil
		}
		seen[id] = 1
		for _, next := range v.actions[id].After {
			if err := walk(next); err != nil {
				return err
			}
		}
		seen[id] = 2
		return nil
	}
	for i := range v.plan.Actions {
		if err := walk(v.plan.Actions[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// rest looks at what is told of the actions.
func (v *validator) rest() error {
	p := v.plan
	for i, l := range p.Left {
		if l.Root != nil && (*l.Root < 0 || *l.Root >= len(p.Roots)) {
			return malformed(fmt.Sprintf("left %d", i), "there is no root %d", *l.Root)
		}
	}
	promised := map[place]bool{}
	for i, x := range p.Promises {
		at := fmt.Sprintf("promise %d", i)
		switch {
		case x.Root < 0 || x.Root >= len(p.Roots) || !relative(x.Dir):
			return malformed(at, "root %d, dir %q", x.Root, x.Dir)
		case promised[place{x.Root, x.Dir}]:
			return malformed(at, "something is promised of %q already", x.Dir)
		case x.Records != nil && *x.Records < 0:
			return malformed(at, "%d records", *x.Records)
		}
		promised[place{x.Root, x.Dir}] = true
	}
	return nil
}

// claim is a file that an edit changes.
type claim struct {
	action *Action
	edit   *Edit
}

// conflicts refuses two edits of one file, and one of a file in a directory that goes, among
// the actions that are carried out.
func (v *validator) conflicts() error {
	claims := map[place][]claim{}
	var gone []claim
	for a := range v.plan.Carried() {
		for j := range a.Edits {
			e := &a.Edits[j]
			if e.Op == Keep {
				continue
			}
			c := claim{a, e}
			if e.Op == Remove && v.files[place{a.Root, e.File}] == nil {
				gone = append(gone, c)
			}
			names := []string{e.File}
			if e.Op == Rename {
				if v.files[place{a.Root, e.To}] != nil && !v.leaves(a.Root, e.To) {
					return c.conflict("the input %q is in the way of the new name", e.To)
				}
				names = append(names, e.To)
			}
			for _, name := range names {
				for _, o := range claims[place{a.Root, name}] {
					if !c.fits(o, name) {
						return c.conflict("action %s edits %q too", o.action.ID, name)
					}
				}
				claims[place{a.Root, name}] = append(claims[place{a.Root, name}], c)
			}
		}
	}
	for _, g := range gone {
		for at, list := range claims {
			if at.root == g.action.Root && below(at.file, g.edit.File) {
				return list[0].conflict("action %s removes the directory %q", g.action.ID, g.edit.File)
			}
		}
	}
	return nil
}

// leaves reports whether an input is removed or renamed by a carried edit, so that its name is free.
func (v *validator) leaves(root int, file string) bool {
	for a := range v.plan.Carried() {
		if a.Root != root {
			continue
		}
		for i := range a.Edits {
			if e := &a.Edits[i]; e.File == file && (e.Op == Remove || e.Op == Rename) {
				return true
			}
		}
	}
	return false
}

func (c claim) conflict(format string, args ...any) error {
	return malformed(fmt.Sprintf("action %s, file %q", c.action.ID, c.edit.File), format, args...)
}

// fits reports whether two edits of one name can both be carried out.
func (c claim) fits(o claim, name string) bool {
	a, b := c.edit, o.edit
	switch {
	case a.Op == Remove && b.Op == Remove:
		return true
	case a.Op == Rename && b.Op == Remove || a.Op == Remove && b.Op == Rename:
		// The name becomes free, then it is taken.
		return a.To == name || b.To == name
	case a.Op == Rename && b.Op == Rename:
		return a.To == name && b.File == name || b.To == name && a.File == name
	case a.Op == Write && b.Op == Write:
		return *a.Text == *b.Text
	case a.Op != Line || b.Op != Line:
		return false
	case a.Line.Topic != b.Line.Topic || a.Line.Partition != b.Line.Partition:
		return true
	}
	x, y := a.Line.Offset, b.Line.Offset
	return x == nil && y == nil || x != nil && y != nil && *x == *y
}
