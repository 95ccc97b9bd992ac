package incident_test

import (
	"context"
	"fmt"
	"testing"

	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"testing/fstest"
)

// BenchmarkGroups reads a partition of __consumer_offsets with 400,000 commits, in batches of
// four, by 1,000 groups.
func BenchmarkGroups(b *testing.B) {
	var l builtLog
	const commits = 400_000
	for i := 0; i < commits; i += 4 {
		var r []logtest.Record
		for k := range 4 {
			r = append(r, commitOf(fmt.Sprint("group-", i/4%1000), "orders", int32(k), int64(i), 3, t0+int64(i)))
		}
		l.plain(r...)
	}
	tree := fstest.MapFS{
		"meta.properties": {Data: []byte("version=1\nnode.id=1\n")},
		"__consumer_offsets-0/" + logtest.LogName(0): {Data: l.bytes},
	}
	b.SetBytes(int64(len(l.bytes)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := logdir.DiscoverFS(rofs.FromFS(tree), "x", logdir.Options{})
		if err != nil {
			b.Fatal(err)
		}
		g := incident.Open(c, incident.Options{}).Groups(context.Background())
		if g.CommitCount() != commits || len(g.AllPositions()) != 4000 {
			b.Fatal(g.CommitCount())
		}
		c.Close()
	}
}
