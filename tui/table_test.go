package tui

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func shown(t *table) []int {
	var out []int
	for i := range t.len() {
		out = append(out, t.at(i))
	}
	return out
}

func TestSort(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{2048, 10, 1 << 30, 999})
	s.keys("right", "s")
	if got := shown(l.table); !slices.Equal(got, []int{1, 3, 0, 2}) {
		t.Errorf("by size: %v", got)
	}
	s.keys("s")
	if got := shown(l.table); !slices.Equal(got, []int{2, 0, 3, 1}) {
		t.Errorf("by size, descending: %v", got)
	}
	if l.row() != 0 {
		t.Errorf("the cursor went to row %d", l.row())
	}
	s.keys("s")
	if got := shown(l.table); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("as read: %v", got)
	}
}

func TestCompareValues(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		a, b any
	}{
		{int64(1<<62 + 1), int64(1<<62 + 2)}, {9.5, int64(10)}, {now, now.Add(1)},
		{"t-2", "t-10"}, {"a", "b"}, {"file-009", "file-10"}, {"t", "t-0"}, {int32(3), "text"},
	} {
		if compareValues(c.a, c.b) >= 0 || compareValues(c.b, c.a) <= 0 {
			t.Errorf("%v is not below %v", c.a, c.b)
		}
	}
}

func TestFilter(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{2048, 10, 1 << 30, 999})
	for _, c := range []struct {
		text string
		want []int
	}{
		{"file-1", []int{1}},
		{"!file-1", []int{0, 2, 3}},
		{"FILE", nil},
		{"kib", []int{0}},
		{"size>=999", []int{0, 2, 3}},
		{"size>1KiB && size<1GiB", []int{0}},
		{"size == 10", []int{1}},
		{`name=="file-3"`, []int{3}},
		{"!size>=999", []int{1}},
		{`"file-3"`, []int{3}},
		{"nosuch>=3", nil},
		{"size>=", []int{0, 1, 2, 3}},
		{"!", []int{0, 1, 2, 3}},
	} {
		s.text("/").keys("ctrl+u").text(c.text).keys("enter")
		if got := shown(l.table); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.text, got, c.want)
		}
	}
	s.text("/").keys("ctrl+u").text("a || b").sees("|| is not understood").keys("esc")
}

// TestLongListInTheBackground: a million rows are filtered and sorted as work, and the
// newest wish wins.
func TestLongListInTheBackground(t *testing.T) {
	r := make(sizes, 300_000)
	for i := range r {
		r[i] = int64(i * 7919 % 1_000_003)
	}
	s, l := withList(t, 80, 20, r)
	s.held = true
	s.keys("right", "s")
	if !l.arranging || l.len() != len(r) {
		t.Fatal("sorted at once")
	}
	s.sees("… 1/300,000")
	s.keys("s").settle()
	if got := []int64{r[l.at(0)], r[l.at(1)]}; got[0] < got[1] {
		t.Errorf("descending begins with %v", got)
	}
	s.text("/size<100").settle()
	for i := range l.len() {
		if r[l.at(i)] >= 100 {
			t.Fatal("the filter does not hold")
		}
	}
	begin := time.Now()
	for range 100 {
		s.app.View()
	}
	if d := time.Since(begin) / 100; d > 16*time.Millisecond {
		t.Errorf("a frame takes %v", d)
	}
}

func TestMarksFaultsCopySave(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{2048, 10, 1 << 30, 999})
	s.keys(" ", "j", " ").sees("2 marks")
	if got, _ := l.copyText(copyRow); got != "file-0\t2.0 KiB\nfile-2\t1.0 GiB" {
		t.Errorf("copied %q", got)
	}
	if got, _ := l.copyText(copyJSON); got != `{"name":"file-0","size":2048}`+"\n"+`{"name":"file-2","size":1073741824}` {
		t.Errorf("copied %q", got)
	}
	var out bytes.Buffer
	write, err := l.save("csv")
	if err != nil || write(&out) != nil || out.String() != "name,size\nfile-0,2.0 KiB\nfile-2,1.0 GiB\n" {
		t.Errorf("%v %q", err, out.String())
	}
	s.keys("g", "'").sees("3/4")
	s.keys("z")
	if got := shown(l.table); !slices.Equal(got, []int{1}) { // 10 % 7 == 3
		t.Errorf("faults: %v", got)
	}
	s.keys("z", "y", "c").sees("cell sent to the terminal's clipboard")
}

// TestSaveRows: what is saved can be read again, whatever is in the cells.
func TestSaveRows(t *testing.T) {
	var out bytes.Buffer
	r := hostile{"a,b", "\"q\"\n", "\x1b[31m\u202e", "ok"}
	if err := writeTable(&out, "csv", []column{{name: "x"}}, r, nil); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || fmt.Sprint(got) != `[[x] [a,b] ["q"\n] [\x1b[31m\u202e] [ok]]` {
		t.Errorf("%v %v", err, got)
	}
}

type hostile []string

func (r hostile) Len() int               { return len(r) }
func (r hostile) Cell(row, _ int) string { return r[row] }
func (r hostile) Severity(int) level     { return levelOK }

// TestHostileCells: nothing of a cell reaches the terminal as it is, and columns stay
// straight.
func TestHostileCells(t *testing.T) {
	r := hostile{"\x1b]0;owned\x07", "\u202eexe", "\u009b31m", "大大大", "a\nb\tc", "\xff\xfe", "e\u0301", "👨‍👩‍👧", strings.Repeat("\u200b", 30)}
	for _, w := range []int{40, 41, 80, 120} {
		s, l := withList(t, w, 20, r)
		l.columns = []column{{name: "x\x1b[2J"}, {name: "y", right: true}}
		l.name = "crumb\x1b[2J\u202e"
		for range r {
			checkFrame(t, s)
			s.keys("j")
		}
		s.keys("x")
		checkFrame(t, s)
		s.keys("esc", "/")
		s.send(keyMsg("\x1b"))
		s.send(keyMsg("\u202e"))
		checkFrame(t, s)
	}
}
