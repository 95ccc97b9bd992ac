package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// carvedStages are stages of recordings that are put on disks: histories that fork, several partitions.
var carvedStages = []string{"unclean-election/stage-b", "divergence/stage-b"}

// TestCarved puts log directories of real brokers on an ext4 image, scans it without any word about the
// file system, and holds what is found against what kafka-dump-log said of the files: all batches,
// and no other one. Kafka then loads the logs that were written, and cuts and deletes nothing.
func TestCarved(t *testing.T) {
	mke2fs, err := exec.LookPath("mke2fs")
	if err != nil {
		mke2fs, err = exec.LookPath("/usr/sbin/mke2fs")
	}
	if err != nil {
		t.Fatal("mke2fs is missing: install e2fsprogs")
	}
	kafsck := buildKafsck(t)
	dir := inMemory(t)
	var all []*mended
	for _, stage := range carvedStages {
		stageDir := filepath.Join(fixturesDir, stage)
		if _, err := os.Stat(stageDir); err != nil {
			t.Fatalf("%v: the recordings lie beside the clone", err)
		}
		at := filepath.Join(dir, strings.ReplaceAll(stage, "/", "-"))
		image := at + ".img"
		if out, err := exec.Command(mke2fs, "-q", "-t", "ext4", "-b", "4096", "-d", stageDir, image, "24M").CombinedOutput(); err != nil {
			t.Fatalf("mke2fs: %v\n%s", err, out)
		}
		x := &mended{mendable: mendable{name: stage}, way: "carved", out: at + "-out"}
		code, text := run(kafsck, "salvage", "--scan", image, "--json", "--out", x.out)
		if code&^1 != 0 {
			t.Fatalf("%s: exit code %d: %s", stage, code, text)
		}
		checkFound(t, stage, text)
		b, err := os.ReadFile(filepath.Join(x.out, "repair.json"))
		if err == nil {
			err = json.Unmarshal(b, &x.done)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(x.out, "salvaged", "meta.properties"), []byte("version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(image)
		all = append(all, x)
	}
	loadMended(t, all)
	logs := 0
	for _, x := range all {
		for _, w := range x.wrong {
			t.Errorf("%s: %s", x.name, w)
		}
		logs += len(x.done.Plan.Promises)
	}
	t.Logf("%d images, %d logs that Kafka loads as promised", len(all), logs)
}

// dumpedBatch is what kafka-dump-log says of a batch.
var dumpedBatch = regexp.MustCompile(`^baseOffset: (\d+) lastOffset: (\d+) .*partitionLeaderEpoch: (-?\d+) .*size: (\d+) magic: 2 .*crc: (\d+) isvalid: true`)

// checkFound holds the batches that were found, and how they were sorted, against the dumps that are
// stored with the recording.
func checkFound(t *testing.T, stage, text string) {
	t.Helper()
	recording, part, _ := strings.Cut(stage, "/")
	of := map[string]map[string]bool{} // partitions by batch
	err := filepath.WalkDir(filepath.Join(fixturesDir, recording, "dump", part), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		for line := range strings.Lines(string(b)) {
			if m := dumpedBatch.FindStringSubmatch(line); m != nil {
				key := strings.Join(m[1:], " ")
				if of[key] == nil {
					of[key] = map[string]bool{}
				}
				name := strings.TrimSuffix(filepath.Base(p), ".txt")
				of[key][name[strings.Index(name, ".")+1:]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		Type                  string
		Log                   *int
		Position, Length      int64
		From, To, Epoch       int64
		Magic                 int
		CRC                   string
		Embedded, Lone, Loose bool
	}
	// Snapshots of the cluster metadata (bootstrap.checkpoint) are batches as well, and no log: no dump
	// was stored of them.
	type snapshot struct{ from, to int64 }
	var snapshots []snapshot
	for line := range strings.Lines(text) {
		var x struct {
			Type             string
			Position, Length int64
			Snapshot         bool
		}
		if json.Unmarshal([]byte(line), &x) == nil && x.Type == "carved-piece" && x.Snapshot {
			snapshots = append(snapshots, snapshot{x.Position, x.Position + x.Length})
		}
	}
	byPosition := map[int64]string{}
	ends := map[int64]int64{}
	missing := maps.Clone(of)
	logs := map[int]map[string]bool{}
	for line := range strings.Lines(text) {
		var x found
		if json.Unmarshal([]byte(line), &x) != nil {
			continue
		}
		switch {
		case x.Type == "carved-batch" && !x.Embedded && !x.Lone && !x.Loose:
			var crc uint32
			fmt.Sscanf(x.CRC, "0x%x", &crc)
			key := fmt.Sprint(x.From, x.To-1, x.Epoch, x.Length, crc)
			if slices.ContainsFunc(snapshots, func(s snapshot) bool { return s.from <= x.Position && x.Position < s.to }) {
				continue
			}
			if of[key] == nil {
				t.Errorf("%s: kafka-dump-log knows of no batch %s at position %d", stage, key, x.Position)
			}
			delete(missing, key)
			byPosition[x.Position], ends[x.Position] = key, x.Position+x.Length
		case x.Type == "carved-piece" && x.Log != nil:
			for p := x.Position; p < x.Position+x.Length && ends[p] > p; p = ends[p] {
				if logs[*x.Log] == nil {
					logs[*x.Log] = maps.Clone(of[byPosition[p]])
				}
				maps.DeleteFunc(logs[*x.Log], func(name string, _ bool) bool { return !of[byPosition[p]][name] })
			}
		}
	}
	for key := range missing {
		t.Errorf("%s: not found: %s", stage, key)
	}
	for log, names := range logs {
		if len(names) == 0 {
			t.Errorf("%s: log %d has batches of several partitions", stage, log)
		}
	}
	t.Logf("%s: %d batches by kafka-dump-log, %d logs", stage, len(of), len(logs))
}
