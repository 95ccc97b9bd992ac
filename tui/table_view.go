package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gutter is what stands before the first cell: cursor or mark, level, a space.
const gutter = 3

// viewTable draws the head and the visible rows in h lines of w cells.
func (t *table) viewTable(w, h int, st *styles) string {
	t.height = max(h-1, 0)
	t.scroll()
	from, to := t.visible()
	t.measure(from, to)
	shown := t.layout(w)
	lines := make([]string, 0, h)
	lines = append(lines, t.head(shown, w, st))
	for i := from; i < to; i++ {
		lines = append(lines, t.line(i, shown, w, st))
	}
	return strings.Join(lines[:min(len(lines), h)], "\n")
}

// measure keeps the widest cell of each column seen so far, so that columns do not
// jump while one scrolls.
func (t *table) measure(from, to int) {
	for c, col := range t.columns {
		n := max(t.widths[c], col.min, width(col.name)+1) // room for the sign of the sort
		for i := from; i < to; i++ {
			n = max(n, width(escape(t.rows.Cell(t.at(i), c))))
		}
		most := col.max
		if most == 0 {
			most = maxCell
		}
		t.widths[c] = min(n, max(most, width(col.name)+1))
	}
}

// placed is a column on the screen.
type placedColumn struct{ index, width int }

// layout chooses the columns that fit: the fixed ones, then from the first visible one
// on, so that the selected one is among them.
func (t *table) layout(w int) []placedColumn {
	room := w - gutter
	fixedWidth := 0
	var out []placedColumn
	for c := 0; c < t.fixed && c < len(t.columns); c++ {
		n := min(t.widths[c], max(room*2/3-fixedWidth, 6))
		out = append(out, placedColumn{c, n})
		fixedWidth += n + 1
	}
	t.left = max(t.left, t.fixed)
	if t.col >= t.fixed && t.col < t.left {
		t.left = t.col
	}
	for {
		rest := room - fixedWidth
		list := out[:len(out):len(out)]
		for c := t.left; c < len(t.columns) && rest > 0; c++ {
			n := min(t.widths[c], rest)
			if n < t.widths[c] && c > t.left && n < t.columns[c].least() {
				break
			}
			list = append(list, placedColumn{c, n})
			rest -= n + 1
		}
		last := list[len(list)-1]
		if t.col > last.index && t.left < t.col {
			t.left++
			continue
		}
		if last.index == t.col && last.width < t.widths[t.col] && t.left < t.col {
			t.left++
			continue
		}
		if rest > 0 {
			for i := range list {
				if t.columns[list[i].index].grow {
					list[i].width += rest
					break
				}
			}
		}
		return list
	}
}

// least is how many cells of a column are worth showing where there is no room for all.
func (c *column) least() int {
	switch {
	case c.right:
		return 8
	case c.min > 0:
		return min(c.min, 16) // of a time, the date and the hour
	}
	return 6
}

func (t *table) head(shown []placedColumn, w int, st *styles) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", gutter))
	for i, p := range shown {
		if i > 0 {
			b.WriteByte(' ')
		}
		col := t.columns[p.index]
		name := col.name
		if p.index == t.sortCol {
			if t.desc {
				name += "↓"
			} else {
				name += "↑"
			}
		}
		style := st.header
		if p.index == t.col {
			style = style.Underline(true)
		}
		text := fit(escape(name), p.width)
		if col.right {
			text = fitRight(escape(name), p.width)
		}
		b.WriteString(style.Render(text))
	}
	if last := shown[len(shown)-1].index; last < len(t.columns)-1 {
		return fit(ansi.Truncate(b.String(), w-1, ""), w-1) + st.dim.Render("›")
	}
	return b.String()
}

func (t *table) line(i int, shown []placedColumn, w int, st *styles) string {
	row := t.at(i)
	selected := i == t.cursor
	l := t.rows.Severity(row)
	sign := " "
	switch {
	case t.marks[row]:
		sign = "*"
	case selected:
		sign = "›"
	}
	leveled, _ := t.rows.(leveledRows)
	var b strings.Builder
	plain := st.text
	if selected {
		plain = st.selected
	}
	if t.marks[row] && !selected {
		b.WriteString(st.marked.Render(sign))
	} else {
		b.WriteString(plain.Render(sign))
	}
	b.WriteString(levelStyle(st, l, selected).Render(l.symbol()))
	b.WriteString(plain.Render(" "))
	used := gutter
	for k, p := range shown {
		if k > 0 {
			b.WriteString(plain.Render(" "))
		}
		text := escape(t.rows.Cell(row, p.index))
		if t.columns[p.index].right {
			text = fitRight(text, p.width)
		} else {
			text = fit(text, p.width)
		}
		style := plain
		if leveled != nil {
			if cl := leveled.Level(row, p.index); cl != levelNone {
				style = levelStyle(st, cl, selected)
			}
		}
		if selected && p.index == t.col {
			style = st.cell
		}
		if from, to := t.flt.within(text); to > 0 && !t.columns[p.index].quiet {
			b.WriteString(style.Render(text[:from]))
			b.WriteString(matchLook(st, style).Render(text[from:to]))
			text = text[to:]
		}
		b.WriteString(style.Render(text))
		used += p.width + min(k, 1)
	}
	if selected { // the bar reaches the window's edge
		b.WriteString(plain.Render(strings.Repeat(" ", max(w-used, 0))))
	}
	return b.String()
}

// matchLook is the look of what a filter found in text of another look.
func matchLook(st *styles, in look) look {
	if in.reverse {
		return in.Underline(!in.underline) // the bar stays one
	}
	return st.match.Bold(in.bold)
}

// levelStyle is the look of a level, in the selected row as well.
func levelStyle(st *styles, l level, selected bool) look {
	s := st.level(l)
	if selected {
		return s.Reverse(true)
	}
	return s
}
