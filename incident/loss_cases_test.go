package incident_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestLossesOfOneBroker: what the cases made from field reports have lost, by what was done to them:
// cases.json says it, and the checkpointed high watermark of each is its log end.
func TestLossesOfOneBroker(t *testing.T) {
	for _, tc := range []struct{ id, want string }{
		{"BR-70a", "100-200 copy yes 100 missing-range"}, // the segment is there as .deleted
		{"BR-88b", "100-200 trace yes 100 missing-range"},
		{"BR-86a", "240-250 trace yes 10 damage"}, // magic 3
		{"BR-57a", ""}, // two offsets of one segment 2^31 apart: nothing was between
		{"BR-67c", "220-300 copy yes 80 unknown"}, // the second directory has them
	} {
		p := stories(t, incident.Options{Tell: true}, below(fixture.Tree(t, "cases"), tc.id))["orders-0"]
		if p == nil {
			t.Fatalf("%s: no orders-0", tc.id)
		}
		var got []string
		for _, l := range p.Losses {
			got = append(got, fmt.Sprintf("%d-%d %s %s %d %s", *l.From, *l.To, l.Basis, l.Committed, *l.Records, l.Cause))
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: lost %q, want %q", tc.id, text, tc.want)
		}
	}
}

// TestTwoDirectoriesOfOneBroker: the one of the newer epoch is to be kept, whatever their lengths;
// the two are compared, by their epochs, too.
func TestTwoDirectoriesOfOneBroker(t *testing.T) {
	p := stories(t, incident.Options{Tell: true}, below(fixture.Tree(t, "cases"), "BR-67c"))["orders-0"]
	live := p.Live()
	if len(live) != 1 || !strings.HasSuffix(live[0].Dir, "disk2/orders-0") {
		t.Fatalf("kept: %+v", live)
	}
	if len(p.Divergences) != 1 || p.Divergences[0].Kind != diff.EpochFork || p.Divergences[0].From != 220 || p.Divergences[0].To != 300 ||
		!strings.HasSuffix(p.Divergences[0].B.Dir, "disk1/orders-0") {
		t.Errorf("differences: %+v", p.Divergences)
	}
	for i := range p.Findings {
		if f := &p.Findings[i]; f.Code == "divergence" {
			t.Errorf("told twice: %s", f.Summary)
		}
	}
	if !slices.ContainsFunc(p.Copies, func(c *incident.Copy) bool { return c.Extra && strings.HasSuffix(c.Dir, "disk1/orders-0") }) {
		t.Error("the other one is no second directory")
	}
}
