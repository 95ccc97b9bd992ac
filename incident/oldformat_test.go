package incident_test

import (
	"testing"

	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestOldFormat: the recordings of message format 0 and 1, in which acknowledged records were
// lost in a clean election, with brokers and clients of that time. No leader epoch is in these
// logs. The answers are those of expected.json; the brokers' text logs may tell who led, then
// the losses are the recorded ones, or they may leave that open, then there are none: never a
// loss that did not happen, above all not while both brokers still had all (stage-a, stage-a2).
func TestOldFormat(t *testing.T) {
	for _, name := range []string{"hw-truncation-loss", "hw-truncation-oldformat"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			e := readExpected(t, tree)
			if len(e.Stages) != 5 {
				t.Fatalf("%d stages", len(e.Stages))
			}
			for stage, s := range e.Stages {
				plain := stories(t, incident.Options{}, below(tree, stage))
				with := stories(t, incident.Options{ServerLogs: serverLogs(t, name)}, below(tree, stage))
				for part, want := range s.Partitions {
					for _, line := range compare(name, plain[part], &want) {
						t.Errorf("%s %s: %s", stage, part, line)
					}
					p := with[part]
					got, wanted := lossLines(p.Losses, true), lossLines(nil, true)
					if want.WithServerLog != nil {
						wanted = wantedLosses(want.WithServerLog.Losses, true)
					}
					if got != wanted && (len(p.Losses) > 0 || p.Ruling.Leader != nil) {
						t.Errorf("%s %s with server logs (%s): got %s\nwant %s", stage, part, p.Ruling.Why, got, wanted)
					}
				}
			}
		})
	}
}
