package incident

import (
	"iter"
	"slices"

	"kafsck/diff"
	"kafsck/epoch"
	"kafsck/replica"
)

// clipped is a log as its broker's start leaves it: without what lies at or above end.
type clipped struct {
	diff.LogContent
	end int64
}

// clip makes a copy out of c that ends at end, for lossesUnder: c itself then is one of the
// holders of what was cut off. Its log has the facts alone; blocks come by way of Content.
func clip(c *Copy, end int64) *Copy {
	l := c.Log
	short := &replica.Log{Source: l.Source, LogStartOffset: min(l.LogStartOffset, end), LogStartSource: l.LogStartSource, LogEndOffset: end,
		HighWatermark: l.HighWatermark, HighWatermarkFile: l.HighWatermarkFile, RecoveryPoint: l.RecoveryPoint,
		Checkpoint: epoch.Cache(l.Checkpoint).TruncateFromEnd(end), Loaded: l.Loaded.TruncateFromEnd(end), HasLegacy: l.HasLegacy, EpochStarted: l.EpochStarted}
	for _, r := range l.Lineage {
		if r.From < end {
			short.Lineage = append(short.Lineage, epoch.Range{Epoch: r.Epoch, From: r.From, To: min(r.To, end)})
		}
	}
	return &Copy{Index: c.Index, Broker: c.Broker, State: c.State, Dir: c.Dir, Log: short, disk: c.disk, content: &clipped{diff.LogContent{Log: l}, end}}
}

// Bounds implements diff.Content.
func (c *clipped) Bounds() (start, end int64) { return min(c.Log.LogStartOffset, c.end), c.end }

// Differing implements diff.Content: all that was cut off differs.
func (c *clipped) Differing(o diff.Content) []replica.Span {
	spans := append(c.LogContent.Differing(o), replica.Span{From: c.end, To: max(c.Log.LogEndOffset, c.end+1)})
	slices.SortFunc(spans, func(a, b replica.Span) int { return int(min(max(a.From-b.From, -1), 1)) })
	var out []replica.Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Blocks implements diff.Content.
func (c *clipped) Blocks(from, to int64) iter.Seq2[replica.Block, error] {
	return func(yield func(replica.Block, error) bool) {
		if from >= c.end {
			return
		}
		for b, err := range c.Log.Blocks(from, min(to, c.end)) {
			if err == nil && b.Next() > c.end {
				continue // a batch is cut as a whole
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Lineage implements diff.Content.
func (c *clipped) Lineage() epoch.Lineage {
	var out epoch.Lineage
	for _, r := range c.Log.Lineage {
		if r.From < c.end {
			r.To = min(r.To, c.end)
			out = append(out, r)
		}
	}
	return out
}

// Cache implements diff.Content.
func (c *clipped) Cache() epoch.Cache { return c.Log.Loaded.TruncateFromEnd(c.end) }
