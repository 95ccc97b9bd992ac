package incident

import (
	"cmp"
	"fmt"
	"slices"

	"kafsck/commitment"
	"kafsck/kraft"
	"kafsck/logdir"
)

// PartitionHistory is what the metadata tell of one partition.
type PartitionHistory struct {
	Name   string // "t-0"
	Number int32
	Topic  *kraft.Topic
	// Again: the topic's name stands for several topics, one after the other.
	Again   bool
	Changes []kraft.Change // in metadata order, never empty
	Unclean []UncleanElection
	// RecoveringBefore: the oldest known state says RECOVERING: an unclean election
	// happened before it, and when is not recorded.
	RecoveringBefore bool
	Churn            Churn
	// Ahead is the newest leader epoch that a leader-epoch-checkpoint of a live directory
	// names, if it is newer than the metadata: they end before it began. Else -1.
	Ahead int32
	// Here: a directory of this partition is among the inputs, and was judged.
	Here bool
}

// Last is the state at the end of the history.
func (p *PartitionHistory) Last() *kraft.Change { return &p.Changes[len(p.Changes)-1] }

// UncleanElection is the election of a leader that may lack committed records.
type UncleanElection struct {
	Index int // in PartitionHistory.Changes
	// Before is the state that the election found, nil where it is not known for
	// certain: then the leader recovery state alone tells of the election.
	Before *kraft.Change
	// SameLeader: the last leader before was the same broker.
	SameLeader bool
	// Enabled is unclean.leader.election.enable in force, "" not set in the metadata;
	// EnabledSource says where it was set.
	Enabled, EnabledSource string
	Lost                   Lost
	Why                    string // for people
	// Losses are what the election threw away, those graded no among them.
	Losses []Loss
	// AskFor are brokers that are not among the inputs and may hold what was thrown away.
	AskFor []int32
}

// onlyTraces reports whether no copy holds anything of what was thrown away.
func (u *UncleanElection) onlyTraces() bool {
	return !slices.ContainsFunc(u.Losses, func(l Loss) bool { return len(l.Copies) > 0 })
}

// Lost says whether an unclean election lost records.
type Lost string

// Values of Lost.
const (
	LostYes     Lost = "yes"     // committed ones, with proof
	LostMaybe   Lost = "maybe"   // records, and whether they had been committed is not known
	LostNothing Lost = "no"      //
	LostUnknown Lost = "unknown" // cannot be told
)

// Churn counts what happened to a partition.
type Churn struct {
	Elections     int // a leader was written that is a broker
	LeaderChanges int // of these, another broker than led before
	Leaderless    int // times that nobody led
	Unclean       int
	Shrinks       int // changes by which a broker left the ISR
	Expands       int // changes by which one joined
	Reassigned    int // changes of the replicas
	LeaderlessMs  int64
	// UnderMinISRMs is the time with fewer in-sync replicas than min(min.insync.replicas,
	// replicas), nil where min.insync.replicas is not known. Under, how often it began.
	UnderMinISRMs *int64
	Under         int
	MinISR        int // the last one in force, 0 unknown
	MinISRSource  string
	// Gaps: records are missing in between, so all of this is the least.
	Gaps bool
}

// BrokerHistory is what the metadata tell of one broker.
type BrokerHistory struct {
	ID                                int32
	Registered, Unregistered          int // Registered counts starts of its process
	Fenced, Unfenced, ControlledStops int
	// Leaderships of the partitions selected, those from their creation among them; so the ISR.
	LeaderGained, LeaderLost int
	UncleanlyElected         int
	LeftISR, JoinedISR       int
	Last                     kraft.BrokerEvent // its state at the end
	Known                    bool              // Last is set: it was registered within the reach
	FencedMs                 int64             // time fenced
}

// lifecycle counts the events of a registration.
func (b *BrokerHistory) lifecycle(h *History, x *kraft.Broker) {
	b.Known, b.Last = true, x.Events[len(x.Events)-1]
	for i := range x.Events {
		e := &x.Events[i]
		if e.Fenced && e.Kind != kraft.Unregistered {
			end := h.Log.EndTimeMs
			if i+1 < len(x.Events) {
				end = x.Events[i+1].TimeMs
			}
			b.FencedMs += h.overlap(e.TimeMs, end)
		}
		if e.FromSnapshot || !h.within(e.TimeMs) {
			continue
		}
		switch e.Kind {
		case kraft.Registered:
			b.Registered++
		case kraft.Unregistered:
			b.Unregistered++
		case kraft.Fenced:
			b.Fenced++
		case kraft.Unfenced:
			b.Unfenced++
		case kraft.ControlledShutdown:
			b.ControlledStops++
		}
	}
}

// logsAhead looks for directories that know a newer leader epoch than the metadata. Only
// the small files are read.
func (h *History) logsAhead(cl *Cluster) {
	byID, byName := map[kraft.PartitionID]*PartitionHistory{}, map[string]*PartitionHistory{}
	for _, p := range h.Partitions {
		p.Ahead = -1
		byID[kraft.PartitionID{Topic: p.Topic.ID, Partition: p.Number}] = p
		if p.Topic.RemovedAt < 0 {
			byName[p.Name] = p
		}
	}
	for _, b := range cl.Brokers {
		for _, ld := range b.Dirs {
			for _, dir := range ld.Partitions {
				if dir.State != logdir.Live || dir.Epochs == nil || dir.Epochs.Malformed != nil {
					continue
				}
				p := byName[dir.Name()]
				if dir.HasTopicID {
					p = byID[kraft.PartitionID{Topic: dir.TopicID, Partition: dir.Partition}]
				}
				if p == nil {
					continue
				}
				for _, e := range dir.Epochs.Entries {
					if e.Epoch > p.Last().LeaderEpoch {
						p.Ahead = max(p.Ahead, e.Epoch)
					}
				}
			}
		}
	}
}

// overlap is how long [from, to) lies within the window, in ms.
func (h *History) overlap(from, to int64) int64 {
	if from < 0 || to < 0 {
		return 0
	}
	return max(min(to, h.ToMs)-max(from, h.FromMs), 0)
}

// findUnclean collects the unclean elections. The proof is the record itself: a leader
// neither in the ISR nor in the ELR that it found, or the leader recovery state set to
// RECOVERING where that state is not certain.
func (p *PartitionHistory) findUnclean(h *History) {
	first := &p.Changes[0]
	p.RecoveringBefore = first.FromSnapshot && first.Recovering
	for i := range p.Changes {
		c := &p.Changes[i]
		var prev *kraft.Change
		if i > 0 {
			prev = &p.Changes[i-1]
		}
		marked := c.LeaderWritten && c.Leader >= 0 && c.Recovering && !c.FromSnapshot && (prev == nil || !prev.Recovering)
		if !c.Unclean && !marked || !h.within(c.TimeMs) {
			continue
		}
		u := UncleanElection{Index: i, SameLeader: c.PrevLeader == c.Leader, Lost: LostUnknown}
		if c.Unclean {
			u.Before = prev
		}
		u.Enabled, u.EnabledSource, _ = h.Log.Effective(c.Offset, p.Topic.Name, h.Controller(c.Offset), "unclean.leader.election.enable")
		u.Why = "no copy of the partition is among the inputs"
		if u.SameLeader {
			u.Lost, u.Why = LostNothing, fmt.Sprintf("broker %d had led before, and its own log goes on; if its machine crashed, what it had not flushed is gone all the same, and no record tells", c.Leader)
		} else if p.Topic.RemovedAt >= 0 {
			u.Why = "the topic was deleted later"
		}
		p.Unclean = append(p.Unclean, u)
	}
}

// Join takes over what the logs tell of this partition's unclean elections.
func (p *PartitionHistory) Join(x *Partition) {
	p.Here = true
	for i := range p.Unclean {
		u := &p.Unclean[i]
		if !u.SameLeader && p.Topic.RemovedAt < 0 {
			p.joinOne(u, x)
		}
	}
}

func (p *PartitionHistory) joinOne(u *UncleanElection, x *Partition) {
	c := &p.Changes[u.Index]
	tell := func(lost Lost, format string, args ...any) { u.Lost, u.Why = lost, fmt.Sprintf(format, args...) }
	switch {
	case len(x.Errors) > 0:
		tell(LostUnknown, "a copy could not be read: %s", x.Errors[0].Path)
		return
	case !x.Ruling.Judged:
		tell(LostUnknown, "%s", x.Ruling.Reason)
		return
	case x.Ruling.Leader == nil:
		tell(LostUnknown, "nobody leads now: what is lost depends on who is elected")
		return
	case x.Stale:
		last := p.Last()
		switch {
		case last.Uncertain:
			tell(LostUnknown, "metadata are missing or damaged before their last word on this partition")
		default:
			tell(LostUnknown, "the metadata are older than the logs")
		}
		return
	}
	for i := range x.Losses {
		l := &x.Losses[i]
		if l.Cause == CauseUnclean && p.lostBy(l) == u.Index {
			u.Losses = append(u.Losses, *l)
		}
	}
	graded := func(g commitment.Grade) bool {
		return slices.ContainsFunc(u.Losses, func(l Loss) bool { return l.Committed == g })
	}
	switch {
	case graded(commitment.Yes):
		tell(LostYes, "records that had been committed are not in the log of the leader")
	case graded(commitment.Unknown) && u.onlyTraces() && len(x.heldElsewhere(c)) > 0:
		tell(LostUnknown, "no copy here holds what the election may have thrown away; %s, which led before or was in the ISR, may hold it and is not among the inputs: copy that disk", numbersOf(x.heldElsewhere(c)))
		u.AskFor = x.heldElsewhere(c)
	case graded(commitment.Unknown):
		tell(LostMaybe, "nothing proves that the lost records had been committed, nor that they had not")
	case graded(commitment.No):
		tell(LostNothing, "records were thrown away that had never been committed")
	case c.PrevLeader < 0:
		tell(LostUnknown, "the metadata do not reach back to who had led before")
	case c.Uncertain:
		tell(LostUnknown, "metadata are missing or damaged before this record")
	case len(x.heldElsewhere(c)) > 0:
		tell(LostUnknown, "no copy here holds anything that the log of the leader lacks for it, but %s, which led before or was in the ISR, is not among the inputs: copy that disk", numbersOf(x.heldElsewhere(c)))
		u.AskFor = x.heldElsewhere(c)
	default:
		tell(LostNothing, "no copy holds anything, and nothing else tells of anything, that the log of the leader lacks for it")
	}
}

// Tells reports whether a loss is among those of an unclean election of this history.
func (p *PartitionHistory) Tells(l *Loss) bool {
	if !p.Here || l.Cause != CauseUnclean {
		return false
	}
	at := p.lostBy(l)
	return slices.ContainsFunc(p.Unclean, func(u UncleanElection) bool {
		return u.Index == at && slices.ContainsFunc(u.Losses, func(x Loss) bool { return equal(x.From, l.From) && equal(x.To, l.To) })
	})
}

func equal(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// lostBy is the election that threw away a loss: the first unclean one of another
// broker behind the newest epoch of the lost records. -1 if none fits.
func (p *PartitionHistory) lostBy(l *Loss) int {
	if len(l.Epochs) == 0 {
		return -1
	}
	newest := slices.Max(l.Epochs)
	for i := range p.Unclean {
		u := &p.Unclean[i]
		if !u.SameLeader && p.Changes[u.Index].LeaderEpoch > newest {
			return u.Index
		}
	}
	return -1
}

// count counts what the changes within the window did.
func (p *PartitionHistory) count(h *History, of func(int32) *BrokerHistory) {
	n := &p.Churn
	n.Gaps = len(h.Log.Gaps) > 0
	n.Unclean = len(p.Unclean)
	for _, u := range p.Unclean {
		of(p.Changes[u.Index].Leader).UncleanlyElected++
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Leader < 0 {
			n.LeaderlessMs += h.overlap(c.TimeMs, p.until(h, i))
		}
		if c.FromSnapshot || !h.within(c.TimeMs) {
			continue
		}
		if c.LeaderWritten && c.Leader >= 0 {
			n.Elections++
		}
		if i == 0 {
			if c.Uncertain {
				continue // what was before is not known
			}
			if c.Leader >= 0 {
				of(c.Leader).LeaderGained++
			}
			for _, id := range c.ISR {
				of(id).JoinedISR++
			}
			continue
		}
		prev := &p.Changes[i-1]
		if c.Leader != prev.Leader {
			if c.Leader >= 0 {
				of(c.Leader).LeaderGained++
				if c.PrevLeader >= 0 && c.PrevLeader != c.Leader {
					n.LeaderChanges++
				}
			} else {
				n.Leaderless++
			}
			if prev.Leader >= 0 {
				of(prev.Leader).LeaderLost++
			}
		}
		left, joined := difference(prev.ISR, c.ISR)
		if len(left) > 0 {
			n.Shrinks++
		}
		if len(joined) > 0 {
			n.Expands++
		}
		for _, id := range left {
			of(id).LeftISR++
		}
		for _, id := range joined {
			of(id).JoinedISR++
		}
		if !slices.Equal(prev.Replicas, c.Replicas) {
			n.Reassigned++
		}
	}
}

// until is when the state from change i on ended: at the next change, the topic's
// removal, or the end of the metadata.
func (p *PartitionHistory) until(h *History, i int) int64 {
	if i+1 < len(p.Changes) {
		return p.Changes[i+1].TimeMs
	}
	if p.Topic.RemovedAt >= 0 {
		return p.Topic.RemovedMs
	}
	return h.Log.EndTimeMs
}

// difference returns what left a list and what joined it.
func difference(before, after []int32) (left, joined []int32) {
	for _, id := range before {
		if !slices.Contains(after, id) {
			left = append(left, id)
		}
	}
	for _, id := range after {
		if !slices.Contains(before, id) {
			joined = append(joined, id)
		}
	}
	return left, joined
}

// cut is where min.insync.replicas of something changed.
type cut struct{ offset, ms int64 }

// minISRCuts are the changes of min.insync.replicas, in metadata order.
func (h *History) minISRCuts() []cut {
	var out []cut
	for i := range h.Log.Configs {
		if c := &h.Log.Configs[i]; c.Name == "min.insync.replicas" {
			out = append(out, cut{c.Offset, c.TimeMs})
		}
	}
	return out
}

// underMinISR adds up the time with too few in-sync replicas. A change of the
// configuration within one state cuts it in two.
func (p *PartitionHistory) underMinISR(h *History, cuts []cut, static int, staticSource string) {
	n := &p.Churn
	known, total, under := true, int64(0), false
	for i := range p.Changes {
		c := &p.Changes[i]
		end := int64(1<<63 - 1)
		if i+1 < len(p.Changes) {
			end = p.Changes[i+1].Offset
		} else if p.Topic.RemovedAt >= 0 {
			end = p.Topic.RemovedAt
		}
		from := cut{c.Offset, c.TimeMs}
		k, _ := slices.BinarySearchFunc(cuts, c.Offset+1, func(x cut, at int64) int { return cmp.Compare(x.offset, at) })
		for more := true; more; k++ {
			to := cut{end, p.until(h, i)}
			if more = k < len(cuts) && cuts[k].offset < end; more {
				to = cuts[k]
			}
			limit, source, ok := h.Log.MinISR(from.offset, p.Topic.Name, c.Leader)
			if !ok && static > 0 {
				limit, source, ok = static, staticSource, true
			}
			if !ok {
				known, limit, source = false, 0, ""
			}
			n.MinISR, n.MinISRSource = limit, source
			if now := ok && len(c.ISR) < min(limit, len(c.Replicas)); now {
				total += h.overlap(from.ms, to.ms)
				if !under && h.within(from.ms) {
					n.Under++
				}
				under = true
			} else {
				under = false
			}
			from = to
		}
	}
	if known {
		n.UnderMinISRMs = &total
	}
}
