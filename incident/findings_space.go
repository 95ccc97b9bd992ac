package incident

import (
	"slices"
	"sync"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/logdir"
)

// maxSpaceSigns bounds how many signs of a full disk are kept.
const maxSpaceSigns = 100_000

// spaceSigns gathers, over all partitions, what a full disk leaves.
type spaceSigns struct {
	mu   sync.Mutex
	list []check.SpaceSign
}

// noteSpace keeps the signs in the copies of a judged partition.
func (inc *Incident) noteSpace(p *Partition) {
	for _, c := range p.Copies {
		if !c.readable() {
			continue
		}
		signs := check.SpaceSigns(c.Log)
		if len(signs) == 0 {
			continue
		}
		inc.space.mu.Lock()
		inc.space.list = append(inc.space.list, signs[:min(len(signs), maxSpaceSigns-len(inc.space.list))]...)
		inc.space.mu.Unlock()
	}
}

// LaterFindings are the findings that only all partitions together give: they are known when all of
// them were judged.
func (inc *Incident) LaterFindings() []finding.Finding {
	inc.space.mu.Lock()
	defer inc.space.mu.Unlock()
	var dirs []*logdir.LogDir
	byDir := map[*logdir.LogDir][]check.SpaceSign{}
	for _, x := range inc.space.list {
		if byDir[x.LogDir] == nil {
			dirs = append(dirs, x.LogDir)
		}
		byDir[x.LogDir] = append(byDir[x.LogDir], x)
	}
	var out []finding.Finding
	for _, cl := range inc.Clusters {
		for _, b := range cl.Brokers {
			for _, d := range b.Dirs {
				if slices.Contains(dirs, d) {
					out = append(out, check.OutOfSpace(d, cl.refs[b].Name, byDir[d])...)
				}
			}
		}
	}
	return out
}
