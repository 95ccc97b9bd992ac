package report

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/repair"
)

// Applied prints what carrying out a plan did.
type Applied struct {
	Done *repair.Done
	// Lasted is how long it took, in words.
	Lasted string
}

// maxApplied is how many partitions, and runs of dropped bytes, are printed.
const maxApplied = 12

// Applied writes what was done as one line.
func (j *JSON) Applied(d *repair.Done) { j.Line(d) }

// Print writes the verdict, what a start finds, what was dropped and where it lies, how to put
// the result in place, and the next command.
func (t *Applied) Print(w io.Writer) error {
	d := t.Done
	out := t.verdict()
	out = append(append(out, ""), t.written()...)
	n, hidden := 0, 0
	for _, s := range d.Starts {
		for _, p := range s.Partitions {
			if n++; n > maxApplied {
				hidden++
				continue
			}
			out = append(out, labelled(2, map[bool]string{true: "start", false: ""}[n == 1],
				fmt.Sprintf("%s: %s, nothing truncated, %s", Escape(p.Dir), logRange(p.LogStartOffset, p.LogEndOffset), count(len(p.Epochs), "epoch", "epochs")))...)
		}
	}
	if hidden > 0 {
		out = append(out, labelled(2, "", fmt.Sprintf("… and %s more, all in repair.json", count(hidden, "partition", "partitions")))...)
	}
	out = append(out, t.known()...)
	out = append(out, t.dropped()...)
	for _, x := range d.NotDone {
		out = append(out, labelled(2, "not done", x.ID+": "+Escape(x.Why))...)
	}
	for _, s := range d.Starts {
		if !s.OK {
			out = append(out, labelled(2, "start", "of "+Escape(strings.Join(s.Roots, ", "))+" fails: "+Escape(s.Why))...)
		}
	}
	for _, note := range d.Notes {
		out = append(out, labelled(2, "note", Escape(note))...)
	}
	if !d.Complete() && len(d.Plan.Left) > 0 {
		out = append(append(out, "", "What no action of the plan mends:"), leftLines(d.Plan)...)
	}
	out = append(append(out, ""), t.next()...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// logRange is the range of a log from start to end, exclusive.
func logRange(start, end int64) string {
	if start >= end {
		return fmt.Sprintf("no offsets, the next is %d", end)
	}
	return offsets(start, end)
}

func (t *Applied) verdict() []string {
	d := t.Done
	head := count(len(d.Carried), "action", "actions") + " carried out"
	switch {
	case !d.Complete():
		return indented("REPAIRED IN PART  ", head+", and not all of the plan; read what is open before a broker starts on it")
	case d.Out == "":
		return indented("REPAIRED  ", head+" in place; a start finds what the plan promises")
	}
	return indented("REPAIRED  ", head+" into "+Escape(d.Out)+"; a start on it finds what the plan promises")
}

func (t *Applied) written() []string {
	f := &t.Done.Files
	var words []string
	add := func(n int, what string) {
		if n > 0 {
			words = append(words, comma(n)+" "+what)
		}
	}
	add(f.Copied, "copied")
	add(f.Cloned, "cloned (blocks shared)")
	add(f.Linked, "linked (one file with its input)")
	add(f.Resumed, "kept of the run before")
	add(f.Composed, "put together from whole batches")
	add(f.Rebuilt, "rebuilt from the logs")
	add(f.Written, "written")
	if len(words) == 0 {
		words = []string{"none"}
	}
	line := strings.Join(words, ", ") + "; " + humanize.IBytes(uint64(max(f.Bytes, 0)))
	if t.Lasted != "" {
		line += " in " + t.Lasted
	}
	return labelled(2, "files", line)
}

// maxKnown is how many sentences of what is to be known are printed.
const maxKnown = 8

// known is what the actions that were carried out leave behind and no later look at the result tells:
// committed offsets that are gone, transactions that end otherwise.
func (t *Applied) known() []string {
	var said []string
	for i := range t.Done.Plan.Actions {
		a := &t.Done.Plan.Actions[i]
		if !slices.Contains(t.Done.Carried, a.ID) {
			continue
		}
		if a.Committed != nil {
			said = append(said, fmt.Sprintf("%s: %s (%s)", a.Partition, a.Committed.Said(), a.ID))
		}
		for j := range a.Transactions {
			said = append(said, fmt.Sprintf("%s: %s (%s)", a.Partition, a.Transactions[j].Said(), a.ID))
		}
	}
	var out []string
	for i, s := range said {
		if i == maxKnown && len(said) > maxKnown+1 {
			return append(out, labelled(2, "", fmt.Sprintf("… and %d more, all in repair.json", len(said)-i))...)
		}
		out = append(out, labelled(2, map[bool]string{true: "know", false: ""}[i == 0], Escape(s))...)
	}
	return out
}

// dropped says which bytes are not in the result, and where they lie.
func (t *Applied) dropped() []string {
	d := t.Done
	if len(d.Dropped) == 0 {
		return labelled(2, "set aside", "nothing")
	}
	var bytes int64
	for _, x := range d.Dropped {
		bytes += x.To - x.From
	}
	where := path.Join(d.Out, "lost+found")
	if d.Out == "" {
		where = ""
		if len(d.Backups) > 0 {
			where = d.Backups[0]
		}
	}
	out := labelled(2, "set aside", fmt.Sprintf("%s of inputs in %s that the result does not hold, kept in %s", humanize.IBytes(uint64(bytes)), count(len(d.Dropped), "piece", "pieces"), Escape(where)))
	for i, x := range d.Dropped {
		if i == maxApplied {
			out = append(out, labelled(2, "", fmt.Sprintf("… and %d more, all in %s", len(d.Dropped)-i, map[bool]string{true: "repair.json", false: "lost+found/manifest.json"}[d.Out == ""]))...)
			break
		}
		out = append(out, labelled(2, "", fmt.Sprintf("%s  %s (%s)", Escape(x.Kept), bytesOf(&x), x.Action))...)
	}
	return out
}

// bytesOf says which bytes of a file were dropped.
func bytesOf(x *repair.Dropped) string {
	switch {
	case x.To == x.From:
		return "empty"
	case x.From == 0:
		return fmt.Sprintf("%s bytes", comma(x.To))
	}
	return fmt.Sprintf("%s bytes from position %d", comma(x.To-x.From), x.From)
}

// next is how to put the result in place.
func (t *Applied) next() []string {
	d := t.Done
	if d.Out == "" {
		out := []string{"Look again before you start the broker:"}
		var roots []string
		for i := range d.Plan.Roots {
			if r := &d.Plan.Roots[i]; carried(d, i) {
				roots = append(roots, r.Path)
			}
		}
		out = append(out, "  "+Command(append([]string{"kafsck", "predict", "start"}, roots...)...))
		if len(d.Backups) > 0 {
			out = append(out, "Go back, as long as no broker has run on it:", "  "+Command("kafsck", "repair", "undo", d.Backups[0]))
		}
		return out
	}
	out := []string{"Look once more:", "  " + Command("kafsck", "predict", "start", d.Out)}
	if slices.ContainsFunc(d.Plan.Roots, func(r repair.Root) bool { return r.New }) {
		return append(out, placing(d.Plan, d.Out)...)
	}
	if !d.OK() {
		return append(out, indented("", "Not for a broker yet: it would not start on it. Mend what is said above, or leave the old directory where it is.")...)
	}
	return append(out, t.place()...)
}

// place is how the twins of the log directories get to their brokers. A plan is made of copies, so
// that the paths in it are not those of the brokers.
func (t *Applied) place() []string {
	d := t.Done
	out := indented("", "Put in place on the broker's machine while it is stopped, owned by its user. LOGDIR is its log directory, of which the plan has a copy; the old one stays beside it (if LOGDIR is a mount point, move what is in it into a folder beside the mount point):")
	n := 0
	for i := range d.Plan.Roots {
		r := &d.Plan.Roots[i]
		if !carried(d, i) {
			continue
		}
		if n++; n > maxCommands {
			out = append(out, "  … and so on for all directories of the result")
			break
		}
		from, to, aside := path.Join(d.Out, r.Name), "LOGDIR", "LOGDIR.before-repair"
		if r.Partition { // a foreign folder in a log directory stops a broker
			dir := path.Base(strings.TrimSuffix(r.Path, "/"))
			from, to, aside = path.Join(d.Out, dir), "LOGDIR/"+dir, "LOGDIR.before-repair-"+dir
		}
		who := Escape(r.Path)
		if r.Broker != nil {
			who += fmt.Sprintf(" (broker %d)", *r.Broker)
		}
		out = append(out, "  # "+who, "  "+Command("mv", to, aside), "  "+Command("cp", "-a", from, to))
	}
	return out
}

// carried reports whether a root has a twin in the result.
func carried(d *repair.Done, root int) bool {
	for i := range d.Plan.Actions {
		a := &d.Plan.Actions[i]
		for _, id := range d.Carried {
			if a.ID == id && a.Root == root {
				return true
			}
		}
	}
	return false
}
