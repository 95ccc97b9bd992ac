package replica_test

import (
	"context"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// TestGlance: on every recorded directory a glance finds the log end, the log
// start and the sizes that a pass over all batches finds, and verifies nothing.
func TestGlance(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := logdir.DiscoverFS(rofs.FromFS(fixture.Tree(t, name)), "case", logdir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			n := 0
			for p := range c.AllPartitions() {
				sources, err := replica.View(p)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range sources {
					whole, err := replica.Read(context.Background(), s, replica.Options{})
					if err != nil {
						t.Fatal(err)
					}
					quick, err := replica.Glance(context.Background(), s)
					if err != nil {
						t.Fatal(err)
					}
					if quick.LogEndOffset != whole.LogEndOffset || quick.Bytes != whole.Bytes || quick.BytesVerified != 0 || quick.Batches != 0 {
						t.Errorf("%s %s: end %d, %d bytes, %d verified; a pass finds end %d, %d bytes", p.Dir, s.State, quick.LogEndOffset, quick.Bytes, quick.BytesVerified, whole.LogEndOffset, whole.Bytes)
					}
					// Only batches can tell a log start that lies inside the first one.
					if whole.LogStartSource != "epoch-file" && quick.LogStartOffset != whole.LogStartOffset {
						t.Errorf("%s %s: start %d, a pass finds %d", p.Dir, s.State, quick.LogStartOffset, whole.LogStartOffset)
					}
					n++
				}
			}
			if n == 0 {
				t.Error("nothing to look at")
			}
		})
	}
}
