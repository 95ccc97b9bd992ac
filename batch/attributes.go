package batch

// Attributes are the flags of a batch header (DefaultRecordBatch):
//
//	bit   15 … 7   6               5         4               3               2 1 0
//	      unused   delete horizon  control   transactional   timestamp type  codec
type Attributes int16

const (
	codecMask         = 0x07
	timestampTypeMask = 0x08
	transactionalMask = 0x10
	controlMask       = 0x20
	deleteHorizonMask = 0x40
)

// Codec is the compression of the records; it may be one of the invalid values 5 … 7.
func (a Attributes) Codec() Codec { return Codec(a & codecMask) }

// TimestampType says who set the record timestamps.
func (a Attributes) TimestampType() TimestampType { return TimestampType(a&timestampTypeMask) >> 3 }

// Transactional reports whether the batch is part of a transaction (or ends one).
func (a Attributes) Transactional() bool { return a&transactionalMask != 0 }

// Control reports whether the records are control records (see ParseControl), which
// no consumer sees.
func (a Attributes) Control() bool { return a&controlMask != 0 }

// DeleteHorizon reports whether BaseTimestamp holds the time after which the cleaner
// may drop tombstones and markers (Kafka 3.1 and later), not the first timestamp.
func (a Attributes) DeleteHorizon() bool { return a&deleteHorizonMask != 0 }

// TimestampType is org.apache.kafka.common.record.TimestampType.
type TimestampType int8

// The kinds of timestamps.
const (
	NoTimestampType TimestampType = -1 // magic 0 has no timestamps
	CreateTime      TimestampType = 0  // by the producer
	LogAppendTime   TimestampType = 1  // by the broker: every record has the batch's MaxTimestamp
)

func (t TimestampType) String() string {
	switch t {
	case NoTimestampType:
		return "NoTimestampType"
	case CreateTime:
		return "CreateTime"
	case LogAppendTime:
		return "LogAppendTime"
	}
	return "invalid(" + itoa(t) + ")"
}

// Codec is org.apache.kafka.common.record.CompressionType by its id on disk.
type Codec int8

// The codecs. Zstd is not allowed in magic 0 and 1.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// String is Kafka's name in lower case, or "invalid(5)" for an id that has no codec.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "invalid(" + itoa(c) + ")"
}
