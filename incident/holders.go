package incident

import (
	"slices"

	"kafsck/kraft"
	"kafsck/logdir"
)

// heldElsewhere are the brokers that are not among the inputs and may hold what an
// election threw away: who led before, and who was in the ISR or the ELR, unless the
// metadata say that it has followed since and so has cut its log.
func (p *Partition) heldElsewhere(elected *kraft.Change) []int32 {
	var out []int32
	i := slices.IndexFunc(p.Changes, func(c kraft.Change) bool { return c.Offset == elected.Offset })
	if i < 0 {
		return nil
	}
	ask := func(id int32) {
		here := slices.ContainsFunc(p.Cluster.Brokers, func(b *logdir.Broker) bool { return b.IDKnown && b.ID == id })
		followed := slices.ContainsFunc(p.Changes[i:], func(c kraft.Change) bool { return slices.Contains(c.ISR, id) })
		if id >= 0 && !here && !followed && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	ask(elected.PrevLeader)
	if i > 0 {
		for _, id := range slices.Concat(p.Changes[i-1].ISR, p.Changes[i-1].ELR) {
			ask(id)
		}
	}
	return out
}

// askForHolders names, for each loss by an election that left no copy here, the brokers
// whose disks may hold it.
func (p *Partition) askForHolders() {
	for i := range p.Losses {
		l := &p.Losses[i]
		if l.Election == nil || len(l.Copies) > 0 || !l.Counts() {
			continue
		}
		for k := range p.Changes {
			if p.Changes[k].Offset == l.Election.Offset {
				l.AskFor = p.heldElsewhere(&p.Changes[k])
			}
		}
	}
}
