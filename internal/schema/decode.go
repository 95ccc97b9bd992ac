package schema

import (
	"errors"
	"fmt"

	"kafsck/internal/wire"
)

// maxValues caps the fields and elements of one message. The largest that Kafka
// writes, a consumer group with all its members, has some ten thousand.
const maxValues = 1 << 19

// maxDepth caps how deep structs nest; Kafka's tables need four.
const maxDepth = 16

// ErrVersion says that the table does not know the version asked for.
var ErrVersion = errors.New("unknown version")

// Tagged is a tagged field that the table does not know.
type Tagged struct {
	Tag     uint32
	Payload []byte
}

// Struct is a decoded message or nested struct. It borrows from the bytes it was
// read from. Its accessors take the name of a field in the table and panic if
// there is none with that name and kind.
type Struct struct {
	fields  []Field
	version int16
	values  []value  // parallel to fields
	Unknown []Tagged // in wire order
}

type value struct {
	present bool // was on the wire
	null    bool
	n       int64 // number, truth value, bits of a float64; number of elements of a fixed-size type
	raw     []byte
	list    [][]byte // elements of an array of strings or bytes
	structs []Struct // elements of an array of structs, or the one struct
}

// Decode reads one message of the version given. r stands behind it afterwards, and
// what remains is the caller's to judge. The error is ErrVersion (wrapped), or the
// *wire.Error of r.
func Decode(r *wire.Reader, m *Message, version int16) (Struct, error) {
	if version < 0 || version > m.Max {
		return Struct{}, fmt.Errorf("%s version %d: %w", m.Name, version, ErrVersion)
	}
	d := decoder{r: r, version: version, flexible: version >= m.FlexibleSince, budget: maxValues}
	s := d.structure(m.Fields)
	return s, r.Err()
}

type decoder struct {
	r        *wire.Reader
	version  int16
	flexible bool
	budget   int
	depth    int
}

func (d *decoder) ok() bool { return d.r.Err() == nil }

// spend counts values against the cap, before they are allocated.
func (d *decoder) spend(n int) bool {
	if n > d.budget {
		d.r.Fail(fmt.Sprintf("more than %d values in one message", maxValues))
		return false
	}
	d.budget -= n
	return true
}

func (d *decoder) structure(fields []Field) Struct {
	s := Struct{fields: fields, version: d.version}
	if d.depth++; d.depth > maxDepth {
		d.r.Fail("structs nest too deep")
	}
	defer func() { d.depth-- }()
	if !d.ok() || !d.spend(len(fields)+1) {
		return s
	}
	s.values = make([]value, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Tagged {
			s.values[i] = defaultOf(f)
			continue
		}
		if !f.in(d.version) {
			s.values[i] = defaultOf(f)
			continue
		}
		if s.values[i] = d.field(f, false); !d.ok() {
			return s
		}
	}
	if d.flexible {
		d.tags(&s)
	}
	return s
}

func defaultOf(f *Field) value {
	return value{null: f.Null, n: f.defaultNumber()}
}

// defaultNumber is 0 for arrays: there n is the number of elements.
func (f *Field) defaultNumber() int64 {
	if f.Array {
		return 0
	}
	return f.Default
}

func (d *decoder) tags(s *Struct) {
	for n := d.r.Uvarint(); n > 0 && d.ok(); n-- {
		tag := d.r.Uvarint()
		size := int64(d.r.Uvarint())
		if !d.ok() {
			return
		}
		i := s.tagged(tag)
		if i >= 0 {
			// Kafka's generated readers do not look at the size of a tag that they know.
			s.values[i] = d.field(&s.fields[i], true)
			continue
		}
		if size > d.r.Remaining() {
			d.r.Fail(fmt.Sprintf("tag %d: %d bytes needed, %d left", tag, size, d.r.Remaining()))
			return
		}
		if d.spend(1) {
			s.Unknown = append(s.Unknown, Tagged{tag, d.r.Bytes(size)})
		}
	}
}

func (s *Struct) tagged(tag uint32) int {
	for i := range s.fields {
		if f := &s.fields[i]; f.Tagged && f.Tag == tag && f.in(s.version) {
			return i
		}
	}
	return -1
}

func (d *decoder) field(f *Field, inTag bool) value {
	v := value{present: true}
	switch {
	case f.Array:
		d.array(f, &v)
	case f.Type == String || f.Type == Bytes:
		v.raw, v.null = d.bytes(f.Type, f.Name, f.Nullable)
	case f.Type == Nested:
		if f.Nullable && d.nullStruct(inTag) {
			v.null = true
		} else {
			v.structs = []Struct{d.structure(f.Fields)}
		}
	case f.Type == UUID:
		v.raw = d.r.Bytes(16)
	default:
		v.n = d.number(f.Type)
	}
	return v
}

func (d *decoder) nullStruct(inTag bool) bool {
	if inTag {
		return d.r.Uvarint() == 0
	}
	return d.r.Int8() < 0
}

func (d *decoder) number(t Type) int64 {
	switch t {
	case Bool:
		if d.r.Bool() {
			return 1
		}
		return 0
	case Int8:
		return int64(d.r.Int8())
	case Int16:
		return int64(d.r.Int16())
	case Uint16:
		return int64(d.r.Uint16())
	case Int32:
		return int64(d.r.Int32())
	}
	return d.r.Int64() // Int64, and the bits of Float64
}

// length reads a length or count; null is -1.
func (d *decoder) length(short, nullable bool, name string) int64 {
	var n int64
	switch {
	case d.flexible:
		n = int64(d.r.Uvarint()) - 1
	case short:
		n = int64(d.r.Int16())
	default:
		n = int64(d.r.Int32())
	}
	switch {
	case !d.ok():
		return -1
	case n < -1:
		d.r.Fail(fmt.Sprintf("%s: negative length %d", name, n))
	case n == -1 && !nullable:
		d.r.Fail(name + " is null and must not be")
	case n > d.r.Remaining():
		d.r.Fail(fmt.Sprintf("%s: length %d, %d bytes left", name, n, d.r.Remaining()))
	default:
		return n
	}
	return -1
}

func (d *decoder) bytes(t Type, name string, nullable bool) (b []byte, null bool) {
	n := d.length(t == String, nullable, name)
	if n < 0 {
		return nil, true
	}
	return d.r.Bytes(n), false
}

func (d *decoder) array(f *Field, v *value) {
	n := d.length(false, f.Nullable, f.Name)
	if n < 0 {
		v.null = true
		return
	}
	if w := f.Type.width(); w > 0 {
		if v.raw = d.r.Bytes(n * w); d.ok() { // n ≤ what remains: no overflow
			v.n = n
		}
		return
	}
	for range n {
		if !d.ok() || !d.spend(1) {
			return
		}
		if f.Type == Nested {
			v.structs = append(v.structs, d.structure(f.Fields))
		} else {
			b, _ := d.bytes(f.Type, f.Name, false)
			v.list = append(v.list, b)
		}
	}
}
