package tui

import (
	"strings"
	"unicode/utf8"
)

// lineKind is what a line of input is for.
type lineKind int

const (
	lineFilter lineKind = iota
	lineCommand
	lineAsk
)

// line is a line of text being typed in the place of the status line.
type line struct {
	kind   lineKind
	prompt string
	text   []rune
	cursor int
	before string // filter: what it was before
	at     *entry
	then   func(answer string) work

	offered  []string // completions of the word under the cursor
	choice   int      // which of them stands there, -1 none yet
	complete func(text string) []string
	history  []string
	recall   int
	problem  string // why the text cannot be used
}

func newLine(kind lineKind, prompt, text string) *line {
	r := []rune(text)
	return &line{kind: kind, prompt: prompt, text: r, cursor: len(r), choice: -1}
}

func (l *line) value() string { return string(l.text) }

func (l *line) set(text string) {
	l.text = []rune(text)
	l.cursor = len(l.text)
}

// maxLine bounds what can be typed or pasted.
const maxLine = 1000

// edit takes one key; false: the key does nothing here.
func (l *line) edit(key string, runes []rune) bool {
	if key != "tab" && key != "shift+tab" {
		l.offered, l.choice = nil, -1
	}
	l.problem = ""
	switch key {
	case "left", "ctrl+b":
		l.cursor = max(l.cursor-1, 0)
	case "right", "ctrl+f":
		l.cursor = min(l.cursor+1, len(l.text))
	case "home", "ctrl+a":
		l.cursor = 0
	case "end", "ctrl+e":
		l.cursor = len(l.text)
	case "backspace", "ctrl+h":
		if l.cursor > 0 {
			l.text = append(l.text[:l.cursor-1], l.text[l.cursor:]...)
			l.cursor--
		}
	case "delete", "ctrl+d":
		if l.cursor < len(l.text) {
			l.text = append(l.text[:l.cursor], l.text[l.cursor+1:]...)
		}
	case "ctrl+u":
		l.text, l.cursor = l.text[l.cursor:], 0
	case "ctrl+k":
		l.text = l.text[:l.cursor]
	case "ctrl+w":
		start := l.cursor
		for start > 0 && l.text[start-1] == ' ' {
			start--
		}
		for start > 0 && l.text[start-1] != ' ' {
			start--
		}
		l.text = append(l.text[:start], l.text[l.cursor:]...)
		l.cursor = start
	case "up", "ctrl+p":
		l.older(1)
	case "down", "ctrl+n":
		l.older(-1)
	case "tab":
		l.offer(1)
	case "shift+tab":
		l.offer(-1)
	default:
		if len(runes) == 0 {
			return false
		}
		if len(l.text)+len(runes) > maxLine {
			l.problem = "longer than " + comma(maxLine) + " characters: left out"
			return false
		}
		var fresh []rune
		for _, r := range runes {
			if r == '\n' || r == '\r' || r == '\t' {
				r = ' '
			}
			if r != utf8.RuneError {
				fresh = append(fresh, r)
			}
		}
		l.text = append(l.text[:l.cursor], append(fresh, l.text[l.cursor:]...)...)
		l.cursor += len(fresh)
	}
	return true
}

// older walks through what was typed before.
func (l *line) older(by int) {
	if len(l.history) == 0 {
		return
	}
	l.recall = min(max(l.recall+by, 0), len(l.history))
	if l.recall == 0 {
		l.set("")
		return
	}
	l.set(l.history[len(l.history)-l.recall])
}

// offer completes the text with the next of the possible ones.
func (l *line) offer(by int) {
	if l.complete == nil {
		return
	}
	if l.offered == nil {
		l.offered, l.choice = l.complete(l.value()), -1
		if len(l.offered) == 0 {
			l.offered = nil
			return
		}
		if p := commonPrefix(l.offered); len(l.offered) > 1 && len(p) > len(l.value()) {
			l.set(p)
			return
		}
	}
	n := len(l.offered)
	if l.choice < 0 && by < 0 {
		l.choice = 0
	}
	l.choice = ((l.choice+by)%n + n) % n
	l.set(l.offered[l.choice])
}

func commonPrefix(words []string) string {
	p := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, p) {
			p = p[:len(p)-1]
		}
	}
	for !utf8.ValidString(p) {
		p = p[:len(p)-1]
	}
	return p
}
