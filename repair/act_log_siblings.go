package repair

import (
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
		taken, err := s.between(h, o)
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			h.source, h.taken = o, taken
			return nil
		}
	}
	return nil
}

// others are the live replicas on other brokers that could be read.
func (w *work) others() []*incident.Copy {
	return slices.DeleteFunc(w.p.Live(), func(o *incident.Copy) bool {
		return o == w.copy || o.Err != nil || o.Log == nil || o.Log.Swapped || w.byDir[o.Dir] == nil
	})
}

// between are a sibling's batches in a hole, nil where it does not prove them.
func (s *surgery) between(h *hole, o *incident.Copy) ([]replica.Block, error) {
	from := h.from
	if h.prev != nil {
		from = h.prev.Base
	} else {
		from = min(from, h.next.Base)
	}
	h.batches = 0
	var taken []replica.Block // neighbours of one epoch as one
	epoch, at, met := int32(-1), int64(math.MinInt64), h.prev == nil
	if h.prev != nil {
		epoch, at = h.prev.Epoch, h.prev.Next()
	}
	for b, err := range o.Log.Blocks(from, h.next.Base+1) {
		switch {
		case err != nil:
			return nil, err
		case !met:
			if !b.Same(h.prev) {
				return nil, nil
			}
			met = true
		case b.Same(h.next):
			if len(taken) == 0 || !s.log.Sparse && !o.Log.Sparse && (at != h.next.Base || h.prev != nil && taken[0].Base != h.prev.Next()) {
				return nil, nil
			}
			return taken, nil
		case b.Flaws != 0 || b.Epoch < epoch || b.Epoch > h.next.Epoch || b.Base < at || b.Legacy != h.next.Legacy || len(taken) > maxHoles:
			return nil, nil
		default:
			if k := len(taken) - 1; k >= 0 && b.Epoch == epoch && follows(&taken[k], &b) && !s.begins(taken[k].Base, b.Base) {
				taken[k].Length += b.Length
				taken[k].Last = b.Last
			} else {
				taken = append(taken, b)
			}
			h.batches++
			epoch, at = b.Epoch, b.Next()
		}
	}
	return nil, nil
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
		if !o.Broker.Known || o.Broker.ID < 0 {
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
