package incident

import (
	"maps"
	"slices"

	"kafsck/internaltopic"
)

// groupFold is the state of one group, record by record.
type groupFold struct {
	out     GroupState
	members map[string]*memberFold // of a KIP-848 group, and share and streams groups
	classic []GroupMember
}

// memberFold is a member's state: each part stands under a key of its own.
type memberFold struct {
	GroupMember
	known bool // its metadata are there
}

// state takes a record that is no committed offset.
func (c *groupCollector) state(r *internalRecord) {
	if r.Err != nil || r.GroupKind() == "" {
		return
	}
	id := r.GroupID()
	f := c.states[id]
	if f == nil {
		f = &groupFold{out: GroupState{Cluster: c.p.Cluster, Group: id, Partition: c.p.Number, Epoch: -1, TargetEpoch: -1, StateMs: -1}, members: map[string]*memberFold{}}
		c.states[id] = f
	}
	if kind := r.GroupKind(); kind != f.out.Kind {
		// A group that changes its protocol writes tombstones for the old one first, or
		// behind: they say nothing about the new one.
		if f.out.Kind != "" && r.Tombstone {
			return
		}
		f.reset(kind)
	}
	f.out.At = r.ref(c.p, c.ic)
	if g, ok := r.GroupMetadata(); ok {
		f.classicState(&g)
	} else if e, ok := r.GroupEpoch(); ok {
		f.epoch(&e)
	} else if m, ok := r.Member(); ok {
		f.member(&m)
	}
}

func (f *groupFold) reset(kind internaltopic.GroupKind) {
	o := &f.out
	o.Kind, o.Epoch, o.TargetEpoch, o.StateMs, o.ProtocolType, o.Protocol = kind, -1, -1, -1, "", ""
	o.State = ""
	f.classic, f.members = nil, map[string]*memberFold{}
}

func (f *groupFold) classicState(g *internaltopic.GroupMetadata) {
	f.reset(internaltopic.ClassicGroup)
	o := &f.out
	if g.Deleted {
		o.State = "Dead"
		return
	}
	o.Epoch, o.StateMs, o.ProtocolType, o.Protocol = g.Generation, g.StateMs, g.ProtocolType, g.Protocol
	o.State = "Empty"
	for i := range g.Members {
		// Written when all members have their assignment (GroupMetadataManager.storeGroup).
		o.State = "Stable"
		m := &g.Members[i]
		f.classic = append(f.classic, GroupMember{ID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			Topics: m.Topics, Epoch: g.Generation, Leader: m.MemberID == g.Leader, Assigned: m.Assigned})
	}
}

func (f *groupFold) epoch(e *internaltopic.GroupEpoch) {
	switch {
	case e.Deleted && e.Target:
		f.out.TargetEpoch = -1
	case e.Deleted:
		f.reset(e.Kind)
		f.out.State = "Dead"
	case e.Target:
		f.out.TargetEpoch = e.Epoch
	default:
		f.out.Epoch = e.Epoch
		f.out.State = ""
	}
}

func (f *groupFold) member(m *internaltopic.Member) {
	got := f.members[m.MemberID]
	if m.Deleted {
		if got != nil && m.Part == internaltopic.MemberMetadata {
			delete(f.members, m.MemberID)
		}
		return
	}
	if got == nil {
		got = &memberFold{GroupMember: GroupMember{ID: m.MemberID, Epoch: -1}}
		f.members[m.MemberID] = got
	}
	switch m.Part {
	case internaltopic.MemberMetadata:
		got.known = true
		got.InstanceID, got.ClientID, got.ClientHost, got.Topics, got.Regex = m.InstanceID, m.ClientID, m.ClientHost, m.Topics, m.Regex
	case internaltopic.MemberCurrent:
		got.Epoch, got.State, got.Assigned = m.Epoch, m.State, m.Assigned
	}
}

// finish gives the state its name, by the rules of ConsumerGroup.maybeUpdateGroupState and
// ShareGroup.maybeUpdateGroupState.
func (f *groupFold) finish() *GroupState {
	o := &f.out
	if o.Kind == internaltopic.ClassicGroup {
		o.Members = f.classic
		return o
	}
	settled := true
	for _, id := range slices.Sorted(maps.Keys(f.members)) {
		m := f.members[id]
		if !m.known {
			continue // the rest of a member that left
		}
		o.Members = append(o.Members, m.GroupMember)
		settled = settled && m.Epoch == o.TargetEpoch && m.State == 0
	}
	switch {
	case o.State == "Dead":
	case len(o.Members) == 0:
		o.State = "Empty"
	case o.Kind == internaltopic.ShareGroup:
		o.State = "Stable"
	case o.Epoch > o.TargetEpoch:
		o.State = "Assigning"
	case !settled:
		o.State = "Reconciling"
	default:
		o.State = "Stable"
	}
	return o
}

// AllPositions are the newest commits of all groups, as of AsOf and by the copies whose
// word counts, by cluster, group, topic and partition. Deleted ones are among them.
func (g *Groups) AllPositions() []Commit {
	s := g.store
	out := make([]Commit, 0, len(s.positions))
	for _, r := range s.positions {
		out = append(out, s.commit(r))
	}
	return out
}

// PendingCommits are those in transactions that have no marker as of AsOf, by the copies
// whose word counts: read_committed or not, they are no positions yet. Until the marker
// comes, a consumer that asks for the group's offset is told to wait (UNSTABLE_OFFSET_COMMIT).
func (g *Groups) PendingCommits() []Commit {
	var out []Commit
	for i := range g.store.pending {
		c := g.store.commit(&g.store.pending[i])
		c.Pending = true
		out = append(out, c)
	}
	return out
}

// CommitCount is how many commit records are kept, over all copies.
func (g *Groups) CommitCount() int { return g.store.count }
