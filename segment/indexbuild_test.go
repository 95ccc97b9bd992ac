package segment_test

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/segment"
)

// Kafka's LogSegment.recover on three batches, index.interval.bytes 100: the .index that
// it wrote is 00000003000000e0, the .timeindex 00000000000009c400000002. The batches are
// those of the reference: offsets 5–6, 7 and 8; the third begins at 224.
func TestIndexBuilderAsKafkaRecovers(t *testing.T) {
	b := segment.IndexBuilder{Base: 5, Interval: 100}
	b.Add(0, 6, 1000)
	b.Add(100, 7, 2500)
	b.Add(224, 8, 2000)
	b.Finish()
	wantEqual(t, ".index", index(t, unhex(t, "00000003000000e0"), 5), b.Offsets())
	wantEqual(t, ".timeindex", timeIndex(t, unhex(t, "00000000000009c400000002"), 5), b.Times())
}

func TestIndexBuilder(t *testing.T) {
	type add struct{ position, lastOffset, timestamp int64 }
	for _, c := range []struct {
		name    string
		base    int64
		adds    []add
		offsets [][2]int64 // offset, position
		times   [][2]int64 // timestamp, offset
		refused int64
	}{
		{"nothing", 5, nil, nil, nil, 0},
		{"one batch", 0, []add{{0, 9, 70}}, nil, [][2]int64{{70, 9}}, 0},
		{"without timestamps", 0, []add{{0, 9, -1}, {200, 19, -1}}, [][2]int64{{19, 200}}, nil, 0},
		{"more than the interval, not as much", 0, []add{{0, 0, 1}, {100, 1, 2}, {101, 2, 3}, {201, 3, 4}, {202, 4, 5}}, [][2]int64{{2, 101}, {4, 202}}, [][2]int64{{3, 2}, {5, 4}}, 0},
		{"the first batch of the largest timestamp", 0, []add{{0, 0, 9}, {200, 1, 9}, {400, 2, 3}}, [][2]int64{{1, 200}, {2, 400}}, [][2]int64{{9, 0}}, 0},
		{"offsets that go back", 10, []add{{0, 12, 1}, {200, 20, 2}, {400, 15, 3}, {600, 21, 4}}, [][2]int64{{20, 200}, {21, 600}}, [][2]int64{{2, 20}, {4, 21}}, 2},
		{"offsets below the base", 10, []add{{0, 3, 1}, {200, 9, 2}}, nil, nil, 3},
		{"offsets out of reach", 10, []add{{0, 10, 1}, {200, 10 + math.MaxInt32, 2}, {400, 11 + math.MaxInt32, 3}}, [][2]int64{{10 + math.MaxInt32, 200}}, [][2]int64{{2, 10 + math.MaxInt32}}, 3},
		{"base at the end of the numbers", math.MaxInt64 - 1, []add{{0, math.MinInt64, 1}, {200, math.MaxInt64, 2}}, [][2]int64{{math.MaxInt64, 200}}, [][2]int64{{2, math.MaxInt64}}, 0},
		{"base below 0", math.MinInt64, []add{{0, math.MaxInt64, 1}, {200, math.MaxInt64, 1}}, nil, nil, 3},
		{"positions out of reach", 0, []add{{0, 0, 1}, {math.MaxInt32 + 1, 1, 2}}, nil, [][2]int64{{2, 1}}, 1},
	} {
		b := segment.IndexBuilder{Base: c.base, Interval: 100}
		for _, a := range c.adds {
			b.Add(a.position, a.lastOffset, a.timestamp)
		}
		b.Finish()
		var offsets, times [][2]int64
		for _, e := range b.Offsets() {
			offsets = append(offsets, [2]int64{e.Offset, e.Position})
		}
		for _, e := range b.Times() {
			times = append(times, [2]int64{e.Timestamp, e.Offset})
		}
		wantEqual(t, c.name, c.offsets, offsets)
		wantEqual(t, c.name, c.times, times)
		if b.Refused != c.refused {
			t.Errorf("%s: %d refused, want %d", c.name, b.Refused, c.refused)
		}
	}
}

// rebuilt is what a recovery of a .log would make of it.
func rebuilt(t testing.TB, path string, interval int64) *segment.IndexBuilder {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, base := kindOfIndex(strings.TrimSuffix(path, ".log") + ".index")
	b := &segment.IndexBuilder{Base: base, Interval: interval}
	for f, err := range segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{}) {
		if err != nil || f.Kind != segment.Batch {
			t.Fatal(path, f.Kind, err)
		}
		b.Add(f.Pos, f.Batch.LastOffset(), f.Batch.MaxTimestamp)
	}
	b.Finish()
	return b
}

// TestIndexBuilderAsBrokersWrite: what 4.3.1 brokers wrote while they appended, batch by batch,
// and what the cleaner wrote, is what a recovery writes, as long as no restart came between:
// that begins to count the interval anew, and a clean stop leaves one more time entry.
func TestIndexBuilderAsBrokersWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	dir := unpacked(t, "cleaner-swap", "reassigned-dirs", "replica-rebuild", "transactions", "compaction", "epoch-history")
	segments, entries := 0, 0
	for _, stage := range []struct {
		path     string
		prefix   string // of the topics with another interval
		interval int64
	}{
		{"cleaner-swap/stage-a", "", 0}, {"cleaner-swap/stage-b", "", 0},
		{"reassigned-dirs/stage-a", "", 0}, {"reassigned-dirs/stage-b", "", 0}, {"reassigned-dirs/stage-c", "", 0},
		{"replica-rebuild/stage-a", "", 0},
		{"transactions/stage1-killed", "tx-", 300},
		{"compaction/stage1-clean/broker-1", "compact-", 500}, {"compaction/stage1-clean/broker-2", "compact-", 500},
		{"epoch-history/stage-a/broker-1", "", 0}, {"epoch-history/stage-a/broker-3", "", 0},
	} {
		err := filepath.WalkDir(filepath.Join(dir, stage.path), func(path string, d fs.DirEntry, err error) error {
			stem, is := strings.CutSuffix(path, ".index")
			if err != nil || !is {
				return err
			}
			log := stem + ".log"
			if _, err := os.Stat(log); err != nil {
				return nil // renamed in a swap
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if shape, err := segment.ShapeOfIndex(bytes.NewReader(b), int64(len(b))); err != nil || shape.ZeroEntries > 0 {
				return err // the active segment of a broker that was killed
			}
			times, err := os.ReadFile(stem + ".timeindex")
			if err != nil {
				t.Fatal(err)
			}
			interval := int64(segment.DefaultIndexInterval)
			if stage.prefix != "" && strings.HasPrefix(filepath.Base(filepath.Dir(path)), stage.prefix) {
				interval = stage.interval
			}
			r := rebuilt(t, log, interval)
			wantEqual(t, path, index(t, b, r.Base), r.Offsets())
			wantEqual(t, stem+".timeindex", timeIndex(t, times, r.Base), r.Times())
			if r.Refused != 0 {
				t.Errorf("%s: %d entries refused", path, r.Refused)
			}
			segments++
			entries += len(r.Offsets()) + len(r.Times())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Log(segments, "segments,", entries, "entries")
	if segments < 300 || entries < 600 {
		t.Errorf("only %d segments with %d entries", segments, entries)
	}
}

// TestWriteIndexes: the bytes that are streamed are those of the builder, which brokers' files
// prove; and those of real sealed segments.
func TestWriteIndexes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	dir := unpacked(t, "cleaner-swap", "epoch-history")
	files, entries := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		stem, is := strings.CutSuffix(path, ".index")
		if err != nil || !is || !strings.Contains(path, "stage-a") {
			return err
		}
		want, _ := os.ReadFile(path)
		times, _ := os.ReadFile(stem + ".timeindex")
		log, err := os.ReadFile(stem + ".log")
		shape, _ := segment.ShapeOfIndex(bytes.NewReader(want), int64(len(want)))
		if err != nil || shape.ZeroEntries > 0 || strings.Contains(path, "broker-2") {
			return nil
		}
		_, base := kindOfIndex(path)
		var i, ti bytes.Buffer
		if err := segment.WriteIndexes(t.Context(), bytes.NewReader(log), int64(len(log)), base, segment.DefaultIndexInterval, &i, &ti); err != nil {
			t.Error(path, err)
		}
		if !bytes.Equal(i.Bytes(), want) || !bytes.Equal(ti.Bytes(), times) {
			t.Errorf("%s: %x and %x, want %x and %x", path, i.Bytes(), ti.Bytes(), want, times)
		}
		files++
		entries += len(want)/8 + len(times)/12
		return nil
	})
	if err != nil || files < 50 || entries < 100 {
		t.Error(err, files, entries)
	}
	// Anything but sound batches ends it.
	log := bytes.Repeat([]byte{1}, 100)
	err = segment.WriteIndexes(t.Context(), bytes.NewReader(log), 100, 0, 0, &bytes.Buffer{}, &bytes.Buffer{})
	if _, ok := err.(*segment.Unsound); !ok {
		t.Error(err)
	}
}
