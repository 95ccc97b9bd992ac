package incident_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/internaltopic"
	"kafsck/logdir"
)

// commitOf is a record of __consumer_offsets, of version 3, written from the format.
//
//	key   | 00 01 | group | topic | partition |
//	value | 00 03 | offset | leader epoch | metadata | commit timestamp |
func commitOf(group, topic string, partition int32, offset int64, epoch int32, ms int64) logtest.Record {
	be := binary.BigEndian
	str := func(b []byte, s string) []byte { return append(be.AppendUint16(b, uint16(len(s))), s...) }
	key := be.AppendUint32(str(str([]byte{0, 1}, group), topic), uint32(partition))
	value := be.AppendUint32(be.AppendUint64([]byte{0, 3}, uint64(offset)), uint32(epoch))
	value = be.AppendUint64(str(value, ""), uint64(ms))
	return logtest.Record{Timestamp: ms, Key: key, Value: value}
}

// deletion is the same with a null value.
func deletion(group, topic string, partition int32, ms int64) logtest.Record {
	r := commitOf(group, topic, partition, 0, 0, ms)
	r.Value = nil
	return r
}

// log is a sequence of batches, each with a record of its own; offsets count on.
type builtLog struct {
	next  int64
	bytes []byte
}

func (l *builtLog) add(b logtest.Batch) *builtLog {
	b.BaseOffset = l.next
	l.next = b.NextOffset()
	l.bytes = append(l.bytes, b.Encode()...)
	return l
}

func (l *builtLog) plain(r ...logtest.Record) *builtLog { return l.add(logtest.Batch{Records: r}) }

func (l *builtLog) inTxn(producer int64, r ...logtest.Record) *builtLog {
	return l.add(logtest.Batch{Records: r, Transactional: true, Producer: &logtest.Producer{ID: producer}})
}

func (l *builtLog) marker(producer int64, commit bool) *builtLog {
	return l.add(logtest.Marker{Offset: l.next, ProducerID: producer, Commit: commit, Timestamp: 1_700_000_000_000 + l.next}.Batch())
}

// built makes brokers that hold the given logs: "1/__consumer_offsets-0".
func built(t *testing.T, logs map[string][]byte) *incident.Incident {
	t.Helper()
	tree := fstest.MapFS{}
	for name, data := range logs {
		broker, dir, _ := strings.Cut(name, "/")
		cluster, id, ok := strings.Cut(broker, ":")
		if !ok {
			cluster, id = "c", broker
		}
		root := "broker-" + cluster + id + "/"
		tree[root+"meta.properties"] = &fstest.MapFile{Data: fmt.Appendf(nil, "version=1\ncluster.id=%s\nnode.id=%s\n", cluster, id)}
		tree[root+dir+"/"+logtest.LogName(0)] = &fstest.MapFile{Data: data}
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "copies", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return incident.Open(c, incident.Options{})
}

func show(list []incident.Commit) string {
	var out []string
	for _, c := range list {
		s := fmt.Sprintf("%s %s-%d %d", c.Group, c.Topic, c.Partition, c.Offset)
		if c.Deleted {
			s += " deleted"
		}
		if c.Pending {
			s += " pending"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

const t0 = 1_700_000_000_000

// TestTransactionalCommits: they count behind their COMMIT marker only, never behind an
// ABORT, and never against a later record (OffsetMetadataManager.replay).
func TestTransactionalCommits(t *testing.T) {
	c := func(offset int64) logtest.Record { return commitOf("g", "t", 0, offset, 0, t0) }
	for _, x := range []struct {
		name                        string
		log                         *builtLog
		positions, pending, commits string
	}{
		{"committed", new(builtLog).plain(c(1)).inTxn(7, c(5)).marker(7, true), "g t-0 5", "", "g t-0 1, g t-0 5"},
		{"aborted", new(builtLog).plain(c(1)).inTxn(7, c(5)).marker(7, false), "g t-0 1", "", "g t-0 1"},
		{"open", new(builtLog).plain(c(1)).inTxn(7, c(5)), "g t-0 1", "g t-0 5 pending", "g t-0 1, g t-0 5 pending"},
		{"later plain commit", new(builtLog).inTxn(7, c(5)).plain(c(3)).marker(7, true), "g t-0 3", "", "g t-0 5, g t-0 3"},
		{"tombstone while open", new(builtLog).plain(c(1)).inTxn(7, c(5)).plain(deletion("g", "t", 0, t0)).marker(7, true), "g t-0 -1 deleted", "", "g t-0 1, g t-0 5, g t-0 -1 deleted"},
		{"tombstone first", new(builtLog).plain(deletion("g", "t", 0, t0)).inTxn(7, c(5)).marker(7, true), "g t-0 5", "", "g t-0 -1 deleted, g t-0 5"},
		{"two producers", new(builtLog).inTxn(7, c(5)).inTxn(8, c(6)).marker(8, false).marker(7, true), "g t-0 5", "", "g t-0 5"},
		{"marker of another", new(builtLog).inTxn(7, c(5)).marker(8, true), "", "g t-0 5 pending", "g t-0 5 pending"},
		{"next transaction", new(builtLog).inTxn(7, c(5)).marker(7, true).inTxn(7, c(9)).marker(7, false), "g t-0 5", "", "g t-0 5"},
	} {
		g := built(t, map[string][]byte{"1/__consumer_offsets-0": x.log.bytes}).Groups(context.Background())
		if got := show(g.AllPositions()); got != x.positions {
			t.Errorf("%s: positions %q, want %q", x.name, got, x.positions)
		}
		if got := show(g.PendingCommits()); got != x.pending {
			t.Errorf("%s: pending %q, want %q", x.name, got, x.pending)
		}
		if got := show(g.Commits("t", 0)); got != x.commits {
			t.Errorf("%s: commits %q, want %q", x.name, got, x.commits)
		}
	}
}

// TestTransactionalAsOf: at a moment before its marker a commit is pending.
func TestTransactionalAsOf(t *testing.T) {
	log := new(builtLog).plain(commitOf("g", "t", 0, 1, 0, t0)).inTxn(7, commitOf("g", "t", 0, 5, 0, t0+1)).marker(7, true)
	inc := built(t, map[string][]byte{"1/__consumer_offsets-0": log.bytes})
	for _, x := range []struct {
		asOf               incident.AsOf
		positions, pending string
	}{
		{incident.AsOf{Bounded: true, Offset: 1}, "g t-0 1", ""},
		{incident.AsOf{Bounded: true, Offset: 2}, "g t-0 1", "g t-0 5 pending"},
		{incident.AsOf{Bounded: true, Offset: 3}, "g t-0 5", ""},
		{incident.AsOf{TimeMs: t0 + 1}, "g t-0 1", "g t-0 5 pending"},
		{incident.AsOf{TimeMs: t0 + 2}, "g t-0 5", ""},
	} {
		g := inc.GroupsAsOf(context.Background(), x.asOf)
		if p, q := show(g.AllPositions()), show(g.PendingCommits()); p != x.positions || q != x.pending {
			t.Errorf("%+v: positions %q, pending %q", x.asOf, p, q)
		}
	}
}

// TestCopies: every copy is evidence, each record once; the position is what the copy says
// whose word counts.
func TestCopies(t *testing.T) {
	c := func(offset int64) logtest.Record { return commitOf("g", "t", 0, offset, 0, t0+offset) }
	common := new(builtLog).plain(c(1)).plain(c(2))
	longer := &builtLog{next: common.next, bytes: slices.Clone(common.bytes)}
	longer.plain(c(8))
	newer := &builtLog{next: common.next, bytes: slices.Clone(common.bytes)}
	newer.add(logtest.Batch{Epoch: 3, Records: []logtest.Record{c(4)}})
	g := built(t, map[string][]byte{"1/__consumer_offsets-0": longer.bytes, "2/__consumer_offsets-0": newer.bytes, "3/__consumer_offsets-0": common.bytes}).Groups(context.Background())
	if got, want := show(g.AllPositions()), "g t-0 4"; got != want {
		t.Errorf("position %q, want %q", got, want)
	}
	if got, want := show(g.Commits("t", 0)), "g t-0 1, g t-0 2, g t-0 4, g t-0 8"; got != want {
		t.Errorf("commits %q, want %q", got, want)
	}
	for _, x := range g.Commits("t", 0) {
		if x.Rules != (x.Offset != 8) {
			t.Errorf("offset %d: rules %t", x.Offset, x.Rules)
		}
		if x.Offset == 8 && (x.Broker.ID != 1 || !strings.Contains(x.File, "broker-c1")) {
			t.Errorf("%+v", x)
		}
	}
	if p := g.Partitions; len(p) != 1 || p[0].From == nil || p[0].From.Broker.ID != 2 || !strings.Contains(p[0].Why, "guess") {
		t.Errorf("%+v", p[0])
	}
}

// TestClustersApart: groups of two clusters among the inputs stay apart.
func TestClustersApart(t *testing.T) {
	a := new(builtLog).plain(commitOf("g", "t", 0, 1, 0, t0))
	b := new(builtLog).plain(commitOf("g", "t", 0, 9, 0, t0))
	inc := built(t, map[string][]byte{"a:1/__consumer_offsets-0": a.bytes, "b:1/__consumer_offsets-0": b.bytes,
		"a:1/t-0": logtest.Batch{Records: logtest.Values("x", "y")}.Encode(), "b:1/t-0": logtest.Batch{Records: logtest.Values("x")}.Encode()})
	g := inc.Groups(context.Background())
	views := g.Views(incident.GroupFilter{OffsetsPartition: -1})
	for p := range inc.Logs(context.Background(), views.Wants()) {
		views.Meet(p)
	}
	var got []string
	for _, v := range views {
		for _, p := range slices.Collect(v.Positions()) {
			got = append(got, fmt.Sprintf("%s %d %s %d", v.Cluster.ID, p.Offset, p.Meeting.Kind, p.Meeting.LogEnd))
		}
	}
	if s := strings.Join(got, ", "); s != "a 1 in-log 2, b 9 beyond-log-end 1" {
		t.Errorf("%s", s)
	}
}

// TestMeetings: what a group finds, where nothing but the logs tells (a guess).
func TestMeetings(t *testing.T) {
	data := func(epochs ...int32) []byte {
		var l builtLog
		for _, e := range epochs {
			l.add(logtest.Batch{Epoch: e, Records: logtest.Values("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")})
		}
		return l.bytes
	}
	for _, x := range []struct {
		offset int64
		epoch  int32
		want   string
	}{
		{0, -1, "in-log lag 20 from -1"},
		{10, 0, "in-log lag 10 from -1"},
		{20, 2, "in-log lag 0 from -1"},
		{20, -1, "in-log lag 0 from -1"},
		{15, 0, "replaced lag 5 from 10"}, // epoch 2 begins at 10: 10–14 were others
		{15, 1, "replaced lag 5 from 10"},
		{15, 7, "in-log lag 5 from -1"}, // an epoch newer than the log's: it never was
		{30, -1, "beyond-log-end lag -1 from 20"},
		{30, 2, "beyond-log-end lag -1 from 20"},
		{30, 0, "beyond-log-end lag -1 from 10"},
	} {
		log := new(builtLog).plain(commitOf("g", "t", 0, x.offset, x.epoch, t0))
		inc := built(t, map[string][]byte{"1/__consumer_offsets-0": log.bytes, "1/t-0": data(0, 2)})
		views := inc.Groups(context.Background()).Views(incident.GroupFilter{OffsetsPartition: -1})
		for p := range inc.Logs(context.Background(), views.Wants()) {
			views.Meet(p)
		}
		m := slices.Collect(views[0].Positions())[0].Meeting
		if got := fmt.Sprintf("%s lag %d from %d", m.Kind, m.Lag, m.From); got != x.want || m.Basis != "guess" {
			t.Errorf("offset %d epoch %d: %s (%s), want %s", x.offset, x.epoch, got, m.Basis, x.want)
		}
	}
}

// TestCompressedCommits: every codec, and the wrappers of old formats with absolute and
// relative inner offsets.
func TestCompressedCommits(t *testing.T) {
	records := []logtest.Record{commitOf("g", "t", 0, 1, -1, t0), commitOf("g", "t", 1, 2, -1, t0), commitOf("h", "t", 0, 3, -1, t0)}
	check := func(name string, log []byte) {
		t.Helper()
		g := built(t, map[string][]byte{"1/__consumer_offsets-0": log}).Groups(context.Background())
		if got, want := show(g.AllPositions()), "g t-0 1, g t-1 2, h t-0 3"; got != want || len(g.Errors) > 0 {
			t.Errorf("%s: %q, want %q (%v)", name, got, want, g.Errors)
		}
		for _, c := range g.AllPositions() {
			if c.RecordOffset != c.Offset+9 {
				t.Errorf("%s: record offset %d of commit %d", name, c.RecordOffset, c.Offset)
			}
		}
	}
	for codec := logtest.None; codec <= logtest.Zstd; codec++ {
		check(fmt.Sprint("codec ", codec), logtest.Batch{BaseOffset: 10, Codec: codec, Records: records}.Encode())
	}
	for magic := int8(0); magic < 2; magic++ {
		for codec := logtest.Gzip; codec <= logtest.LZ4; codec++ {
			var inner []logtest.Message
			for i, r := range records {
				inner = append(inner, logtest.Message{Magic: magic, Offset: 10 + int64(i), Timestamp: t0, Key: r.Key, Value: r.Value})
			}
			check(fmt.Sprint("magic ", magic, " codec ", codec), logtest.Wrapper(codec, inner...).Encode())
		}
	}
}

// TestDamagedOffsets: a batch with a wrong CRC is passed over and counted, a record that
// does not decode is counted, and the rest is there.
func TestDamagedOffsets(t *testing.T) {
	var l builtLog
	l.plain(commitOf("g", "t", 0, 1, 0, t0))
	bad := len(l.bytes) + 70
	l.plain(commitOf("g", "t", 1, 2, 0, t0))
	odd := commitOf("g", "t", 2, 2, 0, t0)
	odd.Value[1] = 9 // a version of a later release
	l.plain(odd)
	later := commitOf("x", "t", 0, 2, 0, t0)
	later.Key[1] = 77
	l.plain(later)
	l.plain(commitOf("g", "t", 3, 4, 0, t0))
	l.bytes[bad] ^= 1
	g := built(t, map[string][]byte{"1/__consumer_offsets-0": l.bytes}).Groups(context.Background())
	if got, want := show(g.AllPositions()), "g t-0 1, g t-3 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p := g.Partitions[0].From; p.Skipped != 1 || !strings.HasSuffix(p.SkippedAt, logtest.LogName(0)+", position "+fmt.Sprint(bad-70)) {
		t.Errorf("%+v", p)
	}
	var reasons []string
	for _, u := range g.Undecoded {
		reasons = append(reasons, fmt.Sprintf("%d %s at %d", u.Count, u.Reason, u.First.Offset))
	}
	if got, want := strings.Join(reasons, "; "), "1 OffsetCommitValue: OffsetCommitValue version 9: unknown version at 2; 1 unknown record type: key type 77 at 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHome: which partition of __consumer_offsets a group lives in that is not there.
func TestHome(t *testing.T) {
	group := func(want int32) string {
		for i := 0; ; i++ {
			if name := fmt.Sprint("group-", i); internaltopic.PartitionFor(name, 50) == want {
				return name
			}
		}
	}
	logs := map[string][]byte{}
	for _, n := range []int32{4, 9} {
		logs[fmt.Sprintf("1/__consumer_offsets-%d", n)] = new(builtLog).plain(commitOf(group(n), "t", 0, 1, 0, t0)).bytes
	}
	inc := built(t, logs)
	g := inc.Groups(context.Background())
	cl := inc.Clusters[0]
	if why := g.WhyAbsent(cl, group(7)); !strings.Contains(why, "lives in __consumer_offsets-7 if the topic has the default of 50 partitions") {
		t.Error(why)
	}
	if why := g.WhyAbsent(cl, group(9)+"x"); internaltopic.PartitionFor(group(9)+"x", 50) != 9 && why == "" {
		t.Error("not absent")
	}
	if why := g.WhyAbsent(cl, group(9)); why != "" {
		t.Error(why)
	}
	// Groups that stand elsewhere than 50 partitions would have them: nothing can be said.
	logs["1/__consumer_offsets-4"] = new(builtLog).plain(commitOf(group(5), "t", 0, 1, 0, t0)).bytes
	inc = built(t, logs)
	if why := inc.Groups(context.Background()).WhyAbsent(inc.Clusters[0], group(7)); !strings.Contains(why, "not known without the cluster metadata") {
		t.Error(why)
	}
}
