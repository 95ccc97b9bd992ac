package tui

import (
	"context"
	"fmt"
	"strings"
)

// hexPane shows bytes in hex and as ASCII, with a cursor, a lit range and no more of
// them in memory than are looked at.
//
//	1577  00 00 00 00 00 00 00 64  00 00 01 34 00 00 00 02 │.......d...4....│
//	└ position in the file         └ lit: the field that is selected
type hexPane struct {
	src    hexSource
	cursor int64 // byte of src
	topRow int64 // first visible row
	lit    [2]int64
	perRow int
	height int
}

// hexSource is bytes to look at: [0, size), shown as positions from base on.
type hexSource interface {
	size() int64
	base() int64
	// bytes are those of [from, to) that are in memory; ok is false where none is.
	bytes(from, to int64) (b []byte, ok bool)
	// load is work that brings bytes around from into memory; it delivers a hexLoaded.
	load(from int64) work
	take(v hexLoaded)
}

type hexLoaded struct {
	src  hexSource
	from int64
	b    []byte
}

// memoryBytes are bytes in memory.
type memoryBytes struct {
	b  []byte
	at int64
}

func (m memoryBytes) size() int64                         { return int64(len(m.b)) }
func (m memoryBytes) base() int64                         { return m.at }
func (m memoryBytes) bytes(from, to int64) ([]byte, bool) { return m.b[from:to], true }
func (m memoryBytes) load(int64) work                     { return nil }
func (m memoryBytes) take(hexLoaded)                      {}

// fileBytes is a part of a file of which a window is in memory.
type fileBytes struct {
	open    func(ctx context.Context) (*watchedFile, error)
	from    int64 // in the file
	n       int64
	at      int64 // of the window, in the part
	window  []byte
	loading bool
}

const hexWindow = 256 << 10

func (f *fileBytes) size() int64 { return f.n }
func (f *fileBytes) base() int64 { return f.from }

func (f *fileBytes) bytes(from, to int64) ([]byte, bool) {
	if from < f.at || to > f.at+int64(len(f.window)) {
		return nil, false
	}
	return f.window[from-f.at : to-f.at], true
}

func (f *fileBytes) load(from int64) work {
	if f.loading {
		return nil
	}
	f.loading = true
	at := max(from-hexWindow/2, 0)
	n := min(hexWindow, f.n-at)
	start, open := f.from, f.open
	return func(ctx context.Context) any {
		r, err := open(ctx)
		if err != nil {
			return err
		}
		defer r.close()
		b := make([]byte, n)
		if got, err := r.ReadAt(b, start+at); int64(got) < n {
			return r.failed(fmt.Errorf("read %d bytes at position %d: %w", n, start+at, err))
		}
		return hexLoaded{f, at, b}
	}
}

func (f *fileBytes) take(v hexLoaded) {
	f.loading = false
	f.at, f.window = v.from, v.b
}

// hexWidth is the cells that n bytes a row take, with positions of digits digits.
func hexWidth(n, digits int) int { return digits + 2 + 3*n + (n-1)/8 + 2 + n }

// bytesPerRow is how many bytes fit on a row of w cells: 32, 16, 8 or 4.
func bytesPerRow(w, digits int) int {
	for _, n := range []int{32, 16, 8} {
		if hexWidth(n, digits) <= w {
			return n
		}
	}
	return 4
}

// to moves the cursor and keeps it in sight.
func (p *hexPane) to(pos int64) {
	p.cursor = max(min(pos, p.src.size()-1), 0)
	if p.perRow == 0 {
		return
	}
	row := p.cursor / int64(p.perRow)
	h := int64(max(p.height, 1))
	switch {
	case row < p.topRow:
		p.topRow = row
	case row >= p.topRow+h:
		p.topRow = row - h + 1
	}
}

// light lights a range and brings its beginning into sight.
func (p *hexPane) light(from, to int64) {
	p.lit = [2]int64{from, to}
	p.to(from)
	if p.perRow == 0 {
		return
	}
	// With its end as well if there is room.
	h := int64(max(p.height, 1))
	if last := (to - 1) / int64(p.perRow); last >= p.topRow+h {
		p.topRow = min(last-h+1, from/int64(p.perRow))
	}
}

// handle takes a navigation intent; false: it is none.
func (p *hexPane) handle(in intent) bool {
	row := int64(max(p.perRow, 1))
	page := row * int64(max(p.height, 1))
	switch in {
	case left:
		p.to(p.cursor - 1)
	case right:
		p.to(p.cursor + 1)
	case up:
		if p.cursor >= row {
			p.to(p.cursor - row)
		}
	case down:
		if p.cursor+row < p.src.size() {
			p.to(p.cursor + row)
		}
	case pageUp:
		p.to(p.cursor - page)
	case pageDown:
		p.to(p.cursor + page)
	case halfUp:
		p.to(p.cursor - page/2/row*row)
	case halfDown:
		p.to(p.cursor + page/2/row*row)
	case top:
		p.to(0)
	case bottom:
		p.to(p.src.size() - 1)
	default:
		return false
	}
	return true
}

// load is work for the bytes that are visible and not in memory.
func (p *hexPane) load() work {
	if p.src == nil || p.src.size() == 0 {
		return nil
	}
	from, to := p.window()
	if _, ok := p.src.bytes(from, to); ok {
		return nil
	}
	return p.src.load(from)
}

// window is the part that is visible, or would be on a usual screen.
func (p *hexPane) window() (from, to int64) {
	per, h := int64(max(p.perRow, 16)), int64(max(p.height, 64))
	if p.perRow > 0 {
		per = int64(p.perRow)
	}
	from = min(p.topRow*per, max(p.src.size()-1, 0))
	return from, min(from+h*per, p.src.size())
}

// view draws h rows of at most w cells.
func (p *hexPane) view(w, h int, focus bool, st *styles) []string {
	if p.src == nil {
		return nil
	}
	size := p.src.size()
	digits := len(itoa(p.src.base() + max(size-1, 0)))
	per := bytesPerRow(w, digits)
	if per != p.perRow || h != p.height {
		p.perRow, p.height = per, h
		p.topRow = min(p.topRow, p.cursor/int64(per))
		p.to(p.cursor)
	}
	var out []string
	for row := p.topRow; row < p.topRow+int64(h) && row*int64(per) < size; row++ {
		from := row * int64(per)
		to := min(from+int64(per), size)
		label := fmt.Sprintf("%*d", digits, p.src.base()+from)
		if b, ok := p.src.bytes(from, to); ok {
			out = append(out, st.dim.Render(label)+"  "+p.row(b, from, per, focus, st))
		} else {
			out = append(out, st.dim.Render(label+"  …"))
		}
	}
	return out
}

// byteLook is how a byte is shown.
type byteLook uint8

const (
	lookText byteLook = iota
	lookZero
	lookOther
	lookLit
	lookCursor
)

func (p *hexPane) lookOf(pos int64, c byte, focus bool) byteLook {
	switch {
	case pos == p.cursor && focus:
		return lookCursor
	case pos >= p.lit[0] && pos < p.lit[1]:
		return lookLit
	case c == 0:
		return lookZero
	case c >= 0x20 && c < 0x7f:
		return lookText
	}
	return lookOther
}

func renderLook(st *styles, l byteLook, text string) string {
	switch l {
	case lookZero:
		return st.dim.Render(text)
	case lookOther:
		return st.key.Render(text)
	case lookLit:
		return st.hot.Render(text)
	case lookCursor:
		return st.cell.Render(text)
	}
	return text
}

// row draws the bytes of a row, neighbours of one look at once. The space between two
// lit bytes is lit too.
func (p *hexPane) row(b []byte, from int64, per int, focus bool, st *styles) string {
	var out, ascii, run strings.Builder
	last := lookText
	flush := func(to *strings.Builder) {
		if run.Len() > 0 {
			to.WriteString(renderLook(st, last, run.String()))
			run.Reset()
		}
	}
	const digits = "0123456789abcdef"
	for i := range per {
		gap := ""
		if i > 0 {
			gap = " "
			if i%8 == 0 {
				gap = "  "
			}
		}
		if i >= len(b) {
			flush(&out)
			out.WriteString(gap + "  ")
			continue
		}
		l := p.lookOf(from+int64(i), b[i], focus)
		if l != last {
			flush(&out)
			out.WriteString(gap)
			last = l
		} else {
			run.WriteString(gap)
		}
		run.WriteByte(digits[b[i]>>4])
		run.WriteByte(digits[b[i]&15])
	}
	flush(&out)
	last = lookText
	for i, c := range b {
		l := p.lookOf(from+int64(i), c, focus)
		if l != last {
			flush(&ascii)
			last = l
		}
		if c < 0x20 || c > 0x7e {
			c = '.'
		}
		run.WriteByte(c)
	}
	flush(&ascii)
	return out.String() + "  " + ascii.String()
}
