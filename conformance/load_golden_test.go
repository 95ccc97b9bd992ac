package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

var updateLoads = flag.Bool("update-loads", false, "write what Kafka does to the recordings' directories into ../broker/testdata/loads.jsonl")

const loadsFile = "../broker/testdata/loads.jsonl"

// loadRecordings are those whose loads package broker tests itself with, in a lone clone.
var loadRecordings = []string{
	"cases", "base", "hard-crash", "unclean-election", "kip279-silent-fork", "replica-rebuild", "cleaner-swap", "compaction",
	"transactions", "hw-truncation-oldformat", "tiered",
}

// recordedLoad is one line of loads.jsonl: what Kafka made of one partition directory.
type recordedLoad struct {
	Dir       string // path of the log directory below testdata/fixtures
	Partition string // name of the directory
	Clean     bool
	Points    [3]int64 // checkpointed recovery point, log start and high watermark, 0 without one
	Outcome   string
	Exception string      `json:",omitempty"`
	Offsets   *[5]int64   `json:",omitempty"` // log start, log end, recovery point, high watermark, last stable
	Epochs    entries     `json:",omitempty"`
	Segments  [][2]int64  `json:",omitempty"` // base offset, size
	Gone      []string    `json:",omitempty"` // files
	New       []sizedFile `json:",omitempty"`
	Changed   []sizedFile `json:",omitempty"` // other size than before
}

type sizedFile struct {
	Name string
	Size int64
}

// TestRecordedLoads asks the oracle for every load that broker/testdata/loads.jsonl tells of, and
// compares (or, with -update-loads, writes) the file.
func TestRecordedLoads(t *testing.T) {
	type asked struct {
		root, dir string
		answer    json.RawMessage
	}
	const now = 1700003600000
	var requests []any
	var loads []asked
	zero := int64(0)
	for _, name := range loadRecordings {
		top := filepath.Dir(fixture.Unpack(t, name))
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() != "meta.properties" {
				return err
			}
			dir := filepath.Dir(path)
			for _, q := range []map[string]any{{"clean": "present"}, {"clean": "absent"}, {"clean": "absent", "recoveryPoint": zero}} {
				q["path"], q["now"] = dir, now
				requests = append(requests, q)
				loads = append(loads, asked{root: top, dir: dir})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, answer := range oracle(t, []string{"load", "-"}, requests) {
		loads[i].answer = answer
	}
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, q := range loads {
		rel, err := filepath.Rel(q.root, q.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recordLoads(t, q.dir, filepath.ToSlash(rel), q.answer) {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[string(line)] { // a recovery point of 0 is one that most cases have anyway
				seen[string(line)] = true
				out.Write(append(line, '\n'))
			}
		}
	}
	if *updateLoads {
		if err := os.WriteFile(loadsFile, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(loadsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		stored, now := bytes.Split(want, []byte("\n")), bytes.Split(out.Bytes(), []byte("\n"))
		for i := range min(len(stored), len(now)) {
			if !bytes.Equal(stored[i], now[i]) {
				t.Logf("line %d:\n- %s\n+ %s", i+1, stored[i], now[i])
				break
			}
		}
		t.Errorf("%s does not say what Kafka does; make it anew with -run TestRecordedLoads -update-loads", loadsFile)
	}
	t.Logf("%d loads", len(seen))
}

// recordLoads takes the loads of partition directories out of one answer. Directories that the
// in-memory form of a recording cannot hold (empty ones, or with directories in them) are left out.
func recordLoads(t *testing.T, dir, rel string, answer json.RawMessage) []recordedLoad {
	t.Helper()
	var a struct {
		CleanMarkerAtStart []bool
		FilesAfter         map[string]int64
		Partitions         map[string]struct {
			Outcome, DirNameAfter                       string
			Exception                                   *javaException
			RecoveryPointCheckpoint, LogStartCheckpoint int64
			HighWatermarkCheckpoint                     int64
			LogStartOffset, LogEndOffset, RecoveryPoint int64
			HighWatermark, LastStableOffset             int64
			Segments                                    []struct{ Base, Size int64 }
			EpochCache                                  entries
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatalf("%s: %v", rel, err)
	}
	aborted := false
	for _, p := range a.Partitions {
		aborted = aborted || p.Exception != nil && !p.Exception.isIO()
	}
	var out []recordedLoad
	for _, name := range sortedKeys(a.Partitions) {
		p := a.Partitions[name]
		before, ok := regularFiles(t, filepath.Join(dir, name))
		if !ok || p.Outcome != "ok" && p.Exception == nil {
			continue
		}
		if aborted && p.Outcome == "ok" {
			continue // how far a start came before it aborted is up to the order of the listing
		}
		r := recordedLoad{Dir: rel, Partition: name, Clean: a.CleanMarkerAtStart[0],
			Points: [3]int64{p.RecoveryPointCheckpoint, p.LogStartCheckpoint, p.HighWatermarkCheckpoint}}
		after := name
		if p.Outcome == "ok" {
			after = p.DirNameAfter
			r.Outcome, r.Epochs = "ok", p.EpochCache
			switch {
			case strings.HasSuffix(after, "-stray"):
				r.Outcome = "stray"
			case strings.HasSuffix(after, "-delete"):
				r.Outcome = "deleted"
			}
			r.Offsets = &[5]int64{p.LogStartOffset, p.LogEndOffset, p.RecoveryPoint, p.HighWatermark, p.LastStableOffset}
			for _, s := range p.Segments {
				r.Segments = append(r.Segments, [2]int64{s.Base, s.Size})
			}
		} else {
			r.Outcome, r.Exception = "broker-aborts", p.Exception.Class
			if p.Exception.isIO() {
				r.Outcome = "log-dir-offline"
			}
		}
		now := map[string]int64{}
		for f, size := range a.FilesAfter {
			if base, ok := strings.CutPrefix(f, after+"/"); ok {
				now[base] = size
			}
		}
		for _, f := range sortedKeys(before) {
			if size, there := now[f]; !there {
				r.Gone = append(r.Gone, f)
			} else if size != before[f] {
				r.Changed = append(r.Changed, sizedFile{f, size})
			}
		}
		for _, f := range sortedKeys(now) {
			if _, there := before[f]; !there {
				r.New = append(r.New, sizedFile{f, now[f]})
			}
		}
		out = append(out, r)
	}
	return out
}

// javaException is an exception as the oracle prints it.
type javaException struct {
	Class string
	Cause *javaException
}

// isIO reports whether LogManager.loadLogs takes the log directory offline for it, instead of
// stopping the broker.
func (e *javaException) isIO() bool {
	for ; e != nil; e = e.Cause {
		switch {
		case strings.HasPrefix(e.Class, "java.io."), strings.HasPrefix(e.Class, "java.nio.file."), strings.HasPrefix(e.Class, "java.nio.charset."):
			return true
		case e.Class != "org.apache.kafka.common.errors.KafkaStorageException":
			return false
		}
	}
	return false
}

// regularFiles is the sizes of the files of a directory; ok is false if it has none, or anything else.
func regularFiles(t *testing.T, dir string) (sizes map[string]int64, ok bool) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sizes = map[string]int64{}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() {
			return nil, false
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes, len(sizes) > 0
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
