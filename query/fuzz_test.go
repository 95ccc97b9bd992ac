package query

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kafsck/batch"
	"kafsck/segment"
)

// FuzzCondition: no text and no values make it panic, fail or last. What compiles gives the same answer
// when it is asked again, a complaint points into the text, and lines that lack a name never match.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`epoch == 7 && codec == "zstd" && offset >= 1000`, `!transactional or control`, `time in "2026-11-30".."2026-12-01"`,
		`header("trace") == "b" && headers.trace != nil && len(headers) == 3`, `2 in metadata.data.isr && metadata.data.isr[0] == 1`,
		`key matches "^(a+)+$"`, `producerId not in [1, 4000]`, `maxTimestamp - baseTimestamp > duration("3ms")`, `recordCount % 2 == 0`,
		`1 < from < 5`, `key == nil`, `upper(trim(value)) contains "A"`, `offset / 0 > 1`, `all(1..1000000000, true)`, `let x = 1; x`, `a ? b : c`,
		`value matches "(((a{100}){100}){100}){100}"`, `-9223372036854775808 < offset`, `offset ?? 3`, `#`, `{"a": 1}.a`, `decoded["key"]["group"] == 'g'`, `properties["node.id"] == "1"`,
	} {
		f.Add(s, []byte("order-17"), []byte(`{"data":{"isr":[1,2]}}`), int64(1000), int32(-1), int16(0x14))
	}
	f.Fuzz(func(t *testing.T, text string, key, val []byte, n int64, m int32, attributes int16) {
		began := time.Now()
		c, err := Compile(text, DumpKinds)
		if err != nil {
			e := err.(*Error)
			if e.From < 0 || e.To < e.From || e.To > len(e.Text) || !utf8.ValidString(e.Text[:e.From]) && utf8.ValidString(text) {
				t.Fatalf("%q: %d..%d of %d", text, e.From, e.To, len(e.Text))
			}
			e.Pointer(strings.ToUpper)
			_ = e.Error()
		} else {
			frame := &segment.Frame{Kind: segment.Batch, Pos: n, Len: int64(m)}
			frame.Batch.Header = batch.Header{BaseOffset: n, Length: m, PartitionLeaderEpoch: m, Attributes: batch.Attributes(attributes), BaseTimestamp: n, MaxTimestamp: -n, ProducerID: n, RecordCount: m, LastOffsetDelta: m}
			matcher := c.Matcher()
			for _, l := range []*Line{
				{Kind: Batch, Frame: frame},
				{Kind: Record, Frame: frame, Record: &batch.Record{Offset: n, Timestamp: n, Key: key, Value: val, Sequence: m, Headers: []batch.RecordHeader{{Key: string(key), Value: val}}}, Metadata: document4(val), Decoded: document4(key)},
				{Kind: Stretch, Frame: &segment.Frame{Kind: segment.Zeros, Pos: n, Len: n}},
				{Kind: IndexEntry, Offset: &segment.OffsetEntry{Offset: n, Position: n}},
				{Kind: Producer, Producer: &segment.ProducerEntry{ProducerID: n, LastOffset: n, OffsetDelta: m}},
			} {
				got := matcher.Match(l)
				if got && !c.Asks(l.Kind) {
					t.Fatalf("%q: matches a line that lacks %s", text, c.Lacks(l.Kind))
				}
				if again := c.Matcher().Match(l); got != again {
					t.Fatalf("%q: %v, and then %v", text, got, again)
				}
			}
			if matcher.Failed > 0 {
				t.Fatalf("%q: %v", text, matcher.Err)
			}
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Fatalf("%q: %v", text, d)
		}
	})
}
