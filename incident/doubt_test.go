package incident_test

import (
	"fmt"
	"strings"
	"testing"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

// epochsLog is a log of ten batches of ten records each, with the epochs given.
func epochsLog(broker int, epochs, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "broker %d\ntopic t-0\nsegment 0\n", broker)
	for i, e := range strings.Fields(epochs) {
		fmt.Fprintf(&b, "batch base=%d records=10 epoch=%s\n", 10*i, e)
	}
	if file != "" {
		fmt.Fprintf(&b, "epochs %s\n", file)
	}
	return b.String()
}

// A header's epoch is covered by no CRC. One that the directory's own file, or another
// replica with the same batch, denies must not steer anything: neither as an epoch of its
// own nor by hiding later ones from Kafka's rule (only ever higher epochs count).
func TestWrongEpochsAreNotObeyed(t *testing.T) {
	const right, file = "0 0 0 2 2 2 5 5 5 5", "0:0 2:30 5:60"
	for _, tc := range []struct{ name, epochs, file string }{
		{"first batch of an epoch", "0 0 0 99 2 2 5 5 5 5", file},
		{"first batch of the newest", "0 0 0 2 2 2 99 5 5 5", file},
		{"two in a row", "0 0 0 99 99 2 5 5 5 5", file},
		{"two across an election", "0 0 0 2 2 99 99 5 5 5", file},
		{"first batch", "99 0 0 2 2 2 5 5 5 5", file},
		{"first batch, low", "3 0 0 2 2 2 5 5 5 5", file},
		{"first two batches", "7 7 0 2 2 2 5 5 5 5", file},
		{"last batch", "0 0 0 2 2 2 5 5 5 99", file},
		{"~an epoch between two", "0 0 1 2 2 2 5 5 5 5", file},
		{"~an epoch between two, from behind", "0 0 0 1 2 2 5 5 5 5", file},
		{"~two that seem an election", "0 0 0 2 2 2 3 3 5 5", file},
		{"no epoch", "-1 0 0 2 2 2 5 5 5 5", file},
		{"middle", "0 0 0 2 0 2 5 5 5 5", file},
	} {
		// ~: in line, so that an entry may as well be missing from the file. Only replicas tell.
		if !strings.HasPrefix(tc.name, "~") {
			alone := judged(t, epochsLog(1, tc.epochs, tc.file))
			wantEpochs(t, tc.name+", own file", alone.Copies[0])
		}
		three := judged(t, epochsLog(1, tc.epochs, "")+epochsLog(2, right, file)+epochsLog(3, right, file))
		wantEpochs(t, tc.name+", no file, two replicas", three.Copies[0])
		for _, d := range three.Divergences {
			if d.Kind != diff.Damaged {
				t.Errorf("%s: the replicas are called different: %+v", tc.name, d.Divergence)
			}
		}
		for _, c := range three.Copies[1:] {
			if n := c.Log.Anomalies.Counts[replica.EpochOutOfLine]; n > 0 {
				t.Errorf("%s: a sound replica is suspected", tc.name)
			}
		}
	}
}

func wantEpochs(t *testing.T, name string, c *incident.Copy) {
	t.Helper()
	if got := fmt.Sprint(c.Log.Lineage.Rebuild()); got != "[{0 0} {2 30} {5 60}]" {
		t.Errorf("%s: %s", name, got)
	}
	if c.Log.Anomalies.Counts[replica.EpochOutOfLine] == 0 {
		t.Errorf("%s: not named", name)
	}
}

// What nobody denies is obeyed: elections that left one batch, logs of Kafka before 2.0
// in which epochs fall, files that are gone.
func TestRareEpochsAreObeyed(t *testing.T) {
	for _, tc := range []struct{ name, spec, want string }{
		{"file gone, lone newest epoch", epochsLog(1, "0 0 0 2", ""), "[{0 0} {2 30}]"},
		{"file emptied, lone newest epoch", epochsLog(1, "0 0 0 2", "") + "epochs\n", "[{0 0} {2 30}]"},
		{"the file knows it", epochsLog(1, "0 0 1 2", "0:0 1:20 2:30"), "[{0 0} {1 20} {2 30}]"},
		{"epochs that fall and rise again", epochsLog(1, "0 0 3 1 5 5", ""), "[{0 0} {3 20} {5 40}]"},
		{"the other replica is shorter", epochsLog(1, "0 0 0 2", "") + epochsLog(2, "0 0 0", "0:0"), "[{0 0} {2 30}]"},
		{"another leader's line", epochsLog(1, "0 0 0 2", "") + strings.Replace(epochsLog(2, "0 0 0 0 0", "0:0"), "base=30", "value=other base=30", 1), "[{0 0} {2 30}]"},
		{"an entry is missing from the file", epochsLog(1, "0 0 2 5 5 5", "0:0 5:30"), "[{0 0} {2 20} {5 30}]"},
		{"two readings", epochsLog(1, "0 0 0 2 0 2 5 5", ""), "[{0 0} {2 30} {5 60}]"},
		{"all that follows is lower", epochsLog(1, "0 0 0 99 2 2 5 5", ""), "[{0 0} {2 30} {5 60}]"},
	} {
		p := judged(t, tc.spec)
		if got := fmt.Sprint(p.Copies[0].Log.Lineage.Rebuild()); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
