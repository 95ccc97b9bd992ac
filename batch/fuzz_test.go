package batch

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"kafsck/internal/fixture"
)

// seeds adds all vectors whose name begins with one of the prefixes.
func seeds(f *testing.F, cut int, prefixes ...string) {
	all, err := vectors()
	if err != nil {
		f.Fatal(err)
	}
	for name, b := range all {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				f.Add(append([]byte(nil), b[cut:]...))
			}
		}
	}
	if cut > 0 {
		return
	}
	fixture.Seeds(f, "log", func(b []byte) { // the first batch of each
		if h, err := ParseHeader(b); err == nil && h.Size() <= int64(len(b)) {
			f.Add(append([]byte(nil), b[:h.Size()]...))
		}
	})
}

// checkError fails unless err is nil or an *Error with one sentinel and a position in
// a slice of n bytes.
func checkError(t *testing.T, err error, n int) {
	t.Helper()
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	kinds := 0
	for _, kind := range []error{ErrCRC, ErrLength, ErrMagic, ErrRecord, ErrTorn, ErrCodec, ErrTooLarge} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 || e.Field == "" || e.Error() == "" {
		t.Fatalf("error %#v is of %d kinds", e, kinds)
	}
	if e.Pos < 0 || !e.Decompressed && e.Pos > int64(n) {
		t.Fatalf("error %v is outside of %d bytes", e, n)
	}
}

// encodeHeader is the inverse of ParseHeader.
func encodeHeader(h Header) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(h.BaseOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(h.Length))
	b = binary.BigEndian.AppendUint32(b, uint32(h.PartitionLeaderEpoch))
	b = append(b, byte(h.Magic))
	b = binary.BigEndian.AppendUint32(b, h.CRC)
	b = binary.BigEndian.AppendUint16(b, uint16(h.Attributes))
	b = binary.BigEndian.AppendUint32(b, uint32(h.LastOffsetDelta))
	b = binary.BigEndian.AppendUint64(b, uint64(h.BaseTimestamp))
	b = binary.BigEndian.AppendUint64(b, uint64(h.MaxTimestamp))
	b = binary.BigEndian.AppendUint64(b, uint64(h.ProducerID))
	b = binary.BigEndian.AppendUint16(b, uint16(h.ProducerEpoch))
	b = binary.BigEndian.AppendUint32(b, uint32(h.BaseSequence))
	return binary.BigEndian.AppendUint32(b, uint32(h.RecordCount))
}

func FuzzParseHeader(f *testing.F) {
	seeds(f, 0, "v2_", "v1_", "v0_", "leader_change")
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		checkError(t, err, len(b))
		if Plausible(b) != (err == nil) {
			t.Fatalf("plausible %v, but %v", Plausible(b), err)
		}
		if len(b) >= HeaderSize && !bytes.Equal(encodeHeader(h), b[:HeaderSize]) {
			t.Fatalf("%+v is not what the bytes say", h)
		}
		if err == nil && (h.Size() < HeaderSize || h.NextOffset() != h.LastOffset()+1) {
			t.Fatalf("size %d, last %d, next %d", h.Size(), h.LastOffset(), h.NextOffset())
		}
		_ = h.LastSequence()
		_ = h.Attributes.Codec().String() + h.Attributes.TimestampType().String()
		v, err := ParseView(b)
		checkError(t, err, len(b))
		if err == nil && v.Size() != int64(len(b)) {
			t.Fatalf("a view of %d bytes says %d", len(b), v.Size())
		}
		checkError(t, v.CheckCRC(), max(len(b), 17))
		l, err := ParseLegacyHeader(b)
		checkError(t, err, len(b))
		if err == nil && (l.TotalSize() < 26 || l.Magic != 0 && l.Magic != 1) {
			t.Fatalf("%+v", l)
		}
		checkError(t, CheckLegacyCRC(b), len(b))
	})
}

const fuzzLimit = 1 << 20

func FuzzRecords(f *testing.F) {
	seeds(f, 0, "v2_", "leader_change")
	d, again := NewDecompressor(fuzzLimit), NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < HeaderSize {
			return
		}
		// What frames the batch is made right, or hardly any input would get further.
		b = append([]byte(nil), b...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
		b[16] = 2
		v := mustView(t, b)
		codec := v.Attributes.Codec()
		blob, _ := again.Decompress(codec, v.Payload())
		var pos, n int64
		var end error
		for r, err := range v.Records(d) {
			if end != nil {
				t.Fatal("iteration goes on after an error")
			}
			if end = err; err != nil {
				checkError(t, err, len(b))
				continue
			}
			n++
			if r.Offset != v.BaseOffset+int64(r.OffsetDelta) || r.Sequence < -1 && v.BaseSequence >= 0 && r.OffsetDelta >= 0 {
				t.Fatalf("record %+v", r)
			}
			if r.Pos != pos || r.Len < 7 || r.Pos+r.Len > int64(len(blob)) {
				t.Fatalf("record at %d of %d bytes, after %d of %d", r.Pos, r.Len, pos, len(blob))
			}
			pos += r.Len
			used := len(r.Key) + len(r.Value)
			for _, h := range r.Headers {
				used += len(h.Key) + len(h.Value)
			}
			if int64(used+2*len(r.Headers)) >= r.Len {
				t.Fatalf("%d bytes of fields in a record of %d", used, r.Len)
			}
			if !bytes.Contains(blob[r.Pos:r.Pos+r.Len], r.Key) || !bytes.Contains(blob[r.Pos:r.Pos+r.Len], r.Value) {
				t.Fatal("fields from outside of the record")
			}
		}
		if n > max(0, int64(v.RecordCount)) || end == nil && (n != int64(v.RecordCount) || pos != int64(len(blob))) {
			t.Fatalf("%d records of %d, %d bytes of %d, %v", n, v.RecordCount, pos, len(blob), end)
		}
		// The quick decoder takes only what the other takes, and makes the same of it.
		quick, next := recordReader{h: v.Header, blob: blob}, recordReader{h: v.Header, blob: blob}
		var r Record
		for quick.quick(&r) {
			if want, err := next.next(0); err != nil || !reflect.DeepEqual(r, want) || quick.pos != next.pos {
				t.Fatalf("quick %+v, want %+v, %v", r, want, err)
			}
		}
		first, err1 := records(t, v, d)
		second, err2 := records(t, v, again)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(err1, err2) {
			t.Fatalf("twice the same batch: %v, %v", err1, err2)
		}
	})
}

// decompressTwice checks what holds for every codec: bounded output, an error in its
// place, and the same result from used and from fresh buffers.
func decompressTwice(t *testing.T, d *Decompressor, c Codec, b []byte) ([]byte, error) {
	t.Helper()
	got, err := d.Decompress(c, b)
	checkError(t, err, len(b))
	if len(got) > fuzzLimit || cap(d.buf) > fuzzLimit+zstdSpare {
		t.Fatalf("%d bytes in a buffer of %d", len(got), cap(d.buf))
	}
	first := append([]byte(nil), got...)
	again, err2 := d.Decompress(c, b)
	if !bytes.Equal(first, again) || !reflect.DeepEqual(err, err2) {
		t.Fatalf("twice: %d bytes, %v; %d bytes, %v", len(first), err, len(again), err2)
	}
	if legacy, err3 := d.DecompressLegacy(1, c, b); c != Zstd && (!bytes.Equal(first, legacy) || !reflect.DeepEqual(err, err3)) {
		t.Fatalf("as magic 1: %d bytes, %v", len(legacy), err3)
	}
	return first, err
}

func FuzzGzip(f *testing.F) {
	seeds(f, HeaderSize, "v2_gzip")
	f.Add(gzipped(f, text(5000)))
	f.Add(append(gzipped(f, text(50)), gzipped(f, text(100))...))
	d := NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decompressTwice(t, d, Gzip, b)
		// What the standard library reads to the end, we read.
		r, err2 := gzip.NewReader(bytes.NewReader(b))
		if err2 != nil {
			return
		}
		want, err2 := io.ReadAll(io.LimitReader(r, fuzzLimit+1))
		if err2 == nil && len(want) <= fuzzLimit && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%d bytes, %v, the standard library has %d", len(got), err, len(want))
		}
	})
}

func FuzzSnappy(f *testing.F) {
	seeds(f, HeaderSize, "v2_snappy")
	f.Add(snappy.Encode(nil, text(5000)))
	f.Add(xerial(snappy.Encode(nil, text(50)), snappy.Encode(nil, text(100))))
	d := NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		decompressTwice(t, d, Snappy, b)
		// What is measured is what comes out: Snappy is a subset of S2.
		if n, at, why := measureSnappy(b, fuzzLimit); why == "" && n <= fuzzLimit {
			if out, err := snappy.Decode(nil, b); err != nil || int64(len(out)) != n {
				t.Fatalf("measured %d, decoded %d, %v", n, len(out), err)
			}
		} else if at > len(b) {
			t.Fatalf("%s at %d of %d", why, at, len(b))
		}
	})
}

func FuzzLZ4(f *testing.F) {
	seeds(f, HeaderSize, "v2_lz4")
	f.Add(lz4Frame(f, text(5000), true))
	f.Add(lz4Frame(f, text(70000), false))
	d := NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decompressTwice(t, d, LZ4, b)
		if err == nil && len(b) > 4 && b[4]&(lz4FlagContentChecksum|lz4FlagContentSize) == 0 {
			// The library's frame reader is stricter here and there, and reads on after the frame.
			want, err2 := io.ReadAll(lz4.NewReader(bytes.NewReader(b)))
			if err2 == nil && !bytes.HasPrefix(want, got) {
				t.Fatalf("%d bytes, the library has %d", len(got), len(want))
			}
		}
		for _, size := range []int{64 << 10, 4 << 20} {
			n, at, why := measureLZ4(b, size)
			if n < 0 || n > size || at > len(b) {
				t.Fatalf("%s at %d of %d: %d bytes", why, at, len(b), n)
			}
			if why == "" && n > 0 {
				out, want := make([]byte, n), make([]byte, n)
				expandLZ4(out, b)
				if m, err := lz4.UncompressBlock(b, want); err == nil && (m != n || !bytes.Equal(out, want)) {
					t.Fatalf("measured %d, the library decoded %d", n, m)
				}
			}
		}
	})
}

func FuzzZstd(f *testing.F) {
	seeds(f, HeaderSize, "v2_zstd")
	f.Add(zstdFrame(f, text(5000)))
	f.Add(append(zstdFrame(f, text(50)), zstdFrame(f, text(100))...))
	d := NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decompressTwice(t, d, Zstd, b)
		if err == nil && len(b) > 0 {
			var least, bound int64
			for pos := 0; pos < len(b); {
				m := measureZstd(b[pos:])
				least, bound, pos = least+m.least, bound+m.bound, pos+m.size
			}
			if n := int64(len(got)); n < least || n > bound {
				t.Fatalf("%d bytes, measured %d to %d", n, least, bound)
			}
		}
	})
}

func FuzzControl(f *testing.F) {
	for _, name := range []string{"v2_abort", "v2_commit", "leader_change"} {
		for r, err := range mustView(f, vector(f, name)).Records(nil) {
			if err != nil {
				f.Fatal(err)
			}
			f.Add(clone(r.Key), clone(r.Value))
		}
	}
	for _, v := range segment(f, "kraft-snapshot") {
		for r, err := range v.Records(nil) {
			if err != nil {
				f.Fatal(err)
			}
			f.Add(clone(r.Key), clone(r.Value))
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		c, err := ParseControl(key, value)
		checkError(t, err, max(len(key), len(value)))
		if c.Type != ControlType(c.TypeID) || c.Type.String() == "" {
			t.Fatalf("%+v", c)
		}
		if err != nil && !errors.Is(err, ErrRecord) {
			t.Fatal(err)
		}
		if unknown := strings.HasPrefix(c.Type.String(), "UNKNOWN"); unknown && err != nil && c.Version >= 0 {
			t.Fatalf("unknown type, but %v", err)
		}
		if n := len(c.Voters) + len(c.GrantingVoters); n > len(value) {
			t.Fatalf("%d voters in %d bytes", n, len(value))
		}
		again, err2 := ParseControl(key, append(clone(value), 0xff))
		if err == nil && (err2 != nil || !reflect.DeepEqual(c, again)) {
			t.Fatalf("a byte more changes %+v to %+v, %v", c, again, err2)
		}
	})
}
