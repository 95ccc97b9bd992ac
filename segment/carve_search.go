package segment

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"kafsck/batch"
)

// carver is a search under way.
type carver struct {
	ctx   context.Context
	w     *carveWindow
	r     io.ReaderAt
	opt   CarveOptions
	stats CarveStats
	aside int64 // bytes read beside the window

	claims  []claim
	last    link // of what was found last
	unzip   *batch.Decompressor
	stopped bool
	out     Carved
	peeked  [headPeek]byte
	stream  []byte
}

// link is where the bytes and the offsets of a batch or message end.
type link struct {
	end    int64 // position, -1 before the first
	next   int64 // offset
	legacy bool
}

func newCarver(ctx context.Context, r io.ReaderAt, opt CarveOptions) *carver {
	return &carver{ctx: ctx, r: r, opt: opt, w: newCarveWindow(r, opt), last: link{end: -1}, stats: CarveStats{FirstUntested: -1}}
}

// run goes through all positions.
func (c *carver) run(yield func(*Carved, error) bool) error {
	emit := func(x *Carved) { c.stopped = c.stopped || !yield(x, nil) }
	p := int64(0)
	for !c.stopped {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		b := c.w.from(p)
		c.progress(min(p, c.w.next))
		c.unread(p, emit)
		if len(b) == 0 || c.stopped {
			break
		}
		if p == c.last.end && len(b) > headPeek {
			h := readHead(b)
			ok, err := c.sound(p, &h)
			if err != nil {
				return err
			}
			if ok {
				c.found(p, &h, emit)
				p += h.total()
				continue
			}
			c.expect(p, &h)
			if h.sane {
				c.claim(p, &h)
			}
			b = c.w.ahead(p)
		}
		passed, may := c.candidate(b)
		if p += passed; !may {
			continue
		}
		h := readHead(c.w.ahead(p))
		ok, err := c.sound(p, &h)
		if err != nil {
			return err
		}
		if !ok {
			c.claim(p, &h)
			p++
			continue
		}
		c.unread(p, emit)
		c.found(p, &h, emit)
		p += h.total()
	}
	c.unread(math.MaxInt64, emit)
	c.tell(max(c.stats.Bytes, min(p, c.w.next)))
	c.stats.Read = c.w.read + c.aside
	c.stats.Holes = c.w.unkept
	return nil
}

// tellEach is how many bytes Progress is told of at once.
const tellEach = 1 << 20

func (c *carver) progress(at int64) {
	if at-c.stats.Bytes >= tellEach {
		c.tell(at)
	}
}

func (c *carver) tell(at int64) {
	if n := at - c.stats.Bytes; n > 0 && c.opt.Progress != nil {
		c.opt.Progress(n)
	}
	c.stats.Bytes = max(c.stats.Bytes, at)
}

// unread tells of the bytes before p that could not be read.
func (c *carver) unread(p int64, emit func(*Carved)) {
	w := c.w
	for len(w.bad) > 0 && w.bad[0].to <= p && (w.bad[0].to < w.next || w.end) && !c.stopped {
		b, err := w.bad[0], w.badErr[0]
		w.bad, w.badErr = w.bad[1:], w.badErr[1:]
		c.stats.Unread += b.to - b.from
		if e, ok := err.(*ReadError); ok {
			e.Len = b.to - b.from
		}
		c.out = Carved{Kind: CarvedUnread, Pos: b.from, Len: b.to - b.from, Outer: -1, Err: err}
		emit(&c.out)
	}
}

// sound reports whether a batch or message stands at p with a CRC that verifies.
func (c *carver) sound(p int64, h *head) (bool, error) {
	n := h.total()
	if !h.sane || n < h.minTotal() || n > c.w.size-p {
		return false, nil
	}
	if h.legacy() {
		if ok, err := c.filled(p, h); err != nil || !ok {
			return false, err
		}
	}
	if n <= int64(c.w.reach) {
		c.w.need(p, int(n))
	}
	if !c.w.holds(p, n) && c.w.end {
		return false, nil
	}
	if len(c.w.bad) > 0 && c.w.unread(p, p+n) {
		return false, nil
	}
	if !c.w.holds(p, n) {
		return c.soundLarge(p, h)
	}
	sums := &c.w.sums[0]
	if h.legacy() {
		sums = &c.w.sums[1]
	}
	at := int(p - c.w.pos)
	if sums.sum(c.w.buf, at+int(h.covered()), at+int(n), h.table()) == h.crc {
		return true, nil
	}
	sums.wasted += int(n)
	return false, nil
}

// filled is search.mayFill: key and value of a message fill it. A key larger than reach is believed only
// right behind another message: noise is full of them, and to look behind each would be a read anywhere on
// the disk every 130 KiB.
func (c *carver) filled(p int64, h *head) (bool, error) {
	b, err := c.peek(p, headPeek)
	if err != nil {
		return false, nil
	}
	at, key, ok := keyLength(h.magic, b)
	end := p + h.total()
	value := p + at + 4 + max(key, 0)
	if !ok || key < -1 || value > end-4 {
		return false, nil
	}
	if value-p <= int64(c.w.reach) {
		c.w.need(p, int(value-p)+4)
	} else if !(c.last.legacy && c.last.end == p) {
		return false, nil
	}
	if b, err = c.peek(value, 4); err != nil || len(b) < 4 {
		return false, nil
	}
	n := int64(int32(be32(b)))
	return n >= -1 && value+4+max(n, 0) == end, nil
}

// recordsPeek is how much of a large batch must be there for a look at its records.
const recordsPeek = minBuffer

// ended reports whether something stands at the end of a large message that ends one: a message that
// goes on, zeros, or the end of the file.
func (c *carver) ended(end int64, h *head) bool {
	if end == c.w.size {
		return true
	}
	b, err := c.peek(end, headPeek)
	if err != nil || len(b) <= overhead || allZero(b[:overhead]) {
		return true
	}
	next := readHead(b)
	return next.sane && next.base >= h.next && next.base-h.base <= math.MaxInt32
}

// framed reports whether the records that b begins with are such as a broker takes: their offsets
// ascend, their keys and values lie in them. Programs and tables are full of headers that claim
// hundreds of MiB, whose CRCs would cost a reading of the file each.
func framed(b []byte, h *head) bool {
	delta := int64(-1)
	for n := int32(0); n < min(h.count, 64); n++ {
		length, k := binary.Varint(b)
		if k <= 0 {
			return k == 0 // b ends here
		}
		if b = b[k:]; length < minRecord-1 {
			return false
		}
		whole := int64(len(b)) >= length
		r := b[:min(int64(len(b)), length)]
		if len(r) < 2+2*binary.MaxVarintLen64+binary.MaxVarintLen32 && !whole {
			return true
		}
		_, k = binary.Varint(r[1:]) // behind the attributes: the timestamp delta
		if k <= 0 {
			return false
		}
		r = r[1+k:]
		d, k := binary.Varint(r)
		if k <= 0 || d <= delta || d >= h.next-h.base {
			return false
		}
		delta, r = d, r[k:]
		for range 2 { // key and value
			n, k := binary.Varint(r)
			if k <= 0 || n < -1 || n > length {
				return false
			}
			r = r[k:]
			if n = max(n, 0); n > int64(len(r)) {
				return !whole
			}
			r = r[n:]
			if !whole && len(r) < binary.MaxVarintLen64 {
				return true
			}
		}
		if headers, k := binary.Varint(r); k <= 0 || headers < 0 || headers > length {
			return false
		}
		if !whole {
			return true
		}
		b = b[length:]
	}
	return true
}

// soundLarge is sound for a batch that is not in memory as a whole.
func (c *carver) soundLarge(p int64, h *head) (bool, error) {
	n := h.total()
	if !h.legacy() {
		c.w.need(p, recordsPeek)
		b := c.w.ahead(p)[batch.HeaderSize:]
		b = b[:min(int64(len(b)), n-batch.HeaderSize)]
		if !h.likelyPayload(b, n-batch.HeaderSize) || h.codec == batch.None && !framed(b, h) {
			return false, nil
		}
	} else if !(c.last.legacy && c.last.end == p) && !c.ended(p+n, h) {
		return false, nil
	}
	if c.aside+n > 2*c.measure()+slack {
		if c.stats.Untested++; c.stats.FirstUntested < 0 {
			c.stats.FirstUntested = p
		}
		return false, nil
	}
	if c.stream == nil {
		c.stream = make([]byte, 1<<20)
	}
	from, end := p+h.covered(), p+n
	b := c.w.ahead(from)
	sum := crc32.Checksum(b, h.table())
	for from += int64(len(b)); from < end; {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		b := c.stream[:min(int64(len(c.stream)), end-from)]
		k, err := c.r.ReadAt(b, from)
		c.aside += int64(k)
		if k == 0 || err != nil && k < len(b) {
			return false, nil // the window meets what cannot be read, and tells
		}
		sum = crc32.Update(sum, h.table(), b[:k])
		from += int64(k)
	}
	return sum == h.crc, nil
}

// measure is what the budget of reads beside the window is measured by.
func (c *carver) measure() int64 {
	if c.w.size != math.MaxInt64 {
		return c.w.size
	}
	return c.w.next
}

// peek returns up to n bytes, at most headPeek, wherever they lie; fewer only at the end.
func (c *carver) peek(pos, n int64) ([]byte, error) {
	if pos < 0 || pos >= c.w.size {
		return nil, io.EOF
	}
	if c.w.holds(pos, n) {
		return c.w.ahead(pos)[:n], nil
	}
	if c.w.end && c.w.holds(pos, 1) {
		return c.w.ahead(pos), nil
	}
	if c.w.end && pos >= c.w.pos {
		return nil, io.EOF
	}
	b := c.peeked[:min(n, c.w.size-pos)]
	if c.aside+int64(len(b)) > 2*c.measure()+slack {
		return nil, errSpent
	}
	k, err := c.r.ReadAt(b, pos)
	c.aside += int64(k)
	if k == len(b) || err == io.EOF && k > 0 {
		return b[:k], nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// found yields what stands at p.
func (c *carver) found(p int64, h *head, emit func(*Carved)) {
	n := h.total()
	x := Carved{Pos: p, Len: n, Outer: -1}
	fits := n <= int64(c.w.reach)
	if fits { // all of it stays in memory
		c.w.keep = p
		defer func() { c.w.keep = math.MaxInt64 }()
	}
	if x.Loose = c.loose(p, h); h.legacy() {
		x.Lone = c.lone(p, h)
	}
	b := c.w.ahead(p)
	if fits && int64(len(b)) >= n {
		x.Raw = b[:n:n]
	}
	if h.legacy() {
		x.Kind = CarvedMessage
		x.Legacy, _ = batch.ParseLegacyHeader(b)
	} else {
		decodeHeader(&x.Header, (*[batch.HeaderSize]byte)(b))
	}
	c.judge(&x, h, emit)
	if c.stopped {
		return
	}
	c.last = link{end: p + n, next: h.next, legacy: h.legacy()}
	c.out = x
	emit(&c.out)
}

// sector is the smallest unit of a disk, and so of a file system's block, in bytes.
const sector = 512

// loose reports whether the bytes in front of the CRC may be of another block than what it covers.
//
//	… another file's block |    this one
//	-----------------------+-------------------------
//	      |off'|length|epoch|m| crc | …               the offset is not that of the batch
//	  p -- ^     multiple of 512
func (c *carver) loose(p int64, h *head) bool {
	if p%sector <= sector-16 || c.last.end == p && h.base == c.last.next {
		return false
	}
	b, err := c.peek(p+h.total(), headPeek)
	if err != nil || len(b) <= overhead {
		return true
	}
	next := readHead(b)
	return !next.sane || next.base != h.next
}

// lone reports whether nothing speaks for a message but its own CRC.
func (c *carver) lone(p int64, h *head) bool {
	if c.last.end == p && c.last.legacy && h.base >= c.last.next {
		return false
	}
	end := p + h.total()
	if b, err := c.peek(end, headPeek); err == nil && len(b) > overhead {
		b = append([]byte(nil), b...) // sound may peek too
		if next := readHead(b); next.base >= h.next && next.sane {
			if next.base == h.next && next.legacy() && next.total() >= next.minTotal() {
				if ok, err := c.filled(end, &next); err == nil && ok {
					return false
				}
			}
			if next.total() <= int64(c.w.reach) {
				if ok, err := c.sound(end, &next); err == nil && ok {
					return false
				}
			}
		}
	}
	raw := c.w.ahead(p)
	if raw = raw[:min(int64(len(raw)), h.total())]; int64(len(raw)) < h.total() || batch.Codec(raw[17]&7) == batch.None {
		return true
	}
	if c.unzip == nil {
		c.unzip = batch.NewDecompressor(0)
	}
	inner := 0
	for r, err := range batch.LegacyRecords(raw, c.unzip) {
		if err != nil || batch.CheckLegacyCRC(r.Raw) != nil {
			return true
		}
		inner++
	}
	return inner == 0
}
