package batch

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
)

func TestRecordsPlain(t *testing.T) {
	got, err := records(t, mustView(t, vector(t, "v2_plain")), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Offset: 100, OffsetDelta: 0, Timestamp: t0, Key: []byte("k1"), Value: []byte("v1"), Sequence: 7, Pos: 0, Len: 18,
			Headers: []RecordHeader{{"h", []byte("x")}, {"n", nil}}},
		{Offset: 101, OffsetDelta: 1, Timestamp: t0 + 5, Key: []byte("k2"), Value: nil, Sequence: 8, Pos: 18, Len: 9},
		{Offset: 102, OffsetDelta: 2, Timestamp: t0 - 1, Key: nil, Value: []byte{}, Sequence: 9, Pos: 27, Len: 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestRecordsVariants(t *testing.T) {
	a32 := bytes.Repeat([]byte("a"), 32)
	two := []Record{
		{Offset: 0, OffsetDelta: 0, Timestamp: 1, Value: a32, Sequence: -1, Pos: 0, Len: 39},
		{Offset: 1, OffsetDelta: 1, Timestamp: 1, Value: a32, Sequence: -1, Pos: 39, Len: 39},
	}
	var d Decompressor
	for _, c := range []struct {
		vector string
		want   []Record
	}{
		{"v2_min", []Record{{Timestamp: 1, Value: []byte("a"), Sequence: -1, Len: 8}}},
		{"v2_empty", nil},
		// The delta is relative to the delete horizon, and gives the old timestamp.
		{"v2_horizon", []Record{{Offset: 101, OffsetDelta: 1, Timestamp: t0 + 5, Key: []byte("k2"), Sequence: 8, Len: 12}}},
		{"v2_lat", []Record{
			{Offset: 10, OffsetDelta: 0, Timestamp: t0 + 100, Key: []byte("k"), Value: []byte("v"), Sequence: -1, Pos: 0, Len: 9},
			{Offset: 11, OffsetDelta: 1, Timestamp: t0 + 100, Key: []byte("k"), Value: []byte("w"), Sequence: -1, Pos: 9, Len: 9}}},
		{"v2_gzip", two},
		{"v2_snappy", two},
		{"v2_lz4", two},
		{"v2_zstd", two},
	} {
		v := mustView(t, vector(t, c.vector))
		for _, dec := range []*Decompressor{nil, &d} {
			got, err := records(t, v, dec)
			if err != nil {
				t.Errorf("%s: %v", c.vector, err)
				continue
			}
			if c.vector == "v2_lat" { // positions are not the point of this one
				for i := range got {
					got[i].Pos, got[i].Len = c.want[i].Pos, c.want[i].Len
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s:\n got %+v\nwant %+v", c.vector, got, c.want)
			}
		}
	}
}

// Both decoders read a varint of five bytes as Kafka does: bits above 32 are dropped.
func TestRecordsLongVarints(t *testing.T) {
	blob := unhex(t, "26 00 8180808000 8280808070 01 8280808070 61 00")
	v := mustView(t, wrap(None, 1, blob))
	for _, quick := range []bool{true, false} {
		it := recordReader{h: v.Header, blob: blob}
		var r Record
		var err error
		if quick {
			if !it.quick(&r) {
				t.Fatal("the quick decoder refuses")
			}
		} else if r, err = it.next(0); err != nil {
			t.Fatal(err)
		}
		want := Record{Offset: 1, OffsetDelta: 1, Timestamp: -1, Value: []byte("a"), Sequence: -1, Len: int64(len(blob))}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("quick %v: %+v, want %+v", quick, r, want)
		}
	}
}

func TestRecordsStopEarly(t *testing.T) {
	n := 0
	for range mustView(t, vector(t, "v2_plain")).Records(nil) {
		n++
		break
	}
	if n != 1 {
		t.Error(n)
	}
}

// Each case is the records blob of a batch; good records before the damage come out.
func TestRecordsDamage(t *testing.T) {
	const one = "0e000000010261 00" // null = "a"
	for _, c := range []struct {
		name  string
		count int32
		blob  string
		good  int
		kind  error
		want  string
	}{
		{"negative count", -1, one, 0, ErrRecord, "recordCount at byte 57: want at least 0, got -1"},
		{"count above the records", 2, one, 1, ErrRecord, "recordCount at byte 69: want 2 records, got 1"},
		{"huge count", 2147483647, one, 1, ErrRecord, "want 2147483647 records, got 1"},
		{"claims records, has no bytes", 1, "", 0, ErrRecord, "recordCount at byte 61: want 1 records, got 0"},
		{"bytes left over", 1, one + one, 1, ErrRecord, "recordCount at byte 69: want 1 records, got 8 bytes more"},
		{"bytes though count is 0", 0, one, 0, ErrRecord, "recordCount at byte 61: want 0 records, got 8 bytes more"},
		{"length cut", 1, "ff", 0, ErrRecord, "record 0 length at byte 61: got varint: bytes end inside"},
		{"length too long", 2, one + "ffffffffff01", 1, ErrRecord, "record 1 length at byte 69: got varint: longer than 5 bytes"},
		{"negative length", 1, "01" + one, 0, ErrRecord, "record 0 length at byte 61: want 0 to 8, got -1"},
		{"length above what is left", 1, "10000000010261 00", 0, ErrRecord, "record 0 length at byte 61: want 0 to 7, got 8"},
		{"huge length", 1, "feffffff0f 000000010261 00", 0, ErrRecord, "want 0 to 7, got 2147483647"},
		{"length below the fields", 1, "0c000000010261 00", 0, ErrRecord, "record 0 fields at byte 68: got varint: bytes end inside"},
		{"length above the fields", 1, "10000000010261 0000", 0, ErrRecord, "record 0 length at byte 69: want 7, got 8"},
		{"zero length", 1, "00", 0, ErrRecord, "record 0 fields at byte 62: got int8"},
		{"key beyond the record", 2, "0e000000100261 00" + one, 0, ErrRecord, "record 0 fields at byte 66: got bytes: 8 bytes needed, 3 left"},
		{"value beyond the record", 2, "0e000000010861 00" + one, 0, ErrRecord, "record 0 fields at byte 67: got bytes: 4 bytes needed, 2 left"},
		{"huge value", 1, "16000000 01 feffffff0f 61 00", 0, ErrRecord, "got bytes: 2147483647 bytes needed, 2 left"},
		{"negative header count", 1, "0e000000010261 01", 0, ErrRecord, "record 0 headerCount at byte 68: want 0 to 0, got -1"},
		{"header count above the bytes", 1, "0e000000010261 02", 0, ErrRecord, "headerCount at byte 68: want 0 to 0, got 1"},
		{"huge header count", 1, "1a000000010261 feffffff0f 0000", 0, ErrRecord, "headerCount at byte 68: want 0 to 1, got 2147483647"},
		{"negative header key", 1, "12000000010261 02 01 00", 0, ErrRecord, "record 0 headerKeyLength at byte 69: want at least 0, got -1"},
		{"header key beyond", 1, "12000000010261 02 0a 00", 0, ErrRecord, "record 0 headers at byte 70: got bytes: 5 bytes needed, 1 left"},
		{"header value cut", 1, "14000000010261 02 02 68 08", 0, ErrRecord, "record 0 headers at byte 72"},
		{"timestamp too long", 1, "20 00 ffffffffffffffffffff01 00 01 01 00", 0, ErrRecord, "varlong: longer than 10 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := mustView(t, wrap(None, c.count, unhex(t, c.blob)))
			got, err := records(t, v, nil)
			if len(got) != c.good {
				t.Errorf("%d records, want %d", len(got), c.good)
			}
			wantError(t, err, c.kind, c.want)
		})
	}
}

// Kafka's readers take any negative length for null.
func TestRecordsNegativeIsNull(t *testing.T) {
	v := mustView(t, wrap(None, 1, unhex(t, "14 00 00 00 05 0b 02 02 68 ff0f")))
	got, err := records(t, v, nil)
	if err != nil || len(got) != 1 || got[0].Key != nil || got[0].Value != nil || got[0].Headers[0].Value != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRecordsInvalidCodec(t *testing.T) {
	for c := Codec(5); c <= 7; c++ {
		_, err := records(t, mustView(t, wrap(c, 1, []byte{0})), nil)
		wantError(t, err, ErrCodec, "attributes at byte 21: want a codec of 0 to 4")
	}
}

func TestRecordsSequenceWraps(t *testing.T) {
	b := vector(t, "v2_plain")
	binary.BigEndian.PutUint32(b[53:], 2147483646)
	got, err := records(t, mustView(t, b), nil)
	if err != nil || got[1].Sequence != 2147483647 || got[2].Sequence != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Records before the damage in a compressed payload are handed out, then the damage.
func TestRecordsBeforeCompressedDamage(t *testing.T) {
	rec := unhex(t, "0e000000010261 00")
	blob := bytes.Repeat(rec, 4)
	payload := append([]byte{0, 0, 0, byte(len(blob) + 2), byte(len(blob)), byte(len(blob)-1) << 2}, blob...)
	stream := append([]byte(xerialMagic+"\x00\x00\x00\x01\x00\x00\x00\x01"), payload...)
	v := mustView(t, wrap(Snappy, 8, append(append([]byte(nil), stream...), 0, 0, 0, 9, 1)))
	got, err := records(t, v, nil)
	if len(got) != 4 {
		t.Errorf("%d records, want 4", len(got))
	}
	wantError(t, err, ErrCodec, "snappy at byte 115: got chunk of 9 bytes where 1 are left")
	// Without damage the count is what is wrong, in the decompressed bytes.
	got, err = records(t, mustView(t, wrap(Snappy, 5, stream)), nil)
	if len(got) != 4 {
		t.Errorf("%d records, want 4", len(got))
	}
	wantError(t, err, ErrRecord, "recordCount at decompressed byte 32: want 5 records, got 4")
}

func TestRecordsManyHeaders(t *testing.T) {
	const n = maxHeaders + 1
	body := append([]byte{0, 0, 0, 1, 1}, binary.AppendVarint(nil, n)...)
	body = append(body, make([]byte, 2*n)...)
	blob := append(binary.AppendVarint(nil, int64(len(body))), body...)
	_, err := records(t, mustView(t, wrap(None, 1, blob)), nil)
	wantError(t, err, ErrTooLarge, "record 0 headerCount")
}

func TestRecordsAllocations(t *testing.T) {
	var d Decompressor
	for _, c := range []struct {
		vector string
		most   float64
	}{
		{"v2_gzip", 0}, {"v2_snappy", 0}, {"v2_lz4", 0}, {"v2_zstd", 1}, {"v2_lat", 0},
		{"v2_plain", 3}, // the headers: their slice and two keys
	} {
		v := mustView(t, vector(t, c.vector))
		n := testing.AllocsPerRun(100, func() {
			for _, err := range v.Records(&d) {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.vector, n, c.most)
		}
	}
}
