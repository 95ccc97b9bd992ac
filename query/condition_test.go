package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"kafsck/batch"
	"kafsck/segment"
)

// document4 is a decoded record for tests, in the shape of kafka-dump-log's.
type document4 string

func (d document4) MarshalJSON() ([]byte, error) { return []byte(d), nil }

func aBatch() *Line {
	f := &segment.Frame{Kind: segment.Batch, Pos: 1577, Len: 200}
	f.Batch.Header = batch.Header{
		BaseOffset: 1000, Length: 188, PartitionLeaderEpoch: 7, Magic: 2, CRC: 0x6ec98a7c, Attributes: 0x14, LastOffsetDelta: 9,
		BaseTimestamp: 1_796_003_529_416, MaxTimestamp: 1_796_003_529_419, ProducerID: 4000, ProducerEpoch: 1, BaseSequence: 20, RecordCount: 10,
	}
	return &Line{Kind: Batch, Frame: f, At: Place{Partition: "orders-eu-3", Broker: 2, BrokerKnown: true, File: "orders-eu-3/0.log"}}
}

func aRecord() *Line {
	l := aBatch()
	l.Kind = Record
	l.Record = &batch.Record{
		Offset: 1003, Timestamp: 1_796_003_529_417, Key: []byte("order-17"), Value: []byte(`{"amount": 12}`), Sequence: 23,
		Headers: []batch.RecordHeader{{Key: "trace", Value: []byte("a")}, {Key: "trace", Value: []byte("b")}, {Key: "none"}},
	}
	l.Metadata = document4(`{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":3,"isr":[1,2],"leader":9007199254740993,"name":"t","ok":true,"time":"2026-11-29T12:00:00Z","none":null}}`)
	return l
}

// TestConditions asks of one batch, one record and one .index entry. The expected answers are
// what the words say.
func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		text string
		line *Line
		want bool
	}{
		{`epoch == 7 && codec == "zstd" && offset >= 1000`, aBatch(), true},
		{`epoch == 7 && codec == "zstd" && offset > 1000`, aBatch(), false},
		{`leaderEpoch == 7 and partitionLeaderEpoch == 7`, aBatch(), true},
		{`transactional`, aBatch(), true},
		{`!transactional or control`, aBatch(), false},
		{`crcOk`, aBatch(), true},
		{`crc == "0x6ec98a7c"`, aBatch(), true},
		{`damage == nil && computedCrc == nil`, aBatch(), true},
		{`producerId in [1, 4000]`, aBatch(), true},
		{`producerId not in [1, 4000]`, aBatch(), false},
		{`codec in ["gzip", "zstd"]`, aBatch(), true},
		{`from in 1000..1009 && to in 1010..1010`, aBatch(), true},
		{`1000 <= from < 1001`, aBatch(), true},
		{`topic == "orders-eu" && partition endsWith "-3" && broker == 2`, aBatch(), true},
		{`topicId == nil`, aBatch(), true},
		{`topicId == "x"`, aBatch(), false},
		{`topicId != "x"`, aBatch(), true},
		{`recordCount % 2 == 0 && recordCount / 4 == 2.5`, aBatch(), true},
		{`time > "2026-10-29T12:00Z"`, aBatch(), true},
		{`time > date("2026-10-29")`, aBatch(), true},
		{`time < "2026-10-29 12:00"`, aBatch(), false},
		{`maxTimestamp == "2026-11-30T01:52:09.419Z" && maxTimestampMs == 1796003529419`, aBatch(), true},
		{`maxTimestamp - baseTimestamp == duration("3ms")`, aBatch(), true},
		{`maxTimestamp + duration("1h") > "2026-11-30T02:52:09Z"`, aBatch(), true},
		{`time in "2026-11-30".."2026-12-01"`, aBatch(), true},
		{`key == "order-17"`, aBatch(), false}, // not asked
		{`key == "order-17" && codec == "zstd" && baseOffset == 1000`, aRecord(), true},
		{`key startsWith "order-" && value contains "amount" && key matches "^order-[0-9]+$"`, aRecord(), true},
		{`upper(key) == "ORDER-17" && len(key) == 8 && keySize == 8`, aRecord(), true},
		{`header("trace") == "b" && headers["trace"] == "b" && headers.trace != nil && len(headers) == 3 && headers == 3`, aRecord(), true},
		{`header("none") == nil && header("missing") == nil && header("missing") != "b"`, aRecord(), true},
		{`controlType == "ABORT"`, aRecord(), false},
		{`coordinatorEpoch < 100 || coordinatorEpoch >= 100`, aRecord(), false}, // there is none
		{`metadata.type == "PARTITION_CHANGE_RECORD" && metadata.data.partitionId == 3`, aRecord(), true},
		{`metadata.data.leader == 9007199254740993`, aRecord(), true},
		{`metadata.data.leader == 9007199254740992`, aRecord(), false},
		{`2 in metadata.data.isr && 3 not in metadata.data.isr && len(metadata.data.isr) == 2 && metadata.data.isr[0] == 1`, aRecord(), true},
		{`metadata.data.ok && metadata.data.none == nil && metadata.data.partitionId != nil && metadata.nothing.there == nil`, aRecord(), true},
		{`metadata.data.partitionId == "3"`, aRecord(), true}, // text was asked for
		{`metadata.data.name > 3 || metadata.data.name < 3`, aRecord(), false},
		{`metadata.data.time > date("2026-11-29T11:59Z")`, aRecord(), true},
		{`metadata?.data.name == "t" && metadata != nil && decoded == nil`, aRecord(), true},
		{`decoded.group == "billing"`, aRecord(), false},
		{`key == 'order-17' and not control`, aRecord(), true},
		{`offset / 0.5 == 2000 && offset / (3 - 1) == 500 && offset == 9223372036854775807 or offset / -1 == -1000`, aBatch(), true},
		{`offset == 1 && logPosition == 2`, &Line{Kind: IndexEntry, Offset: &segment.OffsetEntry{Offset: 1, Position: 2}}, true},
	} {
		c, err := Compile(tt.text, DumpKinds)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		m := c.Matcher()
		for range 2 { // what one line leaves behind is nothing to the next
			if got := m.Match(tt.line); got != tt.want || m.Err != nil {
				t.Errorf("%s: %v, error %v", tt.text, got, m.Err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ text, at, want string }{
		{`ofset >= 1000`, "ofset", "column 1: there is no name ofset"},
		{`epoch == 7 && codecs == "zstd"`, "codecs", "column 15: there is no name codecs"},
		{`codec == 3`, `3`, "codec is text, 3 is a number: they are never equal"},
		{`time > "yesterday"`, `"yesterday"`, `"yesterday" is no time`},
		{`codec`, `codec`, "this is text, not a condition"},
		{`offset`, `offset`, "this is a number, not a condition"},
		{`epoch = 7`, `=`, "== compares"},
		{`epoch ==`, ``, "the expression ends too early"},
		{``, ``, "the expression is empty"},
		{" \t", ` ` + "\t", "the expression is empty"},
		{`offset / 0 == 1`, `0`, "column 10: nothing can be divided by 0"},
		{`offset / -0.0 == 1`, ``, "nothing can be divided by 0"},
		{`offset / (3 - 3) == 1`, ``, "nothing can be divided by 0"},
		{`offset == 9223372036854775808`, `9223372036854775808`, "column 11: 9223372036854775808 is too large: the largest whole number is 9223372036854775807"},
		{`offset in 1..99999999999999999999 && control`, `99999999999999999999`, "99999999999999999999 is too large"},
		{`offset == 9_223_372_036_854_775_808`, ``, "9223372036854775808 is too large"},
		{`offset == 0xfffffffffffffffff`, `0xfffffffffffffffff`, "is too large"},
		{`offset > 1e999`, `1e999`, "column 10: 1e999 is too large"},
		{`offset == 0b12`, ``, "bad number"},
		{`codec == "zstd" && logPosition > 5`, `logPosition`, "no kind of line has logPosition together with codec"},
		{`key matches "("`, `"("`, "missing closing )"},
		{`key matches value`, `value`, "a pattern that is written out"},
		{`now() > time`, ``, "there is no function now()"},
		{`all(1..1000000, true)`, ``, "there is no function all()"},
		{`len(repeat("x", 1000000000)) > 3`, ``, "there is no function repeat()"},
		{`let x = 3; x == 3`, ``, "not part of the language"},
		{`offset % producerId == 0`, ``, "above 0 that is written out"},
		{`offset ** 3 == 8`, ``, "there is no operator **"},
		{`value + value == key`, `value`, "+ is for numbers"},
		{`$env == nil`, ``, "there is no name $env"},
		{`offset.x == 1`, ``, "offset has nothing in it"},
		{`control < true`, ``, "only equal or not"},
		{`! offset == 3`, ``, "negates a condition"},
		{strings.Repeat("!", 1000) + "control", ``, "too long"},
		{strings.Repeat("(", 5000), ``, "at most 4096 bytes"},
	} {
		_, err := Compile(tt.text, DumpKinds)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), tt.want) {
			t.Errorf("%.60s: %v", tt.text, err)
			continue
		}
		if tt.at != "" && e.Text[e.From:e.To] != tt.at {
			t.Errorf("%s: points at %q", tt.text, e.Text[e.From:e.To])
		}
	}
	_, err := Compile("ofset > 1", DumpKinds)
	if e := err.(*Error); e.Names[0] != "offset" {
		t.Errorf("nearest names: %q", e.Names[:5])
	}
	line, carets := err.(*Error).Pointer(func(s string) string { return s })
	if line != "ofset > 1" || carets != "^^^^^" {
		t.Errorf("%q, %q", line, carets)
	}
}

func TestOfBatch(t *testing.T) {
	for text, want := range map[string]bool{`codec == "zstd" && producerId == 3`: true, `offset > 3`: false, `key == "a"`: false, `time > "2026-01-01"`: false, `epoch == 1 && control`: true} {
		c, err := Compile(text, []*Kind{Record, Message, Embedded, Stretch})
		if err != nil || c.OfBatch() != want {
			t.Errorf("%s: %v, %v", text, c.OfBatch(), err)
		}
	}
}

// TestTypesAgree holds that a name means one type in all kinds of lines.
func TestTypesAgree(t *testing.T) {
	seen := map[string]Type{}
	for _, k := range DumpKinds {
		for _, f := range k.Fields {
			if s, known := seen[f.Name]; known && s != f.Type {
				t.Errorf("%s of %s is %s, elsewhere %s", f.Name, k.Name, f.Type, s)
			}
			seen[f.Name] = f.Type
		}
	}
}

func TestTable(t *testing.T) {
	k := TableKind([]string{"size", "max time", "state", ""})
	cells := []any{int64(2048), time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC), "deleted", nil}
	shown := []string{"2.0 KiB", "2026-11-30 01:00:00", "deleted", ""}
	l := &Line{Kind: k, Cell: func(c int) (any, string) { return cells[c], shown[c] }}
	for text, want := range map[string]bool{
		`size > 2000 && state == "deleted"`: true, `maxTime > date("2026-11-30")`: true, `MaxTime < date("2026-11-30")`: false,
		`maxTime > "2026-11-29"`: true, `size == nil`: false, `size contains "KiB"`: true, `state startsWith "del" and size <= 2048`: true,
	} {
		c, err := Compile(text, []*Kind{k})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c.Matcher().Match(l) != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
	if _, err := Compile("sise > 3", []*Kind{k}); err == nil || err.(*Error).Names[0] != "size" {
		t.Errorf("%v", err)
	}
}

var _ json.Marshaler = document4("")
