package incident

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"kafsck/broker"
	"kafsck/commitment"
)

// Rates are what limits replication, bytes a second; 0 is no limit.
type Rates struct {
	// Throttle and LeaderThrottle are follower.replication.throttled.rate and
	// leader.replication.throttled.rate of every broker: one budget each for all
	// partitions that a broker fetches, and for all that it is asked for. Move is
	// replica.alter.log.dirs.io.max.bytes.per.second.
	Throttle, LeaderThrottle, Move float64
	// Write is how fast producers write to the partitions of a follower that have to
	// catch up, all together, spread evenly; WriteOf says it of single partitions, by name.
	Write   float64
	WriteOf map[string]float64
	// DeleteDelay is file.delete.delay.ms.
	DeleteDelay time.Duration
	// InForce are the throttles that the metadata hold. They count where no rate is given above.
	InForce *RatesInForce
}

// CatchupPlan is how long it takes and how much room it needs, for all followers.
type CatchupPlan struct {
	Rates     Rates
	Followers []TimedCatchup // by follower, then partition; moves between disks last
	Brokers   []BrokerCatchup
	Untold    []CatchupUntold
}

// TimedCatchup is one follower's replica with its time.
type TimedCatchup struct {
	FollowerCatchup
	// Write is the rate at which its leader's log grows, bytes a second.
	Write float64
	// Seconds until it has caught up: NaN where no throttle limits it, so that the time
	// is not known; +Inf never.
	Seconds float64
	// early is what it has fetched when the file delete delay is over, bytes.
	early float64
}

// Never reports whether the replica does not catch up.
func (t *TimedCatchup) Never() bool { return math.IsInf(t.Seconds, 1) }

// BrokerCatchup is the total of one broker, or of the moves between its disks.
type BrokerCatchup struct {
	Follower BrokerRef
	Moves    bool
	Absent   bool // its disks are not among the inputs
	// Replicas counts them by way; Truncated are those that cut off what they have.
	Replicas  map[broker.Way]int
	Truncated int
	// FetchBytes is to be fetched, CutBytes and DeletedBytes are thrown away.
	FetchBytes, CutBytes, DeletedBytes int64
	Write                              float64
	Seconds                            float64 // of the slowest that is not stuck: NaN not known, +Inf never
	// Rate and LeaderRate are the budgets that limit it, bytes a second, 0 none: the broker's own, and
	// the least of its leaders'. InForce: one of them is set already, by the metadata.
	Rate, LeaderRate float64
	InForce          bool
	// Lost is what its replicas throw away and their leaders lack: records by grade.
	Lost  map[commitment.Grade]int64
	Never int // replicas that do not catch up for want of throughput
	Needs []Need
	Dirs  []DirSpace
}

// Size is how many replicas there are.
func (b *BrokerCatchup) Size() int {
	n := 0
	for _, x := range b.Replicas {
		n += x
	}
	return n
}

// Need is a budget that is too small: it must be above Rate, bytes a second.
type Need struct {
	Side   string // "follower", "leader" or "move"
	Broker BrokerRef
	Rate   float64
	// AtTwice is how many seconds it takes when every budget that is too small is twice
	// what it must exceed.
	AtTwice float64
}

// DirSpace is the room that the .log files of a log directory take, in bytes.
type DirSpace struct {
	Path             string // "" not known
	Now, Peak, After int64
	// Grows: new data arrive for a time that is not known, and Peak and After are lower
	// bounds.
	Grows bool
}

// PlanCatchups puts all followers on their budgets.
func PlanCatchups(list []FollowerCatchup, untold []CatchupUntold, r Rates) *CatchupPlan {
	p := &CatchupPlan{Rates: r, Untold: untold}
	slices.SortStableFunc(list, func(a, b FollowerCatchup) int { return byFollower(&a, &b) })
	lagging := map[BrokerRef]int{} // without a rate of their own
	for i := range list {
		if _, named := r.WriteOf[list[i].Partition]; !named && needsTime(&list[i]) && list[i].State != FollowerFuture {
			lagging[list[i].Follower]++
		}
	}
	for _, f := range list {
		t := TimedCatchup{FollowerCatchup: f, Seconds: math.NaN()}
		if needsTime(&f) {
			if w, named := r.WriteOf[f.Partition]; named {
				t.Write = w
			} else {
				t.Write = r.Write / float64(max(lagging[f.Follower], 1))
			}
		}
		p.Followers = append(p.Followers, t)
	}
	p.time(nil)
	p.total()
	return p
}

// needsTime: whoever has something to fetch.
func needsTime(f *FollowerCatchup) bool { return f.FetchBytes > 0 }

// link is a budget.
type link struct {
	side   string
	broker BrokerRef
}

func (r *Rates) of(l link) float64 {
	if rate := r.given(l.side); rate > 0 {
		return rate
	}
	if rate := r.InForce.rate(l); rate > 0 {
		return rate
	}
	return math.Inf(1)
}

// given is the rate that was asked for, 0 none.
func (r *Rates) given(side string) float64 {
	return map[string]float64{"follower": r.Throttle, "leader": r.LeaderThrottle, "move": r.Move}[side]
}

// links are the budgets that a follower's replica counts in. A throttle that is set already holds for
// the replicas in its list only.
func (r *Rates) links(f *FollowerCatchup) []link {
	if f.State == FollowerFuture {
		return []link{{"move", f.Follower}}
	}
	var out []link
	for _, l := range []link{{"follower", f.Follower}, {"leader", f.Leader}} {
		if r.given(l.side) > 0 || r.InForce.lists(l, f.Topic, f.Number) {
			out = append(out, l)
		}
	}
	return out
}

// time runs the fluid model; raised are budgets other than the rates say.
func (p *CatchupPlan) time(raised map[link]float64) {
	index := map[link]int{}
	var budgets []float64
	var flows []broker.Flow
	var of []*TimedCatchup
	for i := range p.Followers {
		t := &p.Followers[i]
		if !needsTime(&t.FollowerCatchup) {
			t.Seconds = 0
			continue
		}
		flow := broker.Flow{Bytes: t.FetchBytes, Write: t.Write}
		limited := false
		for _, l := range p.Rates.links(&t.FollowerCatchup) {
			n, known := index[l]
			if !known {
				n = len(budgets)
				index[l] = n
				budget := p.Rates.of(l)
				if x, ok := raised[l]; ok {
					budget = x
				}
				budgets = append(budgets, budget)
			}
			flow.Through = append(flow.Through, n)
			limited = limited || !math.IsInf(budgets[n], 1)
		}
		slices.Sort(flow.Through)
		if !limited {
			t.Seconds, t.early = math.NaN(), float64(t.FetchBytes)
			continue
		}
		flows, of = append(flows, flow), append(of, t)
	}
	for i, a := range broker.CatchUpTimes(flows, budgets, p.Rates.DeleteDelay.Seconds()) {
		of[i].Seconds, of[i].early = a.Seconds, a.Fetched
	}
	for i := range p.Followers {
		if t := &p.Followers[i]; t.Way == broker.Stuck {
			t.Seconds = math.Inf(1)
		}
	}
	p.chainMoves()
}

// chainMoves: a move is done when the replica that it copies has caught up itself.
func (p *CatchupPlan) chainMoves() {
	type key struct {
		broker    BrokerRef
		partition string
		id        string
	}
	own := map[key]float64{}
	for i := range p.Followers {
		t := &p.Followers[i]
		k := key{t.Follower, t.Partition, t.TopicID}
		if t.State != FollowerFuture {
			own[k] = t.Seconds
		} else if s, known := own[k]; known && s > t.Seconds {
			t.Seconds = s
		}
	}
}

// total sums up by follower, moves apart.
func (p *CatchupPlan) total() {
	for i := range p.Followers {
		t := &p.Followers[i]
		moves := t.State == FollowerFuture
		n := len(p.Brokers)
		if n == 0 || p.Brokers[n-1].Follower != t.Follower || p.Brokers[n-1].Moves != moves {
			p.Brokers = append(p.Brokers, BrokerCatchup{Follower: t.Follower, Moves: moves, Replicas: map[broker.Way]int{}, Lost: map[commitment.Grade]int64{}})
			n++
		}
		b := &p.Brokers[n-1]
		b.Absent = b.Absent || t.State == FollowerAbsent
		b.Replicas[t.Way]++
		if t.Truncates() {
			b.Truncated++
		}
		b.FetchBytes += t.FetchBytes
		b.CutBytes += t.CutBytes
		b.DeletedBytes += t.DeletedBytes
		b.Write += t.Write
		for k := range t.Lost {
			b.Lost[t.Lost[k].Committed] += t.Lost[k].Records
		}
		p.limit(b, t)
		if t.Way == broker.Stuck {
			continue // whatever the throughput
		}
		b.Seconds = later(b.Seconds, t.Seconds)
		if t.Never() {
			b.Never++
		}
	}
	for i := range p.Brokers {
		p.space(&p.Brokers[i])
	}
	p.needs()
}

// limit notes the budgets that a broker's replica counts in.
func (p *CatchupPlan) limit(b *BrokerCatchup, t *TimedCatchup) {
	if !needsTime(&t.FollowerCatchup) {
		return
	}
	for _, l := range p.Rates.links(&t.FollowerCatchup) {
		rate := p.Rates.of(l)
		if math.IsInf(rate, 1) {
			continue
		}
		b.InForce = b.InForce || p.Rates.given(l.side) == 0
		switch {
		case l.side != "leader":
			b.Rate = rate
		case b.LeaderRate == 0 || rate < b.LeaderRate:
			b.LeaderRate = rate
		}
	}
}

// later is the greater of two times; never is later than one that is not known.
func later(a, b float64) float64 {
	switch {
	case math.IsInf(a, 1) || math.IsInf(b, 1):
		return math.Inf(1)
	case math.IsNaN(a) || math.IsNaN(b):
		return math.NaN()
	}
	return max(a, b)
}

// of yields the followers of one total.
func (p *CatchupPlan) of(b *BrokerCatchup) []*TimedCatchup {
	var out []*TimedCatchup
	for i := range p.Followers {
		if t := &p.Followers[i]; t.Follower == b.Follower && (t.State == FollowerFuture) == b.Moves {
			out = append(out, t)
		}
	}
	return out
}

// space adds up each log directory: what stays, what waits to be deleted, and what
// is fetched meanwhile.
//
//	bytes   |old segments, .deleted|
//	        |======================|           <- peak here, or at the end
//	        |======================|=====
//	        0                 delete delay      caught up
//
// The end is when all have caught up and the old segments are gone.
func (p *CatchupPlan) space(b *BrokerCatchup) {
	type sums struct {
		now, early, after, write float64
		waits, grows             bool
	}
	dirs := map[string]*sums{}
	for _, t := range p.of(b) {
		d := dirs[t.LogDir]
		if d == nil {
			d = &sums{}
			dirs[t.LogDir] = d
		}
		d.now += float64(t.Bytes)
		d.early += float64(t.KeptBytes+t.DeletedBytes) + t.early
		d.waits = d.waits || t.DeletedBytes > 0
		d.after += float64(t.KeptBytes + t.FetchBytes)
		d.write += t.Write
	}
	for path, d := range dirs {
		switch until := b.Seconds; {
		case math.IsInf(until, 1) || math.IsNaN(until):
			d.grows = d.write > 0
		case d.waits:
			d.after += d.write * max(until, p.Rates.DeleteDelay.Seconds())
		default:
			d.after += d.write * until
		}
		peak := max(d.now, d.after)
		if d.waits {
			peak = max(peak, d.early)
		}
		b.Dirs = append(b.Dirs, DirSpace{Path: path, Now: whole(d.now), Peak: whole(peak), After: whole(d.after), Grows: d.grows})
	}
	slices.SortFunc(b.Dirs, func(x, y DirSpace) int { return strings.Compare(x.Path, y.Path) })
}

// whole rounds bytes.
func whole(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(f))
}

// needs names the budgets that new data alone use up, and how long it would take
// with twice that.
func (p *CatchupPlan) needs() {
	writes := map[link]float64{}
	for i := range p.Followers {
		for _, l := range p.Rates.links(&p.Followers[i].FollowerCatchup) {
			writes[l] += p.Followers[i].Write
		}
	}
	raised := map[link]float64{}
	for l, w := range writes {
		if w > 0 && w >= p.Rates.of(l) {
			raised[l] = 2 * w
		}
	}
	if len(raised) == 0 {
		return
	}
	again := &CatchupPlan{Rates: p.Rates, Followers: slices.Clone(p.Followers)}
	again.time(raised)
	for i := range p.Brokers {
		b := &p.Brokers[i]
		if b.Never == 0 {
			continue
		}
		var at float64
		seen := map[link]bool{}
		for _, t := range again.of(b) {
			if t.Way != broker.Stuck {
				at = max(at, t.Seconds)
			}
			for _, l := range p.Rates.links(&t.FollowerCatchup) {
				if raised[l] > 0 && !seen[l] {
					seen[l] = true
					b.Needs = append(b.Needs, Need{Side: l.side, Broker: l.broker, Rate: raised[l] / 2})
				}
			}
		}
		for n := range b.Needs {
			b.Needs[n].AtTwice = at
		}
		slices.SortFunc(b.Needs, func(x, y Need) int {
			return cmp.Or(strings.Compare(x.Side, y.Side), cmp.Compare(x.Broker.ID, y.Broker.ID))
		})
	}
}
