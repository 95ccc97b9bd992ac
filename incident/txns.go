package incident

import (
	"fmt"
	"slices"
	"time"

	"kafsck/logdir"
	"kafsck/replica"
)

// MaxTransactionTimeout is the default of transaction.max.timeout.ms: no producer may ask
// the coordinator for more, so that nothing stays open for longer that it knows of.
const MaxTransactionTimeout = 15 * time.Minute

// abortGrace is how long the coordinator may take beyond a timeout: it looks every 10 s
// (transaction.abort.timed.out.transaction.cleanup.interval.ms), and markers travel.
const abortGrace = time.Minute

// fileTimes is how much later than its last batch the files of a broker must be to say that
// a transaction hangs: transactional ids, too, are forgotten after that time
// (transactional.id.expiration.ms).
const fileTimes = 7 * 24 * time.Hour

// TransactionOptions steer the judgement of open transactions.
type TransactionOptions struct {
	// MaxTimeout is transaction.max.timeout.ms of the brokers; 0: the default.
	MaxTimeout time.Duration
}

// Transactions is what the copies of one partition hold of transactions.
type Transactions struct {
	Copies []CopyTransactions // directories that could be read, in the order of Partition.Copies
	// Missing are transactions that a marker ended on one live replica, and of which
	// another holds records without that marker although it reaches beyond it. At most
	// 256, MissingCount counts all.
	Missing      []MissingMarker
	MissingCount int
	// Contrary are offsets where two live replicas hold different markers.
	Contrary []ContraryMarker
	// CoordinatorUnknown says why the coordinator's word is not known, "" if it is: an open
	// transaction then cannot be told from a hanging one by the coordinator.
	CoordinatorUnknown string
	Errors             []logdir.PathError
}

// CopyTransactions is the transactions of one copy.
type CopyTransactions struct {
	Copy *Copy
	Open []OpenTransaction // open and hanging, by first offset
	*replica.TransactionTally
	// FirstUnstable is the first offset of the oldest open transaction, else the log end.
	FirstUnstable int64
	// LastStable is where a read-committed consumer stops: FirstUnstable, at most the high
	// watermark. Cut says that it is the latter that limits it.
	LastStable int64
	Cut        bool
}

// OpenTransaction is a transaction without a marker in a copy.
type OpenTransaction struct {
	replica.Transaction
	// Hanging: nothing that is known will end it. Basis and Why say how that is known; Why
	// also says why an open one is none, as far as that can be told.
	Hanging bool
	Basis   HangingBasis
	Why     string
	// TransactionalID is known from __transaction_state only, raw; "" unknown.
	TransactionalID string
	// Decision is what the coordinator decided without its marker being here: "commit",
	// "abort", or "".
	Decision string
	// SinceMs is when it began, ms: by the coordinator's clock where that is known, which
	// SinceCoordinator says, else the timestamp of its first batch, which producers may set; -1
	// unknown.
	SinceMs          int64
	SinceCoordinator bool
	// OpenMs is for how long it is known to be open, in ms; -1 not known.
	OpenMs int64
	// Uncertain says what makes its state doubtful, "" nothing: bytes of the copy that cannot
	// be read may have been its marker.
	Uncertain string
}

// HangingBasis is what shows that a transaction hangs.
type HangingBasis string

// The bases, the strongest first.
const (
	ByCoordinator HangingBasis = "coordinator"    // __transaction_state: it is over, or not known there
	ByEpoch       HangingBasis = "producer-epoch" // its producer went on under a newer epoch
	ByClocks      HangingBasis = "broker-clocks"  // open for longer than any timeout, by the brokers' clocks
	ByFileTimes   HangingBasis = "file-times"     // open for more than a week, by the times of the files
)

// MissingMarker is a marker that one live replica has and another lacks.
type MissingMarker struct {
	replica.Transaction       // as the replica has it that holds the marker
	Has, Lacks          *Copy // the live replicas
	// Open: it is open on the other replica; else EndedAt is the offset of a later marker of
	// the producer that ends it there together with its next transaction.
	Open    bool
	EndedAt int64
}

// ContraryMarker is an offset at which two live replicas hold different markers.
type ContraryMarker struct {
	Offset int64
	A, B   *Copy
	OfA    replica.Transaction
	OfB    replica.Transaction
}

// maxMissing bounds the missing and the contrary markers that are kept.
const maxMissing = 256

// Counts reports whether something is wrong: a hanging transaction on a live replica, or
// markers that replicas do not share.
func (t *Transactions) Counts() bool {
	return t.MissingCount > 0 || len(t.Contrary) > 0 || slices.ContainsFunc(t.Copies, func(c CopyTransactions) bool {
		return c.Copy.State == replica.Live && slices.ContainsFunc(c.Open, func(x OpenTransaction) bool { return x.Hanging })
	})
}

// Any reports whether any copy holds anything of a transaction.
func (t *Transactions) Any() bool {
	return slices.ContainsFunc(t.Copies, func(c CopyTransactions) bool { return c.Any() })
}

// timeText is a timestamp in prose, UTC to the second.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

// durationText is a time span of ms milliseconds in prose: what matters of it.
func durationText(ms int64) string {
	s := ms / 1000
	switch {
	case s >= 2*24*3600:
		return fmt.Sprintf("%d days", s/(24*3600))
	case s >= 2*3600:
		return fmt.Sprintf("%d h", s/3600)
	case s >= 120:
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d s", s)
}

// AbortCommand is the command line that writes an ABORT marker for the transaction into the
// partition, for brokers of Kafka 3.0 and later: the broker looks up the producer by the
// offset (TransactionsCommand.AbortTransactionCommand, KIP-664).
func AbortCommand(p *Partition, x *OpenTransaction) []string {
	return append(abortPrefix(p), "--start-offset", fmt.Sprint(x.First))
}

// AbortCommandBefore30 is the form for older brokers, which do not tell of their producers.
// A producer without a marker yet has no coordinator epoch: 0 is at most any leader's.
func AbortCommandBefore30(p *Partition, x *OpenTransaction) []string {
	return append(abortPrefix(p), "--producer-id", fmt.Sprint(x.ProducerID), "--producer-epoch", fmt.Sprint(x.ProducerEpoch),
		"--coordinator-epoch", fmt.Sprint(max(x.CoordinatorEpoch, 0)))
}

func abortPrefix(p *Partition) []string {
	return []string{"kafka-transactions.sh", "--bootstrap-server", "HOST:9092", "abort", "--topic", p.Topic, "--partition", fmt.Sprint(p.Number)}
}

// Keep drops what keep does not want: open transactions by state ("open" or "hanging"),
// and missing markers by that of the transaction that they ended.
func (t *Transactions) Keep(keep func(state string, x *replica.Transaction, transactionalID string) bool) {
	for i := range t.Copies {
		c := &t.Copies[i]
		c.Open = slices.DeleteFunc(c.Open, func(x OpenTransaction) bool { return !keep(x.StateText(), &x.Transaction, x.TransactionalID) })
	}
	missing := slices.DeleteFunc(t.Missing, func(m MissingMarker) bool { return !keep(string(m.State), &m.Transaction, "") })
	if len(missing) < len(t.Missing) {
		t.Missing, t.MissingCount = missing, len(missing)
	}
}

// StateText is "hanging" or "open".
func (x *OpenTransaction) StateText() string {
	if x.Hanging {
		return "hanging"
	}
	return string(x.State)
}
