package tui

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"kafsck/epoch"
)

// scale places offsets on columns: low stands at column 0, high at column room. It may
// show any part of a log, down to a few offsets that take several columns each.
//
//	low                     high
//	0          60     110    200
//	├0──────────┼1─────┼4─────┤
//	column 0            column room
type scale struct {
	low, high int64
	room      int
}

// column is where an offset stands; what lies outside is put at the edge.
func (s scale) column(offset int64) int {
	if s.high <= s.low || s.room <= 0 {
		return 0
	}
	// Exact: offsets may differ by 1 and by 2^63.
	hi, lo := bits.Mul64(uint64(min(max(offset, s.low), s.high)-s.low), uint64(s.room))
	c, _ := bits.Div64(hi, lo, uint64(s.high-s.low))
	return int(c)
}

// holds reports whether an offset is on the scale.
func (s scale) holds(offset int64) bool { return s.low <= offset && offset <= s.high }

// step is the smallest move that is seen: one column, at least one offset.
func (s scale) step() int64 { return max((s.high-s.low)/int64(max(s.room, 1)), 1) }

// zoom makes the scale half or twice as wide around an offset, within the bounds of what
// there is.
func (s scale) zoom(around int64, in bool, bounds scale) scale {
	size := s.high - s.low
	switch {
	case in:
		size = max(size/2, 4)
	case size > (bounds.high-bounds.low)/2:
		size = bounds.high - bounds.low
	default:
		size *= 2
	}
	return s.around(around, size, bounds)
}

// showing moves the scale so that an offset is seen.
func (s scale) showing(offset int64, bounds scale) scale {
	if s.holds(offset) {
		return s
	}
	return s.around(offset, s.high-s.low, bounds)
}

// around shows size offsets with one of them in the middle, or nearly so at the bounds.
func (s scale) around(offset, size int64, bounds scale) scale {
	size = min(size, bounds.high-bounds.low)
	s.low = max(min(offset-size/2, bounds.high-size), bounds.low)
	s.high = s.low + size
	return s
}

// lane is the bar of one replica.
type lane struct {
	label    string // raw
	from, to int64  // log start and end
	ranges   epoch.Lineage
	spans    []laneSpan // painted in this order: the last one wins
	marks    []barMark
	empty    string // what to say in place of a bar, raw; "" draws one
	level    level
}

// laneSpan is a stretch of a bar that is drawn otherwise.
type laneSpan struct {
	from, to int64
	fill     rune
	level    level
}

// barMark is a place on a bar that has a meaning: a sign below it, and words for the
// line that explains what is under the cursor.
type barMark struct {
	at    int64
	sign  rune
	level level
	text  string // raw
}

// What bars are drawn with.
const (
	fillSame   = '─'
	fillDiffer = '═'
	fillLost   = 'x'
	fillGap    = '·'
	barBegin   = '├'
	barEpoch   = '┼'
	barEnd     = '┤'
	barCrowd   = '╫' // several epochs begin within one column
)

// inked is one cell of a bar.
type inked struct {
	r rune
	k look
}

// ink turns cells into text, equal looks together.
func ink(cells []inked) string {
	var b, run strings.Builder
	for i := range cells {
		run.WriteRune(cells[i].r)
		if i+1 == len(cells) || cells[i+1].k != cells[i].k {
			b.WriteString(cells[i].k.Render(run.String()))
			run.Reset()
		}
	}
	return b.String()
}

// bar draws a lane in room+1 cells. cursor is a column to light up, -1 none.
func (s scale) bar(l *lane, cursor int, st *styles) string {
	cells := slices.Repeat([]inked{{' ', st.text}}, s.room+1)
	if l.from < l.to && l.to > s.low && l.from < s.high {
		s.fillBar(l, cells, st)
	}
	if cursor >= 0 && cursor < len(cells) {
		cells[cursor].k = cells[cursor].k.Reverse(true)
	}
	return ink(cells)
}

// stretch is the columns [c0, c1) of a range of offsets; ok is false where nothing of it
// is on the scale. It has at least one column.
func (s scale) stretch(from, to int64) (c0, c1 int, ok bool) {
	from, to = max(from, s.low), min(to, s.high)
	if from >= to {
		return 0, 0, false
	}
	c0 = s.column(from)
	return c0, max(s.column(to), c0+1), true
}

func (s scale) fillBar(l *lane, cells []inked, st *styles) {
	c0, c1, _ := s.stretch(l.from, l.to)
	for c := c0; c < min(c1, len(cells)); c++ {
		cells[c] = inked{fillGap, st.dim}
	}
	ranges := l.ranges
	// Only what is on the scale: a lineage may be long.
	first, _ := slices.BinarySearchFunc(ranges, s.low, func(r epoch.Range, low int64) int {
		if r.To <= low {
			return -1
		}
		return 1
	})
	taken := make([]bool, len(cells))
	for i := first; i < len(ranges) && ranges[i].From < s.high; i++ {
		r := ranges[i]
		from, to := max(r.From, l.from), min(r.To, l.to)
		a, b, ok := s.stretch(from, to)
		if !ok {
			continue
		}
		k := st.epoch(r.Epoch)
		for c := a; c < min(b, len(cells)); c++ {
			if !taken[c] {
				cells[c] = inked{fillSame, k}
			}
		}
		name := "none"
		if r.Epoch >= 0 {
			name = strconv.Itoa(int(r.Epoch))
		}
		if from < s.low { // it begins to the left of what is seen
			if !taken[a] && a+len(name) <= b {
				for n, c := range name {
					cells[a+n] = inked{c, k.Bold(true)}
				}
			}
			continue
		}
		switch {
		case taken[a]:
			cells[a].r = barCrowd
			continue
		case from == l.from:
			cells[a] = inked{barBegin, k}
		default:
			cells[a] = inked{barEpoch, k}
		}
		taken[a] = true
		if a+1+len(name) <= b {
			for n, c := range name {
				cells[a+1+n] = inked{c, k.Bold(true)}
			}
		}
	}
	for _, x := range l.spans {
		a, b, ok := s.stretch(max(x.from, l.from), min(x.to, l.to))
		if !ok {
			continue
		}
		for c := a; c < min(b, len(cells)); c++ {
			if r := cells[c].r; r == fillSame || r == fillGap || r == fillDiffer || x.fill == fillLost && r == fillLost {
				cells[c] = inked{x.fill, st.level(x.level)}
			} else {
				cells[c].k = st.level(x.level)
			}
		}
	}
	if l.to <= s.high {
		end := min(c1, len(cells)-1)
		cells[end] = inked{barEnd, st.text}
	}
}

// signs draws the marks below a bar, and the cursor, -1 none. Of several in one column
// the worst is seen.
func (s scale) signs(l *lane, cursor int, st *styles) string {
	cells := slices.Repeat([]inked{{' ', st.text}}, s.room+1)
	level := make([]level, len(cells))
	for i := range l.marks {
		m := &l.marks[i]
		if !s.holds(m.at) {
			continue
		}
		c := s.column(m.at)
		if cells[c].r == ' ' || m.level > level[c] {
			cells[c], level[c] = inked{m.sign, st.level(m.level)}, m.level
		}
	}
	if cursor >= 0 && cursor < len(cells) {
		if cells[cursor].r == ' ' {
			cells[cursor].r = '▲'
		}
		cells[cursor].k = cells[cursor].k.Reverse(true)
	}
	return ink(cells)
}

// axis writes offsets above the columns where something begins, as far as they do not
// run into each other: the given ones in their order, the ends first.
func (s scale) axis(ticks []int64) string {
	row := slices.Repeat([]rune{' '}, s.room+1)
	put := func(at int, word string) {
		at = min(at, len(row)-len(word))
		if at < 0 {
			return
		}
		for i := max(at-1, 0); i < min(at+len(word)+1, len(row)); i++ {
			if row[i] != ' ' {
				return
			}
		}
		copy(row[at:], []rune(word))
	}
	put(0, itoa(s.low))
	put(s.room, itoa(s.high))
	for _, t := range ticks {
		if s.holds(t) {
			put(s.column(t), itoa(t))
		}
	}
	return string(row)
}
