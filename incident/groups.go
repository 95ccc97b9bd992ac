package incident

import (
	"context"
	"slices"
	"sync"

	"kafsck/internal/wire"
	"kafsck/internaltopic"
	"kafsck/replica"
)

// Commit is a committed offset of a group, or its deletion, as one record of
// __consumer_offsets says. Aborted transactional commits are none.
type Commit struct {
	Cluster      *Cluster
	Group, Topic string // raw
	// TopicID is what the record says; zero unknown.
	TopicID   wire.UUID
	Partition int32
	// Offset is the next one that the group will read: it had read up to Offset - 1. -1 if
	// Deleted.
	Offset int64
	// LeaderEpoch is that of the last record that the group had read; -1 unknown (common).
	LeaderEpoch int32
	Metadata    string
	// CommitMs is the coordinator's clock when it was committed, ms; -1 unknown. ExpireMs is
	// when the broker drops it, -1 where that follows from offsets.retention.minutes.
	CommitMs, ExpireMs int64
	Deleted            bool

	// Transactional: sent in a transaction of ProducerID, and counts only behind its COMMIT
	// marker, which stands at MarkerOffset of the same partition. Pending: there is no marker.
	Transactional bool
	Pending       bool
	ProducerID    int64 // -1 none
	MarkerOffset  int64 // -1 none

	// Where the record stands; of several copies the one whose word counts.
	Broker           BrokerRef
	State            replica.State
	File             string // shown path of the .log
	OffsetsPartition int32  // of __consumer_offsets
	RecordOffset     int64  // in that partition
	RecordEpoch      int32  // leader epoch of its batch there, -1 unknown
	AtMs             int64  // record's timestamp as in RecordRef, -1 none
	// Rules: the copy is InternalPartition.From. A commit that only others hold was lost
	// from __consumer_offsets itself, and still proves what had been read.
	Rules bool
}

// AsOf is the moment at which positions are looked at. The zero value is the end.
type AsOf struct {
	// TimeMs, if above 0: records with a later timestamp do not count.
	TimeMs int64
	// Offset, if Bounded: records of __consumer_offsets at or above it do not count.
	Bounded bool
	Offset  int64
}

func (a AsOf) includes(offset, ms int64) bool {
	return (a.TimeMs <= 0 || ms <= a.TimeMs) && (!a.Bounded || offset < a.Offset)
}

// GroupMember is a member of a group.
type GroupMember struct {
	ID, InstanceID, ClientID, ClientHost string
	Topics                               []string // subscribed by name
	Regex                                string   // subscribed by pattern
	Epoch                                int32    // member epoch, or the group's generation; -1 unknown
	// State of a KIP-848 member: 0 stable, 1 unrevoked partitions, 2 unreleased partitions.
	State    int8
	Leader   bool // of a classic group: computes the assignment
	Assigned []internaltopic.AssignedPartitions
}

// GroupState is what the log says of a group as a whole.
type GroupState struct {
	Cluster *Cluster
	Group   string // raw
	// Kind is "" if the log holds nothing of the group but committed offsets.
	Kind      internaltopic.GroupKind
	Partition int32 // of __consumer_offsets
	// State is Empty, Stable, Assigning, Reconciling or Dead (a tombstone) as the records
	// imply; "" if they imply nothing. Only the coordinator knows which members still live.
	State       string
	Epoch       int32 // generation of a classic group, else the group epoch; -1 unknown
	TargetEpoch int32 // of the target assignment; -1 none
	// ProtocolType ("consumer", "connect", …) and Protocol (the assignor) of a classic group.
	ProtocolType, Protocol string
	StateMs                int64 // since when, as the value says; -1 unknown
	Members                []GroupMember
	At                     RecordRef // the newest record that says so
}

// Groups is all that __consumer_offsets says, of all clusters among the inputs.
type Groups struct {
	InternalTopic
	AsOf AsOf
	// States by cluster and group, as of AsOf.
	States []*GroupState
	// Thinned counts commits that were dropped to bound memory: those followed, within
	// ThinnedMs, by one of the same group, partition and leader epoch that was no lower.
	// ThinnedMs is the longest such time; 0 if none was dropped.
	Thinned   int64
	ThinnedMs int64

	store *commitStore
}

// lazyInternal holds what is read of internal topics, once for each Incident.
type lazyInternal struct {
	mu           sync.Mutex
	groups       *Groups
	transactions *TransactionLog
	remote       *RemoteSegments
}

// Groups reads __consumer_offsets: every commit in every copy, and the state of every group
// at the end. It reads once; later calls give the same answer.
func (inc *Incident) Groups(ctx context.Context) *Groups {
	return readOnce(ctx, &inc.internal.mu, &inc.internal.groups, func() *Groups { return inc.GroupsAsOf(ctx, AsOf{}) })
}

// readOnce reads what is not known yet, and keeps it unless it was interrupted: that is not
// the whole answer.
func readOnce[T any](ctx context.Context, mu *sync.Mutex, known **T, read func() *T) *T {
	mu.Lock()
	defer mu.Unlock()
	if *known != nil {
		return *known
	}
	t := read()
	if ctx.Err() == nil {
		*known = t
	}
	return t
}

// Commits are the commits of all groups for a partition of that name, in every cluster and
// every copy, in the order of the records; a record that several copies hold comes once.
// Pending and deleted ones are among them.
func (g *Groups) Commits(topic string, partition int32) []Commit {
	return g.store.commits(topic, partition)
}

// CommitsOf are those that belong to p: same cluster, and no other topic id.
func (g *Groups) CommitsOf(p *Partition) []Commit {
	return slices.DeleteFunc(g.Commits(p.Topic, p.Number), func(c Commit) bool { return !c.belongs(p) })
}

func (c *Commit) belongs(p *Partition) bool {
	return c.Cluster == p.Cluster && (c.TopicID.IsZero() || p.TopicID == "" || c.TopicID.String() == p.TopicID)
}

// Positions are the newest commits of each group for a partition of that name, as of AsOf
// and by the copy whose word counts: at most one a group and cluster. Deleted ones are left
// out.
func (g *Groups) Positions(topic string, partition int32) []Commit {
	var out []Commit
	for _, r := range g.store.positionsOf(topic, partition) {
		if c := g.store.commit(r); !c.Deleted {
			out = append(out, c)
		}
	}
	return out
}
