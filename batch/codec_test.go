package batch

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// text is compressible, and different everywhere.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"alpha", "bravo", "cedar", "delta", "ember", "falcon", "garnet", "hazel"}
	var b []byte
	for len(b) < n {
		b = append(b, words[r.IntN(len(words))]...)
		b = append(b, byte('0'+r.IntN(10)), ' ')
	}
	return b[:n]
}

// gzipped is one member.
func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// xerial is the framing of snappy-java with the given raw blocks.
func xerial(blocks ...[]byte) []byte {
	out := []byte(xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01")
	for _, b := range blocks {
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	return out
}

// lz4Frame is a frame with 64 KiB blocks and no checksums, as the Java client writes it;
// a block is stored if compress is false.
func lz4Frame(t testing.TB, b []byte, compress bool) []byte {
	t.Helper()
	out := lz4Head(0x60, 0x40, nil)
	for len(b) > 0 {
		n := min(len(b), 64<<10)
		var c lz4.Compressor
		block := make([]byte, lz4.CompressBlockBound(n))
		m, err := c.CompressBlock(b[:n], block)
		if err != nil {
			t.Fatal(err)
		}
		if compress && m > 0 {
			out = lz4Block(out, block[:m], 0)
		} else {
			out = lz4Block(out, b[:n], lz4Stored)
		}
		b = b[n:]
	}
	return append(out, 0, 0, 0, 0)
}

func lz4Head(flg, bd byte, size []byte) []byte {
	out := []byte{0x04, 0x22, 0x4d, 0x18, flg, bd}
	out = append(out, size...)
	return append(out, byte(xxh32(out[4:])>>8))
}

func lz4Block(out, block []byte, flag uint32) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(len(block))|flag)
	return append(out, block...)
}

func zstdFrame(t testing.TB, b []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithEncoderConcurrency(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(b, nil)
}

func TestDecompress(t *testing.T) {
	short, long := text(1000), text(300<<10)
	stored := make([]byte, 70<<10)
	for i := range stored {
		stored[i] = byte(i * i >> 3)
	}
	concat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	half := len(long) / 2
	named := []byte{0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 0xff, 3, 0, 'e', 'x', 't'} // extra, name, comment, header CRC
	named = append(append(append(named, bytes.Repeat([]byte("n"), 1000)...), 0), "a comment\x00"...)
	named = binary.LittleEndian.AppendUint16(named, uint16(crc32.ChecksumIEEE(named)))
	named = append(named, gzipped(t, short)[10:]...)
	withSums := lz4Head(0x60|lz4FlagBlockChecksum|lz4FlagContentChecksum|lz4FlagContentSize, 0x70, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	withSums = lz4Block(withSums, stored, lz4Stored)
	withSums = binary.LittleEndian.AppendUint32(withSums, xxh32(stored))
	withSums = append(withSums, "\x00\x00\x00\x00sum?"...)
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range bytes.Lines(bytes.ReplaceAll(long, []byte("9 "), []byte("9\n"))) {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}

	for _, c := range []struct {
		name    string
		codec   Codec
		payload []byte
		want    []byte
	}{
		{"none", None, short, short},
		{"gzip", Gzip, gzipped(t, long), long},
		{"gzip empty", Gzip, gzipped(t, nil), nil},
		{"gzip two members", Gzip, concat(gzipped(t, long[:half]), gzipped(t, long[half:])), long},
		{"gzip then junk", Gzip, concat(gzipped(t, short), []byte("junk that is no header")), short},
		{"gzip then half a header", Gzip, concat(gzipped(t, short), []byte{0x1f, 0x8b, 8}), short},
		{"gzip all header fields", Gzip, named, short},
		{"snappy raw", Snappy, snappy.Encode(nil, long), long},
		{"snappy raw, short", Snappy, snappy.Encode(nil, []byte("a")), []byte("a")},
		{"snappy raw, empty", Snappy, []byte{0}, nil},
		{"snappy framed", Snappy, xerial(snappy.Encode(nil, long[:half]), snappy.Encode(nil, long[half:])), long},
		{"snappy framed, empty", Snappy, xerial(), nil},
		{"snappy second header", Snappy, concat(xerial(snappy.Encode(nil, short)), xerial(snappy.Encode(nil, long))), concat(short, long)},
		{"snappy tail of 3", Snappy, concat(xerial(snappy.Encode(nil, short)), []byte{1, 2, 3}), short},
		{"snappy false second header", Snappy, concat(xerial(snappy.Encode(nil, short)), []byte("\x82SNAPPY!01234567more")), short},
		{"snappy any version in the first header", Snappy, concat([]byte(xerialMagic+"\xff\xff\xff\xff\xff\xff\xff\xff"), xerial(snappy.Encode(nil, short))[16:]), short},
		{"lz4", LZ4, lz4Frame(t, long, true), long},
		{"lz4 stored", LZ4, lz4Frame(t, stored, false), stored},
		{"lz4 empty", LZ4, lz4Frame(t, nil, true), nil},
		{"lz4 then junk", LZ4, concat(lz4Frame(t, short, true), []byte("junk")), short},
		{"lz4 second frame not read", LZ4, concat(lz4Frame(t, short, true), lz4Frame(t, long, true)), short},
		{"lz4 checksums, content size not looked at", LZ4, withSums, stored},
		{"lz4 end mark with the top bit", LZ4, concat(lz4Head(0x60, 0x40, nil), []byte{0, 0, 0, 0x80}), nil},
		{"lz4 empty block", LZ4, concat(lz4Head(0x60, 0x40, nil), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}), nil},
		{"lz4 last token with a match length", LZ4, concat(lz4Block(lz4Head(0x60, 0x40, nil), []byte("\x1fa\x01\x00\x00\x51bcdef"), 0), make([]byte, 4)),
			[]byte("aaaaaaaaaaaaaaaaaaaabcdef")},
		{"zstd", Zstd, zstdFrame(t, long), long},
		{"zstd best", Zstd, zstdFrame(t, long, zstd.WithEncoderLevel(zstd.SpeedBestCompression)), long},
		{"zstd no checksum", Zstd, zstdFrame(t, short, zstd.WithEncoderCRC(false)), short},
		{"zstd single segment", Zstd, zstdFrame(t, long, zstd.WithSingleSegment(true)), long},
		{"zstd stored", Zstd, zstdFrame(t, stored[:100], zstd.WithSingleSegment(true)), stored[:100]},
		{"zstd empty frame", Zstd, zstdFrame(t, nil, zstd.WithZeroFrames(true)), nil},
		{"zstd of unknown size", Zstd, stream.Bytes(), bytes.ReplaceAll(long, []byte("9 "), []byte("9\n"))},
		{"zstd frames", Zstd, concat(zstdFrame(t, long), skippable, zstdFrame(t, short), stream.Bytes()),
			concat(long, short, bytes.ReplaceAll(long, []byte("9 "), []byte("9\n")))},
		{"zstd skippable only", Zstd, skippable, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecompressor(0)
			for range 2 { // the second time into used buffers
				got, err := d.Decompress(c.codec, c.payload)
				if err != nil || !bytes.Equal(got, c.want) {
					t.Fatalf("%d bytes, %v, want %d bytes", len(got), err, len(c.want))
				}
			}
			// The exact size is within the limit; one less is not.
			if c.codec == None || len(c.want) < 2 {
				return
			}
			d = NewDecompressor(int64(len(c.want)))
			if got, err := d.Decompress(c.codec, c.payload); err != nil || !bytes.Equal(got, c.want) {
				t.Errorf("limit of the exact size: %d bytes, %v", len(got), err)
			}
			d = NewDecompressor(int64(len(c.want) - 1))
			got, err := d.Decompress(c.codec, c.payload)
			if !errors.Is(err, ErrTooLarge) || len(got) >= len(c.want) || !bytes.HasPrefix(c.want, got) {
				t.Errorf("limit of one less: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestDecompressRefuses(t *testing.T) {
	var gz = gzipped(t, text(1000))
	at := func(b []byte, i int, c byte) []byte {
		b = append([]byte(nil), b...)
		if i < 0 {
			i += len(b)
		}
		b[i] ^= c
		return b
	}
	head := lz4Head(0x60, 0x40, nil)
	lz := lz4Frame(t, text(1000), true)
	sums := lz4Block(lz4Head(0x60|lz4FlagBlockChecksum, 0x40, nil), []byte("stored"), lz4Stored)
	zs := zstdFrame(t, text(1000))
	s2block := s2.EncodeBest(nil, bytes.Repeat(text(100), 20))
	if _, err := s2.Decode(nil, s2block); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		codec   Codec
		payload []byte
		want    string
	}{
		{"codec 5", 5, nil, "codec at byte 0: want 0 to 4, got 5"},
		{"codec -1", -1, nil, "want 0 to 4, got -1"},
		{"gzip nothing", Gzip, nil, "gzip at byte 0: got bytes end inside the header"},
		{"gzip not", Gzip, []byte("0123456789"), "gzip at byte 0: got not in gzip format"},
		{"gzip method", Gzip, at(gz, 2, 1), "gzip at byte 2: got compression method"},
		{"gzip extra cut", Gzip, append([]byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0}, 9, 0, 1), "inside the header"},
		{"gzip extra length cut", Gzip, append([]byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0}, 9), "inside the header"},
		{"gzip name cut", Gzip, append([]byte{0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0}, "name"...), "inside the header"},
		{"gzip header crc", Gzip, append([]byte{0x1f, 0x8b, 8, 2, 0, 0, 0, 0, 0, 0}, 1, 2, 3), "checksum of the header"},
		{"gzip header crc cut", Gzip, append([]byte{0x1f, 0x8b, 8, 2, 0, 0, 0, 0, 0, 0}, 1), "inside the header"},
		{"gzip cut", Gzip, gz[:len(gz)/2], "bytes end inside the compressed data"},
		{"gzip trailer cut", Gzip, gz[:len(gz)-1], "bytes end inside the trailer"},
		{"gzip crc", Gzip, at(gz, -8, 1), "checksum of the member does not match"},
		{"gzip size", Gzip, at(gz, -1, 1), "size of the member does not match"},
		{"gzip second member damaged", Gzip, append(append([]byte(nil), gz...), at(gz, -8, 1)...), "checksum of the member"},
		{"gzip block type", Gzip, append(append([]byte(nil), gz[:10]...), 7), "gzip at byte 11: got flate: corrupt input"},

		{"snappy nothing", Snappy, nil, "snappy at byte 0: got empty payload"},
		{"snappy header alone, short", Snappy, []byte(xerialMagic), "snappy at byte"},
		{"snappy negative chunk", Snappy, append(xerial(), 0xff, 0xff, 0xff, 0xff), "snappy at byte 16: got chunk of -1 bytes where 0 are left"},
		{"snappy chunk cut", Snappy, append(xerial(), 0, 0, 0, 9, 1), "chunk of 9 bytes where 1 are left"},
		{"snappy empty chunk", Snappy, xerial([]byte{}), "snappy at byte 20: got bytes end inside the length"},
		{"snappy second header cut", Snappy, append(xerial(), xerialMagic...), "snappy at byte 16: got bytes end inside a second header"},
		{"snappy second header version", Snappy, append(xerial(), xerialMagic+"\x00\x00\x00\x00\x00\x00\x00\x01"...), "snappy at byte 24: got version"},
		{"snappy S2 repeat", Snappy, xerial(s2block), "copy from distance 0 (S2, not Snappy)"},
		{"snappy S2 repeat, raw", Snappy, s2block, "copy from distance 0 (S2, not Snappy)"},
		{"snappy length above 32 bits", Snappy, unhex(t, "8080808010"), "snappy at byte 4: got length of the output above 32 bits"},
		{"snappy length cut", Snappy, unhex(t, "8080"), "bytes end inside the length of the output"},
		{"snappy less than declared", Snappy, unhex(t, "0400 61"), "snappy at byte 3: got less output than declared"},
		{"snappy more than declared", Snappy, unhex(t, "0104 6161"), "snappy at byte 1: got more output than declared"},
		{"snappy copy more than declared", Snappy, unhex(t, "0200 61 0101"), "snappy at byte 3: got more output than declared"},
		{"snappy copy from before", Snappy, unhex(t, "0800 61 0102"), "snappy at byte 3: got copy from before the output"},
		{"snappy copy 2, distance 0", Snappy, unhex(t, "0400 61 0a0000"), "copy from distance 0"},
		{"snappy copy 4, too far", Snappy, unhex(t, "0400 61 0b00000080"), "copy from before the output"},
		{"snappy copy 1 cut", Snappy, unhex(t, "0500 61 01"), "bytes end inside a copy"},
		{"snappy copy 2 cut", Snappy, unhex(t, "0500 61 0201"), "bytes end inside a copy"},
		{"snappy copy 4 cut", Snappy, unhex(t, "0500 61 03010000"), "bytes end inside a copy"},
		{"snappy literal cut", Snappy, unhex(t, "0508 61"), "bytes end inside a literal"},
		{"snappy literal length cut", Snappy, unhex(t, "05fc 000000"), "bytes end inside a literal"},
		{"snappy huge literal", Snappy, unhex(t, "05fc ffffffff 61"), "bytes end inside a literal"},

		{"lz4 nothing", LZ4, nil, "lz4 at byte 0: got bytes end inside the frame header"},
		{"lz4 header cut", LZ4, head[:6], "bytes end inside the frame header"},
		{"lz4 content size cut", LZ4, []byte{4, 0x22, 0x4d, 0x18, 0x68, 0x40, 1, 2, 3}, "bytes end inside the frame header"},
		{"lz4 magic", LZ4, at(lz, 0, 1), "lz4 at byte 0: got not in LZ4 frame format"},
		{"lz4 legacy frame", LZ4, append([]byte{2, 0x21, 0x4c, 0x18}, make([]byte, 20)...), "not in LZ4 frame format"},
		{"lz4 dictionary", LZ4, lz4Head(0x61, 0x40, []byte{1, 2, 3, 4}), "reserved bits of FLG"},
		{"lz4 linked blocks", LZ4, lz4Head(0x40, 0x40, nil), "blocks depend on each other"},
		{"lz4 version", LZ4, lz4Head(0xa0, 0x40, nil), "unknown frame version"},
		{"lz4 reserved BD", LZ4, lz4Head(0x60, 0x41, nil), "reserved bits of BD"},
		{"lz4 high BD", LZ4, lz4Head(0x60, 0xc0, nil), "reserved bits of BD"},
		{"lz4 block size code", LZ4, lz4Head(0x60, 0x30, nil), "block size code below 4"},
		{"lz4 header checksum", LZ4, at(lz, 6, 1), "lz4 at byte 6: got checksum of the frame header"},
		{"lz4 no end mark", LZ4, lz[:len(lz)-4], "bytes end without an end mark"},
		{"lz4 content checksum cut", LZ4, append(lz4Head(0x64, 0x40, nil), 0, 0, 0, 0, 1, 2, 3), "inside the content checksum"},
		{"lz4 block too large", LZ4, append(head[:7:7], 1, 0, 1, 0), "lz4 at byte 7: got block of 65537 bytes where at most 65536"},
		{"lz4 block cut", LZ4, append(head[:7:7], 9, 0, 0, 0, 1), "lz4 at byte 11: got bytes end inside a block"},
		{"lz4 block checksum", LZ4, append(sums[:len(sums):len(sums)], 1, 2, 3, 4), "checksum of a block does not match"},
		{"lz4 block checksum cut", LZ4, append(sums[:len(sums):len(sums)], 1, 2), "bytes end inside a block checksum"},
		{"lz4 literals cut", LZ4, append(lz4Block(head[:7:7], unhex(t, "50616161"), 0), 0, 0, 0, 0), "lz4 at byte 11: got bytes end inside literals"},
		{"lz4 literal length cut", LZ4, append(lz4Block(head[:7:7], unhex(t, "f0ff"), 0), 0, 0, 0, 0), "inside a literal length"},
		{"lz4 match length cut", LZ4, lz4Block(head[:7:7], unhex(t, "1f61 0100 ffffffffffffff"), 0), "inside a match length"},
		{"lz4 distance 0", LZ4, lz4Block(head[:7:7], unhex(t, "1061 0000 506161616161"), 0), "lz4 at byte 13: got match from before the block"},
		{"lz4 distance too far", LZ4, lz4Block(head[:7:7], unhex(t, "1061 0200 506161616161"), 0), "match from before the block"},
		{"lz4 match at the end", LZ4, lz4Block(head[:7:7], unhex(t, "1061 0100 40616161 61"), 0), "does not end with literals"},
		{"lz4 output too large", LZ4, lz4Block(head[:7:7], append(append(unhex(t, "1f61 0100"), bytes.Repeat([]byte{255}, 300)...), unhex(t, "00 506161616161")...), 0),
			"more output than the frame allows"},

		{"zstd nothing", Zstd, nil, "zstd at byte 0: got empty payload"},
		{"zstd magic", Zstd, at(zs, 0, 1), "zstd at byte 0: got not in zstd format"},
		{"zstd then junk", Zstd, append(append([]byte(nil), zs...), "junk!"...), "not in zstd format"},
		{"zstd then a little", Zstd, append(append([]byte(nil), zs...), 0x28), "bytes end inside a frame"},
		{"zstd cut", Zstd, zs[:len(zs)/2], "bytes end inside"},
		{"zstd header cut", Zstd, zs[:5], "bytes end inside a frame"},
		{"zstd checksum", Zstd, at(zs, -1, 1), "CRC check failed"},
		{"zstd checksum cut", Zstd, zs[:len(zs)-1], "bytes end inside the checksum"},
		{"zstd skippable cut", Zstd, unhex(t, "502a4d18 ff000000 00"), "bytes end inside a frame"},
		{"zstd skippable header cut", Zstd, unhex(t, "502a4d18 ff"), "bytes end inside a frame"},
		{"zstd window", Zstd, unhex(t, "28b52ffd 00 89 010000"), "zstd at byte 5: got window above 128 MiB"},
		{"zstd reserved block", Zstd, unhex(t, "28b52ffd 00 58 070000"), "zstd at byte 6: got reserved block type"},
		{"zstd reserved bit", Zstd, unhex(t, "28b52ffd 08 58 010000"), "reserved bit set"},
		{"zstd dictionary", Zstd, unhex(t, "28b52ffd 01 58 07 010000"), "zstd at byte 0: got "},
		{"zstd block header cut", Zstd, unhex(t, "28b52ffd 00 58 0100"), "bytes end inside a frame"},
		{"zstd block larger than the window", Zstd, unhex(t, "28b52ffd 00 00 0b2000 61"), "block larger than the frame allows"},
		{"zstd content size is a lie", Zstd, unhex(t, "28b52ffd c0 58 0000000000000010 010000"), "content size above what the blocks can hold"},
		{"zstd content size too small", Zstd, unhex(t, "28b52ffd 20 02 190000 616161"), "zstd at byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecompressor(0)
			_, err := d.Decompress(c.codec, c.payload)
			wantError(t, err, ErrCodec, c.want)
			// And it works as before afterwards.
			if got, err := d.Decompress(Gzip, gz); err != nil || len(got) != 1000 {
				t.Errorf("afterwards: %d bytes, %v", len(got), err)
			}
		})
	}
}

// What came out before the damage is kept.
func TestDecompressPartial(t *testing.T) {
	long := text(200 << 10)
	for _, c := range []struct {
		codec   Codec
		payload []byte
	}{
		{Gzip, gzipped(t, long)},
		{Snappy, xerial(snappy.Encode(nil, long[:100<<10]), snappy.Encode(nil, long[100<<10:]))},
		{LZ4, lz4Frame(t, long, true)},
		{Zstd, bytes.Join([][]byte{zstdFrame(t, long[:100<<10]), zstdFrame(t, long[100<<10:])}, nil)},
	} {
		d := NewDecompressor(0)
		got, err := d.Decompress(c.codec, c.payload[:len(c.payload)-20])
		if !errors.Is(err, ErrCodec) || len(got) < 60<<10 || !bytes.HasPrefix(long, got) {
			t.Errorf("%v: %d bytes, %v", c.codec, len(got), err)
		}
	}
}

func TestXXH32(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint32
	}{
		{"", 0x02cc5d05},
		{"a", 0x550d7456},
		{"abc", 0x32d153ff},
		{"Nobody inspects the spammish repetition", 0xe2293b2f},
		{"\x60\x40", 0x82<<8 | xxh32([]byte("\x60\x40"))&^0xff00}, // header checksum of Kafka's frames
	} {
		if got := xxh32([]byte(c.in)); got != c.want {
			t.Errorf("%q: %08x, want %08x", c.in, got, c.want)
		}
	}
	// Against the library's frame reader, which verifies the content checksum.
	for _, n := range []int{1, 15, 16, 17, 63, 1000, 70000} {
		b := text(n)
		frame := lz4Head(0x64, 0x50, nil)
		frame = append(lz4Block(frame, b, lz4Stored), 0, 0, 0, 0)
		frame = binary.LittleEndian.AppendUint32(frame, xxh32(b))
		if got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame))); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
