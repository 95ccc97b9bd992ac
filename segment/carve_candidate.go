package segment

import (
	"encoding/binary"
	"math/bits"

	"kafsck/batch"
)

// candidate looks for the next place in b, which is what is in memory from a position on, where a
// batch or message may stand. It returns how many bytes lie before it; may is false if it has come to
// none: then so many bytes are ruled out, those of holes behind b too.
func (c *carver) candidate(b []byte) (passed int64, may bool) {
	if n := zeroPrefix(b); n >= minSkip {
		// Up to 11 zero bytes may begin a header: a base offset of 0 and a small length.
		if n < len(b) {
			n -= batch.LogOverhead - 1
		} else if !c.w.end {
			if hole := c.w.skip(); hole > 0 {
				c.stats.Zeros += int64(n) + hole
				return int64(n) + hole, false
			}
			n -= batch.LogOverhead - 1
		}
		if n >= minZeros {
			c.stats.Zeros += int64(n)
		}
		return int64(n), false
	}
	if len(b) <= headPeek && c.w.end {
		i, passed := candidate(b, true)
		if i >= 0 {
			return int64(i), true
		}
		return int64(max(passed, 1)), false
	}
	n, may := mayBegin(b, c.w.reach)
	if !may {
		n = max(n, 1)
	}
	return int64(n), may
}

// minSkip is the shortest run of zeros that is passed over as one.
const minSkip = 64

// mayBegin is the first index of b at which a batch or message may stand whose first headPeek bytes are
// in b: one that readHead calls sane, with a length that it can have, and a message besides filled by
// its key and value, as far as b tells. Where there is none it is how many indexes are ruled out, up to
// a run of zeros or the end. A key of more than reach bytes, which is less than 16 MiB, is none.
//
// The magic byte, which is below 3, rules most places out, 32 of them at once; where one is, eight
// places are asked at once for what single bytes tell.
func mayBegin(b []byte, reach int) (i int, may bool) {
	n := len(b) - headPeek + 1
	for i+step <= n {
		w := (*[step + headPeek - 1]byte)(b[i:])
		if quiet((*[step]byte)(w[16:])) {
			i += step
			continue
		}
		if unlikely(w) {
			i += step
			continue
		}
		for k := 0; k < step; k += 8 {
			heads := likely((*[8 + headPeek - 1]byte)(w[k:]))
			for ; heads != 0; heads &= heads - 1 {
				if at := i + k + bits.TrailingZeros64(heads)/8; isHead(b[at:], reach) {
					return at, true
				}
			}
		}
		if binary.LittleEndian.Uint64(w[24:]) == 0 && zeroPrefix(b[i+24:min(i+24+minSkip, len(b))]) == minSkip {
			return i + 24, false
		}
		i += step
	}
	for ; i < n; i++ {
		if b[i+16] <= 2 && isHead(b[i:], reach) {
			return i, true
		}
	}
	return i, false
}

// step is how many places are asked at once.
const step = 32

const (
	lows  = 0x0101010101010101 // the lowest bit of each byte
	highs = lows << 7
)

// quiet reports whether no byte of b is a magic byte: all are above 2.
func quiet(b *[step]byte) bool {
	le := binary.LittleEndian
	w, x, y, z := le.Uint64(b[0:]), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	const k = 3 * lows
	return ((w-k)&^w|(x-k)&^x|(y-k)&^y|(z-k)&^z)&highs == 0 // a borrow marks too many, never too few
}

// unlikely reports whether at none of 32 places a header stands, by its signs and by the byte that is
// small: the attributes of a message, or the first of those of a batch. It is right if it says so.
func unlikely(b *[step + headPeek - 1]byte) bool {
	le := binary.LittleEndian
	few := uint64(0)
	for k := 0; k < step; k += 8 {
		m, a, b16, base := le.Uint64(b[k+16:]), le.Uint64(b[k+17:]), le.Uint64(b[k+21:]), le.Uint64(b[k:])
		few |= (m - 3*lows) &^ m & ((a-12*lows)&^a | (b16-lows)&^b16) &^ (base | le.Uint64(b[k+8:]))
	}
	return few&highs == 0
}

// likely marks, by the high bits of its bytes, at which of eight places a header may stand.
//
//	i   +8      +16     +17            +21      +23
//	| offset |length|epoch|2| crc        |attributes|last delta …   attributes 0–4 with flags or without
//	| offset |length| crc |0|attributes|key length|key|value length …
//	| offset |length| crc |1|attributes|timestamp     |key length|key|value length …
//
// Offset, length and last offset delta are not negative.
func likely(b *[8 + headPeek - 1]byte) uint64 {
	le := binary.LittleEndian
	magic, length := le.Uint64(b[16:]), le.Uint64(b[8:])
	few := below(magic, 3) &^ le.Uint64(b[0:]) &^ length
	if few == 0 {
		return 0
	}
	two := few & below(magic^2*lows, 1)
	few &^= two
	if two != 0 {
		a := le.Uint64(b[22:])
		two &= below(le.Uint64(b[21:]), 1) & below(a&(7*lows), 5) &^ a &^ le.Uint64(b[23:]) &^ le.Uint64(b[57:])
	}
	if few &= below(le.Uint64(b[17:]), 12); few == 0 {
		return two
	}
	one := few & below(magic^lows, 1)
	if few &^= one; few != 0 {
		few &= keyFits(length, le.Uint64(b[9:]), (*[12]byte)(b[18:]))
	}
	if one != 0 {
		one &= keyFits(length, le.Uint64(b[9:]), (*[12]byte)(b[26:]))
	}
	return two | few | one
}

// keyFits marks the places at which a key length may stand, and behind it, where the key is empty, a
// value length. length and below are the first bytes of the message's length and the second ones.
//
//	+0         +4
//	|key length|value length         length = 14 or 22 + key length + value length; -1 counts as 0
func keyFits(length, second uint64, b *[12]byte) uint64 {
	le := binary.LittleEndian
	k0, k1 := le.Uint64(b[0:]), le.Uint64(b[1:])
	none := below(^k0, 1) & below(^k1, 1) // -1
	zero := below(k1, 1)
	fits := none | below(k0, 1)&(zero|below(k1, 128)&^below(length|second, 1))
	// A value length is the length less 14 or 22: they have the same first byte, or the next lower one.
	zero &= below(k0|le.Uint64(b[2:])|le.Uint64(b[3:]), 1)
	v := le.Uint64(b[4:])
	return fits &^ (zero &^ below(v^length, 1) &^ below((v&^highs+lows)^v&highs^length, 1))
}

// below has the high bit of each byte of x that is below k, which is from 1 to 128.
func below(x, k uint64) uint64 {
	return ^((x &^ highs) + (0x80-k)*lows | x) & highs
}

// isHead is what mayBegin asks of a place; the magic byte there is below 3.
func isHead(b []byte, reach int) bool {
	w := (*[headPeek]byte)(b)
	magic := w[16]
	if magic == 2 {
		h := readHead(w[:])
		return h.sane && h.total() >= batch.HeaderSize
	}
	if w[0] >= 0x80 || w[17] > 11 || w[17]&7 > 3 || magic == 0 && w[17] > 3 {
		return false
	}
	at := 18
	if magic == 1 {
		if at = 26; int64(binary.BigEndian.Uint64(w[18:])) < -1 {
			return false
		}
	}
	key := int(int32(be32(w[at:])))
	value := at + 4 + max(key, 0)
	rest := batch.LogOverhead + int(int32(be32(w[8:]))) - value - 4
	switch {
	case key < -1 || key > reach || rest < 0:
		return false
	case value+4 > len(b):
		return true
	}
	n := int(int32(be32(b[value:])))
	return n == rest || n == -1 && rest == 0
}
