package repair

import (
	"fmt"
	"math"
	"slices"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// ask looks for another replica that has what a hole lacks: the same batch on both sides of it, and
// between them whole batches whose epochs lie between theirs. The end of a log is not asked for: its
// leader sends it.
func (s *surgery) ask(h *hole) error {
	if h.next == nil || h.from >= h.to {
		return nil
	}
	for _, o := range s.others() {
		find := s.between
		if h.marker {
			find = s.markerOf
		}
		taken, err := find(h, o)
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			h.source, h.taken = o, taken
			return nil
		}
	}
	return s.chained(h)
}

// others are the live replicas on other brokers that could be read.
func (w *work) others() []*incident.Copy {
	return slices.DeleteFunc(w.p.Live(), func(o *incident.Copy) bool {
		return o == w.copy || o.Err != nil || o.Log == nil || o.Log.Swapped || w.byDir[o.Dir] == nil
	})
}

// enclosed hands out a sibling's blocks between the two batches around a hole, and reports whether
// it has the same two and each was content with all of them.
func (h *hole) enclosed(o *incident.Copy, each func(b *replica.Block) bool) (bool, error) {
	from, met := min(h.from, h.next.Base), h.prev == nil
	if !met {
		from = h.prev.Base
	}
	var before replica.Block
	for b, err := range o.Log.Blocks(from, h.next.Base+1) {
		apart := met && before.Length > 0 && b.Segment == before.Segment && b.Position != before.Position+before.Length
		before = b
		switch {
		case err != nil:
			return false, err
		case apart: // bytes that are no batch stand there as well: what lies between may be a value's
			return false, nil
		case !met:
			if !b.Same(h.prev) {
				return false, nil
			}
			met = true
		case b.Same(h.next):
			return true, nil
		case b.Flaws != 0 || !each(&b):
			return false, nil
		}
	}
	return false, nil
}

// between are a sibling's batches in a hole, nil where it does not prove them.
func (s *surgery) between(h *hole, o *incident.Copy) ([]replica.Block, error) {
	h.batches = 0
	fit := h.readable(o)
	var taken []replica.Block // neighbours of one epoch as one
	epoch, at := int32(-1), int64(math.MinInt64)
	if h.prev != nil {
		epoch, at = h.prev.Epoch, h.prev.Next()
	}
	ok, err := h.enclosed(o, func(b *replica.Block) bool {
		if !fit.takes(b) || b.Epoch < epoch || b.Epoch > h.next.Epoch || b.Base < at || b.Legacy != h.next.Legacy || len(taken) > maxHoles {
			return false
		}
		if k := len(taken) - 1; k >= 0 && b.Epoch == epoch && follows(&taken[k], b) && !s.begins(taken[k].Base, b.Base) {
			taken[k].Length += b.Length
			taken[k].Last = b.Last
		} else {
			taken = append(taken, *b)
		}
		h.batches++
		epoch, at = b.Epoch, b.Next()
		return true
	})
	if !ok || len(taken) == 0 || !fit.all() || !s.log.Sparse && !o.Log.Sparse && (at != h.next.Base || h.prev != nil && taken[0].Base != h.prev.Next()) {
		return nil, err
	}
	return taken, nil
}

// markerOf is a sibling's marker at the offset of a hole, nil where it does not prove it. What else it
// has between the same two batches is for its cleaner.
func (s *surgery) markerOf(h *hole, o *incident.Copy) ([]replica.Block, error) {
	h.batches = 0
	var marker []replica.Block
	ok, err := h.enclosed(o, func(b *replica.Block) bool {
		if b.Control() && b.Base == h.from && b.Last == h.from {
			marker = []replica.Block{*b}
		}
		return b.Epoch >= h.prev.Epoch && b.Epoch <= h.next.Epoch
	})
	if !ok {
		return nil, err
	}
	h.batches = len(marker)
	return marker, nil
}

// follows reports whether a block stands right behind another one.
func follows(a, b *replica.Block) bool {
	return a.Segment == b.Segment && a.Position+a.Length == b.Position
}

// begins reports whether a segment of this log begins in (from, to].
func (s *surgery) begins(from, to int64) bool {
	return slices.ContainsFunc(s.log.Segments, func(seg *logdir.Segment) bool { return seg.BaseOffset > from && seg.BaseOffset <= to })
}

// holders are the brokers of which another copy has all offsets of [from, to) of this log with the
// same epochs and CRCs.
func (w *work) holders(from, to int64) ([]int32, error) {
	out := []int32{}
	for _, o := range w.others() {
		if !o.Broker.Known || o.Broker.ID < 0 || w.cutBelow(o, to) {
			continue
		}
		mine, theirs := replica.NewCursor(w.log.Blocks(from, to)), replica.NewCursor(o.Log.Blocks(from, to))
		same := mine.OK
		for same && mine.OK {
			if same = theirs.OK && mine.Block.Same(&theirs.Block); same {
				mine.Advance()
				theirs.Advance()
			}
		}
		err := mine.Err
		if err == nil {
			err = theirs.Err
		}
		mine.Stop()
		theirs.Stop()
		if err != nil {
			return nil, err
		}
		if same && !slices.Contains(out, o.Broker.ID) {
			out = append(out, o.Broker.ID)
		}
	}
	return out, nil
}

// junk is what goes with bytes at the end of a log that are no batch: the offsets up to the high
// watermark, as this copy once had them, nil none.
func (s *surgery) junk(h *hole) (*PlanLoss, error) {
	hw, ok := s.t.dir.HighWatermarks.Line(s.dir)
	if !ok || hw <= h.from {
		return nil, nil
	}
	l := &PlanLoss{From: h.from, To: hw, HeldBy: []int32{}, Note: "no batch stands there; the high watermark says that there were records, and that they were committed"}
	for _, o := range s.others() {
		has, err := s.continues(o, h.from, hw)
		if err != nil {
			return nil, err
		}
		if has && o.Broker.Known && o.Broker.ID >= 0 && !slices.Contains(l.HeldBy, o.Broker.ID) {
			l.HeldBy = append(l.HeldBy, o.Broker.ID)
		}
	}
	return l, nil
}

// torn tells of a batch whose end never reached this copy, although it was committed: by the header
// that is left of it, and by the high watermark.
func (s *surgery) torn(list []*found) (string, error) {
	for _, x := range list {
		if x.Code != "torn-tail" || x.At.From < 0 || x.At.To <= x.At.From {
			continue
		}
		said := ""
		if len(x.Ranges) > 0 { // of the header; At reaches up to the high watermark where that is higher
			said = "; by its header the torn batch held " + offsetsOf(x.Ranges[0].From, x.Ranges[0].To)
		}
		if hw, ok := s.t.dir.HighWatermarks.Line(s.dir); ok && hw > x.At.From {
			said += fmt.Sprintf("; %s are not in this copy, and its high watermark, %d, says that they were committed", offsetsOf(x.At.From, hw), hw)
		} else {
			said += fmt.Sprintf("; %s are not in this copy", offsetsOf(x.At.From, x.At.To))
		}
		var whole []string
		for _, o := range s.others() {
			has, err := s.continues(o, x.At.From, x.At.To)
			if err != nil {
				return "", err
			}
			if has {
				whole = append(whole, o.Broker.Name)
			}
		}
		if len(whole) == 0 {
			return said + ": no other copy here has them whole either; where one has, it must lead, not this one", nil
		}
		if len(whole) > 1 {
			return said + fmt.Sprintf(": brokers %s have them whole, and one of them must lead, not this one", join(whole)), nil
		}
		return said + fmt.Sprintf(": broker %s has them whole and must lead, not this one", whole[0]), nil
	}
	return "", nil
}

// continues reports whether another replica has the last batch that stays here, and behind it whole
// batches for all offsets of [from, to).
func (s *surgery) continues(o *incident.Copy, from, to int64) (bool, error) {
	at := from
	if s.last != nil {
		at = s.last.Base
	}
	met := s.last == nil
	for b, err := range o.Log.Blocks(at, to) {
		switch {
		case err != nil:
			return false, err
		case !met:
			if !b.Same(s.last) {
				return false, nil
			}
			met = true
		case b.Flaws != 0 || b.Base > from && !o.Log.Sparse:
			return false, nil
		default:
			from = b.Next()
		}
	}
	return met && from >= to, nil
}

// kept reports whether a live sibling has the block that stays at the place of a double, or the
// double is the same batch again: then nothing is chosen.
func (s *surgery) kept(double *replica.Block) (bool, error) {
	var stays *replica.Block
	for b, err := range s.log.Blocks(double.Base, double.Base+1) {
		if err != nil {
			return false, err
		}
		if b.Flaws == 0 && stays == nil {
			x := b
			stays = &x
		}
	}
	if stays == nil {
		return false, nil
	}
	if stays.CRC == double.CRC && stays.Base == double.WrittenBase && stays.Epoch == double.WrittenEpoch && stays.Length == double.Length {
		return true, nil
	}
	for _, o := range s.others() {
		for b, err := range o.Log.Blocks(double.Base, double.Base+1) {
			if err != nil {
				return false, err
			}
			if b.Same(stays) {
				return true, nil
			}
		}
	}
	return false, nil
}
