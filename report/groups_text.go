package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/internaltopic"
	"kafsck/replica"
)

// Groups is consumer groups, their positions and what they find.
type Groups struct {
	Paths  *Paths
	Scope  *Scope
	Groups *incident.Groups
	Views  incident.GroupViews
	// Clusters counts the clusters among the inputs; with several each group names its own.
	Clusters int
	// Homeless says of each group that was asked for why it cannot be answered about.
	Homeless []string
	AsOf     string // as typed; "" the end
	Members  bool
	All      bool
	Chosen   bool // --group was given
}

// At most so many groups, and positions of one group, are shown without --all.
const (
	shownGroups    = 12
	shownPositions = 12
)

// Print writes the verdict, the groups (those in trouble first) and where it all comes from.
func (t *Groups) Print(w io.Writer) error {
	var out []string
	say := func(lines ...string) { out = append(out, lines...) }
	say(t.Paths.mixed()...)
	first, prose := t.verdict()
	say(indented(fmt.Sprintf("%-8s", first), prose)...)
	for _, h := range t.Homeless {
		say(indented("  ", Escape(h)+".")...)
	}
	order := t.byRank()
	if !t.All && !t.Chosen {
		// Groups without a position have nothing that could go wrong.
		order = slices.DeleteFunc(order, func(v *incident.GroupView) bool {
			_, pending := v.Len()
			return v.Live()+pending == 0 && dead(v)
		})
	}
	shown := order
	if !t.All && len(shown) > shownGroups {
		shown = shown[:max(shownGroups, min(t.harmed(), 2*shownGroups))]
	}
	allAbsent := t.allAbsent()
	for _, v := range shown {
		say("")
		say(t.block(v, allAbsent)...)
	}
	if n := len(order) - len(shown); n > 0 {
		say("", fmt.Sprintf("… and %s; all with --all, one with --group NAME.", count(n, "more group", "more groups")))
	}
	if n := len(t.Views) - len(order); n > 0 {
		say("", count(n, "group without members and without a position is left out; with --all", "groups without members and without a position are left out; with --all"))
	}
	say("")
	say(t.sources()...)
	say(t.Scope.checked())
	say(t.next(order)...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// byRank are all groups, those in trouble first.
func (t *Groups) byRank() []*incident.GroupView {
	out := make([]*incident.GroupView, 0, len(t.Views))
	for want := range ranks {
		for _, v := range t.Views {
			if rank(v) == want {
				out = append(out, v)
			}
		}
	}
	return out
}

func dead(v *incident.GroupView) bool { return v.State == nil || v.State.State == "Dead" }

const ranks = 3

// rank orders groups: in trouble, with positions, without.
func rank(v *incident.GroupView) int {
	switch {
	case v.Harmed() > 0:
		return 0
	case v.Live() > 0:
		return 1
	}
	return 2
}

func (t *Groups) harmed() int {
	n := 0
	for _, v := range t.Views {
		if v.Harmed() > 0 {
			n++
		}
	}
	return n
}

// tally counts positions by what they find.
func (t *Groups) tally() (all int, by map[incident.MeetingKind]int) {
	by = map[incident.MeetingKind]int{}
	for _, v := range t.Views {
		all += v.Live()
		for _, kind := range []incident.MeetingKind{incident.InLog, incident.BeyondEnd, incident.BelowStart, incident.Replaced, incident.OtherTopic, incident.MeetingUnknown} {
			if n := v.Finds(kind); n > 0 {
				by[kind] += n
			}
		}
	}
	return all, by
}

// verdict is the first word and the sentence behind it.
func (t *Groups) verdict() (first, prose string) {
	all, by := t.tally()
	what := count(len(t.Views), "group", "groups") + ", " + count(all, "position", "positions")
	if t.AsOf != "" {
		what += " as of " + Escape(t.AsOf)
	}
	unknown := by[incident.MeetingUnknown]
	rest := ""
	if n := by[incident.BelowStart]; n > 0 {
		rest += fmt.Sprintf("; %s below the log start", count(n, "lies", "lie"))
	}
	if n := by[incident.OtherTopic]; n > 0 {
		rest += fmt.Sprintf("; %s to a topic of this name that was deleted", count(n, "belongs", "belong"))
	}
	switch {
	case len(t.read()) == 0:
		if len(t.Groups.Partitions) == 0 {
			return "NOTHING ", "no partition of __consumer_offsets is among these inputs, so nothing is known of any group: " +
				"copy the directories __consumer_offsets-* of all brokers (each group lives in one of them)"
		}
		return "NOTHING ", "no partition of __consumer_offsets could be read: nothing is known of any group"
	case len(t.Views) == 0:
		return "NOTHING ", "no group matches in the partitions of __consumer_offsets that were read"
	case by[incident.BeyondEnd]+by[incident.Replaced] > 0:
		if unknown > 0 {
			rest += fmt.Sprintf("; of %s it cannot be told", comma(unknown))
		}
		var parts []string
		if n := by[incident.BeyondEnd]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s beyond the log end", count(n, "position lies", "positions lie")))
		}
		if n := by[incident.Replaced]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s above records that were replaced since", count(n, "position lies", "positions lie")))
		}
		return "STRANDED ", fmt.Sprintf("%s of %s cannot go on where %s stopped: %s%s (%s)", comma(t.harmed()), count(len(t.Views), "group", "groups"),
			map[bool]string{true: "it", false: "they"}[t.harmed() == 1], list(parts), rest, what)
	case unknown == all && all > 0 && t.absent() == all:
		return "POSITIONS ", what + "; the logs that they point into are not among the inputs, so whether they are still good cannot be told"
	case unknown == all && all > 0:
		return "POSITIONS ", what + "; whether they are still good cannot be told"
	case unknown > 0:
		return "OK? ", fmt.Sprintf("%s: none beyond its log or on replaced records, but of %s it cannot be told%s", what, comma(unknown), rest)
	}
	if t.Scope.Errors > 0 {
		return "OK? ", what + ": none lies beyond its log end or on records that were replaced, but not everything could be read" + rest
	}
	return "OK ", what + ": none lies beyond its log end or on records that were replaced" + rest
}

// notHere is the note on a position whose log is not among the inputs.
const notHere = "its log is not among the inputs"

// allAbsent reports whether no position's log is among the inputs.
func (t *Groups) allAbsent() bool {
	all, _ := t.tally()
	return all > 0 && t.absent() == all
}

// absent counts positions into partitions of which no copy is among the inputs.
func (t *Groups) absent() int {
	n := 0
	for _, v := range t.Views {
		n += v.Absent()
	}
	return n
}

// block is one group.
func (t *Groups) block(v *incident.GroupView, allAbsent bool) []string {
	lines := indented("", t.head(v))
	lines = append(lines, t.members(v)...)
	positions := t.chosen(v)
	shown := positions
	if !t.All && len(shown) > shownPositions {
		shown = shown[:max(shownPositions, min(v.Harmed(), 2*shownPositions))]
	}
	lines = append(lines, positionTable(v, shown, allAbsent)...)
	if v.State != nil && v.State.Kind == internaltopic.ShareGroup {
		lines = append(lines, "  a share group keeps its positions in __share_group_state, which is not read here")
	}
	if n := len(positions) - len(shown); n > 0 {
		lines = append(lines, fmt.Sprintf("  … and %s; all with --all", count(n, "more position", "more positions")))
	}
	for _, p := range shown {
		lines = append(lines, meets(p)...)
	}
	if n, _ := v.Len(); n > v.Live() && !t.All {
		n -= v.Live()
		lines = append(lines, fmt.Sprintf("  %s; with --all", count(n, "deleted position is left out", "deleted positions are left out")))
	}
	return lines
}

// sources say where the answer was read, and what is missing from it.
func (t *Groups) sources() []string {
	type source struct{ who, why string }
	numbers := map[source][]int32{}
	var order []source
	var lines []string
	for _, p := range t.Groups.Partitions {
		who := ""
		if c := p.From; c != nil {
			who = "broker " + Escape(c.Broker.Name)
			if c.State != replica.Live {
				who += " (" + string(c.State) + ")"
			}
		}
		s := source{who, p.Why}
		if numbers[s] == nil {
			order = append(order, s)
		}
		numbers[s] = append(numbers[s], p.Number)
	}
	for _, s := range order {
		if s.who == "" {
			lines = append(lines, indented("Not read: ", fmt.Sprintf("__consumer_offsets %s: %s", partitionNumbers(numbers[s]), Escape(s.why)))...)
			continue
		}
		lines = append(lines, indented("Positions: ", fmt.Sprintf("__consumer_offsets %s as %s holds it; %s", partitionNumbers(numbers[s]), s.who, Escape(s.why)))...)
	}
	for _, p := range t.Groups.Partitions {
		if c := p.From; c != nil && c.Skipped > 0 {
			lines = append(lines, indented("Skipped: ", fmt.Sprintf("%s of %s that cannot be believed, the first at %s: what was committed there is not known",
				count(c.Skipped, "batch or stretch", "batches or stretches"), Escape(p.Name()), Escape(c.SkippedAt)))...)
		}
	}
	for _, u := range t.Groups.Undecoded {
		lines = append(lines, indented("Not decoded: ", fmt.Sprintf("%s, such as offset %d of %s: %s", count(u.Count, "record", "records"), u.First.Offset, offsetsPartition(u.First.Partition), Escape(u.Reason)))...)
	}
	if n := t.Groups.Thinned; n > 0 {
		lines = append(lines, indented("Left out: ", fmt.Sprintf("%s commits that another one followed, with the same epoch and no lower, within %s; positions are not affected", comma(n), Duration(float64(max(t.Groups.ThinnedMs, 1000))/1000)))...)
	}
	return append(lines, t.missing()...)
}

// missing are partitions of __consumer_offsets that exist and were not read.
func (t *Groups) missing() []string {
	var lines []string
	for _, p := range t.clusters() {
		total := t.Groups.Total(p)
		if total == 0 {
			continue
		}
		have := t.Groups.Readable(p)
		var not []int32
		for n := range total {
			if !slices.Contains(have, n) {
				not = append(not, n)
			}
		}
		if len(not) > 0 {
			lines = append(lines, indented("Missing: ", fmt.Sprintf("%s of the %d partitions of __consumer_offsets not among the inputs (%s): groups that live there are not shown",
				count(len(not), "is", "are"), total, partitionNumbers(not)))...)
		}
	}
	return lines
}

func (t *Groups) clusters() []*incident.Cluster {
	var out []*incident.Cluster
	for _, p := range t.Groups.Partitions {
		if !slices.Contains(out, p.Cluster) {
			out = append(out, p.Cluster)
		}
	}
	return out
}

// next is the command for the worst position. Another leader may have what the group had
// read, and then nothing is to be reset: so who is to lead comes first.
func (t *Groups) next(order []*incident.GroupView) []string {
	for _, v := range order {
		if v.Harmed() == 0 {
			break // those in trouble come first
		}
		for _, p := range t.chosen(v) {
			m := &p.Meeting
			if !m.Harmful() {
				continue
			}
			reset := Command("kafka-consumer-groups.sh", "--bootstrap-server", "HOST:9092", "--group", p.Group,
				"--topic", fmt.Sprintf("%s:%d", p.Topic, p.Partition), "--reset-offsets", "--to-offset", fmt.Sprint(min(m.From, m.LogEnd)), "--dry-run")
			words := "with the group's consumers stopped, see what a reset would do (then --execute instead of --dry-run):"
			if t.Scope.Brokers < 2 && m.Basis == "ruling" {
				return append(indented("Next: ", words), "  "+reset)
			}
			out := []string{"Next: " + t.Paths.Again("predict", "leader", "--partition", partitionName(p.Topic, p.Partition))}
			out = append(out, indented("", "Another replica may have what the group had read; reset nothing before it is decided who leads.")...)
			if n := t.leaderless(); n > 0 {
				out = append(out, indented("", fmt.Sprintf("%s no leader: kafka-consumer-groups.sh cannot work before it has one.", count(n, "partition of __consumer_offsets has", "partitions of __consumer_offsets have")))...)
			}
			return append(append(out, indented("", "Then, "+words)...), "  "+reset)
		}
	}
	return nil
}

// leaderless counts partitions of __consumer_offsets without a leader by the metadata.
func (t *Groups) leaderless() int {
	n := 0
	for _, p := range t.Groups.Partitions {
		if p.Story != nil && p.Story.Ruling.Leader == nil && len(p.Story.Changes) > 0 && !p.Story.Ruling.Removed {
			n++
		}
	}
	return n
}

// read are the partitions of __consumer_offsets of which a copy was read.
func (t *Groups) read() []*incident.InternalPartition {
	return slices.DeleteFunc(slices.Clone(t.Groups.Partitions), func(p *incident.InternalPartition) bool { return p.From == nil })
}
