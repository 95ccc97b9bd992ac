package incident_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// checkedCopies judges a tree as kafsck check does and returns the story of one partition.
func checkedCopies(t *testing.T, fsys rofs.FS, name string) *incident.Partition {
	t.Helper()
	c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range incident.Open(c, incident.Options{Compare: true, Files: true, Tell: true}).Partitions(context.Background()) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

func codesFrom(p *incident.Partition) string {
	var out []string
	for _, f := range p.Findings {
		if f.Severity >= finding.Warning {
			out = append(out, string(f.Code))
		}
	}
	return strings.Join(out, " ")
}

// TestWhatCanBeReadIsJudged: one file that cannot be read hides nothing else. A .log
// ends the comparison of its copy, and the segments beside it are checked; any other
// file ends nothing, and is not called missing.
func TestWhatCanBeReadIsJudged(t *testing.T) {
	const dir = "broker-1/epochs-0/"
	whole := below(fixture.Tree(t, "epoch-history"), "stage-b")
	healthy := checkedCopies(t, rofs.FromFS(whole), "epochs-0")
	damagedTree := fstest.MapFS{}
	for name, f := range whole {
		damagedTree[name] = f
	}
	first := *whole[dir+"00000000000000000000.log"]
	first.Data = bytes.Clone(first.Data)
	first.Data[100] ^= 0xff
	damagedTree[dir+"00000000000000000000.log"] = &first
	for _, c := range []struct {
		op, file string
		isLog    bool
	}{
		{"open", "00000000000000000083.log", true},
		{"read", "00000000000000000083.log", true},
		{"lstat", "00000000000000000180.log", true},
		{"open", "00000000000000000083.index", false},
		{"read", "00000000000000000083.timeindex", false},
		{"lstat", "00000000000000000083.index", false},
		{"open", "00000000000000000180.snapshot", false},
		{"lstat", "00000000000000000180.snapshot", false},
	} {
		faulty := func(tree fstest.MapFS) rofs.FS {
			return rofs.Fault(rofs.FromFS(tree), func(op, name string, _, _ int64) error {
				if op == c.op && name == dir+c.file {
					return syscall.EIO
				}
				return nil
			})
		}
		id := c.op + " " + c.file
		p := checkedCopies(t, faulty(whole), "epochs-0")
		if got, want := codesFrom(p), codesFrom(healthy); got != want {
			t.Errorf("%s: findings %s, want %s", id, got, want)
		}
		for _, copied := range p.Copies {
			if failed := copied.Err != nil; failed != (c.isLog && copied.Broker.ID == 1) {
				t.Errorf("%s: broker %s: %v", id, copied.Broker.Name, copied.Err)
			}
		}
		for _, e := range p.Errors {
			if !errors.Is(e, syscall.EIO) || !strings.Contains(e.Error(), c.file) {
				t.Errorf("%s: error %v", id, e)
			}
		}
		if c.op != "lstat" && len(p.Errors) != 1 {
			t.Errorf("%s: errors %v", id, p.Errors)
		}
		p = checkedCopies(t, faulty(damagedTree), "epochs-0")
		if got := codesFrom(p); !strings.Contains(got, "batch-crc-mismatch") {
			t.Errorf("%s: the damage beside it is not found: %q", id, got)
		}
		if len(p.Losses) > 0 || c.isLog && len(p.Divergences) > 0 {
			t.Errorf("%s: invented %v %v", id, p.Losses, p.Divergences)
		}
	}
}

// TestManyUnreadable: an error names each file up to a bound, and reading ends.
func TestManyUnreadable(t *testing.T) {
	tree := below(fixture.Tree(t, "epoch-history"), "stage-b")
	for _, ext := range []string{"index", ".log"} { // of five segments
		for _, op := range []string{"open", "read"} {
			p := checkedCopies(t, rofs.Fault(rofs.FromFS(tree), func(o, name string, _, _ int64) error {
				if o == op && strings.HasPrefix(name, "broker-1/epochs-0/") && strings.HasSuffix(name, ext) {
					return syscall.EACCES
				}
				return nil
			}), "epochs-0")
			if len(p.Errors) < 5 {
				t.Errorf("%s %s: errors %v", op, ext, p.Errors)
			}
			if strings.Contains(codesFrom(p), "missing") {
				t.Errorf("%s %s: findings %s", op, ext, codesFrom(p))
			}
		}
	}
}
