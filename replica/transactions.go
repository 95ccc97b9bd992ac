package replica

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"slices"
)

// TransactionState says how a transaction ended.
type TransactionState string

// The states that one copy can tell. Whether an open one hangs is for the incident
// package to say.
const (
	TransactionOpen      TransactionState = "open"
	TransactionCommitted TransactionState = "committed"
	TransactionAborted   TransactionState = "aborted"
)

// Transaction is what one copy holds of a transaction: the transactional batches of one
// producer up to its marker. Producer ids, epochs and offsets are as the batches have them.
//
//	| 4000 | 4001 | 4000 | 4000 | COMMIT 4000 | 4000 | …
//	  First          …     Last    Marker        First of the next one
//
// It is ProducerStateEntry.currentTxnFirstOffset with what is needed to explain it: a
// transaction goes on, as for Kafka, until a marker of its producer id, whatever the epochs.
type Transaction struct {
	ProducerID int64
	// ProducerEpoch is that of the last batch; of the marker where no batch is here.
	ProducerEpoch int16
	// FirstEpoch is that of the first batch. It differs where a producer went on with a
	// newer epoch although no marker had ended what it began with the older one.
	FirstEpoch int16
	State      TransactionState

	First  int64 // offset of the first record's batch; -1: only the marker is here
	Last   int64 // offset of the last record, inclusive; -1: none is here
	Marker int64 // offset of the marker; -1: open

	// FromSnapshot: it began below this log. First is what a producer snapshot says.
	FromSnapshot bool

	MarkerEpoch int16 // producer epoch in the marker: one higher with transaction.version 2; -1 open
	// CoordinatorEpoch is that in the marker; for an open transaction that in the last
	// marker of the producer before it, -1 if none is here.
	CoordinatorEpoch int32
	// CoordinatorBefore is the coordinator epoch of the producer's marker before, -1 none
	// known. Higher than CoordinatorEpoch: the marker came from a coordinator that had been
	// replaced already (a leader refuses such, TransactionCoordinatorFencedException).
	CoordinatorBefore int32

	FirstMs, LastMs int64 // largest timestamps of the first and the last batch, ms; -1 none
	MarkerMs        int64 // timestamp of the marker, ms; -1 open
	// BeforeMs is the timestamp of the producer's marker before it, AfterMs that of the first
	// marker of any other producer behind its last batch, ms; -1 none is here. Leaders stamp
	// markers with their own clock, so these bracket it whatever the producers' clocks say.
	BeforeMs, AfterMs int64
	AppendTime        bool  // the leader's clock stamped its last batch (LogAppendTime)
	Batches           int64 // that are here
	Records           int64 // in them; 0 with batches: cleaned away
	// Emptied is the offset of a control batch of the producer, behind the transaction's
	// beginning, whose record the cleaner removed; -1 none. Kafka passes it over.
	Emptied int64
	// Damaged: bytes that cannot be read stand between its beginning and its end (for an
	// open one: the log end). A batch or a marker of it may have been there.
	Damaged bool
	// Gap: offsets are missing there. Normal in a compacted log.
	Gap bool
	// FromIndex: its ABORT marker cannot be read, or is gone, and the .txnindex of the segment
	// says that it was at Marker. Nothing else of the marker is known then.
	FromIndex bool
	// DoubtTo: a marker of the producer may have stood in bytes that cannot be read, and what
	// became of its records below DoubtTo is not known; the marker here ended those from there
	// on. At most First: none. GapTo is the same for offsets that are missing: in a compacted
	// log that says nothing.
	DoubtTo, GapTo int64
	// Mixed: its producer also wrote outside of a transaction while it was open. Kafka
	// refuses that (InvalidTxnStateException).
	Mixed bool

	// Segment and Position say where its first batch is (the marker, where no batch is):
	// index into Log.Segments, byte position in the .log. Segment is -1 if that is not here.
	Segment  int
	Position int64

	holes, gaps int64 // that the pass had met when it began
	waits       bool  // for the marker of AfterMs
}

// SpansEpochs reports whether it holds batches of more than one producer epoch.
func (t *Transaction) SpansEpochs() bool { return t.Batches > 0 && t.FirstEpoch != t.ProducerEpoch }

// Doubtful reports whether a marker that cannot be read may have ended some of its records.
func (t *Transaction) Doubtful() bool { return t.First >= 0 && t.DoubtTo > t.First }

// EndsWithin reports whether a marker ends it below an offset.
func (t *Transaction) EndsWithin(offset int64) bool { return t.Marker >= 0 && t.Marker < offset }

// Across reports whether it begins below a cut and its marker is at or above it, or nowhere:
// truncating to the cut leaves it open.
func (t *Transaction) Across(cut int64) bool {
	return t.First >= 0 && t.First < cut && !t.EndsWithin(cut)
}

// TransactionTally is what a copy holds of transactions, without the finished ones, of which
// there may be millions: see [Log.Transactions].
type TransactionTally struct {
	Open []Transaction // by first offset

	Committed, Aborted int64 // with at least one batch here
	// AbortedByIndex of the aborted ones have no marker that can be read, but an entry in a
	// .txnindex. Doubtful are finished ones of which some records may have been ended by a
	// marker that cannot be read: see Transaction.DoubtTo.
	AbortedByIndex, Doubtful int64
	// MarkerOnly counts markers without any batch before them: the transaction wrote nothing
	// to this partition, its records were below the log start or cleaned away, or the marker
	// was written twice.
	MarkerOnly int64
	// NewestMarkerMs is the largest timestamp of a marker, EndMs that of the last batch, ms; -1
	// none.
	NewestMarkerMs, EndMs int64
	Spanned               int64 // finished ones with batches of several producer epochs
	Regressed             int64 // markers with a coordinator epoch below that of the one before
	// Unknown counts control batches of producers that are no transaction marker, and
	// FirstUnknown is the offset of the first, -1 none.
	Unknown, FirstUnknown int64
	Gaps                  int64 // stretches of offsets without a batch: normal in a compacted log
	// Overflow: more than 262,144 were open at a time; those beyond are not known.
	Overflow bool

	// unreplicated is the lowest first offset of a finished transaction whose marker is at
	// or above the high watermark, -1 none.
	unreplicated int64
}

// Any reports whether there is anything of a transaction in the copy.
func (s *TransactionTally) Any() bool {
	return len(s.Open) > 0 || s.Committed+s.Aborted+s.MarkerOnly+s.Unknown > 0 || s.Overflow
}

// FirstUnstableOffset is the first offset of the oldest open transaction, at least the log
// start offset (UnifiedLog.maybeIncrementFirstUnstableOffset); the log end offset if none is open.
func (l *Log) FirstUnstableOffset() int64 {
	if l.Txns == nil || len(l.Txns.Open) == 0 {
		return l.LogEndOffset
	}
	return max(l.Txns.Open[0].First, l.LogStartOffset)
}

// LastStableOffset is where a read-committed consumer stops: the first unstable offset, at
// most the high watermark (UnifiedLog.fetchLastStableOffsetMetadata). A transaction whose
// marker the high watermark has not passed is unstable too (ProducerStateManager,
// unreplicatedTxns). cut says that it is the high watermark that limits it. Without a
// known one it is the first unstable offset.
func (l *Log) LastStableOffset() (offset int64, cut bool) {
	offset = l.FirstUnstableOffset()
	if l.HighWatermark == nil {
		return offset, false
	}
	hw := min(max(*l.HighWatermark, l.LogStartOffset), l.LogEndOffset)
	if t := l.Txns; t != nil && t.unreplicated >= 0 && t.unreplicated < min(offset, hw) {
		return max(t.unreplicated, l.LogStartOffset), true
	}
	if hw < offset {
		return hw, true
	}
	return offset, false
}

// Transactions reads the log again and yields every transaction: finished ones in the
// order of their markers, then open ones by their first offset. The error, if any, comes
// last and is a failed read or ctx's error.
func (l *Log) Transactions(ctx context.Context) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		var sum TransactionTally
		stopped := false
		w := newTransactionWatch(l, &sum)
		w.each = func(t *Transaction) bool {
			stopped = stopped || !yield(*t, nil)
			return !stopped
		}
		s := stream{log: l, prevNext: -1, prevEpoch: -1, ahead: !l.opt.NoReadAhead && runtime.GOMAXPROCS(0) > 1, watch: []watcher{w}}
		n := 0
		err := s.run(0, 0, func(*Block) bool {
			n++
			return !stopped && (n%1024 != 0 || ctx.Err() == nil)
		})
		switch {
		case stopped:
			return
		case ctx.Err() != nil:
			err = ctx.Err()
		}
		if err != nil {
			yield(Transaction{}, err)
			return
		}
		for i := range sum.Open {
			if !yield(sum.Open[i], nil) {
				return
			}
		}
	}
}

// TransactionsAcross returns the transactions that truncating the log to cut leaves open:
// first offset below, marker at or above it, or none.
func (l *Log) TransactionsAcross(ctx context.Context, cut int64) ([]Transaction, error) {
	var out []Transaction
	for t, err := range l.Transactions(ctx) {
		if err != nil {
			return nil, err
		}
		if t.Across(cut) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b Transaction) int { return cmp.Compare(a.First, b.First) })
	return out, nil
}

// SameBlocks reports whether two logs hold the same blocks.
func (l *Log) SameBlocks(o *Log) bool {
	return l == o || l.LogEndOffset == o.LogEndOffset && l.Batches == o.Batches && l.Bytes == o.Bytes && len(l.Fingerprint.Differing(&o.Fingerprint)) == 0
}
