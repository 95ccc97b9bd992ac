package segment

import (
	"hash/crc32"
	"sync"
)

// The polynomials of the two CRCs, reflected as hash/crc32 has them.
const (
	castagnoliPoly = crc32.Castagnoli
	ieeePoly       = crc32.IEEE
)

// prefixStep is the distance in bytes of the prefixes of the window whose CRC is kept.
const prefixStep = 256

// prefixSums gives the CRC of any bytes of a window in constant time, from those of its prefixes.
// They are computed once CRCs that did not verify have cost more than that. What comes in front of the
// window does not matter: the first sum may be any.
//
//	0    256   512   768              window
//	|-----|-----|-----|-----|-----|
//	 s[1] s[2]  s[3]  …                  s[k]: CRC of the first 256·k bytes
type prefixSums struct {
	poly   uint32
	sums   []uint32
	built  bool
	wasted int // bytes under CRCs that did not verify, since the window moved
}

func (p *prefixSums) reset() { p.built, p.wasted = false, 0 }

// move follows the window: its first bytes, a multiple of prefixStep, are given up, and more came behind
// it. keep: others stay.
func (p *prefixSums) move(bytes int, keep bool) {
	if p.built = p.built && keep && p.wasted > 0; p.built {
		p.sums = p.sums[:copy(p.sums, p.sums[min(bytes/prefixStep, len(p.sums)):])]
	}
	p.wasted = 0
}

// sum is the CRC of b[from:to]; b is the window.
func (p *prefixSums) sum(b []byte, from, to int, table *crc32.Table) uint32 {
	if !p.built && p.wasted <= 2*len(b) || to-from <= 2*prefixStep {
		return crc32.Checksum(b[from:to], table)
	}
	p.build(b, table)
	return p.prefix(b, to, table) ^ shifterOf(p.poly).shift(p.prefix(b, from, table), to-from)
}

// build goes on to the end of the window.
func (p *prefixSums) build(b []byte, table *crc32.Table) {
	if !p.built || len(p.sums) == 0 {
		p.built, p.sums = true, append(p.sums[:0], 0)
	}
	sum := p.sums[len(p.sums)-1]
	for i := len(p.sums) * prefixStep; i <= len(b); i += prefixStep {
		sum = crc32.Update(sum, table, b[i-prefixStep:i])
		p.sums = append(p.sums, sum)
	}
}

// prefix is the CRC of b[:n].
func (p *prefixSums) prefix(b []byte, n int, table *crc32.Table) uint32 {
	k := n / prefixStep
	return crc32.Update(p.sums[k], table, b[k*prefixStep:n])
}

// shifter multiplies a CRC by x^(8n) modulo its polynomial: what n more bytes of zeros would do to
// it. The bit of x^0 is the highest.
type shifter struct {
	poly uint32
	low  [1 << 12]uint32 // x^(8i)
	high [1 << 12]uint32 // x^(8·i·2¹²)
}

var shifters = [2]func() *shifter{
	sync.OnceValue(func() *shifter { return newShifter(castagnoliPoly) }),
	sync.OnceValue(func() *shifter { return newShifter(ieeePoly) }),
}

func shifterOf(poly uint32) *shifter {
	if poly == castagnoliPoly {
		return shifters[0]()
	}
	return shifters[1]()
}

func newShifter(poly uint32) *shifter {
	s := &shifter{poly: poly}
	const x8 = 1 << (31 - 8)
	s.low[0], s.high[0] = 1<<31, 1<<31
	for i := 1; i < len(s.low); i++ {
		s.low[i] = s.times(s.low[i-1], x8)
	}
	step := s.times(s.low[len(s.low)-1], x8)
	for i := 1; i < len(s.high); i++ {
		s.high[i] = s.times(s.high[i-1], step)
	}
	return s
}

// shift is for up to 16 MiB.
func (s *shifter) shift(sum uint32, n int) uint32 {
	return s.times(s.times(s.low[n&0xfff], s.high[n>>12]), sum)
}

// times multiplies two polynomials.
func (s *shifter) times(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			p ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ s.poly
		} else {
			b >>= 1
		}
	}
	return p
}
