package batch_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"kafsck/batch"
)

// sealed makes a batch or message of n bytes with random content and a right CRC.
func sealed(rng *rand.Rand, magic int8, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	b[16] = byte(magic)
	if magic == 2 {
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	} else {
		binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	}
	return b
}

// TestFindFlip flips every bit of a batch in turn: those under the CRC and those
// of the CRC itself are named exactly, and no other bit is blamed.
func TestFindFlip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		magic     int8
		size, crc int
	}{{2, 61, 17}, {2, 62, 17}, {2, 400, 17}, {2, 5000, 17}, {1, 34, 12}, {0, 26, 12}, {1, 900, 12}} {
		b := sealed(rng, c.magic, c.size)
		if f, ok := batch.FindFlip(b); ok {
			t.Errorf("magic %d, %d bytes, sound: %+v", c.magic, c.size, f)
		}
		for i := 17; i < len(b); i++ {
			for bit := range 8 {
				b[i] ^= 1 << bit
				f, ok := batch.FindFlip(b)
				if !ok || f.Position != int64(i) || f.Bit != bit || f.Field == "" {
					t.Fatalf("magic %d, %d bytes, byte %d bit %d: %+v %v", c.magic, c.size, i, bit, f, ok)
				}
				b[i] ^= 1 << bit
			}
		}
		for i := c.crc; i < c.crc+4; i++ {
			b[i] ^= 0x10
			if f, ok := batch.FindFlip(b); !ok || f.Position != int64(i) || f.Bit != 4 || f.Field != "crc" {
				t.Errorf("magic %d, byte %d of the CRC: %+v %v", c.magic, i, f, ok)
			}
			b[i] ^= 0x10
		}
	}
}

// Two wrong bits are no single one, wherever they are.
func TestFindFlipTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := sealed(rng, 2, 1000)
	for range 20000 {
		i, j := 21+rng.IntN(len(b)-21), 21+rng.IntN(len(b)-21)
		x, y := byte(1)<<rng.IntN(8), byte(1)<<rng.IntN(8)
		if i == j && x == y {
			continue
		}
		b[i] ^= x
		b[j] ^= y
		if f, ok := batch.FindFlip(b); ok {
			t.Fatalf("bytes %d and %d changed: blames %+v", i, j, f)
		}
		b[i] ^= x
		b[j] ^= y
	}
}

func TestFindFlipFields(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		magic int8
		at    int
		want  string
	}{
		{2, 21, "attributes"}, {2, 26, "last offset delta"}, {2, 27, "base timestamp"}, {2, 42, "max timestamp"}, {2, 50, "producer id"}, {2, 52, "producer epoch"},
		{2, 53, "base sequence"}, {2, 60, "record count"}, {2, 99, "records"}, {1, 17, "attributes"}, {1, 25, "timestamp"}, {1, 26, "key and value"}, {0, 18, "key and value"},
	} {
		b := sealed(rng, c.magic, 100)
		if c.magic == 2 {
			b[21], b[22] = 0, 0 // not compressed
			binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
		}
		b[c.at] ^= 0x08
		if f, ok := batch.FindFlip(b); !ok || f.Field != c.want {
			t.Errorf("magic %d byte %d: %+v %v, want %s", c.magic, c.at, f, ok, c.want)
		}
	}
}

// FuzzFindFlip: whatever the bytes, turning the named bit back makes the CRC
// match.
func FuzzFindFlip(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	f.Add(sealed(rng, 2, 80))
	f.Add(sealed(rng, 1, 40))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 30))
	f.Fuzz(func(t *testing.T, b []byte) {
		flip, ok := batch.FindFlip(b)
		if !ok {
			return
		}
		if flip.Position < 0 || flip.Position >= int64(len(b)) || flip.Bit < 0 || flip.Bit > 7 || flip.Field == "" {
			t.Fatalf("%+v for %d bytes", flip, len(b))
		}
		b = bytes.Clone(b)
		b[flip.Position] ^= 1 << flip.Bit
		if flip.Position == 16 {
			return // the magic byte decides which CRC counts
		}
		if again, ok := batch.FindFlip(b); ok {
			t.Fatalf("%+v explains the mismatch, but then %+v does", flip, again)
		}
	})
}

func BenchmarkFindFlip(b *testing.B) {
	raw := sealed(rand.New(rand.NewPCG(9, 9)), 2, 1<<20)
	raw[100] ^= 1
	raw[200] ^= 1
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		batch.FindFlip(raw)
	}
}
