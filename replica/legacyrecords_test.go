package replica_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// TestLegacyRecordsOfRecordings: message formats 0 and 1 as brokers 0.9.0.1 to 2.8.2 wrote,
// compressed again, down-converted and cleaned them. All that is odd in them is the LZ4
// checksum of format 0, in the partitions where truth.json counts it.
func TestLegacyRecordsOfRecordings(t *testing.T) {
	for _, name := range []string{"old-formats", "hw-truncation-loss", "hw-truncation-oldformat"} {
		tree := fixture.Tree(t, name)
		stages := map[string]bool{}
		for path := range tree {
			if dir, _, _ := strings.Cut(path, "/"); strings.HasPrefix(dir, "stage") {
				stages[dir] = true
			}
		}
		for stage := range stages {
			for _, a := range recordAnomalies(t, below(tree, stage)) {
				if name != "old-formats" || a.Kind != replica.LZ4LegacyChecksum {
					t.Errorf("%s/%s: %+v", name, stage, a)
				}
			}
		}
	}
}

// TestLegacyRecordFaults: wrappers whose CRC is right, with one thing wrong inside.
func TestLegacyRecordFaults(t *testing.T) {
	m := func(magic int8, offset, timestamp int64) logtest.Message {
		return logtest.Message{Magic: magic, Offset: offset, Timestamp: timestamp, Value: []byte("v")}
	}
	first := m(1, 9, 5).Encode()
	with := func(w logtest.Message, change func(*logtest.Message)) []byte {
		change(&w)
		return w.Encode()
	}
	none := func(*logtest.Message) {}
	pack := func(magic int8, last int64, inner ...logtest.Message) logtest.Message {
		w := logtest.Wrapper(logtest.Gzip, inner...)
		w.Magic, w.Offset = magic, last
		return w
	}
	for _, c := range []struct {
		name string
		raw  []byte
		want string
		says string
	}{
		{"sound, magic 1", logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 11, 9)).Encode(), "", ""},
		{"sound, magic 0", logtest.Wrapper(logtest.Snappy, m(0, 10, 0), m(0, 11, 0)).Encode(), "", ""},
		{"cleaned", logtest.Wrapper(logtest.Gzip, m(1, 12, 7), m(1, 15, 9)).Encode(), "", ""},
		{"no timestamps", with(logtest.Wrapper(logtest.Gzip, m(1, 10, -1), m(1, 11, -1)), func(w *logtest.Message) { w.Timestamp = -1 }), "", ""},
		{"append time", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 11, 9)), func(w *logtest.Message) { w.AppendTime, w.Timestamp = true, 500 }), "", ""},
		{"timestamp", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 11, 9)), func(w *logtest.Message) { w.Timestamp = 8 }), "max-timestamp-mismatch 10-12", "want the largest of those inside"},
		{"magic 0, last offset", pack(0, 11, m(0, 10, 0)).Encode(), "record-invalid 10-12", "offset at byte 0: want 10, that of the last message inside, got 11"},
		{"magic 0, from 0", pack(0, 11, m(0, 0, 0), m(0, 1, 0)).Encode(), "record-invalid 0-12", "inner message 0 offset at decompressed byte 0: want at least 10, where the log before it ends, got 0"},
		{"offsets stand", with(pack(1, 11, m(1, 10, 7), m(1, 10, 9)), none), "record-invalid 11-12", "inner message 1 offset at decompressed byte 35: want above 11, got 11"},
		{"overlap", with(pack(1, 11, m(1, 8, 7), m(1, 9, 8), m(1, 10, 8), m(1, 11, 9)), none), "record-invalid 8-12", "want at least 10, where the log before it ends, got 8"},
		{"wrapper below the last one", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 30, 9)), func(w *logtest.Message) { w.Offset = 12 }), "record-invalid 10-13", "want at least that of the last message inside, 20, got 12"},
		{"other magic inside", with(pack(1, 11, m(0, 0, 0), m(0, 1, 0)), none), "record-invalid 10-12", "inner message 0 magic at decompressed byte 0: want 1, got 0"},
		{"nested", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), logtest.Wrapper(logtest.Gzip, m(1, 11, 9))), none), "record-invalid 10-12", "inner message 1 attributes at decompressed byte 52: want no compression, got gzip"},
		{"no value", logtest.Message{Magic: 1, Offset: 11, Codec: logtest.Gzip}.Encode(), "record-invalid 10-12", "want a compressed set, got null"},
		{"zstd", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 11, 9)), func(w *logtest.Message) { w.Codec = logtest.Zstd }), "record-invalid 10-12", "want one that magic 1 allows, got zstd"},
		{"codec 5", with(logtest.Wrapper(logtest.Gzip, m(1, 10, 7), m(1, 11, 9)), func(w *logtest.Message) { w.Codec = 5 }), "batch-codec-unknown 10-12", ""},
		{"LZ4 checksum of magic 0 in magic 1", with(logtest.Wrapper(logtest.LZ4, m(1, 10, 7), m(1, 11, 9)), func(w *logtest.Message) { w.Value[6] = 0x1a }), "lz4-header-checksum 10-12", "checksum of the frame header does not match"},
	} {
		got := recordAnomalies(t, fstest.MapFS{"t-0/" + logtest.LogName(9): {Data: slices.Concat(first, c.raw)}})
		text := ""
		if len(got) > 0 {
			text = got[0].Detail + ": want " + got[0].Want + ", got " + got[0].Got
		}
		if describe(got) != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s: got %q, want %q: %s", c.name, describe(got), c.want, text)
		}
	}
}

// TestWrapperBehindDamage: a wrapper says where it ends only. Behind damaged bytes it is opened,
// so that the offsets that were lost with them do not count as its own.
func TestWrapperBehindDamage(t *testing.T) {
	m := func(offset int64) logtest.Message {
		return logtest.Message{Magic: 1, Offset: offset, Value: []byte("v")}
	}
	log := slices.Concat(logtest.Wrapper(logtest.Gzip, m(0), m(1), m(2)).Encode(), bytes.Repeat([]byte("junk"), 30),
		logtest.Wrapper(logtest.LZ4, m(10), m(11), m(12)).Encode(), logtest.Wrapper(logtest.LZ4, m(13), m(14)).Encode())
	c, err := logdir.DiscoverFS(rofs.FromFS(fstest.MapFS{"t-0/" + logtest.LogName(0): {Data: log}}), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(t.Context(), sources[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range l.Blocks(0, 100) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d-%d %v", b.Base, b.Last, b.Whole()))
		}
	}
	if want := []string{"0-2 true", "3-9 false", "10-12 true", "13-14 true"}; !slices.Equal(got, want) {
		t.Errorf("blocks %q, want %q", got, want)
	}
}
