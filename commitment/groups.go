package commitment

import (
	"fmt"
	"slices"
)

// GroupCommit is the highest offset that a consumer group committed on the line of one
// leader epoch.
type GroupCommit struct {
	Group  string
	Offset int64 // the group had read up to Offset - 1
	// Epoch of the last record that it had read: the commit's own leader epoch or, ByTime,
	// the epoch in force when it committed.
	Epoch    int32
	ByTime   bool
	CommitMs int64 // coordinator's clock, -1 unknown
	Source   string
}

// Claim says what the commit proves.
func (g *GroupCommit) Claim() string {
	return g.words("had read up to") + ": consumers get committed records only"
}

// Told says what the commit tells where it is no proof.
func (g *GroupCommit) Told() string { return g.words("says that it had read up to") }

func (g *GroupCommit) words(verb string) string {
	s := fmt.Sprintf("group %s %s offset %d", g.Group, verb, g.Offset-1)
	if g.CommitMs >= 0 {
		s += ", committed at " + utc(g.CommitMs)
	}
	switch {
	case g.ByTime && g.Epoch < 0:
		s += " (the commit carries no leader epoch, and nothing here says which epoch was in force then)"
	case g.ByTime:
		s += fmt.Sprintf(" (the commit carries no leader epoch: by its time it was in epoch %d, and no unclean election is near)", g.Epoch)
	default:
		s += fmt.Sprintf(", in leader epoch %d", g.Epoch)
	}
	return s
}

// GroupCommits are the group commits of a partition as a witness: a consumer is only
// given records below the high watermark (KIP-392 and before: the leader's, or a
// follower's own), so what a group had read was committed. The value is the client's; a
// commit counts for records of its own epoch, and for older ones of a copy that also
// holds records of that epoch: then they are of one line.
type GroupCommits struct {
	// Highest holds, by epoch, the highest commit.
	Highest map[int32]GroupCommit
	// Epochs are the leader epochs in the batches of each copy, by its index.
	Epochs map[int][]int32
}

// Cuts implements Witness.
func (w *GroupCommits) Cuts(from, to int64) []int64 {
	var out []int64
	for _, g := range w.Highest {
		out = append(out, inside(g.Offset, from, to)...)
	}
	return out
}

// Testify implements Witness.
func (w *GroupCommits) Testify(p *Piece) (Evidence, bool) {
	best := GroupCommit{Epoch: -1}
	for e, g := range w.Highest {
		if p.To > g.Offset || e < p.Epoch || p.Epoch < 0 {
			continue
		}
		oneLine := e == p.Epoch || slices.ContainsFunc(p.Copies, func(c int) bool { return slices.Contains(w.Epochs[c], e) })
		if oneLine && (best.Epoch < 0 || e < best.Epoch) {
			best = g
		}
	}
	if best.Epoch < 0 {
		return Evidence{}, false
	}
	return Evidence{Kind: GroupCommitKind, Says: Yes, Claim: best.Claim(), Source: best.Source}, true
}
