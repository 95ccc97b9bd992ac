package kraft

import (
	"cmp"
	"maps"
	"slices"
)

func (a PartitionID) compare(b PartitionID) int {
	return cmp.Or(slices.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Partition, b.Partition))
}

func (a configKey) compare(b configKey) int {
	return cmp.Or(cmp.Compare(a.resourceType, b.resourceType), cmp.Compare(a.resourceName, b.resourceName), cmp.Compare(a.name, b.name))
}

// reconcile makes the state that of a snapshot, read into a Log of its own. What
// differs becomes a change from the snapshot; what agrees is certain from here on.
func (p *replayer) reconcile(at origin, snapshot *Log) {
	p.tx = nil // snapshots are not taken within a transaction
	p.reconcileTopics(at, snapshot)
	p.reconcilePartitions(at, snapshot)

	for i := range snapshot.Configs {
		c := &snapshot.Configs[i]
		k := configKey{c.ResourceType, c.ResourceName, c.Name}
		if v, set := p.current(k); !set || v != *c.Value {
			p.config(at, k, c.Value)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(p.log.configs), configKey.compare) {
		if _, set := p.current(k); set && snapshot.configs[k] == nil {
			p.config(at, k, nil)
		}
	}

	for _, id := range slices.Sorted(maps.Keys(snapshot.Brokers)) {
		events := snapshot.Brokers[id].Events
		e := events[len(events)-1]
		if old := p.log.Brokers[id]; old == nil || !old.Events[len(old.Events)-1].sameState(e) {
			p.event(at, id, e)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.log.Brokers)) {
		b := p.log.Brokers[id]
		if e := b.Events[len(b.Events)-1]; snapshot.Brokers[id] == nil && e.Kind != Unregistered {
			e.Kind = Unregistered
			p.event(at, id, e)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(snapshot.Features)) {
		c := snapshot.Features[name][len(snapshot.Features[name])-1]
		if old := p.log.Features[name]; len(old) == 0 || old[len(old)-1].Level != c.Level {
			p.log.Features[name] = append(old, c)
		}
	}
	for name, old := range p.log.Features {
		if snapshot.Features[name] == nil && old[len(old)-1].Level != 0 {
			p.log.Features[name] = append(old, FeatureChange{Offset: at.offset, TimeMs: at.timeMs, FromSnapshot: true})
		}
	}
}

func (p *replayer) reconcileTopics(at origin, snapshot *Log) {
	for _, t := range p.sortedTopics() {
		if t.RemovedAt < 0 && snapshot.Topics[t.ID] == nil {
			t.RemovedAt, t.RemovedMs = at.offset, at.timeMs
			if p.byName[t.Name] == t.ID {
				delete(p.byName, t.Name)
			}
		}
	}
	for _, t := range snapshot.Topics {
		p.topic(at, t.ID, t.Name)
	}
}

func (p *replayer) sortedTopics() []*Topic {
	return slices.SortedFunc(maps.Values(p.log.Topics), func(a, b *Topic) int { return slices.Compare(a.ID[:], b.ID[:]) })
}

func (p *replayer) reconcilePartitions(at origin, snapshot *Log) {
	for id, from := range snapshot.Partitions {
		c := from.Changes[len(from.Changes)-1]
		s := p.states[id]
		if s != nil && s.last().sameState(&c) {
			s.doubt = p.doubt
			continue
		}
		p.settle(at, id, c)
	}
}

func (p *replayer) current(k configKey) (string, bool) {
	changes := p.log.configs[k]
	if len(changes) == 0 {
		return "", false
	}
	v := p.log.Configs[changes[len(changes)-1]].Value
	if v == nil {
		return "", false
	}
	return *v, true
}

func (a *Change) sameState(b *Change) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && a.PartitionEpoch == b.PartitionEpoch &&
		a.Recovering == b.Recovering &&
		slices.Equal(a.Replicas, b.Replicas) && slices.Equal(a.ISR, b.ISR) &&
		slices.Equal(a.ELR, b.ELR) && slices.Equal(a.LastKnownELR, b.LastKnownELR) &&
		slices.Equal(a.Removing, b.Removing) && slices.Equal(a.Adding, b.Adding) &&
		slices.Equal(a.Directories, b.Directories)
}

func (a BrokerEvent) sameState(b BrokerEvent) bool {
	return a.Kind != Unregistered && a.BrokerEpoch == b.BrokerEpoch && a.IncarnationID == b.IncarnationID &&
		a.Fenced == b.Fenced && a.InControlledShutdown == b.InControlledShutdown && slices.Equal(a.LogDirs, b.LogDirs)
}
