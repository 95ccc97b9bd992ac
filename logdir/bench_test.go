package logdir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkDiscover20000Segments is the whole cost of a log directory with 20,000 segments of four
// files each, in 20 partitions.
func BenchmarkDiscover20000Segments(b *testing.B) {
	dir := b.TempDir()
	must(b, os.WriteFile(filepath.Join(dir, "meta.properties"), []byte("node.id=1\n"), 0o644))
	for p := range 20 {
		part := filepath.Join(dir, fmt.Sprintf("t-%d", p))
		must(b, os.Mkdir(part, 0o755))
		for i := range 1000 {
			for _, ext := range []string{"log", "index", "timeindex", "snapshot"} {
				must(b, os.WriteFile(filepath.Join(part, fmt.Sprintf("%020d.%s", i*1000, ext)), nil, 0o644))
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := Discover([]string{dir}, Options{})
		must(b, err)
		if n := len(c.Brokers[0].Dirs[0].Partitions); n != 20 {
			b.Fatal(n)
		}
		must(b, c.Close())
	}
}
