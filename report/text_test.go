package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/logdir"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{100, 200, "offsets 100–199"},
		{100, 101, "offset 100"},
		{0, 1000000, "offsets 0–999999"}, // no separators: it is pasted into other tools
	} {
		if got := offsets(c.from, c.to); got != c.want {
			t.Errorf("offsets(%d, %d) = %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func TestClocks(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMilli()
	}
	for _, c := range []struct{ from, to, want string }{
		{"2026-11-30T01:38:48Z", "2026-11-30T01:38:49Z", "2026-11-30 01:38:48–01:38:49Z"},
		{"2026-11-30T01:38:48Z", "2026-11-30T01:38:48Z", "2026-11-30 01:38:48Z"},
		{"2026-11-30T23:59:59Z", "2026-12-01T00:00:00Z", "2026-11-30 23:59:59Z – 2026-12-01 00:00:00Z"},
	} {
		if got := clocks(at(c.from), at(c.to)); got != c.want {
			t.Errorf("clocks(%s, %s) = %q, want %q", c.from, c.to, got, c.want)
		}
	}
	if got := clocks(-1, -1); got != "" {
		t.Errorf("a time that is not known prints as %q", got)
	}
}

func TestTableAligns(t *testing.T) {
	rows := table{header: []string{"NAME", ">N", "END"}}
	rows.add("größe", "1", "x")
	rows.note("below")
	rows.add("a", "1,000", "y")
	want := []string{
		"  NAME       N  END",
		"  größe      1  x",
		"    below",
		"  a      1,000  y",
	}
	if got := strings.Join(rows.lines("  "), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestIndentedWraps(t *testing.T) {
	for _, n := range []int{0, 1, 30, 400} {
		lines := indented("label  ", strings.Repeat("word ", n)+strings.Repeat("x", 300))
		if !strings.HasPrefix(lines[0], "label  ") {
			t.Errorf("%q", lines[0])
		}
		for i, l := range lines {
			if i+1 < len(lines) && utf8.RuneCountInString(l) > width {
				t.Errorf("line %d is %d wide", i, utf8.RuneCountInString(l))
			}
			if i > 0 && !strings.HasPrefix(l, "       ") {
				t.Errorf("line %d is not indented: %q", i, l)
			}
		}
		if got := strings.Count(strings.Join(lines, "\n"), "word"); got != n {
			t.Errorf("%d words of %d", got, n)
		}
	}
}

// Losses that touch are one range; those that overlap are different records.
func TestSums(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	copies := func(from, to int64) incident.Loss {
		return incident.Loss{From: at(from), To: at(to), Records: at(to - from), Basis: "copy", ToExact: true, Committed: commitment.Yes}
	}
	open := incident.Loss{From: at(9), Basis: "trace", Committed: commitment.Yes}
	nowhere := incident.Loss{Basis: "trace", Committed: commitment.Yes}
	bound := incident.Loss{From: at(5), To: at(9), Records: at(4), Basis: "trace", Committed: commitment.Yes}
	for _, c := range []struct {
		losses        []incident.Loss
		number, where string
	}{
		{[]incident.Loss{copies(100, 200)}, "100 records", "offsets 100–199"},
		{[]incident.Loss{copies(7, 8)}, "1 record", "offset 7"},
		{[]incident.Loss{copies(100, 150), copies(150, 200)}, "100 records", "offsets 100–199"},
		{[]incident.Loss{copies(100, 150), copies(100, 130)}, "80 records", "offsets 100–149 and 100–129"},
		{[]incident.Loss{bound}, "at least 4 records", "offsets 5–8"},
		{[]incident.Loss{bound, open}, "at least 4 records", "offsets 5 and above"},
		{[]incident.Loss{open}, "an unknown number of records", "offsets 9 and above"},
		{[]incident.Loss{nowhere}, "an unknown number of records", "the offsets are not recorded"},
		{[]incident.Loss{copies(0, 1), copies(2, 3), copies(4, 5), copies(6, 7), copies(8, 9)}, "5 records", "offsets 0, 2, 4 and 2 more ranges"},
	} {
		s := sumOf(c.losses, commitment.Yes)
		if s.number("") != c.number || s.where() != c.where {
			t.Errorf("got %q, %q, want %q, %q", s.number(""), s.where(), c.number, c.where)
		}
	}
}

// A verdict fits a small terminal whatever there is to say, and tells where the
// rest is.
func TestTriageIsShort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"LOST", "LOST?", "DAMAGED", "DIFFER", "NOT READ", "CANNOT TELL", "NO LEADER", "WARNING", "note"}
	paths := &Paths{Typed: func(s string) string { return s }, Again: func(verb string, extra ...string) string {
		return Command(append([]string{"kafsck", verb}, append(extra, "copies")...)...)
	}}
	for range 2000 {
		tr := &Triage{Paths: paths, Scope: &Scope{Partitions: 9, WithoutMetadata: r.IntN(2), Absent: map[int32]bool{3: true}}, leaderless: r.IntN(2), elsewhere: r.IntN(2), retried: int64(r.IntN(2))}
		classes := 1 + r.IntN(len(words))
		for i := range r.IntN(60) {
			c := class(r.IntN(classes))
			it := item{class: c, word: words[c], group: fmt.Sprint(c, r.IntN(2)), prose: fmt.Sprintf("item-%d %s", i, strings.Repeat("word ", r.IntN(40)))}
			for b := range r.IntN(12) {
				it.body = append(it.body, fmt.Sprintf("       proof %d", b))
			}
			if c <= classMaybeLost && r.IntN(2) == 0 {
				it.stop = keep{brokers: []incident.BrokerRef{{ID: 1, Known: true, Name: "1"}}, leaders: []incident.BrokerRef{{ID: 2, Known: true, Name: "2"}}}
				it.save = []string{fmt.Sprintf("Save file-%d of broker 1: a start drops it.", i)}
			}
			tr.items = append(tr.items, it)
		}
		proofs := 0
		for _, it := range tr.items {
			proofs += len(it.body)
		}
		var b strings.Builder
		if err := tr.Print(&b, 1); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if n := strings.Count(got, "\n"); n > maxLines {
			t.Fatalf("%d lines:\n%s", n, got)
		}
		if strings.Count(got, "proof") < proofs && !strings.Contains(got, "…") && !strings.Contains(got, "Next: ") {
			t.Fatalf("something is left out in silence:\n%s", got)
		}
		for _, it := range tr.items {
			if it.word != "" && !strings.Contains(got, it.word) && !strings.Contains(got, "… and") {
				t.Fatalf("%s is not mentioned:\n%s", it.word, got)
			}
		}
	}
}

func TestTriageNamesWhatWasNotRead(t *testing.T) {
	tr := &Triage{Paths: &Paths{Again: func(string, ...string) string { return "kafsck loss copies" }}, Scope: &Scope{}}
	tr.Errors([]logdir.PathError{{Path: "broker-1/t\x1b-0", Err: fmt.Errorf("read: input/output error")}})
	var b strings.Builder
	if err := tr.Print(&b, 2); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(got, `NOT READ broker-1/t\x1b-0: read: input/output error`) || strings.Contains(got, "OK") {
		t.Errorf("got\n%s", got)
	}
}
