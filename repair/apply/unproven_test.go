package apply

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/logdir"
	"kafsck/repair"
)

// planOf is the plan for a log directory, everything confirmed.
func planOf(t *testing.T, dir string) *repair.Plan {
	t.Helper()
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	must(t, err)
	defer c.Close()
	inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
	p, err := repair.Build(t.Context(), inc, repair.BuildOptions{Kafsck: "test", Kafka: broker.Latest, Now: time.Unix(1700000000, 0)})
	must(t, err)
	for i := range p.Actions {
		p.Actions[i].Confirmed = p.Actions[i].Confirm
	}
	return p
}

// batchesOf are the batches of a .log, and its path.
func batchesOf(t *testing.T, dir, file string) (list [][]byte, name string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(file))
	b, err := os.ReadFile(name)
	must(t, err)
	for len(b) > 0 {
		n := int(binary.BigEndian.Uint32(b[8:])) + 12
		list, b = append(list, b[:n]), b[n:]
	}
	return list, name
}

const fourBatches = "broker 1\nclean\ntopic t-0 id=AAAAAAAAAAAAAAAAAAAABQ ; segment 0\nbatch base=0 records=10 epoch=1\nbatch base=10 records=10 epoch=1\nbatch base=20 records=10 epoch=1\nbatch base=30 records=10 epoch=1\n"

// TestBatchBetweenDamagedBytes: a batch with damaged bytes before and behind it, and no offset missing, may
// be what a record of a destroyed batch held. It goes only with a word, and the plan tells its offsets.
func TestBatchBetweenDamagedBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after int
		lost          bool
	}{
		{"in a value", 120, 5, true},
		{"too few bytes for a header", 20, 5, false},
		{"one side alone", 120, 0, false},
	} {
		dir := logtest.Dir(t, fourBatches)
		b, name := batchesOf(t, filepath.Join(dir, "broker-1"), "t-0/00000000000000000000.log")
		junk := func(n int) []byte { return bytes.Repeat([]byte{0xAB}, n) }
		must(t, os.WriteFile(name, slices.Concat(b[0], junk(c.before), b[1], junk(c.after), b[2], b[3]), 0o644))
		for _, ext := range []string{".index", ".timeindex"} {
			if err := os.Remove(strings.TrimSuffix(name, ".log") + ext); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		p := planOf(t, dir)
		var lost []repair.PlanLoss
		for _, a := range p.Actions {
			lost = append(lost, a.Loses...)
		}
		if got := len(lost) == 1 && lost[0].From == 10 && lost[0].To == 20; got != c.lost || !c.lost && len(lost) > 0 {
			t.Errorf("%s: %+v", c.name, lost)
		}
		if _, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestFirstSegmentWithoutBatch: where the only whole bytes of the first segment go, the log begins at the
// second one, and its producer snapshot stays: nothing is left to build another from.
func TestFirstSegmentWithoutBatch(t *testing.T) {
	t.Parallel()
	dir := logtest.Dir(t, fourBatches+"segment 40\nbatch base=40 records=10 epoch=1\n")
	b, name := batchesOf(t, filepath.Join(dir, "broker-1"), "t-0/00000000000000000000.log")
	must(t, os.WriteFile(name, b[0][:30], 0o644))
	p := planOf(t, dir)
	if action, err := Fits(p); err != nil {
		t.Fatal(action, err)
	}
	if _, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}}); err != nil {
		t.Error(err)
	}
}

// TestSwappedBatches: two batches in the wrong order are no second and no first one: what goes is told.
func TestSwappedBatches(t *testing.T) {
	t.Parallel()
	dir := logtest.Dir(t, fourBatches)
	b, name := batchesOf(t, filepath.Join(dir, "broker-1"), "t-0/00000000000000000000.log")
	must(t, os.WriteFile(name, slices.Concat(b[0], b[2], b[1], b[3]), 0o644))
	p := planOf(t, dir)
	if len(p.Actions) == 0 {
		t.Fatal("nothing planned")
	}
	if _, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}}); err != nil {
		t.Error(err)
	}
}
