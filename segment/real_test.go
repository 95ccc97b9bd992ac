package segment_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/segment"

	"github.com/google/go-cmp/cmp"
)

// dumpLine writes a frame as Kafka's tool writes a batch, so far as a header tells.
func dumpLine(f segment.Frame) string {
	switch f.Kind {
	case segment.Batch:
		h := f.Batch.Header
		horizon, count := "OptionalLong.empty", h.RecordCount
		if h.Attributes.DeleteHorizon() {
			horizon = fmt.Sprintf("OptionalLong[%d]", h.BaseTimestamp)
		}
		return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %v isControl: %v deleteHorizonMs: %s position: %d %v: %d size: %d magic: %d compresscodec: %v crc: %d isvalid: %v",
			h.BaseOffset, h.LastOffset(), count, h.BaseSequence, h.LastSequence(), h.ProducerID, h.ProducerEpoch, h.PartitionLeaderEpoch,
			h.Attributes.Transactional(), h.Attributes.Control(), horizon, f.Pos, h.Attributes.TimestampType(), h.MaxTimestamp, f.Len, h.Magic, h.Attributes.Codec(), h.CRC, kafkaSaysValid(f))
	case segment.Legacy:
		h := f.Legacy
		timestampType := h.TimestampType().String()
		if h.Magic == 0 {
			timestampType = "NoTimestampType"
		}
		return fmt.Sprintf("offset: %d position: %d %s: %d size: %d magic: %d compresscodec: %v crc: %d isvalid: %v",
			h.Offset, f.Pos, timestampType, h.Timestamp, f.Len, h.Magic, h.Codec(), h.CRC, f.Damage == nil)
	}
	return fmt.Sprintf("%v at %d, %d bytes: %v", f.Kind, f.Pos, f.Len, f.Damage)
}

// kafkaSaysValid: Kafka does not mind a magic above 2.
func kafkaSaysValid(f segment.Frame) bool { return f.Batch.CheckCRC() == nil }

func readLog(t testing.TB, name string) (log []byte, dump []string) {
	t.Helper()
	log, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(name, ".log") + ".dump")
	if err != nil {
		t.Fatal(err)
	}
	return log, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func realLogs(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal("no test data", err)
	}
	return names
}

func TestRealSegmentsAsKafkaDumpsThem(t *testing.T) {
	for _, name := range realLogs(t, "testdata/real/*.log") {
		log, want := readLog(t, name)
		var got []string
		for f, err := range segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{}) {
			if err != nil {
				t.Fatal(name, err)
			}
			if f.Damage != nil {
				t.Error(name, f.Damage)
			}
			got = append(got, dumpLine(f))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Kafka +segment):\n%s", name, diff)
		}
	}
}

// TestDamagedSegmentsBesideKafka: up to the place where Kafka's walker stops, the frames are
// Kafka's batches. What follows is what it does not see.
func TestDamagedSegmentsBesideKafka(t *testing.T) {
	_, all := readLog(t, "testdata/real/transactions.log")
	beyond := map[string][]string{
		"crc":      nil,
		"torn":     {"torn at 7148, 38 bytes: bad length"},
		"tail9":    {"zeros at 7226, 9 bytes: <nil>"},
		"zerotail": {"zeros at 7226, 100 bytes: <nil>"},
		"magic3":   nil,
	}
	for _, name := range realLogs(t, "testdata/bad/*.log") {
		log, want := readLog(t, name)
		name = strings.TrimSuffix(filepath.Base(name), ".log")
		var got []string
		for f, err := range segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{NextOffset: 100}) {
			if err != nil {
				t.Fatal(name, err)
			}
			got = append(got, dumpLine(f))
		}
		if strings.HasPrefix(name, "length-") {
			// Kafka stops before the second batch. Its CRC verifies over the length that it
			// had, so that it and all others are there, as in the sound file.
			if diff := cmp.Diff(all[:1], want); diff != "" {
				t.Errorf("%s: Kafka saw more: %s", name, diff)
			}
			if diff := cmp.Diff(all, got); diff != "" {
				t.Errorf("%s (-sound +damaged): %s", name, diff)
			}
			continue
		}
		for i, line := range beyond[name] {
			if k := len(want) + i; k >= len(got) || !strings.HasPrefix(got[k], line) {
				t.Errorf("%s: frames behind Kafka's: %q, want %q", name, got[len(want):], beyond[name])
				break
			}
		}
		if len(got) != len(want)+len(beyond[name]) {
			t.Errorf("%s: %d frames, want %d", name, len(got), len(want)+len(beyond[name]))
		}
		if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
			t.Errorf("%s (-Kafka +segment):\n%s", name, diff)
		}
	}
}
