package internaltopic

import (
	"math"

	"kafsck/internal/wire"
)

// ShareBatch is a range of records with one state in a share group.
type ShareBatch struct {
	First, Last int64 // offsets, both inclusive
	// State: 0 available, 2 acknowledged, 4 archived (RecordState; 1, acquired, is never
	// written).
	State int8
	Count int16 // deliveries
}

// ShareState is what a share group has consumed of a partition, as a whole (a snapshot) or
// what changed since.
type ShareState struct {
	Group         string
	TopicID       wire.UUID
	Partition     int32
	Deleted       bool // a tombstone
	Snapshot      bool
	SnapshotEpoch int32 // counts the snapshots
	StateEpoch    int32 // of a snapshot; -1 else
	LeaderEpoch   int32
	StartOffset   int64 // everything below is done with; -1 not known yet, or unchanged in an update
	CompleteCount int32 // acknowledged or archived records at or above StartOffset; -1 not written
	CreateMs      int64 // of the first snapshot; -1 not written
	WriteMs       int64 // of this one; -1 not written
	Batches       []ShareBatch
}

// ShareState is the record as the state of a share group; ok is false if it is something
// else, or not decoded.
func (rec *Record) ShareState() (s ShareState, ok bool) {
	if rec.Err != nil || !rec.is(ShareGroupState, typeShareSnapshot, typeShareUpdate) {
		return s, false
	}
	k := &rec.key
	s = ShareState{Group: k.Text("groupId"), TopicID: k.UUID("topicId"), Partition: k.Int32("partition"),
		Deleted: rec.Tombstone, Snapshot: rec.Type == typeShareSnapshot, SnapshotEpoch: -1, StateEpoch: -1, LeaderEpoch: -1,
		StartOffset: -1, CompleteCount: -1, CreateMs: -1, WriteMs: -1}
	if rec.Tombstone {
		return s, true
	}
	v := &rec.value
	s.SnapshotEpoch, s.LeaderEpoch, s.StartOffset = v.Int32("snapshotEpoch"), v.Int32("leaderEpoch"), v.Int("startOffset")
	if v.Names("deliveryCompleteCount") {
		s.CompleteCount = v.Int32("deliveryCompleteCount")
	}
	if s.Snapshot {
		s.StateEpoch = v.Int32("stateEpoch")
		if v.Names("createTimestamp") {
			s.CreateMs, s.WriteMs = v.Int("createTimestamp"), v.Int("writeTimestamp")
		}
	}
	for _, b := range v.Structs("stateBatches") {
		s.Batches = append(s.Batches, ShareBatch{b.Int("firstOffset"), b.Int("lastOffset"), int8(b.Int("deliveryState")), int16(min(b.Int("deliveryCount"), math.MaxInt16))})
	}
	return s, true
}
