package wire

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFixedWidth(t *testing.T) {
	r := New(unhex(t, "ff"+"01"+"8000"+"fffe"+"80000000"+"fffffffe"+"0000018bcfe56800"+"3ff8000000000000"+"00"))
	if v := r.Int8(); v != -1 {
		t.Errorf("Int8 = %d", v)
	}
	if v := r.Bool(); !v {
		t.Errorf("Bool = %v", v)
	}
	if v := r.Int16(); v != math.MinInt16 {
		t.Errorf("Int16 = %d", v)
	}
	if v := r.Uint16(); v != 65534 {
		t.Errorf("Uint16 = %d", v)
	}
	if v := r.Int32(); v != math.MinInt32 {
		t.Errorf("Int32 = %d", v)
	}
	if v := r.Uint32(); v != math.MaxUint32-1 {
		t.Errorf("Uint32 = %d", v)
	}
	if v := r.Int64(); v != 1700000000000 {
		t.Errorf("Int64 = %d", v)
	}
	if v := r.Float64(); v != 1.5 {
		t.Errorf("Float64 = %v", v)
	}
	if v := r.Bool(); v {
		t.Errorf("second Bool = %v", v)
	}
	if r.Err() != nil || r.Remaining() != 0 || r.Pos() != 31 {
		t.Errorf("at the end: err %v, remaining %d, pos %d", r.Err(), r.Remaining(), r.Pos())
	}
}

// The values are those that Kafka's ByteUtils wrote.
func TestVarint(t *testing.T) {
	for _, c := range []struct {
		hex  string
		want int32
	}{
		{"00", 0}, {"01", -1}, {"02", 1}, {"03", -2}, {"7e", 63}, {"7f", -64}, {"8001", 64}, {"8101", -65},
		{"fe01", 127}, {"8002", 128}, {"d804", 300}, {"feffffff0f", math.MaxInt32}, {"ffffffff0f", math.MinInt32},
		{"f5efb252", -86399995},
	} {
		r := New(unhex(t, c.hex))
		if v := r.Varint(); v != c.want || r.Err() != nil || r.Remaining() != 0 {
			t.Errorf("Varint %s = %d, %v, want %d", c.hex, v, r.Err(), c.want)
		}
		r = New(unhex(t, c.hex))
		if v := r.Varlong(); v != int64(c.want) || r.Err() != nil || r.Remaining() != 0 {
			t.Errorf("Varlong %s = %d, %v, want %d", c.hex, v, r.Err(), c.want)
		}
	}
	for _, c := range []struct {
		hex  string
		want int64
	}{
		{"80a0abfef962", 1700000000000},
		{"feffffffffffffffff01", math.MaxInt64},
		{"ffffffffffffffffff01", math.MinInt64},
	} {
		r := New(unhex(t, c.hex))
		if v := r.Varlong(); v != c.want || r.Err() != nil || r.Remaining() != 0 {
			t.Errorf("Varlong %s = %d, %v, want %d", c.hex, v, r.Err(), c.want)
		}
	}
	for _, c := range []struct {
		hex  string
		want uint32
	}{
		{"7f", 127}, {"8001", 128}, {"ac02", 300}, {"ff7f", 16383}, {"808001", 16384}, {"ffffffff07", math.MaxInt32},
		{"ffffffff0f", math.MaxUint32}, {"ffffffff7f", math.MaxUint32}, // the last drops bits, as Kafka does
	} {
		r := New(unhex(t, c.hex))
		if v := r.Uvarint(); v != c.want || r.Err() != nil || r.Remaining() != 0 {
			t.Errorf("Uvarint %s = %d, %v, want %d", c.hex, v, r.Err(), c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, hex, want string
		read            func(*Reader)
	}{
		{"int8", "", "at byte 0: int8: 1 bytes needed, 0 left", func(r *Reader) { r.Int8() }},
		{"bool", "", "at byte 0: bool: 1 bytes needed, 0 left", func(r *Reader) { r.Bool() }},
		{"int16", "00", "at byte 0: int16: 2 bytes needed, 1 left", func(r *Reader) { r.Int16() }},
		{"uint16", "00", "at byte 0: uint16: 2 bytes needed, 1 left", func(r *Reader) { r.Uint16() }},
		{"int32", "000000", "at byte 0: int32: 4 bytes needed, 3 left", func(r *Reader) { r.Int32() }},
		{"uint32", "000000", "at byte 0: uint32: 4 bytes needed, 3 left", func(r *Reader) { r.Uint32() }},
		{"int64", "00000000000000", "at byte 0: int64: 8 bytes needed, 7 left", func(r *Reader) { r.Int64() }},
		{"float64", "00", "at byte 0: float64: 8 bytes needed, 1 left", func(r *Reader) { r.Float64() }},
		{"uuid", "000102", "at byte 0: uuid: 16 bytes needed, 3 left", func(r *Reader) { r.UUID() }},
		{"bytes", "0001", "at byte 1: bytes: 2 bytes needed, 1 left", func(r *Reader) { r.Int8(); r.Bytes(2) }},
		{"negative", "0001", "at byte 0: bytes: negative length -1", func(r *Reader) { r.Bytes(-1) }},
		{"huge", "0001", "at byte 0: bytes: 9223372036854775807 bytes needed, 2 left", func(r *Reader) { r.Bytes(math.MaxInt64) }},
		{"skip", "0001", "at byte 0: bytes: 3 bytes needed, 2 left", func(r *Reader) { r.Skip(3) }},
		{"varint cut", "ffff", "at byte 0: varint: bytes end inside", func(r *Reader) { r.Varint() }},
		{"varint long", "ffffffffff01", "at byte 0: varint: longer than 5 bytes", func(r *Reader) { r.Varint() }},
		{"varlong cut", "00ff", "at byte 1: varlong: bytes end inside", func(r *Reader) { r.Int8(); r.Varlong() }},
		{"varlong long", "ffffffffffffffffffff01", "at byte 0: varlong: longer than 10 bytes", func(r *Reader) { r.Varlong() }},
		{"caller", "00", "at byte 1: out of range", func(r *Reader) { r.Int8(); r.Fail("out of range"); r.Fail("later") }},
	} {
		r := New(unhex(t, c.hex))
		c.read(r)
		var e *Error
		if !errors.As(r.Err(), &e) {
			t.Errorf("%s: Err = %v, want *Error", c.name, r.Err())
			continue
		}
		if e.Error() != c.want {
			t.Errorf("%s: %q, want %q", c.name, e.Error(), c.want)
		}
		// Whatever is read after a failure is zero, and neither moves nor changes the error.
		pos := r.Pos()
		sum := int64(r.Int8()) + int64(r.Int16()) + int64(r.Uint16()) + int64(r.Int32()) + int64(r.Uint32()) + r.Int64() +
			int64(r.Float64()) + int64(r.Varint()) + r.Varlong() + int64(r.Uvarint()) + int64(len(r.Bytes(0)))
		if sum != 0 || r.Bool() || !r.UUID().IsZero() || r.Pos() != pos || r.Err() != error(e) {
			t.Errorf("%s: the failure is not sticky", c.name)
		}
	}
}

func TestBytes(t *testing.T) {
	b := []byte("abcdef")
	r := Make(b)
	if got := r.Bytes(0); got == nil || len(got) != 0 {
		t.Errorf("Bytes(0) = %v, want empty but not nil", got)
	}
	r.Skip(1)
	got := r.Bytes(2)
	if string(got) != "bc" || cap(got) != 2 {
		t.Errorf("Bytes(2) = %q with capacity %d", got, cap(got))
	}
	if _ = append(got, 'X'); string(b) != "abcdef" {
		t.Errorf("an append wrote to the source: %q", b)
	}
	if r.Err() != nil || r.Remaining() != 3 {
		t.Errorf("err %v, remaining %d", r.Err(), r.Remaining())
	}
}

func TestNoAllocation(t *testing.T) {
	b := unhex(t, "0001020304050607d804845edb12f2774c49b9c2f1415f99a53f")
	n := testing.AllocsPerRun(100, func() {
		r := Make(b)
		r.Int64()
		r.Varint()
		r.UUID()
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReader reads b by the instructions in ops and watches the cursor.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"), unhex(f, "80a0abfef962845edb12f2774c49b9c2f1415f99a53fd804"))
	f.Add([]byte("\x05\x05\x05"), unhex(f, "ffffffffff"))
	f.Fuzz(func(t *testing.T, ops, b []byte) {
		r := Make(b)
		for _, op := range ops {
			before, failed := r.Pos(), r.Err() != nil
			switch op % 12 {
			case 0:
				r.Int8()
			case 1:
				r.Int16()
			case 2:
				r.Int32()
			case 3:
				r.Int64()
			case 4:
				r.Float64()
			case 5:
				r.Varint()
			case 6:
				r.Varlong()
			case 7:
				r.Uvarint()
			case 8:
				r.UUID()
			case 9:
				n := int64(int8(op))
				if got := r.Bytes(n); got != nil && int64(len(got)) != n {
					t.Fatalf("Bytes(%d) gave %d", n, len(got))
				}
			case 10:
				r.Bytes(int64(r.Varint()))
			case 11:
				r.Bytes(r.Varlong())
			}
			if r.Pos() < before || r.Pos()+r.Remaining() != int64(len(b)) {
				t.Fatalf("position %d after %d, %d remaining of %d", r.Pos(), before, r.Remaining(), len(b))
			}
			if failed && (r.Err() == nil || r.Pos() != before) {
				t.Fatal("a failure is not sticky")
			}
		}
	})
}
