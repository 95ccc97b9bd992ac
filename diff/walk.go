package diff

import (
	"slices"

	"kafsck/replica"
)

// chunk is a minimal stretch of blocks, at most one side empty, after which both
// sides may be compared afresh.
type chunk struct {
	from, to int64
	ends     [2]int64
	epochs   [2][]int32
	first    [2]*replica.Block
	flaws    [2]replica.Flaw
	whole    [2]bool // every block of the side is whole
	again    [2]bool // the side has stored these offsets before: its segments overlap

	// Messages of old formats: see keep.
	legacy  bool
	partial bool // blocks does not hold all of them
	blocks  [2][]replica.Block
}

// side is one log in the walk.
type side struct {
	*replica.Cursor
	next int64 // end of the block before, -1 none
	high int64 // end of all blocks so far that followed on the one before
	// again: offsets below high. A single base offset that is out of line does not move high.
	again bool
}

func newSide(c Content, from, to int64) *side {
	s := &side{Cursor: replica.NewCursor(c.Blocks(from, to)), next: -1, high: -1}
	s.look()
	return s
}

func (s *side) look() {
	s.again = s.OK && s.Block.Base < s.high
}

func (s *side) advance() {
	if s.next < 0 || s.Block.Base == s.next {
		s.high = max(s.high, s.Block.Next())
	}
	s.next = s.Block.Next()
	s.Advance()
	s.look()
}

func (c *chunk) take(side int, b replica.Block) {
	c.keep(side, &b)
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
	cs := [2]*side{newSide(a, from, to), newSide(b, from, to)}
	defer cs[0].Stop()
	defer cs[1].Stop()
	for cs[0].OK || cs[1].OK {
		x, y := cs[0], cs[1]
		if x.OK && y.OK && x.Block.Same(&y.Block) {
			equal(x.Block.Base)
			x.advance()
			y.advance()
			continue
		}
		c := &chunk{}
		switch {
		case x.again:
			c.from, c.again[0] = x.Block.Base, true
			c.take(0, x.Block)
			x.advance()
		case y.again:
			c.from, c.again[1] = y.Block.Base, true
			c.take(1, y.Block)
			y.advance()
		case !y.OK || x.OK && x.Block.Last < y.Block.Base:
			c.from = x.Block.Base
			c.take(0, x.Block)
			x.advance()
		case !x.OK || y.Block.Last < x.Block.Base:
			c.from = y.Block.Base
			c.take(1, y.Block)
			y.advance()
		default:
			c.from = min(x.Block.Base, y.Block.Base)
			align(c, cs)
		}
		differ(c)
	}
	if cs[0].Err != nil {
		return cs[0].Err
	}
	return cs[1].Err
}

// align takes overlapping blocks from both sides until both end at the same
// offset, one side ends, or both continue with the same block.
func align(c *chunk, cs [2]*side) {
	for i := range cs {
		c.take(i, cs[i].Block)
		cs[i].advance()
	}
	for c.ends[0] != c.ends[1] {
		short := 0
		if c.ends[1] < c.ends[0] {
			short = 1
		}
		s, l := cs[short], cs[1-short]
		if !s.OK || s.Block.Base >= c.ends[1-short] {
			return
		}
		if l.OK && s.Block.Same(&l.Block) {
			return
		}
		c.take(short, s.Block)
		s.advance()
	}
}
