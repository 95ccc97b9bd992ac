package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// soon is how many rows are sorted and filtered at once; more is work.
const soon = 2000

// rearrange is for a changed sort or filter: an arrangement under way is given up.
func (t *table) rearrange() work {
	t.arrangement.Add(1)
	t.arranging, t.stale, t.gaveUp = false, false, false
	return t.arrange()
}

// arrange sorts and filters what there is, in the background if that is a lot.
func (t *table) arrange() work {
	if t.flt == nil && !t.onlyFault && t.sortCol < 0 {
		t.takeOrder(nil)
		return nil
	}
	if t.arranging {
		t.stale = true
		return nil
	}
	a := arrangement{columns: t.columns, flt: t.flt, faults: t.onlyFault, sortCol: t.sortCol, desc: t.desc}
	if t.rows.Len() <= soon {
		a.rows = t.rows
		t.takeOrder(a.order(context.Background()))
		return nil
	}
	a.rows = snapshot(t.rows)
	t.arranging = true
	number := t.arrangement.Load()
	a.over = func() bool { return t.arrangement.Load() != number }
	return func(ctx context.Context) any {
		order := a.order(ctx)
		return arranged{t, number, order, ctx.Err() != nil}
	}
}

// takeOrder shows rows in a new order, with the cursor on the same row if it is there.
func (t *table) takeOrder(order []int32) {
	row := t.row()
	t.order = order
	if row >= 0 && t.selectRow(row) {
		return
	}
	t.to(t.cursor)
}

// arrangement is what rows are sorted and filtered by.
type arrangement struct {
	rows    rows
	columns []column
	flt     *filter
	faults  bool
	sortCol int
	desc    bool
	over    func() bool // whether another one is wanted by now; nil: never
}

func (a *arrangement) order(ctx context.Context) []int32 {
	order := []int32{}
	n := a.rows.Len()
	for i := range n {
		if i%1024 == 0 && a.ended(ctx) {
			return nil
		}
		if a.faults && !a.rows.Severity(i).fault() {
			continue
		}
		if a.flt != nil && !a.flt.matches(a.rows, i, a.columns) {
			continue
		}
		order = append(order, int32(i))
	}
	if a.sortCol < 0 {
		return order
	}
	keys := a.keys(order, n)
	if a.ended(ctx) {
		return nil
	}
	slices.SortFunc(order, func(x, y int32) int {
		return cmp.Or(a.compare(keys[x], keys[y]), cmp.Compare(x, y))
	})
	return order
}

func (a *arrangement) ended(ctx context.Context) bool {
	return ctx.Err() != nil || a.over != nil && a.over()
}

// keys are what rows are sorted by: the values of the column, or its text if it has
// none. nil: not known.
func (a *arrangement) keys(order []int32, n int) []any {
	keys := make([]any, n)
	known := false
	if v, ok := a.rows.(valuedRows); ok {
		for _, i := range order {
			keys[i] = v.Value(int(i), a.sortCol)
			known = known || keys[i] != nil
		}
	}
	if known {
		return keys
	}
	for _, i := range order {
		if cell := a.rows.Cell(int(i), a.sortCol); cell != "" {
			keys[i] = cell
		}
	}
	return keys
}

// compare orders two keys; what is not known comes last in both directions.
func (a *arrangement) compare(x, y any) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	case a.desc:
		return compareValues(y, x)
	}
	return compareValues(x, y)
}

// compareValues orders two values of a column.
func compareValues(a, b any) int {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y)
		}
	case string:
		if y, ok := b.(string); ok {
			return naturalCompare(x, y)
		}
	}
	x, xok := asNumber(a)
	y, yok := asNumber(b)
	switch {
	case xok && yok:
		return cmp.Compare(x, y)
	case xok:
		return -1
	case yok:
		return 1
	}
	return 0
}

// naturalCompare orders text with the numbers in it by value: t-2 before t-10.
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
