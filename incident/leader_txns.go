package incident

import (
	"cmp"
	"context"
	"math"
	"slices"

	"kafsck/diff"
	"kafsck/replica"
)

// maxBroken bounds the broken transactions that are listed.
const maxBroken = 1000

// broken finds the transactions that the candidate would leave open although another copy
// has their end.
func (w *whatIf) broken(ctx context.Context, out *Candidacy) error {
	c := out.Copy
	found := map[[2]int64]bool{}
	open := map[int64]int64{} // first offset by producer id, at the candidate's end
	asked := false
	for _, h := range w.j.readableLive() {
		if h == c {
			continue
		}
		cut, err := w.parted(c, h)
		if err != nil {
			return err
		}
		if any, err := markersFrom(h.Log, cut); err != nil || !any {
			if err != nil {
				return err
			}
			continue
		}
		if !asked {
			asked = true
			mine, err := c.Log.TransactionsAcross(ctx, c.Log.LogEndOffset)
			if err != nil {
				return err
			}
			for _, t := range mine {
				open[t.ProducerID] = t.First
			}
		}
		if len(open) == 0 {
			return nil
		}
		ended, err := h.Log.TransactionsAcross(ctx, cut)
		if err != nil {
			return err
		}
		for _, t := range ended {
			key := [2]int64{t.ProducerID, t.First}
			if first, ok := open[t.ProducerID]; t.Marker < 0 || !ok || first != t.First || found[key] {
				continue
			}
			found[key] = true
			out.BrokenCount++
			if len(out.Broken) < maxBroken {
				out.Broken = append(out.Broken, BrokenTransaction{t.ProducerID, t.ProducerEpoch, t.First, t.Marker, t.State, h.Broker})
			}
		}
	}
	slices.SortFunc(out.Broken, func(a, b BrokenTransaction) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return nil
}

// parted is the offset from which on h has something of its own that c lacks.
func (w *whatIf) parted(c, h *Copy) (int64, error) {
	if _, err := w.kept(c, h, math.MaxInt64); err != nil {
		return 0, err
	}
	at := c.Log.LogEndOffset
	for _, key := range [][2]*Copy{{c, h}, {h, c}} {
		for _, d := range w.pairs[key] {
			if d.Kind == diff.EpochFork || d.Kind == diff.ContentFork {
				at = min(at, d.From)
			}
		}
	}
	return at, nil
}

// markersFrom reports whether a log has control batches of producers at or above an
// offset.
func markersFrom(l *replica.Log, from int64) (bool, error) {
	if from >= l.LogEndOffset {
		return false, nil
	}
	for b, err := range l.Blocks(from, math.MaxInt64) {
		if err != nil {
			return false, err
		}
		if b.Control() && b.ProducerID >= 0 {
			return true, nil
		}
	}
	return false, nil
}
