package incident

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/logdir"
	"kafsck/replica"
)

// CatchupOptions say which followers are looked at, and how they truncate.
type CatchupOptions struct {
	// Follower is the broker that returns; nil takes every follower among the inputs.
	Follower *int32
	Version  broker.Version
	// VersionGiven: somebody named the release; else Cluster.ReleaseFor decides.
	VersionGiven bool
}

// FollowerState says what there is of a follower's replica.
type FollowerState string

// The states.
const (
	FollowerLive FollowerState = "live"
	// FollowerFuture is a -future directory, which is filled from the broker's own replica.
	FollowerFuture FollowerState = "future"
	// FollowerEmpty: the broker's disks are here and hold no replica of the partition.
	FollowerEmpty FollowerState = "empty"
	// FollowerAbsent: the broker's disks are not among the inputs; counted as empty,
	// which is the most that it can have to fetch.
	FollowerAbsent FollowerState = "absent"
)

// FollowerCatchup is how one replica gets to the end of its leader's log. It holds
// no log.
type FollowerCatchup struct {
	Partition, Topic, TopicID string
	Number                    int32
	Leader                    BrokerRef
	LeaderWhy                 string
	Guess                     bool // the leader is one
	Follower                  BrokerRef
	State                     FollowerState
	Dir                       string // of the follower's replica, "" without one
	LogDir                    string // that it lies in, "" not known
	LogStart, LogEnd          int64  // of the follower's log before
	Bytes                     int64  // of its .log files before
	// CutByStart is the range of offsets that its broker's own start takes off its log's
	// end, before it meets the leader; empty most often. The bytes are among those of
	// Catchup.
	CutByStart replica.Span
	How        broker.Cut
	broker.Catchup
	// Lost are the records that it throws away and that its leader lacks, if partitions were
	// compared.
	Lost []GoneRecords
}

// Truncates reports whether the follower cuts off offsets that it has.
func (f *FollowerCatchup) Truncates() bool { return f.TruncateTo < f.LogEnd }

// CatchupUntold is a partition of which nothing can be predicted, and why.
type CatchupUntold struct {
	Partition, TopicID, Why string
	Alone                   bool // the inputs hold one copy of it at most
}

// Catchups predicts, for the followers of a judged partition, what they throw away
// and fetch, after the start of each broker that is down. untold is nil where it could be
// predicted. A failed read is told in p.Errors.
func (p *Partition) Catchups(ctx context.Context, opt CatchupOptions) (list []FollowerCatchup, untold *CatchupUntold) {
	if p.Ruling.Removed || len(p.Live()) == 0 && !p.has(replica.Future) {
		return nil, nil
	}
	opt.Version, _ = p.Cluster.ReleaseFor(opt.Version, opt.VersionGiven)
	list = p.moves(ctx, opt)
	leader, why, guess := p.leaderCopy()
	if leader == nil {
		if opt.Follower != nil && !p.concerns(*opt.Follower) {
			return list, nil
		}
		if opt.Follower != nil && p.Ruling.Leader != nil && p.Ruling.Leader.ID == *opt.Follower {
			return list, nil // it leads: nothing to catch up with
		}
		return list, &CatchupUntold{p.Name, p.TopicID, why, len(p.Live()) < 2}
	}
	lead, offline, err := p.leading(ctx, leader, opt.Version)
	if err != nil {
		return list, p.unreadable(leader, err)
	}
	if offline != "" {
		return list, &CatchupUntold{p.Name, p.TopicID, fmt.Sprintf("broker %s would lead and does not start with it: %s", leader.Broker.Name, offline), len(p.Live()) < 2}
	}
	from, err := extentsOf(leader.Log, true)
	for _, c := range p.followers(leader, opt) {
		if err != nil {
			break
		}
		f := FollowerCatchup{Partition: p.Name, Topic: p.Topic, TopicID: p.TopicID, Number: p.Number,
			Leader: leader.Broker, LeaderWhy: why, Guess: guess, Follower: c.ref, State: c.state}
		if err = f.predict(ctx, opt.Version, lead, from, c.copy); err == nil && c.copy != nil {
			err = f.lose(p.lossesIf(leader), c.copy)
		}
		if err == nil {
			if c.state == FollowerEmpty && len(c.dirs) == 1 {
				f.LogDir = c.dirs[0].Path
			}
			list = append(list, f)
		}
	}
	if err != nil {
		return nil, p.unreadable(leader, err)
	}
	return list, nil
}

// unreadable tells a failed read.
func (p *Partition) unreadable(c *Copy, err error) *CatchupUntold {
	p.Errors = append(p.Errors, failedRead(c.Dir, err))
	return &CatchupUntold{p.Name, p.TopicID, "a copy could not be read: " + err.Error(), len(p.Live()) < 2}
}

func (p *Partition) has(s replica.State) bool {
	return slices.ContainsFunc(p.Copies, func(c *Copy) bool { return c.State == s })
}

// concerns reports whether a broker has a replica, by its disks or the metadata.
func (p *Partition) concerns(id int32) bool {
	n := len(p.Changes)
	return p.liveOf(id) != nil || n > 0 && slices.Contains(p.Changes[n-1].Replicas, id)
}

// leaderCopy is the replica that the followers fetch from: the ruling leader's; where
// the metadata name none, that of the first eligible replica in the order of the
// assignment, which is whom the controller elects (PartitionChangeBuilder.
// electAnyLeader).
func (p *Partition) leaderCopy() (c *Copy, why string, guess bool) {
	r := &p.Ruling
	switch {
	case r.copy != nil && r.copy.readable():
		return r.copy, r.Why, r.Guess
	case r.Leader != nil:
		return nil, cmp.Or(r.Reason, "the leader, broker "+r.Leader.Name+", has no readable replica among these inputs"), r.Guess
	case len(p.Changes) > 0 && !p.Stale:
		for _, id := range p.Changes[len(p.Changes)-1].Replicas {
			if !slices.Contains(r.Eligible, id) {
				continue
			}
			if c := p.liveOf(id); c != nil && c.readable() {
				return c, fmt.Sprintf("%s; broker %d is the first eligible replica among these inputs", r.Why, id), true
			}
		}
	}
	return nil, cmp.Or(r.Reason, r.Why, "nobody leads"), false
}

func (p *Partition) liveOf(id int32) *Copy {
	for _, c := range p.Live() {
		if c.Broker.Known && c.Broker.ID == id {
			return c
		}
	}
	return nil
}

// leading is the state of the leader: it knows the epoch in which it leads, the one
// of the metadata or, where these do not tell, the next after all that are known. A broker
// that leads by the metadata is running, and has its log as it stands; any other one
// starts first.
func (p *Partition) leading(ctx context.Context, c *Copy, v broker.Version) (s broker.State, offline string, err error) {
	if p.leadsByMetadata(c) {
		s, offline = stateOf(c, v)
	} else if s, offline, err = afterStart(ctx, c, v); err != nil {
		return s, "", err
	}
	return broker.BecomeLeader(s, p.leadingEpoch(c)), offline, nil
}

// leadsByMetadata reports whether the replica's broker leads, and so runs.
func (p *Partition) leadsByMetadata(c *Copy) bool {
	n := len(p.Changes)
	return n > 0 && !p.Stale && p.Changes[n-1].Leader == c.Broker.ID
}

// leadingEpoch is the epoch in which a replica leads.
func (p *Partition) leadingEpoch(c *Copy) int32 {
	next := int32(-1)
	for _, x := range p.Live() {
		if x.readable() {
			next = max(next, x.Log.LatestEpoch()+1, x.Log.Loaded.Latest()+1)
		}
	}
	if n := len(p.Changes); n > 0 && !p.Stale {
		last := &p.Changes[n-1]
		next = last.LeaderEpoch
		if last.Leader != c.Broker.ID {
			next++
		}
	}
	return next
}

// followed is a follower: its copy, nil if it has none.
type followed struct {
	ref   BrokerRef
	state FollowerState
	copy  *Copy
	dirs  []*logdir.LogDir // of a broker without a replica
}

// followers are the live replicas but the leader's, and the brokers that by the
// metadata have a replica and hold none. A copy that could not be read is left out:
// p.Errors has it.
func (p *Partition) followers(leader *Copy, opt CatchupOptions) []followed {
	var out []followed
	wanted := func(b BrokerRef) bool {
		return b != leader.Broker && (opt.Follower == nil || b.Known && b.ID == *opt.Follower)
	}
	for _, c := range p.Live() {
		if wanted(c.Broker) && c.readable() {
			out = append(out, followed{ref: c.Broker, state: FollowerLive, copy: c})
		}
	}
	if len(p.Changes) == 0 || p.Stale {
		return out
	}
	for _, id := range p.Changes[len(p.Changes)-1].Replicas {
		ref := BrokerRef{ID: id, Known: true, Name: fmt.Sprint(id)}
		if !wanted(ref) || p.liveOf(id) != nil {
			continue
		}
		at := slices.IndexFunc(p.Cluster.Brokers, func(b *logdir.Broker) bool { return b.IDKnown && b.ID == id })
		switch {
		case at >= 0:
			out = append(out, followed{ref: ref, state: FollowerEmpty, dirs: p.Cluster.Brokers[at].Dirs})
		case opt.Follower != nil:
			out = append(out, followed{ref: ref, state: FollowerAbsent})
		}
	}
	return out
}

// moves are the -future directories: each is filled from the live replica of its
// own broker, by the same rules (ReplicaAlterLogDirsThread).
func (p *Partition) moves(ctx context.Context, opt CatchupOptions) []FollowerCatchup {
	var out []FollowerCatchup
	for _, c := range p.Copies {
		if c.State != replica.Future || !c.readable() || opt.Follower != nil && c.Broker.ID != *opt.Follower {
			continue
		}
		at := slices.IndexFunc(p.Live(), func(x *Copy) bool { return x.Broker == c.Broker && x.readable() })
		if at < 0 {
			continue
		}
		own := p.Live()[at]
		f := FollowerCatchup{Partition: p.Name, Topic: p.Topic, TopicID: p.TopicID, Number: p.Number,
			Leader: own.Broker, LeaderWhy: "the broker's own replica in " + own.Dir, Follower: c.Broker, State: FollowerFuture}
		from, err := extentsOf(own.Log, true)
		if err == nil {
			var source broker.State
			if source, _, err = afterStart(ctx, own, opt.Version); err == nil {
				err = f.predict(ctx, opt.Version, source, from, c)
			}
		}
		if err != nil {
			p.Errors = append(p.Errors, failedRead(c.Dir, err))
			continue
		}
		out = append(out, f)
	}
	return out
}

// predict fills in what the follower does; c is nil where it has nothing yet.
func (f *FollowerCatchup) predict(ctx context.Context, v broker.Version, lead broker.State, from broker.Extents, c *Copy) (err error) {
	mine, own, offline := broker.State{Broker: f.Follower.ID}, broker.Extents{}, ""
	before := mine // its start
	own.Find = func(int64) (broker.Place, bool, error) { return broker.Place{}, false, nil }
	if c != nil {
		before, _ = stateOf(c, v)
		if mine, offline, err = afterStart(ctx, c, v); err != nil {
			return err
		}
		if own, err = extentsOf(c.Log, false); err != nil {
			return err
		}
		f.Dir, f.LogDir = c.Dir, c.Log.Partition.LogDir.Path
	}
	f.LogStart, f.LogEnd = mine.LogStart, before.LogEnd
	f.CutByStart = replica.Span{From: min(mine.LogEnd, before.LogEnd), To: before.LogEnd}
	for _, s := range own.Segments {
		f.Bytes += s.Bytes
	}
	if offline != "" {
		f.Catchup = broker.Catchup{Way: broker.Stuck, Why: "its broker does not start with it: " + offline, TruncateTo: f.LogEnd, FetchFrom: f.LogEnd, FetchTo: lead.LogEnd,
			FirstBatch: -1, FirstSegment: f.LogStart, LogStart: f.LogStart, StuckAt: f.LogEnd, EmptyDeleted: -1, KeptBytes: f.Bytes}
		return nil
	}
	t := broker.Truncate(v.Era(), lead, mine)
	f.How = t.How
	// What the start cuts off is thrown away like the rest.
	mine.LogEnd = max(mine.LogEnd, before.LogEnd)
	f.Catchup, err = broker.PlanCatchup(lead, mine, from, own, t)
	return err
}

// lossesIf are the losses under a leader: those of the partition where it rules.
func (p *Partition) lossesIf(leader *Copy) []Loss {
	if p.Ruling.copy == leader {
		return p.Losses
	}
	for i := range p.Candidates {
		if p.Candidates[i].Leader == leader.Broker {
			return p.Candidates[i].Losses
		}
	}
	return nil
}

// lose fills in what the follower throws away and the leader does not have.
func (f *FollowerCatchup) lose(losses []Loss, c *Copy) error {
	t := broker.Truncation{To: f.TruncateTo, Rebuild: f.Way == broker.Rebuild}
	spans, err := thrownAway(c, broker.State{LogEnd: f.LogEnd}, t)
	if err == nil && len(losses) > 0 {
		f.Lost, err = lossesWith(losses, c, spans)
	}
	return err
}

// byFollower orders a table: by follower, then partition; moves last.
func byFollower(a, b *FollowerCatchup) int {
	return cmp.Or(cmp.Compare(a.Follower.ID, b.Follower.ID), strings.Compare(a.Follower.Name, b.Follower.Name),
		cmp.Compare(moveRank(a), moveRank(b)), strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number), strings.Compare(a.TopicID, b.TopicID))
}

func moveRank(f *FollowerCatchup) int {
	if f.State == FollowerFuture {
		return 1
	}
	return 0
}
