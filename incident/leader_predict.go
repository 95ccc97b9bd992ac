package incident

import (
	"context"
	"math"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/kraft"
	"kafsck/replica"
)

// predictLeaders tries each live replica as leader. The error is a failed read.
func (j *judgement) predictLeaders(ctx context.Context) error {
	if j.p.Ruling.Removed || j.known.foreign {
		return nil
	}
	opt := j.inc.opt.Leadership
	w := &whatIf{j: j, opt: opt, pairs: map[[2]*Copy][]diff.Divergence{}}
	w.version, w.hint = j.g.cluster.ReleaseFor(opt.Version, opt.VersionGiven)
	l, err := w.leadership(ctx)
	if err != nil {
		return err
	}
	j.p.Leadership = l
	return nil
}

// whatIf is the working state of the prediction for one partition.
type whatIf struct {
	j       *judgement
	opt     *LeaderOptions
	version broker.Version
	hint    *ReleaseHint
	starts  []loadedCopy
	pairs   map[[2]*Copy][]diff.Divergence
	epochs  map[position]int32 // on which line a group committed; nil until asked for

	eraMatters bool
}

func (w *whatIf) leadership(ctx context.Context) (*Leadership, error) {
	l := &Leadership{Version: w.version, Repaired: w.opt.Repaired, Hint: w.hint, Epoch: w.j.latestEpoch(), Leader: -1}
	for _, c := range w.j.readableLive() {
		s, err := w.start(ctx, c)
		if err != nil {
			return nil, err
		}
		l.OldFormat = l.OldFormat || c.Log.HasLegacy && len(c.Log.Loaded) == 0
		w.starts = append(w.starts, s)
	}
	if last := w.j.known.last(); last != nil {
		l.Known, l.Epoch = !w.j.p.Stale, max(l.Epoch, last.LeaderEpoch)
		l.Replicas, l.Leader, l.ISR, l.ELR, l.LastKnownELR = last.Replicas, last.Leader, last.ISR, last.ELR, last.LastKnownELR
	}
	if id, ok := w.j.inc.opt.Leaders[w.j.p.Name]; ok {
		l.Leader = id
	}
	if m := w.j.g.cluster.Metadata; m != nil && w.j.known.topic != nil {
		l.Unclean = uncleanSetting(m, w.j.known.topic.Name)
	}
	w.absent(l)
	for i := range w.starts {
		c, err := w.candidacy(ctx, l, i)
		if err != nil {
			return nil, err
		}
		l.Candidates = append(l.Candidates, c)
	}
	l.EraMatters = w.eraMatters
	w.cutShort(l)
	l.rank()
	if best := l.Recommended(); best != nil {
		for i := range best.Followers {
			if err := w.j.p.keptMended(best.Copy, best.Followers[i].Copy, best.Followers[i].Kept); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// uncleanSetting reads what the controller that is active last goes by.
func uncleanSetting(m *kraft.Log, topic string) UncleanSetting {
	controller := int32(-1)
	if n := len(m.Leaders); n > 0 {
		controller = m.Leaders[n-1].LeaderID
	}
	value, source, _ := m.Effective(math.MaxInt64, topic, controller, "unclean.leader.election.enable")
	return UncleanSetting{Enabled: strings.EqualFold(strings.TrimSpace(value), "true"), Source: source}
}

// epochOf is the leader epoch in which a replica leads. Who leads goes on in the present one.
// An election takes the next; where the leader of now must go first, that takes one as well
// (ReplicationControlManager, PartitionChangeBuilder).
func (l *Leadership) epochOf(c *Candidacy) int32 {
	more := int32(1)
	switch {
	case l.Known && c.Leads:
		more = 0
	case l.Known && l.Leader >= 0 && !c.Eligible:
		more = 2
	}
	return l.Epoch + min(more, math.MaxInt32-l.Epoch)
}

// cutShort finds replicas that end below their own high watermark, and for each candidate
// those whose missing records it does not have. That it has them is taken from its being as
// long and of the same epoch where they part.
func (w *whatIf) cutShort(l *Leadership) {
	for i := range w.starts {
		c, state := w.starts[i].copy, &w.starts[i].asIs
		hw := c.Log.HighWatermark
		if hw == nil || *hw <= state.LogEnd || state.LogEnd < c.Log.LogEndOffset {
			continue
		}
		short := CutShort{Broker: c.Broker, LogEnd: state.LogEnd, HighWatermark: *hw}
		if f := c.Log.HighWatermarkFile; f != nil {
			short.File = f.Path
		}
		for k := range l.Candidates {
			x := &l.Candidates[k]
			at := state.LogEnd - 1
			if x.Copy != c && x.State.LogEnd >= *hw && x.Copy.Log.Lineage.At(at) == c.Log.Lineage.At(at) {
				continue
			}
			x.CutShort = append(x.CutShort, short)
		}
	}
}

// absent names the replicas by the metadata that are not tried, and whoever else may hold
// what an unclean election threw away.
func (w *whatIf) absent(l *Leadership) {
	eligible := l.ISR
	if len(eligible) == 0 {
		eligible = l.ELR
	}
	var holders []int32
	for i := range w.j.p.Changes {
		if c := &w.j.p.Changes[i]; c.Unclean {
			holders = append(holders, w.j.p.heldElsewhere(c)...)
		}
	}
	asked := map[int32]bool{}
	for _, id := range slices.Concat(l.Replicas, holders, []int32{l.Leader}) {
		tried := slices.ContainsFunc(w.starts, func(s loadedCopy) bool { return s.copy.Broker.Known && s.copy.Broker.ID == id })
		if asked[id] || tried || id < 0 {
			continue
		}
		asked[id] = true
		a := AbsentReplica{Broker: id, Leads: id == l.Leader, Eligible: slices.Contains(eligible, id), Holds: slices.Contains(holders, id),
			LastKnown: l.Known && l.Leader < 0 && slices.Contains(l.LastKnownELR, id)}
		for _, c := range w.j.p.Live() {
			a.Unread = a.Unread || c.Broker.Known && c.Broker.ID == id
		}
		for _, cl := range w.j.inc.Clusters {
			for _, b := range cl.Brokers {
				if here := b.IDKnown && b.ID == id; here && cl == w.j.g.cluster {
					a.HasDisk = true
				} else if here {
					a.Foreign = true
				}
			}
		}
		l.Absent = append(l.Absent, a)
	}
}

func (w *whatIf) candidacy(ctx context.Context, l *Leadership, i int) (Candidacy, error) {
	s := &w.starts[i]
	c := s.copy
	out := Candidacy{Copy: c, State: s.asIs, CannotLead: s.offline, CutByStart: replica.Span{From: s.asIs.LogEnd, To: c.Log.LogEndOffset}}
	switch {
	case w.opt.Repaired:
		out.State, out.CannotLead = s.repaired, ""
	case s.repairs:
		out.State, out.RepairFirst = s.repaired, true
	}
	if c.Broker.Known {
		out.Eligible = l.Known && slices.Contains(w.j.p.Ruling.Eligible, c.Broker.ID)
		out.Leads = c.Broker.ID == l.Leader
	}
	out.Epoch = l.epochOf(&out)
	var err error
	if out.Losses, out.CopiedLater, err = w.lossesIf(c, out.State.LogEnd); err != nil {
		return out, err
	}
	out.Lost = map[commitment.Grade]int64{commitment.Yes: 0, commitment.Unknown: 0, commitment.No: 0}
	for k := range out.Losses {
		if n := out.Losses[k].Records; n != nil {
			out.Lost[out.Losses[k].Committed] += *n
		}
	}
	for k := range w.starts {
		if k == i {
			continue
		}
		f, err := w.fate(s, &w.starts[k], out.Epoch)
		if err != nil {
			return out, err
		}
		out.Followers = append(out.Followers, f)
	}
	if err := w.broken(ctx, &out); err != nil {
		return out, err
	}
	w.groups(ctx, &out)
	return out, nil
}

// lossesIf is what copies hold and c, which ends at end after its start, does not. The
// judgement knows it already for who rules, or for all where nobody does.
func (w *whatIf) lossesIf(c *Copy, end int64) (losses []Loss, later int64, err error) {
	j := w.j
	if end < c.Log.LogEndOffset {
		losses, _, err = j.lossesUnder(clip(c, end))
		sortLosses(losses)
		return losses, 0, err
	}
	if later, err = w.copiedLater(c); err != nil {
		return nil, 0, err
	}
	if j.p.Ruling.copy == c && j.p.Ruling.Judged {
		for _, l := range j.p.Losses {
			if l.Basis == "copy" {
				losses = append(losses, l)
			}
		}
		return losses, later, nil
	}
	for i := range j.p.Candidates {
		if j.p.Candidates[i].Leader == c.Broker {
			return j.p.Candidates[i].Losses, later, nil
		}
	}
	losses, _, err = j.lossesUnder(c)
	sortLosses(losses)
	return losses, later, err
}

// copiedLater counts the offsets that are no loss because c's disk was copied too early
// to have them.
func (w *whatIf) copiedLater(c *Copy) (int64, error) {
	most := int64(0)
	for _, h := range w.j.readableLive() {
		if h == c || h.Log.LogEndOffset <= c.Log.LogEndOffset {
			continue
		}
		later, err := w.j.copiedLater(c, h, c.Log.LogEndOffset, h.Log.LogEndOffset)
		if err != nil {
			return 0, err
		}
		if later {
			most = max(most, h.Log.LogEndOffset-c.Log.LogEndOffset)
		}
	}
	return most, nil
}
