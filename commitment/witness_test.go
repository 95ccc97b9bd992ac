package commitment

import (
	"slices"
	"strings"
	"testing"
)

func TestGroupCommits(t *testing.T) {
	w := &GroupCommits{
		Highest: map[int32]GroupCommit{
			2: {Group: "billing", Offset: 180, Epoch: 2, CommitMs: 1000, Source: "a"},
			5: {Group: "audit", Offset: 300, Epoch: 5, ByTime: true, CommitMs: -1, Source: "b"},
		},
		Epochs: map[int][]int32{0: {1, 2}, 1: {1, 5}},
	}
	for _, tc := range []struct {
		name string
		p    Piece
		want string // the source, "" no evidence
	}{
		{"of the commit's own epoch", Piece{From: 100, To: 180, Epoch: 2, Copies: []int{0}}, "a"},
		{"beyond it", Piece{From: 170, To: 181, Epoch: 2, Copies: []int{0}}, ""},
		{"older, on a line that goes on in the commit's epoch", Piece{From: 100, To: 150, Epoch: 1, Copies: []int{0}}, "a"},
		{"older, on the other line", Piece{From: 200, To: 250, Epoch: 1, Copies: []int{1}}, "b"},
		{"older, on a line that does not reach the commit's epoch", Piece{From: 200, To: 250, Epoch: 1, Copies: []int{0}}, ""},
		{"newer than the commit", Piece{From: 100, To: 150, Epoch: 6, Copies: []int{0, 1}}, ""},
		{"without an epoch", Piece{From: 100, To: 150, Epoch: -1, Copies: []int{0}}, ""},
		{"nobody holds them, its own epoch", Piece{From: 100, To: 150, Epoch: 2}, "a"},
	} {
		e, ok := w.Testify(&tc.p)
		if ok != (tc.want != "") || ok && (e.Source != tc.want || e.Says != Yes || e.Kind != GroupCommitKind) {
			t.Errorf("%s: %v %+v", tc.name, ok, e)
		}
	}
	if got := w.Cuts(100, 300); !slices.Equal(got, []int64{180}) {
		t.Errorf("cuts %v", got)
	}
	if e, _ := w.Testify(&Piece{From: 200, To: 250, Epoch: 5, Copies: []int{1}}); !strings.Contains(e.Claim, "carries no leader epoch") {
		t.Errorf("nothing says that the commit was placed by its time: %s", e.Claim)
	}
}

func TestTransactionsAndTiered(t *testing.T) {
	txn := &Transactions{Runs: []TransactionRun{{From: 10, To: 20, Copy: 3, Claim: "c", Source: "s"}}}
	tiered := &Tiered{Segments: []TieredSegment{{From: 10, To: 20, Epoch: 4, ID: "x", Source: "s"}}}
	for _, tc := range []struct {
		name            string
		p               Piece
		byTxn, byRemote bool
	}{
		{"inside", Piece{From: 10, To: 20, Epoch: 4, Copies: []int{1, 3}}, true, true},
		{"another copy's records", Piece{From: 10, To: 20, Epoch: 4, Copies: []int{1}}, false, true},
		{"another epoch", Piece{From: 12, To: 13, Epoch: 5, Copies: []int{3}}, true, false},
		{"longer", Piece{From: 10, To: 21, Epoch: 4, Copies: []int{3}}, false, false},
	} {
		if _, ok := txn.Testify(&tc.p); ok != tc.byTxn {
			t.Errorf("%s: transaction %v", tc.name, ok)
		}
		if _, ok := tiered.Testify(&tc.p); ok != tc.byRemote {
			t.Errorf("%s: tiered %v", tc.name, ok)
		}
	}
	for _, w := range []Witness{txn, tiered} {
		if got := w.Cuts(15, 30); !slices.Equal(got, []int64{20}) {
			t.Errorf("cuts %v", got)
		}
	}
}
