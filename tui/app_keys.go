package tui

import (
	"errors"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// keys takes what was typed. Several characters that came at once are several keys,
// unless they were pasted.
func (a *app) keys(m tea.KeyMsg) {
	if m.Paste {
		if a.line != nil {
			a.edit("", m.Runes)
		}
		return
	}
	if m.Type == tea.KeyRunes && len(m.Runes) > 1 && !m.Alt {
		for _, r := range m.Runes {
			a.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
		return
	}
	a.key(m)
}

// key takes one key.
func (a *app) key(m tea.KeyMsg) {
	key := m.String()
	if a.leaving {
		return
	}
	if a.line != nil {
		a.edit(key, m.Runes)
		return
	}
	if a.over != nil {
		if a.over.key(key, a.bodyHeight()) {
			return
		}
		if b, ok := lookUp(key, nil); ok && (b.in == quit || b.in == stopWork || b.in == openCopy) {
			if b.in == openCopy {
				a.copyOut(a.over.copyText, "text")
				return
			}
			a.act(b)
			return
		}
		a.over = nil
		return
	}
	if a.copying {
		a.copying = false
		a.notice = notice{}
		kinds := map[string]copyKind{"c": copyCell, "y": copyCell, "r": copyRow, "p": copyPath, "j": copyJSON}
		if kind, ok := kinds[key]; ok {
			a.copyFrom(a.top(), kind)
			return
		}
	}
	a.notice = notice{}
	if key == "esc" && a.clearFilter(a.top()) {
		return
	}
	b, ok := lookUp(key, a.top().screen.bindings())
	if !ok {
		if m.Type == tea.KeyRunes {
			a.say(levelOK, "no such key here: "+key+" (? lists them)")
		}
		return
	}
	if why := idle(a.top().screen, b.in); why != "" {
		a.say(levelOK, "no such key here: "+keyName(key)+" ("+why+")")
		return
	}
	a.act(b)
}

// clearFilter takes a filter away, which is what esc does first.
func (a *app) clearFilter(e *entry) bool {
	f, ok := e.screen.(filterable)
	if !ok || f.filter() == "" {
		return false
	}
	w, err := f.setFilter("", &control{a, e})
	if err != nil {
		return false
	}
	a.launch(e, w)
	a.say(levelOK, "no filter any more")
	return true
}

// openFilter begins to type a filter.
func (a *app) openFilter(e *entry) {
	f, ok := e.screen.(filterable)
	if !ok {
		a.say(levelOK, "this view has nothing to filter")
		return
	}
	a.line = newLine(lineFilter, "/", f.filter())
	a.line.before, a.line.at = f.filter(), e
}

// edit takes a key while a line is typed.
func (a *app) edit(key string, runes []rune) {
	l := a.line
	switch key {
	case "esc", "ctrl+c", "ctrl+g":
		a.line = nil
		if l.kind == lineFilter {
			a.applyFilter(l, l.before)
		}
		return
	case "enter":
		a.enter(l)
		return
	case "backspace":
		if len(l.text) == 0 && l.kind != lineAsk {
			a.edit("esc", nil)
			return
		}
	}
	if !l.edit(key, runes) {
		return
	}
	if l.kind == lineFilter {
		a.applyFilter(l, l.value())
	}
}

func (a *app) applyFilter(l *line, text string) {
	w, err := l.at.screen.(filterable).setFilter(text, &control{a, l.at})
	if err != nil {
		l.problem = err.Error()
		return
	}
	a.launch(l.at, w)
}

// enter ends a line.
func (a *app) enter(l *line) {
	switch l.kind {
	case lineFilter:
		a.line = nil
	case lineCommand:
		if text := strings.TrimSpace(l.value()); text != "" {
			a.typed = append(a.typed, text)
		}
		a.line = nil
		if err := a.runCommand(l.value()); err != nil {
			l.problem = err.Error()
			a.line = l // to be mended
		}
	case lineAsk:
		a.line = nil
		w := l.then(l.value())
		a.launch(l.at, w)
	}
}

// openNamed opens one of the screens that have a key everywhere.
func (a *app) openNamed(in intent, ctl *control) {
	name := map[intent]string{openCase: "case", openFinds: "findings"}[in]
	for _, d := range screenCommands() {
		if d.name != name {
			continue
		}
		s, err := d.open(ctl, "")
		switch {
		case err != nil:
			a.say(levelWarning, err.Error())
		case s != nil:
			a.push(s)
		}
		return
	}
}

var errNothingToCopy = errors.New("there is nothing of that kind to copy here")
