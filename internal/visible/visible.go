// Package visible makes foreign text fit to be looked at and typed: names, keys and
// values come from disks that nobody vouches for, and must neither drive a terminal
// nor be taken apart by a shell.
//
// It is a leaf, used by everything that talks to people (cli, report, tui).
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Escape makes text safe for a terminal: control characters, invalid UTF-8 and
// everything invisible (bidi marks, zero-width and format characters, odd
// spaces, line separators) become \n, \x1b, \u202e and the like. A backslash
// stays as it is: this is for reading, --json is for exactness.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return isPrintable(s)
		}
	}
	return true
}

func isPrintable(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size <= 1 {
				return false
			}
		}
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// Word quotes a word so that a shell takes it as typed: as it is when that
// is safe, in single quotes, or as $'…' (bash, zsh, ksh) when it holds what a
// terminal must not see.
func Word(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	if isPrintable(s) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r != utf8.RuneError && strconv.IsPrint(r):
			b.WriteRune(r)
		default: // byte by byte, which every such shell knows
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += size
	}
	return b.String() + "'"
}

// Command joins words to a command line that can be pasted into a shell.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Word(w)
	}
	return strings.Join(quoted, " ")
}
