package replica

import (
	"errors"
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
)

// message looks at a message of magic 0 or 1. Only a compressed one, a wrapper, holds
// something that the CRC of the whole does not answer for: messages with a CRC and an
// offset of their own (see batch.LegacyRecords).
//
// What a sound wrapper has, besides what Kafka needs for reading it:
//
//	CRC        of each message inside is right (LegacyRecord.ensureValid)
//	offsets    ascend, begin behind the record before the wrapper, and end with the wrapper's
//	magic      inside is that of the wrapper (the cleaner of 0.10.0 left others: KAFKA-4298)
//	timestamp  with CreateTime, the largest inside (LogValidator, ByteBufferMessageSet)
//
// Source: LogValidator.validateMessagesAndAssignOffsetsCompressed, before 0.11
// kafka.message.ByteBufferMessageSet; the cleaner keeps these up.
func (d *recordDecoder) message(it *parcelItem, raw []byte) {
	h, err := batch.ParseLegacyHeader(raw)
	from := h.Offset
	if h.Codec() != batch.None && it.next >= 0 && it.next < from {
		from = it.next
	}
	tell := func(kind AnomalyKind, want, got, detail string) {
		d.parcel.anomalies = append(d.parcel.anomalies, Anomaly{Kind: kind, Segment: it.segment, Position: it.position, Length: int64(it.n),
			From: from, To: addOffset(h.Offset, 1), Epoch: -1, Want: want, Got: got, Detail: detail})
	}
	if err != nil {
		tell(RecordInvalid, "", "", err.Error())
		return
	}
	codec := h.Codec()
	switch {
	case codec > batch.Zstd:
		tell(CodecUnknown, "a codec of 0 to 3", fmt.Sprint(int(codec)), "")
		return
	case codec != batch.None && d.parcel.skip:
		tell(DecompressionLimit, fmt.Sprintf("at most %d times the size of the log", maxExpansion), "more", "compressed batches were no longer decoded from here on")
		return
	}
	_, value, extra, err := batch.LegacyFields(raw)
	if err != nil {
		tell(RecordInvalid, "", "", err.Error())
		return
	}
	if extra != 0 {
		tell(RecordInvalid, "", "", fmt.Sprintf("%s bytes behind the value of the message", humanize.Comma(int64(extra))))
		return
	}
	if codec == batch.None {
		return
	}
	var sum unwrapped
	err = d.decode(func(with *batch.Decompressor) (err error) {
		sum, err = unwrap(raw, &h, it.next, with)
		return err
	})
	if errors.Is(err, batch.ErrTooLarge) {
		sum.bytes = batch.DefaultLimit
	}
	d.parcel.produced += sum.bytes
	if sum.records > 0 {
		from = sum.first
	}
	if err == nil {
		err = sum.stray
	}
	switch e, _ := errors.AsType[*batch.Error](err); {
	case e == nil:
	case errors.Is(err, batch.ErrTooLarge):
		tell(DecompressionLimit, e.Want, e.Got, e.Place())
	case codec == batch.LZ4 && h.Magic == 1 && errors.Is(err, batch.ErrCodec) && d.onlyHeaderChecksum(value):
		tell(LZ4HeaderChecksum, e.Want, e.Got, e.Place())
	default:
		tell(RecordInvalid, e.Want, e.Got, e.Place())
	}
	if err != nil {
		return
	}
	if codec == batch.LZ4 && h.Magic == 0 {
		if why := batch.CheckLZ4Header(value); why != nil {
			tell(LZ4LegacyChecksum, "", "", why.Error())
		}
	}
	if h.Magic == 1 && h.TimestampType() == batch.CreateTime && sum.maxTimestamp != h.Timestamp {
		tell(MaxTimestampMismatch, fmt.Sprint(sum.maxTimestamp), fmt.Sprint(h.Timestamp), "timestamp of the compressed message, want the largest of those inside")
	}
}

// unwrapped is what the messages of one wrapper have in common.
type unwrapped struct {
	records      int
	first        int64 // offset of the first record
	maxTimestamp int64
	bytes        int64 // of the messages inside
	stray        error // the first thing that is not as it should be, though Kafka reads on
}

// unwrap reads the records of a wrapper. next is where the log before it ends, -1 unknown.
func unwrap(raw []byte, h *batch.LegacyHeader, next int64, d *batch.Decompressor) (sum unwrapped, err error) {
	sum.maxTimestamp = math.MinInt64
	last := int64(-1)
	for r, err := range batch.LegacyRecords(raw, d) {
		if err != nil {
			return sum, err
		}
		if sum.stray == nil {
			sum.stray = sum.look(&r, h, last, next)
		}
		if sum.records == 0 {
			sum.first = r.Offset
		}
		last = r.Offset
		sum.records++
		sum.maxTimestamp = max(sum.maxTimestamp, r.Timestamp)
		sum.bytes += r.Len
	}
	if sum.stray == nil && sum.records > 0 && last != h.Offset {
		sum.stray = &batch.Error{Pos: 0, Field: "offset", Want: fmt.Sprintf("%d, that of the last message inside", last), Got: fmt.Sprint(h.Offset), Err: batch.ErrRecord}
	}
	return sum, nil
}

// look says what is wrong with one record, nil if nothing. last is the offset of the one before
// it in the wrapper, -1 none.
func (sum *unwrapped) look(r *batch.LegacyRecord, h *batch.LegacyHeader, last, next int64) error {
	field := func(what string) string { return fmt.Sprintf("inner message %d %s", sum.records, what) }
	fault := func(what, want, got string) error {
		return &batch.Error{Pos: r.Pos, Decompressed: true, Field: field(what), Want: want, Got: got, Err: batch.ErrRecord}
	}
	if r.Extra != 0 {
		return fault("messageSize", fmt.Sprint(r.Len-int64(r.Extra)-batch.LogOverhead), fmt.Sprint(r.Len-batch.LogOverhead))
	}
	if err := batch.CheckLegacyCRC(r.Raw); err != nil {
		e, _ := errors.AsType[*batch.Error](err)
		return &batch.Error{Pos: r.Pos + e.Pos, Decompressed: true, Field: field(e.Field), Want: e.Want, Got: e.Got, Err: e.Err}
	}
	switch {
	case r.Magic != h.Magic:
		return fault("magic", fmt.Sprint(h.Magic), fmt.Sprint(r.Magic))
	case r.Offset <= last:
		return fault("offset", fmt.Sprintf("above %d", last), fmt.Sprint(r.Offset))
	case sum.records == 0 && r.Offset < next && h.Offset >= next:
		return fault("offset", fmt.Sprintf("at least %d, where the log before it ends", next), fmt.Sprint(r.Offset))
	}
	return nil
}
