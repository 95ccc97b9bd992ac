package incident

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"kafsck/internaltopic"
)

// maxLogged bounds how many transactions of __transaction_state are kept.
const maxLogged = 500_000

// LoggedTransaction is one transaction of a transactional id, as the records of
// __transaction_state tell it in one copy. After compaction only its last record may be
// left: then Partitions is empty, and was perhaps not.
type LoggedTransaction struct {
	TransactionalID string // raw
	ProducerID      int64
	// ProducerEpoch is the one in the newest record. With transaction protocol 2 the
	// records of the transaction carry one less, its marker this one.
	ProducerEpoch int16
	// FirstEpoch is the one in the first record of the transaction that is left.
	FirstEpoch int16
	Partitions []internaltopic.TopicPartitions // all that were ever part of it
	// Status of the newest record. CompleteCommit: every partition has its COMMIT marker,
	// acknowledged by the leaders. PrepareCommit: decided, markers on their way.
	Status    internaltopic.TransactionStatus
	TimeoutMs int32
	StartMs   int64 // coordinator's clock, -1 none
	UpdateMs  int64
	Deleted   bool      // the id has expired since
	First     RecordRef // of its first record that is left
	Last      RecordRef // of the newest
	// Rules: the copy is InternalPartition.From.
	Rules bool
}

// Committed reports whether the transaction was committed: decided, and so not to be undone.
func (t *LoggedTransaction) Committed() bool {
	return t.Status == internaltopic.TransactionPrepareCommit || t.Status == internaltopic.TransactionCompleteCommit
}

// Completed reports whether all its markers were written and acknowledged.
func (t *LoggedTransaction) Completed() bool {
	return t.Status == internaltopic.TransactionCompleteCommit || t.Status == internaltopic.TransactionCompleteAbort
}

// Has reports whether a partition was part of it, by name.
func (t *LoggedTransaction) Has(topic string, partition int32) bool {
	return slices.ContainsFunc(t.Partitions, func(p internaltopic.TopicPartitions) bool {
		return p.Topic == topic && slices.Contains(p.Partitions, partition)
	})
}

// TransactionLog is all that __transaction_state says.
type TransactionLog struct {
	InternalTopic
	// Transactions by transactional id, then in the order of their records; what several
	// copies tell alike comes once. Ids without any transaction yet (Empty) are among them.
	Transactions []LoggedTransaction
	// Dropped counts transactions beyond 500,000, the oldest of their id first.
	Dropped int64
}

// ByID are the transactions of a transactional id.
func (l *TransactionLog) ByID(id string) []LoggedTransaction {
	return l.where(func(t *LoggedTransaction) bool { return t.TransactionalID == id })
}

// ByProducer are the transactions of a producer id in a cluster.
func (l *TransactionLog) ByProducer(cl *Cluster, producerID int64) []LoggedTransaction {
	return l.where(func(t *LoggedTransaction) bool { return t.ProducerID == producerID && t.Last.Cluster == cl })
}

func (l *TransactionLog) where(match func(*LoggedTransaction) bool) []LoggedTransaction {
	var out []LoggedTransaction
	for i := range l.Transactions {
		if match(&l.Transactions[i]) {
			out = append(out, l.Transactions[i])
		}
	}
	return out
}

// TransactionLog reads __transaction_state, once.
func (inc *Incident) TransactionLog(ctx context.Context) *TransactionLog {
	return readOnce(ctx, &inc.internal.mu, &inc.internal.transactions, func() *TransactionLog {
		b := transactionBuilder{l: &TransactionLog{}}
		r := internalReader{inc: inc, topic: internaltopic.TransactionState, begin: b.begin}
		b.l.InternalTopic = r.read(ctx)
		b.finish()
		return b.l
	})
}

type transactionBuilder struct {
	mu sync.Mutex
	l  *TransactionLog
}

func (b *transactionBuilder) begin(p *InternalPartition, c *InternalCopy, from bool) collector {
	return &transactionCollector{b: b, p: p, ic: c, from: from, newest: map[string]int{}}
}

type transactionCollector struct {
	b      *transactionBuilder
	p      *InternalPartition
	ic     *InternalCopy
	from   bool
	list   []LoggedTransaction
	newest map[string]int // transactional id to index
}

func (c *transactionCollector) marker(int64, bool, int64, int64) {}

// record goes on with the newest transaction of an id, or begins one: at an Ongoing state
// with another start, or when the newest is complete.
func (c *transactionCollector) record(r *internalRecord) {
	t, ok := r.Transaction()
	if !ok {
		return
	}
	at := r.ref(c.p, c.ic)
	i, known := c.newest[t.TransactionalID]
	if t.Deleted {
		if known {
			c.list[i].Deleted, c.list[i].Last = true, at
		}
		return
	}
	if !known || c.list[i].begins(&t) {
		i = len(c.list)
		c.newest[t.TransactionalID] = i
		c.list = append(c.list, LoggedTransaction{TransactionalID: t.TransactionalID, ProducerID: t.ProducerID, FirstEpoch: t.ProducerEpoch, StartMs: t.StartMs, First: at, Rules: c.from})
	}
	l := &c.list[i]
	l.ProducerID, l.ProducerEpoch, l.Status, l.TimeoutMs, l.UpdateMs, l.Last = t.ProducerID, t.ProducerEpoch, t.Status, t.TimeoutMs, t.UpdateMs, at
	for _, p := range t.Partitions {
		l.join(p)
	}
	if len(c.list) > maxLogged {
		c.shorten()
	}
}

// begins reports whether t is the first record of another transaction than l.
func (l *LoggedTransaction) begins(t *internaltopic.Transaction) bool {
	switch {
	case l.Deleted || t.ProducerID != l.ProducerID:
		return true
	case t.Status == internaltopic.TransactionOngoing:
		return l.Status != internaltopic.TransactionOngoing || t.StartMs != l.StartMs
	case t.Status == internaltopic.TransactionEmpty:
		return l.Status != internaltopic.TransactionEmpty
	}
	return l.Completed() && t.StartMs != l.StartMs
}

// join adds partitions to those known.
func (l *LoggedTransaction) join(p internaltopic.TopicPartitions) {
	for i := range l.Partitions {
		if l.Partitions[i].Topic == p.Topic {
			for _, n := range p.Partitions {
				if !slices.Contains(l.Partitions[i].Partitions, n) {
					l.Partitions[i].Partitions = append(l.Partitions[i].Partitions, n)
				}
			}
			return
		}
	}
	l.Partitions = append(l.Partitions, p)
}

// shorten drops the older half, but for the newest transaction of each id.
func (c *transactionCollector) shorten() {
	keep := make([]LoggedTransaction, 0, len(c.list))
	half := len(c.list) / 2
	for i := range c.list {
		id := c.list[i].TransactionalID
		if i >= half || c.newest[id] == i {
			c.newest[id] = len(keep)
			keep = append(keep, c.list[i])
		}
	}
	c.b.mu.Lock()
	c.b.l.Dropped += int64(len(c.list) - len(keep))
	c.b.mu.Unlock()
	c.list = keep
}

func (c *transactionCollector) end() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.l.Transactions = append(c.b.l.Transactions, c.list...)
}

// finish sorts, and leaves out what several copies tell alike.
func (b *transactionBuilder) finish() {
	l := b.l
	slices.SortStableFunc(l.Transactions, func(a, b LoggedTransaction) int {
		rules := 0
		if a.Rules != b.Rules {
			rules = 1
			if a.Rules {
				rules = -1
			}
		}
		return cmp.Or(strings.Compare(a.Last.Cluster.ID, b.Last.Cluster.ID), strings.Compare(a.TransactionalID, b.TransactionalID),
			cmp.Compare(a.Last.Offset, b.Last.Offset), rules)
	})
	l.Transactions = slices.CompactFunc(l.Transactions, func(a, b LoggedTransaction) bool {
		return a.Last.Cluster == b.Last.Cluster && a.TransactionalID == b.TransactionalID && a.ProducerID == b.ProducerID &&
			a.StartMs == b.StartMs && a.UpdateMs == b.UpdateMs && a.Status == b.Status && a.Deleted == b.Deleted
	})
}
