package report

import (
	"fmt"
	"slices"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
)

// block is a partition in full, but for its name.
func (t *Leaders) block(x *incident.Partition) (out []string) {
	l := x.Leadership
	fact := func(label, prose string) { out = append(out, labelled(2, label, prose)...) }
	best := l.Recommended()
	if best != nil {
		who := "broker " + Escape(best.Copy.Broker.Name)
		if l.Best > 1 {
			who = "any of " + brokers(bestOf(l))
			if l.Best == len(l.Candidates) {
				who = "any replica"
			}
			who += ", such as broker " + Escape(best.Copy.Broker.Name)
		}
		label := "least loss"
		switch verdictOf(l) {
		case "safe":
			label = "recommended"
		case "open":
			label = "of these"
		}
		fact(label, who+": "+reasonOf(l))
	} else {
		fact("nobody", reasonOf(l))
	}
	fact("leads now", rulingProse(x))
	for _, a := range l.Absent {
		fact("absent", absentProse(&a))
	}
	if best != nil && l.Election() == "" {
		fact("decide", "elect nobody yet: add what is absent to these inputs, or start it")
	}
	if l.Unclean.Enabled && best != nil && !best.Leads {
		fact("unclean", "unclean.leader.election.enable is true ("+l.Unclean.Source+"): as long as nobody leads, the controller elects whichever replica is up first, by itself")
	}
	if best != nil && best.Forks() > 0 {
		for i := range best.Followers {
			if f := &best.Followers[i]; len(f.Kept) > 0 {
				fact("forked", forkProse(x, best, f))
			}
		}
	}
	out = append(out, t.headlines(l)...)
	out = append(out, "")
	out = append(out, candidateTable(l)...)
	for i := range l.Candidates {
		out = append(out, "")
		out = append(out, t.candidate(x, l, &l.Candidates[i])...)
	}
	return out
}

// forkProse is what to do about a follower that stays different.
func forkProse(x *incident.Partition, best *incident.Candidacy, f *incident.FollowerFate) string {
	me, dir := Escape(f.Copy.Broker.Name), fmt.Sprintf("%s-%d", Escape(x.Topic), x.Number)
	s := fmt.Sprintf("broker %s keeps %s, unlike broker %s, and Kafka %s never corrects it. Way out: ", me, keptProse(f.Kept), Escape(best.Copy.Broker.Name), x.Leadership.Version)
	if mendedKept(f.Kept) && !f.Stuck {
		return s + "kafsck repair plan takes what is damaged or missing from a replica on which it stands whole; then the two are alike"
	}
	s += "decide which of the two is right"
	if f.Otherwise != nil {
		return s + "; first try the regenerated epochs (see epochs)"
	}
	return s + fmt.Sprintf("; if it is the leader, stop broker %s, move its directory %s out of the log directory (keep it: what it alone holds is nowhere else) and start it: it is built anew from the leader", me, dir)
}

// mendedKept reports whether a repair can take all in which a follower stays different from others.
func mendedKept(kept []incident.KeptRange) bool {
	return len(kept) > 0 && !slices.ContainsFunc(kept, func(k incident.KeptRange) bool { return len(k.MendedBy) == 0 })
}

// mendedForks reports whether a repair makes all followers that stay different like their leader.
func mendedForks(c *incident.Candidacy) bool {
	return !slices.ContainsFunc(c.Followers, func(f incident.FollowerFate) bool {
		return f.Stuck || len(f.Kept) > 0 && !mendedKept(f.Kept)
	})
}

// reasonOf says why the first candidate is the best one, or why there is none.
func reasonOf(l *incident.Leadership) string {
	best := l.Recommended()
	if best == nil {
		if len(l.Candidates) == 0 {
			return "no live replica could be read"
		}
		return "no replica starts: " + l.Candidates[0].CannotLead
	}
	why := ""
	if l.Open() {
		why = "as far as these inputs tell, "
	}
	switch yes, maybe := best.Lost[commitment.Yes], best.Lost[commitment.Unknown]; {
	case yes > 0:
		why += "it loses the fewest committed records, " + comma(yes)
		if maybe > 0 {
			why += ", and " + comma(maybe) + " that may have been committed"
		}
	case maybe > 0:
		why += "it loses no record that is known to have been committed, but " + comma(maybe) + " that may have been"
	case len(best.CutShort) > 0:
		s := best.CutShort[0]
		why += fmt.Sprintf("nothing that any copy here holds is lost; but broker %s's log was cut short, and %s, committed, are gone", Escape(s.Broker.Name), offsets(s.LogEnd, s.HighWatermark))
	default:
		why += "nothing that was committed, or may have been, is lost"
	}
	switch {
	case best.Leads:
		why += "; it leads already"
	case best.Eligible:
		why += "; it may be elected cleanly"
	case l.Known:
		why += "; but it is in neither ISR nor ELR, so that its election is an unclean one"
	}
	if best.RepairFirst {
		why += "; it starts only after its epochs are repaired (kafsck repair epochs)"
	}
	if best.BrokenCount > 0 {
		why += "; " + count(best.BrokenCount, "transaction stays", "transactions stay") + " open in its log"
	}
	return why
}

// unknownElections are partitions of which no metadata say who may be elected.
type unknownElections struct {
	wanted  []wantedLeader
	version broker.Version
}

type wantedLeader struct {
	broker     string
	partitions []incident.ElectedPartition
}

// add takes in a partition whose best leader is not just any.
func (u *unknownElections) add(x *incident.Partition) {
	l := x.Leadership
	best := l.Recommended()
	if l.Known || l.Election() != incident.Unclean || best == nil || l.Best == len(l.Candidates) {
		return
	}
	u.version = l.Version
	name := Escape(best.Copy.Broker.Name)
	i := slices.IndexFunc(u.wanted, func(w wantedLeader) bool { return w.broker == name })
	if i < 0 {
		i = len(u.wanted)
		u.wanted = append(u.wanted, wantedLeader{broker: name})
	}
	u.wanted[i].partitions = append(u.wanted[i].partitions, incident.ElectedPartition{Name: x.Name, Topic: x.Topic, Number: x.Number})
}
