package incident

import (
	"math"
	"path"
	"slices"

	"kafsck/broker"
	"kafsck/check"
	"kafsck/commitment"
	"kafsck/logdir"
	"kafsck/replica"
)

// CutTotals adds up what a start takes off a log: the whole records, and the bytes that are part of
// none.
type CutTotals struct {
	Logs    int   // .log files that are cut or deleted
	Bytes   int64 // all that goes
	Records int64 // in whole batches
	Zeros   int64 // bytes of zeros at the end of a file, as preallocation and a power cut leave them
	Torn    int64 // bytes of a batch that was never written to its end
	Damaged int64 // offsets of damaged bytes: how many records stood there is not known
	// Replaced are bytes of files whose place a finished compaction takes; they are in none of the others.
	Replaced int64
}

// Harmless reports whether what goes away is zeros alone.
func (t *CutTotals) Harmless() bool { return t.Records == 0 && t.Bytes > 0 && t.Bytes == t.Zeros }

// add counts one segment that is taken away at and behind a position.
func (t *CutTotals) add(c *Copy, segment int, x broker.Action, position int64, spans []replica.Span) error {
	if x.Bytes == 0 {
		return nil
	}
	if x.Replaced {
		t.Replaced += x.Bytes
		return nil
	}
	t.Logs++
	t.Bytes += x.Bytes
	for _, s := range spans {
		n, err := countRecords(c, s)
		if err != nil {
			return err
		}
		t.Records += n
	}
	for _, a := range c.Log.Anomalies.Kept {
		if a.Segment != segment || a.Position < position || a.File != nil && path.Base(a.File.Path) != x.File {
			continue
		}
		switch a.Kind {
		case replica.ZeroTail:
			t.Zeros += a.Length
		case replica.TornTail:
			t.Torn += a.Length
		case replica.BadChecksum, check.UnknownMagic, replica.JunkBytes, replica.ZeroHole:
			if a.From >= 0 && a.To > a.From && a.To-a.From < math.MaxInt32 {
				t.Damaged += a.To - a.From
			}
		}
	}
	return nil
}

// Follows is what a broker does to its log after its start, when it meets the leader.
type Follows struct {
	Leader BrokerRef
	Guess  bool // the leader is one
	broker.Truncation
	// Lost are the records that it throws away and that the leader lacks.
	Lost []GoneRecords
}

// Count adds up the lost records of one grade.
func (f *Follows) Count(grade commitment.Grade) int64 { return countGone(f.Lost, grade) }

func countGone(list []GoneRecords, grade commitment.Grade) int64 {
	var n int64
	for i := range list {
		if list[i].Committed == grade {
			n += list[i].Records
		}
	}
	return n
}

// followsAfter predicts what a live replica cuts off after its start, as a follower of who rules.
// That is no act of the start, but nobody who asks about a start asks for less.
func (j *judgement) followsAfter(dir *logdir.Partition, ps *PartitionStart) error {
	p, r := j.p, &j.p.Ruling
	at := slices.IndexFunc(p.Copies, func(c *Copy) bool { return c.State == replica.Live && !c.Extra && j.g.dirOf(c) == dir })
	if at < 0 || !p.Copies[at].readable() || ps.Loaded.Outcome != broker.OK || r.Removed || j.known.foreign {
		return nil
	}
	me := p.Copies[at]
	mine := ps.State(me.Broker.ID)
	mine.Legacy = legacy(me, ps.Start.Version)
	if err := j.belowWatermark(me, ps); err != nil {
		return err
	}
	if ps.Cut.Bytes == 0 && me.Log.LogEndOffset > ps.LogEndOffset {
		// The last entry of an .index points at a torn batch, and the log ends at the base of its segment.
		ps.Hidden = replica.Span{From: ps.LogEndOffset, To: me.Log.LogEndOffset}
	}
	switch {
	case r.copy == me || r.Leader != nil && *r.Leader == me.Broker:
		return nil
	case r.Leader == nil:
		for i := range p.Candidates {
			ps.Unled = ps.Unled || slices.ContainsFunc(p.Candidates[i].Losses, func(l Loss) bool { return l.Counts() })
		}
		return nil
	case r.copy == nil || !r.copy.readable():
		away := *r.Leader
		ps.LeaderAway = &away
		return nil
	case !r.Judged:
		return nil
	}
	lead := j.startedState(r.copy, ps.Start.Version)
	f := &Follows{Leader: r.copy.Broker, Guess: r.Guess,
		Truncation: broker.Truncate(ps.Start.Version.Era(), broker.BecomeLeader(lead, p.leadingEpoch(r.copy)), mine)}
	spans, err := thrownAway(me, mine, f.Truncation)
	if err != nil {
		return err
	}
	if f.Lost, err = lossesWith(p.Losses, me, spans); err != nil {
		return err
	}
	ps.Follows = f
	return nil
}

// startedState is a replica after its broker's start.
func (j *judgement) startedState(c *Copy, v broker.Version) broker.State {
	if ps := j.startOf(j.g.dirOf(c)); ps != nil && ps.Loaded != nil && ps.Loaded.Outcome == broker.OK {
		s := ps.State(c.Broker.ID)
		s.Legacy = legacy(c, v)
		return s
	}
	s, _ := stateOf(c, v)
	return s
}

// belowWatermark finds what had been committed and is no longer in the log when the start has cut
// it, and who has it, all of it whole, also after the start of its own broker.
func (j *judgement) belowWatermark(me *Copy, ps *PartitionStart) error {
	if ps.Cut.Bytes == 0 || me.Log.HighWatermark == nil || *me.Log.HighWatermark <= ps.LogEndOffset {
		return nil
	}
	s := replica.Span{From: ps.LogEndOffset, To: *me.Log.HighWatermark}
	ps.BelowWatermark = s
	for _, c := range j.readableLive() {
		if c == me || c.Log.LogStartOffset > s.From || c.Log.LogEndOffset < s.To {
			continue
		}
		if own := j.startOf(j.g.dirOf(c)); own != nil && own.Loaded != nil && own.LogEndOffset < s.To {
			ps.WatermarkCutBy = append(ps.WatermarkCutBy, c.Broker)
			continue
		}
		whole, err := j.wholeOver(c, s)
		if err != nil {
			return err
		}
		if whole {
			ps.WatermarkHeldBy = append(ps.WatermarkHeldBy, c.Broker)
		} else {
			ps.WatermarkCutBy = append(ps.WatermarkCutBy, c.Broker)
		}
	}
	return nil
}

// wholeOver reports whether nothing in a range of a copy's offsets is damaged, or missing though
// the topic is not compacted.
func (j *judgement) wholeOver(c *Copy, s replica.Span) (bool, error) {
	next := s.From
	for b, err := range c.Log.Blocks(s.From, s.To) {
		switch {
		case err != nil:
			return false, err
		case !b.Whole(), b.Base > next && j.p.Ruling.Policy != compactPolicy && !c.Log.Sparse:
			return false, nil
		}
		next = max(next, b.Next())
	}
	return next >= s.To || j.p.Ruling.Policy == compactPolicy, nil
}

// thrownAway is the offsets that a follower drops: from the batch that the cut lies inside of to its
// log end, or, in a rebuild, everything.
func thrownAway(c *Copy, mine broker.State, t broker.Truncation) ([]replica.Span, error) {
	from := t.To
	switch {
	case t.Rebuild:
		from = c.Log.LogStartOffset
	case t.To >= mine.LogEnd:
		return nil, nil
	default:
		for b, err := range c.Log.Blocks(t.To, t.To+1) {
			if err != nil {
				return nil, err
			}
			from = min(from, b.Base)
		}
	}
	if from >= mine.LogEnd {
		return nil, nil
	}
	return []replica.Span{{From: from, To: mine.LogEnd}}, nil
}
