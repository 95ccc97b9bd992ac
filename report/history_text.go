package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/logdir"
)

// History prints what the cluster metadata tell over time.
type History struct {
	Paths     *Paths
	Scope     *Scope
	Histories []*incident.History
	// Limit is how many rows a table has, 0 all.
	Limit int
	// Churn: the totals of every partition and broker.
	Churn bool
	// Timeline, if not nil, takes the place of the tables.
	Timeline *Timeline
	// Others are partitions with losses that no unclean election of the metadata accounts for.
	Others []*incident.Partition

	notes []string
}

// Notes takes in what is to be said of the brokers' text logs.
func (t *History) Notes(notes []logdir.Note) { t.notes = append(t.notes, serverLogNotes(notes)...) }

// Partitions that are shown in full without being asked for.
const (
	fullUnclean = 5 // those with unclean elections
	fullOthers  = 2 // all, if there are no more
)

// Print writes the verdict, the reach, the partitions, the totals.
func (t *History) Print(w io.Writer) error {
	var out []string
	say := func(more ...string) { out = append(out, more...) }
	say(t.Paths.mixed()...)
	say(t.verdict()...)
	say(t.notes...)
	for _, h := range t.Histories {
		if h.Log == nil {
			continue
		}
		say("")
		if len(t.Histories) > 1 {
			say("Cluster " + Escape(cmp.Or(h.Cluster.ID, "without an id")))
		}
		say(t.sources(h)...)
		if t.Timeline != nil {
			continue
		}
		say(t.partitions(h)...)
		say(t.totals(h)...)
		say(t.events(h)...)
	}
	if t.Timeline != nil {
		say(t.Timeline.lines()...)
	}
	say("")
	for _, h := range t.Histories {
		for _, e := range h.Errors {
			say(labelled(0, "not read", Escape(e.Path)+": "+Escape(e.Err.Error()))...)
		}
	}
	if t.Scope.Partitions > 0 {
		say(t.Scope.checked())
	}
	if next := t.next(); next != "" {
		say("Next: " + next)
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// tally counts unclean elections by what they lost.
type tally struct {
	elections, partitions      int
	yes, maybe, none, unknown  int
	same                       int // of none: the broker that had led last
	records                    sum
	single                     *incident.PartitionHistory
	selected, recoveringBefore int
	ahead                      []*incident.PartitionHistory
	// leaderless at the end; unnumbered: a range that may be lost is not known in number.
	leaderless int
	unnumbered bool
}

func (t *History) tally() tally {
	var n tally
	for _, h := range t.Histories {
		n.selected += len(h.Partitions)
		for _, p := range h.Partitions {
			if p.RecoveringBefore {
				n.recoveringBefore++
			}
			if p.Ahead >= 0 {
				n.ahead = append(n.ahead, p)
			}
			if p.Topic.RemovedAt < 0 && p.Last().Leader < 0 {
				n.leaderless++
			}
			if len(p.Unclean) == 0 {
				continue
			}
			n.partitions++
			n.single = p
			for i := range p.Unclean {
				u := &p.Unclean[i]
				n.elections++
				switch u.Lost {
				case incident.LostYes:
					n.yes++
					s := sumOf(u.Losses, commitment.Yes)
					n.records.add(s)
				case incident.LostMaybe:
					n.maybe++
					s := sumOf(u.Losses, counted...)
					n.unnumbered = n.unnumbered || s.records == 0
				case incident.LostNothing:
					n.none++
					if u.SameLeader {
						n.same++
					}
				default:
					n.unknown++
				}
			}
		}
	}
	return n
}

// verdict is the first lines: unclean elections, and what is not known.
func (t *History) verdict() []string {
	slices.SortStableFunc(t.Others, func(a, b *incident.Partition) int {
		x, y := sumOf(a.Losses, commitment.Yes), sumOf(b.Losses, commitment.Yes)
		return cmp.Compare(y.records, x.records)
	})
	var out []string
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	if !slices.ContainsFunc(t.Histories, func(h *incident.History) bool { return h.Log != nil }) {
		if t.Scope.Errors > 0 {
			say("NOT READ ", "%s", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
		}
		for _, x := range t.Others {
			word, prose := t.Paths.lossHead(x)
			say(fmt.Sprintf("%-7s ", word), "%s", prose)
		}
		var unreadable []incident.BrokerRef
		for _, h := range t.Histories {
			unreadable = append(unreadable, h.Unreadable()...)
		}
		if len(unreadable) > 0 {
			say("DAMAGED ", "no record of the metadata logs of %s can be read: who led, the ISR and elections are not known. Another broker or controller of the cluster has a copy", brokers(unreadable))
			return out
		}
		say("NO METADATA ", "no metadata log (__cluster_metadata-0) is among these inputs: who led, the ISR and elections are not known. "+
			"A ZooKeeper cluster keeps them in ZooKeeper, not in its log directories; in a KRaft cluster every broker and controller has a copy")
		if t.Timeline == nil {
			say("", "Batches, files and text logs still carry times: %s", t.Paths.Again("history", "--all"))
		}
		return out
	}
	n := t.tally()
	clear := "OK      "
	for _, x := range t.Others {
		word, prose := t.Paths.lossHead(x)
		say(fmt.Sprintf("%-7s ", word), "%s", prose)
		clear = "        "
	}
	if t.Scope.Errors > 0 {
		say("NOT READ ", "%s; what follows is told without", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
		clear = "        "
	}
	switch {
	case n.elections > 0:
		word := "UNCLEAN "
		if n.same == n.elections {
			word = clear
		}
		where := fmt.Sprintf("%s in %s of %s", count(n.elections, "unclean election", "unclean elections"), comma(n.partitions), count(n.selected, "partition", "partitions"))
		if n.partitions == 1 {
			where = fmt.Sprintf("%s: %s", t.name(n.single), count(n.elections, "unclean election", "unclean elections"))
		}
		say(word, "%s; %s", where, n.outcome())
	case n.selected == 0:
		say("NOTHING ", "the metadata know no partition that was asked for")
	default:
		say(clear, "no unclean election in %s, %s", count(n.selected, "partition", "partitions"), t.since())
	}
	if n.recoveringBefore > 0 {
		say("UNCLEAN ", "%s: an unclean election before the metadata begin, of which nothing else is recorded",
			count(n.recoveringBefore, "partition was RECOVERING when the oldest state was saved", "partitions were RECOVERING when the oldest state was saved"))
	}
	if len(n.ahead) > 0 {
		p := n.ahead[0]
		say("STALE   ", "the metadata end before leader epoch %d of %s began, which its leader-epoch-checkpoint knows%s: later elections are not known; give the log directory of another broker or controller as well",
			p.Ahead, t.name(p), others(len(n.ahead)-1))
	}
	if n.leaderless > 0 {
		say("NO LEADER ", "%s none at the end of the metadata, as when all brokers were stopped, or those that may lead: kafsck predict leader says what is lost under whom", count(n.leaderless, "partition has", "partitions have"))
	}
	if n.elections > 0 {
		say("        ", "What happened is known %s.", t.since())
	}
	return out
}

// outcome says what unclean elections lost.
func (n *tally) outcome() string {
	var words []string
	add := func(k int, one, many string) {
		if k == 0 {
			return
		}
		if n.elections == 1 {
			words = append(words, "it "+one)
			return
		}
		words = append(words, comma(k)+" "+map[bool]string{true: one, false: many}[k == 1])
	}
	committed := "records that had been committed"
	if n.records.losses > 0 {
		committed = n.records.number("committed ")
	}
	add(n.yes, "lost "+committed, "lost "+committed)
	maybe := "lost records that may have been committed"
	if n.unnumbered {
		maybe = "may have lost records"
	}
	add(n.maybe, maybe, maybe)
	if n.unknown > 0 {
		if n.elections == 1 {
			words = append(words, "whether it lost anything cannot be told")
		} else {
			words = append(words, "of "+comma(n.unknown)+" it cannot be told whether anything was lost")
		}
	}
	switch {
	case n.same == n.elections && n.same == 1:
		words = append(words, "it put back the broker that had led last, which loses nothing unless its machine had crashed")
	case n.same == n.elections:
		words = append(words, "each put back the broker that had led last, which loses nothing unless its machine had crashed")
	case n.same > 0:
		add(n.none-n.same, "lost nothing", "lost nothing")
		words = append(words, comma(n.same)+" put back the broker that had led last, which loses nothing unless its machine had crashed")
	default:
		add(n.none, "lost nothing", "lost nothing")
	}
	return list(words)
}

// others counts what is like the one that was named.
func others(n int) string {
	if n == 0 {
		return ""
	}
	return ", and so of " + count(n, "other partition", "other partitions")
}

// since says from when on the history is known.
func (t *History) since() string {
	var words []string
	for _, h := range t.Histories {
		if h.Log == nil {
			continue
		}
		r := &h.Reach
		w := fmt.Sprintf("without a gap since metadata offset %d", r.From)
		switch {
		case r.Whole():
			w = "since the cluster began (metadata offset 0)"
		case r.FromMs >= 0:
			w = fmt.Sprintf("since %s (metadata offset %d)", clock(r.FromMs), r.From)
		}
		if r.ToMs >= 0 {
			w += " until " + clock(r.ToMs)
		}
		if h.Windowed() {
			w += "; only the time asked for is shown"
		}
		if h.Cluster.ID != "" && len(t.Histories) > 1 {
			w += " in cluster " + Escape(h.Cluster.ID)
		}
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, "; ")
}

// name is a partition's name, with its topic id where the name is not enough.
func (t *History) name(p *incident.PartitionHistory) string {
	name := Escape(p.Name)
	if p.Again || t.Paths.Ambiguous[p.Name] {
		name += " (topic id " + p.Topic.ID.String() + ")"
	}
	return name
}

// sources is where the metadata come from, and what is missing from them.
func (t *History) sources(h *incident.History) []string {
	var out []string
	say := func(prose string) { out = append(out, indented("  ", prose)...) }
	r := &h.Reach
	head := "Metadata: offsets " + span(max(h.Log.StartOffset, 0), r.To)
	if len(h.Copies) == 1 {
		head += ", from " + copyName(&h.Copies[0])
	} else {
		head += ", joined from " + count(len(h.Copies), "copy", "copies")
	}
	out = append(out, head)
	if len(h.Copies) > 1 {
		out = append(out, copiesTable(h).lines("  ")...)
	}
	switch {
	case r.Whole():
	case r.Snapshot != "":
		at := ""
		if r.FromMs >= 0 {
			at = ", " + clock(r.FromMs)
		}
		say(fmt.Sprintf("They reach back to metadata offset %d (snapshot %s%s). Who led, elections, unclean ones among them, and topics deleted before that are not known.", r.From, Escape(r.Snapshot), at))
	default:
		say(fmt.Sprintf("They reach back to metadata offset %d, without the state at that point: what no later record states is not known, and leader epochs may be wrong.", r.From))
	}
	if r.Oldest < r.From {
		at := ""
		if r.OldestMs >= 0 {
			at = " (" + clock(r.OldestMs) + ")"
		}
		what := "Older snapshots give single states"
		if h.Log.StartOffset >= 0 && h.Log.StartOffset <= r.Oldest {
			what = "Older records and snapshots reach"
		}
		say(fmt.Sprintf("%s back to metadata offset %d%s; what happened in what is missing between is not known.", what, r.Oldest, at))
	}
	if gaps := h.Log.Gaps; len(gaps) > 0 {
		var words []string
		for _, g := range gaps[:min(len(gaps), 4)] {
			words = append(words, span(g.From, g.To))
		}
		if len(gaps) > 4 {
			words = append(words, fmt.Sprintf("%d more ranges", len(gaps)-4))
		}
		noun := "metadata offsets "
		if len(gaps) == 1 && gaps[0].To == gaps[0].From+1 {
			noun = "metadata offset "
		}
		say("In no copy whole: " + noun + list(words) + ". Elections and ISR changes there are not known, and counts below are the least.")
	}
	for i := range h.Copies {
		copyRemarks(h, i, say)
	}
	if b := h.Backwards; b.Count > 0 {
		who := ""
		if b.Before >= 0 && b.After >= 0 && b.Before != b.After {
			who = fmt.Sprintf(", where controller %d took over from %d", b.After, b.Before)
		}
		say(fmt.Sprintf("Times run backwards %s, by up to %s (at metadata offset %d%s). The order here is that of the metadata offsets, which no clock changes.",
			count(b.Count, "time", "times"), duration(b.ByMs), b.At, who))
	}
	return out
}

// copyRemarks names a copy's damage and where it parts from the others.
func copyRemarks(h *incident.History, i int, say func(string)) {
	c := &h.Copies[i]
	if n := len(c.Log.Damaged) + c.Log.DamagedDropped; n > 0 {
		d := c.Log.Damaged[0]
		prose := fmt.Sprintf("%s is damaged in %s: %s at position %d: %s", copyName(c), count(n, "place", "places"), Escape(d.File), d.Pos, Escape(d.Why))
		if n > 1 {
			prose = strings.Replace(prose, "places: ", "places, first in ", 1)
		}
		if len(h.Copies) > 1 && len(h.Log.Gaps) == 0 {
			prose += "; another copy has what it lacks"
		}
		say(prose + ".")
	}
	if c.Log.OpenTransaction >= 0 {
		say(fmt.Sprintf("%s ends within a metadata transaction that began at offset %d: its records are not applied, as Kafka does not.", copyName(c), c.Log.OpenTransaction))
	}
	l := &c.Line
	if l.ForkAt < 0 {
		return
	}
	against := "another copy"
	if l.Against >= 0 && l.Against < len(h.Copies) {
		against = copyName(&h.Copies[l.Against])
	}
	at := fmt.Sprintf("at metadata offset %d", l.ForkAt)
	if !l.Agreed {
		at = fmt.Sprintf("at metadata offset %d or before (they share no record)", l.ForkAt)
	}
	say(fmt.Sprintf("FORK: %s parts from %s %s (raft epoch %d against %d). Its records from there on (%s) are left out: an uncommitted tail of a controller that lost its leadership looks like this, and so do disks of two clusters.",
		copyName(c), against, at, l.RaftEpoch, l.Other, offsets(l.ForkAt, l.To)))
}

func copyName(c *incident.MetadataCopy) string {
	return "node " + Escape(c.Broker.Name) + "'s copy (" + Escape(c.Dir) + ")"
}

func copiesTable(h *incident.History) *table {
	tab := &table{header: []string{">NODE", "OFFSETS", "LAST RECORD", ">RAFT EPOCH", ""}}
	for i := range h.Copies {
		c := &h.Copies[i]
		when, remark := "", "the newest"
		if c.Log.EndTimeMs >= 0 {
			when = clock(c.Log.EndTimeMs)
		}
		if i > 0 {
			remark = "as new"
			if c.LagRecords > 0 {
				remark = count(c.LagRecords, "record", "records")
				if c.LagMs > 0 {
					remark += " (" + duration(c.LagMs) + ")"
				}
				remark += " behind: copied or stopped earlier"
			}
			if c.Line.Adds > 0 {
				remark += "; gives " + count(c.Line.Adds, "batch", "batches") + " that newer copies lack"
			}
		}
		if c.Line.ForkAt >= 0 {
			remark = fmt.Sprintf("FORK at %d", c.Line.ForkAt)
		}
		held := "none"
		if c.Line.From >= 0 {
			held = span(c.Line.From, c.Line.To)
		}
		tab.add(Escape(c.Broker.Name), held, when, fmt.Sprint(c.Log.RaftEpoch), remark)
	}
	return tab
}

// next is the command to run after this one.
func (t *History) next() string {
	n := t.tally()
	switch {
	case n.yes+n.maybe > 0 && n.partitions == 1 && !strings.ContainsAny(n.single.Topic.Name, "*?[\\"):
		return t.Paths.Again("loss", "--partition", n.single.Name)
	case n.yes+n.maybe > 0 || len(t.Others) > 0:
		return t.Paths.Again("loss")
	case n.leaderless > 0 && n.unknown == 0 && t.Scope.Partitions+t.dirs() > 0:
		return t.Paths.Again("predict", "leader")
	case n.unknown > 0 && t.Scope.Partitions > 0:
		return t.Paths.Again("loss")
	}
	return ""
}

// duration prints milliseconds as people read them.
func duration(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	case ms < 3_600_000:
		return fmt.Sprintf("%d min %d s", ms/60_000, ms/1000%60)
	case ms < 86_400_000:
		return fmt.Sprintf("%d h %d min", ms/3_600_000, ms/60_000%60)
	}
	return fmt.Sprintf("%d d %d h", ms/86_400_000, ms/3_600_000%24)
}

// dirs counts the partition directories of these clusters that are live.
func (t *History) dirs() int {
	n := 0
	for _, h := range t.Histories {
		for _, b := range h.Cluster.Brokers {
			for _, d := range b.Dirs {
				for _, p := range d.Partitions {
					if p.State == logdir.Live {
						n++
					}
				}
			}
		}
	}
	return n
}
