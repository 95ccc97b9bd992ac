package incident_test

import (
	"testing"
	"testing/fstest"
	"time"

	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestWatermarkOfTheTopicBefore: below-hw-clean stage-a, in which nothing is lost. The line of
// lag-isr-0 on broker 1 is made 100 higher than every log. Written while the topic is there it
// is a trace: a watermark never passes its own log end. Written before the topic of this id was
// created (metadata), it can only be of a topic that had the name before, and proves nothing.
func TestWatermarkOfTheTopicBefore(t *testing.T) {
	stage := below(fixture.Tree(t, "below-hw-clean"), "stage-a")
	var leader string
	var end int64
	var created time.Time
	p := stories(t, incident.Options{}, stage)["lag-isr-0"]
	for _, c := range p.Live() {
		end = max(end, c.Log.LogEndOffset)
	}
	leader = p.Ruling.Leader.Name
	first := p.Changes[0]
	if first.FromSnapshot {
		t.Fatal("the recording's metadata do not begin before the topic")
	}
	created = time.UnixMilli(first.TimeMs)
	for _, tc := range []struct {
		name    string
		written time.Time
		losses  int
	}{
		{"as recorded", time.Time{}, 1},
		{"a minute before the topic was created", created.Add(-time.Minute), 0},
		{"in the moment the topic was created", created, 1},
	} {
		tree := fstest.MapFS{}
		for name, f := range stage {
			tree[name] = f
		}
		name := "broker-" + leader + "/replication-offset-checkpoint"
		changed(t, tree, name, func(s string) string { return raised(t, s, "lag-isr 0", end+100) })
		if !tc.written.IsZero() {
			tree[name].ModTime = tc.written
		}
		p := stories(t, incident.Options{}, tree)["lag-isr-0"]
		if len(p.Losses) != tc.losses {
			t.Errorf("%s: %s", tc.name, lossLines(p.Losses, true))
		}
	}
}
