package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/segment"
)

// BenchmarkCarve goes over 64 MiB of what disks hold, and of what an attacker would put there.
func BenchmarkCarve(b *testing.B) {
	const size = 64 << 20
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, size)
	for i := 0; i+8 <= len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], rnd.Uint64())
	}
	for _, x := range []struct {
		name string
		data []byte
	}{
		{"zeros", make([]byte, size)},
		{"noise", noise},
		{"text", bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, and again\n"), size/55)},
		{"small numbers", smallNumbers(rnd, size)},
		{"batches of 16 KiB", manyBatches(16<<10, size)},
		{"batches of 100 bytes", manyBatches(30, size)},
		{"headers everywhere", headersEverywhere(size)},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(x.data)))
			for b.Loop() {
				for _, err := range segment.Carve(context.Background(), bytes.NewReader(x.data), segment.CarveOptions{Size: int64(len(x.data))}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func manyBatches(value, size int) []byte {
	var out []byte
	for base := int64(0); len(out) < size; base++ {
		out = append(out, logtest.Batch{BaseOffset: base, Records: logtest.Values(string(bytes.Repeat([]byte("v"), value)))}.Encode()...)
	}
	return out
}
