package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"kafsck/batch"
	"kafsck/segment"
)

// kafkaTimes is the state of a .timeindex.
type kafkaTimes struct {
	*kafkaIndex
	lookup       kafkaLookup
	decompressor *batch.Decompressor
	previous     int64       // timestamp of the entry before, -1 none
	cursor       kafkaCursor // where the entry before was found
	broken       *kafkaThrew // Kafka cannot read the log to its end
	told         bool

	order, missing kafkaPairs
}

// timeIndex prints a .timeindex.
func (d *kafkaDump) timeIndex(ctx context.Context, path, name string) {
	x := d.openIndex(path, name)
	if x == nil {
		return
	}
	defer x.close()
	t := &kafkaTimes{kafkaIndex: x, previous: -1, decompressor: batch.NewDecompressor(batch.DefaultLimit)}
	if x.log != nil {
		first, _, _ := strings.Cut(name, ".")
		beside := filepath.Join(filepath.Dir(path), first+".index")
		f, size, err := d.open(beside)
		if err != nil {
			d.threw(path, "the offset index beside it is needed: %s: %s", beside, segment.PlainCause(err))
			x.log.Close()
			x.log = nil
		} else {
			defer f.Close()
			t.lookup = kafkaLookup{r: f, entries: size / segment.IndexEntrySize, base: x.base}
		}
	}
	if d.k.sanityOnly {
		t.sane()
		return
	}
	t.entries(ctx)
	d.timeMismatches.add(absolute(path), &t.pairs, mismatchIsFalse)
	d.timeOrder.add(absolute(path), &t.order, mismatchIsFalse)
	d.notFound.add(absolute(path), &t.missing, mismatchIsFalse)
}

// sane does the check of a broker's start (TimeIndex.sanityCheck).
func (t *kafkaTimes) sane() {
	var first, last segment.TimeEntry
	if t.size >= segment.TimeEntrySize {
		for _, at := range []struct {
			r  io.ReaderAt
			to *segment.TimeEntry
		}{{t.f, &first}, {tail(t.f, t.size, segment.TimeEntrySize), &last}} {
			for e, err := range timeEntries(at.r, segment.TimeEntrySize, t.base) {
				if err != nil {
					t.d.unread(t.path, err)
					return
				}
				*at.to = e
			}
		}
		if last.Timestamp < first.Timestamp {
			t.d.threw(t.path, "the last timestamp %d is below the first %d", last.Timestamp, first.Timestamp)
			if last.Timestamp == 0 && last.Relative == 0 {
				t.d.say("%s: a false report: the file was made to its full size at once, its unused rest is zeros", t.path)
			}
			return
		}
		if last.Offset < t.base {
			t.d.threw(t.path, "the last offset %d is below the base offset %d", last.Offset, t.base)
			return
		}
	}
	t.d.out.Line(t.path, " passed sanity check.")
}

// tail reads the last entry of width bytes.
func tail(r io.ReaderAt, size, width int64) io.ReaderAt {
	return io.NewSectionReader(r, (size/width-1)*width, width)
}

func (t *kafkaTimes) entries(ctx context.Context) {
	for e, err := range timeEntries(t.f, t.size, t.base) {
		if err != nil {
			t.d.unread(t.path, err)
			return
		}
		if e.Number&255 == 0 && t.d.stopped(ctx) || e.Relative == 0 && e.Number > 0 {
			return
		}
		if t.log != nil {
			if e.Number == 0 {
				t.readable()
			}
			if err := t.checkTime(&e); err != nil {
				t.d.threwOrUnread(t.path, "entry with offset "+strconv.FormatInt(e.Offset, 10), err)
			}
		}
		if !t.d.k.verifyOnly {
			t.d.out.Line("timestamp: ", strconv.FormatInt(e.Timestamp, 10), " offset: ", strconv.FormatInt(e.Offset, 10))
		}
		t.previous = e.Timestamp
	}
}

// readable finds out whether Kafka reads the log to its end, which it does for every entry.
func (t *kafkaTimes) readable() {
	c := newKafkaChain(t.log, t.logSize)
	var b kafkaBatch
	var err error
	for err == nil {
		err = c.next(&b, false)
	}
	if threw, ok := errors.AsType[*kafkaThrew](err); ok {
		t.broken = threw
	}
}

// kafkaCursor is a batch that was found, and how far the log is known to be in order.
type kafkaCursor struct {
	pos     int64
	wanted  int64
	ordered bool
}

// checkTime holds an entry against the batch that it names.
func (t *kafkaTimes) checkTime(e *segment.TimeEntry) error {
	position, err := t.lookup.position(e.Offset)
	if err != nil {
		return err
	}
	if position < 0 || position > t.logSize {
		return &kafkaThrew{position, "the log has " + strconv.FormatInt(t.logSize, 10) + " bytes"}
	}
	if t.broken != nil && position <= t.broken.pos && !t.told {
		t.told = true
		t.d.threw(t.path, "log: %s", t.broken)
	}
	found, last, err := t.find(position, e.Offset)
	switch {
	case err != nil:
		return err
	case found == nil:
		t.missing.add(e.Offset, -1, t.judge(e, false))
		return nil
	case last != e.Offset:
		t.missing.add(e.Offset, last, t.judge(e, false))
		return nil
	}
	largest, err := t.largest(found)
	if err != nil {
		return err
	}
	if largest != e.Timestamp {
		t.pairs.add(e.Timestamp, largest, t.judge(e, true))
	}
	if t.previous >= e.Timestamp {
		t.order.add(e.Timestamp, t.previous, entryReal)
	}
	return nil
}

// find returns the first batch from position on that reaches offset, nil if none does.
func (t *kafkaTimes) find(position, offset int64) (*kafkaBatch, int64, error) {
	c := t.chain
	c.pos, c.end = position, t.logSize
	// Mostly entries and batches go up: then the search may begin where the last one ended.
	if t.cursor.ordered && t.cursor.pos > position && offset >= t.cursor.wanted {
		c.pos = t.cursor.pos
	}
	var b kafkaBatch
	before := int64(-1)
	ordered := true
	for {
		err := c.next(&b, false)
		if err == errKafkaEnd {
			return nil, 0, nil
		}
		if _, threw := errors.AsType[*kafkaThrew](err); threw {
			return nil, 0, nil // told before
		}
		if err != nil {
			return nil, 0, err
		}
		last, err := b.lastOffset()
		if err != nil {
			return nil, 0, err
		}
		ordered = ordered && last > before
		before = last
		if last >= offset {
			t.cursor = kafkaCursor{b.pos, offset, ordered}
			return &b, last, nil
		}
	}
}

// largest is the largest timestamp of the records in a batch.
func (t *kafkaTimes) largest(b *kafkaBatch) (int64, error) {
	c := t.chain
	c.pos = b.pos
	largest := int64(-1)
	if err := c.next(b, true); err != nil {
		return 0, err
	}
	if b.raw == nil {
		return 0, &segment.ReadError{Op: "read", Pos: b.pos, Err: batch.ErrTooLarge}
	}
	threw := func(err error) error { return &kafkaThrew{b.pos, err.Error()} }
	if b.magic < 2 {
		for r, err := range batch.LegacyRecords(b.raw, t.decompressor) {
			if errors.Is(err, batch.ErrTorn) {
				break
			}
			if err != nil {
				return 0, threw(err)
			}
			largest = max(largest, r.Timestamp)
		}
		return largest, nil
	}
	h, _ := batch.ParseHeader(b.head)
	v := batch.View{Header: h, Raw: b.raw}
	if b.total < batch.HeaderSize {
		return 0, threw(errors.New("it is shorter than its header"))
	}
	if h.RecordCount == 0 {
		return largest, nil
	}
	for r, err := range v.Records(t.decompressor) {
		if err != nil {
			return 0, threw(err)
		}
		largest = max(largest, r.Timestamp)
	}
	return largest, nil
}

// judge says whether a lookup by an entry is right, though Kafka's tool reports it: no record up
// to its offset has a later time. The log is walked once for all entries.
func (t *kafkaTimes) judge(e *segment.TimeEntry, found bool) byte {
	if e.Number == 0 && e.Relative == 0 && e.Timestamp == 0 {
		return entryUnused
	}
	w := &t.walk
	if e.Offset <= w.last {
		return entryReal // entries that go back
	}
	for w.peek() && w.nextAt < e.Offset {
		w.step()
	}
	if !w.peek() || e.Timestamp < w.times {
		return entryReal
	}
	here := w.next.maxTimestamp()
	switch {
	case found && e.Timestamp == max(w.times, here):
		return entryEarlier
	case found:
	case w.next.magic < 2 || w.next.offset <= e.Offset:
		if e.Timestamp <= here {
			return entryInside
		}
	default:
		return entryCleaned
	}
	return entryReal
}

// kafkaLookup finds the position for an offset in an .index by the search that Kafka does, which
// goes astray in one with zeros at its end as Kafka does (AbstractIndex.indexSlotRangeFor).
type kafkaLookup struct {
	r       io.ReaderAt
	entries int64
	base    int64
	block   [4096]byte
	at, n   int64
}

// warmEntries are those at the end that Kafka looks at first.
const warmEntries = 8192 / segment.IndexEntrySize

func (l *kafkaLookup) entry(i int64) (offset, position int64, err error) {
	at := i * segment.IndexEntrySize
	if at < l.at || at+segment.IndexEntrySize > l.at+l.n {
		l.at = at &^ 4095
		l.n = min(int64(len(l.block)), l.entries*segment.IndexEntrySize-l.at)
		if n, err := l.r.ReadAt(l.block[:l.n], l.at); int64(n) < l.n {
			l.n = 0
			return 0, 0, &segment.ReadError{Op: "read", Pos: l.at, Err: err}
		}
	}
	b := l.block[at-l.at:]
	word := func(b []byte) int64 {
		return int64(int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
	}
	return l.base + word(b), word(b[4:]), nil
}

func (l *kafkaLookup) position(offset int64) (int64, error) {
	if l.entries == 0 {
		return 0, nil
	}
	hot := max(0, l.entries-1-warmEntries)
	o, _, err := l.entry(hot)
	if err != nil {
		return 0, err
	}
	lo, hi := hot, l.entries-1
	if o >= offset {
		first, _, err := l.entry(0)
		if err != nil || first > offset {
			return 0, err
		}
		lo, hi = 0, hot
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		o, p, err := l.entry(mid)
		switch {
		case err != nil:
			return 0, err
		case o > offset:
			hi = mid - 1
		case o < offset:
			lo = mid
		default:
			return p, nil
		}
	}
	_, p, err := l.entry(lo)
	return p, err
}
