package segment_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"kafsck/segment"
)

// benchLog is 64 MiB of batches of one record each, of size bytes.
func benchLog(size int) []byte {
	const total = 64 << 20
	table := crc32.MakeTable(crc32.Castagnoli)
	out := make([]byte, 0, total)
	for offset := int64(0); len(out)+size <= total; offset++ {
		b := make([]byte, size)
		for i := 61; i < size; i++ {
			b[i] = byte(i * int(offset+7))
		}
		binary.BigEndian.PutUint64(b, uint64(offset))
		binary.BigEndian.PutUint32(b[8:], uint32(size-12))
		b[16] = 2
		binary.BigEndian.PutUint32(b[57:], 1)
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], table))
		out = append(out, b...)
	}
	return out
}

// bareLoop is the least that a check of all CRCs must do: read, look at the length, compute
// the CRC, know the next offset.
func bareLoop(b *testing.B, r io.ReaderAt, size int64, buf []byte) (batches int) {
	table := crc32.MakeTable(crc32.Castagnoli)
	pos, n := int64(0), 0
	next := int64(0)
	for {
		for i := 0; ; {
			if n-i < 61 || n-i < 12+int(binary.BigEndian.Uint32(buf[i+8:])) {
				n = copy(buf, buf[i:n])
				break
			}
			raw := buf[i : i+12+int(binary.BigEndian.Uint32(buf[i+8:]))]
			if raw[16] != 2 || crc32.Checksum(raw[21:], table) != binary.BigEndian.Uint32(raw[17:]) {
				b.Fatal("crc")
			}
			next = int64(binary.BigEndian.Uint64(raw)) + int64(binary.BigEndian.Uint32(raw[23:])) + 1
			batches++
			i += len(raw)
		}
		if pos == size {
			break
		}
		k, _ := r.ReadAt(buf[n:min(int64(len(buf)), int64(n)+size-pos)], pos)
		pos += int64(k)
		n += k
	}
	if next != int64(batches) {
		b.Fatal(next, batches)
	}
	return batches
}

var sizes = []struct {
	name string
	size int
}{{"16KiB", 16 << 10}, {"330B", 330}}

func BenchmarkBare(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			log := benchLog(s.size)
			r := bytes.NewReader(log)
			buf := make([]byte, segment.DefaultBufferSize)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				bareLoop(b, r, int64(len(log)), buf)
			}
		})
	}
}

func BenchmarkRuns(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			log := benchLog(s.size)
			r := bytes.NewReader(log)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				next := int64(0)
				for run, err := range segment.Runs(r, int64(len(log)), segment.ScanOptions{}) {
					if err != nil || run.Odd != nil {
						b.Fatal(run, err)
					}
					next = run.Sound[len(run.Sound)-1].Header.NextOffset()
				}
				if next != int64(len(log)/s.size) {
					b.Fatal(next)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			log := benchLog(s.size)
			r := bytes.NewReader(log)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				for f, err := range segment.Scan(r, int64(len(log)), segment.ScanOptions{}) {
					if err != nil || f.Kind != segment.Batch || f.Damage != nil {
						b.Fatal(f, err)
					}
				}
			}
		})
	}
}

// BenchmarkWriteIndexes: 1 GiB must take less than 2 s on one core.
func BenchmarkWriteIndexes(b *testing.B) {
	for _, x := range sizes {
		log := benchLog(x.size)
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			for b.Loop() {
				if err := segment.WriteIndexes(b.Context(), bytes.NewReader(log), int64(len(log)), 0, segment.DefaultIndexInterval, io.Discard, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
