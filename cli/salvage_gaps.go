package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

// maxGapList bounds a gaps.json that is read, in bytes.
const maxGapList = 64 << 20

// salvageGaps reads the gap lists beside log directories that kafsck salvage made (OUT/gaps.json beside
// OUT/salvaged). They only explain: what cannot be read, or is no gap list, explains nothing.
func salvageGaps(c *logdir.Case) map[string][]incident.SalvageGap {
	lists := map[string]*repair.Salvaged{}
	out := map[string][]incident.SalvageGap{}
	for p := range c.AllPartitions() {
		if p.HostPath == "" {
			continue
		}
		name := filepath.Join(filepath.Dir(filepath.Dir(p.HostPath)), "gaps.json")
		list, seen := lists[name]
		if !seen {
			list = readGapList(name)
			lists[name] = list
		}
		if list == nil {
			continue
		}
		if x := inGapList(list, p); x != nil {
			for _, g := range x.Gaps {
				out[p.HostPath] = append(out[p.HostPath], incident.SalvageGap{From: g.From, To: g.To, Unproven: g.Why == repair.GapUnproven})
			}
		}
	}
	return out
}

// inGapList finds a partition directory in a gap list. Two of a name are of two topics, and lie in two log
// directories of the result.
func inGapList(list *repair.Salvaged, p *logdir.Partition) *repair.SalvagedPartition {
	var found *repair.SalvagedPartition
	for i := range list.Partitions {
		x := &list.Partitions[i]
		if x.Dir != filepath.Base(p.HostPath) {
			continue
		}
		if p.HasTopicID && x.TopicID == p.TopicID.String() {
			return x
		}
		if found != nil {
			return nil
		}
		found = x
	}
	return found
}

func readGapList(name string) *repair.Salvaged {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list repair.Salvaged
	if json.NewDecoder(io.LimitReader(f, maxGapList)).Decode(&list) != nil || list.Type != "salvage" || list.Version != 1 {
		return nil
	}
	return &list
}
