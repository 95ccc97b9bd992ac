package batch

import (
	"encoding/binary"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestParseLegacyHeader(t *testing.T) {
	for _, c := range []struct {
		vector, codec string
		want          LegacyHeader
	}{
		{"v0_plain", "none", LegacyHeader{Offset: 20, Size: 16, CRC: 0x1fecd70a, Timestamp: -1}},
		{"v1_plain", "none", LegacyHeader{Offset: 20, Size: 24, CRC: 0x39268c33, Magic: 1, Timestamp: t0}},
		{"v0_lz4", "lz4", LegacyHeader{Offset: 21, Size: 77, CRC: 0x7a1bec91, Attributes: 3, Timestamp: -1}},
		{"v0_snappy", "snappy", LegacyHeader{Offset: 21, Size: 87, CRC: 0x4586d46c, Attributes: 2, Timestamp: -1}},
		{"v1_lz4", "lz4", LegacyHeader{Offset: 21, Size: 93, CRC: 0x9e040bb2, Magic: 1, Attributes: 3, Timestamp: t0 + 1}},
		{"v1_snappy", "snappy", LegacyHeader{Offset: 21, Size: 100, CRC: 0x30ce24cb, Magic: 1, Attributes: 2, Timestamp: t0 + 1}},
	} {
		raw := vector(t, c.vector)
		h, err := ParseLegacyHeader(append(raw, "what follows"...))
		if err != nil || h != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.vector, h, err, c.want)
		}
		if h.TotalSize() != int64(len(raw)) || h.Codec().String() != c.codec || h.TimestampType() != TimestampType(h.Magic-1) {
			t.Errorf("%s: size %d, codec %s, %s", c.vector, h.TotalSize(), h.Codec(), h.TimestampType())
		}
		if err := CheckLegacyCRC(raw); err != nil {
			t.Errorf("%s: %v", c.vector, err)
		}
		for i := range raw {
			b := append([]byte(nil), raw...)
			b[i] ^= 0x10
			if err := CheckLegacyCRC(b); (err != nil) != (i >= 12) {
				t.Fatalf("%s: byte %d: %v", c.vector, i, err)
			} else if err != nil {
				wantError(t, err, ErrCRC, "crc at byte 12")
			}
		}
	}
	if h := (LegacyHeader{Magic: 1, Attributes: 8}); h.TimestampType() != LogAppendTime {
		t.Error("timestamp type of magic 1")
	}
	if h := (LegacyHeader{Attributes: 8}); h.TimestampType() != NoTimestampType {
		t.Error("magic 0 has no timestamp type")
	}
}

func TestParseLegacyHeaderDamage(t *testing.T) {
	good := vector(t, "v0_plain")
	for n := range 26 {
		h, err := ParseLegacyHeader(good[:n])
		wantError(t, err, ErrLength, "want 26 bytes")
		if h != (LegacyHeader{}) {
			t.Fatalf("%d bytes gave %+v", n, h)
		}
		wantError(t, CheckLegacyCRC(good[:n]), ErrLength, "want 26 bytes")
	}
	for _, magic := range []byte{2, 3, 127, 128, 255} {
		b := vector(t, "v0_plain")
		b[16] = magic
		h, err := ParseLegacyHeader(b)
		wantError(t, err, ErrMagic, "magic at byte 16: want 0 or 1")
		if h.Offset != 20 {
			t.Errorf("header not filled in: %+v", h)
		}
	}
	for _, c := range []struct {
		vector string
		size   int32
		want   string
	}{
		{"v0_plain", 13, "at least 14, got 13"}, {"v0_plain", -1, "at least 14, got -1"}, {"v1_plain", 21, "at least 22, got 21"},
		{"v1_plain", math.MinInt32, "at least 22"},
	} {
		b := vector(t, c.vector)
		binary.BigEndian.PutUint32(b[8:], uint32(c.size))
		h, err := ParseLegacyHeader(b)
		wantError(t, err, ErrLength, c.want)
		if h.Size != c.size {
			t.Errorf("header not filled in: %+v", h)
		}
	}
}

// legacyValue returns the value of a message: what a wrapper has compressed.
func legacyValue(t testing.TB, raw []byte) []byte {
	t.Helper()
	h, err := ParseLegacyHeader(raw)
	if err != nil {
		t.Fatal(err)
	}
	pos := 18 + 8*int(h.Magic)
	if n := int32(binary.BigEndian.Uint32(raw[pos:])); n > 0 {
		pos += int(n)
	}
	n := int(binary.BigEndian.Uint32(raw[pos+4:]))
	return raw[pos+8:][:n]
}

func TestDecompressLegacy(t *testing.T) {
	var d Decompressor
	for _, c := range []struct {
		vector string
		inner  []int64
	}{
		{"v0_lz4", []int64{20, 21}}, {"v0_snappy", []int64{20, 21}}, {"v1_lz4", []int64{0, 1}}, {"v1_snappy", []int64{0, 1}},
	} {
		raw := vector(t, c.vector)
		h, err := ParseLegacyHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		set, err := d.DecompressLegacy(h.Magic, h.Codec(), legacyValue(t, raw))
		if err != nil {
			t.Errorf("%s: %v", c.vector, err)
			continue
		}
		for _, want := range c.inner {
			in, err := ParseLegacyHeader(set)
			if err != nil || in.Offset != want || in.Magic != h.Magic || in.Codec() != None {
				t.Fatalf("%s: inner %+v, %v", c.vector, in, err)
			}
			if err := CheckLegacyCRC(set[:in.TotalSize()]); err != nil {
				t.Errorf("%s: inner %v", c.vector, err)
			}
			set = set[in.TotalSize():]
		}
		if len(set) != 0 {
			t.Errorf("%s: %d bytes more", c.vector, len(set))
		}
	}
	_, err := d.DecompressLegacy(1, Zstd, vector(t, "v2_zstd")[HeaderSize:])
	wantError(t, err, ErrCodec, "want one that magic 1 allows, got zstd")
	// The broken header checksum is forgiven in magic 0 only.
	value := legacyValue(t, vector(t, "v0_lz4"))
	_, err = d.DecompressLegacy(1, LZ4, value)
	wantError(t, err, ErrCodec, "lz4 at byte 6: got checksum of the frame header does not match")
	_, err = d.Decompress(LZ4, value)
	wantError(t, err, ErrCodec, "lz4 at byte 6")
}

// TestLegacySegments reads segments of old brokers and compares them with what
// kafka-dump-log says of them, inner messages included.
func TestLegacySegments(t *testing.T) {
	var d Decompressor
	for _, name := range []string{"legacy-v0-gzip", "legacy-v0-lz4", "legacy-v0-snappy", "legacy-v1-lz4"} {
		raw, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		line := func(h LegacyHeader, offset int64, inner bool) {
			text := "offset: " + strconv.FormatInt(offset, 10) + " crc: " + strconv.FormatUint(uint64(h.CRC), 10)
			if inner {
				text = "| " + text
			}
			got = append(got, text)
		}
		for len(raw) > 0 {
			h, err := ParseLegacyHeader(raw)
			if err != nil {
				t.Fatal(err)
			}
			msg := raw[:h.TotalSize()]
			raw = raw[h.TotalSize():]
			if err := CheckLegacyCRC(msg); err != nil {
				t.Error(err)
			}
			line(h, h.Offset, false)
			set := msg
			if h.Codec() != None {
				if set, err = d.DecompressLegacy(h.Magic, h.Codec(), legacyValue(t, msg)); err != nil {
					t.Fatal(err)
				}
			}
			var inner []LegacyHeader
			for len(set) > 0 {
				in, err := ParseLegacyHeader(set)
				if err != nil {
					t.Fatal(err)
				}
				if err := CheckLegacyCRC(set[:in.TotalSize()]); err != nil {
					t.Error(err)
				}
				inner = append(inner, in)
				set = set[in.TotalSize():]
			}
			last := inner[len(inner)-1].Offset
			for _, in := range inner {
				line(in, h.Offset-last+in.Offset, true)
			}
		}
		dump, err := os.ReadFile("testdata/" + name + ".dump.txt")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for l := range strings.Lines(string(dump)) {
			f := strings.Fields(l)
			prefix := ""
			if f[0] == "|" {
				prefix, f = "| ", f[1:]
			}
			for i := range f {
				if f[i] == "crc:" {
					want = append(want, prefix+"offset: "+f[1]+" crc: "+f[i+1])
				}
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}
