package export

import (
	"kafsck/batch"
	"kafsck/segment"
)

// TransactionState says what became of the transaction that a record is part of.
type TransactionState string

// The states. That of a transaction marker is how it ended the transaction.
const (
	None      TransactionState = "none" // not written in a transaction
	Committed TransactionState = "committed"
	Aborted   TransactionState = "aborted"
	Open      TransactionState = "open"    // no marker ends it in this copy
	Hanging   TransactionState = "hanging" // open, and nothing that is known will end it
	// Unknown: the marker may have stood in bytes that cannot be read, or among offsets that are
	// missing; or more were open at a time than are followed.
	Unknown TransactionState = "unknown"
)

// Place is where a record's batch lies.
type Place struct {
	Partition  string // "t-0"
	TopicID    string // Kafka's text form, "" unknown
	Broker     int32  // -1 unknown
	BrokerName string // the folder's name, where the id is unknown
	File       string // as shown, with slashes
	Position   int64  // byte in File at which the batch begins
}

// Record is one record with all that its log says of it. Key, Value, Headers and Origin
// are borrowed until the next one.
type Record struct {
	Place
	Magic         int8 // message format, 0 to 2
	Codec         batch.Codec
	Offset        int64
	LeaderEpoch   int32 // -1 unknown, as in formats 0 and 1
	Timestamp     int64 // ms since 1970; -1 none
	TimestampType batch.TimestampType
	Key, Value    []byte // nil: null
	Headers       []batch.RecordHeader

	ProducerID    int64 // -1 none
	ProducerEpoch int16 // -1 none
	Sequence      int32 // -1 none
	Transactional bool
	State         TransactionState

	Control     bool
	ControlType string // COMMIT, ABORT, …; "" not known
	Coordinator int32  // coordinator epoch of a transaction marker; -1 none

	// What the header says where its neighbours prove it wrong (no CRC covers the two):
	// Offset and LeaderEpoch are corrected then.
	Misread       bool
	WrittenOffset int64
	WrittenEpoch  int32
	// Overlaps: its batch is whole and stands in the log behind batches with its offsets, or
	// higher ones. File and Position tell it from the record there with the same offset.
	Overlaps bool
	Lost     *Lost // of records that the ruling log does not have; else nil
	Origin   Origin
}

// Origin is the record as it was decoded, for those who ask conditions of it.
type Origin struct {
	Frame  *segment.Frame
	Record *batch.Record
	Legacy *batch.LegacyRecord // of format 0 and 1; nil else
}

// Lost is what is known of a record that the ruling log does not have.
type Lost struct {
	Committed    string // yes, no, unknown
	Acknowledged string // all, leader, no, unknown
	Cause        string
	Mark         Mark
}

// MarkKind says how a lost record stands to the new log.
type MarkKind string

// The kinds.
const (
	Absent     MarkKind = "absent"     // neither it nor a newer record of its key is there
	Superseded MarkKind = "superseded" // the new log has a newer record of its key
	Duplicate  MarkKind = "duplicate"  // the new log has it at another offset
)

// Mark is how a lost record stands to the new log.
type Mark struct {
	Kind   MarkKind
	Offset int64 // in the new log, of the newer record of the key or of the duplicate; -1 none
	// By, of a duplicate: "producer" (producer id, epoch, sequence and content are the same)
	// or "content" (key, value, headers and timestamp are).
	By string
}

// Skipped is a stretch of a log whose records could not be given out.
type Skipped struct {
	Place
	Length   int64 // bytes
	From, To int64 // offsets [From, To), as far as they are known; equal: none, in front of From
	Reason   string
	Limit    bool // a limit of ours: the bytes may be sound
}
