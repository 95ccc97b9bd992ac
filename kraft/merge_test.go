package kraft

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func merge(t testing.TB, copies ...Input) *Merged {
	t.Helper()
	m, err := Merge(copies)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Of one copy, Merge says what Read does.
func TestMergeOfOne(t *testing.T) {
	ignore := cmp.Options{cmpopts.IgnoreUnexported(Log{}), cmpopts.IgnoreFields(Log{}, "StartOffset", "Damaged", "Bytes", "TornTail"), cmpopts.EquateEmpty()}
	for _, dir := range nodes(t) {
		for _, old := range []bool{false, true} {
			in := node(t, dir, old)
			alone, m := read(t, in), merge(t, in)
			if d := cmp.Diff(alone, m.Log, ignore); d != "" {
				t.Errorf("%s: -Read +Merge\n%s", dir, d)
			}
			if l := m.Copies[0]; l.ForkAt != -1 || l.To != alone.EndOffset || l.Adds != alone.Batches {
				t.Errorf("%s: %+v", dir, l)
			}
		}
	}
}

// TestMergeRecorded merges the copies of both nodes of a cluster and compares with the
// state that each copy ends in by Kafka's own dump (testdata/expected.json), in either
// order of the copies.
func TestMergeRecorded(t *testing.T) {
	var want struct {
		Runs map[string]map[string]map[string]struct {
			Start, End int64
			Partitions map[string]expectedPartition
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	merged := 0
	for run, stages := range want.Runs {
		for stage, names := range stages {
			var dirs []string
			newest, lowest := "", int64(1<<62)
			for name, n := range names {
				dirs = append(dirs, name)
				if newest == "" || n.End > names[newest].End {
					newest = name
				}
				lowest = min(lowest, n.Start)
			}
			if len(dirs) < 2 {
				continue
			}
			merged++
			for _, order := range [][]string{dirs, {dirs[1], dirs[0]}} {
				var copies []Input
				for _, d := range order {
					copies = append(copies, node(t, run+"/"+stage+"/"+d, false))
				}
				m := merge(t, copies...)
				sound(t, m.Log)
				if m.Log.StartOffset != lowest || m.Log.EndOffset != names[newest].End {
					t.Errorf("%s: from %d to %d", run, m.Log.StartOffset, m.Log.EndOffset)
				}
				for i, d := range order {
					l := m.Copies[i]
					if l.ForkAt != -1 || !l.Agreed || l.To != names[d].End {
						t.Errorf("%s %s: %+v", run, d, l)
					}
					// The state as it was where this copy ends, and where the newest does.
					if d := cmp.Diff(names[d].Partitions, expectedAt(m.Log, names[d].End-1), cmpopts.EquateEmpty()); d != "" {
						t.Errorf("%s: -want +got\n%s", run, d)
					}
				}
			}
		}
	}
	if merged < 3 {
		t.Errorf("only %d merges", merged)
	}
}

func expectedAt(l *Log, at int64) map[string]expectedPartition {
	out := map[string]expectedPartition{}
	for id, p := range l.Partitions {
		topic := l.Topics[id.Topic]
		if topic.RemovedAt >= 0 && topic.RemovedAt <= at {
			continue
		}
		for _, c := range p.Changes {
			if c.Offset > at {
				break
			}
			recovery := 0
			if c.Recovering {
				recovery = 1
			}
			out[fmt.Sprintf("%s-%d", topic.Name, id.Partition)] = expectedPartition{c.Leader, c.LeaderEpoch, c.ISR, c.ELR, c.LastKnownELR, recovery, c.Replicas}
		}
	}
	return out
}

// part is the story's log from one step on, up to another.
func part(from, to int) Input {
	b, at := story()
	return Input{Logs: []File{file(digits(int64(from))+".log", b[at[from]:at[to]])}}
}

func TestMergeExtends(t *testing.T) {
	whole, at := story()
	want7 := changes(read(t, oneFile(whole)), topicA, 0)

	// The newest begins behind a snapshot; an older copy still has what was before it.
	newest := withSnapshot(part(5, 7), 5, stateSnapshot)
	m := merge(t, newest, part(0, 6))
	sound(t, m.Log)
	want(t, "changes", want7, changes(m.Log, topicA, 0))
	want(t, "adds", []int{2, 5}, []int{m.Copies[0].Adds, m.Copies[1].Adds})
	want(t, "snapshot", int64(-1), m.Log.SnapshotEnd)

	// A batch damaged in one copy is whole in the other.
	bad := append([]byte(nil), whole...)
	bad[at[4]+70] ^= 1
	m = merge(t, oneFile(bad), part(0, 6))
	sound(t, m.Log)
	want(t, "changes", want7, changes(m.Log, topicA, 0))

	// Damaged in both.
	bad2 := append([]byte(nil), whole...)
	bad2[at[4]+75] ^= 1
	m = merge(t, oneFile(bad), oneFile(bad2))
	want(t, "gaps", []Gap{{4, 5}}, m.Log.Gaps)

	// Nothing in common: what lies between is missing, and the snapshot settles the rest.
	m = merge(t, newest, part(0, 3))
	want(t, "gaps", []Gap{{3, 5}}, m.Log.Gaps)
	if l := m.Copies[1]; l.Agreed || l.ForkAt != -1 || l.To != 3 {
		t.Errorf("%+v", l)
	}

	// No batch at all.
	m = merge(t, Input{}, Input{})
	want(t, "end", int64(-1), m.Log.EndOffset)
}

// The epoch field is outside the CRC: one flipped in it makes no fork.
func TestMergeFlippedEpoch(t *testing.T) {
	whole, at := story()
	bad := append([]byte(nil), whole...)
	bad[at[3]+15] ^= 4
	for _, copies := range [][]Input{{oneFile(bad), oneFile(whole)}, {oneFile(whole), oneFile(bad)}} {
		m := merge(t, copies...)
		sound(t, m.Log)
		if m.Copies[0].ForkAt != -1 || m.Copies[1].ForkAt != -1 {
			t.Errorf("%+v", m.Copies)
		}
	}
}

func TestMergeFork(t *testing.T) {
	whole, at := story()
	// Another raft epoch begins at 5 in the newest copy; the older one went on in the old.
	newest := append([]byte(nil), whole[:at[5]]...)
	newest = append(newest, batchOf(5, 2, 0x20, []byte{0, 0, 0, 2}, leaderChangeValue(3))...)
	newest = append(newest, batchOf(6, 2, 0, noOp)...)
	newest = append(newest, batchOf(7, 2, 0, leaderChange(topicA, 0, 2, ints(1, 2)))...)
	m := merge(t, oneFile(newest), oneFile(whole))
	sound(t, m.Log)
	l := m.Copies[1]
	want(t, "fork", Line{From: 0, To: 7, ForkAt: 5, Agreed: true, Against: 0, RaftEpoch: 1, Other: 2}, l)
	want(t, "end", int64(8), m.Log.EndOffset)
	got := changes(m.Log, topicA, 0)
	want(t, "last", "7: leader 2 epoch 3/3 isr [1 2] written unclean", got[len(got)-1])

	// A snapshot of the line that was given up is not loaded.
	m = merge(t, oneFile(newest), withSnapshot(oneFile(whole), 7, snapshotOf(topicRecord("other", topicA))))
	sound(t, m.Log)
	want(t, "name", "a", m.Log.Topics[topicA].Name)

	// Without a common batch before the fork, what the older copy told alone is no
	// certain past of the newer one.
	m = merge(t, Input{Logs: []File{file(digits(5)+".log", newest[at[5]:])}}, oneFile(whole))
	l = m.Copies[1]
	if l.ForkAt != 5 || l.Agreed || l.Adds != 5 {
		t.Errorf("%+v", l)
	}
	got = changes(m.Log, topicA, 0)
	want(t, "last", "7: leader 2 epoch 3/3 isr [1 2] written uncertain", got[len(got)-1])

	// Batches cut differently.
	other := logOf(records(topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 0, 0, ints(1, 2), ints(1, 2))))
	for _, copies := range [][]Input{{oneFile(whole), oneFile(other)}, {oneFile(other), oneFile(whole)}} {
		m = merge(t, copies...)
		if m.Copies[0].ForkAt != -1 || m.Copies[1].ForkAt < 0 {
			t.Errorf("%+v", m.Copies)
		}
	}
}

func FuzzMerge(f *testing.F) {
	b, at := story()
	f.Add(b, b[at[4]:], stateSnapshot, int64(4), int64(5))
	f.Add(b[:at[5]], b, []byte{}, int64(0), int64(3))
	f.Add(logOf(records(begin), records(end, begin)), b, stateSnapshot, int64(0), int64(6))
	f.Fuzz(func(t *testing.T, one, two, snapshot []byte, base, end int64) {
		base, end = base&(1<<40-1), end&(1<<40-1)
		copies := []Input{oneFile(one), withSnapshot(Input{Logs: []File{file(digits(base)+".log", two)}}, end, snapshot)}
		m := merge(t, copies...)
		adds := 0
		for i, l := range m.Copies {
			adds += l.Adds
			if l.From > l.To || l.ForkAt >= 0 && (l.ForkAt < l.From || l.ForkAt >= l.To) {
				t.Errorf("copy %d: %+v", i, l)
			}
			if l.ForkAt < 0 && m.Log.EndOffset < l.To {
				t.Errorf("copy %d ends at %d, all at %d", i, l.To, m.Log.EndOffset)
			}
		}
		if adds != m.Log.Batches {
			t.Errorf("%d batches of copies, %d of all", adds, m.Log.Batches)
		}
		for _, p := range m.Log.Partitions {
			last := int64(-1)
			for _, c := range p.Changes {
				if c.Offset < last || c.Members == nil {
					t.Errorf("change %+v behind %d", c, last)
				}
				last = c.Offset
			}
		}
		// A copy beside itself changes nothing.
		same := merge(t, copies[1], copies[1])
		if same.Copies[0].ForkAt != -1 || same.Copies[1].ForkAt != -1 || same.Copies[1].Adds != 0 {
			t.Errorf("beside itself: %+v", same.Copies)
		}
	})
}

// leaderChangeValue is a LeaderChangeMessage without voters.
func leaderChangeValue(leader int32) []byte {
	return append(append([]byte{0, 0}, int32be(leader)...), 1, 1, 0)
}
