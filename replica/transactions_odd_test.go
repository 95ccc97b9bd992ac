package replica_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/replica"
)

// transactionsOf reads a log for its transactions; one a line, finished ones first.
func transactionsOf(t *testing.T, fsys fstest.MapFS) (*replica.Log, string) {
	t.Helper()
	l, err := replica.Read(context.Background(), sourceOf(t, rofs.FromFS(fsys)), replica.Options{Transactions: true})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for x, err := range l.Transactions(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%d/%d %d-%d %d %s", x.ProducerID, x.ProducerEpoch, x.First, x.Last, x.Marker, x.State)
		for _, f := range []struct {
			set  bool
			name string
		}{{x.FromSnapshot, "snapshot"}, {x.Damaged, "damaged"}, {x.Gap, "gap"}, {x.Mixed, "mixed"}, {x.SpansEpochs(), "epochs"}, {x.Emptied >= 0, "emptied"}, {x.CoordinatorBefore > x.CoordinatorEpoch, "back"}} {
			if f.set {
				line += " " + f.name
			}
		}
		lines = append(lines, line)
	}
	return l, strings.Join(lines, "\n")
}

// A log that is not as brokers write it in peace.
func TestOddTransactions(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"a marker in damaged bytes": {`batch pid=1 pepoch=0 seq=0 txn
			marker commit pid=1 pepoch=0
			batch pid=2 pepoch=0 seq=0 txn
			marker abort pid=2 pepoch=0
			damage batch=1 field=crc flip=3`, "2/0 2-2 3 aborted\n1/0 0-0 -1 open damaged"},
		"damage inside a transaction": {`batch pid=1 pepoch=0 seq=0 txn
			batch pid=1 pepoch=0 seq=1 txn
			marker commit pid=1 pepoch=0
			damage batch=1 field=payload flip=3`, "1/0 0-0 2 committed damaged"},
		"a torn marker": {`batch pid=1 pepoch=0 seq=0 txn
			marker commit pid=1 pepoch=0
			torn bytes=3`, "1/0 0-0 -1 open damaged"},
		"an epoch more without a marker": {`batch pid=1 pepoch=3 seq=0 txn
			batch pid=1 pepoch=4 seq=0 txn
			marker commit pid=1 pepoch=4`, "1/4 0-1 2 committed epochs"},
		"offsets missing": {`batch pid=1 pepoch=0 seq=0 txn
			batch base=5 pid=1 pepoch=0 seq=9 txn`, "1/0 0-5 -1 open gap"},
		"outside of its transaction": {`batch pid=1 pepoch=0 seq=0 txn
			batch pid=1 pepoch=0 seq=1`, "1/0 0-0 -1 open mixed"},
		"markers alone, and a coordinator of before": {`marker commit pid=1 pepoch=0 coordinator=7
			batch pid=1 pepoch=0 seq=0 txn
			marker abort pid=1 pepoch=0 coordinator=6`, "1/0 -1--1 0 committed\n1/0 1-1 2 aborted back"},
	} {
		l, got := transactionsOf(t, logtest.FS(t, "topic t-0 ; segment 0\n"+c.spec))
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
		if open := len(l.Txns.Open); open != strings.Count(c.want, "open") {
			t.Errorf("%s: %d open", name, open)
		}
	}
}

// A control batch of a producer that is no transaction marker ends nothing, and is counted.
func TestUnknownControlBatch(t *testing.T) {
	log := logtest.Log(t, "batch pid=1 pepoch=0 seq=0 txn ; marker commit pid=1 pepoch=0")
	at := int(log[8])<<24 | int(log[9])<<16 | int(log[10])<<8 | int(log[11]) + 12
	log[at+61+5+3] = 9 // behind the header, five one-byte fields and the key's version: its type
	logtest.SetCRC(log[at:])
	l, got := transactionsOf(t, fstest.MapFS{"t-0/00000000000000000000.log": {Data: log}})
	if got != "1/0 0-0 -1 open" || l.Txns.Unknown != 1 || l.Txns.FirstUnknown != 1 {
		t.Errorf("%s, %+v", got, l.Txns)
	}
}

// Retention deletes segments in the midst of a transaction. T1's transaction of producer
// 4000 that was aborted at 104 began at 94 (truth.json), in the segment that goes.
func TestTransactionsBelowTheLogStart(t *testing.T) {
	all := fixture.Tree(t, "base")
	tree := fstest.MapFS{}
	for name, f := range all {
		if rest, ok := strings.CutPrefix(name, "T1/tx-0/"); ok && !strings.HasPrefix(rest, "00000000000000000000.") {
			tree["tx-0/"+rest] = f
		}
	}
	l, got := transactionsOf(t, tree)
	if first, _, _ := strings.Cut(got, "\n"); first != "4000/0 94-99 104 aborted snapshot" {
		t.Errorf("got %s", first)
	}
	if l.FirstUnstableOffset() != 185 {
		t.Errorf("first unstable offset %d", l.FirstUnstableOffset())
	}
	delete(tree, "tx-0/00000000000000000100.snapshot")
	if _, got := transactionsOf(t, tree); !strings.HasPrefix(got, "4000/0 -1--1 104 aborted\n") {
		t.Errorf("without the snapshot: %s", strings.Split(got, "\n")[0])
	}
	// Without the segment of the marker as well it is open, from the log start on.
	for name := range tree {
		if strings.HasSuffix(name, "185.snapshot") || strings.Contains(name, "index") {
			delete(tree, name)
		}
	}
	tree["tx-0/00000000000000000100.snapshot"] = all["T1/tx-0/00000000000000000100.snapshot"]
	tree["tx-0/00000000000000000100.log"] = &fstest.MapFile{}
	l, got = transactionsOf(t, tree)
	if got != "4000/0 94-99 -1 open snapshot" || l.FirstUnstableOffset() != 100 {
		t.Errorf("got %q, first unstable offset %d", got, l.FirstUnstableOffset())
	}
}

// The last stable offset by the high watermark (UnifiedLog, ProducerStateManager).
func TestLastStableOffset(t *testing.T) {
	log := `broker 1
		topic t-0 ; segment 0
		batch pid=1 pepoch=0 seq=0 txn records=4
		marker commit pid=1 pepoch=0
		batch pid=2 pepoch=0 seq=0 txn records=5
		batch records=10`
	for _, c := range []struct {
		lines string
		want  int64
		cut   bool
	}{
		{"", 5, false},
		{"hw 20", 5, false},
		{"hw 6", 5, false},
		{"hw 5", 5, false},
		{"hw 4", 0, true}, // its marker is not replicated
		{"hw 0", 0, true},
		{"hw 99", 5, false},
		{"logstart 7 ; hw 20", 7, false},
	} {
		l, _ := transactionsOf(t, logtest.FS(t, log+" ; "+c.lines))
		if got, cut := l.LastStableOffset(); got != c.want || cut != c.cut {
			t.Errorf("%q: %d, %t, want %d, %t", c.lines, got, cut, c.want, c.cut)
		}
	}
}

func TestTransactionsAcross(t *testing.T) {
	l, _ := transactionsOf(t, logtest.FS(t, `topic t-0 ; segment 0
		batch pid=1 pepoch=0 seq=0 txn
		batch pid=2 pepoch=0 seq=0 txn
		marker commit pid=1 pepoch=0
		batch pid=3 pepoch=0 seq=0 txn
		marker abort pid=2 pepoch=0`))
	for cut, want := range []string{"", "1", "1 2", "2", "2 3", "3"} {
		list, err := l.TransactionsAcross(context.Background(), int64(cut))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, x := range list {
			ids = append(ids, fmt.Sprint(x.ProducerID))
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
	}
}

// A reader that gives up early, and one that cannot go on.
func TestTransactionsEndEarly(t *testing.T) {
	l, _ := transactionsOf(t, logtest.FS(t, "topic t-0 ; segment 0 ; "+strings.Repeat("batch pid=1 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; ", 9)))
	n := 0
	for range l.Transactions(context.Background()) {
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var last error
	for _, err := range l.Transactions(ctx) {
		last = err
	}
	if n != 3 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d, %v", n, last)
	}
}

// Many transactions, each of a producer of its own, take no more memory than a thousand.
func TestManyTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("a log of 50 MB")
	}
	const n = 300_000
	one := logtest.Log(t, "batch pid=1 pepoch=0 seq=0 txn value=v ; marker commit pid=1 pepoch=0")
	first := int(uint32(one[8])<<24|uint32(one[9])<<16|uint32(one[10])<<8|uint32(one[11])) + 12
	log := make([]byte, 0, len(one)*n)
	for i := range n {
		for at := 0; at < len(one); {
			size := first
			if at > 0 {
				size = len(one) - first
			}
			b := slices.Clone(one[at : at+size])
			put64(b[0:], uint64(2*i+at/first))
			put64(b[43:], uint64(i))
			logtest.SetCRC(b)
			log = append(log, b...)
			at += size
		}
	}
	src := sourceOf(t, rofs.FromFS(fstest.MapFS{"t-0/00000000000000000000.log": {Data: log}}))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := replica.Read(context.Background(), src, replica.Options{Transactions: true})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for x, err := range l.Transactions(context.Background()) {
		if err != nil || x.ProducerID != int64(count) {
			t.Fatal(x, err)
		}
		if count++; count == n/2 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if l.Txns.Committed != n || count != n {
		t.Errorf("%d in the pass, %d yielded", l.Txns.Committed, count)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes more in use", grown)
	}
}

func put64(b []byte, v uint64) {
	for i := range 8 {
		b[i] = byte(v >> (56 - 8*i))
	}
}

// Whatever the bytes are: the pass and the iterator agree, no transaction is told twice, each
// ends behind its beginning, and nothing panics.
func FuzzTransactions(f *testing.F) {
	for _, spec := range []string{
		"batch pid=1 pepoch=0 seq=0 txn ; marker commit pid=1 pepoch=0",
		"batch pid=1 pepoch=0 seq=0 txn ; batch pid=2 pepoch=0 seq=0 txn codec=lz4 ; marker abort pid=1 pepoch=1 ; batch records=3",
		"marker commit pid=9 pepoch=0 ; message magic=1 ; batch base=7 pid=9 pepoch=2 txn ; tail zeros=100",
	} {
		f.Add(logtest.Log(f, spec))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _ := transactionsOf(t, fstest.MapFS{"t-0/00000000000000000005.log": {Data: data}})
		var sum replica.TransactionTally
		type end struct{ marker, position int64 }
		seen := map[end]bool{}
		for x := range l.Transactions(context.Background()) {
			switch {
			case x.State == replica.TransactionOpen:
				sum.Open = append(sum.Open, x)
				continue
			case x.First < 0:
				sum.MarkerOnly++
			case x.State == replica.TransactionAborted:
				sum.Aborted++
			default:
				sum.Committed++
			}
			if x.First >= 0 && (x.Batches == 0 || x.Position < 0) {
				t.Errorf("%+v", x)
			}
			seen[end{x.Marker, x.MarkerMs}] = true
		}
		if s := l.Txns; s.MarkerOnly != sum.MarkerOnly || s.Aborted != sum.Aborted || s.Committed != sum.Committed || !slices.Equal(s.Open, sum.Open) {
			t.Errorf("pass %+v, iterator %+v", s, sum)
		}
	})
}
