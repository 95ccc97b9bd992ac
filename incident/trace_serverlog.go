package incident

import (
	"fmt"
	"slices"
	"time"

	"kafsck/commitment"
	"kafsck/epoch"
	"kafsck/kraft"
	"kafsck/replica"
	"kafsck/serverlog"
)

// truncatedAway finds what brokers cut off by the word of their own logs, where the
// ruling log has other records or none, and no copy holds what was cut.
func (j *judgement) truncatedAway(ruler *Copy) ([]Loss, error) {
	lines := j.inc.ServerLines(j.g.cluster, j.p.Topic, j.p.Number, j.p.TopicID)
	if len(lines) == 0 || j.p.Ruling.Policy == compactPolicy {
		return nil, nil
	}
	var out []Loss
	for _, t := range truncationsOf(lines) {
		if j.afterTheCopies(ruler, &t) {
			j.inc.later.add(&t)
			continue
		}
		j.followed(ruler, &t)
		epochs := j.epochsCut(ruler, &t)
		lost, err := j.lostOf(ruler, &t, epochs)
		if err != nil {
			return nil, err
		}
		for _, s := range lost {
			for _, x := range j.notInCopies(s, epochs) {
				for _, piece := range t.pieces(x) {
					out = append(out, j.cutPiece(ruler, &t, piece, epochs))
				}
			}
		}
	}
	return out, nil
}

// afterTheCopies reports whether a truncation happened after these directories were
// copied: the epoch that the broker followed is newer than all they know or, where no
// epoch is known, the clock of the line is past the newest file of the ruling log's disk and
// of the disk that it was cut on. (The former may have been idle for long.)
func (j *judgement) afterTheCopies(ruler *Copy, t *truncation) bool {
	newest := ruler.Log.LatestEpoch()
	for _, e := range ruler.Log.Checkpoint {
		newest = max(newest, e.Epoch)
	}
	if last := j.known.last(); last != nil {
		newest = max(newest, last.LeaderEpoch)
	}
	if t.epoch >= 0 && newest >= 0 {
		return t.epoch > newest
	}
	at := t.lines[len(t.lines)-1].TimeMs
	written := ruler.disk.newest
	for _, c := range j.readableLive() {
		if c.Broker.Known && c.Broker.ID == t.broker && c.disk.newest.After(written) {
			written = c.disk.newest
		}
	}
	return at >= 0 && !written.IsZero() && at > written.UnixMilli()+copySlack.Milliseconds()
}

// followed fills in the leader epoch that a broker followed when it cut, where its lines do not
// tell: the ruling log begins an epoch at the very offset to which the broker cut, below its high
// watermark, and the metadata know no later election that parted the lines again.
func (j *judgement) followed(ruler *Copy, t *truncation) {
	if t.epoch >= 0 || !t.split {
		return
	}
	i := slices.IndexFunc(ruler.Log.Lineage, func(r epoch.Range) bool { return r.Epoch >= 0 && r.From == t.to && t.to > 0 })
	if i < 0 {
		return
	}
	e := ruler.Log.Lineage[i].Epoch
	if j.known.part != nil && slices.ContainsFunc(j.known.part.Changes, func(c kraft.Change) bool { return c.LeaderEpoch > e && (c.Unclean || c.Uncertain) }) {
		return
	}
	t.epoch = e
}

// open marks the end of a range that no line tells.
const open = int64(1)<<62 - 1

// epochsCut are the leader epochs, by the metadata, that the records cut off can be of.
// Empty without metadata.
func (j *judgement) epochsCut(ruler *Copy, t *truncation) []int32 {
	out := []int32{}
	if j.known.part == nil || t.epoch < 0 {
		return out
	}
	oldest, newest := t.oldest, t.newest
	if oldest < 0 {
		oldest = ruler.Log.Lineage.At(t.to - 1)
	}
	if newest < oldest || newest >= t.epoch {
		newest = t.epoch - 1
	}
	for _, c := range j.known.part.Changes {
		if c.Leader >= 0 && c.LeaderEpoch >= oldest && c.LeaderEpoch <= newest && !slices.Contains(out, c.LeaderEpoch) {
			out = append(out, c.LeaderEpoch)
		}
	}
	return out
}

// lostOf returns the parts of what was cut off that the ruling log cannot hold: it
// has records there of another epoch than the ones cut off, or it ends below. Where no epoch is known, only a leader that refused the offsets, and the
// broker that cut them off, are known not to have had them.
func (j *judgement) lostOf(ruler *Copy, t *truncation, epochs []int32) ([]replica.Span, error) {
	from, to := max(t.to, ruler.Log.LogStartOffset), t.end
	switch {
	case to < 0 && t.split:
		to = t.watermark // what lay above it is not told, nor that there was anything
	case to < 0:
		to = open
	}
	if from >= to {
		return nil, nil
	}
	whole := []replica.Span{{From: from, To: to}}
	if t.epoch < 0 || ruler.Log.LatestEpoch() < 0 {
		if t.leader != serverlog.NotSaid && ruler.Broker.Known && (ruler.Broker.ID == t.broker || ruler.Broker.ID == t.leader) {
			return j.writtenSince(ruler, t, whole)
		}
		if t.split {
			// The leader had parted from these records, and the ruling log has none that old.
			return j.writtenSince(ruler, t, whole)
		}
		return nil, nil
	}
	for _, r := range ruler.Log.Lineage {
		if r.Epoch < t.epoch && (len(epochs) == 0 || slices.Contains(epochs, r.Epoch)) {
			whole = cutOut(whole, replica.Span{From: r.From, To: r.To})
		}
	}
	return whole, nil
}

// writtenSince takes away what the ruling log holds from before the cut, by the
// records' own times: without epochs these may be the very records.
func (j *judgement) writtenSince(ruler *Copy, t *truncation, list []replica.Span) ([]replica.Span, error) {
	at := t.lines[len(t.lines)-1].TimeMs
	for b, err := range ruler.Log.Blocks(list[0].From, list[0].To) {
		if err != nil {
			return nil, err
		}
		if at < 0 || b.MaxTimestamp < at {
			list = cutOut(list, replica.Span{From: b.Base, To: b.Next()})
		}
	}
	return list, nil
}

// notInCopies takes away what some copy accounts for: records that a copy holds and the
// ruling log does not are told as such.
func (j *judgement) notInCopies(s replica.Span, epochs []int32) []replica.Span {
	rest := []replica.Span{s}
	for i := range j.p.Losses {
		l := &j.p.Losses[i]
		if l.Basis == "copy" && l.From != nil && l.To != nil && sameLine(l.Epochs, epochs) {
			rest = cutOut(rest, replica.Span{From: *l.From, To: *l.To})
		}
	}
	return rest
}

// sameLine reports whether records of these epochs can be the same records.
func sameLine(a, b []int32) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(e int32) bool { return slices.Contains(b, e) })
}

// pieces cuts a lost range at the broker's high watermark.
func (t *truncation) pieces(s replica.Span) []replica.Span {
	if s.From < t.watermark && t.watermark < s.To {
		return []replica.Span{{From: s.From, To: t.watermark}, {From: t.watermark, To: s.To}}
	}
	return []replica.Span{s}
}

func (j *judgement) cutPiece(ruler *Copy, t *truncation, s replica.Span, epochs []int32) Loss {
	last := &t.lines[len(t.lines)-1]
	who := fmt.Sprintf("broker %d", t.broker)
	if t.broker < 0 {
		who = "a broker that its lines do not name"
	}
	claim := fmt.Sprintf("%s cut its log back to %d%s", who, t.to, clockOf(last))
	if t.epoch >= 0 {
		claim += fmt.Sprintf(", following the leader of epoch %d", t.epoch)
	}
	e := commitment.Evidence{Kind: commitment.ServerLogKind, Says: commitment.Unknown, Source: last.Source()}
	switch {
	case s.To <= t.watermark:
		e.Says = commitment.Yes
		e.Claim = claim + fmt.Sprintf("; its high watermark had been %d: these records had been committed", t.watermark)
	case t.end < 0:
		e.Claim = claim + "; no line says where its log had ended: records may have existed"
	case t.watermark >= 0:
		e.Claim = claim + fmt.Sprintf("; its log had ended at %d and its high watermark had been %d: nothing says that these records were replicated", t.end, t.watermark)
	default:
		e.Claim = claim + fmt.Sprintf("; its log had ended at %d: nothing says that these records were replicated", t.end)
	}
	to := ptr(s.To)
	if s.To == open {
		to = nil
	}
	evidence := []commitment.Evidence{e}
	if proof, ok := j.neverCommitted(t, epochs); ok {
		evidence = append(evidence, proof)
	}
	l := trace(ptr(s.From), to, commitment.Weigh(evidence), j.causeOfCut(ruler, s, epochs), evidence...)
	l.Epochs, l.ToExact = slices.Clone(epochs), to != nil && (t.end >= 0 || s.To < t.watermark)
	if len(epochs) > 0 {
		l.Election = j.electionAfter(slices.Max(epochs), l.Cause)
	}
	return l
}

// clockOf says when a line was written, by the writer's clock.
func clockOf(l *LogLine) string {
	if l.TimeMs < 0 {
		return ""
	}
	return " at " + time.UnixMilli(l.TimeMs).UTC().Format("2006-01-02 15:04:05.000Z") + " by its own clock"
}

// neverCommitted is the proof against records that a follower cut off: the leader
// that it followed, and every one between, was elected cleanly, so it had all that was
// committed, and its log had gone another way from there on.
func (j *judgement) neverCommitted(t *truncation, epochs []int32) (commitment.Evidence, bool) {
	if len(epochs) == 0 || j.p.Stale {
		return commitment.Evidence{}, false
	}
	e := slices.Min(epochs)
	reached, last := false, (*kraft.Change)(nil)
	for i := range j.known.part.Changes {
		c := &j.known.part.Changes[i]
		reached = reached || c.LeaderEpoch == e
		if c.LeaderEpoch <= e || c.LeaderEpoch > t.epoch || !c.LeaderWritten || c.Leader < 0 {
			continue
		}
		if !reached || c.Unclean || c.Uncertain || last == nil && j.uncleanRestart(e, c) {
			return commitment.Evidence{}, false
		}
		last = c
	}
	if last == nil {
		return commitment.Evidence{}, false
	}
	return commitment.Evidence{Kind: commitment.CleanElectionKind, Says: commitment.No, Source: j.where(last.Offset),
		Claim: fmt.Sprintf("broker %d was elected cleanly for epoch %d, and its log had gone another way from %d on: a leader from the ISR or ELR has every committed record", last.Leader, last.LeaderEpoch, t.to)}, true
}

// startsAt is where an election's epoch starts in the ruling log, its end if it wrote
// nothing there.
func (j *judgement) startsAt(ruler *Copy, c *kraft.Change) int64 {
	if start, ok := startOf(ruler, c); ok {
		return start
	}
	return ruler.Log.LogEndOffset
}

// causeOfCut names why the ruling log lacks what was cut off, by the elections since.
func (j *judgement) causeOfCut(ruler *Copy, s replica.Span, epochs []int32) string {
	if len(epochs) == 0 || j.p.Stale {
		return CauseUnknown
	}
	cause := ""
	for _, e := range epochs {
		next, clean := j.succession(e)
		one := CauseUnknown
		switch {
		case next == nil:
		case next.Unclean:
			one = CauseUnclean
		case clean || s.From >= j.startsAt(ruler, next):
			one = CauseNotReplicated
		}
		if cause != "" && one != cause {
			return CauseUnknown
		}
		cause = one
	}
	return cause
}
