package replica

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/segment"
)

// maxSpan is more than an append can write between two entries of a .index, the
// largest batch apart: a follower appends what one fetch brought, 10 MiB at most by
// default (replica.fetch.response.max.bytes).
const maxSpan = 16 << 20

// spot is a batch or message as far as the indexes are concerned.
type spot struct {
	pos, end   int64 // bytes in the .log
	base, last int64 // offsets, inclusive, as written
	maxTime    int64 // ms, -1 none
}

// indexWatch compares .index and .timeindex of each segment with its batches.
//
// The rules are those that every writer since 0.9 keeps and that lookups need
// (LogSegment.translateOffset, findOffsetByTimestamp). .index: positions ascend and
// each begins a batch; every batch before it ends below the entry's offset; and that
// offset is no higher than what was written by the time of the next entry, since it
// is at most the last offset of the append that the position begins. .timeindex:
// every record with a later timestamp lies behind the entry's offset, and some batch
// at or before that offset has the timestamp.
//
// It looks behind a batch that does not follow on before it takes it into account: no
// CRC covers a base offset, and one that is wrong must not make the sound entries around
// it look wrong.
type indexWatch struct {
	log     *Log
	index   indexCursor
	times   indexCursor
	base    int64 // base offset of the segment
	seg     int
	closed  bool // sealed or stopped cleanly: the files are finished
	batches int64

	pending  spot
	have     bool
	lastPos  int64 // of the batch before pending
	prevEnd  int64 // end of it in the .log
	prevLast int64 // highest offset so far in the segment
	maxTime  int64 // largest timestamp so far in the segment
	hole     bool  // bytes that were no readable batch
	timeless bool  // messages of format 0: brokers indexed the timestamps that these lost
	muddled  int   // 1: the last batch stepped back; 2: two in a row did, offsets are not compared

	prevEntry int64 // position of the .index entry before
	biggest   int64 // largest batch since
}

func newIndexWatch(l *Log) *indexWatch {
	w := &indexWatch{log: l}
	w.index = indexCursor{width: segment.IndexEntrySize, strict: true, scan: scanOffsets(&w.base)}
	w.times = indexCursor{width: segment.TimeEntrySize, scan: scanTimes(&w.base)}
	return w
}

// closedSegment reports whether a broker finished the index files of a segment: on
// a roll or a clean stop it trims them and adds the last time entry. The state of
// what was set aside is not known.
func (l *Log) closedSegment(seg int) bool {
	switch l.State {
	case Live, Future, Stray, Delete:
		return seg < len(l.Segments)-1 || l.Partition.LogDir != nil && l.Partition.LogDir.CleanShutdown
	}
	return false
}

func (w *indexWatch) begin(seg int) error {
	s := w.log.Segments[seg]
	w.seg, w.base, w.closed = seg, s.BaseOffset, w.log.closedSegment(seg)
	w.batches, w.have, w.hole, w.timeless, w.muddled = 0, false, false, false, 0
	w.lastPos, w.prevEnd, w.prevLast, w.maxTime = -1, 0, s.BaseOffset-1, -1
	w.prevEntry, w.biggest = 0, 0
	if err := w.index.open(s.Index, segment.ShapeOfIndex); err != nil {
		return err
	}
	if err := w.times.open(s.TimeIndex, segment.ShapeOfTimeIndex); err != nil {
		return err
	}
	if err := w.nextIndex(); err != nil {
		return err
	}
	return w.nextTime()
}

func (w *indexWatch) batch(position int64, h *batch.Header, _ []byte) error {
	last := addOffset(h.BaseOffset, int64(h.LastOffsetDelta))
	if !w.have && h.BaseOffset == w.prevLast+1 && last > w.prevLast {
		return w.take(position, position+h.Size(), h.BaseOffset, last, h.MaxTimestamp, false)
	}
	return w.hold(spot{position, position + h.Size(), h.BaseOffset, last, h.MaxTimestamp})
}

func (w *indexWatch) message(position, size int64, h *batch.LegacyHeader) error {
	w.timeless = w.timeless || h.Magic == 0
	base := h.Offset
	if h.Codec() != batch.None && base > w.prevLast && !w.have {
		base = w.prevLast + 1 // the first offset is inside
	}
	return w.hold(spot{position, position + size, base, h.Offset, h.Timestamp})
}

// hold settles the batch before, and takes the next one at once where it follows on: only
// one that does not needs a look at its successor.
func (w *indexWatch) hold(s spot) error {
	if w.have {
		w.have = false
		if err := w.settle(s.base); err != nil {
			return err
		}
	}
	if s.base == w.prevLast+1 && s.last > w.prevLast {
		return w.take(s.pos, s.end, s.base, s.last, s.maxTime, false)
	}
	w.pending, w.have = s, true
	return nil
}

// settle takes the batch held back into account now that the one behind it is known: next
// is its first offset as written.
func (w *indexWatch) settle(next int64) error {
	b := w.pending
	bent := w.straighten(&b, next)
	return w.take(b.pos, b.end, b.base, b.last, b.maxTime, bent)
}

// take takes a batch into account. bent says that its offsets are not those written.
func (w *indexWatch) take(pos, end, base, last, maxTime int64, bent bool) error {
	w.batches++
	if pos != w.prevEnd {
		w.hole = true
	}
	if !bent && w.muddled == 1 {
		w.muddled = 0
	}
	if w.index.at <= pos && (bent || !w.plainOffset(pos)) {
		if err := w.atPosition(pos, bent); err != nil {
			return err
		}
	}
	if size := end - pos; size > w.biggest {
		w.biggest = size
	}
	if w.times.at <= last && (bent || !w.plainTime(last, maxTime)) {
		if err := w.atOffset(base, last, maxTime, bent); err != nil {
			return err
		}
	}
	w.lastPos, w.prevEnd = pos, end
	if last > w.prevLast {
		w.prevLast = last
	}
	if maxTime > w.maxTime {
		w.maxTime = maxTime
	}
	return nil
}

// plainOffset takes the current entry of the .index where nothing speaks against it or its
// neighbours, as nearly always, and reports whether it did. atPosition would come to the same.
func (w *indexWatch) plainOffset(pos int64) bool {
	c := &w.index
	if w.muddled != 0 || c.cur.key != pos || c.cur.val <= w.prevLast || c.anyGood && (c.good.val > w.prevLast || c.cur.val <= c.good.val) || !c.plain() {
		return false
	}
	w.span(pos)
	c.step()
	return true
}

// plainTime is plainOffset for the .timeindex and atOffset.
func (w *indexWatch) plainTime(last, maxTime int64) bool {
	c := &w.times
	if w.muddled != 0 || c.cur.key != last || last <= w.prevLast || c.cur.val != max(w.maxTime, maxTime) || c.anyGood && c.cur.val <= c.good.val || !c.plain() {
		return false
	}
	c.step()
	return true
}

// straighten corrects the offsets of a batch that cannot be right between its
// neighbours. Where two in a row step back it is the log that goes backwards, which
// others tell of, and no offset of this segment proves anything about its indexes.
func (w *indexWatch) straighten(b *spot, next int64) bool {
	switch {
	case b.base <= w.prevLast || b.last < b.base:
		if w.muddled == 1 {
			w.muddled = 2
		}
		w.muddled = max(w.muddled, 1)
	case b.base > w.prevLast+1 && b.last >= next && next > w.prevLast: // too high, and the next one is not
	default:
		return false
	}
	// Where the next batch leaves no room, this one repeats offsets: it gets none.
	span := max(b.last-b.base, 0)
	b.base = w.prevLast + 1
	b.last = max(min(b.base+span, next-1), w.prevLast)
	return true
}

// atPosition judges the entries of the .index up to the position of a batch.
func (w *indexWatch) atPosition(pos int64, bent bool) error {
	c := &w.index
	for c.ok && c.cur.key <= pos {
		e := c.cur
		if e.key < pos {
			inside := e.key < 0 || e.key > w.lastPos && e.key < w.prevEnd
			if err := w.verdict(c, e, !inside, IndexPointsNowhere, "a position where a batch begins"); err != nil {
				return err
			}
			continue
		}
		kind, want := w.wrongOffset(&e)
		if err := w.verdict(c, e, bent, kind, want); err != nil {
			return err
		}
	}
	return nil
}

// wrongOffset compares an entry that points at a batch with what lies before it, and
// the entry before with what lies between the two.
func (w *indexWatch) wrongOffset(e *indexEntry) (AnomalyKind, string) {
	if w.muddled == 2 {
		return "", ""
	}
	c := &w.index
	if c.anyGood && c.good.val > w.prevLast && !w.hole {
		w.bad(c, c.good, IndexWrongOffset, fmt.Sprintf("at most offset %d, which ends before the next entry", w.prevLast))
		c.good.val = w.prevLast // judged: it must not drag its successor along
	}
	switch {
	case e.val > w.prevLast:
		return "", ""
	case c.anyGood && e.val <= c.good.val:
		return IndexOutOfOrder, fmt.Sprintf("above offset %d of the entry before", c.good.val)
	}
	return IndexWrongOffset, fmt.Sprintf("above offset %d, which lies before that position", w.prevLast)
}

// atOffset judges the entries of the .timeindex up to the last offset of a batch.
func (w *indexWatch) atOffset(base, last, maxTime int64, bent bool) error {
	c := &w.times
	for c.ok && c.cur.key <= last {
		e := c.cur
		below, upTo := w.maxTime, w.maxTime // of batches wholly at or below the offset; and of the one around it too
		if base <= e.key {
			upTo = max(upTo, maxTime)
		}
		if last == e.key {
			below = upTo
		}
		if err := w.judgeTime(e, below, upTo, bent || e.key <= w.prevLast); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWatch) judgeTime(e indexEntry, below, upTo int64, passed bool) error {
	c := &w.times
	kind, want := AnomalyKind(""), ""
	switch {
	case w.muddled == 2:
	case c.anyGood && e.val <= c.good.val:
		kind, want = TimeIndexOutOfOrder, fmt.Sprintf("above %d, the timestamp of the entry before", c.good.val)
	case below > e.val || upTo < e.val && !w.hole && !w.timeless:
		kind, want = TimeIndexWrong, fmt.Sprintf("timestamp %d, the largest up to offset %d", upTo, e.key)
	}
	return w.verdict(c, e, passed, kind, want)
}

// verdict ends the current entry: wrong (kind is set), right, or not known.
func (w *indexWatch) verdict(c *indexCursor, e indexEntry, unknown bool, kind AnomalyKind, want string) error {
	enough := false
	switch {
	case unknown:
	case kind == "":
		if c.isHeld {
			c.isHeld = false
			enough = !w.outOfOrder(c, c.held, e)
		}
		if c == &w.index {
			w.span(e.key)
		}
		c.good, c.anyGood = e, true
	case c.isHeld:
		enough = !w.outOfOrder(c, e, c.held)
	default:
		enough = !w.bad(c, e, kind, want)
	}
	if enough {
		c.stop()
		return nil
	}
	if c == &w.index {
		return w.nextIndex()
	}
	return w.nextTime()
}

func (w *indexWatch) nextIndex() error {
	return w.index.advance(func(e indexEntry) bool { return w.outOfOrder(&w.index, e, w.index.good) })
}

func (w *indexWatch) nextTime() error {
	return w.times.advance(func(e indexEntry) bool { return w.outOfOrder(&w.times, e, w.times.good) })
}

func (w *indexWatch) outOfOrder(c *indexCursor, e, other indexEntry) bool {
	if c == &w.index {
		return w.bad(c, e, IndexOutOfOrder, fmt.Sprintf("positions in order (entry %d has %d)", other.number, other.key))
	}
	return w.bad(c, e, TimeIndexOutOfOrder, fmt.Sprintf("offsets in order (entry %d has %d)", other.number, other.key))
}

// bad tells of a wrong entry, or counts it where stale ones are normal. It returns
// false when no more of the file should be compared.
func (w *indexWatch) bad(c *indexCursor, e indexEntry, kind AnomalyKind, want string) bool {
	c.bad++
	if !w.closed {
		if c.bad == 1 || e.number < c.stale.number {
			c.stale = e
		}
		return c.bad < maxBad
	}
	offset, got := e.val, fmt.Sprintf("offset %d at position %d", e.val, e.key)
	if c == &w.times {
		offset, got = e.key, fmt.Sprintf("timestamp %d for offset %d", e.val, e.key)
	}
	w.log.Anomalies.add(Anomaly{Kind: kind, Segment: w.seg, File: c.file, Position: e.number * c.width, Length: c.width, From: offset, To: addOffset(offset, 1), Epoch: -1,
		Want: want, Got: got, Detail: fmt.Sprintf("entry %d", e.number)})
	if c.bad == maxBad {
		w.log.notCompared(w.seg, c.file, e.number*c.width, fmt.Sprintf("after %d wrong entries", maxBad))
	}
	return c.bad < maxBad
}

func (l *Log) notCompared(seg int, file *logdir.File, position int64, why string) {
	l.Anomalies.add(Anomaly{Kind: NotCompared, Segment: seg, File: file, Position: position, Length: max(file.Size-position, 0), From: -1, To: -1, Epoch: -1, Detail: why})
}

// span ends a stretch of the .log without an entry at a position.
func (w *indexWatch) span(to int64) {
	length := to - w.prevEntry
	if length-w.biggest > maxSpan && w.closed && !w.hole && w.index.bad == 0 && w.index.file != nil && w.index.shape.Entries > 0 {
		w.log.Anomalies.add(Anomaly{Kind: IndexSpanMissing, Segment: w.seg, File: w.index.file, Position: w.index.cur.number * w.index.width, Length: 0, From: -1, To: -1, Epoch: -1,
			Want: fmt.Sprintf("an entry at least every %s bytes and one append", humanize.Comma(int64(maxSpan))), Got: fmt.Sprintf("none for position %d to %d of the .log", w.prevEntry, to)})
	}
	w.prevEntry, w.biggest = to, 0
}

func (w *indexWatch) end(int) error {
	if w.have {
		next := int64(math.MaxInt64)
		if w.seg+1 < len(w.log.Segments) {
			next = w.log.Segments[w.seg+1].BaseOffset
		}
		if err := w.settle(next); err != nil {
			return err
		}
	}
	s := w.log.Segments[w.seg]
	tail := w.prevEnd < s.Log.Size // something that is no readable batch
	if err := w.beyondPositions(s.Log.Size); err != nil {
		return err
	}
	if err := w.beyondOffsets(tail); err != nil {
		return err
	}
	if c := &w.index; c.anyGood && c.good.val > w.prevLast && !w.hole && !tail && w.muddled < 2 {
		w.bad(c, c.good, IndexWrongOffset, fmt.Sprintf("at most offset %d, the last of the segment", w.prevLast))
	}
	w.span(w.prevEnd)
	w.finalTime(tail)
	w.shape(s)
	w.tellStale(&w.index)
	w.tellStale(&w.times)
	return nil
}

// beyondPositions judges the entries of the .index at or behind the end of the last
// batch. What is torn or damaged there may have been the batch that one points at.
func (w *indexWatch) beyondPositions(size int64) error {
	c := &w.index
	for c.ok {
		e := c.cur
		inside := e.key < 0 || e.key > w.lastPos && e.key < w.prevEnd
		if err := w.verdict(c, e, e.key < size && !inside, IndexPointsNowhere, fmt.Sprintf("a position below %d, the size of the .log", size)); err != nil {
			return err
		}
	}
	return nil
}

func (w *indexWatch) beyondOffsets(tail bool) error {
	c := &w.times
	for c.ok {
		e := c.cur
		unknown := tail || w.hole || w.muddled == 2 || e.key <= w.prevLast
		if err := w.verdict(c, e, unknown, TimeIndexWrong, fmt.Sprintf("at most offset %d, the last of the segment", w.prevLast)); err != nil {
			return err
		}
	}
	return nil
}

// finalTime compares the last time entry of a closed segment: the largest timestamp
// of the segment, by which retention goes.
func (w *indexWatch) finalTime(tail bool) {
	c := &w.times
	if !w.closed || w.hole || tail || w.muddled == 2 || c.bad > 0 || !c.anyGood || c.shape.ZeroEntries > 0 || c.good.val >= w.maxTime {
		return
	}
	w.bad(c, c.good, TimeIndexWrong, fmt.Sprintf("timestamp %d, the largest of the segment, in the last entry", w.maxTime))
}

// shape tells what the sizes say.
func (w *indexWatch) shape(s *logdir.Segment) {
	empty := ""
	if s.Log.Size == 0 {
		empty = "the segment is empty: brokers make the file when they first need it"
	}
	active := w.seg == len(w.log.Segments)-1 && w.log.State != Deleted && w.log.State != Replaced
	for _, c := range []*indexCursor{&w.index, &w.times} {
		missing, full := IndexMissing, IndexFullOfZeros
		needed := w.batches > 1 // the first append makes no entry
		if c == &w.times {
			missing, full = TimeIndexMissing, TimeIndexFullOfZeros
			needed = w.maxTime >= 0
		}
		a := Anomaly{Segment: w.seg, File: c.file, From: -1, To: -1, Epoch: -1}
		if c.file == nil {
			a.Kind, a.Detail = missing, empty
			w.log.Anomalies.add(a)
			continue
		}
		if c.shape.Remainder > 0 {
			x := a
			x.Kind, x.Position, x.Length = IndexMisaligned, c.file.Size-c.shape.Remainder, c.shape.Remainder
			x.Want, x.Got = fmt.Sprintf("a multiple of %d bytes", c.width), humanize.Comma(c.file.Size)+" bytes"
			w.log.Anomalies.add(x)
		}
		a.Position, a.Length = c.shape.Entries*c.width, c.shape.ZeroEntries*c.width
		switch {
		case c == &w.index && c.file.Size == 0 && s.Log.Size == 0 && active && w.seg > 0:
			a.Kind = ZeroCapacityIndex
		case c.file.Size == 0 && c == &w.times && needed && w.closed:
			a.Kind = TimeIndexEmpty
		case c.shape.ZeroEntries == 0:
			continue
		case c.shape.Entries == 0 && needed && w.closed && w.prevEnd > segment.DefaultIndexInterval:
			// Up to so many bytes this is what the files of a segment that is written look like.
			a.Kind, a.Detail = full, fmt.Sprintf("%s bytes, beside a .log of %s bytes", humanize.Comma(c.file.Size), humanize.Comma(s.Log.Size))
		default:
			a.Kind = IndexNotTrimmed
		}
		w.log.Anomalies.add(a)
	}
}

func (w *indexWatch) tellStale(c *indexCursor) {
	if c.bad == 0 || w.closed {
		return
	}
	count := humanize.Comma(int64(c.bad))
	if c.bad >= maxBad {
		count += " or more"
	}
	w.log.Anomalies.add(Anomaly{Kind: IndexStale, Segment: w.seg, File: c.file, Position: c.stale.number * c.width, Length: (c.shape.Entries - c.stale.number) * c.width, From: -1, To: -1, Epoch: -1,
		Got: fmt.Sprintf("entry %d: %d, %d", c.stale.number, c.stale.key, c.stale.val), Detail: count + " entries that the batches contradict or that lie behind the log end"})
}
