package tui

import (
	"runtime/debug"
	"strings"
)

// The smallest screen that can be worked on, in cells.
const (
	minWidth  = 40
	minHeight = 10
)

// View draws the whole screen: breadcrumbs and badge, the screen's own space, and the
// status line.
func (a *app) View() (out string) {
	defer func() {
		if v := recover(); v != nil {
			c := crashOf(v)
			if a.crashed == nil && a.send != nil {
				go a.send(c) // Update quits
			}
			if a.crashed == nil {
				a.crashed = &c
			}
			out = ""
		}
	}()
	if a.leaving || len(a.stack) == 0 {
		return ""
	}
	if a.w < minWidth || a.h < minHeight {
		return a.tooSmall()
	}
	h := a.bodyHeight()
	var body []string
	if a.over != nil {
		body = a.over.view(a.w, h, a.styles)
	} else {
		body = strings.Split(a.top().screen.view(a.w, h, a.styles), "\n")
	}
	lines := make([]string, 0, a.h)
	lines = append(lines, a.header())
	lines = append(lines, box(body, a.w, h)...)
	lines = append(lines, a.bottomLines()...)
	return strings.Join(lines, "\n")
}

// bodyHeight is what is left for a screen.
func (a *app) bodyHeight() int {
	h := a.h - 2
	if a.line != nil && len(a.line.offered) > 1 {
		h--
	}
	return max(h, 0)
}

func (a *app) tooSmall() string {
	lines := []string{
		"kafsck: window too small:",
		"it has " + itoa(a.w) + "×" + itoa(a.h) + ", needed are " + itoa(minWidth) + "×" + itoa(minHeight),
		"q quits",
	}
	if a.w <= 0 || a.h <= 0 {
		return ""
	}
	return strings.Join(box(lines, a.w, min(a.h, len(lines))), "\n")
}

const badge = " READ-ONLY "

// header is the top line: where one is, and that nothing is ever written.
func (a *app) header() string {
	badge := badge
	if a.w < 60 {
		badge = " RO "
	}
	room := a.w - width(badge) - 1
	crumbs := make([]string, 0, a.at+1)
	for _, e := range a.stack[:a.at+1] {
		crumbs = append(crumbs, escape(e.screen.crumb()))
	}
	text := "kafsck"
	for _, c := range crumbs {
		text += " › " + c
	}
	// The last crumbs matter most.
	for i := 1; width(text) > room && i < len(crumbs); i++ {
		text = "… › " + strings.Join(crumbs[i:], " › ")
	}
	return a.styles.bar.Render(fit(text, room)) + " " + a.styles.badge.Render(badge)
}

// bottomLines are the status line, or the line being typed with its completions.
func (a *app) bottomLines() []string {
	if a.line == nil {
		return []string{a.status()}
	}
	var out []string
	l := a.line
	if len(l.offered) > 1 {
		var b strings.Builder
		for i, o := range l.offered {
			// Of an argument, not the command before it each time.
			word := strings.TrimSuffix(o, " ")
			if _, arg, ok := strings.Cut(word, " "); ok {
				word = arg
			}
			word = escape(word)
			if i == l.choice {
				word = a.styles.selected.Render(word)
			}
			if b.Len() > 0 {
				b.WriteString("  ")
			}
			b.WriteString(word)
		}
		out = append(out, fit(b.String(), a.w))
	}
	before, at, after := escape(string(l.text[:l.cursor])), " ", ""
	if l.cursor < len(l.text) {
		at, after = escape(string(l.text[l.cursor:l.cursor+1])), escape(string(l.text[l.cursor+1:]))
	}
	text := a.styles.key.Render(escape(l.prompt)) + before
	note := ""
	if l.problem != "" {
		note = "  " + a.styles.level(levelWarning).Render("! "+escape(l.problem))
	} else if l.kind == lineFilter && len(l.text) == 0 {
		note = "  " + a.styles.dim.Render("words, !word, column>=number, =condition")
	} else if l.kind == lineFilter {
		if p, ok := l.at.screen.(positioned); ok {
			note = "  " + a.styles.dim.Render(p.position())
		}
	}
	// The cursor stays in sight however long the text is.
	room := a.w - min(width(note), a.w/2) - 1
	if over := width(text) - room + 1; over > 0 {
		text = "…" + strings.TrimPrefix(cutLeft(text, over+1), "…")
	}
	return append(out, fit(text+a.styles.selected.Render(at)+after+note, a.w))
}

// status is the bottom line: a message, an error, progress, or the keys to begin
// with; at the right, where one is.
func (a *app) status() string {
	e := a.top()
	left := ""
	switch {
	case a.over != nil && a.notice.text == "":
		left = a.styles.dim.Render("j k scroll, y copies, q quits; any other key closes this")
	case a.notice.text != "":
		left = escape(a.notice.text)
		if a.notice.level >= levelWarning {
			left = a.styles.level(a.notice.level).Render(a.notice.level.symbol() + " " + left)
		}
	case len(a.jobs) > 0:
		j := a.jobs[0]
		for _, o := range a.jobs { // what this screen waits for comes first
			if o.owner == e {
				j = o
				break
			}
		}
		left = escape(j.describe(a.now())) + a.styles.dim.Render("  ctrl+c stops")
		if len(a.jobs) > 1 {
			left += a.styles.dim.Render(" (" + itoa(len(a.jobs)) + " run)")
		}
	case e.failed != "":
		left = a.styles.level(levelUnread).Render(cutPath("E ", escape(e.failed), max(a.w-12, minWidth-12)))
	}
	right := ""
	if p, ok := e.screen.(positioned); ok {
		right = escape(p.position())
	}
	if f, ok := e.screen.(filterable); ok && f.filter() != "" {
		right = "/" + cut(escape(f.filter()), a.w/3) + "  " + right
	}
	right = cut(right, max(a.w*2/3, a.w-len("? help")-2))
	room := max(a.w-width(right)-1, 0)
	if left == "" {
		left = a.hints(e, room-1)
	}
	return fit(left, room) + " " + right
}

// hints are the keys to begin with, in at most w cells: whole ones, and help always.
func (a *app) hints(e *entry, w int) string {
	var first, rest []keyHint
	if o, ok := e.screen.(opener); ok {
		first = o.opens()
	}
	for _, b := range e.screen.bindings() {
		text := b.hint
		if text == "" {
			text = short(b.help)
		}
		first = append(first, keyHint{keyName(b.keys[0]), escape(text)})
	}
	for _, in := range []intent{openHelp, openFilter, openCommand, goBack, quit, openFinds, showCommand} {
		if in == goBack && a.at == 0 {
			continue
		}
		for _, b := range globalKeys {
			if b.in == in && idle(e.screen, in) == "" {
				text := b.hint
				if text == "" {
					text = string(in)
				}
				rest = append(rest, keyHint{keyName(b.keys[0]), text})
			}
		}
	}
	cells := func(h keyHint) int { return width(h.key) + 1 + width(h.text) + 2 }
	help := cells(rest[0])
	var shown []keyHint
	for _, h := range first {
		if n := cells(h); w-n >= help-2 {
			shown = append(shown, h)
			w -= n
		}
	}
	for i, h := range rest {
		if n := cells(h); i == 0 || w >= n-2 {
			shown = append(shown, h)
			w -= n
		}
	}
	var parts []string
	for _, h := range shown {
		parts = append(parts, a.styles.key.Render(h.key)+" "+h.text)
	}
	return strings.Join(parts, "  ")
}

// short is a help text up to its first comma or colon.
func short(help string) string {
	if i := strings.IndexAny(help, ",:;("); i > 0 {
		help = help[:i]
	}
	return strings.TrimSpace(help)
}

// showCommand lays the kafsck command of a view over it.
func (a *app) showCommand(e *entry) {
	c := e.screen.command()
	if c == "" {
		a.say(levelOK, "there is no command for this view yet: nothing has been read")
		return
	}
	a.over = &overlay{title: "The same on the command line", lines: []string{c, "", "y copies it; any other key closes this"}, copyText: c}
}

func crashOf(v any) crash {
	if c, ok := v.(crash); ok {
		return c
	}
	return crash{v, debug.Stack()}
}
