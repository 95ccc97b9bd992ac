package incident_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// tell judges a tree and returns the stories and every error that was reported.
func tell(fsys rofs.FS) (map[string]*incident.Partition, []error) {
	var errs []error
	c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
	if err != nil {
		return nil, []error{err}
	}
	defer c.Close()
	for _, e := range c.Errors {
		errs = append(errs, e)
	}
	inc := incident.Open(c, incident.Options{Compare: true})
	for _, e := range inc.Errors {
		errs = append(errs, e)
	}
	out := map[string]*incident.Partition{}
	for p := range inc.Partitions(context.Background()) {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
		out[p.Name+p.TopicID] = p
	}
	return out, errs
}

// TestReadErrorIsNeverDamage fails every operation on the files in turn: the
// error is reported, nothing is called damaged, and no loss is invented.
func TestReadErrorIsNeverDamage(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	var total atomic.Int64
	full, errs := tell(rofs.Fault(rofs.FromFS(tree), func(string, string, int64, int64) error { total.Add(1); return nil }))
	if len(errs) > 0 || len(full) != 1 {
		t.Fatal(errs)
	}
	n := total.Load()
	if n < 50 {
		t.Fatalf("only %d operations", n)
	}
	for k := range n + 5 {
		// Bytes that cannot be read stay unreadable: a second try fails as well.
		var count atomic.Int64
		var failed atomic.Pointer[string]
		type place struct {
			op, name string
			pos      int64
		}
		var bad atomic.Pointer[place]
		got, errs := tell(rofs.Fault(rofs.FromFS(tree), func(op, name string, pos, length int64) error {
			if count.Add(1) == k+1 {
				what := fmt.Sprintf("%s %s at %d", op, name, pos)
				failed.Store(&what)
				bad.Store(&place{op, name, pos})
				return syscall.EIO
			}
			if b := bad.Load(); b != nil && b.op == op && b.name == name && pos <= b.pos && (b.pos < pos+length || op != "read") {
				return syscall.EIO
			}
			return nil
		}))
		if failed.Load() == nil {
			continue
		}
		where := *failed.Load()
		if len(errs) == 0 {
			t.Errorf("operation %d (%s) failed, and nothing was reported", k, where)
		}
		for _, e := range errs {
			if text := strings.ToLower(e.Error()); strings.Contains(text, "corrupt") || strings.Contains(text, "damage") {
				t.Errorf("%s: a failed read is called %q", where, e)
			}
		}
		for name, p := range got {
			for _, f := range p.Findings {
				if f.Severity >= finding.Damage {
					t.Errorf("%s: a failed read became the finding %s: %s", where, f.Code, f.Summary)
				}
			}
			for i := range p.Losses {
				if f := full[name]; f == nil || !covered(&p.Losses[i], f.Losses) {
					t.Errorf("%s: invented %s", where, lossLines(p.Losses[i:i+1], true))
				}
			}
		}
	}
}

// TestHostileBytes changes random bytes of random files: whatever they are, the
// story is told without a panic, and only damage is called damage.
func TestHostileBytes(t *testing.T) {
	for _, name := range []string{"unclean-election/stage-b", "kip279-silent-fork/stage-c", "cleaner-swap/stage-b", "compaction/stage2-killed", "transactions/stage1-killed"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			recording, stage, _ := strings.Cut(name, "/")
			tree := below(fixture.Tree(t, recording), stage)
			var paths []string
			for p := range tree {
				paths = append(paths, p)
			}
			seeds := uint64(40)
			if testing.Short() {
				seeds = 6
			}
			for seed := range seeds {
				r := rand.New(rand.NewPCG(seed, 7))
				mutant := fstest.MapFS{}
				for p, f := range tree {
					mutant[p] = f
				}
				for range 1 + r.IntN(6) {
					p := paths[r.IntN(len(paths))]
					f := *mutant[p]
					f.Data = mutate(r, f.Data)
					mutant[p] = &f
				}
				if _, errs := tell(rofs.FromFS(mutant)); len(errs) > 0 {
					t.Errorf("seed %d: bytes became a failed read: %v", seed, errs)
				}
			}
		})
	}
}

func mutate(r *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	if len(out) == 0 {
		return []byte{0, 1, 2}
	}
	switch at := r.IntN(len(out)); r.IntN(5) {
	case 0:
		out[at] ^= 1 << r.IntN(8)
	case 1:
		for i := at; i < min(len(out), at+8); i++ {
			out[i] = byte(r.Uint32())
		}
	case 2:
		for i := at; i < min(len(out), at+200); i++ {
			out[i] = 0
		}
	case 3:
		out = out[:at]
	case 4:
		for i := at; i < min(len(out), at+4); i++ {
			out[i] = 0xff
		}
	}
	return out
}
