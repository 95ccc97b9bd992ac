package batch

import (
	"errors"
	"strconv"
	"strings"
)

// What can be wrong with bytes. Every *Error of this package wraps exactly one of
// them; test with errors.Is.
var (
	// ErrCRC: the stored checksum is not the one of the bytes. Bit rot, a torn page,
	// or another writer in the same file.
	ErrCRC = errors.New("checksum mismatch")
	// ErrLength: fewer or more bytes than the structure needs or its length field says.
	ErrLength = errors.New("bad length")
	// ErrMagic: a format version that this decoder does not read. Kafka knows 0, 1 and 2.
	ErrMagic = errors.New("unknown magic")
	// ErrRecord: the records inside a batch do not have the form or number they should.
	ErrRecord = errors.New("malformed record")
	// ErrTorn: the bytes inside a compressed message of magic 0 or 1 end within a message.
	// Kafka ends there without a word.
	ErrTorn = errors.New("torn message")
	// ErrCodec: an invalid codec, or compressed bytes that a broker would not decompress.
	ErrCodec = errors.New("cannot decompress")
	// ErrTooLarge: a limit of ours was reached (see Decompressor). It says nothing
	// about the bytes: Kafka itself has no such limit.
	ErrTooLarge = errors.New("too large")
)

// Error says what is wrong with the bytes, and where.
type Error struct {
	// Pos is a byte position in the slice that was decoded, or, if Decompressed is
	// set, in the decompressed records of the batch.
	Pos          int64
	Decompressed bool
	Field        string // Kafka's name of the field, for example "batchLength"
	Want, Got    string // either may be empty
	Err          error  // one of the sentinels above
}

// Error is one line: "malformed record: keyLength at byte 72: want at most 3, got 400".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Place())
	sep := ": "
	if e.Want != "" {
		b.WriteString(sep + "want " + e.Want)
		sep = ", "
	}
	if e.Got != "" {
		b.WriteString(sep + "got " + e.Got)
	}
	return b.String()
}

// Place is what is wrong and where, for those who show Want and Got themselves:
// "malformed record: keyLength at byte 72".
func (e *Error) Place() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	b.WriteString(": ")
	b.WriteString(e.Field)
	b.WriteString(" at ")
	if e.Decompressed {
		b.WriteString("decompressed ")
	}
	b.WriteString("byte ")
	b.WriteString(strconv.FormatInt(e.Pos, 10))
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

func itoa[T ~int | ~int8 | ~int16 | ~int32 | ~int64](n T) string {
	return strconv.FormatInt(int64(n), 10)
}

func hex32(n uint32) string {
	const digits = "0123456789abcdef"
	b := [10]byte{'0', 'x'}
	for i := range 8 {
		b[2+i] = digits[n>>(28-4*i)&15]
	}
	return string(b[:])
}
