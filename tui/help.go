package tui

import (
	"slices"
	"strings"
)

// filterHelp explains what can be typed after "/".
var filterHelp = [][2]string{
	{"word", "rows with it in some cell; without capitals, in any case"},
	{"!word", "rows without it"},
	{`"two words"`, "as one"},
	{"column >= 10 && column2 == x", "by a column's value (== != < <= > >=): numbers, sizes such as 1MiB, text"},
	{`=codec == "lz4" || offset in 10..19`, "a condition as for dump --where: also ! ( ) contains startsWith matches nil time > \"2026-11-30\""},
}

// overlay is text laid over a screen; any key that does not scroll closes it.
type overlay struct {
	title    string
	lines    []string // raw
	top      int
	copyText string // what y copies
	// styled: the lines are ours and hold styles already.
	styled bool
	// headed: lines that are not indented are heads.
	headed bool
}

// key scrolls; false: the key means something else.
func (o *overlay) key(key string, h int) bool {
	page := max(h-2, 1)
	switch key {
	case "up", "k":
		o.top--
	case "down", "j":
		o.top++
	case "pgup", "ctrl+b", "ctrl+u":
		o.top -= page
	case "pgdown", "ctrl+f", "ctrl+d", " ":
		o.top += page
	case "home", "g":
		o.top = 0
	case "end", "G":
		o.top = len(o.lines) * 4
	default:
		return false
	}
	o.top = max(o.top, 0)
	return true
}

// wrapLine is wrap; what is behind a gap, such as what a key does, stays in its column.
func (o *overlay) wrapLine(l string, w int) []string {
	text := strings.TrimLeft(l, " ")
	i := strings.LastIndex(text, "  ")
	if !o.headed || len(text) == len(l) || i < 0 || width(l) <= w {
		return wrap(l, w)
	}
	at := len(l) - len(text) + i + len("  ")
	indent := width(l[:at])
	if w-indent < 16 { // two columns do not fit
		indent, at = 6, len(strings.TrimRight(l[:at], " "))
	}
	var out []string
	for k, part := range wrap(strings.TrimLeft(l[at:], " "), w-indent) {
		head := strings.Repeat(" ", indent)
		if k == 0 && width(l[:at]) == indent {
			head = l[:at]
		} else if k == 0 {
			out = append(out, cut(l[:at], w))
		}
		out = append(out, head+part)
	}
	return out
}

func (o *overlay) view(w, h int, st *styles) []string {
	var wrapped []string
	for _, l := range o.lines {
		if !o.styled {
			l = escape(l)
		}
		head := o.headed && !strings.HasPrefix(l, " ")
		for _, part := range o.wrapLine(l, w-2) {
			if head {
				part = st.header.Render(part)
			}
			wrapped = append(wrapped, part)
		}
	}
	room := max(h-1, 1)
	o.top = min(o.top, max(len(wrapped)-room, 0))
	title := escape(o.title)
	if len(wrapped) > room {
		title += st.dim.Render("  " + itoa(o.top+1) + "–" + itoa(min(o.top+room, len(wrapped))) + " of " + itoa(len(wrapped)) + " lines, j k scroll")
	}
	out := []string{st.header.Render(title)}
	for _, l := range wrapped[o.top:min(o.top+room, len(wrapped))] {
		out = append(out, " "+l)
	}
	return out
}

// openHelp lays the help over the screen: made from the key table, the screen's own
// bindings and the commands, so that it cannot miss one.
func (a *app) openHelp() {
	s := a.top().screen
	filterHelp := filterHelp
	var lines []string
	head := func(text string) {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, text)
	}
	keys := func(list []binding) {
		for _, b := range list {
			var names []string
			for _, k := range b.keys {
				names = append(names, keyName(k))
			}
			lines = append(lines, "  "+fit(strings.Join(names, " "), 16)+" "+b.help)
		}
	}
	if own := s.bindings(); len(own) > 0 {
		head("This view")
		keys(own)
	}
	if t, ok := s.(interface{ unsortable() string }); ok && t.unsortable() != "" {
		head("Not here: sort. " + strings.ToUpper(t.unsortable()[:1]) + t.unsortable()[1:])
	}
	head("Everywhere")
	keys(slices.DeleteFunc(slices.Clone(globalKeys), func(b binding) bool { return idle(s, b.in) != "" }))
	head("Commands")
	var commands, filters [][2]string
	for _, c := range a.commandsOf(s) {
		commands = append(commands, [2]string{":" + strings.TrimSpace(c.name+" "+c.args), c.help})
	}
	if idle(s, openFilter) != "" {
		filterHelp = nil
	}
	for _, l := range filterHelp {
		filters = append(filters, [2]string{l[0], l[1]})
	}
	room := 0
	for _, l := range slices.Concat(commands, filters) {
		room = max(room, width(l[0]))
	}
	for _, l := range commands {
		lines = append(lines, "  "+fit(l[0], room)+"  "+l[1])
	}
	if len(filters) > 0 {
		head("Filter, after /")
	}
	for _, l := range filters {
		lines = append(lines, "  "+fit(l[0], room)+"  "+l[1])
	}
	head("Letters")
	for l := levelOK; l < levels; l++ {
		lines = append(lines, "  "+fit(l.symbol(), 16)+" "+l.word())
	}
	a.over = &overlay{title: "Help", lines: lines, copyText: strings.Join(lines, "\n"), headed: true}
}
