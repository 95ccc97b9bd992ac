package incident

import (
	"fmt"
	"testing"

	"kafsck/internaltopic"
)

// TestThin: what is dropped is followed by a commit of the same line that proves as much.
func TestThin(t *testing.T) {
	s := newCommitStore()
	s.limit = 100
	cl, ic := &Cluster{}, &InternalCopy{}
	add := func(group string, offset int64, epoch int32, ms int64) {
		r := s.row(cl, &internaltopic.OffsetCommit{Group: group, Topic: "t", Offset: offset, LeaderEpoch: epoch, CommitMs: ms}, commitFile{ic, "f", 0})
		r.recordOffset, r.atMs = int64(s.count), ms
		var l rowList
		l.add(r)
		s.add(l)
	}
	for i := range int64(60) {
		add("a", i, 0, 1000*i)
	}
	add("a", 30, 2, 60_000) // the log was truncated: a new line
	for i := range int64(60) {
		add("b", 1000-i, -1, 1000*i) // goes back: none of them follows another
	}
	if s.count > 100 {
		t.Fatalf("%d rows", s.count)
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

// TestThinnedMs: what is said of the thinned commits is how far they really lie from the one
// that follows, in whatever steps the span was widened; also where no span is enough.
func TestThinnedMs(t *testing.T) {
	cl, ic := &Cluster{}, &InternalCopy{}
	for name, c := range map[string]struct {
		groups, each int
		stepMs       int64
		want         int64
	}{
		"16 steps in 10 s":       {1, 101, 600, 9600}, // 1 s would leave every other
		"14 steps in 1000 s":     {1, 101, 70_000, 980_000},
		"no span leaves so few":  {90, 2, 5_000, 5_000},
		"each group stands once": {101, 1, 1000, 0},
	} {
		s := newCommitStore()
		s.limit = 100
		var l rowList
		for i := range c.groups * c.each {
			r := s.row(cl, &internaltopic.OffsetCommit{Group: fmt.Sprint(i / c.each), Topic: "t", Offset: int64(i)}, commitFile{ic, "f", 0})
			r.recordOffset, r.atMs = int64(i), int64(i)*c.stepMs
			l.add(r)
		}
		s.add(l)
		if s.thinnedMs != c.want || (s.thinned > 0) != (c.want > 0) {
			t.Errorf("%s: %d thinned within %d ms, want %d", name, s.thinned, s.thinnedMs, c.want)
		}
	}
}

// TestThinKeepsPositions: a position is told whatever follows it, and rows in many chunks
// come through in their order.
func TestThinKeepsPositions(t *testing.T) {
	s := newCommitStore()
	s.limit = 2 * rowChunk
	cl, f := &Cluster{}, commitFile{&InternalCopy{}, "f", 0}
	var l rowList
	for i := range 2*rowChunk + 2 {
		r := s.row(cl, &internaltopic.OffsetCommit{Group: "g", Topic: "t", Offset: int64(i)}, f)
		r.recordOffset, r.atMs, r.position = int64(i), int64(i), i == rowChunk+1
		l.add(r)
	}
	s.add(l)
	for i := 1; i < s.parts[0].n; i++ {
		if s.parts[0].at(i-1).recordOffset >= s.parts[0].at(i).recordOffset {
			t.Fatalf("row %d", i)
		}
	}
	s.settleAll()
	if len(s.positions) != 1 || s.positions[0].offset != rowChunk+1 {
		t.Errorf("%d positions", len(s.positions))
	}
}
