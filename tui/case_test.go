package tui

import "testing"

func TestOverview(t *testing.T) {
	s := newSim(t, 100, 24, openFixture(t, "unclean-election/stage-b"))
	s.sees("READ-ONLY", "Looking for Kafka's directories") // before anything is read
	s.settle()
	s.sees("LOST: 100 committed records in 1 partition; still on broker 1.", "unclean-demo-0", "L loss")
	s.keys("F").sees("acked-records-only-on", "Records that had been committed")
	s.keys("enter").sees("offsets 100–199", "held by broker 1")
	s.keys("esc", "esc").sees("1 partition ·")
}
