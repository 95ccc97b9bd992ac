package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/replica"
	"kafsck/segment"
)

// logsOf are the .log files of a directory, in order, with their base offsets.
func logsOf(t testing.TB, dir string) (names []string, bases []int64) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "0*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".log"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		names, bases = append(names, name), append(bases, base)
	}
	return names, bases
}

// TestRebuiltAsBrokersWrote: the .txnindex of every sealed segment, and every .snapshot at the
// base of a segment, is what a broker wrote, where the log is there from offset 0 and was not
// compacted. The broker of one recording forgot idle producers after a few seconds: of those
// snapshots the producers that are there must be the same.
func TestRebuiltAsBrokersWrote(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"transactions", "internal-topics", "hard-crash"} {
		fixture.UnpackTo(t, name, dir)
	}
	txns, entries, snaps, exact, producers := 0, 0, 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		names, bases := logsOf(t, path)
		if len(names) == 0 || bases[0] != 0 || strings.HasPrefix(d.Name(), "__") {
			return nil
		}
		b, err := replica.NewRebuild(nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			want, err := os.ReadFile(filepath.Join(path, fmt.Sprintf("%020d.snapshot", bases[i])))
			if err == nil {
				snaps++
				if got := b.Snapshot(); bytes.Equal(got, want) {
					exact++
				} else if got = onlyOf(t, got, want); !bytes.Equal(got, want) {
					t.Errorf("%s, snapshot %d:\n%x, want\n%x", path, bases[i], got, want)
				}
				producers += (len(want) - 10) / segment.SnapshotEntrySize
			}
			log, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := b.Read(context.Background(), bytes.NewReader(log), int64(len(log)), &got); err != nil {
				if i < len(names)-1 {
					t.Errorf("%s: %v", name, err)
				}
				return nil // a torn tail
			}
			written, err := os.ReadFile(strings.TrimSuffix(name, ".log") + ".txnindex")
			if err != nil && got.Len() == 0 {
				continue
			}
			if !bytes.Equal(got.Bytes(), written) {
				t.Errorf("%s: txnindex\n%x, want\n%x", name, got.Bytes(), written)
			}
			txns++
			entries += len(written) / segment.TxnEntrySize
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(txns, "transaction indexes,", entries, "entries;", snaps, "snapshots,", exact, "to the byte,", producers, "producers")
	if entries < 10 || producers < 30 || exact < snaps*3/4 {
		t.Error("too few to tell")
	}
}

// onlyOf is a snapshot without the producers that another one does not have.
func onlyOf(t *testing.T, b, other []byte) []byte {
	t.Helper()
	read := func(b []byte) *segment.ProducerSnapshot {
		s, err := segment.ReadSnapshot(bytes.NewReader(b), int64(len(b)))
		if err != nil || s.Problem != nil {
			t.Fatal(err, s)
		}
		return s
	}
	has := map[int64]bool{}
	for _, p := range read(other).Producers {
		has[p.ProducerID] = true
	}
	var list []segment.ProducerEntry
	for _, p := range read(b).Producers {
		if has[p.ProducerID] {
			list = append(list, p)
		}
	}
	return segment.AppendSnapshot(nil, list)
}

// TestRebuildFromSnapshots: beginning with any snapshot gives what beginning with nothing
// gives.
func TestRebuildFromSnapshots(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "transactions"), "stage3-resolved-clean", "broker-2", "tx-orders-0")
	names, bases := logsOf(t, dir)
	build := func(from int, snap []byte, to int64) []byte {
		var s *segment.ProducerSnapshot
		if snap != nil {
			s, _ = segment.ReadSnapshot(bytes.NewReader(snap), int64(len(snap)))
		}
		b, err := replica.NewRebuild(s, bases[from])
		if err != nil {
			t.Fatal(err)
		}
		b.To = to
		for _, name := range names[max(from-1, 0):] { // one too many: its batches are in the snapshot
			log, err := os.ReadFile(name)
			if err == nil {
				err = b.Read(context.Background(), bytes.NewReader(log), int64(len(log)), nil)
			}
			if err != nil {
				t.Fatal(name, err)
			}
		}
		return b.Snapshot()
	}
	n := 0
	for to := range len(bases) {
		whole := build(0, nil, bases[to])
		for from := 1; from <= to; from++ {
			if got := build(from, build(0, nil, bases[from]), bases[to]); !bytes.Equal(got, whole) {
				t.Errorf("%d from %d: %x, want %x", bases[to], bases[from], got, whole)
			}
			n++
		}
	}
	if n < 20 {
		t.Error("only", n)
	}
}
