package epoch

import "testing"

func TestMeet(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b Lineage
		want Meeting
	}{
		{"the same", lineage(300, 0, 0, 2, 80), lineage(300, 0, 0, 2, 80), Meeting{Epoch: 2, Offset: 300, Overlap: true}},
		{"behind", lineage(300, 0, 0, 2, 80), lineage(70, 0, 0), Meeting{Epoch: 0, Offset: 70, Overlap: true}},
		// fixtures/unclean-election stage-b.
		{"parted", lineage(200, 0, 0), lineage(120, 0, 0, 2, 100), Meeting{Epoch: 0, Offset: 100, Overlap: true, Parted: true, Epochs: [2]int32{0, 2}}},
		{"nothing in common", lineage(80, 0, 0), lineage(200, 2, 100), Meeting{Epoch: -1, Offset: 80}},
		{"compacted at different times", Lineage{{0, 50, 60}, {3, 150, 240}}, lineage(300, 0, 0, 2, 80, 3, 150, 5, 240), Meeting{Epoch: 3, Offset: 240, Overlap: true}},
		// fixtures/kip279-silent-fork: they meet again, but the first parting counts.
		{"silent fork", lineage(115, 0, 0, 1, 50, 5, 80), lineage(115, 0, 0, 3, 50, 1, 70, 5, 80), Meeting{Epoch: 0, Offset: 50, Overlap: true, Parted: true, Epochs: [2]int32{1, 3}}},
		{"empty", nil, lineage(10, 0, 0), Meeting{Epoch: -1}},
	} {
		if got := Meet(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
