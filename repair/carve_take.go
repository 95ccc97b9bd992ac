package repair

import (
	"context"
	"io"
	"slices"

	"kafsck/batch"
	"kafsck/segment"
)

const (
	// maxRuns bounds the pieces that are kept: 250 bytes each.
	maxRuns = 250_000
	// maxSigs bounds the batches that are remembered by their content: 16 bytes each.
	maxSigs = 3 << 19
	// maxUnread bounds the unreadable places that are listed.
	maxUnread = 1000
)

// carving is one under way.
type carving struct {
	ctx  context.Context
	r    io.ReaderAt
	opt  CarveOptions
	told *Carving

	runs    []*run // data, in order of position
	last    *run   // of the latest batch, data or apart
	bridge  *bridge
	sigs    []sigOf
	mask    uint64 // only contents of which these bits are 0 are remembered
	unzip   *batch.Decompressor
	offers  map[*run]map[*run]bool // pieces that have other batches at the same offsets
	reread  int64                  // bytes read again
	ignored bool                   // maxRuns reached
	ids     map[string]string      // topic ids by name
	edges   []knownEdge
	order   edgeOrder
}

// sigOf is a batch by its content.
type sigOf struct {
	sig uint64
	run int32
}

// take sorts one find into the piece that it goes on, or begins one.
func (c *carving) take(x *segment.Carved) {
	t := c.told
	switch x.Kind {
	case segment.CarvedUnread:
		c.last = nil
		if e, ok := x.Err.(*segment.ReadError); ok && len(t.Unread) < maxUnread {
			t.Unread = append(t.Unread, *e)
		}
		return
	case segment.CarvedDamaged:
		t.Damaged++
		h := &x.Header
		c.bridge = &bridge{x.Pos, x.Len, h.BaseOffset, -1}
		if n := h.NextOffset(); n > h.BaseOffset {
			c.bridge.next = n
		}
		return
	}
	it := c.itemOf(x)
	t.Batches++
	if x.Kind == segment.CarvedMessage {
		t.Messages++
	}
	switch {
	case x.Embedded:
		t.Embedded++
	case x.Lone:
		t.Lone++
	case x.Loose:
		t.Loose++
	case x.Outer >= 0:
		t.Cut++
	}
	b := c.bridge
	c.bridge = nil
	header, footer := c.snapshotEdge(x)
	r := c.last
	if r != nil && r.snapshot && !r.ended && r.end == it.pos && !header {
		r.ended = footer
		t.SnapshotBatches++
		r.add(&it, x)
		return
	}
	if r == nil || r.snapshot || header || !r.goesOn(&it, x) {
		if r = c.begin(&it, x, b); r == nil {
			t.Unsorted++
			return
		}
	}
	if header {
		r.snapshot = true
		t.Snapshots++
		t.SnapshotBatches++
		if !r.embedded && !r.lone && !r.loose {
			c.runs = c.runs[:len(c.runs)-1]
			c.told.Apart = append(c.told.Apart, CarvedPiece{of: r})
		}
	}
	r.add(&it, x)
	c.last = r
	if !r.snapshot && !r.embedded && !r.lone && !r.loose {
		c.remember(it.sig, r.index)
	}
}

// remember keeps the content of a batch; of very many a part, chosen by content so that the same ones
// are kept of every copy.
func (c *carving) remember(sig uint64, run int) {
	if sig&c.mask != 0 {
		return
	}
	if len(c.sigs) == maxSigs {
		c.mask = c.mask<<1 | 1
		c.sigs = slices.DeleteFunc(c.sigs, func(s sigOf) bool { return s.sig&c.mask != 0 })
		if sig&c.mask != 0 {
			return
		}
	}
	c.sigs = append(c.sigs, sigOf{sig, int32(run)})
}
