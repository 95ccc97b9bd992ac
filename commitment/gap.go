package commitment

import (
	"fmt"
	"slices"
)

// EpochSpan is offsets [From, To) of one leader epoch.
type EpochSpan struct {
	Span
	Epoch int32
}

// GapBelowWatermark is the checkpointed high watermark of a live log as a witness for what that
// log itself lacks now: offsets below the watermark and inside the log, of which it says in
// leader-epoch-checkpoint by whom they were written. An epoch has one leader, who gives an offset
// to one record: a record of the same offset and epoch is the one that it had, and was committed.
//
// As for [HighWatermark], the file is silent about epochs that began after it was written.
type GapBelowWatermark struct {
	Broker int32
	Value  int64
	Source string
	Gaps   []EpochSpan
	// WrittenMs, Dated and Began are those of [HighWatermark].
	WrittenMs int64
	Dated     bool
	Began     map[int32]int64
}

// Cuts implements Witness.
func (w *GapBelowWatermark) Cuts(from, to int64) []int64 {
	out := inside(w.Value, from, to)
	for _, g := range w.Gaps {
		out = append(out, inside(g.From, from, to)...)
		out = append(out, inside(g.To, from, to)...)
	}
	return out
}

// Testify implements Witness.
func (w *GapBelowWatermark) Testify(p *Piece) (Evidence, bool) {
	if p.Epoch < 0 || p.To > w.Value || !slices.ContainsFunc(w.Gaps, func(g EpochSpan) bool { return g.Epoch == p.Epoch && g.From <= p.From && p.To <= g.To }) {
		return Evidence{}, false
	}
	if began, ok := w.Began[p.Epoch]; ok && began >= 0 && w.Dated && began > w.WrittenMs {
		return Evidence{}, false
	}
	claim := fmt.Sprintf("broker %d's checkpointed high watermark is %d, above these offsets, and its leader-epoch-checkpoint has the leader epochs of these records there: it had them", w.Broker, w.Value)
	if !w.Dated {
		claim += " (nothing dates the high watermark)"
	}
	return Evidence{Kind: HighWatermarkKind, Says: Yes, Claim: claim, Source: w.Source}, true
}
