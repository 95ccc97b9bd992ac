package epoch

import (
	"slices"

	"kafsck/checkpoint"
)

// Entry is one line of leader-epoch-checkpoint: the first offset written, or
// about to be written, under an epoch.
type Entry = checkpoint.EpochEntry

// Cache is the ordered list of entries that LeaderEpochFileCache keeps. Epochs
// and start offsets grow strictly; files written up to Kafka 2.0.0 may hold
// equal neighbouring starts, which Load resolves as Kafka >= 2.7 does.
type Cache []Entry

// Load replays the lines of a checkpoint through Assign in file order, as Kafka
// does since 2.7. Entries with a negative epoch or offset make Kafka throw;
// they are left out here.
func Load(lines []Entry) Cache {
	var c Cache
	for _, e := range lines {
		if e.Epoch >= 0 && e.StartOffset >= 0 {
			c = c.assign(e.Epoch, e.StartOffset)
		}
	}
	return c
}

// Assign records that epoch e starts at offset o. Entries that contradict it
// are dropped from the newest backwards: those with an epoch >= e or a start
// >= o. Nothing happens when e is the newest epoch already and starts no later.
func (c Cache) Assign(e int32, o int64) Cache { return slices.Clone(c).assign(e, o) }

// assign is Assign on a cache that nobody else holds.
func (c Cache) assign(e int32, o int64) Cache {
	if n := len(c); n > 0 && c[n-1].Epoch == e && o >= c[n-1].StartOffset {
		return c
	}
	keep := len(c)
	for keep > 0 && (c[keep-1].Epoch >= e || c[keep-1].StartOffset >= o) {
		keep--
	}
	return append(c[:keep], Entry{Epoch: e, StartOffset: o})
}

// Latest returns the newest epoch, or -1 for an empty cache.
func (c Cache) Latest() int32 {
	if len(c) == 0 {
		return -1
	}
	return c[len(c)-1].Epoch
}

// Has reports whether the cache has an entry for e.
func (c Cache) Has(e int32) bool {
	return slices.ContainsFunc(c, func(x Entry) bool { return x.Epoch == e })
}

// EndOffsetFor answers "where does epoch requested end" for a log that ends at
// logEnd, as LeaderEpochFileCache.endOffsetFor does since 2.0.1: the largest
// known epoch <= requested and the exclusive end offset of it. (-1, -1) means
// undefined.
func (c Cache) EndOffsetFor(requested int32, logEnd int64) (epoch int32, end int64) {
	if requested < 0 || len(c) == 0 {
		return -1, -1
	}
	if requested == c.Latest() {
		return requested, logEnd
	}
	higher := slices.IndexFunc(c, func(x Entry) bool { return x.Epoch > requested })
	switch higher {
	case -1:
		return -1, -1
	case 0:
		return requested, c[0].StartOffset
	}
	return c[higher-1].Epoch, c[higher].StartOffset
}

// EpochFor returns the epoch of the last entry that starts at or below offset,
// or -1 when offset lies before the first entry.
func (c Cache) EpochFor(offset int64) int32 {
	e := int32(-1)
	for _, x := range c {
		if x.StartOffset <= offset {
			e = x.Epoch
		}
	}
	return e
}

// TruncateFromEnd drops the newest entries that start at or above end.
func (c Cache) TruncateFromEnd(end int64) Cache {
	keep := len(c)
	for end >= 0 && keep > 0 && c[keep-1].StartOffset >= end {
		keep--
	}
	return slices.Clone(c[:keep])
}

// TruncateFromStart drops the entries that start at or below start and puts the
// last of them back at start: the epoch that start lies in.
func (c Cache) TruncateFromStart(start int64) Cache {
	drop := 0
	for drop < len(c) && c[drop].StartOffset <= start {
		drop++
	}
	if drop == 0 {
		return slices.Clone(c)
	}
	return append(Cache{{Epoch: c[drop-1].Epoch, StartOffset: start}}, c[drop:]...)
}

// EntriesInRange returns the entries that a log of the offsets [start, end) would
// have, as LeaderEpochFileCache.epochEntriesInRange does for remote segments: a
// negative start cuts nothing off the beginning.
func (c Cache) EntriesInRange(start, end int64) Cache {
	if start >= 0 {
		c = c.TruncateFromStart(start)
	}
	return c.TruncateFromEnd(end)
}
