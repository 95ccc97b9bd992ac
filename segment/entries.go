package segment

import (
	"bytes"
	"encoding/binary"
	"io"
)

// The files beside a .log are arrays of entries of one size. Reading them costs one buffer
// of entryBuffer bytes, whatever their size.
const entryBuffer = 64 << 10

// eachBlock hands the first count entries of width bytes to f, many at a time, until f
// returns false. block is borrowed until the next call; number is that of its first entry.
// The entries before one that cannot be read are handed over; then a *ReadError is returned.
func eachBlock(r io.ReaderAt, count, width int64, f func(number int64, block []byte) bool) error {
	if count <= 0 {
		return nil
	}
	buf := make([]byte, min(count, entryBuffer/width)*width)
	for number := int64(0); number < count; {
		ask := min(count-number, int64(len(buf))/width) * width
		n, err := readFull(r, buf[:ask], number*width)
		if whole := n / width; whole > 0 {
			if !f(number, buf[:whole*width]) {
				return nil
			}
			number += whole
		} else if ask > width {
			// Some readers fail as a whole if any byte of the range cannot be read: from
			// here on a bad sector hides no more than the entry it lies in.
			buf = buf[:width]
		} else {
			return err
		}
	}
	return nil
}

// eachIndexEntry hands the entries of a preallocated file to f, except those of the zero tail.
// Where zero bytes turn out to be no tail, b is nil.
func eachIndexEntry(r io.ReaderAt, size, width int64, f func(number int64, b []byte) bool) error {
	zeros := int64(0) // entries of zero bytes that wait until another one follows
	return eachBlock(r, size/width, width, func(number int64, b []byte) bool {
		for len(b) > 0 {
			if be64(b) == 0 {
				if n := int64(zeroPrefix(b)) / width; n > 0 {
					zeros += n
					number += n
					b = b[n*width:]
					continue
				}
			}
			for ; zeros > 0; zeros-- {
				if !f(number-zeros, nil) {
					return false
				}
			}
			if !f(number, b[:width]) {
				return false
			}
			number++
			b = b[width:]
		}
		return true
	})
}

func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// readFull reads all of p or returns a *ReadError with the number of bytes that it got.
func readFull(r io.ReaderAt, p []byte, at int64) (int64, error) {
	done := 0
	for done < len(p) {
		n, err := readAt(r, p[done:], at+int64(done))
		if err != nil {
			return int64(done), &ReadError{Op: "read", Pos: at + int64(done), Len: int64(len(p) - done), Err: err}
		}
		done += n
	}
	return int64(done), nil
}

// IndexShape is how the bytes of a .index or .timeindex are used:
//
//	0        Entries * width                         size
//	+-------+-------+ ... +- - - - - - - - - - -+- - -+
//	| entry | entry |     | ZeroEntries * width | Rem.|
//	+-------+-------+ ... +- - - - - - - - - - -+- - -+
//
// Kafka preallocates the index of the active segment to segment.index.bytes, rounded down to
// whole entries, and trims it on roll and close; a kill leaves the zero tail (AbstractIndex.
// resize, trimToValidSize). When Kafka opens the file, the zero tail counts as entries
// until a recovery resets it.
type IndexShape struct {
	Entries     int64 // up to the last one that is not all zero
	ZeroEntries int64 // entries of zero bytes behind that
	Remainder   int64 // bytes behind the last whole entry: size % width. Kafka ignores them
}

// shapeOf reads backwards from the end, as far as the bytes are zero.
func shapeOf(r io.ReaderAt, size, width int64) (IndexShape, error) {
	size = max(size, 0)
	s := IndexShape{Remainder: size % width}
	whole := size - s.Remainder
	buf := make([]byte, min(whole, 4<<10)) // enough where there is no zero tail
	for end := whole; end > 0; {
		p := buf[:min(end, int64(len(buf)))]
		end -= int64(len(p))
		if _, err := readFull(r, p, end); err != nil {
			return IndexShape{}, err
		}
		if i := lastNonZero(p); i >= 0 {
			s.Entries = (end+int64(i))/width + 1
			break
		}
		if len(buf) < entryBuffer {
			buf = make([]byte, entryBuffer)
		}
	}
	s.ZeroEntries = whole/width - s.Entries
	return s, nil
}

// lastNonZero is the index of the last byte of b that is not zero, or -1.
func lastNonZero(b []byte) int {
	for n := len(zeroBlock); len(b) >= n && bytes.Equal(b[len(b)-n:], zeroBlock[:]); {
		b = b[:len(b)-n]
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0 {
			return i
		}
	}
	return -1
}
