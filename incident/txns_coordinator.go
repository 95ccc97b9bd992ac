package incident

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"kafsck/internaltopic"
	"kafsck/logdir"
	"kafsck/replica"
)

// maxDecisions is how many decisions of a producer are remembered, the newest: only one
// that is newer than the producer's last marker in a partition can lack its marker there.
const maxDecisions = 8

// coordinator is what __transaction_state of one cluster says.
type coordinator struct {
	unknown string // why its word is not known; "" if some partition of it was read
	// whole: every partition of __transaction_state is among the inputs.
	whole     bool
	newestMs  int64 // newest state, coordinators' clocks; -1 none
	producers map[int64]*producerStates
}

// producerStates is what transactional states say of one producer id.
type producerStates struct {
	latest    internaltopic.Transaction   // of the transactional id that had it last
	decisions []internaltopic.Transaction // PrepareCommit and PrepareAbort, by UpdateMs
}

// latest is the newest state of the transactional id that had a producer id last.
func (w *coordinator) latest(producer int64) (internaltopic.Transaction, bool) {
	if p := w.producers[producer]; p != nil {
		return p.latest, true
	}
	return internaltopic.Transaction{}, false
}

// transactionalID is the id that had a producer id last, "" unknown.
func (w *coordinator) transactionalID(producer int64) string {
	s, _ := w.latest(producer)
	return s.TransactionalID
}

// decided finds a decision on a transaction of which the partition has no marker: it names
// the partition, and was taken after the producer's last marker there was written. With
// transaction.version 2 it carries the next producer epoch (KIP-890).
func (w *coordinator) decided(x *OpenTransaction, p *Partition) (internaltopic.Transaction, bool) {
	s := w.producers[x.ProducerID]
	if s == nil {
		return internaltopic.Transaction{}, false
	}
	for i := range slices.Backward(s.decisions) {
		d := &s.decisions[i]
		if (d.ProducerEpoch == x.ProducerEpoch || d.ProducerEpoch == x.ProducerEpoch+1) && d.UpdateMs > x.BeforeMs && lists(d, p) {
			return *d, true
		}
	}
	return internaltopic.Transaction{}, false
}

// coordinators reads __transaction_state once, when first asked.
type coordinators struct {
	once      sync.Once
	byCluster map[*Cluster]*coordinator
	errors    []logdir.PathError
}

// of is the word of a cluster's coordinators.
func (c *coordinators) of(ctx context.Context, inc *Incident, cl *Cluster) *coordinator {
	c.once.Do(func() { c.read(ctx, inc) })
	if w := c.byCluster[cl]; w != nil {
		return w
	}
	return &coordinator{unknown: "__transaction_state is not among the inputs", newestMs: -1}
}

func (c *coordinators) read(ctx context.Context, inc *Incident) {
	c.byCluster = map[*Cluster]*coordinator{}
	ids := map[*Cluster]map[string]*statesOfID{}
	var mu sync.Mutex
	r := internalReader{inc: inc, topic: internaltopic.TransactionState, begin: func(p *InternalPartition, _ *InternalCopy, _ bool) collector {
		mu.Lock()
		defer mu.Unlock()
		if ids[p.Cluster] == nil {
			ids[p.Cluster] = map[string]*statesOfID{}
		}
		return &stateCollector{mu: &mu, ids: ids[p.Cluster]}
	}}
	topic := r.read(ctx)
	c.errors = topic.Errors
	for _, p := range topic.Partitions {
		if c.byCluster[p.Cluster] == nil {
			c.byCluster[p.Cluster] = joinStates(ids[p.Cluster], &topic, p.Cluster)
		}
	}
}

// joinStates sorts what the transactional ids went through by producer id.
func joinStates(ids map[string]*statesOfID, topic *InternalTopic, cl *Cluster) *coordinator {
	w := &coordinator{newestMs: -1, producers: map[int64]*producerStates{}}
	read, total := topic.Readable(cl), topic.Total(cl)
	switch {
	case len(read) == 0:
		w.unknown = "no partition of __transaction_state could be read"
		return w
	case total == 0:
		w.whole = false // which partitions there are is not known
	default:
		w.whole = len(read) == int(total)
	}
	damaged := false
	for _, p := range topic.Partitions {
		damaged = damaged || p.Cluster == cl && p.From != nil && p.From.Skipped > 0
	}
	w.whole = w.whole && !damaged && len(topic.Undecoded) == 0
	for _, s := range ids {
		w.newestMs = max(w.newestMs, s.latest.UpdateMs)
		for _, id := range s.producers {
			p := w.producers[id]
			if p == nil {
				p = &producerStates{}
				w.producers[id] = p
			}
			if s.latest.UpdateMs >= p.latest.UpdateMs {
				p.latest = s.latest
			}
		}
		for _, d := range s.decisions {
			if p := w.producers[d.ProducerID]; p != nil {
				p.decisions = append(p.decisions, d)
			}
		}
	}
	for _, p := range w.producers {
		slices.SortStableFunc(p.decisions, func(a, b internaltopic.Transaction) int { return cmp.Compare(a.UpdateMs, b.UpdateMs) })
	}
	return w
}

// why says why the coordinator says nothing of a producer id.
func (w *coordinator) why() string {
	switch {
	case w.unknown != "":
		return w.unknown
	case !w.whole:
		return "not all partitions of __transaction_state are among the inputs"
	}
	return ""
}

// statesOfID is what one transactional id went through, all copies together.
type statesOfID struct {
	latest    internaltopic.Transaction
	producers []int64 // ids that it had, the newest last
	decisions []internaltopic.Transaction
}

// stateCollector takes the records of one copy.
type stateCollector struct {
	mu  *sync.Mutex
	ids map[string]*statesOfID
}

func (c *stateCollector) record(r *internalRecord) {
	t, ok := r.Transaction()
	if !ok || t.Deleted {
		return // an expired id: what it was is still true of its transactions
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.ids[t.TransactionalID]
	if s == nil {
		t.TransactionalID = strings.Clone(t.TransactionalID)
		s = &statesOfID{latest: t}
		c.ids[t.TransactionalID] = s
	}
	t.TransactionalID = s.latest.TransactionalID
	if t.UpdateMs >= s.latest.UpdateMs {
		s.latest = t
	}
	for _, id := range []int64{t.PreviousProducerID, t.ProducerID} {
		if id >= 0 && !slices.Contains(s.producers, id) {
			if len(s.producers) >= maxProducersOfID {
				s.producers = slices.Delete(s.producers, 0, 1)
			}
			s.producers = append(s.producers, id)
		}
	}
	if t.Status == internaltopic.TransactionPrepareCommit || t.Status == internaltopic.TransactionPrepareAbort {
		for i := range s.decisions {
			if d := &s.decisions[i]; d.UpdateMs == t.UpdateMs && d.Status == t.Status && d.ProducerEpoch == t.ProducerEpoch {
				return // another copy said so
			}
		}
		if len(s.decisions) >= maxDecisions {
			s.decisions = slices.Delete(s.decisions, 0, 1)
		}
		s.decisions = append(s.decisions, t)
	}
}

// maxProducersOfID bounds how many producer ids of one transactional id are remembered: it
// gets a new one after 32,767 epochs, or when it expired.
const maxProducersOfID = 16

func (c *stateCollector) marker(int64, bool, int64, int64) {}
func (c *stateCollector) end()                             {}

// TransactionJudge tells the transactions of one partition after the other. It reads
// __transaction_state of all inputs once, and only if a transaction is open somewhere.
type TransactionJudge struct {
	inc   *Incident
	opt   TransactionOptions
	words coordinators
}

// TransactionJudge makes one. The Incident was opened with Options.Transactions.
func (inc *Incident) TransactionJudge(opt TransactionOptions) *TransactionJudge {
	if opt.MaxTimeout <= 0 {
		opt.MaxTimeout = MaxTransactionTimeout
	}
	return &TransactionJudge{inc: inc, opt: opt}
}

// Errors are failed reads of __transaction_state so far.
func (j *TransactionJudge) Errors() []logdir.PathError { return j.words.errors }

// TransactionalID is the transactional id that had a producer id last, "" unknown.
func (j *TransactionJudge) TransactionalID(ctx context.Context, p *Partition, producer int64) string {
	return j.words.of(ctx, j.inc, p.Cluster).transactionalID(producer)
}

// Judge tells the transactions of a partition. Live replicas with transactions that are not
// equal are read once more to compare their markers. Failed reads are told in Errors.
func (j *TransactionJudge) Judge(ctx context.Context, p *Partition) *Transactions {
	out := collect(p)
	if out.Any() {
		out.compareMarkers(ctx)
		j.judgeOpen(ctx, p, out)
	}
	return out
}

// collect takes over what the pass found in each directory.
func collect(p *Partition) *Transactions {
	out := &Transactions{}
	for _, c := range p.Copies {
		switch c.State {
		case replica.Live, replica.Future, replica.Stray, replica.Delete:
		default:
			continue // parts of a log: what is open at their end says nothing
		}
		if !c.readable() || c.Log.Txns == nil {
			continue
		}
		x := CopyTransactions{Copy: c, TransactionTally: c.Log.Txns, FirstUnstable: c.Log.FirstUnstableOffset()}
		x.LastStable, x.Cut = c.Log.LastStableOffset()
		out.Copies = append(out.Copies, x)
	}
	return out
}

func (j *TransactionJudge) judgeOpen(ctx context.Context, p *Partition, out *Transactions) {
	if !slices.ContainsFunc(out.Copies, func(c CopyTransactions) bool { return len(c.TransactionTally.Open) > 0 }) {
		return
	}
	w := j.words.of(ctx, j.inc, p.Cluster)
	h := hanging{p: p, opt: j.opt, coordinator: w}
	h.all(out.Copies)
	for _, c := range out.Copies {
		if slices.ContainsFunc(c.Open, func(x OpenTransaction) bool { return x.TransactionalID == "" }) {
			out.CoordinatorUnknown = w.why()
		}
	}
}
