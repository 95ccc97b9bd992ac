package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/logdir"
)

// Losses gathers what is lost in all partitions, in full.
type Losses struct {
	Paths *Paths
	Scope *Scope

	blocks  []string
	lost    int // partitions with a counted loss that is not pending, see pending
	yes     sum // committed
	maybe   sum // not known whether
	atRisk  int // partitions with a pending one
	risk    sum // committed
	perhaps sum // not known whether
	none    int
	unknown int
	open    int // nobody rules, and some candidate would lose something
	anyway  int // of open: every candidate would
	notes   []string
	untold  bool    // a loss whose end is not recorded, and of which no copy is left
	askFor  []int32 // brokers not among the inputs that may hold lost records
	// groups are the reasons why not all groups are known that had read lost records.
	groups []string
}

// Notes takes in what is to be said of the brokers' text logs.
func (t *Losses) Notes(notes []logdir.Note) {
	t.notes = append(t.notes, serverLogNotes(notes)...)
}

func serverLogNotes(notes []logdir.Note) []string {
	var out []string
	for _, n := range notes {
		if n.Kind == logdir.NoteServerLog || n.Kind == logdir.NoteGroupCommit {
			out = append(out, indented("note ", Escape(n.Text))...)
		}
	}
	return out
}

// Add takes in one partition. Nothing of it is kept but text.
func (t *Losses) Add(x *incident.Partition) {
	var lines []string
	say := func(more ...string) { lines = append(lines, more...) }
	fact := func(label, prose string) { say(labelled(2, label, prose)...) }
	name := t.Paths.label(x)
	for _, e := range x.Errors {
		fact("not read", Escape(e.Path)+": "+Escape(e.Err.Error()))
	}
	candidatesLose := false
	for _, c := range x.Candidates {
		candidatesLose = candidatesLose || loses(c)
	}
	switch {
	case !x.Ruling.Judged:
		t.unknown++
		fact("leader", rulingProse(x))
		fact("cannot tell", Escape(x.Ruling.Reason))
	case candidatesLose:
		t.open++
		if AllLose(x) {
			t.anyway++
		}
		t.openCase(x, say)
		if len(x.Losses) > 0 { // whoever leads
			t.lostRecords(x, say)
		}
	case len(x.Losses) > 0:
		t.lostRecords(x, say)
	case len(lines) == 0:
		t.none++
	}
	if x.Retried > 0 {
		fact("no loss", count(x.Retried, "record stands", "records stand")+" at another offset again, written by an idempotent retry")
	}
	if len(lines) > 0 {
		t.blocks = append(t.blocks, name+"\n"+strings.Join(lines, "\n"))
	}
}

func (t *Losses) openCase(x *incident.Partition, say func(...string)) {
	prose, body := t.Paths.candidates(x, 2)
	say(indented("  ", prose)...)
	say(body...)
	for i := range x.Candidates {
		c := &x.Candidates[i]
		for k := range c.Losses {
			l := &c.Losses[k]
			if l.Counts() {
				say(indented("  ", fmt.Sprintf("if broker %s leads, lost: %s", Escape(c.Leader.Name), lossLineOf(l)))...)
				say(t.Paths.proof(x, l, 4)...)
			}
		}
	}
}

func (t *Losses) lostRecords(x *incident.Partition, say func(...string)) {
	if x.Ruling.Leader != nil || len(x.Candidates) == 0 {
		say(labelled(2, "leader", rulingProse(x))...)
	} else {
		say(indented("  ", "whoever leads:")...)
	}
	counts := false
	var gone, risk []incident.Loss
	for i := range x.Losses {
		l := &x.Losses[i]
		if why := l.GroupsUnknown; why != "" && l.Counts() && !slices.Contains(t.groups, why) {
			t.groups = append(t.groups, why)
		}
		word := map[commitment.Grade]string{commitment.Yes: "LOST", commitment.Unknown: "LOST?", commitment.No: "no loss"}[l.Committed]
		if l.Counts() && x.Pending(l) {
			word = "AT RISK"
			risk = append(risk, *l)
		} else {
			gone = append(gone, *l)
		}
		say(labelled(2, word, lossLineOf(l))...)
		say(t.Paths.proof(x, l, 4)...)
		if l.Committed == commitment.No {
			say(labelled(4, "so", "this is no loss to acks=all; acks=1 producers may have been told ok")...)
		}
		counts = counts || l.Counts()
	}
	if !counts {
		return
	}
	if sumOf(gone, counted...).losses > 0 {
		t.lost++
		t.yes.add(sumOf(gone, commitment.Yes))
		t.maybe.add(sumOf(gone, commitment.Unknown))
	}
	if len(risk) > 0 {
		t.atRisk++
		t.risk.add(sumOf(risk, commitment.Yes))
		t.perhaps.add(sumOf(risk, commitment.Unknown))
		say(indented("  ", "What is at risk is not gone yet: the next start of "+leaderOf(x)+" deletes it from its log, in favour of the .swap files beside it.")...)
	}
	stop, save := t.Paths.advice(x)
	if line := stop.prose(); line != "" {
		say(indented("  ", line)...)
	}
	for _, line := range save {
		say(indented("  ", line)...)
	}
	if next := t.Paths.next(x); next != "" {
		say("  Next: " + next)
		return
	}
	for i := range x.Losses {
		l := &x.Losses[i]
		if l.Counts() && l.Basis == "trace" && len(l.Copies) == 0 {
			t.untold = t.untold || l.To == nil && l.Cause != incident.CauseDamage
			for _, id := range l.AskFor {
				if !slices.Contains(t.askFor, id) {
					t.askFor = append(t.askFor, id)
				}
			}
		}
	}
}

// next is what to run, or to fetch, after this answer as a whole.
func (t *Losses) next() []string {
	switch {
	case t.open > 0:
		return []string{"Next: " + t.Paths.Again("predict", "leader")}
	case len(t.askFor) > 0:
		return indented("Next: ", "copy the log directories of "+idList(t.askFor)+" and give them as well: they may hold what is lost here.")
	case t.untold && !t.Paths.ServerLogs:
		return append(indented("Next: ", "the brokers' own text logs may say how much was cut off. Give the server.log of each broker, with the older ones (server.log.DATE, .gz as they are):"),
			"  "+t.Paths.Again("loss", "--server-log", "FILE"))
	}
	return nil
}

// lossLineOf is a loss in one line.
func lossLineOf(l *incident.Loss) string {
	s := sumOf([]incident.Loss{*l}, l.Committed)
	return s.where() + ", " + s.number("")
}

// Print writes the verdict, then every partition with something to say.
func (t *Losses) Print(w io.Writer) error {
	var out []string
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	out = append(out, t.Paths.mixed()...)
	switch {
	case t.lost > 0 && t.yes.losses > 0 && t.maybe.losses > 0:
		say("LOST   ", "%s, and %s that may have been committed, in %s", t.yes.number("committed "), t.maybe.number(""), count(t.lost, "partition", "partitions"))
	case t.lost > 0 && t.yes.losses > 0:
		say("LOST   ", "%s in %s", t.yes.number("committed "), count(t.lost, "partition", "partitions"))
	case t.lost > 0:
		say("LOST?  ", "%s that may have been committed, in %s; nothing proves that they were", t.maybe.number(""), count(t.lost, "partition", "partitions"))
	case t.atRisk > 0 || t.unknown > 0 || t.Scope.Errors > 0 || t.open > 0:
	case len(t.Scope.Absent) > 0 || t.Scope.WithoutMetadata > 0 || t.Scope.Compared == 0:
		say("OK     ", "nothing is lost as far as these inputs tell: what a copy holds is in the leader's log, was never committed, or is gone by retention or compaction")
	default:
		say("OK     ", "nothing is lost: what a copy holds is in the leader's log, was never committed, or is gone by retention or compaction")
	}
	if t.atRisk > 0 {
		prose := t.risk.number("committed ")
		switch {
		case t.risk.losses == 0:
			prose = t.perhaps.number("") + " that may have been committed,"
		case t.perhaps.losses > 0:
			prose += ", and " + t.perhaps.number("") + " that may have been committed,"
		}
		say("AT RISK ", "%s in %s: not gone yet, but the next start of the leader deletes them from its log", prose, count(t.atRisk, "partition", "partitions"))
	}
	if t.unknown > 0 {
		say("CANNOT TELL ", "whether anything is lost in %s", count(t.unknown, "partition", "partitions"))
	}
	if t.open > 0 {
		switch {
		case t.anyway == t.open:
			say("NO LEADER ", "in %s: whoever is elected, records are lost; who is elected decides which", count(t.open, "partition", "partitions"))
		case t.anyway > 0:
			say("NO LEADER ", "in %s: who is elected decides what is lost; in %s of them records are lost whoever is elected", count(t.open, "partition", "partitions"), comma(t.anyway))
		default:
			say("NO LEADER ", "in %s: who is elected decides what is lost", count(t.open, "partition", "partitions"))
		}
	}
	if t.lost+t.atRisk+t.unknown+t.open == 0 && t.Scope.Errors > 0 {
		say("NOT READ ", "%s; apart from that nothing is lost", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
	}
	for _, b := range t.blocks {
		out = append(out, "", b)
	}
	out = append(out, "")
	if len(t.blocks) > 0 && t.none > 0 {
		say("", "Nothing is lost in %s.", count(t.none, "other partition", "other partitions"))
	}
	for _, why := range t.groups {
		say("", "Not known: which consumer groups had read lost records; %s.", Escape(why))
	}
	out = append(out, t.notes...)
	out = append(out, limits(t.Scope)...)
	out = append(out, t.Scope.checked())
	out = append(out, t.next()...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
