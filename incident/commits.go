package incident

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kafsck/commitment"
	"kafsck/epoch"
	"kafsck/replica"
)

// A commit without a leader epoch places itself by its time, the coordinator's clock, among
// the elections in the metadata, the controller's. Clean elections keep every record that a
// consumer can have read, so it does not matter on which side of one it falls. An unclean one
// parts two lines, and a commit near it can be of either: it is written up to
// max.poll.interval.ms (5 min by default) after the records were fetched, and the clocks differ.
const (
	commitLag   = 5 * time.Minute
	clockMargin = 5 * time.Second
)

// farBeyond is how far, in offsets, a commit may lie beyond all else that is known of a short
// log, and still be taken for what a group had read: a broker does not check what it is told
// to commit. Beyond a longer log it may lie as far again as that is long.
const farBeyond = 1 << 30

// placed is a group commit on the line of a leader epoch.
type placed struct {
	Commit
	epoch  int32
	byTime bool
}

// commits are the group commits of this partition that can be placed on a line: by
// their own leader epoch, else by the epoch in force at their time. Deletions, and
// offsets of transactions that never ended, are no word of a consumer. Those that cannot
// be placed are kept in unplaced.
func (j *judgement) commits(ctx context.Context) []placed {
	if j.placedOnce {
		return j.placed
	}
	j.placedOnce = true
	if slices.Contains(internalTopics, j.p.Topic) {
		return nil
	}
	reach := j.everReached()
	for _, c := range j.inc.Groups(ctx).CommitsOf(j.p) {
		if c.Deleted || c.Pending || c.Offset < 0 {
			continue
		}
		if c.Offset-reach > max(reach, farBeyond) {
			j.inc.later.addCommit(&c, fmt.Sprintf("nothing else here reaches beyond %d, and any client may commit any offset: it proves nothing", reach))
			continue
		}
		switch {
		case c.LeaderEpoch >= 0:
			if !j.recreatedSince(&c) {
				j.placed = append(j.placed, placed{c, c.LeaderEpoch, false})
			}
		default:
			if e, ok := j.epochAt(c.CommitMs); ok {
				j.placed = append(j.placed, placed{c, e, true})
			} else if !j.recreatedSince(&c) {
				j.unplaced = append(j.unplaced, c)
			}
		}
	}
	return j.placed
}

// recreatedSince reports whether a commit without topic id is older than the topic
// that has its name now.
func (j *judgement) recreatedSince(c *Commit) bool {
	if !c.TopicID.IsZero() || j.known.part == nil || c.CommitMs < 0 || len(j.known.part.Changes) == 0 {
		return false
	}
	first := &j.known.part.Changes[0]
	return !first.FromSnapshot && c.CommitMs < first.TimeMs
}

// epochAt is the leader epoch in force at a time, by the metadata: a consumer reads
// from a leader, so in leaderless times it is the last one that had one. ok is false
// outside the metadata's reach, and where an election that may have parted two lines is
// too near to tell.
func (j *judgement) epochAt(ms int64) (int32, bool) {
	m := j.g.cluster.Metadata
	if ms < 0 || m == nil || j.known.part == nil || ms > m.EndTimeMs {
		return -1, false
	}
	e, ok := int32(-1), false
	changes := j.known.part.Changes
	for i := range changes {
		c := &changes[i]
		if c.TimeMs > ms+clockMargin.Milliseconds() {
			break
		}
		// The first one may have followed an unclean election that the metadata no longer hold.
		parts := c.Unclean || c.Uncertain || i == 0 && c.FromSnapshot
		if parts && c.TimeMs > ms-commitLag.Milliseconds() {
			return -1, false
		}
		if c.TimeMs > ms {
			continue
		}
		ok = !c.Uncertain
		if c.Leader >= 0 {
			e = c.LeaderEpoch
		}
	}
	return e, ok && e >= 0
}

// beyondEveryEnd finds offsets that a group had read and that no copy reaches, by commits that
// nothing places on a line: on whichever they were, it reached that far, and the ruling log,
// copied later, does not. With commits placed by epoch readAndGone tells more.
func (j *judgement) beyondEveryEnd(ctx context.Context, ruler *Copy) []Loss {
	if j.p.Ruling.Policy == compactPolicy || j.p.Ruling.Guess && !j.guessReaches() {
		return nil
	}
	j.commits(ctx)
	reached := j.reached()
	best := -1
	for i := range j.unplaced {
		c := &j.unplaced[i]
		if c.Offset > reached && j.copiedAfter(ruler, c.CommitMs) && (best < 0 || c.Offset > j.unplaced[best].Offset) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return j.readTraces(&placed{j.unplaced[best], -1, true}, replica.Span{From: reached, To: j.unplaced[best].Offset})
}

// readTraces are the traces of a range that a group had read. The number is the client's: one
// that a known epoch stands with, in the commit or by its time, is taken for what was read, as
// far as it is plausible at all; of others only the offsets that something else reaches, too.
func (j *judgement) readTraces(c *placed, s replica.Span) []Loss {
	mark := c.mark()
	proof := commitment.Evidence{Kind: commitment.GroupCommitKind, Says: commitment.Yes, Claim: mark.Claim(), Source: mark.Source}
	reach := max(s.From, j.everReached())
	if c.epoch >= 0 || s.To <= reach {
		return []Loss{trace(ptr(s.From), ptr(s.To), commitment.Yes, CauseUnknown, proof)}
	}
	var out []Loss
	if s.From < reach {
		out = append(out, trace(ptr(s.From), ptr(reach), commitment.Yes, CauseUnknown, proof))
	}
	proof.Says, proof.Claim = commitment.Unknown, mark.Told()+fmt.Sprintf("; nothing else here reaches beyond %d, and any client may commit any offset: no proof that these were records", reach)
	return append(out, trace(ptr(reach), ptr(s.To), commitment.Unknown, CauseUnknown, proof))
}

func (p *placed) mark() commitment.GroupCommit {
	return commitment.GroupCommit{Group: p.Group, Offset: p.Offset, Epoch: p.epoch, ByTime: p.byTime, CommitMs: p.CommitMs,
		Source: fmt.Sprintf("%s, __consumer_offsets-%d offset %d", p.File, p.OffsetsPartition, p.RecordOffset)}
}

// groupCommits prepares the commits as a witness on the copies' records.
func (j *judgement) groupCommits(ctx context.Context, holders []*Copy) commitment.Witness {
	w := &commitment.GroupCommits{Highest: map[int32]commitment.GroupCommit{}, Epochs: map[int][]int32{}}
	for _, c := range j.commits(ctx) {
		if best, ok := w.Highest[c.epoch]; !ok || c.Offset > best.Offset {
			w.Highest[c.epoch] = c.mark()
		}
	}
	if len(w.Highest) == 0 {
		return nil
	}
	for _, h := range holders {
		for _, r := range h.Log.Lineage {
			if !slices.Contains(w.Epochs[h.Index], r.Epoch) {
				w.Epochs[h.Index] = append(w.Epochs[h.Index], r.Epoch)
			}
		}
	}
	return w
}

// readAndGone finds offsets that a group had read on a line that the ruling log left
// below them, and that no copy holds.
func (j *judgement) readAndGone(ctx context.Context, ruler *Copy) []Loss {
	if j.p.Ruling.Policy == compactPolicy || ruler.Log.LatestEpoch() < 0 {
		return nil
	}
	highest := map[int32]placed{}       // by epoch, commits that carry it
	highestByTime := map[int32]placed{} // and those that their time places
	for _, c := range j.commits(ctx) {
		m := highest
		if c.byTime {
			m = highestByTime
		}
		if best, ok := m[c.epoch]; !ok || c.Offset > best.Offset {
			m[c.epoch] = c
		}
	}
	newest := j.newestKnown()
	var out []Loss
	for e, c := range highest {
		if e > newest {
			out = append(out, j.readInUnknownEpoch(ruler, &c)...)
			continue
		}
		out = append(out, j.readBehind(ruler, &c)...)
	}
	for _, c := range highestByTime {
		out = append(out, j.readBehind(ruler, &c)...)
	}
	sortLosses(out)
	return out
}

// readBehind finds what a group had read behind the place where the ruling log left the
// commit's epoch.
func (j *judgement) readBehind(ruler *Copy, c *placed) []Loss {
	left, ok := j.leaves(ruler, c)
	if !ok {
		return nil
	}
	s := replica.Span{From: max(left, ruler.Log.LogStartOffset), To: c.Offset}
	if s.From >= s.To {
		return nil
	}
	var out []Loss
	for _, x := range j.notInCopies(s, []int32{c.epoch}) {
		cause := j.causeOfCut(ruler, x, []int32{c.epoch})
		for _, l := range j.readTraces(c, x) {
			l.Epochs, l.Cause, l.Election = []int32{c.epoch}, cause, j.electionAfter(c.epoch, cause)
			out = append(out, l)
		}
	}
	return out
}

// readInUnknownEpoch finds what a group had read in a leader epoch above all that the logs,
// their checkpoint files and the metadata know: the record below its position is of that epoch,
// and the ruling log's is not. If that log was copied before the commit, it may have the record
// by now.
func (j *judgement) readInUnknownEpoch(ruler *Copy, c *placed) []Loss {
	if copied := copyTime(ruler); copied >= 0 && c.CommitMs >= 0 && !j.copiedAfter(ruler, c.CommitMs) {
		j.inc.later.addCommit(&c.Commit, fmt.Sprintf("in leader epoch %d, which no log and no metadata here know: these are older than the commit, and what happened between is not known", c.epoch))
		return nil
	}
	s := replica.Span{From: max(min(ruler.Log.LogEndOffset, c.Offset-1), ruler.Log.LogStartOffset), To: c.Offset}
	if s.From >= s.To {
		return nil
	}
	mark := c.mark()
	proof := commitment.Evidence{Kind: commitment.GroupCommitKind, Says: commitment.Unknown, Source: mark.Source,
		Claim: mark.Told() + "; no log and no metadata here know that epoch: they are older than the commit, or lost what it led to"}
	l := trace(ptr(s.From), ptr(s.To), commitment.Unknown, CauseUnknown, proof)
	l.Epochs = []int32{c.epoch}
	return []Loss{l}
}

// newestKnown is the highest leader epoch that a copy, the metadata or a broker's text log
// knows of the partition.
func (j *judgement) newestKnown() int32 {
	newest := int32(-1)
	for _, c := range j.p.Copies {
		if !c.readable() {
			continue
		}
		for _, r := range c.Log.Lineage {
			newest = max(newest, r.Epoch)
		}
		for _, e := range c.Log.Checkpoint {
			newest = max(newest, e.Epoch)
		}
	}
	if last := j.known.last(); last != nil {
		newest = max(newest, last.LeaderEpoch)
	}
	for _, l := range j.inc.ServerLines(j.g.cluster, j.p.Topic, j.p.Number, j.p.TopicID) {
		newest = max(newest, l.Epoch)
	}
	return newest
}

// leaves is the offset at which the ruling log leaves a commit's epoch. ok is false
// where it cannot be told whether it left it at all: in the epoch that it ends in, only
// if it was copied after the commit, and it is the leader's for certain or all are shorter.
func (j *judgement) leaves(ruler *Copy, c *placed) (int64, bool) {
	if start, ok := j.leavesEpoch(ruler, c.epoch); ok {
		return start, true
	}
	switch {
	case !j.copiedAfter(ruler, c.CommitMs):
		return 0, false
	case j.p.Ruling.Guess:
		return j.reached(), j.guessReaches()
	}
	return ruler.Log.LogEndOffset, !j.p.Stale
}

// guessReaches reports whether a guessed leader may stand for the partition when a group has
// read more than there is: without metadata, and with more than one replica, all shorter. One
// disk alone is more likely a follower that had not got so far.
func (j *judgement) guessReaches() bool { return j.known.part == nil && len(j.readableLive()) > 1 }

// reached is the highest log end of all copies.
func (j *judgement) reached() int64 {
	end := int64(0)
	for _, c := range j.p.Copies {
		if c.readable() {
			end = max(end, c.Log.LogEndOffset)
		}
	}
	return end
}

// everReached is the highest offset that a copy, its checkpoint files or a broker's text log
// tells of.
func (j *judgement) everReached() int64 {
	end := j.reached()
	for _, c := range j.p.Copies {
		if !c.readable() {
			continue
		}
		for _, mark := range []*int64{c.Log.HighWatermark, c.Log.RecoveryPoint} {
			if mark != nil {
				end = max(end, *mark)
			}
		}
		for _, e := range c.Log.Checkpoint {
			end = max(end, e.StartOffset)
		}
	}
	for _, l := range j.inc.ServerLines(j.g.cluster, j.p.Topic, j.p.Number, j.p.TopicID) {
		end = max(end, l.Offset, l.From, l.End, l.HighWatermark)
	}
	return end
}

// copyTime is when the disk of a copy was copied, in ms; -1 unknown.
func copyTime(c *Copy) int64 {
	if d := c.disk; d.metadata != nil {
		return d.metadata.EndTimeMs
	} else if !d.newest.IsZero() {
		return d.newest.UnixMilli()
	}
	return -1
}

// copiedAfter reports whether the disk of a copy was surely copied after a time.
func (j *judgement) copiedAfter(c *Copy, ms int64) bool {
	copied := copyTime(c)
	return ms >= 0 && copied >= 0 && ms <= copied-clockMargin.Milliseconds()
}

// leavesEpoch is the offset at which the ruling log goes on in a newer epoch than e; ok
// is false if it does not.
func (j *judgement) leavesEpoch(ruler *Copy, e int32) (int64, bool) {
	start, ok := epoch.StartAtOrAfter(ruler.Log.Lineage, ruler.Log.Checkpoint, e+1)
	return min(start, ruler.Log.LogEndOffset), ok
}
