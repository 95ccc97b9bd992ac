package segment

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"kafsck/batch"
)

const (
	// maxClaims bounds how many damaged batches that reach over a position are remembered.
	maxClaims = 8
	// maxFramed bounds how many records of one of them are followed.
	maxFramed = 1 << 16
)

// claim is a header whose CRC does not verify, and the bytes that it says are its batch.
type claim struct {
	head
	pos int64
	// chained: it stands where a sound batch ends, and continues its offsets.
	chained bool
	// unsized: the length cannot be right. Only its records can tell how far it reaches.
	unsized bool
	closed  claimState // by what stands at its end

	// How far its records were followed: the next one begins at next, and is number index. over: they
	// end before the position where the search is, or are damaged.
	over  bool
	next  int64
	index int
	delta int64 // offset delta of the record before
}

type claimState uint8

const (
	notAsked claimState = iota
	open                // nothing at its end speaks for it
	holds               // a header that continues it, or the end of the file
	void                // a sound batch lies across its end
)

func (a *claim) end() int64 {
	if a.unsized {
		return math.MaxInt64
	}
	return a.pos + a.total()
}

// claim takes note of the header at p, whose CRC does not verify.
func (c *carver) claim(p int64, h *head) {
	a := claim{head: *h, pos: p, next: p + batch.HeaderSize, delta: -1}
	a.chained = c.last.end == p && h.base >= c.last.next && h.base-c.last.next <= math.MaxInt32
	fits := h.total() >= h.minTotal() && h.total() <= c.w.size-p
	switch b := c.w.ahead(p); {
	case len(c.claims) > 0 && c.claims[len(c.claims)-1].pos == p:
		return // expect has seen it
	case a.chained && h.base == c.last.next && fits:
	case !h.sane:
		return
	case h.legacy():
		at, key, ok := keyLength(h.magic, b)
		if value := p + at + 4 + max(key, 0); !ok || !fits || !c.w.holds(value, 4) {
			return
		}
		if ok, err := c.filled(p, h); err != nil || !ok {
			return
		}
	case len(b) < batch.HeaderSize+8 || !h.likelyPayload(b[batch.HeaderSize:], max(h.total()-batch.HeaderSize, 0)):
		// With a damaged length the records still frame what lies in them.
		if !a.chained || fits || h.codec != batch.None {
			return
		}
		a.unsized = true
	case !fits && !a.chained:
		return
	default:
		a.unsized = !fits
	}
	c.claims = slices.DeleteFunc(c.claims, func(o claim) bool { return o.end() <= p || o.closed == void })
	if len(c.claims) == maxClaims {
		i := slices.IndexFunc(c.claims, func(o claim) bool { return !o.chained })
		if i < 0 || !a.chained {
			return
		}
		c.claims = slices.Delete(c.claims, i, i+1)
	}
	c.claims = append(c.claims, a)
}

// expect looks at what follows a sound batch: whatever its magic and its attributes say, if it
// continues the offsets its length is heard.
func (c *carver) expect(p int64, h *head) {
	if h.base == c.last.next && h.total() >= minLegacy && h.total() <= c.w.size-p || h.sane && h.magic == 2 && h.base == c.last.next {
		c.claim(p, h)
	}
}

// judge says of a sound batch whether it lies in a damaged one, and tells of the damaged one that
// ends where it begins.
func (c *carver) judge(x *Carved, h *head, emit func(*Carved)) {
	if len(c.claims) == 0 {
		return
	}
	var damaged claim // pos -1 none
	damaged.pos = -1
	kept := c.claims[:0]
	for i := range c.claims {
		a := &c.claims[i]
		switch {
		case a.pos == x.Pos:
			continue
		case c.frames(a, x):
			if !x.Embedded {
				x.Embedded, x.Outer = true, a.pos
			}
			kept = append(kept, *a)
			continue
		case a.unsized && h.base >= a.head.next:
			continue // it has ended, nobody knows where
		case a.end() <= x.Pos:
			if a.end() == x.Pos && a.precedes(h) && (damaged.pos < 0 || !damaged.chained) {
				damaged = *a
			}
			continue
		case x.End() > a.end():
			continue // the sound one lies across its end: it was cut off before
		}
		if a.closed == notAsked {
			a.closed = c.ends(a)
		}
		if x.Outer < 0 {
			x.Outer = a.pos
		}
		if !x.Embedded && a.closed == holds {
			x.Embedded, x.Outer = true, a.pos
		}
		kept = append(kept, *a)
	}
	c.claims = kept
	if damaged.pos < 0 {
		return
	}
	c.out = Carved{Kind: CarvedDamaged, Pos: damaged.pos, Len: damaged.total(), Outer: x.Outer, Embedded: x.Embedded}
	var raw [batch.HeaderSize]byte
	if b, err := c.peek(damaged.pos, batch.HeaderSize); err == nil {
		copy(raw[:], b)
	}
	decodeHeader(&c.out.Header, &raw)
	emit(&c.out)
}

// precedes reports whether offsets go on from a damaged batch to the header behind it.
func (a *claim) precedes(h *head) bool {
	switch {
	case a.legacy() != h.legacy() && a.magic >= 0 && a.magic <= 2 && !a.legacy():
		return false // a newer format does not go back to an older one
	case a.sane && !a.legacy() && h.base == a.head.next:
		return true
	}
	return a.chained && h.base > a.base && h.base-a.base <= math.MaxInt32 && (!a.sane || h.base >= a.head.next)
}

// ends asks what stands where a claim ends.
func (c *carver) ends(a *claim) claimState {
	switch {
	case a.unsized:
		return open
	case a.end() == c.w.size:
		return holds
	}
	b, err := c.peek(a.end(), headPeek)
	if err != nil || len(b) <= overhead {
		return open
	}
	h := readHead(b)
	if h.sane && h.total() >= h.minTotal() && h.base > a.base && h.base-a.base <= math.MaxInt32 && (!a.sane || a.legacy() || h.base >= a.head.next) {
		return holds
	}
	return open
}

// frames reports whether the records of a damaged batch frame x: one of them begins before it and
// ends behind it, where the next record or the end of the batch is.
//
//	a.pos +61       next                  x            end of the record
//	| hdr | record | length … value = … |batch|batch| … | record |
func (c *carver) frames(a *claim, x *Carved) bool {
	if a.over || a.legacy() || !a.sane || a.codec != batch.None {
		return false
	}
	// Where a sound batch ends the header is the log's, and its length may be what is damaged.
	limit := a.end()
	if a.chained {
		limit = math.MaxInt64
	}
	a.over = true
	for a.index < min(maxFramed, int(a.count)) {
		end, delta, ok := c.record(a.next, a)
		if !ok || end > limit || delta <= a.delta {
			return false
		}
		if end <= x.Pos {
			a.next, a.delta, a.index = end, delta, a.index+1
			continue
		}
		if a.next >= x.Pos || x.End() > end {
			return false
		}
		if a.index+1 < int(a.count) {
			behind, after, ok := c.record(end, a)
			a.over = !ok || behind > limit || after <= delta
		} else {
			a.over = !a.chained && end != a.end()
		}
		return !a.over
	}
	return false
}

// record reads the first fields of a record: its end, and its offset delta.
//
//	length varint | attributes 0 | timestamp delta varlong | offset delta varint | …
func (c *carver) record(p int64, a *claim) (end, delta int64, ok bool) {
	b, err := c.peek(p, 24)
	if err != nil || len(b) < minRecord {
		return 0, 0, false
	}
	length, k := binary.Varint(b)
	if k <= 0 || k > 5 || length < minRecord-1 || length > math.MaxInt32 || b[min(k, len(b)-1)] != 0 {
		return 0, 0, false
	}
	rest := bytes.NewReader(b[k+1:])
	if _, err := binary.ReadVarint(rest); err != nil {
		return 0, 0, false
	}
	delta, err = binary.ReadVarint(rest)
	if err != nil || delta < 0 || delta > a.head.next-a.base-1 {
		return 0, 0, false
	}
	return p + int64(k) + length, delta, true
}
