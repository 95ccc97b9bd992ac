package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/replica"
)

// sum adds up losses of one grade.
type sum struct {
	losses  int
	records int64
	// atLeast: some loss is only known by its lower bound; unnumbered: some loss is not
	// known in number at all.
	atLeast, unnumbered bool
	ranges              []lostRange
}

// lostRange is where losses lie; a bound that is not recorded is -1.
type lostRange struct{ from, to int64 }

func (r lostRange) String() string {
	switch {
	case r.from < 0:
		return "somewhere"
	case r.to < 0:
		return fmt.Sprintf("%d and above", r.from)
	}
	return span(r.from, r.to)
}

func rangeOf(l *incident.Loss) lostRange {
	r := lostRange{-1, -1}
	if l.From != nil {
		r.from = *l.From
		if l.To != nil {
			r.to = *l.To
		}
	}
	return r
}

func sumOf(losses []incident.Loss, grades ...commitment.Grade) sum {
	var s sum
	for i := range losses {
		l := &losses[i]
		if !slices.Contains(grades, l.Committed) {
			continue
		}
		s.losses++
		switch {
		case l.Records == nil:
			s.unnumbered = true
		default:
			s.records = saturated(s.records, *l.Records)
			s.atLeast = s.atLeast || l.Basis == "trace" && !l.ToExact
		}
		r := rangeOf(l)
		// Losses that only touch are told as one range; those that overlap are different
		// records at the same offsets.
		if n := len(s.ranges); n > 0 && r.from >= 0 && s.ranges[n-1].to == r.from {
			s.ranges[n-1].to = r.to
		} else if !slices.Contains(s.ranges, r) {
			s.ranges = append(s.ranges, r)
		}
	}
	return s
}

// add takes over the numbers of another sum.
func (s *sum) add(o sum) {
	s.losses += o.losses
	s.records = saturated(s.records, o.records)
	s.atLeast = s.atLeast || o.atLeast
	s.unnumbered = s.unnumbered || o.unnumbered
}

// saturated adds counts that hostile offsets can make as large as an int64.
func saturated(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// number prints how many records, with an adjective between number and noun.
func (s *sum) number(adjective string) string {
	one, many := adjective+"record", adjective+"records"
	switch {
	case s.records == 0 && s.unnumbered:
		return "an unknown number of " + many
	case s.atLeast || s.unnumbered:
		return "at least " + count(s.records, one, many)
	}
	return count(s.records, one, many)
}

// where prints the offset ranges, at most four of them.
func (s *sum) where() string {
	var words []string
	for _, r := range s.ranges {
		if r.from >= 0 {
			words = append(words, r.String())
		}
	}
	switch {
	case len(words) == 0:
		return "the offsets are not recorded"
	case s.single():
		return "offset " + words[0]
	case len(words) > 4:
		words = append(words[:3], fmt.Sprintf("%d more ranges", len(words)-3))
	}
	return "offsets " + list(words)
}

// single reports whether all is one offset.
func (s *sum) single() bool {
	return len(s.ranges) == 1 && s.ranges[0].from >= 0 && s.ranges[0].to == s.ranges[0].from+1
}

// are is the verb that fits where.
func (s *sum) are() string {
	if s.single() {
		return "is"
	}
	return "are"
}

// counted are the grades that make a loss.
var counted = []commitment.Grade{commitment.Yes, commitment.Unknown}

// lossHead is the headline of a partition's losses. The word comes apart so that
// it can be aligned: LOST where a proof of commitment exists, else LOST?.
func (p *Paths) lossHead(x *incident.Partition) (word, prose string) {
	yes, unknown := sumOf(x.Losses, commitment.Yes), sumOf(x.Losses, commitment.Unknown)
	all := sumOf(x.Losses, counted...)
	if allOpen(x) {
		return "LOST?", "records of " + p.label(x) + " may have been thrown away by an unclean election; how many is not recorded: " + all.where()
	}
	if pending(x) {
		prose = unknown.number("") + " of " + p.label(x) + " that may have been committed"
		if yes.losses > 0 {
			prose = yes.number("committed ") + " of " + p.label(x)
		}
		return "AT RISK", prose + ": nothing is gone yet, but the next start of " + leaderOf(x) + " deletes " + all.where() + " from its log"
	}
	word = "LOST"
	if incident.Mended(x.Losses) {
		word = "DAMAGED" // a repair has them back
	}
	if yes.losses > 0 {
		prose = yes.number("committed ") + " of " + p.label(x)
		if unknown.losses > 0 {
			prose += ", and " + unknown.number("") + " that may have been committed"
		}
		return word, prose + ": " + all.where() + " " + all.are() + " " + gone(x)
	}
	return "LOST?", unknown.number("") + " of " + p.label(x) + " that may have been committed: " + all.where() + " " + all.are() + " " + gone(x)
}

// pending reports whether all counted losses are still to come, see incident.Partition.Pending.
func pending(x *incident.Partition) bool {
	n := 0
	for i := range x.Losses {
		if l := &x.Losses[i]; l.Counts() {
			if !x.Pending(l) {
				return false
			}
			n++
		}
	}
	return n > 0
}

// gone says what the leader's log has in place of lost records.
func gone(x *incident.Partition) string {
	damaged, rotten, traces, n := 0, 0, 0, 0
	for i := range x.Losses {
		l := &x.Losses[i]
		if !l.Counts() {
			continue
		}
		n++
		if l.Cause == incident.CauseDamage {
			damaged++
			if l.Basis == "trace" {
				rotten++
			}
		} else if l.Basis == "trace" {
			traces++
		}
	}
	switch n {
	case rotten:
		return "damaged in every copy among these inputs"
	case damaged:
		return "damaged in the log of " + leaderOf(x) + mendedProse(x.Losses) + holdersProse(x.Losses)
	case traces:
		return "in no copy among these inputs"
	}
	return "not in the log of " + leaderOf(x) + mendedProse(x.Losses) + holdersProse(x.Losses)
}

// holdersProse names who has what is lost where that are several ranges, of which a verdict has no
// room to tell one by one; "" where a repair was promised, or no copy has any.
func holdersProse(losses []incident.Loss) string {
	var refs []incident.BrokerRef
	n, held, all := 0, 0, true
	for i := range losses {
		l := &losses[i]
		if !l.Counts() {
			continue
		}
		if n++; len(l.HeldBy) > 0 {
			held++
		}
		all = all && (n == 1 || slices.Equal(refs, l.HeldBy))
		for _, b := range l.HeldBy {
			if !slices.Contains(refs, b) {
				refs = append(refs, b)
			}
		}
	}
	switch {
	case n < 2 || held == 0 || incident.Mended(losses):
		return ""
	case held < n:
		return ". " + capital(brokers(refs)) + " " + haveOrHas(len(refs)) + " some of them whole"
	case all:
		return ". " + capital(brokers(refs)) + " " + haveOrHas(len(refs)) + " them whole"
	}
	return ". " + capital(brokers(refs)) + " together have them whole"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// mendedProse says that what is lost as things are stands whole on other replicas, and that a repair
// takes it from there, "" where that does not hold for all of it.
func mendedProse(losses []incident.Loss) string {
	if !incident.Mended(losses) {
		return ""
	}
	var refs []incident.BrokerRef
	for i := range losses {
		for _, b := range losses[i].MendedBy {
			if losses[i].Counts() && !slices.Contains(refs, b) {
				refs = append(refs, b)
			}
		}
	}
	return ". They stand whole on " + brokers(refs) + ": kafsck repair plan takes them from there"
}

// allOpen reports whether every counted loss is one whose end is not recorded.
func allOpen(x *incident.Partition) bool {
	for i := range x.Losses {
		if l := &x.Losses[i]; l.Counts() && (l.To != nil || l.Cause != incident.CauseUnclean) {
			return false
		}
	}
	return true
}

// leaderOf names the ruling leader and says when it is a guess.
func leaderOf(x *incident.Partition) string {
	r := &x.Ruling
	switch kept := keptTwin(x); {
	case r.Leader == nil:
		return "a leader"
	case kept != nil:
		return "broker " + Escape(r.Leader.Name) + " in " + Escape(kept.Dir) + " (the newer of its two directories; the broker does not start with both)"
	case r.Guess:
		return "broker " + Escape(r.Leader.Name) + " (guessed to be the leader)"
	}
	return "its leader, broker " + Escape(r.Leader.Name)
}

// keptTwin is the ruling leader's copy where that broker has a second live directory of the partition,
// else nil.
func keptTwin(x *incident.Partition) *incident.Copy {
	l := x.Ruling.Leader
	if l == nil || !slices.ContainsFunc(x.Copies, func(c *incident.Copy) bool { return c.Extra && c.Broker == *l }) {
		return nil
	}
	for _, c := range x.Live() {
		if c.Broker == *l {
			return c
		}
	}
	return nil
}

// rulingProse says who rules and how that is known.
func rulingProse(x *incident.Partition) string {
	if x.Ruling.Leader == nil {
		return "nobody: " + Escape(x.Ruling.Why)
	}
	return "broker " + Escape(x.Ruling.Leader.Name) + ": " + Escape(x.Ruling.Why)
}

var causes = map[string]string{
	incident.CauseUnclean:       "unclean election: a broker became leader that did not have these records",
	incident.CauseNotReplicated: "not replicated: the next leader was elected before it had fetched these records",
	incident.CauseLeaderBehind:  "the leader's log ends before another replica's, in the same epoch",
	incident.CauseMissingRange:  "the leader's log has a hole there",
	incident.CauseRecordLoss:    "compacted topic: the latest value of a key is gone",
	incident.CauseDamage:        "the bytes are damaged in the leader's log",
	incident.CauseUnknown:       "not known",
}

// proof is the rows of one loss.
func (p *Paths) proof(x *incident.Partition, l *incident.Loss, indent int) []string {
	return p.rows(l, indent, len(l.Evidence), func(l *incident.Loss, row func(label, prose string)) { readers(l, row) })
}

// brief is proof cut down to what fits a verdict: two proofs, and the groups by name.
func (p *Paths) brief(l *incident.Loss, indent int) []string {
	return p.rows(l, indent, 2, readersByName)
}

func (p *Paths) rows(l *incident.Loss, indent, proofs int, readBy func(l *incident.Loss, row func(label, prose string))) []string {
	var out []string
	row := func(label, prose string) { out = append(out, labelled(indent, label, prose)...) }
	written := epochs(l.Epochs)
	if t := clocks(l.FirstMs, l.LastMs); t != "" {
		written += ", " + t
	}
	if len(l.Epochs) > 0 || l.FirstMs >= 0 {
		row("written in", written)
	}
	for i, c := range l.Copies {
		label := ""
		if i == 0 {
			label = "still held by"
		}
		if c.Broker.IsRemoteTier() {
			row(label, "the remote tier: segment "+Escape(c.File))
			continue
		}
		row(label, "broker "+Escape(c.Broker.Name)+" ("+string(c.State)+"): "+Escape(c.File))
	}
	switch {
	case len(l.Copies) == 0 && len(l.AskFor) > 0:
		row("still held by", "no copy among these inputs; "+idList(l.AskFor)+", not among them, may hold these records: copy that disk before it is started")
	case len(l.Copies) == 0:
		row("still held by", "no copy among these inputs")
	}
	for i, e := range sortedEvidence(l.Evidence) {
		label := ""
		if i == proofs && len(l.Evidence) > proofs+1 {
			row("", fmt.Sprintf("and %s: kafsck loss shows all", count(len(l.Evidence)-i, "proof more", "proofs more")))
			break
		}
		if i == 0 {
			label = "committed"
		}
		row(label, says(e.Says)+Escape(e.Claim)+"; see "+Escape(e.Source))
	}
	if len(l.Evidence) == 0 {
		row("committed", unproved(l))
	}
	switch l.Acknowledged {
	case commitment.AckedAll:
		row("acknowledged", "yes, to an acks=all producer")
	case commitment.AckedLeader:
		row("acknowledged", "to an acks=1 producer, who was told ok by the leader alone")
	case commitment.AckedNo:
		row("acknowledged", "no")
	}
	if c := causeOf(l); c != "" {
		row("cause", c)
	}
	readBy(l, row)
	return out
}

func sortedEvidence(list []commitment.Evidence) []commitment.Evidence {
	order := map[commitment.Grade]int{commitment.Yes: 0, commitment.No: 1, commitment.Unknown: 2}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b commitment.Evidence) int { return cmp.Compare(order[a.Says], order[b.Says]) })
	return out
}

func says(g commitment.Grade) string {
	if g == commitment.Unknown {
		return ""
	}
	return string(g) + ": "
}

func unproved(l *incident.Loss) string {
	if len(l.Epochs) == 1 {
		return fmt.Sprintf("not known: written by the leader of epoch %d; nothing proves that it was replicated", l.Epochs[0])
	}
	return "not known: nothing proves that they were replicated"
}

// short is one loss on a line, as cells.
func short(l *incident.Loss) []string {
	one := sumOf([]incident.Loss{*l}, l.Committed)
	return []string{rangeOf(l).String(), one.number(""), epochs(l.Epochs), "committed: " + string(l.Committed), heldBy([]incident.Loss{*l})}
}

// heldBy names who holds records of losses that count, or of a single one.
func heldBy(losses []incident.Loss) string {
	var refs []incident.BrokerRef
	var states []string
	for i := range losses {
		l := &losses[i]
		if !l.Counts() && len(losses) > 1 {
			continue
		}
		for _, b := range l.HeldBy {
			if !slices.Contains(refs, b) {
				refs = append(refs, b)
			}
		}
		for _, c := range l.Copies {
			if c.State != replica.Live && c.State != incident.RemoteState && !slices.Contains(states, string(c.State)) {
				states = append(states, string(c.State))
			}
		}
	}
	switch {
	case len(refs) == 0:
		return "held by nobody"
	case len(states) > 0:
		return "held by " + brokers(refs) + " (" + strings.Join(states, ", ") + ")"
	}
	return "held by " + brokers(refs)
}

var shortHeader = []string{"", ">", "", "", ""}

// uncommitted describes the losses that are none: provably never committed.
func (p *Paths) uncommitted(x *incident.Partition) string {
	s := sumOf(x.Losses, commitment.No)
	if s.losses == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s (%s), never committed, not in the log of %s: no loss to acks=all; acks=1 producers may have been told ok",
		s.number(""), p.label(x), s.where(), leaderOf(x))
}
