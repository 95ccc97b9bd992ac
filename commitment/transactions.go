package commitment

import "fmt"

// Transactions are completed transactions as a witness. The coordinator writes
// CompleteCommit only when the COMMIT marker of every partition had been acknowledged by
// all in-sync replicas (TransactionMarkerChannelManager), so the records before the
// marker were committed, too. A marker alone proves nothing: it may have been lost with
// them.
//
// The high watermark passes the offsets of a log in their order, so whatever stands before
// such records in the same copy had been committed as well.
type Transactions struct {
	Runs []TransactionRun
}

// TransactionRun is a run of lost records of one copy that belong to a transaction that
// was completed with a commit.
type TransactionRun struct {
	From, To int64 // offsets [From, To)
	Copy     int   // found in this copy's records
	// Claim begins with "they are", and Source names the state.
	Claim  string
	Source string
}

// Cuts implements Witness.
func (w *Transactions) Cuts(from, to int64) []int64 {
	var out []int64
	for _, r := range w.Runs {
		if w.highest(r.Copy) == r {
			out = append(out, inside(r.From, from, to)...)
			out = append(out, inside(r.To, from, to)...)
		}
	}
	return out
}

// highest is the last run of a copy.
func (w *Transactions) highest(c int) TransactionRun {
	best := TransactionRun{To: -1}
	for _, r := range w.Runs {
		if r.Copy == c && r.To > best.To {
			best = r
		}
	}
	return best
}

// Testify implements Witness.
func (w *Transactions) Testify(p *Piece) (Evidence, bool) {
	best := TransactionRun{To: -1}
	for _, c := range p.Copies {
		if r := w.highest(c); r.To >= p.To && (best.To < 0 || r.From <= p.From && p.From < best.From) {
			best = r
		}
	}
	if best.To < 0 {
		return Evidence{}, false
	}
	e := Evidence{Kind: TransactionKind, Says: Yes, Claim: best.Claim, Source: best.Source}
	if p.From < best.From {
		e.Claim = fmt.Sprintf("the same copy holds offsets %d–%d behind them, and the high watermark passes offsets in their order; %s", best.From, best.To-1, best.Claim)
	}
	return e, true
}
