package replica_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// TestSwapAsAStartFindsIt: what a .swap replaces is what Kafka 4.3.1 removed on the cases of BR-56:
// a whole swap takes both originals, one cut short only the one whose name it takes.
func TestSwapAsAStartFindsIt(t *testing.T) {
	for id, want := range map[string]string{
		"BR-56a": "live 0 115 230; cleaned 0",
		"BR-56b": "live 0 115 230; swap 0",
		"BR-56c": "live 0 230; replaced 0 115",
		"BR-56d": "live 0 230; deleted 0 115",
		"BR-56e": "live 0 230; deleted 0 115",
		"BR-56f": "live 0 115 230; replaced 0",
		"BR-56g": "live 0 230; replaced 0 115",
	} {
		tree := fixture.Tree(t, "cases")
		for name := range tree {
			if !strings.HasPrefix(name, id+"/b1/") {
				delete(tree, name)
			}
		}
		c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for p := range c.AllPartitions() {
			sources, err := replica.View(p)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range sources {
				line := string(s.State)
				for _, seg := range s.Segments {
					line += " " + strconv.FormatInt(seg.BaseOffset, 10)
				}
				got = append(got, line)
				if _, err := replica.Read(context.Background(), s, replica.Options{Files: true}); err != nil {
					t.Error(err)
				}
			}
			if s := strings.Join(got, "; "); s != want {
				t.Errorf("%s: %s, want %s", id, s, want)
			}
		}
	}
}
