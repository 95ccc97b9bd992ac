package incident

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"kafsck/internal/wire"
	"kafsck/internaltopic"
)

// maxRemote bounds how many remote segments are kept.
const maxRemote = 500_000

// RemoteSegment is a copy of a segment in the remote tier, as __remote_log_metadata tells.
type RemoteSegment struct {
	Cluster   *Cluster
	Topic     string
	TopicID   wire.UUID
	Partition int32
	ID        wire.UUID
	// Known: the record with the segment's facts is there, From to Epochs; else only updates.
	Known          bool
	From, To       int64 // offsets [From, To)
	MaxTimestampMs int64
	SizeBytes      int32
	Epochs         []internaltopic.EpochStart
	BrokerID       int32 // that copied it
	// State is that of the newest event. Finished: the copy was complete once.
	State    internaltopic.RemoteState
	Finished bool
	StateMs  int64 // of that event, broker's clock
	// PartitionDeleted: the deletion of the whole partition was asked for since.
	PartitionDeleted bool
	At               RecordRef // the record with its facts, else its first
	FinishedAt       RecordRef // the record that says that the copy is complete
}

// Held reports whether the remote tier holds the segment: copied to the end, and no deletion
// begun.
func (s *RemoteSegment) Held() bool {
	return s.State == internaltopic.RemoteCopyFinished && s.Known && !s.PartitionDeleted
}

// RemoteSegments is all that __remote_log_metadata says.
type RemoteSegments struct {
	InternalTopic
	// Segments by topic, partition and first offset.
	Segments []RemoteSegment
	Dropped  int64 // segments beyond 500,000
}

// Of are the segments of a partition, held or not.
func (r *RemoteSegments) Of(p *Partition) []RemoteSegment {
	var out []RemoteSegment
	for _, s := range r.Segments {
		if s.Cluster == p.Cluster && s.Topic == p.Topic && s.Partition == p.Number && (s.TopicID.IsZero() || p.TopicID == "" || s.TopicID.String() == p.TopicID) {
			out = append(out, s)
		}
	}
	return out
}

// RemoteSegments reads __remote_log_metadata, once.
func (inc *Incident) RemoteSegments(ctx context.Context) *RemoteSegments {
	return readOnce(ctx, &inc.internal.mu, &inc.internal.remote, func() *RemoteSegments {
		b := remoteBuilder{r: &RemoteSegments{}}
		r := internalReader{inc: inc, topic: internaltopic.RemoteLogMetadata, begin: b.begin}
		b.r.InternalTopic = r.read(ctx)
		b.finish()
		return b.r
	})
}

type remoteBuilder struct {
	mu sync.Mutex
	r  *RemoteSegments
}

func (b *remoteBuilder) begin(p *InternalPartition, c *InternalCopy, from bool) collector {
	return &remoteCollector{b: b, p: p, ic: c, from: from, of: map[wire.UUID]int{}}
}

// remoteCollector folds the events of one copy.
type remoteCollector struct {
	b    *remoteBuilder
	p    *InternalPartition
	ic   *InternalCopy
	from bool
	list []RemoteSegment
	of   map[wire.UUID]int // segment id to index
}

func (c *remoteCollector) marker(int64, bool, int64, int64) {}

func (c *remoteCollector) record(r *internalRecord) {
	e, ok := r.RemoteEvent()
	if !ok {
		return
	}
	if e.PartitionDelete {
		for i := range c.list {
			if s := &c.list[i]; s.TopicID == e.TopicID && s.Partition == e.Partition {
				s.PartitionDeleted = true
			}
		}
		return
	}
	at := r.ref(c.p, c.ic)
	i, known := c.of[e.SegmentID]
	if !known {
		if len(c.list) >= maxRemote {
			c.b.mu.Lock()
			c.b.r.Dropped++
			c.b.mu.Unlock()
			return
		}
		i = len(c.list)
		c.of[e.SegmentID] = i
		c.list = append(c.list, RemoteSegment{Cluster: c.p.Cluster, Topic: e.Topic, TopicID: e.TopicID, Partition: e.Partition, ID: e.SegmentID, From: -1, To: -1, MaxTimestampMs: -1, BrokerID: -1, At: at})
	}
	s := &c.list[i]
	if e.Segment {
		s.Known, s.From, s.To, s.MaxTimestampMs, s.SizeBytes, s.Epochs, s.BrokerID, s.At = true, e.From, e.To, e.MaxTimestampMs, e.SizeBytes, e.Epochs, e.BrokerID, at
	}
	s.State, s.StateMs = e.State, e.EventMs
	if e.State == internaltopic.RemoteCopyFinished {
		s.Finished, s.FinishedAt = true, at
	}
}

func (c *remoteCollector) end() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	have := map[wire.UUID]bool{}
	if !c.from {
		// Other copies add only what the one whose word counts has never heard of.
		for i := range c.b.r.Segments {
			if c.b.r.Segments[i].Cluster == c.p.Cluster {
				have[c.b.r.Segments[i].ID] = true
			}
		}
	}
	for _, s := range c.list {
		if !have[s.ID] {
			c.b.r.Segments = append(c.b.r.Segments, s)
		}
	}
}

func (b *remoteBuilder) finish() {
	slices.SortStableFunc(b.r.Segments, func(a, b RemoteSegment) int {
		return cmp.Or(strings.Compare(a.Cluster.ID, b.Cluster.ID), strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.From, b.From), strings.Compare(a.ID.String(), b.ID.String()))
	})
}
