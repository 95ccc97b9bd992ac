package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/replica"
)

// Epochs gathers the leader epochs of all partitions.
type Epochs struct {
	Paths *Paths
	Scope *Scope
	All   bool // every partition, every epoch
	Width int  // of the bars, in columns
	ASCII bool // bars without line-drawing characters

	blocks   []string // partitions to look at, or all
	first    string   // the first partition that is fine
	fine     []string // those that are, a line each
	defects  int      // partitions with a file that does not fit its log
	files    int      // such files
	parted   int      // partitions whose replicas parted
	suspect  int      // batches with a suspect epoch
	repair   bool     // some file is wrong, and not only its log too short
	leftover int      // legitimate differences in partitions that are fine
	legacy   int      // partitions with messages that carry no epochs
}

// Add takes in one partition. Nothing of it is kept but text.
func (t *Epochs) Add(x *incident.Partition, e *incident.Epochs) {
	defects, legitimate, suspect := 0, 0, 0
	for i := range e.Copies {
		c := &e.Copies[i]
		if !c.Agree {
			defects++
		}
		suspect += c.SuspectCount
		for _, d := range c.Differences {
			switch {
			case d.Legitimate:
				legitimate++
			case d.Kind != epoch.BatchesMissing && d.Kind != epoch.BeyondEnd:
				t.repair = true
			}
		}
	}
	parted := slices.ContainsFunc(e.Pairs, func(p incident.EpochPair) bool { return p.Parted })
	unread := len(x.Errors) > 0
	if defects > 0 {
		t.defects++
		t.files += defects
	}
	if parted {
		t.parted++
	}
	t.suspect += suspect
	if slices.ContainsFunc(e.Copies, func(c incident.CopyEpochs) bool { return c.Copy.Log.HasLegacy }) {
		t.legacy++
	}
	name := t.Paths.label(x)
	switch {
	case defects+suspect > 0 || parted || unread || t.All:
		t.blocks = append(t.blocks, t.block(x, e))
		return
	case t.first == "":
		t.first = t.block(x, e)
	}
	t.leftover += legitimate
	t.fine = append(t.fine, name+": "+summary(e))
}

// summary is a partition in a few words.
func summary(e *incident.Epochs) string {
	known := map[int32]bool{}
	for i := range e.Copies {
		for _, r := range e.Copies[i].Ranges {
			known[r.Epoch] = true
		}
	}
	var es []int32
	for k := range known {
		es = append(es, k)
	}
	slices.Sort(es)
	words := epochs(es)
	if len(es) > 6 {
		words = fmt.Sprintf("%d epochs, %d to %d", len(es), es[0], es[len(es)-1])
	}
	return count(len(e.Copies), "copy", "copies") + ", " + words
}

// block is one partition in full: bars, table, differences, what the replicas
// have in common.
func (t *Epochs) block(x *incident.Partition, e *incident.Epochs) string {
	lines := []string{t.Paths.label(x)}
	say := func(more ...string) { lines = append(lines, more...) }
	for _, err := range x.Errors {
		say(labelled(2, "not read", Escape(err.Path)+": "+Escape(err.Err.Error()))...)
	}
	names := copyNames(e)
	say(t.bars(e, names)...)
	say(t.epochTable(e, names)...)
	for i := range e.Copies {
		say(suspects(&e.Copies[i], names[i])...)
		say(defects(&e.Copies[i], names[i])...)
	}
	say(normal(e, names)...)
	say(common(x, e)...)
	return strings.Join(lines, "\n")
}

// copyNames names each directory: its broker, and its state where that is not
// enough.
func copyNames(e *incident.Epochs) []string {
	names, used := make([]string, len(e.Copies)), map[string]bool{}
	for i := range e.Copies {
		c := e.Copies[i].Copy
		name := "broker " + Escape(c.Broker.Name)
		if c.State != replica.Live {
			name += " (" + string(c.State) + ")"
		}
		if used[name] {
			name += " " + Escape(c.Dir)
		}
		names[i], used[name] = name, true
	}
	return names
}

func (t *Epochs) bars(e *incident.Epochs, names []string) []string {
	var list []bar
	for i := range e.Copies {
		l := e.Copies[i].Copy.Log
		list = append(list, bar{names[i], l.LogStartOffset, l.LogEndOffset, l.Lineage})
	}
	style := unicodeBars
	if t.ASCII {
		style = asciiBars
	}
	lines, crowded, gaps := drawBars(list, t.Width, style, "  ")
	var legend []string
	if crowded {
		legend = append(legend, string(style.crowd)+" several epochs begin here")
	}
	if gaps {
		legend = append(legend, string(style.gap)+" offsets without a batch")
	}
	if len(legend) > 0 {
		lines = append(lines, "  ("+strings.Join(legend, "; ")+")")
	}
	return lines
}

// Rows of a long epoch table that are shown without --all: the oldest and the
// newest.
const (
	oldestRows = 4
	newestRows = 20
)

// epochTable is one row an epoch: its offsets in each copy, who led, and since
// when.
func (t *Epochs) epochTable(e *incident.Epochs, names []string) []string {
	order := t.shownEpochs(e)
	if len(order.epochs) == 0 {
		return nil
	}
	cells := map[int32][]string{}
	for _, k := range order.epochs {
		cells[k] = slices.Repeat([]string{"-"}, len(e.Copies))
	}
	odd, noEntry := false, false
	for i := range e.Copies {
		starts := startsOf(&e.Copies[i], cells)
		seen := map[int32]bool{}
		for _, r := range e.Copies[i].Ranges {
			if cells[r.Epoch] == nil {
				continue
			}
			cell := &cells[r.Epoch][i]
			if seen[r.Epoch] { // epochs that fall back
				*cell += ", " + span(r.From, r.To)
				continue
			}
			seen[r.Epoch] = true
			start, written := starts[r.Epoch]
			switch {
			case !r.InBatches:
				*cell, odd = fmt.Sprintf("(%d)", r.From), true
			case e.Copies[i].Malformed != nil, e.Copies[i].Written == nil && e.Copies[i].Agree:
				*cell = span(r.From, r.To)
			case !written:
				*cell, noEntry = span(r.From, r.To)+" (none)", true
			case start != r.From:
				*cell, odd = fmt.Sprintf("%s (%d)", span(r.From, r.To), start), true
			default:
				*cell = span(r.From, r.To)
			}
		}
	}

	tab := table{header: []string{">EPOCH"}}
	for _, n := range names {
		tab.header = append(tab.header, strings.Replace(n, "broker", "BROKER", 1))
	}
	elected, began := map[int32]incident.Election{}, map[int32]int64{}
	for _, x := range e.Elections {
		elected[x.Epoch] = x
	}
	if len(elected) > 0 {
		tab.header = append(tab.header, "LEADER", "ELECTED", "")
	} else if began = firstWritten(e); len(began) > 0 {
		tab.header = append(tab.header, "FIRST WRITTEN")
	}
	for i, k := range order.epochs {
		line := append([]string{fmt.Sprint(k)}, cells[k]...)
		switch ms, known := began[k]; {
		case len(elected) > 0:
			line = append(line, electionCells(elected, k, e.Unwritten)...)
		case known:
			line = append(line, clock(ms))
		case len(began) > 0:
			line = append(line, "")
		}
		tab.add(line...)
		if i == oldestRows-1 && order.hidden > 0 {
			tab.note(fmt.Sprintf("… %s more, all with --all", comma(order.hidden)))
		}
	}
	lines := append([]string{""}, tab.lines("  ")...)
	if odd {
		lines = append(lines, "  (N): leader-epoch-checkpoint lets the epoch start at offset N, where no batch begins it")
	}
	if noEntry {
		lines = append(lines, "  (none): leader-epoch-checkpoint has no entry for the epoch")
	}
	return append(lines, "")
}

// shown is the epochs that have a row, ascending, and how many have none: those
// behind the first oldestRows.
type shown struct {
	epochs []int32
	hidden int
}

func (t *Epochs) shownEpochs(e *incident.Epochs) shown {
	var all []int32
	for _, x := range e.Elections {
		all = append(all, x.Epoch)
	}
	for i := range e.Copies {
		for _, r := range e.Copies[i].Ranges {
			all = append(all, r.Epoch)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if n := len(all); !t.All && n > oldestRows+newestRows+1 {
		return shown{slices.Concat(all[:oldestRows], all[n-newestRows:]), n - oldestRows - newestRows}
	}
	return shown{epochs: all}
}

// firstWritten is the time of the first batch of each epoch that a copy still
// holds, in ms: its largest timestamp.
func firstWritten(e *incident.Epochs) map[int32]int64 {
	out := map[int32]int64{}
	for i := range e.Copies {
		for k, ms := range e.Copies[i].Copy.Log.EpochStarted {
			if known, ok := out[k]; k >= 0 && ms >= 0 && (!ok || ms < known) {
				out[k] = ms
			}
		}
	}
	return out
}

// startsOf is where the file lets each epoch that has a row start: the first line
// counts where an epoch stands in it twice, as Kafka has it.
func startsOf(c *incident.CopyEpochs, rows map[int32][]string) map[int32]int64 {
	starts := map[int32]int64{}
	for _, x := range c.Written {
		if _, seen := starts[x.Epoch]; !seen && rows[x.Epoch] != nil {
			starts[x.Epoch] = x.StartOffset
		}
	}
	return starts
}

func electionCells(elected map[int32]incident.Election, k int32, unwritten []int32) []string {
	x, known := elected[k]
	if !known {
		return []string{"?", "", "not in the metadata"}
	}
	leader, when, remark := "nobody", clock(x.TimeMs), ""
	if x.TimeMs < 0 {
		when = ""
	}
	if x.Leader >= 0 {
		leader = fmt.Sprint(x.Leader)
	}
	if x.FromSnapshot {
		remark = "or before: from a snapshot"
	}
	if x.Unclean {
		remark = "unclean"
	}
	if slices.Contains(unwritten, k) {
		if remark != "" {
			remark += ", "
		}
		remark += "no batches"
	}
	return []string{leader, when, remark}
}

// Print writes the verdict, the partitions to look at, the others, the scope and
// the next command.
func (t *Epochs) Print(w io.Writer) error {
	var out []string
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	n := t.Scope.Partitions
	if t.Scope.Errors > 0 {
		say("NOT READ ", "%s", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
	}
	if t.defects > 0 {
		say("DIFFER ", "%s of %s: %s", comma(t.defects), count(n, "partition", "partitions"),
			count(t.files, "leader-epoch-checkpoint does not fit the batches of its log", "leader-epoch-checkpoint files do not fit the batches of their logs"))
	}
	if t.parted > 0 {
		say("PARTED ", "%s of %s: from some offset on, replicas were written under different leaders", comma(t.parted), count(n, "partition", "partitions"))
	}
	if t.suspect > 0 {
		say("SUSPECT ", "%s a leader epoch that nothing bears out, and which no CRC covers", count(t.suspect, "batch carries", "batches carry"))
	}
	switch {
	case t.defects+t.parted+t.suspect+t.Scope.Errors > 0:
	case n == 0:
		say("", "Nothing to compare: no partition directory is among these inputs.")
	default:
		say("OK     ", "the leader epochs agree: every leader-epoch-checkpoint fits its log, and no replicas parted")
	}
	if len(t.blocks) == 0 && len(t.fine) == 1 {
		out, t.fine = append(out, "", strings.TrimRight(t.first, "\n")), nil
	}
	for _, b := range t.blocks {
		out = append(out, "", strings.TrimRight(b, "\n"))
	}
	if len(t.fine) > 0 {
		out = append(out, "")
		if n := len(t.fine); n > maxListed {
			say("", "%s: the leader epochs agree (each with --all)", count(n, "partition", "partitions"))
		} else {
			out = append(out, t.fine...)
		}
		if t.leftover > 0 {
			say("", "%s, as healthy brokers leave them (named with --all)", count(t.leftover, "difference between a file and its batches is legitimate", "differences between files and their batches are legitimate"))
		}
	}
	out = append(out, "")
	if t.Scope.WithoutMetadata > 0 {
		say("", "Without cluster metadata (__cluster_metadata-0) elections cannot be shown.")
	}
	if t.legacy > 0 {
		say("", "Messages of format 0 and 1 carry no leader epoch: %s of those, and for them nothing can be told here.", count(t.legacy, "partition holds some", "partitions hold some"))
	}
	out = append(out, t.Scope.checked())
	switch {
	case t.repair:
		out = append(out, "Next: "+t.Paths.Again("repair", "epochs", "--out", "DIR"))
	case t.defects+t.parted+t.suspect > 0:
		out = append(out, "Next: "+t.Paths.Again("diff"))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
