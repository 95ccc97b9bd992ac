package cli

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"kafsck/commitment"
	"kafsck/export"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/report"
)

// partition exports one partition, or says why not. An error ends the run.
func (x *exporter) partition(ctx context.Context, p *incident.Partition) error {
	if len(p.Errors) > 0 {
		x.app.fail(exitIncomplete)
		x.scope.Errors += len(p.Errors)
		if x.o.lost || !p.Ruling.Judged && !x.o.fromSet {
			return fmt.Errorf("%s: a copy could not be read", p.Name)
		}
	}
	out := &report.ExportedPartition{Partition: p.Name, TopicID: p.TopicID, Redacted: x.o.redact, States: map[string]int64{}}
	defer func() {
		for _, c := range p.Copies {
			if c.Log != nil {
				c.Log.Release()
			}
		}
	}()
	if x.o.lost {
		return x.lostOf(ctx, p, out)
	}
	c, why, err := x.copyOf(p)
	if err != nil {
		return err
	}
	if c == nil {
		x.text.Untold = append(x.text.Untold, p.Name+": "+why)
		return nil
	}
	src := x.source(p, c, x.hanging(ctx, p))
	out.Broker, out.State, out.Dir, out.Why = c.Broker, c.State, c.Dir, why
	out.From, out.To, out.LogEnd = c.Log.LogStartOffset, c.Log.LogEndOffset, c.Log.LogEndOffset
	if n := len(c.Log.Segments); n > 0 && x.o.offsets == everyOffset {
		out.BelowStart = c.Log.LogStartOffset > c.Log.Segments[0].BaseOffset
	}
	if x.o.offsets != everyOffset {
		out.From, out.To = max(x.o.offsets.first, 0), out.LogEnd
		if x.o.offsets.last < math.MaxInt64 {
			out.To = min(out.To, x.o.offsets.last+1)
		}
	}
	if x.o.committed {
		out.From = max(out.From, c.Log.LogStartOffset)
		if stable, cut := c.Log.LastStableOffset(); stable < out.To {
			out.To = stable
			out.StoppedAt = fmt.Sprintf("at the last stable offset %d: a transaction is open there; the log ends at %d", stable, out.LogEnd)
			if cut {
				out.StoppedAt = fmt.Sprintf("at the high watermark %d, which is written every 5 s; the log ends at %d: without --committed the rest is exported, too", stable, out.LogEnd)
			}
		}
	}
	out.To = max(out.To, out.From)
	for _, an := range c.Log.Anomalies.Kept {
		if an.Kind == replica.TornTail {
			out.Tail += an.Length
		}
	}
	src.From, src.To, src.Overlaps = out.From, out.To, true
	return x.write(p, out, src.Records(ctx), src)
}

// copyOf chooses the replica that is exported; nil: none, and why.
func (x *exporter) copyOf(p *incident.Partition) (c *incident.Copy, why string, err error) {
	live := p.Live()
	if len(live) == 0 {
		live = p.Copies // what was set aside is all that there is
	}
	var readable []*incident.Copy
	for _, c := range live {
		switch {
		case x.o.fromSet && !slices.ContainsFunc(x.from, func(b *logdir.Broker) bool { return b.String() == c.Broker.Name }):
			continue
		case c.Err != nil && (x.o.fromSet || len(live) == 1):
			return nil, "", fmt.Errorf("%s: %w", c.Dir, c.Err)
		case c.Err == nil && c.Log != nil && c.State != replica.Cleaned:
			readable = append(readable, c)
		}
	}
	if x.o.fromSet {
		if len(readable) == 0 {
			return nil, fmt.Sprintf("broker %s has no replica of it among the inputs", x.from[0]), nil
		}
		return readable[0], fmt.Sprintf("the replica of broker %s (--from)", x.from[0]), nil
	}
	if l := p.Ruling.Leader; l != nil {
		for _, c := range live {
			if c.Broker == *l {
				if c.Err != nil {
					return nil, "", fmt.Errorf("%s: %w", c.Dir, c.Err)
				}
				if slices.ContainsFunc(p.Copies, func(o *incident.Copy) bool { return o.Extra && o.Broker == c.Broker }) {
					return c, "of the two directories of broker " + c.Broker.Name + " the newer one, kafsck diff compares them", nil
				}
				if len(readable) == 1 {
					return c, "the only replica here", nil
				}
				return c, "the leader's replica (" + p.Ruling.Why + ")", nil
			}
		}
	}
	switch len(readable) {
	case 0:
		return nil, "no replica that could be read", nil
	case 1:
		why := "the only replica here"
		if s := readable[0].State; s != replica.Live {
			why = "the only copy here, set aside: " + string(s)
		}
		return readable[0], why, nil
	}
	first := readable[0]
	if first.State == replica.Live && !slices.ContainsFunc(readable, func(c *incident.Copy) bool { return !c.Log.SameBlocks(first.Log) }) {
		return first, "no leader is known, and all replicas here hold the same", nil
	}
	return nil, "no leader is known (" + reasonOf(p) + "), and the replicas here differ: name one with --from BROKER", nil
}

func reasonOf(p *incident.Partition) string {
	if p.Ruling.Reason != "" {
		return p.Ruling.Reason
	}
	return p.Ruling.Why
}

// hanging tells hanging transactions from open ones.
func (x *exporter) hanging(ctx context.Context, p *incident.Partition) func(c *incident.Copy) func(producer, first int64) bool {
	tx := x.judge.Judge(ctx, p)
	return func(c *incident.Copy) func(producer, first int64) bool {
		for i := range tx.Copies {
			if tx.Copies[i].Copy != c {
				continue
			}
			open := tx.Copies[i].Open
			return func(producer, first int64) bool {
				return slices.ContainsFunc(open, func(t incident.OpenTransaction) bool {
					return t.Hanging && t.ProducerID == producer && t.First == first
				})
			}
		}
		return nil
	}
}

// compacted: offsets may be missing in the copy without anything being lost.
func compacted(p *incident.Partition, c *incident.Copy) bool {
	return p.Ruling.Policy == "compact" || c.Log.Sparse
}

func (x *exporter) source(p *incident.Partition, c *incident.Copy, hanging func(*incident.Copy) func(producer, first int64) bool) *export.Source {
	at := export.Place{Partition: p.Name, TopicID: p.TopicID, Broker: -1, BrokerName: c.Broker.Name}
	if c.Broker.Known {
		at.Broker = c.Broker.ID
	}
	return &export.Source{Log: c.Log, At: at, Hanging: hanging(c), Compacted: compacted(p, c)}
}

// keeps tells whether a record is exported. Offsets were chosen before.
func (x *exporter) keeps(r *export.Record) bool {
	o := x.o
	switch {
	case o.lost && !o.offsets.meets(r.Offset, r.Offset):
		return false
	case !o.times.meets(r.Timestamp, r.Timestamp) || !o.epochs.meets(r.LeaderEpoch):
		return false
	case o.committed && (r.Control || r.State != export.None && r.State != export.Committed && r.State != export.Unknown):
		return false
	}
	return x.where.keeps(r)
}

// write writes the records of a partition. Those that sources skip are told.
func (x *exporter) write(p *incident.Partition, out *report.ExportedPartition, records iter.Seq2[*export.Record, error], sources ...*export.Source) error {
	w, err := x.target.partition(x, p, out)
	if err != nil {
		return err
	}
	for _, s := range sources {
		s.Skipped = func(k export.Skipped) { x.skipped(w, out, k) }
		if !x.o.lost && !s.Compacted {
			s.Missing = func(from, to int64) { x.missing(w, out, from, to) }
		}
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		if !x.o.lost && !x.keeps(r) {
			out.Filtered++
			continue
		}
		if x.o.committed && r.State == export.Unknown {
			out.Undecided.Add(r.Offset)
			continue
		}
		if err := w.Write(r); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
		out.Records++
		if r.Overlaps {
			out.Overlaps.Add(r.Offset)
		}
		out.States[string(r.State)]++
		if r.Control {
			out.Control++
		}
		if l := r.Lost; l != nil {
			out.Against.Marks[string(l.Mark.Kind)]++
			out.Against.Grades[commitment.Grade(l.Committed)]++
		}
	}
	x.text.List = append(x.text.List, out)
	if w.json != nil {
		w.json.Exported(out)
	}
	if x.lines != nil {
		x.lines.Exported(out)
	}
	return w.end(x, out)
}

func (x *exporter) missing(w *exportWriter, out *report.ExportedPartition, from, to int64) {
	out.Lacks(from, to)
	if w.json != nil {
		w.json.Missing(out, from, to)
	}
	if x.lines != nil {
		x.lines.Missing(out, from, to)
	}
}

func (x *exporter) skipped(w *exportWriter, out *report.ExportedPartition, k export.Skipped) {
	if k.Limit {
		x.app.fail(exitIncomplete)
	}
	s := report.ExportSkipped{Broker: incident.BrokerRef{ID: k.Broker, Known: k.Broker >= 0, Name: k.BrokerName}, File: k.File, Position: k.Position, Length: k.Length,
		From: k.From, To: k.To, Reason: k.Reason, Limit: k.Limit}
	out.SkippedN++
	out.SkippedOf += max(k.To-k.From, 0)
	if len(out.Skipped) < report.MaxSkipped {
		out.Skipped = append(out.Skipped, s)
	}
	if w.json != nil {
		w.json.NotExported(out.Partition, out.TopicID, &s)
	}
	if x.lines != nil {
		x.lines.NotExported(out.Partition, out.TopicID, &s)
	}
}
