package repair

import (
	"slices"

	"kafsck/batch"
	"kafsck/replica"
)

// maxEnclosed is the most that can lie in a value: a broker takes no larger request (socket.request.max.bytes,
// its default).
const maxEnclosed = 100 << 20

// islands finds whole batches that may be the content of a value of a damaged batch: damaged bytes lie on
// both sides of them, and no offset is missing there, so that these bytes were no batch of their own.
//
//	|--A 0–9--|~~~~ 110 bytes ~~~~|--B 10–19--|~~ 51 bytes ~~|--C 20–29--|
//	|--A 0–9--|       batch 10–19, a value of which is B     |--C 20–29--|   the header of it is what was damaged
//
// One batch alone is one also where offsets are missing on one side. One that is found is damage to those behind it.
type islands struct {
	x    *source
	list []byteRun // in file order

	any    bool
	last   edge  // behind the batch before the island
	seg    int   // the island
	from   int64 // bytes
	end    int64
	next   int64 // the offset behind it
	blocks int
	// What is on its left: damaged bytes that could hold a batch, and no offset missing.
	open, exact bool
}

// add takes the next whole block, in file order.
func (s *islands) add(b *replica.Block) {
	if s.any && b.Segment == s.seg && b.Position == s.end {
		s.end, s.next = b.Position+b.Length, b.Next()
		s.blocks++
		return
	}
	s.close(b)
	least := int64(batch.HeaderSize + minRecord)
	if s.x.log.HasLegacy {
		least = minMessage
	}
	before := b.Position
	if s.last.known && s.last.segment == b.Segment {
		before -= s.last.position
	}
	s.open = b.Position > 0 && before >= least
	s.exact = s.last.known && s.last.next == b.Base
	s.any, s.seg, s.from, s.end, s.next, s.blocks = true, b.Segment, b.Position, b.Position+b.Length, b.Next(), 1
}

// close decides on the island: right is the block behind it, nil none.
func (s *islands) close(right *replica.Block) {
	if !s.any {
		return
	}
	behind := right != nil && right.Segment == s.seg || s.end < s.x.log.Segments[s.seg].Log.Size
	exact := right != nil && right.Base == s.next
	switch {
	case !s.open || !behind || s.end-s.from > maxEnclosed || len(s.list) >= maxUnborne:
	case s.exact && (exact || right == nil), s.blocks == 1 && (s.exact || exact):
		s.list = append(s.list, byteRun{s.seg, s.from, s.end - s.from})
		return
	}
	s.last = edge{segment: s.seg, position: s.end, next: s.next, known: true}
}

// enclosed reports whether a block lies in an island.
func (x *source) enclosed(b *replica.Block) bool {
	i, ok := slices.BinarySearchFunc(x.islands, byteRun{b.Segment, b.Position, 0}, func(a, at byteRun) int { return a.compare(at) })
	if ok {
		return true
	}
	return i > 0 && x.islands[i-1].seg == b.Segment && b.Position < x.islands[i-1].position+x.islands[i-1].length
}
