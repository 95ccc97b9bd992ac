package incident

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/replica"
)

// HangingTransaction is the code of a transaction that nothing will end.
const HangingTransaction finding.Code = "hanging-transaction"

// maxHangingFindings bounds the findings of one copy; the last one counts the rest.
const maxHangingFindings = 100

// Findings makes a finding of every hanging transaction on a live replica. Markers are not
// compared: kafsck txns does, and kafsck diff.
func (j *TransactionJudge) Findings(ctx context.Context, p *Partition) []finding.Finding {
	tx := collect(p)
	if !tx.anyOpen() {
		return nil
	}
	j.judgeOpen(ctx, p, tx)
	p.Errors = append(p.Errors, j.Errors()...) // without these words nobody is called hanging
	var out []finding.Finding
	for i := range tx.Copies {
		c := &tx.Copies[i]
		if c.Copy.State != replica.Live || c.Copy.Extra {
			continue
		}
		n := 0
		for k := range c.Open {
			x := &c.Open[k]
			if !x.Hanging {
				continue
			}
			if n++; n > maxHangingFindings {
				out[len(out)-1].Count++
				continue
			}
			out = append(out, j.finding(p, c, x))
		}
	}
	return out
}

func (t *Transactions) anyOpen() bool {
	return slices.ContainsFunc(t.Copies, func(c CopyTransactions) bool { return len(c.TransactionTally.Open) > 0 })
}

func (j *TransactionJudge) finding(p *Partition, c *CopyTransactions, x *OpenTransaction) finding.Finding {
	at := finding.Location{Partition: p.Name, TopicID: p.TopicID, Broker: c.Copy.Broker.Name, Position: x.Position, Length: -1, From: x.First, To: max(x.Last, x.First) + 1, Epoch: -1}
	if x.Segment >= 0 {
		at.File = c.Copy.Log.Segments[x.Segment].Log.Path
	}
	f := finding.Finding{Code: HangingTransaction, Severity: finding.Damage, Count: 1, At: at,
		Summary: fmt.Sprintf("the transaction of producer %d (epoch %d) from offset %d has no marker, and none will come: read-committed consumers stop at offset %d", x.ProducerID, x.ProducerEpoch, x.First, c.FirstUnstable),
		Next:    "On the running cluster: " + strings.Join(AbortCommand(p, x), " ") + " (describe-producers shows it first; kafsck txns has the form for brokers before 3.0)."}
	if x.Basis == ByFileTimes {
		f.Severity = finding.Note
		if atRest(c.Copy.Log) && x.Uncertain == "" {
			f.Severity = finding.Damage
		}
		f.Summary = fmt.Sprintf("the transaction of producer %d (epoch %d) from offset %d has no marker and may hang: read-committed consumers stop at offset %d", x.ProducerID, x.ProducerEpoch, x.First, c.FirstUnstable)
	}
	if x.Decision == "commit" {
		f.Next = "Do not abort it: the coordinator committed it. kafsck txns and kafsck diff tell whether another replica has the marker; have that lead."
	}
	f.Evidence = append(f.Evidence, says("%s", x.Why))
	if x.TransactionalID != "" {
		f.Evidence = append(f.Evidence, says("transactional id %s", x.TransactionalID))
	}
	if x.Uncertain != "" {
		f.Evidence = append(f.Evidence, says("uncertain: %s", x.Uncertain))
	}
	return f
}

// atRest reports whether a broker closed the log in order: it left its marker, or had flushed all, or
// the index of the active segment has been trimmed to its entries, which a running broker keeps at
// segment.index.bytes (AbstractIndex.close). What a kill cut off goes on when the broker runs again,
// and a copy of it that lost its file times looks as if nothing had come for long: no alarm.
func atRest(l *replica.Log) bool {
	if l.Partition.LogDir.CleanShutdown || l.RecoveryPoint != nil && *l.RecoveryPoint >= l.LogEndOffset {
		return true
	}
	last := len(l.Segments) - 1
	if last < 0 || l.Segments[last].Index == nil || l.Segments[last].Index.Size == 0 {
		return false
	}
	return !slices.ContainsFunc(l.Anomalies.Kept, func(a replica.Anomaly) bool {
		return a.Segment == last && (a.Kind == replica.IndexNotTrimmed || a.Kind == replica.IndexFullOfZeros || a.Kind == replica.IndexStale)
	})
}
