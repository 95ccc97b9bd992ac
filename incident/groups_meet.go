package incident

import (
	"context"
	"fmt"
	"iter"

	"kafsck/epoch"
)

// MeetingKind says how a group's position lies to the log that it points into.
type MeetingKind string

const (
	// InLog: the records from the position on are there, and those before it are the ones
	// that the group had read, as far as epochs tell.
	InLog MeetingKind = "in-log"
	// BeyondEnd: above the log end. The consumer is told OFFSET_OUT_OF_RANGE and does what
	// its auto.offset.reset says. If producers write past the position before it comes back,
	// it notices nothing and never reads what they wrote below it.
	BeyondEnd MeetingKind = "beyond-log-end"
	// BelowStart: below the log start. OFFSET_OUT_OF_RANGE as well: records were deleted
	// before the group read them, or it has read nothing for longer than the retention.
	BelowStart MeetingKind = "below-log-start"
	// Replaced: within the log, but the records below it are not those that the group had
	// read: the log was truncated and written anew. With a leader epoch in the commit the
	// consumer notices (KIP-320, clients since 2.3); without one it goes on and never reads
	// the new records [From, Offset).
	Replaced MeetingKind = "replaced"
	// OtherTopic: the commit is for another topic id: the topic was deleted and made anew.
	OtherTopic MeetingKind = "other-topic"
	// MeetingUnknown: see Why.
	MeetingUnknown MeetingKind = "unknown"
)

// Meeting is what a group finds where it goes on reading.
type Meeting struct {
	Kind MeetingKind
	// LogStart and LogEnd are those of the log that rules, the log end exclusive; -1 unknown.
	LogStart, LogEnd int64
	// Lag is LogEnd - Offset; -1 unknown, or beyond the log end. A broker tells consumers of the high watermark
	// instead, which is no higher.
	Lag int64
	// From: the group had read [From, Offset) of a line that the log left; -1 if not so.
	From int64
	// Epoch is the leader epoch of the last of these records. ByTime: it is not in the commit
	// but follows from the time of the commit and the elections in the metadata.
	Epoch  int32
	ByTime bool
	// Broker is whose log it is, and Basis how that is known: "ruling", "guess", or
	// "longest" where nobody rules and all live copies agree on Kind.
	Broker BrokerRef
	Basis  string
	Why    string // Unknown: why
	Absent bool   // Unknown: no copy of the partition is among the inputs
}

// Harmful reports whether the group will not simply go on: it is reset, or misses records.
func (m *Meeting) Harmful() bool { return m.Kind == BeyondEnd || m.Kind == Replaced }

// Meet looks where the commit's position lies in the logs of p. p nil: no copy of the
// partition is among the inputs.
func (c *Commit) Meet(p *Partition) Meeting {
	m := Meeting{Kind: MeetingUnknown, LogStart: -1, LogEnd: -1, Lag: -1, From: -1, Epoch: -1}
	switch {
	case p == nil:
		m.Why, m.Absent = "no copy of the partition is among the inputs", true
		return m
	case !c.belongs(p):
		m.Kind = OtherTopic
		return m
	case p.Ruling.Removed:
		m.Why = p.Ruling.Why
		return m
	case !p.Ruling.Judged:
		m.Why = p.Ruling.Reason
		return m
	case p.Ruling.copy != nil:
		m.Basis = "ruling"
		if p.Ruling.Guess {
			m.Basis = "guess"
		}
		c.in(p.Ruling.copy, p, &m)
		return m
	}
	var all []Meeting
	for _, l := range p.Live() {
		if !l.readable() {
			m.Why = fmt.Sprintf("nobody rules, and broker %s's copy could not be read", l.Broker.Name)
			return m
		}
		one := m
		one.Basis = "longest"
		c.in(l, p, &one)
		all = append(all, one)
	}
	if len(all) == 0 {
		m.Why = "no live copy of the partition is among the inputs"
		return m
	}
	best := all[0]
	for _, one := range all[1:] {
		if one.Kind != best.Kind {
			m.Why = "nobody rules, and the copies differ: " + p.Ruling.Why
			return m
		}
		if one.LogEnd > best.LogEnd {
			best = one
		}
	}
	return best
}

// meetUnder looks where the commit's position lies if a copy of p leads; leader nil: see Meet.
func (c *Commit) meetUnder(p *Partition, leader *Copy) Meeting {
	if leader == nil || !c.belongs(p) {
		return c.Meet(p)
	}
	m := Meeting{Kind: MeetingUnknown, From: -1, Epoch: -1, Basis: "candidate"}
	c.in(leader, p, &m)
	return m
}

// in looks at one log.
func (c *Commit) in(l *Copy, p *Partition, m *Meeting) {
	m.Broker, m.LogStart, m.LogEnd = l.Broker, l.Log.LogStartOffset, l.Log.LogEndOffset
	m.Lag = m.LogEnd - c.Offset
	m.Epoch, m.ByTime = c.epochRead(p)
	if m.Epoch >= 0 && c.Offset > 0 {
		if left, ok := epoch.StartAtOrAfter(l.Log.Lineage, l.Log.Checkpoint, m.Epoch+1); ok && left < c.Offset {
			m.From = left
		}
	}
	switch {
	case c.Offset > m.LogEnd:
		m.Kind, m.Lag = BeyondEnd, -1
		if m.From < 0 || m.From > m.LogEnd {
			m.From = m.LogEnd
		}
	case c.Offset < m.LogStart:
		m.Kind, m.From = BelowStart, -1
	case m.From >= 0:
		m.Kind = Replaced
	default:
		m.Kind = InLog
	}
}

// epochRead is the leader epoch of the last record that the group had read: by the commit,
// else the one in force when it was committed, by the metadata. -1 unknown.
func (c *Commit) epochRead(p *Partition) (e int32, byTime bool) {
	if c.LeaderEpoch >= 0 {
		return c.LeaderEpoch, false
	}
	e = -1
	if c.CommitMs < 0 || p.Stale {
		return e, false
	}
	for i := range p.Changes {
		ch := &p.Changes[i]
		if ch.TimeMs > c.CommitMs || ch.FromSnapshot && i == 0 && ch.TimeMs < 0 {
			break
		}
		if !ch.Uncertain {
			e, byTime = ch.LeaderEpoch, true
		}
	}
	return e, byTime
}

// Logs reads and rules the partitions that match, without comparing their copies: where
// they begin and end, for positions to be held against.
func (inc *Incident) Logs(ctx context.Context, match func(topic string, partition int32) bool) iter.Seq[*Partition] {
	sub := &Incident{Case: inc.Case, Clusters: inc.Clusters, opt: inc.opt}
	sub.opt.Compare, sub.opt.Files, sub.opt.Records, sub.opt.Tell = false, false, false, false
	sub.opt.Match = func(topic string, partition int32) bool {
		return (inc.opt.Match == nil || inc.opt.Match(topic, partition)) && match(topic, partition)
	}
	return sub.Partitions(ctx)
}
