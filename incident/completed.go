package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/internaltopic"
	"kafsck/replica"
)

// inTransaction is a run of lost records of one copy that one producer wrote with one epoch in
// one transaction.
type inTransaction struct {
	span     replica.Span
	producer int64
	epoch    int16
	firstMs  int64 // timestamps of its batches, ms, the producer's clock; -1 none
	lastMs   int64
	// How the copy says that the transaction ended; Marker -1: not.
	end replica.Transaction
}

// completed finds the lost records of each holder that belong to a transaction which
// its coordinator completed with a commit.
func (j *judgement) completed(holders []*Copy, gone map[int][]diff.Gone) (commitment.Witness, error) {
	w := &commitment.Transactions{}
	if slices.Contains(internalTopics, j.p.Topic) {
		return nil, nil
	}
	for _, h := range holders {
		runs, err := j.transactional(h, gone[h.Index])
		if err != nil {
			return nil, err
		}
		for i := range runs {
			x := &runs[i]
			t, how, ok := j.completeCommit(x)
			if !ok {
				continue
			}
			r := commitment.TransactionRun{From: x.span.From, To: x.span.To, Copy: h.Index,
				Claim:  fmt.Sprintf("they are of a transaction of %s (producer id %d, epoch %d) that its coordinator completed with a commit (%s): CompleteCommit is written when all in-sync replicas have the markers", t.TransactionalID, t.ProducerID, x.epoch, how),
				Source: fmt.Sprintf("%s, __transaction_state-%d offset %d", t.Last.File, t.Last.Partition, t.Last.Offset)}
			if n := len(w.Runs); n > 0 && w.Runs[n-1].Copy == r.Copy && w.Runs[n-1].To == r.From && w.Runs[n-1].Claim == r.Claim && w.Runs[n-1].Source == r.Source {
				w.Runs[n-1].To = r.To
				continue
			}
			w.Runs = append(w.Runs, r)
		}
	}
	if len(w.Runs) == 0 {
		return nil, nil
	}
	return w, nil
}

// transactional lists the runs of transactional records in the lost ranges of a copy whose
// producers the coordinators know, each with its end by the marker behind it in that copy.
func (j *judgement) transactional(h *Copy, gone []diff.Gone) ([]inTransaction, error) {
	var runs []inTransaction
	for _, g := range gone {
		for b, err := range h.Log.Blocks(g.From, g.To) {
			if err != nil {
				return nil, err
			}
			if !b.Whole() || b.ProducerID < 0 || b.Legacy || !b.Attributes.Transactional() || b.Attributes.Control() || len(j.loggedOf(b.ProducerID)) == 0 {
				continue
			}
			if n := len(runs); n > 0 {
				if last := &runs[n-1]; last.span.To == b.Base && last.producer == b.ProducerID && last.epoch == b.ProducerEpoch {
					last.span.To, last.lastMs = b.Next(), b.MaxTimestamp
					continue
				}
			}
			runs = append(runs, inTransaction{span: replica.Span{From: b.Base, To: b.Next()}, producer: b.ProducerID, epoch: b.ProducerEpoch,
				firstMs: b.MaxTimestamp, lastMs: b.MaxTimestamp, end: replica.Transaction{Marker: -1}})
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	byProducer := map[int64][]*inTransaction{}
	for i := range runs {
		byProducer[runs[i].producer] = append(byProducer[runs[i].producer], &runs[i])
	}
	for t, err := range h.Log.Transactions(j.ctx) {
		if err != nil {
			return nil, err
		}
		list := byProducer[t.ProducerID]
		if t.Marker < 0 || t.First < 0 || t.Damaged || len(list) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, t.First, func(x *inTransaction, o int64) int { return cmp.Compare(x.span.From, o) })
		for ; at < len(list) && list[at].span.From <= t.Last; at++ {
			list[at].end = t
		}
	}
	return runs, nil
}

// loggedOf are the transactions of a producer id in __transaction_state.
func (j *judgement) loggedOf(producer int64) []LoggedTransaction {
	if j.byProducer == nil {
		j.byProducer = map[int64][]LoggedTransaction{}
	}
	list, known := j.byProducer[producer]
	if !known {
		list = j.inc.TransactionLog(j.ctx).ByProducer(j.g.cluster, producer)
		j.byProducer[producer] = list
	}
	return list
}

// completeCommit finds the transaction that a run of records belongs to, if it is complete, and
// says what ties the two together. With transaction.version 2 every transaction has a producer
// epoch of its own: the Ongoing state carries that of its records, and from the decision on
// the state, like the marker, carries the next one (KIP-890), so the epoch alone tells. Before
// it many transactions share an epoch, and clocks must tell:
//
//	Ongoing ──── batches ──── PrepareCommit ── marker ── CompleteCommit
//	StartMs      producer's                    leader's  Last.TimeMs
//
// The marker's clock is a broker's and goes first. The state's own UpdateMs is taken before the
// markers are sent (TransactionMetadata.prepareComplete).
func (j *judgement) completeCommit(x *inTransaction) (t LoggedTransaction, how string, ok bool) {
	if x.end.Marker >= 0 && x.end.State != replica.TransactionCommitted {
		return t, "", false
	}
	for _, t := range j.loggedOf(x.producer) {
		if t.Status != internaltopic.TransactionCompleteCommit || !t.Has(j.p.Topic, j.p.Number) {
			continue
		}
		switch {
		case t.FirstEpoch == x.epoch && t.ProducerEpoch == x.epoch+1:
			return t, "by its producer epoch, which no other transaction has", true
		case x.epoch != t.ProducerEpoch || t.FirstEpoch != x.epoch || t.StartMs < 0:
			continue
		case x.end.Marker >= 0:
			if t.StartMs <= x.end.MarkerMs && x.end.MarkerMs <= t.Last.TimeMs {
				return t, fmt.Sprintf("by the time of the marker behind them, offset %d", x.end.Marker), true
			}
		case t.StartMs <= x.firstMs && x.lastMs <= t.UpdateMs:
			return t, fmt.Sprintf("by the records' own times, %s, which are the producer's clock", time.UnixMilli(x.firstMs).UTC().Format("2006-01-02 15:04:05.000Z")), true
		}
	}
	return t, "", false
}
