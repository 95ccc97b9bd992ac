package segment

import (
	"io"
	"iter"
)

// IndexEntrySize is the size of an entry of a .index, in bytes.
const IndexEntrySize = 8

// OffsetEntry is an entry of a .index: where to begin reading for an offset.
//
//	0          4          8
//	+----------+----------+
//	| relative | position |
//	|  offset  |          |
//	+----------+----------+
//
// Source: org.apache.kafka.storage.internals.log.OffsetIndex.
//
// A lookup takes the last entry with an offset at or below the one it looks for and reads the
// .log from its position. What the offset is depends on the writer: the first offset of what
// was appended up to Kafka 1.1; the last offset of all that one append brought from 2.0 on,
// which on a follower is many batches; the last offset of the one batch at the position
// since KAFKA-806, and whenever a recovery wrote it.
type OffsetEntry struct {
	Number   int64 // 0-based, in the file
	Offset   int64 // base offset of the segment + Relative
	Position int64 // byte in the .log

	Relative, RawPosition int32 // as written; negative only where damaged
}

// Pos is the position of the entry in the .index, in bytes.
func (e *OffsetEntry) Pos() int64 { return e.Number * IndexEntrySize }

// ScanIndex yields the entries of a .index of size bytes, read by r; base is the base offset
// of the segment, which is in the file's name.
//
// It ends before the zero tail of a preallocated file: entries of zero bytes with nothing
// else behind them. Those with other entries behind them are yielded. See [ShapeOfIndex]
// for how many there are. Values are facts: order and range are not looked at.
//
// A non-nil error is a *ReadError and comes last, with a zero entry; the entries before it
// are right.
//
// Source: org.apache.kafka.storage.internals.log.OffsetIndex.parseEntry.
func ScanIndex(r io.ReaderAt, size, base int64) iter.Seq2[OffsetEntry, error] {
	return func(yield func(OffsetEntry, error) bool) {
		err := eachIndexEntry(r, size, IndexEntrySize, func(n int64, b []byte) bool {
			e := OffsetEntry{Number: n}
			if b != nil {
				e.Relative, e.RawPosition = int32(be32(b)), int32(be32(b[4:]))
			}
			e.Offset, e.Position = base+int64(e.Relative), int64(e.RawPosition)
			return yield(e, nil)
		})
		if err != nil {
			yield(OffsetEntry{}, err)
		}
	}
}

// ShapeOfIndex tells how the bytes of a .index of size bytes are used. It reads from the end
// as far as the bytes are zero. An error is a *ReadError.
func ShapeOfIndex(r io.ReaderAt, size int64) (IndexShape, error) {
	return shapeOf(r, size, IndexEntrySize)
}
