package incident_test

import (
	"context"
	"testing"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// TestReleaseForAllPredictions: the releases are those of the recordings' README.md; of a broker with
// ZooKeeper the newest that it can be is taken. A start goes by the same one as a new leader.
func TestReleaseForAllPredictions(t *testing.T) {
	for _, x := range []struct {
		archive, dir string
		want         broker.Version
		hint         bool
	}{
		{"hw-truncation-loss", "stage-a", broker.Version{Major: 3, Minor: 9}, true},
		{"kraft39-unclean-election", "stage-b", broker.Version{Major: 3, Minor: 9}, true},
		{"unclean-election", "stage-b", broker.Latest, false},
	} {
		c, err := logdir.DiscoverFS(rofs.FromFS(below(fixture.Tree(t, x.archive), x.dir)), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		opt := predictWith("4.3")
		opt.Compare = true
		inc := incident.Open(c, opt)
		if v, hint := inc.Clusters[0].ReleaseFor(broker.Version{}, false); v != x.want || (hint != nil) != x.hint {
			t.Errorf("%s: %s, %+v", x.archive, v, hint)
		}
		if v, hint := inc.Clusters[0].ReleaseFor(broker.Version{Major: 2, Minor: 8}, true); v != (broker.Version{Major: 2, Minor: 8}) || hint != nil {
			t.Errorf("%s, named: %s, %+v", x.archive, v, hint)
		}
		starts, err := inc.Start(context.Background(), incident.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range starts.Brokers {
			if b.Version != x.want || b.Outcome != broker.OK {
				t.Errorf("%s, broker %s: %s, %s", x.archive, b.Broker.Name, b.Version, b.Outcome)
			}
		}
		for p := range inc.Partitions(context.Background()) {
			if p.Leadership == nil || p.Leadership.Version != x.want {
				t.Errorf("%s: %+v", p.Name, p.Leadership)
			}
		}
	}
}
