package repair

import (
	"strings"
	"testing"

	"kafsck/check"
	"kafsck/finding"
)

// TestLeftSendsToNoPlan: what a plan leaves has an advice, and never the one to make a plan.
func TestLeftSendsToNoPlan(t *testing.T) {
	for _, c := range check.Codes() {
		for _, next := range []string{"", c.Do} {
			why, next := whyLeft(&found{Finding: finding.Finding{Code: c.Code, Next: next}})
			if why == "" || len(next) < 5 || strings.Contains(next, "kafsck repair plan") || strings.Contains(next, "..") || strings.HasPrefix(next, "Else") {
				t.Errorf("%s: %q -> %q", c.Code, why, next)
			}
		}
	}
	for said, want := range map[string]string{
		"Do this.": "Do this.",
		"kafsck repair plan takes it; where none does it says what goes. Do not restart.":     "Where none does it says what goes. Do not restart.",
		"Nothing; kafsck repair plan --all writes it. Look.":                                  "Nothing. Look.",
		"kafsck repair plan brings it back. Else look for the segment (kafsck ls).":           "Look for the segment (kafsck ls).",
		"Where the offsets are real a start splits it, or kafsck repair plan does. See dump.": "See dump.",
	} {
		if got := withoutPlan(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
