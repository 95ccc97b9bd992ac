package incident

import (
	"fmt"

	"kafsck/internaltopic"
	"kafsck/replica"
)

// hanging judges the open transactions of a partition.
type hanging struct {
	p           *Partition
	opt         TransactionOptions
	coordinator *coordinator
}

// all judges the open transactions of every copy. The ruling leader's log says what holds,
// else the longest one among the live replicas; a shorter one may merely be behind it.
func (j *hanging) all(copies []CopyTransactions) {
	var ref *CopyTransactions
	for i := range copies {
		c := &copies[i]
		if c.Copy.State != replica.Live || c.Copy.Extra {
			continue
		}
		if r := &j.p.Ruling; !r.Guess && r.copy == c.Copy {
			ref = c
			break
		}
		if ref == nil || c.Copy.Log.LogEndOffset > ref.Copy.Log.LogEndOffset {
			ref = c
		}
	}
	if ref != nil {
		j.copy(ref, nil)
	}
	for i := range copies {
		if c := &copies[i]; c != ref {
			j.copy(c, ref)
		}
	}
}

func (j *hanging) copy(c, ref *CopyTransactions) {
	for _, t := range c.TransactionTally.Open {
		x := OpenTransaction{Transaction: t, SinceMs: t.FirstMs, OpenMs: -1}
		x.TransactionalID = j.coordinator.transactionalID(t.ProducerID)
		switch same := ref.holding(&t); {
		case same != nil:
			x = *same
			x.Transaction = t
			x.Uncertain = j.uncertain(c.Copy, &x)
		case ref != nil && ref.Copy.Log.LogEndOffset >= c.Copy.Log.LogEndOffset && ref.Copy.Log.LogStartOffset <= t.First:
			x.Why = fmt.Sprintf("it is not open on broker %s, whose log reaches to offset %d: this copy is behind, or lacks the marker", ref.Copy.Broker.Name, ref.Copy.Log.LogEndOffset-1)
			x.Uncertain = j.uncertain(c.Copy, &x)
		default:
			j.judge(c.Copy, &x)
		}
		c.Open = append(c.Open, x)
	}
}

// holding finds a transaction among the open ones of another copy.
func (c *CopyTransactions) holding(t *replica.Transaction) *OpenTransaction {
	if c == nil {
		return nil
	}
	for i := range c.Open {
		if x := &c.Open[i]; x.ProducerID == t.ProducerID && x.First == t.First {
			return x
		}
	}
	return nil
}

// copiedMs is up to when a copy can know of the cluster, ms, -1 unknown: the end of its
// disk's metadata log, else the newest of its markers and files.
func copiedMs(c *Copy) int64 {
	ms := c.Log.Txns.NewestMarkerMs
	if c.disk == nil {
		return ms
	}
	if m := c.disk.metadata; m != nil && m.EndTimeMs > 0 {
		return max(ms, m.EndTimeMs)
	}
	if !c.disk.newest.IsZero() {
		ms = max(ms, c.disk.newest.UnixMilli())
	}
	return ms
}

// judge decides whether an open transaction hangs. The coordinator's word goes before what
// the log itself shows, that before clocks, and brokers' clocks before those of producers.
func (j *hanging) judge(c *Copy, x *OpenTransaction) {
	x.Uncertain = j.uncertain(c, x)
	limit := (j.opt.MaxTimeout + abortGrace).Milliseconds()
	if j.byCoordinator(c, x) {
		return
	}
	if x.SpansEpochs() {
		x.Hanging, x.Basis = true, ByEpoch
		x.Why = fmt.Sprintf("no marker ended what the producer began with epoch %d, and it goes on with epoch %d: these records share the fate of its next transaction", x.FirstEpoch, x.ProducerEpoch)
		return
	}
	// Producers set the timestamps of their batches: only markers, and batches with
	// LogAppendTime, carry a broker's clock.
	newest, since := c.Log.Txns.NewestMarkerMs, x.AfterMs
	how := "its last batch was there when another transaction ended at"
	if x.AppendTime {
		newest, since, how = max(newest, c.Log.Txns.EndMs), x.LastMs, "its last batch was appended at"
	}
	if since >= 0 && newest >= since {
		if x.OpenMs = newest - since; x.OpenMs > limit {
			x.Hanging, x.Basis = true, ByClocks
			x.Why = fmt.Sprintf("%s %s, and what was written last is of %s: %s without a marker, by the brokers' clocks; the coordinator aborts after %s at the latest (transaction.max.timeout.ms)",
				how, timeText(since), timeText(newest), durationText(x.OpenMs), durationText(j.opt.MaxTimeout.Milliseconds()))
			return
		}
	}
	if c.disk != nil && !c.disk.newest.IsZero() && j.coordinator.why() != "" {
		// Files of a broker that was killed and copied hours later without their times look
		// as if it had run on: only more than a week is taken for a sign.
		if ms := c.disk.newest.UnixMilli(); x.LastMs >= 0 && ms-x.LastMs > max(fileTimes.Milliseconds(), limit) {
			x.Hanging, x.Basis, x.OpenMs = true, ByFileTimes, ms-x.LastMs
			x.Why = fmt.Sprintf("its last batch is of %s, and the broker's files were written up to %s (a copy that did not keep file times shows when it was made): no marker came for %s; the coordinator aborts after %s at the latest (transaction.max.timeout.ms)",
				timeText(x.LastMs), timeText(ms), durationText(x.OpenMs), durationText(j.opt.MaxTimeout.Milliseconds()))
			return
		}
	}
	if x.Why == "" {
		x.Why = "nothing shows that it hangs"
		if j.coordinator.why() != "" {
			x.Why += ", but whether the coordinator still knows it cannot be told: " + j.coordinator.why()
		}
	}
}

// uncertain says what makes it doubtful that a transaction without a marker is open.
func (j *hanging) uncertain(c *Copy, x *OpenTransaction) string {
	switch {
	case x.Damaged:
		return "bytes behind its beginning cannot be read: its marker may have been among them"
	case x.Batches > 0 && x.Records == 0 && x.Emptied >= 0:
		return fmt.Sprintf("the cleaner has removed all its records and emptied its marker at offset %d, which it does only behind the end of a transaction: Kafka takes the empty batch for an open one only if it has to read the log again", x.Emptied)
	case x.Batches > 0 && x.Records == 0:
		return "the cleaner has removed all its records, which it does only behind the end of a transaction: Kafka takes the empty batch for an open one only if it has to read the log again"
	case x.Mixed:
		return "its producer also wrote outside of it meanwhile, which a broker refuses (InvalidTxnStateException)"
	case x.Gap && j.p.Ruling.Policy != compactPolicy && !c.Log.Sparse:
		return "offsets behind its beginning are missing: its marker may have been among them"
	}
	return ""
}

// byCoordinator judges by __transaction_state, and reports whether that settles it.
func (j *hanging) byCoordinator(c *Copy, x *OpenTransaction) bool {
	w := j.coordinator
	s, known := w.latest(x.ProducerID)
	if !known {
		if w.whole && x.AfterMs >= 0 && w.newestMs >= x.AfterMs { // it was read later than the transaction was written
			x.Hanging, x.Basis = true, ByCoordinator
			x.Why = fmt.Sprintf("no transactional id in __transaction_state has producer id %d: the coordinator has forgotten it and will not end it", x.ProducerID)
			return true
		}
		return false
	}
	if copied := copiedMs(c); copied >= 0 && s.UpdateMs > copied+copySlack.Milliseconds() {
		x.Why = fmt.Sprintf("__transaction_state has a later state of %s than this copy, which ends at %s, can know of", timeText(s.UpdateMs), timeText(copied))
		return true
	}
	if d, ok := w.decided(x, j.p); ok {
		x.Decision = "abort"
		if d.StartMs >= 0 {
			x.SinceMs, x.SinceCoordinator = d.StartMs, true
		}
		if d.Status == internaltopic.TransactionPrepareCommit {
			x.Decision = "commit"
		}
		if s.UpdateMs > d.UpdateMs || s.Status != d.Status {
			x.Hanging, x.Basis = true, ByCoordinator
			x.Why = fmt.Sprintf("__transaction_state: the coordinator decided to %s it at %s and was done with it (%s at %s), but the marker is not here", x.Decision, timeText(d.UpdateMs), s.Status, timeText(s.UpdateMs))
			return true
		}
		x.Why = fmt.Sprintf("__transaction_state: the coordinator decided to %s it at %s and was still writing markers: it will write this one when it runs", x.Decision, timeText(d.UpdateMs))
		return true
	}
	hangs := func(format string, args ...any) bool {
		x.Hanging, x.Basis, x.Why = true, ByCoordinator, "__transaction_state: "+fmt.Sprintf(format, args...)
		return true
	}
	state := fmt.Sprintf("%s, epoch %d, at %s", s.Status, s.ProducerEpoch, timeText(s.UpdateMs))
	switch {
	case s.ProducerID != x.ProducerID:
		return hangs("its transactional id goes on as producer %d (%s): nobody will end what producer %d began", s.ProducerID, state, x.ProducerID)
	case s.ProducerEpoch < x.ProducerEpoch:
		x.Why = fmt.Sprintf("__transaction_state among the inputs is older than this transaction (%s)", state)
		return false
	case s.Status == internaltopic.TransactionOngoing && s.ProducerEpoch == x.ProducerEpoch && lists(&s, j.p):
		newest := max(c.Log.Txns.NewestMarkerMs, w.newestMs)
		if s.StartMs >= 0 {
			x.SinceMs, x.SinceCoordinator = s.StartMs, true
		}
		x.OpenMs = max(newest-s.StartMs, 0)
		if over := newest - s.StartMs - int64(s.TimeoutMs); s.StartMs >= 0 && over > abortGrace.Milliseconds() {
			return hangs("ongoing since %s, and its timeout of %s had passed for %s when the newest marker or state was written: the coordinator has not aborted it", timeText(s.StartMs), durationText(int64(s.TimeoutMs)), durationText(over))
		}
		x.Why = fmt.Sprintf("__transaction_state: ongoing since %s; the coordinator aborts it when its timeout of %s has passed, unless its producer ends it", timeText(s.StartMs), durationText(int64(s.TimeoutMs)))
		return true
	case s.Status == internaltopic.TransactionOngoing && s.ProducerEpoch == x.ProducerEpoch:
		return hangs("its producer has a transaction (%s), but %s is not among its partitions: no marker will come here", state, j.p.Name)
	case s.ProducerEpoch > x.ProducerEpoch && s.Status != internaltopic.TransactionPrepareAbort && s.Status != internaltopic.TransactionPrepareCommit:
		return hangs("the producer has moved on (%s): nobody will end what it began with epoch %d", state, x.ProducerEpoch)
	}
	return hangs("the coordinator knows of no transaction that goes on (%s)", state)
}

// lists reports whether a state names the partition.
func lists(s *internaltopic.Transaction, p *Partition) bool {
	for _, tp := range s.Partitions {
		if tp.Topic != p.Topic {
			continue
		}
		for _, n := range tp.Partitions {
			if n == p.Number {
				return true
			}
		}
	}
	return false
}
