//go:build broker

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLiveRepaired39 and TestLiveRepaired28 are TestLiveRepaired with brokers of other releases.
func TestLiveRepaired39(t *testing.T) {
	liveKinds(t, liveRelease{"3.9", "target/lab-3.9.1", false})
}

func TestLiveRepaired28(t *testing.T) {
	liveKinds(t, liveRelease{"2.8", "target/lab-2.8.2", true})
}

// TestLiveRepairedAll has brokers run on what becomes of every case and of every stage of every recording,
// twenty at a time.
func TestLiveRepairedAll(t *testing.T) {
	kafsck := buildKafsck(t)
	dir := inMemory(t)
	stages := mendableStages(t, dir)
	mendableCases(t, dir)
	made, copies := filepath.Join(dir, "cases"), filepath.Join(dir, "copies")
	var list []*liveCase
	for _, c := range readCases(t, made) {
		list = append(list, c.relabelled(t, made, copies, false))
	}
	for _, m := range stages {
		if m.kafka == "" && !strings.HasPrefix(m.name, "base/") { // those are in the cases
			list = append(list, stageCase(t, m, copies))
		}
	}
	ran, partitions, repaired := 0, 0, 0
	for group := range slices.Chunk(list, 20) {
		name := group[0].name + " to " + group[len(group)-1].name
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			r := runLive(t, kafsck, inMemory(t), group, newestLive, []int{1, 2, 3})
			ran += len(r.cases)
			partitions += len(r.topics)
			for _, x := range r.cases {
				if x.mended.done != nil {
					repaired++
				}
			}
		})
	}
	t.Logf("%d cases and stages, brokers ran on %d of them, %d repaired, with %d partitions", len(list), ran, repaired, partitions)
}

// stageCase lays a stage of a recording out: its brokers, by their ids, become 1, 2, 3.
func stageCase(t *testing.T, m mendable, copies string) *liveCase {
	t.Helper()
	type found struct {
		id, path string
	}
	var dirs []found
	var ids []string
	err := filepath.WalkDir(m.path, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "meta.properties" {
			return err
		}
		id := field(filepath.Dir(path), d.Name(), `(?m)^(?:node|broker)\.id=(\d+)`)
		if id == nil {
			return fmt.Errorf("%s: no id", path)
		}
		dirs = append(dirs, found{*id, filepath.Dir(path)})
		ids = append(ids, *id)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	x := &liveCase{name: m.name}
	for _, f := range dirs {
		node := slices.Index(ids, f.id) + 1
		disk := ""
		if n := slices.IndexFunc(dirs, func(o found) bool { return o.id == f.id && o.path != f.path }); n >= 0 {
			disk = filepath.Base(f.path)
		}
		if node <= 3 {
			x.addDisk(t, copies, f.path, node, disk)
		}
	}
	return x
}
