package incident_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
)

// TestLeadersAndGroupPositions: the positions are those that the broker of the recording
// internal-topics answered to listConsumerGroupOffsets (truth.json, clicks-0: 3, 6, 8 and,
// of a deleted group, 1). The partition itself is not in the recording: broker 6 ends at 5
// here, where broker 5 goes on to 9.
func TestLeadersAndGroupPositions(t *testing.T) {
	root := fixture.Unpack(t, "internal-topics")
	committed := readTruth(t, root).CommittedOffsets["after-restart"]
	tree := logtest.FS(t, "broker 5\ntopic clicks-0 ; segment 0 ; batch records=3 ; batch records=2 ; batch records=4\nbroker 6\ntopic clicks-0 ; segment 0 ; batch records=3 ; batch records=2")
	var home string
	for name := range tree {
		if dir, rest, _ := strings.Cut(name, "/"); rest == "meta.properties" && strings.HasSuffix(dir, "5") {
			home = dir
		}
	}
	for name, f := range below(fixture.Tree(t, "internal-topics"), "stage2-clean/broker-5") {
		if dir, _, _ := strings.Cut(name, "/"); strings.HasPrefix(dir, "__consumer_offsets-") {
			tree[home+"/"+name] = f
		}
	}
	p := stories(t, predictWith("4"), tree)["clicks-0"]
	var want []string
	for group, positions := range committed {
		if x, ok := positions["clicks-0"]; ok && x.Offset > 5 {
			want = append(want, fmt.Sprintf("%s %d", group, x.Offset))
		}
	}
	slices.Sort(want)
	var got []string
	for _, g := range candidateOf(t, p, "6").Groups {
		if !g.Beyond {
			t.Errorf("%+v is beyond the end", g)
		}
		got = append(got, fmt.Sprintf("%s %d", g.Group, g.Position))
	}
	slices.Sort(got)
	if len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("beyond offset 5: %q, want %q", got, want)
	}
	if g := candidateOf(t, p, "5").Groups; len(g) != 0 {
		t.Errorf("broker 5 bears out every position: %+v", g)
	}
}
