package repair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kafsck/batch"
)

// step is a piece that may go on from another one, and how much speaks for it.
type step struct {
	a, b  *run
	score int32
	hole  bool // a producer's distance of offset and sequence speaks for it
}

// What speaks for a step, and against it. A step is taken if it has at least enough, and margin more
// than any other step from a, and to b.
const (
	enough = 5
	margin = 2

	forExact    = 4 // b begins at the offset at which a ends, and where a file can begin
	forOffset   = 1 // the same, in the middle of a file, whose batch before it was torn
	forHeader   = 8 // the torn header behind a is that of b
	forTouching = 3 // and at the byte
	forSequence = 6 // a producer's next sequence number is that of b
	forProducer = 5 // over a hole: the only pieces in which this producer has this distance of offset and sequence
	forEpoch    = 1 // the same leader epoch
	forTime     = 1
	forCodec    = 1

	againstEpoch    = -3 // it goes back
	againstSequence = -6 // it was there before
	againstHole     = -3 // sequence numbers are missing though no offset is
	againstTime     = -2 // it goes back more than an hour
	againstType     = -1 // other timestamp type
)

// maxSteps bounds how many pieces are asked that begin at one offset: with more nothing is told apart.
const maxSteps = 32

// join puts pieces into logs.
func (c *carving) join() {
	for _, r := range c.runs {
		if r.before != nil && r.copyOf == nil && r.before.copyOf == nil && r.prev == nil && r.before.next == nil && !c.differ(r.before, r) {
			why := fmt.Sprintf("offset %d goes on at the byte", r.from)
			if r.over != nil {
				why = fmt.Sprintf("between offsets %d and %d stands a damaged batch whose header joins both", r.before.to-1, r.from)
			}
			c.link(r.before, r, why)
		}
	}
	for range 20 {
		if !c.round() {
			break
		}
	}
	c.alone()
}

// differ reports whether two pieces are known to be of different logs.
func (c *carving) differ(a, b *run) bool {
	return c.offers[a][b] || a.name != "" && b.name != "" && a.name != b.name
}

// round takes the steps that nothing rivals, and reports whether there were any. There may be millions of
// steps, of which each piece is asked for its two best alone.
func (c *carving) round() bool {
	type rank struct{ best, second int32 }
	from, to := make([]rank, len(c.runs)), make([]rank, len(c.runs))
	note := func(r *rank, score int32) {
		switch {
		case score > r.best:
			r.second, r.best = r.best, score
		case score > r.second:
			r.second = score
		}
	}
	heads := c.headsByOffset()
	c.steps(heads, func(s step) {
		note(&from[s.a.index], s.score)
		note(&to[s.b.index], s.score)
	})
	var steps []step
	c.steps(heads, func(s step) {
		a, b := from[s.a.index], to[s.b.index]
		if s.score >= enough && s.score == a.best && s.score == b.best && s.score-a.second >= margin && s.score-b.second >= margin {
			steps = append(steps, s)
		}
	})
	slices.SortStableFunc(steps, func(x, y step) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.a.index, y.a.index), cmp.Compare(x.b.index, y.b.index))
	})
	taken := false
	for i := range steps {
		if s := &steps[i]; s.a.next == nil && s.b.prev == nil && c.chainFits(s.a, s.b) {
			c.link(s.a, s.b, c.whyStep(s))
			taken = true
		}
	}
	return taken
}

// chainFits reports whether no piece of the one chain is known to differ from one of the other. Long
// chains are asked at their ends alone.
func (c *carving) chainFits(a, b *run) bool {
	var left, right []*run
	for r := a; r != nil && len(left) < 64; r = r.prev {
		left = append(left, r)
	}
	for r := b; r != nil && len(right) < 64; r = r.next {
		right = append(right, r)
	}
	for _, x := range left {
		for _, y := range right {
			if c.differ(x, y) {
				return false
			}
		}
	}
	return true
}

// headsByOffset are the pieces that go on from none, by their first offset.
func (c *carving) headsByOffset() []*run {
	var heads []*run
	for _, r := range c.runs {
		if r.copyOf == nil && r.prev == nil {
			heads = append(heads, r)
		}
	}
	slices.SortFunc(heads, func(x, y *run) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.index, y.index)) })
	return heads
}

// steps tells of those between pieces that have none yet.
func (c *carving) steps(heads []*run, each func(step)) {
	add := func(a, b *run, more int32) {
		if a == b || a.copyOf != nil || a.next != nil || b.prev != nil || b.from < a.to || b.magic[0] < a.magic[1] || c.differ(a, b) {
			return
		}
		score := c.weigh(a, b)
		each(step{a, b, max(score, math.MinInt32/2) + more, more > 0})
	}
	for _, a := range c.runs {
		if a.next == nil && a.copyOf == nil {
			i, _ := slices.BinarySearchFunc(heads, a.to, func(r *run, offset int64) int { return cmp.Compare(r.from, offset) })
			if k := i + maxSteps; k >= len(heads) || heads[k].from != a.to {
				for ; i < len(heads) && heads[i].from == a.to; i++ {
					add(a, heads[i], 0)
				}
			}
		}
		// Over a hole only where the bytes go on inside a block of the file system.
		if t := a.touches; t != nil && a.prev == nil && a.copyOf == nil && a.from > t.to && a.pos%fileBlock != 0 &&
			a.from-t.to <= max(t.to-t.from, a.to-a.from, smallHole) {
			add(t, a, 0)
		}
	}
	c.producerSteps(add)
}

// producerSteps are those over holes between the only pieces in which a producer has one distance of
// offset and sequence number.
func (c *carving) producerSteps(add func(a, b *run, more int32)) {
	var list []*run // of one producer alone
	for _, r := range c.runs {
		if r.copyOf == nil && len(r.heads) == 1 && len(r.tails) == 1 && r.heads[0].key() == r.tails[0].key() {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y *run) int {
		a, b := &x.heads[0], &y.heads[0]
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.shift, b.shift), cmp.Compare(x.from, y.from), cmp.Compare(x.index, y.index))
	})
	for len(list) > 0 {
		n, apart := 1, true
		for ; n < len(list) && list[n].heads[0].key() == list[0].heads[0].key(); n++ {
			apart = apart && list[n].from >= list[n-1].to
		}
		for i := 1; i < n && apart; i++ { // else a producer that writes to several partitions alike
			if a, b := list[i-1], list[i]; b.from > a.to {
				add(a, b, forProducer)
			}
		}
		list = list[n:]
	}
}

// weigh adds up what speaks for a step and against it.
func (c *carving) weigh(a, b *run) int32 {
	score := int32(0)
	exact := b.from == a.to
	if exact {
		switch crc, length, torn := c.behind(a); {
		case b.touches == a:
			score += forExact
		case torn && crc == b.crc && length == b.length:
			score += forHeader
		case torn: // the log of a has another batch there
			return math.MinInt32
		case c.begins(b):
			score += forExact
		default:
			score += forOffset
		}
	}
	if b.touches == a {
		if b.pos%fileBlock != 0 {
			score += forTouching
		} else {
			score++
		}
	}
	switch {
	case a.epoch1 < 0 || b.epoch0 < 0:
	case b.epoch0 == a.epoch1:
		score += forEpoch
	case b.epoch0 < a.epoch1 && b.touches == a:
		score += againstEpoch
	case b.epoch0 < a.epoch1:
		return math.MinInt32
	}
	if a.last >= 0 && b.first >= 0 {
		switch d := b.first - a.last; {
		case d >= -60_000:
			score += forTime
		case d < -3_600_000:
			score += againstTime
		}
		if a.appendTime != b.appendTime {
			score += againstType
		}
	}
	if a.codecs&b.codecs != 0 {
		score += forCodec
	}
	if t, h := a.meets(b); h != nil {
		switch {
		case h.base == t.base:
			score += forSequence
		case h.base > t.base && exact:
			score += againstHole
		case h.base < t.base && h.base != 0:
			score += againstSequence
		}
	}
	return score
}

// meets is the first producer that wrote at the end of a and at the beginning of b, nil none.
func (a *run) meets(b *run) (tail, head *sequence) {
	for i := range a.tails {
		for k := range b.heads {
			if t, h := &a.tails[i], &b.heads[k]; h.id == t.id && h.epoch == t.epoch {
				return t, h
			}
		}
	}
	return nil, nil
}

// whyStep says what speaks for a step.
func (c *carving) whyStep(s *step) string {
	a, b := s.a, s.b
	if s.hole {
		return fmt.Sprintf("producer %d has the same distance of offset and sequence number on both sides of offsets %d–%d, and nowhere else", b.heads[0].id, a.to, b.from-1)
	}
	why := fmt.Sprintf("the bytes go on at once behind offset %d, with offset %d", a.to-1, b.from)
	if b.from == a.to {
		why = fmt.Sprintf("offset %d follows on offset %d", b.from, b.from-1)
		if b.touches == a {
			why += ", at the next byte"
		}
	}
	if b.touches == a && a.epoch1 >= 0 && b.epoch0 >= 0 && b.epoch0 < a.epoch1 {
		why += fmt.Sprintf(", though the leader epoch goes back from %d to %d", a.epoch1, b.epoch0)
	}
	if t, h := a.meets(b); h != nil && h.base == t.base {
		why += fmt.Sprintf(", and so does sequence number %d of producer %d", h.base, h.id)
	}
	return why
}

// behind reads the header that stands behind a piece, if it continues its offsets: of a batch that
// was torn or damaged.
func (c *carving) behind(r *run) (crc uint32, length int64, torn bool) {
	if !r.asked {
		r.asked = true
		var b [batch.HeaderSize]byte
		n, _ := c.r.ReadAt(b[:], r.end)
		c.reread += int64(n)
		if h, err := batch.ParseHeader(b[:n]); n == len(b) && err == nil && h.BaseOffset == r.to && h.LastOffsetDelta >= 0 && h.RecordCount >= 0 && int64(h.RecordCount) <= int64(h.LastOffsetDelta)+1 {
			r.torn, r.tornCRC, r.tornLength = true, h.CRC, h.Size()
		}
		var before [16]byte
		k := 0
		if r.pos >= int64(len(before)) {
			k, _ = c.r.ReadAt(before[:], r.pos-int64(len(before)))
			c.reread += int64(k)
		}
		r.fileBegin = r.pos%fileBlock == 0 || k == len(before) && before == [16]byte{}
	}
	return r.tornCRC, r.tornLength, r.torn
}

// begins reports whether a file can begin with a piece: at the border of a block, or behind zeros.
func (c *carving) begins(r *run) bool {
	c.behind(r)
	return r.fileBegin
}

// alone puts all pieces into one log where nothing speaks for a second one: no two have the same
// offset, epochs and times go up with the offsets, and no hole is wider than the pieces beside it.
func (c *carving) alone() {
	var heads []*run
	for _, r := range c.runs {
		if r.copyOf == nil && r.prev == nil {
			heads = append(heads, r)
		}
	}
	if len(heads) < 2 || c.ignored {
		return
	}
	slices.SortFunc(heads, func(x, y *run) int { return cmp.Compare(x.from, y.from) })
	last := func(r *run) *run {
		for r.next != nil {
			r = r.next
		}
		return r
	}
	for i, b := range heads[1:] {
		first, a := heads[i], last(heads[i])
		hole := b.from - a.to
		if hole < 0 || hole > max(a.to-first.from, last(b).to-b.from) || b.epoch0 >= 0 && b.epoch0 < a.epoch1 || b.first >= 0 && a.last >= 0 && b.first < a.last-60_000 ||
			a.codecs&b.codecs == 0 || c.differ(a, b) || b.magic[0] < a.magic[1] {
			return
		}
	}
	for i, b := range heads[1:] {
		a := last(heads[i])
		why := fmt.Sprintf("offsets %d–%d are missing between two pieces", a.to, b.from-1)
		if a.to == b.from {
			why = fmt.Sprintf("offset %d follows on offset %d", b.from, a.to-1)
		}
		c.link(a, b, why+", and no piece in the file speaks for a second log")
	}
}
