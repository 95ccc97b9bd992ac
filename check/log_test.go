package check_test

import (
	"context"
	"testing"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

const sound = `
broker 1
topic t-0
segment 0
batch base=0 records=3 epoch=4
batch base=3 records=3 epoch=4
batch base=6 records=3 epoch=4
epochs 4:0
`

func findings(t *testing.T, spec string, compacted bool) map[finding.Code]finding.Severity {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(logtest.FS(t, spec)), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[finding.Code]finding.Severity{}
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), sources[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range check.Log(l, check.Subject{Partition: p.Name(), Broker: "1", Compacted: compacted}) {
			if f.Count < 1 || f.Summary == "" || f.Next == "" || f.At.File == "" || len(f.Evidence) == 0 {
				t.Errorf("%s is incomplete: %+v", f.Code, f)
			}
			out[f.Code] = f.Severity
		}
	}
	return out
}

// Each code has a log that raises it; the sound twin raises none.
func TestCodes(t *testing.T) {
	if got := findings(t, sound, false); len(got) > 0 {
		t.Errorf("a sound log raises %v", got)
	}
	for _, tc := range []struct {
		damage string
		code   finding.Code
		want   finding.Severity
	}{
		{"damage batch=1 field=payload flip=80", "batch-crc-mismatch", finding.Damage},
		{"damage batch=1 field=epoch flip=3", "epoch-out-of-line", finding.Damage},
		{"damage batch=1 field=baseoffset flip=12", "base-offset-out-of-line", finding.Damage},
		{"tail zeros=4096", "zero-tail", finding.Note},
		{"torn bytes=40", "torn-tail", finding.Note},
		{"batch base=20 records=1 epoch=4", "offset-gap", finding.Damage},
		{"segment 20\nbatch base=20 records=1 epoch=4", "segment-gap", finding.Damage},
	} {
		got := findings(t, sound+tc.damage+"\n", false)
		if s, ok := got[tc.code]; !ok || s != tc.want || len(got) != 1 {
			t.Errorf("%q raises %v, want %s %s", tc.damage, got, tc.want, tc.code)
		}
	}
	if got := findings(t, sound+"batch base=20 records=1 epoch=4\n", true); len(got) > 0 {
		t.Errorf("a gap on a compacted topic raises %v", got)
	}
}
