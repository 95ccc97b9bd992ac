package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"kafsck/internal/visible"
)

// ValueFormat says how text shows keys, values and header values. JSON has its own
// way (base64) and knows only Redacted.
type ValueFormat string

// The formats.
const (
	ValueAuto     ValueFormat = "auto" // JSON objects and arrays as they are, other text in quotes, anything else as hex
	ValueText     ValueFormat = "text"
	ValueHex      ValueFormat = "hex"
	ValueBase64   ValueFormat = "base64"
	ValueRedacted ValueFormat = "redacted" // size and SHA-256 only
)

// ValueFormats are all, as --value-format takes them.
var ValueFormats = []ValueFormat{ValueAuto, ValueText, ValueHex, ValueBase64, ValueRedacted}

// Show returns b on one line, safe for a terminal. max bounds the bytes of b that are
// shown, 0 shows all; what is cut says how long it is. nil is "null".
func (f ValueFormat) Show(b []byte, max int) string { return string(f.append(nil, b, max)) }

// append is Show behind what dst holds.
func (f ValueFormat) append(dst, b []byte, max int) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	if f == ValueAuto {
		f = guess(b)
	}
	if f == ValueRedacted {
		return fmt.Appendf(dst, "(%s, sha256 %s…)", count(len(b), "byte", "bytes"), sha256Hex(b)[:16])
	}
	shown := b
	if max > 0 && len(b) > max {
		shown = b[:max]
		if f == ValueText || f == valueBare {
			shown = visible.WholeRunes(shown)
		}
	}
	switch f {
	case ValueHex:
		dst = hex.AppendEncode(append(dst, "0x"...), shown)
		if len(shown) == len(b) {
			dst = append(dst, ' ')
			return appendSize(dst, b)
		}
	case ValueBase64:
		dst = base64.StdEncoding.AppendEncode(dst, shown[:len(shown)-cutForBase64(shown, b)])
	case valueBare:
		dst = appendEscaped(dst, shown)
	default:
		dst = append(appendEscaped(append(dst, '"'), shown), '"')
	}
	if len(shown) < len(b) {
		dst = appendSize(append(dst, "… "...), b)
	}
	return dst
}

func appendSize(dst, b []byte) []byte {
	return append(append(append(dst, '('), count(len(b), "byte", "bytes")...), ')')
}

// appendEscaped is Escape, quick for what needs none.
func appendEscaped(dst, b []byte) []byte {
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return append(dst, Escape(string(b))...)
		}
	}
	return append(dst, b...)
}

// valueBare is text without quotes.
const valueBare ValueFormat = "bare"

func guess(b []byte) ValueFormat {
	if !visible.IsText(b) {
		return ValueHex
	}
	if trimmed := bytes.TrimSpace(b); len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(b) {
		return valueBare
	}
	return ValueText
}

// cutForBase64 keeps the padding away from the middle: groups are of three bytes.
func cutForBase64(shown, whole []byte) int {
	if len(shown) == len(whole) {
		return 0
	}
	return len(shown) % 3
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
