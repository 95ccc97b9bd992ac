package incident_test

import (
	"strings"
	"testing"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// TestContradicts: which releases a recording cannot be of. The releases that wrote them are those of the
// recordings' README.md; the border of a feature is that of its KIP.
func TestContradicts(t *testing.T) {
	for _, x := range []struct {
		archive, dir, release string
		want                  []string // a part of each sentence, in order
	}{
		{"unclean-election", "stage-b", "4.3", nil},
		{"unclean-election", "stage-b", "4.2", []string{"metadata.version is 30, which no release before 4.3 knows"}},
		{"unclean-election", "stage-b", "2.8", []string{"metadata.version is 30"}},
		{"unclean-election", "stage-b", "1.0", []string{"that is KRaft", "topic ids in partition.metadata"}},
		{"kraft39-unclean-election", "stage-b", "3.9", nil},
		{"kraft39-unclean-election", "stage-b", "4.3", nil}, // an update
		{"kraft39-unclean-election", "stage-b", "3.8", []string{"metadata.version is 21, which no release before 3.9 knows"}},
		{"zk-unclean-election", "stage-b", "3.9", nil},
		{"zk-unclean-election", "stage-b", "4.0", []string{"a broker with ZooKeeper, which Kafka 4 no longer has"}},
		{"kip279-silent-fork", "stage-a", "1.1", nil},
	} {
		c, err := logdir.DiscoverFS(rofs.FromFS(below(fixture.Tree(t, x.archive), x.dir)), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		v, err := broker.ParseVersion(x.release)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cl := range incident.Open(c, incident.Options{}).Clusters {
			got = append(got, cl.Contradicts(v)...)
		}
		ok := len(got) == len(x.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], x.want[i])
		}
		if !ok {
			t.Errorf("%s/%s as %s: %q", x.archive, x.dir, x.release, got)
		}
	}
}
