package commitment_test

import (
	"testing"

	"kafsck/commitment"
)

// TestGapBelowWatermark: what stood in a gap was committed only below the watermark, inside the
// gap, and with the epoch that the log had there.
func TestGapBelowWatermark(t *testing.T) {
	w := &commitment.GapBelowWatermark{Broker: 1, Value: 190, Dated: true, WrittenMs: 1000, Began: map[int32]int64{2: 500, 3: 2000},
		Gaps: []commitment.EpochSpan{{Span: commitment.Span{From: 100, To: 150}, Epoch: 2}, {Span: commitment.Span{From: 150, To: 180}, Epoch: 3}, {Span: commitment.Span{From: 180, To: 200}, Epoch: -1}}}
	for _, tc := range []struct {
		from, to int64
		epoch    int32
		want     bool
	}{
		{100, 150, 2, true},
		{120, 121, 2, true},
		{100, 150, 1, false}, // of another epoch
		{90, 110, 2, false},  // not all in the gap
		{150, 160, 3, false}, // the epoch began after the file was written
		{180, 190, -1, false},
		{180, 200, 2, false},
	} {
		_, ok := w.Testify(&commitment.Piece{From: tc.from, To: tc.to, Epoch: tc.epoch})
		if ok != tc.want {
			t.Errorf("%+v: testifies %v", tc, ok)
		}
	}
	if got := w.Cuts(90, 195); len(got) != 6 {
		t.Errorf("cuts %v", got)
	}
}
