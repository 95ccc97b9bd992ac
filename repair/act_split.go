package repair

import (
	"fmt"
	"math"

	"kafsck/replica"
)

// split gives batches whose offsets do not fit the index of their segment segments of their own, as
// LocalLog.splitOverflowedSegment does: each is named by its first batch, and none reaches further
// than 2³¹ - 1 above its base.
//
//	00000000000000000000.log   0, 2147483649, 2147483650   ->   00000000000000000000.log   0
//	                                                            00000000002147483649.log   2147483649, 2147483650
func (w *work) split() error {
	list := w.of(w.dir, "segment-offset-overflow")
	if len(list) == 0 || w.mends() || w.swapping() || len(w.log.Segments) == 0 {
		return nil
	}
	s := &surgery{work: w, cut: math.MaxInt64, cutFrom: -1}
	var out []result
	for _, seg := range w.log.Segments {
		out = append(out, result{base: seg.BaseOffset, name: seg.Log.Name})
	}
	var parts [][]result
	for range out {
		parts = append(parts, nil)
	}
	for b, err := range w.log.Blocks(math.MinInt64, math.MaxInt64) {
		if err != nil {
			return err
		}
		if b.Flaws&^replica.SuspectEpoch != 0 {
			return nil // damage first
		}
		p := parts[b.Segment]
		if k := len(p) - 1; k < 0 || b.Last-p[k].base > math.MaxInt32 {
			base := w.log.Segments[b.Segment].BaseOffset
			if k >= 0 || b.Last-base > math.MaxInt32 {
				base = b.Base
			}
			p = append(p, result{base: base, name: fmt.Sprintf("%020d.log", base), changed: true})
		}
		r := &p[len(p)-1]
		if k := len(r.pieces) - 1; k >= 0 && r.pieces[k].Position+r.pieces[k].Length == b.Position {
			r.pieces[k].Length += b.Length
		} else {
			r.pieces = append(r.pieces, Piece{Root: w.t.index, File: file(w.dir, w.log.Segments[b.Segment].Log.Name), Position: b.Position, Length: b.Length})
		}
		parts[b.Segment] = p
		last := b
		s.last = &last
	}
	var results []result
	wide := 0
	for i, p := range parts {
		switch {
		case len(p) == 0 || len(p) == 1 && p[0].base == out[i].base:
			results = append(results, out[i])
		default:
			wide++
			if p[0].base != out[i].base {
				out[i].drop = true
				results = append(results, out[i])
			}
			results = append(results, p...)
		}
	}
	if wide == 0 {
		return nil
	}
	a := Action{Kind: SplitSegment, Does: fmt.Sprintf("%s split, so that every offset fits its index; indexes and checkpoints follow", plural(wide, "segment is", "segments are")),
		Why: firstSummary(list) + "; every batch stays, byte for byte", Undo: "the old files are in lost+found"}
	s.derive(&a, results, -1)
	for _, r := range results {
		if !r.drop {
			w.start = max(w.start, r.base)
			break
		}
	}
	w.add(w.t, w.dir, a, list)
	return nil
}
