package batch

import (
	"errors"
	"iter"

	"kafsck/internal/wire"
)

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string // as written; Kafka's readers replace what is not UTF-8
	Value []byte // nil = null
}

// Record is one record of a magic 2 batch. Key, Value, Headers and the header values are
// borrowed until the next step of the iteration.
type Record struct {
	Offset      int64 // the batch's BaseOffset + OffsetDelta
	OffsetDelta int32 // as written; a sound one is in 0 … LastOffsetDelta
	Timestamp   int64 // ms; -1 = none; the batch's MaxTimestamp if that is LogAppendTime
	Key, Value  []byte
	Headers     []RecordHeader
	Sequence    int32 // -1 = none
	Pos, Len    int64 // byte range in the decompressed records, with the length at its front
}

// maxHeaders bounds the headers of one record. Two bytes make a header, which takes
// twenty times as much memory here; no real record comes near.
const maxHeaders = 1 << 20

// Records iterates over the records of the batch, in the order of the bytes.
//
// The bytes of a record, concatenated and then compressed as a whole:
//
//	+--------+---+-----------+--------+-----+-----+-------+-------+--------+-----
//	| length | 0 | timestamp | offset | key | key | value | value | header | headers: key
//	| varint |   | delta     | delta  | len | …   | len   | …     | count  | length, key,
//	|        | 1 | varlong   | varint | vint|     | vint  |       | varint | value length, value
//	+--------+---+-----------+--------+-----+-----+-------+-------+--------+-----
//	length counts the bytes after itself; a negative key or value length is null.
//
// Source: org.apache.kafka.common.record.DefaultRecord.readFrom and the iterators of
// DefaultRecordBatch, whose checks these are: RecordCount is not negative, each length
// fits what is left, each record takes exactly its length, and nothing is left after
// RecordCount records. (Kafka does not look at the bytes of a batch with RecordCount 0;
// here leftover bytes are an error too, as they should not be there.)
//
// An error ends the iteration; the records before it are handed out first, those before
// damage in the compressed bytes as well. It is an *Error wrapping ErrRecord, or one of
// Decompressor.Decompress. Pos of the former counts in the batch if it is not compressed;
// Pos of the latter always.
//
// d may be nil, then a compressed batch allocates a Decompressor of its own. Only headers
// cost allocations: their keys, and the slice for the first record with many.
func (v View) Records(d *Decompressor) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { v.eachRecord(d, yield) }
}

func (v *View) eachRecord(d *Decompressor, yield func(Record, error) bool) {
	if v.RecordCount < 0 {
		yield(Record{}, &Error{Pos: 57, Field: "recordCount", Want: "at least 0", Got: itoa(v.RecordCount), Err: ErrRecord})
		return
	}
	blob := v.Payload()
	codec := v.Attributes.Codec()
	if v.RecordCount == 0 && len(blob) == 0 {
		return // emptied by the cleaner
	}
	var codecErr error
	if codec > Zstd {
		yield(Record{}, &Error{Pos: 21, Field: "attributes", Want: "a codec of 0 to 4", Got: itoa(codec), Err: ErrCodec})
		return
	}
	if codec != None {
		if d == nil {
			d = new(Decompressor)
		}
		if blob, codecErr = d.Decompress(codec, blob); codecErr != nil {
			if e, ok := errors.AsType[*Error](codecErr); ok {
				e.Pos += HeaderSize
			}
		}
	}
	it := recordReader{h: v.Header, blob: blob}
	var rec Record
	for i := range v.RecordCount {
		if codecErr != nil && it.pos == len(blob) {
			break
		}
		var err error
		if !it.quick(&rec) {
			rec, err = it.next(i)
		}
		if err != nil {
			if codecErr != nil {
				err = codecErr // the record is cut by the damage: name the cause
			}
			yield(Record{}, err)
			return
		}
		if !yield(rec, nil) {
			return
		}
	}
	if codecErr != nil {
		yield(Record{}, codecErr)
		return
	}
	if n := len(blob) - it.pos; n != 0 {
		yield(Record{}, it.fault(int64(it.pos), "recordCount", itoa(v.RecordCount)+" records", itoa(n)+" bytes more", ErrRecord))
	}
}

// recordReader decodes records one after the other.
type recordReader struct {
	h       Header // a copy: a pointer would move the View to the heap
	blob    []byte
	pos     int            // of the next record in blob
	headers []RecordHeader // reused from record to record
}

func (it *recordReader) fault(pos int64, field, want, got string, kind error) error {
	e := &Error{Pos: pos, Field: field, Want: want, Got: got, Err: kind}
	if it.h.Attributes.Codec() == None {
		e.Pos += HeaderSize
	} else {
		e.Decompressed = true
	}
	return e
}

func (it *recordReader) recordFault(i int32, pos int64, field, want, got string) error {
	return it.fault(pos, "record "+itoa(i)+" "+field, want, got, ErrRecord)
}

// next decodes the next record, and says what is wrong with it.
func (it *recordReader) next(i int32) (Record, error) {
	start := int64(it.pos)
	left := wire.Make(it.blob[it.pos:])
	if left.Remaining() == 0 {
		return Record{}, it.fault(start, "recordCount", itoa(it.h.RecordCount)+" records", itoa(i), ErrRecord)
	}
	length := int64(left.Varint())
	if err := left.Err(); err != nil {
		return Record{}, it.wireFault(i, start, "length", err)
	}
	body := start + left.Pos()
	if length < 0 || length > left.Remaining() {
		return Record{}, it.recordFault(i, start, "length", "0 to "+itoa(left.Remaining()), itoa(length))
	}
	// The fields are read from the bytes of this record alone: a field that would reach
	// into the next record is a fault of this one.
	r := wire.Make(left.Bytes(length))
	r.Int8() // attributes, unused
	timestampDelta := r.Varlong()
	rec := it.record(start, body+length, timestampDelta, r.Varint())
	rec.Key = nullable(&r, r.Varint())
	rec.Value = nullable(&r, r.Varint())
	at := r.Pos()
	count := r.Varint()
	if err := r.Err(); err != nil {
		return Record{}, it.wireFault(i, body, "fields", err)
	}
	// Two lengths make the smallest header; Kafka compares with the bytes alone, and
	// fails on the way.
	if count < 0 || int64(count) > r.Remaining()/2 {
		return Record{}, it.recordFault(i, body+at, "headerCount", "0 to "+itoa(r.Remaining()/2), itoa(count))
	}
	if count > maxHeaders {
		return Record{}, it.fault(body+at, "record "+itoa(i)+" headerCount", "at most "+itoa(maxHeaders), itoa(count), ErrTooLarge)
	}
	if count > 0 {
		if err := it.readHeaders(i, body, &r, count); err != nil {
			return Record{}, err
		}
		rec.Headers = it.headers
	}
	if n := r.Remaining(); n != 0 {
		return Record{}, it.recordFault(i, body+r.Pos(), "length", itoa(length-n), itoa(length))
	}
	it.pos = int(body + length)
	return rec, nil
}

// readHeaders fills it.headers with count headers. body is the position of r's first byte.
func (it *recordReader) readHeaders(i int32, body int64, r *wire.Reader, count int32) error {
	if int(count) > cap(it.headers) {
		it.headers = make([]RecordHeader, count)
	}
	it.headers = it.headers[:count]
	for k := range it.headers {
		h := &it.headers[k]
		at := r.Pos()
		n := r.Varint()
		if n < 0 {
			return it.recordFault(i, body+at, "headerKeyLength", "at least 0", itoa(n))
		}
		key := r.Bytes(int64(n))
		h.Value = nullable(r, r.Varint())
		if err := r.Err(); err != nil {
			return it.wireFault(i, body, "headers", err)
		}
		// Records of a batch mostly have the same keys: keep the string of the last one.
		if h.Key != string(key) {
			h.Key = string(key)
		}
	}
	return nil
}

// nullable reads n bytes, or null for any negative n, as Kafka's readers do.
func nullable(r *wire.Reader, n int32) []byte {
	if n < 0 {
		return nil
	}
	return r.Bytes(int64(n))
}

// wireFault is the failure of a wire.Reader whose first byte is at base of the records.
func (it *recordReader) wireFault(i int32, base int64, field string, err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		panic("batch: a wire.Reader failed with another error: " + err.Error())
	}
	return it.recordFault(i, base+e.Pos, field, "", e.What)
}
