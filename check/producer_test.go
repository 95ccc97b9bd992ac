package check_test

import (
	"fmt"
	"strings"
	"testing"

	"kafsck/check"
	"kafsck/internal/logtest"
	"kafsck/replica"
)

// raisedBy is what a description raises with the files beside the log read, and the clock at nowMs.
func raisedBy(t *testing.T, spec string, s check.Subject, nowMs int64) string {
	t.Helper()
	s.Partition, s.Broker = "t-0", "1"
	var out []string
	for _, f := range check.Log(read(t, "broker 1\ntopic t-0\nsegment 0\n"+strings.ReplaceAll(spec, " ; ", "\n"), replica.Options{Files: true, Records: true, NowMs: nowMs}), s) {
		switch f.Code {
		case "index-missing", "timeindex-missing", "txnindex-behind":
			continue // only .log files are described
		}
		if f.Count < 1 || f.Summary == "" || f.Next == "" || f.At.File == "" {
			t.Errorf("%s is incomplete: %+v", f.Code, f)
		}
		if c, ok := check.Lookup(f.Code); !ok || !contains(c.Severities, f.Severity) {
			t.Errorf("%s %s is not in the table", f.Severity, f.Code)
		}
		out = append(out, fmt.Sprintf("%s %s×%d", f.Severity, f.Code, f.Count))
	}
	return strings.Join(out, ", ")
}

// TestProducers: each fault of a producer's batches, and the sound twin beside it.
func TestProducers(t *testing.T) {
	const day = 24 * 3600 * 1000
	first := "batch pid=1 pepoch=3 seq=0 records=10 ; "
	for name, c := range map[string]struct{ spec, want string }{
		"in line":                   {first + "batch pid=1 pepoch=3 seq=10", ""},
		"a gap":                     {first + "batch pid=1 pepoch=3 seq=12", "warning sequence-gap×1"},
		"two gaps are one finding":  {first + "batch pid=1 pepoch=3 seq=12 ; batch pid=1 pepoch=3 seq=20", "warning sequence-gap×2"},
		"a repeat":                  {first + "batch pid=1 pepoch=3 seq=0 records=10", "warning sequence-repeat×1"},
		"others between":            {first + "batch pid=2 pepoch=0 seq=7 ; batch pid=1 pepoch=3 seq=10 ; batch pid=2 pepoch=0 seq=8", ""},
		"any sequence at first":     {"batch pid=1 pepoch=3 seq=700 records=10", ""},
		"wraps to 0":                {"batch pid=1 pepoch=3 seq=2147483640 records=8 ; batch pid=1 pepoch=3 seq=0", ""},
		"wraps inside a batch":      {"batch pid=1 pepoch=3 seq=2147483646 records=4 ; batch pid=1 pepoch=3 seq=2", ""},
		"a gap over the wrap":       {"batch pid=1 pepoch=3 seq=2147483646 records=1 ; batch pid=1 pepoch=3 seq=3", "warning sequence-gap×1"},
		"a new epoch begins at 0":   {first + "batch pid=1 pepoch=4 seq=0", ""},
		"a new epoch elsewhere":     {first + "batch pid=1 pepoch=4 seq=5", "warning sequence-gap×1"},
		"an older epoch":            {first + "batch pid=1 pepoch=2 seq=0", "damage producer-epoch-regression×1"},
		"and back":                  {first + "batch pid=1 pepoch=2 seq=0 ; batch pid=1 pepoch=3 seq=10", "damage producer-epoch-regression×1"},
		"no sequence":               {first + "batch pid=1 pepoch=3 seq=-1 ; batch pid=1 pepoch=3 seq=-1", ""},
		"forgotten after a day":     {first + fmt.Sprintf("batch pid=1 pepoch=3 seq=99 ts=%d", logtest.T0+2*day), ""},
		"offsets are missing":       {first + "batch base=20 pid=1 pepoch=3 seq=20", "damage offset-gap×1"},
		"bytes cannot be read":      {first + "batch pid=1 pepoch=3 seq=10 ; batch pid=1 pepoch=3 seq=11 ; damage batch=1 field=payload flip=9", "damage batch-crc-mismatch×1"},
		"same epoch after a marker": {"batch pid=1 pepoch=3 seq=0 txn ; marker commit pid=1 pepoch=3 coordinator=5 ; batch pid=1 pepoch=3 seq=1 txn ; marker commit pid=1 pepoch=3 coordinator=5", ""},
		"bumped by the marker":      {"batch pid=1 pepoch=3 seq=0 txn ; marker commit pid=1 pepoch=4 coordinator=5 ; batch pid=1 pepoch=4 seq=0 txn ; marker commit pid=1 pepoch=5 coordinator=5", ""},
		"coordinator steps back":    {"batch pid=1 pepoch=3 seq=0 txn ; marker commit pid=1 pepoch=3 coordinator=5 ; batch pid=1 pepoch=3 seq=1 txn ; marker commit pid=1 pepoch=3 coordinator=4", "note coordinator-epoch-regression×1"},
		"marker of an older epoch":  {"batch pid=1 pepoch=3 seq=0 txn ; marker abort pid=1 pepoch=2 coordinator=5", "damage producer-epoch-regression×1"},
		"control batch, no marker":  {"batch pid=1 pepoch=3 seq=0 txn ; batch pid=1 pepoch=3 seq=-1 txn ; damage batch=1 field=attributes flip=5 fixcrc", "damage transaction-marker-invalid×1"},
		"more records than offsets": {"batch records=3 ; batch records=3 ; batch records=3 ; damage batch=1 field=count set=9 fixcrc", "damage batch-header-impossible×1, damage inner-record-invalid×1"},
		"a negative count":          {"batch records=3 ; batch records=3 ; batch records=3 ; damage batch=1 field=count set=-1 fixcrc", "damage batch-header-impossible×1, damage inner-record-invalid×1"},
		"unknown attribute bits":    {"batch records=3 ; batch records=3 ; damage batch=1 field=attributes flip=9 fixcrc", "note batch-attributes-unknown×1"},
		"a delete horizon":          {"batch records=3 ; batch records=3 horizon=1700000500000", ""},
		"an empty batch":            {"batch records=3 ; batch records=0 lastdelta=4 pid=1 pepoch=3 seq=0 ; batch pid=1 pepoch=3 seq=5", ""},
		"no timestamp":              {"batch records=3 ts=-1 step=0", ""},
		"a timestamp below none":    {"batch records=3 ts=-7 step=0", "warning timestamp-negative×1"},
	} {
		if got := raisedBy(t, c.spec, check.Subject{}, 0); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := raisedBy(t, first+"batch pid=1 pepoch=3 seq=12", check.Subject{Compacted: true}, 0); got != "" {
		t.Errorf("a gap on a compacted topic: %s", got)
	}
	sparse := "batch records=2 lastdelta=4 ; batch records=3"
	if got := raisedBy(t, sparse, check.Subject{PolicyKnown: true}, 0); got != "note records-missing-in-batches×1" {
		t.Errorf("records missing on a topic of policy delete: %q", got)
	}
	for _, s := range []check.Subject{{}, {Compacted: true, PolicyKnown: true}} {
		if got := raisedBy(t, sparse, s, 0); got != "" {
			t.Errorf("records missing, %+v: %q", s, got)
		}
	}
}

// TestFutureTimestamps: a stamp is in the future of the clock that is given, not of a clock that all
// of the log contradicts.
func TestFutureTimestamps(t *testing.T) {
	const day = 24 * 3600 * 1000
	spec := fmt.Sprintf("batch records=3 ; batch records=3 ts=%d ; batch records=3 ; segment 9 ; batch records=3", logtest.T0+30*day)
	for name, c := range map[string]struct {
		spec string
		s    check.Subject
		now  int64
		want string
	}{
		"ahead":              {spec, check.Subject{}, logtest.T0 + day, "warning future-timestamp×1"},
		"a day is no matter": {spec, check.Subject{}, logtest.T0 + 30*day - 1000, ""},
		"no clock":           {spec, check.Subject{}, 0, ""},
		"compacted":          {spec, check.Subject{Compacted: true}, logtest.T0 + day, "note future-timestamp×1"},
		"kept for ever":      {spec, check.Subject{RetentionMs: -1}, logtest.T0 + day, "note future-timestamp×1"},
		"the clock is wrong": {spec, check.Subject{}, logtest.T0 - 300*day, ""},
	} {
		if got := raisedBy(t, c.spec, c.s, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	l := read(t, "broker 1\ntopic t-0\nsegment 0\n"+strings.ReplaceAll(spec, " ; ", "\n"), replica.Options{NowMs: logtest.T0})
	f := check.Log(l, check.Subject{Partition: "t-0", RetentionMs: 3 * day})[0]
	if f.At.From != 3 || f.At.To != 6 || f.At.Position <= 0 || !strings.Contains(f.Summary, "2023-12-17 22:13:20Z") {
		t.Errorf("%+v", f)
	}
}

// TestCleanerStuck: damage at or behind the cleaner's position stops it, damage below does not.
func TestCleanerStuck(t *testing.T) {
	spec := "batch records=3 ; batch records=3 ; segment 6 ; batch records=3 ; batch records=3 ; segment 12 ; batch records=3 ; epochs 0:0 ; "
	for _, c := range []struct {
		position, damage string
		want             bool
	}{
		{"cleaner 6", "", false},
		{"cleaner 6", "segment 6 ; batch records=3 ; batch records=3 ; damage batch=0 field=payload flip=9 ; segment 12 ; batch records=3", true},
	} {
		text := spec + c.position
		if c.damage != "" {
			text = "batch records=3 ; batch records=3 ; " + c.damage + " ; epochs 0:0 ; " + c.position
		}
		got := raisedBy(t, text, check.Subject{Compacted: true}, 0)
		if strings.Contains(got, "damage cleaner-stuck-before×1") != c.want {
			t.Errorf("%s %s: %s", c.position, c.damage, got)
		}
	}
	below := "batch records=3 ; damage batch=0 field=payload flip=9 ; batch records=3 ; segment 6 ; batch records=3 ; segment 9 ; batch records=3 ; cleaner 6"
	if got := raisedBy(t, below, check.Subject{Compacted: true}, 0); strings.Contains(got, "cleaner-stuck") {
		t.Errorf("damage below the position: %s", got)
	}
}
