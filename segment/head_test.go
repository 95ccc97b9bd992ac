package segment

import (
	"math/rand/v2"
	"testing"

	"kafsck/batch"
)

func TestDecodeHeaderIsParseHeader(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var b [batch.HeaderSize]byte
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		want, _ := batch.ParseHeader(b[:])
		got := batch.Header{RecordCount: 7}
		if decodeHeader(&got, &b); got != want {
			t.Fatalf("%x: got %+v, want %+v", b, got, want)
		}
	}
}
