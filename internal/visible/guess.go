package visible

import (
	"strconv"
	"unicode/utf8"
)

// IsText reports whether b reads as text: UTF-8 in which at most every tenth character
// is one that cannot be printed. A number in binary is mostly those.
func IsText(b []byte) bool {
	n, odd := 0, 0
	for i := 0; i < len(b); {
		if 0x20 <= b[i] && b[i] < 0x7f {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			return false
		}
		if !strconv.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' {
			odd++
		}
		n++
		i += size
	}
	return odd*10 <= n
}

// WholeRunes drops a character that was cut at the end.
func WholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}
