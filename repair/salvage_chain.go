package repair

import (
	"iter"
	"math"

	"kafsck/batch"
	"kafsck/replica"
)

// look is a block of a copy, and what can be said of its offset.
type look struct {
	replica.Block
	ok     bool // it can be taken
	borne  bool // something beside its own header bears its offset out
	alone  bool // nothing does, so that it cannot be taken
	within bool // of one that cannot be taken: its offsets lie between those of the batches around it
	placed bool // its offset is wrong (SuspectBase), and Base and Last are those that its neighbours leave it

	claim int64 // its offset as the header says

	denied bool // it cannot have the offset that its header says
	amid   bool // it may be the content of a value of a damaged batch: see islands
	wide   bool // its header claims more offsets than it has records, and others have these: Last is that of its records

	sound bool // its checksum is right
	bears bool // its offsets can be held against its neighbours': it is sound, or only its CRC is wrong
}

// begin is the offset that the header says.
func (l *look) begin() int64 {
	if l.sound {
		return l.Base
	}
	return l.WrittenBase
}

// starts is begin, and whether it is known: of a damaged wrapper of format 0 or 1 it is not.
func (l *look) starts() (int64, bool) {
	return l.begin(), l.sound || !l.Legacy || l.Codec == 0
}

// span is the number of its offsets, 0 unknown.
func (l *look) span() int64 {
	switch {
	case l.sound:
		return l.Last - l.Base + 1
	case l.Legacy && l.Codec != 0:
		return 0
	}
	return l.WrittenSpan()
}

// next is the offset behind it.
func (l *look) next() int64 {
	if !l.sound && l.Legacy {
		return l.Last + 1
	}
	return l.begin() + l.span()
}

// taking yields the blocks of a copy in the order of its files, those of overlapping segments as a broker
// reads them: what an earlier segment has behind a cut cannot be taken, and a later one is not misplaced.
//
// No checksum covers a base offset (nor that of a message of format 0 or 1), so that of each it is asked
// what else says it:
//
//	|--A 0–9--|--B 10–19--|  …            each continues the one that lies before it, byte at byte
//	|--A 0–9--|~~B 10–19~~|--C 20–29--|   the header of a damaged one counts as well
//	|--A 0–9--|--X 73–82--|--C 20–29--|   X has just the offsets that A and C leave: its own are wrong
//	|--A 0–9--|--X 73–82--|~~~~~~~~~~~~   so are these, if the log is one without holes
//	~~~~~~~~~~|--X 73–82--|~~~~~~~~~~~~   nothing says it: alone, unless witness has found something
//	0.log |--A 0–9--|                     the name of the file says it
//
// In a log with holes (compaction) order is all that most batches have: they are taken in ascending order,
// and where that cannot be, most of them are believed; where it cannot be told who is right, none of these.
func (x *source) taking() iter.Seq2[*look, error] {
	return func(yield func(*look, error) bool) {
		c := chain{x: x, order: order{x: x, at: math.MinInt64, yield: yield}}
		for b, err := range x.blocks(math.MinInt64) {
			if err != nil {
				c.settle(nil)
				if c.order.flush(len(c.order.wait), false) {
					yield(nil, err)
				}
				return
			}
			if !c.take(&look{Block: b}) {
				return
			}
		}
		c.settle(nil)
		c.order.flush(len(c.order.wait), true)
	}
}

// maxChained bounds the blocks that wait for one whose offset is borne out.
const maxChained = 64

// chain goes along a copy and asks of each block what bears its offset out.
type chain struct {
	x     *source
	order order

	left  edge    // the last one that was borne out, or where a segment begins
	wait  []*look // behind it, each where the one before it ends
	sum   int64   // offsets that these have, -1 unknown
	split bool    // more were waiting than maxChained
}

// edge is a position at which an offset is due.
type edge struct {
	segment  int
	position int64
	next     int64
	known    bool
	weak     bool // only the name of a segment says so, or the header of a damaged batch: it can bear out, and not deny
}

// take takes the next block, and reports whether to go on.
func (c *chain) take(l *look) bool {
	x := c.x
	l.Flaws &^= replica.Misplaced
	l.claim = l.Base
	nowhere := l.Flaws&(replica.BadCRC|replica.Unreadable) == 0 && !possible(&l.Block) && l.WrittenSpan() > 0 && l.WrittenSpan() <= math.MaxInt32 && x.log.Segments[l.Segment].BaseOffset <= math.MaxInt64-math.MaxInt32
	if nowhere {
		l.Base, l.Last = -l.WrittenSpan(), -1 // where it belongs is for its neighbours to say
	}
	l.sound = l.Flaws&(flawed&^replica.SuspectBase) == 0 && (nowhere || possible(&l.Block))
	if n := x.wide[[2]int64{int64(l.Segment), l.Position}]; n > 0 && l.sound {
		l.wide = true
		l.Last = l.Base + n - 1
	}
	l.placed = l.sound && l.Flaws&replica.SuspectBase != 0 // by the offsets inside it
	l.denied = l.placed || nowhere || l.sound && x.displaced(&l.Block, c.order.at)
	l.bears = l.sound || l.Flaws&flawed == replica.BadCRC && l.WrittenBase >= 0 && l.WrittenSpan() > 0 && l.WrittenSpan() <= math.MaxInt32 && l.WrittenBase <= math.MaxInt64-1-l.WrittenSpan()
	if at := [2]int64{int64(l.Segment), l.Position}; l.sound && x.enclosed(&l.Block) && !x.vouched[at] {
		c.settle(nil)
		c.left, c.sum, c.split = edge{}, 0, false
		l.amid, l.alone, l.bears = true, true, false
		c.order.take(l)
		return !c.order.stopped
	}
	due, beside := c.due(l)
	if !beside || !l.bears {
		c.settle(nil)
		c.left, c.sum, c.split = edge{}, 0, false
		if !l.bears {
			c.order.take(l)
			return !c.order.stopped
		}
		if l.Position == 0 {
			base := x.log.Segments[l.Segment].BaseOffset
			c.left = edge{segment: l.Segment, next: base, known: true, weak: true}
		}
	}
	if begin, ok := l.starts(); ok && !l.denied {
		// Its offset is what those between it and the last one that is borne out leave it.
		if c.left.known && !c.split && len(c.wait) > 0 && c.sum > 0 && c.left.next+c.sum == begin {
			l.borne = true
		}
		if due >= 0 && due == begin {
			if n := len(c.wait); n > 0 {
				c.wait[n-1].borne = true
			}
			l.borne = true
		}
		l.borne = l.borne || l.Position == 0 && begin == x.log.Segments[l.Segment].BaseOffset
	}
	l.borne = !l.denied && (l.borne || l.sound && !x.doubted || x.vouched[[2]int64{int64(l.Segment), l.Position}] || c.closes(l))
	if !l.borne {
		c.push(l)
		return !c.order.stopped
	}
	c.settle(l)
	c.order.take(l)
	c.left, c.sum, c.split = edge{segment: l.Segment, position: l.Position + l.Length, next: l.next(), known: true, weak: !l.sound || l.wide}, 0, false
	return !c.order.stopped
}

// due is the offset with which the block that lies just before this one says that it begins, -1 none; and
// whether one lies there.
func (c *chain) due(l *look) (int64, bool) {
	at := c.left
	if n := len(c.wait); n > 0 {
		p := c.wait[n-1]
		at = edge{segment: p.Segment, position: p.Position + p.Length, next: p.next(), known: true, weak: !c.left.known || c.left.weak}
		if p.denied {
			at.next = -1
		}
	}
	if at.known && !at.weak && l.Segment == at.segment && l.Position > at.position && l.Position-at.position < c.x.least() && l.begin() == at.next {
		return at.next, true
	}
	if !at.known || l.Segment != at.segment && (l.Segment != at.segment+1 || l.Position != 0 || at.position != c.x.log.Segments[at.segment].Log.Size) ||
		l.Segment == at.segment && l.Position != at.position {
		return -1, false
	}
	return at.next, true
}

// least is how many bytes take some of the offsets of a log without holes, at the least: fewer that are no
// batch are none that was damaged, and the offset behind them is the one that was due before them.
//
//	|--A 0–9--|~~ 61 bytes ~~|--B 10–19--|   no batch was there
//	|--A 0–9--|~~ 70 bytes ~~|--B 10–19--|   one with a single record may have been, and B's offset may be wrong
//
// In a log with holes, batches without a record may stand.
func (x *source) least() int64 {
	switch {
	case x.sparse:
		return 0
	case x.log.HasLegacy:
		return minMessage
	}
	return batch.HeaderSize + minRecord
}

// closes reports whether the next segment begins where this block, the last one of its segment, ends.
func (c *chain) closes(l *look) bool {
	s := c.x.log.Segments
	return l.Segment+1 < len(s) && l.Position+l.Length == s[l.Segment].Log.Size && l.next() == s[l.Segment+1].BaseOffset
}

// push lets a block wait.
func (c *chain) push(l *look) {
	if n := l.span(); c.sum >= 0 && n > 0 && n <= math.MaxInt32 {
		c.sum += n
	} else {
		c.sum = -1
	}
	c.wait = append(c.wait, l)
	if len(c.wait) > maxChained {
		first := c.wait[0]
		c.wait = c.wait[1:]
		c.split = true
		c.judge(first, slot{}, slot{}, true)
	}
}

// slot is the offset that the neighbours on one side leave a block.
type slot struct {
	offset      int64
	known, weak bool
}

// over is the place beyond a block, ahead of it or behind.
func (p slot) over(l *look, sign int64) slot {
	span := l.span()
	if p.known = p.known && span > 0 && span <= math.MaxInt32 && p.offset <= math.MaxInt64-span; !p.known {
		return slot{}
	}
	p.offset += sign * span
	p.weak = p.weak || !l.sound || l.wide
	p.known = p.offset >= 0
	return p
}

// settle decides on the blocks that wait, now that one is borne out which lies behind them; nil: none
// does, damaged bytes follow or the log ends.
func (c *chain) settle(right *look) {
	n := len(c.wait)
	if n == 0 {
		return
	}
	var before, behind slot
	if right != nil {
		begin, ok := right.starts()
		behind = slot{begin, ok, !right.sound}
	}
	places := make([]slot, n)
	for i := n - 1; i >= 0; i-- {
		behind = behind.over(c.wait[i], -1)
		places[i] = behind
	}
	if c.left.known && !c.split {
		before = slot{c.left.next, true, c.left.weak}
	}
	beside := n > 1 || c.split || right != nil || c.left.known
	for i, l := range c.wait {
		here := before
		before = before.over(l, 1)
		c.judge(l, here, places[i], beside)
	}
	c.wait = c.wait[:0]
}

// judge decides on one block, by the places that its neighbours leave it.
func (c *chain) judge(l *look, before, behind slot, beside bool) {
	if !l.sound || l.wide {
		c.order.take(l)
		return
	}
	move := func(p slot) {
		l.Last, l.Base = p.offset+l.Last-l.Base, p.offset
		l.placed = true
		l.Flaws |= replica.SuspectBase
	}
	switch {
	case l.denied:
		l.Flaws |= replica.SuspectBase
		for _, p := range []slot{before, behind} {
			if !l.placed && !c.x.sparse && p.known && !p.weak && p.offset != l.Base {
				move(p)
			}
		}
	case l.borne, before.known && l.Base == before.offset, behind.known && l.Base == behind.offset:
		l.borne = true
	case before.known && before.offset == behind.offset && behind.known:
		move(before)
	case !c.x.sparse && before.known && !before.weak:
		move(before)
	case !c.x.sparse && behind.known && !behind.weak:
		move(behind)
	case !c.x.sparse || !beside || c.x.contested[[2]int64{int64(l.Segment), l.Position}]:
		l.alone = true
	}
	c.order.take(l)
}
