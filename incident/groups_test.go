package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internaltopic"
	"kafsck/logdir"
)

// openStage opens one folder of brokers of a recording.
func openStage(t *testing.T, elem ...string) *incident.Incident {
	t.Helper()
	c, err := logdir.Discover([]string{filepath.Join(elem...)}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return incident.Open(c, incident.Options{Match: func(string, int32) bool { return false }})
}

type committed struct {
	Offset      int64  `json:"offset"`
	Metadata    string `json:"metadata"`
	LeaderEpoch int32  `json:"leaderEpoch"`
}

type internalTruth struct {
	OldBrokers map[string]struct {
		Commits map[string][][]any
	}
	CommittedOffsets     map[string]map[string]map[string]committed
	DescribeTransactions map[string]string
}

func readTruth(t *testing.T, root string) internalTruth {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth internalTruth
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	return truth
}

func positionsOf(g *incident.Groups) map[string]map[string]committed {
	out := map[string]map[string]committed{}
	for _, c := range g.AllPositions() {
		if c.Deleted {
			continue
		}
		if out[c.Group] == nil {
			out[c.Group] = map[string]committed{}
		}
		out[c.Group][fmt.Sprintf("%s-%d", c.Topic, c.Partition)] = committed{c.Offset, c.Metadata, c.LeaderEpoch}
	}
	return out
}

// TestGroupPositions: what the brokers answered to listConsumerGroupOffsets before the kill
// and after the restart. The aborted transactional commit does not show, nor do deleted ones.
func TestGroupPositions(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	truth := readTruth(t, root)
	for stage, moment := range map[string]string{"stage1-killed": "before-kill", "stage2-clean": "after-restart"} {
		g := openStage(t, root, stage).Groups(context.Background())
		if len(g.Errors) > 0 || len(g.Undecoded) > 0 {
			t.Errorf("%s: errors %v, undecoded %v", stage, g.Errors, g.Undecoded)
		}
		if d := cmp.Diff(truth.CommittedOffsets[moment], positionsOf(g)); d != "" {
			t.Errorf("%s: -broker +kafsck\n%s", stage, d)
		}
		if p := g.PendingCommits(); len(p) != 0 {
			t.Errorf("%s: pending %+v", stage, p)
		}
		for _, c := range g.Commits("clicks", 0) {
			if c.Metadata == "abort" || c.Pending {
				t.Errorf("%s: the aborted commit is there: %+v", stage, c)
			}
		}
	}
}

// TestGroupCommits: every commit that the clients of any version made is there, not only the
// newest of a key.
func TestGroupCommits(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	truth := readTruth(t, root)
	if len(truth.OldBrokers) != 5 {
		t.Fatalf("%d old brokers", len(truth.OldBrokers))
	}
	for version, old := range truth.OldBrokers {
		g := openStage(t, root, "old-"+version).Groups(context.Background())
		want, got := map[string][]string{}, map[string][]string{}
		last := map[string]map[string]committed{}
		for group, list := range old.Commits {
			last[group] = map[string]committed{}
			for _, c := range list {
				want[group] = append(want[group], fmt.Sprint(c...))
				last[group][fmt.Sprintf("%v-%v", c[0], c[1])] = committed{int64(c[2].(float64)), c[3].(string), -1}
			}
		}
		for _, topic := range []string{"old_a", "old_b"} {
			for _, c := range g.Commits(topic, 0) {
				got[c.Group] = append(got[c.Group], fmt.Sprint(c.Topic, float64(c.Partition), float64(c.Offset), c.Metadata))
				if c.CommitMs < 1e12 || c.AtMs < 1e12 {
					t.Errorf("%s: %+v has no time", version, c)
				}
			}
		}
		for _, list := range []map[string][]string{want, got} {
			for k := range list {
				slices.Sort(list[k])
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -clients +kafsck\n%s", version, d)
		}
		if d := cmp.Diff(last, positionsOf(g)); d != "" {
			t.Errorf("%s: -clients +kafsck\n%s", version, d)
		}
	}
}

// TestGroupStates: members, generations and epochs as truth.json facts and the dumps say.
func TestGroupStates(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	describe := func(stage string) map[string]string {
		out := map[string]string{}
		for _, s := range openStage(t, root, stage).Groups(context.Background()).States {
			text := fmt.Sprintf("%s %s epoch %d target %d %s/%s", s.Kind, s.State, s.Epoch, s.TargetEpoch, s.ProtocolType, s.Protocol)
			for _, m := range s.Members {
				var parts []string
				for _, a := range m.Assigned {
					parts = append(parts, fmt.Sprintf("%s%v", a.Topic, a.Partitions))
				}
				text += fmt.Sprintf("; %s %q %s %d leader %t topics %v regex %q: %s", m.ClientID, m.InstanceID, m.ClientHost, m.Epoch, m.Leader, m.Topics, m.Regex, strings.Join(parts, " "))
			}
			out[s.Group] = text
		}
		return out
	}
	classic := `classic Stable epoch 2 target -1 consumer/range; c1 "" /127.0.0.1 2 leader true topics [clicks views] regex "": clicks[2]; c2 "static-1" /127.0.0.1 2 leader false topics [clicks views] regex "": clicks[0 1] views[0]`
	for stage, want := range map[string]map[string]string{
		"stage1-killed": {
			"grp-classic": classic,
			"grp-new":     `consumer Stable epoch 4 target 4 /; n1 "" /127.0.0.1 4 leader false topics [clicks views] regex "": views[0] clicks[0 1 2]`,
			"grp-regex":   `consumer Stable epoch 2 target 2 /; rx "" /127.0.0.1 2 leader false topics [] regex "cl.*|vi.*": views[0] clicks[0 1 2]`,
			"grp-share":   `share Stable epoch 3 target 3 /; consumer-grp-share-4 "" /127.0.0.1 3 leader false topics [views] regex "": views[0]`,
			"grp-gone":    `classic Dead epoch -1 target -1 /`,
		},
		// The members that closed left at once but for those of the classic group: no record was
		// written for it before the broker stopped.
		"stage2-clean": {
			"grp-classic": classic,
			"grp-new":     `consumer Empty epoch 5 target 4 /`,
			"grp-regex":   `consumer Empty epoch 3 target 2 /`,
			"grp-share":   `share Empty epoch 4 target 3 /`,
			"grp-gone":    `classic Dead epoch -1 target -1 /`,
		},
	} {
		if d := cmp.Diff(want, describe(stage)); d != "" {
			t.Errorf("%s: -facts and dump +kafsck\n%s", stage, d)
		}
	}
}

// TestGroupsAsOf: positions inside the log's history, by offset and by time.
func TestGroupsAsOf(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	inc := openStage(t, root, "stage2-clean")
	at := func(a incident.AsOf) map[string]committed {
		return positionsOf(inc.GroupsAsOf(context.Background(), a))["grp-simple"]
	}
	// By the dump of __consumer_offsets-0: step 1, 2, 3 at offsets 0, 1, 2.
	for offset, want := range map[int64]int64{1: 3, 2: 6, 3: 9, 100: 9} {
		if got := at(incident.AsOf{Bounded: true, Offset: offset})["views-0"].Offset; got != want {
			t.Errorf("as of offset %d: %d, want %d", offset, got, want)
		}
	}
	if got := at(incident.AsOf{Bounded: true}); len(got) != 0 {
		t.Errorf("as of offset 0: %v", got)
	}
	if got := at(incident.AsOf{TimeMs: 1796004688015})["views-0"].Offset; got != 6 {
		t.Errorf("as of the second commit: %d", got)
	}
	if got := at(incident.AsOf{TimeMs: 1796004688014})["views-0"].Offset; got != 3 {
		t.Errorf("a millisecond before: %d", got)
	}
}

// TestTransactionLog: what describeTransactions answered.
func TestTransactionLog(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	truth := readTruth(t, root)
	check := func(name string, l *incident.TransactionLog, want map[string]string) {
		t.Helper()
		if len(l.Errors) > 0 || len(l.Undecoded) > 0 {
			t.Errorf("%s: errors %v, undecoded %v", name, l.Errors, l.Undecoded)
		}
		for id, text := range want {
			list := l.ByID(id)
			if len(list) == 0 {
				t.Errorf("%s: no %s", name, id)
				continue
			}
			x := list[len(list)-1]
			start := "OptionalLong.empty"
			if x.StartMs >= 0 {
				start = fmt.Sprintf("OptionalLong[%d]", x.StartMs)
			}
			prefix := fmt.Sprintf("state=%s, producerId=%d, producerEpoch=%d, transactionTimeoutMs=%d, transactionStartTimeMs=%s", x.Status, x.ProducerID, x.ProducerEpoch, x.TimeoutMs, start)
			if !strings.Contains(text, prefix) {
				t.Errorf("%s: %s is %s, the broker said %s", name, id, prefix, text)
			}
		}
	}
	check("internal-topics", openStage(t, root, "stage2-clean").TransactionLog(context.Background()), truth.DescribeTransactions)

	root = fixture.Unpack(t, "transactions")
	b, err := os.ReadFile(filepath.Join(root, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var client struct {
		Client map[string]struct{ DescribeTransactions map[string]string }
	}
	if err := json.Unmarshal(b, &client); err != nil {
		t.Fatal(err)
	}
	for stage, moment := range map[string]string{"stage1-killed": "before-kill", "stage2-clean": "after-recovery", "stage3-resolved-clean": "stage3-resolved"} {
		want := client.Client[moment].DescribeTransactions
		if len(want) == 0 {
			t.Fatalf("nothing for %s", moment)
		}
		l := openStage(t, root, stage).TransactionLog(context.Background())
		check(stage, l, want)
		for _, x := range l.ByID("tx-app-3") {
			if stage == "stage1-killed" && x.Status == internaltopic.TransactionOngoing && !x.Has("tx-orders", 0) {
				t.Errorf("partitions of the open transaction: %v", x.Partitions)
			}
		}
	}
}

// TestRemoteSegments: each object in the remote store belongs to a segment whose last state
// is a finished copy, and nothing else does. (LocalTieredStorage keeps files by id.)
func TestRemoteSegments(t *testing.T) {
	root := fixture.Unpack(t, "tiered")
	r := openStage(t, root, "stage2-clean").RemoteSegments(context.Background())
	if len(r.Segments) == 0 || len(r.Errors) > 0 || len(r.Undecoded) > 0 {
		t.Fatalf("%d segments, %v, %v", len(r.Segments), r.Errors, r.Undecoded)
	}
	stored := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "stage2-clean", "tiered"), func(p string, d os.DirEntry, err error) error {
		if err == nil && path.Ext(p) == ".log" {
			base := strings.TrimSuffix(filepath.Base(p), ".log")
			_, id, _ := strings.Cut(base, "-")
			stored[id] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, s := range r.Segments {
		if s.Held() {
			held[s.ID.String()] = true
			if s.From >= s.To || len(s.Epochs) == 0 {
				t.Errorf("%+v", s)
			}
		}
	}
	if d := cmp.Diff(stored, held); d != "" {
		t.Errorf("-store +log\n%s", d)
	}
}
