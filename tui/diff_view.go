package tui

import (
	"fmt"
	"strings"
)

func (s *diffScreen) view(w, h int, st *styles) string {
	switch {
	case s.p == nil:
		return s.waiting(st)
	case s.none != "":
		return strings.Join(wrap(escape(s.none), w), "\n")
	case s.told != nil:
		return st.level(levelUnread).Render(strings.Join(wrap(escape(s.told.Error()), w), "\n"))
	case s.src == nil:
		return st.dim.Render("Comparing …")
	}
	lines := s.head(w, h, st)
	below := s.below(w, st)
	if h < 14 {
		below = nil
	}
	s.height = max(h-len(lines)-len(below), 1)
	s.to(s.cursor)
	half := max((w-5)/2, 4)
	for i := s.first; i < min(s.first+s.height, len(s.window)); i++ {
		lines = append(lines, s.row(i, half, w, st))
	}
	for len(lines) < h-len(below) {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, below...), "\n")
}

// head names the pair and the difference that the cursor is in.
func (s *diffScreen) head(w, h int, st *styles) []string {
	l, text := levelOK, "The two logs hold the same."
	switch n := len(s.src.hunks); {
	case n == 0 && !s.src.logs[0].SameBlocks(s.src.logs[1]):
		text = "No difference of value: the logs were cleaned, or cut into batches, in another way."
	case n > 0 && s.cursor < len(s.window) && s.window[s.cursor].hunk >= 0:
		k := s.window[s.cursor].hunk
		l, text = s.src.hunks[k].level, fmt.Sprintf("Difference %d of %d: %s.", k+1, n, s.src.hunks[k].text)
	case n > 0:
		worst := &s.src.hunks[s.worstHunk()]
		l, text = worst.level, fmt.Sprintf("%s; the worst: %s.", countOf(int64(n), "difference", "differences"), worst.text)
	}
	var lines []string
	for _, part := range wrapTo(escape(text), w, max(h/4, 1)) {
		lines = append(lines, st.level(l).Render(part))
	}
	half := max((w-5)/2, 4)
	var names [2]string
	for i := range names {
		c := s.p.Copies[s.pair[i]]
		name := "broker " + c.Broker.Name
		if s.p.Ruling.Leader != nil && c.Broker == *s.p.Ruling.Leader {
			name += " (rules)"
		}
		if string(c.State) != "live" {
			name += " " + string(c.State)
		}
		look := st.header
		if i == s.side {
			look = look.Underline(true)
		}
		names[i] = look.Render(fit(escape(name)+fmt.Sprintf(", offsets %s", span(c.Log.LogStartOffset, c.Log.LogEndOffset)), half))
	}
	return append(lines, "  "+names[0]+"   "+names[1])
}

// row draws one row: the left side, a sign, the right side.
func (s *diffScreen) row(i, half, w int, st *styles) string {
	r := &s.window[i]
	selected := i == s.cursor
	plain := st.text
	if selected {
		plain = st.selected
	}
	sign := "  "
	if selected {
		sign = "› "
	}
	if r.fold() {
		what := "nothing differs"
		if strings.Contains(s.p.Ruling.Policy, "compact") {
			what = "nothing of value differs"
		}
		text := fmt.Sprintf("··· offsets %s: %s ···", span(r.at, r.to), what)
		look := st.dim
		if selected {
			look = st.selected
		}
		return look.Render(sign + fit(text, w-2))
	}
	l := levelNone
	if r.hunk >= 0 {
		l = s.src.hunks[r.hunk].level
	}
	mid := map[sameness]string{sameAll: " = ", sameButFor: " ≈ ", sameNot: " ≠ ", sameLeft: " < ", sameRight: " > "}[r.same]
	var b strings.Builder
	b.WriteString(plain.Render(sign))
	for k := range r.side {
		x := &r.side[k]
		look := plain
		if l != levelNone && x.ok {
			look = levelStyle(st, l, selected)
		} else if r.same == sameAll && !selected {
			look = st.dim
		}
		if x.flawed {
			look = levelStyle(st, levelDamage, selected)
		}
		if selected && k == s.side {
			look = st.cell
		}
		b.WriteString(look.Render(fit(escape(itemText(x, s.src.records)), half)))
		if k == 0 {
			b.WriteString(levelStyle(st, max(l, levelNone), selected).Render(mid))
		} else if selected { // the bar reaches the window's edge
			b.WriteString(look.Render(strings.Repeat(" ", max(w-5-2*half, 0))))
		}
	}
	return b.String()
}

// itemText is a batch or record in a column: what fits comes first.
func itemText(x *diffItem, records bool) string {
	if !x.ok {
		return ""
	}
	text := span(x.base, x.last+1)
	if x.epoch >= 0 {
		text += " e" + itoa(x.epoch)
	}
	if x.flawed {
		text += " D"
	}
	if records && x.base == x.last && x.text != "" {
		return text + " " + x.text
	}
	if x.records >= 0 {
		text += " " + comma(int64(x.records)) + "r"
	}
	text += fmt.Sprintf(" crc %08x", x.sum)
	if x.text != "" {
		text += " " + x.text
	}
	return text
}

// below tells the selected row in full.
func (s *diffScreen) below(w int, st *styles) []string {
	if s.cursor >= len(s.window) || s.window[s.cursor].fold() {
		return nil
	}
	r := &s.window[s.cursor]
	var d prose
	for i := range r.side {
		x := &r.side[i]
		label := "broker " + s.p.Copies[s.pair[i]].Broker.Name
		if !x.ok {
			d.add(label, "nothing begins at offset %d", r.at)
			continue
		}
		text := fmt.Sprintf("%s, epoch %d, %s, checksum %08x", offsetsText(x.base, x.last+1), x.epoch, countOf(int64(max(x.records, 0)), "record", "records"), x.sum)
		if x.timeMs >= 0 {
			text += ", " + clock(x.timeMs)
		}
		if x.flawed {
			text += "; damaged"
		}
		d.add(label, "%s", text)
	}
	lines := []string{st.dim.Render(strings.Repeat("─", w))}
	for _, l := range d.draw(w, st) {
		if len(lines) < 5 {
			lines = append(lines, l)
		}
	}
	legend := "= same  ≈ same records, other epoch  ≠ other  < > on one side only"
	return append(lines, st.dim.Render(cut(legend, w)))
}
