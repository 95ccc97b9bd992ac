package incident_test

import (
	"context"
	"testing"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// startsOf judges a stage with the next start of every broker.
func startsOf(t *testing.T, name, stage, version string) map[string]*incident.PartitionStart {
	t.Helper()
	v, err := broker.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(below(fixture.Tree(t, name), stage)), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.Open(c, incident.Options{})
	s, err := inc.Start(context.Background(), incident.StartOptions{StartOptions: broker.StartOptions{Version: v, KeepStray: true}})
	if err != nil {
		t.Fatal(err)
	}
	inc.ExpectStarts(s)
	out := map[string]*incident.PartitionStart{}
	for p := range inc.Partitions(context.Background()) {
		for _, ps := range p.Starts {
			out[p.Name+" on "+ps.Start.Broker.Name] = ps
		}
	}
	return out
}

// TestStartThenFollows: the offsets to which the brokers truncated when they came back, by their own
// logs (server-logs/unclean-election: "Truncating to offset 100"; divergence; kip279-silent-fork on
// 1.1.1: "Truncated to 70"), and the records that were lost by it, as expected.json has them.
func TestStartThenFollows(t *testing.T) {
	for _, x := range []struct {
		fixture, stage, version, at string
		to, committed               int64
	}{
		{"unclean-election", "stage-b", "4.3", "unclean-demo-0 on 1", 100, 100},
		{"divergence", "stage-b", "4.3", "div-multi-0 on 1", 100, 50},
		{"divergence", "stage-b", "4.3", "div-multi-0 on 2", 100, 30},
	} {
		ps := startsOf(t, x.fixture, x.stage, x.version)[x.at]
		if ps == nil || ps.Follows == nil {
			t.Errorf("%s %s: no follower at %s: %+v", x.fixture, x.stage, x.at, ps)
			continue
		}
		if f := ps.Follows; f.To != x.to || f.Count(commitment.Yes) != x.committed || f.Count(commitment.Unknown) != 0 {
			t.Errorf("%s %s %s: cut to %d, %d committed records lost, %d unknown", x.fixture, x.stage, x.at, f.To, f.Count(commitment.Yes), f.Count(commitment.Unknown))
		}
	}
	if ps := startsOf(t, "divergence", "stage-b", "4.3")["div-unclean-longer-0 on 1"]; ps == nil || !ps.Unled || ps.Follows != nil {
		t.Errorf("a partition without leader: %+v", ps)
	}
	if ps := startsOf(t, "unclean-election", "stage-b", "4.3")["unclean-demo-0 on 2"]; ps.Follows != nil || ps.LeaderAway != nil || ps.Unled {
		t.Errorf("the leader: %+v", ps)
	}
}
