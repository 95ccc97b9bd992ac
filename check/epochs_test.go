package check_test

import (
	"testing"

	"kafsck/check"
	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/replica"
)

// TestSiblingNeedsContradiction: healthy replicas have equal files, so that an equal file
// accuses nobody unless the batches disprove it, by more than an epoch that is wrong itself.
func TestSiblingNeedsContradiction(t *testing.T) {
	sibling := epoch.Difference{Kind: "sibling-file", Epoch: -1, StartOffset: -1, Reason: "the same, line for line"}
	inside := epoch.Difference{Kind: epoch.InsideOtherEpoch, Epoch: 4, StartOffset: 3, Reason: "the batches at offset 3 carry epoch 1"}
	suspect := replica.Anomaly{Kind: replica.EpochOutOfLine, Position: 70, Length: 70, From: 3, To: 6, Epoch: 4}
	for _, tc := range []struct {
		ds   []epoch.Difference
		bad  []replica.Anomaly
		want finding.Code
	}{
		{[]epoch.Difference{sibling}, nil, ""},
		{[]epoch.Difference{inside, sibling}, nil, "epoch-file-of-sibling"},
		{[]epoch.Difference{inside, sibling}, []replica.Anomaly{suspect}, "epoch-start-wrong"},
	} {
		l := read(t, sound, replica.Options{})
		l.Anomalies.Kept = tc.bad
		got := finding.Code("")
		for _, f := range check.Epochs(l, check.Subject{Partition: "t-0", Broker: "1"}, tc.ds) {
			got = f.Code
		}
		if got != tc.want {
			t.Errorf("%v with %v: %q, want %q", tc.ds, tc.bad, got, tc.want)
		}
	}
}
