package tui

import (
	"strings"
	"testing"

	"kafsck/finding"
	"kafsck/internal/logtest"
)

// TestFindingsLeadToBytes: a finding with a position opens the bytes it is about, one of
// an index its entry, one about the epoch file that file; from all of them back again.
func TestFindingsLeadToBytes(t *testing.T) {
	dir := logtest.Dir(t, `broker 1 ; topic t-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
batch base=0 records=3 epoch=1 ; batch base=3 records=2 epoch=1 ; damage batch=1 field=payload flip=3
batch base=5 records=2 epoch=2 ; epochs 1:0 2:4
file 00000000000000000000.index hex=0000000400000049`)
	s := newSim(t, 120, 40, openDir(dir)).settle()
	seen := map[finding.Code]bool{}
	p, _ := storyOf(s, "t-0", "1")
	for i := range p.Findings {
		f := &p.Findings[i]
		s.open(openFinding(s.app.world, 0, f))
		checkFrame(t, s)
		seen[f.Code] = true
		switch {
		case strings.HasSuffix(f.At.File, ".log") && f.At.Position >= 0:
			x, ok := s.app.top().screen.(*batchScreen)
			if !ok || x.data == nil {
				t.Fatalf("%s: no bytes are shown\n%s", f.Code, s.view())
			}
			if d := x.data; f.At.Position < d.frame.pos || f.At.Position >= d.frame.end() {
				t.Errorf("%s is at %d; shown is %d–%d", f.Code, f.At.Position, d.frame.pos, d.frame.end())
			}
			s.keys("x").sees("--positions").keys("esc")
		case strings.HasSuffix(f.At.File, "leader-epoch-checkpoint"):
			s.sees("as written, as Kafka loads it, as regenerated")
		}
	}
	if !seen["batch-crc-mismatch"] {
		t.Errorf("findings were %v", seen)
	}
}

// TestFilesOfADirectory: every file of a recording's directory opens, and names what
// Kafka keeps in it; the segments do not wait for the partition to be judged.
func TestFilesOfADirectory(t *testing.T) {
	for _, name := range []string{"transactions/stage2-clean", "unclean-election/stage-b"} {
		s := newSim(t, 120, 40, openFixture(t, name)).settle()
		ref := s.app.world.refs[0].Name
		s.keys(":").text("segments "+ref).keys("enter", "tab")
		x := s.app.top().screen.(*segmentsScreen)
		n := x.files.len()
		if n < 6 {
			t.Fatalf("only %d files\n%s", n, s.view())
		}
		for i := range n {
			x.to(i)
			f := x.selectedFile()
			s.keys("enter")
			checkFrame(t, s)
			v := s.view()
			if strings.Contains(v, "E ") && strings.Contains(v, "Nothing is known about these bytes") {
				t.Errorf("%s was not read\n%s", f.Path, v)
			}
			want := map[string]string{
				"meta.properties": "node.id", "partition.metadata": "topic_id", "leader-epoch-checkpoint": "regenerated", "quorum-state": "leaderEpoch",
				"replication-offset-checkpoint": "high watermark", "recovery-point-offset-checkpoint": "recovery point", ".kafka_cleanshutdown": "brokerEpoch",
			}[f.Name]
			if want != "" && !strings.Contains(v, want) {
				t.Errorf("%s does not show %q\n%s", f.Path, want, v)
			}
			s.keys("tab")
			checkFrame(t, s)
			s.keys("esc")
		}
	}
}
