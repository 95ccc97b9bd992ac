package segment

import (
	"io"
	"iter"
)

// TimeEntrySize is the size of an entry of a .timeindex, in bytes.
const TimeEntrySize = 12

// TimeEntry is an entry of a .timeindex: every record with a later timestamp has a higher
// offset.
//
//	0                     8          12
//	+---------------------+----------+
//	|      timestamp      | relative |
//	|                     |  offset  |
//	+---------------------+----------+
//
// Source: org.apache.kafka.storage.internals.log.TimeIndex.
//
// The offset is the last one of the batch that holds the largest timestamp so far (old
// brokers: of that record). An entry is written with each entry of the .index if the
// timestamp has grown, and once more when the segment is rolled or closed.
type TimeEntry struct {
	Number    int64 // 0-based, in the file
	Timestamp int64 // ms since 1970
	Offset    int64 // base offset of the segment + Relative

	Relative int32 // as written; negative only where damaged
}

// Pos is the position of the entry in the .timeindex, in bytes.
func (e *TimeEntry) Pos() int64 { return e.Number * TimeEntrySize }

// ScanTimeIndex yields the entries of a .timeindex of size bytes; base is the base offset of
// the segment. What ScanIndex says of the zero tail, of values and of errors holds here too.
//
// Source: org.apache.kafka.storage.internals.log.TimeIndex.parseEntry.
func ScanTimeIndex(r io.ReaderAt, size, base int64) iter.Seq2[TimeEntry, error] {
	return func(yield func(TimeEntry, error) bool) {
		err := eachIndexEntry(r, size, TimeEntrySize, func(n int64, b []byte) bool {
			e := TimeEntry{Number: n}
			if b != nil {
				e.Timestamp, e.Relative = int64(be64(b)), int32(be32(b[8:]))
			}
			e.Offset = base + int64(e.Relative)
			return yield(e, nil)
		})
		if err != nil {
			yield(TimeEntry{}, err)
		}
	}
}

// ShapeOfTimeIndex is ShapeOfIndex for a .timeindex.
func ShapeOfTimeIndex(r io.ReaderAt, size int64) (IndexShape, error) {
	return shapeOf(r, size, TimeEntrySize)
}
