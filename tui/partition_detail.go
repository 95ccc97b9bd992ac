package tui

import (
	"fmt"
	"strings"
)

// proseLine is a line of what is told below a table; raw text.
type proseLine struct {
	label string
	text  string
	level level
}

// prose collects such lines.
type prose []proseLine

// add takes a line; without text nothing is added.
func (d *prose) add(label, format string, args ...any) { d.at(levelNone, label, format, args...) }

// at is add with a level.
func (d *prose) at(l level, label, format string, args ...any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	if text != "" {
		*d = append(*d, proseLine{label: label, text: text, level: l})
	}
}

const labelWidth = 16

// leastText is how many lines a text below a table is worth, its rule among them.
const leastText = 3

// split is a table with the selected row told in full below it. tab goes from one to
// the other, where up and down scroll the text.
type split struct {
	*table
	below bool // the text has the focus
	first int  // its first visible line
	lines int  // at the last view
	room  int
}

// handleSplit takes the intents of both parts; false: it is none of them.
func (s *split) handleSplit(in intent, ctl *control) (work, bool) {
	if in == nextPane || in == prevPane {
		s.below = !s.below
		return nil, true
	}
	if !s.below {
		row := s.row()
		w, ok := s.handleTable(in, ctl)
		if s.row() != row {
			s.first = 0
		}
		return w, ok
	}
	n, moves := step(in, max(s.room-1, 1))
	switch {
	case moves:
		s.first += n
	case in == top:
		s.first = 0
	case in == bottom:
		s.first = s.lines
	default:
		return s.handleTable(in, ctl)
	}
	s.first = max(min(s.first, s.lines-s.room), 0)
	return nil, true
}

// position of the part with the focus.
func (s *split) position() string {
	if s.below && s.lines > s.room {
		return fmt.Sprintf("line %d/%d  %s", s.first+1, s.lines, s.table.position())
	}
	return s.table.position()
}

// viewSplit draws head (styled lines), the table, and the details of the selected row.
func (s *split) viewSplit(head []string, d prose, w, h int, st *styles) string {
	lines := append([]string{}, head...)
	room := h - len(lines)
	text := d.draw(w, st)
	s.lines = len(text)
	// The text stands right below the rows; where both do not fit, each has its share.
	above, below := s.len()+1, len(text)+1
	switch {
	case room < 8 && s.below:
		above, below = 0, room
	case len(text) == 0 || room < 8 && room-above < leastText:
		above, below = room, 0
	case room < 8: // few rows leave some lines
		below = min(below, room-above)
	case above+below > room:
		below = min(below, max(room*3/5, room-above))
		above = room - below
	}
	if above > 0 {
		lines = append(lines, s.viewTable(w, above, st))
	}
	if below < 2 {
		return strings.Join(lines, "\n")
	}
	s.room = below - 1
	s.first = max(min(s.first, s.lines-s.room), 0)
	name := "tab: this text"
	if s.below {
		name = "tab: the table"
	}
	if s.lines > s.room {
		name += fmt.Sprintf(" · %d–%d of %d lines", s.first+1, min(s.first+s.room, s.lines), s.lines)
	}
	rule := "── " + name + " "
	look := st.dim
	if s.below {
		look = st.header
	}
	lines = append(lines, look.Render(fit(rule+strings.Repeat("─", max(w-width(rule), 0)), w)))
	lines = append(lines, text[s.first:min(s.first+s.room, len(text))]...)
	return strings.Join(lines, "\n")
}

// wrapTo is wrap to at most n lines; what is cut off ends with "…".
func wrapTo(s string, w, n int) []string {
	lines := wrap(s, w)
	if len(lines) > n {
		lines = append(lines[:n-1:n-1], cut(lines[n-1]+" "+lines[n], w))
		if last := lines[n-1]; !strings.HasSuffix(last, "…") {
			lines[n-1] = cut(last, w-1) + "…"
		}
	}
	return lines
}

// offsetsText is a range of offsets with its noun.
func offsetsText(from, to int64) string {
	if to <= from+1 {
		return "offset " + itoa(from)
	}
	return "offsets " + span(from, to)
}

// draw breaks the lines to w cells.
func (d prose) draw(w int, st *styles) []string {
	labels := labelWidth
	if w < 60 {
		labels = 0
	}
	var out []string
	for _, l := range d {
		look := st.text
		if l.level != levelNone {
			look = st.level(l.level)
		}
		if labels == 0 {
			text := l.text
			if l.label != "" {
				text = l.label + ": " + text
			}
			for _, part := range wrap(escape(text), w) {
				out = append(out, look.Render(part))
			}
			continue
		}
		label := l.label
		parts := wrap(escape(l.text), max(w-labels-1, 10))
		for _, part := range parts {
			out = append(out, st.dim.Render(fit(escape(label), labels))+" "+look.Render(part))
			label = ""
		}
	}
	return out
}
