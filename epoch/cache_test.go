package epoch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The expected values are Kafka's own: LeaderEpochFileCache was run on these
// inputs (kafka-format.md §5.2, §5.3, §5.4).

func entries(pairs ...int64) Cache {
	var c Cache
	for i := 0; i < len(pairs); i += 2 {
		c = append(c, Entry{Epoch: int32(pairs[i]), StartOffset: pairs[i+1]})
	}
	return c
}

func TestLoadReplaysAssignments(t *testing.T) {
	for _, tc := range []struct{ file, want Cache }{
		{entries(0, 0, 3, 50, 2, 60, 5, 40), entries(0, 0, 5, 40)},
		{entries(1, 0, 1, 10, 2, 20), entries(1, 0, 2, 20)},
		{entries(1, 10, 2, 10, 3, 20), entries(2, 10, 3, 20)},
		{entries(3, 20, 1, 0, 2, 10), entries(1, 0, 2, 10)},
	} {
		if d := cmp.Diff(tc.want, Load(tc.file)); d != "" {
			t.Errorf("Load(%v): %s", tc.file, d)
		}
	}
}

func TestAssignDropsNewerEpochs(t *testing.T) {
	got := entries(0, 0, 2, 50, 6, 90).Assign(3, 200)
	if d := cmp.Diff(entries(0, 0, 2, 50, 3, 200), got); d != "" {
		t.Error(d)
	}
}

func TestEndOffsetFor(t *testing.T) {
	type answer struct {
		epoch int32
		end   int64
	}
	for _, tc := range []struct {
		cache  Cache
		logEnd int64
		asked  int32
		want   answer
	}{
		{entries(0, 0, 2, 50, 5, 100), 150, -1, answer{-1, -1}},
		{entries(0, 0, 2, 50, 5, 100), 150, 0, answer{0, 50}},
		{entries(0, 0, 2, 50, 5, 100), 150, 1, answer{0, 50}},
		{entries(0, 0, 2, 50, 5, 100), 150, 2, answer{2, 100}},
		{entries(0, 0, 2, 50, 5, 100), 150, 4, answer{2, 100}},
		{entries(0, 0, 2, 50, 5, 100), 150, 5, answer{5, 150}},
		{entries(0, 0, 2, 50, 5, 100), 150, 6, answer{-1, -1}},
		{entries(2, 60, 3, 200), 500, 0, answer{0, 60}},
		{entries(2, 60, 3, 200), 500, 1, answer{1, 60}},
		{entries(2, 60, 3, 200), 500, 2, answer{2, 200}},
		{nil, 500, 3, answer{-1, -1}},
	} {
		e, end := tc.cache.EndOffsetFor(tc.asked, tc.logEnd)
		if got := (answer{e, end}); got != tc.want {
			t.Errorf("%v ask %d: got %v, want %v", tc.cache, tc.asked, got, tc.want)
		}
	}
}

func TestTruncation(t *testing.T) {
	c := entries(0, 0, 2, 50, 3, 200)
	if d := cmp.Diff(c, c.TruncateFromStart(0)); d != "" {
		t.Error(d)
	}
	c = c.TruncateFromStart(60)
	if d := cmp.Diff(entries(2, 60, 3, 200), c); d != "" {
		t.Error(d)
	}
	c = c.TruncateFromStart(200)
	if d := cmp.Diff(entries(3, 200), c); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(entries(3, 900), c.TruncateFromStart(900)); d != "" {
		t.Error(d)
	}
	long := entries(2, 60, 7, 300, 8, 400)
	if d := cmp.Diff(entries(2, 60, 7, 300), long.TruncateFromEnd(400)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(entries(2, 60), long.TruncateFromEnd(250)); d != "" {
		t.Error(d)
	}
}

func TestRebuildFollowsRecovery(t *testing.T) {
	// Batches (5@0-2)(4@3-4)(6@5): recovery ignores the lower epoch.
	var l Lineage
	l = l.Add(5, 0, 3)
	l = l.Add(4, 3, 5)
	l = l.Add(6, 5, 6)
	if d := cmp.Diff(entries(5, 0, 6, 5), l.Rebuild()); d != "" {
		t.Error(d)
	}
	// A batch without an epoch is skipped: v1 at 0-1, then v2 epoch 3 at 2.
	var old Lineage
	old = old.Add(-1, 0, 2)
	old = old.Add(3, 2, 3)
	if d := cmp.Diff(entries(3, 2), old.Rebuild()); d != "" {
		t.Error(d)
	}
}
