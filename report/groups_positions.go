package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
)

// The columns of the table that are left out where no log is known.
const firstLogColumn, lastLogColumn = 2, 4

// positionTable is a row a position, then what is pending.
func positionTable(v *incident.GroupView, shown []*incident.GroupPosition, allAbsent bool) []string {
	tab := table{header: []string{"PARTITION", ">OFFSET", ">LOG START", ">LOG END", ">LAG", ">LEADER EPOCH", "COMMITTED", ""}, wrap: true}
	known := false
	add := func(p *incident.GroupPosition, note string) {
		cells := row(p)
		if allAbsent && p.Meeting.Absent { // the verdict has said so
			cells[7] = strings.TrimPrefix(strings.TrimPrefix(cells[7], notHere), ", ")
		}
		if note != "" {
			cells[7] = note
		}
		tab.add(cells...)
		known = known || p.Meeting.LogEnd >= 0
	}
	for _, p := range shown {
		add(p, "")
	}
	for p := range v.Pending() {
		add(&p, fmt.Sprintf("pending: in an open transaction of producer %d", p.ProducerID))
	}
	if len(tab.rows) == 0 {
		return nil
	}
	if !known {
		tab.header = slices.Delete(tab.header, firstLogColumn, lastLogColumn+1)
		for i := range tab.rows {
			tab.rows[i] = slices.Delete(tab.rows[i], firstLogColumn, lastLogColumn+1)
		}
	}
	return tab.lines("  ")
}

// chosen are the positions to show, those in trouble first.
func (t *Groups) chosen(v *incident.GroupView) []*incident.GroupPosition {
	var out []*incident.GroupPosition
	for p := range v.Positions() {
		if !p.Deleted || t.All {
			out = append(out, &p)
		}
	}
	slices.SortStableFunc(out, func(a, b *incident.GroupPosition) int { return trouble(a) - trouble(b) })
	return out
}

func trouble(p *incident.GroupPosition) int {
	switch {
	case p.Deleted:
		return 3
	case p.Meeting.Harmful():
		return 0
	case p.Meeting.Kind == incident.BelowStart:
		return 1
	}
	return 2
}

func row(p *incident.GroupPosition) []string {
	known := func(n int64) string {
		if n < 0 {
			return "?"
		}
		return fmt.Sprint(n)
	}
	m := &p.Meeting
	cells := []string{Escape(partitionName(p.Topic, p.Partition)), known(p.Offset), known(m.LogStart), known(m.LogEnd), known(m.Lag), "-", "", ""}
	if p.LeaderEpoch >= 0 {
		cells[5] = fmt.Sprint(p.LeaderEpoch)
	}
	ms := p.CommitMs
	if p.Deleted {
		ms = p.AtMs
		cells[1], cells[2], cells[3], cells[4] = "-", "", "", ""
	}
	if ms >= 0 {
		cells[6] = clock(ms)
	}
	var notes []string
	switch m.Kind {
	case incident.MeetingUnknown:
		notes = append(notes, map[bool]string{true: notHere, false: "cannot be told"}[m.Absent])
	case incident.BeyondEnd:
		cells[4] = "-" // not unknown: there is none
		notes = append(notes, fmt.Sprintf("%s beyond the log end", comma(p.Offset-m.LogEnd)))
	case incident.BelowStart:
		notes = append(notes, fmt.Sprintf("%s below the log start", comma(m.LogStart-p.Offset)))
	case incident.Replaced:
		notes = append(notes, "records below were replaced")
	case incident.OtherTopic:
		notes = append(notes, "of a topic that was deleted")
	}
	switch {
	case p.Deleted:
		notes = []string{"deleted"}
	case p.Expired:
		notes = append(notes, "expired "+clock(p.ExpireMs))
	}
	cells[7] = strings.Join(notes, ", ")
	return cells
}

// meets says what a group in trouble will find, and how that is known.
func meets(p *incident.GroupPosition) []string {
	m := &p.Meeting
	if p.Deleted {
		return nil
	}
	name := clipped(Escape(partitionName(p.Topic, p.Partition)), maxCell)
	where := fmt.Sprintf("broker %s's log", Escape(m.Broker.Name))
	if m.Basis == "guess" {
		where += " (its leadership is a guess)"
	} else if m.Basis == "longest" {
		where += " (nobody rules; no live copy reaches further)"
	}
	read := ""
	if m.From >= 0 && p.Offset > m.From {
		read = fmt.Sprintf("The group had read %s", offsets(m.From, p.Offset))
		if m.Epoch >= 0 {
			how := "by its commit"
			if m.ByTime {
				how = "by the time of its commit, which names no epoch"
			}
			read += fmt.Sprintf(" of leader epoch %d or earlier (%s)", m.Epoch, how)
		}
		switch {
		case m.Kind == incident.BeyondEnd && m.From >= m.LogEnd:
			// In the log's own epoch nothing tells a truncation from a disk copied too early.
			read = fmt.Sprintf("Its position stands above the end of %s: records were cut off, or written after that disk was copied, or the position was set by hand. ", where)
		default:
			read += ", which " + where + " no longer has. "
		}
	}
	var what string
	switch m.Kind {
	case incident.MeetingUnknown:
		if m.Absent {
			return nil
		}
		what = "Cannot be told: " + Escape(m.Why) + "."
	case incident.BeyondEnd:
		what = fmt.Sprintf("At %d its fetch is out of range: auto.offset.reset decides (latest goes to the log end, earliest reads everything again, none fails). "+
			"If producers write past %d before it comes back, it notices nothing and never reads what stands at %s by then.", p.Offset, p.Offset, offsets(m.From, p.Offset))
		if p.LeaderEpoch >= 0 && m.Epoch >= 0 && m.From < m.LogEnd {
			what = fmt.Sprintf("At %d a client since 2.3 finds that the log was truncated (KIP-320): with auto.offset.reset it goes back to %d, without it fails with LogTruncationException. "+
				"Older clients: out of range, then auto.offset.reset.", p.Offset, m.From)
		}
	case incident.Replaced:
		what = fmt.Sprintf("Other records stand at %s now. ", offsets(m.From, p.Offset))
		if p.LeaderEpoch >= 0 {
			what += fmt.Sprintf("A client since 2.3 finds that out (KIP-320): with auto.offset.reset it goes back to %d, without it fails with LogTruncationException. Older clients go on at %d and never read them.", m.From, p.Offset)
		} else {
			what += fmt.Sprintf("Its commit names no epoch, so it notices nothing, goes on at %d and never reads them.", p.Offset)
		}
	default:
		return nil
	}
	return indented("  "+name+": ", read+what)
}
