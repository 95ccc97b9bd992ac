package repair

import (
	"iter"
	"math"

	"kafsck/replica"
)

// blocks are the batches of a copy, in file order, with the offsets that their headers say: which of them
// are wrong is for taking to find.
func (x *source) blocks(from int64) iter.Seq2[replica.Block, error] {
	if !x.log.Ascending {
		from = math.MinInt64
	}
	return func(yield func(replica.Block, error) bool) {
		for b, err := range x.log.Blocks(from, math.MaxInt64) {
			if b.Flaws&replica.SuspectBase != 0 && b.WrittenSpan() > 0 && b.WrittenBase <= math.MaxInt64-b.WrittenSpan() {
				b.Base, b.Last = b.WrittenBase, b.WrittenBase+b.WrittenSpan()-1
				b.Flaws &^= replica.SuspectBase
			}
			if first, ok := x.inside[[2]int64{int64(b.Segment), b.Position}]; ok {
				b.Base, b.Last = first[0], first[1]
				if b.Last != b.WrittenBase+b.WrittenSpan()-1 {
					b.Flaws |= replica.SuspectBase
				}
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// survey finds where a copy's good batches begin and end, and where segments overlap with different
// batches: a broker looks an offset up in the last segment that begins at or below it, so what an
// earlier segment has there is never read.
//
//	0.log    0 … 149      cut at 100
//	100.log  100 … 199    rules from 100 on
func (w *salvaging) survey(x *source) error {
	x.reset()
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
		if n := x.wide[[2]int64{int64(b.Segment), b.Position}]; n > 0 {
			last = b.Base + n
			continue
		}
		if good(&b) {
			last = b.Next()
			x.count(&b)
		}
	}
	if odd || x.doubted { // offsets that are wrong may be among them
		x.reset()
		for b, err := range x.taking() {
			if err != nil {
				return err
			}
			if b.ok {
				x.count(&b.Block)
			} else if b.sound {
				x.odd++
			}
		}
	}
	if x.first <= x.next {
		w.told.Copies[x.told].From, w.told.Copies[x.told].To = x.first, x.next
	}
	return nil
}

func (x *source) reset() {
	x.first, x.next, x.covers, x.records, x.odd = math.MaxInt64, math.MinInt64, 0, 0, 0
}

// count counts a good batch.
func (x *source) count(b *replica.Block) {
	x.first, x.next = min(x.first, b.Base), max(x.next, b.Next())
	x.covers += b.Next() - b.Base
	x.records += records(b)
}

// displaced reports whether a batch has an offset that it cannot have: it claims to be the first one of
// its segment while others, now damaged, lie before it in the file, and none of them reached behind at;
// or it lies further from the segment's first offset than an index can tell; or witness has found it so.
func (x *source) displaced(b *replica.Block, at int64) bool {
	base := x.log.Segments[b.Segment].BaseOffset
	if x.moved[[2]int64{int64(b.Segment), b.Position}] {
		return true
	}
	return b.Flaws&(flawed&^replica.Misplaced) == 0 && (b.Position > 0 && b.Base == base && at <= base || b.Base > base && b.Base-base > math.MaxInt32)
}
