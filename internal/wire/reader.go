package wire

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Reader is a cursor over a byte slice. The zero value reads an empty slice.
//
// It is not safe for concurrent use. A copy continues on its own from where the
// original stood.
type Reader struct {
	b   []byte
	pos int
	err *Error
}

// New returns a Reader at the beginning of b.
func New(b []byte) *Reader { return &Reader{b: b} }

// Make is New as a value, for decoders that must not allocate.
func Make(b []byte) Reader { return Reader{b: b} }

// Pos is the byte position of the next read; after a failed read it is the
// position where that read began.
func (r *Reader) Pos() int64 { return int64(r.pos) }

// Remaining is the number of bytes not yet read; after a failed read it counts
// from where that read began.
func (r *Reader) Remaining() int64 { return int64(len(r.b) - r.pos) }

// Err returns the first failure as an *Error, or nil.
func (r *Reader) Err() error {
	if r.err == nil { // a nil *Error in an error interface would not be nil
		return nil
	}
	return r.err
}

// Fail records a failure found by the caller at the current position (a value out
// of its range, say), unless an earlier one is already there.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = &Error{Pos: int64(r.pos), What: what}
	}
}

// need reports whether n bytes can be read. It is kept small so that it inlines.
func (r *Reader) need(n int, kind string) bool {
	if r.err == nil && len(r.b)-r.pos >= n {
		return true
	}
	r.short(int64(n), kind)
	return false
}

func (r *Reader) short(n int64, kind string) {
	if r.err == nil {
		r.Fail(kind + ": " + strconv.FormatInt(n, 10) + " bytes needed, " + strconv.Itoa(len(r.b)-r.pos) + " left")
	}
}

// Int8 reads one byte.
func (r *Reader) Int8() int8 {
	if !r.need(1, "int8") {
		return 0
	}
	v := r.b[r.pos]
	r.pos++
	return int8(v)
}

// Bool reads one byte; any value but 0 is true, as in Kafka's readers.
func (r *Reader) Bool() bool {
	if !r.need(1, "bool") {
		return false
	}
	v := r.b[r.pos]
	r.pos++
	return v != 0
}

// Int16 reads two bytes, big endian.
func (r *Reader) Int16() int16 {
	if !r.need(2, "int16") {
		return 0
	}
	v := binary.BigEndian.Uint16(r.b[r.pos:])
	r.pos += 2
	return int16(v)
}

// Uint16 reads two bytes, big endian.
func (r *Reader) Uint16() uint16 {
	if !r.need(2, "uint16") {
		return 0
	}
	v := binary.BigEndian.Uint16(r.b[r.pos:])
	r.pos += 2
	return v
}

// Int32 reads four bytes, big endian.
func (r *Reader) Int32() int32 {
	if !r.need(4, "int32") {
		return 0
	}
	v := binary.BigEndian.Uint32(r.b[r.pos:])
	r.pos += 4
	return int32(v)
}

// Uint32 reads four bytes, big endian.
func (r *Reader) Uint32() uint32 {
	if !r.need(4, "uint32") {
		return 0
	}
	v := binary.BigEndian.Uint32(r.b[r.pos:])
	r.pos += 4
	return v
}

// Int64 reads eight bytes, big endian.
func (r *Reader) Int64() int64 {
	if !r.need(8, "int64") {
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[r.pos:])
	r.pos += 8
	return int64(v)
}

// Float64 reads eight bytes, big endian IEEE 754.
func (r *Reader) Float64() float64 {
	if !r.need(8, "float64") {
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[r.pos:])
	r.pos += 8
	return math.Float64frombits(v)
}

// UUID reads sixteen bytes.
func (r *Reader) UUID() UUID {
	var u UUID
	if !r.need(len(u), "uuid") {
		return u
	}
	copy(u[:], r.b[r.pos:])
	r.pos += len(u)
	return u
}

// Bytes reads n bytes. The result is borrowed from the slice the Reader was made
// with, is never nil when the read succeeds, and has no spare capacity, so that an
// append to it cannot overwrite what follows. A negative n is a failure.
func (r *Reader) Bytes(n int64) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 {
		r.Fail("bytes: negative length " + strconv.FormatInt(n, 10))
		return nil
	}
	// Compared as int64: a length that does not fit an int can never be there.
	if n > int64(len(r.b)-r.pos) {
		r.short(n, "bytes")
		return nil
	}
	end := r.pos + int(n)
	v := r.b[r.pos:end:end]
	r.pos = end
	return v
}

// Skip passes over n bytes. A negative n is a failure.
func (r *Reader) Skip(n int64) { r.Bytes(n) }
