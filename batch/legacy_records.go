package batch

import (
	"encoding/binary"
	"errors"
	"iter"
)

// LegacyRecord is one record of message format 0 or 1: an uncompressed message of the log, or
// one inside a compressed message, the wrapper. Key, Value and Raw are borrowed until the next
// step of the iteration.
//
// Of the embedded Record, Offset is absolute; Timestamp is in ms, -1 = none, and that of the
// wrapper if that says LogAppendTime; OffsetDelta is 0, Headers are nil, Sequence is -1: there
// were none. Pos and Len are the bytes of the whole message, offset and size in front, in the
// wrapper's decompressed value, or in the message handed in if it is not compressed (then Pos
// is 0).
type LegacyRecord struct {
	Record
	InnerOffset   int64 // as written; relative in a wrapper of magic 1
	Magic         int8  // of this message; 0 or 1
	Attributes    int8  // of this message
	TimestampType TimestampType
	Codec         Codec  // of the wrapper, None if there is none
	CRC           uint32 // of this message, as stored; CheckLegacyCRC(Raw) says whether it is right
	Extra         int    // bytes between the value and the end of the message, where nobody wrote any
	Raw           []byte // Len bytes
}

// LegacyRecords iterates over the records of one message of magic 0 or 1 that fills raw
// exactly: one record if it is not compressed, or those inside it, in the order of the bytes.
//
// A compressed message, the wrapper, has no key; its value is the compressed form of whole
// messages, one after the other:
//
//	0        8     12                   +-- value of the wrapper, decompressed
//	+--------+-----+------- … -----+    |
//	| offset |size | CRC … value   |    | offset 8 | size 4 | message | offset 8 | size 4 | message | …
//	+--------+-----+------- … -----+
//
//	wrapper   offset of it           offsets inside            base
//	magic 0   that of the last one   as in the log             0
//	magic 1   that of the last one   as the writer counted     offset of the wrapper - the last one inside
//	magic 1   0                      as the writer counted     0
//
// The rule for magic 1 gives the same whether the writer counted from 0, as brokers do, or
// wrote the offsets of the log. The last row is for some versions of librdkafka. The magic of
// the wrapper alone decides: the cleaner of 0.10.0 could leave messages of magic 0 in a
// wrapper of magic 1 (KAFKA-4298), with offsets of the wrapper's kind. Those have no timestamp.
//
// Source: org.apache.kafka.common.record.AbstractLegacyRecordBatch.DeepRecordsIterator,
// DataLogInputStream, LegacyRecord. Refused as there: a wrapper without a value or with
// nothing in it, zstd, a message inside that is compressed again, one of less than 14 bytes,
// an offset of the wrapper below the last one inside. Neither the CRC of raw nor those of the
// messages inside are looked at: see CheckLegacyCRC.
//
// An error ends the iteration. Records before it are handed out first, but with magic 1 only
// if the bytes could be read to the last message, as all offsets hang on that one. It is an
// *Error wrapping ErrLength or ErrMagic (from ParseLegacyHeader, or raw is not TotalSize long),
// ErrRecord, ErrTorn, or one of DecompressLegacy. Pos counts in raw, or in the wrapper's
// decompressed value if Decompressed is set.
//
// After ErrTorn all whole messages were handed out, and Kafka would not say a word: it takes a
// message that is cut for the end.
//
// d may be nil, then a compressed message allocates a Decompressor of its own. Nothing else
// is allocated.
func LegacyRecords(raw []byte, d *Decompressor) iter.Seq2[LegacyRecord, error] {
	return func(yield func(LegacyRecord, error) bool) { eachLegacyRecord(raw, d, yield) }
}

func eachLegacyRecord(raw []byte, d *Decompressor, yield func(LegacyRecord, error) bool) {
	fail := func(err error) { yield(LegacyRecord{}, err) }
	h, err := ParseLegacyHeader(raw)
	if err != nil {
		fail(err)
		return
	}
	if h.TotalSize() != int64(len(raw)) {
		fail(&Error{Pos: 8, Field: "messageSize", Want: itoa(len(raw) - LogOverhead), Got: itoa(h.Size), Err: ErrLength})
		return
	}
	key, value, valuePos, err := legacyFields(h.Magic, raw)
	if err != nil {
		fail(err)
		return
	}
	codec := h.Codec()
	if codec == None {
		yield(LegacyRecord{Record: Record{Offset: h.Offset, Timestamp: h.Timestamp, Key: key, Value: value, Sequence: -1, Len: int64(len(raw))},
			InnerOffset: h.Offset, Magic: h.Magic, Attributes: h.Attributes, TimestampType: h.TimestampType(), CRC: h.CRC, Raw: raw, Extra: len(raw) - valuePos - len(value)}, nil)
		return
	}
	if value == nil {
		fail(&Error{Pos: int64(valuePos) - 4, Field: "valueLength", Want: "a compressed set", Got: "null", Err: ErrRecord})
		return
	}
	if d == nil {
		d = new(Decompressor)
	}
	set, codecErr := d.DecompressLegacy(h.Magic, codec, value)
	if e, ok := errors.AsType[*Error](codecErr); ok {
		if e.Field == "codec" { // the codec itself, not what was compressed
			e.Pos = 17
		} else {
			e.Pos += int64(valuePos)
		}
	}
	in := innerReader{wrapper: h, codec: codec, set: set, last: -1}
	end := in.measure()
	switch {
	case codecErr != nil:
		end = codecErr // what came out is cut by the damage: name the cause
		if h.Magic == 1 {
			fail(end)
			return
		}
	case errors.Is(end, ErrRecord) && h.Magic == 1:
		fail(end)
		return
	case in.whole == 0 && end == nil || in.whole == 0 && errors.Is(end, ErrTorn):
		fail(in.fault(0, "wrapper value", "messages", itoa(len(set))+" bytes without one"))
		return
	}
	if h.Magic == 1 && h.Offset != 0 {
		if h.Offset < in.last {
			fail(&Error{Pos: 0, Field: "offset", Want: "at least that of the last message inside, " + itoa(in.last), Got: itoa(h.Offset), Err: ErrRecord})
			return
		}
		in.base = h.Offset - in.last
	}
	for in.pos < in.whole {
		rec, err := in.next()
		if err != nil {
			fail(err)
			return
		}
		if !yield(rec, nil) {
			return
		}
	}
	if end != nil {
		fail(end)
	}
}

// innerReader reads the messages inside a wrapper.
type innerReader struct {
	wrapper LegacyHeader
	codec   Codec
	set     []byte
	whole   int   // the length of the messages at the front of set that are whole
	last    int64 // the offset of the last of them as written, -1 if there is none
	base    int64 // what to add to the offsets as written
	pos     int   // of the next message in set
	n       int   // its index
}

func (in *innerReader) fault(pos int, field, want, got string) error {
	return &Error{Pos: int64(pos), Decompressed: true, Field: field, Want: want, Got: got, Err: ErrRecord}
}

// measure follows offsets and sizes to the end of the messages, as DataLogInputStream does.
func (in *innerReader) measure() error {
	for i := 0; ; i++ {
		b := in.set[in.whole:]
		if len(b) == 0 {
			return nil
		}
		if len(b) < LogOverhead {
			return &Error{Pos: int64(in.whole), Decompressed: true, Field: "inner message " + itoa(i), Want: itoa(LogOverhead) + " bytes or more", Got: itoa(len(b)), Err: ErrTorn}
		}
		size := int32(binary.BigEndian.Uint32(b[8:]))
		if size < LegacyMinSize {
			return in.fault(in.whole+8, "inner message "+itoa(i)+" messageSize", "at least "+itoa(LegacyMinSize), itoa(size))
		}
		total := LogOverhead + int64(size)
		if total > int64(len(b)) {
			return &Error{Pos: int64(in.whole), Decompressed: true, Field: "inner message " + itoa(i), Want: itoa(total) + " bytes", Got: itoa(len(b)), Err: ErrTorn}
		}
		in.last = int64(binary.BigEndian.Uint64(b))
		in.whole += int(total)
	}
}

// next decodes the message at pos, which measure has found whole.
func (in *innerReader) next() (LegacyRecord, error) {
	start, i := in.pos, in.n
	b := in.set[start:in.whole]
	raw := b[:LogOverhead+int(binary.BigEndian.Uint32(b[8:]))]
	h, err := ParseLegacyHeader(raw)
	var key, value []byte
	var valuePos int
	if err == nil {
		key, value, valuePos, err = legacyFields(h.Magic, raw)
	}
	if err != nil {
		e, _ := errors.AsType[*Error](err)
		return LegacyRecord{}, in.fault(start+int(e.Pos), "inner message "+itoa(i)+" "+e.Field, e.Want, e.Got)
	}
	if c := h.Codec(); c != None {
		return LegacyRecord{}, in.fault(start+17, "inner message "+itoa(i)+" attributes", "no compression", c.String())
	}
	rec := LegacyRecord{
		Record:      Record{Offset: in.base + h.Offset, Timestamp: h.Timestamp, Key: key, Value: value, Sequence: -1, Pos: int64(start), Len: int64(len(raw))},
		InnerOffset: h.Offset, Magic: h.Magic, Attributes: h.Attributes, TimestampType: NoTimestampType, Codec: in.codec, CRC: h.CRC, Raw: raw,
		Extra: len(raw) - valuePos - len(value),
	}
	if h.Magic == 1 {
		// Whoever wrote the wrapper has the say; a wrapper of magic 0 has no type to give.
		rec.TimestampType = in.wrapper.TimestampType()
		if rec.TimestampType == LogAppendTime {
			rec.Timestamp = in.wrapper.Timestamp
		}
	}
	in.pos += len(raw)
	in.n++
	return rec, nil
}

// legacyFields are key and value of the message that fills raw, and the position of the value;
// nil is null, for which Kafka takes any negative length. What follows the value is not
// looked at, as in Kafka.
//
//	12          18 (magic 1: 26)
//	| crc m a   | keyLength 4 | key | valueLength 4 | value |
func legacyFields(magic int8, raw []byte) (key, value []byte, valuePos int, err error) {
	at := 18
	if magic == 1 {
		at = 26
	}
	key, at, err = legacyBytes(raw, at, "keyLength")
	if err != nil {
		return nil, nil, 0, err
	}
	value, at, err = legacyBytes(raw, at, "valueLength")
	return key, value, at - len(value), err
}

// LegacyFields are key and value of the message of magic 0 or 1 that fills raw, as they stand
// there: the value of a wrapper is compressed. extra is the number of bytes behind the value.
// The error is one of ParseLegacyHeader or wraps ErrRecord.
func LegacyFields(raw []byte) (key, value []byte, extra int, err error) {
	h, err := ParseLegacyHeader(raw)
	if err != nil {
		return nil, nil, 0, err
	}
	key, value, pos, err := legacyFields(h.Magic, raw)
	if err != nil {
		return nil, nil, 0, err
	}
	return key, value, len(raw) - pos - len(value), nil
}

// legacyBytes reads a length at b[at] and as many bytes, and returns the position after them.
func legacyBytes(b []byte, at int, field string) ([]byte, int, error) {
	left := len(b) - at - 4
	if left < 0 {
		return nil, at, &Error{Pos: int64(at), Field: field, Want: "4 bytes", Got: itoa(left + 4), Err: ErrRecord}
	}
	n := int32(binary.BigEndian.Uint32(b[at:]))
	at += 4
	if n < 0 {
		return nil, at, nil
	}
	if int64(n) > int64(left) {
		return nil, at, &Error{Pos: int64(at - 4), Field: field, Want: "at most " + itoa(left), Got: itoa(n), Err: ErrRecord}
	}
	end := at + int(n)
	return b[at:end:end], end, nil
}
