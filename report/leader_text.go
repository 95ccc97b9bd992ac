package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
)

const (
	// maxLeaderDetails is how many partitions are told in full, unless all are asked for.
	maxLeaderDetails = 5
	// maxLeaderRows is how many rows the table over all partitions has at most.
	maxLeaderRows = 60
)

// Leaders gathers what would happen with each replica as leader, partition by partition.
type Leaders struct {
	Paths *Paths
	Scope *Scope
	// All also shows partitions whose leader is as good as any and whose followers lose
	// nothing, and all of them in full; Full those with something to say.
	All, Full bool
	// Part: not all partitions were asked about, so that the order is that of a part.
	Part bool

	parts    []ledPartition
	quiet    int // partitions of which nothing is to be said
	verdicts map[string]int
	worst    map[string][]ledPartition // of each verdict, for its sums
	differ   int                       // partitions in which regenerated epochs make a difference
	repair   int                       // partitions whose best leader needs them to start
	forked   int                       // partitions in which a follower stays different
	// mendable are partitions without a safe leader of which a repair brings back all that is lost;
	// unforked those of forked in which it makes the replicas equal.
	mendable, unforked int
	asked              bool
	versions           []broker.Version
	repaired           bool
	hints              []*incident.ReleaseHint
	eras               int // partitions in which an older release would cut elsewhere
	plans              incident.Plans
	prefer             []preferredElection
	unknown            unknownElections
	// uncleanTopics have unclean.leader.election.enable=true.
	uncleanTopics map[string]bool
	save          []incident.BrokerRef // who alone holds what the elections give up
}

// ledPartition is what is kept of a partition.
type ledPartition struct {
	name, plain string // as shown, and raw
	rank        int    // 0 is the worst
	yes, maybe  int64  // lost under the recommended leader
	cells       []string
	block       string
}

// verdictRank orders the verdicts, worst first.
var verdictRank = []string{"none", "unsafe", "open", "not-proved-safe", "safe"}

// Add takes in one partition. Little of it is kept but text.
func (t *Leaders) Add(x *incident.Partition) {
	if t.verdicts == nil {
		t.verdicts = map[string]int{}
	}
	var lines []string
	for _, e := range x.Errors {
		lines = append(lines, labelled(2, "not read", Escape(e.Path)+": "+Escape(e.Err.Error()))...)
	}
	part := ledPartition{name: t.Paths.label(x), plain: x.Name, rank: -1}
	l := x.Leadership
	switch {
	case l == nil && x.Ruling.Removed:
		lines = append(lines, labelled(2, "deleted", "the topic was deleted; nobody will lead it")...)
		part.rank = len(verdictRank)
	case l != nil:
		t.sum(x, &part)
		if len(lines) > 0 || t.All || !unremarkable(l) {
			lines = append(lines, t.block(x)...)
			part.cells = leaderRowOf(x)
		}
	}
	if len(lines) == 0 {
		t.quiet++
		return
	}
	part.block = part.name + "\n" + strings.Join(lines, "\n")
	t.parts = append(t.parts, part)
}

// sum counts a partition in the verdict and hands it to the plan.
func (t *Leaders) sum(x *incident.Partition, part *ledPartition) {
	l := x.Leadership
	t.repaired, t.asked = l.Repaired, true
	if !slices.Contains(t.versions, l.Version) {
		t.versions = append(t.versions, l.Version)
	}
	if l.Hint != nil && !slices.ContainsFunc(t.hints, func(h *incident.ReleaseHint) bool {
		return h.Why == l.Hint.Why && slices.Equal(h.Brokers, l.Hint.Brokers)
	}) {
		t.hints = append(t.hints, l.Hint)
	}
	v := verdictOf(l)
	t.verdicts[v]++
	part.rank = slices.Index(verdictRank, v)
	best := l.Recommended()
	if epochsMatter(l) {
		t.differ++
	}
	if l.EraMatters {
		t.eras++
	}
	if best != nil {
		part.yes, part.maybe = saturated(best.Lost[commitment.Yes], cutShortOf(best)), best.Lost[commitment.Unknown]
		if best.Forks() > 0 {
			t.forked++
			if mendedForks(best) {
				t.unforked++
			}
		}
		if v == "unsafe" && len(best.CutShort) == 0 && best.BrokenCount == 0 && incident.Mended(best.Losses) {
			t.mendable++
		}
		if best.RepairFirst {
			t.repair++
		}
		if !unremarkable(l) && l.Election() != "" && l.Election() != incident.NoElection {
			t.holders(best)
		}
	}
	t.plans.Add(x)
	if l.Unclean.Enabled {
		if t.uncleanTopics == nil {
			t.uncleanTopics = map[string]bool{}
		}
		t.uncleanTopics[x.Topic] = true
	}
	if l.Known && l.Election() == incident.Preferred && !l.LeaderAbsent() {
		t.prefer = append(t.prefer, preferredOf(x))
	}
	if !unremarkable(l) {
		t.unknown.add(x)
	}
	if t.worst == nil {
		t.worst = map[string][]ledPartition{}
	}
	t.worst[v] = append(t.worst[v], ledPartition{yes: part.yes, maybe: part.maybe})
}

// holders notes who alone holds what the election gives up.
func (t *Leaders) holders(best *incident.Candidacy) {
	for i := range best.Losses {
		if best.Losses[i].Counts() {
			for _, b := range best.Losses[i].HeldBy {
				if !slices.Contains(t.save, b) {
					t.save = append(t.save, b)
				}
			}
		}
	}
}

// cutShortOf counts the offsets below the high watermark of replicas cut short.
func cutShortOf(c *incident.Candidacy) int64 {
	var n int64
	for _, s := range c.CutShort {
		n = max(n, s.HighWatermark-s.LogEnd)
	}
	return n
}

// unremarkable: whoever leads now does so without loss, or every replica would, and no
// follower drops, keeps or rebuilds anything.
func unremarkable(l *incident.Leadership) bool {
	best := l.Recommended()
	if best == nil || !l.Safe() || epochsMatter(l) || l.EraMatters {
		return false
	}
	if best.Leads {
		return harmless(best)
	}
	for i := range l.Candidates {
		if !harmless(&l.Candidates[i]) {
			return false
		}
	}
	return true
}

func harmless(c *incident.Candidacy) bool {
	if c.CannotLead != "" || !c.Harmless() {
		return false
	}
	return !slices.ContainsFunc(c.Followers, func(f incident.FollowerFate) bool {
		return f.ThrownAway > 0 || len(f.Kept) > 0 || f.Stuck || f.Rebuild || f.Offline != ""
	})
}

// epochsMatter reports whether some follower of some candidate ends elsewhere with the
// other epochs.
func epochsMatter(l *incident.Leadership) bool {
	return slices.ContainsFunc(l.Candidates, func(c incident.Candidacy) bool {
		return slices.ContainsFunc(c.Followers, func(f incident.FollowerFate) bool { return f.Otherwise != nil })
	})
}

// Print writes the verdict, a table over all partitions, what to do, and the partitions with
// something to say, worst first.
func (t *Leaders) Print(w io.Writer) error {
	out := t.Paths.mixed()
	out = append(out, t.verdict()...)
	slices.SortStableFunc(t.parts, func(a, b ledPartition) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.yes, a.yes), cmp.Compare(b.maybe, a.maybe))
	})
	if lines := t.table(); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	if lines := t.todo(); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	for i, p := range t.parts {
		if i >= maxLeaderDetails && !t.All && !t.Full {
			out = append(out, "", fmt.Sprintf("Details of the worst %d of %s; the others with --all or --partition.", i, count(len(t.parts), "partition", "partitions")))
			break
		}
		out = append(out, "", p.block)
	}
	out = append(append(out, ""), t.foot()...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// verdict is the answer in at most a few lines, worst first.
func (t *Leaders) verdict() (out []string) {
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	partitions := func(n int) string { return count(n, "partition", "partitions") }
	if t.eras > 0 {
		t.release(say)
	}
	v := t.verdicts
	if n := v["none"]; n > 0 {
		say("NO LEADER ", "in %s: no replica among these inputs starts", partitions(n))
	}
	if n := v["unsafe"]; n > 0 {
		say("NO SAFE LEADER ", "in %s: every replica as leader loses committed records or breaks a transaction%s", partitions(n), t.atBest())
	}
	if t.mendable > 0 {
		say("REPAIRABLE ", "in %s what the best leader lacks is only damaged in its log, and stands whole on other replicas: kafsck repair plan takes it from there, and nothing is lost", partitions(t.mendable))
	}
	if n := v["open"]; n > 0 {
		say("NOT KNOWN ", "in %s: a replica that leads, may be elected cleanly or led before is not among these inputs, and may hold records that no other has", partitions(n))
	}
	if n := v["not-proved-safe"]; n > 0 {
		say("NOT PROVED SAFE ", "in %s: under the best leader %s that may have been committed", partitions(n), t.lostMaybe())
	}
	if n := v["safe"]; n > 0 {
		say("OK     ", "in %s the recommended leader loses nothing that any copy here holds and that was committed, or may have been", partitions(n))
	}
	if !t.asked {
		say("NOTHING ", "to predict: no live replica could be judged")
	}
	if t.repair > 0 {
		say("REPAIR FIRST ", "in %s the best leader does not start with its leader-epoch-checkpoint; with a regenerated one it does", partitions(t.repair))
	}
	if t.forked > 0 {
		say("FORKED ", "in %s a follower goes on to hold other records than its leader at the same offsets; Kafka never corrects that", partitions(t.forked))
	}
	if t.differ > 0 {
		say("EPOCHS ", "in %s the epoch files decide: with regenerated ones a follower would end elsewhere", partitions(t.differ))
	}
	if t.eras == 0 {
		t.release(say)
	}
	return out
}

// release says where the directories are of another release than the one that is assumed.
func (t *Leaders) release(say func(word, format string, args ...any)) {
	for _, h := range t.hints {
		if len(h.Brokers) == 0 {
			continue
		}
		also := ""
		if t.eras > 0 {
			also = fmt.Sprintf(" In %s it decides where followers truncate, so what follows may be wrong.", count(t.eras, "partition", "partitions"))
		}
		say("RELEASE? ", "%s%s", releaseProse(h), also)
	}
}

// atBest names what is lost under the best leaders of the partitions without a safe one.
func (t *Leaders) atBest() string {
	var yes, maybe int64
	var parts []string
	list := t.worst["unsafe"]
	for _, p := range list {
		yes, maybe = saturated(yes, p.yes), saturated(maybe, p.maybe)
		parts = append(parts, comma(p.yes))
	}
	if yes == 0 {
		return ""
	}
	s := "; at best " + count(yes, "committed record is", "committed records are") + " lost"
	if n := len(list); n > 1 {
		s += " in total"
		if n <= 6 {
			s += " (" + strings.Join(parts, " + ") + ")"
		}
	}
	if maybe > 0 {
		s += ", and " + count(maybe, "record", "records") + " that may have been committed"
	}
	return s
}

func (t *Leaders) lostMaybe() string {
	var maybe int64
	list := t.worst["not-proved-safe"]
	for _, p := range list {
		maybe += p.maybe
	}
	s := count(maybe, "record is lost", "records are lost")
	if len(list) > 1 {
		s += " in total"
	}
	return s
}

// table is one row for each partition with something to say, worst first.
func (t *Leaders) table() []string {
	tab := table{header: []string{"PARTITION", "LEADS NOW", "BEST", ">LOST NOW", ">LOST THEN", ">MAYBE", "ELECTION"}}
	n := 0
	for _, p := range t.parts {
		if len(p.cells) == 0 {
			continue
		}
		if n++; n <= maxLeaderRows {
			tab.add(append([]string{capped(p.name)}, p.cells...)...)
		}
	}
	if n < 2 {
		return nil
	}
	out := tab.lines("")
	if n > maxLeaderRows {
		out = append(out, fmt.Sprintf("… and %s: --json", count(n-maxLeaderRows, "more partition", "more partitions")))
	}
	return out
}

// capped shortens a name in a table.
func capped(name string) string {
	const most = 44
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

// leaderRowOf is a partition's row but for its name.
func leaderRowOf(x *incident.Partition) []string {
	l := x.Leadership
	now := "nobody"
	switch {
	case l.Leader >= 0:
		now = fmt.Sprint(l.Leader)
	case !l.Known && x.Ruling.Leader != nil:
		now = Escape(x.Ruling.Leader.Name) + "?"
	case !l.Known:
		now = "?"
	}
	best := l.Recommended()
	if best == nil {
		return []string{now, "-", "-", "-", "-", "-"}
	}
	who := Escape(best.Copy.Broker.Name)
	if l.Best > 1 {
		who = "any"
		if l.Best < len(l.Candidates) {
			var names []string
			for i := range l.Candidates[:l.Best] {
				names = append(names, Escape(l.Candidates[i].Copy.Broker.Name))
			}
			who = strings.Join(names, " or ")
		}
	}
	return []string{now, capped(who), lostNow(l), comma(saturated(best.Lost[commitment.Yes], cutShortOf(best))), comma(best.Lost[commitment.Unknown]), electionWord(l)}
}

// lostNow is what is lost if nothing is done: under who leads, or the worst of those that
// the controller may elect by itself.
func lostNow(l *incident.Leadership) string {
	most, many := int64(-1), 0
	for i := range l.Candidates {
		c := &l.Candidates[i]
		if c.CanLead() && (c.Leads || l.Known && l.Leader < 0 && (c.Eligible || l.Unclean.Enabled)) {
			most = max(most, saturated(c.Lost[commitment.Yes], cutShortOf(c)))
			many++
		}
	}
	switch {
	case most < 0:
		return "-"
	case many > 1 && most > 0:
		return "up to " + comma(most)
	}
	return comma(most)
}

var electionWords = map[incident.ElectionKind]string{"": "not yet", incident.NoElection: "none needed", incident.Automatic: "by itself", incident.Preferred: "preferred", incident.Unclean: "unclean"}

func electionWord(l *incident.Leadership) string {
	if !l.Known && l.Election() == incident.Unclean {
		return "depends on the ISR"
	}
	return electionWords[l.Election()]
}

// foot says what was not told, for what release this is, and what to run next.
func (t *Leaders) foot() (out []string) {
	say := func(format string, args ...any) { out = append(out, indented("", fmt.Sprintf(format, args...))...) }
	if t.quiet > 0 {
		other := ""
		if len(t.parts) > 0 {
			other = "other "
		}
		say("In %d %s any replica may lead or the right one does, and followers drop nothing (--all shows them).", t.quiet, other+noun(t.quiet, "partition", "partitions"))
	}
	if t.asked {
		files := "the epoch files as they are"
		if t.repaired {
			files = "regenerated epochs (--with-repair epochs)"
		}
		var versions []string
		for _, v := range t.versions {
			versions = append(versions, v.String())
		}
		why := ""
		for _, h := range t.hints {
			if len(h.Brokers) == 0 {
				why = " (" + h.Why + "; another one with --kafka)"
			}
		}
		say("Predicted for Kafka %s%s with %s, each replica as it stands after its broker's start.", strings.Join(versions, " and "), why, files)
	}
	out = append(out, limits(t.Scope)...)
	out = append(out, t.Scope.checked())
	return append(out, t.next()...)
}

// next is the next command.
func (t *Leaders) next() []string {
	if t.Paths.Again == nil {
		return nil
	}
	switch {
	case (t.repair > 0 || t.differ > 0) && !t.repaired:
		return []string{"Next: " + t.Paths.Again("repair", "epochs", "--out", "DIR"), "      " + t.Paths.Again("predict", "leader", "--with-repair", "epochs")}
	case t.mendable+t.unforked > 0:
		return []string{"Next: " + t.Paths.Again("repair", "plan", "--out", "plan.json")}
	case t.verdicts["unsafe"]+t.verdicts["not-proved-safe"] > 0:
		if len(t.parts) == 1 && t.quiet == 0 {
			return []string{"Next: " + t.Paths.Again("loss", "--partition", t.parts[0].plain)}
		}
		return []string{"Next: " + t.Paths.Again("loss")}
	}
	return nil
}

func noun(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
