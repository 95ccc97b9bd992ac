package tui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"kafsck/internal/fixture"
)

// The right answers of a recording, as far as these tests look at them: the shapes of
// expected.json.
type expectedCase struct {
	Stages map[string]struct {
		Partitions map[string]expectedPartition `json:"partitions"`
	} `json:"stages"`
}

type expectedPartition struct {
	Leader   *int `json:"leader"`
	Replicas []struct {
		Broker         int    `json:"broker"`
		Dir            string `json:"dir"`
		State          string `json:"state"`
		LogStartOffset int64  `json:"logStartOffset"`
		LogEndOffset   int64  `json:"logEndOffset"`
		HighWatermark  *int64 `json:"highWatermark"`
	} `json:"replicas"`
	Divergences []struct {
		Kind     string `json:"kind"`
		From, To int64
	} `json:"divergences"`
	Losses []struct {
		From, To  *int64
		Records   *int64
		Committed string
		HeldBy    []int
	} `json:"losses"`
}

func expectedOf(t *testing.T, recording, stage, partition string) expectedPartition {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixture.Unpack(t, recording), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all expectedCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	x, ok := all.Stages[stage].Partitions[partition]
	if !ok {
		t.Fatalf("expected.json of %s has no %s of %s", recording, partition, stage)
	}
	return x
}

// onPartition puts the cursor of the overview on a partition and opens it; it returns
// how many keys that takes.
func onPartition(t *testing.T, s *sim, name string) int {
	t.Helper()
	i := s.app.world.indexOf(name)
	if i < 0 {
		t.Fatalf("no partition %s", name)
	}
	for range i {
		s.keys("j")
	}
	s.keys("enter")
	return i + 1
}

// From the overview to the bytes of the first lost record: two keys.
func TestToTheFirstLostRecord(t *testing.T) {
	want := expectedOf(t, "unclean-election", "stage-b", "unclean-demo-0")
	loss := want.Losses[0]
	s := newSim(t, 120, 40, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter") // the only partition
	s.sees(fmt.Sprintf("LOST: %d committed records: offsets %d–%d; still on broker %d", *loss.Records, *loss.From, *loss.To-1, loss.HeldBy[0]))
	s.sees(fmt.Sprintf("Broker %d rules", *want.Leader))
	sameReplicas(t, s, want)
	s.keys("enter") // the cursor stands on the first lost record
	s.sees(fmt.Sprintf("record %d", *loss.From), "onlyleader-1", "CRC ok")
}

// By the loss screen: three keys, and its proofs are on the way.
func TestLossWithEvidence(t *testing.T) {
	want := expectedOf(t, "unclean-election", "stage-b", "unclean-demo-0")
	loss := want.Losses[0]
	s := newSim(t, 120, 40, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter", "L")
	s.sees("100–199", "high-watermark   yes: broker 1's checkpointed high watermark is 200", "isr-history", "metadata offset 61", "still held by    broker 1 (live)")
	s.keys("enter")
	s.sees(fmt.Sprintf("record %d", *loss.From))
	s.keys("esc").sees("› loss")
}

// replicaRow is a row of the table of replicas.
var replicaRow = regexp.MustCompile(`(?m)^[› ][*A-Za-z!· ] (\d+) +(live|deleted|stray|future|delete|swap) +(\d+) +(\d+) +(\d+|none) `)

// sameReplicas compares the table with the replicas of expected.json.
func sameReplicas(t *testing.T, s *sim, want expectedPartition) {
	t.Helper()
	rows := replicaRow.FindAllStringSubmatch(s.view(), -1)
	if len(rows) != len(want.Replicas) {
		t.Fatalf("%d rows of replicas, want %d:\n%s", len(rows), len(want.Replicas), s.view())
	}
	for _, w := range want.Replicas {
		hw := "none"
		if w.HighWatermark != nil {
			hw = strconv.FormatInt(*w.HighWatermark, 10)
		}
		found := false
		for _, r := range rows {
			if r[1] == strconv.Itoa(w.Broker) && r[2] == w.State {
				found = true
				if r[3] != strconv.FormatInt(w.LogStartOffset, 10) || r[4] != strconv.FormatInt(w.LogEndOffset, 10) || r[5] != hw {
					t.Errorf("broker %d: shown %v, want %d %d %s", w.Broker, r[3:], w.LogStartOffset, w.LogEndOffset, hw)
				}
			}
		}
		if !found {
			t.Errorf("broker %d is not shown", w.Broker)
		}
	}
}

// From the overview to the fork, and to both sides of it in step: the partition's line,
// enter, d.
func TestToAFork(t *testing.T) {
	for _, x := range []struct{ stage, partition string }{
		{"stage-a", "div-tail-longer-0"}, {"stage-a", "div-tail-shorter-0"}, {"stage-b", "div-unclean-longer-0"}, {"stage-b", "div-unclean-shorter-0"},
	} {
		t.Run(x.stage+" "+x.partition, func(t *testing.T) {
			want := expectedOf(t, "divergence", x.stage, x.partition)
			fork := want.Divergences[0]
			s := newSim(t, 140, 40, openFixture(t, "divergence/"+x.stage)).settle()
			onPartition(t, s, x.partition)
			sameReplicas(t, s, want)
			s.sees(fmt.Sprintf("offset %d on broker", fork.From), fork.Kind+" with broker")
			s.keys("d")
			s.sees("Difference 1 of 1: "+fork.Kind, fmt.Sprintf("› %d", fork.From))
			v := s.view()
			if !strings.Contains(v, fmt.Sprintf("of %d–%d", want.Replicas[0].LogStartOffset, max(want.Replicas[0].LogEndOffset, want.Replicas[1].LogEndOffset)-1)) {
				t.Errorf("the range of the logs is not shown:\n%s", v)
			}
			s.keys("enter")
			s.sees(fmt.Sprintf("batch %d", fork.From))
		})
	}
}

// The differences of three replicas: two forks, each with its own pair.
func TestDiffPairs(t *testing.T) {
	want := expectedOf(t, "divergence", "stage-b", "div-multi-0")
	s := newSim(t, 140, 40, openFixture(t, "divergence/stage-b")).settle()
	onPartition(t, s, "div-multi-0")
	for _, l := range want.Losses {
		s.sees(fmt.Sprintf("%d–%d", *l.From, *l.To-1))
	}
	s.keys(":").text("diff 1 3").keys("enter")
	s.sees("broker 1, offsets 0–149", "broker 3 (rules), offsets 0–119", "Difference 1 of 1: epoch-fork: broker 1 has offsets 100–149 of epoch 2, broker 3 has offsets 100–119 of epoch 4.")
	s.keys("p")
	s.sees("broker 2, offsets 0–129", "broker 3")
	s.keys("p") // back to the first pair, which nobody judged: compared here
	s.sees("broker 1, offsets 0–149", "broker 2, offsets 0–129", "Difference 1 of 1: epoch-fork: broker 1 has offsets 100–149 of epoch 2, broker 2 has offsets 100–129 of epoch 3.")
	s.keys(":").text("diff 1 7").keys("enter").sees("Broker 7 has no copy of it")
}

// From the overview to an aborted transaction: its line, enter, T, a, and enter for its
// first record.
func TestToAnAbortedTransaction(t *testing.T) {
	s := newSim(t, 120, 40, openFixture(t, "transactions/stage2-clean")).settle()
	onPartition(t, s, "tx-orders-0")
	s.keys("T")
	aborted := map[int64]bool{}
	committed := 0
	for first, how := range transactionsOf(t, "tx-orders", 0) {
		switch how {
		case "aborted":
			aborted[first] = true
		case "committed":
			committed++
		}
	}
	s.sees(fmt.Sprintf("%d committed, %d aborted, 1 open.", committed, len(aborted)), "tx-app-3")
	s.keys("a")
	row := regexp.MustCompile(`(?m)^›. aborted +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) `).FindStringSubmatch(s.view())
	if row == nil {
		t.Fatalf("no aborted transaction is selected:\n%s", s.view())
	}
	if first, _ := strconv.ParseInt(row[3], 10, 64); !aborted[first] {
		t.Errorf("a transaction from offset %d is shown as aborted; the producers aborted those from %v", first, aborted)
	}
	s.keys("enter").sees("batch "+row[3], "record "+row[3])
	s.keys("esc", "e").sees("batch "+row[5], "ABORT")
	// All of them.
	s.keys("esc", "home")
	seen := map[int64]bool{}
	for range aborted {
		s.keys("a")
		m := regexp.MustCompile(`(?m)^›. aborted +\d+ +\d+ +(\d+) `).FindStringSubmatch(s.view())
		if m == nil {
			t.Fatal(s.view())
		}
		n, _ := strconv.ParseInt(m[1], 10, 64)
		seen[n] = true
	}
	for first := range aborted {
		if !seen[first] {
			t.Errorf("the aborted transaction from offset %d was not met", first)
		}
	}
	s.keys("a").sees("no further aborted transaction")
}

// transactionsOf is what the client of the recording did in a partition, by the first
// offset of each transaction: truth.json has every send with its offsets and with how
// its transaction was meant to end.
func transactionsOf(t *testing.T, topic string, partition int) (meant map[int64]string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixture.Unpack(t, "transactions"), "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Facts struct {
			Events []struct {
				Producer, Op, Intended string
				Send                   [][]any
			}
		}
	}
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	running := map[string]bool{} // producers with a record here in the transaction at hand
	meant = map[int64]string{}
	for _, e := range truth.Facts.Events {
		if e.Op != "" && e.Op != "sendOffsets" {
			delete(running, e.Producer)
		}
		for _, x := range e.Send {
			if x[0] == topic && x[1] == float64(partition) && !running[e.Producer] {
				running[e.Producer] = true
				meant[int64(x[2].(float64))] = e.Intended
			}
		}
	}
	return meant
}

// From the overview to the ISR change that made the loss possible, and to its record:
// enter, H, N (the cursor begins at the newest change, the unclean election), enter.
func TestToTheISRChange(t *testing.T) {
	s := newSim(t, 120, 40, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter", "H")
	s.sees("Unclean election of broker 2 for epoch 2 lost committed records.")
	row := func() []string {
		m := regexp.MustCompile(`(?m)^›. +(\d+) \S+ \S+ +(\d+) +(\d+|none) (\[[^\]]*\]) +(.*)$`).FindStringSubmatch(s.view())
		if m == nil {
			t.Fatalf("no change is selected:\n%s", s.view())
		}
		return m[1:]
	}
	if r := row(); r[0] != "201" || r[1] != "2" || r[2] != "2" || r[3] != "[2]" {
		t.Errorf("the unclean election is shown as %q", r)
	}
	s.keys("N")
	r := row()
	if r[0] != "61" || r[1] != "0" || r[2] != "1" || r[3] != "[1]" || !strings.Contains(r[4], "made the loss possible") {
		t.Errorf("the change that made the loss possible is shown as %q", r)
	}
	s.sees("from here on broker 2 was not in the ISR")
	// expected.json cites the same record: the ISR in force when the lost records were written.
	s.keys("enter").sees("history › records", "record 61")
	s.keys("esc").sees("› history")
}

// The last state of every partition is what the client saw (truth.json by expected.json).
func TestHistoryOfMetadata(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixture.Unpack(t, "unclean-three-replicas"), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all expectedCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for stage, x := range all.Stages {
		s := newSim(t, 120, 40, openFixture(t, "unclean-three-replicas/"+stage)).settle()
		for name, p := range x.Partitions {
			s.keys(":").text("history " + name).keys("enter")
			want := "At the end nobody leads"
			if p.Leader != nil {
				want = fmt.Sprintf("At the end broker %d leads", *p.Leader)
			}
			s.sees(want)
		}
	}
}

// Compacted logs: different batches, nothing of value differs, nothing is lost.
func TestCompactedReplicas(t *testing.T) {
	for _, stage := range []string{"stage1-clean", "stage2-killed"} {
		s := newSim(t, 120, 40, openFixture(t, "compaction/"+stage)).settle()
		for i := range s.app.world.refs {
			name := s.app.world.refs[i].Name
			if strings.HasPrefix(name, "__") {
				continue
			}
			want := expectedOf(t, "compaction", stage, name)
			if len(want.Losses)+len(want.Divergences) > 0 {
				t.Fatalf("%s has differences in expected.json", name)
			}
			s.keys(":").text("partition " + name).keys("enter")
			s.sees("OK: nothing is lost; the replicas agree.")
			sameReplicas(t, s, want)
			s.keys("d")
			if v := s.view(); strings.Contains(v, "Difference 1") || !strings.Contains(v, "No difference of value") && !strings.Contains(v, "The two logs hold the same") {
				t.Errorf("%s:\n%s", name, v)
			}
			s.keys("r", "G").sees(fmt.Sprintf("offset %d", want.Replicas[0].LogEndOffset-1))
			s.keys("g", "n").sees("no further difference")
		}
	}
}

// What predict leader says, from the incident's own values: who is best, who loses what.
func TestCandidateLeaders(t *testing.T) {
	s := newSim(t, 140, 40, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter", "C")
	// expected.json of stage-b: broker 2 rules and lacks 100–199, of which it wrote 100–119
	// anew; so under broker 1 these 20 are lost, and both cut to 100.
	s.sees("NO SAFE LEADER", "least loss under broker 1", "broker 2         truncates from 120 to 100, below its high watermark 120: 20 records")
	s.keys("j").sees("100 committed records: offsets 100–199 (held by broker 1)", "broker 1         truncates from 200 to 100")
	s.keys("enter").sees("If broker 2 leads", "100–199").keys("enter").sees("record 100")
	s.keys("esc", "esc", "k", "enter").sees("If broker 1 leads, in epoch ", ": 20 committed records lost.", "100–119")
}

func TestNextStart(t *testing.T) {
	s := newSim(t, 140, 40, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter", "S")
	s.sees("KEEP STOPPED: broker 1", "then follows broker 2 and cuts its log from 200 to 100; the leader lacks offsets 100–199 (committed: yes)")
	s.keys("enter").sees("00000000000000000000.log")
	s.keys("esc", ":").text("start").keys("enter").sees("broker 1", "__cluster_metadata-0")
}

// Every screen of a partition names the command that gives the same as text or JSON.
func TestTwinVerbs(t *testing.T) {
	s := newSim(t, 100, 30, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter")
	if got, want := s.app.top().screen.command(), "kafsck '' --partition unclean-demo-0"; got != want && got != "kafsck  --partition unclean-demo-0" {
		t.Errorf("partition: %s", got)
	}
	for key, verb := range map[string]string{"d": "diff", "L": "loss", "C": "predict leader", "H": "history", "S": "predict start", "T": "txns"} {
		s.keys(key)
		got := s.app.top().screen.command()
		if !strings.HasPrefix(got, "kafsck "+verb+" ") || !strings.Contains(got, "--partition unclean-demo-0") {
			t.Errorf("%s: %s", key, got)
		}
		s.keys("esc")
	}
}

// Zoom and goto keep the cursor, and every offset stays reachable.
func TestZoom(t *testing.T) {
	s := newSim(t, 80, 24, openFixture(t, "unclean-election/stage-b")).settle()
	s.keys("enter", ":").text("goto 150").keys("enter").sees("offset 150 on broker 1: epoch 0")
	for range 10 {
		s.keys("+")
	}
	s.sees("offset 150 on broker 1")
	s.keys("right").sees("offset 151 on broker 1")
	s.keys("left", "left").sees("offset 149 on broker 1")
	s.keys("0", "home").sees("offset 0 on broker 1")
	s.keys("G").sees("behind its log end")
	s.keys("N").sees("offset 120 on broker 2")
	s.keys(":").text("epoch 2").keys("enter").sees("offset 100 on broker 2: epoch 2")
	s.keys(":").text("goto 500").keys("enter").sees("the logs hold offsets 0–199")
}

// On the smallest screen and with everything too long, lines fit.
func TestStoryScreensFit(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {43, 17}} {
		s := newSim(t, size[0], size[1], openFixture(t, "divergence/stage-b")).settle()
		s.keys("enter")
		check := func(what string) {
			t.Helper()
			lines := strings.Split(s.app.View(), "\n")
			if len(lines) > size[1] {
				t.Errorf("%v %s: %d lines", size, what, len(lines))
			}
			for _, l := range lines {
				if width(l) > size[0] {
					t.Errorf("%v %s: a line of %d cells", size, what, width(l))
				}
			}
		}
		check("partition")
		s.keys("tab")
		check("table")
		for _, key := range []string{"d", "L", "C", "S", "H", "T"} {
			s.keys(key)
			check(key)
			s.keys("tab", "G", "g")
			check(key + " tab")
			s.keys("esc")
		}
	}
}

// Whatever is typed on the screens of a partition, with works that end late and windows
// that change, nothing breaks.
func TestRandomKeysOnStories(t *testing.T) {
	open := openFixture(t, "divergence/stage-b")
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 66))
		s := newSim(t, 80, 24, open).settle()
		s.keys("enter")
		for range 150 {
			var names []string
			for _, b := range append(s.app.top().screen.bindings(), globalKeys...) {
				if b.in != quit && b.in != suspend && b.in != stopWork && b.in != openCommand && b.in != openSave {
					names = append(names, b.keys...)
				}
			}
			s.held = r.IntN(2) == 0
			s.keys(names[r.IntN(len(names))])
			if r.IntN(15) == 0 {
				s.send(tea.WindowSizeMsg{Width: 40 + r.IntN(90), Height: 10 + r.IntN(30)})
			}
			if c := s.app.crashed; c != nil {
				t.Fatalf("seed %d: %v\n%s", seed, c.value, c.stack)
			}
			checkFrame(t, s)
		}
		s.held = false
		s.settle()
	}
}

// One disk alone: no all-clear over what is not here.
func TestOneReplicaAlone(t *testing.T) {
	s := newSim(t, 160, 30, openDir(filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b", "broker-1"))).settle()
	s.keys("enter").sees("one live replica alone is here")
	s.keys("C").sees("What brokers [2] hold is not known")
	s.keys("esc", "d").sees("fewer than two copies")
}
