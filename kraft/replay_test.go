package kraft

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kafsck/internal/wire"
)

func oneLog(t testing.TB, batches ...[][]byte) *Log {
	t.Helper()
	return read(t, Input{Logs: []File{file("00000000000000000000.log", logOf(batches...))}})
}

func changes(l *Log, id wire.UUID, partition int32) []string {
	var out []string
	p := l.Partitions[PartitionID{id, partition}]
	if p == nil {
		return nil
	}
	for _, c := range p.Changes {
		s := fmt.Sprintf("%d: leader %d epoch %d/%d isr %v", c.Offset, c.Leader, c.LeaderEpoch, c.PartitionEpoch, c.ISR)
		for _, flag := range []struct {
			set  bool
			name string
		}{{c.FromSnapshot, "snapshot"}, {c.LeaderWritten, "written"}, {c.Unclean, "unclean"}, {c.Uncertain, "uncertain"}, {c.Recovering, "recovering"}} {
			if flag.set {
				s += " " + flag.name
			}
		}
		out = append(out, s)
	}
	return out
}

func wantChanges(t testing.TB, l *Log, id wire.UUID, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, changes(l, id, 0)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// PartitionRegistration.merge: the partition epoch grows with every record, the leader
// epoch whenever a leader is written, even the same one or none.
func TestMerge(t *testing.T) {
	isrOnly := rec(keyPartitionChange, 0, int32be(0), topicA[:], tags(tag(0, ints(1))))
	recover1 := rec(keyPartitionChange, 0, int32be(0), topicA[:], tags(tag(0, ints(2)), tag(1, int32be(2)), tag(5, []byte{1})))
	recovered := rec(keyPartitionChange, 0, int32be(0), topicA[:], tags(tag(5, []byte{0})))
	l := oneLog(t,
		records(topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 0, 0, ints(1, 2), ints(1, 2))),
		records(isrOnly),
		records(leaderChange(topicA, 0, 1, ints(1))),
		records(leaderChange(topicA, 0, -1, ints(1))),
		records(recover1),
		records(recovered),
	)
	sound(t, l)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1 2] written",
		"2: leader 1 epoch 0/1 isr [1]",
		"3: leader 1 epoch 1/2 isr [1] written",
		"4: leader -1 epoch 2/3 isr [1] written",
		"5: leader 2 epoch 3/4 isr [2] written unclean recovering",
		"6: leader 2 epoch 3/5 isr [2]",
	)
	var prev []int32
	for _, c := range l.Partitions[PartitionID{topicA, 0}].Changes {
		prev = append(prev, c.PrevLeader)
	}
	if d := cmp.Diff([]int32{-2, 1, 1, 1, 1, 2}, prev); d != "" {
		t.Errorf("previous leaders: -want +got\n%s", d)
	}
	c := l.Partitions[PartitionID{topicA, 0}].Changes[4]
	if c.TimeMs != epochMs+5 || c.RaftEpoch != 1 {
		t.Errorf("time %d, raft epoch %d", c.TimeMs, c.RaftEpoch)
	}
}

func TestELR(t *testing.T) {
	elr := rec(keyPartitionChange, 2, int32be(0), topicA[:], tags(tag(0, ints()), tag(1, int32be(-1)), tag(6, ints(2)), tag(7, ints(1))))
	elected := rec(keyPartitionChange, 2, int32be(0), topicA[:], tags(tag(0, ints(2)), tag(1, int32be(2)), tag(6, ints())))
	clearAll := rec(keyClearElr, 0, str(""), tags())
	l := oneLog(t, records(
		topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 0, 0, ints(1, 2), ints(1)),
		elr, elected, clearAll, rec(keyClearElr, 0, str("a"), tags()),
	))
	sound(t, l)
	wantChanges(t, l, topicA,
		"1: leader 1 epoch 0/0 isr [1] written",
		"2: leader -1 epoch 1/1 isr [] written",
		"3: leader 2 epoch 2/2 isr [2] written", // from the ELR: clean
		"4: leader 2 epoch 2/2 isr [2]",         // the second ClearElrRecord finds nothing
	)
	got := l.Partitions[PartitionID{topicA, 0}].Changes
	if len(got[2].LastKnownELR) != 1 || len(got[3].LastKnownELR) != 0 {
		t.Errorf("last known ELR %v, then %v", got[2].LastKnownELR, got[3].LastKnownELR)
	}
}

func TestTransactions(t *testing.T) {
	var b wire.UUID
	b[0] = 7
	l := oneLog(t,
		records(begin, topicRecord("aborted", b)),
		records(configRecord(2, "aborted", "x", new("1")), abort),
		records(begin, topicRecord("a", topicA)),
		records(partitionRecord(topicA, 0, 1, 0, 0, ints(1), ints(1))), // spans batches
		records(end, noOp),
		records(noOp, begin, leaderChange(topicA, 0, 2, ints(2))), // never ends
	)
	sound(t, l)
	if l.Topics[b] != nil || len(l.Configs) != 0 {
		t.Errorf("aborted records were applied: %v %v", l.Topics, l.Configs)
	}
	wantChanges(t, l, topicA, "6: leader 1 epoch 0/0 isr [1] written")
	if l.OpenTransaction != 10 || l.Counts[keyPartitionChange] != 1 {
		t.Errorf("open transaction at %d, counts %v", l.OpenTransaction, l.Counts)
	}

	l = oneLog(t, records(end), records(begin), records(begin), records(end))
	if len(l.Damaged) != 2 || l.OpenTransaction != -1 {
		t.Errorf("damaged %v", l.Damaged)
	}
}

func TestConfig(t *testing.T) {
	l := oneLog(t, records(
		configRecord(4, "", "min.insync.replicas", new("1")),
		topicRecord("a", topicA),
		configRecord(2, "a", "min.insync.replicas", new("2")),
		configRecord(4, "3", "min.insync.replicas", new("3")),
		configRecord(2, "a", "min.insync.replicas", nil),
		configRecord(2, "a", "cleanup.policy", new("compact")),
		rec(keyRemoveTopic, 0, topicA[:], tags()),
	))
	sound(t, l)
	for _, c := range []struct {
		at     int64
		leader int32
		n      int
		source string
	}{
		{-1, 1, 0, ""},
		{0, 1, 1, "cluster default"},
		{2, 1, 2, "topic config"},
		{3, 3, 2, "topic config"},
		{4, 1, 1, "cluster default"},
		{4, 3, 3, "broker 3 config"},
		{math.MaxInt64, 3, 3, "broker 3 config"},
	} {
		n, source, ok := l.MinISR(c.at, "a", c.leader)
		if n != c.n || source != c.source || ok != (c.source != "") {
			t.Errorf("at %d, leader %d: %d, %q, %v", c.at, c.leader, n, source, ok)
		}
	}
	if v, ok := l.Config(5, ResourceTopic, "a", "cleanup.policy"); v != "compact" || !ok {
		t.Errorf("cleanup.policy %q, %v", v, ok)
	}
	if v, ok := l.Config(6, ResourceTopic, "a", "cleanup.policy"); ok {
		t.Errorf("the removed topic still has cleanup.policy %q", v)
	}
}

func TestTopicIncarnations(t *testing.T) {
	second := topicA
	second[0] = 99
	l := oneLog(t, records(
		topicRecord("a", topicA), partitionRecord(topicA, 0, 1, 5, 5, ints(1), ints(1)),
		rec(keyRemoveTopic, 0, topicA[:], tags()),
		topicRecord("a", second), partitionRecord(second, 0, 1, 0, 0, ints(1), ints(1)),
	))
	sound(t, l)
	got := l.TopicByName("a")
	want := []*Topic{
		{ID: topicA, Name: "a", CreatedAt: 0, CreatedMs: epochMs, RemovedAt: 2, RemovedMs: epochMs},
		{ID: second, Name: "a", CreatedAt: 3, CreatedMs: epochMs, RemovedAt: -1, RemovedMs: -1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	wantChanges(t, l, topicA, "1: leader 1 epoch 5/5 isr [1] written")
	wantChanges(t, l, second, "4: leader 1 epoch 0/0 isr [1] written")
}

func TestBrokers(t *testing.T) {
	var incarnation wire.UUID
	incarnation[3] = 5
	i64 := func(n byte) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, n} }
	register := func(epoch byte) []byte {
		return rec(keyRegisterBroker, 1, int32be(1), incarnation[:], i64(epoch), []byte{1}, []byte{1}, []byte{0}, []byte{1}, []byte{0}, tags())
	}
	change := func(epoch byte, fields ...[]byte) []byte {
		return rec(keyBrokerRegistrationChange, 1, int32be(1), i64(epoch), tags(fields...))
	}
	l := oneLog(t, records(
		register(0),
		rec(keyUnfenceBroker, 0, int32be(1), i64(0), tags()),
		change(0, tag(1, []byte{1})),
		change(0, tag(0, []byte{1})),
		rec(keyUnregisterBroker, 0, int32be(1), i64(0), tags()),
		register(5),
		change(5, tag(0, []byte{0xff})),
	))
	sound(t, l)
	type event struct {
		Offset          int64
		Kind            string
		Epoch           int64
		Fenced, Leaving bool
	}
	var got []event
	for _, e := range l.Brokers[1].Events {
		if e.IncarnationID != incarnation {
			t.Errorf("incarnation %v", e.IncarnationID)
		}
		got = append(got, event{e.Offset, e.Kind.String(), e.BrokerEpoch, e.Fenced, e.InControlledShutdown})
	}
	want := []event{
		{0, "registered", 0, true, false},
		{1, "unfenced", 0, false, false},
		{2, "controlled-shutdown", 0, false, true},
		{3, "fenced", 0, true, true},
		{4, "unregistered", 0, true, true},
		{5, "registered", 5, true, false},
		{6, "unfenced", 5, false, false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	l = oneLog(t, records(register(0), change(3, tag(0, []byte{1}))))
	if len(l.Damaged) != 1 || len(l.Brokers[1].Events) != 1 {
		t.Errorf("a record of another broker epoch: %v", l.Damaged)
	}
}

func TestQuorum(t *testing.T) {
	// kafka-format.md §13.5, leader_change: offset 7, raft epoch 3, leader 1, voters 1 and 2
	b := unhex(t, "0000000000000007000000540000000302725319f00020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000001440000"+
		"0008000000023000000000000103000000010000000002000200000001000000")
	l := read(t, Input{Logs: []File{file("00000000000000000007.log", b)}})
	if len(l.Damaged) > 0 {
		t.Errorf("damaged %v", l.Damaged)
	}
	want := []RaftLeader{{Offset: 7, TimeMs: 0x18bcfe56800, RaftEpoch: 3, LeaderID: 1, Voters: []Voter{{ID: 1}, {ID: 2}}}}
	if d := cmp.Diff(want, l.Leaders, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if l.StartOffset != 7 || l.EndOffset != 8 || l.RaftEpoch != 3 || len(l.Voters) != 2 {
		t.Errorf("log from %d to %d, raft epoch %d, voters %v", l.StartOffset, l.EndOffset, l.RaftEpoch, l.Voters)
	}
}

// The record that completes a reassignment may name a leader that was not in the ISR: the
// old leader has just reported it in sync (recording metadata, kafka-4.3.1, offset 133).
// The same leader without a reassignment, or marked RECOVERING, is elected uncleanly.
func TestReassignmentCompletes(t *testing.T) {
	reassign := rec(keyPartitionChange, 0, int32be(0), topicA[:], tags(tag(2, ints(1, 2)), tag(3, ints(2)), tag(4, ints(1))))
	complete := func(recovery ...[]byte) []byte {
		fields := [][]byte{tag(0, ints(1)), tag(1, int32be(1)), tag(2, ints(1)), tag(3, ints()), tag(4, ints())}
		return rec(keyPartitionChange, 0, int32be(0), topicA[:], tags(append(fields, recovery...)...))
	}
	for _, c := range []struct {
		name    string
		records [][]byte
		unclean bool
	}{
		{"completed", records(reassign, complete()), false},
		{"marked", records(reassign, complete(tag(5, []byte{1}))), true},
		{"no reassignment", records(leaderChange(topicA, 0, 1, ints(1))), true},
	} {
		l := oneLog(t, append(records(topicRecord("a", topicA), partitionRecord(topicA, 0, 2, 0, 0, ints(2), ints(2))), c.records...))
		sound(t, l)
		all := l.Partitions[PartitionID{topicA, 0}].Changes
		if last := all[len(all)-1]; last.Leader != 1 || last.Unclean != c.unclean {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}
