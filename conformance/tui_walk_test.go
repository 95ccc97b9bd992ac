package conformance

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testWalks goes from the overview to what a reader comes for, each in the number of keys
// that stands here, and holds every fact on the way against the recording.
func (lab *browserLab) testWalks(t *testing.T) {
	for _, walk := range []struct {
		to   string
		keys int
		run  func(t *testing.T, x *terminal)
		on   string
	}{
		{"the first lost record's bytes", 2, lab.walkToLostBytes, "unclean-election/stage-b"},
		{"the fork", 2, lab.walkToFork, "divergence/stage-b"},
		{"the ISR change that made the loss possible", 4, lab.walkToISRChange, "unclean-election/stage-b"},
		{"an aborted transaction", 6, lab.walkToAborted, "transactions/stage1-killed"},
		{"a record that cleaning removed", 4, lab.walkToCleaned, "compaction/stage1-clean"},
		{"a leadership change", 5, lab.walkToLeaderChange, "metadata/kafka-4.3.1/stage2-clean"},
	} {
		t.Run(walk.to, func(t *testing.T) {
			t.Parallel()
			x := lab.open(t, 120, 40, walk.on).atMost(walk.keys)
			walk.run(t, x)
			if x.keys != walk.keys {
				t.Errorf("the walk took %d keys; %d are written here", x.keys, walk.keys)
			}
		})
	}
}

func (lab *browserLab) walkToLostBytes(t *testing.T, x *terminal) {
	const truth, expected, part = "unclean-election/truth.json", "unclean-election/expected.json", "unclean-demo-0"
	client := []any{"stages", "stage-b", "client", part}
	answer := []any{"stages", "stage-b", "partitions", part}
	loss := append(answer, "losses", 0)

	s := x.judged("LOST:")
	x.wants(s, `^LOST: (\d+) committed records in 1 partition; still on broker (\d+)\.`,
		lab.text(t, expected, append(answer, "committedLost")...), lab.text(t, expected, append(loss, "heldBy", 0)...))
	x.wants(s, `^›L (\S+) +loss .*? (\d+) +(\d+) +(\d+) [\d.]+ KiB +\d+ (\S+)`, part,
		lab.text(t, truth, append(client, "leader")...), lab.text(t, expected, append(loss, "records")...),
		lab.text(t, truth, append(client, "latest")...), lab.text(t, truth, "stages", "stage-b", "brokers", "broker-2", "partitions", part, "topicId"))

	from, to := asInt(t, lab.fact(t, expected, append(loss, "from")...)), asInt(t, lab.fact(t, expected, append(loss, "to")...))
	s = x.press("Enter").sees("C leaders", "log end")
	x.wants(s, `offsets (\d+)–(\d+); still on broker (\d+)\. Broker (\d+) rules: metadata: leader of epoch (\d+), ISR (\[.*?\])`,
		fmt.Sprint(from), fmt.Sprint(to-1), lab.text(t, expected, append(loss, "heldBy", 0)...), lab.text(t, truth, append(client, "leader")...),
		lab.text(t, expected, append(answer, "divergences", 0, "sides", 0, "epochs", 0)...), lab.text(t, truth, append(client, "isr")...))
	for _, broker := range []string{"1", "2"} {
		log := []any{"stages", "stage-b", "brokers", "broker-" + broker, "partitions", part}
		var epochs []string
		for _, r := range lab.fact(t, truth, append(log, "batchEpochRanges")...).([]any) {
			epochs = append(epochs, asText(r.(map[string]any)["epoch"]))
		}
		x.wants(s, `^.. `+broker+` +live +(\d+) +(\d+) +(\d+) ([\d ]+?) {3,}(\d+) `,
			lab.text(t, truth, append(log, "logStart")...), lab.text(t, truth, append(log, "logEnd")...), lab.text(t, truth, append(log, "highWatermark")...),
			strings.Join(epochs, " "), fmt.Sprint(len(lab.fact(t, truth, append(log, "segments")...).([]any))))
	}

	// The cursor stands on the first lost record of the copy that holds it.
	s = x.press("Enter").sees("bytes of the file", "valueLength")
	acked := lab.acked(t, "unclean-election", "unclean-demo", from)
	x.wants(s, `^offsets (\d+)–\d+  epoch (\d+) `, fmt.Sprint(from), lab.text(t, expected, append(loss, "epochs", 0)...))
	x.wants(s, `^›-record (\d+) +null → "(.*?)" +│`, fmt.Sprint(from), acked)
	b := lab.seesBytes(t, s, filepath.Join("unclean-election/stage-b/broker-1", part))
	if !strings.Contains(string(b), acked) {
		t.Errorf("the bytes shown do not hold the value %q that the producer was told is safe:\n%s", acked, s)
	}
}

// acked is the value of a record as its producer kept it.
func (lab *browserLab) acked(t *testing.T, recording, topic string, offset int64) string {
	t.Helper()
	f, err := os.Open(filepath.Join(lab.data, recording, "acks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var ack struct {
			Topic  string
			Offset *int64
			Value  string
			Acks   string
			AckMs  int64
		}
		if err := json.Unmarshal(lines.Bytes(), &ack); err != nil {
			t.Fatal(err)
		}
		if ack.Topic == topic && ack.AckMs > 0 && ack.Offset != nil && *ack.Offset == offset {
			return ack.Value
		}
	}
	t.Fatalf("%s: no acknowledgement of %s at offset %d", recording, topic, offset)
	return ""
}

// hexRow is a line of a hex view: position, bytes, and what follows.
var hexRow = regexp.MustCompile(`│ +(\d+)  ((?:[0-9a-f]{2} {1,2}){1,16})`)

// seesBytes compares every line of the hex view with a segment of one of the directories,
// the one that holds the first line at its position, and returns the bytes.
func (lab *browserLab) seesBytes(t *testing.T, screen string, dirs ...string) []byte {
	t.Helper()
	type row struct {
		at    int
		bytes []byte
	}
	var rows []row
	var all []byte
	for _, m := range hexRow.FindAllStringSubmatch(screen, -1) {
		b, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{int(asNumber(t, m[1])), b})
		all = append(all, b...)
	}
	if len(all) < 64 {
		t.Fatalf("only %d bytes are on the screen:\n%s", len(all), screen)
	}
	holds := func(data []byte, r row) bool {
		return r.at+len(r.bytes) <= len(data) && string(data[r.at:r.at+len(r.bytes)]) == string(r.bytes)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(lab.data, dir, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !holds(data, rows[0]) {
				continue
			}
			for _, r := range rows {
				if !holds(data, r) {
					t.Errorf("position %d: the screen shows % x, which is not what %s holds", r.at, r.bytes, file)
				}
			}
			return all
		}
	}
	t.Errorf("no segment of %q holds the bytes shown:\n%s", dirs, screen)
	return nil
}

func (lab *browserLab) walkToFork(t *testing.T, x *terminal) {
	const truth, expected = "divergence/truth.json", "divergence/expected.json"
	s := x.judged("LOST:")
	for name, p := range lab.fact(t, expected, "stages", "stage-b", "partitions").(map[string]any) {
		p := p.(map[string]any)
		end := int64(0)
		for _, r := range p["replicas"].([]any) {
			end = max(end, asInt(t, r.(map[string]any)["logEndOffset"]))
		}
		if p["leader"] != nil {
			end = asInt(t, lab.fact(t, truth, "stages", "stage-b", "client", name, "latest"))
		}
		lost := ""
		if n := asInt(t, p["committedLost"]); n > 0 {
			lost = fmt.Sprint(n)
		}
		x.wants(s, `^.. `+name+` .*? (none|\d+) +(\d*) +(\d+) +[\d.]+ KiB `, asText(p["leader"]), lost, fmt.Sprint(end))
	}
	x.press("Enter").sees("C leaders", "log end")
	s = x.press("d").sees("difference 1/1")
	fork := []any{"stages", "stage-b", "partitions", "div-multi-0", "divergences", 0}
	want := []string{lab.text(t, expected, append(fork, "kind")...)}
	for side := range 2 {
		at := append(fork, "sides", side)
		want = append(want, lab.text(t, expected, append(at, "broker")...), lab.text(t, expected, append(at, "from")...),
			fmt.Sprint(asInt(t, lab.fact(t, expected, append(at, "to")...))-1), lab.text(t, expected, append(at, "epochs", 0)...))
	}
	x.wants(s, `^Difference 1 of 1: (\S+): broker (\d+) has offsets (\d+)–(\d+) of epoch (\d+), broker (\d+) has offsets (\d+)–(\d+) of epoch (\d+)\.`, want...)
	// The selected row is where they part: one epoch on the left, another on the right.
	x.wants(s, `^› (\d+)(?:–\d+)? e(\d+) .* ≠ (\d+)(?:–\d+)? e(\d+) `, want[2], want[4], want[6], want[8])
	// Above it both are the same.
	x.wants(s, `(?:–| )(\d+) e0 \d+r crc [0-9a-f]+ += .*\n› `, fmt.Sprint(asInt(t, lab.fact(t, expected, append(fork, "commonEnd")...))-1))
}

func (lab *browserLab) walkToISRChange(t *testing.T, x *terminal) {
	const truth, part = "unclean-election/truth.json", "unclean-demo-0"
	x.judged("LOST:")
	x.press("Enter").sees("C leaders", "log end")
	s := x.press("H").sees("what happened", "4/4")
	// The end is what the cluster said at that moment; the third change is stage-a's state.
	client := []any{"stages", "stage-b", "client", part}
	x.wants(s, `^›L +\d+ \S+ \S+ +(\d+) +(\d+) (\[.*?\]) +broker \d+ elected UNCLEANLY`, "2", lab.text(t, truth, append(client, "leader")...), lab.text(t, truth, append(client, "isr")...))
	offline := lab.fact(t, truth, "facts", "describeWhileOffline").(map[string]any)
	x.wants(s, `^ +\d+ \S+ \S+ +1 +none (\[.*?\]) +nobody leads`, asText(offline["isr"]))

	// The ISR as the cluster described it, while the records that were lost were written.
	var isr string
	lost := asInt(t, lab.fact(t, truth, "facts", "lostAcknowledged", 0, "firstOffset"))
	for _, e := range lab.fact(t, truth, "timeline").([]any) {
		event := e.([]any)[1].(string)
		if m := regexp.MustCompile(`^isr unclean-demo 0 .*'isr': (\[.*?\])`).FindStringSubmatch(event); m != nil {
			isr = m[1]
		}
		if strings.HasPrefix(event, "produce unclean-demo 0") && strings.Contains(event, fmt.Sprintf("'firstOffset': %d,", lost)) {
			break
		}
	}
	s = x.press("N").sees("2/4")
	x.wants(s, `^›! +(\d+) \S+ \S+ +0 +(\d+) (\[.*?\]) +broker (\d+) left the ISR; made the loss possible`,
		x.finds(s, `metadata offset (\d+), raft`)[0], lab.text(t, truth, "facts", "oldLeader"), isr, lab.text(t, truth, "facts", "newLeader"))
	x.wants(s, `leader broker (\d+), epoch 0, .*ISR (\[.*?\]),`, lab.text(t, truth, "facts", "oldLeader"), isr)

	// The record itself, in the bytes of a controller's metadata log.
	offset := x.finds(s, `^›! +(\d+)`)[0]
	s = x.press("Enter").sees("metadata record: PARTITION_CHANGE_RECORD", "no headers")
	x.wants(s, `^offset (\d+), `, offset)
	if got := "[" + strings.Join(strings.Fields(x.finds(s, `(?s)"isr": \[(.*?)\]`)[0]), " ") + "]"; got != isr {
		t.Errorf("the record says ISR %s, the cluster %s", got, isr)
	}
	var logs []string
	for _, broker := range []string{"broker-1", "broker-2", "broker-3"} {
		logs = append(logs, filepath.Join("unclean-election/stage-b", broker, "__cluster_metadata-0"))
	}
	lab.seesValue(t, s, logs...)
}

// valueRow is a line of a value's bytes on the records screen.
var valueRow = regexp.MustCompile(`(?m)^ {2,}\d+  ((?:[0-9a-f]{2} {1,2}){1,16})`)

// seesValue looks for the bytes of a value that is on the screen in the segments of the
// directories.
func (lab *browserLab) seesValue(t *testing.T, screen string, dirs ...string) {
	t.Helper()
	var value []byte
	for _, m := range valueRow.FindAllStringSubmatch(screen, -1) {
		b, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		value = append(value, b...)
	}
	if len(value) < 24 {
		t.Fatalf("only %d bytes of a value are on the screen:\n%s", len(value), screen)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(lab.data, dir, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if data, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			} else if strings.Contains(string(data), string(value)) {
				return
			}
		}
	}
	t.Errorf("no segment of %q holds the value % x:\n%s", dirs, value, screen)
}

func (lab *browserLab) walkToAborted(t *testing.T, x *terminal) {
	const truth, part = "transactions/truth.json", "tx-orders-0"
	x.judged("OK: nothing is lost")
	x.press("j").sees("2/5")
	x.press("j").sees("3/5")
	x.press("Enter").sees("C leaders", "log end")
	s := x.press("T").sees("transactional id", "1/20")
	client := []any{"client", "before-kill"}
	x.wants(s, `stop at offset (\d+) of (\d+)\.`, lab.text(t, truth, append(client, "listOffsets", part, "lso")...), lab.text(t, truth, append(client, "listOffsets", part, "latest")...))

	// What the clients did, in the order of the ends of the transactions.
	type transaction struct{ state, first, last, records string }
	var done []transaction
	producers := map[string]string{}
	open := map[string]*transaction{}
	for _, e := range lab.fact(t, truth, "facts", "events").([]any) {
		e := e.(map[string]any)
		who, _ := e["producer"].(string)
		if sent, ok := e["send"].([]any); ok && e["intended"] != "non-transactional" {
			for _, r := range sent {
				r := r.([]any)
				if asText(r[0])+"-"+asText(r[1]) != part {
					continue
				}
				tx := open[who]
				if tx == nil {
					tx = &transaction{state: asText(e["intended"]), first: asText(r[2]), records: "0"}
					open[who] = tx
				}
				n, _ := strconv.Atoi(tx.records)
				tx.last, tx.records = asText(r[2]), strconv.Itoa(n+1)
			}
		}
		if op := e["op"]; op == "commit" || op == "abort" {
			if tx := open[who]; tx != nil {
				done = append(done, *tx)
			}
			delete(open, who)
		}
	}
	for who, description := range lab.fact(t, truth, append(client, "describeTransactions")...).(map[string]any) {
		producers[who] = regexp.MustCompile(`producerId=(\d+)`).FindStringSubmatch(description.(string))[1]
	}
	var aborted string
	known := 0
	for _, tx := range done {
		if asNumber(t, tx.first) >= asInt(t, lab.fact(t, truth, append(client, "listOffsets", part, "latest")...)) {
			continue // after the broker was killed
		}
		known++
		x.wants(s, `^.. +(committed|aborted) +\d+ +\d+ +(`+tx.first+`) +(\d+) +\d+ +(\d+) `, tx.state, tx.first, tx.last, tx.records)
		if aborted == "" && tx.state == "aborted" {
			aborted = tx.first
		}
	}
	if known < 15 || aborted == "" {
		t.Fatalf("the recording tells of %d transactions, the first aborted at %q", known, aborted)
	}
	x.wants(s, `^›n open +(\d+) +\d+ +(\d+) .* (\S+)$`, producers["tx-app-3"], lab.text(t, truth, append(client, "listOffsets", part, "lso")...), "tx-app-3")

	s = x.press("a").sees("3/20")
	x.wants(s, `^›n aborted +(\d+) +\d+ +(\d+) `, producers["tx-app-2"], aborted)
	last := x.finds(s, `^›n aborted +\d+ +\d+ +\d+ +(\d+) `)[0]
	s = x.press("Enter").sees("bytes of the file", "valueLength")
	x.wants(s, `^offsets (\d+)–(\d+) .* producer (\d+) `, aborted, last, producers["tx-app-2"])
	x.wants(s, `^ +bit 4 transactional +(\d), yes`, "1")
	x.wants(s, `^›-record (\d+) `, aborted)
	lab.seesBytes(t, s, filepath.Join("transactions/stage1-killed/broker-2", part))
}

func asNumber(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (lab *browserLab) walkToCleaned(t *testing.T, x *terminal) {
	const truth, part = "compaction/truth.json", "compact-plain-0"
	x.judged("OK: nothing is lost")
	x.press("j").sees("2/4")
	s := x.press("Enter").sees("C leaders", "log end")
	first := map[string]string{}
	for _, broker := range []string{"1", "2", "3"} {
		log := []any{"stages", "stage1-clean", "broker-" + broker, "partitions", part}
		x.wants(s, `^.. `+broker+` +live +(\d+) +(\d+) +(\d+) .*? (\d+) +[\d.]+ KiB`, lab.text(t, truth, append(log, "logStart")...), lab.text(t, truth, append(log, "logEnd")...),
			lab.text(t, truth, append(log, "highWatermark")...), fmt.Sprint(len(lab.fact(t, truth, append(log, "segments")...).([]any))))
		first[broker] = lab.text(t, truth, append(log, "segments", 0, "firstBatchBaseOffset")...)
	}
	// Broker 1 was cleaned, broker 2 never.
	s = x.press("d").sees("broker 1 (rules)", "of 0–143")
	x.wants(s, `(?s)^› +> (\d+)(?:–\d+)? e0 .*?\n  (\d+)(?:–\d+)? e0 `, first["2"], first["1"])
	// The record itself, in the copy that still has it.
	s = x.press("Enter").sees("bytes of the file", "valueLength")
	x.wants(s, `^›-record (\d+) `, first["2"])
	lab.seesBytes(t, s, filepath.Join("compaction/stage1-clean/broker-2", part))
}

func (lab *browserLab) walkToLeaderChange(t *testing.T, x *terminal) {
	const expected = "metadata/expected.json"
	node := []any{"runs", "kafka-4.3.1", "stage2-clean", "node-1"}
	x.sees("No partition of a topic is among these inputs")
	s := x.press("M").sees("led by another", "1/29")
	x.wants(s, `metadata offsets 0–(\d+)\.`, fmt.Sprint(asInt(t, lab.fact(t, expected, append(node, "end")...))-1))
	partitions := lab.fact(t, expected, append(node, "partitions")...).(map[string]any)
	if len(partitions) != 22 {
		t.Fatalf("the recording has %d partitions", len(partitions))
	}
	for name, p := range partitions {
		p := p.(map[string]any)
		leader := asText(p["leader"])
		if leader == "-1" {
			leader = "none"
		}
		x.wants(s, `^.. `+name+` +(\S+) +(\d+) (\[.*?\])`, leader, asText(p["leaderEpoch"]), asText(p["isr"]))
	}
	x.press("j").sees("2/29")
	s = x.press("Enter").sees("history of topic-1-1", "what happened")
	p := partitions["topic-1-1"].(map[string]any)
	x.wants(s, `At the end nobody leads, epoch (\d+), ISR (\[.*?\])\.`, asText(p["leaderEpoch"]), asText(p["isr"]))
	x.wants(s, `ISR (\[.*?\]), ELR (\[.*?\]), last known ELR (\[.*?\]), replicas (\[.*?\])`, asText(p["isr"]), asText(p["elr"]), asText(p["lastKnownElr"]), asText(p["replicas"]))
	// The cursor stands on the newest change: nobody led any more.
	change := x.finds(s, `^› +(\d+) \S+ \S+ +(\d+) +none (\[.*?\]) +nobody leads`)
	if change[1] != asText(p["leaderEpoch"]) || change[2] != asText(p["isr"]) {
		t.Errorf("the newest change is of epoch %s with ISR %s, the recording says %s and %s", change[1], change[2], asText(p["leaderEpoch"]), asText(p["isr"]))
	}
	s = x.press("Enter").sees("metadata record: PARTITION_CHANGE_RECORD", `"leader"`)
	x.wants(s, `^offset (\d+), `, change[0])
	x.wants(s, `^ +"leader": (-?\d+)`, asText(p["leader"]))
	s = x.press("b").sees("bytes of the file", "valueLength")
	x.wants(s, `^›-record (\d+) `, change[0])
	lab.seesBytes(t, s, "metadata/kafka-4.3.1/stage2-clean/node-1/__cluster_metadata-0")
}
