package apply

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// flip changes a bit of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	b[at] ^= 4
	must(t, os.WriteFile(name, b, 0o644))
}

func planOn(t *testing.T, opt repair.BuildOptions, dirs ...string) (*repair.Plan, error) {
	t.Helper()
	c, err := logdir.Discover(dirs, logdir.Options{})
	must(t, err)
	defer c.Close()
	inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
	opt.Kafsck, opt.Kafka, opt.Now = "test", broker.Latest, time.Unix(1700000000, 0)
	return repair.Build(t.Context(), inc, opt)
}

// TestMarkerOfAllLogs: a repair of one partition that takes the marker of a clean shutdown away would
// make the next start cut another one. The plan leaves the marker; a plan that does not is a failed repair.
func TestMarkerOfAllLogs(t *testing.T) {
	root := filepath.Join(fixture.Unpack(t, "base"), "B1")
	must(t, os.WriteFile(filepath.Join(root, cleanMarker), []byte(`{"version":0,"brokerEpoch":7}`), 0o644))
	flip(t, filepath.Join(root, "orders-0", "00000000000000000200.log"), 2500)
	flip(t, filepath.Join(root, "kv-0", "00000000000000000230.log"), 100)
	p, err := planOn(t, repair.BuildOptions{}, root)
	must(t, err)
	kv := slices.IndexFunc(p.Actions, func(a repair.Action) bool { return a.Partition == "kv-0" })
	if kv < 0 || !strings.Contains(p.Actions[kv].Why, "offsets 210–299 of orders-0") {
		t.Fatalf("%+v", p.Actions)
	}
	for i := range p.Actions {
		if slices.ContainsFunc(p.Actions[i].Edits, func(e repair.Edit) bool { return e.File == cleanMarker && e.Op != repair.Write }) {
			t.Error(p.Actions[i].ID, "takes the marker away")
		}
		p.Actions[i].Confirmed = i == kv
	}
	_, err = Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}})
	must(t, err)
	for i := range p.Actions { // both, which empty one marker
		p.Actions[i].Confirmed = true
	}
	out := filepath.Join(t.TempDir(), "OUT")
	_, err = Run(t.Context(), p, Options{Out: out, sys: quick{}})
	must(t, err)
	if b, err := os.ReadFile(filepath.Join(out, p.Roots[0].Name, cleanMarker)); err != nil || len(b) != 0 {
		t.Errorf("the marker: %q, %v", b, err)
	}

	// As an earlier build planned it.
	for i := range p.Actions {
		a := &p.Actions[i]
		a.Confirmed = i == kv
		a.Edits = slices.DeleteFunc(a.Edits, func(e repair.Edit) bool { return e.File == cleanMarker })
		a.Edits = append(a.Edits, repair.Edit{Op: repair.Remove, File: cleanMarker})
	}
	for _, opt := range []Options{{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}}, {InPlace: true, sys: quick{}}} {
		before := sumTree(t, filepath.Dir(root))
		_, err = Run(t.Context(), p, opt)
		if f, ok := errors.AsType[*Failed](err); !ok || !strings.Contains(f.What, "offsets 210–299") || !strings.Contains(f.Where, "orders-0") {
			t.Errorf("in place %v: %v", opt.InPlace, err)
		}
		sameTree(t, "the input", sumTree(t, filepath.Dir(root)), before)
	}

	// To read one log whole the marker has to go.
	_, err = planOn(t, repair.BuildOptions{Rescan: []repair.Truncation{{Topic: "tx", Typed: "--rescan tx-0"}}, Only: []string{string(repair.LowerRecovery)}}, root)
	if u, ok := errors.AsType[*repair.Uncut](err); !ok || !strings.Contains(u.Why, "orders-0") {
		t.Errorf("rescan: %v", err)
	}
}

// TestMarkerThatGoes: with an ABORT marker the plan says what becomes of the records before it, by the
// .txnindex of the input. truth.json of the recording: 123–131 of producer 4001 were aborted, by the marker at 135.
func TestMarkerThatGoes(t *testing.T) {
	root := filepath.Join(fixture.Unpack(t, "base"), "B1")
	flip(t, filepath.Join(root, "tx-0", "00000000000000000100.log"), 3078)
	p, err := planOn(t, repair.BuildOptions{}, root)
	must(t, err)
	if len(p.Actions) != 1 || len(p.Actions[0].Transactions) != 1 || !p.Actions[0].Confirm {
		t.Fatalf("%+v", p.Actions)
	}
	x := p.Actions[0].Transactions[0]
	if x.ProducerID != 4001 || x.From != 123 || x.To != 132 || x.Records != 9 || x.Was != "aborted" || x.Now != "committed" || x.Marker == nil || *x.Marker != 135 || !strings.Contains(x.Proof, ".txnindex") {
		t.Errorf("%+v", x)
	}
}

// TestBelowWatermark: what was committed and is gone is told, and so is a transaction that stays open.
func TestBelowWatermark(t *testing.T) {
	p, err := planOn(t, repair.BuildOptions{}, filepath.Join(fixture.Unpack(t, "cases"), "BR-87"))
	must(t, err)
	want := map[string][2]int64{"kv-0": {295, 300}, "orders-0": {290, 300}, "tx-0": {184, 185}}
	for _, a := range p.Actions {
		if c := a.Committed; c == nil || [2]int64{c.From, c.To} != want[a.Partition] {
			t.Errorf("%s: %+v", a.Partition, c)
		}
		if a.Partition == "kv-0" && (a.Committed.WasEnd == nil || *a.Committed.WasEnd != 300) {
			t.Errorf("%+v", a.Committed)
		}
		if a.Partition == "tx-0" && (len(a.Transactions) != 1 || a.Transactions[0].Now != "open" || a.Transactions[0].From != 180) {
			t.Errorf("%+v", a.Transactions)
		}
	}
	if len(p.Actions) != len(want) {
		t.Errorf("%d actions", len(p.Actions))
	}
	p, err = planOn(t, repair.BuildOptions{}, filepath.Join(fixture.Unpack(t, "cases"), "BR-30"))
	must(t, err)
	if len(p.Actions) != 1 || len(p.Actions[0].Loses) != 1 || *p.Actions[0].Loses[0].Records != 10 {
		t.Errorf("%+v", p.Actions)
	}
}

// TestSeveralSources: offsets that no other replica has all of are taken from two that meet in a batch.
func TestSeveralSources(t *testing.T) {
	dir := t.TempDir()
	var roots []string
	for i, hits := range [][]int64{{2401, 4700, 7000}, {7000}, {2401}} { // batches of 2,301 bytes: 10–39 here, 30–39 of one, 10–19 of the other
		root := filepath.Join(dir, []string{"b1", "b2", "b3"}[i])
		must(t, os.CopyFS(root, os.DirFS(filepath.Join(fixture.Unpack(t, "base"), "B1"))))
		meta, err := os.ReadFile(filepath.Join(root, "meta.properties"))
		must(t, err)
		text := strings.Replace(string(meta), "node.id=1", "node.id="+[]string{"1", "2", "3"}[i], 1)
		must(t, os.WriteFile(filepath.Join(root, "meta.properties"), []byte(text), 0o644))
		for _, at := range hits {
			flip(t, filepath.Join(root, "orders-0", "00000000000000000000.log"), at)
		}
		roots = append(roots, root)
	}
	p, err := planOn(t, repair.BuildOptions{}, roots...)
	must(t, err)
	i := slices.IndexFunc(p.Actions, func(a repair.Action) bool { return p.Roots[a.Root].Path == roots[0] })
	if i < 0 || p.Actions[i].Kind != repair.TakeRange || len(p.Actions[i].Loses) > 0 || !strings.Contains(p.Actions[i].Does, "from brokers 2 and 3") {
		t.Fatalf("%+v", p.Actions)
	}
	out := filepath.Join(t.TempDir(), "OUT")
	_, err = Run(t.Context(), p, Options{Out: out, sys: quick{}})
	must(t, err)
	want, err := os.ReadFile(filepath.Join(fixture.Unpack(t, "base"), "B1", "orders-0", "00000000000000000000.log"))
	must(t, err)
	for _, r := range p.Roots {
		if got, err := os.ReadFile(filepath.Join(out, r.Name, "orders-0", "00000000000000000000.log")); err != nil || string(got) != string(want) {
			t.Errorf("%s: not the log before the damage (%v)", r.Name, err)
		}
	}
}
