package batch

import (
	"encoding/binary"
	"math"
	"testing"
)

const t0 = 1700000000000

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		vector string
		want   Header
	}{
		{"v2_plain", Header{BaseOffset: 100, Length: 83, PartitionLeaderEpoch: 5, Magic: 2, CRC: 0x64509e04, LastOffsetDelta: 2,
			BaseTimestamp: t0, MaxTimestamp: t0 + 5, ProducerID: 4000, ProducerEpoch: 2, BaseSequence: 7, RecordCount: 3}},
		{"v2_min", Header{Length: 57, Magic: 2, CRC: 0xa411ccf5, BaseTimestamp: 1, MaxTimestamp: 1, ProducerID: -1, ProducerEpoch: -1,
			BaseSequence: -1, RecordCount: 1}},
		{"v2_abort", Header{BaseOffset: 103, Length: 66, PartitionLeaderEpoch: 5, Magic: 2, CRC: 0xd3081cbf, Attributes: 0x30,
			BaseTimestamp: t0 + 10, MaxTimestamp: t0 + 10, ProducerID: 4000, ProducerEpoch: 2, BaseSequence: -1, RecordCount: 1}},
		{"v2_empty", Header{BaseOffset: 100, Length: 49, PartitionLeaderEpoch: 5, Magic: 2, CRC: 0x843f1ed2, LastOffsetDelta: 2,
			BaseTimestamp: -1, MaxTimestamp: t0 + 5, ProducerID: 4000, ProducerEpoch: 2, BaseSequence: 7}},
		{"v2_horizon", Header{BaseOffset: 100, Length: 61, PartitionLeaderEpoch: 5, Magic: 2, CRC: 0x1d0abb7b, Attributes: 0x40, LastOffsetDelta: 2,
			BaseTimestamp: 1700086400000, MaxTimestamp: t0 + 5, ProducerID: 4000, ProducerEpoch: 2, BaseSequence: 7, RecordCount: 1}},
		{"v2_zstd", Header{Length: 81, Magic: 2, CRC: 0x20366798, Attributes: 4, LastOffsetDelta: 1, BaseTimestamp: 1, MaxTimestamp: 1,
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, RecordCount: 2}},
	} {
		raw := vector(t, c.vector)
		h, err := ParseHeader(append(raw, "what follows"...))
		if err != nil || h != c.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.vector, h, err, c.want)
		}
		if h.Size() != int64(len(raw)) {
			t.Errorf("%s: size %d, want %d", c.vector, h.Size(), len(raw))
		}
		v, err := ParseView(raw)
		if err != nil || v.Header != h || v.CheckCRC() != nil {
			t.Errorf("%s: view %+v, %v, CRC %v", c.vector, v.Header, err, v.CheckCRC())
		}
		if !Plausible(raw) {
			t.Errorf("%s: not plausible", c.vector)
		}
	}
}

func TestHeaderFacts(t *testing.T) {
	h := mustView(t, vector(t, "v2_plain")).Header
	if h.LastOffset() != 102 || h.NextOffset() != 103 || !h.HasProducer() || h.LastSequence() != 9 {
		t.Errorf("last %d, next %d, producer %v, last sequence %d", h.LastOffset(), h.NextOffset(), h.HasProducer(), h.LastSequence())
	}
	h = mustView(t, vector(t, "v2_min")).Header
	if h.LastOffset() != 0 || h.NextOffset() != 1 || h.HasProducer() || h.LastSequence() != -1 {
		t.Errorf("last %d, next %d, producer %v, last sequence %d", h.LastOffset(), h.NextOffset(), h.HasProducer(), h.LastSequence())
	}
	// Internal topics: a sequence, but no producer.
	if h = (Header{ProducerID: -1, BaseSequence: 0}); h.HasProducer() {
		t.Error("a sequence alone makes no producer")
	}
	if h = (Header{BaseSequence: math.MaxInt32, LastOffsetDelta: 1}); h.LastSequence() != 0 {
		t.Errorf("last sequence %d, want 0 after the wrap", h.LastSequence())
	}
}

func TestAttributes(t *testing.T) {
	for _, c := range []struct {
		a                    Attributes
		codec, time          string
		txn, control, delete bool
	}{
		{0x00, "none", "CreateTime", false, false, false},
		{0x01, "gzip", "CreateTime", false, false, false},
		{0x02, "snappy", "CreateTime", false, false, false},
		{0x0b, "lz4", "LogAppendTime", false, false, false},
		{0x14, "zstd", "CreateTime", true, false, false},
		{0x30, "none", "CreateTime", true, true, false},
		{0x45, "invalid(5)", "CreateTime", false, false, true},
		{-1, "invalid(7)", "LogAppendTime", true, true, true},
	} {
		if got := c.a.Codec().String(); got != c.codec {
			t.Errorf("%#x: codec %s, want %s", int16(c.a), got, c.codec)
		}
		if got := c.a.TimestampType().String(); got != c.time {
			t.Errorf("%#x: %s, want %s", int16(c.a), got, c.time)
		}
		if c.a.Transactional() != c.txn || c.a.Control() != c.control || c.a.DeleteHorizon() != c.delete {
			t.Errorf("%#x: flags %v %v %v", int16(c.a), c.a.Transactional(), c.a.Control(), c.a.DeleteHorizon())
		}
	}
	if s := TimestampType(7).String(); s != "invalid(7)" {
		t.Error(s)
	}
}

func TestParseHeaderDamage(t *testing.T) {
	good := vector(t, "v2_plain")
	for n := range HeaderSize {
		h, err := ParseHeader(good[:n])
		wantError(t, err, ErrLength, "want 61 bytes, got ")
		if h != (Header{}) || Plausible(good[:n]) {
			t.Fatalf("%d bytes gave %+v", n, h)
		}
	}
	for _, magic := range []byte{0, 1, 3, 127, 128, 255} {
		b := vector(t, "v2_plain")
		b[16] = magic
		h, err := ParseHeader(b)
		wantError(t, err, ErrMagic, "magic at byte 16: want 2")
		if h.BaseOffset != 100 || h.Magic != int8(magic) || Plausible(b) {
			t.Errorf("magic %d: %+v", magic, h)
		}
	}
	// The last one becomes negative when 12 is added in 32 bits.
	for _, length := range []int32{0, 48, -1, math.MinInt32} {
		b := vector(t, "v2_plain")
		binary.BigEndian.PutUint32(b[8:], uint32(length))
		h, err := ParseHeader(b)
		wantError(t, err, ErrLength, "batchLength at byte 8: want at least 49")
		if h.Length != length || h.Size() != int64(length)+12 || Plausible(b) {
			t.Errorf("length %d: %+v", length, h)
		}
	}
	b := vector(t, "v2_plain")
	binary.BigEndian.PutUint32(b[8:], math.MaxInt32)
	if h, err := ParseHeader(b); err != nil || h.Size() != math.MaxInt32+12 {
		t.Errorf("largest length: size %d, %v", h.Size(), err)
	}
}

func TestParseViewDamage(t *testing.T) {
	good := vector(t, "v2_plain")
	for _, raw := range [][]byte{good[:len(good)-1], append(vector(t, "v2_plain"), 0)} {
		v, err := ParseView(raw)
		wantError(t, err, ErrLength, "batchLength at byte 8")
		if v.BaseOffset != 100 {
			t.Errorf("header not filled in: %+v", v.Header)
		}
	}
	if v, err := ParseView(nil); err == nil || v.ComputedCRC() != 0 || v.Payload() != nil {
		t.Errorf("nothing at all: %v", err)
	}
}

// Every flipped bit from the attributes on is noticed; none of the 17 bytes before the
// stored CRC is, which is why those fields are only evidence.
func TestCRCCover(t *testing.T) {
	good := vector(t, "v2_plain")
	for i := range good {
		for bit := range 8 {
			b := append([]byte(nil), good...)
			b[i] ^= 1 << bit
			v := View{Raw: b}
			v.Header.decode((*[HeaderSize]byte)(b))
			err := v.CheckCRC()
			if covered := i >= 17; (err != nil) != covered {
				t.Fatalf("byte %d bit %d: %v", i, bit, err)
			}
			if err != nil {
				wantError(t, err, ErrCRC, "crc at byte 17")
			}
		}
	}
	b := vector(t, "v2_plain")
	b[90] ^= 4
	err := mustView(t, b).CheckCRC()
	wantError(t, err, ErrCRC, "got 0x64509e04")
}

func TestCRC32C(t *testing.T) {
	for _, c := range []struct {
		hex  string
		want uint32
	}{
		{"313233343536373839", 0xe3069283},
		{"0000000000000000000000000000000000000000000000000000000000000000", 0x8a9136aa},
		{"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", 0x62a8ab43},
		{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0x46dd794e},
		{"1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100", 0x113fdb5c},
	} {
		v := View{Raw: append(make([]byte, 21), unhex(t, c.hex)...)}
		if got := v.ComputedCRC(); got != c.want {
			t.Errorf("%s: %08x, want %08x", c.hex, got, c.want)
		}
	}
}

func TestSequence(t *testing.T) {
	for _, c := range []struct{ s, by, inc int32 }{
		{0, 1, 1}, {7, 2, 9}, {2147483646, 1, 2147483647}, {2147483647, 1, 0}, {2147483646, 5, 3}, {0, 2147483647, 2147483647},
		{5, 0, 5},
	} {
		if got := IncrementSequence(c.s, c.by); got != c.inc {
			t.Errorf("inc(%d, %d) = %d, want %d", c.s, c.by, got, c.inc)
		}
		if got := DecrementSequence(c.inc, c.by); got != c.s {
			t.Errorf("dec(%d, %d) = %d, want %d", c.inc, c.by, got, c.s)
		}
	}
	if got := DecrementSequence(0, 1); got != 2147483647 {
		t.Errorf("dec(0, 1) = %d", got)
	}
	if got := DecrementSequence(3, 5); got != 2147483646 {
		t.Errorf("dec(3, 5) = %d", got)
	}
}

func TestClone(t *testing.T) {
	raw := vector(t, "v2_plain")
	v := mustView(t, raw)
	c := v.Clone()
	clear(raw)
	if c.CheckCRC() != nil || v.CheckCRC() == nil {
		t.Error("Clone shares memory")
	}
}

func TestHeaderAllocatesNothing(t *testing.T) {
	raw := vector(t, "v2_plain")
	junk := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		v, err := ParseView(raw)
		if err != nil || v.CheckCRC() != nil || Plausible(junk) {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
