package export

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// logOf reads the live log of a partition of a tree.
func logOf(t *testing.T, fsys rofs.FS, broker int32, name string) *replica.Log {
	t.Helper()
	c, err := logdir.DiscoverFS(fsys, "x", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for p := range c.AllPartitions() {
		if p.Name() != name || p.LogDir.Broker.ID != broker || p.State != logdir.Live {
			continue
		}
		v, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), v[0], replica.Options{Transactions: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Release)
		return l
	}
	t.Fatalf("no %s of broker %d", name, broker)
	return nil
}

func built(t *testing.T, spec string) rofs.FS {
	t.Helper()
	fsys, err := rofs.Dir(logtest.Dir(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// give collects a source's records, as text.
func give(t *testing.T, s *Source) (out []string, skipped []Skipped) {
	t.Helper()
	s.Skipped = func(x Skipped) { skipped = append(skipped, x) }
	for r, err := range s.Everything().Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s %s", r.Offset, r.Value, r.State))
	}
	return out, skipped
}

// TestDamageIsNamed: what is whole comes out, what is not is named with file, position and offsets.
func TestDamageIsNamed(t *testing.T) {
	l := logOf(t, built(t, `broker 1
topic t-0 ; segment 0
batch base=0 records=2 value=a%d
batch base=2 records=3 value=b%d
batch base=5 records=1 value=c%d
damage batch=1 field=payload flip=3
tail zeros=100`), 1, "t-0")
	got, skipped := give(t, &Source{Log: l})
	if want := []string{"0 a0 none", "1 a1 none", "5 c5 none"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(skipped) != 1 || skipped[0].From != 2 || skipped[0].To != 5 || skipped[0].Position <= 0 || skipped[0].Length <= 0 || skipped[0].File == "" || skipped[0].Limit {
		t.Errorf("%+v", skipped)
	}
}

// TestStrayOffsets: a record of a batch with a right CRC whose offsetDelta contradicts its place is never
// left out without a word, nor given out at an offset of another; those around it are given out.
func TestStrayOffsets(t *testing.T) {
	for _, c := range []struct {
		deltas string
		want   []string
		told   [][2]int64
	}{
		{"deltas=-5", []string{"0", "2"}, [][2]int64{{1, 2}}},
		{"deltas=2147483647 damage", []string{"0", "2"}, [][2]int64{{1, 2}}},
		{"records=4 deltas=0,1,1,3", []string{"0", "1", "2", "4", "5"}, [][2]int64{{3, 4}}},
		{"records=4 deltas=0,-1,-2,3", []string{"0", "1", "4", "5"}, [][2]int64{{2, 4}}},
		{"records=3 deltas=1,0,2", []string{"0", "2", "3", "4"}, [][2]int64{{3, 4}}},
	} {
		damage := ""
		spec, odd := strings.CutSuffix(c.deltas, " damage")
		if odd { // the header does not follow the record
			damage = "damage batch=1 field=lastoffsetdelta set=0 fixcrc\n"
		}
		next := int64(2)
		if n := len(c.want); n > 2 {
			fmt.Sscan(c.want[n-1], &next)
		}
		l := logOf(t, built(t, fmt.Sprintf("broker 1\ntopic t-0 ; segment 0\nbatch base=0 value=a%%d\nbatch base=1 %s value=b%%d\nbatch base=%d value=c%%d\n%s", spec, next, damage)), 1, "t-0")
		var got []string
		records, skipped := give(t, &Source{Log: l})
		for _, r := range records {
			offset, _, _ := strings.Cut(r, " ")
			got = append(got, offset)
		}
		var told [][2]int64
		for _, s := range skipped {
			told = append(told, [2]int64{s.From, s.To})
			if s.Limit || s.Length <= 0 || s.File == "" || s.Reason == "" {
				t.Errorf("%s: %+v", c.deltas, s)
			}
		}
		if !slices.Equal(got, c.want) || !slices.Equal(told, c.told) {
			t.Errorf("%s: %v, told %v; want %v, told %v", c.deltas, got, told, c.want, c.told)
		}
	}
}

// TestStatesInLots: with room for two aborted transactions at a time each state is what it is
// with room for all.
func TestStatesInLots(t *testing.T) {
	fsys, err := rofs.Dir(filepath.Join(fixture.Unpack(t, "transactions"), "stage1-killed"))
	if err != nil {
		t.Fatal(err)
	}
	l := logOf(t, fsys, 2, "tx-orders-0")
	want, _ := give(t, &Source{Log: l})
	defer func(n int) { maxAborted = n }(maxAborted)
	for _, n := range []int{2, 3, 5} {
		maxAborted = n
		got, _ := give(t, &Source{Log: l})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d at a time (-all +few):\n%s", n, d)
		}
	}
	if len(want) != 133 {
		t.Errorf("%d records", len(want))
	}
}

// TestMarks: the new log lacks one record, has a newer one of a key, another one that was sent
// again with the same content, and one of an idempotent producer. Older ones and those of an
// aborted transaction say nothing. However few are compared at a time, the marks are the same.
func TestMarks(t *testing.T) {
	fsys := built(t, `broker 1
topic t-0 ; segment 0
batch base=0 records=1 epoch=1 key=old value=v ts=1000
batch base=1 records=1 epoch=1 key=k1 value=lost1 ts=1001
batch base=2 records=1 epoch=1 key=k2 value=lost2 ts=1002
batch base=3 records=1 epoch=1 key=k3 value=again ts=1003
batch base=4 records=1 epoch=1 key=k3 value=again ts=1003
batch base=5 records=1 epoch=1 key=old value=v ts=1000
batch base=6 records=1 epoch=1 key=k4 value=mine ts=1006 pid=7 pepoch=0 seq=5
batch base=7 records=1 epoch=1 key=k5 value=taken ts=1007
broker 2
topic t-0 ; segment 0
batch base=0 records=1 epoch=1 key=old value=v ts=1000
batch base=1 records=1 epoch=2 key=k2 value=new ts=2001
batch base=2 records=1 epoch=2 key=k3 value=again ts=1003
batch base=3 records=1 epoch=2 key=k4 value=mine ts=9999 pid=7 pepoch=0 seq=5
batch base=4 records=1 epoch=2 key=k5 value=aborted pid=9 pepoch=0 seq=0 txn
marker base=5 abort pid=9 pepoch=0 epoch=2
batch base=6 records=1 epoch=2 key=k2 value=newest ts=2005`)
	old, now := &Source{Log: logOf(t, fsys, 1, "t-0"), From: 1, To: 8}, (&Source{Log: logOf(t, fsys, 2, "t-0")}).Everything()
	want := []string{"1 absent -1 ", "2 superseded 6 ", "3 duplicate 2 content", "4 superseded 2 ", "5 absent -1 ", "6 duplicate 3 producer", "7 absent -1 "}
	defer func(n int) { maxCompared = n }(maxCompared)
	for _, n := range []int{maxCompared, 7, 3} {
		maxCompared = n
		var got []string
		lost := func() iter.Seq2[*Record, error] { return old.Records(context.Background()) }
		for r, err := range Compare(context.Background(), lost, now) {
			if err != nil {
				t.Fatal(err)
			}
			m := r.Lost.Mark
			got = append(got, fmt.Sprintf("%d %s %d %s", r.Offset, m.Kind, m.Offset, m.By))
		}
		if d := cmp.Diff(want, got); n > 3 && d != "" {
			t.Errorf("%d at a time (-want +got):\n%s", n, d)
		}
		if n == 3 && len(got) != len(want) {
			t.Errorf("%d records, want %d", len(got), len(want))
		}
	}
}
