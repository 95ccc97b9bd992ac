package schema

import "math"

// Type is the type of a field, or of the elements of an array.
type Type uint8

// The types of Kafka's schemas.
const (
	Bool Type = iota // 1 byte, 0 = false
	Int8             // and so on: big endian
	Int16
	Uint16
	Int32
	Int64
	Float64 // IEEE 754
	UUID    // 16 bytes
	String  // UTF-8, not verified
	Bytes
	Nested // a struct
)

// width is the size in bytes of a type of fixed size, else 0.
func (t Type) width() int64 {
	switch t {
	case Bool, Int8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32:
		return 4
	case Int64, Float64:
		return 8
	case UUID:
		return 16
	}
	return 0
}

// Field describes one field of a message or struct.
type Field struct {
	Name     string // as in Kafka's JSON: brokerId
	Type     Type
	Array    bool    // an array of Type
	Fields   []Field // of Nested
	Since    int16   // first version with the field, inclusive
	Before   int16   // first version without it again; 0 = none
	Nullable bool    // null may be on the wire

	Tagged  bool   // in the tag section
	Tag     uint32 // its tag
	Default int64  // of an absent tagged number; strings, bytes and arrays are empty
	Null    bool   // the default is null instead
	Secret  bool   // not to be shown (keys, salts)
}

func (f *Field) in(version int16) bool {
	return version >= f.Since && (f.Before == 0 || version < f.Before)
}

// Never is the FlexibleSince of a message without a flexible version.
const Never = math.MaxInt16

// Message describes a message: a struct with versions.
type Message struct {
	Name          string // as in Kafka's schemas: RegisterBrokerRecord
	Max           int16  // newest version in the table; the oldest is 0
	FlexibleSince int16  // first version with the flexible encoding
	Fields        []Field
}
