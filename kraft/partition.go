package kraft

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

var empty = []int32{}

// list decodes an array of broker ids; null gives nil. Equal lists share memory.
func (p *replayer) list(b *schema.Struct, name string) []int32 {
	raw := b.RawInt32s(name)
	switch {
	case raw == nil && b.IsNull(name):
		return nil
	case len(raw) == 0:
		return empty
	}
	l, known := p.lists[string(raw)]
	if !known {
		l = b.Int32s(name)
		p.lists[string(raw)] = l
	}
	return l
}

func orEmpty(l []int32) []int32 {
	if l == nil {
		return empty
	}
	return l
}

// partition replays a PartitionRecord: the whole state as written.
func (p *replayer) partition(at origin, b *schema.Struct) {
	id := PartitionID{b.UUID("topicId"), b.Int32("partitionId")}
	p.settle(at, id, Change{
		Leader:         b.Int32("leader"),
		LeaderEpoch:    b.Int32("leaderEpoch"),
		PartitionEpoch: b.Int32("partitionEpoch"),
		Recovering:     b.Int("leaderRecoveryState") == 1,
		Members: p.share(&Members{
			Replicas:     p.list(b, "replicas"),
			ISR:          p.list(b, "isr"),
			ELR:          orEmpty(p.list(b, "eligibleLeaderReplicas")),
			LastKnownELR: orEmpty(p.list(b, "lastKnownElr")),
			Removing:     p.list(b, "removingReplicas"),
			Adding:       p.list(b, "addingReplicas"),
			Directories:  directories(b),
		}),
	})
}

// share returns the one Members of this log that is equal to m; m is kept only if it
// is the first.
func (p *replayer) share(m *Members) *Members {
	k := p.key[:0]
	for _, l := range [...][]int32{m.Replicas, m.ISR, m.ELR, m.LastKnownELR, m.Removing, m.Adding} {
		k = binary.AppendUvarint(k, uint64(len(l)))
		for _, id := range l {
			k = binary.BigEndian.AppendUint32(k, uint32(id))
		}
	}
	if m.Directories != nil {
		k = binary.AppendUvarint(k, uint64(len(m.Directories)))
		for i := range m.Directories {
			k = append(k, m.Directories[i][:]...)
		}
	}
	p.key = k
	known := p.members[string(k)]
	if known == nil {
		own := *m
		known = &own
		p.members[string(k)] = known
	}
	return known
}

func directories(b *schema.Struct) []wire.UUID {
	if !b.Has("directories") {
		return nil
	}
	return b.UUIDs("directories")
}

// settle appends a state that is known as a whole.
func (p *replayer) settle(at origin, id PartitionID, c Change) {
	s := p.states[id]
	if s == nil {
		s = &partitionState{partition: &Partition{ID: id}, lastLeader: noLeader, doubt: p.doubt}
		p.states[id] = s
		p.log.Partitions[id] = s.partition
	}
	prev := s.last()
	c.LeaderWritten = prev == nil || !at.fromSnapshot || prev.LeaderEpoch != c.LeaderEpoch
	if prev != nil && !at.fromSnapshot && s.doubt == p.doubt {
		c.Unclean = unclean(prev, &c)
	}
	s.doubt = p.doubt
	p.append(at, s, c)
}

func (s *partitionState) last() *Change {
	if n := len(s.partition.Changes); n > 0 {
		return &s.partition.Changes[n-1]
	}
	return nil
}

// append completes a change and makes it the current state.
func (p *replayer) append(at origin, s *partitionState, c Change) {
	c.Offset, c.TimeMs, c.RaftEpoch, c.FromSnapshot = at.offset, at.timeMs, at.raftEpoch, at.fromSnapshot
	c.PrevLeader = s.lastLeader
	c.Uncertain = s.doubt != p.doubt
	s.partition.Changes = append(s.partition.Changes, c)
	if c.Leader >= 0 {
		s.lastLeader = c.Leader
	}
}

// unclean reports whether a record that names a leader elects one that may lack
// committed records (PartitionChangeBuilder.electLeader).
//
// The record that completes a reassignment is none, though its leader can be new to the
// ISR: the leader of that time has just reported it in sync, and replicas, ISR and
// leader change in one step. An unclean election would mark it RECOVERING.
func unclean(prev, c *Change) bool {
	if c.Leader < 0 || slices.Contains(prev.ISR, c.Leader) || slices.Contains(prev.ELR, c.Leader) {
		return false
	}
	completed := len(prev.Adding)+len(prev.Removing) > 0 && len(c.Adding)+len(c.Removing) == 0
	return c.Recovering || !completed
}

// partitionChange replays a PartitionChangeRecord (PartitionRegistration.merge): the
// partition epoch grows by one always, the leader epoch whenever a leader is written,
// even if it is the same one or none.
func (p *replayer) partitionChange(at origin, b *schema.Struct) error {
	id := PartitionID{b.UUID("topicId"), b.Int32("partitionId")}
	s := p.states[id]
	if s == nil {
		if p.doubt > 0 {
			return nil // its PartitionRecord lies in a gap
		}
		return fmt.Errorf("change of a partition that does not exist: %s-%d", id.Topic, id.Partition)
	}
	prev := s.last()
	c, m := *prev, *prev.Members
	c.PartitionEpoch++
	c.LeaderWritten, c.Unclean = false, false
	if leader := b.Int32("leader"); leader != leaderUnchanged {
		c.Leader, c.LeaderWritten = leader, true
		c.LeaderEpoch++
	}
	for _, f := range []struct {
		name string
		list *[]int32
	}{
		{"isr", &m.ISR},
		{"replicas", &m.Replicas},
		{"removingReplicas", &m.Removing},
		{"addingReplicas", &m.Adding},
		{"eligibleLeaderReplicas", &m.ELR},
		{"lastKnownElr", &m.LastKnownELR},
	} {
		if l := p.list(b, f.name); l != nil {
			*f.list = l
		}
	}
	if d := b.UUIDs("directories"); d != nil {
		m.Directories = d
	}
	c.Members = p.share(&m)
	if state := b.Int("leaderRecoveryState"); state != -1 {
		c.Recovering = state == 1
	}
	c.Unclean = c.LeaderWritten && s.doubt == p.doubt && unclean(prev, &c)
	p.append(at, s, c)
	return nil
}

// clearELR replays a ClearElrRecord for one topic, or for all if name is empty. It
// leaves the epochs alone.
func (p *replayer) clearELR(at origin, name string) error {
	id, known := p.byName[name]
	if name != "" && !known {
		if p.doubt > 0 {
			return nil
		}
		return fmt.Errorf("clearing the ELR of a topic that does not exist: %q", name)
	}
	var ids []PartitionID
	for pid, s := range p.states {
		c := s.last()
		if t := p.log.Topics[pid.Topic]; t != nil && t.RemovedAt >= 0 {
			continue
		}
		if (name == "" || pid.Topic == id) && (len(c.ELR) > 0 || len(c.LastKnownELR) > 0) {
			ids = append(ids, pid)
		}
	}
	slices.SortFunc(ids, PartitionID.compare)
	for _, pid := range ids {
		s := p.states[pid]
		c := *s.last()
		m := *c.Members
		m.ELR, m.LastKnownELR = empty, empty
		c.Members = p.share(&m)
		c.LeaderWritten, c.Unclean = false, false
		p.append(at, s, c)
	}
	return nil
}
