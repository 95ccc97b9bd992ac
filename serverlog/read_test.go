package serverlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"kafsck/internal/fixture"
)

func read(t *testing.T, text string, opt Options) *File {
	t.Helper()
	f, err := Read(context.Background(), "server.log", strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWordings: a line of each release, as brokers wrote them while the fixtures were
// recorded (testdata/fixtures, README.md there), and what it says.
func TestWordings(t *testing.T) {
	for _, tc := range []struct {
		line, want string
	}{
		// 0.10.2.2
		{"[2026-11-30 03:24:28,528] INFO Truncating log hw-short-0 to offset 100. (kafka.log.Log)", "truncated hw-short-0 offset 100"},
		{"[2026-11-30 03:24:28,561] WARN [ReplicaFetcherThread-0-2], Replica 1 for partition hw-short-0 reset its fetch offset from 100 to current leader 2's latest offset 85 (kafka.server.ReplicaFetcherThread)",
			"fetch-offset-reset hw-short-0 broker 1 from 100 offset 85 leader 2 (latest)"},
		{"[2026-11-30 03:24:28,490] INFO Partition [hw-short,0] on broker 1: Shrinking ISR for partition [hw-short,0] from 1,2 to 1 (kafka.cluster.Partition)", "isr-changed hw-short-0 broker 1 isr [1]"},
		{"[2026-11-30 03:23:00,660] INFO Completed load of log hw-short-0 with 1 log segments and log end offset 60 in 37 ms (kafka.log.Log)", "log-loaded hw-short-0 end 60"},
		{"[2026-11-30 03:23:00,660] TRACE Broker 1 received LeaderAndIsr request PartitionState(controllerEpoch=2, leader=2, leaderEpoch=2, isr=[2], zkVersion=3, replicas=[1, 2]) correlation id 1 from controller 2 epoch 2 for partition [hw-short,0] (state.change.logger)",
			"leader-known hw-short-0 broker 1 epoch 2 leader 2 isr [2]"},
		{"[2026-11-30 03:23:05,305] INFO [Kafka Server 2], shutting down (kafka.server.KafkaServer)", "broker-stopping broker 2"},
		// 1.1.1
		{"[2026-11-30 03:30:07,396] INFO [Partition fork279-0 broker=1] fork279-0 starts at Leader Epoch 1 from offset 50. Previous Leader Epoch was: 0 (kafka.cluster.Partition)",
			"leader-starts fork279-0 broker 1 offset 50 epoch 1 previous 0 leader 1"},
		{"[2026-11-30 03:30:38,485] TRACE [Broker id=1] Received LeaderAndIsr request PartitionState(controllerEpoch=1, leader=-1, leaderEpoch=4, isr=2, zkVersion=4, replicas=1,2, isNew=false) correlation id 1 from controller 3 epoch 1 for partition fork279-0 (state.change.logger)",
			"leader-known fork279-0 broker 1 epoch 4 leader -1 isr [2]"},
		// 2.8.2
		{"[2026-11-30 03:41:07,273] TRACE [Broker id=1] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='of-short', partitionIndex=0, controllerEpoch=1, leader=1, leaderEpoch=0, isr=[1, 2], zkVersion=0, replicas=[1, 2], addingReplicas=[], removingReplicas=[], isNew=true) correlation id 2 from controller 3 epoch 1 (state.change.logger)",
			"leader-known of-short-0 broker 1 epoch 0 leader 1 isr [1 2]"},
		{"[2026-11-30 03:42:16,833] INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition of-short-0 to local high watermark 100 (kafka.server.ReplicaFetcherThread)",
			"truncation-answer of-short-0 broker 1 offset 100 high watermark 100 leader 2 (local high watermark 100)"},
		{"[2026-11-30 03:42:16,864] WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Reset fetch offset for partition of-short-0 from 100 to current leader's latest offset 85 (kafka.server.ReplicaFetcherThread)",
			"fetch-offset-reset of-short-0 broker 1 from 100 offset 85 leader 2 (latest)"},
		{"[2026-11-30 03:42:16,833] INFO [Log partition=of-short-0, dir=<dir>/node1] Truncating to 100 has no effect as the largest offset in the log is 99 (kafka.log.Log)", "nothing-truncated of-short-0 offset 100 end 100"},
		{"[2026-11-30 03:22:46,013] INFO [Log partition=zk-unclean-0, dir=<dir>/node1] Truncating to offset 100 (kafka.log.Log)", "truncated zk-unclean-0 offset 100"},
		{"[2026-11-30 03:21:47,957] INFO [Broker id=1] Follower zk-lag-0 starts at leader epoch 3 from offset 200 with high watermark 180. Previous leader epoch was -1. (state.change.logger)",
			"follower-starts zk-lag-0 broker 1 offset 200 high watermark 180 epoch 3"},
		// 3.9.2
		{"[2026-11-30 03:25:20,718] INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition k39-unclean-0 with TruncationState(offset=100, completed=true) due to leader epoch and offset EpochEndOffset(errorCode=0, partition=0, leaderEpoch=0, endOffset=100) (ReplicaFetcherThread)",
			"truncation-answer k39-unclean-0 broker 1 offset 100 leader 2 (leader epoch and offset EpochEndOffset(errorCode=0, partition=0, leaderEpoch=0, endOffset=100))"},
		{"[2026-11-30 03:25:20,719] INFO [UnifiedLog partition=k39-unclean-0, dir=<dir>/node1] Truncating to offset 100 (UnifiedLog)", "truncated k39-unclean-0 offset 100"},
		// 4.3.1
		{"[2026-11-30 01:56:46,566] WARN [UnifiedLog partition=div-multi-0, dir=<dir>/node1] Truncating div-multi-0 to offset 100 below high watermark 150 (UnifiedLog)",
			"truncated-below-high-watermark div-multi-0 offset 100 high watermark 150"},
		{"[2026-11-30 01:56:46,603] WARN [UnifiedLog partition=div-multi-0, dir=<dir>/node1] Non-monotonic update of high watermark from (offset=150, segment=[0:3858]) to (offset=100, segment=[0:2995]) (UnifiedLog)",
			"high-watermark-back div-multi-0 from 150 offset 100"},
		{"[2026-11-30 01:54:49,478] WARN [ReplicaFetcher replicaId=3, leaderId=2, fetcherId=0] Truncate fully and reset fetch offset for partition d1.rebuild-0 from 300 to the current leader's start offset 607 (ReplicaFetcherThread)",
			"truncated-fully d1.rebuild-0 broker 3 from 300 offset 607 leader 2 (start)"},
		{"[2026-11-30 01:59:18,252] INFO [QuorumController id=9] UNCLEAN partition change for tail-acks1-0 with topic ID ktsV8rr1Td2s4U432z1hiA: isr: [] -> [1], leader: -1 -> 1, leaderRecoveryState: RECOVERED -> RECOVERING, leaderEpoch: 1 -> 2, lastKnownElr: [1] -> [], partitionEpoch: 3 -> 4 (ReplicationControlManager)",
			"unclean-election tail-acks1-0 broker 9 epoch 2 previous 1 leader 1 isr [1]"},
		{"[2026-11-30 02:05:15,894] INFO [QuorumController id=1] UNCLEAN partition change for compact-swap-0 with topic ID 3_wj6MsmSIS99uOmVVSppw: isr: [1] -> [], leader: 1 -> -1, leaderEpoch: 2 -> 3, elr: [] -> [1], lastKnownElr: [] -> [1], partitionEpoch: 3 -> 4 (ReplicationControlManager)",
			"leader-known compact-swap-0 broker 1 epoch 3 previous 2 leader -1 isr []"},
	} {
		f := read(t, tc.line+"\n", Options{Broker: -1})
		if len(f.Events) != 1 {
			t.Errorf("%s: %d events", tc.line, len(f.Events))
			continue
		}
		e := f.Events[0]
		if e.TimeMs < 0 || e.Line != 1 {
			t.Errorf("%s: time %d, line %d", tc.line, e.TimeMs, e.Line)
		}
		e.TopicID = ""
		if got := show(&e); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s\n got %s\nwant %s", tc.line, got, tc.want)
		}
	}
}

func show(e *Event) string {
	s := string(e.Kind)
	add := func(format string, args ...any) { s += " " + fmt.Sprintf(format, args...) }
	if e.Topic != "" {
		add("%s-%d", e.Topic, e.Partition)
	}
	if e.Broker >= 0 {
		add("broker %d", e.Broker)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"from", e.From}, {"offset", e.Offset}, {"end", e.End}, {"high watermark", e.HighWatermark}, {"epoch", int64(e.Epoch)}, {"previous", int64(e.PreviousEpoch)}} {
		if n.value >= 0 {
			add("%s %d", n.name, n.value)
		}
	}
	if e.Leader != NotSaid {
		add("leader %d", e.Leader)
	}
	if e.ISR != nil || e.Kind == LeaderKnown {
		add("isr %v", e.ISR)
	}
	switch e.Kind {
	case FetchReset, TruncationAnswer, TruncatedFully:
		add("(%s)", e.Detail)
	}
	return s
}

// TestLayouts: the same message in other layouts, with the time that each gives.
func TestLayouts(t *testing.T) {
	const message = "[UnifiedLog partition=t-0, dir=/d/[1]/x] Truncating t-0 to offset 100 below high watermark 150"
	berlin := time.FixedZone("", 3600)
	for _, tc := range []struct{ line, utc string }{
		{"[2026-11-30 01:56:46,566] WARN " + message + " (UnifiedLog)", "00:56:46.566"},
		{"2026-11-30 01:56:46,566 WARN " + message + " (kafka.log.UnifiedLog) [ReplicaFetcherThread-0-2]", "00:56:46.566"},
		{"2026-11-30T01:56:46.566Z WARN  [ReplicaFetcherThread-0-2] kafka.log.UnifiedLog: " + message, "01:56:46.566"},
		{"[2026-11-30 01:56:46,566+0200] WARN [data-plane-3] - " + message, "23:56:46.566"},
		{"2026-11-30T05:00:00.123456789Z stdout F [2026-11-30 01:56:46,566] WARN " + message + " (UnifiedLog)", "05:00:00.123"},
		{"Nov 30 01:56:46 host kafka[77]: [2026-11-30 01:56:46,566] WARN " + message, "00:56:46.566"},
		{`{"timestamp":"2026-11-30T01:56:46.566Z","level":"WARN","message":"` + message + `","logger":"UnifiedLog"}`, "01:56:46.566"},
		{`{"log":"[2026-11-30 01:56:46,566] WARN ` + message + ` (UnifiedLog)\n","stream":"stdout","time":"2026-11-30T05:00:00.1Z"}`, "05:00:00.100"},
		{"WARN " + message, ""},
	} {
		f := read(t, tc.line+"\n", Options{Broker: -1, Zone: berlin})
		if len(f.Events) != 1 || f.Events[0].Offset != 100 || f.Events[0].HighWatermark != 150 || f.Events[0].Topic != "t" || f.Events[0].Dir != "/d/[1]/x" {
			t.Errorf("%s: %+v", tc.line, f.Events)
			continue
		}
		got := ""
		if ms := f.Events[0].TimeMs; ms >= 0 {
			got = time.UnixMilli(ms).UTC().Format("15:04:05.000")
		}
		if got != tc.utc {
			t.Errorf("%s: %s, want %s", tc.line, got, tc.utc)
		}
	}
}

// TestNothingIsInvented: lines that only look like a broker's word.
func TestNothingIsInvented(t *testing.T) {
	for _, text := range []string{
		"",
		"\n\n",
		"\tat kafka.log.Log.truncateTo(Log.scala:1)\n",
		"Truncating log t-0 to offset 100.\n", // no time and no level: somebody's note
		"[2026-11-30 01:56:46,566] INFO Completed request: clientId=Truncating log t-0 to offset 100. (kafka.request.logger)\n",
		"[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 10", // the file ends inside the number
		"[2026-11-30 01:56:46,566] WARN [UnifiedLog partition=t-0, dir=/d] Truncating t-0 to offset 100 below high watermark 15",
		"[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-99999999999, dir=/d] Truncating to offset 10 (UnifiedLog)\n",
		"[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 99999999999999999999 (UnifiedLog)\n",
		"[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset -5 (UnifiedLog)\n",
		"[2026-11-30 01:56:46,566] INFO Truncating log \x1b[2J-0 to offset 100. (kafka.log.Log)\n",
		strings.Repeat("\x00", 100_000),
		"\xff\xfe[2026-11-30\x00",
	} {
		if f := read(t, text, Options{Broker: -1}); len(f.Events) != 0 {
			t.Errorf("%.80q: %s", text, show(&f.Events[0]))
		}
	}
}

func TestWhoWroteIt(t *testing.T) {
	const truncated = "[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 10 (UnifiedLog)\n"
	const one = "[2026-11-30 01:56:46,566] INFO [Broker id=1] Creating new partition t-0 (state.change.logger)\n"
	const two = "[2026-11-30 01:56:46,566] INFO [Broker id=2] Creating new partition t-0 (state.change.logger)\n"
	for _, tc := range []struct {
		text   string
		broker int32 // told
		want   int32
	}{
		{truncated, -1, -1},
		{truncated, 7, 7},
		{truncated + one, -1, 1},
		{truncated + one, 7, 1}, // the caller sees Brokers and decides
		{truncated + one + two, -1, -1},
		{truncated + one + two, 7, -1},
	} {
		f := read(t, tc.text, Options{Broker: tc.broker})
		if f.Events[0].Broker != tc.want {
			t.Errorf("told %d: broker %d, want %d (%v)", tc.broker, f.Events[0].Broker, tc.want, f.Brokers)
		}
	}
}

func TestClockBackwards(t *testing.T) {
	f := read(t, "[2026-11-30 01:00:10,000] INFO a\n[2026-11-30 01:00:05,500] INFO b\n[2026-11-30 01:00:06,000] INFO c\n", Options{Broker: -1})
	if f.Backwards != 1 || f.BackwardsMs != 4500 || f.Dated != 3 || f.LastMs-f.FirstMs != 4500 {
		t.Errorf("%+v", f)
	}
}

// TestLongLines: a line of any length takes bounded memory, and the next line is
// read as ever.
// TestNewestFirst: an export that shows the newest line first is read from its end; a clock
// that is set back a few times does not make a file one.
func TestNewestFirst(t *testing.T) {
	line := func(second, offset int) string {
		return fmt.Sprintf("[2026-11-30 01:00:%02d,000] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset %d (UnifiedLog)\n", second, offset)
	}
	for _, tc := range []struct {
		name    string
		seconds []int
		newest  bool
	}{
		{"falls throughout", []int{9, 7, 7, 5, 1}, true},
		{"set back twice, nothing between", []int{9, 7, 5}, false},
		{"set back, and goes on", []int{30, 20, 10, 5, 6}, false},
	} {
		text := ""
		for i, s := range tc.seconds {
			text += line(s, i)
		}
		f, err := Read(context.Background(), "log", strings.NewReader(text), Options{Broker: 1})
		if err != nil {
			t.Fatal(err)
		}
		first := f.Events[0].Line
		if f.NewestFirst != tc.newest || tc.newest && (first != int64(len(tc.seconds)) || f.Backwards != 0) || !tc.newest && first != 1 {
			t.Errorf("%s: newest first %v, first event of line %d, backwards %d", tc.name, f.NewestFirst, first, f.Backwards)
		}
	}
}

// TestBrokenGzip: what zcat prints before its error message counts.
func TestBrokenGzip(t *testing.T) {
	text := ""
	for i := range 200 {
		text += fmt.Sprintf("[2026-11-30 01:00:%02d,%03d] INFO [UnifiedLog partition=t-%d, dir=/d] Truncating to offset %d (UnifiedLog)\n", i/10, i*7, i, i*i)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	whole := b.Bytes()
	for _, tc := range []struct {
		name  string
		data  []byte
		lines func(int64) bool
		err   error
	}{
		{"cut", whole[:len(whole)/2], func(n int64) bool { return n > 10 && n < 200 }, io.ErrUnexpectedEOF},
		{"cut in the checksum", whole[:len(whole)-3], func(n int64) bool { return n == 200 }, io.ErrUnexpectedEOF},
		{"garbage behind it", append(bytes.Clone(whole), "garbage behind the end"...), func(n int64) bool { return n == 200 }, gzip.ErrHeader},
		{"no header", []byte{0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, func(n int64) bool { return n == 0 }, gzip.ErrHeader},
	} {
		f, err := Read(context.Background(), "log", bytes.NewReader(tc.data), Options{Broker: 1})
		if !errors.Is(err, tc.err) || f.Err == nil || !tc.lines(f.Lines) || int64(len(f.Events)) > f.Lines || int64(len(f.Events)) < f.Lines-1 {
			t.Errorf("%s: %d lines, %d events, %v, %v", tc.name, f.Lines, len(f.Events), f.Err, err)
		}
		if strings.Contains(fmt.Sprint(err), "line 0") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestLongLines(t *testing.T) {
	long := "[2026-11-30 01:00:10,000] INFO [Broker id=1] " + strings.Repeat("x", 1<<20) + "\n"
	f := read(t, long+"[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 10 (UnifiedLog)\r\n", Options{Broker: -1})
	if f.Long != 1 || len(f.Events) != 1 || f.Events[0].Line != 2 || f.Events[0].Broker != 1 {
		t.Errorf("%+v", f)
	}
}

// TestRoomForEvidence: when there is no room, common events go before evidence.
func TestRoomForEvidence(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "[2026-11-30 01:56:46,566] INFO [Partition t-0 broker=1] ISR updated to 1,2 and version updated to %d (Partition)\n", i)
	}
	for i := range 5 {
		fmt.Fprintf(&b, "[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset %d (UnifiedLog)\n", i)
	}
	f := read(t, b.String(), Options{Broker: -1, MaxEvents: 10})
	n := 0
	for _, e := range f.Events {
		if e.Kind == Truncated {
			n++
		}
	}
	if n != 5 || len(f.Events) > 10 || f.Dropped != int64(55-len(f.Events)) {
		t.Errorf("%d truncations of %d events, %d dropped", n, len(f.Events), f.Dropped)
	}
}

func TestFailedRead(t *testing.T) {
	const text = "[2026-11-30 01:56:46,566] INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 10 (UnifiedLog)\n"
	broken := errors.New("input/output error")
	f, err := Read(context.Background(), "server.log", io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), Options{Broker: -1})
	if !errors.Is(err, broken) || len(f.Events) != 1 {
		t.Errorf("%v, %d events", err, len(f.Events))
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, strings.Repeat(text, 1000))
	w.Close()
	if f, err := Read(context.Background(), "server.log.gz", bytes.NewReader(z.Bytes()), Options{Broker: -1}); err != nil || len(f.Events) != 1000 {
		t.Errorf("%v, %d events", err, len(f.Events))
	}
	if _, err := Read(context.Background(), "server.log.gz", bytes.NewReader(z.Bytes()[:z.Len()-20]), Options{Broker: -1}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut gzip: %v", err)
	}
}

// TestRecordedLogs: every log that was recorded names one broker, that of its file,
// and each truncation that a log tells stands in it.
func TestRecordedLogs(t *testing.T) {
	tree := fixture.Tree(t, "server-logs")
	total := map[Kind]int{}
	for name, file := range tree {
		f, err := Read(context.Background(), name, bytes.NewReader(file.Data), Options{Broker: -1})
		if err != nil {
			t.Fatal(err)
		}
		id, ok := f.Broker()
		if want := fmt.Sprintf("broker-%d.log", id); !ok || !strings.HasSuffix(name, want) {
			t.Errorf("%s: written by %v", name, f.Names())
		}
		n := 0
		for _, e := range f.Events {
			total[e.Kind]++
			if e.Kind == Truncated {
				n++
			}
		}
		want := 0
		for l := range strings.Lines(string(file.Data)) {
			if strings.Contains(l, "] Truncating to offset ") || strings.Contains(l, " Truncating log ") {
				want++
			}
		}
		if n != want {
			t.Errorf("%s: %d truncations, %d lines tell one", name, n, want)
		}
	}
	for _, k := range []Kind{Truncated, TruncatedBelow, TruncatedFully, NothingTruncated, FetchReset, TruncationAnswer, LeaderStarts, FollowerStarts, LeaderKnown, UncleanElection, ISRChanged,
		WatermarkLoaded, WatermarkBack, LogLoaded, SegmentRecovered, SegmentsDeleted, LogStartMoved, DirRenamed, EpochAssigned, Started, Stopping, CleanStart, UncleanStart} {
		if total[k] == 0 {
			t.Errorf("no recorded line of kind %s", k)
		}
	}
}

func TestParseZone(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]int{"UTC": 0, "Z": 0, "+02:00": 7200, "-0530": -19800, "+01": 3600} {
		z, err := ParseZone(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if _, got := at.In(z).Zone(); got != want {
			t.Errorf("%s: %d seconds, want %d", s, got, want)
		}
	}
	for _, s := range []string{"+99:00", "2", "nowhere/land", "+2"} {
		if _, err := ParseZone(s); err == nil {
			t.Errorf("%s is no zone", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	tree := fixture.Tree(f, "server-logs")
	for i, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range tree {
			if !yield(n) {
				return
			}
		}
	}) {
		lines := bytes.SplitAfter(tree[name].Data, []byte("\n"))
		f.Add(bytes.Join(lines[:min(len(lines), 5+i)], nil), uint16(i))
		for _, l := range lines {
			if bytes.Contains(l, []byte("runcat")) || bytes.Contains(l, []byte("starts at")) {
				f.Add(l, uint16(len(l)/2))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		file, err := Read(context.Background(), "log", bytes.NewReader(data), Options{Broker: -1, MaxEvents: 50})
		if err != nil && !(len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
			t.Fatalf("bytes in memory cannot fail: %v", err)
		}
		if len(file.Events) > 50 || int64(len(file.Events)) > file.Lines {
			t.Fatalf("%d events of %d lines", len(file.Events), file.Lines)
		}
		if file.NewestFirst {
			slices.Reverse(file.Events)
		}
		last := int64(0)
		for _, e := range file.Events {
			if e.Line <= last || e.Line > file.Lines || len(e.Text) > MaxText || !bytes.Contains(data, []byte(e.Text)) && data[0] != 0x1f && !bytes.Contains(data, []byte{'\\'}) {
				t.Fatalf("event %+v", e)
			}
			last = e.Line
			if e.Offset < -1 || e.From < -1 || e.HighWatermark < -1 || e.Partition < -1 || e.Topic != "" && e.Partition < 0 {
				t.Fatalf("event %+v", e)
			}
		}
		// A file cut short tells no more than the whole, and nothing else.
		if int(cut) >= len(data) || err != nil {
			return
		}
		short, err := Read(context.Background(), "log", bytes.NewReader(data[:cut]), Options{Broker: -1, MaxEvents: 1 << 20})
		if err != nil {
			return
		}
		whole, _ := Read(context.Background(), "log", bytes.NewReader(append(bytes.Clone(data), 10)), Options{Broker: -1, MaxEvents: 1 << 20})
		if short.NewestFirst || whole.NewestFirst {
			return // the part may be too short to tell
		}
		for i, e := range short.Events {
			if i >= len(whole.Events) || whole.Events[i].Line != e.Line || whole.Events[i].Offset != e.Offset || whole.Events[i].Topic != e.Topic || whole.Events[i].HighWatermark != e.HighWatermark {
				t.Fatalf("cut at %d: %+v is not in the whole file", cut, e)
			}
		}
	})
}
