package repair

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"kafsck/logdir"
	"kafsck/segment"
)

// knownEdge is a place where a log among the PATHs ends, or has a hole: batches with just these
// offsets may be its own.
type knownEdge struct {
	name, id string
	who      string
	at, to   int64 // offsets [at, to) are missing; to -1: at is the log end
	epoch    int32 // of the batch before
}

// maxKnownEdges bounds the holes of known logs that are remembered.
const maxKnownEdges = 100_000

// names asks the logs among the PATHs which of their batches were found.
func (c *carving) names() error {
	c.sortSigs()
	for p := range c.allKnown() {
		if c.opt.Match != nil && !c.opt.Match(p.Topic, p.Partition) {
			continue
		}
		if err := c.known(p); err != nil {
			return err
		}
	}
	for _, r := range c.runs {
		var first, second int64
		for _, key := range sortedNames(r.votes) {
			switch n := r.votes[key]; {
			case n > first:
				r.name, first, second = key, n, first
			case n > second:
				second = n
			}
		}
		if second*2 > first {
			r.name = ""
		}
		if r.name == "" && first == 0 && c.opt.Within != "" && r.outer < 0 {
			r.name = c.opt.Within
			c.ids[r.name] = c.opt.WithinID
		}
	}
	return nil
}

// allKnown are the partition directories of the PATHs, with those of the metadata log.
func (c *carving) allKnown() iter.Seq[*logdir.Partition] {
	return func(yield func(*logdir.Partition) bool) {
		if c.opt.Known == nil {
			return
		}
		for p := range c.opt.Known.AllPartitions() {
			if !yield(p) {
				return
			}
		}
		for _, b := range c.opt.Known.Brokers {
			for _, d := range b.Dirs {
				if d.Metadata != nil && !yield(d.Metadata) {
					return
				}
			}
		}
	}
}

func sortedNames(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// known reads all .log files of a partition directory.
func (c *carving) known(p *logdir.Partition) error {
	name := p.Name()
	id := ""
	if p.HasTopicID {
		id = p.TopicID.String()
	}
	if old, ok := c.ids[name]; ok && old != id && id != "" && old != "" {
		name += " of topic " + id // another topic of the same name
	}
	if old := c.ids[name]; old == "" {
		c.ids[name] = id
	}
	next, last := int64(-1), int32(-1)
	tally := map[*run]int64{}
	defer func() {
		// Replicas have the same batches: the one with the most counts.
		for r, n := range tally {
			if r.votes == nil {
				r.votes = map[string]int64{}
			}
			r.votes[name] = min(max(r.votes[name], n), r.batches)
		}
		c.led(p, name, tally)
	}()
	for _, seg := range p.Segments {
		f := seg.Log
		if f == nil || f.Err != nil || f.Size <= 0 {
			continue
		}
		live := f.Suffix == logdir.NoSuffix && p.State == logdir.Live
		if live && next < 0 {
			next = seg.BaseOffset
		}
		h, err := f.Open()
		if err != nil {
			c.told.KnownErrors = append(c.told.KnownErrors, logdir.PathError{Path: f.Path, Err: err})
			continue
		}
		for fr, err := range segment.Walk(h, f.Size, segment.ScanOptions{NextOffset: seg.BaseOffset}) {
			if err != nil {
				c.told.KnownErrors = append(c.told.KnownErrors, logdir.PathError{Path: f.Path, Err: segment.PlainCause(err)})
				break
			}
			if c.told.Known%4096 == 0 && c.ctx.Err() != nil {
				break
			}
			if fr.Damage != nil || fr.Kind != segment.Batch && fr.Kind != segment.Legacy {
				continue
			}
			c.told.Known++
			var sig uint64
			var from, to int64
			e := int32(-1)
			if fr.Kind == segment.Legacy {
				from, to = fr.Legacy.Offset, fr.Legacy.Offset+1
				sig = signature(from, -1, fr.Legacy.CRC, fr.Len)
			} else {
				hd := &fr.Batch.Header
				from, to, e = hd.BaseOffset, hd.NextOffset(), hd.PartitionLeaderEpoch
				sig = signature(from, e, hd.CRC, fr.Len)
			}
			c.vote(sig, tally)
			if !live {
				continue
			}
			if next >= 0 && from > next && fr.Kind == segment.Batch {
				c.edge(knownEdge{name, id, p.Dir, next, from, last})
			}
			next, last = max(next, to), e
		}
		h.Close()
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
	}
	if next > 0 && p.State == logdir.Live {
		c.edge(knownEdge{name, id, p.Dir, next, -1, last})
	}
	return nil
}

func (c *carving) edge(e knownEdge) {
	if len(c.edges) < maxKnownEdges {
		c.edges = append(c.edges, e)
	}
}

// vote counts a batch for the pieces that hold it.
func (c *carving) vote(sig uint64, tally map[*run]int64) {
	if sig&c.mask != 0 {
		return
	}
	i := sort.Search(len(c.sigs), func(i int) bool { return c.sigs[i].sig >= sig })
	for ; i < len(c.sigs) && c.sigs[i].sig == sig; i++ {
		tally[c.runs[c.sigs[i].run]]++
	}
}

// named gives a log the name that its batches prove, or that its place does.
func (c *carving) named(l *CarvedLog, chain []*run, rivals []int) {
	var votes int64
	for _, r := range chain {
		if r.name != "" {
			l.Partition = r.name
			votes += r.votes[r.name]
		}
	}
	if l.Partition != "" {
		l.TopicID, l.Proved = c.ids[l.Partition], votes
		l.Named = "all of its batches stand in logs of the PATHs, with the same offset, epoch and CRC"
		if votes < l.Batches {
			l.Named = fmt.Sprintf("%d of its %d batches stand in logs of the PATHs, with the same offset, epoch and CRC", votes, l.Batches)
		}
		if c.mask != 0 {
			l.Named = "at least " + l.Named
		}
		if votes == 0 {
			l.Named = "the file is a segment of this partition by its path and name"
		}
		return
	}
	for _, r := range chain {
		if len(r.votes) > 1 {
			l.Doubts = append(l.Doubts, fmt.Sprintf("its batches stand in the logs of %s alike", join(sortedNames(r.votes))))
			return
		}
	}
	fits, more := c.fitting(chain)
	if len(fits) == 0 {
		return
	}
	e := &c.edges[fits[0]]
	if more || rivals[fits[0]] > 1 || slices.ContainsFunc(fits, func(i int32) bool { return c.edges[i].name != e.name }) {
		l.Doubts = append(l.Doubts, fmt.Sprintf("offset %d is where %s ends or has a hole, but not that one alone, or other pieces fit there too", chain[0].from, e.name))
		return
	}
	l.Partition, l.TopicID = e.name, e.id
	l.Named = fmt.Sprintf("it begins at offset %d, where %s ends, and no other log of the PATHs ends or has a hole there", e.at, e.who)
	if e.to >= 0 {
		l.Named = fmt.Sprintf("offsets %d–%d are missing in %s, and in no other log of the PATHs", e.at, e.to-1, e.who)
	}
	l.Assumed = append(l.Assumed, "the name: "+l.Named)
}

// edgeOrder finds the edges by an offset.
type edgeOrder struct {
	byAt, byTo []int32
}

// maxFitting bounds how many edges at one offset are asked: where more logs end, none is the only one.
const maxFitting = 64

func (c *carving) sortEdges() {
	for i := range c.edges {
		c.order.byAt = append(c.order.byAt, int32(i))
		if c.edges[i].to >= 0 {
			c.order.byTo = append(c.order.byTo, int32(i))
		}
	}
	slices.SortStableFunc(c.order.byAt, func(a, b int32) int { return cmp.Compare(c.edges[a].at, c.edges[b].at) })
	slices.SortStableFunc(c.order.byTo, func(a, b int32) int { return cmp.Compare(c.edges[a].to, c.edges[b].to) })
}

// fitting are the ends and holes of known logs, as indexes of edges, that a chain fits into exactly. more:
// there are so many at its offset that not all were asked.
func (c *carving) fitting(chain []*run) (out []int32, more bool) {
	first, last := chain[0], chain[len(chain)-1]
	ask := func(order []int32, offset int64, at func(e *knownEdge) int64) {
		i, _ := slices.BinarySearchFunc(order, offset, func(k int32, offset int64) int { return cmp.Compare(at(&c.edges[k]), offset) })
		for n := 0; i < len(order) && at(&c.edges[order[i]]) == offset; i, n = i+1, n+1 {
			if n == maxFitting {
				more = true
				return
			}
			e := &c.edges[order[i]]
			if (first.epoch0 < 0 || e.epoch <= first.epoch0) &&
				(e.at == first.from && (e.to < 0 || last.to <= e.to) || e.to >= 0 && e.to == last.to && first.from >= e.at) {
				out = append(out, order[i])
			}
		}
	}
	ask(c.order.byAt, first.from, func(e *knownEdge) int64 { return e.at })
	ask(c.order.byTo, last.to, func(e *knownEdge) int64 { return e.to })
	slices.Sort(out)
	return slices.Compact(out), more
}
