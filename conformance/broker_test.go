//go:build broker

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// lab is a real cluster, driven by the lab that lies beside the clone.
type lab struct {
	t    *testing.T
	root string
}

// newLab starts two brokers (1, 2) and a controller of its own (9), so that
// both brokers may die.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, root: t.TempDir()}
	t.Cleanup(func() {
		if out, err := l.command("down").CombinedOutput(); err != nil {
			t.Errorf("stopping the cluster: %v\n%s", err, out)
		}
	})
	l.do("up", "--nodes", "1,2", "--controller", "9", "--port", "19400")
	return l
}

func (l *lab) command(args ...string) *exec.Cmd {
	libs, err := filepath.Abs("target/lab")
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command("python3", append([]string{"../../shared/lab/kafkalab.py"}, args...)...)
	cmd.Env = append(os.Environ(), "KAFKA_LIBS="+libs, "KAFKA_LAB="+filepath.Join(l.root, "lab"), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func (l *lab) do(args ...string) []byte {
	l.t.Helper()
	cmd := l.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("lab %v: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return out
}

// call runs one client operation and fails the test unless it answers ok.
func (l *lab) call(op string, args ...string) {
	l.t.Helper()
	if err := l.try(op, args...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) try(op string, args ...string) error {
	l.t.Helper()
	var answer struct{ OK bool }
	out := l.do(append([]string{"call", op}, args...)...)
	if i := bytes.LastIndexByte(bytes.TrimSpace(out), '\n'); i >= 0 {
		out = out[i+1:]
	}
	if err := json.Unmarshal(out, &answer); err != nil || !answer.OK {
		return fmt.Errorf("lab %s %v: %w %s", op, args, err, out)
	}
	return nil
}

// produce writes records acks=all and returns name → offset of the ones that
// were acknowledged.
func (l *lab) produce(prefix string, count int, more ...string) map[string]int64 {
	l.t.Helper()
	file := filepath.Join(l.root, prefix+"acks.jsonl")
	l.call("produce", append([]string{"topic=live", "prefix=" + prefix, fmt.Sprintf("count=%d", count), "acks=all", "out=" + file}, more...)...)
	return l.readRecords(file)
}

// readRecords reads a file that produce or consume wrote.
func (l *lab) readRecords(file string) map[string]int64 {
	l.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	records := map[string]int64{}
	for line := range bytes.Lines(b) {
		var r struct {
			Value  string
			Offset *int64
		}
		if err := json.Unmarshal(line, &r); err != nil {
			l.t.Fatalf("%s: %v", file, err)
		}
		if r.Offset != nil {
			records[r.Value] = *r.Offset
		}
	}
	return records
}

// TestLiveUncleanElection makes brokers lose acknowledged records, here and
// now, and holds what kafsck says about the copied disks against what a
// consumer can read afterwards. All that the brokers wrote is compared with
// kafka-dump-log as well.
func TestLiveUncleanElection(t *testing.T) {
	kafsck := buildKafsck(t)
	l := newLab(t)
	l.call("create", "topic=live", `assignment={"0":[1,2]}`, `configs={"min.insync.replicas":"1","internal.segment.bytes":"16384"}`)
	l.do("wait-isr", "live", "1,2")

	acked := map[string]int64{}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		for value, offset := range l.produce(codec+"-", 60, "codec="+codec, "group=[1,7,3]", "headers=2", "keys=5") {
			acked[value] = offset
		}
	}
	// The last record that both brokers get tells where their logs part.
	var commonEnd int64
	for value, offset := range l.produce("last-", 1) {
		acked[value] = offset
		commonEnd = offset + 1
	}
	highWatermarkWritten()
	l.do("kill", "2")
	l.do("wait-isr", "live", "1")
	onlyOnOne := l.produce("only1-", 80, "codec=lz4", "group=9")
	highWatermarkWritten()
	l.do("kill", "1")
	l.do("start", "2")
	l.call("alterTopic", "topic=live", `configs={"unclean.leader.election.enable":"true"}`)
	l.until("the unclean election", func() error { return l.try("elect", "topic=live", "type=unclean") })
	after := l.produce("after-", 30, "group=4")
	highWatermarkWritten()

	stage := filepath.Join(l.root, "after-election")
	l.do("snapshot", stage)
	dumpEqual(t, stage)

	lines := runJSON(t, kafsck, 1, "loss", "--json", stage)
	from, to := commonEnd, commonEnd+int64(len(onlyOnOne))
	if len(onlyOnOne) != 80 || len(after) != 30 {
		t.Fatalf("%d and %d records acknowledged, want 80 and 30", len(onlyOnOne), len(after))
	}
	loss := only(t, lines, "loss", "live-0")
	want := map[string]any{"from": float64(from), "to": float64(to), "records": float64(80), "committed": "yes", "leader": float64(2), "cause": "unclean-election", "heldBy": []any{float64(1)}}
	for key, value := range want {
		if fmt.Sprint(loss[key]) != fmt.Sprint(value) {
			t.Errorf("loss: %s is %v, want %v", key, loss[key], value)
		}
	}
	divergence := only(t, runJSON(t, kafsck, 1, "diff", "--json", stage), "divergence", "live-0")
	if divergence["kind"] != "epoch-fork" || divergence["commonEnd"] != float64(commonEnd) {
		t.Errorf("divergence: %v, want an epoch-fork with common end %d", divergence, commonEnd)
	}

	// The old leader comes back and truncates; both agree, and what kafsck
	// called lost is what nobody can read any more.
	l.do("start", "1")
	l.do("wait-isr", "live", "1,2")
	read := filepath.Join(l.root, "read.jsonl")
	l.call("consume", "topic=live", "out="+read)
	readable := l.readRecords(read)
	for value, offset := range onlyOnOne {
		if _, found := readable[value]; found != (offset < from || offset >= to) {
			t.Errorf("record %s at %d: readable %t, kafsck says lost [%d, %d)", value, offset, found, from, to)
		}
	}
	maps.Copy(acked, after)
	for value := range acked {
		if _, found := readable[value]; !found {
			t.Errorf("record %s is not readable and kafsck does not say that it is lost", value)
		}
	}
	highWatermarkWritten()
	agreed := filepath.Join(l.root, "agreed")
	l.do("snapshot", agreed)
	dumpEqual(t, agreed)
	for _, line := range runJSON(t, kafsck, 0, "diff", "--json", agreed) {
		if line["type"] == "divergence" {
			t.Errorf("replicas that agree: %v", line)
		}
	}
}

// highWatermarkWritten waits until replication-offset-checkpoint, written every
// 5 s, is current.
func highWatermarkWritten() { time.Sleep(6 * time.Second) }

func (l *lab) until(what string, try func() error) {
	l.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("waiting for %s: %v", what, err)
		}
		time.Sleep(time.Second)
	}
}

// dumpEqual compares all segments below dir with what kafka-dump-log prints.
func dumpEqual(t *testing.T, dir string) {
	t.Helper()
	tool := kafkaDumpLog(t)
	logs, err := filepath.Glob(filepath.Join(dir, "broker-*", "*", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no segments below %s (%v)", dir, err)
	}
	for _, path := range logs {
		frames, size := scanFile(t, path)
		entries, rest := parseDump(t, path, tool.run(t, "--files", path, "--deep-iteration"))
		if err := compare(frames, entries, rest, size, true); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// only returns the one line of a type about a partition.
func only(t *testing.T, lines []map[string]any, kind, partition string) map[string]any {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(lines), func(m map[string]any) bool {
		return m["type"] != kind || m["partition"] != partition
	})
	if len(found) != 1 {
		t.Fatalf("%d lines of type %s about %s, want 1: %v", len(found), kind, partition, found)
	}
	return found[0]
}
