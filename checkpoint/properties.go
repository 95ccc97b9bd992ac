package checkpoint

import (
	"errors"
	"unicode/utf16"
)

var errUnicodeEscape = errors.New(`malformed \u escape`)

// property is one logical line of a properties file.
type property struct {
	key, value string
	line       int    // number of the natural line it begins on, 1-based
	text       []byte // the logical line, continuations joined
	err        error  // errUnicodeEscape: Java gives up here
}

// parseProperties reads the syntax of java.util.Properties.load(InputStream):
// ISO-8859-1 bytes; natural lines end in LF, CR or CRLF; blank lines and lines
// whose first character is # or ! are skipped; an odd number of backslashes at
// the end of a line joins the next one without its leading white space; the key
// ends at the first unescaped =, : or white space.
func parseProperties(b []byte) []property {
	var out []property
	r := propertyLines{b: b, natural: 1}
	for {
		text, line, ok := r.next()
		if !ok {
			return out
		}
		p := property{line: line, text: text}
		key, value := splitProperty(text)
		p.key, p.err = unescape(key)
		if p.err == nil {
			p.value, p.err = unescape(value)
		}
		out = append(out, p)
	}
}

// propertyLines yields logical lines (Properties.LineReader.readLine).
type propertyLines struct {
	b       []byte
	pos     int
	natural int // number of the natural line that pos is in
}

func (r *propertyLines) next() (text []byte, line int, ok bool) {
	skipWhite, continued, backslash := true, false, false
	for r.pos < len(r.b) {
		at := r.natural
		c := r.take()
		eol := c == '\n' || c == '\r'
		if skipWhite {
			if c == ' ' || c == '\t' || c == '\f' || eol && !continued {
				continue
			}
			skipWhite, continued = false, false
		}
		if len(text) == 0 {
			if c == '#' || c == '!' {
				for r.pos < len(r.b) {
					if c := r.take(); c == '\n' || c == '\r' {
						break
					}
				}
				skipWhite = true
				continue
			}
			line = at
		}
		if !eol {
			text = append(text, c)
			backslash = c == '\\' && !backslash
			continue
		}
		if len(text) == 0 {
			skipWhite = true
			continue
		}
		if !backslash {
			return text, line, true
		}
		if r.pos >= len(r.b) {
			break
		}
		text = text[:len(text)-1]
		skipWhite, continued, backslash = true, true, false
	}
	if len(text) == 0 {
		return nil, 0, false
	}
	if backslash {
		text = text[:len(text)-1]
	}
	return text, line, true
}

// take returns the next byte, CRLF as one CR.
func (r *propertyLines) take() byte {
	c := r.b[r.pos]
	r.pos++
	if c == '\r' && r.pos < len(r.b) && r.b[r.pos] == '\n' {
		r.pos++
	}
	if c == '\r' || c == '\n' {
		r.natural++
	}
	return c
}

// splitProperty cuts a logical line into key and value (Properties.load0).
func splitProperty(text []byte) (key, value []byte) {
	white := func(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }
	i, backslash, separator := 0, false, false
	for ; i < len(text); i++ {
		c := text[i]
		if !backslash && (c == '=' || c == ':' || white(c)) {
			break
		}
		backslash = c == '\\' && !backslash
	}
	key = text[:i]
	for ; i < len(text); i++ {
		if c := text[i]; !white(c) {
			if separator || c != '=' && c != ':' {
				break
			}
			separator = true
		}
	}
	return key, text[i:]
}

// unescape resolves \uXXXX, \t, \n, \r, \f; a backslash before anything else
// vanishes (Properties.loadConvert). The result is UTF-8.
func unescape(b []byte) (string, error) {
	var out []uint16
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c != '\\' || i+1 >= len(b) {
			if c != '\\' {
				out = append(out, uint16(c))
			}
			continue
		}
		i++
		switch c = b[i]; c {
		case 'u':
			if len(b)-i <= 4 {
				return "", errUnicodeEscape
			}
			var v uint16
			for _, h := range b[i+1 : i+5] {
				d, ok := hexDigit(h)
				if !ok {
					return "", errUnicodeEscape
				}
				v = v<<4 | d
			}
			out = append(out, v)
			i += 4
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 'f':
			out = append(out, '\f')
		default:
			out = append(out, uint16(c))
		}
	}
	return string(utf16.Decode(out)), nil
}

func hexDigit(c byte) (uint16, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint16(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint16(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return uint16(c-'A') + 10, true
	}
	return 0, false
}
