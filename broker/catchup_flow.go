package broker

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Flow is a replica that fetches what it lacks while new data arrive.
type Flow struct {
	Bytes int64 // that it lacks
	// Write is the rate at which its leader's log grows meanwhile, bytes a second.
	Write float64
	// Through are the budgets that it uses, as indexes; ascending.
	Through []int
}

// Arrival is when a flow has caught up, in seconds from the start, and what it has
// fetched by a given moment.
type Arrival struct {
	Seconds float64 // +Inf: never
	Fetched float64 // bytes by the moment asked for, new data included
}

// CatchUpTimes lets flows share budgets (bytes a second each, +Inf for none) until
// each has caught up or no further one ever will. moment, in seconds, is the time
// for Arrival.Fetched; what arrives there is counted even if all caught up earlier.
//
// It is a fluid model of Kafka's replication throttle (ReplicationQuotaManager):
// one budget a broker and side for all its throttled replicas. A replica in sync is
// never held back, and what it fetches still counts (ReplicaManager.
// shouldLeaderThrottle, KafkaApis.sizeOfThrottledPartitions, RemoteLeaderEndPoint.
// shouldFollowerThrottle), so that replicas that have caught up take their new data
// off the budget first. The others share the rest evenly, and what one cannot use
// because of its other budget goes to the rest. Kafka does not promise even shares;
// the time in which all are done does not depend on them where one budget decides.
//
// A flow through no finite budget arrives at once: its rate is not known.
func CatchUpTimes(flows []Flow, budgets []float64, moment float64) []Arrival {
	out := make([]Arrival, len(flows))
	groups := groupFlows(flows, budgets, out)
	now := 0.0
	for {
		share(groups, budgets)
		next := math.Inf(1)
		for _, g := range groups {
			if g.open() && g.rate > g.write {
				next = min(next, now+(float64(flows[g.waiting()].Bytes)-g.gained)/(g.rate-g.write))
			}
		}
		if now < moment && moment <= next { // look around on the way
			for _, g := range groups {
				g.fetchedAt(flows, out, now, moment)
			}
		}
		if math.IsInf(next, 1) {
			for _, g := range groups {
				for _, i := range g.flows[g.done:] {
					out[i].Seconds = math.Inf(1)
				}
			}
			return out
		}
		for _, g := range groups {
			if !g.open() {
				continue
			}
			g.gained += (g.rate - g.write) * (next - now)
			for g.open() && g.gained >= float64(flows[g.waiting()].Bytes)*(1-1e-12) {
				out[g.waiting()].Seconds = next
				g.done++
			}
		}
		now = next
	}
}

// flowGroup is flows that go through the same budgets and grow at the same rate:
// under even shares each of them gains as much as the others, so that the smallest
// is done first.
type flowGroup struct {
	through []int
	write   float64
	flows   []int // indexes, by bytes
	done    int   // so many of them have caught up
	gained  float64
	rate    float64 // of each that has not, bytes a second
}

func (g *flowGroup) open() bool   { return g.done < len(g.flows) }
func (g *flowGroup) waiting() int { return g.flows[g.done] }

func groupFlows(flows []Flow, budgets []float64, out []Arrival) []*flowGroup {
	var groups []*flowGroup
	byKey := map[string]*flowGroup{}
	for i, f := range flows {
		finite := false
		key := binary.BigEndian.AppendUint64(nil, math.Float64bits(f.Write))
		for _, b := range f.Through {
			key = binary.BigEndian.AppendUint32(key, uint32(b))
			finite = finite || !math.IsInf(budgets[b], 1)
		}
		if !finite {
			out[i].Fetched = float64(f.Bytes)
			continue
		}
		g := byKey[string(key)]
		if g == nil {
			g = &flowGroup{through: f.Through, write: f.Write}
			byKey[string(key)] = g
			groups = append(groups, g)
		}
		g.flows = append(g.flows, i)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.flows, func(a, b int) int { return cmp.Compare(flows[a].Bytes, flows[b].Bytes) })
		for g.open() && flows[g.waiting()].Bytes <= 0 {
			g.done++
		}
	}
	return groups
}

// share gives each group's flows that have not caught up their rate: every budget
// is divided evenly among those that still want more, the scarcest first.
func share(groups []*flowGroup, budgets []float64) {
	left := slices.Clone(budgets)
	want := make([]int, len(budgets))
	var waiting []*flowGroup
	for _, g := range groups {
		for _, b := range g.through {
			left[b] -= float64(g.done) * g.write
			want[b] += len(g.flows) - g.done
		}
		if g.rate = 0; g.open() {
			waiting = append(waiting, g)
		}
	}
	for len(waiting) > 0 {
		scarcest, fair := -1, math.Inf(1)
		for b, n := range want {
			if n > 0 && max(left[b], 0)/float64(n) < fair {
				scarcest, fair = b, max(left[b], 0)/float64(n)
			}
		}
		if scarcest < 0 {
			return // every flow goes through a finite budget
		}
		waiting = slices.DeleteFunc(waiting, func(g *flowGroup) bool {
			if !slices.Contains(g.through, scarcest) {
				return false
			}
			n := len(g.flows) - g.done
			g.rate = fair
			for _, b := range g.through {
				left[b] -= fair * float64(n)
				want[b] -= n
			}
			return true
		})
	}
}

// fetchedAt notes what each flow has fetched at the moment t, given the rates that
// hold from now on: what it lacked less what it still lacks, and the new data.
func (g *flowGroup) fetchedAt(flows []Flow, out []Arrival, now, t float64) {
	gained := g.gained
	if g.open() {
		gained += (g.rate - g.write) * (t - now)
	}
	for i, f := range g.flows {
		had := float64(flows[f].Bytes)
		if i >= g.done {
			had = min(had, gained)
		}
		out[f].Fetched = max(had+g.write*t, 0)
	}
}
