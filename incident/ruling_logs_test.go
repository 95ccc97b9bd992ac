package incident_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestLeaderByServerLogs: without metadata and without leader epochs only the brokers' own
// logs name the leader. With files that have their times it is the one that ZooKeeper
// named, stage by stage: lines later than the disks do not count. A copy that has lost the
// times is told who led, and nobody is taken.
func TestLeaderByServerLogs(t *testing.T) {
	for name, copied := range map[string]map[string]string{
		// By the recording: before the next election.
		"hw-truncation-loss":      {"stage-b": "2026-11-30T03:24:24Z", "stage-c": "2026-11-30T03:24:38Z", "stage-d": "2026-11-30T03:26:00Z"},
		"hw-truncation-oldformat": {},
	} {
		logs := serverLogs(t, name)
		tree := fixture.Tree(t, name)
		for stage, s := range readExpected(t, tree).Stages {
			without := stories(t, incident.Options{ServerLogs: logs}, below(tree, stage))
			for part, want := range s.Partitions {
				w := want.WithServerLog
				if w == nil || w.Leader == nil {
					continue
				}
				if r := &without[part].Ruling; r.Leader != nil || !strings.Contains(r.Why, "by the brokers' text logs the leader was") {
					t.Errorf("%s %s %s: without times: leader %v, why %q", name, stage, part, r.Leader, r.Why)
				}
				if copied[stage] == "" {
					continue
				}
				p := stories(t, incident.Options{ServerLogs: logs}, copiedAt(t, below(tree, stage), copied[stage]))[part]
				r := &p.Ruling
				if r.Leader == nil || r.Leader.ID != *w.Leader || !r.Guess || !strings.Contains(r.Why, "text logs") {
					t.Errorf("%s %s %s: leader %v, why %q; want %d", name, stage, part, r.Leader, r.Why, *w.Leader)
				}
				for _, l := range w.Losses {
					if !slices.ContainsFunc(p.Losses, func(x incident.Loss) bool { return x.From != nil && l.From != nil && *x.From == *l.From }) {
						t.Errorf("%s %s %s: nothing lost from %d: %s", name, stage, part, *l.From, lossLines(p.Losses, false))
					}
				}
			}
		}
	}
}

// copiedAt gives files the times of a disk that was in use until when, an hour long.
func copiedAt(t *testing.T, tree fstest.MapFS, when string) fstest.MapFS {
	t.Helper()
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for path, f := range tree {
		x := *f
		x.ModTime = at
		if strings.HasSuffix(path, "meta.properties") {
			x.ModTime = at.Add(-time.Hour)
		}
		out[path] = &x
	}
	return out
}
