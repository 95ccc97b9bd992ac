package repair_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
segment 100 ; batch records=50 epoch=2 ; batch records=90 epoch=3 ; batch records=30 epoch=5 ; batch records=30 epoch=5
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

// TestStartAtEnd: all records were deleted. A load cuts at the log end before it
// cuts at the log start, so the entry of the epoch that the log ends in must keep
// its true start. What each file loads to is Kafka's word: [5 100], or nothing for
// the files of which that is said.
func TestStartAtEnd(t *testing.T) {
	const (
		log   = "broker 1 ; topic t-0 ; segment 0 ; batch records=30 epoch=0 ; batch records=30 epoch=2 ; batch records=10 epoch=5 ; batch records=10 ; batch records=10 ; batch records=10\nlogstart 100\n"
		empty = "broker 1 ; topic t-0 ; segment 100\nlogstart 100\n"
		all   = "0 0 headers, 2 30 headers, 5 60 headers"
	)
	for name, c := range map[string]struct {
		text, want, refused string
		opt                 repair.EpochOptions
		changed             bool
	}{
		"not yet cut":      {text: log + "epochs 0:0 2:30 5:60", want: all},
		"cut below":        {text: log + "epochs 2:30 5:60", want: all},
		"newest alone":     {text: log + "epochs 5:60", want: all},
		"headers only":     {text: log + "epochs 0:0 2:30 5:60", want: all, opt: repair.EpochOptions{HeadersOnly: true}},
		"missing":          {text: log, want: all, changed: true},
		"zeros":            {text: log + "file leader-epoch-checkpoint zeros=40", want: all, changed: true},
		"emptied":          {text: log + `file leader-epoch-checkpoint text="0\n0\n"`, want: all, changed: true},
		"newest missing":   {text: log + "epochs 0:0 2:30", want: all, changed: true},
		"wrong newest":     {text: log + "epochs 0:0 2:30 7:60", want: all, refused: "7 60 file", changed: true},
		"later start":      {text: log + "epochs 0:0 2:30 5:70", want: all, refused: "5 70 file"},
		"with a tail":      {text: log + "epochs 0:0 2:30 5:60 8:100", want: all, refused: "8 100 file"},
		"kept tail":        {text: log + "epochs 0:0 2:30 5:60 8:100", want: all + ", 8 100 file", opt: repair.EpochOptions{KeepEmptyTail: true}},
		"running":          {text: log + "epochs 5:100", want: "5 100 headers"},                                             // loads to nothing
		"running, elected": {text: log + "epochs 8:100", want: "5 100 headers", refused: "8 100 file"},                      // to nothing
		"elected, kept":    {text: log + "epochs 8:100", want: "8 100 file", opt: repair.EpochOptions{KeepEmptyTail: true}}, // to nothing
		"lower at the end": {text: log + "epochs 3:100", want: all, refused: "3 100 file", changed: true},                   // to nothing
		"empty":            {text: empty + "epochs 1:0 5:60", want: "1 0 file, 5 60 file"},                                  // to [5 100]
		"empty, base only": {text: "broker 1 ; topic t-0 ; segment 100\nepochs 1:0 5:60", want: "1 0 file, 5 60 file"},      // to [1 0] [5 60]
		"empty, running":   {text: empty + "epochs 5:100", want: "", refused: "5 100 file"},                                 // to nothing
		"no segment":       {text: "broker 1 ; topic t-0\nlogstart 100 ; epochs 1:0 5:60", want: "1 0 file, 5 60 file"},     // to [5 100]
		"empty, sibling":   {text: "broker 1 clusterid=c ; topic t-0 ; segment 0 ; batch base=60 records=40 epoch=5\nlogstart 100\nbroker 2 clusterid=c ; topic t-0 ; segment 0 ; batch records=30 epoch=0 ; batch records=30 epoch=2 ; batch records=40 epoch=5\nepochs 0:0 2:30 5:60", want: "0 0 sibling, 2 30 sibling, 5 60 headers", changed: true},
	} {
		p := made(t, c.text, "broker-1/t-0", c.opt)
		same(t, name+": new", c.want, lines(p))
		same(t, name+": refused", c.refused, refused(p))
		if p.Changed != c.changed {
			t.Errorf("%s: changed %t, old file loads to %v", name, p.Changed, p.Old.Loaded)
		}
		for _, change := range p.Changes() {
			if change.Why == "" {
				t.Errorf("%s: no reason for %+v", name, change)
			}
		}
	}
}

// TestBogusLogStart: a log start that no log of these batches can have is not
// believed, and what Kafka does with it is said.
func TestBogusLogStart(t *testing.T) {
	const right = "0 0 headers, 2 80 headers, 3 150 headers, 5 240 headers"
	for name, c := range map[string]struct {
		more, refused, note string
		changed             bool
	}{
		"beyond the end":         {"epochs 0:0 2:80 3:150 5:240 ; logstart 450", "", "Kafka deletes every segment at the next start", false},
		"one beyond the end":     {"epochs 0:0 2:80 3:150 5:240 ; logstart 301", "", "Kafka deletes every segment at the next start", false},
		"beyond, file cut there": {"epochs 5:450 ; logstart 450", "5 450 file", "Kafka deletes every segment at the next start", true},
		"beyond, file lost":      {"logstart 450", "", "log start of 0, the first segment", true},
		"negative":               {"epochs 0:0 2:80 3:150 5:240 ; logstart -5", "", "no log start can be", false},
		"negative, file lost":    {"logstart -5", "", "no log start can be", true},
	} {
		p := made(t, p1+c.more, "broker-1/t-0", repair.EpochOptions{})
		same(t, name+": new", right, lines(p))
		same(t, name+": refused", c.refused, refused(p))
		if p.Changed != c.changed || p.LogStart != 0 {
			t.Errorf("%s: changed %t, log start %d", name, p.Changed, p.LogStart)
		}
		if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], c.note) {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	}
}

// loaded is LogLoader.load on the lines of a file, written again here, apart from
// package epoch: assign each, cut at the log end, cut at the log start, put the last
// one cut back there.
func loaded(lines [][2]int64, end, line int64) [][2]int64 {
	var c [][2]int64
	for _, e := range lines {
		if n := len(c); n > 0 && c[n-1][0] == e[0] && c[n-1][1] <= e[1] {
			continue
		}
		for len(c) > 0 && (c[len(c)-1][0] >= e[0] || c[len(c)-1][1] >= e[1]) {
			c = c[:len(c)-1]
		}
		c = append(c, e)
	}
	for len(c) > 0 && c[len(c)-1][1] >= end {
		c = c[:len(c)-1]
	}
	for len(c) > 0 && c[0][1] <= line && (len(c) == 1 || c[1][1] <= line) {
		if len(c) == 1 {
			break
		}
		c = c[1:]
	}
	if len(c) > 0 && c[0][1] <= line {
		c = append([][2]int64{{c[0][0], line}}, c[1:]...)
	}
	return c
}

// TestLoadedRandomLogs: whatever lies in the old file and wherever the log start is,
// at and beyond the log end and on both sides of segment bases too, the new file
// loads to the epochs of the batches, an undamaged old file is right, and Changed
// is what the two loads say.
func TestLoadedRandomLogs(t *testing.T) {
	random := rand.New(rand.NewPCG(46, 1))
	for i := range 800 {
		var text strings.Builder
		base := int64(0)
		if random.IntN(2) > 0 {
			base = random.Int64N(50)
		}
		fmt.Fprintf(&text, "broker 1 ; topic t-0 ; segment %d\n", base)
		var truth [][2]int64 // epochs of the batches
		end, e := base, random.Int64N(3)
		bases := []int64{base}
		for range random.IntN(8) {
			if random.IntN(3) == 0 && end > bases[len(bases)-1] {
				fmt.Fprintf(&text, "segment %d\n", end)
				bases = append(bases, end)
			}
			if len(truth) == 0 || random.IntN(2) > 0 {
				e += 1 + random.Int64N(3)
				truth = append(truth, [2]int64{e, end})
			}
			// Two of each: the epoch of a lone batch at an end could be a flipped bit.
			n := 1 + random.Int64N(9)
			fmt.Fprintf(&text, "batch base=%d records=%d epoch=%d ; batch base=%d records=1 epoch=%d\n", end, n, e, end+n, e)
			end += n + 1
		}
		line, bogus := int64(0), false
		switch random.IntN(6) {
		case 0:
		case 1:
			line = end
		case 2:
			line, bogus = end+1+random.Int64N(20), true
		case 3:
			line = max(0, bases[random.IntN(len(bases))]-1+random.Int64N(3))
			bogus = line > end
		default:
			line = base + random.Int64N(end-base+1)
		}
		if line > 0 {
			fmt.Fprintf(&text, "logstart %d\n", line)
		}
		if bogus {
			line = 0
		}
		var old [][2]int64
		kind := random.IntN(6)
		switch kind {
		case 0: // not yet cut
			old = truth
		case 1: // as a load leaves it
			old = loaded(truth, end, line)
		case 2: // missing
		case 3: // a line lost
			if len(truth) > 0 {
				old = slices.Delete(slices.Clone(truth), 0, 0)
				at := random.IntN(len(old))
				old = slices.Delete(old, at, at+1)
			}
		case 4: // starts moved
			for j, x := range truth {
				if j > 0 {
					x[1] += random.Int64N(3)
				}
				old = append(old, x)
			}
		case 5: // shuffled
			old = slices.Clone(truth)
			random.Shuffle(len(old), func(a, b int) { old[a], old[b] = old[b], old[a] })
		}
		if kind != 2 {
			text.WriteString("epochs")
			for _, x := range old {
				fmt.Fprintf(&text, " %d:%d", x[0], x[1])
			}
			text.WriteString("\n")
		}
		p := made(t, text.String(), "broker-1/t-0", repair.EpochOptions{})
		var fresh [][2]int64
		for _, x := range p.Cache() {
			fresh = append(fresh, [2]int64{int64(x.Epoch), x.StartOffset})
		}
		want, was, is := loaded(truth, end, line), loaded(old, end, line), loaded(fresh, end, line)
		if kind != 2 && line == end && len(old) == 1 && old[0][1] == end {
			want = nil // as a running broker leaves it; the next load drops it
		}
		// Epoch 0 begins at the log start where nothing is lower.
		if len(is) > 0 && len(want) > 0 && is[0][0] == 0 && want[0][0] == 0 {
			want[0][1] = is[0][1]
		}
		if fmt.Sprint(is) != fmt.Sprint(want) {
			t.Errorf("log %d, kind %d: the new file loads to %v, want %v\n%s\n%v", i, kind, is, want, text.String(), lines(p))
		}
		if changed := fmt.Sprint(was) != fmt.Sprint(is); p.Changed != changed {
			t.Errorf("log %d, kind %d: changed %t; loads %v, then %v\n%s", i, kind, p.Changed, was, is, text.String())
		}
		if p.Changed && kind < 2 {
			t.Errorf("log %d, kind %d: an undamaged file is called wrong\n%s\n%v", i, kind, text.String(), lines(p))
		}
		if bogus != (len(p.Notes) > 0 && strings.Contains(p.Notes[0], "log-start-offset-checkpoint says")) {
			t.Errorf("log %d: notes %q", i, p.Notes)
		}
		if t.Failed() && i > 100 {
			return
		}
	}
}
