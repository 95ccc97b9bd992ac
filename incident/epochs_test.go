package incident_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/logdir"
)

// TestRecordedEpochs holds the leader epochs of every recording against what the
// recording says: kafka-dump-log for the batches, the file's own lines, and the
// forks that are known.
func TestRecordedEpochs(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			for stage, s := range readExpected(t, tree).Stages {
				got := stories(t, incident.Options{}, below(tree, stage))
				for part, want := range s.Partitions {
					if p := got[part]; p != nil {
						recordedEpochs(t, stage+" "+part, p, &want, name != "kip279-silent-fork") // its expected.json merges ranges that fall back
					}
				}
			}
		})
	}
}

func recordedEpochs(t *testing.T, at string, p *incident.Partition, want *expectedPartition, ranges bool) {
	e := p.Epochs()
	for _, err := range e.Errors {
		t.Errorf("%s: %v", at, err)
	}
	byDir := map[string]*incident.CopyEpochs{}
	for i := range e.Copies {
		byDir[e.Copies[i].Copy.Dir] = &e.Copies[i]
	}
	for _, r := range want.Replicas {
		c := byDir[r.Dir]
		if c == nil {
			continue // TestFixtures compares which directories there are
		}
		var batches [][3]int64
		for _, x := range c.Ranges {
			if x.InBatches {
				batches = append(batches, [3]int64{int64(x.Epoch), x.From, x.To})
			}
		}
		if d := cmp.Diff(r.BatchEpochs, batches); d != "" && ranges && len(r.BatchEpochs)+len(batches) > 0 {
			t.Errorf("%s %s: epochs in batches: %s", at, r.Dir, d)
		}
		var file [][2]int64
		for _, x := range c.Written {
			file = append(file, [2]int64{int64(x.Epoch), x.StartOffset})
		}
		if d := cmp.Diff(r.Checkpoint, file); d != "" && len(r.Checkpoint)+len(file) > 0 {
			t.Errorf("%s %s: leader-epoch-checkpoint: %s", at, r.Dir, d)
		}
		// Nobody damaged a recording: what differs is what healthy brokers leave behind.
		for _, d := range c.Differences {
			if !d.Legitimate {
				t.Errorf("%s %s: %s %d %d: %s", at, r.Dir, d.Kind, d.Epoch, d.StartOffset, d.Reason)
			}
		}
		if !c.Agree {
			t.Errorf("%s %s: does not agree", at, r.Dir)
		}
	}
	for _, d := range want.Divergences {
		if d.Kind != "epoch-fork" {
			continue
		}
		if !slices.ContainsFunc(e.Pairs, func(x incident.EpochPair) bool {
			return x.Parted && x.Offset == d.From && between(x, d.Sides[0].Broker, d.Sides[1].Broker)
		}) {
			t.Errorf("%s: the fork at %d between %v is not found: %v", at, d.From, d.Sides, pairsOf(e))
		}
	}
	forked := slices.ContainsFunc(want.Divergences, func(d expectedDivergence) bool { return d.Kind == "epoch-fork" })
	if parted := slices.ContainsFunc(e.Pairs, func(x incident.EpochPair) bool { return x.Parted }); parted && !forked && len(want.Divergences) == 0 {
		t.Errorf("%s: replicas parted, and they did not: %v", at, pairsOf(e))
	}
}

func between(x incident.EpochPair, a, b int32) bool {
	return x.A.Broker.ID == a && x.B.Broker.ID == b || x.A.Broker.ID == b && x.B.Broker.ID == a
}

func pairsOf(e *incident.Epochs) []string {
	var out []string
	for _, x := range e.Pairs {
		out = append(out, fmt.Sprintf("%s-%s %d@%d parted %v", x.A.Broker.Name, x.B.Broker.Name, x.Epoch, x.Offset, x.Parted))
	}
	return out
}

// differencesOf writes the differences of one directory as "kind EPOCH START",
// "!" before one that is not legitimate.
func differencesOf(c *incident.CopyEpochs) []string {
	var out []string
	for _, d := range c.Differences {
		s := fmt.Sprintf("%s %d %d", d.Kind, d.Epoch, d.StartOffset)
		if !d.Legitimate {
			s = "! " + s
		}
		out = append(out, s)
	}
	return out
}

// TestLegitimateDifferences: what the recordings show, and why it is no defect
// (kafka-format.md §5.9, §15).
func TestLegitimateDifferences(t *testing.T) {
	for _, tc := range []struct {
		recording, part, dir string
		want                 []string
	}{
		// A leader that wrote nothing, its entry still on disk after a clean stop.
		{"epoch-history/stage-a", "epochs-0", "broker-2/epochs-0", []string{"at-log-end 12 350"}},
		{"epoch-history/stage-a", "epochs-0", "broker-1/epochs-0", nil},
		// A follower that caught up from a leader that had been cleaned: 80 against 72.
		{"epoch-history/stage-a", "epochs-compact-0", "broker-2/epochs-compact-0", []string{
			"compacted-away 0 0", "compacted-away 1 24", "compacted-away 4 48", "compacted-away 5 80", "compacted-away 6 96", "compacted-away 9 120", "at-log-end 12 168", "later-start 5 80"}},
		// DeleteRecords moved the log start into an epoch.
		{"epoch-history/stage-a", "epochs-trimmed-0", "broker-1/epochs-trimmed-0", []string{"at-log-start 1 61"}},
		// Rebuilt from the leader's log start, which lies inside the first batch.
		{"replica-rebuild/stage-b", "d1.rebuild-0", "broker-3/d1.rebuild-0", []string{"at-log-start 0 607"}},
		// The first batches of the only epoch were cleaned.
		{"compaction/stage1-clean", "compact-plain-0", "broker-1/compact-plain-0", []string{"compacted-away 0 0", "at-log-end 1 144"}},
		// A directory on its way to deletion.
		{"reassigned-dirs/stage-c", "rd-dropped-0", "broker-1/d0/rd-dropped-0.ffe914e53f4d41e8961262c730a3552b-delete", []string{"file-empty -1 -1"}},
		// KIP-279: epoch 1 behind epoch 3.
		{"kip279-silent-fork/stage-c", "fork279-0", "broker-2/fork279-0", []string{"epoch-falls-back 1 70"}},
		// The leader by the metadata was killed before it could write under its epoch.
		{"unclean-election/stage-b", "unclean-demo-0", "broker-2/unclean-demo-0", nil},
	} {
		name, stage, _ := strings.Cut(tc.recording, "/")
		p := stories(t, incident.Options{}, below(fixture.Tree(t, name), stage))[tc.part]
		if p == nil {
			t.Fatalf("%s: no %s", tc.recording, tc.part)
		}
		e := p.Epochs()
		i := slices.IndexFunc(e.Copies, func(c incident.CopyEpochs) bool { return c.Copy.Dir == tc.dir })
		if i < 0 {
			t.Errorf("%s: no %s", tc.recording, tc.dir)
			continue
		}
		if d := cmp.Diff(tc.want, differencesOf(&e.Copies[i])); d != "" {
			t.Errorf("%s %s: %s", tc.recording, tc.dir, d)
		}
	}
}

// p1 is the log P1 of field-reports.md: 30 batches of 10 records, segments at 0,
// 100 and 200, epochs 0@0, 2@80, 3@150, 5@240.
func p1(file string) string {
	var b strings.Builder
	b.WriteString("broker 1 clusterid=x\ntopic orders-0 id=hF7bEvJ3TEm5wvFBX5mlPw\n")
	for base := int64(0); base < 300; base += 10 {
		if base%100 == 0 {
			fmt.Fprintf(&b, "segment %d\n", base)
		}
		e := 0
		for _, start := range []struct{ at, epoch int64 }{{80, 2}, {150, 3}, {240, 5}} {
			if base >= start.at {
				e = int(start.epoch)
			}
		}
		fmt.Fprintf(&b, "batch base=%d records=10 epoch=%d\n", base, e)
	}
	return b.String() + file + "\n"
}

// TestBrokenCheckpoints: the K1 cases of field-reports.md (public incidents), built
// as they describe them.
func TestBrokenCheckpoints(t *testing.T) {
	const whole = "epochs 0:0 2:80 3:150 5:240"
	legacy := "broker 1 clusterid=x\ntopic orders-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0\n" + strings.Repeat("message magic=1\n", 300)
	for _, tc := range []struct {
		name, spec string
		want       []string
		loaded     []epoch.Entry
	}{
		{"sound", p1(whole), nil, []epoch.Entry{{Epoch: 0}, {Epoch: 2, StartOffset: 80}, {Epoch: 3, StartOffset: 150}, {Epoch: 5, StartOffset: 240}}},
		{"BR-01a NUL bytes", p1("file leader-epoch-checkpoint zeros=64"), []string{"! file-malformed -1 -1"}, nil},
		{"BR-01b no number", p1("file leader-epoch-checkpoint hex=300a320a3020300a782038300a"), []string{"! file-malformed -1 -1"}, nil},
		{"BR-01c version 7", p1("file leader-epoch-checkpoint hex=370a310a3020300a"), []string{"! file-malformed -1 -1"}, nil},
		{"BR-01d a NUL byte behind", p1("file leader-epoch-checkpoint hex=300a310a3020300a00"), []string{"! file-malformed -1 -1"}, nil},
		{"BR-03a a leader that wrote nothing", p1(whole + " 7:300"), []string{"at-log-end 7 300"},
			[]epoch.Entry{{Epoch: 0}, {Epoch: 2, StartOffset: 80}, {Epoch: 3, StartOffset: 150}, {Epoch: 5, StartOffset: 240}}},
		{"BR-03b beyond the end", p1(whole + " 7:310"), []string{"! beyond-log-end 7 310"},
			[]epoch.Entry{{Epoch: 0}, {Epoch: 2, StartOffset: 80}, {Epoch: 3, StartOffset: 150}, {Epoch: 5, StartOffset: 240}}},
		{"BR-05a epochs fall", p1("epochs 5:100 4:120"),
			[]string{"! not-monotonic 5 100", "! inside-other-epoch 4 120", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 3 150", "! epoch-missing 5 240"}, []epoch.Entry{{Epoch: 4, StartOffset: 120}}},
		{"BR-05b equal starts", p1("epochs 4:100 5:100"),
			[]string{"! not-monotonic 4 100", "! inside-other-epoch 5 100", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 3 150"}, []epoch.Entry{{Epoch: 5, StartOffset: 100}}},
		{"BR-05c an epoch twice", p1("epochs 3:150 3:170"),
			[]string{"! not-monotonic 3 170", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 5 240"}, []epoch.Entry{{Epoch: 3, StartOffset: 150}}},
		{"BR-06 old format", legacy + "epochs 12:250", []string{"! file-on-old-format 12 250"}, []epoch.Entry{{Epoch: 12, StartOffset: 250}}},
		{"BR-08 epoch 0 missing", p1("epochs 2:80 3:150 5:240"), []string{"! epoch-missing 0 0"},
			[]epoch.Entry{{Epoch: 2, StartOffset: 80}, {Epoch: 3, StartOffset: 150}, {Epoch: 5, StartOffset: 240}}},
		{"BR-10 a rewrite failed", p1("epochs 0:0 2:80 3:150"), []string{"! epoch-missing 5 240"},
			[]epoch.Entry{{Epoch: 0}, {Epoch: 2, StartOffset: 80}, {Epoch: 3, StartOffset: 150}}},
		{"emptied", p1("epochs"), []string{"! file-empty -1 -1"}, []epoch.Entry{}},
		{"gone", p1(""), []string{"! file-absent -1 -1"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := stories(t, incident.Options{}, logtest.FS(t, tc.spec))["orders-0"].Epochs()
			if len(e.Copies) != 1 {
				t.Fatalf("%d copies", len(e.Copies))
			}
			c := &e.Copies[0]
			if d := cmp.Diff(tc.want, differencesOf(c)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.loaded, []epoch.Entry(c.Loaded)); d != "" && len(tc.loaded)+len(c.Loaded) > 0 {
				t.Errorf("as Kafka loads it: %s", d)
			}
			if want := !strings.Contains(strings.Join(tc.want, " "), "!"); c.Agree != want {
				t.Errorf("agree is %v", c.Agree)
			}
		})
	}
}

// TestSiblingFile: the new leader's file beside the old leader's log, as some
// guides advise: the entry `2 100` would keep 20 records that no other replica has.
func TestSiblingFile(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	tree["broker-1/unclean-demo-0/leader-epoch-checkpoint"] = tree["broker-2/unclean-demo-0/leader-epoch-checkpoint"]
	e := stories(t, incident.Options{}, tree)["unclean-demo-0"].Epochs()
	if d := cmp.Diff([]string{"! inside-other-epoch 2 100", "! sibling-file -1 -1"}, differencesOf(&e.Copies[0])); d != "" {
		t.Error(d)
	}
	if e.Copies[0].Agree || !e.Copies[1].Agree {
		t.Error("the wrong file agrees")
	}
}

// TestEqualFilesAreNoCopies: replicas in sync have equal files. A replica whose log
// lost batches in the middle has the right file, not another's.
func TestEqualFilesAreNoCopies(t *testing.T) {
	e := stories(t, incident.Options{}, below(fixture.Tree(t, "pairs"), "missing-middle-follower"))["epochs-0"].Epochs()
	if d := cmp.Diff([]string{"! batches-missing 5 180", "! batches-missing 6 220", "! batches-missing 9 250"}, differencesOf(&e.Copies[2])); d != "" {
		t.Error(d)
	}
}

// TestSuspectEpoch: a flipped epoch is named, and not taken for an election.
func TestSuspectEpoch(t *testing.T) {
	e := stories(t, incident.Options{}, below(fixture.Tree(t, "pairs"), "epoch-flipped-leader"))["lag-down-0"].Epochs()
	c := &e.Copies[1]
	want := []incident.SuspectEpoch{{From: 118, To: 127, Written: "3", Taken: "0"}}
	if d := cmp.Diff(want, c.Suspects); d != "" || c.SuspectCount != 1 || !c.Agree || len(c.Ranges) != 1 {
		t.Errorf("%s %+v", d, c)
	}
}

// TestSingleLogFile: a .log file given by its own PATH has no checkpoint to fit.
func TestSingleLogFile(t *testing.T) {
	dir := logtest.Dir(t, p1("epochs 0:0"))
	c, err := logdir.Discover([]string{filepath.Join(dir, "broker-1", "orders-0", logtest.LogName(0))}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range incident.Open(c, incident.Options{}).Partitions(context.Background()) {
		e := p.Epochs()
		if d := cmp.Diff([]string{"file-absent -1 -1"}, differencesOf(&e.Copies[0])); d != "" || !e.Copies[0].Agree {
			t.Error(d)
		}
		return
	}
	t.Error("no partition")
}

// TestElections: the elections of epoch-history as its README tells them, and the
// epochs in which nothing was written.
func TestElections(t *testing.T) {
	e := stories(t, incident.Options{}, below(fixture.Tree(t, "epoch-history"), "stage-a"))["epochs-0"].Epochs()
	var got []string
	for _, x := range e.Elections {
		got = append(got, fmt.Sprintf("%d:%d", x.Epoch, x.Leader))
		if x.Unclean || x.TimeMs <= 0 {
			t.Errorf("%+v", x)
		}
	}
	if d := cmp.Diff(strings.Fields("0:1 1:2 2:3 3:1 4:2 5:1 6:3 7:1 8:3 9:2 10:1 11:3 12:2"), got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{2, 3, 7, 8, 11, 12}, e.Unwritten); d != "" {
		t.Error(d)
	}
	for _, c := range e.Copies {
		for _, r := range c.Ranges {
			if r.InMetadata == nil || !*r.InMetadata {
				t.Errorf("epoch %d is not in the metadata", r.Epoch)
			}
		}
	}
	forced := stories(t, incident.Options{}, below(fixture.Tree(t, "unclean-election"), "stage-b"))["unclean-demo-0"].Epochs()
	if n := len(forced.Elections); n != 3 || !forced.Elections[2].Unclean || forced.Elections[1].Leader != -1 {
		t.Errorf("%+v", forced.Elections)
	}
}
