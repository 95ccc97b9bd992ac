package batch

import (
	"encoding/binary"
	"math/bits"
)

const (
	xxhPrime1 = 0x9e3779b1
	xxhPrime2 = 0x85ebca77
	xxhPrime3 = 0xc2b2ae3d
	xxhPrime4 = 0x27d4eb2f
	xxhPrime5 = 0x165667b1
)

// xxh32 is xxHash32 with seed 0, the checksum of LZ4 frames (xxHash specification, XXH32).
func xxh32(b []byte) uint32 {
	total := uint32(len(b))
	var h uint32
	if len(b) >= 16 {
		// The sums wrap, so they cannot be constants.
		v1, v2, v3, v4 := uint32(xxhPrime1), uint32(xxhPrime2), uint32(0), uint32(0)
		v1 += v2
		v4 -= xxhPrime1
		for ; len(b) >= 16; b = b[16:] {
			v1 = xxhRound(v1, binary.LittleEndian.Uint32(b))
			v2 = xxhRound(v2, binary.LittleEndian.Uint32(b[4:]))
			v3 = xxhRound(v3, binary.LittleEndian.Uint32(b[8:]))
			v4 = xxhRound(v4, binary.LittleEndian.Uint32(b[12:]))
		}
		h = bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) + bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	} else {
		h = xxhPrime5
	}
	h += total
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxhPrime3, 17) * xxhPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxhPrime5, 11) * xxhPrime1
	}
	h ^= h >> 15
	h *= xxhPrime2
	h ^= h >> 13
	h *= xxhPrime3
	return h ^ h>>16
}

func xxhRound(v, lane uint32) uint32 {
	return bits.RotateLeft32(v+lane*xxhPrime2, 13) * xxhPrime1
}
