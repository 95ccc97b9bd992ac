package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forks are those of live/forks.py. fork is a topic with one partition on brokers 1 and 2 and what is written to it when: base
// on both, then by broker 1 alone, then, after an unclean election, by broker 2 alone.
type fork struct {
	topic              string
	base, alone, after int
}

var forks = []fork{
	{"longer", 40, 60, 15},  // the loser's log is the longer one
	{"shorter", 55, 10, 35}, // the loser's log is the shorter one
	{"even", 20, 25, 25},    // both end at the same offset
	{"silent", 30, 20, 0},   // the winner writes nothing: its epoch begins at its end
	{"behind", 35, 0, 0},    // no fork at all
	// The old leader's leader-epoch-checkpoint is damaged before it comes back, and then:
	{"regenerated", 30, 25, 10},
	{"emptied", 30, 25, 10},
}

// scenario is live/forks.py under way.
type scenario struct {
	t    *testing.T
	root string
	in   io.Writer
	out  *bufio.Reader
}

// startScenario starts the brokers and waits until the forks are made. way: "kill" or "stop", how broker 1
// goes.
func startScenario(t *testing.T, port int, way string) *scenario {
	t.Helper()
	libs, err := filepath.Abs("target/lab")
	if err != nil {
		t.Fatal(err)
	}
	const lab = "../../shared/lab"
	for _, needed := range []string{libs, lab + "/kafkalab.py"} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: run.sh fetches the jars for the lab that lies beside the clone", err)
		}
	}
	s := &scenario{t: t, root: t.TempDir()}
	cmd := exec.Command("python3", "live/forks.py", lab, libs, s.root, fmt.Sprint(port), way)
	cmd.Stderr = os.Stderr
	in, out := startPiped(t, cmd)
	s.in, s.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		in.Close() // then it ends, and stops the brokers
		if err := cmd.Wait(); err != nil {
			t.Errorf("live/forks.py: %v", err)
		}
	})
	s.wait("stage")
	return s
}

func (s *scenario) wait(word string) {
	s.t.Helper()
	if line, err := s.out.ReadString('\n'); strings.TrimSpace(line) != word {
		s.t.Fatalf("live/forks.py says %q (%v), want %s", line, err, word)
	}
}

// goOn lets the follower come back.
func (s *scenario) goOn(how string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.in, how); err != nil {
		s.t.Fatal(err)
	}
	s.wait("done")
}

// records reads a file of the scenario: offsets by value.
func (s *scenario) records(name string) map[string]int64 {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int64{}
	for line := range bytes.Lines(b) {
		var r struct {
			Value  string
			Offset *int64
		}
		if err := json.Unmarshal(line, &r); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		if r.Offset != nil {
			out[r.Value] = *r.Offset
		}
	}
	return out
}

// truncations are the offsets to which a broker's fetchers truncated a partition, in order.
func truncations(log, partition string) (offsets []int64) {
	p := regexp.QuoteMeta(partition)
	re := regexp.MustCompile(`(?:Truncating partition ` + p + ` with TruncationState\(offset=|Reset fetch offset for partition ` + p + ` from \d+ to current leader's latest offset )(\d+)`)
	for _, m := range re.FindAllStringSubmatch(log, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil {
			offsets = append(offsets, n)
		}
	}
	return offsets
}

// predictedLeader is a predicted-leader line, and the follower in it.
func predictedLeader(t *testing.T, lines []map[string]any, partition string, leader, follower int) (line, fate map[string]any) {
	t.Helper()
	for _, m := range lines {
		if m["type"] == "predicted-leader" && m["partition"] == partition && m["leader"] == float64(leader) {
			for _, f := range m["followers"].([]any) {
				if f := f.(map[string]any); f["broker"] == float64(follower) {
					return m, f
				}
			}
		}
	}
	t.Fatalf("%s: nothing predicted for broker %d under %d", partition, follower, leader)
	return nil, nil
}

// compareTruncation holds a prediction against what the follower's log says that it did.
func compareTruncation(t *testing.T, log, partition string, fate map[string]any) {
	t.Helper()
	end, to := int64(fate["logEndOffset"].(float64)), int64(fate["truncateTo"].(float64))
	did := truncations(log, partition)
	switch {
	case len(did) == 0 && to != end:
		t.Errorf("%s: predicted a truncation from %d to %d, the broker logged none", partition, end, to)
	case len(did) > 0 && did[len(did)-1] != to:
		t.Errorf("%s: predicted a truncation to %d, the broker truncated to %d", partition, to, did)
	}
}

// compareLost holds the predicted losses against what a client can read of what was
// acknowledged.
func (s *scenario) compareLost(topic string, line map[string]any) {
	t := s.t
	t.Helper()
	readable := s.records("read-" + topic)
	gone := 0
	for value, offset := range s.records("acked/" + topic + ".jsonl") {
		if at, found := readable[value]; found && at == offset {
			continue
		}
		gone++
		if !slices.ContainsFunc(line["losses"].([]any), func(x any) bool {
			m := x.(map[string]any)
			return m["committed"] == "yes" && m["from"].(float64) <= float64(offset) && float64(offset) < m["to"].(float64)
		}) {
			t.Errorf("%s: record %s at %d is gone, and that was not predicted", topic, value, offset)
		}
	}
	if line["lostCommitted"] != float64(gone) || line["lost"] != float64(gone) {
		t.Errorf("%s: predicted %v committed and %v lost records, %d are gone", topic, line["lostCommitted"], line["lost"], gone)
	}
}

// compare holds what was predicted for a leader against what the follower did.
func (s *scenario) compare(lines []map[string]any, leader, follower int) {
	t := s.t
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.root, "follower.log"))
	if err != nil {
		t.Fatal(err)
	}
	log := string(b)
	cut := 0
	for _, f := range forks {
		line, fate := predictedLeader(t, lines, f.topic+"-0", leader, follower)
		compareTruncation(t, log, f.topic+"-0", fate)
		s.compareLost(f.topic, line)
		if fate["truncateTo"] != fate["logEndOffset"] {
			cut++
		}
		want := f.after // lost with broker 1 as leader
		if leader == 2 {
			want = f.alone
		}
		if line["lostCommitted"] != float64(want) {
			t.Errorf("%s: broker %d as leader loses %v, want %d", f.topic, leader, line["lostCommitted"], want)
		}
	}
	if cut < 3 {
		t.Errorf("only %d forks:\n%s", cut, strings.Join(grep(log, "Truncat"), "\n"))
	}
}

// TestLiveLeaders makes forks of several shapes on real brokers, predicts what each replica
// as leader means, lets the old leader come back, and compares: where it truncates with its
// own log, what is lost with what a client can read.
func TestLiveLeaders(t *testing.T) {
	kafsck := buildKafsck(t)
	// A killed broker's recovery reads the last segment, and finds its epochs again.
	s := startScenario(t, 19440, "stop")
	s.damageEpochs(kafsck)
	lines := runJSON(t, kafsck, 1, "predict", "leader", "--json", filepath.Join(s.root, "stage"))
	s.goOn("")
	s.compare(lines, 2, 1)
	s.compareEpochs(kafsck)
}

// damageEpochs fills broker 1's epoch file of one topic with zeros and has kafsck repair it where it
// lies, and empties that of another topic, as some guides advise.
func (s *scenario) damageEpochs(kafsck string) {
	t := s.t
	t.Helper()
	node := filepath.Join(s.root, "lab", "node1")
	const name = "leader-epoch-checkpoint"
	for _, f := range []struct{ file, text string }{
		{filepath.Join(node, "regenerated-0", name), strings.Repeat("\x00", 64)},
		{filepath.Join(node, "emptied-0", name), ""},
		{filepath.Join(s.root, "stage", "broker-1", "emptied-0", name), ""}, // for the prediction
	} {
		if err := os.WriteFile(f.file, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := filepath.Join(s.root, "plan.json")
	for _, step := range []struct {
		code int
		args []string
	}{
		{1, []string{"repair", "plan", "--topic", "regenerated", "--only", "rewrite-epochs", "--out", plan, node}}, // 1: there is something to repair
		{0, []string{"repair", "apply", "--in-place", plan}},
	} {
		if code, text := run(kafsck, step.args...); code != step.code {
			t.Fatalf("kafsck %s: exit code %d: %s", strings.Join(step.args, " "), code, text)
		}
	}
}

// compareEpochs: with the regenerated file the old leader cut where the lines part, with the emptied one
// it kept records that nobody else has.
func (s *scenario) compareEpochs(kafsck string) {
	t := s.t
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.root, "follower.log"))
	if err != nil {
		t.Fatal(err)
	}
	const fork, leaderEnd = 30, 40
	if did := truncations(string(b), "regenerated-0"); len(did) == 0 || did[len(did)-1] != fork {
		t.Errorf("with the regenerated file broker 1 truncates to %v, want %d", did, fork)
	}
	if did := truncations(string(b), "emptied-0"); len(did) == 0 || did[len(did)-1] != leaderEnd {
		t.Errorf("with the emptied file broker 1 truncates to %v, want %d", did, leaderEnd)
	}
	values := func(node, topic string) (out []string) {
		for _, r := range recordsOf(t, kafsck, "export", filepath.Join(s.root, "lab", node, topic+"-0")) {
			out = append(out, fmt.Sprint(r["offset"], r["leaderEpoch"], r["value"]))
		}
		return out
	}
	if old, leader := values("node1", "regenerated"), values("node2", "regenerated"); len(leader) != leaderEnd || !slices.Equal(old, leader) {
		t.Errorf("with the regenerated file broker 1 has %v, its leader %v", old, leader)
	}
	// What is left of its own line depends on where the batches end.
	old, leader := values("node1", "emptied"), values("node2", "emptied")
	if len(leader) != leaderEnd || len(old) <= fork || !slices.Equal(old[:fork], leader[:fork]) || slices.Contains(leader, old[fork]) {
		t.Errorf("with the emptied file broker 1 has %v, its leader %v", old, leader)
	}
}

func grep(text, word string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}
