package incident_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// copyDir puts the files of a partition directory under another name as well.
func copyDir(tree fstest.MapFS, from, to string) fstest.MapFS {
	out := joined(tree)
	for name, f := range tree {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			out[to+"/"+rest] = f
		}
	}
	return out
}

// TestCopiedTopicID: Kafka goes by the name of a directory (LogManager.loadLog), so that a topic id
// under two names is a copied partition.metadata and not a second directory of one partition.
func TestCopiedTopicID(t *testing.T) {
	alone := below(fixture.Tree(t, "cases"), "BR-32")
	brokers := below(fixture.Tree(t, "cases"), "BR-13")
	known := below(fixture.Tree(t, "unclean-election"), "stage-b")
	for _, c := range []struct {
		name string
		tree fstest.MapFS
		want int // findings about topic ids
		says string
	}{
		{"on one broker", copyDir(alone, "orders-0", "bills-0"), 1, "directories of 2 topics carry one topic id"},
		{"of another number", copyDir(alone, "orders-0", "bills-3"), 1, "bills and orders"},
		{"on another broker", copyDir(brokers, "b1/orders-0", "b2/bills-0"), 1, "bills and orders"},
		{"under three names", copyDir(copyDir(alone, "orders-0", "bills-0"), "orders-0", "carts-0"), 1, "directories of 3 topics"},
		{"known to the metadata", copyDir(known, "broker-1/unclean-demo-0", "broker-1/bills-0"), 1, "is the topic id of unclean-demo"},
		{"another number of the topic", copyDir(alone, "orders-0", "orders-1"), 0, ""},
		{"sound", brokers, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, filesOnly := range []bool{false, true} {
				got := checked(t, incident.Options{FilesOnly: filesOnly}, c.tree)
				if twins := got["duplicate-partition-dirs"]; len(twins) > 0 {
					t.Errorf("%v", twins)
				}
				list := got["topic-id-mismatch"]
				if len(list) != c.want || !strings.Contains(fmt.Sprint(list), c.says) {
					t.Errorf("%d findings: %v", len(list), list)
				}
				for _, f := range list {
					if f.Severity != finding.Damage {
						t.Errorf("%v", f.Severity)
					}
				}
			}
		})
	}
	// The same name twice is what it was.
	if got := checked(t, incident.Options{}, below(fixture.Tree(t, "cases"), "BR-67a")); len(got["duplicate-partition-dirs"]) != 1 || len(got["topic-id-mismatch"]) > 0 {
		t.Errorf("BR-67a: %v", got)
	}
}
