package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/repair"
)

// RepairedEpochs prints what "repair epochs" made of each
// leader-epoch-checkpoint.
type RepairedEpochs struct {
	Paths *Paths
	Scope *Scope
	Out   string // the directory as the user typed it
	Files []RepairedFile
}

// RepairedFile is one plan and what became of it.
type RepairedFile struct {
	Plan    *repair.EpochPlan
	Label   string // the partition's name, unambiguous
	Written string // path below Out, "" when nothing was written
	Typed   string // path of the old file as the user would type it
}

// RepairedFile makes the entry of one plan for x.
func (p *Paths) RepairedFile(x *incident.Partition, plan *repair.EpochPlan) RepairedFile {
	return RepairedFile{Plan: plan, Label: p.label(x), Typed: p.Typed(plan.Old.Path)}
}

// maxRefused is how many refused entries of one file are listed in text.
const maxRefused = 12

// Print writes the verdict, each file that was written, the others in a line
// each, and the commands that verify them and put them in place.
func (t *RepairedEpochs) Print(w io.Writer) error {
	var changed, right []RepairedFile
	written := 0
	for _, f := range t.Files {
		if f.Written != "" {
			written++
		}
		if f.Plan.Changed || len(t.Files) == 1 && f.Written != "" {
			changed = append(changed, f)
		} else {
			right = append(right, f)
		}
	}
	out := t.verdict(written)
	for i := range changed {
		out = append(append(out, ""), t.file(&changed[i])...)
	}
	if len(right) > 0 {
		out = append(out, "")
	}
	for i := range right {
		if i == maxListed {
			out = append(out, fmt.Sprintf("… and %s more that are right as they are, all in --json", comma(len(right)-i)))
			break
		}
		out = append(out, indented("", t.right(&right[i]))...)
	}
	out = append(out, "")
	out = append(out, t.next(changed)...)
	out = append(out, t.Scope.checked())
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

func (t *RepairedEpochs) verdict(written int) []string {
	changed := 0
	for i := range t.Files {
		if t.Files[i].Plan.Changed {
			changed++
		}
	}
	total := count(len(t.Files), "leader-epoch-checkpoint file", "leader-epoch-checkpoint files")
	right := total + " is right as it is"
	if len(t.Files) > 1 {
		right = total + " are right as they are"
	}
	out := Escape(t.Out)
	switch {
	case written == 0:
		return indented("RIGHT  ", right+": nothing was written")
	case changed == 0:
		return indented("RIGHT  ", right+"; what was written to "+out+" is the same to Kafka")
	case len(t.Files) == 1:
		return indented("WRONG  ", "the leader-epoch-checkpoint "+wrong(t.Files[0].Plan)+"; a regenerated one was written to "+out)
	}
	return indented("WRONG  ", fmt.Sprintf("%s of %s; %s written to %s", comma(changed), total, count(written, "regenerated file", "regenerated files"), out))
}

func wrong(p *repair.EpochPlan) string {
	switch {
	case p.Old.Absent:
		return "is missing"
	case p.Old.Malformed != nil:
		return "cannot be parsed"
	case len(p.Old.Loaded) == 0 && len(p.Entries) > 0:
		return "tells Kafka of no epoch"
	}
	return "does not fit its log"
}

func (t *RepairedEpochs) title(f *RepairedFile) string {
	p := f.Plan
	held := "no offsets"
	if p.LogStart < p.LogEnd {
		held = offsets(p.LogStart, p.LogEnd)
	}
	return fmt.Sprintf("%s on broker %s (%s, %s)", f.Label, Escape(p.Broker.Name), Escape(p.Dir), held)
}

func (t *RepairedEpochs) file(f *RepairedFile) []string {
	p := f.Plan
	out := []string{t.title(f)}
	say := func(label, prose string) { out = append(out, labelled(2, label, prose)...) }
	say("old file", oldFile(p))
	say("written", Escape(t.Out)+"/"+Escape(f.Written))
	rows := table{header: []string{"", "", ""}}
	for _, c := range p.Changes() {
		rows.add(string(c.Op), fmt.Sprintf("%d %d", c.Epoch, c.StartOffset), Escape(c.Why))
	}
	if len(rows.rows) == 0 {
		out = append(out, "                (no entries)")
	}
	for _, line := range rows.lines(strings.Repeat(" ", 2+labelWidth)) {
		out = append(out, hang(line)...)
	}
	others := slices.DeleteFunc(slices.Clone(p.Refused), func(r repair.RefusedEntry) bool { return r.Source == repair.File })
	for i, r := range others {
		if i == maxRefused {
			say("", fmt.Sprintf("… and %d more, all in --json", len(others)-i))
			break
		}
		say("refused", refusedProse(&r))
	}
	for _, u := range p.Unknown {
		say("cannot know", Escape(u))
	}
	for _, n := range p.Notes {
		say("note", Escape(n))
	}
	return out
}

// hang wraps a line of the table under its last column.
func hang(line string) []string {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	if len([]rune(line)) <= width {
		return []string{line}
	}
	// The sign, the entry and two blanks keep their column; only the prose is wrapped.
	op := line[:min(indent, 2+labelWidth)]
	rest := line[len(op):]
	head := rest
	if i := strings.Index(rest[3:], "  "); i >= 0 {
		head = rest[:3+i]
		rest = strings.TrimLeft(rest[3+i:], " ")
		head += strings.Repeat(" ", max(2, len(line)-len(op)-len(head)-len(rest)))
	}
	return indented(op+head, rest)
}

func refusedProse(r *repair.RefusedEntry) string {
	from := "batch headers"
	if r.Broker != nil {
		from = "broker " + Escape(r.Broker.Name)
	}
	return fmt.Sprintf("%d %d of %s: %s", r.Epoch, r.StartOffset, from, Escape(r.Why))
}

func oldFile(p *repair.EpochPlan) string {
	o := &p.Old
	switch {
	case o.Absent && len(p.Entries) == 0:
		return "none, which is right: no batch records an epoch"
	case o.Absent:
		return "missing: after a clean stop Kafka would start with no epochs at all"
	case o.Malformed != nil:
		effect := "Kafka takes the log directory offline"
		if o.Malformed.Unchecked {
			effect = "the broker does not start"
		}
		return "malformed, " + Escape(o.Malformed.String()) + "; " + effect
	case !p.Changed:
		return "right as it is: Kafka would hold the same epochs with it"
	}
	return "Kafka would hold " + entries(o.Loaded) + " with it"
}

func entries(c epoch.Cache) string {
	if len(c) == 0 {
		return "no epochs"
	}
	var words []string
	for i, e := range c {
		if i == 8 {
			words = append(words, fmt.Sprintf("and %d more", len(c)-i))
			break
		}
		words = append(words, fmt.Sprintf("%d %d", e.Epoch, e.StartOffset))
	}
	return strings.Join(words, ", ")
}

// right is the line of a file that needs no change.
func (t *RepairedEpochs) right(f *RepairedFile) string {
	p := f.Plan
	line := t.title(f) + ": right as it is, " + count(len(p.Entries), "entry", "entries")
	if p.Old.Absent {
		line = t.title(f) + ": no file, and none is needed: no batch records an epoch"
	}
	odd := slices.DeleteFunc(slices.Clone(p.Refused), func(r repair.RefusedEntry) bool { return r.EmptyTail })
	if n := len(odd); n > 0 {
		r := &odd[0]
		from := "its file"
		switch {
		case r.Broker != nil:
			from = "broker " + Escape(r.Broker.Name)
		case r.Source == repair.Headers:
			from = "a batch header"
		}
		line += fmt.Sprintf("; not taken: %d %d of %s", r.Epoch, r.StartOffset, from)
		if n > 1 {
			line += fmt.Sprintf(" and %d more (in --json)", n-1)
		}
	}
	return line
}

// maxCommands is how many files get commands of their own.
const maxCommands = 3

// next is how to compare the files, put them in place, and verify that.
func (t *RepairedEpochs) next(written []RepairedFile) []string {
	changed := slices.DeleteFunc(slices.Clone(written), func(f RepairedFile) bool { return !f.Plan.Changed })
	if len(changed) == 0 {
		return nil
	}
	var diffs, moves []string
	note := "Put in place while the broker is stopped, owned by its user (the paths are those given here: on the broker, take its log directory)"
	for _, f := range changed[:min(len(changed), maxCommands)] {
		fresh := strings.TrimSuffix(t.Out, "/") + "/" + f.Written
		if !f.Plan.Old.Absent {
			diffs = append(diffs, "  "+Command("diff", "-u", f.Typed, fresh))
			moves = append(moves, "  "+Command("mv", f.Typed, f.Typed+".damaged"))
		}
		moves = append(moves, "  "+Command("cp", fresh, f.Typed))
	}
	var out []string
	if len(diffs) > 0 {
		out = append(append(out, "Compare:"), diffs...)
		note += "; the damaged file stays beside the new one, where Kafka ignores it"
	}
	out = append(out, indented("", note+":")...)
	out = append(out, moves...)
	if n := len(changed); n > maxCommands {
		out = append(out, fmt.Sprintf("  … and so on for all %s files", comma(n)))
	}
	return append(out, "Verify then: "+t.Paths.Again("epochs"))
}
