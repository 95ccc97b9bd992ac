package segment_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/segment"
)

// unpacked holds the recordings in one directory.
func unpacked(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		fixture.UnpackTo(t, name, dir)
	}
	return dir
}

// kindOfIndex is the extension that says how to decode a file, "" for others, and the base
// offset in its name.
func kindOfIndex(path string) (kind string, base int64) {
	number, rest, _ := strings.Cut(filepath.Base(path), ".")
	kind, _, _ = strings.Cut(rest, ".")
	base, err := strconv.ParseInt(number, 10, 64)
	switch kind {
	case "index", "timeindex", "txnindex", "snapshot":
		if err == nil && len(number) == 20 {
			return kind, base
		}
	}
	return "", 0
}

// indexLines decodes a file and writes its entries as kafka-dump-log does.
func indexLines(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	print := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch kind, base := kindOfIndex(path); kind {
	case "index":
		for _, e := range index(t, b, base) {
			print("offset: %d position: %d", e.Offset, e.Position)
		}
	case "timeindex":
		for _, e := range timeIndex(t, b, base) {
			print("timestamp: %d offset: %d", e.Timestamp, e.Offset)
		}
	case "txnindex":
		for _, e := range txnIndex(t, b) {
			print("version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d", e.Version, e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset)
		}
	case "snapshot":
		s := snapshot(t, b)
		if s.Problem != nil || s.TrailingBytes != 0 {
			t.Errorf("%s: %v, %d bytes behind", path, s.Problem, s.TrailingBytes)
		}
		for _, e := range s.Producers {
			open := "OptionalLong.empty"
			if e.CurrentTxnFirstOffset >= 0 {
				open = fmt.Sprintf("OptionalLong[%d]", e.CurrentTxnFirstOffset)
			}
			line := fmt.Sprintf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d", e.ProducerID, e.ProducerEpoch, e.CoordinatorEpoch, open, e.Timestamp)
			if e.HasBatch() {
				line += fmt.Sprintf(" firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d", e.FirstSequence(), e.LastSequence, e.LastOffset, e.OffsetDelta, e.Timestamp)
			}
			out = append(out, line)
		}
	default:
		t.Fatalf("%s is no index", path)
	}
	return out
}

// storedDumps are the entries that kafka-dump-log 4.3.1 printed, by path below the unpacked
// recordings. threw holds the files at which it gave up.
func storedDumps(t testing.TB, dir string) (lines map[string][]string, threw map[string]bool) {
	t.Helper()
	fixture.UnpackTo(t, "index-dumps", dir)
	lines, threw = map[string][]string{}, map[string]bool{}
	for _, name := range fixture.Names {
		b, err := os.ReadFile(filepath.Join(dir, "index-dumps", name+".txt"))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		file := ""
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSuffix(line, "\n")
			switch path, is := strings.CutPrefix(line, "Dumping "); {
			case is:
				file = filepath.Join(dir, name, path)
				lines[file] = nil
			case line == "!! exception":
				threw[file] = true
			default:
				lines[file] = append(lines[file], line)
			}
		}
	}
	return lines, threw
}

// TestIndexFilesAsKafkaDumpsThem: in every file that a broker wrote and Kafka's tool was
// asked about, both see the same entries.
func TestIndexFilesAsKafkaDumpsThem(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	dir := unpacked(t, fixture.Names...)
	dumps, threw := storedDumps(t, dir)
	files, entries := map[string]int{}, map[string]int{}
	for path, want := range dumps {
		got := indexLines(t, path)
		kind, base := kindOfIndex(path)
		files[kind]++
		entries[kind] += len(got)
		if threw[path] {
			if len(want) > len(got) {
				t.Errorf("%s: Kafka saw %q before it threw, we %q", path, want, got)
			}
			continue
		}
		if len(got) == 0 && len(want) == 1 && (want[0] == fmt.Sprintf("offset: %d position: 0", base) || want[0] == fmt.Sprintf("timestamp: 0 offset: %d", base)) {
			continue // the tool takes the first slot of a preallocated index for an entry
		}
		wantEqual(t, path, want, got)
	}
	for kind, least := range map[string]int{"index": 250, "timeindex": 250, "txnindex": 40, "snapshot": 200} {
		if files[kind] < least || entries[kind] < least {
			t.Errorf("only %d .%s files with %d entries", files[kind], kind, entries[kind])
		}
	}
	t.Log(files, entries)
}

// TestEveryIndexFileIsWhole: no broker leaves a part of an entry, an entry of zeros before
// another one, or a snapshot that it would not read.
func TestEveryIndexFileIsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	files := 0
	err := filepath.WalkDir(unpacked(t, fixture.Names...), func(path string, d fs.DirEntry, err error) error {
		kind, base := kindOfIndex(path)
		if err != nil || d.IsDir() || kind == "" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(b))
		switch kind {
		case "index":
			shape, err := segment.ShapeOfIndex(bytes.NewReader(b), size)
			if n := int64(len(index(t, b, base))); err != nil || shape.Remainder != 0 || shape.Entries != n || (shape.Entries+shape.ZeroEntries)*segment.IndexEntrySize != size {
				t.Errorf("%s: %+v, %d entries, %d bytes: %v", path, shape, n, size, err)
			}
		case "timeindex":
			shape, err := segment.ShapeOfTimeIndex(bytes.NewReader(b), size)
			if n := int64(len(timeIndex(t, b, base))); err != nil || shape.Remainder != 0 || shape.Entries != n || (shape.Entries+shape.ZeroEntries)*segment.TimeEntrySize != size {
				t.Errorf("%s: %+v, %d entries, %d bytes: %v", path, shape, n, size, err)
			}
		case "txnindex":
			if n := int64(len(txnIndex(t, b))); n*segment.TxnEntrySize != size {
				t.Errorf("%s: %d entries, %d bytes", path, n, size)
			}
		case "snapshot":
			if s := snapshot(t, b); s.Problem != nil || s.TrailingBytes != 0 || len(s.Producers) != int(s.Count) || 10+int64(s.Count)*segment.SnapshotEntrySize != size {
				t.Errorf("%s: %+v", path, s)
			}
		}
		return nil
	})
	if err != nil || files < 2000 {
		t.Errorf("%d files, %v", files, err)
	}
}
