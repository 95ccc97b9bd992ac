package diff

import (
	"iter"
	"slices"

	"kafsck/replica"
)

// cursor is a peekable stream of blocks.
type cursor struct {
	next  func() (replica.Block, error, bool)
	stop  func()
	block replica.Block
	ok    bool
	err   error
}

func newCursor(seq iter.Seq2[replica.Block, error]) *cursor {
	next, stop := iter.Pull2(seq)
	c := &cursor{next: next, stop: stop}
	c.advance()
	return c
}

func (c *cursor) advance() {
	b, err, ok := c.next()
	c.block, c.ok = b, ok && err == nil
	if err != nil {
		c.err = err
	}
}

// chunk is a minimal stretch of blocks, at most one side empty, after which both
// sides may be compared afresh.
type chunk struct {
	from, to int64
	ends     [2]int64
	epochs   [2][]int32
	first    [2]*replica.Block
	flaws    [2]replica.Flaw
	whole    [2]bool // every block of the side is whole
}

func (c *chunk) take(side int, b replica.Block) {
	if c.first[side] == nil {
		x := b
		c.first[side] = &x
		c.whole[side] = true
		c.ends[side] = b.Next()
	}
	c.ends[side] = max(c.ends[side], b.Next())
	c.flaws[side] |= b.Flaws
	c.whole[side] = c.whole[side] && b.Whole()
	e := b.Epoch
	if b.Flaws&replica.SuspectEpoch != 0 {
		e = b.WrittenEpoch // show what is written
	}
	if e >= 0 && !slices.Contains(c.epochs[side], e) {
		c.epochs[side] = append(c.epochs[side], e)
	}
	c.to = max(c.to, c.ends[side])
}

// differences walks the blocks of a and b in [from, to) in step and yields every
// chunk that differs, with equal reporting the offset of each pair of equal
// blocks in between.
func differences(a, b Content, from, to int64, equal func(at int64), differ func(*chunk)) error {
	cs := [2]*cursor{newCursor(a.Blocks(from, to)), newCursor(b.Blocks(from, to))}
	defer cs[0].stop()
	defer cs[1].stop()
	for cs[0].ok || cs[1].ok {
		x, y := cs[0], cs[1]
		if x.ok && y.ok && x.block.Same(&y.block) {
			equal(x.block.Base)
			x.advance()
			y.advance()
			continue
		}
		c := &chunk{}
		switch {
		case !y.ok || x.ok && x.block.Last < y.block.Base:
			c.from = x.block.Base
			c.take(0, x.block)
			x.advance()
		case !x.ok || y.block.Last < x.block.Base:
			c.from = y.block.Base
			c.take(1, y.block)
			y.advance()
		default:
			c.from = min(x.block.Base, y.block.Base)
			align(c, cs)
		}
		differ(c)
	}
	if cs[0].err != nil {
		return cs[0].err
	}
	return cs[1].err
}

// align takes overlapping blocks from both sides until both end at the same
// offset, one side ends, or both continue with the same block.
func align(c *chunk, cs [2]*cursor) {
	for i := range cs {
		c.take(i, cs[i].block)
		cs[i].advance()
	}
	for c.ends[0] != c.ends[1] {
		short := 0
		if c.ends[1] < c.ends[0] {
			short = 1
		}
		s, l := cs[short], cs[1-short]
		if !s.ok || s.block.Base >= c.ends[1-short] {
			return
		}
		if l.ok && s.block.Same(&l.block) {
			return
		}
		c.take(short, s.block)
		s.advance()
	}
}
