package report

import (
	"fmt"
	"io"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
)

// Losses gathers what is lost in all partitions, in full.
type Losses struct {
	Paths *Paths
	Scope *Scope

	blocks  []string
	lost    int // partitions with a counted loss
	yes     sum // committed
	maybe   sum // not known whether
	none    int
	unknown int
	open    int // nobody rules, and some candidate would lose something
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
		t.openCase(x, say)
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
	say(labelled(2, "leader", rulingProse(x))...)
	counts := false
	for i := range x.Losses {
		l := &x.Losses[i]
		word := map[commitment.Grade]string{commitment.Yes: "LOST", commitment.Unknown: "LOST?", commitment.No: "no loss"}[l.Committed]
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
	t.lost++
	t.yes.add(sumOf(x.Losses, commitment.Yes))
	t.maybe.add(sumOf(x.Losses, commitment.Unknown))
	stop, save := t.Paths.advice(x)
	if line := stop.prose(); line != "" {
		say(indented("  ", line)...)
	}
	for _, line := range save {
		say(indented("  ", line)...)
	}
	if next := t.Paths.next(x); next != "" {
		say("  Next: " + next)
	}
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
	switch {
	case t.lost > 0 && t.yes.losses > 0 && t.maybe.losses > 0:
		say("LOST   ", "%s, and %s that may have been committed, in %s", t.yes.number("committed "), t.maybe.number(""), count(t.lost, "partition", "partitions"))
	case t.lost > 0 && t.yes.losses > 0:
		say("LOST   ", "%s in %s", t.yes.number("committed "), count(t.lost, "partition", "partitions"))
	case t.lost > 0:
		say("LOST?  ", "%s that may have been committed, in %s; nothing proves that they were", t.maybe.number(""), count(t.lost, "partition", "partitions"))
	case t.unknown > 0 || t.Scope.Errors > 0 || t.open > 0:
	case len(t.Scope.Absent) > 0 || t.Scope.WithoutMetadata > 0 || t.Scope.Compared == 0:
		say("OK     ", "nothing is lost as far as these inputs tell: what a copy holds is in the leader's log, was never committed, or is gone by retention or compaction")
	default:
		say("OK     ", "nothing is lost: what a copy holds is in the leader's log, was never committed, or is gone by retention or compaction")
	}
	if t.unknown > 0 {
		say("CANNOT TELL ", "whether anything is lost in %s", count(t.unknown, "partition", "partitions"))
	}
	if t.open > 0 {
		say("NO LEADER ", "in %s: who is elected decides what is lost", count(t.open, "partition", "partitions"))
	}
	if t.lost+t.unknown+t.open == 0 && t.Scope.Errors > 0 {
		say("NOT READ ", "%s; apart from that nothing is lost", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
	}
	for _, b := range t.blocks {
		out = append(out, "", b)
	}
	out = append(out, "")
	if len(t.blocks) > 0 && t.none > 0 {
		say("", "Nothing is lost in %s.", count(t.none, "other partition", "other partitions"))
	}
	out = append(out, limits(t.Scope)...)
	out = append(out, t.Scope.checked())
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
