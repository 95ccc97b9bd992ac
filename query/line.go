package query

import (
	"encoding/json"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/segment"
)

// Line is what a condition is asked of: what dump prints as one line. Kind says which of the
// other fields are set. A Line borrows all that it points at.
type Line struct {
	Kind *Kind
	At   Place

	Frame *segment.Frame // Batch, Message, Embedded, Stretch, Record, LegacyRecord

	Record   *batch.Record
	Legacy   *batch.LegacyRecord // LegacyRecord: the same record
	BadCRC   bool                // of Legacy
	Control  *batch.Control      // nil: not one that could be decoded
	Metadata json.Marshaler      // nil: not decoded
	Decoded  json.Marshaler      // of an internal topic; nil: not decoded
	Why      string              // why neither is there; "" nothing is missing

	IndexKind  string // IndexFile: index, timeindex, txnindex
	Index      segment.IndexShape
	Offset     *segment.OffsetEntry
	Time       *segment.TimeEntry
	Aborted    *segment.AbortedTxn
	OutOfOrder bool   // of Offset and Time
	Damage     string // of Offset and Time; "" none
	Zeros      Zeros
	Snapshot   *segment.ProducerSnapshot
	SnapshotAt int64 // offset in the name of Snapshot; -1 none
	Producer   *segment.ProducerEntry
	Number     int64 // of Producer, 0-based

	Epochs     *checkpoint.EpochFile
	Offsets    *checkpoint.OffsetFile
	Name       string // of Offsets and OtherFile: the file's name; what the latter is for is in Why
	Partition  *checkpoint.PartitionMetadata
	Properties *checkpoint.MetaProperties
	Quorum     *checkpoint.QuorumState
	Shutdown   *checkpoint.CleanShutdown

	// Cell gives a cell of a table's row (TableKind): an integer, float64, bool, time.Time,
	// string, or nil; and as what it is shown.
	Cell func(column int) (value any, shown string)
}

// Place is where a line comes from.
type Place struct {
	Partition   string // "t-0", "" unknown
	TopicID     string // "" unknown
	Broker      int32
	BrokerKnown bool
	File        string // as shown
}

// Zeros are entries of zero bytes in the middle of an index file.
type Zeros struct{ Number, Count, Width int64 }
