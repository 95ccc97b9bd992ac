package logtest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// statement is one fact of the text: a word, its plain arguments, its key=value options.
type statement struct {
	line    int
	word    string
	args    []string
	options map[string]string
}

// statements splits the text at line ends and at ";" standing alone. A line that begins
// with "#" is a comment. A value may be quoted as in Go.
func statements(text string) ([]statement, error) {
	var out []statement
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		var s *statement
		for rest := line; ; {
			var token string
			var err error
			if token, rest, err = nextToken(rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if token == "" {
				break
			}
			key, value, isOption := strings.Cut(token, "=")
			switch {
			case token == ";":
				s = nil
			case s == nil:
				out = append(out, statement{line: i + 1, word: token, options: map[string]string{}})
				s = &out[len(out)-1]
			case isOption:
				if strings.HasPrefix(value, `"`) {
					if value, err = strconv.Unquote(value); err != nil {
						return nil, fmt.Errorf("line %d: %s: %w", i+1, token, err)
					}
				}
				if _, twice := s.options[key]; twice {
					return nil, fmt.Errorf("line %d: %s given twice", i+1, key)
				}
				s.options[key] = value
			default:
				s.args = append(s.args, token)
			}
		}
	}
	return out, nil
}

func nextToken(s string) (token, rest string, err error) {
	s = strings.TrimLeft(s, " \t\r")
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t' || c == '\r') && !quoted:
			return s[:i], s[i:], nil
		}
	}
	if quoted {
		return "", "", fmt.Errorf("quote not closed: %s", s)
	}
	return s, "", nil
}

// values takes options out of a statement, each by its type, and remembers the first
// thing that is wrong. done complains of what nobody took.
type values struct {
	s   statement
	err error
}

func (v *values) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("line %d: %s: %s", v.s.line, v.s.word, fmt.Sprintf(format, args...))
	}
}

func (v *values) text(key, def string) string {
	if s, ok := v.s.options[key]; ok {
		delete(v.s.options, key)
		return s
	}
	return def
}

func (v *values) has(key string) bool {
	_, ok := v.s.options[key]
	return ok
}

func (v *values) int(key string, def int64) int64 {
	if !v.has(key) {
		return def
	}
	return v.number(key, v.text(key, ""))
}

func (v *values) number(what, s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		v.fail("%s: %q is no number", what, s)
	}
	return n
}

func (v *values) ints(key string) []int32 {
	if !v.has(key) {
		return nil
	}
	var out []int32
	for _, s := range strings.Split(v.text(key, ""), ",") {
		out = append(out, int32(v.number(key, s)))
	}
	return out
}

// flag takes a plain argument.
func (v *values) flag(name string) bool {
	for i, a := range v.s.args {
		if a == name {
			v.s.args = append(v.s.args[:i:i], v.s.args[i+1:]...)
			return true
		}
	}
	return false
}

// arg takes the next plain argument.
func (v *values) arg(what string) string {
	if len(v.s.args) == 0 {
		v.fail("%s is missing", what)
		return ""
	}
	a := v.s.args[0]
	v.s.args = v.s.args[1:]
	return a
}

// template is a key or value of a record: "null", or text in which %d is the offset.
func (v *values) template(key string, def string) func(offset int64) []byte {
	s := v.text(key, def)
	if s == "null" {
		return func(int64) []byte { return nil }
	}
	return func(offset int64) []byte {
		return []byte(strings.ReplaceAll(s, "%d", strconv.FormatInt(offset, 10)))
	}
}

func (v *values) codec() Codec {
	name := v.text("codec", "none")
	for i, n := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if n == name {
			return Codec(i)
		}
	}
	v.fail("codec %q", name)
	return None
}

// content is one of hex=, text=, zeros=.
func (v *values) content() []byte {
	switch {
	case v.has("hex"):
		b, err := hex.DecodeString(strings.Join(strings.Fields(v.text("hex", "")), ""))
		if err != nil {
			v.fail("%v", err)
		}
		return b
	case v.has("zeros"):
		n := v.int("zeros", 0)
		if n < 0 || n > 1<<30 {
			v.fail("zeros=%d", n)
			return nil
		}
		return make([]byte, n)
	}
	return []byte(v.text("text", ""))
}

func (v *values) done() error {
	for key := range v.s.options {
		v.fail("option %q is not known", key)
	}
	if len(v.s.args) > 0 {
		v.fail("argument %q is not known", v.s.args[0])
	}
	return v.err
}
