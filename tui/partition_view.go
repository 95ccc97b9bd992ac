package tui

import (
	"slices"
	"strings"
)

// legendText breaks between the signs only.
const legendText = "═\u00a0differs  x\u00a0lost  ·\u00a0no\u00a0batch  S\u00a0log\u00a0start  H\u00a0high\u00a0watermark  F\u00a0fork  L\u00a0lost  D\u00a0other\u00a0difference  B\u00a0behind"

func (s *partitionScreen) view(w, h int, st *styles) string {
	if s.p == nil {
		return s.waiting(st)
	}
	l, sentence := s.about.verdict()
	var lines []string
	for _, part := range wrapTo(escape(sentence), w, max(h/4, 1)) {
		lines = append(lines, st.level(l).Render(part))
	}
	if h >= 10 {
		lines = append(lines, s.unread(w, st)...)
	}
	room := h - len(lines)
	tableRoom := min(s.rows.Len(), 6) + 1
	if h >= 18 {
		tableRoom = min(s.rows.Len()+1, max(h/2, 4))
	}
	switch {
	case room < tableRoom+6 && s.inTable:
		return strings.Join(append(lines, s.viewTable(w, room, st)), "\n")
	case room < tableRoom+6:
		return strings.Join(append(lines, s.viewChart(w, room, st)...), "\n")
	}
	chart := s.viewChart(w, room-tableRoom-1, st)
	lines = append(lines, chart...)
	lines = append(lines, st.dim.Render(strings.Repeat("─", w)))
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

// viewChart draws the axis, the bars with their marks, and what the cursor is on.
func (s *partitionScreen) viewChart(w, h int, st *styles) []string {
	labels := 0
	for i := range s.lanes {
		labels = max(labels, width(escape(s.lanes[i].label)))
	}
	labels = min(labels, max(w/3, 8))
	s.chart.room = max(w-labels-5, 8) // the view's width decides what a step is
	var ticks []int64
	for l := levelLoss; ; l-- { // the worst marks come first
		for _, x := range s.stops {
			if x.level == l {
				ticks = append(ticks, x.at)
			}
		}
		if l == levelNone {
			break
		}
	}
	for i := range s.lanes {
		for k, r := range s.lanes[i].ranges {
			if k < 200 {
				ticks = append(ticks, r.From)
			}
		}
	}
	indent := strings.Repeat(" ", labels+4)
	out := []string{st.header.Render(fit(indent+s.chart.axis(ticks), w))}
	// What the cursor is on and the legend take the lines that the bars leave.
	spare := h - len(out) - 2*len(s.lanes)
	legend := wrapTo(legendText, w, 2)
	if h < 8 {
		legend = nil
	}
	info := s.info(w, max(spare-len(legend), 2), st)
	if spare < len(info)+len(legend) && len(legend) > 1 {
		legend = wrapTo(strings.Join(legend, " "), w, 1)
	}
	room := h - len(out) - len(info) - len(legend)
	double := room >= 2*len(s.lanes)
	each := 1
	if double {
		each = 2
	}
	selected := max(s.row(), 0)
	first := 0
	if n := max(room/each, 1); len(s.lanes) > n {
		first = min(max(selected-n/2, 0), len(s.lanes)-n)
	}
	column := -1
	if s.chart.holds(s.cursor) {
		column = s.chart.column(s.cursor)
	}
	for i := first; i < len(s.lanes) && len(out)+each <= h-len(info)-len(legend); i++ {
		out = append(out, s.viewLane(i, i == selected, labels, column, double, w, st)...)
	}
	out = append(out, info...)
	for _, l := range legend {
		if len(out) < h {
			out = append(out, st.dim.Render(strings.ReplaceAll(l, "\u00a0", " ")))
		}
	}
	return out
}

func (s *partitionScreen) viewLane(i int, selected bool, labels, column int, double bool, w int, st *styles) []string {
	l := &s.lanes[i]
	sign, look := " ", st.text
	if selected {
		sign, look = "›", st.strong
		if !s.inTable {
			look = st.selected
		}
	}
	head := look.Render(sign) + st.level(l.level).Render(l.level.symbol()) + " " + look.Render(fit(escape(l.label), labels)) + " "
	if l.empty != "" {
		empty := levelNone
		if l.level == levelUnread {
			empty = levelUnread
		}
		says, path := l.empty, ""
		if rest, ok := strings.CutPrefix(says, "not read: "); ok {
			says, path = "not read: ", escape(rest)
		}
		out := []string{head + st.level(empty).Render(cutPath(escape(says), path, max(w-labels-4, 1)))}
		if double {
			out = append(out, strings.Repeat(" ", labels+4)+s.chart.signs(l, -1, st))
		}
		return out
	}
	barCursor := -1
	if selected && !double {
		barCursor = column
	}
	out := []string{head + s.chart.bar(l, barCursor, st)}
	if double {
		c := -1
		if selected {
			c = column
		}
		out = append(out, strings.Repeat(" ", labels+4)+s.chart.signs(l, c, st))
	}
	return out
}

// info says what the cursor is on, in the selected replica first, in at most most lines.
func (s *partitionScreen) info(w, most int, st *styles) []string {
	var parts []string
	r := s.row()
	if c := s.copy(); c != nil && c.Log != nil && c.Err == nil {
		where := "offset " + itoa(s.cursor) + " on broker " + c.Broker.Name
		switch e := c.Log.Lineage.At(s.cursor); {
		case s.cursor >= c.Log.LogEndOffset:
			where += ": behind its log end"
		case e >= 0:
			where += ": epoch " + itoa(e)
		}
		parts = append(parts, where)
	}
	step := s.chart.step()
	worst := levelNone
	var words []string
	for _, own := range []bool{true, false} {
		for _, x := range s.stops {
			near := x.at == s.cursor || step > 1 && s.chart.column(x.at) == s.chart.column(s.cursor)
			if !near || (x.lane == r) != own {
				continue
			}
			text := x.text
			if !own {
				text = "broker " + s.p.Copies[x.lane].Broker.Name + ": " + text
			}
			if !slices.Contains(words, text) {
				words = append(words, text)
				worst = max(worst, x.level)
			}
		}
	}
	text := escape(strings.Join(append(parts, words...), "; "))
	lines := wrapTo(text, w, min(most, 6))
	for i := range lines {
		lines[i] = st.level(worst).Render(lines[i])
	}
	return lines
}
