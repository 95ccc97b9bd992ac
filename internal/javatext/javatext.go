// Package javatext writes text as Java does, where kafsck must print the same bytes as a
// program of Kafka's: strings decoded from UTF-8 that may be damaged, JSON by Jackson,
// floating-point numbers, and the order in which a HashMap gives out its keys.
//
// Everything appends to a slice and allocates nothing else. Nothing here knows Kafka.
//
// Sources: java.lang.String (decodeUTF8_UTF16), com.fasterxml.jackson.core.io.CharTypes and
// JsonStringEncoder, java.lang.Double.toString, java.util.HashMap.
package javatext

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// AppendUTF8 appends what new String(b, UTF_8) holds, as UTF-8: b itself where that is sound.
//
// Of what is not, Java makes one U+FFFD for each longest part that could begin a character
// ("maximal subpart"), with one exception: a surrogate in three bytes is one U+FFFD, not three.
func AppendUTF8(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	start := len(dst)
	most := len(replacement)*len(b) + 1 // that can come out; alone writes a byte more than it counts
	dst = slices.Grow(dst, most)
	out := dst[start : start+most]
	n := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < 0xC2 || c > 0xF4 { // begins nothing
			binary.LittleEndian.PutUint32(out[n:], alone[c])
			n += int(aloneSize[c])
			i++
			continue
		}
		if c < 0xE0 && i+1 < len(b) { // two bytes, or one U+FFFD
			if b[i+1]&0xC0 == 0x80 {
				out[n], out[n+1] = c, b[i+1]
				n, i = n+2, i+2
				continue
			}
			i++
		} else if _, size := utf8.DecodeRune(b[i:]); size > 1 {
			n += copy(out[n:], b[i:i+size])
			i += size
			continue
		} else {
			i += malformed(b[i:])
		}
		n += copy(out[n:], replacement)
	}
	return dst[:start+n]
}

// alone is what a byte that begins no longer character comes out as, in little-endian order, and
// aloneSize how many bytes that are: ASCII itself, or U+FFFD. Two tables and no branch: of random
// bytes no branch can be predicted.
var (
	alone     [256]uint32
	aloneSize [256]uint8
)

func init() {
	for c := range alone {
		alone[c], aloneSize[c] = uint32(c), 1
		if c >= utf8.RuneSelf {
			alone[c], aloneSize[c] = uint32(replacement[0])|uint32(replacement[1])<<8|uint32(replacement[2])<<16, 3
		}
	}
}

// malformed is how many bytes one U+FFFD stands for; b begins with what is no character.
func malformed(b []byte) int {
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0 // no continuation
	}
	continues := func(i int) bool { return at(i)&0xC0 == 0x80 }
	switch first := b[0]; {
	case first >= 0xE0 && first <= 0xEF:
		switch {
		case !continues(1) || first == 0xE0 && at(1) < 0xA0:
			return 1
		case !continues(2):
			return 2
		}
		return 3 // a surrogate
	case first >= 0xF0 && first <= 0xF4:
		switch {
		case !continues(1) || first == 0xF0 && at(1) < 0x90 || first == 0xF4 && at(1) > 0x8F:
			return 1
		case !continues(2):
			return 2
		}
		return 3
	}
	return 1
}

// AppendJSON appends the string that b holds, in quotes, as Jackson writes it by default: only
// quotes, backslashes and control characters below U+0020 are escaped.
func AppendJSON(dst, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	start := len(dst)
	dst = AppendUTF8(dst, b)
	if !needsEscape(dst[start:]) {
		return append(dst, '"')
	}
	text := string(dst[start:])
	dst = dst[:start]
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn.fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}

func needsEscape(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return true
		}
	}
	return false
}

// AppendDouble appends Double.toString(f): 1.0, 1.0E10, 1.0E-5, NaN, -Infinity. The digits are
// the fewest that tell f from its neighbours, as Java's have been since 19; before, there was
// sometimes one more.
func AppendDouble(dst []byte, f float64) []byte {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case abs == math.SmallestNonzeroFloat64:
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "4.9E-324"...) // two digits at the least
	case abs >= 1e-3 && abs < 1e7 || f == 0:
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if !strings.Contains(string(dst[start:]), ".") {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	dst = append(dst, mantissa...)
	if !strings.Contains(mantissa, ".") {
		dst = append(dst, ".0"...)
	}
	n, _ := strconv.Atoi(exponent) // strconv wrote it
	return strconv.AppendInt(append(dst, 'E'), int64(n), 10)
}

// HashCode is String.hashCode: over UTF-16 code units.
func HashCode(s string) int32 {
	var h uint32
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*(31*h+0xD800+uint32(r)>>10) + 0xDC00 + uint32(r)&0x3FF
			continue
		}
		h = 31*h + uint32(r)
	}
	return int32(h)
}

// HashOrder puts keys, distinct and in the order in which they came into a new java.util.HashMap,
// into the order in which that gives them out: by bucket, and in a bucket as they came.
func HashOrder(keys []string) []string {
	buckets := 16
	for len(keys)*4 > buckets*3 {
		buckets *= 2
	}
	out := make([]string, 0, len(keys))
	in := make([][]string, buckets)
	for _, k := range keys {
		h := uint32(HashCode(k))
		i := int(h^h>>16) & (buckets - 1)
		in[i] = append(in[i], k)
	}
	for _, b := range in {
		out = append(out, b...)
	}
	return out
}
