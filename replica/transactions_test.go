package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// transactionsOf reads a source both ways, which must agree, and returns all transactions.
func transactionsOf(t *testing.T, where string, src Source) (*Log, []Transaction) {
	t.Helper()
	l, err := Read(context.Background(), src, Options{Transactions: true})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var all, open []Transaction
	var committed, aborted, markers int64
	for x, err := range l.Transactions(context.Background()) {
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		all = append(all, x)
		switch {
		case x.State == TransactionOpen:
			open = append(open, x)
		case x.First < 0:
			markers++
		case x.State == TransactionCommitted:
			committed++
		case x.State == TransactionAborted:
			aborted++
		}
	}
	if s := l.Txns; s.Committed != committed || s.Aborted != aborted || s.MarkerOnly != markers || !slices.Equal(s.Open, open) {
		t.Errorf("%s: the pass counts %+v, the iterator yields %d committed, %d aborted, %d markers, open %+v", where, s, committed, aborted, markers, open)
	}
	return l, all
}

type sent struct {
	Producer string  `json:"producer"`
	Op       string  `json:"op"`
	Send     [][]any `json:"send"`
	Intended string  `json:"intended"`
	Stage    string  `json:"stage"`
	Version  int     `json:"transaction.version"`
}

// What the clients did in the recording, and where its read-committed consumers stopped.
func TestTransactionsOfClients(t *testing.T) {
	var truth struct {
		Facts struct {
			Events []sent `json:"events"`
		} `json:"facts"`
		Client map[string]struct {
			ListOffsets map[string]struct {
				LSO int64 `json:"lso"`
			} `json:"listOffsets"`
			DescribeProducers map[string][]struct {
				ProducerID    int64 `json:"producerId"`
				ProducerEpoch int16 `json:"producerEpoch"`
				Coordinator   int32 `json:"coordinatorEpoch"`
				Start         int64 `json:"currentTransactionStartOffset"`
			} `json:"describeProducers"`
		} `json:"client"`
	}
	readJSON(t, "transactions", "truth.json", &truth)
	moments := map[string]string{"stage1-killed": "before-kill", "stage2-clean": "after-recovery", "stage3-resolved-clean": "stage3-resolved"}
	seen := 0
	sourcesOf(t, "transactions", func(where string, src Source) {
		if strings.HasPrefix(src.Partition.Topic, "__") {
			return
		}
		stage := strings.Split(src.Partition.Dir, "/")[0]
		l, all := transactionsOf(t, where, src)
		var got []string
		for _, x := range all {
			if x.First >= 0 {
				got = append(got, fmt.Sprintf("%d–%d %s", x.First, x.Last, x.State))
			}
		}
		slices.Sort(got)
		want := intended(truth.Facts.Events, src.Partition.Topic, src.Partition.Partition, stage == "stage3-resolved-clean")
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", where, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		client := truth.Client[moments[stage]]
		lso, ok := client.ListOffsets[src.Partition.Name()]
		if !ok {
			t.Fatalf("%s: no answer of a client", where)
		}
		if got, cut := l.LastStableOffset(); got != lso.LSO || cut {
			t.Errorf("%s: last stable offset %d (cut %t), a consumer saw %d", where, got, cut, lso.LSO)
		}
		for _, p := range client.DescribeProducers[src.Partition.Name()] {
			i := slices.IndexFunc(l.Txns.Open, func(x Transaction) bool { return x.ProducerID == p.ProducerID })
			switch {
			case (i >= 0) != (p.Start >= 0):
				t.Errorf("%s: producer %d: open %t, describeProducers: %+v", where, p.ProducerID, i >= 0, p)
			case i >= 0 && (l.Txns.Open[i].First != p.Start || l.Txns.Open[i].ProducerEpoch != p.ProducerEpoch || l.Txns.Open[i].CoordinatorEpoch != p.Coordinator):
				t.Errorf("%s: open %+v, describeProducers: %+v", where, l.Txns.Open[i], p)
			}
		}
		seen++
	})
	if seen != 9 {
		t.Errorf("%d partitions, want 9", seen)
	}
}

// intended lists the transactions of a partition as the clients knew them.
func intended(events []sent, topic string, partition int32, resolved bool) []string {
	type span struct {
		first, last int64
		state       string
	}
	open := map[string]*span{}
	var out []string
	end := func(producer string) {
		if x := open[producer]; x != nil {
			out = append(out, fmt.Sprintf("%d–%d %s", x.first, x.last, x.state))
			delete(open, producer)
		}
	}
	for _, e := range events {
		if e.Version == 1 && !resolved {
			continue
		}
		if e.Producer != "plain" {
			for _, s := range e.Send {
				if s[0] != topic || int32(s[1].(float64)) != partition {
					continue
				}
				offset := int64(s[2].(float64))
				x := open[e.Producer]
				if x == nil {
					x = &span{first: offset}
					open[e.Producer] = x
				}
				x.last = offset
				switch {
				case strings.HasPrefix(e.Intended, "commit"):
					x.state = "committed"
				case strings.HasPrefix(e.Intended, "abort"):
					x.state = "aborted"
				default:
					x.state = e.Intended
				}
			}
		}
		switch {
		case e.Op == "begin" || e.Op == "":
		case strings.HasPrefix(e.Op, "init again: open transaction aborted"):
			if x := open[e.Producer]; x != nil && resolved {
				x.state = "aborted"
			}
		default:
			end(e.Producer)
		}
		if e.Version == 1 {
			end(e.Producer)
		}
	}
	for p := range open {
		end(p)
	}
	slices.Sort(out)
	return out
}

func readJSON(t *testing.T, name, file string, v any) {
	t.Helper()
	data, err := fs.ReadFile(fixture.Tree(t, name), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// Aborted transactions are those of the .txnindex files, and what is open at the offset of
// a .snapshot is what it says, in all recordings, by real brokers of several versions.
func TestTransactionsBesideKafkasFiles(t *testing.T) {
	indexed, entries, open := 0, 0, 0
	for _, name := range append(slices.Clone(fixture.Names), "internal-topics", "base", "hard-crash", "tiered") {
		sourcesOf(t, name, func(where string, src Source) {
			if src.State != Live && src.State != Future {
				return
			}
			l, all := transactionsOf(t, where, src)
			compacted := l.Txns.Gaps > 0 || l.Sparse
			for _, s := range src.Segments {
				indexed += compareIndex(t, where, s, all, compacted)
			}
			for _, s := range src.Partition.Segments {
				if s.Snapshot != nil && logdir.SuffixOf(s.Snapshot.Name) == logdir.NoSuffix {
					n, o := compareOpen(t, where, s.Snapshot, all, compacted)
					entries, open = entries+n, open+o
				}
			}
		})
	}
	if indexed < 40 || entries < 200 || open < 10 {
		t.Errorf("only %d aborted transactions, %d producers, %d of them with an open transaction", indexed, entries, open)
	}
}

// The cleaner may have removed the first batches of a transaction, or all.
func compareIndex(t *testing.T, where string, s *logdir.Segment, all []Transaction, compacted bool) int {
	t.Helper()
	if s.TxnIndex == nil {
		return 0
	}
	n := 0
	read(t, s.TxnIndex, func(f rofs.File) {
		for e, err := range segment.ScanTxnIndex(f, s.TxnIndex.Size) {
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(x Transaction) bool { return x.Marker == e.LastOffset })
			switch {
			case i < 0:
				t.Errorf("%s: %s knows of an ABORT marker at %d", where, s.TxnIndex.Name, e.LastOffset)
			case all[i].State != TransactionAborted || all[i].ProducerID != e.ProducerID:
				t.Errorf("%s: %s: %+v, but %+v", where, s.TxnIndex.Name, e, all[i])
			case all[i].First != e.FirstOffset && !(all[i].First < 0 || all[i].First > e.FirstOffset && compacted):
				t.Errorf("%s: %s: first offset %d, but %d", where, s.TxnIndex.Name, e.FirstOffset, all[i].First)
			}
			n++
		}
	})
	return n
}

func compareOpen(t *testing.T, where string, f *logdir.File, all []Transaction, compacted bool) (entries, open int) {
	t.Helper()
	read(t, f, func(r rofs.File) {
		snap, err := segment.ReadSnapshot(r, f.Size)
		if err != nil || snap.Problem != nil {
			t.Fatal(err, snap.Problem)
		}
		for _, e := range snap.Producers {
			entries++
			i := slices.IndexFunc(all, func(x Transaction) bool {
				return x.ProducerID == e.ProducerID && x.First >= 0 && x.First < f.BaseOffset && !x.EndsWithin(f.BaseOffset)
			})
			switch {
			case e.CurrentTxnFirstOffset < 0 && i >= 0:
				t.Errorf("%s: by %s nothing is open of producer %d, but %+v", where, f.Name, e.ProducerID, all[i])
			case e.CurrentTxnFirstOffset >= 0 && i < 0:
				if !compacted {
					t.Errorf("%s: by %s a transaction of producer %d is open from %d", where, f.Name, e.ProducerID, e.CurrentTxnFirstOffset)
				}
			case e.CurrentTxnFirstOffset >= 0:
				open++
				if all[i].First != e.CurrentTxnFirstOffset && !compacted {
					t.Errorf("%s: by %s the transaction of producer %d began at %d, not at %d", where, f.Name, e.ProducerID, e.CurrentTxnFirstOffset, all[i].First)
				}
			}
		}
	})
	return entries, open
}

func read(t *testing.T, f *logdir.File, take func(rofs.File)) {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	take(r)
}

// Markers of the compacted recording say what became of the records by their clients.
func TestTransactionsOfCompactedLogs(t *testing.T) {
	var truth struct {
		Sent []struct {
			Topic   string   `json:"topic"`
			Offsets [2]int64 `json:"offsets"`
			Outcome string   `json:"outcome"`
		} `json:"sent"`
	}
	readJSON(t, "compaction", "truth.json", &truth)
	outcome := map[int64]string{} // by offset
	for _, s := range truth.Sent {
		if s.Topic == "compact-txn" {
			for o := s.Offsets[0]; o <= s.Offsets[1]; o++ {
				outcome[o] = s.Outcome
			}
		}
	}
	seen := 0
	sourcesOf(t, "compaction", func(where string, src Source) {
		if src.Partition.Topic != "compact-txn" || src.State != Live {
			return
		}
		_, all := transactionsOf(t, where, src)
		for _, x := range all {
			if x.First < 0 || outcome[x.Last] == "" {
				continue
			}
			seen++
			if outcome[x.First] != string(x.State) || outcome[x.Last] != string(x.State) {
				t.Errorf("%s: %+v, its clients say %s", where, x, outcome[x.First])
			}
		}
	})
	if seen < 50 {
		t.Errorf("only %d transactions", seen)
	}
}

// What Kafka's own code reports of the base directories.
func TestTransactionsOfBase(t *testing.T) {
	var truth struct {
		Fixtures map[string]map[string]json.RawMessage `json:"fixtures"`
	}
	readJSON(t, "base", "truth.json", &truth)
	type answer struct {
		LogEnd  int64 `json:"log_end"`
		Aborted []struct {
			Producer, First, Last int64
		} `json:"aborted_txns"`
	}
	sourcesOf(t, "base", func(where string, src Source) {
		parts := strings.Split(src.Partition.Dir, "/")
		raw, ok := truth.Fixtures[strings.Join(parts[:len(parts)-1], "/")][src.Partition.Name()]
		if !ok || src.State != Live {
			return
		}
		var want answer
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		l, all := transactionsOf(t, where, src)
		if got, _ := l.LastStableOffset(); got != want.LogEnd {
			t.Errorf("%s: last stable offset %d, want the log end %d", where, got, want.LogEnd)
		}
		compacted := l.Txns.Gaps > 0
		for _, a := range want.Aborted {
			i := slices.IndexFunc(all, func(x Transaction) bool { return x.Marker == a.Last })
			if i < 0 && !compacted || i >= 0 && (all[i].State != TransactionAborted || all[i].ProducerID != a.Producer || all[i].First != a.First && !compacted) {
				t.Errorf("%s: no aborted transaction of producer %d at %d–%d", where, a.Producer, a.First, a.Last)
			}
		}
		if n := l.Txns.Aborted; n != int64(len(want.Aborted)) && !compacted {
			t.Errorf("%s: %d aborted, want %d", where, n, len(want.Aborted))
		}
	})
}
