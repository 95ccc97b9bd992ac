package check

import (
	"fmt"
	"io/fs"
	"iter"

	"kafsck/finding"
	"kafsck/logdir"
)

// access is who may read a file: its owner and its permissions.
type access struct {
	owner logdir.Owner
	mode  fs.FileMode
}

func (a access) String() string {
	s := fmt.Sprintf("mode %04o", a.mode)
	if a.owner.Known {
		s += fmt.Sprintf(", owner %d:%d", a.owner.UID, a.owner.GID)
	}
	return s
}

// judged yields the files of a log directory that a broker opens, and whose mode could be asked: its
// own small ones, and all of the selected partitions.
func judged(d *logdir.LogDir, match Match) iter.Seq[*logdir.File] {
	return func(yield func(*logdir.File) bool) {
		each := func(list iter.Seq[*logdir.File]) bool {
			for f := range list {
				if f.Size >= 0 && f.Mode.IsRegular() && f.Kind != logdir.KindOther && !yield(f) {
					return false
				}
			}
			return true
		}
		if !d.Partial && !each(d.AllFiles()) {
			return
		}
		if d.Metadata != nil && !each(d.Metadata.AllFiles()) {
			return
		}
		for _, p := range d.Partitions {
			if match.takes(p.Topic, p.Partition) && !each(p.AllFiles()) {
				return
			}
		}
	}
}

// unreadable finds files that the user to whom most files of the log directory belong may not
// read, while he may read the others: owners and permissions that were changed for some files.
// A copy in which all files are alike says nothing of the broker's rights, so nothing is said.
//
// LogSegment.open, LeaderEpochCheckpointFile and FileRecords.open throw an IOException then.
func unreadable(d *logdir.LogDir, s Subject, match Match) []finding.Finding {
	counts := map[access]int{}
	total := 0
	for f := range judged(d, match) {
		counts[access{f.Owner, f.Mode.Perm()}]++
		total++
	}
	if len(counts) < 2 {
		return nil
	}
	// The broker is the owner of most files, and its way of writing them is the most frequent one.
	byOwner := map[logdir.Owner]int{}
	for a, n := range counts {
		byOwner[a.owner] += n
	}
	var broker logdir.Owner
	for o, n := range byOwner {
		if n > byOwner[broker] || n == byOwner[broker] && o.UID < broker.UID {
			broker = o
		}
	}
	var usual access
	for a, n := range counts {
		if a.owner == broker && (n > counts[usual] || n == counts[usual] && a.mode > usual.mode) {
			usual = a
		}
	}
	var out []*logdir.File
	for f := range judged(d, match) {
		if !f.ReadableBy(broker) {
			out = append(out, f)
		}
	}
	if len(out) == 0 || 2*len(out) >= total {
		return nil
	}
	first := out[0]
	f := raise("file-unreadable", damage, s.At(first.Path), count(len(out), "file is", "files are")+" not readable by the user to whom the other files of the log directory belong")
	f.Count = len(out)
	for _, x := range out[:min(len(out), maxExamples)] {
		f.Evidence = append(f.Evidence, finding.Evidence{Claim: x.Path, Want: usual.String() + ", as its neighbours", Got: access{x.Owner, x.Mode.Perm()}.String()})
	}
	switch first.Kind {
	case logdir.KindMetadataSnapshot, logdir.KindQuorumState:
		f.Kafka = "Stops when it reads the file: the node does not start."
	}
	return []finding.Finding{f}
}
