package segment

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// DefaultIndexInterval is Kafka's default of index.interval.bytes.
const DefaultIndexInterval = 4096

// IndexBuilder builds the .index and .timeindex that Kafka's recovery would write for a
// segment, in memory. Brokers that append write sparser ones (see [OffsetEntry]): the
// entries of a sound file need not be among these.
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
	// The entry of the largest offset, and that of the largest timestamp, so far.
	lastOffset rawOffsetEntry
	lastTime   rawTimeEntry
	nOffsets   int64
	nTimes     int64
	to         *indexWriters // where entries go instead of into memory

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

// indexWriters take the bytes of both files. A failed write is kept by bufio.
type indexWriters struct{ offsets, times *bufio.Writer }

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
	if !ok || position > math.MaxInt32 || b.nOffsets > 0 && relative <= b.lastOffset.relative {
		b.Refused++
		return
	}
	b.lastOffset = rawOffsetEntry{relative, int32(position)}
	b.nOffsets++
	if b.to == nil {
		b.offsets = append(b.offsets, b.lastOffset)
		return
	}
	var e [IndexEntrySize]byte
	binary.BigEndian.PutUint32(e[0:], uint32(relative))
	binary.BigEndian.PutUint32(e[4:], uint32(position))
	b.to.offsets.Write(e[:])
}

// time is TimeIndex.maybeAppend: nothing if the timestamp has not grown. That of a log
// without timestamps, -1, is what an empty index counts from.
func (b *IndexBuilder) time() {
	last := rawTimeEntry{timestamp: -1}
	if b.nTimes > 0 {
		last = b.lastTime
	}
	if b.maxTimestamp <= last.timestamp {
		return
	}
	relative, ok := b.relative(b.maxOffset)
	if !ok || b.nTimes > 0 && relative < last.relative {
		b.Refused++
		return
	}
	b.lastTime = rawTimeEntry{b.maxTimestamp, relative}
	b.nTimes++
	if b.to == nil {
		b.times = append(b.times, b.lastTime)
		return
	}
	var e [TimeEntrySize]byte
	binary.BigEndian.PutUint64(e[0:], uint64(b.maxTimestamp))
	binary.BigEndian.PutUint32(e[8:], uint32(relative))
	b.to.times.Write(e[:])
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

// Unsound says that a log from which something was to be built holds more than sound
// batches: from there on Kafka's recovery reads no further.
type Unsound struct {
	Kind     FrameKind
	Position int64 // byte
	Err      error // nil for bytes that are no batch
}

func (u *Unsound) Error() string {
	if u.Err != nil {
		return fmt.Sprintf("position %d: %v", u.Position, u.Err)
	}
	return fmt.Sprintf("position %d: %s, not a batch", u.Position, u.Kind)
}

// SoundRuns is [Runs] for logs from which a file is to be built: each frame is a sound batch
// or message, or an *Unsound ends the iteration.
func SoundRuns(ctx context.Context, r io.ReaderAt, size int64, each func(run *Run) error) error {
	n := 0
	for run, err := range Runs(r, size, ScanOptions{}) {
		if err != nil {
			return err
		}
		if n++; n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if f := run.Odd; f != nil && (f.Damage != nil || f.Kind != Batch && f.Kind != Legacy) {
			return &Unsound{f.Kind, f.Pos, f.Damage}
		}
		if err := each(run); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// WriteIndexes reads a .log of size bytes and writes the .index and .timeindex that Kafka's
// recovery would, trimmed as those of a closed segment are; a broker makes room in those of
// its last segment when it opens them. Memory does not grow with the log.
//
// The error is an *Unsound, a failed read or write, ctx's, or says that Kafka's recovery
// would refuse an entry.
func WriteIndexes(ctx context.Context, r io.ReaderAt, size, base, interval int64, index, timeIndex io.Writer) error {
	b := IndexBuilder{Base: base, Interval: interval, to: &indexWriters{bufio.NewWriterSize(index, entryBuffer), bufio.NewWriterSize(timeIndex, entryBuffer)}}
	err := SoundRuns(ctx, r, size, func(run *Run) error {
		for i := range run.Sound {
			x := &run.Sound[i]
			b.Add(x.Pos, x.Header.LastOffset(), x.Header.MaxTimestamp)
		}
		switch f := run.Odd; {
		case f == nil:
		case f.Kind == Legacy:
			b.Add(f.Pos, f.Legacy.Offset, f.Legacy.Timestamp)
		default:
			b.Add(f.Pos, f.Batch.LastOffset(), f.Batch.MaxTimestamp)
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.Finish()
	if b.Refused > 0 {
		return fmt.Errorf("%d index entries are out of order or out of reach of base offset %d: Kafka's recovery gives the segment up", b.Refused, base)
	}
	if err := b.to.offsets.Flush(); err != nil {
		return err
	}
	return b.to.times.Flush()
}
