package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Schema is the version of the JSON Lines contract in docs/json.md. Fields are
// only ever added within one.
const Schema = 1

// JSON writes JSON Lines. A failed write is kept and returned by Err.
type JSON struct {
	w   io.Writer
	buf bytes.Buffer
	enc *json.Encoder
	err error
	// long are the values that the next line holds marks of, in the order of the line.
	long longValues
}

type headerLine struct {
	Type    string `json:"type"`
	Schema  int    `json:"schema"`
	Command string `json:"command"`
	Version string `json:"version"`
}

// NewJSON begins the output with the object that names command and version.
func NewJSON(w io.Writer, command, version string) *JSON {
	j := &JSON{w: w}
	j.enc = json.NewEncoder(&j.buf)
	j.enc.SetEscapeHTML(false)
	j.Line(headerLine{"kafsck", Schema, command, version})
	return j
}

// Line writes one object. A value that cannot be encoded is a bug of ours.
func (j *JSON) Line(v any) {
	j.buf.Reset()
	if err := j.enc.Encode(v); err != nil {
		panic(fmt.Sprintf("report: encoding %T: %v", v, err))
	}
	line := asciiControls(textTwins(j.buf.Bytes()))
	if len(j.long.list) > 0 {
		j.long.write(line, j.write)
		return
	}
	j.write(line)
}

func (j *JSON) write(b []byte) {
	if j.err == nil {
		_, j.err = j.w.Write(b)
	}
}

// Err returns the first failed write.
func (j *JSON) Err() error { return j.err }

// asciiControls escapes what a terminal might obey or hide. In JSON a byte above
// 0x7e can only stand inside a string, where \u says the same.
func asciiControls(line []byte) []byte {
	plain := true
	for _, c := range line {
		if c > 0x7e {
			plain = false
			break
		}
	}
	if plain {
		return line
	}
	out := make([]byte, 0, len(line)+16)
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case r == '\n' || strconv.IsPrint(r):
			out = append(out, line[i:i+size]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
		i += size
	}
	return out
}

// textTwins gives every member that is an integer beyond 2^53 a neighbour that
// holds it as a string: "from":9223372036854775807 is followed by
// "fromText":"9223372036854775807". Numbers in arrays have no name and get none.
func textTwins(line []byte) []byte {
	var out []byte
	copied := 0
	key := [2]int{-1, -1} // the last string, without its quotes
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			start := i + 1
			for i = start; line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			key = [2]int{start, i}
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i+1 < len(line) && isNumeric(line[i+1]) {
				i++
			}
			named := start > 0 && line[start-1] == ':' && key[1] == start-2
			if end := i + 1; named && end-start >= 16 && isBig(line[start:end]) {
				out = append(out, line[copied:end]...)
				out = fmt.Appendf(out, `,"%sText":"%s"`, line[key[0]:key[1]], line[start:end])
				copied = end
			}
		}
	}
	if out == nil {
		return line
	}
	return append(out, line[copied:]...)
}

func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}
