package segment

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// minZeros is the shortest run of zeros inside junk, in bytes, that becomes a frame of its
// own: a disk does not lose less than a sector.
const minZeros = 512

var zeroBlock [4096]byte

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

func hex32(n uint32) string {
	const digits = "0123456789abcdef"
	var b [8]byte
	for i := range b {
		b[i] = digits[n>>(28-4*i)&15]
	}
	return string(b[:])
}

func allZero(b []byte) bool { return zeroPrefix(b) == len(b) }

// zeroPrefix is the number of zero bytes that b begins with.
func zeroPrefix(b []byte) int {
	n := 0
	for len(b)-n >= len(zeroBlock) && bytes.Equal(b[n:n+len(zeroBlock)], zeroBlock[:]) {
		n += len(zeroBlock)
	}
	for ; len(b)-n >= 8; n += 8 {
		if v := binary.LittleEndian.Uint64(b[n:]); v != 0 {
			return n + bits.TrailingZeros64(v)/8
		}
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

// zeroRun is the run of zeros that the search is in; start is -1 outside.
type zeroRun struct{ start int64 }

// zeros follows runs of zeros through b, which begins at pos and continues the last call.
func (s *search) zeros(b []byte, pos, cut int64) {
	for len(b) > 0 {
		if s.run.start < 0 {
			i := indexZeros(b)
			if i < 0 {
				return
			}
			s.run.start = pos + int64(i)
			b, pos = b[i:], pos+int64(i)
		}
		n := zeroPrefix(b)
		if n == len(b) {
			return
		}
		b, pos = b[n:], pos+int64(n)
		s.endRun(pos, cut)
	}
}

// endRun ends the run of zeros, if there is one, before end.
func (s *search) endRun(end, cut int64) {
	start := s.run.start
	s.run.start = -1
	n := end - start
	if start < 0 || cut >= 0 || n < minZeros && (end < s.size || n < overhead) {
		return
	}
	s.items = append(s.items, item{pos: start, end: end})
}

// indexZeros is where a run of zeros begins that is either long or reaches the end of b, or
// -1. Short runs in the middle may be missed.
func indexZeros(b []byte) int {
	const step = 64
	for i := 0; i+step <= len(b); i += step {
		if b[i] == 0 && bytes.Equal(b[i:i+step], zeroBlock[:step]) {
			for i > 0 && b[i-1] == 0 {
				i--
			}
			return i
		}
	}
	i := len(b)
	for i > 0 && b[i-1] == 0 {
		i--
	}
	if i == len(b) {
		return -1
	}
	return i
}
