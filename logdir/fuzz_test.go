package logdir

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/rofs"
)

// FuzzDiscover: whatever the names are, every file below the root is in exactly one place of the
// case, or below a folder that is listed as unknown, and nothing panics.
func FuzzDiscover(f *testing.F) {
	f.Add(strings.Join(twoBrokers, "\n"))
	f.Add("t-0/D0.log\nt-0/D0.log.swap\nt-0/D0.timeindex.cleaned\nt-0/foo.log\nt-0/D0.index/x")
	f.Add("a-1/b-2/c-3/D0.log\na-1/meta.properties\na-1/__cluster_metadata-1/D0.log\nD0.log/x\n.lock")
	f.Fuzz(func(t *testing.T, text string) {
		m := fstest.MapFS{}
		lines := strings.Split(text, "\n")
		for name, file := range tree(lines[:min(len(lines), 60)]...) {
			if fs.ValidPath(name) && name != "." {
				m[name] = file
			}
		}
		for name := range m {
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				if f, ok := m[dir]; ok && !f.Mode.IsDir() {
					delete(m, dir) // both a file and a folder
				}
			}
		}
		c, err := DiscoverFS(rofs.FromFS(m), "x", Options{})
		if err != nil {
			t.Fatal(err)
		}
		places := map[string]int{}
		put := func(files ...*File) {
			for _, f := range files {
				if f != nil {
					places[f.Path]++
				}
			}
		}
		put(c.Unknown...)
		for _, b := range c.Brokers {
			for _, d := range b.Dirs {
				for f := range d.AllFiles() {
					put(f)
				}
				parts := d.Partitions
				if d.Metadata != nil {
					parts = append(parts[:len(parts):len(parts)], d.Metadata)
				}
				for _, p := range parts {
					for _, s := range p.Segments {
						put(s.Log, s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot)
					}
					put(p.EpochsFile, p.MetaFile, p.QuorumStateFile)
					put(p.Snapshots...)
					put(p.DeletedSnapshots...)
					put(p.Unknown...)
				}
			}
		}
		if len(c.Brokers) == 1 && c.Brokers[0].Dirs[0].Bare && c.Brokers[0].Dirs[0].Root == "." && len(c.Brokers[0].Dirs[0].Partitions) == 1 && strings.HasPrefix(c.Brokers[0].Dirs[0].Partitions[0].Dir, "x") {
			return // the root is a partition itself, shown by its name
		}
		for name, f := range m {
			if f.Mode.IsDir() {
				continue
			}
			n := 0
			for dir := name; dir != "."; dir = path.Dir(dir) {
				n += places[dir]
			}
			if n != 1 {
				t.Errorf("%q is in %d places:\n%s", name, n, summary(c))
			}
		}
	})
}
