package export

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"kafsck/batch"
	"kafsck/replica"
	"kafsck/segment"
)

// Source is a part of a log that is to be given out.
type Source struct {
	Log      *replica.Log
	At       Place // File and Position are filled in
	From, To int64 // offsets [From, To)
	// Hanging tells hanging transactions from open ones; nil: all are open.
	Hanging func(producer, first int64) bool
	// Compacted: offsets are missing as a cleaner leaves them, which keeps the markers of the
	// records that are left.
	Compacted bool
	// Skipped is told of what cannot be given out; nil: nobody is.
	Skipped func(Skipped)
	// Missing is told of offsets [from, to) that no batch has; nil: nobody is.
	Missing func(from, to int64)
	// Overlaps gives out the records of whole batches that stand where the offsets are those of
	// batches before them, too: see Record.Overlaps. Without it they are Skipped.
	Overlaps bool
	// Lost is set on every record; nil: none.
	Lost *Lost
}

// Records yields the records of a source in the order of the log. The error, if any, comes
// last: a failed read (a *segment.ReadError) or ctx's error. A Record is borrowed until
// the next step.
//
// Batches whose CRC does not verify, and without Overlaps what stands where another batch's
// offsets are, are Skipped as a whole; where records cannot be decoded, those before them are given out. A
// wrong base offset or leader epoch, which no CRC covers, is corrected, and the record says
// so.
func (s *Source) Records(ctx context.Context) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		w := walk{Source: s, states: newStates(ctx, s), d: batch.NewDecompressor(batch.DefaultLimit), yield: yield}
		n, next := 0, max(s.From, s.Log.LogStartOffset)
		for b, err := range s.Log.Blocks(s.From, s.To) {
			if n++; err == nil && n%256 == 0 {
				err = ctx.Err()
			}
			if err == nil {
				w.between(&b)
				w.missing(next, min(b.Base, s.To))
				next = max(next, b.Next())
				err = w.block(&b)
			}
			if w.done {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		w.missing(next, min(s.To, s.Log.LogEndOffset))
	}
}

// Everything is the source of all records of the log.
func (s *Source) Everything() *Source {
	all := *s
	all.From, all.To = math.MinInt64, math.MaxInt64
	return &all
}

type walk struct {
	*Source
	states *states
	d      *batch.Decompressor
	yield  func(*Record, error) bool
	done   bool // whoever asked has enough
	buf    []byte
	rec    Record
	frame  segment.Frame
	lost   Lost

	met      bool  // a block came already
	seg      int   // its segment
	position int64 // behind it
}

// between tells of bytes in front of a block that no block has: no offset is missing there.
func (w *walk) between(b *replica.Block) {
	seg, position := w.seg, w.position
	met := w.met
	w.met, w.seg, w.position = true, b.Segment, b.Position+b.Length
	if !met {
		return
	}
	for ; seg < b.Segment; seg, position = seg+1, 0 {
		w.stray(seg, position, w.Log.Segments[seg].Log.Size, b.Base)
	}
	w.stray(seg, position, b.Position, b.Base)
}

func (w *walk) stray(seg int, from, to, before int64) {
	if w.Skipped == nil || from >= to {
		return
	}
	x := Skipped{Place: w.At, Length: to - from, From: before, To: before,
		Reason: "bytes that are no batch, and no offset is missing there: a batch beside them may be the content of a record, not a part of the log"}
	x.File, x.Position = w.Log.Segments[seg].Log.Path, from
	w.Skipped(x)
}

func (w *walk) missing(from, to int64) {
	if w.Missing != nil && from < to {
		w.Missing(from, to)
	}
}

// skip tells of records of a block from an offset on.
func (w *walk) skip(b *replica.Block, from int64, limit bool, reason string) {
	w.skipTo(b, from, b.Next(), limit, reason)
}

// skipTo tells of records of a block with offsets [from, to).
func (w *walk) skipTo(b *replica.Block, from, to int64, limit bool, reason string) {
	if w.Skipped == nil {
		return
	}
	x := Skipped{Place: w.At, Length: b.Length, From: from, To: to, Reason: reason, Limit: limit}
	x.File, x.Position = w.Log.Segments[b.Segment].Log.Path, b.Position
	w.Skipped(x)
}

// block gives out one block. An error is a failed read.
func (w *walk) block(b *replica.Block) error {
	switch {
	case b.Flaws&replica.Unreadable != 0:
		w.skip(b, b.Base, false, "bytes that are no batch")
	case b.Flaws&replica.BadCRC != 0 && b.Magic > 2:
		w.skip(b, b.Base, false, fmt.Sprintf("magic byte %d, and Kafka never wrote one above 2", b.Magic))
	case b.Flaws&replica.BadCRC != 0:
		w.skip(b, b.Base, false, "the CRC does not verify")
	case b.Flaws&replica.Misplaced != 0 && !w.Overlaps:
		w.skip(b, b.Base, false, "its offsets are those of batches before it")
	case b.Length > segment.MaxRaw:
		w.skip(b, b.Base, true, fmt.Sprintf("a batch of %d bytes, at most %d are held in memory", b.Length, int64(segment.MaxRaw)))
	default:
		raw, err := w.Log.ReadRaw(b.Segment, b.Position, b.Length, w.buf)
		if err != nil {
			return err
		}
		w.buf = raw
		if cap(w.buf) > keepBuffer {
			w.buf = nil // a giant need not stay
		}
		return w.records(b, raw)
	}
	return nil
}

// keepBuffer is the size in bytes up to which a buffer is kept for the next batch.
const keepBuffer = 4 << 20

func (w *walk) records(b *replica.Block, raw []byte) error {
	r := &w.rec
	*r = Record{Place: w.At, Magic: b.Magic, Codec: b.Codec, LeaderEpoch: b.Epoch, ProducerID: -1, ProducerEpoch: -1, Sequence: -1, State: None, Coordinator: -1,
		Misread: b.Flaws&(replica.SuspectBase|replica.SuspectEpoch) != 0, WrittenEpoch: b.WrittenEpoch, Overlaps: b.Flaws&replica.Misplaced != 0}
	r.File, r.Position = w.Log.Segments[b.Segment].Log.Path, b.Position
	w.frame = segment.Frame{Kind: segment.Batch, Pos: b.Position, Len: b.Length, Claimed: b.Length, Raw: raw}
	r.Origin.Frame = &w.frame
	if b.Legacy {
		return w.messages(b, raw)
	}
	v, err := batch.ParseView(raw)
	if err != nil {
		w.skip(b, b.Base, false, err.Error())
		return nil
	}
	w.frame.Batch = v
	a := v.Attributes
	r.TimestampType, r.Transactional, r.Control = a.TimestampType(), a.Transactional(), a.Control()
	r.ProducerID, r.ProducerEpoch = v.ProducerID, v.ProducerEpoch
	if r.Transactional && !r.Control {
		if r.State, err = w.states.of(b); err != nil {
			return err
		}
	}
	next := b.Base
	var odd strays
	n := -1
	for rec, err := range v.Records(w.d) {
		if err != nil {
			w.flush(b, &odd, next)
			w.skip(b, next, errors.Is(err, batch.ErrTooLarge), err.Error())
			return nil
		}
		if n++; int64(rec.OffsetDelta) < next-b.Base || rec.OffsetDelta > v.LastOffsetDelta {
			odd.see(n, rec.OffsetDelta, next-b.Base, v.LastOffsetDelta)
			continue
		}
		w.flush(b, &odd, rec.Offset+b.Base-v.BaseOffset)
		r.WrittenOffset = rec.Offset
		rec.Offset += b.Base - v.BaseOffset
		next = rec.Offset + 1
		if rec.Offset < w.From || rec.Offset >= w.To {
			continue
		}
		r.Offset, r.Timestamp, r.Key, r.Value, r.Headers, r.Sequence = rec.Offset, rec.Timestamp, rec.Key, rec.Value, rec.Headers, rec.Sequence
		r.Origin.Record = &rec
		if r.Control {
			r.marker()
		}
		if !w.give() {
			return nil
		}
	}
	w.flush(b, &odd, b.Next())
	return nil
}

// strays are records of a batch, one behind the other, whose offsets cannot be theirs.
type strays struct {
	count       int
	first       int   // number of the first one in its batch, from 0
	delta, last int32 // what that says, and the most that it could
	least       int64
}

func (o *strays) see(n int, delta int32, least int64, last int32) {
	if o.count++; o.count == 1 {
		o.first, o.delta, o.least, o.last = n, delta, least, last
	}
}

// flush tells of strays in front of offset to. Kafka's consumer takes offsetDelta at its word (DefaultRecord.readFrom,
// CompletedFetch.nextFetchedRecord): it passes over the record where that points below what it has
// read, and passes over what follows where it points too far. So no offset here is the record's own,
// and it is not given out as if there were one.
func (w *walk) flush(b *replica.Block, o *strays, to int64) {
	if o.count == 0 {
		return
	}
	x := *o
	*o = strays{}
	from := min(b.Base+x.least, b.Last)
	if to = max(to, from+1); from >= w.To || to <= w.From {
		return
	}
	what := fmt.Sprintf("record %d of the batch says offsetDelta %d", x.first, x.delta)
	if x.count > 1 {
		what = fmt.Sprintf("%d records of the batch from record %d on, the first with offsetDelta %d", x.count, x.first, x.delta)
	}
	if x.least > int64(x.last) {
		what += ", behind the batch's last offset"
	} else {
		what += fmt.Sprintf(", want %d to %d", x.least, x.last)
	}
	w.skipTo(b, from, to, false, what+": a consumer passes over it, or over what follows")
}

// marker decodes a control record.
func (r *Record) marker() {
	r.ControlType, r.Coordinator, r.State = "", -1, None
	c, err := batch.ParseControl(r.Key, r.Value)
	if err != nil {
		return
	}
	r.ControlType = c.Type.String()
	switch c.Type {
	case batch.ControlCommit:
		r.State, r.Coordinator = Committed, c.CoordinatorEpoch
	case batch.ControlAbort:
		r.State, r.Coordinator = Aborted, c.CoordinatorEpoch
	}
}

// messages gives out a message of format 0 or 1, or those inside of it.
func (w *walk) messages(b *replica.Block, raw []byte) error {
	r := &w.rec
	h, err := batch.ParseLegacyHeader(raw)
	if err != nil {
		w.skip(b, b.Base, false, err.Error())
		return nil
	}
	w.frame.Kind, w.frame.Legacy = segment.Legacy, h
	next := b.Base
	for m, err := range batch.LegacyRecords(raw, w.d) {
		if errors.Is(err, batch.ErrTorn) {
			return nil // whole messages were all handed out, and Kafka takes no notice of the rest
		}
		if err == nil {
			err = batch.CheckLegacyCRC(m.Raw)
			if err != nil {
				one := *b
				one.Base, one.Last = m.Offset, m.Offset
				w.skip(&one, m.Offset, false, "the CRC of a message inside a compressed one does not verify")
				next = m.Offset + 1
				continue
			}
		}
		if err != nil {
			w.skip(b, next, errors.Is(err, batch.ErrTooLarge), err.Error())
			return nil
		}
		if m.Offset < next || m.Offset > b.Last {
			one := *b
			one.Base, one.Last = next, max(next, b.Last)
			if one.Base < w.To && one.Last >= w.From {
				w.skip(&one, next, false, fmt.Sprintf("a message inside a compressed one says offset %d, want %d to %d: a consumer passes over it, or over what follows", m.Offset, next, b.Last))
			}
			continue
		}
		next = m.Offset + 1
		if m.Offset < w.From || m.Offset >= w.To {
			continue
		}
		r.WrittenOffset = m.Offset
		r.Magic, r.Offset, r.Timestamp, r.TimestampType, r.Key, r.Value, r.Headers = m.Magic, m.Offset, m.Timestamp, m.TimestampType, m.Key, m.Value, nil
		r.Origin.Record, r.Origin.Legacy = &m.Record, &m
		if !w.give() {
			return nil
		}
	}
	return nil
}

// give hands the record out; false: nobody wants more.
func (w *walk) give() bool {
	if w.Lost != nil {
		w.lost = *w.Lost
		w.rec.Lost = &w.lost
	}
	w.done = !w.yield(&w.rec, nil)
	return !w.done
}
