package logdir

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"kafsck/internal/rofs"
)

type operation struct{ op, name string }

// operations lists what a discovery of a tree asks of it.
func operations(t *testing.T, lines ...string) []operation {
	var ops []operation
	_, err := DiscoverFS(rofs.Fault(rofs.FromFS(tree(lines...)), func(op, name string, _, _ int64) error {
		ops = append(ops, operation{op, name})
		return nil
	}), "copies", Options{})
	must(t, err)
	return ops
}

// TestEveryFault fails each operation of a discovery once: it is told with the path it is about, it
// is never taken for damage or absence, and what does not depend on it is still there.
func TestEveryFault(t *testing.T) {
	lines := append([]string{"b1/d0/.lock", "b1/d0/recovery-point-offset-checkpoint", "b1/d0/log-start-offset-checkpoint", "b1/d0/cleaner-offset-checkpoint"}, twoBrokers...)
	healthy := discoverTree(t, lines...)
	if len(healthy.Errors) > 0 {
		t.Fatal(healthy.Errors)
	}
	ops := operations(t, lines...)
	if len(ops) < 50 {
		t.Fatalf("only %d operations", len(ops))
	}
	for _, failing := range ops {
		c, err := DiscoverFS(rofs.Fault(rofs.FromFS(tree(lines...)), func(op, name string, _, _ int64) error {
			if op == failing.op && name == failing.name {
				return syscall.EIO
			}
			return nil
		}), "copies", Options{})
		id := fmt.Sprintf("%s %s", failing.op, failing.name)
		if failing.name == "." {
			if err == nil || !errors.Is(err, syscall.EIO) || len(c.Errors) != 1 {
				t.Errorf("%s: the root failed: got %v, %v", id, err, c.Errors)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if len(c.Errors) != 1 || !errors.Is(c.Errors[0], syscall.EIO) || c.Errors[0].Path != failing.name {
			t.Errorf("%s: errors %v", id, c.Errors)
		}
		// The failure shows on the value that it is about.
		if failing.op != "readdir" && !hasFileErr(c, failing.name) && !strings.HasSuffix(failing.name, ".lock") && !isDirOf(healthy, failing.name) {
			t.Errorf("%s: no file says so:\n%s", id, summary(c))
		}
		// Nothing but what lies below the failed name is missing.
		for p := range healthy.AllPartitions() {
			if strings.HasPrefix(p.Dir+"/", failing.name+"/") || strings.HasPrefix(failing.name, p.Dir+"/") {
				continue
			}
			if !hasPartition(c, p.Dir) {
				t.Errorf("%s: %s is gone", id, p.Dir)
			}
		}
	}
}

func hasPartition(c *Case, dir string) bool {
	for p := range c.AllPartitions() {
		if p.Dir == dir {
			return true
		}
	}
	return false
}

// isDirOf tells whether a path is a directory of the case.
func isDirOf(c *Case, name string) bool {
	if hasPartition(c, name) {
		return true
	}
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			if d.Path == name || strings.HasPrefix(d.Path, name+"/") || d.Metadata != nil && d.Metadata.Dir == name {
				return true
			}
		}
	}
	return false
}

func hasFileErr(c *Case, name string) bool {
	found := false
	look := func(f *File) {
		if f.Path == name && f.Err != nil {
			found = true
		}
	}
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			for f := range d.AllFiles() {
				look(f)
			}
			parts := d.Partitions
			if d.Metadata != nil {
				parts = append(parts[:len(parts):len(parts)], d.Metadata)
			}
			for _, p := range parts {
				for f := range p.AllFiles() {
					look(f)
				}
			}
		}
	}
	for _, f := range c.Unknown {
		look(f)
	}
	return found
}

// TestFaultsOfText: a text file that cannot be read is neither absent nor malformed.
func TestFaultsOfText(t *testing.T) {
	c, err := DiscoverFS(rofs.Fault(rofs.FromFS(tree(twoBrokers...)), func(op, name string, _, _ int64) error {
		if op == "read" {
			return syscall.EIO
		}
		return nil
	}), "copies", Options{})
	must(t, err)
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			if d.Meta != nil || d.MetaFile == nil || d.MetaFile.Err == nil {
				t.Errorf("%s: meta.properties: %v", d.Path, d.Meta)
			}
			if d.HighWatermarks != nil {
				t.Errorf("%s: high watermarks from an unreadable file", d.Path)
			}
		}
	}
	p := c.Brokers[0].Dirs[0].Partitions[0]
	if p.Epochs != nil || p.EpochsFile == nil || p.EpochsFile.Err == nil || p.HasTopicID {
		t.Errorf("epochs %v, file %+v", p.Epochs, p.EpochsFile)
	}
	// The broker is still known by its folder.
	if b := c.Brokers[0]; b.ID != 1 || b.IDSource != "folder name" || len(b.Dirs) != 2 {
		t.Errorf("broker %v by %q with %d directories", b, b.IDSource, len(b.Dirs))
	}
}

// TestTooLarge: a text file beyond its limit is not read at all.
func TestTooLarge(t *testing.T) {
	m := tree("meta.properties = node.id=1", "t-0/D0.log")
	m["t-0/leader-epoch-checkpoint"] = m["t-0/"+d20("D0.log")]
	big := *m["meta.properties"]
	big.Data = make([]byte, maxSmallFile+1)
	m["t-0/partition.metadata"] = &big
	reads := 0
	c, err := DiscoverFS(rofs.Fault(rofs.FromFS(m), func(op, name string, _, _ int64) error {
		if op == "read" && name == "t-0/partition.metadata" {
			reads++
		}
		return nil
	}), "x", Options{})
	must(t, err)
	p := c.Brokers[0].Dirs[0].Partitions[0]
	if len(c.Errors) != 1 || !errors.Is(c.Errors[0], rofs.ErrTooLarge) || p.Meta != nil || p.MetaFile == nil || reads != 0 {
		t.Errorf("errors %v, %d reads", c.Errors, reads)
	}
}

// TestOperationsPerFile: one listing per directory, one look per name, and nothing opened but the
// small text files: 20,000 segments must not cost a system call more.
func TestOperationsPerFile(t *testing.T) {
	lines := []string{"meta.properties = node.id=1", "t-0/leader-epoch-checkpoint", "t-0/partition.metadata"}
	const segments = 500
	for i := range segments {
		for _, ext := range []string{"log", "index", "timeindex", "snapshot"} {
			lines = append(lines, fmt.Sprintf("t-0/D%d.%s", i*100, ext))
		}
	}
	count := map[string]int{}
	for _, o := range operations(t, lines...) {
		count[o.op]++
	}
	want := map[string]int{"readdir": 2, "lstat": 1 + 2 + 2 + 4*segments, "open": 3, "stat": 3}
	for op, n := range want {
		if count[op] != n {
			t.Errorf("%d × %s, want %d", count[op], op, n)
		}
	}
}
