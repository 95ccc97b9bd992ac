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
	told    int64 // how far Progress was told
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
		c.progress(min(p, c.w.pos+int64(c.w.n)))
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
		}
		i, passed := c.candidate(b, p)
		if p += int64(passed); i < 0 {
			continue
		}
		h := readHead(b[passed:])
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
	c.stats.Bytes = max(c.stats.Bytes, min(p, c.w.pos+int64(c.w.n)))
	c.stats.Read = c.w.read + c.aside
	return nil
}

func (c *carver) progress(at int64) {
	c.stats.Bytes = max(c.stats.Bytes, at)
	if c.opt.Progress != nil && at > c.told {
		c.opt.Progress(at - c.told)
	}
	c.told = max(c.told, at)
}

// unread tells of the bytes before p that could not be read.
func (c *carver) unread(p int64, emit func(*Carved)) {
	w := c.w
	for len(w.bad) > 0 && w.bad[0].to <= p && (w.bad[0].to < w.at || w.end) && !c.stopped {
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

// stretch is how many bytes are searched between two looks for zeros.
const stretch = 4 << 10

// candidate returns 0 if a header may stand behind the passed bytes of b, else -1.
func (c *carver) candidate(b []byte, p int64) (i, passed int) {
	if n := zeroPrefix(b); n >= 64 {
		// Up to 11 zero bytes may begin a header: a base offset of 0 and a small length.
		if n < len(b) || !c.w.end {
			n -= batch.LogOverhead - 1
		}
		if n >= minZeros {
			c.stats.Zeros += int64(n)
		}
		return -1, n
	}
	if len(b) <= stretch+headPeek && c.w.end {
		if i, passed = candidate(b, true); i >= 0 {
			return 0, i
		}
		return -1, max(passed, 1)
	}
	b = b[:min(len(b), stretch+headPeek-1)]
	for n := len(b) - headPeek + 1; passed < n; {
		passed = min(passed+quiet(b[passed+16:]), n)
		few := b[passed:min(passed+8+headPeek-1, len(b))]
		k, ruledOut := candidate(few, false)
		passed += max(ruledOut, 0)
		if k >= 0 {
			return 0, passed
		}
	}
	return -1, max(passed, 1)
}

// quiet is how many bytes of b, in steps of eight, are no magic byte: above 2.
func quiet(b []byte) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		if (x-3*each)&^x&high != 0 { // a byte below 3; may be wrong for the bytes behind one
			break
		}
	}
	return n
}

// sound reports whether a batch or message stands at p with a CRC that verifies.
func (c *carver) sound(p int64, h *head) (bool, error) {
	n := h.total()
	if !h.sane || n < h.minTotal() || n > c.w.size-p {
		return false, nil
	}
	if !c.w.holds(p, n) && c.w.end {
		return false, nil
	}
	if h.legacy() {
		if ok, err := c.filled(p, h); err != nil || !ok {
			return false, err
		}
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
	if sums.sum(c.w.buf[:c.w.n], at+int(h.covered()), at+int(n), h.table()) == h.crc {
		return true, nil
	}
	sums.wasted += int(n)
	return false, nil
}

// filled is search.mayFill: key and value of a message fill it.
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
	if b, err = c.peek(value, 4); err != nil || len(b) < 4 {
		return false, nil
	}
	n := int64(int32(be32(b)))
	return n >= -1 && value+4+max(n, 0) == end, nil
}

// soundLarge is sound for a batch that is not in memory as a whole.
func (c *carver) soundLarge(p int64, h *head) (bool, error) {
	n := h.total()
	if b := c.w.buf[p-c.w.pos : c.w.n]; !h.legacy() && !h.likelyPayload(b[batch.HeaderSize:min(len(b), batch.HeaderSize+10)], n-batch.HeaderSize) {
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
	b := c.w.buf[from-c.w.pos : c.w.n]
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
	return c.w.at
}

// peek returns up to n bytes, at most headPeek, wherever they lie; fewer only at the end.
func (c *carver) peek(pos, n int64) ([]byte, error) {
	if pos < 0 || pos >= c.w.size {
		return nil, io.EOF
	}
	if c.w.holds(pos, n) {
		return c.w.buf[pos-c.w.pos:][:n], nil
	}
	if c.w.end && c.w.holds(pos, 1) {
		return c.w.buf[pos-c.w.pos : c.w.n], nil
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
	b := c.w.buf[p-c.w.pos : c.w.n]
	if int64(len(b)) >= n && n <= int64(c.w.reach) {
		x.Raw = b[:n:n]
	}
	if h.legacy() {
		x.Kind = CarvedMessage
		x.Legacy, _ = batch.ParseLegacyHeader(b)
		x.Lone = c.lone(p, h, x.Raw)
	} else {
		decodeHeader(&x.Header, (*[batch.HeaderSize]byte)(b))
	}
	x.Loose = c.loose(p, h)
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
func (c *carver) lone(p int64, h *head, raw []byte) bool {
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
			if c.w.holds(end, next.total()) {
				if ok, err := c.sound(end, &next); err == nil && ok {
					return false
				}
			}
		}
	}
	if codec := batch.Codec(raw17(raw) & 7); codec == batch.None || raw == nil {
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

func raw17(raw []byte) byte {
	if len(raw) < 18 {
		return 0
	}
	return raw[17]
}
