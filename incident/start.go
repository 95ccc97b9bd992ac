package incident

import (
	"cmp"
	"context"
	"path"
	"slices"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
)

// StartOptions say how brokers are started.
type StartOptions struct {
	broker.StartOptions
	// VersionGiven: somebody named the release; else Cluster.ReleaseFor decides for each cluster.
	VersionGiven bool
	// OneBroker takes all log directories among the inputs for disks of one broker, whatever their
	// meta.properties say.
	OneBroker bool
}

// Starts are the next starts of all brokers among the inputs.
type Starts struct {
	Brokers []*BrokerStart

	byDir map[*logdir.Partition]startedDir
}

// startedDir is a partition directory with the start that it is part of.
type startedDir struct {
	start     *BrokerStart
	dir       *broker.StartedDir
	partition *broker.StartedPartition
}

// BrokerStart is the next start of one broker.
type BrokerStart struct {
	Broker  BrokerRef
	Cluster *Cluster
	*broker.Started
	// Asked: cluster metadata told which directories belong on the broker. Without, a start renames
	// those that do not to -stray, and nothing here can tell which.
	Asked bool
}

// PartitionStart is what the next start does to one partition directory.
type PartitionStart struct {
	*broker.StartedPartition
	Start *BrokerStart
	Dir   *broker.StartedDir
	// Gone are the records that the start takes away and that no ruling log holds: the losses of the
	// partition where it is known who rules, else what no other live copy among the inputs holds.
	Gone []GoneRecords
	// Cut is what the start takes off the log itself.
	Cut CutTotals
	// BelowWatermark are the offsets from the new log end up to the directory's high watermark where
	// the start cuts the log: they had been committed. Empty mostly. WatermarkHeldBy are the brokers
	// whose live logs reach over all of them.
	BelowWatermark  replica.Span
	WatermarkHeldBy []BrokerRef
	// WatermarkCutBy are those whose log reaches over them, but is damaged there, or is cut by the
	// start of that broker as well.
	WatermarkCutBy []BrokerRef
	// Hidden are offsets from the new log end on of whole batches that stay in the files, where the
	// start cuts nothing: nobody reads them, and new records take their offsets. Empty mostly.
	Hidden replica.Span
	// Compacted: the cleanup policy of the topic includes compact.
	Compacted bool
	// RemovedAt is the metadata offset at which the topic was deleted, -1 if it was not.
	RemovedAt int64
	// Follows is what the broker does next as a follower; nil where it leads, or nothing is known.
	Follows *Follows
	// LeaderAway is the leader by the metadata whose log is not among the inputs: what this broker cuts
	// as its follower is not known.
	LeaderAway *BrokerRef
	// Unled: nobody leads, and who is elected decides how many records are lost.
	Unled bool
}

// GoneRecords are records that a broker takes away: a start with one file, a follower off its log.
type GoneRecords struct {
	File      string // shown path of the .log; "" of a follower
	State     replica.State
	Action    broker.Action
	From, To  int64 // offsets [From, To)
	Records   int64
	Committed commitment.Grade // Unknown where nobody rules
	// Lost: the ruling log lacks the records. False: nobody rules, or this is the ruling log itself, and
	// no other live copy among the inputs holds them.
	Lost   bool
	HeldBy []BrokerRef // brokers whose live logs hold them too
}

// Counts reports whether the records may have been committed.
func (g *GoneRecords) Counts() bool { return g.Committed != commitment.No }

// Start predicts the next start of every broker. The failed reads are in each Started.Errors; the
// error is that of the context.
func (inc *Incident) Start(ctx context.Context, opt StartOptions) (*Starts, error) {
	out := &Starts{byDir: map[*logdir.Partition]startedDir{}}
	for _, cl := range inc.Clusters {
		for _, b := range cl.Brokers {
			out.Brokers = append(out.Brokers, &BrokerStart{Broker: cl.refs[b], Cluster: cl, Started: &broker.Started{Broker: b}})
		}
	}
	if opt.OneBroker && len(out.Brokers) > 1 {
		first := out.Brokers[0]
		one := *first.Started.Broker
		one.Dirs = nil
		for _, b := range inc.Case.Brokers {
			one.Dirs = append(one.Dirs, b.Dirs...)
		}
		first.Started.Broker = &one
		out.Brokers = out.Brokers[:1]
	}
	for _, s := range out.Brokers {
		o := opt.StartOptions
		o.Version, _ = s.Cluster.ReleaseFor(o.Version, opt.VersionGiven)
		if s.Cluster.Metadata != nil && s.Broker.Known {
			s.Asked = true
			o.Membership = func(p *logdir.Partition) broker.Membership { return membership(s.Cluster.Metadata, s.Broker.ID, p) }
		}
		started, err := broker.Start(ctx, s.Started.Broker, o)
		if err != nil {
			return nil, err
		}
		s.Started = started
		for _, d := range started.Dirs {
			for _, sp := range d.Partitions {
				out.byDir[sp.Partition] = startedDir{s, d, sp}
			}
		}
	}
	slices.SortStableFunc(out.Brokers, func(a, b *BrokerStart) int {
		return cmp.Or(cmp.Compare(a.Broker.ID, b.Broker.ID), cmp.Compare(a.Broker.Name, b.Broker.Name))
	})
	return out, nil
}

// membership asks the newest metadata among the inputs whether a directory belongs on a broker. A
// topic that they do not know may have been created since, so that only a deletion on record and an
// assignment on record count against a directory.
func membership(m *kraft.Log, id int32, p *logdir.Partition) broker.Membership {
	if !p.HasTopicID {
		return broker.MemberUnknown
	}
	t := m.Topics[p.TopicID]
	switch {
	case t == nil:
		return broker.MemberUnknown
	case t.RemovedAt >= 0:
		return broker.TopicGone
	}
	part := m.Partitions[kraft.PartitionID{Topic: p.TopicID, Partition: p.Partition}]
	if part == nil || len(part.Changes) == 0 {
		return broker.MemberUnknown
	}
	if last := part.Changes[len(part.Changes)-1]; last.Members != nil && !slices.Contains(last.Replicas, id) {
		return broker.Unassigned
	}
	return broker.Member
}

// predictStarts joins the starts of the partition's directories with what is known of its records.
func (j *judgement) predictStarts() error {
	for _, m := range j.g.dirs {
		ps := j.startOf(m.dir)
		if ps == nil {
			continue
		}
		if ps.Loaded != nil {
			if err := j.goneAtStart(m.dir, ps); err != nil {
				return err
			}
			if err := j.followsAfter(m.dir, ps); err != nil {
				return err
			}
		}
		j.p.Starts = append(j.p.Starts, ps)
	}
	return nil
}

// startOf is the start of a directory, with nothing said of its records.
func (j *judgement) startOf(dir *logdir.Partition) *PartitionStart {
	at, ok := j.inc.opt.Starts.byDir[dir]
	if !ok {
		return nil
	}
	ps := &PartitionStart{StartedPartition: at.partition, Start: at.start, Dir: at.dir, Compacted: j.p.Ruling.Policy == compactPolicy, RemovedAt: -1}
	if j.known != nil && j.known.removed {
		ps.RemovedAt = j.known.topic.RemovedAt
	}
	return ps
}

// listStarts adds the directories of a partition that could not be judged.
func (j *judgement) listStarts() {
	for _, m := range j.g.dirs {
		known := slices.ContainsFunc(j.p.Starts, func(s *PartitionStart) bool { return s.Partition == m.dir })
		if ps := j.startOf(m.dir); ps != nil && !known {
			j.p.Starts = append(j.p.Starts, ps)
		}
	}
}

// goneAtStart finds the records that a start takes away with the files of a directory.
func (j *judgement) goneAtStart(dir *logdir.Partition, ps *PartitionStart) error {
	for _, c := range j.p.Copies {
		if c.Dir != dir.Dir || !c.readable() || j.g.dirOf(c) != dir {
			continue
		}
		for i, seg := range c.Log.Segments {
			if seg.Log == nil {
				continue
			}
			action, position, ok := takesAway(ps.StartedPartition, path.Base(seg.Log.Path))
			if !ok {
				continue
			}
			spans, err := spansBehind(c, i, position)
			if err != nil {
				return err
			}
			own := c.State == replica.State(dir.State.String()) || c.State == replica.Replaced && !action.Replaced
			if own && (dir.State == logdir.Live || dir.State == logdir.Future) {
				if err := ps.Cut.add(c, i, action, position, spans); err != nil {
					return err
				}
			}
			if len(spans) == 0 {
				continue
			}
			list, err := j.lostWith(c, spans)
			if err != nil {
				return err
			}
			for _, g := range list {
				g.File, g.State, g.Action = seg.Log.Path, c.State, action
				ps.Gone = append(ps.Gone, g)
			}
		}
	}
	return nil
}

// takesAway finds the action by which a start takes a .log, or all behind a position of it.
func takesAway(sp *broker.StartedPartition, name string) (action broker.Action, position int64, ok bool) {
	for _, x := range sp.Actions {
		if x.File != name || x.Bytes == 0 { // of a split segment the batches stay
			continue
		}
		switch x.Action {
		case broker.ActDelete, broker.ActMarkDeleted:
			return x, 0, true
		case broker.ActTruncate:
			return x, x.Position, true
		}
	}
	if sp.Partition.State == logdir.Delete {
		return broker.Action{Action: broker.ActDelete, File: name, Why: "the whole directory is queued for deletion"}, 0, true
	}
	return broker.Action{}, 0, false
}

// spansBehind is the offsets of the whole batches of a segment at and behind a position.
func spansBehind(c *Copy, segment int, position int64) ([]replica.Span, error) {
	from, to := c.Log.Segments[segment].BaseOffset, c.Log.LogEndOffset
	if segment+1 < len(c.Log.Segments) {
		to = c.Log.Segments[segment+1].BaseOffset
	}
	var out []replica.Span
	for b, err := range c.Log.Blocks(from, max(to, from)) {
		if err != nil {
			return nil, err
		}
		if b.Segment != segment || b.Position < position || !b.Whole() {
			continue
		}
		if n := len(out); n > 0 && out[n-1].To == b.Base {
			out[n-1].To = b.Next()
		} else {
			out = append(out, replica.Span{From: b.Base, To: b.Next()})
		}
	}
	return out, nil
}

// lostWith is the part of spans of a copy whose records the ruling log lacks, or, where nobody rules
// or the copy itself does, those that no other live copy holds.
func (j *judgement) lostWith(c *Copy, spans []replica.Span) ([]GoneRecords, error) {
	p := j.p
	if ruler := p.Ruling.copy; p.Ruling.Judged && ruler != nil && ruler != c {
		return lossesWith(p.Losses, c, spans)
	}
	compacted := p.Ruling.Policy == compactPolicy
	for _, other := range j.readableLive() {
		if other == c || other.Log.Empty() {
			continue
		}
		missing, err := diff.Missing(other.Content(), c.Content(), other.Log.LogStartOffset, compacted)
		if err != nil {
			return nil, err
		}
		spans = overlaps(spans, spansOf(missing))
	}
	if n := len(c.Log.Lineage); c.State == replica.Live && (n == 0 || c.Log.Lineage[n-1].To >= c.Log.LogStartOffset) {
		// What lies below the log start is expired already; not where all of the log does, since then the
		// log start offset itself is in doubt.
		spans = overlaps(spans, []replica.Span{{From: c.Log.LogStartOffset, To: max(c.Log.LogEndOffset, c.Log.LogStartOffset)}})
	}
	var out []GoneRecords
	for _, s := range spans {
		n, err := countRecords(c, s)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, GoneRecords{From: s.From, To: s.To, Records: n, Committed: commitment.Unknown})
		}
	}
	return out, nil
}

// lossesWith is those of some losses that a copy holds in spans.
func lossesWith(losses []Loss, c *Copy, spans []replica.Span) ([]GoneRecords, error) {
	me := CopyRef{Broker: c.Broker, State: c.State, File: c.file()}
	var out []GoneRecords
	for i := range losses {
		l := &losses[i]
		if l.From == nil || l.To == nil || !slices.Contains(l.Copies, me) {
			continue
		}
		for _, s := range overlaps(spans, []replica.Span{{From: *l.From, To: *l.To}}) {
			n, err := countRecords(c, s)
			if err != nil {
				return nil, err
			}
			g := GoneRecords{From: s.From, To: s.To, Records: n, Committed: l.Committed, Lost: true}
			for _, x := range l.Copies {
				if x.State == replica.Live && x != me && !slices.Contains(g.HeldBy, x.Broker) {
					g.HeldBy = append(g.HeldBy, x.Broker)
				}
			}
			if n > 0 {
				out = append(out, g)
			}
		}
	}
	return out, nil
}

// countRecords counts the records of a copy in a span.
func countRecords(c *Copy, s replica.Span) (int64, error) {
	var n int64
	for b, err := range c.Log.Blocks(s.From, s.To) {
		if err != nil {
			return 0, err
		}
		if !b.Whole() || b.Control() {
			continue
		}
		k, err := diff.CountRecords(c.Content(), &b, max(b.Base, s.From), min(b.Next(), s.To))
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

// overlaps is the offsets that lie in both lists, each of them ascending.
func overlaps(a, b []replica.Span) []replica.Span {
	var out []replica.Span
	for _, x := range a {
		for _, y := range b {
			if lo, hi := max(x.From, y.From), min(x.To, y.To); lo < hi {
				out = append(out, replica.Span{From: lo, To: hi})
			}
		}
	}
	return out
}

// ExpectStarts makes Partitions say what these starts take away, for which the copies are compared.
func (inc *Incident) ExpectStarts(s *Starts) { inc.opt.Starts, inc.opt.Compare = s, true }
