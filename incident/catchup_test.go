package incident_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// What the follower of replica-rebuild did between stage-a and stage-b, by its own
// log (truth.json, facts.followerLog) and the files of stage-b: "Truncate fully and
// reset fetch offset … from 300 to the current leader's start offset 607", "Deleting
// segments … LogSegment(baseOffset=0, size=63920", "First offset 600 is less than log
// start offset 607 … will start the log from offset 600", "Deleting segments …
// LogSegment(baseOffset=607, size=0"; 00000000000000000600.log has 21327 bytes.
func TestCatchupReplicaRebuild(t *testing.T) {
	p := stories(t, incident.Options{}, below(fixture.Tree(t, "replica-rebuild"), "stage-a"))["d1.rebuild-0"]
	id := int32(3)
	list, untold := p.Catchups(t.Context(), incident.CatchupOptions{Follower: &id, Version: broker.Latest})
	if untold != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, untold)
	}
	f := list[0]
	if f.Way != broker.Rebuild || f.How != broker.CutByRebuild || f.TruncateTo != 300 || f.FetchFrom != 607 || f.FetchTo != 700 ||
		f.FirstBatch != 600 || f.FirstSegment != 600 || f.Catchup.LogStart != 607 || f.EmptyDeleted != 607 {
		t.Errorf("offsets: %+v", f)
	}
	if f.FetchBytes != 21327 || f.DeletedBytes != 63920 || f.CutBytes != 0 || f.KeptBytes != 0 || !slices.Equal(f.DeletedSegments, []int64{0}) {
		t.Errorf("bytes: %+v", f)
	}
	plan := incident.PlanCatchups(list, nil, incident.Rates{Throttle: 1000, DeleteDelay: 20 * time.Second})
	b := plan.Brokers[0]
	// 21327 bytes at 1000 a second. After 20 s, when the old segment goes, 20,000 are there
	// beside its 63,920.
	if math.Abs(b.Seconds-21.327) > 1e-9 || len(b.Dirs) != 1 || b.Dirs[0] != (incident.DirSpace{Path: "broker-3", Now: 63920, Peak: 83920, After: 21327}) {
		t.Errorf("plan: %+v", b)
	}
}

// Wherever a follower caught up between two stages of a recording under the same
// leader, what the earlier stage predicts it to fetch is what lies in its log in the
// later one, byte for byte of the .log files, and what it threw away is gone.
func TestCatchupOfRecordings(t *testing.T) {
	checked := []string{}
	for _, name := range fixture.Names {
		tree := fixture.Tree(t, name)
		answers := readExpected(t, tree)
		var stages []string
		for s := range answers.Stages {
			stages = append(stages, s)
		}
		slices.Sort(stages)
		for i := 1; i < len(stages); i++ {
			before, after := answers.Stages[stages[i-1]], answers.Stages[stages[i]]
			earlier := stories(t, incident.Options{}, below(tree, stages[i-1]))
			later := below(tree, stages[i])
			for partition, p := range earlier {
				x, y := before.Partitions[partition], after.Partitions[partition]
				if x.Leader == nil || y.Leader == nil || *x.Leader != *y.Leader || p.Ruling.Policy != "delete" {
					continue
				}
				version := broker.Latest
				switch name {
				case "kip279-silent-fork":
					version = broker.Version{Major: 1, Minor: 1}
				case "hw-truncation-none":
					version = broker.Version{Major: 0, Minor: 10}
				case "zk-unclean-election":
					version = broker.Version{Major: 2, Minor: 8}
				}
				list, _ := p.Catchups(t.Context(), incident.CatchupOptions{Version: version})
				for _, f := range list {
					at := slices.IndexFunc(y.Replicas, func(r expectedReplica) bool {
						return r.Broker == f.Follower.ID && r.Dir == f.Dir && r.State == "live"
					})
					if f.State != incident.FollowerLive || f.Way == broker.InSync && !f.Truncates() || at < 0 || y.Replicas[at].LogEndOffset < f.FetchTo {
						continue
					}
					if sameFiles(below(tree, stages[i-1]), later, f.Dir) {
						continue // still down: its log ends high because it has not truncated yet
					}
					what := fmt.Sprintf("%s %s to %s, %s, broker %d", name, stages[i-1], stages[i], partition, f.Follower.ID)
					got, first := appended(later, f.Dir, f.FirstBatch, f.FetchTo)
					if got != f.FetchBytes {
						t.Errorf("%s: %d bytes predicted to be fetched, %d were (%+v)", what, f.FetchBytes, got, f.Catchup)
					}
					if f.Way == broker.Rebuild && first != f.FirstSegment {
						t.Errorf("%s: first segment %d, predicted %d", what, first, f.FirstSegment)
					}
					checked = append(checked, what)
				}
			}
		}
	}
	t.Log(strings.Join(checked, "\n"))
	if len(checked) < 15 {
		t.Errorf("only %d followers caught up in these recordings: %q", len(checked), checked)
	}
}

// sameFiles reports whether the .log files of a directory are the same in both trees.
func sameFiles(a, b fstest.MapFS, dir string) bool {
	for name, f := range a {
		if strings.HasPrefix(name, dir+"/") && strings.HasSuffix(name, ".log") {
			if g := b[name]; g == nil || string(g.Data) != string(f.Data) {
				return false
			}
		}
	}
	return true
}

// appended adds up the batches of a directory's .log files that begin at or above an
// offset and end below another; first is the base of the first segment. It walks the
// headers by itself: base offset at 0, length at 8, last offset delta at 23 (magic 2),
// for older messages one offset each.
func appended(tree fstest.MapFS, dir string, from, to int64) (bytes, first int64) {
	first = -1
	for name, f := range tree {
		file, ok := strings.CutPrefix(name, dir+"/")
		if !ok || !strings.HasSuffix(file, ".log") {
			continue
		}
		var base int64
		fmt.Sscanf(file, "%d.log", &base)
		if first < 0 || base < first {
			first = base
		}
		for data := f.Data; len(data) >= 27; {
			size := int64(binary.BigEndian.Uint32(data[8:])) + 12
			begin := int64(binary.BigEndian.Uint64(data))
			if size < 26 || size > int64(len(data)) {
				break
			}
			last := begin
			if data[16] == 2 {
				last += int64(binary.BigEndian.Uint32(data[23:]))
			}
			if begin >= from && last < to {
				bytes += size
			}
			data = data[size:]
		}
	}
	return bytes, first
}

// Broker 3 returns with two partitions of broker 1 and one of broker 2.
//
//	--throttle 100, --leader-throttle 40, 4000, 1000 and 3000 bytes, no new data
//
// Leader 1 gives 40 for two partitions, 20 each; leader 2 gives 40: 80 of broker 3's 100
// are used. b (1000) is done after 50 s; then a gets all 40 of leader 1: 3000 left, 75 s
// more. c takes 3000 / 40 = 75 s.
func TestPlanCatchups(t *testing.T) {
	one, two, three := incident.BrokerRef{ID: 1, Known: true, Name: "1"}, incident.BrokerRef{ID: 2, Known: true, Name: "2"}, incident.BrokerRef{ID: 3, Known: true, Name: "3"}
	follower := func(name string, leader incident.BrokerRef, fetch, kept, deleted int64) incident.FollowerCatchup {
		return incident.FollowerCatchup{Partition: name, Topic: name[:1], Leader: leader, Follower: three, State: incident.FollowerLive, LogDir: "d", Bytes: kept + deleted,
			Catchup: broker.Catchup{Way: broker.CatchUp, FetchBytes: fetch, KeptBytes: kept, DeletedBytes: deleted}}
	}
	list := func() []incident.FollowerCatchup {
		return []incident.FollowerCatchup{follower("a-0", one, 4000, 500, 0), follower("b-0", one, 1000, 0, 9000), follower("c-0", two, 3000, 0, 0)}
	}
	p := incident.PlanCatchups(list(), nil, incident.Rates{Throttle: 100, LeaderThrottle: 40, DeleteDelay: 60 * time.Second})
	var got []float64
	for _, f := range p.Followers {
		got = append(got, f.Seconds)
	}
	if want := []float64{125, 50, 75}; !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
		t.Errorf("seconds %v, want %v", got, want)
	}
	b := p.Brokers[0]
	// Now 500 + 9000. After 60 s: a has 50 × 20 + 10 × 40 = 1400, b 1000, c 2400; with the
	// old 9500 that makes 14,300. In the end 500 + 8000.
	if b.Seconds != 125 || b.FetchBytes != 8000 || b.Dirs[0] != (incident.DirSpace{Path: "d", Now: 9500, Peak: 14300, After: 8500}) {
		t.Errorf("total %+v", b)
	}

	// 90 bytes a second of new data are 30 for each partition, so that the two of leader 1
	// need more than 60 from it, which gives 40: they never catch up. That of leader 2 gains
	// 40 - 30 = 10: 300 s. With 120 from leader 1 (twice 60) and 100 at broker 3, which is
	// above 90: all share the 100, 33 each; as leader 2 gives 40 and leader 1 60 each, the
	// 100 decide: (4000 + 1000 + 3000) / (100 - 90) = 800 s.
	p = incident.PlanCatchups(list(), nil, incident.Rates{Throttle: 100, LeaderThrottle: 40, Write: 90, DeleteDelay: time.Minute})
	b = p.Brokers[0]
	if b.Never != 2 || !math.IsInf(b.Seconds, 1) || !p.Followers[0].Never() || !p.Followers[1].Never() || math.Abs(p.Followers[2].Seconds-300) > 1e-6 {
		t.Errorf("with new data: %+v", p.Followers)
	}
	if len(b.Needs) != 1 || b.Needs[0].Side != "leader" || b.Needs[0].Broker != one || b.Needs[0].Rate != 60 || math.Abs(b.Needs[0].AtTwice-800) > 1e-6 {
		t.Errorf("needs %+v", b.Needs)
	}

	// The rate of one partition by name; the others share the rest: none.
	p = incident.PlanCatchups(list(), nil, incident.Rates{Throttle: 100, WriteOf: map[string]float64{"a-0": 20}})
	// (4000 + 1000 + 3000) / (100 - 20) = 100 s.
	if s := p.Brokers[0].Seconds; math.Abs(s-100) > 1e-9 {
		t.Errorf("one partition written: %v s, want 100", s)
	}
}
