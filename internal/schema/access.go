package schema

import (
	"encoding/binary"
	"math"

	"kafsck/internal/wire"
)

// get finds a field; a name that is not in the table is a mistake in our code.
func (s *Struct) get(name string) (*Field, *value) {
	for i := range s.fields {
		if s.fields[i].Name == name {
			if s.values == nil {
				return &s.fields[i], &value{}
			}
			return &s.fields[i], &s.values[i]
		}
	}
	panic("schema: no field " + name)
}

func (s *Struct) scalar(name string, types ...Type) (*Field, *value) {
	f, v := s.get(name)
	for _, t := range types {
		if f.Type == t && !f.Array {
			return f, v
		}
	}
	panic("schema: field " + name + " has another type")
}

func (s *Struct) elements(name string, t Type) *value {
	f, v := s.get(name)
	if f.Type != t || !f.Array {
		panic("schema: field " + name + " has another type")
	}
	return v
}

// Version is the version that was decoded.
func (s *Struct) Version() int16 { return s.version }

// Has reports whether the field was on the wire.
func (s *Struct) Has(name string) bool {
	_, v := s.get(name)
	return v.present
}

// IsNull reports whether the field is null, on the wire or by default.
func (s *Struct) IsNull(name string) bool {
	_, v := s.get(name)
	return v.null
}

// Int is the value of an integer field.
func (s *Struct) Int(name string) int64 {
	_, v := s.scalar(name, Int8, Int16, Uint16, Int32, Int64)
	return v.n
}

// Int32 is the value of an Int32 field.
func (s *Struct) Int32(name string) int32 {
	_, v := s.scalar(name, Int32)
	return int32(v.n)
}

// Bool is the value of a Bool field.
func (s *Struct) Bool(name string) bool {
	_, v := s.scalar(name, Bool)
	return v.n != 0
}

// Float is the value of a Float64 field.
func (s *Struct) Float(name string) float64 {
	_, v := s.scalar(name, Float64)
	return math.Float64frombits(uint64(v.n))
}

// UUID is the value of a UUID field, zero if it was not on the wire.
func (s *Struct) UUID(name string) wire.UUID {
	_, v := s.scalar(name, UUID)
	return uuid(v.raw)
}

// Text is the value of a String field, copied; empty if null.
func (s *Struct) Text(name string) string {
	_, v := s.scalar(name, String)
	return string(v.raw)
}

// Bytes is the value of a Bytes field, borrowed; nil if null.
func (s *Struct) Bytes(name string) []byte {
	_, v := s.scalar(name, Bytes)
	return v.raw
}

// Struct is the value of a Nested field; ok is false if it is null or absent.
func (s *Struct) Struct(name string) (v Struct, ok bool) {
	_, field := s.scalar(name, Nested)
	if len(field.structs) == 0 {
		return Struct{}, false
	}
	return field.structs[0], true
}

// Int32s are the elements of an array of Int32, copied; nil if null, else not nil.
func (s *Struct) Int32s(name string) []int32 {
	v := s.elements(name, Int32)
	if v.null {
		return nil
	}
	out := make([]int32, v.n)
	for i := range out {
		out[i] = int32(binary.BigEndian.Uint32(v.raw[4*i:]))
	}
	return out
}

// RawInt32s are the same elements as they stand on the wire, four bytes each,
// borrowed; nil if null.
func (s *Struct) RawInt32s(name string) []byte {
	v := s.elements(name, Int32)
	if v.null {
		return nil
	}
	return v.raw[: 4*v.n : 4*v.n]
}

// UUIDs are the elements of an array of UUID, copied; nil if null, else not nil.
func (s *Struct) UUIDs(name string) []wire.UUID {
	v := s.elements(name, UUID)
	if v.null {
		return nil
	}
	out := make([]wire.UUID, v.n)
	for i := range out {
		out[i] = uuid(v.raw[16*i:])
	}
	return out
}

// Texts are the elements of an array of String, copied; nil if null, else not nil.
func (s *Struct) Texts(name string) []string {
	v := s.elements(name, String)
	if v.null {
		return nil
	}
	out := make([]string, len(v.list))
	for i := range out {
		out[i] = string(v.list[i])
	}
	return out
}

// Structs are the elements of an array of structs; nil if null or empty.
func (s *Struct) Structs(name string) []Struct {
	return s.elements(name, Nested).structs
}

func uuid(b []byte) (u wire.UUID) {
	copy(u[:], b)
	return u
}

// Names reports whether the table has a field of that name, in whatever version.
func (s *Struct) Names(name string) bool {
	for i := range s.fields {
		if s.fields[i].Name == name {
			return true
		}
	}
	return false
}
