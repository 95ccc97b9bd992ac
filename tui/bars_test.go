package tui

import (
	"math"
	"math/rand/v2"
	"testing"

	"kafsck/epoch"
)

func TestBars(t *testing.T) {
	st, _ := stylesOf("plain")
	s := scale{low: 0, high: 200, room: 20}
	l := &lane{from: 0, to: 200, ranges: epoch.Lineage{{Epoch: 0, From: 0, To: 100}, {Epoch: 12, From: 100, To: 200}},
		marks: []barMark{{at: 100, sign: 'F', level: levelWarning}, {at: 200, sign: 'H', level: levelNote}, {at: 100, sign: 'L', level: levelLoss}}}
	plain := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	clean := look{}
	st.epochs, st.dim, st.levels = []look{clean}, clean, [levels]look{}
	strip := func(text string) string { // bold numbers
		out := []rune{}
		for i, r := 0, []rune(text); i < len(r); i++ {
			if r[i] == 0x1b {
				for r[i] != 'm' {
					i++
				}
				continue
			}
			out = append(out, r[i])
		}
		return string(out)
	}
	plain(strip(s.bar(l, -1, st)), "├0────────┼12───────┤")
	plain(s.signs(l, -1, st), "          L         H")
	plain(s.axis([]int64{100}), "0         100     200")
	l.spans = []laneSpan{{100, 200, fillLost, levelLoss}}
	plain(strip(s.bar(l, -1, st)), "├0────────┼12xxxxxxx┤")
	l.to, l.ranges, l.spans = 150, epoch.Lineage{{Epoch: 0, From: 0, To: 60}, {Epoch: 3, From: 100, To: 150}}, nil
	plain(strip(s.bar(l, -1, st)), "├0────····┼3───┤     ")
	// Zoomed: it begins to the left of what is seen.
	s.low, s.high = 120, 140
	plain(strip(s.bar(l, -1, st)), "3────────────────────"[:len("3────────────────────")-3]+" ")
}

// Whatever the offsets, columns stay on the scale, in order, and nothing overflows.
func TestScaleHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	st, _ := stylesOf("plain")
	for range 2000 {
		low := rng.Int64N(math.MaxInt64)
		whole := scale{low: low, high: low + 1 + rng.Int64N(math.MaxInt64-low), room: 1 + rng.IntN(150)}
		s, at := whole, low+rng.Int64N(whole.high-low+1)
		for range 20 {
			s = s.zoom(at, rng.IntN(3) > 0, whole)
			if s.low < whole.low || s.high > whole.high || s.low >= s.high && whole.high > whole.low+1 {
				t.Fatalf("%+v of %+v", s, whole)
			}
			s = s.showing(at, whole)
			if !s.holds(at) {
				t.Fatalf("%d is not on %+v", at, s)
			}
			if c := s.column(at); c < 0 || c > s.room {
				t.Fatalf("column %d", c)
			}
		}
		a, b := rng.Int64N(math.MaxInt64), rng.Int64N(math.MaxInt64)
		l := &lane{from: min(a, b), to: max(a, b), ranges: epoch.Lineage{{Epoch: 1, From: min(a, b), To: max(a, b)}}, spans: []laneSpan{{a, math.MaxInt64, fillLost, levelLoss}},
			marks: []barMark{{at: a, sign: 'H'}, {at: math.MaxInt64, sign: 'L'}}}
		if n := width(s.bar(l, rng.IntN(s.room+1), st)); n != s.room+1 {
			t.Fatalf("a bar of %d cells on %+v", n, s)
		}
		if n := width(s.signs(l, -1, st)); n != s.room+1 {
			t.Fatalf("signs of %d cells", n)
		}
		if n := width(s.axis([]int64{a, b})); n != s.room+1 {
			t.Fatalf("an axis of %d cells", n)
		}
	}
}
