package incident_test

import (
	"fmt"
	"slices"
	"testing"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
)

// two describes two brokers with the same log of t-0 and lets each be changed.
func two(first, second string) string {
	out := ""
	for i, extra := range []string{first, second} {
		out += fmt.Sprintf("broker %d\ntopic t-0\nsegment 0\nbatch base=0 records=10 epoch=0\nbatch base=10 records=10 epoch=0\n", i+1) + extra
	}
	return out
}

func judged(t *testing.T, spec string) *incident.Partition {
	t.Helper()
	got, errs := tell(rofs.FromFS(logtest.FS(t, spec)))
	if len(errs) > 0 || len(got) != 1 {
		t.Fatalf("%d stories, errors %v", len(got), errs)
	}
	for _, p := range got {
		return p
	}
	return nil
}

// A hole that no copy fills is a loss, committed where a watermark stands above.
func TestHoleInEveryCopy(t *testing.T) {
	tail := "segment 40\nbatch base=40 records=10 epoch=0\nepochs 0:0\nhw 50\n"
	p := judged(t, two(tail, tail))
	if len(p.Losses) != 1 || p.Losses[0].Committed != commitment.Yes || *p.Losses[0].From != 20 || *p.Losses[0].To != 40 || p.Losses[0].Cause != incident.CauseMissingRange {
		t.Errorf("losses %s", lossLines(p.Losses, true))
	}
}

// One flipped bit in the last batch's base offset must not make a log the longest.
func TestFlippedLastBase(t *testing.T) {
	tail := "batch base=20 records=10 epoch=0\nepochs 0:0\nhw 30\n"
	p := judged(t, two(tail, tail+"damage batch=2 field=baseoffset flip=40\n"))
	if leaderOf(p) != "1" || len(p.Losses) > 0 || !slices.Contains(codes(p), "base-offset-out-of-line") {
		t.Errorf("leader %s, losses %s, findings %v", leaderOf(p), lossLines(p.Losses, true), codes(p))
	}
}
