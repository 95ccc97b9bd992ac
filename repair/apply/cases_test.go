package apply

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// TestPackedCases makes and carries out a plan for the packed cases, everything confirmed: each
// batch of a result is one of an input, and each batch of the directory that was repaired is
// in the result or in lost+found.
func TestPackedCases(t *testing.T) {
	cases := fixture.Unpack(t, "cases")
	entries, err := os.ReadDir(cases)
	must(t, err)
	done, empty := 0, 0
	for i, e := range entries {
		if !e.IsDir() || os.Getenv("KAFSCK_EVERY") == "" && i%10 != 0 {
			continue
		}
		dir := filepath.Join(cases, e.Name())
		before := sumTree(t, dir)
		c, err := logdir.Discover([]string{dir}, logdir.Options{})
		must(t, err)
		inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
		p, err := repair.Build(t.Context(), inc, repair.BuildOptions{Kafsck: "test", Kafka: broker.Latest, Now: time.Unix(1700000000, 0)})
		c.Close()
		if err != nil {
			t.Logf("%s: no plan: %v", e.Name(), err)
			continue
		}
		for i := range p.Actions {
			p.Actions[i].Confirmed = p.Actions[i].Confirm
		}
		if len(p.Actions) == 0 {
			empty++
			continue
		}
		out := filepath.Join(t.TempDir(), "OUT")
		_, err = Run(t.Context(), p, Options{Out: out, sys: quick{}})
		if _, ok := errors.AsType[*Refused](err); ok && os.Getenv("KAFSCK_EVERY") == "" {
			t.Logf("%s: %v", e.Name(), err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		done++
		everyBatch(t, p, out)
		sameTree(t, "the input", sumTree(t, dir), before)
	}
	t.Log(done, "repaired,", empty, "without an action")
	if done < 3 {
		t.Error("too few")
	}
}
