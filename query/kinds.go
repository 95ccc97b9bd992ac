package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kafsck/batch"
	"kafsck/segment"
)

// The kinds of lines of a log that dump prints. See docs/json.md for their fields.
var (
	Batch = newKind("batch", "a record batch of format 2", place("batch"), extent, batchFields,
		[]Field{
			num("position", "of its first byte", func(l *Line) int64 { return l.Frame.Pos }),
			num("length", "bytes in the file", func(l *Line) int64 { return l.Frame.Len }),
			alias("epoch", "partitionLeaderEpoch", batchFields),
			alias("leaderEpoch", "partitionLeaderEpoch", batchFields),
			alias("offset", "baseOffset", batchFields),
			alias("sequence", "baseSequence", batchFields),
			alias("time", "maxTimestamp", batchFields),
			alias("timestamp", "maxTimestamp", batchFields),
			alias("timestampMs", "maxTimestampMs", batchFields),
		})

	Record = newKind("record", "a record of a batch of format 2 (--records); it has its batch's fields, too", place("record"), batchFields, recordFields, recordTime,
		[]Field{
			num("leaderEpoch", "of its batch", func(l *Line) int64 { return int64(l.Frame.Batch.PartitionLeaderEpoch) }),
			alias("epoch", "partitionLeaderEpoch", batchFields),
			alias("time", "timestamp", recordTime),
			num("batchPosition", "position of its batch", func(l *Line) int64 { return l.Frame.Pos }),
			renamed("batchLength + 12", num("batchBytes", "bytes of its batch in the file", func(l *Line) int64 { return l.Frame.Len })),
		})

	LegacyRecord = newKind("record (formats 0, 1)", "a record of message format 0 or 1 (--records), of a wrapper or alone", place("record"), recordFields, recordTime, oldFields,
		[]Field{
			alias("epoch", "leaderEpoch", oldFields),
			alias("time", "timestamp", recordTime),
			num("batchPosition", "position of its message or wrapper", func(l *Line) int64 { return l.Frame.Pos }),
			renamed("batchLength + 12", num("batchBytes", "bytes of its message or wrapper in the file", func(l *Line) int64 { return l.Frame.Len })),
		})

	Message = newKind("frame legacy", "a message of format 0 or 1; a compressed wrapper is one", place("frame"), stretch("legacy"), legacyFields, legacyTime,
		[]Field{alias("offset", "from", legacyFields), alias("time", "timestamp", legacyTime)})

	Embedded = newKind("frame embedded", "a whole batch that is no part of the log", place("frame"), stretch("embedded"), embeddedFields,
		[]Field{alias("offset", "from", embeddedFields), alias("epoch", "leaderEpoch", embeddedFields)})

	Stretch = newKind("frame", "bytes that are no batch: zeros, torn, junk", place("frame"), stretch(""))
)

// place are the fields that every line has.
func place(typ string) []Field {
	return []Field{
		str("type", "of the line: \"batch\", \"record\", \"frame\", …", func(*Line) string { return typ }),
		strMaybe("partition", "such as \"t-0\"", func(l *Line) string { return l.At.Partition }),
		renamed("partition", strMaybe("topic", "partition without its number", func(l *Line) string {
			if i := strings.LastIndexByte(l.At.Partition, '-'); i > 0 {
				return l.At.Partition[:i]
			}
			return l.At.Partition
		})),
		strMaybe("topicId", "", func(l *Line) string { return l.At.TopicID }),
		numMaybe("broker", "its id, nil where only a name is known", func(l *Line) (int64, bool) { return int64(l.At.Broker), l.At.BrokerKnown }),
		str("file", "as dump shows its path", func(l *Line) string { return l.At.File }),
	}
}

func hex32(n uint32) string { return fmt.Sprintf("0x%08x", n) }

func (l *Line) header() *batch.Header { return &l.Frame.Batch.Header }

var extent = []Field{
	num("from", "base offset", func(l *Line) int64 { return l.header().BaseOffset }),
	num("to", "offset after the last one", func(l *Line) int64 { return l.header().NextOffset() }),
}

// batchFields are the header's, which the records carry, too.
var batchFields = slicesOf(
	[]Field{
		boolean("crcOk", "the stored CRC is that of the bytes", func(l *Line) bool { return !errors.Is(l.Frame.Damage, batch.ErrCRC) }),
		damageField,
		num("baseOffset", "", func(l *Line) int64 { return l.header().BaseOffset }),
		num("batchLength", "bytes after this field", func(l *Line) int64 { return int64(l.header().Length) }),
		num("partitionLeaderEpoch", "", func(l *Line) int64 { return int64(l.header().PartitionLeaderEpoch) }),
		num("magic", "2", func(l *Line) int64 { return int64(l.header().Magic) }),
		str("crc", "as stored, \"0x…\"", func(l *Line) string { return hex32(l.header().CRC) }),
		strMaybe("computedCrc", "where it is another one", func(l *Line) string {
			if l.Frame.Raw == nil || !errors.Is(l.Frame.Damage, batch.ErrCRC) {
				return ""
			}
			return hex32(l.Frame.Batch.ComputedCRC())
		}),
		num("attributes", "", func(l *Line) int64 { return int64(l.header().Attributes) }),
		str("codec", "none, gzip, snappy, lz4, zstd, invalid(N)", func(l *Line) string { return l.header().Attributes.Codec().String() }),
		str("timestampType", "CreateTime, LogAppendTime", func(l *Line) string { return l.header().Attributes.TimestampType().String() }),
		boolean("transactional", "", func(l *Line) bool { return l.header().Attributes.Transactional() }),
		boolean("control", "", func(l *Line) bool { return l.header().Attributes.Control() }),
		boolean("deleteHorizon", "baseTimestamp is the delete horizon", func(l *Line) bool { return l.header().Attributes.DeleteHorizon() }),
		num("lastOffsetDelta", "", func(l *Line) int64 { return int64(l.header().LastOffsetDelta) }),
		num("producerId", "-1 none", func(l *Line) int64 { return l.header().ProducerID }),
		num("producerEpoch", "-1 none", func(l *Line) int64 { return int64(l.header().ProducerEpoch) }),
		num("baseSequence", "-1 none", func(l *Line) int64 { return int64(l.header().BaseSequence) }),
		num("recordCount", "as the header counts", func(l *Line) int64 { return int64(l.header().RecordCount) }),
	},
	when("baseTimestamp", "", func(l *Line) int64 { return l.header().BaseTimestamp }),
	when("maxTimestamp", "", func(l *Line) int64 { return l.header().MaxTimestamp }),
)

// oldFields are what a record of the old formats has of what batches have today.
var oldFields = []Field{
	num("leaderEpoch", "-1: there is none", func(*Line) int64 { return -1 }),
	num("producerId", "-1: there is none", func(*Line) int64 { return -1 }),
	num("producerEpoch", "-1: there is none", func(*Line) int64 { return -1 }),
	boolean("transactional", "false", func(*Line) bool { return false }),
	boolean("control", "false", func(*Line) bool { return false }),
	num("magic", "0 or 1", func(l *Line) int64 { return int64(l.Legacy.Magic) }),
	str("codec", "of its wrapper", func(l *Line) string { return l.Legacy.Codec.String() }),
	str("timestampType", "CreateTime, LogAppendTime, NoTimestampType", func(l *Line) string { return l.Legacy.TimestampType.String() }),
	boolean("crcOk", "its own CRC and that of its wrapper verify", func(l *Line) bool { return !l.BadCRC && !errors.Is(l.Frame.Damage, batch.ErrCRC) }),
	damageField,
}

func slicesOf(lists ...[]Field) []Field {
	var out []Field
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

var damageField = strMaybe("damage", "prose; nil: none", func(l *Line) string {
	if l.Frame.Damage == nil {
		return ""
	}
	return l.Frame.Damage.Error()
})

var recordTime = when("timestamp", "", func(l *Line) int64 { return l.Record.Timestamp })

var recordFields = []Field{
	num("offset", "", func(l *Line) int64 { return l.Record.Offset }),
	bytesMaybe("key", "as text, whatever --value-format shows", func(l *Line) []byte { return l.Record.Key }),
	bytesMaybe("value", "as text; nil is a tombstone", func(l *Line) []byte { return l.Record.Value }),
	sizeOf("keySize", func(l *Line) []byte { return l.Record.Key }),
	sizeOf("valueSize", func(l *Line) []byte { return l.Record.Value }),
	hashOf("keySha256", func(l *Line) []byte { return l.Record.Key }),
	hashOf("valueSha256", func(l *Line) []byte { return l.Record.Value }),
	{Name: "headers", Type: Number, Doc: "how many; headers[\"name\"] or header(\"name\") is the value of the last one of that name, as text",
		get:   func(l *Line) value { return number(int64(len(l.Record.Headers))) },
		keyed: headerOf},
	num("sequence", "-1 none", func(l *Line) int64 { return int64(l.Record.Sequence) }),
	strMaybe("controlType", "ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, …; nil: no control record", func(l *Line) string {
		if l.Control == nil {
			return ""
		}
		return l.Control.Type.String()
	}),
	numMaybe("coordinatorEpoch", "of ABORT and COMMIT", func(l *Line) (int64, bool) {
		if l.Control == nil || l.Control.Type != batch.ControlAbort && l.Control.Type != batch.ControlCommit {
			return 0, false
		}
		return int64(l.Control.CoordinatorEpoch), true
	}),
	document("metadata", "of __cluster_metadata: metadata.type, metadata.version, metadata.data.…, as docs/json.md has them", func(l *Line) json.Marshaler { return l.Metadata }),
	document("decoded", "of internal topics: decoded.…, as docs/json.md has them", func(l *Line) json.Marshaler { return l.Decoded }),
	strMaybe("undecoded", "prose: why metadata, decoded or controlType is missing", func(l *Line) string { return l.Why }),
}

func sizeOf(name string, of func(l *Line) []byte) Field {
	return renamed("(--value-format redacted)", numMaybe(name, "bytes", func(l *Line) (int64, bool) {
		b := of(l)
		return int64(len(b)), b != nil
	}))
}

func hashOf(name string, of func(l *Line) []byte) Field {
	return renamed("(--value-format redacted)", strMaybe(name, "in hex", func(l *Line) string {
		b := of(l)
		if b == nil {
			return ""
		}
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}))
}

// headerOf is the value of the last header of a name, as Kafka's Headers.lastHeader gives it.
func headerOf(l *Line, key string) value {
	for i := len(l.Record.Headers) - 1; i >= 0; i-- {
		if h := &l.Record.Headers[i]; h.Key == key {
			return value{s: string(h.Value), ok: h.Value != nil}
		}
	}
	return absent
}

// document is something that is decoded to an object of JSON, read only if a path into it is
// asked for.
func document(name, doc string, of func(l *Line) json.Marshaler) Field {
	return Field{Name: name, Type: Open, Maybe: true, Doc: doc,
		open: func(l *Line, _ Type) value { return value{ok: of(l) != nil} },
		inside: func(l *Line) any {
			m := of(l)
			if m == nil {
				return nil
			}
			b, err := m.MarshalJSON()
			if err != nil {
				return nil
			}
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			var v any
			if d.Decode(&v) != nil {
				return nil
			}
			return v
		}}
}

// stretch are the fields of a stretch of a file that is no batch of format 2; kind "" has that
// of the frame.
func stretch(kind string) []Field {
	return []Field{
		str("kind", "legacy, zeros, torn, junk, embedded", func(l *Line) string {
			if kind != "" {
				return kind
			}
			return l.Frame.Kind.String()
		}),
		num("position", "of its first byte", func(l *Line) int64 { return l.Frame.Pos }),
		num("length", "bytes", func(l *Line) int64 { return l.Frame.Len }),
		damageField,
	}
}

var legacyFields = []Field{
	num("from", "its offset; of a wrapper that of the last message in it", func(l *Line) int64 { return l.Frame.Legacy.Offset }),
	num("to", "from + 1", func(l *Line) int64 { return l.Frame.Legacy.Offset + 1 }),
	num("magic", "0 or 1", func(l *Line) int64 { return int64(l.Frame.Legacy.Magic) }),
	str("codec", "", func(l *Line) string { return l.Frame.Legacy.Codec().String() }),
	str("crc", "as stored, \"0x…\"", func(l *Line) string { return hex32(l.Frame.Legacy.CRC) }),
	boolean("crcOk", "", func(l *Line) bool { return l.Frame.Damage == nil }),
	strMaybe("timestampType", "of format 1", func(l *Line) string {
		if l.Frame.Legacy.Magic == 0 {
			return ""
		}
		return l.Frame.Legacy.TimestampType().String()
	}),
}

var legacyTime = when("timestamp", "of format 1", func(l *Line) int64 { return l.Frame.Legacy.Timestamp })

var embeddedFields = []Field{
	num("from", "", func(l *Line) int64 { return l.header().BaseOffset }),
	num("to", "", func(l *Line) int64 { return l.header().NextOffset() }),
	num("leaderEpoch", "", func(l *Line) int64 { return int64(l.header().PartitionLeaderEpoch) }),
	num("magic", "", func(l *Line) int64 { return int64(l.header().Magic) }),
	str("codec", "", func(l *Line) string { return l.header().Attributes.Codec().String() }),
	str("crc", "as stored, \"0x…\"", func(l *Line) string { return hex32(l.header().CRC) }),
}

// KindOfFrame tells which kind of line a frame is.
func KindOfFrame(f *segment.Frame) *Kind {
	switch {
	case f.Kind == segment.Batch:
		return Batch
	case f.Kind == segment.Legacy, f.Kind == segment.Embedded && f.Batch.Raw == nil && f.Batch.Length == 0:
		return Message
	case f.Kind == segment.Embedded:
		return Embedded
	}
	return Stretch
}
