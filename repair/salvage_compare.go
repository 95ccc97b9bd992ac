package repair

import (
	"cmp"
	"math"
	"slices"

	"kafsck/epoch"
	"kafsck/replica"
)

// lineCursor walks along the batches of the line. Each copy that it is made of is read once.
type lineCursor struct {
	w     *salvaging
	at    int // run
	in    int64
	block replica.Block
	ok    bool
	err   error
	open  map[*source]*replica.Cursor
}

func (w *salvaging) walkLine() *lineCursor {
	c := &lineCursor{w: w, open: map[*source]*replica.Cursor{}}
	c.advance()
	return c
}

func (c *lineCursor) stop() {
	for _, x := range c.open {
		x.Stop()
	}
}

func (c *lineCursor) advance() {
	c.ok = false
	for c.at < len(c.w.line) && c.in == c.w.line[c.at].blocks {
		c.at, c.in = c.at+1, 0
	}
	if c.at == len(c.w.line) || c.err != nil {
		return
	}
	r := &c.w.line[c.at]
	x := c.open[r.src]
	if x == nil {
		x = replica.NewCursor(r.src.blocks(r.from))
		c.open[r.src] = x
	}
	before := func() bool {
		return x.Block.Segment < r.seg || x.Block.Segment == r.seg && x.Block.Position < r.position
	}
	for x.OK && before() {
		x.Advance()
	}
	if c.in == 0 && x.Err == nil && (!x.OK || x.Block.Segment != r.seg || x.Block.Position != r.position) {
		// Where offsets go backwards in a file, runs may not be in its order.
		x.Stop()
		x = replica.NewCursor(r.src.blocks(math.MinInt64))
		for c.open[r.src] = x; x.OK && before(); {
			x.Advance()
		}
	}
	if c.err = x.Err; c.err != nil {
		return
	}
	if !x.OK {
		c.err = ErrChanging
		return
	}
	next := r.from
	if c.in > 0 {
		next = c.block.Next()
	}
	c.block, c.ok = x.Block, true
	if c.block.Legacy && c.block.Codec != 0 && c.block.Flaws&replica.Misplaced != 0 && next <= c.block.Last {
		c.block.Base = next // as in taking
	}
	c.block.Flaws &^= replica.Misplaced
	c.in++
	x.Advance()
}

// offer is a run of batches for which the line has nothing.
type offer struct {
	lineRun
	lo, hi     int32 // epochs of the line's batches around it; -1 the line begins, MaxInt32 it ends there
	head, tail bool
	hole       blank
}

// blank is what the line lacks between two of its batches.
type blank struct {
	from, to int64 // offsets; MinInt64, MaxInt64 the line begins or ends there
	// room is how many bytes the chosen copy has there, -1 unknown: where it holds both batches in
	// one segment, what stood between them has exactly these.
	room int64
}

// comparing is a copy held against the line.
type comparing struct {
	w      *salvaging
	x      *source
	offers []offer
	taken  []lineRun

	common    bool  // a batch was the same since the two last parted
	commonEnd int64 // behind it
	ever      bool
	parted    bool // other batches at the same offsets since then
	lo        int32
	before    replica.Block // the line's batch before
	beforeOf  *source       // whose it is, nil none
}

// compare holds a copy against the line: what it has the same, what it has otherwise, and what the
// line lacks and may take. A batch is on the line where
//
//   - the copy has the same batches (offset, epoch, CRC) before and behind it, and no other in between;
//   - or the line's next batch is of the batch's own epoch: one leader wrote both, so that whoever has
//     the later one had the earlier one;
//   - or the chosen copy's own epoch file says that these offsets were written in the batch's epoch;
//   - or before the line's first batch, the copy has the same ones behind it;
//   - or behind the line's last batch, the copy has that same one, or goes on in its epoch; and no later
//     epoch is known to have begun there;
//   - or it lies in segments of the chosen directory itself that were renamed to .deleted, and these end
//     where the log begins.
//
// and where the chosen copy does not say otherwise, by its epoch file (belied) or by the room between its
// batches (misfits); or where a damaged header of the chosen copy names the batch (twin).
func (w *salvaging) compare(x *source) ([]lineRun, error) {
	x.same, x.zones, x.waiting = nil, nil, false
	c := &comparing{w: w, x: x, lo: -1, ever: x.ever}
	l := w.walkLine()
	defer l.stop()
	for at, err := range x.taking() {
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		b := &at.Block
		for l.ok && (at.ok || at.within) && l.block.Next() <= b.Base {
			c.lo, c.before, c.beforeOf = l.block.Epoch, l.block, w.line[l.at].src
			l.advance()
		}
		meets := l.ok && l.block.Base < b.Next()
		switch {
		case !at.ok:
			why := w.misfit(x, at)
			if at.placed {
				b.Flaws &^= replica.SuspectBase // the offsets are known
			}
			if x.zone(b, why); meets && b.Flaws == replica.BadCRC && twins(&l.block, b) {
				c.anchor(&l.block)
			}
		case !meets && w.twin(b) && b.Next() > w.head:
			if w.final {
				x.zone(b, zoneUnproven)
				break
			}
			c.anchor(b)
			c.taken = appendRun(c.taken, x, b, false)
			x.keepSame(b)
		case !meets:
			c.offer(l, b)
		case identical(&l.block, b):
			x.keepSame(b)
			c.anchor(&l.block)
		case !w.final && l.block.Flaws&replica.SuspectEpoch != 0 && b.Flaws == 0 && l.block.SameRecords(b) && l.block.Epoch == b.Epoch:
			c.taken = appendRun(c.taken, x, b, false) // the same records with the right epoch
			x.keepSame(b)
			c.anchor(&l.block)
		case l.block.SameRecords(b) && (l.block.Epoch == b.Epoch || x.said(&l.block) && !x.said(b)):
			x.zone(b, zoneEpoch)
			c.anchor(&l.block)
		case !w.final && b.Flaws == 0 && l.block.SameRecords(b) && w.line[l.at].src.said(b) && !w.line[l.at].src.said(&l.block):
			run := appendRun(nil, x, b, false)[0] // the epoch file beside the line's batch says so
			run.instead = true
			c.taken = append(c.taken, run)
			x.keepSame(b)
			c.anchor(b)
		case w.compacted && (l.block.Base == b.Base && l.block.Last == b.Last && l.block.Epoch == b.Epoch || b.Legacy && l.block.Legacy):
			x.zone(b, zoneCleaned)
			c.anchor(&l.block)
		default:
			c.settle(false)
			x.zone(b, zoneOther)
			c.parted, c.common = true, false
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	c.settle(false)
	slices.SortFunc(x.same, func(a, b byteRun) int { return a.compare(b) })
	slices.SortFunc(x.zones, func(a, b zone) int { return a.byteRun.compare(b.byteRun) })
	return c.taken, nil
}

// compare orders stretches as they lie.
func (s byteRun) compare(o byteRun) int {
	return cmp.Or(cmp.Compare(s.seg, o.seg), cmp.Compare(s.position, o.position))
}

// identical reports whether two batches are the same bytes at the same offsets.
func identical(a, b *replica.Block) bool {
	return a.SameRecords(b) && a.WrittenBase == b.WrittenBase && a.WrittenEpoch == b.WrittenEpoch && a.Epoch == b.Epoch
}

// twins reports whether a damaged batch was this one: its header, CRC field included, says so.
func twins(l, b *replica.Block) bool {
	return l.Base == b.WrittenBase && l.Last == b.Last && l.CRC == b.CRC && l.Length == b.Length && l.WrittenEpoch == b.WrittenEpoch
}

// misfit says why a block cannot be taken.
func (w *salvaging) misfit(x *source, b *look) zoneWhy {
	switch {
	case b.alone:
		return zoneAlone
	case b.Flaws&(replica.BadCRC|replica.Unreadable) != 0:
		return zoneDamaged
	case b.Flaws&replica.SuspectBase != 0:
		return zoneOffset
	case !possible(&b.Block):
		return zoneImpossible
	case b.wide:
		return zoneWide
	case b.Base >= x.cut[b.Segment]:
		return zoneShadow
	}
	return zoneDouble
}

// keepSame notes bytes that the result has as well.
func (x *source) keepSame(b *replica.Block) {
	if k := len(x.same) - 1; k >= 0 && x.same[k].seg == b.Segment && x.same[k].position+x.same[k].length == b.Position {
		x.same[k].length += b.Length
		return
	}
	x.same = append(x.same, byteRun{b.Segment, b.Position, b.Length})
}

// zone notes what a copy has that is not in the result.
func (x *source) zone(b *replica.Block, why zoneWhy) {
	from, to, e := b.Base, b.Next(), b.WrittenEpoch // whether it is right or not
	if b.Flaws&replica.SuspectBase != 0 {
		from, to, e = 0, -1, -1
	}
	if why == zoneImpossible && b.Base >= 0 && b.Base < math.MaxInt64-math.MaxInt32 {
		to = b.Base + int64(max(b.Records, 0)) // its last offset is nonsense
	}
	x.addZone(zone{byteRun: byteRun{b.Segment, b.Position, b.Length}, from: from, to: to, epoch: e, why: why, blocks: 1, records: records(b)})
}

func (x *source) addZone(z zone) { x.zones = appendZone(x.zones, z) }

// appendZone adds a zone to the last one, or begins one.
func appendZone(list []zone, z zone) []zone {
	if k := len(list) - 1; k >= 0 {
		if o := &list[k]; o.seg == z.seg && o.position+o.length == z.position && o.why == z.why && z.from <= z.to && z.from >= o.to {
			o.length += z.length
			o.to, o.blocks, o.records = z.to, o.blocks+z.blocks, o.records+z.records
			if o.epoch != z.epoch {
				o.epoch, o.mixed = -1, true
			}
			return list
		}
	}
	return append(list, z)
}

// offer takes note of a batch for which the line has no other.
func (c *comparing) offer(l *lineCursor, b *replica.Block) {
	w := c.w
	switch {
	case b.Next() <= w.head:
		c.x.zone(b, zoneDeleted)
		return
	case w.compacted && !w.lacks(b):
		c.x.zone(b, zoneCleaned)
		return
	}
	o := offer{lo: c.lo, hi: math.MaxInt32, head: c.lo < 0 && (len(w.line) == 0 || b.Base < w.line[0].from), tail: !l.ok, hole: c.hole(l)}
	if l.ok {
		o.hi = l.block.Epoch
	}
	if k := len(c.offers) - 1; k >= 0 && c.offers[k].hole == o.hole && c.offers[k].lo == o.lo && c.offers[k].hi == o.hi && c.offers[k].tail == o.tail && c.offers[k].head == o.head {
		list := appendRun([]lineRun{c.offers[k].lineRun}, c.x, b, w.compacted)
		if c.offers[k].lineRun = list[0]; len(list) == 1 {
			return
		}
	}
	o.lineRun = appendRun(nil, c.x, b, false)[0]
	c.offers = append(c.offers, o)
}

// hole is the one in front of the line's next batch.
func (c *comparing) hole(l *lineCursor) blank {
	h := blank{math.MinInt64, math.MaxInt64, -1}
	if c.beforeOf != nil {
		h.from = c.before.Next()
	}
	if !l.ok {
		return h
	}
	h.to = l.block.Base
	ref := c.w.ref
	switch {
	case c.w.line[l.at].src != ref:
	case c.beforeOf == ref && c.before.Segment == l.block.Segment && c.before.Position < l.block.Position:
		h.room = l.block.Position - c.before.Position - c.before.Length
	case c.beforeOf == nil && l.block.Segment == 0:
		h.room = l.block.Position
		h.from = ref.log.Segments[0].BaseOffset
	}
	return h
}

// misfits reports whether offers cannot be what stood in the chosen copy's hole: batches that fill it
// have just as many bytes as it, others no more. What is compacted fills nothing.
func (c *comparing) misfits(of []offer) bool {
	h := of[0].hole
	if h.room < 0 || h.room == 0 && of[0].head || c.w.compacted {
		return false
	}
	bytes, at, full := int64(0), h.from, true
	for i := range of {
		full = full && of[i].from == at
		at = of[i].to
		bytes += of[i].length
	}
	return bytes > h.room || full && at == h.to && bytes != h.room
}

// belied reports whether the chosen copy's epoch file says that another leader wrote these offsets.
func (c *comparing) belied(o *offer) bool {
	w := c.w
	said := w.epochAt(o.from)
	if said < 0 || said == o.epoch {
		return false
	}
	// A file may lag behind the log, and one that came from a cleaned log has later starts.
	return said > o.epoch || !w.compacted && !o.tail && w.epochAt(o.hole.to) == o.hi
}

// said reports whether the epoch file beside a copy has a batch's offsets in the batch's epoch.
func (x *source) said(b *replica.Block) bool {
	return x.file.EpochFor(b.Base) == b.Epoch && x.file.EpochFor(b.Last) == b.Epoch
}

// twin reports whether the header of a damaged batch of the chosen copy says that it was this one.
func (w *salvaging) twin(b *replica.Block) bool {
	i, found := slices.BinarySearchFunc(w.wrecks, b.Base, func(a replica.Block, at int64) int { return cmp.Compare(a.WrittenBase, at) })
	for ; found && i < len(w.wrecks) && w.wrecks[i].WrittenBase == b.Base; i++ {
		if twins(b, &w.wrecks[i]) {
			return true
		}
	}
	return false
}

// lacks reports whether, in a compacted log, a batch lies where the chosen copy is damaged or ends, or
// lacks the latest value of a key, and not where the cleaner took batches out.
func (w *salvaging) lacks(b *replica.Block) bool {
	if len(w.line) == 0 || b.Base >= min(w.end(), w.ref.next) || len(w.ref.log.Segments) > 0 && b.Next() <= w.ref.log.Segments[0].BaseOffset {
		return true
	}
	for _, l := range w.losses {
		if l.From < b.Next() && b.Base < l.To {
			return true
		}
	}
	i, _ := slices.BinarySearchFunc(w.holes, b.Base, func(z zone, at int64) int {
		if z.to <= at {
			return -1
		}
		return 1
	})
	return i < len(w.holes) && w.holes[i].from < b.Next()
}

// anchor: the copy has this batch of the line too.
func (c *comparing) anchor(b *replica.Block) {
	c.settle(true)
	c.common, c.commonEnd, c.ever, c.parted = true, b.Next(), true, false
	c.x.ever = true
}

// settle decides on what was offered since the last common batch; behind says that the next one is
// common too.
func (c *comparing) settle(behind bool) {
	w := c.w
	last := int32(math.MinInt32)
	misfit := false
	for i := range c.offers {
		o := &c.offers[i]
		if i == 0 || o.hole != c.offers[i-1].hole {
			n := 1
			for i+n < len(c.offers) && c.offers[i+n].hole == o.hole {
				n++
			}
			misfit = c.misfits(c.offers[i : i+n])
		}
		ok := !w.final && !w.twinsOnly && !misfit && !c.belied(o) && !c.parted && o.epoch >= last && c.proven(o, behind)
		if !ok {
			why := zoneUnproven
			if c.parted {
				why = zoneOther
			} else if o.tail && c.superseded(o) {
				why = zoneOther
			}
			c.refuseOne(o, why)
			continue
		}
		last = o.epoch
		c.taken = append(c.taken, o.lineRun)
		c.x.same = append(c.x.same, byteRun{o.seg, o.position, o.length})
	}
	c.offers = c.offers[:0]
}

func (c *comparing) proven(o *offer, behind bool) bool {
	w := c.w
	if o.soft || o.hi != math.MaxInt32 && o.epoch > o.hi || o.epoch < o.lo {
		return false
	}
	// What two brokers hold of one leader epoch is one leader's log, if it is the same topic.
	known := o.epoch >= 0 && (c.ever || w.p.TopicID != "" && c.x.log.Partition.HasTopicID)
	switch {
	case behind && (c.common || o.head), known && o.epoch == o.hi:
		return true
	case known && !o.tail && w.epochAt(o.from) == o.epoch && w.epochAt(o.to-1) == o.epoch:
		return true
	case o.tail:
		n := len(w.line)
		return n > 0 && !c.superseded(o) && (c.common && c.commonEnd >= w.end() || known && o.epoch == w.line[n-1].epoch)
	}
	// Segments that were renamed away below the log in the same directory ended where it begins.
	return !c.ever && o.head && c.x.copy.State == replica.Deleted && c.x.log.Partition == w.ref.log.Partition && len(w.line) > 0 && c.x.next == w.line[0].from
}

// epochAt is the epoch in which an offset was written by the epoch file of the chosen copy, -1 unknown.
func (w *salvaging) epochAt(offset int64) int32 {
	return w.file.EpochFor(offset)
}

// superseded reports whether a later epoch began on the line where a batch of an earlier one stands.
func (c *comparing) superseded(o *offer) bool {
	return slices.ContainsFunc(c.w.later, func(e epoch.Entry) bool { return e.Epoch > o.epoch && e.StartOffset <= o.from })
}

func (c *comparing) refuseOne(o *offer, why zoneWhy) {
	if why == zoneUnproven {
		c.x.waiting = true
	}
	c.x.addZone(zone{byteRun: byteRun{o.seg, o.position, o.length}, from: o.from, to: o.to, epoch: o.epoch, why: why, blocks: o.blocks, records: o.records})
}
