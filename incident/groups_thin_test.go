package incident

import (
	"testing"

	"kafsck/internaltopic"
)

// TestThin: what is dropped is followed by a commit of the same line that proves as much.
func TestThin(t *testing.T) {
	s := newCommitStore()
	s.limit = 100
	cl, ic := &Cluster{}, &InternalCopy{}
	add := func(group string, offset int64, epoch int32, ms int64) {
		r := s.row(cl, &internaltopic.OffsetCommit{Group: group, Topic: "t", Offset: offset, LeaderEpoch: epoch, CommitMs: ms}, commitFile{ic, "f"})
		r.recordOffset, r.atMs = int64(len(s.rows)), ms
		s.add([]commitRow{r})
	}
	for i := range int64(60) {
		add("a", i, 0, 1000*i)
	}
	add("a", 30, 2, 60_000) // the log was truncated: a new line
	for i := range int64(60) {
		add("b", 1000-i, -1, 1000*i) // goes back: none of them follows another
	}
	if len(s.rows) > 100 {
		t.Fatalf("%d rows", len(s.rows))
	}
	var highest, back int
	newLine := false
	for _, c := range s.commits("t", 0) {
		switch {
		case c.Group == "a" && c.LeaderEpoch == 0 && c.Offset == 59:
			highest++
		case c.Group == "a" && c.LeaderEpoch == 2:
			newLine = true
		case c.Group == "b":
			back++
		}
	}
	if highest != 1 || !newLine || back != 60 || s.thinned == 0 || s.thinnedMs < 1000 {
		t.Errorf("highest %d, new line %t, going back %d, thinned %d within %d ms", highest, newLine, back, s.thinned, s.thinnedMs)
	}
}
