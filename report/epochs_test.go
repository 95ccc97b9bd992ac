package report

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"kafsck/epoch"
)

// TestBars: marks stand where the scale puts them, numbers where there is room.
func TestBars(t *testing.T) {
	bars := []bar{
		{"broker 1", 0, 200, epoch.Lineage{{Epoch: 0, From: 0, To: 200}}},
		{"broker 2", 0, 120, epoch.Lineage{{Epoch: 0, From: 0, To: 100}, {Epoch: 2, From: 100, To: 120}}},
		{"broker 3", 40, 200, epoch.Lineage{{Epoch: 12, From: 100, To: 160}, {Epoch: 13, From: 160, To: 161}, {Epoch: 14, From: 161, To: 200}}},
		{"broker 4", 7, 7, nil},
	}
	want := []string{
		"            0                                      100                     160           200",
		"  broker 1  |0-----------------------------------------------------------------------------|",
		"  broker 2  |0-------------------------------------|2------|",
		"  broker 3                 ........................|12---------------------#---------------|",
		"  broker 4  (no batches)",
	}
	lines, crowded, gaps := drawBars(bars, 92, asciiBars, "  ")
	for i, l := range lines { // the axis names the starts of epochs, which 40 is not
		if i < len(want) && l != want[i] {
			t.Errorf("line %d:\n got %q\nwant %q", i, l, want[i])
		}
	}
	if !crowded || !gaps || len(lines) != len(want) {
		t.Errorf("crowded %v, gaps %v:\n%s", crowded, gaps, strings.Join(lines, "\n"))
	}
}

// TestBarsFit: whatever the offsets and the width, no line is wider than asked.
func TestBarsFit(t *testing.T) {
	const top = math.MaxInt64
	for _, width := range []int{40, 80, 131, 400} {
		for _, bars := range [][]bar{
			{{"b", 0, top, epoch.Lineage{{Epoch: 0, From: 0, To: 1}, {Epoch: math.MaxInt32, From: top - 1, To: top}}}},
			{{"b", top - 1, top, epoch.Lineage{{Epoch: 3, From: top - 1, To: top}}}},
			{{"b", 0, 1, epoch.Lineage{{Epoch: -1, From: 0, To: 1}}}, {"c", 0, 1000000, nil}},
			{{"b", 5, 10, epoch.Lineage{{Epoch: 1, From: 8, To: 9}, {Epoch: 0, From: 6, To: 7}, {Epoch: 1, From: -4, To: 99}}}},
			{{"b", 0, 0, nil}},
			nil,
		} {
			for _, style := range []barStyle{unicodeBars, asciiBars} {
				lines, _, _ := drawBars(bars, width, style, "  ")
				for _, l := range lines {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("width %d: %d columns: %q", width, n, l)
					}
				}
			}
		}
	}
}
