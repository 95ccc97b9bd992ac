package incident

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"kafsck/internal/wire"
	"kafsck/kraft"
	"kafsck/logdir"
)

// History is what the cluster metadata of one cluster tell over time.
type History struct {
	Cluster *Cluster
	// Log is the history that all copies tell together; nil without a metadata log, as
	// of a ZooKeeper cluster.
	Log    *kraft.Log
	Copies []MetadataCopy // newest first
	Reach  Reach
	// Partitions are those that Options.Match selects, by topic, number and age; of a
	// topic that was deleted and created again, one for each.
	Partitions []*PartitionHistory
	Brokers    []*BrokerHistory // by id
	// Events are what happened to topics, configurations, brokers, features and the
	// controller, in metadata order.
	Events    []MetadataEvent
	Backwards Backwards
	Errors    []logdir.PathError // failed reads
	// FromMs and ToMs are the window that was asked for, half open.
	FromMs, ToMs int64
}

// HistoryOptions narrow a history.
type HistoryOptions struct {
	// FromMs and ToMs are a window in milliseconds by the controller's clock, half
	// open; ToMs 0 is without end. Changes outside are still in Changes, but not
	// counted, and not among Shown.
	FromMs, ToMs int64
}

// MetadataCopy is one copy of the metadata log, and how it stands to the others.
type MetadataCopy struct {
	Broker BrokerRef
	Dir    string
	Log    *kraft.Log // its live files alone
	Line   kraft.Line
	// LagRecords and LagMs are how far it ends before the history does; LagMs is -1
	// where a time is not known.
	LagRecords, LagMs int64
}

// Reach says which part of the past the metadata still hold.
type Reach struct {
	// From is the metadata offset from which on every record is there, inclusive, and
	// FromMs the time of the state that the history has there, -1 unknown. Snapshot
	// names the file with that state; "" where records go back to offset 0.
	From     int64
	FromMs   int64
	Snapshot string
	// To is the end, exclusive; ToMs the time of the last record.
	To, ToMs int64
	// Oldest is the metadata offset of the oldest state that is known, exclusive end:
	// below From where older snapshots are left, with holes behind them.
	Oldest, OldestMs int64
}

// Whole reports whether the history begins with the cluster.
func (r *Reach) Whole() bool { return r.From == 0 }

// Backwards counts records whose time lies before that of an earlier one: clocks of
// controllers that differ, or a clock that was set.
type Backwards struct {
	Count int
	// At is the metadata offset of the largest step back and ByMs its size; Before and
	// After are the controllers that wrote around it, -1 unknown.
	At, ByMs      int64
	Before, After int32
}

// MetadataEvent is something that happened to no single partition.
type MetadataEvent struct {
	Offset, TimeMs int64 // as in kraft.Change
	FromSnapshot   bool
	Kind           string
	Topic          string    // "" none
	TopicID        wire.UUID // zero none
	Broker         int32     // -1 none
	Name           string    // of a configuration or feature
	Value          *string   // nil: deleted
	Resource       string    // of a configuration: "topic", "broker", "cluster"
	// To is the end of the missing offsets of a gap, exclusive; else 0.
	To int64
}

// The kinds of MetadataEvent.
const (
	TopicCreated         = "topic-created"
	TopicDeleted         = "topic-deleted"
	ConfigSet            = "config"
	FeatureSet           = "feature"
	ControllerElected    = "controller-elected"
	BrokerRegistered     = "broker-registered"
	BrokerUnregistered   = "broker-unregistered"
	BrokerFenced         = "broker-fenced"
	BrokerUnfenced       = "broker-unfenced"
	BrokerShutdownBegins = "broker-controlled-shutdown"
	BrokerDirsChanged    = "broker-log-dirs"
	MetadataGap          = "metadata-gap"
)

var brokerKinds = map[kraft.EventKind]string{
	kraft.Registered: BrokerRegistered, kraft.Unregistered: BrokerUnregistered, kraft.Fenced: BrokerFenced, kraft.Unfenced: BrokerUnfenced,
	kraft.ControlledShutdown: BrokerShutdownBegins, kraft.Changed: BrokerDirsChanged,
}

// historyConfigs are the configurations that decide what is kept, who may lead, and
// when a record counts as committed.
var historyConfigs = []string{"min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy", "retention.ms", "retention.bytes", "remote.storage.enable"}

// historyFeatures are the features that decide how leaders are elected and what the
// metadata record of it.
var historyFeatures = []string{"metadata.version", "eligible.leader.replicas.version", "kraft.version"}

// Histories tells the history of each cluster among the inputs.
func (inc *Incident) Histories(opt HistoryOptions) []*History {
	var out []*History
	for _, cl := range inc.Clusters {
		h := &History{Cluster: cl, FromMs: opt.FromMs, ToMs: cmp.Or(opt.ToMs, math.MaxInt64)}
		h.merge(cl)
		if h.Log != nil {
			h.reach()
			h.selectPartitions(inc.opt.Match)
			h.logsAhead(cl)
			h.events()
			h.countAll(inc.opt.MinISR, inc.opt.MinISRSource)
			h.backwards()
		}
		out = append(out, h)
	}
	return out
}

// Unreadable are the brokers and controllers whose metadata log is among the inputs though
// no copy of the cluster gave a single record.
func (h *History) Unreadable() []BrokerRef {
	var out []BrokerRef
	if h.Log != nil {
		return nil
	}
	for _, b := range h.Cluster.Brokers {
		if slices.ContainsFunc(b.Dirs, func(d *logdir.LogDir) bool { return d.Metadata != nil }) {
			out = append(out, h.Cluster.refs[b])
		}
	}
	return out
}

// within reports whether a time lies in the window; an unknown one does.
func (h *History) within(ms int64) bool { return ms < 0 || h.FromMs <= ms && ms < h.ToMs }

// Windowed reports whether only a part of the time was asked for.
func (h *History) Windowed() bool { return h.FromMs > 0 || h.ToMs < math.MaxInt64 }

// merge takes the history that all copies of the metadata log tell together.
func (h *History) merge(cl *Cluster) {
	j := cl.joined()
	h.Log = j.log
	if !cl.joinTold {
		h.Errors = append(h.Errors, j.errors...)
	}
	for i := range j.copies {
		c := &j.copies[i]
		x := MetadataCopy{Broker: c.broker, Dir: c.dir.Dir, Log: c.log, Line: c.line, LagMs: -1}
		x.LagRecords = max(h.Log.EndOffset-c.log.EndOffset, 0)
		if h.Log.EndTimeMs >= 0 && c.log.EndTimeMs >= 0 {
			x.LagMs = max(h.Log.EndTimeMs-c.log.EndTimeMs, 0)
		}
		h.Copies = append(h.Copies, x)
	}
}

// reach finds how far back the history goes without a gap.
func (h *History) reach() {
	l := h.Log
	r := Reach{From: max(l.SnapshotEnd, 0), FromMs: -1, Snapshot: l.SnapshotName, To: l.EndOffset, ToMs: l.EndTimeMs}
	if l.SnapshotEnd < 0 && l.StartOffset > 0 {
		r.From = l.StartOffset // the records are there, the state before them is not
	}
	r.Oldest, r.OldestMs = r.From, -1
	for _, s := range l.Snapshots {
		if s.Used && s.EndOffset == r.Oldest {
			r.OldestMs = s.TimeMs
		}
	}
	if n := len(l.Gaps); n > 0 && l.Gaps[n-1].To > r.From {
		r.From, r.Snapshot = l.Gaps[n-1].To, ""
	}
	for _, s := range l.Snapshots {
		if s.Used && s.EndOffset == r.From {
			r.Snapshot, r.FromMs = s.Name, s.TimeMs
		}
	}
	h.Reach = r
}

// selectPartitions takes the partitions that were asked for.
func (h *History) selectPartitions(match func(string, int32) bool) {
	l := h.Log
	for id, p := range l.Partitions {
		t := l.Topics[id.Topic]
		if t == nil { // its TopicRecord lies in a gap
			t = &kraft.Topic{ID: id.Topic, Name: id.Topic.String(), CreatedAt: -1, CreatedMs: -1, RemovedAt: -1, RemovedMs: -1}
		}
		if match != nil && !match(t.Name, id.Partition) {
			continue
		}
		h.Partitions = append(h.Partitions, &PartitionHistory{
			Name: fmt.Sprintf("%s-%d", t.Name, id.Partition), Number: id.Partition, Topic: t, Changes: p.Changes,
		})
	}
	slices.SortFunc(h.Partitions, func(a, b *PartitionHistory) int {
		return cmp.Or(strings.Compare(a.Topic.Name, b.Topic.Name), cmp.Compare(a.Number, b.Number),
			cmp.Compare(a.Topic.CreatedAt, b.Topic.CreatedAt), slices.Compare(a.Topic.ID[:], b.Topic.ID[:]))
	})
	for i, p := range h.Partitions {
		if i > 0 && h.Partitions[i-1].Name == p.Name {
			p.Again, h.Partitions[i-1].Again = true, true
		}
	}
}

// events gathers what happened beside the partitions.
func (h *History) events() {
	l := h.Log
	topics := map[string]bool{}
	for _, p := range h.Partitions {
		topics[p.Topic.Name] = true
	}
	add := func(e MetadataEvent) {
		if h.within(e.TimeMs) {
			h.Events = append(h.Events, e)
		}
	}
	at := func(kind string, offset, ms int64, fromSnapshot bool) MetadataEvent {
		return MetadataEvent{Kind: kind, Offset: offset, TimeMs: ms, FromSnapshot: fromSnapshot, Broker: -1}
	}
	for _, t := range l.Topics {
		if !topics[t.Name] {
			continue
		}
		e := at(TopicCreated, t.CreatedAt, t.CreatedMs, t.FromSnapshot)
		e.Topic, e.TopicID = t.Name, t.ID
		add(e)
		if t.RemovedAt >= 0 {
			e := at(TopicDeleted, t.RemovedAt, t.RemovedMs, false)
			e.Topic, e.TopicID = t.Name, t.ID
			add(e)
		}
	}
	for i := range l.Configs {
		c := &l.Configs[i]
		if !slices.Contains(historyConfigs, c.Name) || c.ResourceType == kraft.ResourceTopic && !topics[c.ResourceName] {
			continue
		}
		e := at(ConfigSet, c.Offset, c.TimeMs, c.FromSnapshot)
		e.Name, e.Value = c.Name, c.Value
		switch {
		case c.ResourceType == kraft.ResourceTopic:
			e.Resource, e.Topic = "topic", c.ResourceName
		case c.ResourceType == kraft.ResourceBroker && c.ResourceName == "":
			e.Resource = "cluster"
		case c.ResourceType == kraft.ResourceBroker:
			e.Resource = "broker"
			if _, err := fmt.Sscan(c.ResourceName, &e.Broker); err != nil {
				e.Broker = -1
			}
		default:
			continue
		}
		add(e)
	}
	for id, b := range l.Brokers {
		for _, x := range b.Events {
			e := at(brokerKinds[x.Kind], x.Offset, x.TimeMs, x.FromSnapshot)
			e.Broker = id
			add(e)
		}
	}
	for _, name := range historyFeatures {
		changes := l.Features[name]
		for _, c := range changes {
			e := at(FeatureSet, c.Offset, c.TimeMs, c.FromSnapshot)
			level := fmt.Sprint(c.Level)
			e.Name, e.Value = name, &level
			add(e)
		}
	}
	for _, x := range l.Leaders {
		e := at(ControllerElected, x.Offset, x.TimeMs, false)
		e.Broker = x.LeaderID
		add(e)
	}
	for _, g := range l.Gaps {
		e := at(MetadataGap, g.From, -1, false)
		e.To = g.To
		add(e)
	}
	slices.SortStableFunc(h.Events, func(a, b MetadataEvent) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Broker, b.Broker),
			strings.Compare(a.Topic, b.Topic), strings.Compare(a.Name, b.Name), slices.Compare(a.TopicID[:], b.TopicID[:]))
	})
}

// Controller is the active controller that wrote the record at a metadata offset, -1
// unknown.
func (h *History) Controller(offset int64) int32 {
	i, found := slices.BinarySearchFunc(h.Log.Leaders, offset, func(l kraft.RaftLeader, at int64) int { return cmp.Compare(l.Offset, at) })
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return h.Log.Leaders[i].LeaderID
}

// backwards looks for times that go back. Only records that the history keeps are
// looked at: the no-ops between them are not.
func (h *History) backwards() {
	type stamp struct{ offset, ms int64 }
	var all []stamp
	for _, e := range h.Events {
		if !e.FromSnapshot && e.TimeMs >= 0 {
			all = append(all, stamp{e.Offset, e.TimeMs})
		}
	}
	for _, p := range h.Partitions {
		for i := range p.Changes {
			if c := &p.Changes[i]; !c.FromSnapshot && c.TimeMs >= 0 && h.within(c.TimeMs) {
				all = append(all, stamp{c.Offset, c.TimeMs})
			}
		}
	}
	slices.SortFunc(all, func(a, b stamp) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.ms, b.ms)) })
	h.Backwards = Backwards{At: -1, Before: -1, After: -1}
	var top stamp
	last := int64(-1)
	for _, s := range all {
		if s.ms < top.ms && s.offset != last {
			h.Backwards.Count++
			if by := top.ms - s.ms; by > h.Backwards.ByMs {
				h.Backwards.At, h.Backwards.ByMs = s.offset, by
				h.Backwards.Before, h.Backwards.After = h.Controller(top.offset), h.Controller(s.offset)
			}
		}
		if s.ms >= top.ms {
			top = s
		}
		last = s.offset
	}
}

// countAll finds unclean elections and counts what happened to each partition and
// through each broker.
func (h *History) countAll(minISR int, source string) {
	brokers := map[int32]*BrokerHistory{}
	of := func(id int32) *BrokerHistory {
		b := brokers[id]
		if b == nil {
			b = &BrokerHistory{ID: id}
			brokers[id] = b
		}
		return b
	}
	for id, b := range h.Log.Brokers {
		of(id).lifecycle(h, b)
	}
	cuts := h.minISRCuts()
	for _, p := range h.Partitions {
		p.findUnclean(h)
		p.count(h, of)
		p.underMinISR(h, cuts, minISR, source)
	}
	for _, id := range slices.Sorted(maps.Keys(brokers)) {
		h.Brokers = append(h.Brokers, brokers[id])
	}
}
