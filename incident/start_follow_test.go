package incident_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

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
	return startsIn(t, below(fixture.Tree(t, name), stage), version)
}

// startsIn judges a tree with the next start of every broker.
func startsIn(t *testing.T, tree fstest.MapFS, version string) map[string]*incident.PartitionStart {
	t.Helper()
	v, err := broker.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
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

// TestWatermarkHeldBy: whose log reaches over committed offsets that a start cuts off has them only if
// all of them are whole there, and if the start of its own broker leaves them.
func TestWatermarkHeldBy(t *testing.T) {
	const (
		log    = "/orders-0/00000000000000000100.log"
		marker = "/.kafka_cleanshutdown"
	)
	damaged := func(b []byte) []byte { b[9*2301+100] ^= 1; return b } // the batch of 190 to 199
	for _, tc := range []struct {
		name        string
		damage      []string
		unclean     []string
		held, cutBy string
	}{
		{"one is damaged", nil, []string{"b1"}, "2 3", ""},
		{"two are, and both are cut", []string{"b2"}, []string{"b1", "b2"}, "3", "2"},
		{"two are, and one start does not look", []string{"b2"}, []string{"b1"}, "3", "2"},
		{"all are", []string{"b2", "b3"}, []string{"b1", "b2", "b3"}, "", "2 3"},
	} {
		tree := below(fixture.Tree(t, "cases"), "BR-25b") // damaged at 190 to 199 on b1
		for _, b := range tc.damage {
			patch(b+log, damaged)(t, tree)
		}
		for _, b := range tc.unclean {
			delete(tree, b+marker) // and nothing was flushed
			patch(b+"/recovery-point-offset-checkpoint", func([]byte) []byte { return []byte("0\n1\norders 0 0\n") })(t, tree)
		}
		ps := startsIn(t, tree, "4.3")["orders-0 on 1"]
		if ps == nil || ps.Cut.Bytes == 0 {
			t.Fatalf("%s: nothing is cut: %+v", tc.name, ps)
		}
		names := func(list []incident.BrokerRef) string {
			var out []string
			for _, b := range list {
				out = append(out, b.Name)
			}
			return strings.Join(out, " ")
		}
		if held, cut := names(ps.WatermarkHeldBy), names(ps.WatermarkCutBy); held != tc.held || cut != tc.cutBy {
			t.Errorf("%s: held by %q, not whole on %q; want %q, %q", tc.name, held, cut, tc.held, tc.cutBy)
		}
	}
}
