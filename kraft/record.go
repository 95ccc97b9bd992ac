package kraft

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// leaderUnchanged is the default of the leader field of PartitionChangeRecord;
// -1 there means that the partition has no leader any more.
const leaderUnchanged = -2

var (
	// ErrFrameVersion: the record has another framing than the only one that Kafka
	// releases since 3.0 read; 0 is that of the 2.8 preview.
	ErrFrameVersion = errors.New("unsupported frame version")
	// ErrVersion: the type is known, and this version of it is not.
	ErrVersion = schema.ErrVersion
	// ErrUnknownType: no release up to 4.3 writes this apiKey.
	ErrUnknownType = errors.New("unknown record type")
)

// Record is one decoded metadata record. It borrows from the value it was read from.
type Record struct {
	APIKey  uint32
	Version uint32 // of the record; may be newer than the newest known one, see DecodeRecord

	kind *recordType
	body schema.Struct
}

// DecodeRecord decodes the value of a metadata record (AbstractApiMessageSerde.read).
//
//	| frame version, uvarint = 1 | apiKey, uvarint | version, uvarint | message |
//
// A version newer than the newest known is read like that one, and accepted only if it
// fits to the last byte: Kafka has only ever added tagged fields.
//
// The error wraps ErrFrameVersion or ErrUnknownType (then APIKey and Version are those
// read), or is a *wire.Error with a position in value. No bytes may follow the message.
func DecodeRecord(value []byte) (Record, error) {
	var rec Record
	r := wire.Make(value)
	frame := r.Uvarint()
	if r.Err() == nil && frame != 1 {
		return rec, fmt.Errorf("%w %d", ErrFrameVersion, frame)
	}
	rec.APIKey, rec.Version = r.Uvarint(), r.Uvarint()
	if err := r.Err(); err != nil {
		return rec, err
	}
	kind, known := recordTypes[rec.APIKey]
	if !known {
		return rec, fmt.Errorf("%w: apiKey %d", ErrUnknownType, rec.APIKey)
	}
	if rec.Version > math.MaxInt16 {
		return rec, fmt.Errorf("%s version %d: %w", kind.message.Name, rec.Version, schema.ErrVersion)
	}
	rec.kind = kind
	body := r
	var err error
	if rec.body, err = decodeWhole(&r, &kind.message, rec.Version); err != nil && rec.APIKey == keyFeatureLevel {
		old, oldErr := decodeWhole(&body, &featureRange, rec.Version)
		if oldErr == nil {
			rec.body, err = old, nil
		}
	}
	if err == nil && rec.APIKey == keyConfig && secretConfig(rec.body.Text("name")) && !rec.body.IsNull("value") {
		rec.body, err = decodeWhole(&body, &secretConfigRecord, rec.Version)
	}
	return rec, err
}

func decodeWhole(r *wire.Reader, m *schema.Message, version uint32) (schema.Struct, error) {
	body, err := schema.Decode(r, m, min(int16(version), m.Max))
	if err == nil && r.Remaining() != 0 {
		r.Fail(strconv.FormatInt(r.Remaining(), 10) + " bytes behind the message")
		err = r.Err()
	}
	return body, err
}

// Type is the type's name as kafka-dump-log shows it, TOPIC_RECORD, or UNKNOWN(n).
func (r *Record) Type() string { return TypeName(r.APIKey) }

// TypeName is the name of the record type with that apiKey.
func TypeName(apiKey uint32) string {
	if t, ok := recordTypes[apiKey]; ok {
		return t.name
	}
	return "UNKNOWN(" + strconv.FormatUint(uint64(apiKey), 10) + ")"
}

// MarshalJSON writes the record as kafka-dump-log --cluster-metadata-decoder does, with
// secrets replaced:
//
//	{"type":"TOPIC_RECORD","version":0,"data":{"name":"foo","topicId":"hF7bEvJ3TEm5wvFBX5mlPw"}}
func (r Record) MarshalJSON() ([]byte, error) {
	b := append([]byte(`{"type":"`), r.Type()...)
	b = append(b, `","version":`...)
	b = strconv.AppendUint(b, uint64(r.Version), 10)
	b = append(b, `,"data":`...)
	return append(r.AppendData(b), '}'), nil
}

// AppendData appends the fields of the record as a JSON object, secrets replaced.
func (r *Record) AppendData(b []byte) []byte { return r.body.AppendJSON(b) }
