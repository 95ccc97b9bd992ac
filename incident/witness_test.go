package incident_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestHealthyInternalTopics: recordings with group commits, transactions and tiered
// segments in which nothing was lost: the witnesses make no loss of it.
func TestHealthyInternalTopics(t *testing.T) {
	for _, name := range []string{"internal-topics", "tiered", "transactions", "hard-crash"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			for _, stage := range []string{"stage1-killed", "stage2-clean", "stage3-resolved-clean"} {
				files := below(tree, stage)
				if len(files) == 0 {
					continue
				}
				for part, p := range stories(t, incident.Options{}, files) {
					if len(p.Losses) > 0 {
						t.Errorf("%s %s: invented %s", stage, part, lossLines(p.Losses, true))
					}
				}
			}
		})
	}
}

// TestCommitsAreWhatTells: without __consumer_offsets the same stage keeps only what the
// metadata tell, and says that the groups are not known.
func TestCommitsAreWhatTells(t *testing.T) {
	stage := below(fixture.Tree(t, "unclean-three-replicas"), "stage-b")
	p := stories(t, incident.Options{}, without(stage, func(name string) bool { return strings.Contains(name, "__consumer_offsets") }))["orders-0"]
	if len(p.Losses) != 1 || p.Losses[0].Committed != commitment.Unknown || p.Losses[0].To != nil || p.Losses[0].GroupsUnknown == "" {
		t.Errorf("%s: %q", lossLines(p.Losses, true), p.Losses[0].GroupsUnknown)
	}
	// Damaged: what could not be read is said, and never taken for "no group".
	damaged := fstest.MapFS{}
	for name, f := range stage {
		if strings.Contains(name, "__consumer_offsets-0/") && strings.HasSuffix(name, ".log") {
			data := append([]byte(nil), f.Data...)
			for i := range data {
				if i > 80 {
					data[i] ^= 0x5a
				}
			}
			f = &fstest.MapFile{Data: data, Mode: f.Mode, ModTime: f.ModTime}
		}
		damaged[name] = f
	}
	p = stories(t, incident.Options{}, damaged)["orders-0"]
	if len(p.Losses) != 1 || !strings.Contains(p.Losses[0].GroupsUnknown, "damaged") {
		t.Errorf("%s: %q", lossLines(p.Losses, true), p.Losses[0].GroupsUnknown)
	}
}

// TestReaders: who had read what is lost, and what it meets: the group's commits as the
// recording's clients printed them (unclean-three-replicas/README.md).
func TestReaders(t *testing.T) {
	tree := fixture.Tree(t, "unclean-three-replicas")
	for stage, want := range map[string]incident.GroupLoss{
		"stage-a": {Group: "billing", Read: 180, Position: 180, Meets: incident.MeetsReset},
		"stage-b": {Group: "billing", Read: 180, Position: 130, Meets: incident.MeetsNothing},
	} {
		l := stories(t, incident.Options{}, below(tree, stage))["orders-0"].Losses[0]
		if len(l.Groups) != 1 {
			t.Fatalf("%s: %+v", stage, l.Groups)
		}
		if g := l.Groups[0]; g.Group != want.Group || g.Read != want.Read || g.Position != want.Position || g.Meets != want.Meets {
			t.Errorf("%s: %+v", stage, g)
		}
		if e := l.Election; e == nil || e.Leader != 3 || e.Epoch != 2 || !e.Unclean || e.Offset != 129 {
			t.Errorf("%s: election %+v", stage, e)
		}
	}
}
