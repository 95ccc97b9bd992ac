package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/internal/logtest"
	"kafsck/repair"
)

// TestRepairedK1 damages P1 as the field reports of kind K1 tell, regenerates, and
// has Kafka load the result: it holds what the undamaged directory yields; nothing
// where no batch has an epoch.
func TestRepairedK1(t *testing.T) {
	made := t.TempDir()
	if out, err := exec.Command("python3", "../../shared/cases/make.py", filepath.Join(sharedFixtures, "base"), made).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var cases []string
	for _, pattern := range []string{"BR-01*", "BR-03*", "BR-05*", "BR-06*", "BR-08*", "BR-10*"} {
		found, err := filepath.Glob(filepath.Join(made, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no case %s (%v)", pattern, err)
		}
		cases = append(cases, found...)
	}
	undamaged := filepath.Join(made, "undamaged")
	copyTree(t, filepath.Join(sharedFixtures, "base", "P1"), undamaged, everything)
	for _, dir := range cases {
		for host, p := range planAll(t, repair.EpochOptions{}, dir) {
			name := filepath.Base(dir)
			if p.plan.Changed == strings.HasPrefix(name, "BR-03") {
				t.Errorf("%s: changed %t", name, p.plan.Changed)
			}
			if strings.HasPrefix(name, "BR-03") && len(p.plan.Refused) != 1 {
				t.Errorf("%s: the entry without batches is not named: %v", name, p.plan.Refused)
			}
			if err := os.WriteFile(filepath.Join(host, epochsName), p.plan.Text(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	answers := loadCaches(t, append([]string{undamaged}, cases...), func(string) bool { return false })
	for i, dir := range cases {
		want, got := answers[0], answers[i+1]
		if filepath.Base(dir) == "BR-06" {
			want.clean = map[string]entries{"orders-0": {}}
			want.killed = want.clean
		}
		if len(got.clean) != 1 {
			t.Errorf("%s: Kafka loaded %d partitions", dir, len(got.clean))
		}
		for name := range got.clean {
			if fmt.Sprint(got.clean[name], got.killed[name]) != fmt.Sprint(want.clean["orders-0"], want.killed["orders-0"]) {
				t.Errorf("%s: Kafka holds %v and, when killed, %v; undamaged %v", filepath.Base(dir), got.clean[name], got.killed[name], want.clean["orders-0"])
			}
		}
	}
	t.Logf("%d cases", len(cases))
}

func everything(string, fs.DirEntry) bool { return true }

// follower is one replica that starts as the follower of another.
type follower struct {
	name             string
	leader, own      epoch.Cache
	leaderEnd, end   int64
	want             int64 // offset to which it must truncate
	poisoned         epoch.Cache
	wantWhenPoisoned int64 // -1: not checked
}

// truncate plays truncate-on-fetch (kafka-format.md §6.3, §6.2) with Kafka's
// LeaderEpochFileCache answering on both sides, all pairs in step.
func truncate(t *testing.T, pairs []follower) []int64 {
	t.Helper()
	type state struct {
		end  int64
		own  epoch.Cache
		done bool
	}
	states := make([]state, len(pairs))
	for i, p := range pairs {
		states[i] = state{end: p.end, own: p.own}
	}
	// ask asks one cache of each pair where an epoch ends.
	ask := func(of func(i int) (epoch.Cache, int32, int64)) (answers [][2]int64) {
		var requests []any
		for i := range pairs {
			c, e, end := of(i)
			requests = append(requests, epochScript{File: string(checkpoint.FormatEpochs(c)), Ops: [][]any{{"endOffsetFor", e, end}}})
		}
		for _, raw := range oracle(t, []string{"epochs"}, requests) {
			var a struct{ Results []struct{ Result [2]int64 } }
			if err := json.Unmarshal(raw, &a); err != nil || len(a.Results) != 1 {
				t.Fatalf("%v: %s", err, raw)
			}
			answers = append(answers, a.Results[0].Result)
		}
		return answers
	}
	for range 4 {
		leader := ask(func(i int) (epoch.Cache, int32, int64) {
			return pairs[i].leader, states[i].own.Latest(), pairs[i].leaderEnd
		})
		own := ask(func(i int) (epoch.Cache, int32, int64) { return states[i].own, int32(leader[i][0]), states[i].end })
		busy := false
		for i := range states {
			s, le, lo, fe, fo := &states[i], leader[i][0], leader[i][1], own[i][0], own[i][1]
			if s.done || lo < 0 || le >= int64(s.own.Latest()) && lo >= s.end {
				s.done = true
				continue
			}
			busy = true
			switch {
			case fo < 0:
				s.end = min(lo, s.end)
			case fe != le:
				s.end = min(fo, s.end)
			default:
				s.end = min(fo, lo, s.end)
			}
			s.own = s.own.TruncateFromEnd(s.end)
		}
		if !busy {
			break
		}
	}
	var out []int64
	for _, s := range states {
		out = append(out, s.end)
	}
	return out
}

// TestRepairedForks: a replica whose epoch file was overwritten with the other
// line's does not take its entries again, and truncates as a follower to where the
// lines part, for every fork of two recordings and in both directions.
func TestRepairedForks(t *testing.T) {
	var pairs []follower
	for _, recording := range []string{"unclean-election", "divergence"} {
		b, err := os.ReadFile(filepath.Join(sharedFixtures, recording, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var expected struct {
			Stages map[string]struct {
				Partitions map[string]struct {
					Divergences []struct {
						Kind  string
						From  int64
						Sides []struct{ Broker int }
					}
				}
			}
		}
		if err := json.Unmarshal(b, &expected); err != nil {
			t.Fatal(err)
		}
		for _, stage := range slices.Sorted(maps.Keys(expected.Stages)) {
			for _, partition := range slices.Sorted(maps.Keys(expected.Stages[stage].Partitions)) {
				for _, d := range expected.Stages[stage].Partitions[partition].Divergences {
					if d.Kind != "epoch-fork" {
						continue
					}
					for i := range d.Sides {
						p := poisonedFork(t, filepath.Join(recording, stage), partition, d.Sides[i].Broker, d.Sides[1-i].Broker)
						p.want = d.From
						if recording == "unclean-election" && stage == "stage-b" && d.Sides[i].Broker == 1 {
							p.wantWhenPoisoned = 120
						}
						pairs = append(pairs, p)
					}
				}
			}
		}
	}
	if len(pairs) < 10 {
		t.Fatalf("%d followers only", len(pairs))
	}
	for i, got := range truncate(t, pairs) {
		if got != pairs[i].want {
			t.Errorf("%s: truncates to %d, want %d", pairs[i].name, got, pairs[i].want)
		}
	}
	for i := range pairs {
		pairs[i].own = pairs[i].poisoned
	}
	wrong := 0
	for i, got := range truncate(t, pairs) {
		if w := pairs[i].wantWhenPoisoned; w >= 0 && got != w {
			t.Errorf("%s, not repaired: truncates to %d, want %d", pairs[i].name, got, w)
		}
		if got != pairs[i].want {
			wrong++
		}
	}
	t.Logf("%d followers truncate right; %d of them wrong with the other line's file", len(pairs), wrong)
}

// poisonedFork overwrites a replica's epoch file with the leader's and regenerates
// it beside the leader's directory.
func poisonedFork(t *testing.T, stage, partition string, broker, leader int) follower {
	t.Helper()
	root := t.TempDir()
	dirs := map[int]string{}
	for _, b := range []int{broker, leader} {
		name := fmt.Sprintf("broker-%d", b)
		copyTree(t, filepath.Join(sharedFixtures, stage, name), filepath.Join(root, name), func(rel string, d fs.DirEntry) bool {
			top, _, below := strings.Cut(rel, "/")
			return !below && !d.IsDir() || top == partition || top == "__cluster_metadata-0"
		})
		dirs[b] = filepath.Join(root, name, partition)
	}
	bytes, err := os.ReadFile(filepath.Join(dirs[leader], epochsName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[broker], epochsName), bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	plans := planAll(t, repair.EpochOptions{}, root)
	own, other := plans[dirs[broker]].plan, plans[dirs[leader]].plan
	name := fmt.Sprintf("%s %s broker %d after broker %d", stage, partition, broker, leader)
	foreign := 0
	for _, e := range other.Cache() {
		if e.StartOffset >= own.LogEnd || slices.Contains(own.Cache(), e) {
			continue
		}
		foreign++
		if !slices.ContainsFunc(own.Refused, func(r repair.RefusedEntry) bool { return r.Source == repair.Sibling && r.Entry == e }) {
			t.Errorf("%s: %v of the other line is not refused: %v", name, e, own.Refused)
		}
	}
	if foreign > 0 && len(own.Notes) == 0 {
		t.Errorf("%s: that the file is the other replica's is not named", name)
	}
	// A leader records its own epoch when it is elected.
	elected := max(own.Cache().Latest(), other.Cache().Latest()) + 1
	return follower{name: name, leader: other.Cache().Assign(elected, other.LogEnd), own: own.Cache(), leaderEnd: other.LogEnd, end: own.LogEnd,
		poisoned: epoch.Load(checkpoint.ParseEpochs(bytes).Entries).TruncateFromEnd(own.LogEnd), wantWhenPoisoned: -1}
}

// TestRepairedLogStart: where the log start is the log end, or beyond it, Kafka
// holds with the old file and with the regenerated one what stands here.
func TestRepairedLogStart(t *testing.T) {
	const (
		log   = "segment 0 ; batch records=30 epoch=0 ; batch records=30 epoch=2 ; batch records=20 epoch=5 ; batch records=20 epoch=5\n"
		at100 = "[[5 100]]"
	)
	cases := []struct{ text, old, fresh string }{
		{log + "logstart 100 ; epochs 0:0 2:30 5:60", at100, at100},
		{log + "logstart 100 ; epochs 5:60", at100, at100},
		{log + "logstart 100", "[]", at100},
		{log + "logstart 100 ; epochs 0:0 2:30", "[[2 100]]", at100},
		{log + "logstart 100 ; epochs 0:0 2:30 5:60 8:100", at100, at100},
		{log + "logstart 100 ; epochs 5:100", "[]", "[]"},
		{log + "logstart 100 ; epochs 8:100", "[]", "[]"},
		{log + "logstart 100 ; epochs 3:100", "[]", at100},
		{log + "logstart 99 ; epochs 0:0 2:30 5:60", "[[5 99]]", "[[5 99]]"},
		{log + "logstart 99", "[]", "[[5 99]]"},
		{log + "logstart 60 ; epochs 0:0 2:30 5:60", "[[5 60]]", "[[5 60]]"},
		{"segment 100\nlogstart 100 ; epochs 1:0 5:60", at100, at100},
		{"segment 100\nepochs 1:0 5:60", "[[1 0] [5 60]]", "[[1 0] [5 60]]"},
		{"segment 100\nlogstart 100 ; epochs 5:100", "[]", "[]"},
		{"\nlogstart 100 ; epochs 1:0 5:60", at100, at100}, // no segment
		{log + "logstart 101 ; epochs 0:0 2:30 5:60", "[]", "[]"},
		{log + "logstart 450 ; epochs 5:450", "[]", "[]"},
		{log + "logstart -5 ; epochs 0:0 2:30 5:60", "[[0 0] [2 30] [5 60]]", "[[0 0] [2 30] [5 60]]"},
		{log + "logstart -5", "[]", "[[0 0] [2 30] [5 60]]"},
	}
	text := "broker 1 clusterid=AAAAAAAAAAAAAAAAAAAAAg\n"
	for i, c := range cases {
		text += fmt.Sprintf("topic s%d-0 id=AAAAAAAAAAAAAAAA%04dAA ; %s\nhw 100 ; recovery 100\n", i, i, c.text)
	}
	dir := filepath.Join(logtest.Dir(t, text), "broker-1")
	withIndexes(t, dir)
	fresh, lowered := filepath.Join(t.TempDir(), "broker-1"), filepath.Join(t.TempDir(), "broker-1")
	copyTree(t, dir, fresh, everything)
	for host, p := range planAll(t, repair.EpochOptions{}, dir) {
		if err := os.WriteFile(filepath.Join(fresh, filepath.Base(host), epochsName), p.plan.Text(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copyTree(t, fresh, lowered, func(rel string, _ fs.DirEntry) bool { return rel != "log-start-offset-checkpoint" })
	answers := loadCaches(t, []string{dir, fresh, lowered}, func(string) bool { return false })
	for i, c := range cases {
		name := fmt.Sprintf("s%d-0", i)
		if got := fmt.Sprint(answers[0].clean[name]); got != c.old {
			t.Errorf("%s, old: Kafka holds %s, want %s", c.text, got, c.old)
		}
		if got := fmt.Sprint(answers[1].clean[name], answers[1].killed[name]); got != c.fresh+" "+c.fresh {
			t.Errorf("%s, new: Kafka holds %s, want %s twice", c.text, got, c.fresh)
		}
		// With the line gone the epochs of all batches are there again.
		if strings.Contains(c.text, "logstart 101") || strings.Contains(c.text, "logstart 450") {
			if got := fmt.Sprint(answers[2].clean[name]); got != "[[0 0] [2 30] [5 60]]" {
				t.Errorf("%s: without that line Kafka holds %s", c.text, got)
			}
		}
	}
}
