package kraft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/wire"
	"kafsck/segment"
)

// story is a log of one-record batches about partition a-0, and where each begins.
func story() (log []byte, at []int64) {
	steps := [][]byte{
		topicRecord("a", topicA),                                    // 0
		partitionRecord(topicA, 0, 1, 0, 0, ints(1, 2), ints(1, 2)), // 1
		leaderChange(topicA, 0, 2, ints(1, 2)),                      // 2
		noOp,                                                        // 3
		leaderChange(topicA, 0, 1, ints(1)),                         // 4
		noOp,                                                        // 5
		leaderChange(topicA, 0, 2, ints(2)),                         // 6: unclean
	}
	for i, s := range steps {
		at = append(at, int64(len(log)))
		log = append(log, batchOf(int64(i), 1, 0, s)...)
	}
	return log, append(at, int64(len(log)))
}

func oneFile(b []byte) Input {
	return Input{Logs: []File{file("00000000000000000000.log", b)}}
}

// stateSnapshot is a snapshot of the story as it was after offset 4.
var stateSnapshot = snapshotOf(
	topicRecord("a", topicA),
	partitionRecord(topicA, 0, 1, 2, 2, ints(1, 2), ints(1)),
)

func withSnapshot(in Input, end int64, b []byte) Input {
	in.Snapshots = append(in.Snapshots, file(fmt.Sprintf("%020d-%010d.checkpoint", end, 1), b))
	return in
}

func where(l *Log) []string {
	var out []string
	for _, d := range l.Damaged {
		out = append(out, fmt.Sprintf("%s %d %d", strings.TrimLeft(d.File, "0"), d.Pos, d.Offset))
	}
	return out
}

func want[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got\n%s", what, d)
	}
}

func TestDamagedBatch(t *testing.T) {
	b, at := story()
	b[at[4]+70] ^= 1 // in the record of offset 4
	l := read(t, oneFile(b))
	want(t, "damaged", []string{fmt.Sprintf(".log %d 4", at[4])}, where(l))
	want(t, "gaps", []Gap{{4, 5}}, l.Gaps)
	want(t, "end", 7, l.EndOffset)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 2 epoch 1/1 isr [1 2] written",
		// One election was lost: the epoch is told, but not for certain, and nothing is
		// said about the previous ISR.
		"6: leader 2 epoch 2/2 isr [2] written uncertain",
	)

	// A later snapshot settles it.
	l = read(t, withSnapshot(oneFile(b), 6, stateSnapshot))
	want(t, "snapshots", []Snapshot{{Name: "00000000000000000006-0000000001.checkpoint", EndOffset: 6, Epoch: 1, TimeMs: epochMs + 77, Complete: true, Used: true}}, l.Snapshots)
	want(t, "snapshot that replay began with", "", l.SnapshotName)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 2 epoch 1/1 isr [1 2] written",
		"5: leader 1 epoch 2/2 isr [1] snapshot written",
		"6: leader 2 epoch 3/3 isr [2] written unclean",
	)
	if c := l.Partitions[PartitionID{topicA, 0}].Changes[2]; c.TimeMs != epochMs+77 {
		t.Errorf("time of the change from the snapshot: %d", c.TimeMs)
	}
}

// The last batch damaged: the log ends before it.
func TestDamagedLastBatch(t *testing.T) {
	b, at := story()
	b[at[6]+70] ^= 1
	l := read(t, oneFile(b))
	want(t, "damaged", 1, len(l.Damaged))
	want(t, "end", 6, l.EndOffset)
	want(t, "torn", false, l.TornTail)
	// and the last but one: the last speaks for itself
	b, at = story()
	b[at[5]+70] ^= 1
	l = read(t, oneFile(b))
	want(t, "end", 7, l.EndOffset)
}

func TestTornTail(t *testing.T) {
	b, at := story()
	for _, tail := range [][]byte{b[:at[7]-1], b[:at[6]+70], b[:at[6]+5], append(slices.Clone(b[:at[6]]), make([]byte, 4096)...)} {
		l := read(t, oneFile(tail))
		sound(t, l)
		if l.EndOffset != 6 || !l.TornTail {
			t.Errorf("%d bytes: end %d, torn %v", len(tail), l.EndOffset, l.TornTail)
		}
	}
	// but only in the last segment
	l := read(t, Input{Logs: []File{
		file("00000000000000000000.log", b[:at[3]-1]),
		file("00000000000000000003.log", b[at[3]:]),
	}})
	want(t, "damaged", 1, len(l.Damaged))
	want(t, "torn", false, l.TornTail)
	want(t, "gaps", []Gap{{2, 3}}, l.Gaps)
}

// Base offset and leader epoch are outside the CRC.
func TestFlippedHeaderFields(t *testing.T) {
	for i := range 7 {
		for _, offset := range []int64{1 << 40, 1, 0, -5} {
			if offset == int64(i) {
				continue
			}
			b, at := story()
			binary.BigEndian.PutUint64(b[at[i]:], uint64(offset))
			l := read(t, oneFile(b))
			end := int64(7)
			if i == 6 {
				end = 6
			}
			if l.EndOffset != end || len(l.Damaged) == 0 {
				t.Errorf("base offset of batch %d set to %d: end %d, damaged %v", i, offset, l.EndOffset, l.Damaged)
			}
		}
	}
	b, at := story()
	b[at[2]+12] ^= 0x40
	l := read(t, oneFile(b))
	want(t, "damaged", []string{fmt.Sprintf(".log %d 2", at[2])}, where(l))
	want(t, "raft epoch of the change", 1, l.Partitions[PartitionID{topicA, 0}].Changes[1].RaftEpoch)
	want(t, "raft epoch", 1, l.RaftEpoch)
}

func TestMissingSegment(t *testing.T) {
	b, at := story()
	in := Input{Logs: []File{
		file("00000000000000000000.log", b[:at[2]]),
		file("00000000000000000004.log", b[at[4]:]),
	}}
	l := read(t, in)
	want(t, "gaps", []Gap{{2, 4}}, l.Gaps)
	want(t, "damaged", 0, len(l.Damaged))
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"4: leader 1 epoch 1/1 isr [1] written uncertain",
		"6: leader 2 epoch 2/2 isr [2] written uncertain",
	)
	// A snapshot within the gap is a better start, though not a certain one.
	l = read(t, withSnapshot(in, 3, snapshotOf(topicRecord("a", topicA), partitionRecord(topicA, 0, 2, 1, 1, ints(1, 2), ints(1, 2)))))
	want(t, "gaps", []Gap{{2, 3}, {3, 4}}, l.Gaps)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 2 epoch 1/1 isr [1 2] snapshot written",
		"4: leader 1 epoch 2/2 isr [1] written uncertain",
		"6: leader 2 epoch 3/3 isr [2] written uncertain",
	)
}

// The log begins after offset 0: the snapshot at or behind its start is the base.
func TestStartFromSnapshot(t *testing.T) {
	b, at := story()
	later := Input{Logs: []File{file("00000000000000000004.log", b[at[4]:])}}
	for _, c := range []struct {
		name  string
		in    Input
		name2 string
		want  []string
	}{
		{"behind the start", withSnapshot(later, 5, stateSnapshot), "00000000000000000005-0000000001.checkpoint", []string{
			"4: leader 1 epoch 2/2 isr [1] snapshot written",
			"6: leader 2 epoch 3/3 isr [2] written unclean",
		}},
		{"none", later, "", nil},
		{"incomplete", withSnapshot(later, 5, stateSnapshot[:len(stateSnapshot)-1]), "", nil},
		{"the older of two", withSnapshot(withSnapshot(later, 7, snapshotOf()), 5, stateSnapshot), "00000000000000000005-0000000001.checkpoint", []string{
			"4: leader 1 epoch 2/2 isr [1] snapshot written",
			"6: leader 2 epoch 3/3 isr [2] written unclean",
		}},
		{"snapshot alone", withSnapshot(Input{}, 5, stateSnapshot), "00000000000000000005-0000000001.checkpoint", []string{
			"4: leader 1 epoch 2/2 isr [1] snapshot written",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := read(t, c.in)
			want(t, "snapshot", c.name2, l.SnapshotName)
			wantChanges(t, l, topicA, c.want...)
			if (len(l.Damaged) > 0) != (c.name == "incomplete") {
				t.Errorf("damaged %v", l.Damaged)
			}
			start, end := int64(4), int64(7)
			if len(c.in.Logs) == 0 {
				start, end = 5, 5
			}
			if l.StartOffset != start || l.EndOffset != end {
				t.Errorf("from %d to %d", l.StartOffset, l.EndOffset)
			}
		})
	}
}

// A follower that fetched a snapshot has an empty segment behind it.
func TestEmptySegmentBehindSnapshot(t *testing.T) {
	l := read(t, withSnapshot(Input{Logs: []File{file("00000000000000000005.log", nil)}}, 5, stateSnapshot))
	sound(t, l)
	if l.StartOffset != 5 || l.EndOffset != 5 || l.RaftEpoch != 1 || l.EndTimeMs != epochMs+77 {
		t.Errorf("from %d to %d, raft epoch %d, time %d", l.StartOffset, l.EndOffset, l.RaftEpoch, l.EndTimeMs)
	}
	l = read(t, Input{})
	if l.StartOffset != -1 || l.EndOffset != -1 || l.RaftEpoch != -1 || l.EndTimeMs != -1 || l.SnapshotEnd != -1 {
		t.Errorf("nothing given: %+v", l)
	}
}

func TestSegmentsSetAside(t *testing.T) {
	b, at := story()
	l := read(t, withSnapshot(Input{Logs: []File{
		file("00000000000000000000.log.deleted", b[:at[5]]), // reaches into the log
		file("00000000000000000004.log", b[at[4]:]),
		file("00000000000000000006.log.deleted", b[at[6]:]),
	}}, 4, snapshotOf(topicRecord("a", topicA), partitionRecord(topicA, 0, 2, 1, 1, ints(1, 2), ints(1, 2)))))
	sound(t, l)
	want(t, "start", 4, l.StartOffset)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 2 epoch 1/1 isr [1 2] written",
		"4: leader 1 epoch 2/2 isr [1] written",
		"6: leader 2 epoch 3/3 isr [2] written unclean",
	)
}

func TestUnusableRecords(t *testing.T) {
	l := oneLog(t,
		records(topicRecord("a", topicA), []byte{1, 2, 0, 200}, []byte{0, 2, 0}),
		records(partitionRecord(topicA, 0, 1, 0, 0, ints(1), ints(1))),
		records(leaderChange(topicA, 7, 1, ints(1))),
	)
	want(t, "damaged", []string{".log 0 1", ".log 0 2"}, where(l))
	want(t, "end", 5, l.EndOffset)
	wantChanges(t, l, topicA, "3: leader 1 epoch 0/0 isr [1] written")
	for _, value := range [][]byte{leaderChange(topicA, 7, 1, ints(1)), rec(keyRemoveTopic, 0, topicA[:], tags()), rec(keyClearElr, 0, str("a"), tags())} {
		l = oneLog(t, records(value))
		want(t, "damaged in a log without gaps", []string{".log 0 0"}, where(l))
	}
}

func TestNames(t *testing.T) {
	b, _ := story()
	for _, name := range []string{"0.log", "x.log", "00000000000000000000.index", "99999999999999999999.log", "00000000000000000000", "-0000000000000000001.log"} {
		l := read(t, Input{Logs: []File{file(name, b)}})
		if len(l.Damaged) != 1 || l.EndOffset != -1 {
			t.Errorf("%s: %+v", name, l.Damaged)
		}
	}
	for _, name := range []string{"00000000000000000005.checkpoint", "00000000000000000005-0000000001.checkpoint.part", "00000000000000000005-9999999999.checkpoint", "00000000000000000005-0000000001-abc.checkpoint"} {
		l := read(t, Input{Snapshots: []File{file(name, stateSnapshot)}})
		if len(l.Damaged) != 1 || len(l.Snapshots) != 0 {
			t.Errorf("%s: %+v", name, l.Damaged)
		}
	}
}

type failing struct {
	io.ReaderAt
	from int64
}

var errIO = errors.New("input/output error")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errIO
	}
	return f.ReaderAt.ReadAt(p, off)
}

// A failed read is an error, never damage; what came before it is kept.
func TestReadError(t *testing.T) {
	b, at := story()
	good := file("00000000000000000000.log", b[:at[4]])
	bad := file("00000000000000000004.log", b[at[4]:])
	bad.R = failing{bad.R, 0}
	l, err := Read(Input{Logs: []File{good, bad}})
	e, ok := errors.AsType[*segment.ReadError](err)
	if !ok || !errors.Is(err, errIO) || e.Path != bad.Name {
		t.Errorf("got %v", err)
	}
	sound(t, l)
	want(t, "end", 4, l.EndOffset)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 2 epoch 1/1 isr [1 2] written",
	)
	snapshot := file("00000000000000000004-0000000001.checkpoint", stateSnapshot)
	snapshot.R = failing{snapshot.R, 0}
	l, err = Read(Input{Logs: []File{good}, Snapshots: []File{snapshot}})
	if !errors.Is(err, errIO) || len(l.Damaged) > 0 {
		t.Errorf("snapshot: %v, damaged %v", err, l.Damaged)
	}
}

// Each single flipped byte of a real log is found, and never moves the end of the log
// except in the last batch.
func TestEveryFlippedByte(t *testing.T) {
	in := node(t, "kafka-4.3.1/stage2-clean/node-1", false)
	whole := read(t, in)
	i := len(in.Logs) - 2
	b := content(t, in.Logs[i])
	for pos := 0; pos < len(b); pos += 3 {
		b[pos] ^= 0x10
		in.Logs[i] = file(in.Logs[i].Name, b)
		l := read(t, in)
		if len(l.Damaged) == 0 || l.EndOffset != whole.EndOffset {
			t.Errorf("byte %d of %s: end %d, damaged %v", pos, in.Logs[i].Name, l.EndOffset, l.Damaged)
		}
		b[pos] ^= 0x10
	}
}

// A later snapshot or PartitionRecord hides nothing that was told before.
func TestReconcileRemoves(t *testing.T) {
	other := wire.UUID{5}
	b := logOf(
		records(topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 0, 0, ints(1), ints(1)), configRecord(2, "a", "k", new("v"))),
		records(noOp), // lost
		records(noOp),
	)
	second := int64(len(logOf(records(topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 0, 0, ints(1), ints(1)), configRecord(2, "a", "k", new("v"))))))
	b[second+65] ^= 1
	l := read(t, withSnapshot(oneFile(b), 5, snapshotOf(topicRecord("b", other), configRecord(2, "b", "k", new("w")))))
	want(t, "a", []*Topic{{ID: topicA, Name: "a", CreatedMs: epochMs, RemovedAt: 4, RemovedMs: epochMs + 77}}, l.TopicByName("a"))
	want(t, "b", []*Topic{{ID: other, Name: "b", CreatedAt: 4, CreatedMs: epochMs + 77, FromSnapshot: true, RemovedAt: -1, RemovedMs: -1}}, l.TopicByName("b"))
	if v, ok := l.Config(4, ResourceTopic, "a", "k"); ok {
		t.Errorf("a still has k=%s", v)
	}
	if v, _ := l.Config(4, ResourceTopic, "b", "k"); v != "w" {
		t.Errorf("b has k=%s", v)
	}
	wantChanges(t, l, topicA, "1: leader 1 epoch 0/0 isr [1] written")
}
