package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/kraft"
	"kafsck/logdir"
)

// kraftRecordings are those with a metadata log.
var kraftRecordings = []string{
	"unclean-election", "unclean-three-replicas", "kraft39-unclean-election", "divergence", "below-hw-clean", "replica-rebuild", "epoch-history", "reassigned-dirs", "cleaner-swap",
}

// open opens a tree as the verb does.
func openCase(t testing.TB, opt incident.Options, tree fstest.MapFS) *incident.Incident {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return incident.Open(c, opt)
}

// histories tells the histories of a tree, with the logs of all partitions joined.
func histories(t testing.TB, tree fstest.MapFS) []*incident.History {
	t.Helper()
	inc := openCase(t, incident.Options{Compare: true}, tree)
	hs := inc.Histories(incident.HistoryOptions{})
	for p := range inc.Partitions(context.Background()) {
		for _, h := range hs {
			for _, x := range h.Partitions {
				if h.Cluster == p.Cluster && x.Topic.ID.String() == p.TopicID && x.Number == p.Number {
					x.Join(p)
				}
			}
		}
	}
	return hs
}

func theHistory(t testing.TB, hs []*incident.History) *incident.History {
	t.Helper()
	if len(hs) != 1 || hs[0].Log == nil {
		t.Fatalf("%d histories", len(hs))
	}
	return hs[0]
}

// Leader, ISR and ELR at the end of the metadata are what a client was told when the
// stage was recorded (truth.json).
func TestHistoryAgreesWithTheClient(t *testing.T) {
	compared := 0
	for _, name := range kraftRecordings {
		tree := fixture.Tree(t, name)
		var truth struct {
			Stages map[string]struct {
				Client map[string]struct {
					Leader                        int32
					Replicas, ISR, ELR, LastKnown []int32
				}
			}
		}
		if err := json.Unmarshal(tree["truth.json"].Data, &truth); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for stage, s := range truth.Stages {
			folder := below(tree, stage)
			if len(folder) == 0 || len(s.Client) == 0 {
				continue
			}
			h := theHistory(t, histories(t, folder))
			for _, p := range h.Partitions {
				want, told := s.Client[p.Name]
				if !told {
					continue
				}
				compared++
				c := p.Last()
				sorted := func(l []int32) []int32 { l = slices.Clone(l); slices.Sort(l); return l }
				if c.Leader != want.Leader || !slices.Equal(c.Replicas, want.Replicas) || !slices.Equal(sorted(c.ISR), sorted(want.ISR)) || !slices.Equal(sorted(c.ELR), sorted(want.ELR)) {
					t.Errorf("%s %s %s: leader %d, replicas %v, ISR %v, ELR %v; the client saw %+v", name, stage, p.Name, c.Leader, c.Replicas, c.ISR, c.ELR, want)
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d partitions compared", compared)
	}
}

// Each loss of expected.json that an unclean election caused belongs to one unclean
// election of the history, and nothing else does.
func TestUncleanElectionsAndTheirLosses(t *testing.T) {
	elections := 0
	for _, name := range kraftRecordings {
		tree := fixture.Tree(t, name)
		for stage, s := range readExpected(t, tree).Stages {
			for _, p := range theHistory(t, histories(t, below(tree, stage))).Partitions {
				want, known := s.Partitions[p.Name]
				if !known {
					continue
				}
				var expect, got []string
				for _, l := range want.Losses {
					if l.Cause == "unclean-election" {
						expect = append(expect, fmt.Sprint(bound(l.From), bound(l.To), l.Epochs, l.Committed))
					}
				}
				for i := range p.Unclean {
					u := &p.Unclean[i]
					elections++
					c := &p.Changes[u.Index]
					if !c.Recovering || !c.Unclean || u.Before == nil {
						t.Errorf("%s %s %s: Kafka did not mark the election at %d", name, stage, p.Name, c.Offset)
					}
					lost := incident.LostNothing
					for _, l := range u.Losses {
						got = append(got, fmt.Sprint(bound(l.From), bound(l.To), l.Epochs, l.Committed))
						switch {
						case l.Committed == "yes":
							lost = incident.LostYes
						case l.Committed == "unknown" && lost != incident.LostYes:
							lost = incident.LostMaybe
						}
						if slices.Max(l.Epochs) >= c.LeaderEpoch {
							t.Errorf("%s %s %s: records of epochs %v lost by the election for epoch %d", name, stage, p.Name, l.Epochs, c.LeaderEpoch)
						}
					}
					if want.Leader == nil || *want.Leader < 0 {
						if !u.SameLeader {
							lost = incident.LostUnknown // nobody leads: that is not decided
						}
					}
					if u.Lost != lost || u.Why == "" {
						t.Errorf("%s %s %s, epoch %d: lost %q (%s), want %q", name, stage, p.Name, c.LeaderEpoch, u.Lost, u.Why, lost)
					}
				}
				if want.Leader != nil && *want.Leader >= 0 {
					if d := cmp.Diff(expect, got, cmpopts.SortSlices(strings.Compare)); d != "" {
						t.Errorf("%s %s %s: -want +got\n%s", name, stage, p.Name, d)
					}
				}
			}
		}
	}
	if elections < 15 {
		t.Errorf("only %d unclean elections", elections)
	}
}

func bound(v *int64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(*v)
}

// The recordings of metadata alone: no partition directory is among the inputs.
func TestHistoryOfMetadataAlone(t *testing.T) {
	tree := fixture.Tree(t, "metadata")
	var want struct {
		Runs map[string]map[string]map[string]struct {
			Start, End int64
			Snapshot   *string
			Partitions map[string]struct {
				Leader, LeaderEpoch              int32
				ISR, ELR, LastKnownELR, Replicas []int32
				Recovery                         int
			}
			UncleanElections []json.RawMessage
		}
	}
	if err := json.Unmarshal(tree["expected.json"].Data, &want); err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for run, stages := range want.Runs {
		for stage, names := range stages {
			whole := below(tree, path.Join(run, stage))
			for name, node := range names {
				nodes++
				// What Kafka renamed to .deleted is taken away: expected.json tells of the live files.
				live := fstest.MapFS{}
				for file, f := range whole {
					if strings.HasPrefix(file, name+"/") && !strings.HasSuffix(file, ".deleted") {
						live[file] = f
					}
				}
				h := theHistory(t, histories(t, live))
				if h.Reach.To != node.End || h.Log.StartOffset != node.Start {
					t.Errorf("%s %s: offsets %d to %d, want %d to %d", run, name, h.Log.StartOffset, h.Reach.To, node.Start, node.End)
				}
				snapshot := ""
				if node.Snapshot != nil {
					snapshot = *node.Snapshot
				}
				if h.Reach.Snapshot != snapshot || h.Reach.Whole() != (snapshot == "") || h.Reach.Oldest != h.Reach.From {
					t.Errorf("%s %s: reach %+v, want snapshot %q", run, name, h.Reach, snapshot)
				}
				checked, unclean := 0, 0
				for _, p := range h.Partitions {
					unclean += len(p.Unclean)
					w, exists := node.Partitions[p.Name]
					if p.Topic.RemovedAt >= 0 {
						continue
					}
					c := p.Last()
					if !exists || c.Leader != w.Leader || c.LeaderEpoch != w.LeaderEpoch || !slices.Equal(c.ISR, w.ISR) || !slices.Equal(c.ELR, w.ELR) || !slices.Equal(c.LastKnownELR, w.LastKnownELR) || c.Recovering != (w.Recovery == 1) {
						t.Errorf("%s %s %s: %+v, want %+v", run, name, p.Name, c, w)
					}
					checked++
				}
				if checked != len(node.Partitions) || unclean != len(node.UncleanElections) {
					t.Errorf("%s %s: %d partitions, want %d; %d unclean elections, want %d", run, name, checked, len(node.Partitions), unclean, len(node.UncleanElections))
				}
			}
			// Both nodes, with what Kafka set aside: the reach grows, the end state is the newest's.
			h := theHistory(t, histories(t, whole))
			if len(h.Copies) != len(names) || h.Copies[0].LagRecords != 0 {
				t.Errorf("%s: copies %+v", run, h.Copies)
			}
			for _, c := range h.Copies {
				if c.Line.ForkAt != -1 || c.Log.EndOffset != names[strings.SplitN(c.Dir, "/", 2)[0]].End {
					t.Errorf("%s: %s %+v", run, c.Dir, c.Line)
				}
			}
			for _, p := range h.Partitions {
				for i := range p.Unclean {
					// Without any data directory nobody can say, but for the leader put back.
					if u := &p.Unclean[i]; u.SameLeader != (u.Lost == incident.LostNothing) || !u.SameLeader && u.Lost != incident.LostUnknown {
						t.Errorf("%s %s: %+v", run, p.Name, u)
					}
				}
			}
		}
	}
	if nodes < 6 {
		t.Errorf("only %d nodes", nodes)
	}
}

// Offset 133 of the recording completes a reassignment: its leader is new to the ISR,
// and Kafka did not elect it uncleanly.
func TestReassignmentIsNoUncleanElection(t *testing.T) {
	h := theHistory(t, histories(t, below(fixture.Tree(t, "metadata"), "kafka-4.3.1/stage2-clean")))
	if !h.Reach.Whole() {
		t.Fatalf("reach %+v", h.Reach)
	}
	for _, p := range h.Partitions {
		for i := range p.Changes {
			c := &p.Changes[i]
			if p.Name == "topic-2-0" && c.Offset == 133 {
				if c.Unclean || c.Leader != 1 {
					t.Errorf("%+v", c)
				}
				words := incident.Happened(&p.Changes[i-1], c, nil)
				for _, want := range []string{"broker 1 elected", "reassignment over: replicas [1]"} {
					if !strings.Contains(words, want) {
						t.Errorf("%q does not say %q", words, want)
					}
				}
			}
			if c.Unclean && !c.Recovering {
				t.Errorf("%s at %d: Kafka did not mark it", p.Name, c.Offset)
			}
		}
	}
}

// base/M1: the metadata of one controller, of which older segments are gone.
func TestHistoryOfOneController(t *testing.T) {
	h := theHistory(t, histories(t, below(fixture.Tree(t, "base"), "M1")))
	// truth.json: logStartOffset 523, logEndOffset 613, earliestSnapshot 534-2.
	if r := h.Reach; r.From != 534 || r.To != 613 || r.Snapshot != "00000000000000000534-0000000002.checkpoint" || r.FromMs < 0 || r.Whole() {
		t.Errorf("reach %+v", r)
	}
	if len(h.Partitions) == 0 || len(h.Copies) != 1 {
		t.Errorf("%d partitions, %d copies", len(h.Partitions), len(h.Copies))
	}
	for _, p := range h.Partitions {
		if !p.Changes[0].FromSnapshot && p.Topic.FromSnapshot {
			t.Errorf("%s begins with %+v", p.Name, p.Changes[0])
		}
	}
}

// unclean-election: what happened, in words and numbers (README.md of the recording).
func TestChurn(t *testing.T) {
	h := theHistory(t, histories(t, below(fixture.Tree(t, "unclean-election"), "stage-c")))
	p := h.Partitions[0]
	n := p.Churn
	// Created with ISR [1,2]; 2 left, 1 died (nobody leads), 2 elected uncleanly, 1 came back.
	if n.LeaderChanges != 1 || n.Elections != 2 || n.Unclean != 1 || n.Leaderless != 1 || n.Shrinks != 2 || n.Expands != 2 {
		t.Errorf("%+v", n)
	}
	leaderless := p.Changes[3].TimeMs - p.Changes[2].TimeMs
	if n.LeaderlessMs != leaderless || n.UnderMinISRMs == nil || *n.UnderMinISRMs != leaderless || n.Under != 1 || n.MinISR != 1 || n.MinISRSource != "topic config" {
		t.Errorf("leaderless %d ms, want %d; %+v", n.LeaderlessMs, leaderless, n)
	}
	u := p.Unclean[0]
	if u.Enabled != "true" || u.EnabledSource != "topic config" || !slices.Equal(u.Before.ELR, []int32{1}) {
		t.Errorf("%+v", u)
	}
	var words []string
	for i := range p.Changes {
		var prev *kraft.Change
		if i > 0 {
			prev = &p.Changes[i-1]
		}
		words = append(words, incident.Happened(prev, &p.Changes[i], p.UncleanAt(i)))
	}
	want := []string{
		"created; broker 1 leads",
		"broker 2 left the ISR",
		"nobody leads: broker 1 is gone; broker 1 left the ISR",
		"broker 2 elected UNCLEANLY: not in the ISR, not in the ELR; broker 2 joined the ISR",
		"broker 1 joined the ISR; the leader has recovered from the unclean election",
	}
	if d := cmp.Diff(want, words); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	brokers := map[int32]*incident.BrokerHistory{}
	for _, b := range h.Brokers {
		brokers[b.ID] = b
	}
	// Broker 2 joined at the creation and by its election.
	if b := brokers[2]; b.UncleanlyElected != 1 || b.LeaderGained != 1 || b.LeftISR != 1 || b.JoinedISR != 2 || b.Registered != 2 || b.Fenced != 1 {
		t.Errorf("broker 2: %+v", b)
	}
	if b := brokers[1]; b.LeaderLost != 1 || b.Registered != 2 || b.Last.Fenced {
		t.Errorf("broker 1: %+v", b)
	}

	// A window that holds the election alone.
	inc := openCase(t, incident.Options{}, below(fixture.Tree(t, "unclean-election"), "stage-c"))
	at := p.Changes[3].TimeMs
	h = theHistory(t, inc.Histories(incident.HistoryOptions{FromMs: at, ToMs: at + 1}))
	if n := h.Partitions[0].Churn; n.Elections != 1 || n.Unclean != 1 || n.Shrinks != 0 || n.LeaderlessMs != 0 || !h.Windowed() || len(h.Events) != 0 {
		t.Errorf("%+v, events %v", n, h.Events)
	}
}

// min.insync.replicas is not always in the metadata.
func TestUnderMinISRUnknown(t *testing.T) {
	tree := below(fixture.Tree(t, "kraft39-unclean-election"), "stage-b")
	inc := openCase(t, incident.Options{}, tree)
	known := map[string]bool{}
	for _, p := range theHistory(t, inc.Histories(incident.HistoryOptions{})).Partitions {
		known[p.Name] = p.Churn.UnderMinISRMs != nil
	}
	inc = openCase(t, incident.Options{MinISR: 2, MinISRSource: "--min-isr"}, tree)
	for _, p := range theHistory(t, inc.Histories(incident.HistoryOptions{})).Partitions {
		if p.Churn.UnderMinISRMs == nil {
			t.Errorf("%s: not known with --min-isr", p.Name)
		}
		if !known[p.Name] && p.Churn.MinISRSource != "--min-isr" {
			t.Errorf("%s: %+v", p.Name, p.Churn)
		}
	}
}

func TestZooKeeperHasNoHistory(t *testing.T) {
	hs := histories(t, below(fixture.Tree(t, "zk-unclean-election"), "stage-b"))
	if len(hs) != 1 || hs[0].Log != nil || len(hs[0].Partitions) != 0 {
		t.Errorf("%+v", hs)
	}
}

// Disks of two clusters have two histories.
func TestTwoClusters(t *testing.T) {
	tree := fstest.MapFS{}
	for _, name := range []string{"unclean-election", "divergence"} {
		for file, f := range below(fixture.Tree(t, name), "stage-b") {
			tree[name+"/"+file] = f
		}
	}
	hs := histories(t, tree)
	if len(hs) != 2 {
		t.Fatalf("%d histories", len(hs))
	}
	for _, h := range hs {
		for _, c := range h.Copies {
			if c.Line.ForkAt != -1 {
				t.Errorf("%s: %+v", c.Dir, c.Line)
			}
		}
		if len(h.Partitions) == 0 {
			t.Error("no partitions")
		}
	}
}

// Copies that contradict each other: under one cluster id, the logs of two clusters.
func TestForkIsNamed(t *testing.T) {
	tree := fstest.MapFS{}
	for file, f := range below(fixture.Tree(t, "unclean-election"), "stage-b") {
		tree[file] = f
	}
	other := below(fixture.Tree(t, "divergence"), "stage-a")
	const at = "broker-1/__cluster_metadata-0/00000000000000000000.log"
	tree[at] = other[at]
	h := theHistory(t, histories(t, tree))
	forks := 0
	for _, c := range h.Copies {
		if c.Line.ForkAt >= 0 {
			forks++
			if c.Line.Agreed {
				t.Errorf("%+v", c.Line)
			}
		}
	}
	if forks != 1 {
		t.Errorf("%d forks of %d copies", forks, len(h.Copies))
	}
}

// A damaged metadata log: other copies fill the hole, or the hole is told.
func TestDamagedMetadata(t *testing.T) {
	whole := below(fixture.Tree(t, "unclean-election"), "stage-b")
	want := theHistory(t, histories(t, whole)).Partitions[0]
	damage := func(tree fstest.MapFS, broker string) {
		name := broker + "/__cluster_metadata-0/00000000000000000000.log"
		f := *tree[name]
		f.Data = slices.Clone(f.Data)
		for i := 5000; i < 5400; i++ {
			f.Data[i] = 0xff
		}
		tree[name] = &f
	}
	one := below(fixture.Tree(t, "unclean-election"), "stage-b")
	damage(one, "broker-2")
	h := theHistory(t, histories(t, one))
	if len(h.Log.Gaps) != 0 {
		t.Errorf("gaps %v", h.Log.Gaps)
	}
	if d := cmp.Diff(len(want.Changes), len(h.Partitions[0].Changes)); d != "" {
		t.Error(d)
	}
	if u := h.Partitions[0].Unclean; len(u) != 1 || u[0].Lost != incident.LostYes {
		t.Errorf("%+v", u)
	}
	all := below(fixture.Tree(t, "unclean-election"), "stage-b")
	for _, b := range []string{"broker-1", "broker-2", "broker-3"} {
		damage(all, b)
	}
	h = theHistory(t, histories(t, all))
	if len(h.Log.Gaps) == 0 || h.Reach.From == 0 {
		t.Errorf("gaps %v, reach %+v", h.Log.Gaps, h.Reach)
	}
	if !slices.ContainsFunc(h.Events, func(e incident.MetadataEvent) bool { return e.Kind == incident.MetadataGap }) {
		t.Error("the gap is no event")
	}
	for i := range h.Partitions {
		if !h.Partitions[i].Churn.Gaps {
			t.Error("the totals do not say that they are the least")
		}
	}
}
