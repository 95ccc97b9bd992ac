package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

// rows is the content of a table. All text is raw: the table escapes it. What a rows
// value has given for a row stays so, since sorting and filtering of long lists read it
// in the background: content that changes is a new value (or has a Snapshot).
type rows interface {
	Len() int
	Cell(row, col int) string
	// Severity of the row: its letter stands before it, and "only faults" goes by it.
	Severity(row int) level
}

// What rows may also have.
type (
	// valuedRows give what a cell stands for, so that sizes, ages and offsets sort by
	// value: int64, int32, int, float64, time.Time, level, string, or nil (sorts last).
	valuedRows interface{ Value(row, col int) any }
	// jsonRows give the row as what --json says of it.
	jsonRows interface{ JSON(row int) any }
	// pathRows give the file or directory of a row, as a user would type it.
	pathRows interface{ Path(row int) string }
	// leveledRows colour single cells.
	leveledRows interface{ Level(row, col int) level }
	// snapshotRows change in place; Snapshot is called before they are read in the background.
	snapshotRows interface{ Snapshot() rows }
)

// column is the head of a column and how wide it may be.
type column struct {
	name     string
	min, max int  // cells; 0: the name's width, and maxCell
	right    bool // numbers
	grow     bool // takes what room is left
	quiet    bool // words of a filter do not look at it, only comparisons by its name
}

const maxCell = 48

// table shows rows in a window: only what is visible is asked for. Screens embed it.
type table struct {
	columns []column
	fixed   int // columns at the left that do not scroll away
	// still says why rows cannot be sorted or filtered; "" if they can.
	still string

	rows   rows
	order  []int32 // rows shown, in their order; nil: all as they are
	cursor int     // in what is shown
	first  int     // first visible one
	col    int     // column under the cursor
	left   int     // first visible column after the fixed ones
	widths []int   // widest cell seen
	height int     // visible rows at the last view

	sortCol   int // -1: as read
	desc      bool
	flt       *filter
	onlyFault bool
	marks     map[int]bool

	arrangement atomic.Int64 // counts changes of sort and filter
	arranging   bool
	stale       bool // rows came while arranging
	gaveUp      bool // the user stopped it: everything is shown, as read
}

func newTable(columns []column, r rows) *table {
	return &table{columns: columns, rows: r, sortCol: -1, marks: map[int]bool{}, widths: make([]int, len(columns)), height: 10}
}

// len is how many rows are shown.
func (t *table) len() int {
	if t.order != nil {
		return len(t.order)
	}
	return t.rows.Len()
}

// at is the index in rows of the i-th shown one.
func (t *table) at(i int) int {
	if t.order != nil {
		return int(t.order[i])
	}
	return i
}

// row is the index in rows of the selected one, -1 if there is none.
func (t *table) row() int {
	if t.cursor < 0 || t.cursor >= t.len() {
		return -1
	}
	return t.at(t.cursor)
}

// selectRow puts the cursor on a row, if it is shown.
func (t *table) selectRow(row int) bool {
	if t.order == nil {
		if row < 0 || row >= t.rows.Len() {
			return false
		}
		t.to(row)
		return true
	}
	for i, r := range t.order {
		if int(r) == row {
			t.to(i)
			return true
		}
	}
	return false
}

// visible is the part of what is shown that is on the screen: [from, to).
func (t *table) visible() (from, to int) {
	return t.first, min(t.first+t.height, t.len())
}

// to moves the cursor and keeps it in sight.
func (t *table) to(i int) {
	t.cursor = max(min(i, t.len()-1), 0)
	t.scroll()
}

func (t *table) scroll() {
	if t.cursor < t.first {
		t.first = t.cursor
	}
	if t.height > 0 && t.cursor >= t.first+t.height {
		t.first = t.cursor - t.height + 1
	}
	t.first = max(min(t.first, t.len()-t.height), 0)
}

// setRows gives new content, with sort, filter and cursor as they are.
func (t *table) setRows(r rows) work {
	if r.Len() < t.rows.Len() {
		t.order = nil
		clear(t.marks)
	}
	t.rows = r
	w := t.arrange()
	t.to(t.cursor)
	return w
}

// handle takes the intents of tables; false: it is not one of them.
func (t *table) handleTable(in intent, ctl *control) (work, bool) {
	if n, ok := step(in, max(t.height, 1)); ok {
		t.to(t.cursor + n)
		return nil, true
	}
	switch in {
	case top:
		t.to(0)
	case bottom:
		t.to(t.len() - 1)
	case left:
		t.col = max(t.col-1, 0)
	case right:
		t.col = min(t.col+1, len(t.columns)-1)
	case next:
		t.seek(1, ctl)
	case previous:
		t.seek(-1, ctl)
	case mark:
		if r := t.row(); r >= 0 {
			if t.marks[r] {
				delete(t.marks, r)
			} else {
				t.marks[r] = true
			}
			t.to(t.cursor + 1)
		}
	case nextMark:
		t.toMark(ctl)
	case faults:
		if t.still != "" {
			ctl.say("%s", t.still)
			return nil, true
		}
		t.onlyFault = !t.onlyFault
		if t.onlyFault {
			ctl.say("only faults; z shows all again")
		}
		return t.rearrange(), true
	case sortBy:
		return t.sort(ctl), true
	default:
		return nil, false
	}
	return nil, true
}

// seek goes to the next row with a fault. It looks at so many rows that it stays below
// a frame's time, and says where it gave up.
func (t *table) seek(by int, ctl *control) {
	const most = 200_000
	for i, n := t.cursor+by, 0; i >= 0 && i < t.len(); i, n = i+by, n+1 {
		if n == most {
			t.to(i)
			ctl.say("no fault in %s rows; again to go on", comma(most))
			return
		}
		if t.rows.Severity(t.at(i)).fault() {
			t.to(i)
			return
		}
	}
	ctl.say("no further fault in this direction")
}

func (t *table) toMark(ctl *control) {
	if len(t.marks) == 0 {
		ctl.say("no row is marked; space marks one")
		return
	}
	for i := range t.len() {
		k := (t.cursor + 1 + i) % t.len()
		if t.marks[t.at(k)] {
			t.to(k)
			return
		}
	}
	ctl.say("the marked rows are not among those shown")
}

// filter is the text of the filter.
func (t *table) filter() string {
	if t.flt == nil {
		return ""
	}
	return t.flt.text
}

// setFilter takes what is typed after "/".
func (t *table) setFilter(text string, ctl *control) (work, error) {
	if t.still != "" && text != "" {
		return nil, fmt.Errorf("%s", t.still)
	}
	f, err := parseFilter(text, t.columns, t.rows)
	if err != nil {
		return nil, err
	}
	t.flt = f
	if f.empty() {
		t.flt = nil
	}
	return t.rearrange(), nil
}

// sort goes through ascending, descending and as read for the selected column.
func (t *table) sort(ctl *control) work {
	if t.still != "" {
		ctl.say("%s", t.still)
		return nil
	}
	switch {
	case t.sortCol != t.col:
		t.sortCol, t.desc = t.col, false
	case !t.desc:
		t.desc = true
	default:
		t.sortCol = -1
	}
	return t.rearrange()
}

// unsortable says why rows cannot be sorted, "" if they can.
func (t *table) unsortable() string { return t.still }

// columnNames are the heads of the columns without spaces, as ":sort" and filters take
// them.
func (t *table) columnNames() []string {
	var out []string
	for _, c := range t.columns {
		out = append(out, strings.ReplaceAll(c.name, " ", ""))
	}
	return out
}

// sortByName is ":sort COLUMN".
func (t *table) sortByName(name string, ctl *control) (work, error) {
	if name == "" {
		t.sortCol = -1
		return t.rearrange(), nil
	}
	c := columnOf(t.columns, name)
	if c < 0 {
		return nil, fmt.Errorf("there is no column %s", name)
	}
	if t.still != "" {
		return nil, fmt.Errorf("%s", t.still)
	}
	if t.col = c; t.sortCol == c && t.desc {
		t.desc = false
		return t.rearrange(), nil
	}
	return t.sort(ctl), nil
}

// position says where the cursor is.
func (t *table) position() string {
	n, all := t.len(), t.rows.Len()
	text := "none"
	if n > 0 {
		text = comma(int64(t.cursor+1)) + "/" + comma(int64(n))
	}
	if n != all {
		text += " of " + comma(int64(all))
	}
	if t.onlyFault {
		text = "z faults only  " + text
	}
	if len(t.marks) > 0 {
		text = countOf(int64(len(t.marks)), "mark", "marks") + "  " + text
	}
	if t.arranging {
		text = "… " + text
	}
	if t.gaveUp {
		text = "stopped: neither sorted nor filtered  " + text
	}
	return text
}

// copyText gives what is selected; of rows: all marked ones, else the one under the
// cursor.
func (t *table) copyText(kind copyKind) (string, error) {
	r := t.row()
	if r < 0 {
		return "", errNothingToCopy
	}
	if kind == copyCell {
		return escape(t.rows.Cell(r, t.col)), nil
	}
	var lines []string
	for _, r := range t.chosen() {
		switch kind {
		case copyRow:
			var cells []string
			for c := range t.columns {
				cells = append(cells, escape(t.rows.Cell(r, c)))
			}
			lines = append(lines, strings.Join(cells, "\t"))
		case copyPath:
			if p, ok := t.rows.(pathRows); ok && p.Path(r) != "" {
				lines = append(lines, shellWords(p.Path(r)))
			}
		case copyJSON:
			lines = append(lines, jsonLine(rowJSON(t.columns, t.rows, r)))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// chosen are the marked rows in the order shown, else the selected one.
func (t *table) chosen() []int {
	var out []int
	if len(t.marks) > 0 {
		for i := range t.len() {
			if t.marks[t.at(i)] {
				out = append(out, t.at(i))
			}
		}
	}
	if r := t.row(); len(out) == 0 && r >= 0 {
		out = []int{r}
	}
	return out
}

// save writes what is shown: the marked rows, or all that pass the filter.
func (t *table) save(format string) (func(io.Writer) error, error) {
	r, order := snapshot(t.rows), t.order
	if len(t.marks) > 0 {
		order = nil
		for i := range t.len() {
			if t.marks[t.at(i)] {
				order = append(order, int32(t.at(i)))
			}
		}
		if order == nil {
			return nil, errMarksHidden
		}
	}
	columns := t.columns
	return func(w io.Writer) error { return writeTable(w, format, columns, r, order) }, nil
}

var errMarksHidden = errors.New("the marked rows are not among those shown")

func snapshot(r rows) rows {
	if s, ok := r.(snapshotRows); ok {
		return s.Snapshot()
	}
	return r
}

// deliverTable takes the answer of the table's own work; false: it is not one.
func (t *table) deliverTable(v any) (work, bool) {
	a, ok := v.(arranged)
	if !ok || a.table != t {
		return nil, false
	}
	if a.arrangement != t.arrangement.Load() {
		return nil, true // of a sort or filter that is not wanted any more
	}
	t.arranging = false
	if a.stopped {
		t.flt, t.onlyFault, t.sortCol, t.stale, t.gaveUp = nil, false, -1, false, true
		t.takeOrder(nil)
		return nil, true
	}
	t.takeOrder(a.order)
	if t.stale {
		t.stale = false
		return t.arrange(), true
	}
	return nil, true
}

// arranged is the result of sorting and filtering in the background.
type arranged struct {
	table       *table
	arrangement int64
	order       []int32
	stopped     bool
}

// restarted is told that the works of the screen were given up, an arrangement among
// them.
func (t *table) restarted() work {
	if !t.arranging {
		return nil
	}
	return t.rearrange()
}
