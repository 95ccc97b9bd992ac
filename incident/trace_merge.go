package incident

import (
	"cmp"
	"math"
	"slices"

	"kafsck/commitment"
)

// mergeTraces makes one story of traces that tell of the same records: ranges that
// overlap, of epochs that can be the same, are cut at each other's ends, and what stands
// twice is told once with all its proofs. A trace without an end only says that records
// may have existed; where another says which, it becomes one more proof of that.
func mergeTraces(list []Loss) []Loss {
	closed := []Loss{}
	end := int64(math.MinInt64) // nothing in closed reaches beyond it
	var opened []Loss
	for _, l := range list {
		if l.From == nil || l.To == nil {
			opened = append(opened, l)
			continue
		}
		// Thousands of damaged batches come in order: nothing of them overlaps.
		if *l.From >= end {
			closed = append(closed, l)
		} else {
			closed = foldIn(closed, l)
		}
		end = max(end, *l.To)
	}
	var rest []Loss
	for _, o := range opened {
		absorbed := false
		first := int64(-1)
		for i := range closed {
			c := &closed[i]
			if c.Cause == CauseDamage || c.Cause == CauseMissingRange || !sameLine(c.Epochs, o.Epochs) || o.From != nil && *c.To <= *o.From {
				continue
			}
			absorbed = true
			if first < 0 || *c.From < first {
				first = *c.From
			}
			c.Evidence = appendEvidence(c.Evidence, o.Evidence)
			c.Committed = commitment.Weigh(c.Evidence)
			if len(c.Epochs) == 0 {
				c.Epochs = slices.Clone(o.Epochs)
			}
			if o.Cause != CauseUnknown {
				c.Cause, c.Election = o.Cause, o.Election
			}
		}
		switch {
		case !absorbed:
			rest = append(rest, o)
		case o.From != nil && *o.From < first:
			// Below what the others tell nothing is known.
			o.To, o.Records = ptr(first), ptr(first-*o.From)
			closed = append(closed, o)
		}
	}
	return append(joinTraces(closed), rest...)
}

// foldIn adds a closed trace to traces that do not overlap on the same line.
func foldIn(list []Loss, l Loss) []Loss {
	pending := []Loss{l}
	out := []Loss{}
	for _, old := range list {
		var left []Loss
		for _, n := range pending {
			lo, hi := max(*n.From, *old.From), min(*n.To, *old.To)
			if lo >= hi || !sameLine(old.Epochs, n.Epochs) {
				left = append(left, n)
				continue
			}
			left = append(left, pieceOf(n, *n.From, lo)...)
			left = append(left, pieceOf(n, hi, *n.To)...)
			out = append(out, pieceOf(old, *old.From, lo)...)
			out = append(out, both(old, n, lo, hi))
			if hi == *old.To {
				old.From = nil
				break
			}
			old.From, old.Records = ptr(hi), ptr(*old.To-hi)
		}
		if old.From != nil {
			out = append(out, old)
		}
		pending = left
	}
	return append(out, pending...)
}

func pieceOf(l Loss, from, to int64) []Loss {
	if from >= to {
		return nil
	}
	l.ToExact = l.ToExact || to < *l.To
	l.From, l.To, l.Records = ptr(from), ptr(to), ptr(to-from)
	return []Loss{l}
}

func both(a, b Loss, from, to int64) Loss {
	exact := a.ToExact && to == *a.To || b.ToExact && to == *b.To || to < *a.To || to < *b.To
	a.From, a.To, a.Records = ptr(from), ptr(to), ptr(to-from)
	a.ToExact = exact
	a.Evidence = appendEvidence(a.Evidence, b.Evidence)
	a.Committed = commitment.Weigh(a.Evidence)
	if len(a.Epochs) == 0 || len(b.Epochs) > 0 && len(b.Epochs) < len(a.Epochs) {
		a.Epochs = b.Epochs
	}
	if a.Cause == CauseUnknown {
		a.Cause, a.Election = b.Cause, b.Election
	}
	if a.Acknowledged == commitment.AckedUnknown {
		a.Acknowledged = b.Acknowledged
	}
	return a
}

func appendEvidence(list, more []commitment.Evidence) []commitment.Evidence {
	list = slices.Clone(list)
	for _, e := range more {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// joinTraces joins neighbours that say the same.
func joinTraces(list []Loss) []Loss {
	slices.SortStableFunc(list, func(a, b Loss) int {
		return cmp.Or(slices.Compare(a.Epochs, b.Epochs), cmp.Compare(*a.From, *b.From))
	})
	var out []Loss
	for _, l := range list {
		if n := len(out); n > 0 {
			a := &out[n-1]
			if *a.To == *l.From && a.Committed == l.Committed && a.Acknowledged == l.Acknowledged && a.Cause == l.Cause && slices.Equal(a.Epochs, l.Epochs) && slices.Equal(a.Evidence, l.Evidence) {
				a.To, a.Records, a.ToExact = l.To, ptr(*a.Records+*l.Records), l.ToExact
				continue
			}
		}
		out = append(out, l)
	}
	return out
}
