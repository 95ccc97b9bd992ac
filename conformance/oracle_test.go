package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/epoch"
	"kafsck/internal/logtest"
	"kafsck/logdir"
	"kafsck/replica"
)

// oracle runs Kafka's own storage code (the load oracle beside the clone) over
// many requests in one JVM, and returns the answers in the same order.
func oracle(t *testing.T, mode []string, requests []any) []json.RawMessage {
	t.Helper()
	if err := needJars(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(oracleClasses); err != nil {
		t.Fatalf("%v: the load oracle is compiled by run.sh from ../shared/oracle beside the clone", err)
	}
	var in bytes.Buffer
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command("java", append([]string{"-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + inMemory(t), "-cp", classPath(oracleClasses), "Oracle"}, mode...)...)
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle: %v\n%s", err, stderr.Bytes())
	}
	var answers []json.RawMessage
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		answers = append(answers, slices.Clone(scanner.Bytes()))
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(requests) {
		t.Fatalf("oracle: %d answers to %d requests\n%s", len(answers), len(requests), stderr.Bytes())
	}
	return answers
}

// inMemory is a temporary directory that is not on a disk, where the machine has
// one: Kafka waits for each file to be flushed.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "conformance")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// entries is Kafka's epoch cache as the oracle prints it: [[epoch, start], …].
type entries [][2]int64

func ofCache(c epoch.Cache) entries {
	e := entries{}
	for _, x := range c {
		e = append(e, [2]int64{int64(x.Epoch), x.StartOffset})
	}
	return e
}

// loadRequest is one request of the mode "load".
type loadRequest struct {
	Path      string   `json:"path"`
	Clean     string   `json:"clean,omitempty"`
	Drop      []string `json:"drop,omitempty"`
	KeepStray bool     `json:"keepStray"`
	Files     bool     `json:"files"`
	// Recovery from offset 0 with checkpoints removed.
	RecoveryPoint *int64 `json:"recoveryPoint,omitempty"`
}

// loaded is the part of an answer that is compared.
type loaded struct {
	Outcome    string
	Partitions map[string]struct {
		Outcome                      string
		LogStartOffset, LogEndOffset int64
		EpochCache                   entries
	}
}

// TestLoadedLogs has Kafka load every log directory at hand, once as after a
// clean stop and once recovering every segment without its epoch file, and
// compares what it then holds with the facts of package replica.
func TestLoadedLogs(t *testing.T) {
	dirs := logDirs(t)
	var asIs, rebuilt []any
	zero := int64(0)
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		asIs = append(asIs, loadRequest{Path: abs, Clean: "present", KeepStray: true})
		rebuilt = append(rebuilt, loadRequest{Path: abs, Clean: "absent", KeepStray: true, RecoveryPoint: &zero, Drop: []string{"leader-epoch-checkpoint", "*.snapshot"}})
	}
	var first, second []json.RawMessage
	t.Run("in Kafka", func(t *testing.T) {
		t.Run("as is", func(t *testing.T) { t.Parallel(); first = oracle(t, []string{"load", "-"}, asIs) })
		t.Run("recovered", func(t *testing.T) { t.Parallel(); second = oracle(t, []string{"load", "-"}, rebuilt) })
	})
	if t.Failed() {
		return
	}
	compared := 0
	for i, dir := range dirs {
		compared += compareLoaded(t, dir, first[i], second[i])
	}
	if compared == 0 {
		t.Fatal("nothing was compared")
	}
	t.Logf("%d log directories, %d partitions", len(dirs), compared)
}

func compareLoaded(t *testing.T, dir string, first, second json.RawMessage) (compared int) {
	t.Helper()
	var asIs, rebuilt loaded
	if err := errors.Join(json.Unmarshal(first, &asIs), json.Unmarshal(second, &rebuilt)); err != nil {
		t.Fatalf("%s: %v\n%s", dir, err, first)
	}
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range c.AllPartitions() {
		name := filepath.Base(p.Dir)
		kafka, found := asIs.Partitions[name]
		if !found || kafka.Outcome != "ok" || p.State != logdir.Live {
			continue
		}
		views, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		log, err := replica.Read(t.Context(), views[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log.Release()
		compared++
		if log.LogStartOffset != kafka.LogStartOffset || log.LogEndOffset != kafka.LogEndOffset {
			t.Errorf("%s/%s: Kafka has [%d, %d), kafsck [%d, %d) (start from %s)", dir, name,
				kafka.LogStartOffset, kafka.LogEndOffset, log.LogStartOffset, log.LogEndOffset, log.LogStartSource)
		}
		if got := ofCache(log.Loaded); fmt.Sprint(got) != fmt.Sprint(kafka.EpochCache) {
			t.Errorf("%s/%s: Kafka holds the epochs %v, kafsck says %v", dir, name, kafka.EpochCache, got)
		}
		if recovered, found := rebuilt.Partitions[name]; found && recovered.Outcome == "ok" {
			if got := ofCache(log.Lineage.Rebuild().TruncateFromStart(log.LogStartOffset)); fmt.Sprint(got) != fmt.Sprint(recovered.EpochCache) {
				t.Errorf("%s/%s: Kafka recovers the epochs %v, kafsck says %v", dir, name, recovered.EpochCache, got)
			}
		}
	}
	return compared
}

// madeDirs are states that no recorded broker was caught in.
var madeDirs = map[string]string{
	"epoch file not yet cut at the log start": `
		topic a-0 ; segment 0 ; batch records=40 epoch=0 ; batch records=40 epoch=1 ; batch records=10 epoch=4
		epochs 0:0 1:40 4:80 ; logstart 60 ; recovery 90`,
	"epoch file beyond the log end": `
		topic a-0 ; segment 0 ; batch records=40 epoch=0
		epochs 0:0 1:40 3:55 ; recovery 40`,
	"epoch file of another log": `
		topic a-0 ; segment 0 ; batch records=40 epoch=0 ; batch records=2 epoch=3
		epochs 2:0 5:30 ; recovery 42`,
	"two segments, log start between": `
		topic a-0 ; segment 0 ; batch records=10 epoch=0 ; segment 10 ; batch records=10 epoch=2
		epochs 0:0 2:10 ; logstart 10 ; recovery 20`,
	"equal starts": `
		topic a-0 ; segment 0 ; batch records=40 epoch=3
		epochs 1:0 2:0 3:0 ; recovery 40`,
	"empty log that begins late": `
		topic a-0 ; segment 100
		epochs 7:100 ; recovery 100`,
}

// TestLoadedMadeLogs is the same for directories that are made up.
func TestLoadedMadeLogs(t *testing.T) {
	var names, dirs []string
	var asIs, rebuilt []any
	zero := int64(0)
	for _, name := range slices.Sorted(maps.Keys(madeDirs)) {
		dir := filepath.Join(logtest.Dir(t, "broker 1 clusterid=AAAAAAAAAAAAAAAAAAAAAg\n"+madeDirs[name]), "broker-1")
		names, dirs = append(names, name), append(dirs, dir)
		asIs = append(asIs, loadRequest{Path: dir, Clean: "present", KeepStray: true})
		rebuilt = append(rebuilt, loadRequest{Path: dir, Clean: "absent", KeepStray: true, RecoveryPoint: &zero, Drop: []string{"leader-epoch-checkpoint"}})
	}
	first := oracle(t, []string{"load", "-"}, asIs)
	second := oracle(t, []string{"load", "-"}, rebuilt)
	for i, dir := range dirs {
		t.Run(names[i], func(t *testing.T) {
			if compareLoaded(t, dir, first[i], second[i]) != 1 {
				t.Errorf("not compared: %s", first[i])
			}
		})
	}
}

// logDirs returns the directories with a meta.properties below dataRoots.
func logDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, root := range dataRoots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == ".git" || d.Name() == ".build" || d.Name() == "target") {
				return filepath.SkipDir
			}
			if d.Name() == "meta.properties" && strings.Contains(path, "stage") {
				dirs = append(dirs, filepath.Dir(path))
			}
			return nil
		})
		if err != nil && !(root != ".." && errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
	}
	return dirs
}
