package replica

import (
	"errors"
	"io"
	"math"

	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// indexEntry is an entry of a .index (key position, value offset) or of a
// .timeindex (key offset, value timestamp). Both ascend by key and value.
type indexEntry struct {
	number, key, val int64
}

// indexCursor walks the entries of one file by key, beside a pass over the .log
// that goes by the same key.
//
// Which of two entries is wrong when their keys do not ascend cannot be told from
// them alone: 10, 20, 90, 30, 40 has one that is too high, 10, 20, 5, 30 one that
// is too low. One at or below the last good entry is too low. Otherwise the lower
// one is current first and the higher one held back: if the batches agree with
// the lower one, the higher one is out of order, else the other way round.
type indexCursor struct {
	at int64 // key of cur, math.MaxInt64 without one: what each batch is compared with

	cur, held  indexEntry
	ok, isHeld bool

	file   *logdir.File // opened for each chunk: a pass that ends early leaves nothing open
	width  int64
	strict bool // keys must differ
	shape  segment.IndexShape
	scan   func(r io.ReaderAt, size int64, add func(key, val int64)) error

	chunk []indexEntry // read, not yet current
	next  int          // in chunk
	read  int64        // entries read so far

	good    indexEntry // the last one that the batches agreed with
	anyGood bool
	bad     int64 // entries that were wrong
	stale   indexEntry
}

// chunkEntries are read at once: an entry costs little beside the opening of the file.
const chunkEntries = 8192

// open begins a file. scan, width and strict are set, the rest is overwritten.
func (c *indexCursor) open(file *logdir.File, shape func(io.ReaderAt, int64) (segment.IndexShape, error)) error {
	*c = indexCursor{at: math.MaxInt64, file: file, width: c.width, strict: c.strict, scan: c.scan, chunk: c.chunk[:0]}
	if file == nil {
		return nil
	}
	return withFile(file, func(f rofs.File) error {
		var err error
		if c.shape, err = shape(f, file.Size); err != nil {
			return err
		}
		return c.fill(f)
	})
}

// withFile opens a file for the length of f. A read error gets the file's name.
func withFile(file *logdir.File, f func(rofs.File) error) error {
	r, err := file.Open()
	if err != nil {
		return &segment.ReadError{Path: file.Path, Op: "open", Err: err}
	}
	defer r.Close() // nothing was written: a failed close loses nothing
	if err := f(r); err != nil {
		return withPath(err, file.Path)
	}
	return nil
}

// stop ends the walk.
func (c *indexCursor) stop() {
	c.ok, c.isHeld, c.at = false, false, math.MaxInt64
	c.next, c.chunk, c.read = 0, c.chunk[:0], c.shape.Entries
}

// peek returns the next entry that is not current yet, or nil.
func (c *indexCursor) peek() (*indexEntry, error) {
	if c.next == len(c.chunk) {
		if c.read == c.shape.Entries {
			return nil, nil
		}
		if err := withFile(c.file, c.fill); err != nil {
			return nil, err
		}
	}
	return &c.chunk[c.next], nil
}

func (c *indexCursor) fill(f rofs.File) error {
	c.chunk, c.next = c.chunk[:0], 0
	n := min(c.shape.Entries-c.read, chunkEntries)
	if n <= 0 {
		return nil
	}
	if cap(c.chunk) == 0 {
		c.chunk = make([]indexEntry, 0, n)
	}
	from := c.read * c.width
	err := c.scan(io.NewSectionReader(f, from, n*c.width), n*c.width, func(key, val int64) {
		c.chunk = append(c.chunk, indexEntry{c.read + int64(len(c.chunk)), key, val})
	})
	if err != nil {
		return at(err, from)
	}
	c.read += n
	return nil
}

// at moves the position of a read error that was counted from another one.
func at(err error, from int64) error {
	if re, ok := errors.AsType[*segment.ReadError](err); ok {
		re.Pos += from
	}
	return err
}

func (c *indexCursor) above(e, last *indexEntry) bool {
	return e.key > last.key || e.key == last.key && !c.strict
}

// advance makes the next entry current. outOfOrder is told of those that are too
// low; it returns false when enough is enough.
func (c *indexCursor) advance(outOfOrder func(e indexEntry) bool) error {
	for {
		e, err := c.take()
		if err != nil {
			return err
		}
		if e == nil {
			c.stop()
			return nil
		}
		cur := *e
		if c.anyGood && !c.above(&cur, &c.good) {
			if !outOfOrder(cur) {
				c.stop()
				return nil
			}
			continue
		}
		c.cur, c.ok, c.at = cur, true, cur.key
		if c.isHeld {
			return nil // one held back at a time
		}
		n, err := c.peek()
		if err != nil {
			return err
		}
		if n != nil && n.key < cur.key && (!c.anyGood || c.above(n, &c.good)) {
			c.held, c.isHeld = cur, true
			c.cur, c.at = *n, n.key
			c.next++
		}
		return nil
	}
}

// plain reports whether the entry behind the current one is read and in order, and the one
// behind that too, so that advance would do no more than step.
func (c *indexCursor) plain() bool {
	if !c.ok || c.isHeld || c.next+1 >= len(c.chunk) {
		return false
	}
	next := c.chunk[c.next : c.next+2]
	return next[0].key > c.cur.key && next[1].key > next[0].key
}

// step makes the next entry current and the one before good; plain said that it can.
func (c *indexCursor) step() {
	c.good, c.anyGood = c.cur, true
	c.cur = c.chunk[c.next]
	c.at = c.cur.key
	c.next++
}

// take returns what comes next: the entry held back, if any.
func (c *indexCursor) take() (*indexEntry, error) {
	if c.isHeld {
		c.isHeld = false
		return &c.held, nil
	}
	e, err := c.peek()
	if e != nil {
		c.next++
	}
	return e, err
}

// scanOffsets and scanTimes read the entries of a part of a file. A part has a
// known number of entries; those that the segment package takes for the zero tail of
// a part are entries in front of others here.
func scanOffsets(base *int64) func(io.ReaderAt, int64, func(key, val int64)) error {
	return func(r io.ReaderAt, size int64, add func(key, val int64)) error {
		n := int64(0)
		for e, err := range segment.ScanIndex(r, size, *base) {
			if err != nil {
				return err
			}
			add(e.Position, e.Offset)
			n++
		}
		for ; n < size/segment.IndexEntrySize; n++ {
			add(0, *base)
		}
		return nil
	}
}

func scanTimes(base *int64) func(io.ReaderAt, int64, func(key, val int64)) error {
	return func(r io.ReaderAt, size int64, add func(key, val int64)) error {
		n := int64(0)
		for e, err := range segment.ScanTimeIndex(r, size, *base) {
			if err != nil {
				return err
			}
			add(e.Offset, e.Timestamp)
			n++
		}
		for ; n < size/segment.TimeEntrySize; n++ {
			add(*base, 0)
		}
		return nil
	}
}
