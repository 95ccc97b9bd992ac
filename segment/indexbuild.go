package segment

import "math"

// DefaultIndexInterval is Kafka's default of index.interval.bytes.
const DefaultIndexInterval = 4096

// IndexBuilder builds, in memory, the .index and .timeindex that Kafka's recovery would write
// for a segment. Brokers that append write sparser ones (see [OffsetEntry]): the entries of
// a sound file need not be among these.
//
// Source: org.apache.kafka.storage.internals.log.LogSegment.recover, OffsetIndex.append,
// TimeIndex.maybeAppend.
type IndexBuilder struct {
	Base     int64 // base offset of the segment
	Interval int64 // index.interval.bytes; memory is at most 24 bytes per so many bytes of the log

	// Refused counts entries that Kafka would not append: the offset is not above that of the
	// entry before, or not in Base … Base + 2³¹ - 1. Kafka's recovery throws there.
	Refused int64

	offsets []rawOffsetEntry
	times   []rawTimeEntry

	lastIndexed int64 // position of the batch of the last entry; 0 none
	// the largest timestamp so far, and the last offset of the first batch that has it
	maxTimestamp, maxOffset int64
	seen                    bool
}

type rawOffsetEntry struct{ relative, position int32 }

type rawTimeEntry struct {
	timestamp int64
	relative  int32
}

// Add takes the next batch of the log, which begins at position. Positions ascend.
// maxTimestamp in ms, -1 none.
func (b *IndexBuilder) Add(position, lastOffset, maxTimestamp int64) {
	if !b.seen {
		b.seen = true
		b.maxTimestamp, b.maxOffset = -1, b.Base
	}
	if maxTimestamp > b.maxTimestamp {
		b.maxTimestamp, b.maxOffset = maxTimestamp, lastOffset
	}
	if position-b.lastIndexed > b.Interval {
		b.index(position, lastOffset)
		b.time()
		b.lastIndexed = position
	}
}

// Finish appends what closes a time index: the largest timestamp of the segment.
func (b *IndexBuilder) Finish() {
	if b.seen {
		b.time()
	}
}

func (b *IndexBuilder) index(position, offset int64) {
	relative, ok := b.relative(offset)
	if n := len(b.offsets); !ok || position > math.MaxInt32 || n > 0 && relative <= b.offsets[n-1].relative {
		b.Refused++
		return
	}
	b.offsets = append(b.offsets, rawOffsetEntry{relative, int32(position)})
}

// time is TimeIndex.maybeAppend: nothing if the timestamp has not grown. That of a log
// without timestamps, -1, is what an empty index counts from.
func (b *IndexBuilder) time() {
	last := rawTimeEntry{timestamp: -1}
	n := len(b.times)
	if n > 0 {
		last = b.times[n-1]
	}
	if b.maxTimestamp <= last.timestamp {
		return
	}
	relative, ok := b.relative(b.maxOffset)
	if !ok || n > 0 && relative < last.relative {
		b.Refused++
		return
	}
	b.times = append(b.times, rawTimeEntry{b.maxTimestamp, relative})
}

func (b *IndexBuilder) relative(offset int64) (int32, bool) {
	if offset < b.Base || offset-b.Base > math.MaxInt32 || offset-b.Base < 0 {
		return 0, false
	}
	return int32(offset - b.Base), true
}

// Offsets are the entries of the .index.
func (b *IndexBuilder) Offsets() []OffsetEntry {
	entries := make([]OffsetEntry, len(b.offsets))
	for i, e := range b.offsets {
		entries[i] = OffsetEntry{Number: int64(i), Offset: b.Base + int64(e.relative), Position: int64(e.position), Relative: e.relative, RawPosition: e.position}
	}
	return entries
}

// Times are the entries of the .timeindex.
func (b *IndexBuilder) Times() []TimeEntry {
	entries := make([]TimeEntry, len(b.times))
	for i, e := range b.times {
		entries[i] = TimeEntry{Number: int64(i), Timestamp: e.timestamp, Offset: b.Base + int64(e.relative), Relative: e.relative}
	}
	return entries
}
