package incident_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/serverlog"
)

// timeline tells the timeline of a tree.
func timeline(t testing.TB, opt incident.Options, skew incident.TimelineOptions, tree fstest.MapFS) (*incident.Timeline, []incident.TimelineEvent) {
	t.Helper()
	opt.Compare = true
	inc := openCase(t, opt, tree)
	line := inc.NewTimeline(inc.Histories(incident.HistoryOptions{}), skew)
	for p := range inc.Partitions(context.Background()) {
		line.Add(p)
		for _, e := range p.Errors {
			t.Error(e)
		}
	}
	line.ServerLogs(context.Background())
	return line, line.Events()
}

// find returns the one row of a kind whose words contain all of says.
func find(t testing.TB, rows []incident.TimelineEvent, kind string, says ...string) *incident.TimelineEvent {
	t.Helper()
	var found *incident.TimelineEvent
	for i := range rows {
		fits := rows[i].Kind == kind
		for _, s := range says {
			fits = fits && strings.Contains(rows[i].Says, s)
		}
		if fits && found != nil {
			t.Errorf("two rows %s %q", kind, says)
		}
		if fits {
			found = &rows[i]
		}
	}
	if found == nil {
		t.Fatalf("no row %s %q", kind, says)
	}
	return found
}

// unclean-election, stage-b: what happened, in the order of README.md.
func TestTimeline(t *testing.T) {
	_, rows := timeline(t, incident.Options{}, incident.TimelineOptions{}, below(fixture.Tree(t, "unclean-election"), "stage-b"))
	order := []*incident.TimelineEvent{
		find(t, rows, incident.TopicCreated, "unclean-demo"),
		find(t, rows, incident.TimeFirstWrite, "epoch 0", "offsets 0–99", "brokers 1 and 2"),
		find(t, rows, incident.TimeLeadership, "broker 2 left the ISR"),
		find(t, rows, incident.TimeLastWrite, "epoch 0", "offsets 100–199", "on broker 1"),
		find(t, rows, incident.TimeLeadership, "nobody leads"),
		find(t, rows, incident.ConfigSet, "unclean.leader.election.enable = true"),
		find(t, rows, incident.TimeUnclean, "broker 2 elected UNCLEANLY"),
		find(t, rows, incident.TimeFirstWrite, "epoch 2", "offsets 100–119", "on broker 2"),
	}
	for i := 1; i < len(order); i++ {
		if order[i].TimeMs < order[i-1].TimeMs {
			t.Errorf("%q before %q", order[i].Says, order[i-1].Says)
		}
	}
	for i := range rows {
		e := &rows[i]
		if e.Backwards || e.TimeMs != e.RawMs {
			t.Errorf("%+v", e)
		}
		want := incident.ControllerClock
		if e.MetadataOffset < 0 {
			want = incident.ClientClock
		}
		if e.Clock != want {
			t.Errorf("clock %q of %q", e.Clock, e.Says)
		}
	}
	last := int64(-1)
	for i := range rows {
		if at := rows[i].MetadataOffset; at >= 0 {
			if at < last {
				t.Errorf("metadata offset %d behind %d", at, last)
			}
			last = at
		}
	}
}

// A clock that is off moves the rows of that node alone; metadata keep their order
// whatever the clocks say.
func TestSkew(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	_, plain := timeline(t, incident.Options{}, incident.TimelineOptions{}, tree)
	_, skewed := timeline(t, incident.Options{}, incident.TimelineOptions{Skew: map[int32]time.Duration{3: -90 * time.Second}}, tree)
	a, b := find(t, plain, incident.TimeUnclean, "UNCLEANLY"), find(t, skewed, incident.TimeUnclean, "UNCLEANLY")
	if b.TimeMs != a.TimeMs+90_000 || b.RawMs != a.RawMs || b.ClockOf != 3 {
		t.Errorf("%+v\n%+v", a, b)
	}
	w := find(t, skewed, incident.TimeFirstWrite, "epoch 2")
	if w.TimeMs != w.RawMs || w.Clock != incident.ClientClock {
		t.Errorf("a client's clock was corrected: %+v", w)
	}
	if slices.IndexFunc(skewed, func(e incident.TimelineEvent) bool {
		return e.Kind == incident.TimeFirstWrite && strings.Contains(e.Says, "epoch 2")
	}) >
		slices.IndexFunc(skewed, func(e incident.TimelineEvent) bool { return e.Kind == incident.TimeUnclean }) {
		t.Error("the row did not move")
	}
}

// File times count where a copy has kept them, and are left out where it has not.
func TestFileTimes(t *testing.T) {
	base := time.UnixMilli(1_796_003_500_000).UTC()
	tree := fstest.MapFS{}
	n := 0
	for name, f := range below(fixture.Tree(t, "unclean-election"), "stage-b") {
		own := *f
		n++
		own.ModTime = base.Add(time.Duration(n) * time.Second)
		tree[name] = &own
	}
	at := base.Add(10 * time.Minute)
	own := *tree["broker-2/replication-offset-checkpoint"]
	own.ModTime = at
	tree["broker-2/replication-offset-checkpoint"] = &own
	line, rows := timeline(t, incident.Options{}, incident.TimelineOptions{Skew: map[int32]time.Duration{2: time.Second}}, tree)
	if len(line.Notes) != 0 {
		t.Errorf("notes %v", line.Notes)
	}
	// expected.json: broker 2's high watermark is 120.
	e := find(t, rows, incident.TimeCheckpoint, "replication-offset-checkpoint on broker 2", "high watermark 120")
	if e.RawMs != at.UnixMilli() || e.TimeMs != at.UnixMilli()-1000 || e.Clock != incident.FileClock || e.ClockOf != 2 {
		t.Errorf("%+v", e)
	}
	find(t, rows, incident.TimeFile, "00000000000000000000.log on broker 1", "log end 200")
	find(t, rows, incident.TimeCheckpoint, "leader-epoch-checkpoint on broker 2", "epoch 2 from offset 100")

	for name := range tree {
		own := *tree[name]
		own.ModTime = at
		tree[name] = &own
	}
	line, rows = timeline(t, incident.Options{}, incident.TimelineOptions{}, tree)
	if len(line.Notes) != 3 || slices.ContainsFunc(rows, func(e incident.TimelineEvent) bool { return e.Clock == incident.FileClock }) {
		t.Errorf("notes %v", line.Notes)
	}
}

// Lines of brokers' own logs stand among the metadata, in the order of their file.
func TestServerLogRows(t *testing.T) {
	logs := fixture.Unpack(t, "server-logs")
	f, err := os.Open(filepath.Join(logs, "unclean-election", "broker-1.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := serverlog.Read(context.Background(), "broker-1.log", f, serverlog.Options{Broker: -1})
	if err != nil {
		t.Fatal(err)
	}
	tree := below(fixture.Tree(t, "unclean-election"), "stage-c")
	_, rows := timeline(t, incident.Options{ServerLogs: []*serverlog.File{file}}, incident.TimelineOptions{}, tree)
	cut := find(t, rows, incident.TimeServerLog, "below high watermark 200")
	if cut.Clock != incident.BrokerClock || cut.ClockOf != 1 || cut.From != 100 || cut.Partition != "unclean-demo-0" {
		t.Errorf("%+v", cut)
	}
	trace := find(t, rows, incident.TimeTrace, "offsets 100–199", "committed: yes")
	if trace.MetadataOffset >= 0 || trace.TimeMs > cut.TimeMs {
		t.Errorf("%+v", trace)
	}
}

// Without metadata the logs still have a timeline.
func TestTimelineOfZooKeeper(t *testing.T) {
	_, rows := timeline(t, incident.Options{}, incident.TimelineOptions{}, below(fixture.Tree(t, "zk-unclean-election"), "stage-b"))
	first := find(t, rows, incident.TimeFirstWrite, "epoch 3")
	if first.Partition != "zk-unclean-0" || first.From != 100 || first.To != 120 {
		t.Errorf("%+v", first)
	}
}

// A window leaves out what lies outside it.
func TestTimelineWindow(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	_, all := timeline(t, incident.Options{}, incident.TimelineOptions{}, tree)
	at := find(t, all, incident.TimeUnclean, "UNCLEANLY").TimeMs
	_, rows := timeline(t, incident.Options{}, incident.TimelineOptions{FromMs: at, ToMs: at + 1000}, tree)
	if len(rows) != 3 { // the election, the first and the last batch behind it
		t.Errorf("%d rows", len(rows))
	}
}
