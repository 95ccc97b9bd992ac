package checkpoint

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// readerChars is the capacity of java.io.BufferedReader in UTF-16 code units.
// It decides how far ahead of the current line invalid UTF-8 is noticed.
const readerChars = 8192

// lineReader yields the lines that java.io.BufferedReader.readLine would: ended
// by LF, CR or CRLF, the last one also by the end of the file, and no empty
// line after the last terminator.
//
// Files.newBufferedReader decodes strictly, and a buffer at a time: invalid
// UTF-8 fails the read of the first line that needs the buffer it lies in, even
// when it stands further down. next reports that once and then goes on, so that
// the caller can keep what is readable.
type lineReader struct {
	b    []byte
	pos  int // next unread byte
	line int // number of the line last returned, 1-based

	bad      int // position of the first invalid byte, -1 none
	badChars int // UTF-16 code units before bad
	chars    int // UTF-16 code units before pos, counted only as far as bad
}

func newLineReader(b []byte) *lineReader {
	r := &lineReader{b: b, bad: -1}
	for i := 0; i < len(b); {
		c, n := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && n <= 1 {
			r.bad = i
			if !utf8.FullRune(b[i:]) {
				// A sequence cut short by the end of the file is noticed only there.
				r.badChars = math.MaxInt
			}
			break
		}
		r.badChars += units(c)
		i += n
	}
	return r
}

func units(c rune) int {
	if c > 0xffff {
		return 2
	}
	return 1
}

// next returns the next line without its terminator; ok is false at the end.
// undecodable is true once, on the call at which Kafka's read would fail.
func (r *lineReader) next() (line []byte, ok, undecodable bool) {
	if r.pos >= len(r.b) {
		return nil, false, r.failedBy(math.MaxInt)
	}
	start := r.pos
	end, after := len(r.b), len(r.b)
	if i := bytes.IndexAny(r.b[start:], "\r\n"); i >= 0 {
		end, after = start+i, start+i+1
		if r.b[end] == '\r' && after < len(r.b) && r.b[after] == '\n' {
			after++
		}
	}
	r.pos = after
	r.line++
	need := math.MaxInt // without a terminator Java reads to the end of the file
	if after > end {
		for i := start; i < end && r.bad >= 0 && i < r.bad; {
			c, n := utf8.DecodeRune(r.b[i:])
			r.chars += units(c)
			i += n
		}
		need = r.chars / readerChars
		r.chars += after - end
	}
	return r.b[start:end], true, r.failedBy(need)
}

// failedBy reports whether the buffers up to and including number `need` hold
// the first invalid byte, and forgets it if so.
func (r *lineReader) failedBy(need int) bool {
	if r.bad < 0 {
		return false
	}
	block := r.badChars
	if block != math.MaxInt {
		block /= readerChars
	}
	if block > need {
		return false
	}
	r.bad = -1
	return true
}

// undecodableAt describes the first invalid UTF-8 of b.
func undecodableAt(b []byte) *Malformed {
	r := newLineReader(b)
	bad := r.bad
	r.bad = -1
	for {
		line, ok, _ := r.next()
		if !ok {
			return malformed(max(r.line, 1), nil, "invalid UTF-8")
		}
		if r.pos > bad {
			return malformed(r.line, line, "invalid UTF-8")
		}
	}
}

// javaSpace is \s of java.util.regex without UNICODE_CHARACTER_CLASS.
func javaSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

// splitSpace is Pattern.compile("\\s+").split(line): a leading separator gives
// an empty first token, trailing empty tokens are dropped, and the empty line
// is one empty token. At most limit+1 tokens are returned.
func splitSpace(line []byte, limit int) [][]byte {
	if len(line) == 0 {
		return [][]byte{line}
	}
	var out [][]byte
	for i := 0; i < len(line) && len(out) <= limit; {
		start := i
		for i < len(line) && !javaSpace(line[i]) {
			i++
		}
		token := line[start:i]
		for i < len(line) && javaSpace(line[i]) {
			i++
		}
		// Only the first token can be empty; a line of nothing but white space
		// has only trailing empty tokens, hence none.
		if len(token) == 0 && i == len(line) {
			break
		}
		out = append(out, token)
	}
	return out
}

// parseInt is java.lang.Integer.parseInt(s, 10).
func parseInt(s []byte) (int32, bool) {
	n, ok := parseJava(s, math.MaxInt32)
	return int32(n), ok
}

// parseLong is java.lang.Long.parseLong(s, 10).
func parseLong(s []byte) (int64, bool) {
	return parseJava(s, math.MaxInt64)
}

// parseJava accepts an optional sign and at least one digit. Digits are those
// of Character.digit(char, 10): any decimal digit of the basic plane.
func parseJava(s []byte, limit uint64) (int64, bool) {
	negative := false
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if len(s) == 0 {
		return 0, false
	}
	if negative {
		limit++
	}
	var n uint64
	for len(s) > 0 {
		c, size := utf8.DecodeRune(s)
		d, ok := digit(c)
		if !ok || n > (limit-uint64(d))/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
		s = s[size:]
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// digit is Character.digit(c, 10) for a char, that is within the basic plane.
func digit(c rune) (int, bool) {
	if c >= '0' && c <= '9' {
		return int(c - '0'), true
	}
	if c < 0x80 || c > 0xffff || !unicode.Is(unicode.Nd, c) {
		return 0, false
	}
	// Decimal digits come in runs of ten in ascending order; two runs may touch.
	for _, r := range unicode.Nd.R16 {
		if lo := rune(r.Lo); c >= lo && c <= rune(r.Hi) {
			return int(c-lo) % 10, true
		}
	}
	return 0, false
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
