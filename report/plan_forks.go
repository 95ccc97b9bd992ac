package report

import (
	"fmt"
	"slices"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/repair"
	"kafsck/replica"
)

// PlanForks are the places at which copies part from the ruling log: no plan chooses between them by
// itself, and each choice has its command.
type PlanForks struct{ list []planFork }

type planFork struct {
	partition string
	holder    int32 // the broker whose copy would be cut
	at        int64 // offset
	ruler     string
	guess     bool
}

// Add takes in the forks of one partition, of each copy the lowest.
func (f *PlanForks) Add(p *incident.Partition) {
	for i := range p.Divergences {
		d := &p.Divergences[i]
		if !d.Ruled || d.Kind != diff.EpochFork && d.Kind != diff.ContentFork || !Matters(d) || p.Ruling.Leader == nil {
			continue
		}
		if d.B.State != replica.Live || d.B.Extra || !d.B.Broker.Known || d.B.Broker.ID < 0 {
			continue
		}
		n := planFork{p.Name, d.B.Broker.ID, d.From, p.Ruling.Leader.Name, p.Ruling.Guess}
		at := slices.IndexFunc(f.list, func(o planFork) bool { return o.partition == n.partition && o.holder == n.holder })
		switch {
		case at < 0:
			f.list = append(f.list, n)
		case f.list[at].at > n.at:
			f.list[at] = n
		}
	}
}

// maxForks is how many commands are printed.
const maxForks = 3

// forks are the commands for copies that part, where the plan leaves that open.
func (t *RepairPlan) forks() []string {
	list := slices.DeleteFunc(slices.Clone(t.Forks.list), func(f planFork) bool {
		return !slices.ContainsFunc(t.Plan.Left, func(l repair.Left) bool { return l.Partition == f.partition && l.Code == "divergence" })
	})
	if len(list) == 0 || t.Paths.Again == nil {
		return nil
	}
	out := append(indented("", "Copies part. First save what only one side has, with the proof that it was committed:"), "  "+t.Paths.Again("export", "--lost", "--out", "lost.jsonl"))
	for _, f := range list[:min(len(list), maxForks)] {
		why := "it is the leader"
		if f.guess {
			why = "that it leads is a guess"
		}
		out = append(out, indented("", fmt.Sprintf("If the line of broker %s is to rule %s (%s), the copy of broker %d is cut back to where they part, with your word:", Escape(f.ruler), Escape(f.partition), why, f.holder))...)
		out = append(out, "  "+t.Paths.Again("repair", "plan", "--truncate", fmt.Sprintf("%d:%s@%d", f.holder, f.partition, f.at), "--out", "plan.json"))
	}
	if n := len(list) - maxForks; n > 0 {
		out = append(out, fmt.Sprintf("… and %s more: kafsck diff", count(n, "copy", "copies")))
	}
	return out
}
