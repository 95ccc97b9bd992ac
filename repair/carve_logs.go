package repair

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/batch"
	"kafsck/epoch"
	"kafsck/logdir"
)

// maxTold bounds the sentences about one log.
const maxTold = 8

// maxPlaces bounds the logs of one name that are written under it; the others are carved ones.
const maxPlaces = 16

// CarvedTopic is the topic that logs without a name are written under: it is made up.
const CarvedTopic = "carved"

// PlaceName is the directory of the result in which the log is.
func (l *CarvedLog) PlaceName() string {
	return placeName(l.Place)
}

// placeName has no number, which would pass for the id of a broker.
func placeName(place int) string {
	if place == 0 {
		return "salvaged"
	}
	return "salvaged-" + string(rune('a'+place))
}

// tell makes logs of the chains.
func (c *carving) tell() {
	heads := c.headsByOffset()
	slices.SortFunc(heads, func(x, y *run) int { return cmp.Compare(x.index, y.index) })
	chainOf := func(r *run) (chain []*run) {
		for ; r != nil; r = r.next {
			chain = append(chain, r)
		}
		return chain
	}
	for _, r := range c.runs {
		if r.copyOf != nil {
			c.told.Again += r.batches
		}
	}
	c.sortEdges()
	rivals := make([]int, len(c.edges))
	for _, r := range heads {
		if chain := chainOf(r); !slices.ContainsFunc(chain, func(r *run) bool { return r.name != "" }) {
			fits, _ := c.fitting(chain)
			for _, e := range fits {
				rivals[e]++
			}
		}
	}
	owner := make([]int, len(c.runs))
	c.told.Logs = make([]CarvedLog, 0, len(heads))
	for _, r := range heads {
		chain := chainOf(r)
		l := c.log(chain)
		c.named(&l, chain, rivals)
		c.told.Logs = append(c.told.Logs, l)
	}
	c.rule()
	slices.SortStableFunc(c.told.Logs, func(a, b CarvedLog) int {
		return cmp.Or(cmp.Compare(b2i(a.Partition == ""), b2i(b.Partition == "")), cmp.Compare(a.Partition, b.Partition), byRule(&a, &b), cmp.Compare(a.Pieces[0].Pos, b.Pieces[0].Pos))
	})
	used, named := map[string]bool{}, map[string]int{}
	for i := range c.told.Logs {
		l := &c.told.Logs[i]
		l.Number = i + 1
		if l.Partition != "" && !used[l.Partition] && isPartitionDir(l.Partition) {
			l.Dir = l.Partition
			used[l.Dir] = true
			named[l.Dir] = 1
		} else if l.Partition != "" && !strings.HasPrefix(l.Partition, metadataTopic+"-") {
			l.Doubts = append(l.Doubts, "another log here has the name too: another history of the partition, or a part that nothing joins to it")
			if n := named[l.Partition]; n > 0 && n < maxPlaces {
				l.Dir, l.Place = l.Partition, n
				named[l.Partition]++
			}
		}
		for _, p := range l.Pieces {
			owner[p.of.index] = l.Number
		}
	}
	n := 0
	for i := range c.told.Logs {
		for l := &c.told.Logs[i]; l.Dir == ""; n++ {
			if dir := fmt.Sprintf("%s-%d", CarvedTopic, n); !used[dir] {
				l.Dir, used[dir] = dir, true
			}
		}
	}
	for i := range c.told.Logs {
		c.clashes(&c.told.Logs[i], owner)
	}
	for i := range c.told.Apart {
		p := &c.told.Apart[i]
		*p = pieceOf(p.of)
	}
}

// share is how much of a log is in logs of the PATHs: where no metadata tell, the first of several
// histories under one name is the one that they know best.
func (l *CarvedLog) share() float64 { return float64(l.Proved) / float64(max(l.Batches, 1)) }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// metadataTopic is no partition among others: a broker gets the cluster metadata from the quorum, so
// that its log is written under another name.
const metadataTopic = "__cluster_metadata"

func isPartitionDir(name string) bool {
	d, err := logdir.ParseDirName(name)
	return err == nil && d.State == logdir.Live && path.Base(name) == name && d.Topic != metadataTopic
}

func pieceOf(r *run) CarvedPiece {
	return CarvedPiece{Pos: r.pos, Len: r.end - r.pos, From: r.from, To: r.to, Batches: r.batches, Outer: r.outer, Embedded: r.embedded, Lone: r.lone, Loose: r.loose, Amid: r.amid, Snapshot: r.snapshot, of: r}
}

// log adds up a chain.
func (c *carving) log(chain []*run) CarvedLog {
	l := CarvedLog{From: chain[0].from, To: chain[len(chain)-1].to, Magic: [2]int8{chain[0].magic[0], chain[len(chain)-1].magic[1]}, First: -1, Last: -1,
		Holes: []CarvedGap{}, Assumed: []string{}, Doubts: []string{}, Epochs: epoch.Cache{}}
	var codecs uint8
	more := 0
	cut := int64(0)
	for i, r := range chain {
		l.Batches += r.batches
		l.Records += r.records
		l.Bytes += r.end - r.pos
		l.Cleaned += r.gaps
		l.Again += r.again
		l.Transactions = l.Transactions || r.transactions
		codecs |= r.codecs
		for _, e := range r.epochs {
			if e.Epoch > l.Epochs.Latest() {
				l.Epochs = append(l.Epochs, epoch.Entry{Epoch: e.Epoch, StartOffset: max(e.StartOffset, r.from)})
			}
		}
		if r.first >= 0 && l.First < 0 {
			l.First = r.first
		}
		l.Last = max(l.Last, r.latest)
		if r.outer >= 0 {
			cut += r.batches
		}
		l.Pieces = append(l.Pieces, pieceOf(r))
		if i == 0 {
			continue
		}
		if p := chain[i-1]; r.from > p.to {
			g := CarvedGap{From: p.to, To: r.from, Damaged: -1}
			if r.over != nil && r.before == p {
				g.Damaged, g.Length = r.over.pos, r.over.length
			}
			l.Holes = append(l.Holes, g)
		}
		if r.before == chain[i-1] && r.over == nil {
			continue // it was cut for its size
		}
		if len(l.Assumed) < maxTold {
			l.Assumed = append(l.Assumed, r.why)
		} else {
			more++
		}
	}
	if more > 0 {
		l.Assumed = append(l.Assumed, fmt.Sprintf("and so on for %s more", plural(more, "piece", "pieces")))
	}
	if cut > 0 {
		l.Doubts = append(l.Doubts, fmt.Sprintf("%s in bytes that a damaged batch before them claims; nothing at its end or in its records bears that claim out", plural(int(cut), "batch lies", "batches lie")))
	}
	for k := batch.None; k <= batch.Zstd; k++ {
		if codecs&(1<<k) != 0 {
			l.Codecs = append(l.Codecs, k.String())
		}
	}
	return l
}

// clashes tells with which other logs a log shares offsets and, at the beginning, batches.
func (c *carving) clashes(l *CarvedLog, owner []int) {
	seen := map[int]bool{}
	var with []int
	for _, p := range l.Pieces {
		for o := range c.offers[p.of] {
			for o.copyOf != nil {
				o = o.copyOf
			}
			if n := owner[o.index]; n > 0 && n != l.Number && !seen[n] {
				seen[n] = true
				with = append(with, n)
			}
		}
	}
	slices.Sort(with)
	if len(with) > 0 {
		l.Doubts = append(l.Doubts, fmt.Sprintf("some of its batches are those of %s too, and others at the same offsets are not: another history of one partition, or cleaned at another time", logNumbers(with)))
	}
}

func logNumbers(list []int) string {
	var words []string
	for i, n := range list {
		if i == 4 {
			words = append(words, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	if len(words) == 1 {
		return "log " + words[0]
	}
	return "logs " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
