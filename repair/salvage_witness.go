package repair

import (
	"math"
	"math/bits"
	"slices"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/segment"
)

// maxUnborne bounds the batches of a partition for whose offsets a witness is sought.
const maxUnborne = 200_000

// doubts are the anomalies of a log in which an offset may be wrong.
var doubts = []replica.AnomalyKind{replica.BadChecksum, replica.JunkBytes, replica.ZeroHole, replica.EmbeddedBatch, replica.BaseOutOfLine,
	replica.Backwards, replica.Gap, replica.SegmentGap, replica.BelowSegment}

// doubt finds out whether the offsets of a copy must be looked at one by one, and what is normal in it.
func (w *salvaging) doubt(x *source) error {
	x.sparse = w.compacted
	for _, kind := range doubts {
		x.doubted = x.doubted || x.log.Anomalies.Counts[kind] > 0
	}
	last, err := x.last()
	if err != nil {
		return err
	}
	if x.cleaned = x.log.Sparse; !x.doubted && !x.log.HasLegacy && last == nil { // how many offsets a compressed message of format 0 or 1 has is inside it
		return nil
	}
	var h holes
	var wide wideBatches
	amid := islands{x: x}
	var unpack *batch.Decompressor
	var raw []byte
	for b, err := range x.blocks(math.MinInt64) {
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return err
		}
		if b.Flaws&(flawed&^replica.Misplaced) != 0 {
			x.packed = x.packed || b.Flaws&replica.Unreadable == 0 && b.Codec != batch.None
			if b.Flaws&(flawed&^replica.Misplaced) == replica.BadCRC {
				h.damaged(&b)
			}
			continue
		}
		x.packed = x.packed || b.Codec != batch.None
		if b.Legacy && b.Codec != batch.None && len(x.inside) < maxUnborne && len(x.vouched) < maxUnborne {
			if unpack == nil {
				unpack = batch.NewDecompressor(0)
			}
			if raw, err = x.log.ReadRaw(b.Segment, b.Position, b.Length, raw); err != nil {
				return err
			}
			first, last := int64(-1), int64(-1)
			for r, err := range batch.LegacyRecords(raw, unpack) {
				if err != nil {
					first = -1
					break
				}
				if last = r.Offset; first < 0 {
					first = last
				}
			}
			if first >= 0 && b.Magic == 0 && last == b.WrittenBase+b.WrittenSpan()-1 { // these offsets are absolute, and in the CRC
				x.vouched = with(x.vouched, [2]int64{int64(b.Segment), b.Position})
			}
			if first >= 0 && last >= first && (first != b.Base || last != b.Last) {
				if x.inside == nil {
					x.inside = map[[2]int64][2]int64{}
				}
				x.inside[[2]int64{int64(b.Segment), b.Position}] = [2]int64{first, last}
				b.Base, b.Last = first, last
			}
		}
		h.add(&b, x.log.Segments[b.Segment].BaseOffset)
		wide.add(&b)
		amid.add(&b)
	}
	amid.close(nil)
	x.islands = amid.list
	x.doubted = x.doubted || len(x.inside) > 0
	x.sparse = x.sparse || h.normal()
	if last != nil {
		w.checkpointed(x, last)
	}
	wide.end(x, x.sparse)
	w.lastWide = w.lastWide || last != nil && wide.all == 1
	return nil
}

// holes counts the places at which batches that lie side by side leave offsets out, as a cleaner leaves
// them. One wrong offset makes no such place, as the batch behind it then lies below it; two may:
//
//	|--0–9--|--20–29--|--30–39--|      a hole
//	|--0–9--|--74–83--|--20–29--|      a wrong offset
//	|--0–9--|--20–29--|--40–49--|      one in doubt: it counts where there are many, or little else
type holes struct {
	blocks, joints      int // joints: pairs without a hole between them, and first ones as the name says
	all, sure, doubtful int

	run     int   // number of the block in a run of blocks that lie side by side
	pending []int // the numbers of those behind a hole, as long as the ones behind them are not known
	prev    replica.Block
	joined  bool // prev continues the one before it
	borders bool // and the last one of pending lies behind such a one
}

// add takes the next sound block, of a segment with this base offset.
func (h *holes) add(b *replica.Block, base int64) {
	p := &h.prev
	switch {
	case h.run == 0 || !h.beside(b):
		h.end()
		h.joined = false
		if b.Position == 0 && b.Base == base {
			h.joints++
		} else if b.Position == 0 && b.Base > base {
			h.all++
		}
	case b.Base < p.Next():
		h.joined = false
		h.pending = slices.DeleteFunc(h.pending, func(i int) bool { return i >= h.run-2 })
	case b.Base > p.Next():
		h.pending = append(h.pending, h.run)
		h.all++
		h.borders, h.joined = h.joined, false
		h.count(h.run - 2)
	default:
		h.joined = true
		h.joints++
		if n := len(h.pending); n > 0 && h.pending[n-1] == h.run-1 && h.borders {
			h.pending = h.pending[:n-1]
			h.sure++
		}
		h.count(h.run - 2)
	}
	h.run++
	h.blocks++
	h.prev = *b
}

func (h *holes) beside(b *replica.Block) bool {
	return h.prev.Segment == b.Segment && h.prev.Position+h.prev.Length == b.Position
}

// damaged takes a block of which only the CRC is wrong: what its header says is heard if it goes on.
func (h *holes) damaged(b *replica.Block) {
	if h.run == 0 || !h.beside(b) || b.WrittenBase != h.prev.Next() || b.WrittenSpan() <= 0 || b.WrittenSpan() > math.MaxInt32 {
		return
	}
	next := *b
	next.Base, next.Last = b.WrittenBase, b.WrittenBase+b.WrittenSpan()-1
	h.add(&next, -1)
}

// count counts those that have as many blocks behind them as it takes.
func (h *holes) count(upto int) {
	before := len(h.pending)
	h.pending = slices.DeleteFunc(h.pending, func(i int) bool { return i <= upto })
	h.doubtful += before - len(h.pending)
}

func (h *holes) end() {
	h.count(h.run - 2)
	h.pending, h.run = h.pending[:0], 0
}

// normal reports whether the log has holes.
func (h *holes) normal() bool {
	h.end()
	return h.sure > 0 || h.doubtful >= max(4, h.blocks/16) || h.all > h.joints
}

// unborne is a batch with an offset that nothing beside it bears out.
type unborne struct {
	x      *source
	block  replica.Block // with the offset that its header says
	alone  bool
	amid   bool    // it may be the content of a value: that others have the same bytes, or an end there, says nothing
	held   bool    // something else bears it out
	own    []int64 // where the same copy has the same batch once more
	others []elsewhere
}

// elsewhere is the same batch in another copy, at another offset.
type elsewhere struct {
	x     *source
	base  int64
	borne bool
}

// maxElsewhere bounds the places of one batch that are remembered.
const maxElsewhere = 8

// witness asks, for batches whose offsets nothing beside them bears out, whatever else can tell: the
// index, the epoch file and the checkpoints of their own directory, and the other copies, where the same batch
// may lie at the same offset, or another one, whose offset is borne out, at the same place of the same
// segment. A batch of format 2 that other copies have at another offset, and not at this one, has a wrong one if it
// is borne out there, or if two copies say so; where one says this and one that, neither is taken. These
// batches have timestamps and mostly a producer with its sequence numbers, so that no two are alike; those without
// a producer may be there twice, and count where one bit makes the difference.
func (w *salvaging) witness() error {
	var list []*unborne
	for _, x := range w.sources {
		if !x.doubted {
			continue
		}
		for l, err := range x.taking() {
			if err == nil {
				err = w.ctx.Err()
			}
			if err != nil {
				return err
			}
			if l.sound && !l.borne && len(list) < maxUnborne {
				u := &unborne{x: x, block: l.Block, alone: l.alone || l.Flaws&replica.SuspectBase != 0, amid: l.amid}
				u.block.Base, u.block.Last = l.claim, l.claim+l.Last-l.Base
				list = append(list, u)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := w.askFiles(list); err != nil {
		return err
	}
	if err := w.askCopies(list); err != nil {
		return err
	}
	changed := map[*source]bool{}
	for _, u := range list {
		at := [2]int64{int64(u.block.Segment), u.block.Position}
		switch {
		case u.held:
			u.x.vouched = with(u.x.vouched, at)
		default:
			moved, contested := u.moved()
			if moved {
				u.x.moved = with(u.x.moved, at)
			} else if contested {
				u.x.contested = with(u.x.contested, at)
			} else {
				continue
			}
		}
		changed[u.x] = true
	}
	for _, x := range w.sources {
		if !changed[x] {
			continue
		}
		for i := range x.cut {
			x.cut[i] = math.MaxInt64
		}
		if err := w.survey(x); err != nil {
			return err
		}
	}
	return nil
}

func with(m map[[2]int64]bool, at [2]int64) map[[2]int64]bool {
	if m == nil {
		m = map[[2]int64]bool{}
	}
	m[at] = true
	return m
}

// askFiles asks the files beside the copies.
func (w *salvaging) askFiles(list []*unborne) error {
	type place struct {
		x   *source
		seg int
	}
	at := map[place]map[int64]*unborne{} // by position
	for _, u := range list {
		b, l := &u.block, u.x.log
		for _, e := range u.x.file {
			u.held = u.held || !u.amid && !b.Legacy && e.Epoch == b.Epoch && e.StartOffset == b.Base
		}
		for _, line := range []*int64{l.RecoveryPoint, l.HighWatermark} {
			u.held = u.held || !u.amid && line != nil && *line == b.Next()
		}
		if u.alone && !u.held && l.Segments[b.Segment].Index != nil {
			p := place{u.x, b.Segment}
			if at[p] == nil {
				at[p] = map[int64]*unborne{}
			}
			at[p][b.Position] = u
		}
	}
	for p, batches := range at {
		s := p.x.log.Segments[p.seg]
		said, err := indexed(s, batches)
		if err != nil {
			w.note("%s of %s could not be read: %v", s.Index.Name, p.x.who(), err)
		}
		if said {
			w.lendFile(p.x.log.Partition, s.Index)
		}
	}
	return nil
}

// indexed marks the batches of which the index has the position with just their last offset, and reports
// whether there is one. Where one append brought several batches, the entry has the last offset of them all.
func indexed(s *logdir.Segment, batches map[int64]*unborne) (bool, error) {
	f, err := s.Index.Open()
	if err != nil {
		return false, err
	}
	defer f.Close() // nothing was written: a failed close loses nothing
	said := false
	for e, err := range segment.ScanIndex(f, s.Index.Size, s.BaseOffset) {
		if err != nil {
			return said, err
		}
		if u := batches[e.Position]; u != nil && e.Offset == u.block.Last {
			u.held, said = true, true
		}
	}
	return said, nil
}

// askCopies asks all copies.
func (w *salvaging) askCopies(list []*unborne) error {
	type place struct{ segment, position int64 }
	same, begin, end := map[uint32][]*unborne{}, map[place][]*unborne{}, map[place][]*unborne{}
	for _, u := range list {
		b := &u.block
		same[b.CRC] = append(same[b.CRC], u)
		if u.alone {
			base := u.x.log.Segments[b.Segment].BaseOffset
			begin[place{base, b.Position}] = append(begin[place{base, b.Position}], u)
			end[place{base, b.Position + b.Length}] = append(end[place{base, b.Position + b.Length}], u)
		}
	}
	for _, o := range w.sources {
		for l, err := range o.taking() {
			if err == nil {
				err = w.ctx.Err()
			}
			if err != nil {
				return err
			}
			for _, u := range same[l.CRC] {
				if l.bears && l.Length == u.block.Length && l.Magic == u.block.Magic {
					u.meet(o, l)
				}
			}
			if !l.borne || !l.sound {
				continue
			}
			base := o.log.Segments[l.Segment].BaseOffset
			from, to := place{base, l.Position}, place{base, l.Position + l.Length}
			for _, u := range begin[from] {
				u.held = u.held || u.x != o && u.block.Base == l.Base
			}
			for _, u := range begin[to] {
				u.held = u.held || u.x != o && u.block.Base == l.Next()
			}
			for _, u := range end[from] {
				u.held = u.held || u.x != o && u.block.Next() == l.Base
			}
		}
	}
	return nil
}

// meet takes note of the same batch elsewhere.
func (u *unborne) meet(o *source, l *look) {
	b := &u.block
	at := l.begin()
	if l.sound {
		at = l.claim
	}
	switch {
	case o == u.x && (l.Segment != b.Segment || l.Position != b.Position):
		if l.sound && len(u.own) < maxElsewhere {
			u.own = append(u.own, at)
		}
	case o == u.x:
	case at == b.Base:
		u.held = u.held || !u.amid || l.borne && l.sound
	case l.sound && !l.amid && l.Flaws&replica.SuspectBase == 0 && !b.Legacy && l.Last-l.Base == b.Last-b.Base && len(u.others) < maxElsewhere:
		u.others = append(u.others, elsewhere{o, at, l.borne || o.said(&l.Block) && !u.x.said(b)})
	}
}

// moved reports whether other copies show that the offset is wrong, or at least that one of two is.
func (u *unborne) moved() (moved, contested bool) {
	for i, e := range u.others {
		if slices.Contains(u.own, e.base) || u.block.ProducerID < 0 && bits.OnesCount64(uint64(e.base^u.block.Base)) != 1 {
			continue
		}
		contested = true
		if e.borne || slices.ContainsFunc(u.others[i+1:], func(o elsewhere) bool { return o.base == e.base && o.x != e.x }) {
			return true, false
		}
	}
	return false, contested
}
