package incident

import (
	"cmp"
	"maps"
	"slices"

	"kafsck/kraft"
)

// ElectionPlan is one order of stops, settings, starts and elections for all partitions of a
// cluster together: what makes one partition's best replica its leader must not make
// another's worst.
type ElectionPlan struct {
	Cluster *Cluster
	list    []planned
}

// Plans gathers partitions, by cluster.
type Plans []*ElectionPlan

// Add takes in one partition.
func (ps *Plans) Add(p *Partition) {
	x, ok := planOf(p)
	if !ok {
		return
	}
	i := slices.IndexFunc(*ps, func(e *ElectionPlan) bool { return e.Cluster == p.Cluster })
	if i < 0 {
		i = len(*ps)
		*ps = append(*ps, &ElectionPlan{Cluster: p.Cluster})
	}
	(*ps)[i].list = append((*ps)[i].list, x)
}

// Course is the plan as a list of deeds, in this order.
type Course struct {
	// Unset are the topics whose unclean.leader.election.enable is to be false before anything
	// is started: their controller elects whoever is up first.
	Unset []UncleanTopic
	// Stop are brokers that lead now and must not; Hold those that must not be up yet.
	Stop, Hold []int32
	// Starts are in order: the next one only after the elections of the one before.
	Starts []BrokerElections
	// Preferred are partitions led by another in the ISR; Leaders are the wanted ones.
	Preferred []ElectedPartition
	Leaders   []int32
	// Conflicts are partitions that do not get the leader that is best for them.
	Conflicts []PlanConflict
	// Voters of the metadata quorum, and those of them among Stop and Hold.
	Voters, HeldVoters []int32
}

// UncleanTopic is a topic with unclean.leader.election.enable, and where that is set.
type UncleanTopic struct {
	Topic, Source string
}

// BrokerElections is a start of a broker, and what is elected then.
type BrokerElections struct {
	Broker    int32
	Automatic []ElectedPartition // by the controller itself
	Unclean   []ElectedPartition // by command
}

// PlanConflict is a partition whose best leader would have to be up before a broker that has
// to be up before it for the sake of others.
type PlanConflict struct {
	ElectedPartition
	Wanted, First int32 // First is up earlier, and is elected
	More          Cost  // what that loses beyond what is lost anyway
}

// Needed reports whether there is anything to do.
func (c *Course) Needed() bool {
	return len(c.Unset) > 0 || len(c.Stop) > 0 || len(c.Preferred) > 0 || len(c.Conflicts) > 0 ||
		slices.ContainsFunc(c.Starts, func(s BrokerElections) bool { return len(s.Automatic)+len(s.Unclean) > 0 })
}

// Course orders the deeds. Where partitions contradict each other, those give way that lose
// the fewest records by it.
func (e *ElectionPlan) Course() *Course {
	out := &Course{}
	stop := map[int32]bool{}
	for i := range e.list {
		if x := &e.list[i]; x.kind == Unclean && x.leader >= 0 {
			stop[x.leader] = true
		}
	}
	var open []*planned
	nodes, topics := map[int32]bool{}, map[string]UncleanTopic{}
	for i := range e.list {
		x := &e.list[i]
		if x.kind == Preferred {
			out.Preferred, out.Leaders = append(out.Preferred, x.ElectedPartition), append(out.Leaders, x.wanted)
			continue
		}
		if x.kind == NoElection && !stop[x.wanted] {
			continue
		}
		open = append(open, x)
		nodes[x.wanted] = true
		for _, id := range x.before {
			nodes[id] = true
		}
		if len(x.byUnclean) > 0 {
			topics[x.Topic] = UncleanTopic{x.Topic, x.unclean.Source}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		out.Unset = append(out.Unset, topics[name])
	}
	out.Stop = slices.Sorted(maps.Keys(stop))
	out.order(open, nodes)
	for i, s := range out.Starts {
		if i > 0 && !stop[s.Broker] && slices.ContainsFunc(open, func(x *planned) bool { return slices.Contains(x.before, s.Broker) }) {
			out.Hold = append(out.Hold, s.Broker)
		}
	}
	slices.Sort(out.Hold)
	if m := e.Cluster.Metadata; m != nil {
		out.voters(m)
	}
	return out
}

// order starts one broker after the other: the one that harms the fewest records of those
// partitions whose own best leader is not up yet.
func (c *Course) order(open []*planned, nodes map[int32]bool) {
	for len(nodes) > 0 {
		next, cost, wanted := int32(-1), Cost{}, 0
		for _, id := range slices.Sorted(maps.Keys(nodes)) {
			var sum Cost
			n, harmed := 0, false
			for _, x := range open {
				switch {
				case x.wanted == id:
					n++
				case slices.Contains(x.before, id):
					harmed = true
					sum.Committed += x.more[id].Committed
					sum.Maybe += x.more[id].Maybe
				}
			}
			if harmed && sum == (Cost{}) {
				sum.Maybe = 1 // not nothing: a transaction or a fork, or not known how much
			}
			if next < 0 || sum.less(cost) || sum == cost && n > wanted {
				next, cost, wanted = id, sum, n
			}
		}
		delete(nodes, next)
		step := BrokerElections{Broker: next}
		var rest []*planned
		for _, x := range open {
			switch {
			case x.wanted == next && x.kind == Unclean:
				step.Unclean = append(step.Unclean, x.ElectedPartition)
			case x.wanted == next:
				step.Automatic = append(step.Automatic, x.ElectedPartition)
			case slices.Contains(x.before, next):
				c.Conflicts = append(c.Conflicts, PlanConflict{x.ElectedPartition, x.wanted, next, x.more[next]})
			default:
				rest = append(rest, x)
			}
		}
		open = rest
		c.Starts = append(c.Starts, step)
	}
	slices.SortFunc(c.Conflicts, func(a, b PlanConflict) int {
		return cmp.Or(cmp.Compare(b.More.Committed, a.More.Committed), cmp.Compare(a.Name, b.Name))
	})
}

// voters notes which controllers the plan keeps down.
func (c *Course) voters(m *kraft.Log) {
	for _, v := range m.Voters {
		c.Voters = append(c.Voters, v.ID)
		if slices.Contains(c.Stop, v.ID) || slices.Contains(c.Hold, v.ID) {
			c.HeldVoters = append(c.HeldVoters, v.ID)
		}
	}
	slices.Sort(c.Voters)
	slices.Sort(c.HeldVoters)
}

// Majority is how many controllers must be up.
func (c *Course) Majority() int { return len(c.Voters)/2 + 1 }
