package schema

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"kafsck/internal/javatext"
)

// redacted stands for the value of a secret field.
const redacted = "(redacted)"

// AppendJSON appends the struct as Kafka's generated JsonConverter classes write
// it, which is also what kafka-dump-log shows: fields in schema order, those that
// the version lacks and tagged ones with their default value left out, bytes in
// base64, ids in Kafka's text form. Secret fields are replaced; tags that the table
// does not know are not shown.
func (s *Struct) AppendJSON(b []byte) []byte { return s.appendJSON(b, false) }

// AppendPlainJSON is AppendJSON with secret fields as they are: byte for byte what
// kafka-dump-log shows.
func (s *Struct) AppendPlainJSON(b []byte) []byte { return s.appendJSON(b, true) }

func (s *Struct) appendJSON(b []byte, secrets bool) []byte {
	b = append(b, '{')
	first := true
	for i := range s.fields {
		f := &s.fields[i]
		if i >= len(s.values) || !s.values[i].present || f.Tagged && s.values[i].isDefault(f) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(b, f.Name)
		b = append(b, ':')
		b = s.values[i].appendJSON(b, f, secrets)
	}
	return append(b, '}')
}

// MarshalJSON is AppendJSON.
func (s Struct) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

func (v *value) isDefault(f *Field) bool {
	if v.null || f.Null {
		return v.null && f.Null
	}
	if f.Array || f.Type == String || f.Type == Bytes {
		return len(v.raw) == 0 && len(v.list) == 0 && len(v.structs) == 0
	}
	if f.Type == UUID {
		return uuid(v.raw).IsZero()
	}
	return f.Type != Nested && v.n == f.Default
}

func (v *value) appendJSON(b []byte, f *Field, secrets bool) []byte {
	if f.Secret && !secrets {
		return appendString(b, redacted)
	}
	if v.null {
		return append(b, "null"...)
	}
	if !f.Array {
		if f.Type == Nested {
			return v.structs[0].appendJSON(b, secrets)
		}
		return appendScalar(b, f.Type, v.n, v.raw)
	}
	b = append(b, '[')
	comma := func(i int) {
		if i > 0 {
			b = append(b, ',')
		}
	}
	for i := range v.structs {
		comma(i)
		b = v.structs[i].appendJSON(b, secrets)
	}
	for i, raw := range v.list {
		comma(i)
		b = appendScalar(b, f.Type, 0, raw)
	}
	if w := int(f.Type.width()); w > 0 {
		for i := range int(v.n) {
			comma(i)
			element := v.raw[i*w : (i+1)*w]
			b = appendScalar(b, f.Type, number(f.Type, element), element)
		}
	}
	return append(b, ']')
}

// number reads one element of an array of a fixed-size type.
func number(t Type, b []byte) int64 {
	switch t {
	case Bool:
		if b[0] != 0 {
			return 1
		}
		return 0
	case Int8:
		return int64(int8(b[0]))
	case Int16:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case Uint16:
		return int64(binary.BigEndian.Uint16(b))
	case Int32:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case Int64, Float64:
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func appendScalar(b []byte, t Type, n int64, raw []byte) []byte {
	switch t {
	case Bool:
		return strconv.AppendBool(b, n != 0)
	case Float64:
		f := math.Float64frombits(uint64(n))
		if math.IsNaN(f) || math.IsInf(f, 0) { // no JSON number; Jackson quotes them
			b = append(b, '"')
			return append(javatext.AppendDouble(b, f), '"')
		}
		return javatext.AppendDouble(b, f)
	case UUID:
		return appendString(b, uuid(raw).String())
	case String:
		return javatext.AppendJSON(b, raw)
	case Bytes:
		return appendString(b, base64.StdEncoding.EncodeToString(raw))
	}
	return strconv.AppendInt(b, n, 10)
}

func appendString(b []byte, s string) []byte { return javatext.AppendJSON(b, []byte(s)) }
