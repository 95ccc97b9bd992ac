package repair_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/repair"
)

// plan regenerates the file of one directory of a case.
func plan(t *testing.T, c *logdir.Case, dir string, opt repair.EpochOptions) (*repair.EpochPlan, error) {
	t.Helper()
	defer c.Close()
	for p := range incident.Open(c, incident.Options{}).Partitions(t.Context()) {
		for _, cp := range p.Copies {
			if cp.Dir == dir && repair.Regenerates(cp) {
				return repair.PlanEpochs(t.Context(), p, cp, opt)
			}
		}
	}
	t.Fatalf("no directory %s", dir)
	return nil, nil
}

// made plans for a directory of package logtest's language.
func made(t *testing.T, text, dir string, opt repair.EpochOptions) *repair.EpochPlan {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(logtest.FS(t, text)), "made", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t, c, dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recorded plans for a directory of a recording, after damage was done to it.
func recorded(t *testing.T, name, stage, dir string, opt repair.EpochOptions, damage func(root string)) *repair.EpochPlan {
	t.Helper()
	root := filepath.Join(fixture.Unpack(t, name), stage)
	damage(root)
	c, err := logdir.Discover([]string{root}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan(t, c, dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lines is a plan's new file: epoch, start, source.
func lines(p *repair.EpochPlan) string {
	var out []string
	for _, e := range p.Entries {
		out = append(out, fmt.Sprintf("%d %d %s", e.Epoch, e.StartOffset, e.Source))
	}
	return strings.Join(out, ", ")
}

// refused is what was refused: epoch, start, source, and the broker of a sibling.
func refused(p *repair.EpochPlan) string {
	var out []string
	for _, r := range p.Refused {
		line := fmt.Sprintf("%d %d %s", r.Epoch, r.StartOffset, r.Source)
		if r.Broker != nil {
			line += " " + r.Broker.Name
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func same(t *testing.T, what, want, got string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func remove(t *testing.T, name ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(name...)); err != nil {
		t.Fatal(err)
	}
}

// TestPoisonedMerge: the old leader of an unclean election got the new leader's
// file. With `2 100` it would truncate to 120 and keep 20 records that nobody else
// has; the batches say where the lines part.
func TestPoisonedMerge(t *testing.T) {
	p := recorded(t, "unclean-election", "stage-b", "broker-1/unclean-demo-0", repair.EpochOptions{}, func(root string) {
		b, err := os.ReadFile(filepath.Join(root, "broker-2/unclean-demo-0/leader-epoch-checkpoint"))
		if err == nil {
			err = os.WriteFile(filepath.Join(root, "broker-1/unclean-demo-0/leader-epoch-checkpoint"), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	same(t, "new", "0 0 headers", lines(p))
	same(t, "refused", "2 100 file, 2 100 sibling 2", refused(p))
	same(t, "text", "0\n1\n0 0\n", string(p.Text()))
	if !p.Changed || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "word for word that of broker 2") {
		t.Errorf("changed %t, notes %q", p.Changed, p.Notes)
	}
	if why := p.Refused[1].Why; !strings.Contains(why, "offset 100 carries epoch 0") || !strings.Contains(why, "part at offset 100") {
		t.Errorf("why: %s", why)
	}
}

// TestIntactBesideOtherLine: the same without damage: nothing of the other line is
// taken.
func TestIntactBesideOtherLine(t *testing.T) {
	p := recorded(t, "unclean-election", "stage-b", "broker-1/unclean-demo-0", repair.EpochOptions{}, func(string) {})
	same(t, "new", "0 0 headers", lines(p))
	same(t, "refused", "2 100 sibling 2", refused(p))
	if p.Changed {
		t.Error("a right file is called wrong")
	}
}

// TestTruth takes the entries of recorded files as truth. Broker 2 caught up from
// a leader that was cleaned already: its file had `5 80`, the others' `5 72`.
func TestTruth(t *testing.T) {
	lost := func(root string) {
		remove(t, root, "broker-2/epochs-compact-0/leader-epoch-checkpoint")
	}
	p := recorded(t, "epoch-history", "stage-a", "broker-2/epochs-compact-0", repair.EpochOptions{}, lost)
	same(t, "new", "0 0 sibling, 1 24 sibling, 4 48 sibling, 5 72 sibling, 6 96 sibling, 9 120 sibling, 10 144 headers", lines(p))
	same(t, "refused", "", refused(p))
	if len(p.Unknown) == 0 {
		t.Error("that the starts are others' is not said")
	}
	p = recorded(t, "epoch-history", "stage-a", "broker-2/epochs-compact-0", repair.EpochOptions{HeadersOnly: true}, lost)
	same(t, "headers only", "4 61 headers, 9 140 headers, 10 144 headers", lines(p))
	if len(p.Unknown) < 2 || !strings.Contains(p.Unknown[0], "offsets 0–60") || !strings.Contains(p.Unknown[0], "epochs 0–3") {
		t.Errorf("unknown: %q", p.Unknown)
	}
	// The metadata know who leads, and that it wrote nothing.
	p = recorded(t, "epoch-history", "stage-a", "broker-2/epochs-0", repair.EpochOptions{KeepEmptyTail: true}, func(root string) {
		remove(t, root, "broker-2/epochs-0/leader-epoch-checkpoint")
	})
	same(t, "tail", "12 350 metadata", lines(p)[strings.LastIndex(lines(p), "12 "):])
}

const p1 = `broker 1 ; topic t-0
segment 0 ; batch records=80 epoch=0 ; batch records=20 epoch=2
segment 100 ; batch records=50 epoch=2 ; batch records=90 epoch=3 ; batch records=60 epoch=5
hw 300 ; recovery 300
`

// TestDamagedFiles: one good log, every kind of bad file beside it.
func TestDamagedFiles(t *testing.T) {
	const right = "0 0 headers, 2 80 headers, 3 150 headers, 5 240 headers"
	for name, c := range map[string]struct {
		file, refused string
		changed       bool
	}{
		"right":          {"epochs 0:0 2:80 3:150 5:240", "", false},
		"missing":        {"", "", true},
		"zeros":          {"file leader-epoch-checkpoint zeros=64", "", true},
		"no bytes":       {"file leader-epoch-checkpoint", "", true},
		"no number":      {`file leader-epoch-checkpoint text="0\n2\n0 0\nx 80\n"`, "", true},
		"cut short":      {`file leader-epoch-checkpoint text="0\n4\n0 0\n2 8"`, "2 8 file", true},
		"newest missing": {"epochs 0:0 2:80 3:150", "", true},
		"oldest missing": {"epochs 2:80 3:150 5:240", "", true},
		"empty tail":     {"epochs 0:0 2:80 3:150 5:240 7:300", "7 300 file", false},
		"beyond the end": {"epochs 0:0 2:80 3:150 5:240 7:310", "7 310 file", false},
		"backwards":      {"epochs 0:0 5:100 4:120", "4 120 file, 5 100 file", true},
		"equal starts":   {"epochs 4:100 5:100", "5 100 file, 4 100 file", true},
		"twice":          {"epochs 3:150 3:170", "3 170 file", true},
		"later start":    {"epochs 0:0 2:100 3:150 5:240", "2 100 file", true},
		"earlier start":  {"epochs 0:0 2:70 3:150 5:240", "2 70 file", true},
		"foreign epoch":  {"epochs 0:0 2:80 3:150 4:200 5:240", "4 200 file", true},
	} {
		p := made(t, p1+c.file, "broker-1/t-0", repair.EpochOptions{})
		same(t, name+": new", right, lines(p))
		same(t, name+": refused", c.refused, refused(p))
		if p.Changed != c.changed {
			t.Errorf("%s: changed %t", name, p.Changed)
		}
		for _, change := range p.Changes() {
			if change.Why == "" {
				t.Errorf("%s: no reason for %+v", name, change)
			}
		}
	}
}

func TestEmptyTailOnRequest(t *testing.T) {
	p := made(t, p1+"epochs 0:0 2:80 3:150 5:240 7:300", "broker-1/t-0", repair.EpochOptions{KeepEmptyTail: true})
	same(t, "new", "0 0 headers, 2 80 headers, 3 150 headers, 5 240 headers, 7 300 file", lines(p))
}

// cleaned is a log of which the cleaner left little; batches of epochs 0, 1, 4 and
// 5 stood at 0, 24, 40 and 60.
const cleaned = `topic t-0 ; segment 0 ; batch base=30 records=2 epoch=1 ; batch base=70 records=10 epoch=5
segment 80 ; batch records=5 epoch=5 value=same ; hw 85
`

// TestGapsOfTheBatches: where the batches are gone the old file speaks, then the
// siblings; what the batches around do not allow is refused.
func TestGapsOfTheBatches(t *testing.T) {
	for name, c := range map[string]struct{ own, sibling, want, refused string }{
		"old file":          {"epochs 0:0 1:24 4:40 5:60", "", "0 0 file, 1 24 file, 4 40 file, 5 60 file", ""},
		"nobody":            {"", "", "1 30 headers, 5 70 headers", ""},
		"sibling":           {"", cleaned + "epochs 0:0 1:24 4:40 5:60", "0 0 sibling, 1 24 sibling, 4 40 sibling, 5 60 sibling", ""},
		"own file rules":    {"epochs 1:24 4:48 5:60", cleaned + "epochs 0:0 1:24 4:40 5:60", "0 0 sibling, 1 24 file, 4 48 file, 5 60 file", "4 40 sibling 2"},
		"too high":          {"epochs 1:24 7:40 5:60", "", "1 24 file, 5 60 file", "7 40 file"},
		"too low":           {"epochs 1:24 0:45 5:60", "", "1 30 headers, 5 60 file", "0 45 file, 1 24 file"},
		"over a batch":      {"epochs 1:24 4:31 5:60", "", "1 24 file, 5 60 file", "4 31 file"},
		"sibling's fork":    {"", strings.Replace(cleaned, "epoch=5 value=same", "epoch=6 value=same", 1) + "epochs 0:0 1:24 4:40 5:60 6:80", "0 0 sibling, 1 24 sibling, 4 40 sibling, 5 60 sibling", "6 80 sibling 2"},
		"sibling diverged":  {"", strings.Replace(cleaned, "base=30 records=2 epoch=1", "base=30 records=2 epoch=2", 1) + "epochs 0:0 2:24 4:40 5:60", "1 30 headers, 5 70 headers", "0 0 sibling 2, 2 24 sibling 2, 4 40 sibling 2, 5 60 sibling 2"},
		"malformed sibling": {"", cleaned + `file leader-epoch-checkpoint text="0\n2\n0 0\n1 24\nx"`, "1 30 headers, 5 70 headers", "1 24 sibling 2"},
	} {
		text := "broker 1 clusterid=c\n" + cleaned + c.own + "\n"
		if c.sibling != "" {
			text += "broker 2 clusterid=c\n" + c.sibling + "\n"
		}
		p := made(t, text, "broker-1/t-0", repair.EpochOptions{})
		same(t, name+": new", c.want, lines(p))
		same(t, name+": refused", c.refused, refused(p))
	}
}

// TestSuspectEpochs: the epoch in a header is outside the CRC. A flipped bit in the
// middle shows by the neighbours, at the end by another copy of the batch.
func TestSuspectEpochs(t *testing.T) {
	const log = "topic t-0 ; segment 0 ; batch records=10 epoch=1 ; batch records=10 ; batch records=10\n"
	p := made(t, "broker 1 clusterid=c\n"+log+"damage batch=1 field=epoch set=65", "broker-1/t-0", repair.EpochOptions{})
	same(t, "middle", "1 0 headers", lines(p))
	same(t, "middle", "65 10 headers", refused(p))
	if len(p.Notes) == 0 {
		t.Error("that a broker would obey it is not said")
	}
	const last = "broker 1 clusterid=c\n" + log + "damage batch=2 field=epoch set=65\n"
	p = made(t, last, "broker-1/t-0", repair.EpochOptions{})
	same(t, "last, nobody knows", "1 0 headers, 65 20 headers", lines(p))
	if len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "one batch only") {
		t.Errorf("unknown: %q", p.Unknown)
	}
	p = made(t, last+"broker 2 clusterid=c\n"+log, "broker-1/t-0", repair.EpochOptions{})
	same(t, "last, with a witness", "1 0 headers", lines(p))
	same(t, "last, with a witness", "65 20 headers", refused(p))
	// A damaged file is no witness against a batch.
	p = made(t, "broker 1 clusterid=c\n"+log+"batch records=3 epoch=4\nfile leader-epoch-checkpoint zeros=40", "broker-1/t-0", repair.EpochOptions{})
	same(t, "last, bad file", "1 0 headers, 4 30 headers", lines(p))
}

func TestOldFormat(t *testing.T) {
	p := made(t, "broker 1 ; topic t-0 ; segment 0 ; message count=300\nepochs 12:250", "broker-1/t-0", repair.EpochOptions{})
	same(t, "new", "", lines(p))
	same(t, "refused", "12 250 file", refused(p))
	same(t, "text", "0\n0\n", string(p.Text()))
	if !p.Changed || len(p.Notes) != 1 {
		t.Errorf("changed %t, notes %q", p.Changed, p.Notes)
	}
	p = made(t, "broker 1 ; topic t-0 ; segment 0 ; message count=10 ; batch records=5 epoch=3\nepochs 3:10", "broker-1/t-0", repair.EpochOptions{})
	same(t, "then epochs", "3 10 headers", lines(p))
}

// TestLogStart: the head of the file is where the log starts, also where only the
// old file knows it yet.
func TestLogStart(t *testing.T) {
	const log = "broker 1 ; topic t-0 ; segment 0 ; batch records=40 epoch=0 ; batch records=40 epoch=1 ; batch records=10 epoch=4\n"
	for name, c := range map[string]struct {
		more, want string
		changed    bool
	}{
		"checkpoint":        {"logstart 61", "1 61 headers, 4 80 headers", true},
		"not yet cut":       {"logstart 61 ; epochs 0:0 1:40 4:80", "1 61 headers, 4 80 headers", false},
		"file alone, batch": {"epochs 1:61 4:80", "1 61 headers, 4 80 headers", false},
		// At the beginning of a batch it may as well be a recovery that began there.
		"file alone, boundary": {"epochs 1:40 4:80", "0 0 headers, 1 40 headers, 4 80 headers", true},
		"older heads kept":     {"", "0 0 headers, 1 40 headers, 4 80 headers", true},
	} {
		p := made(t, log+c.more, "broker-1/t-0", repair.EpochOptions{})
		same(t, name, c.want, lines(p))
		if p.Changed != c.changed {
			t.Errorf("%s: changed %t", name, p.Changed)
		}
	}
	// Retention removed the first segments; what the file knows of them stays.
	p := made(t, "broker 1 ; topic t-0 ; segment 80 ; batch records=10 epoch=4\nepochs 0:0 1:40 4:70", "broker-1/t-0", repair.EpochOptions{})
	same(t, "expired", "0 0 file, 1 40 file, 4 70 file", lines(p))
}

// TestUnreadableStretch: a damaged log gets its file, and is told what is hidden.
func TestUnreadableStretch(t *testing.T) {
	p := made(t, p1+"damage batch=1 field=payload flip=3", "broker-1/t-0", repair.EpochOptions{})
	same(t, "new", "0 0 headers, 2 80 headers, 5 240 headers", lines(p))
	if text := strings.Join(p.Unknown, "\n"); !strings.Contains(text, "offsets 150–239 are damaged: epoch 5 may have begun there, and epochs 3–4 may") || !strings.Contains(text, "1 stretch") {
		t.Errorf("unknown: %s", text)
	}
}

// TestFailedReads: no plan without every byte.
func TestFailedReads(t *testing.T) {
	text := "broker 1 clusterid=c\n" + cleaned + "epochs 5:80\nbroker 2 clusterid=c\n" + cleaned + "epochs 0:0 1:24 4:40 5:60\n"
	for _, name := range []string{
		"broker-1/t-0/00000000000000000000.log", "broker-1/t-0/00000000000000000080.log", "broker-1/t-0/leader-epoch-checkpoint",
		"broker-2/t-0/00000000000000000000.log", "broker-2/t-0/leader-epoch-checkpoint",
	} {
		for after := range 3 { // the pass, the comparison with the sibling, the hash
			reads := 0
			fsys := rofs.Fault(rofs.FromFS(logtest.FS(t, text)), func(op, at string, _, _ int64) error {
				if at == name && op == "read" {
					if reads++; reads > after {
						return syscall.EIO
					}
				}
				return nil
			})
			c, err := logdir.DiscoverFS(fsys, "made", logdir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan(t, c, "broker-1/t-0", repair.EpochOptions{})
			if reads > after && !errors.Is(err, syscall.EIO) {
				t.Errorf("%s, read %d: %v", name, after+1, err)
			}
		}
	}
}
