package apply

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

// TestPartOfAPlan: actions are left out by --skip and --only, or taken out of the JSON. What is left
// is carried out, and what is said of it holds for it alone.
func TestPartOfAPlan(t *testing.T) {
	root := transactionsRoot(t)
	logs, err := filepath.Glob(filepath.Join(root, "tx-orders-*", "leader-epoch-checkpoint"))
	must(t, err)
	if len(logs) < 2 {
		t.Fatal(logs)
	}
	for _, name := range logs[:2] { // one action in each of two partitions
		must(t, os.WriteFile(name, []byte("0\n1\nx"), 0o644))
	}
	stem := filepath.Join(filepath.Dir(logs[0]), "00000000000000000000")
	for _, ext := range []string{".index", ".timeindex"} { // two actions that answer findings of the same kinds
		must(t, os.WriteFile(stem+ext, []byte("xxxxx"), 0o644))
	}
	build := func() *repair.Plan {
		c, err := logdir.Discover([]string{root}, logdir.Options{})
		must(t, err)
		defer c.Close()
		inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
		p, err := repair.Build(t.Context(), inc, repair.BuildOptions{Kafsck: "test", Kafka: broker.Latest, Now: time.Unix(1700000000, 0), All: true})
		must(t, err)
		return p
	}
	whole := build()
	if len(whole.Actions) < 4 {
		t.Fatalf("%+v", whole.Actions)
	}
	for i := range whole.Actions {
		id := whole.Actions[i].ID
		for name, change := range map[string]func(p *repair.Plan) error{
			"skipped": func(p *repair.Plan) error { return p.Select(nil, []string{id}) },
			"only it": func(p *repair.Plan) error { return p.Select([]string{id}, nil) },
			"taken out of the JSON": func(p *repair.Plan) error {
				p.Actions = slices.DeleteFunc(p.Actions, func(a repair.Action) bool { return a.ID == id })
				return nil
			},
		} {
			p := build()
			must(t, change(p))
			if len(p.Actions) == len(whole.Actions) || len(p.Actions) == 0 {
				continue // others need it, or it needs them
			}
			done, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}})
			if err != nil {
				t.Errorf("%s (%s) %s: %v", id, whole.Actions[i].Kind, name, err)
				continue
			}
			if whole.Actions[i].Kind == repair.RewriteEpochs && name != "only it" && done.OK() {
				t.Errorf("%s left out: a malformed leader-epoch-checkpoint takes the log directory offline, and a start is said to be fine", id)
			}
			if done.Complete() || len(done.Carried) != len(p.Actions) || len(done.NotDone) == 0 {
				t.Errorf("%s (%s) %s: carried out %v, not done %+v", id, whole.Actions[i].Kind, name, done.Carried, done.NotDone)
			}
		}
	}
}
