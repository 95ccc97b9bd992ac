package repair

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"kafsck/batch"
	"kafsck/segment"
)

// same finds pieces that hold the same batches: copies of each other, ends that lap over, and
// histories that have a beginning in common.
//
//	a   | 0 | 1 | 2 | 3 | 4 |
//	b       | 1 | 2 |                 a copy: what a has
//	c               | 3 | 4 | 5 |     goes on from a, at 5
//	d   | 0 | 1 | 2'| 3'|             other batches at 2 and 3: another log
func (c *carving) same() error {
	c.sortSigs()
	type pair struct{ a, b int32 }
	shared := map[pair]bool{}
	for i := 0; i < len(c.sigs); {
		j := i + 1
		for j < len(c.sigs) && c.sigs[j].sig == c.sigs[i].sig {
			j++
		}
		group := c.sigs[i:j]
		i = j
		for k := 1; k < len(group); k++ {
			from := 0
			if len(group) > 8 {
				from = k - 1 // a chain of pairs is enough
			}
			for l := from; l < k; l++ {
				if a, b := group[l].run, group[k].run; a != b {
					shared[pair{a, b}] = true
				}
			}
		}
	}
	near := map[int32][]int32{}
	for p := range shared {
		near[p.a] = append(near[p.a], p.b)
		near[p.b] = append(near[p.b], p.a)
	}
	order := slices.Clone(c.runs)
	slices.SortStableFunc(order, func(a, b *run) int { return cmp.Or(cmp.Compare(b.batches, a.batches), cmp.Compare(a.pos, b.pos)) })
	rank := make([]int, len(c.runs))
	for i, r := range order {
		rank[r.index] = i
	}
	for _, b := range order {
		others := near[int32(b.index)]
		slices.SortFunc(others, func(x, y int32) int { return cmp.Compare(rank[x], rank[y]) })
		for _, i := range others {
			a := c.runs[i]
			if rank[a.index] >= rank[b.index] || a.copyOf != nil || b.copyOf != nil {
				continue
			}
			if err := c.compare(a, b); err != nil {
				return err
			}
		}
	}
	c.keepWhole()
	return c.ctx.Err()
}

// keepWhole takes a piece for no copy if a neighbour that it goes on from, or to, at the byte is of
// another log than the one that it would be a copy of: two histories may have batches in common again
// behind a fork, and cleaned logs between their holes.
//
//	a   | 0 | 1 | 2 | 3 |
//	b   | 0 | 1 | 2'| 3 |      3 belongs to both
func (c *carving) keepWhole() {
	original := func(r *run) *run {
		for r.copyOf != nil {
			r = r.copyOf
		}
		return r
	}
	type place struct {
		beside          *run
		from, to, count int64
	}
	kept := map[place]*run{} // the same of several copies of a file is kept once
	keep := func(b, beside *run) bool {
		at := place{beside, b.from, b.to, b.batches}
		b.copyOf.again -= b.batches
		if k := kept[at]; k != nil && k != b {
			b.copyOf = k
			k.again += b.batches
			return false
		}
		c.clash(b.copyOf, b)
		b.copyOf, kept[at] = nil, b
		return true
	}
	for _, r := range c.runs {
		t := r.touches
		if t == nil || t.to > r.from || t.embedded || t.lone || t.loose {
			continue
		}
		o := original(t)
		switch {
		case r.copyOf != nil && o != original(r) && c.offers[o][original(r)]:
			if keep(r, o) && t.to == r.from && o.to == r.from {
				r.before = o
			}
		case r.copyOf == nil && t.copyOf != nil && c.offers[r][o]:
			keep(t, r)
		}
	}
}

func (c *carving) sortSigs() {
	slices.SortFunc(c.sigs, func(a, b sigOf) int { return cmp.Or(cmp.Compare(a.sig, b.sig), cmp.Compare(a.run, b.run)) })
}

// clash notes that two pieces are of different logs.
func (c *carving) clash(a, b *run) {
	if c.offers == nil {
		c.offers = map[*run]map[*run]bool{}
	}
	for _, p := range [][2]*run{{a, b}, {b, a}} {
		if c.offers[p[0]] == nil {
			c.offers[p[0]] = map[*run]bool{}
		}
		c.offers[p[0]][p[1]] = true
	}
}

// compare goes along the offsets that two pieces have in common. b has no more batches than a.
func (c *carving) compare(a, b *run) error {
	from, to := max(a.from, b.from), min(a.to, b.to)
	if from >= to {
		return nil
	}
	if c.reread > 2*c.told.Stats.Bytes+64<<20 {
		c.clash(a, b) // not compared: apart is the safe answer
		return nil
	}
	x, y := newHeaders(c, a), newHeaders(c, b)
	same, onlyA, onlyB := int64(0), int64(0), int64(0)
	x.skip(from)
	y.skip(from)
	for x.ok && y.ok && (x.from < to || y.from < to) {
		switch {
		case x.sig == y.sig:
			same++
			x.next()
			y.next()
		case x.to <= y.from:
			onlyA++
			x.next()
		case y.to <= x.from:
			onlyB++
			y.next()
		default:
			c.clash(a, b)
			return cmp.Or(x.err, y.err)
		}
	}
	if err := cmp.Or(x.err, y.err); err != nil {
		return err
	}
	switch {
	case same == 0 || onlyB > 0 && onlyA > 0:
		c.clash(a, b)
	case b.from >= a.from && b.to <= a.to && onlyB == 0:
		b.copyOf = a
		a.again += b.batches
	case b.from >= a.from && b.to > a.to && onlyB == 0:
		c.lap(a, b)
	case b.from < a.from && b.to <= a.to && onlyA == 0 && onlyB == 0:
		c.lap(b, a)
	default:
		c.clash(a, b)
	}
	return nil
}

// lap has b begin where a ends: before, both hold the same batches.
func (c *carving) lap(a, b *run) {
	if b.trim > 0 || b.before != nil || a.next != nil {
		c.clash(a, b)
		return
	}
	y := newHeaders(c, b)
	dropped, records := int64(0), int64(0)
	for y.ok && y.from < a.to {
		dropped++
		records += y.records
		y.next()
	}
	if y.err != nil || !y.ok {
		return
	}
	b.trim, b.pos, b.from = a.to, y.pos, y.from
	b.batches -= dropped
	b.records -= records
	a.again += dropped
	b.heads = nil
	c.link(a, b, fmt.Sprintf("both hold the same %s before offset %d", plural(int(dropped), "batch", "batches"), y.from))
}

// link puts b behind a in one log.
func (c *carving) link(a, b *run, why string) {
	a.next, b.prev, b.why = b, a, why
}

// headers goes along the batches of a piece once more. Their CRCs were checked when it was found.
type headers struct {
	c   *carving
	r   *run
	buf []byte
	at  int64 // position of buf
	end int64 // of the piece

	item
	ok  bool
	err error
}

const headersRead = 64 << 10

func newHeaders(c *carving, r *run) *headers {
	h := &headers{c: c, r: r, end: r.end}
	h.item.pos = r.pos
	h.ok = true
	h.read(r.pos)
	return h
}

// skip goes on to the first batch that ends above an offset.
func (h *headers) skip(offset int64) {
	for h.ok && h.to <= offset {
		h.next()
	}
}

func (h *headers) next() { h.read(h.pos + h.length) }

func (h *headers) read(pos int64) {
	if pos >= h.end {
		h.ok = false
		return
	}
	b := h.bytes(pos, min(batch.HeaderSize, h.end-pos))
	if b == nil {
		return
	}
	x := segment.Carved{Pos: pos, Outer: -1}
	if magic := int8(b[16]); magic < 2 {
		x.Kind = segment.CarvedMessage
		x.Legacy, _ = batch.ParseLegacyHeader(b)
		x.Len = x.Legacy.TotalSize()
		if x.Legacy.Codec() != batch.None && x.Len <= 4<<20 && pos+x.Len <= h.end {
			x.Raw = h.bytes(pos, x.Len)
		}
	} else {
		x.Header, _ = batch.ParseHeader(b)
		x.Len = x.Header.Size()
	}
	if h.err == nil && (x.Len < batch.LogOverhead+batch.LegacyMinSize || pos+x.Len > h.end) {
		h.err = fmt.Errorf("%s: position %d: %w", h.c.opt.File, pos, ErrChanging)
	}
	if h.err != nil {
		h.ok = false
		return
	}
	h.item = h.c.itemOf(&x)
}

// bytes returns n bytes at a position, nil with h.err set.
func (h *headers) bytes(pos, n int64) []byte {
	if pos < h.at || pos+n > h.at+int64(len(h.buf)) {
		want := min(max(n, headersRead), h.end-pos)
		if int64(cap(h.buf)) < want {
			h.buf = make([]byte, want)
		}
		h.buf = h.buf[:want]
		k, err := h.c.r.ReadAt(h.buf, pos)
		h.c.reread += int64(k)
		if int64(k) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			h.err, h.ok = &segment.ReadError{Path: h.c.opt.File, Op: "read", Pos: pos, Len: n, Err: err}, false
			return nil
		}
		h.buf, h.at = h.buf[:k], pos
	}
	return h.buf[pos-h.at:][:n]
}
