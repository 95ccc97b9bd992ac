package diff_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/diff"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// content is one segment as a log to compare.
func content(t *testing.T, base int64, parts ...[]byte) diff.LogContent {
	t.Helper()
	tree := fstest.MapFS{"t-0/" + logtest.LogName(base): {Data: slices.Concat(parts...)}}
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), sources[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Release)
		return diff.LogContent{Log: l}
	}
	t.Fatal("no partition")
	return diff.LogContent{}
}

func gonesOf(list []diff.Gone) string {
	var out []string
	for _, g := range list {
		out = append(out, fmt.Sprintf("[%d,%d) %d", g.From, g.To, g.Reason))
	}
	return strings.Join(out, " ")
}

// TestLegacyByRecord: in old formats replicas need not hold the same bytes. What counts are the
// records, wherever the wrappers begin and end.
func TestLegacyByRecord(t *testing.T) {
	message := func(magic int8, offset int64, value string) logtest.Message {
		return logtest.Message{Magic: magic, Offset: offset, Timestamp: 1000 + offset, Key: []byte(fmt.Sprint("k", offset)), Value: []byte(value)}
	}
	value := func(o int64) string { return fmt.Sprint("value ", o) }
	many := func(magic int8, from, to int64, other ...int64) []logtest.Message {
		var out []logtest.Message
		for o := from; o < to; o++ {
			v := value(o)
			if slices.Contains(other, o) {
				v = "another value"
			}
			out = append(out, message(magic, o, v))
		}
		return out
	}
	plain := func(list []logtest.Message) []byte {
		var out []byte
		for _, m := range list {
			out = append(out, m.Encode()...)
		}
		return out
	}
	wrap := func(c logtest.Codec, list []logtest.Message) []byte { return logtest.Wrapper(c, list...).Encode() }
	v2 := func(from, to int64) []byte {
		b := logtest.Batch{BaseOffset: from, Epoch: 3}
		for o := from; o < to; o++ {
			b.Records = append(b.Records, logtest.Record{Timestamp: 1000 + o, Key: []byte(fmt.Sprint("k", o)), Value: []byte(value(o)), Headers: []logtest.Header{{Key: "h", Value: []byte("x")}}})
		}
		return b.Encode()
	}
	broken := func(b []byte) []byte { // a wrapper with a right CRC that cannot be opened
		m := logtest.Message{Magic: 1, Offset: 9, Codec: logtest.Gzip, Timestamp: 5, Value: b}
		return m.Encode()
	}
	gz, sn, lz := logtest.Gzip, logtest.Snappy, logtest.LZ4
	for _, c := range []struct {
		name       string
		a, b       []byte
		want, gone string // of b, what a holds and b lacks
	}{
		{"message and wrapper", plain(many(1, 0, 10)), wrap(gz, many(1, 0, 10)), "", ""},
		{"cut otherwise", slices.Concat(wrap(gz, many(1, 0, 4)), wrap(gz, many(1, 4, 10))), slices.Concat(wrap(sn, many(1, 0, 7)), wrap(lz, many(1, 7, 10))), "", ""},
		{"never cut at the same place", slices.Concat(wrap(gz, many(1, 0, 4)), wrap(gz, many(1, 4, 10)), plain(many(1, 10, 12))), slices.Concat(plain(many(1, 0, 3)), wrap(lz, many(1, 3, 12))), "", ""},
		{"format 0 and 1", wrap(gz, many(0, 0, 10)), slices.Concat(plain(many(1, 0, 3)), wrap(sn, many(1, 3, 10))), "", ""},
		{"format 2 and 1", v2(0, 10), slices.Concat(wrap(gz, many(1, 0, 5)), plain(many(1, 5, 10))), "", ""},
		{"format 2 and 0", slices.Concat(v2(0, 5), v2(5, 10)), plain(many(0, 0, 10)), "", ""},
		{"one record", wrap(gz, many(1, 0, 10)), wrap(gz, many(1, 0, 10, 6)), "content-fork [6,7) equal from 7", "[6,7) 1"},
		{"two records", wrap(gz, many(1, 0, 10, 2)), slices.Concat(plain(many(1, 0, 5)), wrap(gz, many(1, 5, 10, 8, 9)), plain(many(1, 10, 11))), "content-fork [2,3) equal from 3; content-fork [8,11)", "[2,3) 1 [8,10) 1"},
		{"a timestamp", wrap(gz, []logtest.Message{message(1, 0, "x"), message(1, 1, "y")}), wrap(gz, []logtest.Message{message(1, 0, "x"), {Magic: 1, Offset: 1, Timestamp: 7, Key: []byte("k1"), Value: []byte("y")}}), "content-fork [1,2)", "[1,2) 1"},
		{"ends inside a wrapper", wrap(gz, many(1, 0, 10)), plain(many(1, 0, 7)), "behind [7,10)", "[7,10) 0"},
		{"cannot be opened", slices.Concat(plain(many(1, 0, 5)), wrap(gz, many(1, 5, 10))), slices.Concat(plain(many(1, 0, 5)), broken([]byte("junk"))), "content-fork [5,10)", "[5,10) 1"},
		{"single messages", plain(many(1, 0, 10)), plain(many(1, 0, 10, 4, 5)), "content-fork [4,6) equal from 6", "[4,6) 1"},
	} {
		a, b := content(t, 0, c.a), content(t, 0, c.b)
		for _, order := range []string{"ab", "ba"} {
			x, y := a, b
			if order == "ba" {
				x, y = b, a
			}
			list, err := diff.Pair(x, y, diff.Options{Ruler: -1})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range list {
				text := fmt.Sprintf("%s [%d,%d)", d.Kind, d.From, d.To)
				if d.EqualFrom != nil {
					text += fmt.Sprintf(" equal from %d", *d.EqualFrom)
				}
				got = append(got, text)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("%s, %s: %q, want %q", c.name, order, text, c.want)
			}
		}
		gone, err := diff.Missing(b, a, 0, false)
		if err != nil || gonesOf(gone) != c.gone {
			t.Errorf("%s: missing %q, %v, want %q", c.name, gonesOf(gone), err, c.gone)
		}
	}
}

// TestLegacyCompacted: the cleaner of old formats leaves wrappers with gaps. A record whose key
// has a later value is no loss, whatever wrapper it lies in.
func TestLegacyCompacted(t *testing.T) {
	m := func(magic int8, offset int64, key, value string) logtest.Message {
		out := logtest.Message{Magic: magic, Offset: offset, Timestamp: 1000 + offset, Key: []byte(key)}
		if value != "" {
			out.Value = []byte(value)
		}
		return out
	}
	wrap := func(list ...logtest.Message) []byte { return logtest.Wrapper(logtest.Gzip, list...).Encode() }
	for magic := range int8(2) {
		full := content(t, 0, wrap(m(magic, 0, "a", "1"), m(magic, 1, "b", "1"), m(magic, 2, "a", "2"), m(magic, 3, "c", "1")),
			wrap(m(magic, 4, "c", ""), m(magic, 5, "a", "3"), m(magic, 6, "b", "2")))
		cleaned := content(t, 0, wrap(m(magic, 5, "a", "3"), m(magic, 6, "b", "2")))
		lossy := content(t, 0, wrap(m(magic, 1, "b", "1"), m(magic, 3, "c", "1")), m(magic, 6, "b", "2").Encode())
		for _, c := range []struct {
			name       string
			log        diff.LogContent
			want, gone string
		}{{"cleaned", cleaned, "", ""}, {"lossy", lossy, "record-loss [5,6)", "[5,6) 3"}} {
			list, err := diff.Pair(full, c.log, diff.Options{Ruler: -1, Compacted: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, d := range list {
				got += fmt.Sprintf("%s [%d,%d)", d.Kind, d.From, d.To)
			}
			gone, err := diff.Missing(c.log, full, 0, true)
			if err != nil || got != c.want || gonesOf(gone) != c.gone {
				t.Errorf("format %d, %s: %q, missing %q, %v, want %q and %q", magic, c.name, got, gonesOf(gone), err, c.want, c.gone)
			}
		}
		for _, x := range []struct{ from, to, want int64 }{{0, 4, 4}, {4, 7, 3}, {5, 7, 2}, {6, 7, 1}} {
			for b, err := range full.Blocks(x.from, x.to) {
				if err != nil {
					t.Fatal(err)
				}
				if n, err := diff.CountRecords(full, &b, max(b.Base, x.from), min(b.Next(), x.to)); err != nil || n != x.want {
					t.Errorf("format %d: %d records in [%d,%d), %v, want %d", magic, n, x.from, x.to, err, x.want)
				}
			}
		}
	}
}
