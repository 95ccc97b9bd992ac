package incident_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// judgeTransactions tells the transactions of every partition of a tree.
func judgeTransactions(t *testing.T, fsys rofs.FS) map[string]*incident.Transactions {
	t.Helper()
	c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.Open(c, incident.Options{Transactions: true})
	j := inc.TransactionJudge(incident.TransactionOptions{})
	out := map[string]*incident.Transactions{}
	for p := range inc.Partitions(context.Background()) {
		out[p.Name] = j.Judge(context.Background(), p)
	}
	if errs := j.Errors(); len(errs) > 0 {
		t.Errorf("%v", errs)
	}
	return out
}

// part takes the files of a folder of a recording, under another name.
func part(t *testing.T, tree fstest.MapFS, recording, from, to string) {
	t.Helper()
	n := 0
	for name, f := range fixture.Tree(t, recording) {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			tree[to+"/"+rest] = f
			n++
		}
	}
	if n == 0 {
		t.Fatalf("%s has no %s", recording, from)
	}
}

// said is the open transactions of a copy, in short.
func said(c incident.CopyTransactions) string {
	var out []string
	for _, x := range c.Open {
		s := fmt.Sprintf("%d@%d %s", x.ProducerID, x.First, x.StateText())
		for _, w := range []string{string(x.Basis), x.Decision, x.TransactionalID} {
			if w != "" {
				s += " " + w
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// The transaction of tx-app-3 (producer 2, offsets 108 to 123 of tx-orders-0) is open in
// stages 1 and 2, and the coordinator knows it. In stage 3 it has been aborted: with that
// __transaction_state beside the log of stage 1, it hangs.
func TestHangingByCoordinator(t *testing.T) {
	for stage, want := range map[string]string{"stage1-killed": "2@108 open tx-app-3", "stage2-clean": "2@108 open tx-app-3", "stage3-resolved-clean": ""} {
		tree := fstest.MapFS{}
		part(t, tree, "transactions", stage, "copy")
		tx := judgeTransactions(t, rofs.FromFS(tree))["tx-orders-0"]
		if got := said(tx.Copies[0]); got != want || tx.Counts() || tx.CoordinatorUnknown != "" {
			t.Errorf("%s: %q, want %q; counts %t; %s", stage, got, want, tx.Counts(), tx.CoordinatorUnknown)
		}
	}

	tree := fstest.MapFS{}
	part(t, tree, "transactions", "stage3-resolved-clean/broker-2", "copy/broker-2")
	for name := range tree {
		if strings.Contains(name, "/tx-orders-0/") {
			delete(tree, name)
		}
	}
	part(t, tree, "transactions", "stage1-killed/broker-2/tx-orders-0", "copy/broker-2/tx-orders-0")
	tx := judgeTransactions(t, rofs.FromFS(tree))["tx-orders-0"]
	if got := said(tx.Copies[0]); got != "2@108 hanging coordinator abort tx-app-3" || !tx.Counts() {
		t.Errorf("with the coordinator's word of stage 3: %q", got)
	}
}

// tx-app-1 (producer 0) committed offsets 130 and 131 of tx-orders-0; its COMMIT marker at 132
// is the last batch of the log. Without it the coordinator's word is that it was committed.
func TestLostCommitMarker(t *testing.T) {
	tree := fstest.MapFS{}
	part(t, tree, "transactions", "stage1-killed", "copy")
	last := ""
	for name := range tree {
		if strings.Contains(name, "/tx-orders-0/") && strings.HasSuffix(name, ".log") && name > last {
			last = name
		}
	}
	data := tree[last].Data
	end := 0
	for at := 0; at < len(data); {
		end, at = at, at+12+int(data[at+8])<<24+int(data[at+9])<<16+int(data[at+10])<<8+int(data[at+11])
	}
	tree[last] = &fstest.MapFile{Data: data[:end], ModTime: tree[last].ModTime}
	tx := judgeTransactions(t, rofs.FromFS(tree))["tx-orders-0"]
	if got := said(tx.Copies[0]); got != "2@108 open tx-app-3, 0@130 hanging coordinator commit tx-app-1" {
		t.Errorf("got %q", got)
	}
}

// Without the partition of __transaction_state that has the transactional id, nothing is
// concluded from what is not there.
func TestCoordinatorNotAmongInputs(t *testing.T) {
	tree := fstest.MapFS{}
	part(t, tree, "transactions", "stage1-killed/broker-2/tx-orders-0", "copy/broker-2/tx-orders-0")
	ms := time.UnixMilli(1712000200000)
	for name, f := range tree {
		tree[name] = &fstest.MapFile{Data: f.Data, ModTime: ms}
	}
	tx := judgeTransactions(t, rofs.FromFS(tree))["tx-orders-0"]
	x := tx.Copies[0].Open[0]
	if tx.CoordinatorUnknown == "" || !strings.Contains(x.Why, "2 years") && x.Basis == incident.ByCoordinator {
		t.Errorf("%+v", x)
	}
}

// Time alone: the brokers' clocks, then those of the producers, then file times.
func TestHangingByTime(t *testing.T) {
	const minute = 60_000
	at := func(ms int64) string { return fmt.Sprint(logtest.T0 + ms) }
	for name, c := range map[string]struct {
		spec  string
		files time.Duration
		want  string
	}{
		"markers of others go on":   {"batch pid=1 pepoch=0 txn ts=" + at(0) + " ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0 ts=" + at(1000) + " ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0 ts=" + at(30*minute), 0, "1@0 hanging broker-clocks"},
		"not for long":              {"batch pid=1 pepoch=0 txn ts=" + at(0) + " ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0 ts=" + at(1000) + " ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0 ts=" + at(10*minute), 0, "1@0 open"},
		"it still writes":           {"batch pid=1 pepoch=0 txn ts=" + at(0) + " ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0 ts=" + at(1000) + " ; batch pid=1 pepoch=0 txn ts=" + at(29*minute) + " ; batch pid=2 pepoch=0 txn ts=" + at(29*minute) + " ; marker commit pid=2 pepoch=0 ts=" + at(30*minute), 0, "1@0 open"},
		"others write on":           {"batch pid=1 pepoch=0 txn ts=" + at(0) + " ; batch ts=" + at(30*minute), 0, "1@0 open"},
		"the same by LogAppendTime": {"batch pid=1 pepoch=0 txn appendtime=" + at(0) + " ; batch appendtime=" + at(30*minute), 0, "1@0 hanging broker-clocks"},
		"a newer epoch, no marker":  {"batch pid=1 pepoch=0 txn ; batch pid=1 pepoch=1 txn", 0, "1@0 hanging producer-epoch"},
		"files of the day after":    {"batch pid=1 pepoch=0 txn ts=" + at(0), 24 * time.Hour, "1@0 open"},
		"files of the month after":  {"batch pid=1 pepoch=0 txn ts=" + at(0), 30 * 24 * time.Hour, "1@0 hanging file-times"},
		"a producer's clock is odd": {"batch pid=1 pepoch=0 txn ts=-1", 30 * 24 * time.Hour, "1@0 open"},
	} {
		tree := logtest.FS(t, "broker 1\ntopic t-0 ; segment 0 ; "+c.spec)
		for _, f := range tree {
			f.ModTime = time.UnixMilli(logtest.T0).Add(c.files)
		}
		tx := judgeTransactions(t, rofs.FromFS(tree))["t-0"]
		if got := said(tx.Copies[0]); got != c.want {
			t.Errorf("%s: %q, want %q (%+v)", name, got, c.want, tx.Copies[0].Open)
		}
	}
}

// Markers of two replicas side by side.
func TestMarkersOfReplicas(t *testing.T) {
	const first = "batch pid=1 pepoch=0 txn ; batch pid=2 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; "
	for name, c := range map[string]struct{ a, b, want string }{
		"equal":              {first, first, ""},
		"behind":             {first + "marker abort pid=2 pepoch=0 ; batch records=3", first, ""},
		"open on one":        {first + "marker abort pid=2 pepoch=0 ; batch records=3", first + "batch records=4", "2@1 aborted 3 lacks 2 open"},
		"ended by the next":  {first + "marker abort pid=2 pepoch=0 ; batch pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0", first + "batch base=4 pid=2 pepoch=0 txn ; marker commit pid=2 pepoch=0", "2@1 aborted 3 lacks 2 ended 5"},
		"contrary":           {first + "marker abort pid=2 pepoch=0", first + "marker commit pid=2 pepoch=0", "contrary 3"},
		"a fork":             {"batch pid=1 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; batch", "batch pid=3 pepoch=0 txn ; batch epoch=2 records=5", ""},
		"nothing of it here": {"batch pid=1 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; batch", "batch records=3", ""},
		"one log is damaged": {first + "marker abort pid=2 pepoch=0 ; batch", first + "batch ; damage batch=3 field=crc flip=1", ""},
	} {
		tree := logtest.FS(t, "broker 1\ntopic t-0 ; segment 0 ; "+c.a+"\nbroker 2\ntopic t-0 ; segment 0 ; "+c.b)
		tx := judgeTransactions(t, rofs.FromFS(tree))["t-0"]
		var got []string
		for _, m := range tx.Missing {
			s := fmt.Sprintf("%d@%d %s %d lacks %s", m.ProducerID, m.First, m.State, m.Marker, m.Lacks.Broker.Name)
			if m.Open {
				s += " open"
			} else {
				s += fmt.Sprintf(" ended %d", m.EndedAt)
			}
			got = append(got, s)
		}
		for _, x := range tx.Contrary {
			got = append(got, fmt.Sprintf("contrary %d", x.Offset))
		}
		if s := strings.Join(got, ", "); s != c.want || tx.Counts() != (c.want != "") || tx.MissingCount != len(tx.Missing) {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// No recording has a hanging transaction or a marker that a replica lacks: each is of healthy
// brokers, and elections lost no transaction.
func TestNoHangingTransactionInRecordings(t *testing.T) {
	for _, name := range append(slices.Clone(fixture.Names), "internal-topics", "tiered", "hard-crash") {
		stages, err := fs.ReadDir(fixture.Tree(t, name), ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range stages {
			if !strings.HasPrefix(stage.Name(), "stage") {
				continue
			}
			tree := fstest.MapFS{}
			part(t, tree, name, stage.Name(), "copy")
			for p, tx := range judgeTransactions(t, rofs.FromFS(tree)) {
				if tx.Counts() {
					t.Errorf("%s/%s %s: %+v %+v", name, stage.Name(), p, tx.Copies, tx.Missing)
				}
			}
		}
	}
}

// A file that cannot be read when markers are compared is told, and nothing is concluded.
func TestTransactionsUnreadable(t *testing.T) {
	tree := logtest.FS(t, "broker 1\ntopic t-0 ; segment 0 ; batch pid=1 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; batch\nbroker 2\ntopic t-0 ; segment 0 ; batch pid=1 pepoch=0 txn ; batch records=3")
	bad, on := errors.New("input/output error"), false
	fsys := rofs.Fault(rofs.FromFS(tree), func(op, name string, _, _ int64) error {
		if on && strings.HasSuffix(name, ".log") && strings.Contains(name, "broker-2") {
			return bad
		}
		return nil
	})
	c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.Open(c, incident.Options{Transactions: true})
	for p := range inc.Partitions(context.Background()) {
		on = true
		tx := inc.TransactionJudge(incident.TransactionOptions{}).Judge(context.Background(), p)
		if len(tx.Errors) != 1 || !errors.Is(tx.Errors[0].Err, bad) || tx.MissingCount > 0 {
			t.Errorf("%v, %+v", tx.Errors, tx.Missing)
		}
	}
}

// What check is told of a hanging transaction, and that an open one is none.
func TestHangingFindings(t *testing.T) {
	for spec, want := range map[string]string{
		"batch pid=1 pepoch=0 txn ; batch pid=1 pepoch=1 txn": "damage hanging-transaction 0-2: On the running cluster: kafka-transactions.sh --bootstrap-server HOST:9092 abort --topic t --partition 0 --start-offset 0 (",
		"batch pid=1 pepoch=0 txn":                            "",
	} {
		c, err := logdir.DiscoverFS(rofs.FromFS(logtest.FS(t, "broker 1\ntopic t-0 ; segment 0 ; "+spec)), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inc := incident.Open(c, incident.Options{Transactions: true})
		for p := range inc.Partitions(context.Background()) {
			got := ""
			for _, f := range inc.TransactionJudge(incident.TransactionOptions{}).Findings(context.Background(), p) {
				got += fmt.Sprintf("%s %s %d-%d: %s", f.Severity, f.Code, f.At.From, f.At.To, f.Next)
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q, want %q", spec, got, want)
			}
		}
	}
}

// What only the times of files say is damage where the broker had closed the log in order, and a note
// behind a kill, whose open transactions go on when the broker runs again.
func TestHangingByFileTimesAlone(t *testing.T) {
	for spec, want := range map[string]string{
		"batch pid=1 pepoch=0 txn":                       "note hanging-transaction",
		"batch pid=1 pepoch=0 txn\nclean":                "damage hanging-transaction",
		"batch pid=1 pepoch=0 txn\nrecovery 1":           "damage hanging-transaction",
		"batch pid=1 pepoch=0 txn\nrecovery 0":           "note hanging-transaction",
		"batch pid=1 pepoch=0 txn ; batch base=3\nclean": "note hanging-transaction", // its marker may have been among what is missing
		"batch pid=1 pepoch=0 txn\ntail zeros=40\nclean": "note hanging-transaction",
	} {
		tree := logtest.FS(t, "broker 1\ntopic t-0 ; segment 0 ; "+spec)
		for _, f := range tree {
			f.ModTime = time.UnixMilli(logtest.T0).Add(30 * 24 * time.Hour)
		}
		c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inc := incident.Open(c, incident.Options{Transactions: true})
		for p := range inc.Partitions(context.Background()) {
			got := ""
			for _, f := range inc.TransactionJudge(incident.TransactionOptions{}).Findings(context.Background(), p) {
				got += fmt.Sprintf("%s %s", f.Severity, f.Code)
			}
			if got != want {
				t.Errorf("%q: %q, want %q", spec, got, want)
			}
		}
	}
}
