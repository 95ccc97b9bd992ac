package incident

import (
	"fmt"
	"math"
	"slices"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/kraft"
	"kafsck/replica"
)

// court calls the witnesses for what ruler lacks of the lost records gone, by
// copy index.
func (j *judgement) court(ruler *Copy, holders []*Copy, gone map[int][]diff.Gone) (commitment.Court, error) {
	var court commitment.Court
	for _, c := range holders {
		if len(gone[c.Index]) == 0 || c.Log.HighWatermark == nil {
			continue
		}
		w, err := j.watermark(ruler, c, holders, gone[c.Index])
		if err != nil {
			return nil, err
		}
		court = append(court, w)
	}
	if w := j.gapBelowWatermark(ruler, holders, gone); w != nil {
		court = append(court, w)
	}
	starts, err := j.logStarts(ruler, holders, gone)
	if err != nil {
		return nil, err
	}
	court = append(court, starts...)
	if isr, err := j.isrHistory(holders, gone); err != nil {
		return nil, err
	} else if isr != nil {
		court = append(court, isr)
	}
	if clean := j.cleanElections(ruler); clean != nil {
		court = append(court, clean)
	}
	if anyGone(gone) {
		if groups := j.groupCommits(j.ctx, holders); groups != nil {
			court = append(court, groups)
		}
		if done, err := j.completed(holders, gone); err != nil {
			return nil, err
		} else if done != nil {
			court = append(court, done)
		}
		if tiered := j.tieredWitness(); tiered != nil {
			court = append(court, tiered)
		}
	}
	if acks, err := j.acks(holders, gone); err != nil {
		return nil, err
	} else if acks != nil {
		court = append(court, acks)
	}
	return court, nil
}

func anyGone(gone map[int][]diff.Gone) bool {
	for _, list := range gone {
		if len(list) > 0 {
			return true
		}
	}
	return false
}

// gapBelowWatermark lets the ruling log's own watermark testify about what is missing, or cannot
// be read, inside of it; nil where it knows nothing of that.
func (j *judgement) gapBelowWatermark(ruler *Copy, holders []*Copy, gone map[int][]diff.Gone) commitment.Witness {
	l := ruler.Log
	if ruler.State != replica.Live || ruler.content != nil || l.HighWatermark == nil || len(l.Checkpoint) == 0 {
		return nil
	}
	var gaps []commitment.EpochSpan
	for _, h := range holders {
		for _, g := range gone[h.Index] {
			own := h.Log.HighWatermark // that says the same, if it reaches so far
			if g.Reason != diff.Absent && g.Reason != diff.Rotten || g.Unsure || own != nil && *own >= g.To {
				continue
			}
			for i, e := range l.Checkpoint {
				to := l.LogEndOffset
				if i+1 < len(l.Checkpoint) {
					to = min(to, l.Checkpoint[i+1].StartOffset)
				}
				s := commitment.EpochSpan{Span: commitment.Span{From: max(g.From, e.StartOffset), To: min(g.To, to)}, Epoch: e.Epoch}
				if s.From < s.To && !slices.Contains(gaps, s) {
					gaps = append(gaps, s)
				}
			}
		}
	}
	if len(gaps) == 0 {
		return nil
	}
	d := j.dated(ruler)
	return &commitment.GapBelowWatermark{Broker: d.Broker, Value: d.Value, Source: d.Source, Gaps: gaps, WrittenMs: d.WrittenMs, Dated: d.Dated, Began: d.Began}
}

// watermark prepares the line of one holder.
func (j *judgement) watermark(ruler, c *Copy, holders []*Copy, gone []diff.Gone) (*commitment.HighWatermark, error) {
	w := j.dated(c)
	spans := spansOf(gone)
	for _, o := range append([]*Copy{ruler}, holders...) {
		if o == c || o.State != replica.Live && o.State != replica.Future {
			continue
		}
		conflicts, err := diff.Conflicts(o.Content(), c.Content(), spans)
		if err != nil {
			return nil, err
		}
		for _, s := range conflicts {
			mine := c.Log.Lineage.At(s.From)
			if mine >= 0 && o.Log.Lineage.At(s.From) == mine || shareLater(c, o, mine) {
				w.Silent = append(w.Silent, commitment.Span{From: s.From, To: s.To})
			}
		}
	}
	return w, nil
}

// dated is the high watermark of a copy, with when it was written and when the epochs began.
func (j *judgement) dated(c *Copy) *commitment.HighWatermark {
	w := &commitment.HighWatermark{Copy: c.Index, Broker: c.Broker.ID, Value: *c.Log.HighWatermark, Began: map[int32]int64{}}
	if f := c.Log.HighWatermarkFile; f != nil {
		w.Source = f.Path
		if !f.ModTime.IsZero() {
			w.WrittenMs, w.Dated = f.ModTime.UnixMilli(), true
		}
	}
	if m := c.disk.metadata; m != nil && m.EndTimeMs > 0 && (!w.Dated || w.WrittenMs > m.EndTimeMs) {
		w.WrittenMs, w.Dated = m.EndTimeMs-checkpointInterval.Milliseconds(), true
	}
	for e, ms := range c.Log.EpochStarted {
		w.Began[e] = ms
	}
	if j.known.part != nil {
		for _, x := range j.known.part.Changes {
			if x.LeaderWritten && !x.FromSnapshot && !x.Uncertain {
				w.Began[x.LeaderEpoch] = x.TimeMs
			}
		}
	}
	return w
}

// shareLater reports whether two logs have a common epoch newer than e in their
// batches.
func shareLater(a, b *Copy, e int32) bool {
	for _, r := range a.Log.Lineage {
		if r.Epoch > e && b.Log.Lineage.Has(r.Epoch) {
			return true
		}
	}
	return false
}

func spansOf(gone []diff.Gone) []replica.Span {
	var out []replica.Span
	for _, g := range gone {
		out = append(out, replica.Span{From: g.From, To: g.To})
	}
	return out
}

// logStarts prepares the log starts of live replicas that lie above some lost
// record.
func (j *judgement) logStarts(ruler *Copy, holders []*Copy, gone map[int][]diff.Gone) (commitment.Court, error) {
	lowest := int64(math.MaxInt64)
	for _, list := range gone {
		for _, g := range list {
			lowest = min(lowest, g.From)
		}
	}
	var court commitment.Court
	for _, r := range holders {
		if r == ruler || r.State != replica.Live || r.Log.LogStartOffset <= lowest {
			continue
		}
		w := &commitment.LogStart{Broker: r.Broker.ID, Value: r.Log.LogStartOffset, Source: r.Dir}
		for _, h := range holders {
			if h == r || len(gone[h.Index]) == 0 {
				continue
			}
			to := min(r.Log.LogEndOffset, h.Log.LogEndOffset)
			if to <= w.Value {
				continue
			}
			shared, err := diff.Held(h.Content(), r.Content(), []replica.Span{{From: w.Value, To: to}})
			if err != nil {
				return nil, err
			}
			if len(shared) > 0 {
				w.Sharing = append(w.Sharing, h.Index)
			}
		}
		if len(w.Sharing) > 0 {
			court = append(court, w)
		}
	}
	return court, nil
}

// isrHistory prepares the ISR windows of every epoch. Stale metadata may still
// prove a yes.
func (j *judgement) isrHistory(holders []*Copy, gone map[int][]diff.Gone) (commitment.Witness, error) {
	m := j.g.cluster.Metadata
	if m == nil || j.known.part == nil || j.known.topic == nil {
		return nil, nil
	}
	w := &commitment.ISRHistory{Source: j.g.cluster.MetadataFrom, Epochs: map[int32][]commitment.ISRWindow{}}
	changes := j.known.part.Changes
	for i := range changes {
		c := &changes[i]
		if c.Leader < 0 || c.Uncertain {
			continue
		}
		endOffset, endMs := int64(math.MaxInt64), int64(math.MaxInt64)
		if i+1 < len(changes) {
			endOffset, endMs = changes[i+1].Offset, changes[i+1].TimeMs
		}
		// A change of min.insync.replicas inside the window cuts it in two.
		type cut struct{ offset, ms int64 }
		cuts := []cut{{c.Offset, c.TimeMs}}
		for _, cfg := range m.Configs {
			if cfg.Name == "min.insync.replicas" && cfg.Offset > c.Offset && cfg.Offset < endOffset && !cfg.FromSnapshot {
				cuts = append(cuts, cut{cfg.Offset, cfg.TimeMs})
			}
		}
		for k, at := range cuts {
			win := commitment.ISRWindow{FromMs: at.ms, ToMs: endMs, ISR: c.ISR, Replicas: len(c.Replicas), MetadataOffset: c.Offset}
			if k+1 < len(cuts) {
				win.ToMs = cuts[k+1].ms
			}
			win.MinISR, win.MinISRSource = j.minISR(m, at.offset, c.Leader)
			w.Epochs[c.LeaderEpoch] = append(w.Epochs[c.LeaderEpoch], win)
		}
	}
	// Which windows did the leader write in? Look at what the holders have of it.
	for _, h := range holders {
		if len(gone[h.Index]) == 0 {
			continue
		}
		for b, err := range h.Log.Blocks(gone[h.Index][0].From, math.MaxInt64) {
			if err != nil {
				return nil, err
			}
			windows := w.Epochs[b.Epoch]
			for i := range windows {
				if b.Whole() && windows[i].FromMs <= b.MaxTimestamp && b.MaxTimestamp < windows[i].ToMs {
					windows[i].Wrote = true
				}
			}
		}
	}
	return w, nil
}

// minISR finds min.insync.replicas in force at a metadata offset for a leader.
func (j *judgement) minISR(m *kraft.Log, at int64, leader int32) (n int, source string) {
	if n, source, ok := m.MinISR(at, j.known.topic.Name, leader); ok {
		return n, source
	}
	if j.inc.opt.MinISR > 0 {
		return j.inc.opt.MinISR, j.inc.opt.MinISRSource
	}
	return 0, ""
}

// cleanElections prepares, for each epoch that ended, the proof that every
// election since was clean. Stale metadata prove no such thing.
func (j *judgement) cleanElections(ruler *Copy) commitment.Witness {
	if j.p.Stale || j.known.part == nil {
		return nil
	}
	w := &commitment.CleanElection{Source: j.g.cluster.MetadataFrom, After: map[int32]commitment.CleanSuccession{}}
	for _, c := range j.known.part.Changes {
		if _, done := w.After[c.LeaderEpoch]; done || c.Leader < 0 {
			continue
		}
		next, clean := j.succession(c.LeaderEpoch)
		if next == nil || !clean || j.uncleanRestart(c.LeaderEpoch, next) {
			continue
		}
		start, ok := j.successorStart(ruler, next.Leader, next.LeaderEpoch)
		if !ok {
			continue
		}
		w.After[c.LeaderEpoch] = commitment.CleanSuccession{Leader: next.Leader, Epoch: next.LeaderEpoch, Start: start, MetadataOffset: next.Offset}
	}
	if len(w.After) == 0 {
		return nil
	}
	return w
}

// succession returns the first election of a leader after epoch e, and whether
// that and all later ones were clean. nil: none since, or e is out of the
// metadata's reach.
func (j *judgement) succession(e int32) (next *kraft.Change, clean bool) {
	if j.known.part == nil {
		return nil, false
	}
	clean, reached := true, false
	changes := j.known.part.Changes
	for i := range changes {
		c := &changes[i]
		reached = reached || c.LeaderEpoch == e
		if c.LeaderEpoch <= e || !c.LeaderWritten || c.Leader < 0 {
			continue
		}
		if !reached {
			return nil, false
		}
		if next == nil {
			next = c
		}
		clean = clean && !c.Unclean && !c.Uncertain
	}
	return next, clean
}

// uncleanRestart reports whether the next leader registered again, without a
// controlled shutdown before, between the start of epoch e and its election: it
// may have lost what it had not flushed.
func (j *judgement) uncleanRestart(e int32, next *kraft.Change) bool {
	from := int64(-1)
	for _, c := range j.known.part.Changes {
		if c.LeaderEpoch == e {
			from = c.Offset
			break
		}
	}
	b := j.g.cluster.Metadata.Brokers[next.Leader]
	if b == nil {
		return false
	}
	controlled := false
	for _, ev := range b.Events {
		switch {
		case ev.Offset >= next.Offset:
			return false
		case ev.Kind == kraft.ControlledShutdown:
			controlled = true
		case ev.Kind == kraft.Registered:
			if ev.Offset > from && !ev.FromSnapshot && !controlled {
				return true
			}
			controlled = false
		}
	}
	return false
}

// acks matches the acknowledgement log with the lost records of each holder.
func (j *judgement) acks(holders []*Copy, gone map[int][]diff.Gone) (commitment.Witness, error) {
	log := j.inc.opt.Acks
	if log == nil {
		return nil, nil
	}
	w := &commitment.Acks{Source: log.Name}
	for _, h := range holders {
		for r, err := range diff.Records(h.Content(), spansOf(gone[h.Index])) {
			if err != nil {
				return nil, err
			}
			answer := log.Answer(j.p.Name, r.Offset, r.Value)
			if n := len(w.Runs); n > 0 && w.Runs[n-1].Copy == h.Index && w.Runs[n-1].To == r.Offset && w.Runs[n-1].Answer == answer {
				w.Runs[n-1].To++
				continue
			}
			w.Runs = append(w.Runs, commitment.AckRun{From: r.Offset, To: r.Offset + 1, Copy: h.Index, Answer: answer})
		}
	}
	return w, nil
}

// brokersOf lists the distinct brokers of copies, as witnesses count them.
func brokersOf(copies []*Copy) []int32 {
	var out []int32
	for _, c := range copies {
		if !slices.Contains(out, c.Broker.ID) {
			out = append(out, c.Broker.ID)
		}
	}
	return out
}

func refsOf(copies []*Copy) []BrokerRef {
	var out []BrokerRef
	for _, c := range copies {
		if !slices.Contains(out, c.Broker) {
			out = append(out, c.Broker)
		}
	}
	slices.SortFunc(out, func(a, b BrokerRef) int { return int(a.ID) - int(b.ID) })
	return out
}

// where names a place in the metadata for a claim.
func (j *judgement) where(offset int64) string {
	return fmt.Sprintf("%s, metadata offset %d", j.g.cluster.MetadataFrom, offset)
}
