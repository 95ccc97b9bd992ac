package incident

import (
	"math"
	"testing"
	"time"

	"kafsck/internal/wire"
	"kafsck/kraft"
)

// clocks is a history whose second controller's clock is 40 s behind the first one's.
func clocks() *History {
	lists := &kraft.Members{Replicas: []int32{1, 2}, ISR: []int32{1, 2}, ELR: []int32{}, LastKnownELR: []int32{}, Removing: []int32{}, Adding: []int32{}}
	id := wire.UUID{15: 7}
	change := func(offset, ms int64, leader, epoch int32) kraft.Change {
		return kraft.Change{Offset: offset, TimeMs: ms, Leader: leader, LeaderEpoch: epoch, LeaderWritten: true, PrevLeader: -2, Members: lists}
	}
	changes := []kraft.Change{change(5, 100_000, 1, 0), change(20, 110_000, 2, 1), change(40, 70_500, 1, 2), change(50, 150_000, 2, 3)}
	log := &kraft.Log{
		EndOffset: 60, EndTimeMs: 150_000, SnapshotEnd: -1,
		Topics:     map[wire.UUID]*kraft.Topic{id: {ID: id, Name: "t", CreatedAt: 4, CreatedMs: 100_000, RemovedAt: -1, RemovedMs: -1}},
		Partitions: map[kraft.PartitionID]*kraft.Partition{{Topic: id}: {ID: kraft.PartitionID{Topic: id}, Changes: changes}},
		Brokers:    map[int32]*kraft.Broker{},
		Leaders:    []kraft.RaftLeader{{Offset: 1, TimeMs: 99_000, LeaderID: 1}, {Offset: 30, TimeMs: 70_000, LeaderID: 3}},
	}
	h := &History{Cluster: &Cluster{}, Log: log, ToMs: math.MaxInt64}
	h.reach()
	h.selectPartitions(nil)
	h.events()
	h.countAll(0, "")
	h.backwards()
	return h
}

// The order is that of the metadata offsets; where the clocks contradict it is said.
func TestClocksThatRunBackwards(t *testing.T) {
	h := clocks()
	// The election of controller 3 at 30, 40 s before what stands at 20; and at 40.
	if want := (Backwards{Count: 2, At: 30, ByMs: 40_000, Before: 1, After: 3}); h.Backwards != want {
		t.Errorf("%+v, want %+v", h.Backwards, want)
	}
	inc := &Incident{Clusters: []*Cluster{}}
	rows := inc.NewTimeline([]*History{h}, TimelineOptions{}).Events()
	offsets, backwards := []int64{}, []bool{}
	for _, e := range rows {
		offsets, backwards = append(offsets, e.MetadataOffset), append(backwards, e.Backwards)
	}
	wantOffsets, wantBackwards := []int64{1, 4, 5, 20, 30, 40, 50}, []bool{false, false, false, false, true, true, false}
	for i := range wantOffsets {
		if len(rows) != len(wantOffsets) || offsets[i] != wantOffsets[i] || backwards[i] != wantBackwards[i] {
			t.Fatalf("rows at %v, backwards %v", offsets, backwards)
		}
	}
	// With the skew of controller 3 taken off, nothing is out of order, and no time is negative.
	rows = inc.NewTimeline([]*History{h}, TimelineOptions{Skew: map[int32]time.Duration{3: -45 * time.Second}}).Events()
	for _, e := range rows {
		if e.Backwards {
			t.Errorf("%+v", e)
		}
	}
	if n := h.Partitions[0].Churn; n.LeaderlessMs < 0 || n.Elections != 4 {
		t.Errorf("%+v", n)
	}
}
