package segment

import (
	"io"
	"iter"
)

// TxnEntrySize is the size of an entry of a .txnindex, in bytes.
const TxnEntrySize = 34

// AbortedTxn is an entry of a .txnindex: a transaction whose ABORT marker is in the segment.
//
//	0     2            10           18           26           34
//	+-----+------------+------------+------------+------------+
//	|  0  |  producer  |   first    |    last    |last stable |
//	| ver.|     id     |   offset   |   offset   |   offset   |
//	+-----+------------+------------+------------+------------+
//
// Source: org.apache.kafka.storage.internals.log.AbortedTxn.
//
// The file is not preallocated and does not exist without an aborted transaction. The
// cleaner drops entries whose records are gone.
type AbortedTxn struct {
	Number           int64 // 0-based, in the file
	Version          int16 // 0
	ProducerID       int64
	FirstOffset      int64 // of the transaction's first record
	LastOffset       int64 // of the ABORT marker, inclusive
	LastStableOffset int64 // when it was aborted: the first offset of the oldest transaction of another producer that was open, else LastOffset + 1
}

// Pos is the position of the entry in the .txnindex, in bytes.
func (t *AbortedTxn) Pos() int64 { return t.Number * TxnEntrySize }

// Refused reports that Kafka does not read the entry, nor the file from there on: it throws a
// KafkaException. AbortedTxn.version reads one byte of the two, as a signed number, and
// TransactionIndex.iterator refuses what is above 0.
func (t *AbortedTxn) Refused() bool { return int8(t.Version>>8) > 0 }

// ScanTxnIndex yields the entries of a .txnindex of size bytes, up to and with the first one
// that Kafka refuses. size % TxnEntrySize bytes at the end are no entry; Kafka ignores
// them.
//
// A non-nil error is a *ReadError and comes last, with a zero entry; the entries before it
// are right.
//
// Source: org.apache.kafka.storage.internals.log.TransactionIndex.iterable.
func ScanTxnIndex(r io.ReaderAt, size int64) iter.Seq2[AbortedTxn, error] {
	return func(yield func(AbortedTxn, error) bool) {
		err := eachBlock(r, size/TxnEntrySize, TxnEntrySize, func(n int64, b []byte) bool {
			for ; len(b) > 0; b = b[TxnEntrySize:] {
				t := AbortedTxn{
					Number:           n,
					Version:          int16(uint16(b[0])<<8 | uint16(b[1])),
					ProducerID:       int64(be64(b[2:])),
					FirstOffset:      int64(be64(b[10:])),
					LastOffset:       int64(be64(b[18:])),
					LastStableOffset: int64(be64(b[26:])),
				}
				if !yield(t, nil) || t.Refused() {
					return false
				}
				n++
			}
			return true
		})
		if err != nil {
			yield(AbortedTxn{}, err)
		}
	}
}
