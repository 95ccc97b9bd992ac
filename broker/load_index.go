package broker

import (
	"cmp"
	"encoding/binary"
	"math"
)

const (
	offsetEntrySize = 8
	timeEntrySize   = 12
	// maxIndexBytes is segment.index.bytes, of which whole entries are used.
	maxIndexBytes = 10 << 20
	// indexInterval is index.interval.bytes.
	indexInterval = 4096
	// maxKept is how many entries of indexes that the load built are kept in memory.
	maxKept = 4 << 20
)

// builtOffsets are the entries of a .index that a recovery built: 8 bytes of memory each. Those of
// long ago are dropped, and built again from the .log if somebody asks.
type builtOffsets struct {
	entries []offsetEntry
	dropped bool
	log     *modelFile
}

type offsetEntry struct{ relative, position int32 }

type timeEntry struct {
	timestamp int64
	relative  int32
}

// offsetIndex is an OffsetIndex: mapped when it is first needed, made and preallocated if missing.
// Whatever is in a file that was there counts as entries, also zero bytes.
type offsetIndex struct {
	f          *modelFile
	base       int64
	entries    int64
	lastOffset int64

	block      []byte // of the file, in memory, from entry blockAt on
	blockAt    int64
	haveBlock  bool
	segmentLog *modelFile
}

// openIndex opens or makes the file of an index, as AbstractIndex.createAndAssignMmap does.
func (l *loader) openIndex(name string, width int64) (*modelFile, int64, error) {
	f, created, err := l.dir.open(name)
	if err != nil {
		return nil, 0, err
	}
	if created {
		f.size = maxIndexBytes / width * width
		return f, 0, nil
	}
	if f.size > math.MaxInt32 {
		return nil, 0, throw(unchecked, "IllegalArgumentException", name, "%d bytes, more than can be mapped", f.size)
	}
	return f, f.size / width, nil
}

// offsetIndex is LogSegment.offsetIndex.
func (l *loader) offsetIndex(s *modelSegment) (*offsetIndex, error) {
	if s.index != nil {
		return s.index, nil
	}
	f, n, err := l.openIndex(s.name(".index"), offsetEntrySize)
	if err != nil {
		return nil, err
	}
	x := &offsetIndex{f: f, base: s.base, entries: n, segmentLog: s.log}
	if err := l.setLast(x); err != nil {
		return nil, err
	}
	s.index = x
	return x, nil
}

func (l *loader) setLast(x *offsetIndex) error {
	x.lastOffset = x.base
	if x.entries == 0 {
		return nil
	}
	e, err := l.offsetEntry(x, x.entries-1)
	x.lastOffset = x.base + int64(e.relative)
	return err
}

// indexBlock is how many bytes of an index are read at once: what a search looks at first.
const indexBlock = 8192

// offsetEntry is OffsetIndex.parseEntry.
func (l *loader) offsetEntry(x *offsetIndex, n int64) (offsetEntry, error) {
	if b := x.f.offsets; x.f.isBuilt {
		if b.dropped {
			if err := l.rebuild(x); err != nil {
				return offsetEntry{}, err
			}
		}
		if n < int64(len(b.entries)) {
			return b.entries[n], nil
		}
		return offsetEntry{}, nil
	}
	if at := n * offsetEntrySize; !x.haveBlock || at < x.blockAt || at+offsetEntrySize > x.blockAt+int64(len(x.block)) {
		// A search begins at the end and goes to the middle: the block ends with the entry.
		from := max(0, at+offsetEntrySize-indexBlock)
		b, err := l.reader.small(x.f, from, at+offsetEntrySize-from)
		if err != nil {
			return offsetEntry{}, err
		}
		x.block, x.blockAt, x.haveBlock = b, from, true
	}
	b := x.block[n*offsetEntrySize-x.blockAt:]
	return offsetEntry{int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:]))}, nil
}

// rebuild walks the .log once more for the entries that a recovery gave the index.
func (l *loader) rebuild(x *offsetIndex) error {
	b := x.f.offsets
	b.dropped = false
	b.entries = make([]offsetEntry, 0, x.entries)
	lastIndexed := int64(0)
	for pos := int64(0); int64(len(b.entries)) < x.entries; {
		w, ok, err := l.next(b.log, pos, b.log.size)
		if err != nil || !ok {
			return err
		}
		if w.pos-lastIndexed > indexInterval {
			last, err := l.lastOffset(&w)
			if err != nil {
				return err
			}
			b.entries = append(b.entries, offsetEntry{int32(last - x.base), int32(w.pos)})
			lastIndexed = w.pos
		}
		pos = w.end()
	}
	return nil
}

// slotFor is AbstractIndex.largestLowerBoundSlotFor by offsets: the last entry that is not above the
// target, -1 without one. Like Kafka's it looks at the last entries first, and takes the entries
// for sorted, whether they are or not.
func (l *loader) slotFor(x *offsetIndex, target int64) (int64, error) {
	return lowerBound(x.entries, indexBlock/offsetEntrySize, func(n int64) (int, error) {
		e, err := l.offsetEntry(x, n)
		if err != nil {
			return 0, err
		}
		return cmp.Compare(x.base+int64(e.relative), target), nil
	})
}

// lowerBound is AbstractIndex.indexSlotRangeFor and binarySearch.
func lowerBound(entries, warm int64, cmp func(n int64) (int, error)) (int64, error) {
	if entries == 0 {
		return -1, nil
	}
	lo, hi := int64(0), int64(0)
	firstHot := max(0, entries-1-warm)
	c, err := cmp(firstHot)
	if err != nil {
		return 0, err
	}
	if c < 0 {
		lo, hi = firstHot, entries-1
	} else {
		if c, err = cmp(0); err != nil {
			return 0, err
		} else if c > 0 {
			return -1, nil
		}
		hi = firstHot
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		c, err := cmp(mid)
		switch {
		case err != nil:
			return 0, err
		case c > 0:
			hi = mid - 1
		case c < 0:
			lo = mid
		default:
			return mid, nil
		}
	}
	return lo, nil
}

// lookup is OffsetIndex.lookup: where in the .log to begin.
func (l *loader) lookup(x *offsetIndex, target int64) (position int64, err error) {
	slot, err := l.slotFor(x, target)
	if err != nil || slot < 0 {
		return 0, err
	}
	e, err := l.offsetEntry(x, slot)
	return int64(e.position), err
}

// reset is AbstractIndex.reset: no entries, and room for as many as there may be.
func (x *offsetIndex) reset() {
	x.entries, x.lastOffset, x.haveBlock = 0, x.base, false
	x.f.resize(maxIndexBytes)
	x.f.isBuilt, x.f.offsets = true, &builtOffsets{log: x.segmentLog}
	x.f.src, x.f.held = nil, 0
}

// append is OffsetIndex.append.
func (x *offsetIndex) append(offset, position int64) error {
	switch {
	case x.entries >= maxIndexBytes/offsetEntrySize:
		return throw(unchecked, "IllegalArgumentException", x.f.name, "the index is full")
	case x.entries > 0 && offset <= x.lastOffset:
		return throw(invalidOffset, "InvalidOffsetException", x.f.name, "offset %d would follow %d", offset, x.lastOffset)
	}
	x.f.offsets.entries = append(x.f.offsets.entries, offsetEntry{int32(offset - x.base), int32(position)})
	x.entries++
	x.lastOffset = offset
	return nil
}

// truncateTo is OffsetIndex.truncateTo.
func (l *loader) truncateIndex(x *offsetIndex, offset int64) error {
	slot, err := l.slotFor(x, offset)
	if err != nil {
		return err
	}
	n := slot + 1
	if slot >= 0 {
		e, err := l.offsetEntry(x, slot)
		if err != nil {
			return err
		}
		if int64(e.relative) == offset-x.base {
			n = slot
		}
	}
	x.entries = n
	if b := x.f.offsets; x.f.isBuilt && int64(len(b.entries)) > n {
		b.entries = b.entries[:n]
	}
	return l.setLast(x)
}

// timeIndex is a TimeIndex. Only how many entries it has and its last one decide anything.
type timeIndex struct {
	f             *modelFile
	base          int64
	entries       int64
	lastTimestamp int64
	lastOffset    int64
}

// timeIndex is LogSegment.timeIndex.
func (l *loader) timeIndex(s *modelSegment) (*timeIndex, error) {
	if s.times != nil {
		return s.times, nil
	}
	f, n, err := l.openIndex(s.name(".timeindex"), timeEntrySize)
	if err != nil {
		return nil, err
	}
	x := &timeIndex{f: f, base: s.base, entries: n}
	if err := l.setLastTime(x); err != nil {
		return nil, err
	}
	s.times = x
	return x, nil
}

func (l *loader) setLastTime(x *timeIndex) error {
	x.lastTimestamp, x.lastOffset = -1, x.base
	if x.entries == 0 {
		return nil
	}
	e, err := l.timeEntry(x, x.entries-1)
	x.lastTimestamp, x.lastOffset = e.timestamp, x.base+int64(e.relative)
	return err
}

func (l *loader) timeEntry(x *timeIndex, n int64) (timeEntry, error) {
	if x.f.isBuilt {
		if n < int64(len(x.f.times)) {
			return x.f.times[n], nil
		}
		return timeEntry{}, nil
	}
	b, err := l.reader.small(x.f, n*timeEntrySize, timeEntrySize)
	if err != nil {
		return timeEntry{}, err
	}
	return timeEntry{int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))}, nil
}

func (x *timeIndex) reset() {
	x.entries, x.lastTimestamp, x.lastOffset = 0, -1, x.base
	x.f.resize(maxIndexBytes / timeEntrySize * timeEntrySize)
	x.f.isBuilt, x.f.times = true, nil
	x.f.src, x.f.held = nil, 0
}

// maybeAppend is TimeIndex.maybeAppend.
func (x *timeIndex) maybeAppend(timestamp, offset int64, skipFullCheck bool) error {
	const most = maxIndexBytes / timeEntrySize
	switch {
	case !skipFullCheck && x.entries >= most-1:
		return throw(unchecked, "IllegalArgumentException", x.f.name, "the time index is full")
	case x.entries > 0 && offset < x.lastOffset:
		return throw(invalidOffset, "InvalidOffsetException", x.f.name, "offset %d would follow %d", offset, x.lastOffset)
	case x.entries > 0 && timestamp < x.lastTimestamp:
		return throw(unchecked, "IllegalStateException", x.f.name, "timestamp %d would follow %d", timestamp, x.lastTimestamp)
	case timestamp <= x.lastTimestamp:
		return nil
	}
	if rel := offset - x.base; rel < 0 || rel > math.MaxInt32 {
		return throw(unchecked, "IndexOffsetOverflowException", x.f.name, "offset %d does not fit", offset)
	}
	if !x.f.isBuilt { // entries that were there stay, and are not looked at again
		x.f.isBuilt, x.f.times = true, nil
		x.f.src, x.f.held = nil, 0
	}
	for int64(len(x.f.times)) < x.entries {
		x.f.times = append(x.f.times, timeEntry{})
	}
	x.f.times = append(x.f.times, timeEntry{timestamp, int32(offset - x.base)})
	x.entries++
	x.lastTimestamp, x.lastOffset = timestamp, offset
	return nil
}

// truncateTimes is TimeIndex.truncateTo, which searches by offset.
func (l *loader) truncateTimes(x *timeIndex, offset int64) error {
	slot, err := lowerBound(x.entries, indexBlock/timeEntrySize, func(n int64) (int, error) {
		e, err := l.timeEntry(x, n)
		return cmp.Compare(x.base+int64(e.relative), offset), err
	})
	if err != nil {
		return err
	}
	n := slot + 1
	if slot >= 0 {
		e, err := l.timeEntry(x, slot)
		if err != nil {
			return err
		}
		if int64(e.relative) == offset-x.base {
			n = slot
		}
	}
	x.entries = n
	return l.setLastTime(x)
}
