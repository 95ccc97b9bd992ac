package report

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"kafsck/epoch"
)

// barStyle is the characters that bars are drawn with.
type barStyle struct {
	begin, fill, end rune
	crowd            rune // several epochs begin within one column
	gap              rune // offsets without a batch
}

var (
	unicodeBars = barStyle{begin: '├', fill: '─', end: '┤', crowd: '╫', gap: '·'}
	asciiBars   = barStyle{begin: '|', fill: '-', end: '|', crowd: '#', gap: '.'}
)

// bar is one line: which epoch the offsets [from, to) of a log carry.
type bar struct {
	label    string
	from, to int64
	ranges   epoch.Lineage
}

// drawBars draws bars to one scale, below an axis of offsets. Every stretch of
// an epoch begins with a mark, and carries its number where there is room.
//
//	          0       60     110                  200
//	broker 1  ├0──────┼1─────┤
//	broker 2  ├0──────┼1─────┼4────────────────────┤
//
// width is that of the whole line in columns. crowded tells that some column
// stands for several epochs; gaps that offsets without a batch were drawn.
func drawBars(bars []bar, width int, style barStyle, indent string) (lines []string, crowded, gaps bool) {
	low, high, labels := int64(math.MaxInt64), int64(math.MinInt64), 0
	for _, b := range bars {
		if b.from < b.to {
			low, high = min(low, b.from), max(high, b.to)
		}
		labels = max(labels, utf8.RuneCountInString(b.label))
	}
	if low >= high {
		return nil, false, false
	}
	room := max(width-len(indent)-labels-3, 20) // columns 0 … room; the last is the end mark of the longest log
	column := func(offset int64) int {          // exact: offsets may differ by 1 and by 2^63
		hi, lo := bits.Mul64(uint64(min(max(offset, low), high)-low), uint64(room))
		c, _ := bits.Div64(hi, lo, uint64(high-low))
		return int(c)
	}
	var ticks []int64
	for _, b := range bars {
		if b.from >= b.to {
			lines = append(lines, fmt.Sprintf("%s%-*s  (no batches)", indent, labels, b.label))
			continue
		}
		cells := slices.Repeat([]rune{' '}, room+1)
		last := max(column(b.to), column(b.from)+1)
		for i := column(b.from); i < last; i++ {
			cells[i] = style.gap
		}
		cells[min(last, room)] = style.end
		marks := make([]int, room+1)
		for i, r := range b.ranges {
			from, to := max(r.From, b.from), min(r.To, b.to)
			if from >= to {
				continue
			}
			ticks = append(ticks, from)
			c0 := min(column(from), last-1)
			c1 := min(max(column(to), c0+1), last)
			for c := c0 + 1; c < c1; c++ {
				cells[c] = style.fill
			}
			if marks[c0]++; marks[c0] > 1 {
				cells[c0], crowded = style.crowd, true
				continue
			}
			cells[c0] = style.begin
			name := fmt.Sprint(r.Epoch)
			if r.Epoch < 0 {
				name = "none"
			}
			until := c1
			if i+1 < len(b.ranges) {
				until = min(until, column(b.ranges[i+1].From))
			}
			if c0+len(name) < until {
				copy(cells[c0+1:], []rune(name))
			}
		}
		gaps = gaps || slices.Contains(cells, style.gap)
		lines = append(lines, fmt.Sprintf("%s%-*s  %s", indent, labels, b.label, strings.TrimRight(string(cells), " ")))
	}
	return append([]string{indent + strings.Repeat(" ", labels) + "  " + axis(ticks, low, high, room, column)}, lines...), crowded, gaps
}

// axis writes offsets above the columns where epochs begin, as far as they do
// not run into each other, and the greatest log end at its end.
func axis(ticks []int64, low, high int64, room int, column func(int64) int) string {
	slices.Sort(ticks)
	ticks = slices.Compact(append([]int64{low}, ticks...))
	end := fmt.Sprint(high)
	limit := room + 1 - len(end)
	var line strings.Builder
	for _, t := range ticks {
		word := fmt.Sprint(t)
		at := column(t)
		if line.Len() > 0 && at <= line.Len() || at+len(word) >= limit {
			continue
		}
		line.WriteString(strings.Repeat(" ", at-line.Len()) + word)
	}
	if limit > line.Len() {
		line.WriteString(strings.Repeat(" ", limit-line.Len()))
	}
	return line.String() + end
}
