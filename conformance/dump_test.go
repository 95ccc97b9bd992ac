package conformance

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"kafsck/batch"
	"kafsck/segment"
)

// scanned is one frame as kafsck found it, with its records when they can be
// read.
type scanned struct {
	kind     segment.FrameKind
	position int64
	line     string   // the line that Kafka should print for the batch or message
	records  []string // the lines for its records
	recErr   error    // why the records end early
	damage   error
}

// scanFile reads a whole file with kafsck and proves on the way that its frames
// tile the file.
func scanFile(t *testing.T, path string) (frames []scanned, size int64) {
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
	decompressor := batch.NewDecompressor(batch.DefaultLimit)
	position := int64(0)
	for frame, err := range segment.Scan(f, stat.Size(), segment.ScanOptions{NextOffset: -1}) {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if frame.Pos != position || frame.Len <= 0 {
			t.Fatalf("%s: frame [%d, +%d) does not continue at %d", path, frame.Pos, frame.Len, position)
		}
		position += frame.Len
		frames = append(frames, describe(frame, decompressor))
	}
	if position != stat.Size() {
		t.Fatalf("%s: frames end at %d of %d", path, position, stat.Size())
	}
	return frames, stat.Size()
}

func describe(frame segment.Frame, d *batch.Decompressor) scanned {
	s := scanned{kind: frame.Kind, position: frame.Pos, damage: frame.Damage}
	switch frame.Kind {
	case segment.Batch:
		s.line = batchLine(frame.Batch, frame.Pos, !errors.Is(frame.Damage, batch.ErrCRC))
		for r, err := range frame.Batch.Records(d) {
			if err != nil {
				s.recErr = err
				break
			}
			s.records = append(s.records, recordLine(frame.Batch, r))
		}
	case segment.Legacy:
		s.line, s.records, s.recErr = legacyLines(frame, d)
	}
	return s
}

// printed is one batch or message as Kafka printed it.
type printed struct {
	line    string
	records []string
}

var invalidBytes = regexp.MustCompile(`^Found ([0-9]+) invalid bytes at the end of `)

// parseDump splits the output of kafka-dump-log for one file, and returns how
// many bytes at the end Kafka could not read (it counts them or throws; then
// -1).
func parseDump(t *testing.T, path string, out dumped) (entries []printed, rest int64) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(out.stdout, "\n"), "\n")
	if want := "Dumping " + path; lines[0] != want {
		t.Fatalf("first line %q, want %q (threw %q)", lines[0], want, out.threw)
	}
	if len(lines) < 2 || !(strings.HasPrefix(lines[1], "Log starting offset: ") || strings.HasPrefix(lines[1], "Snapshot end offset: ")) {
		t.Fatalf("%s: unexpected second line in %q (threw %q)", path, lines, out.threw)
	}
	if out.threw != "" {
		rest = -1
	}
	for _, line := range lines[2:] {
		switch m := invalidBytes.FindStringSubmatch(line); {
		case m != nil:
			if _, err := fmt.Sscan(m[1], &rest); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(line, "|"):
			e := &entries[len(entries)-1]
			e.records = append(e.records, line)
		default:
			entries = append(entries, printed{line: line})
		}
	}
	return entries, rest
}

// TestDumpBatches compares each batch that kafka-dump-log prints with the frame
// that kafsck found, in both directions, over every segment at hand.
func TestDumpBatches(t *testing.T) {
	tool := kafkaDumpLog(t)
	files, batches := 0, 0
	for _, path := range findFiles(t, segmentName) {
		frames, size := scanFile(t, path)
		entries, rest := parseDump(t, path, tool.run(t, "--files", path))
		batches += len(entries)
		files++
		if err := compare(frames, entries, rest, size, false); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Logf("%d files, %d batches", files, batches)
}

// TestDumpRecords does the same with every record.
func TestDumpRecords(t *testing.T) {
	tool := kafkaDumpLog(t)
	records := 0
	for _, path := range findFiles(t, segmentName) {
		frames, size := scanFile(t, path)
		entries, rest := parseDump(t, path, tool.run(t, "--files", path, "--deep-iteration"))
		for _, e := range entries {
			records += len(e.records)
		}
		if err := compare(frames, entries, rest, size, true); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Logf("%d records", records)
}

// compare holds what kafsck found against what Kafka printed. Kafka stops at
// the first thing that is no batch; kafsck reads on, so up to there.
func compare(frames []scanned, entries []printed, rest, size int64, deep bool) error {
	for i, f := range frames {
		inStep := f.kind == segment.Batch || f.kind == segment.Legacy
		if !inStep || errors.Is(f.damage, batch.ErrLength) {
			return compareEnd(frames[i:], entries[i:], rest, size)
		}
		threw := rest < 0
		gaveUp := threw && (f.damage != nil || i > 0 && frames[i-1].damage != nil)
		if i == len(entries) {
			if gaveUp {
				return nil // before it printed this batch, or among the records of the last
			}
			return fmt.Errorf("kafsck found at %d what Kafka did not print: %s", f.position, f.line)
		}
		if entries[i].line != f.line {
			if gaveUp && i == len(entries)-1 {
				return nil // within the line
			}
			return fmt.Errorf("at %d\nKafka:  %s\nkafsck: %s", f.position, entries[i].line, f.line)
		}
		if deep {
			if err := compareRecords(f, entries[i].records, i == len(entries)-1 && threw); err != nil {
				return fmt.Errorf("batch at %d: %w", f.position, err)
			}
		}
	}
	if len(entries) > len(frames) {
		return fmt.Errorf("Kafka printed what kafsck did not find: %s", entries[len(frames)].line)
	}
	if rest > 0 {
		return fmt.Errorf("Kafka found %d invalid bytes at the end, kafsck none", rest)
	}
	return nil
}

// compareEnd is reached at kafsck's first frame that Kafka reads otherwise: no
// batch, or one whose length is damaged.
func compareEnd(frames []scanned, more []printed, rest, size int64) error {
	found := map[string]bool{}
	for _, f := range frames {
		found[f.line] = true
	}
	for _, e := range more {
		if strings.HasSuffix(e.line, "isvalid: true") && !found[e.line] {
			return fmt.Errorf("kafsck found %s at %d and not what Kafka has after it: %s", frames[0].kind, frames[0].position, e.line)
		}
	}
	if len(more) == 0 && rest >= 0 && rest != size-frames[0].position {
		return fmt.Errorf("kafsck found %s at %d, Kafka %d invalid bytes at the end of %d", frames[0].kind, frames[0].position, rest, size)
	}
	return nil
}

func compareRecords(f scanned, lines []string, threw bool) error {
	for i, line := range lines {
		if i >= len(f.records) {
			return fmt.Errorf("Kafka read a record that kafsck did not (%v): %s", f.recErr, line)
		}
		if !sameRecord(line, f.records[i]) {
			return fmt.Errorf("record %d\nKafka:  %s\nkafsck: %s", i, line, f.records[i])
		}
	}
	if len(f.records) > len(lines) && !threw {
		return fmt.Errorf("kafsck read a record that Kafka did not: %s", f.records[len(lines)])
	}
	// Of a batch whose checksum fails kafsck says more: Kafka does not look for
	// bytes after the last record.
	if f.recErr != nil && !threw && f.damage == nil {
		return fmt.Errorf("Kafka read all records, kafsck says: %w", f.recErr)
	}
	return nil
}

// sameRecord compares a record's line. After the header keys of a control
// record other than a transaction marker Kafka prints the decoded value, which
// the tests of kraft are about.
func sameRecord(kafka, ours string) bool {
	for _, kind := range []string{" LeaderChange: ", " SnapshotHeader ", " SnapshotFooter ", " KRaftVersion ", " KRaftVoters "} {
		if before, _, found := strings.Cut(kafka, kind); found {
			return before == ours
		}
	}
	return kafka == ours
}
