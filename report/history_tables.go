package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/kraft"
)

// partitions are those worth a block of their own.
func (t *History) partitions(h *incident.History) []string {
	var full []*incident.PartitionHistory
	for _, p := range h.Partitions {
		// The last leader put back is common after a kill, and loses nothing.
		if p.RecoveringBefore || slices.ContainsFunc(p.Unclean, func(u incident.UncleanElection) bool { return !u.SameLeader }) {
			full = append(full, p)
		}
	}
	slices.SortStableFunc(full, func(a, b *incident.PartitionHistory) int { return cmp.Compare(gravity(b), gravity(a)) })
	if len(h.Partitions) <= fullOthers {
		full = h.Partitions
	}
	var out, rest []string
	for i, p := range full {
		if i >= fullUnclean && t.Limit > 0 {
			rest = append(rest, t.name(p))
			continue
		}
		out = append(out, "")
		out = append(out, t.block(h, p)...)
	}
	if n := len(rest); n > 0 {
		if n > maxListed {
			rest = append(rest[:maxListed], count(n-maxListed, "other", "others"))
		}
		out = append(out, "")
		out = append(out, indented("", "Unclean elections also in "+list(rest)+"; all in full with --limit 0, one with --partition NAME.")...)
	}
	return out
}

// gravity orders partitions with unclean elections: what was lost first.
func gravity(p *incident.PartitionHistory) int {
	worst := 0
	for i := range p.Unclean {
		worst = max(worst, map[incident.Lost]int{incident.LostYes: 3, incident.LostMaybe: 2, incident.LostUnknown: 1}[p.Unclean[i].Lost])
	}
	return worst
}

// block is one partition in full: its unclean elections, its changes, its totals.
func (t *History) block(h *incident.History, p *incident.PartitionHistory) []string {
	out := []string{t.name(p) + deleted(p)}
	if p.RecoveringBefore {
		out = append(out, labelled(2, "UNCLEAN", "before the metadata begin: the oldest state says RECOVERING, which an unclean election leaves behind; when it was is not recorded")...)
	}
	for i := range p.Unclean {
		out = append(out, t.unclean(p, &p.Unclean[i])...)
	}
	out = append(out, t.changes(h, p)...)
	return append(out, labelled(2, "totals", churnProse(p))...)
}

func deleted(p *incident.PartitionHistory) string {
	if p.Topic.RemovedAt < 0 {
		return ""
	}
	s := fmt.Sprintf(", deleted at metadata offset %d", p.Topic.RemovedAt)
	if p.Topic.RemovedMs >= 0 {
		s += ", " + clock(p.Topic.RemovedMs)
	}
	return s
}

// unclean is one unclean election with its proof and what it lost.
func (t *History) unclean(p *incident.PartitionHistory, u *incident.UncleanElection) []string {
	c := &p.Changes[u.Index]
	proof := fmt.Sprintf("broker %d for epoch %d, metadata offset %d", c.Leader, c.LeaderEpoch, c.Offset)
	if c.TimeMs >= 0 {
		proof += ", " + clock(c.TimeMs)
	}
	if u.Before != nil {
		proof += fmt.Sprintf(": it was in neither the ISR %v nor the ELR %v", u.Before.ISR, u.Before.ELR)
	} else {
		proof += ": the state before is not known for certain"
	}
	if c.Recovering {
		proof += ", and the record sets the recovery state to RECOVERING"
	}
	switch {
	case c.PrevLeader >= 0:
		proof += fmt.Sprintf("; broker %d had led before", c.PrevLeader)
	default:
		proof += "; who had led before is not known"
	}
	out := labelled(2, "UNCLEAN", proof)
	switch u.Enabled {
	case "true":
		out = append(out, labelled(4, "why", "unclean.leader.election.enable was true ("+u.EnabledSource+")")...)
	default:
		if u.SameLeader {
			break
		}
		out = append(out, labelled(4, "why", "unclean.leader.election.enable was not true in the metadata: somebody asked for it (kafka-leader-election --election-type UNCLEAN), a broker's properties file allows it, or the controller chose the last known leader (KIP-966)")...)
	}
	word := map[incident.Lost]string{incident.LostYes: "yes", incident.LostMaybe: "maybe", incident.LostNothing: "nothing", incident.LostUnknown: "cannot be told"}[u.Lost]
	prose := word + ": " + Escape(u.Why)
	if len(u.Losses) > 0 {
		var words []string
		for i := range u.Losses {
			l := &u.Losses[i]
			s := sumOf([]incident.Loss{*l}, l.Committed)
			words = append(words, fmt.Sprintf("%s, %s, committed: %s, %s", s.where(), s.number(""), l.Committed, heldBy([]incident.Loss{*l})))
		}
		if n := len(words); n > 4 {
			words = append(words[:3], fmt.Sprintf("%d more ranges", n-3))
		}
		prose = word + ": " + strings.Join(words, "; ")
		if u.Lost == incident.LostUnknown {
			prose += "; " + Escape(u.Why)
		}
		if u.Lost == incident.LostNothing {
			prose += " (no loss to acks=all; acks=1 producers may have been told ok)"
		}
	}
	return append(out, labelled(4, "lost", prose)...)
}

// Rows of a long table that come first; the others are the newest.
const firstRows = 4

// shownRows picks the rows of a table of n: the oldest, the newest, and those marked.
// It returns where something was left out, and how much.
func (t *History) shownRows(n int, marked func(int) bool) (rows []int, skipped map[int]int) {
	skipped = map[int]int{}
	gap := 0
	for i := range n {
		if t.Limit > 0 && n > t.Limit && i >= firstRows && i < n-max(t.Limit-firstRows, 1) && !marked(i) {
			gap++
			continue
		}
		if gap > 0 {
			skipped[len(rows)-1] = gap
			gap = 0
		}
		rows = append(rows, i)
	}
	return rows, skipped
}

// changes is the table of a partition.
func (t *History) changes(h *incident.History, p *incident.PartitionHistory) []string {
	var inside []int
	for i := range p.Changes {
		if ms := p.Changes[i].TimeMs; ms < 0 || h.FromMs <= ms && ms < h.ToMs {
			inside = append(inside, i)
		}
	}
	if len(inside) == 0 {
		return labelled(2, "changes", "none between the times asked for")
	}
	var times []int64
	for _, i := range inside {
		times = append(times, p.Changes[i].TimeMs)
	}
	title, cell := clockColumn(times)
	elr := slices.ContainsFunc(inside, func(i int) bool { return len(p.Changes[i].ELR)+len(p.Changes[i].LastKnownELR) > 0 })
	tab := table{header: []string{title, ">OFFSET", ">LEADER", ">EPOCH", "ISR"}}
	if elr {
		tab.header = append(tab.header, "ELR")
	}
	tab.wrap = true
	tab.header = append(tab.header, "WHAT HAPPENED")
	rows, skipped := t.shownRows(len(inside), func(k int) bool { return p.UncleanAt(inside[k]) != nil })
	for k, at := range rows {
		i := inside[at]
		c := &p.Changes[i]
		leader := "none"
		if c.Leader >= 0 {
			leader = fmt.Sprint(c.Leader)
		}
		line := []string{cell(c.TimeMs), fmt.Sprint(c.Offset), leader, fmt.Sprint(c.LeaderEpoch), ids(c.ISR)}
		if elr {
			line = append(line, elrCell(c))
		}
		tab.add(append(line, Escape(h.Happened(p, i)))...)
		if n := skipped[k]; n > 0 {
			tab.note(fmt.Sprintf("… %s, all with --limit 0", count(n, "more change", "more changes")))
		}
	}
	return tab.lines("  ")
}

// ids prints broker ids: "1,2,3", "-" for none.
func ids(l []int32) string {
	if len(l) == 0 {
		return "-"
	}
	words := make([]string, len(l))
	for i, id := range l {
		words[i] = fmt.Sprint(id)
	}
	return strings.Join(words, ",")
}

func elrCell(c *kraft.Change) string {
	if len(c.ELR) == 0 && len(c.LastKnownELR) > 0 {
		return "(last known " + ids(c.LastKnownELR) + ")"
	}
	return ids(c.ELR)
}

// clockColumn prints times with milliseconds, and the day in the column's title where
// all are of one day.
func clockColumn(times []int64) (title string, cell func(int64) string) {
	day, same := "", true
	for _, ms := range times {
		if ms < 0 {
			continue
		}
		d := time.UnixMilli(ms).UTC().Format(dayFormat)
		if day == "" {
			day = d
		}
		same = same && d == day
	}
	format := dayFormat + " 15:04:05.000"
	title = "TIME (UTC)"
	if same && day != "" {
		format, title = "15:04:05.000", day+" (UTC)"
	}
	return title, func(ms int64) string {
		if ms < 0 {
			return "-"
		}
		return time.UnixMilli(ms).UTC().Format(format)
	}
}

// churnProse is a partition's totals in a sentence.
func churnProse(p *incident.PartitionHistory) string {
	n := &p.Churn
	words := []string{count(n.LeaderChanges, "leader change", "leader changes"), count(n.Shrinks, "ISR shrink", "ISR shrinks"), count(n.Expands, "ISR expand", "ISR expands")}
	if n.Leaderless > 0 || n.LeaderlessMs > 0 {
		still := ""
		if p.Last().Leader < 0 && p.Topic.RemovedAt < 0 {
			still = " up to the end of the metadata, and still"
		}
		words = append(words, "without a leader for "+duration(n.LeaderlessMs)+still)
	}
	switch {
	case n.UnderMinISRMs == nil:
		words = append(words, "time under min.insync.replicas not known (it is not in the metadata: --min-isr N or --server-properties FILE)")
	case *n.UnderMinISRMs > 0:
		words = append(words, fmt.Sprintf("under min.insync.replicas %d (%s) for %s", n.MinISR, Escape(n.MinISRSource), duration(*n.UnderMinISRMs)))
	default:
		words = append(words, fmt.Sprintf("never under min.insync.replicas %d (%s)", n.MinISR, Escape(n.MinISRSource)))
	}
	if n.Reassigned > 0 {
		words = append(words, count(n.Reassigned, "change of replicas", "changes of replicas"))
	}
	return strings.Join(words, ", ")
}

// busy orders partitions by what happened to them.
func busy(n *incident.Churn) int {
	return 100*n.Unclean + 3*n.LeaderChanges + n.Leaderless + n.Shrinks + n.Expands
}

// totals is the churn of partitions and of brokers.
func (t *History) totals(h *incident.History) []string {
	var out []string
	if len(h.Partitions) > fullOthers || t.Churn {
		parts := slices.Clone(h.Partitions)
		slices.SortStableFunc(parts, func(a, b *incident.PartitionHistory) int { return cmp.Compare(busy(&b.Churn), busy(&a.Churn)) })
		shown := parts
		if n := t.shortRows(); n > 0 && len(parts) > n {
			shown = parts[:n]
		}
		tab := table{header: []string{"PARTITION", ">LEADER", ">EPOCH", "ISR", ">LED BY ANOTHER", ">UNCLEAN", ">SHRINKS", ">EXPANDS", ">LEADERLESS", ">UNDER MIN ISR"}}
		unknown := false
		for _, p := range shown {
			c, n := p.Last(), &p.Churn
			leader := "none"
			if c.Leader >= 0 {
				leader = fmt.Sprint(c.Leader)
			}
			if p.Topic.RemovedAt >= 0 {
				leader = "deleted"
			}
			under := "?"
			if n.UnderMinISRMs != nil {
				under = "-"
				if *n.UnderMinISRMs > 0 {
					under = duration(*n.UnderMinISRMs)
				}
			} else {
				unknown = true
			}
			leaderless := "-"
			if n.LeaderlessMs > 0 {
				leaderless = duration(n.LeaderlessMs)
			}
			if c.Leader < 0 && p.Topic.RemovedAt < 0 {
				leaderless = strings.TrimPrefix(leaderless+", still", "-, ")
			}
			tab.add(t.name(p), leader, fmt.Sprint(c.LeaderEpoch), ids(c.ISR), comma(n.LeaderChanges), comma(n.Unclean), comma(n.Shrinks), comma(n.Expands), leaderless, under)
		}
		out = append(out, "")
		out = append(out, tab.lines("")...)
		if n := len(parts) - len(shown); n > 0 {
			out = append(out, fmt.Sprintf("… %s, all with --churn, one in full with --partition NAME", count(n, "quieter partition", "quieter partitions")))
		}
		if unknown {
			out = append(out, indented("", "?: min.insync.replicas is not in the metadata; give it with --min-isr N or --server-properties FILE.")...)
		}
	}
	return append(out, t.brokers(h)...)
}

// shortRows is how many rows the tables of totals have, 0 all.
func (t *History) shortRows() int {
	switch {
	case t.Churn:
		return 0
	case t.Limit > 0:
		return min(t.Limit, maxListed)
	}
	return maxListed
}

func (t *History) brokers(h *incident.History) []string {
	if len(h.Brokers) == 0 {
		return nil
	}
	tab := table{header: []string{">BROKER", ">STARTS", ">FENCED", "FENCED FOR", ">LEADERSHIPS", "", ">UNCLEAN", ">ISR", "", "AT THE END"}}
	shown := h.Brokers
	if n := t.shortRows(); n > 0 && len(shown) > n {
		shown = shown[:n]
	}
	for _, b := range shown {
		state := "not in the metadata"
		if b.Known {
			state = "serving"
			switch {
			case b.Last.Kind == kraft.Unregistered:
				state = "unregistered"
			case b.Last.Fenced:
				state = "fenced since " + clock(b.Last.TimeMs)
			case b.Last.InControlledShutdown:
				state = "in a controlled shutdown since " + clock(b.Last.TimeMs)
			}
		}
		fenced := ""
		if b.FencedMs > 0 {
			fenced = duration(b.FencedMs)
			if b.Fenced == 0 {
				fenced += ", at its start"
			}
		}
		tab.add(fmt.Sprint(b.ID), comma(b.Registered), comma(b.Fenced), fenced, "+"+comma(b.LeaderGained), "-"+comma(b.LeaderLost), comma(b.UncleanlyElected), "+"+comma(b.JoinedISR), "-"+comma(b.LeftISR), state)
	}
	out := append([]string{""}, tab.lines("")...)
	if n := len(h.Brokers) - len(shown); n > 0 {
		out = append(out, fmt.Sprintf("… %s, all with --churn", count(n, "more broker", "more brokers")))
	}
	return out
}

// events are topics, configurations, brokers and controllers.
func (t *History) events(h *incident.History) []string {
	var list []*incident.MetadataEvent
	for i := range h.Events {
		// What a snapshot repeats is state, no event; every start of a broker reports its
		// directories.
		if e := &h.Events[i]; !e.FromSnapshot && e.Kind != incident.BrokerDirsChanged {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil
	}
	var times []int64
	for _, e := range list {
		times = append(times, e.TimeMs)
	}
	title, cell := clockColumn(times)
	tab := table{header: []string{title, ">OFFSET", "CLUSTER"}, wrap: true}
	rows, skipped := t.shownRows(len(list), func(int) bool { return false })
	for k, i := range rows {
		e := list[i]
		tab.add(cell(e.TimeMs), fmt.Sprint(e.Offset), Escape(e.Says()))
		if n := skipped[k]; n > 0 {
			tab.note(fmt.Sprintf("… %s, all with --limit 0", count(n, "more event", "more events")))
		}
	}
	return append([]string{""}, tab.lines("")...)
}

// LostRecords reports whether an unclean election of the history lost records, or may
// have: with counted losses as proof.
func LostRecords(p *incident.PartitionHistory) bool {
	return slices.ContainsFunc(p.Unclean, func(u incident.UncleanElection) bool {
		return slices.ContainsFunc(u.Losses, func(l incident.Loss) bool { return l.Committed != commitment.No })
	})
}

// brokerState is a broker's registration at the end, in a word.
func brokerState(b *incident.BrokerHistory) string {
	switch {
	case !b.Known:
		return "unknown"
	case b.Last.Kind == kraft.Unregistered:
		return "unregistered"
	case b.Last.Fenced:
		return "fenced"
	case b.Last.InControlledShutdown:
		return "controlled-shutdown"
	}
	return "active"
}
