package epoch

import (
	"math"
	"slices"
)

// Range is one run of offsets written under one leader epoch.
type Range struct {
	Epoch int32
	From  int64 // first offset, inclusive
	To    int64 // end offset, exclusive
}

// Lineage is the sequence of epochs as the batches of one log carry them, in
// file order. Neighbouring ranges have different epochs. Epochs normally grow;
// in logs written before Kafka 2.0 they may fall (KIP-279).
type Lineage []Range

// Add appends a batch's offsets [from, to) under epoch. Batches without an
// epoch (-1: message formats before v2) are added too, so that their offsets
// are not mistaken for a hole.
func (l Lineage) Add(epoch int32, from, to int64) Lineage {
	if n := len(l); n > 0 && l[n-1].Epoch == epoch {
		l[n-1].To = max(l[n-1].To, to)
		return l
	}
	return append(l, Range{Epoch: epoch, From: from, To: to})
}

// Latest returns the highest epoch in the lineage, or -1 when no batch carries
// one.
func (l Lineage) Latest() int32 {
	latest := int32(-1)
	for _, r := range l {
		latest = max(latest, r.Epoch)
	}
	return latest
}

// Has reports whether some batch carries epoch e.
func (l Lineage) Has(e int32) bool {
	return slices.ContainsFunc(l, func(r Range) bool { return r.Epoch == e })
}

// At returns the epoch of the batch that holds offset, or -1 when none does.
// Ranges that swallowed a compaction gap answer for the gap as well.
func (l Lineage) At(offset int64) int32 {
	for _, r := range l {
		if r.From <= offset && offset < r.To {
			return r.Epoch
		}
	}
	return -1
}

// In returns the distinct epochs >= 0 that the offsets [from, to) carry, in
// file order.
func (l Lineage) In(from, to int64) []int32 {
	epochs := []int32{}
	for _, r := range l {
		if r.Epoch >= 0 && r.From < to && r.To > from && !slices.Contains(epochs, r.Epoch) {
			epochs = append(epochs, r.Epoch)
		}
	}
	return epochs
}

// Rebuild applies the recovery rule of LogSegment.recover to the lineage: an
// epoch is taken when it is newer than the newest one so far, starting at its
// first batch. The result is what Kafka would hold after recovering every
// segment with an empty checkpoint.
func (l Lineage) Rebuild() Cache {
	var c Cache
	for _, r := range l {
		if r.Epoch >= 0 && (len(c) == 0 || r.Epoch > c[len(c)-1].Epoch) {
			c = c.Assign(r.Epoch, r.From)
		}
	}
	return c
}

// StartAtOrAfter returns the start offset of the first epoch >= e, looking at
// batches first and then at the cache; ok is false when neither knows one.
func StartAtOrAfter(l Lineage, c Cache, e int32) (start int64, ok bool) {
	start = math.MaxInt64
	for _, r := range l {
		if r.Epoch >= e && r.From < start {
			start, ok = r.From, true
		}
	}
	for _, entry := range c {
		if entry.Epoch >= e && entry.StartOffset < start {
			start, ok = entry.StartOffset, true
		}
	}
	return start, ok
}
