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

// head names a group: kind, state, generation or epoch.
func (t *Groups) head(v *incident.GroupView) string {
	s := clipped(Escape(v.Group), 2*maxCell)
	if v.Group == "" {
		s = `"" (the empty group id)`
	}
	if t.Clusters > 1 {
		s += " (cluster " + Escape(v.Cluster.ID) + ")"
	}
	st := v.State
	if st == nil {
		return s + ": committed offsets only, no record of members"
	}
	s += ": " + string(st.Kind) + " group"
	if st.State != "" {
		s += ", " + st.State
	}
	if st.State == "Dead" && v.Live() > 0 {
		s += " (the group's record is deleted, its positions are not)"
	}
	if st.Kind == internaltopic.ClassicGroup {
		if st.Epoch >= 0 {
			s += fmt.Sprintf(", generation %d", st.Epoch)
		}
		if st.ProtocolType != "" {
			s += ", protocol " + Escape(st.ProtocolType)
			if st.Protocol != "" {
				s += "/" + Escape(st.Protocol)
			}
		}
	} else if st.Epoch >= 0 {
		s += fmt.Sprintf(", group epoch %d", st.Epoch)
		if st.TargetEpoch >= 0 && st.TargetEpoch != st.Epoch {
			s += fmt.Sprintf(" (target assignment of epoch %d)", st.TargetEpoch)
		}
	}
	if n := len(st.Members); n > 0 {
		s += ", " + count(n, "member", "members")
	}
	return s
}

// shownMembers is how many members are named without --members.
const shownMembers = 4

func (t *Groups) members(v *incident.GroupView) []string {
	if v.State == nil || len(v.State.Members) == 0 {
		return nil
	}
	if !t.Members {
		var names []string
		for i := range v.State.Members {
			if m := &v.State.Members[i]; i < shownMembers {
				names = append(names, Escape(m.ClientID)+" ("+Escape(strings.TrimPrefix(m.ClientHost, "/"))+")")
			}
		}
		if n := len(v.State.Members) - len(names); n > 0 {
			names = append(names, fmt.Sprintf("%s more", comma(n)))
		}
		return indented("  members: ", strings.Join(names, ", "))
	}
	tab := table{header: []string{"MEMBER", "CLIENT", "HOST", ">MEMBER EPOCH", "ASSIGNED"}, wrap: true}
	for i := range v.State.Members {
		m := &v.State.Members[i]
		epoch := "-"
		if m.Epoch >= 0 {
			epoch = fmt.Sprint(m.Epoch)
		}
		name := Escape(m.ID)
		if m.InstanceID != "" {
			name += " (instance " + Escape(m.InstanceID) + ")"
		}
		if m.Leader {
			name += " (leader)"
		}
		tab.add(name, Escape(m.ClientID), Escape(strings.TrimPrefix(m.ClientHost, "/")), epoch, assignment(m))
		if m.Regex != "" {
			tab.note("subscribed to the pattern " + Escape(m.Regex))
		}
	}
	return tab.lines("  ")
}

func assignment(m *incident.GroupMember) string {
	var parts []string
	for _, a := range m.Assigned {
		name := Escape(a.Topic)
		if a.Topic == "" {
			name = "topic id " + a.TopicID.String()
		}
		parts = append(parts, name+" "+partitionNumbers(a.Partitions))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// partitionNumbers prints partition numbers, runs of them shortened: 0–3, 7.
func partitionNumbers(list []int32) string {
	sorted := slices.Sorted(slices.Values(list))
	var parts []string
	for i := 0; i < len(sorted); {
		k := i
		for k+1 < len(sorted) && sorted[k+1] == sorted[k]+1 {
			k++
		}
		switch {
		case k == i:
			parts = append(parts, fmt.Sprint(sorted[i]))
		case k == i+1:
			parts = append(parts, fmt.Sprint(sorted[i]), fmt.Sprint(sorted[k]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", sorted[i], sorted[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
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
