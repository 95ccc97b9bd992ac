package repair_test

import (
	"fmt"
	"slices"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/repair"
)

// TestSecondDirectoryLoses: of two directories of one broker the one of the older epoch goes, and the
// plan says what only that one has: 220 to 299, by cases.json of BR-67c.
func TestSecondDirectoryLoses(t *testing.T) {
	p := planOf(t, fixture.Unpack(t, "cases")+"/BR-67c")
	var got []string
	for _, a := range p.Actions {
		for _, l := range a.Loses {
			got = append(got, fmt.Sprintf("%s %d-%d held by %v", a.Kind, l.From, l.To, l.HeldBy))
		}
	}
	if want := []string{string(repair.MoveAside) + " 0-220 held by [1]", string(repair.MoveAside) + " 220-300 held by []"}; !slices.Equal(got, want) {
		t.Errorf("loses %v, want %v", got, want)
	}
}
