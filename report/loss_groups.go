package report

import (
	"fmt"

	"kafsck/incident"
)

// shownReaders is how many groups the text names for a loss; JSON has all.
const shownReaders = 5

// readers are the rows that name the consumer groups which had read into a loss.
func readers(l *incident.Loss, row func(label, prose string)) {
	for i := range l.Groups {
		label := ""
		if i == 0 {
			label = "read by"
		}
		if i == shownReaders {
			row("", fmt.Sprintf("and %s more; --json names them all", count(len(l.Groups)-i, "group", "groups")))
			return
		}
		row(label, reader(l, &l.Groups[i]))
	}
}

// readersByName is the one row that names the groups and no more.
func readersByName(l *incident.Loss, row func(label, prose string)) {
	var words []string
	for i := range l.Groups {
		if i == shownReaders {
			words = append(words, fmt.Sprintf("%d more", len(l.Groups)-i))
			break
		}
		words = append(words, Escape(l.Groups[i].Group))
	}
	switch len(l.Groups) {
	case 0:
	case 1:
		row("read by", "group "+words[0]+"; kafsck loss says what it meets")
	default:
		row("read by", "groups "+list(words)+"; kafsck loss says what they meet")
	}
}

// reader says what a group had read, and what it meets.
func reader(l *incident.Loss, g *incident.GroupLoss) string {
	s := fmt.Sprintf("group %s, %s: ", Escape(g.Group), offsets(*l.From, g.Read))
	switch g.Meets {
	case incident.MeetsReset:
		if g.Position < 0 {
			return s + "it has no committed position any more; auto.offset.reset decides where it goes on"
		}
		return s + fmt.Sprintf("its position %d lies beyond the leader's log end %d: OFFSET_OUT_OF_RANGE, and auto.offset.reset decides: with latest it never reads what is written until then, with earliest it reads all again; "+
			"if producers pass %d before it comes back, it notices nothing and never reads what they wrote below", g.Position, g.LogEnd, g.Position)
	case incident.MeetsTruncation:
		s += fmt.Sprintf("its position %d carries leader epoch %d: the consumer notices the truncation (clients since 2.3)", g.Position, g.LeaderEpoch)
		if g.GapFrom >= 0 {
			s += fmt.Sprintf(" and goes on at %d", g.GapFrom)
		}
		return s + "; with auto.offset.reset=none it throws LogTruncationException"
	case incident.MeetsGap:
		return s + fmt.Sprintf("a silent gap: its position %d carries no leader epoch, so it goes on there and never reads the new records at %s", g.Position, offsets(g.GapFrom, g.Position))
	case incident.MeetsAgain:
		return s + fmt.Sprintf("its position is %d now: it reads from there again, and meets other records than the ones it had read", g.Position)
	case incident.MeetsNothing:
		return s + fmt.Sprintf("it has come back since: its position %d lies in the leader's log, on the leader's line", g.Position)
	}
	return s + "what it meets is not known: " + Escape(g.Why)
}

// causeOf says why the leader's log lacks the records, and names the election.
func causeOf(l *incident.Loss) string {
	e := l.Election
	if e == nil {
		return causes[l.Cause]
	}
	when := ""
	if t := clock(e.TimeMs); t != "" && !e.FromSnapshot {
		when = t + ", "
	}
	if l.Cause == incident.CauseUnclean {
		return fmt.Sprintf("unclean election of broker %d for epoch %d, %smetadata offset %d", e.Leader, e.Epoch, when, e.Offset)
	}
	return fmt.Sprintf("not replicated: broker %d had not fetched them when it was elected for epoch %d, %smetadata offset %d", e.Leader, e.Epoch, when, e.Offset)
}
