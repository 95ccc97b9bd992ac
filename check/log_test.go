package check_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// TestOffsetOverflow: whether the offsets jump or all lie high, what does not fit the
// index is one warning, and the highest offset that fits is none.
func TestOffsetOverflow(t *testing.T) {
	const head = "broker 1\ntopic t-0\nsegment 0\n"
	for spec, want := range map[string]int{
		"batch base=2147483649 records=3 epoch=1\nepochs 1:2147483649":                                                                 1,
		"batch base=0 records=1 epoch=1\nbatch base=2147483649 records=3 epoch=1\nbatch base=2147483652 records=3 epoch=1\nepochs 1:0": 1,
		"batch base=2147483647 records=1 epoch=1\nepochs 1:2147483647":                                                                 0,
		"batch base=2147483647 records=2 epoch=1\nepochs 1:2147483647":                                                                 1,
		"batch base=2147483640 records=3 epoch=1\nsegment 2147483650\nepochs 1:2147483640":                                             0,
	} {
		got := findings(t, head+spec, false)
		_, have := got["segment-offset-overflow"]
		if have != (want == 1) || len(got) > want && got["segment-gap"] == 0 {
			t.Errorf("%q: %v", spec, got)
		}
	}
}

const sound = `
broker 1
topic t-0
segment 0
batch base=0 records=3 epoch=4
batch base=3 records=3 epoch=4
batch base=6 records=3 epoch=4
epochs 4:0
`

// read returns the log of a description, as a pass with opt finds it.
func read(t *testing.T, spec string, opt replica.Options) *replica.Log {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(logtest.FS(t, spec)), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), sources[0], opt)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Fatal("no partition")
	return nil
}

func findings(t *testing.T, spec string, compacted bool) map[finding.Code]finding.Severity {
	t.Helper()
	l := read(t, spec, replica.Options{})
	out := map[finding.Code]finding.Severity{}
	for _, f := range check.Log(l, check.Subject{Partition: "t-0", Broker: "1", Compacted: compacted}) {
		if f.Count < 1 || f.Summary == "" || f.Next == "" || f.At.File == "" || len(f.Evidence) == 0 {
			t.Errorf("%s is incomplete: %+v", f.Code, f)
		}
		out[f.Code] = f.Severity
	}
	return out
}

// Each kind of damage in the bytes has a log that raises its finding, and no
// other; the sound twin raises none.
func TestLogs(t *testing.T) {
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
		{"batch base=4 records=1 epoch=4\nbatch base=9 records=1 epoch=4", "duplicate-offsets", finding.Damage},
		{"batch base=2147483700 records=1 epoch=4", "segment-offset-overflow", finding.Warning},
		{"segment 20\nbatch base=20 records=1 epoch=4", "segment-gap", finding.Loss},
		{"message magic=1 base=9 count=2", "message-format-falls-back", finding.Note},
		{"segment 9\nmessage magic=0 base=9 count=2", "message-format-falls-back", finding.Note},
		{"segment 7\nbatch base=7 records=2 epoch=4\nbatch base=9 records=2 epoch=4\nbatch base=11 records=2 epoch=4", "segment-overlap", finding.Damage},
	} {
		got := findings(t, sound+tc.damage+"\n", false)
		if s, ok := got[tc.code]; !ok || s != tc.want || len(got) != 1 {
			t.Errorf("%q raises %v, want %s %s", tc.damage, got, tc.want, tc.code)
		}
	}
	for _, spec := range []string{"batch base=20 records=1 epoch=4\n", "segment 20\nbatch base=20 records=1 epoch=4\n"} {
		if got := findings(t, sound+spec, true); len(got) > 0 {
			t.Errorf("%q on a compacted topic raises %v", spec, got)
		}
	}
}

// kinds are the AnomalyKinds that package replica declares.
func kinds(t *testing.T) []replica.AnomalyKind {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(fixture.Root(t), "replica", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	out := []replica.AnomalyKind{check.UnknownMagic}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "AnomalyKind" {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, replica.AnomalyKind(s))
			}
			return true
		})
	}
	return out
}

// TestEveryKindIsJudged: whatever a pass can find becomes a finding of a code in
// the table, on the log's own files and, no worse than a warning, on those that
// were set aside.
func TestEveryKindIsJudged(t *testing.T) {
	list := kinds(t)
	if len(list) < 30 {
		t.Fatalf("only %d kinds found in the source", len(list))
	}
	for _, kind := range list {
		for _, state := range []replica.State{replica.Live, replica.Stray} {
			l := read(t, sound, replica.Options{})
			l.State = state
			l.Anomalies = replica.Anomalies{Counts: map[replica.AnomalyKind]int{kind: 3},
				Kept: []replica.Anomaly{{Kind: kind, Position: 70, Length: 10, From: 3, To: 6, Epoch: 4}}}
			if kind == replica.BelowSegment {
				l.Anomalies.Kept[0].To = 0
			}
			got := check.Log(l, check.Subject{Partition: "t-0", Broker: "1"})
			if state == replica.Stray && len(got) == 0 {
				continue
			}
			if len(got) != 1 || got[0].Count != 3 {
				t.Errorf("%s of a %s log: %+v", kind, state, got)
				continue
			}
			c, ok := check.Lookup(got[0].Code)
			if !ok {
				t.Errorf("%s: code %s is not in the table", kind, got[0].Code)
			}
			if state == replica.Stray && got[0].Severity > finding.Warning {
				t.Errorf("%s of a stray log is %s", kind, got[0].Severity)
			}
			if s := got[0].Severity; !contains(c.Severities, s) {
				t.Errorf("%s is %s, the table says %v", got[0].Code, s, c.Severities)
			}
		}
	}
}

func contains(list []finding.Severity, s finding.Severity) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
