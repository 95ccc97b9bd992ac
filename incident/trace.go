package incident

import (
	"fmt"
	"math"
	"slices"

	"kafsck/check"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/epoch"
	"kafsck/kraft"
	"kafsck/replica"
)

func startAtOrAfter(c *Copy, e int32) (int64, bool) {
	return epoch.StartAtOrAfter(c.Log.Lineage, c.Log.Checkpoint, e)
}

// traces finds losses of which no copy is left: offsets that checkpoint files
// name beyond every log's end, elections that threw a line away, bytes damaged
// in every copy, acknowledgements without a record.
func (j *judgement) traces(ruler *Copy) ([]Loss, error) {
	out := j.beyondEnds(ruler)
	rotten, err := j.damagedEverywhere(ruler)
	if err != nil {
		return nil, err
	}
	out = append(out, rotten...)
	holes, err := j.missingEverywhere(ruler)
	if err != nil {
		return nil, err
	}
	out = append(out, holes...)
	out = append(out, j.thrownAway(ruler)...)
	cut, err := j.truncatedAway(ruler)
	if err != nil {
		return nil, err
	}
	out = append(out, cut...)
	out = append(out, j.readAndGone(j.ctx, ruler)...)
	out = append(out, j.beyondEveryEnd(j.ctx, ruler)...)
	out = append(out, j.onlyRemote(ruler)...)
	acked, err := j.ackedWithoutRecord(ruler.Log.LogStartOffset)
	if err != nil {
		return nil, err
	}
	return mergeTraces(append(out, acked...)), nil
}

// trace makes a loss without a copy.
func trace(from, to *int64, grade commitment.Grade, cause string, evidence ...commitment.Evidence) Loss {
	l := Loss{From: from, To: to, Epochs: []int32{}, Basis: "trace", Committed: grade, Acknowledged: commitment.AckedUnknown, Evidence: evidence, Cause: cause, FirstMs: -1, LastMs: -1}
	if from != nil && to != nil {
		l.Records = ptr(*to - *from)
	}
	return l
}

// beyondEnds looks for high watermarks, recovery points and epoch starts above
// the log end of every copy: more was there once.
func (j *judgement) beyondEnds(ruler *Copy) []Loss {
	reached := int64(0)
	for _, c := range j.p.Copies {
		if c.readable() {
			reached = max(reached, c.Log.LogEndOffset)
		}
	}
	var out []Loss
	top := reached
	var proofs []commitment.Evidence
	for _, c := range j.readableLive() {
		if hw := c.Log.HighWatermark; hw != nil && *hw > reached {
			top = max(top, *hw)
			claim := fmt.Sprintf("broker %s's checkpointed high watermark is %d, and no copy reaches beyond %d: these offsets existed and were committed", c.Broker.Name, *hw, reached)
			if c.Log.HasLegacy {
				// LogSegment.truncateTo cuts where the message begins that holds the offset.
				claim += "; a follower that cut its log at an offset inside a compressed message of an old format lost all of that message"
			}
			proofs = append(proofs, commitment.Evidence{Kind: commitment.HighWatermarkKind, Says: commitment.Yes, Source: c.Log.HighWatermarkFile.Path, Claim: claim})
		}
	}
	if top > reached {
		out = append(out, trace(ptr(reached), ptr(top), commitment.Yes, CauseUnknown, proofs...))
	}
	weak, below := top, top
	proofs = nil
	for _, c := range j.readableLive() {
		if rp := c.Log.RecoveryPoint; rp != nil && *rp > below {
			weak = max(weak, *rp)
			proofs = append(proofs, commitment.Evidence{Kind: commitment.RecoveryPointKind, Says: commitment.Unknown, Source: c.Log.Partition.LogDir.RecoveryPoints.File.Path,
				Claim: fmt.Sprintf("broker %s's recovery point is %d: records up to there were flushed; nothing says that they were replicated", c.Broker.Name, *rp)})
		}
		for _, e := range c.Log.Checkpoint {
			if e.StartOffset > below {
				weak = max(weak, e.StartOffset)
				proofs = append(proofs, commitment.Evidence{Kind: commitment.EpochStartKind, Says: commitment.Unknown, Source: c.Log.Partition.EpochsFile.Path,
					Claim: fmt.Sprintf("broker %s's leader-epoch-checkpoint starts epoch %d at %d: its log once reached that far", c.Broker.Name, e.Epoch, e.StartOffset)})
			}
		}
	}
	if weak > below {
		out = append(out, trace(ptr(below), ptr(weak), commitment.Unknown, CauseUnknown, proofs...))
	}
	return out
}

// unreadable are the anomalies of batches, or of what may have been some, that nobody can read.
var unreadable = []replica.AnomalyKind{replica.BadChecksum, check.UnknownMagic, replica.JunkBytes, replica.ZeroHole}

// damagedEverywhere finds offsets that are damaged in the ruling log and whole
// in no copy.
func (j *judgement) damagedEverywhere(ruler *Copy) ([]Loss, error) {
	compacted := j.p.Ruling.Policy == compactPolicy
	if !slices.ContainsFunc(unreadable, func(k replica.AnomalyKind) bool { return ruler.Log.Anomalies.Counts[k] > 0 }) {
		return nil, nil
	}
	var out []Loss
	for b, err := range ruler.Log.Blocks(ruler.Log.LogStartOffset, math.MaxInt64) {
		if err != nil {
			return nil, err
		}
		// On a compacted topic nobody knows whether anything stood in a hole, or whether
		// a damaged record was the latest of its key.
		if b.Whole() || compacted && b.Flaws&replica.Unreadable != 0 {
			continue
		}
		rest, err := j.heldNowhere(ruler, replica.Span{From: max(b.Base, ruler.Log.LogStartOffset), To: b.Next()})
		if err != nil {
			return nil, err
		}
		for _, s := range rest {
			var proofs []commitment.Evidence
			if !compacted {
				proofs = j.watermarksAbove(s.To)
			}
			l := trace(ptr(s.From), ptr(s.To), commitment.Weigh(proofs), CauseDamage, proofs...)
			l.ToExact = true
			if b.Epoch >= 0 {
				l.Epochs = []int32{b.Epoch}
			}
			if n := len(out); n > 0 && *out[n-1].To == s.From && out[n-1].Committed == l.Committed {
				out[n-1].To = l.To
				out[n-1].Records = ptr(*out[n-1].To - *out[n-1].From)
				continue
			}
			out = append(out, l)
		}
	}
	return out, nil
}

// missingEverywhere finds gaps in the offsets of the ruling log of a delete-policy
// topic that no copy fills.
func (j *judgement) missingEverywhere(ruler *Copy) ([]Loss, error) {
	if j.p.Ruling.Policy == compactPolicy || ruler.Log.Sparse {
		return nil, nil
	}
	var out []Loss
	for _, a := range ruler.Log.Anomalies.Kept {
		if a.Kind != replica.Gap && a.Kind != replica.SegmentGap || a.To <= ruler.Log.LogStartOffset {
			continue
		}
		// Kafka rolls before an offset that does not fit the index (LogSegment.
		// canConvertToRelativeOffset), so nothing was appended between these two and lost: the
		// offsets come from a cleaner that merged segments (KAFKA-5413), or are wrong.
		if base := ruler.Log.Segments[a.Segment].BaseOffset; a.Kind == replica.Gap && a.To-base > math.MaxInt32 && a.From-base <= math.MaxInt32 {
			continue
		}
		rest, err := j.heldNowhere(ruler, replica.Span{From: max(a.From, ruler.Log.LogStartOffset), To: a.To})
		if err != nil {
			return nil, err
		}
		for _, s := range rest {
			proofs := j.watermarksAbove(s.To)
			l := trace(ptr(s.From), ptr(s.To), commitment.Weigh(proofs), CauseMissingRange, proofs...)
			l.ToExact = true
			out = append(out, l)
		}
	}
	return out, nil
}

// heldNowhere returns the parts of a range that no copy but the ruling log could
// hold: no whole batch of another copy stands there.
func (j *judgement) heldNowhere(ruler *Copy, s replica.Span) ([]replica.Span, error) {
	rest := []replica.Span{s}
	for _, c := range j.p.Copies {
		if c == ruler || !c.readable() {
			continue
		}
		for b, err := range c.Log.Blocks(s.From, s.To) {
			if err != nil {
				return nil, err
			}
			if b.Whole() {
				rest = cutOut(rest, replica.Span{From: b.Base, To: b.Next()})
			}
			if len(rest) == 0 {
				return nil, nil
			}
		}
	}
	return rest, nil
}

// watermarksAbove returns the checkpointed high watermarks of live replicas that
// stand at or above an end offset, as proof that offsets below it were committed.
func (j *judgement) watermarksAbove(end int64) []commitment.Evidence {
	var proofs []commitment.Evidence
	for _, c := range j.readableLive() {
		if hw := c.Log.HighWatermark; hw != nil && *hw >= end {
			proofs = append(proofs, commitment.Evidence{Kind: commitment.HighWatermarkKind, Says: commitment.Yes, Source: c.Log.HighWatermarkFile.Path,
				Claim: fmt.Sprintf("broker %s's checkpointed high watermark is %d, above these offsets", c.Broker.Name, *hw)})
		}
	}
	return proofs
}

func cutOut(list []replica.Span, s replica.Span) []replica.Span {
	var out []replica.Span
	for _, x := range list {
		if s.To <= x.From || s.From >= x.To {
			out = append(out, x)
			continue
		}
		if x.From < s.From {
			out = append(out, replica.Span{From: x.From, To: s.From})
		}
		if s.To < x.To {
			out = append(out, replica.Span{From: s.To, To: x.To})
		}
	}
	return out
}

// thrownAway finds unclean elections whose loser's line the ruling log did not
// keep and of which no copy tells any more.
func (j *judgement) thrownAway(ruler *Copy) []Loss {
	if j.known.part == nil || j.p.Stale {
		return nil
	}
	changes := j.known.part.Changes
	var out []Loss
	previous := int32(-1) // epoch of the previous unclean election
	for i := range changes {
		c := &changes[i]
		if !c.LeaderWritten || c.Leader < 0 || !c.Unclean {
			continue
		}
		if l, ok := j.thrownAwayAt(ruler, changes, i, previous); ok {
			out = append(out, l)
		}
		previous = c.LeaderEpoch
	}
	return out
}

func (j *judgement) thrownAwayAt(ruler *Copy, changes []kraft.Change, i int, previous int32) (Loss, bool) {
	c := &changes[i]
	loser, loserEpoch := int32(-1), int32(-1)
	for k := i - 1; k >= 0; k-- {
		if changes[k].Leader >= 0 {
			loser, loserEpoch = changes[k].Leader, changes[k].LeaderEpoch
			break
		}
	}
	if loser < 0 || loser == c.Leader {
		return Loss{}, false
	}
	// Kept: a later unclean election went back to the loser's line.
	for k := i + 1; k < len(changes); k++ {
		if v := &changes[k]; v.Unclean && v.LeaderWritten && v.Leader >= 0 {
			if j.lineHas(ruler, loserEpoch) && !j.lineHasBetween(ruler, c.LeaderEpoch, v.LeaderEpoch) {
				return Loss{}, false
			}
			break
		}
	}
	// Told: the loser has been down ever since and its copy is here.
	returned := false
	for k := i; k < len(changes); k++ {
		returned = returned || slices.Contains(changes[k].ISR, loser)
	}
	if !returned {
		for _, x := range j.p.Copies {
			if x.readable() && x.Broker.Known && x.Broker.ID == loser {
				return Loss{}, false
			}
		}
	}
	highest := int32(-1)
	for _, r := range ruler.Log.Lineage {
		if r.Epoch < c.LeaderEpoch {
			highest = max(highest, r.Epoch)
		}
	}
	for _, e := range ruler.Log.Checkpoint {
		if e.Epoch < c.LeaderEpoch {
			highest = max(highest, e.Epoch)
		}
	}
	epochs := []int32{}
	for k := 0; k < i; k++ {
		x := &changes[k]
		if x.Leader >= 0 && x.LeaderEpoch >= max(previous, highest) && x.LeaderEpoch < c.LeaderEpoch && !slices.Contains(epochs, x.LeaderEpoch) {
			epochs = append(epochs, x.LeaderEpoch)
		}
	}
	var from *int64
	if previous <= highest {
		if start, ok := startAtOrAfter(ruler, c.LeaderEpoch); ok {
			from = ptr(start)
		} else {
			from = ptr(ruler.Log.LogEndOffset)
		}
	}
	// Told as well: files set aside on the loser still hold some of that line.
	for i := range j.p.Losses {
		x := &j.p.Losses[i]
		told := slices.ContainsFunc(x.HeldBy, func(b BrokerRef) bool { return b.Known && b.ID == loser })
		if told && slices.ContainsFunc(x.Epochs, func(e int32) bool { return slices.Contains(epochs, e) }) {
			return Loss{}, false
		}
	}
	l := trace(from, nil, commitment.Unknown, CauseUnclean, commitment.Evidence{Kind: commitment.UncleanElectionKind, Says: commitment.Unknown, Source: j.where(c.Offset),
		Claim: fmt.Sprintf("broker %d was elected uncleanly for epoch %d after broker %d had led; records may have existed; how many is not recorded", c.Leader, c.LeaderEpoch, loser)})
	l.Epochs, l.Election = epochs, electionOf(c)
	return l, true
}

func (j *judgement) lineHas(c *Copy, e int32) bool {
	if c.Log.Lineage.Has(e) {
		return true
	}
	return slices.ContainsFunc(c.Log.Checkpoint, func(x epoch.Entry) bool { return x.Epoch == e })
}

func (j *judgement) lineHasBetween(c *Copy, from, to int32) bool {
	for _, r := range c.Log.Lineage {
		if r.Epoch >= from && r.Epoch < to {
			return true
		}
	}
	return slices.ContainsFunc(c.Log.Checkpoint, func(x epoch.Entry) bool { return x.Epoch >= from && x.Epoch < to })
}

// ackedWithoutRecord finds acknowledgements of offsets from start on whose record no copy has.
func (j *judgement) ackedWithoutRecord(start int64) ([]Loss, error) {
	log := j.inc.opt.Acks
	if log == nil || j.p.Ruling.Policy == compactPolicy {
		return nil, nil
	}
	acks := log.Of(j.p.Name, start, math.MaxInt64)
	if len(acks) == 0 {
		return nil, nil
	}
	type id struct {
		offset int64
		value  string
	}
	wanted := map[id]bool{}
	last := start
	for _, a := range acks {
		wanted[id{a.Offset, a.Value}] = true
		last = max(last, a.Offset)
	}
	for _, c := range j.p.Copies {
		if !c.readable() {
			continue
		}
		for r, err := range diff.Records(c.Content(), []replica.Span{{From: start, To: last + 1}}) {
			if err != nil {
				return nil, err
			}
			delete(wanted, id{r.Offset, string(r.Value)})
		}
	}
	var out []Loss
	for _, a := range acks {
		k := id{a.Offset, a.Value}
		if !wanted[k] {
			continue
		}
		delete(wanted, k)
		grade, acked := commitment.Unknown, commitment.AckedLeader
		var proof []commitment.Evidence
		if a.All {
			grade, acked = commitment.Yes, commitment.AckedAll
			proof = []commitment.Evidence{{Kind: commitment.AcksKind, Says: commitment.Yes, Source: log.Name, Claim: "an acks=all producer was told ok for these records; no copy has them"}}
		}
		if n := len(out); n > 0 && *out[n-1].To == a.Offset && out[n-1].Acknowledged == acked {
			out[n-1].To = ptr(a.Offset + 1)
			out[n-1].Records = ptr(*out[n-1].To - *out[n-1].From)
			continue
		}
		l := trace(ptr(a.Offset), ptr(a.Offset+1), grade, CauseUnknown, proof...)
		l.Acknowledged, l.ToExact = acked, false
		out = append(out, l)
	}
	return out, nil
}
