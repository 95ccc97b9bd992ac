package incident

import (
	"slices"

	"kafsck/commitment"
)

// ElectionKind is how a replica comes to lead.
type ElectionKind string

// The kinds. The controller elects, not a tool: of the replicas that are alive the first one in
// the assignment that is in the ISR (with an empty ISR, in the ELR), then a sole last known
// leader, and only in an unclean election the first one that is alive
// (PartitionChangeBuilder.electAnyLeader, Kafka 4.3). So what decides is who is up.
const (
	NoElection ElectionKind = "none"      // it leads
	Automatic  ElectionKind = "automatic" // nobody leads, and it may be elected cleanly
	Preferred  ElectionKind = "preferred" // another leads, and it is in the ISR
	Unclean    ElectionKind = "unclean"   // it is in neither ISR nor ELR, or nothing tells
)

// Election is what makes the recommended replica the leader; "" where nobody is
// recommended for election: whoever is absent may have lost nothing.
func (l *Leadership) Election() ElectionKind {
	best := l.Recommended()
	switch {
	case best == nil, l.Open() && !best.Leads && !best.Eligible:
		return ""
	case best.Leads:
		return NoElection
	case best.Eligible && l.Leader < 0:
		return Automatic
	case best.Eligible:
		return Preferred
	}
	return Unclean
}

// Electable are the brokers that may be elected cleanly: the ISR, with an empty one the ELR.
func (l *Leadership) Electable() []int32 {
	if len(l.ISR) > 0 {
		return l.ISR
	}
	return l.ELR
}

// Ahead are the replicas before a broker in the assignment: an unclean election takes the
// first that is alive.
func (l *Leadership) Ahead(id int32) []int32 {
	if i := slices.Index(l.Replicas, id); i >= 0 {
		return l.Replicas[:i]
	}
	return l.Replicas
}

// planned is a partition as the plan over all of them sees it.
type planned struct {
	ElectedPartition
	kind   ElectionKind
	wanted int32
	leader int32 // now, -1 none
	// before are the brokers that must not be up until the wanted one leads, as they would be
	// elected in its place; byUnclean those of whom that is true only as long as
	// unclean.leader.election.enable is true.
	before, byUnclean []int32
	unclean           UncleanSetting
	// more is what is lost under another leader beyond what is lost anyway.
	more map[int32]Cost
}

// ElectedPartition is a partition of an election.
type ElectedPartition struct {
	Name, Topic string
	Number      int32
}

// Cost counts records that an election gives up.
type Cost struct{ Committed, Maybe int64 }

func (c Cost) less(o Cost) bool {
	return c.Committed < o.Committed || c.Committed == o.Committed && c.Maybe < o.Maybe
}

// planOf is what a partition asks of the order in which brokers start; ok is false where
// nothing depends on it.
func planOf(p *Partition) (out planned, ok bool) {
	l := p.Leadership
	if l == nil || !l.Known || l.Election() == "" || !l.Recommended().Copy.Broker.Known {
		return out, false
	}
	if l.Election() == Preferred && l.LeaderAbsent() {
		return out, false
	}
	best := l.Recommended()
	out = planned{ElectedPartition: ElectedPartition{p.Name, p.Topic, p.Number}, kind: l.Election(), wanted: best.Copy.Broker.ID, leader: l.Leader, unclean: l.Unclean, more: map[int32]Cost{}}
	asked := map[int32]bool{out.wanted: true}
	ok = out.kind == Unclean || out.kind == Preferred
	dangerous := func(id int32) {
		if asked[id] {
			return
		}
		asked[id] = true
		clean := slices.Contains(l.Electable(), id) || l.Leader < 0 && slices.Contains(l.LastKnownELR, id)
		switch {
		case clean || id == l.Leader || out.kind == Unclean && slices.Contains(l.Ahead(out.wanted), id):
			out.before = append(out.before, id)
		case l.Unclean.Enabled:
			out.byUnclean = append(out.byUnclean, id)
		}
	}
	for i := range l.Candidates {
		c := &l.Candidates[i]
		if !c.Copy.Broker.Known {
			continue
		}
		if i < l.Best || !worse(c, best) {
			if out.kind != Unclean || !slices.Contains(l.Ahead(out.wanted), c.Copy.Broker.ID) {
				asked[c.Copy.Broker.ID] = true
			}
		}
		ok = ok || worse(c, best)
		out.more[c.Copy.Broker.ID] = Cost{max(0, c.Lost[commitment.Yes]-best.Lost[commitment.Yes]), max(0, c.Lost[commitment.Unknown]-best.Lost[commitment.Unknown])}
		dangerous(c.Copy.Broker.ID)
	}
	for i := range l.Absent {
		if id := l.Absent[i].Broker; slices.Contains(l.Replicas, id) && !slices.Contains(l.Electable(), id) {
			dangerous(id)
		}
	}
	return out, ok
}

// worse reports whether a leads to more loss than b.
func worse(a, b *Candidacy) bool {
	return a.Lost[commitment.Yes] > b.Lost[commitment.Yes] || a.Lost[commitment.Unknown] > b.Lost[commitment.Unknown] ||
		a.BrokenCount > b.BrokenCount || a.Forks() > b.Forks() || len(a.CutShort) > len(b.CutShort)
}
