package incident

import (
	"cmp"
	"slices"

	"kafsck/commitment"
)

// rank orders the candidates: who can lead at all, fewest committed records lost, may be
// elected cleanly, fewest that may be committed, fewest broken transactions, fewest
// followers that stay different, fewest others; then who leads already, the assignment's
// order, the lower id. Best counts those that are equal in all that matters.
func (l *Leadership) rank() {
	slices.SortStableFunc(l.Candidates, func(a, b Candidacy) int {
		return cmp.Or(l.compare(&a, &b), cmp.Compare(yes(b.Leads), yes(a.Leads)), cmp.Compare(b.State.LogEnd, a.State.LogEnd),
			cmp.Compare(l.place(&a), l.place(&b)), cmp.Compare(a.Copy.Broker.ID, b.Copy.Broker.ID))
	})
	for i := range l.Candidates {
		if c := &l.Candidates[i]; !c.CanLead() || l.compare(&l.Candidates[0], c) != 0 {
			break
		}
		l.Best++
	}
}

// compare puts the better candidate first; 0: equally good.
func (l *Leadership) compare(a, b *Candidacy) int {
	return cmp.Or(cmp.Compare(yes(!a.CanLead()), yes(!b.CanLead())),
		cmp.Compare(a.Lost[commitment.Yes], b.Lost[commitment.Yes]), cmp.Compare(len(a.CutShort), len(b.CutShort)), cmp.Compare(yes(b.Eligible), yes(a.Eligible)),
		cmp.Compare(a.Lost[commitment.Unknown], b.Lost[commitment.Unknown]), cmp.Compare(yes(a.RepairFirst), yes(b.RepairFirst)),
		cmp.Compare(a.BrokenCount, b.BrokenCount),
		cmp.Compare(a.Forks(), b.Forks()), cmp.Compare(a.Lost[commitment.No], b.Lost[commitment.No]))
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// place is a candidate's place in the assignment.
func (l *Leadership) place(c *Candidacy) int {
	if i := slices.Index(l.Replicas, c.Copy.Broker.ID); i >= 0 && c.Copy.Broker.Known {
		return i
	}
	return len(l.Replicas)
}

// Recommended is the best candidate, nil without one.
func (l *Leadership) Recommended() *Candidacy {
	if l.Best == 0 {
		return nil
	}
	return &l.Candidates[0]
}

// Safe reports whether the recommended candidate loses nothing that was committed or may
// have been, breaks no transaction, and no replica that may be elected cleanly is absent.
func (l *Leadership) Safe() bool {
	c := l.Recommended()
	return c != nil && c.Harmless() && !c.RepairFirst && !l.Open()
}

// Open reports whether an absent replica may be the better leader.
func (l *Leadership) Open() bool {
	return slices.ContainsFunc(l.Absent, func(a AbsentReplica) bool { return a.Better() })
}

// CanLead reports whether the replica comes up, if need be with regenerated epochs.
func (c *Candidacy) CanLead() bool { return c.CannotLead == "" || c.RepairFirst }

// Harmless reports whether under this leader nothing is lost that was committed or may have
// been, and no transaction breaks.
func (c *Candidacy) Harmless() bool {
	return c.LostAll() == 0 && c.BrokenCount == 0 && len(c.CutShort) == 0
}
