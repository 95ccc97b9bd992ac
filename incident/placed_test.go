package incident_test

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// withCommits gives a stage one copy of __consumer_offsets-0, on a broker, with these commits.
func withCommits(stage fstest.MapFS, broker string, commits ...logtest.Record) fstest.MapFS {
	tree := without(stage, func(name string) bool { return strings.Contains(name, "/__consumer_offsets-") })
	tree["broker-"+broker+"/__consumer_offsets-0/"+logtest.LogName(0)] = &fstest.MapFile{Data: new(builtLog).plain(commits...).bytes, Mode: 0o644, ModTime: time.UnixMilli(1)}
	return tree
}

// TestCommitsNearAnElection: unclean-three-replicas stage-a, in which broker 3 was elected
// uncleanly for epoch 2 and lacks offsets 100–179 of epoch 0, which group billing had read. The
// commit is put at other times. Near an unclean election a commit without leader epoch can be of
// either line: a consumer commits up to max.poll.interval.ms after it fetched, and the
// coordinator's clock is not the controller's.
func TestCommitsNearAnElection(t *testing.T) {
	stage := below(fixture.Tree(t, "unclean-three-replicas"), "stage-a")
	elected := int64(0)
	for _, c := range stories(t, incident.Options{}, stage)["orders-0"].Changes {
		if c.Unclean {
			elected = c.TimeMs
		}
	}
	const second = 1000
	for _, tc := range []struct {
		name   string
		offset int64
		epoch  int32
		at     int64 // from the election, ms
		proves bool
	}{
		{"well before it", 180, -1, -6 * second, true},
		{"so short before it that the clocks may differ by more", 180, -1, -4 * second, false},
		{"just after it: perhaps fetched before", 180, -1, 2 * second, false},
		{"just after it, and the commit has its epoch", 180, 0, 2 * second, true},
		{"well before it, but not so far", 100, -1, -6 * second, false},
	} {
		p := stories(t, incident.Options{}, withCommits(stage, "1", commitOf("billing", "orders", 0, tc.offset, tc.epoch, elected+tc.at)))["orders-0"]
		if len(p.Losses) != 1 || *p.Losses[0].From != 100 || *p.Losses[0].To != 180 {
			t.Errorf("%s: %s", tc.name, lossLines(p.Losses, true))
			continue
		}
		l := &p.Losses[0]
		if hasKind(l, commitment.GroupCommitKind) != tc.proves || (len(l.Groups) == 1) != tc.proves {
			t.Errorf("%s: groups %+v, %s", tc.name, l.Groups, lossLines(p.Losses, true))
		}
		if !tc.proves && tc.offset > 100 && l.GroupsUnknown == "" {
			t.Errorf("%s: nothing says that a group may have read the records", tc.name)
		}
	}

	// On whichever line: no copy reaches as far as the group says it had read, and the disks
	// were copied later. Nothing but the client's number tells it.
	p := stories(t, incident.Options{}, withCommits(stage, "1", commitOf("billing", "orders", 0, 190, -1, elected-4*second)))["orders-0"]
	want := "trace [180,190) records 10 epochs [] committed unknown by [group-commit] held by [] unknown exact false"
	if got := lossLines(p.Losses, true); !strings.Contains(got, want) {
		t.Errorf("beyond every end: got %s\nwant %s", got, want)
	}
}

// TestCommitsWithoutMetadata: the same without any cluster metadata, as with ZooKeeper. Nothing
// places a commit without leader epoch, so it proves nothing of the records that a copy holds;
// batch times are the producers' clocks. Above the ends of all copies it is a trace, but not
// with one disk alone, which may be a follower's.
func TestCommitsWithoutMetadata(t *testing.T) {
	stage := without(below(fixture.Tree(t, "unclean-three-replicas"), "stage-a"), func(name string) bool { return strings.Contains(name, "__cluster_metadata") })
	commit := func(offset int64) logtest.Record {
		return commitOf("billing", "orders", 0, offset, -1, stage["broker-1/orders-0/00000000000000000000.log"].ModTime.UnixMilli()-time.Hour.Milliseconds())
	}
	rule := incident.Options{Leaders: map[string]int32{"orders-0": 3}}
	p := stories(t, rule, withCommits(stage, "1", commit(180)))["orders-0"]
	if len(p.Losses) != 1 || hasKind(&p.Losses[0], commitment.GroupCommitKind) || !strings.Contains(p.Losses[0].GroupsUnknown, "without a leader epoch") {
		t.Errorf("held by a copy: %s, %q", lossLines(p.Losses, true), p.Losses[0].GroupsUnknown)
	}
	want := "trace [180,190) records 10 epochs [] committed unknown by [group-commit] held by [] unknown exact false"
	p = stories(t, incident.Options{}, withCommits(stage, "1", commit(190)))["orders-0"]
	if got := lossLines(p.Losses, true); !strings.Contains(got, want) {
		t.Errorf("beyond every end: got %s\nwant %s", got, want)
	}
	alone := without(withCommits(stage, "1", commit(190)), func(name string) bool { return !strings.HasPrefix(name, "broker-1/") })
	if p = stories(t, incident.Options{}, alone)["orders-0"]; len(p.Losses) > 0 {
		t.Errorf("one disk alone: %s", lossLines(p.Losses, true))
	}
}

// TestCommitsOfAnyOffset: a broker commits whatever number and epoch a client sends. One that
// lies beyond anything proves nothing, not even of records that were lost, and that is said; one
// in an epoch that nothing here knows may come of records that were lost, or be newer than these
// disks. unclean-three-replicas stage-a: broker 3 rules, in epoch 2, and ends at 130; a copy
// still holds 100–179 of epoch 0.
func TestCommitsOfAnyOffset(t *testing.T) {
	stage := below(fixture.Tree(t, "unclean-three-replicas"), "stage-a")
	changes := stories(t, incident.Options{}, stage)["orders-0"].Changes
	before, later := changes[0].TimeMs, changes[len(changes)-1].TimeMs+time.Hour.Milliseconds()
	const copied = "\ncopy [100,180) records 80 epochs [0] committed "
	for _, tc := range []struct {
		name   string
		commit logtest.Record
		want   string // a part of the losses
		note   string
	}{
		{"the highest number there is", commitOf("billing", "orders", 0, math.MaxInt64, 0, before), "", "any client may commit any offset"},
		{"that, without an epoch", commitOf("billing", "orders", 0, math.MaxInt64, -1, before), "", "any client may commit any offset"},
		{"an epoch of nothing here", commitOf("billing", "orders", 0, 190, 9, before), "committed unknown by [group-commit] held by [] unknown exact false", ""},
		{"such an epoch, later than the disks", commitOf("billing", "orders", 0, 190, 9, later), "", "in leader epoch 9, which no log and no metadata here know"},
	} {
		c, err := logdir.DiscoverFS(rofs.FromFS(withCommits(stage, "1", tc.commit)), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		inc := incident.Open(c, incident.Options{Compare: true})
		got := ""
		for p := range inc.Partitions(t.Context()) {
			if p.Name == "orders-0" {
				got = lossLines(p.Losses, true)
			}
		}
		if !strings.Contains(got, copied) || !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "group-commit") {
			t.Errorf("%s: %s", tc.name, got)
		}
		notes := inc.LaterNotes()
		if (len(notes) > 0) != (tc.note != "") || len(notes) > 0 && !strings.Contains(notes[0].Text, tc.note) {
			t.Errorf("%s: notes %v", tc.name, notes)
		}
	}
}

// TestCandidatesNameGroups: divergence stage-b, div-unclean-shorter-0 has no leader: broker 1
// ends at 100 in epoch 2, broker 2 holds 70–164 of epoch 3 instead of 70–99. A group that had
// read 150 in epoch 3 meets a truncation if broker 1 leads: asked for the end of epoch 3, that
// leader answers with the end of the newest epoch that it knows below, 2, and that is 100
// (KIP-320). If broker 2 leads it meets nothing.
func TestCandidatesNameGroups(t *testing.T) {
	stage := below(fixture.Tree(t, "divergence"), "stage-b")
	changes := stories(t, incident.Options{}, stage)["div-unclean-shorter-0"].Changes
	now := changes[len(changes)-1].TimeMs
	p := stories(t, incident.Options{}, withCommits(stage, "1", commitOf("billing", "div-unclean-shorter", 0, 150, 3, now)))["div-unclean-shorter-0"]
	if len(p.Candidates) != 2 {
		t.Fatalf("%d candidates", len(p.Candidates))
	}
	for _, c := range p.Candidates {
		var groups []incident.GroupLoss
		for _, l := range c.Losses {
			groups = append(groups, l.Groups...)
		}
		switch c.Leader.ID {
		case 1:
			if len(groups) != 1 || groups[0].Group != "billing" || groups[0].Read != 150 || groups[0].Meets != incident.MeetsTruncation || groups[0].GapFrom != 100 || groups[0].LogEnd != 100 {
				t.Errorf("broker 1: %+v", groups)
			}
		case 2:
			if len(groups) != 0 {
				t.Errorf("broker 2: %+v", groups)
			}
		}
	}
}
