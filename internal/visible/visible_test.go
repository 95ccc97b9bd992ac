package visible

import (
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"orders-0/00000000000000000000.log", "orders-0/00000000000000000000.log"},
		{"größe 大 ✓", "größe 大 ✓"},
		{`back\slash`, `back\slash`},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"a\nb\r\tc", `a\nb\r\tc`},
		{"\u009b31m", `\u009b31m`},       // CSI as one character
		{"\x9b31m", `\x9b31m`},           // and as a raw byte
		{"exe\u202egpj", `exe\u202egpj`}, // turns the reading direction
		{"\u2066x\u2069\u200f\u061c", `\u2066x\u2069\u200f\u061c`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"a\u00a0b\u2028c", `a\u00a0b\u2028c`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"\x7f\x00", `\x7f\x00`},
		{"bad\xff\xfeend", `bad\xff\xfeend`},
		{"\ufffd", "\ufffd"}, // a replacement character that is really there
	} {
		if got := Escape(c.in); got != c.want {
			t.Errorf("Escape(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		e := Escape(s)
		if !utf8.ValidString(e) || !isPrintable(e) {
			t.Errorf("Escape(%q) = %q can move a terminal", s, e)
		}
		if isPrintable(s) && e != s {
			t.Errorf("Escape(%q) = %q changes harmless text", s, e)
		}
		if Escape(e) != e {
			t.Errorf("Escape(%q) is not stable", s)
		}
		if !isPrintable(Word(s)) {
			t.Errorf("Word(%q) can move a terminal", s)
		}
	})
}

func TestWord(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "''"},
		{"broker-1/t-0/00000000000000000000.log", "broker-1/t-0/00000000000000000000.log"},
		{"copies of march", "'copies of march'"},
		{"it's", `'it'\''s'`},
		{"$(rm -rf ~)", "'$(rm -rf ~)'"},
		{"a*", "'a*'"},
		{"a\nb'\\\x1b", `$'a\012b\'\\\033'`},
		{"\xff\u202e", `$'\377\342\200\256'`},
	} {
		if got := Word(c.in); got != c.want {
			t.Errorf("Word(%q) = %s, want %s", c.in, got, c.want)
		}
	}
	if got := Command("kafsck", "dump", "a b"); got != "kafsck dump 'a b'" {
		t.Error(got)
	}
}
