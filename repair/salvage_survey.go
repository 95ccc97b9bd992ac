package repair

import (
	"iter"
	"math"
	"math/bits"

	"kafsck/replica"
)

// blocks are the batches of a copy, in file order.
func (x *source) blocks(from int64) iter.Seq2[replica.Block, error] {
	if !x.log.Ascending {
		from = math.MinInt64
	}
	return x.log.Blocks(from, math.MaxInt64)
}

// survey finds where a copy's good batches begin and end, and where segments overlap with different
// batches: a broker looks an offset up in the last segment that begins at or below it, so what an
// earlier segment has there is never read.
//
//	0.log    0 … 149      cut at 100
//	100.log  100 … 199    rules from 100 on
func (w *salvaging) survey(x *source) error {
	last, odd := int64(math.MinInt64), false
	for b, err := range x.blocks(math.MinInt64) {
		if err != nil {
			return err
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if b.Flaws&replica.Misplaced != 0 && b.Flaws&(replica.BadCRC|replica.Unreadable|replica.SuspectBase) == 0 && b.Position == 0 {
			base := x.log.Segments[b.Segment].BaseOffset
			if b.Base >= base && b.Base < last {
				for i := range b.Segment {
					x.cut[i] = min(x.cut[i], max(base, b.Base))
				}
			}
		}
		if x.displaced(&b, last) {
			odd = true
			continue
		}
		if good(&b) && b.Base > last && !b.Legacy && x.file.EpochFor(b.Base) > b.Epoch && len(x.belied) < maxBelied {
			x.belied = append(x.belied, b)
		}
		if good(&b) {
			last = b.Next()
			x.first, x.next = min(x.first, b.Base), max(x.next, b.Next())
		}
	}
	if odd || !x.log.Ascending || x.log.HasLegacy { // offsets that are wrong may be among them
		x.first, x.next = math.MaxInt64, math.MinInt64
		for b, err := range x.taking() {
			if err != nil {
				return err
			}
			if b.ok {
				x.first, x.next = min(x.first, b.Base), max(x.next, b.Next())
			}
		}
	}
	if x.first <= x.next {
		w.told.Copies[x.told].From, w.told.Copies[x.told].To = x.first, x.next
	}
	return nil
}

// move finds batches with a wrong offset, which no checksum covers: the epoch file beside the copy
// contradicts it, and another copy has the same batch at an offset that its epoch file bears out.
func (w *salvaging) move() error {
	for _, x := range w.sources {
		if len(x.belied) == 0 {
			continue
		}
		asked := map[uint32][]replica.Block{}
		for _, b := range x.belied {
			asked[b.CRC] = append(asked[b.CRC], b)
		}
		x.moved = map[[2]int64]bool{}
		for _, o := range w.sources {
			if o == x {
				continue
			}
			for b, err := range o.blocks(math.MinInt64) {
				if err == nil {
					err = w.ctx.Err()
				}
				if err != nil {
					return err
				}
				for _, a := range asked[b.CRC] {
					if good(&b) && b.Base != a.Base && b.Length == a.Length && b.Epoch == a.Epoch && b.Last-b.Base == a.Last-a.Base && o.said(&b) {
						x.moved[[2]int64{int64(a.Segment), a.Position}] = true
					}
				}
			}
		}
		if len(x.moved) == 0 {
			continue
		}
		for i := range x.cut {
			x.cut[i] = math.MaxInt64
		}
		x.first, x.next = math.MaxInt64, math.MinInt64
		if err := w.survey(x); err != nil {
			return err
		}
	}
	return nil
}

// look is a block of a copy, and whether it can be taken.
type look struct {
	replica.Block
	ok bool
}

// taking yields the blocks of a copy, those of overlapping segments as a broker reads them: what an
// earlier segment has behind a cut cannot be taken, and a later one is not misplaced.
//
// A batch whose offset lies ahead while the next one goes on where the one before it ended, or would fit
// between the two, has a wrong offset, which no checksum covers; so has the last one of a log of format 0
// or 1 that is off by one bit, and one with the first offset of its segment in the middle of the file.
func (x *source) taking() iter.Seq2[*look, error] {
	return func(yield func(*look, error) bool) {
		at := int64(math.MinInt64)
		var held *look // it lies ahead, and waits for the next one
		settle := func(next *look) bool {
			l := held
			if held = nil; l == nil {
				return true
			}
			switch {
			case next != nil && next.Base >= at && next.Flaws&(flawed&^replica.Misplaced) == 0 &&
				(next.Base < l.Base || next.Base <= l.Last && next.Base-at == l.Last-l.Base+1),
				next == nil && l.Legacy && !x.log.Sparse && bits.OnesCount64(uint64(l.Last^at)) == 1:
				l.ok = false
				l.Flaws |= replica.SuspectBase
			default:
				at = l.Next()
			}
			return yield(l, nil)
		}
		for b, err := range x.blocks(math.MinInt64) {
			if err != nil {
				yield(nil, err)
				return
			}
			l := &look{Block: b}
			if !settle(l) {
				return
			}
			if l.Legacy && l.Codec != 0 && l.Flaws&replica.Misplaced != 0 && l.Base == l.Last && at >= 0 && at <= l.Last {
				l.Base = at // a wrapper has the offset of its last message
			}
			if x.displaced(&b, at) {
				l.Flaws |= replica.SuspectBase
			}
			if l.ok = l.Flaws&(flawed&^replica.Misplaced) == 0 && l.Base >= 0 && l.Last >= l.Base && l.Base < x.cut[b.Segment] && l.Base >= at; l.ok {
				l.Flaws &^= replica.Misplaced
				if at >= 0 && l.Base > at && (!x.log.Ascending || l.Legacy) {
					held = l
					continue
				}
				at = l.Next()
			}
			if !yield(l, nil) {
				return
			}
		}
		settle(nil)
	}
}

// displaced reports whether a batch has an offset that it cannot have: it claims to be the first one of
// its segment while others, now damaged, lie before it in the file, and none of them reached behind at;
// or it lies further from the segment's first offset than an index can tell; or see move.
func (x *source) displaced(b *replica.Block, at int64) bool {
	base := x.log.Segments[b.Segment].BaseOffset
	if x.moved[[2]int64{int64(b.Segment), b.Position}] {
		return true
	}
	return b.Flaws&(flawed&^replica.Misplaced) == 0 && (b.Position > 0 && b.Base == base && at <= base || b.Base > base && b.Base-base > math.MaxInt32)
}
