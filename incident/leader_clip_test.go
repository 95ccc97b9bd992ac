package incident_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/replica"
)

// shortened is the case BR-25b after an unclean stop without a recovery point: broker 1's
// log has a damaged batch before its end. What Kafka 4.3.1 made of it is a line of
// broker/testdata/loads.jsonl: it ends at 190 afterwards instead of 300, the segment of
// offset 100 keeps 20,709 of its 23,010 bytes, that of offset 200 is gone. Brokers 2 and 3
// are whole.
func shortened(t *testing.T) fstest.MapFS {
	return without(below(fixture.Tree(t, "cases"), "BR-25b"), func(name string) bool {
		return strings.Contains(name, ".kafka_cleanshutdown") || strings.HasSuffix(name, "/recovery-point-offset-checkpoint")
	})
}

// TestLeadersCutByOwnStart: as a leader broker 1 loses what its own start cuts off and the
// others hold; as a follower it fetches that again, and throws nothing away any more.
func TestLeadersCutByOwnStart(t *testing.T) {
	p := stories(t, predictWith("4"), shortened(t))["orders-0"]
	one, two := candidateOf(t, p, "1"), candidateOf(t, p, "2")
	if one.State.LogEnd != 190 || one.CutByStart != (replica.Span{From: 190, To: 300}) || one.LostAll() != 110 || one.Lost[commitment.No] != 0 {
		t.Errorf("broker 1 ends at %d, its start cuts %v, lost %v", one.State.LogEnd, one.CutByStart, one.Lost)
	}
	for _, l := range one.Losses {
		if *l.From < 190 || *l.To > 300 {
			t.Errorf("lost: %d to %d", *l.From, *l.To)
		}
	}
	// The others end above the leader then: cut where its epoch 3 ends.
	for i := range one.Followers {
		if f := &one.Followers[i]; f.To != 190 || f.ThrownAway != 110 || f.Again != 0 || f.FetchBytes != 0 {
			t.Errorf("broker %s follows: %+v", f.Copy.Broker.Name, f)
		}
	}
	if two.State.LogEnd != 300 || two.CutByStart.From != two.CutByStart.To || two.LostAll() != 0 || p.Leadership.Recommended() != two {
		t.Errorf("broker 2 ends at %d, its start cuts %v, lost %v", two.State.LogEnd, two.CutByStart, two.Lost)
	}
	if f := followerOf(t, two, "1"); f.To != 190 || f.ThrownAway != 0 || f.FetchBytes != 23010-20709+23010 {
		t.Errorf("broker 1 follows: %+v", f)
	}
}

// TestCatchupAfterOwnStart: the same for broker 1 that comes back.
func TestCatchupAfterOwnStart(t *testing.T) {
	p := stories(t, incident.Options{Leaders: map[string]int32{"orders-0": 2}}, shortened(t))["orders-0"]
	id := int32(1)
	list, untold := p.Catchups(t.Context(), incident.CatchupOptions{Follower: &id, Version: broker.Latest})
	if untold != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, untold)
	}
	f := list[0]
	if f.LogEnd != 300 || f.CutByStart != (replica.Span{From: 190, To: 300}) || f.TruncateTo != 190 || f.FetchFrom != 190 || f.FetchTo != 300 || f.Way != broker.CatchUp {
		t.Errorf("offsets: %+v", f)
	}
	if f.CutBytes != 23010-20709 || f.DeletedBytes != 23010 || !slices.Equal(f.DeletedSegments, []int64{200}) || f.KeptBytes != 23010+20709 || f.FetchBytes != 23010-20709+23010 {
		t.Errorf("bytes: %+v", f.Catchup)
	}
}
