package conformance

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/segment"
)

// indexName matches the files beside a .log that kafka-dump-log reads.
var indexName = regexp.MustCompile(`^([0-9]{20})\.(index|timeindex|txnindex|snapshot)$`)

// indexFiles are those of the recordings in this repository, and of the full set when it is
// laid beside the clone; each content with its .log once, because the tool looks there too.
func indexFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range fixture.Names {
		fixture.UnpackTo(t, name, dir)
	}
	var paths []string
	seen := map[[2 * sha256.Size]byte]bool{}
	for _, root := range []string{dir, "../../shared/fixtures"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !indexName.MatchString(d.Name()) {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			log, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".log")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			content, beside := sha256.Sum256(b), sha256.Sum256(log)
			if sum := [2 * sha256.Size]byte(append(content[:], beside[:]...)); !seen[sum] {
				seen[sum] = true
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil && !(root != dir && errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
	}
	return paths
}

// indexLines are the entries of a file as kafka-dump-log should print them, and why it should
// not read them all.
func indexLines(t *testing.T, path string) (lines []string, problem string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m := indexName.FindStringSubmatch(filepath.Base(path))
	base, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	add := func(err error, format string, args ...any) {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		lines = append(lines, fmt.Sprintf(format, args...))
	}
	switch size := stat.Size(); m[2] {
	case "index":
		for e, err := range segment.ScanIndex(f, size, base) {
			add(err, "offset: %d position: %d", e.Offset, e.Position)
		}
	case "timeindex":
		for e, err := range segment.ScanTimeIndex(f, size, base) {
			add(err, "timestamp: %d offset: %d", e.Timestamp, e.Offset)
		}
	case "txnindex":
		for e, err := range segment.ScanTxnIndex(f, size) {
			if e.Refused() {
				return lines, "version"
			}
			add(err, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d", e.Version, e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset)
		}
	case "snapshot":
		s, err := segment.ReadSnapshot(f, size)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if s.Problem != nil {
			return nil, s.Problem.Kind
		}
		for _, e := range s.Producers {
			open := "OptionalLong.empty"
			if e.CurrentTxnFirstOffset >= 0 {
				open = fmt.Sprintf("OptionalLong[%d]", e.CurrentTxnFirstOffset)
			}
			batch := ""
			if e.HasBatch() {
				batch = fmt.Sprintf(" firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d", e.FirstSequence(), e.LastSequence, e.LastOffset, e.OffsetDelta, e.Timestamp)
			}
			add(nil, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d%s", e.ProducerID, e.ProducerEpoch, e.CoordinatorEpoch, open, e.Timestamp, batch)
		}
	}
	return lines, ""
}

// entryLine matches what the tool prints for an entry; the rest are its complaints.
var entryLine = regexp.MustCompile(`^(offset: -?[0-9]+ position|timestamp: -?[0-9]+ offset|version|producerId): `)

// TestDumpIndexes compares each entry that kafka-dump-log prints with ours, in both directions,
// over every index file and producer snapshot at hand.
func TestDumpIndexes(t *testing.T) {
	tool := kafkaDumpLog(t)
	files, entries, falsely := map[string]int{}, map[string]int{}, 0
	for _, path := range indexFiles(t) {
		want, problem := indexLines(t, path)
		out := tool.run(t, "--files", path)
		lines := strings.Split(strings.TrimSuffix(out.stdout, "\n"), "\n")
		if lines[0] != "Dumping "+path {
			t.Fatalf("%s: first line %q (threw %q)", path, lines[0], out.threw)
		}
		var got []string
		for _, line := range lines[1:] {
			if entryLine.MatchString(line) {
				got = append(got, line)
			}
		}
		kind := filepath.Ext(path)
		files[kind]++
		entries[kind] += len(got)
		zero := fmt.Sprintf("offset: %s position: 0", baseOf(path))
		if kind == ".timeindex" {
			zero = "timestamp: 0 offset: " + baseOf(path)
		}
		switch {
		case problem != "":
			if len(got) > len(want) {
				t.Errorf("%s: a bad file (%s) of which Kafka prints %q", path, problem, got)
			}
		case len(want) == 0 && slices.Equal(got, []string{zero}):
			falsely++ // it takes the first slot of a preallocated file for an entry
		case out.threw != "":
			// It looks each entry up in the .log, and throws at one that points beyond it.
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Errorf("%s: it threw %q\nKafka:  %q\nkafsck: %q", path, out.threw, got, want)
			}
		case !slices.Equal(got, want):
			t.Errorf("%s:\nKafka:  %q\nkafsck: %q\n%q", path, got, want, out)
		}
	}
	t.Logf("files %v, entries %v; %d preallocated files without entries", files, entries, falsely)
	for _, kind := range []string{".index", ".timeindex", ".txnindex", ".snapshot"} {
		if files[kind] == 0 || entries[kind] == 0 {
			t.Errorf("nothing was compared for %s", kind)
		}
	}
}

func baseOf(path string) string {
	base := strings.TrimLeft(filepath.Base(path)[:20], "0")
	if base == "" {
		return "0"
	}
	return base
}
