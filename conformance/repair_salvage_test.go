package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/repair"
)

// salvageCases run without the build tag broker: several damages, gaps and no gap, compacted and
// transactional logs, segments that overlap, that are gone, that were renamed away.
var salvageCases = []string{"BR-25a", "BR-25b", "BR-16", "BR-44b", "BR-57b", "BR-62", "BR-66a", "BR-70a", "BR-74a", "BR-87", "BR-88d"}

// TestSalvagedStarts salvages the cases, and with the build tag broker every stage of every recording,
// and has Kafka load what came out, with the clean marker and without: it starts, cuts and deletes
// nothing, and has the offsets and epochs that the plan promised.
func TestSalvagedStarts(t *testing.T) {
	kafsck := buildKafsck(t)
	dir := inMemory(t)
	list := mendableCases(t, dir)
	if everyOptionSet {
		list = append(list, mendableStages(t, dir)...)
	} else {
		list = slices.DeleteFunc(list, func(m mendable) bool { return !slices.Contains(salvageCases, m.name) })
	}
	var all []*mended
	for _, m := range list {
		all = append(all, salvageOne(kafsck, filepath.Join(dir, "salvaged", m.name), m))
	}
	loadMended(t, all)
	tally := map[string]int{}
	failed := 0
	for _, m := range all {
		if len(m.wrong) > 0 {
			m.verdict = "WRONG"
			failed++
			t.Errorf("%s:\n    %s", m.name, strings.Join(m.wrong, "\n    "))
		}
		tally[m.verdict]++
	}
	t.Log(len(list), "cases and stages:", tally)
	if !everyOptionSet && tally["salvaged"]+tally["salvaged, with gaps"] != len(salvageCases) {
		t.Errorf("want %d salvaged", len(salvageCases))
	}
}

// salvageOne salvages one folder of log directories.
func salvageOne(kafsck, dir string, m mendable) *mended {
	x := &mended{mendable: m, way: "salvaged", out: filepath.Join(dir, "out")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		x.broken("%v", err)
		return x
	}
	args := []string{"salvage", "--quiet", m.path, "--out", x.out}
	if m.kafka != "" {
		args = append(args, "--kafka", m.kafka)
	}
	code, text := run(kafsck, args...)
	b, err := os.ReadFile(filepath.Join(x.out, "repair.json"))
	if err != nil {
		if code == 2 || code == 4 {
			if x.verdict = "nothing to salvage"; !strings.Contains(text, "only cluster metadata") && !strings.Contains(text, "nothing was written") {
				x.broken("%s: exit code %d: %s", strings.Join(args, " "), code, text)
			}
			return x
		}
		x.broken("%s: exit code %d: %s", strings.Join(args, " "), code, text)
		return x
	}
	if err := json.Unmarshal(b, &x.done); err != nil {
		x.broken("%v", err)
		return x
	}
	// Partition directories alone are put into a log directory that kafka-storage has formatted.
	for _, r := range x.done.Plan.Roots {
		if r.New && r.Partition {
			if err := os.WriteFile(filepath.Join(x.out, r.Name, "meta.properties"), []byte("version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"), 0o644); err != nil {
				x.broken("%v", err)
			}
		}
	}
	gaps, _ := x.done.Plan.Salvaged.Gaps()
	x.verdict = "salvaged"
	if gaps > 0 {
		x.verdict = "salvaged, with gaps"
	}
	none := slices.ContainsFunc(x.done.Plan.Salvaged.Partitions, func(p repair.SalvagedPartition) bool { return p.Root < 0 })
	want := 0
	if gaps > 0 || none || x.done.Plan.Salvaged.Apart() {
		want = 1
	}
	if code&^2 != want {
		x.broken("exit code %d with %d gaps: %s", code, gaps, text)
		return x
	}
	for _, p := range x.done.Plan.Salvaged.Partitions {
		promised := slices.ContainsFunc(x.done.Plan.Promises, func(q repair.Promise) bool {
			return q.Root == p.Root && q.Dir == p.Dir && q.LogStartOffset == p.LogStartOffset && q.LogEndOffset == p.LogEndOffset && fmt.Sprint(q.Epochs) == fmt.Sprint(p.Epochs)
		})
		if p.Root >= 0 && !promised && p.TopicID != "" {
			x.broken("%s [%d, %d) is told and not promised", p.Partition, p.LogStartOffset, p.LogEndOffset)
		}
	}
	return x
}
