package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
)

// dumpedIndex is any line about an index file or a snapshot.
type dumpedIndex struct {
	Type                                               string
	File                                               string
	Offset, LogPosition, TimestampMs                   int64
	Version                                            any
	ProducerID                                         int64 `json:"producerId"`
	FirstOffset, LastOffset, LastStableOffset          int64
	ProducerEpoch, CoordinatorEpoch                    int
	OffsetDelta, FirstSequence, LastSequence, OpenFrom *int64
}

// asKafkaPrints writes the lines of dump --json that are entries as kafka-dump-log does, by file.
func asKafkaPrints(t *testing.T, out string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for line := range strings.Lines(out) {
		var d dumpedIndex
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		text := ""
		switch d.Type {
		case "index-entry":
			text = fmt.Sprintf("offset: %d position: %d", d.Offset, d.LogPosition)
		case "time-index-entry":
			text = fmt.Sprintf("timestamp: %d offset: %d", d.TimestampMs, d.Offset)
		case "aborted-transaction":
			text = fmt.Sprintf("version: %v producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d", d.Version, d.ProducerID, d.FirstOffset, d.LastOffset, d.LastStableOffset)
		case "producer":
			open := "OptionalLong.empty"
			if d.OpenFrom != nil {
				open = fmt.Sprintf("OptionalLong[%d]", *d.OpenFrom)
			}
			text = fmt.Sprintf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d", d.ProducerID, d.ProducerEpoch, d.CoordinatorEpoch, open, d.TimestampMs)
			if *d.LastSequence != -1 {
				text += fmt.Sprintf(" firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d", *d.FirstSequence, *d.LastSequence, d.LastOffset, *d.OffsetDelta, d.TimestampMs)
			}
		default:
			continue
		}
		files[d.File] = append(files[d.File], text)
	}
	return files
}

// With --indexes a log directory is shown with every entry that Kafka's tool printed for it.
func TestDumpIndexesAgreeWithKafka(t *testing.T) {
	dumps, err := os.ReadFile(filepath.Join(fixture.Unpack(t, "index-dumps"), "transactions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	file := ""
	const stage = "stage2-clean/broker-2/"
	for line := range strings.Lines(string(dumps)) {
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "Dumping "); is {
			file, is = strings.CutPrefix(name, stage)
			if !is {
				file = ""
			}
		} else if file != "" {
			want[file] = append(want[file], line)
		}
	}
	out, errs, code := typed(t, "dump", "--json", "--indexes", filepath.Join(fixture.Unpack(t, "transactions"), stage))
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if len(want) < 50 {
		t.Fatalf("only %d files to compare", len(want))
	}
	if d := cmp.Diff(want, asKafkaPrints(t, out)); d != "" {
		t.Errorf("-kafka-dump-log +ours:\n%s", d)
	}
}

// Every field of the lines about index files stands in docs/json.md.
func TestDumpIndexFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := logtest.Dir(t, everyFile)
	bad := filepath.Join(t.TempDir(), "00000000000000000007.snapshot")
	if err := os.WriteFile(bad, []byte("\x00\x01abcd\x00\x00\x00\x00left"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, _ := typed(t, "dump", "--json", "--indexes", dir, bad)
	for line := range strings.Lines(out) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		kind := l["type"].(string)
		if !strings.Contains(kind, "index") && kind != "aborted-transaction" && !strings.HasPrefix(kind, "producer") {
			continue
		}
		_, section, _ := strings.Cut(string(doc), "\n### `"+kind+"`\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if section == "" {
			t.Errorf("no section for %s", kind)
		}
		for field := range l {
			switch field {
			case "type", "partition", "topicId", "broker", "file":
				continue
			}
			if !regexp.MustCompile("(?m)^\\|[^|]*`"+field+"`").MatchString(section) && !regexp.MustCompile("`"+field+"`").MatchString(section) {
				t.Errorf("%s: no row for %s", kind, field)
			}
		}
	}
}

func TestDumpRanges(t *testing.T) {
	const second = 1796003509000 // 2026-11-30T01:51:49Z
	for _, c := range []struct {
		text        string
		first, last int64
		shown       string
	}{
		{"5", 5, 5, "5"},
		{"5..9", 5, 9, "5..9"},
		{"..9", math.MinInt64, 9, "..9"},
		{"5..", 5, math.MaxInt64, "5.."},
		{" 5 .. 9 ", 5, 9, "5..9"},
	} {
		var r byteRange
		if err := r.Set(c.text); err != nil || r != (byteRange{true, c.first, c.last}) || r.String() != c.shown {
			t.Errorf("%q: %+v, %v", c.text, r, err)
		}
	}
	for _, c := range []struct {
		text        string
		first, last int64
	}{
		{"2026-11-30T01:51:49Z", second, second + 999},
		{"2026-11-30T02:51:49+01:00..", second, math.MaxInt64},
		{"2026-11-30T01:51:49.000Z", second, second},
		{"..2026-11-30T01:51:49.5Z", math.MinInt64, second + 500},
		{"1796003509000..2026-11-30T01:51:49Z", second, second + 999},
		{"0..1", 0, 1},
	} {
		var r timeRange
		if err := r.Set(c.text); err != nil || r != (timeRange{true, c.first, c.last}) {
			t.Errorf("%q: %+v, %v", c.text, r, err)
		}
		var again timeRange
		if err := again.Set(r.String()); err != nil || again != r {
			t.Errorf("%q: %s reads as %+v, %v", c.text, r.String(), again, err)
		}
	}
	for _, text := range []string{"", "-1", "9..5", "x", "5..x", "2026-11-30", "2026-11-30 01:51:49", "1969-12-31T23:59:59Z", "99999999999999999999"} {
		var b byteRange
		var ms timeRange
		if err := b.Set(text); err == nil {
			t.Errorf("%q is taken as positions", text)
		}
		if err := ms.Set(text); err == nil {
			t.Errorf("%q is taken as times", text)
		}
	}
	var all byteRange
	var ever timeRange
	if !all.meets(7, 7) || !ever.meets(-1, -1) || all.String() != "" || ever.String() != "" {
		t.Error("the zero range is not everything")
	}
}

// Which batches and records lie in a range of positions or times.
func TestDumpRangesOfALog(t *testing.T) {
	batch := func(base int64, times ...int64) logtest.Batch {
		b := logtest.Batch{BaseOffset: base}
		for _, ms := range times {
			b.Records = append(b.Records, logtest.Record{Timestamp: ms, Value: []byte("x")})
		}
		return b
	}
	dir := filepath.Join(t.TempDir(), "t-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The second batch holds a record that is older than its first.
	one, two, three := batch(0, 1000, 2000).Encode(), batch(2, 5000, 3000, 6000).Encode(), batch(5, 9000).Encode()
	file := filepath.Join(dir, logtest.LogName(0))
	junk := []byte(strings.Repeat("junk", 20))
	if err := os.WriteFile(file, append(append(append(append([]byte{}, one...), two...), junk...), three...), 0o644); err != nil {
		t.Fatal(err)
	}
	end := len(one) + len(two)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--times", "..999"}, nil},
		{[]string{"--times", "1500"}, []string{"batch 0..1"}},
		{[]string{"--times", "2001..4999"}, nil},
		{[]string{"--records", "--times", "2001..4999"}, []string{"batch 2..4", "record 3", "junk"}},
		{[]string{"--records", "--times", "6000.."}, []string{"batch 2..4", "record 4", "junk", "batch 5..5", "record 5"}},
		{[]string{"--times", "6001.."}, []string{"junk", "batch 5..5"}},
		{[]string{"--times", "..4000", "--offsets", "2.."}, nil},
		{[]string{"--positions", "0"}, []string{"batch 0..1"}},
		{[]string{"--positions", fmt.Sprintf("%d..%d", len(one)-1, len(one))}, []string{"batch 0..1", "batch 2..4"}},
		{[]string{"--positions", fmt.Sprint(end)}, []string{"junk"}},
		{[]string{"--positions", fmt.Sprintf("%d..", end+len(junk))}, []string{"batch 5..5"}},
		{[]string{"--positions", fmt.Sprintf("%d..", end+len(junk)+len(three))}, nil},
		{[]string{"--positions", fmt.Sprintf("%d..", end), "--offsets", "..4"}, nil},
		{[]string{"--positions", fmt.Sprintf("..%d", end), "--offsets", "5"}, []string{"junk"}},
	} {
		for _, path := range []string{file, dir} {
			code := 0
			for _, w := range c.want {
				if w == "junk" {
					code = exitFindings
				}
			}
			got := shown(dumpLines(t, code, append(c.args, path)...))
			for i := range got {
				if strings.HasPrefix(got[i], "junk at") {
					got[i] = "junk"
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%q (-want +got):\n%s", c.args, d)
			}
		}
	}
}

// What is damaged in an index file sets the exit code; what only looks odd does not.
func TestDumpIndexExitCodes(t *testing.T) {
	const sound = "00000003000000500000000600000090"
	for _, c := range []struct {
		name, hex string
		code      int
		says      string
	}{
		{"0.index", "", 0, "no entries"},
		{"0.index", sound, 0, "2 entries"},
		{"0.index", sound + "0000000000000000", 0, "2 entries, and 1 unused entry of zero bytes: preallocated"},
		{"0.index", sound + "000000", exitFindings, "MALFORMED: 3 bytes at the end, no whole entry; Kafka ignores them"},
		{"0.index", sound + "ff", exitFindings, "MALFORMED: 1 byte at the end, no whole entry; Kafka ignores it"},
		{"0.index", "00000000000000000000000000000000" + sound, 0, "1 entry of zero bytes at position 8, with others behind them"},
		{"0.index", sound + "0000000000000000" + "0000000900000190", 0, "1 entry of zero bytes at position 16, with others behind them"},
		{"0.timeindex", "0000018bcfe5680000000003" + "000000000000000000000000" + "0000018bcfe5690000000005", 0, "1 entry of zero bytes at position 12, with others behind them"},
		{"0.index", sound + sound, 0, "out of order at position 16: not above the entry before it"},
		{"0.index", "ffffffff00000050", exitFindings, "DAMAGED at position 0: the relative offset is below 0"},
		{"0.index", "00000003f0000050", exitFindings, "DAMAGED at position 0: the position is below 0"},
		{"0.timeindex", "0000018bcfe5680000000003", 0, "2023-11-14T22:13:20.000Z       3"},
		{"0.timeindex", "8000018bcfe5680000000003", exitFindings, "DAMAGED at position 0: the timestamp is below 0"},
		{"0.timeindex", "0000018bcfe5680080000003", exitFindings, "DAMAGED at position 0: the relative offset is below 0"},
		{"0.timeindex", "0000018bcfe56800000000030000018bcfe5680000000004", 0, "out of order at position 12"},
		{"0.txnindex", "0100" + strings.Repeat("00", 32), exitFindings, "MALFORMED at position 0: version 256; Kafka refuses it and all that follows"},
		{"0.txnindex", strings.Repeat("00", 40), exitFindings, "MALFORMED: 6 bytes at the end"},
		{"0.snapshot", "0001", exitFindings, "MALFORMED: the file has 2 bytes, want at least 10 bytes"},
		{"0.snapshot", "000148674bc700000000", 0, "version 1, 0 producers, as known at offset 0"},
		{"0.snapshot", "000148674bc70000000000", exitFindings, "it does without the last 1 byte: left of a longer file that this one was written over"},
		{"0.snapshot", "000248674bc700000000", exitFindings, "MALFORMED: version at position 0: 2, want 1"},
	} {
		base, kind, _ := strings.Cut(c.name, ".")
		name := strings.Repeat("0", 20-len(base)) + base + "." + kind
		dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch\nfile "+name+" hex="+c.hex)
		out, errs, code := typed(t, "dump", filepath.Join(dir, "t-0", name))
		if code != c.code || !strings.Contains(out, c.says) || errs != "" {
			t.Errorf("%s %s: exit code %d, want %d, and %q in\n%s%s", c.name, c.hex, code, c.code, c.says, out, errs)
		}
		if _, _, code := typed(t, "dump", "--json", "--indexes", dir); code != c.code {
			t.Errorf("%s %s in JSON: exit code %d, want %d", c.name, c.hex, code, c.code)
		}
		if out, _, code := typed(t, "dump", dir); code != 0 || strings.Contains(out, name) {
			t.Errorf("%s is shown without --indexes: exit code %d\n%s", name, code, out)
		}
	}
}
