package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"kafsck/internal/rofs"
	"kafsck/segment"
)

// kafkaIndex is the state of an .index or .timeindex that is held against its log.
type kafkaIndex struct {
	d    *kafkaDump
	path string
	base int64

	f       rofs.File // the file itself
	size    int64
	log     rofs.File // nil: it could not be opened, entries are printed unchecked
	logSize int64

	chain *kafkaChain // of the log, for looks at one place
	walk  kafkaWalk   // of the log, from its beginning
	pairs kafkaPairs
}

// openIndex opens an index and what Kafka wants beside it. It is nil if the index cannot be read.
func (d *kafkaDump) openIndex(path, name string) *kafkaIndex {
	x := &kafkaIndex{d: d, path: path}
	base, err := baseOffset(name)
	if err != nil {
		d.threw(path, "%s", err)
	}
	x.base = base
	first, _, _ := strings.Cut(name, ".")
	beside := filepath.Join(filepath.Dir(path), first+".log")
	if x.log, x.logSize, err = d.open(beside); err != nil {
		d.threw(path, "the log beside it is needed: %s: %s", beside, segment.PlainCause(err))
		x.log = nil
	} else if x.logSize > math.MaxInt32 {
		d.threw(path, "%s has %d bytes, more than the %d of the largest segment", beside, x.logSize, math.MaxInt32)
	}
	if x.f, x.size, err = d.open(path); err != nil {
		if isMissing(err) && x.log != nil { // Kafka makes an empty file, and throws then
			d.threw(path, "there is no such file")
		} else {
			d.unread(path, err)
		}
		x.close()
		return nil
	}
	if x.log != nil {
		x.chain = newKafkaChain(x.log, x.logSize)
		x.walk = kafkaWalk{chain: newKafkaChain(x.log, x.logSize), last: -1, times: -1}
	}
	return x
}

func (x *kafkaIndex) close() {
	for _, f := range []rofs.File{x.f, x.log} {
		if f != nil {
			f.Close()
		}
	}
}

// index prints an .index.
func (d *kafkaDump) index(ctx context.Context, path, name string) {
	x := d.openIndex(path, name)
	if x == nil {
		return
	}
	defer x.close()
	if x.size < segment.IndexEntrySize {
		d.out.Line(path, " is empty.")
		return
	}
	if d.k.sanityOnly {
		x.sane()
		return
	}
	before := segment.OffsetEntry{Offset: math.MinInt64, Position: math.MinInt64}
	for e, err := range offsetEntries(x.f, x.size, x.base) {
		if err != nil {
			d.unread(path, err)
			break
		}
		if e.Number&1023 == 0 && d.stopped(ctx) || e.Relative == 0 && e.Number > 0 {
			break
		}
		if x.log != nil {
			x.check(&e, &before)
		}
		if before = e; !d.k.verifyOnly {
			d.out.Line("offset: ", strconv.FormatInt(e.Offset, 10), " position: ", strconv.FormatInt(e.Position, 10))
		}
	}
	d.mismatches.add(absolute(path), &x.pairs, mismatchIsFalse)
}

// sane does the check of a broker's start (OffsetIndex.sanityCheck).
func (x *kafkaIndex) sane() {
	var last segment.OffsetEntry
	for e, err := range offsetEntries(tail(x.f, x.size, segment.IndexEntrySize), segment.IndexEntrySize, x.base) {
		if err != nil {
			x.d.unread(x.path, err)
			return
		}
		last = e
	}
	if last.Offset < x.base {
		x.d.threw(x.path, "the last offset %d is below the base offset %d", last.Offset, x.base)
		return
	}
	x.d.out.Line(x.path, " passed sanity check.")
}

// Why an index entry is reported though lookups by it are right.
const (
	entryReal    = iota // they are not, or it cannot be told
	entryUnused         // a preallocated index without entries
	entryAppend         // of a set of batches that were appended at once
	entryFirst          // as written up to Kafka 1.1
	entryInside         // of a time index: a record within its batch
	entryCleaned        // of a time index: the record is gone
	entryEarlier        // of a time index: the time is that of an earlier batch
)

func mismatchIsFalse(why byte) string {
	switch why {
	case entryUnused:
		return "the file was made to its full size at once, and no entry is in it yet"
	case entryAppend:
		return "an append of several batches, such as a follower's, has its last offset in the entry and the position of its first batch; lookups by it are right"
	case entryFirst:
		return "brokers up to 1.1 put the first offset of what they appended into the entry; lookups by it are right"
	case entryInside:
		return "some older brokers put the offset of the record into the entry, not the last one of its batch; lookups by it are right"
	case entryCleaned:
		return "the batch was removed when the log was compacted; lookups by the entry are right"
	case entryEarlier:
		return "the time is the largest in the log up to here, the record that had it is in an earlier batch or was removed when the log was compacted"
	}
	return ""
}

// check looks at the batch that an entry points to, as Kafka does, and then whether it is really
// wrong that its last offset is another one.
func (x *kafkaIndex) check(e, before *segment.OffsetEntry) {
	last, err := x.lastOffsetAt(e.Position)
	if err != nil {
		x.d.threwOrUnread(x.path, "entry with offset "+strconv.FormatInt(e.Offset, 10), err)
		return
	}
	if last == e.Offset {
		return
	}
	why := entryReal
	switch {
	case e.Relative == 0 && e.RawPosition == 0:
		why = entryUnused
	case e.Offset <= before.Offset || e.Position <= before.Position:
	case x.walk.to(e.Position) && x.walk.last < e.Offset && x.walk.reaches(e.Offset):
		if why = entryFirst; e.Offset > last {
			why = entryAppend
		}
	}
	x.pairs.add(e.Offset, last, byte(why))
}

// lastOffsetAt is that of the batch at a position.
func (x *kafkaIndex) lastOffsetAt(position int64) (int64, error) {
	if position < 0 || position > x.logSize {
		return 0, &kafkaThrew{position, "the log has " + strconv.FormatInt(x.logSize, 10) + " bytes"}
	}
	x.chain.pos, x.chain.end = position, min(position+int64(x.d.k.maxMessageSize), x.logSize)
	var b kafkaBatch
	if err := x.chain.next(&b, false); err == errKafkaEnd {
		return 0, &kafkaThrew{position, "there is no batch of the log, or it is larger than --max-message-size"}
	} else if err != nil {
		return 0, err
	}
	return b.lastOffset()
}

func (d *kafkaDump) threwOrUnread(path, what string, err error) {
	if t, ok := errors.AsType[*kafkaThrew](err); ok {
		d.threw(path, "%s: %s", what, t)
		return
	}
	d.unread(path, err)
}

// kafkaWalk goes through a log once, in the order of positions that are asked for.
type kafkaWalk struct {
	chain *kafkaChain
	last  int64 // the largest last offset of the batches before chain.pos, -1 none
	times int64 // their largest timestamp, -1 none
	err   error // why it ended

	peeked bool // next is the batch at chain.pos
	next   kafkaBatch
	nextAt int64 // its last offset

	far int64 // an offset that the log is known to reach
}

// peek looks at the next batch without going behind it.
func (w *kafkaWalk) peek() bool {
	if w.peeked {
		return true
	}
	if w.err != nil {
		return false
	}
	at := w.chain.pos
	if w.err = w.chain.next(&w.next, false); w.err == nil {
		w.nextAt, w.err = w.next.lastOffset()
	}
	w.chain.pos = at
	w.peeked = w.err == nil
	return w.peeked
}

func (w *kafkaWalk) step() {
	w.last, w.times = max(w.last, w.nextAt), max(w.times, w.next.maxTimestamp())
	w.chain.pos, w.peeked = w.next.pos+w.next.total, false
}

// to goes on to a position and reports whether a batch begins there.
func (w *kafkaWalk) to(position int64) bool {
	for w.chain.pos < position && w.peek() {
		w.step()
	}
	return w.chain.pos == position && w.peek()
}

// reaches reports whether the log has a batch with this last offset or a later one.
func (w *kafkaWalk) reaches(offset int64) bool {
	if offset <= max(w.last, w.far) {
		return true
	}
	ahead := newKafkaChain(w.chain.r, w.chain.size)
	ahead.pos = w.chain.pos
	var b kafkaBatch
	for ahead.next(&b, false) == nil {
		last, err := b.lastOffset()
		if err != nil {
			break
		}
		if w.far = max(w.far, last); last >= offset {
			return true
		}
	}
	if w.far < offset {
		w.far = max(w.far, 0)
	}
	return false
}

// indexEntries hands out the entries of an index file of size bytes, those of zeros included:
// Kafka's tool knows no unused rest.
func indexEntries(r io.ReaderAt, size, width int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, min(size/width, 8192)*width)
		for at := int64(0); at+width <= size; {
			b := buf[:min(int64(len(buf)), (size-at)/width*width)]
			if n, err := r.ReadAt(b, at); n < len(b) {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				yield(nil, &segment.ReadError{Op: "read", Pos: at, Len: int64(len(b)), Err: err})
				return
			}
			at += int64(len(b))
			for ; len(b) > 0; b = b[width:] {
				if !yield(b[:width], nil) {
					return
				}
			}
		}
	}
}

func offsetEntries(r io.ReaderAt, size, base int64) iter.Seq2[segment.OffsetEntry, error] {
	return func(yield func(segment.OffsetEntry, error) bool) {
		number := int64(0)
		for b, err := range indexEntries(r, size, segment.IndexEntrySize) {
			e := segment.OffsetEntry{Number: number}
			if err == nil {
				e.Relative, e.RawPosition = int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:]))
				e.Offset, e.Position = base+int64(e.Relative), int64(e.RawPosition)
			}
			if number++; !yield(e, err) {
				return
			}
		}
	}
}

func timeEntries(r io.ReaderAt, size, base int64) iter.Seq2[segment.TimeEntry, error] {
	return func(yield func(segment.TimeEntry, error) bool) {
		number := int64(0)
		for b, err := range indexEntries(r, size, segment.TimeEntrySize) {
			e := segment.TimeEntry{Number: number}
			if err == nil {
				e.Timestamp, e.Relative = int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))
				e.Offset = base + int64(e.Relative)
			}
			if number++; !yield(e, err) {
				return
			}
		}
	}
}
