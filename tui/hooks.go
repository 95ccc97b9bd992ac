package tui

import "strings"

// page is a screen of prose.
type page struct {
	name, cmd string
	lines     []string // raw
	top       int
	h         int
}

func newPage(name, command string, lines []string) *page {
	return &page{name: name, cmd: command, lines: lines}
}

func (p *page) crumb() string              { return p.name }
func (p *page) command() string            { return p.cmd }
func (p *page) start() work                { return nil }
func (p *page) bindings() []binding        { return nil }
func (p *page) deliver(any, *control) work { return nil }

func (p *page) handle(in intent, ctl *control) work {
	switch in {
	case up:
		p.top--
	case down:
		p.top++
	case pageUp, halfUp:
		p.top -= max(p.h, 1)
	case pageDown, halfDown:
		p.top += max(p.h, 1)
	case top:
		p.top = 0
	case bottom:
		p.top = 1 << 20
	}
	p.top = max(p.top, 0)
	return nil
}

func (p *page) view(w, h int, st *styles) string {
	var out []string
	for _, l := range p.lines {
		out = append(out, wrap(escape(l), w)...)
	}
	p.h = h
	p.top = min(p.top, max(len(out)-h, 0))
	return strings.Join(out[p.top:min(p.top+h, len(out))], "\n")
}

func (p *page) copyText(copyKind) (string, error) {
	return escape(strings.Join(p.lines, " ")), nil
}
