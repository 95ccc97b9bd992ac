package internaltopic

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// Topic is one of Kafka's own topics.
type Topic uint8

// The topics that this package reads.
const (
	ConsumerOffsets Topic = iota + 1
	TransactionState
	ShareGroupState
	RemoteLogMetadata
)

var topicNames = map[Topic]string{
	ConsumerOffsets:   "__consumer_offsets",
	TransactionState:  "__transaction_state",
	ShareGroupState:   "__share_group_state",
	RemoteLogMetadata: "__remote_log_metadata",
}

// TopicOf finds the topic of that name.
func TopicOf(name string) (t Topic, ok bool) {
	for t, n := range topicNames {
		if n == name {
			return t, true
		}
	}
	return 0, false
}

// String is the topic's name.
func (t Topic) String() string { return topicNames[t] }

// Why a record is not decoded.
var (
	// ErrNoKey: the record has no key, and the topic's records have one.
	ErrNoKey = errors.New("record without a key")
	// ErrUnknownType: no table has this type of key, or apiKey.
	ErrUnknownType = errors.New("unknown record type")
	// ErrNoValue: a record of __remote_log_metadata without a value.
	ErrNoValue = errors.New("record without a value")
	// ErrFrameVersion: a value of __remote_log_metadata framed in another way.
	ErrFrameVersion = errors.New("unsupported frame version")
	// ErrVersion: the type is known, and this version of it is not.
	ErrVersion = schema.ErrVersion
)

// Record is one decoded record. It borrows from the key and value it was read from.
type Record struct {
	Topic Topic
	// Type is the type of the key, or the apiKey of a value of __remote_log_metadata; -1
	// unknown. Name is what Kafka calls it, such as "OffsetCommit"; "" unknown.
	Type int16
	Name string
	// Version is that of the value, -1 without one.
	Version   int16
	Tombstone bool // there is a key, and the value is null
	// RawKey and RawValue are the bytes as given; nil is null.
	RawKey, RawValue []byte
	// Err says why the key or the value is not decoded; nil if all is. It wraps ErrNoKey,
	// ErrUnknownType, ErrNoValue, ErrFrameVersion, schema.ErrVersion, or is a *wire.Error
	// with a position in the key or value.
	Err error
	// KeyDecoded: the key is, whatever became of the value.
	KeyDecoded bool

	key, value schema.Struct
}

// Decode decodes a record of the topic. It never fails: Err says what is not decoded.
func (t Topic) Decode(key, value []byte) Record {
	rec := Record{Topic: t, Type: -1, Version: -1, RawKey: key, RawValue: value}
	if t == RemoteLogMetadata {
		rec.framed(value)
		return rec
	}
	if key == nil {
		rec.Err = ErrNoKey
		return rec
	}
	rec.Tombstone = value == nil
	r := wire.Make(key)
	typ := r.Int16()
	if rec.Err = r.Err(); rec.Err != nil {
		rec.Err = fmt.Errorf("key: %w", rec.Err)
		return rec
	}
	rec.Type = typ
	kind := t.types()[typ]
	if kind == nil {
		rec.Err = fmt.Errorf("%w: key type %d", ErrUnknownType, typ)
		return rec
	}
	rec.Name = kind.name
	if rec.key, rec.Err = whole(r, &kind.key, 0); rec.Err != nil {
		rec.Err = fmt.Errorf("%s: %w", kind.key.Name, rec.Err)
		return rec
	}
	rec.KeyDecoded = true
	if !rec.Tombstone {
		rec.versioned(kind, value)
	}
	return rec
}

func (t Topic) types() map[int16]*recordType {
	switch t {
	case ConsumerOffsets:
		return groupTypes
	case TransactionState:
		return transactionTypes
	case ShareGroupState:
		return shareTypes
	}
	return remoteTypes
}

// versioned reads a value that begins with its version.
func (rec *Record) versioned(kind *recordType, value []byte) {
	r := wire.Make(value)
	version := r.Int16()
	if r.Err() != nil {
		rec.Err = fmt.Errorf("%s: %w", kind.value.Name, r.Err())
		return
	}
	rec.Version = version
	if rec.value, rec.Err = whole(r, &kind.value, version); rec.Err != nil {
		for i := range kind.older {
			if older, err := whole(r, &kind.older[i], version); err == nil {
				rec.value, rec.Err = older, nil
				return
			}
		}
		rec.Err = fmt.Errorf("%s: %w", kind.value.Name, rec.Err)
	}
}

// framed reads a value of __remote_log_metadata (RemoteLogMetadataSerde, a
// BytesApiMessageSerde):
//
//	| frame version, uvarint = 1 | apiKey, uvarint | version, uvarint | message |
func (rec *Record) framed(value []byte) {
	if value == nil {
		rec.Err = ErrNoValue
		return
	}
	r := wire.Make(value)
	frame := r.Uvarint()
	if r.Err() == nil && frame != 1 {
		rec.Err = fmt.Errorf("%w %d", ErrFrameVersion, frame)
		return
	}
	api, version := r.Uvarint(), r.Uvarint()
	if rec.Err = r.Err(); rec.Err != nil {
		return
	}
	kind := remoteTypes[int16(min(api, math.MaxInt16))]
	if kind == nil {
		rec.Err = fmt.Errorf("%w: apiKey %d", ErrUnknownType, api)
		return
	}
	rec.Type, rec.Name, rec.KeyDecoded = int16(api), kind.name, true
	if version > math.MaxInt16 {
		rec.Err = fmt.Errorf("%s version %d: %w", kind.value.Name, version, schema.ErrVersion)
		return
	}
	rec.Version = int16(version)
	if rec.value, rec.Err = whole(r, &kind.value, rec.Version); rec.Err != nil {
		rec.Err = fmt.Errorf("%s: %w", kind.value.Name, rec.Err)
	}
}

// whole reads a message that must fill what is left of r.
func whole(r wire.Reader, m *schema.Message, version int16) (schema.Struct, error) {
	body, err := schema.Decode(&r, m, version)
	if err == nil && r.Remaining() != 0 {
		r.Fail(strconv.FormatInt(r.Remaining(), 10) + " bytes behind the message")
		err = r.Err()
	}
	return body, err
}

// hasValue reports whether a value was decoded.
func (rec *Record) hasValue() bool { return rec.Err == nil && !rec.Tombstone }

// is reports whether the key is decoded and of one of these types.
func (rec *Record) is(topic Topic, types ...int16) bool {
	if rec.Topic != topic || !rec.KeyDecoded {
		return false
	}
	for _, t := range types {
		if rec.Type == t {
			return true
		}
	}
	return false
}
