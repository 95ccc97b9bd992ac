package tui

import (
	"strconv"
	"strings"
)

// look is how text looks: one of the terminal's 16 colours and attributes. The zero
// value is plain text.
//
// It is ours because lipgloss renders underlined text cell by cell, each with its own
// escape sequence, which makes a frame ten times as long (v1.1.0, Style.Render, where it
// uses the space styler).
type look struct {
	color                           int // 1 + the ANSI colour, 0: the terminal's own
	bold, faint, underline, reverse bool
}

// Render is text in this look.
func (k look) Render(text string) string {
	if k == (look{}) || text == "" {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	sep := "\x1b["
	put := func(code int) {
		b.WriteString(sep)
		b.WriteString(strconv.Itoa(code))
		sep = ";"
	}
	if k.bold {
		put(1)
	}
	if k.faint {
		put(2)
	}
	if k.underline {
		put(4)
	}
	if k.reverse {
		put(7)
	}
	switch c := k.color - 1; {
	case c >= 8:
		put(90 + c - 8)
	case c >= 0:
		put(30 + c)
	}
	b.WriteByte('m')
	b.WriteString(text)
	b.WriteString("\x1b[m")
	return b.String()
}

// Bold, Faint, Underline and Reverse are the look with or without that attribute.
func (k look) Bold(on bool) look      { k.bold = on; return k }
func (k look) Faint(on bool) look     { k.faint = on; return k }
func (k look) Underline(on bool) look { k.underline = on; return k }
func (k look) Reverse(on bool) look   { k.reverse = on; return k }
