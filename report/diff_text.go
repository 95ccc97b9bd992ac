package report

import (
	"fmt"
	"io"
	"strings"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

// meaning says what a kind of divergence means for its two brokers.
func meaning(d *incident.Divergence) string {
	copies, sides := ordered(d)
	a, b := sideName(copies, 0), sideName(copies, 1)
	lacks, has := b, a // the side that holds nothing there
	if sides[0].From == sides[0].To && sides[1].From < sides[1].To {
		lacks, has = a, b
	}
	fault := "both brokers"
	if d.Bad >= 0 {
		fault = sideName([2]*incident.Copy{d.A, d.B}, d.Bad)
	}
	var s string
	switch d.Kind {
	case diff.Behind:
		s = lacks + " has not fetched these yet, which is normal"
	case diff.LeaderBehind:
		s = "the leader, " + lacks + ", lacks what " + has + " holds"
		if d.CopiedLater {
			s = has + "'s disk was copied later than that of " + lacks + ": no difference"
		}
	case diff.EpochFork:
		s = fmt.Sprintf("written under different leaders: %s on %s, %s on %s", held(sides[0]), a, held(sides[1]), b)
	case diff.ContentFork:
		s = a + " and " + b + " hold different records, and no leader epochs tell why"
	case diff.SameEpochConflict:
		s = a + " and " + b + " hold different batches under one leader epoch, which must never happen"
	case diff.MissingRange:
		s = "missing on " + fault
	case diff.Damaged:
		s = "damaged on " + fault
	case diff.RecordLoss:
		s = "the latest value of a key is gone on " + fault
	case diff.Compaction:
		s = a + " and " + b + " were cleaned at different times, which is normal"
	}
	if d.EqualFrom != nil {
		s += fmt.Sprintf("; equal again from offset %d", *d.EqualFrom)
	}
	return s
}

// sideName names one of two copies that are compared: by its directory, too, where both are on one
// broker.
func sideName(copies [2]*incident.Copy, i int) string {
	name := "broker " + Escape(copies[i].Broker.Name)
	if copies[0].Broker == copies[1].Broker {
		name += " (" + Escape(copies[i].Dir) + ")"
	}
	return name
}

func held(s diff.Side) string {
	if s.From >= s.To {
		return "nothing"
	}
	return epochs(s.Epochs)
}

// Diff gathers the comparison of all partitions.
type Diff struct {
	Paths *Paths
	Scope *Scope

	blocks  []string
	differ  int
	normal  []string // differences that healthy replicas have
	alone   []string
	agree   []string
	unknown int
}

// Add takes in one partition. Nothing of it is kept but text.
func (t *Diff) Add(x *incident.Partition) {
	name := t.Paths.label(x)
	var live []*incident.Copy
	for _, c := range x.Copies {
		if c.State == replica.Live && c.Err == nil {
			live = append(live, c)
		}
	}
	if !x.Ruling.Judged {
		t.unknown++
	}
	if len(x.Divergences) == 0 && x.Ruling.Judged && len(x.Errors) == 0 {
		switch {
		case len(live) < 2:
			t.alone = append(t.alone, name)
		default:
			t.agree = append(t.agree, fmt.Sprintf("%s: %s agree, offsets %s", name, count(len(live), "replica", "replicas"), extent(live)))
		}
		return
	}
	var lines []string
	say := func(more ...string) { lines = append(lines, more...) }
	matters := false
	for i := range x.Divergences {
		matters = matters || Matters(&x.Divergences[i])
	}
	if !matters && x.Ruling.Judged && len(x.Errors) == 0 {
		for i := range x.Divergences {
			d := &x.Divergences[i]
			t.normal = append(t.normal, fmt.Sprintf("%s: %s %s: %s", name, d.Kind, offsets(d.From, d.To), meaning(d)))
		}
		return
	}
	if matters {
		t.differ++
		say(name + " differs")
	} else {
		say(name)
	}
	say(labelled(2, "leader", rulingProse(x))...)
	if !x.Ruling.Judged {
		say(labelled(2, "cannot tell", Escape(x.Ruling.Reason))...)
	}
	for _, e := range x.Errors {
		say(labelled(2, "not read", Escape(e.Path)+": "+Escape(e.Err.Error()))...)
	}
	var pair [2]*incident.Copy
	for i := range x.Divergences {
		d := &x.Divergences[i]
		copies, sides := ordered(d)
		if copies != pair {
			pair = copies
			say(labelled(2, "compared", sideName(copies, 0)+" with "+sideName(copies, 1)+": "+prefix(d))...)
		}
		say(labelled(2, string(d.Kind), offsets(d.From, d.To)+": "+meaning(d))...)
		rows := table{header: []string{"", "", "", ""}}
		for i, c := range copies {
			what := span(sides[i].From, sides[i].To)
			if sides[i].From >= sides[i].To {
				what = "nothing"
			}
			rows.add("broker "+Escape(c.Broker.Name), what, held(sides[i]), Escape(c.Dir))
			if sides[i].From >= sides[i].To {
				rows.rows[i][2] = ""
			}
		}
		say(rows.lines(strings.Repeat(" ", 2+labelWidth))...)
	}
	t.blocks = append(t.blocks, strings.Join(lines, "\n"))
}

// prefix says up to where two replicas hold the same.
func prefix(d *incident.Divergence) string {
	start := max(d.A.Log.LogStartOffset, d.B.Log.LogStartOffset)
	if d.CommonEnd <= start {
		return "nothing in common at the start"
	}
	return "the same at " + offsets(start, d.CommonEnd)
}

// extent is the offsets that all of these replicas hold.
func extent(live []*incident.Copy) string {
	from, to := live[0].Log.LogStartOffset, live[0].Log.LogEndOffset
	for _, c := range live {
		from, to = max(from, c.Log.LogStartOffset), min(to, c.Log.LogEndOffset)
	}
	if from >= to {
		return "none"
	}
	return span(from, to)
}

// maxListed is how many partitions without a story are named one by one.
const maxListed = 20

// Print writes the comparison: the verdict, the partitions that differ, those
// that do not, the scope.
func (t *Diff) Print(w io.Writer) error {
	var out []string
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	switch n := t.Scope.Partitions; {
	case t.differ > 0:
		say("DIFFER ", "%s of %s: their replicas are not the same", comma(t.differ), count(n, "partition", "partitions"))
	case t.unknown > 0:
	case t.Scope.Compared == 0:
		say("", "Nothing to compare: one replica of each partition is among these inputs.")
	case len(t.normal) > 0:
		say("OK     ", "the replicas differ only as healthy ones do")
	default:
		say("OK     ", "the replicas agree")
	}
	if t.unknown > 0 {
		say("CANNOT TELL ", "for %s: the log of the leader is missing", count(t.unknown, "partition", "partitions"))
	}
	for _, b := range t.blocks {
		out = append(out, "", b)
	}
	if len(t.agree)+len(t.alone)+len(t.normal) > 0 {
		out = append(out, "")
	}
	if n := len(t.normal); n > maxListed {
		out = append(append(out, t.normal[:maxListed]...), fmt.Sprintf("… and %s more such differences, all in --json", comma(n-maxListed)))
	} else {
		out = append(out, t.normal...)
	}
	if n := len(t.agree); n > maxListed {
		say("", "%s: the replicas agree (all are in --json)", count(n, "partition", "partitions"))
	} else {
		out = append(out, t.agree...)
	}
	if n := len(t.alone); n > maxListed {
		say("", "%s: one replica only, nothing to compare (all are in --json)", count(n, "partition", "partitions"))
	} else {
		for _, name := range t.alone {
			out = append(out, name+": one replica only, nothing to compare")
		}
	}
	out = append(out, "")
	out = append(out, limits(t.Scope)...)
	out = append(out, t.Scope.checked())
	if t.differ > 0 {
		out = append(out, "Next: "+t.Paths.Again("loss"))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
