package batch

import (
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/snappy"
)

// blob16K is a records blob of about 16 KiB, 100 byte values without headers.
func blob16K() (blob []byte, count int32) {
	words := text(16 << 10)
	for len(words) >= 100 {
		body := append([]byte{0}, binary.AppendVarint(nil, int64(count))...)
		body = binary.AppendVarint(body, int64(count))
		body = append(binary.AppendVarint(body, 8), words[:8]...)
		body = append(binary.AppendVarint(body, 92), words[8:100]...)
		body = append(body, 0)
		blob = append(binary.AppendVarint(blob, int64(len(body))), body...)
		words = words[100:]
		count++
	}
	return blob, count
}

// BenchmarkHeaderCRC is what a scan does for each batch.
func BenchmarkHeaderCRC(b *testing.B) {
	blob, count := blob16K()
	raw := wrap(None, count, blob)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := ParseView(raw)
		if err != nil {
			b.Fatal(err)
		}
		if err := v.CheckCRC(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseHeader(b *testing.B) {
	raw := vector(b, "v2_plain")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHeader(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecords decompresses and walks batches of 16 KiB; MB/s are of decompressed bytes.
func BenchmarkRecords(b *testing.B) {
	blob, count := blob16K()
	for _, c := range []struct {
		codec   Codec
		payload []byte
	}{
		{None, blob},
		{Gzip, gzipped(b, blob)},
		{Snappy, xerial(snappy.Encode(nil, blob))},
		{LZ4, lz4Frame(b, blob, true)},
		{Zstd, zstdFrame(b, blob)},
	} {
		v := mustView(b, wrap(c.codec, count, c.payload))
		b.Run(c.codec.String(), func(b *testing.B) {
			d := NewDecompressor(0)
			b.SetBytes(int64(len(blob)))
			b.ReportAllocs()
			for b.Loop() {
				n := int32(0)
				for _, err := range v.Records(d) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != count {
					b.Fatal(n)
				}
			}
		})
	}
}

// BenchmarkSegments reads the batches of real segments with their headers and large values.
func BenchmarkSegments(b *testing.B) {
	for _, name := range []string{"codec-snappy", "codec-lz4", "codec-zstd", "codec-idempotent"} {
		views := segment(b, name)
		var total int64
		for _, v := range views {
			total += v.Size()
		}
		b.Run(name, func(b *testing.B) {
			d := NewDecompressor(0)
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				for _, v := range views {
					for _, err := range v.Records(d) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
}
