package diff

import (
	"errors"
	"iter"

	"github.com/zeebo/xxh3"

	"kafsck/batch"
	"kafsck/replica"
)

// maxChunkBlocks bounds how many blocks of a chunk are kept to compare their records.
const maxChunkBlocks = 1 << 16

// keep notes a block of a chunk that holds messages of format 0 or 1.
//
// Brokers of old formats did not copy batches byte for byte as those of format 2 do: one may
// hold a message where another holds it in a wrapper, or in the format before. So these are
// compared by record.
func (c *chunk) keep(side int, b *replica.Block) {
	if b.Legacy && !c.legacy {
		c.legacy = true
		other := c.first[1-side]
		c.partial = c.first[side] != nil || other != nil && !c.alone(other, 1-side)
		if other != nil {
			c.blocks[1-side] = append(c.blocks[1-side], *other)
		}
	}
	if !c.legacy || c.partial {
		return
	}
	c.blocks[side] = append(c.blocks[side], *b)
	if len(c.blocks[0])+len(c.blocks[1]) > maxChunkBlocks {
		c.partial, c.blocks = true, [2][]replica.Block{}
	}
}

// alone reports whether b is all that the chunk has of a side.
func (c *chunk) alone(b *replica.Block, side int) bool { return c.ends[side] == b.Next() }

// byRecord reports whether the records of a chunk are to be compared: both sides hold whole
// blocks, of which at least one is of an old format. Two messages that are not compressed
// differ if their bytes do.
func (c *chunk) byRecord() bool {
	if !c.legacy || c.partial || c.again[0] || c.again[1] || c.first[0] == nil || c.first[1] == nil || !c.whole[0] || !c.whole[1] {
		return false
	}
	x, y := c.first[0], c.first[1]
	return len(c.blocks[0]) > 1 || len(c.blocks[1]) > 1 || !singles(x, y)
}

// singles reports whether two blocks are messages without compression, of one format and offset.
func singles(x, y *replica.Block) bool {
	return x.Legacy && y.Legacy && x.Codec == batch.None && y.Codec == batch.None && x.Magic == y.Magic && x.Base == y.Base
}

// recordRun is a run of records of a chunk, at ascending offsets, of one kind.
type recordRun struct {
	from, to int64
	held     [2]bool // which sides hold them
	same     bool    // both do, and they are the same
	first    [2]*replica.Block
}

// recordRuns compares a chunk by record. ok is false if some of it cannot be decoded; an error
// is a failed read.
func recordRuns(sides [2]Content, c *chunk) (runs []recordRun, ok bool, err error) {
	var next [2]func() (entry, error, bool)
	var head [2]entry
	var have [2]bool
	var failed error
	step := func(i int) {
		e, err, more := next[i]()
		if err != nil && failed == nil {
			failed = err
		}
		head[i], have[i] = e, more && err == nil
	}
	for i := range next {
		n, stop := iter.Pull2(blockRecords(sides[i], c.blocks[i]))
		defer stop()
		next[i] = n
		step(i)
	}
	for failed == nil && (have[0] || have[1]) {
		r := recordRun{held: have}
		if have[0] && have[1] {
			r.held = [2]bool{head[0].offset <= head[1].offset, head[1].offset <= head[0].offset}
			r.same = r.held[0] && r.held[1] && head[0].sameRecord(&head[1])
		}
		for i, held := range r.held {
			if held {
				r.from, r.to, r.first[i] = head[i].offset, head[i].offset+1, head[i].block
			}
		}
		if n := len(runs); n > 0 && runs[n-1].held == r.held && runs[n-1].same == r.same && runs[n-1].to <= r.from {
			runs[n-1].to = r.to
		} else {
			runs = append(runs, r)
		}
		for i, held := range r.held {
			if held {
				step(i)
			}
		}
	}
	if errors.Is(failed, errUndecodable) {
		return nil, false, nil
	}
	return runs, failed == nil, failed
}

// blockRecords yields the records of blocks. An error is a failed read, or errUndecodable.
func blockRecords(c Content, blocks []replica.Block) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		d := batch.NewDecompressor(maxBatchBytes)
		h := xxh3.New()
		for i := range blocks {
			b := &blocks[i]
			for r, err := range c.Records(b, d) {
				if err != nil {
					yield(entry{}, readOr(err, errUndecodable))
					return
				}
				e := entry{offset: r.Offset, control: b.Control(), block: b}
				e.fill(h, &r)
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// differRecords is differ for a chunk that is compared by record; ok is false if it cannot be.
func (p *pairWalk) differRecords(c *chunk) (ok bool) {
	runs, ok, err := recordRuns([2]Content{p.a, p.b}, c)
	if err != nil {
		p.err = err
		return true
	}
	for i := range runs {
		r := &runs[i]
		if r.same {
			p.equal(r.from)
			continue
		}
		part := chunk{from: r.from, to: r.to, first: r.first, ends: [2]int64{r.from, r.from}}
		for side, held := range r.held {
			if held {
				part.ends[side], part.whole[side] = r.to, true
				if e := r.first[side].Epoch; e >= 0 {
					part.epochs[side] = []int32{e}
				}
			}
		}
		p.differBlocks(&part)
	}
	return ok
}
