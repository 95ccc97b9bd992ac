package report

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kafsck/batch"
	"kafsck/internal/javatext"
	"kafsck/internal/wire"
	"kafsck/internaltopic"
	"kafsck/kraft"
)

// KafkaParser makes text of keys and values. It is one of those of kafka-dump-log: a decoder for
// keys and one for values, or that of one of Kafka's own topics.
type KafkaParser struct {
	Key, Value KafkaDecoder
	Topic      internaltopic.Topic // 0: none
	Metadata   bool                // --cluster-metadata-decoder
}

// KafkaDecoder is a class that implements org.apache.kafka.tools.api.Decoder.
type KafkaDecoder string

// The decoders in Kafka's own jars, all of org.apache.kafka.tools.api.
const (
	StringDecoder  KafkaDecoder = "StringDecoder"
	IntegerDecoder KafkaDecoder = "IntegerDecoder"
	LongDecoder    KafkaDecoder = "LongDecoder"
	// DefaultDecoder hands on the bytes. Kafka prints the address of the array, [B@1b2c3d4,
	// another one each time; here they are in base64.
	DefaultDecoder KafkaDecoder = "DefaultDecoder"
)

// KafkaDecoders are all of them.
var KafkaDecoders = []KafkaDecoder{StringDecoder, IntegerDecoder, LongDecoder, DefaultDecoder}

func (d KafkaDecoder) append(b, raw []byte) []byte {
	switch d {
	case IntegerDecoder:
		return strconv.AppendInt(b, int64(int32(binary.BigEndian.Uint32(raw))), 10)
	case LongDecoder:
		return strconv.AppendInt(b, int64(binary.BigEndian.Uint64(raw)), 10)
	case DefaultDecoder:
		return base64.StdEncoding.AppendEncode(b, raw)
	}
	return javatext.AppendUTF8(b, raw)
}

// refuses tells why a class throws: too few bytes. More than it needs are ignored.
func (d KafkaDecoder) refuses(what string, raw []byte) error {
	need := 0
	switch d {
	case IntegerDecoder:
		need = 4
	case LongDecoder:
		need = 8
	}
	if raw == nil || len(raw) >= need {
		return nil
	}
	return fmt.Errorf("%s needs %d bytes, the %s has %d", d, need, what, len(raw))
}

var errMissingKey = errors.New("the record has no key, and records of this topic have one")

// append writes " key: … payload: …" the way Kafka does. With an error nothing was written.
func (p *KafkaParser) append(b []byte, prefix string, r *batch.Record) ([]byte, error) {
	switch {
	case p.Metadata:
		b = append(append(b, prefix...), "payload: "...)
		return appendMetadata(b, r), nil
	case p.Topic == internaltopic.RemoteLogMetadata:
		b = append(append(b, prefix...), "payload: "...)
		return appendRemote(b, r), nil
	case p.Topic != 0 && r.Key == nil:
		return b, errMissingKey
	case p.Topic != 0:
		return appendCoordinator(append(append(b, prefix...), "key: "...), p.Topic, r), nil
	}
	if err := p.Key.refuses("key", r.Key); err != nil {
		return b, err
	}
	if err := p.Value.refuses("value", r.Value); err != nil {
		return b, err
	}
	if r.Key != nil {
		b = append(append(b, prefix...), "key: "...)
		b = p.Key.append(b, r.Key)
		prefix = " "
	}
	if r.Value != nil {
		b = append(append(b, prefix...), "payload: "...)
		b = p.Value.append(b, r.Value)
	}
	return b, nil
}

// appendCoordinator is the text of a record of __consumer_offsets, __transaction_state or
// __share_group_state (CoordinatorRecordMessageParser).
func appendCoordinator(b []byte, topic internaltopic.Topic, r *batch.Record) []byte {
	rec := topic.DecodeAsKafka(r.Key, r.Value)
	switch {
	case errors.Is(rec.Err, internaltopic.ErrUnknownType):
		b = field(b, "Unknown record type ", int64(rec.Type))
		return append(field(b, " at offset ", r.Offset), ", skipping."...)
	case rec.Err != nil:
		b = field(b, "Error at offset ", r.Offset)
		return append(append(b, ", skipping. "...), coordinatorError(&rec)...)
	}
	b = append(rec.AppendKeyJSON(b), " payload: "...)
	if rec.Tombstone {
		return append(b, "<DELETE>"...)
	}
	return rec.AppendValueJSON(b)
}

// coordinatorError is what Kafka says of a record that it cannot read (CoordinatorRecordSerde).
func coordinatorError(rec *internaltopic.Record) string {
	part, raw, version := "value", rec.RawValue, rec.Version
	if !rec.KeyDecoded {
		part, raw, version = "key", rec.RawKey, rec.Type
	}
	if len(raw) < 2 {
		return "Could not read version from " + part + "'s buffer."
	}
	return fmt.Sprintf("Could not read record with version %d from %s's buffer due to: %s.", version, part, kafkaSays(rec.Err))
}

// kafkaSays is the message of the exception that Kafka's generated readers throw for what ours
// refuse: none where the bytes end (BufferUnderflowException), one that names the field where it
// is null. The rest is in our words.
func kafkaSays(err error) string {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return err.Error()
	}
	field, _, _ := strings.Cut(e.What, ": negative length ")
	if field != e.What {
		return "non-nullable field " + field + " was serialized as null"
	}
	if field, ok = strings.CutSuffix(e.What, " is null and must not be"); ok {
		return "non-nullable field " + field + " was serialized as null"
	}
	if strings.Contains(e.What, " needed, ") {
		return "null"
	}
	return e.What
}

// appendMetadata is the text of a metadata record (ClusterMetadataLogMessageParser).
func appendMetadata(b []byte, r *batch.Record) []byte {
	m, err := kraft.DecodeRecord(r.Value)
	if err == nil {
		if err = m.Exact(); err == nil {
			return m.AppendKafkaJSON(b)
		}
	}
	b = field(b, "Error at ", r.Offset)
	return append(append(b, ", skipping. "...), metadataError(r.Value, m.APIKey, err)...)
}

func metadataError(value []byte, apiKey uint32, err error) string {
	if value == nil {
		return `Cannot invoke "java.nio.ByteBuffer.get()" because "this.buf" is null`
	}
	w := wire.Make(value)
	switch frame := w.Uvarint(); {
	case w.Err() != nil:
		return "Error while reading frame version"
	case frame == 0:
		return "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft in 2.8 to newer versions are not supported."
	case frame != 1:
		return fmt.Sprintf("Could not deserialize metadata record due to unknown frame version %d(only frame version 1 is supported)", int32(frame))
	case errors.Is(err, kraft.ErrUnknownType) && apiKey <= math.MaxInt16:
		return fmt.Sprintf("Unknown metadata id %d", apiKey)
	}
	return fmt.Sprintf("Failed to deserialize record with type %d", apiKey)
}

// appendRemote is the text of a record of __remote_log_metadata (RemoteMetadataLogMessageParser).
func appendRemote(b []byte, r *batch.Record) []byte {
	rec := internaltopic.RemoteLogMetadata.Decode(r.Key, r.Value)
	if e, ok := rec.RemoteEvent(); ok {
		return append(b, e.String()...)
	}
	b = field(b, "Error at offset ", r.Offset)
	return append(append(b, ", skipping. "...), rec.Err.Error()...)
}
