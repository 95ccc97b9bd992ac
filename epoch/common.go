package epoch

import (
	"cmp"
	"slices"
)

// Meeting says how far two logs were written under the same leader epochs.
type Meeting struct {
	// Epoch is the last leader epoch under which both were written at the same
	// offsets, -1 without one.
	Epoch int32
	// Offset is where what they have in common ends, exclusive: where they parted,
	// else the smaller of the two log ends.
	Offset int64
	// Overlap: some offset has a batch in both logs.
	Overlap bool
	// Parted: from Offset on they carry different epochs; Epochs are these.
	Parted bool
	Epochs [2]int32
}

// Meet compares two lineages offset by offset, as far as both logs have batches.
// It tells nothing of contents: two logs of one epoch may still differ.
func Meet(a, b Lineage) Meeting {
	a, b = ordered(a), ordered(b)
	m := Meeting{Epoch: -1, Offset: min(end(a), end(b))}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		from, to := max(x.From, y.From), min(x.To, y.To)
		if from < to {
			m.Overlap = true
			if x.Epoch != y.Epoch {
				m.Parted, m.Offset, m.Epochs = true, from, [2]int32{x.Epoch, y.Epoch}
				return m
			}
			m.Epoch = x.Epoch
		}
		if x.To <= y.To {
			i++
		} else {
			j++
		}
	}
	return m
}

// ordered returns the ranges by offset: those of a damaged log may go backwards.
func ordered(l Lineage) Lineage {
	byFrom := func(x, y Range) int { return cmp.Compare(x.From, y.From) }
	if slices.IsSortedFunc(l, byFrom) {
		return l
	}
	l = slices.Clone(l)
	slices.SortStableFunc(l, byFrom)
	return l
}

func end(l Lineage) int64 {
	var e int64
	for _, r := range l {
		e = max(e, r.To)
	}
	return e
}
