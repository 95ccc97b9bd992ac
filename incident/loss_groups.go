package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"
)

// readers names, for each loss, the consumer groups that had read inside it, and what
// they meet when they come back, if a log leads; nil: the one that rules.
func (j *judgement) readers(losses []Loss, leader *Copy) {
	if len(losses) == 0 {
		return
	}
	list := j.commits(j.ctx)
	if why := j.groupsUnknown(); why != "" {
		for i := range losses {
			losses[i].GroupsUnknown = why
		}
	}
	defer func() {
		for i := range losses {
			if l := &losses[i]; l.GroupsUnknown == "" {
				l.GroupsUnknown = j.unplacedIn(l)
			}
		}
	}()
	if len(list) == 0 {
		return
	}
	now := map[string]Commit{}
	for _, c := range j.inc.Groups(j.ctx).Positions(j.p.Topic, j.p.Number) {
		if c.belongs(j.p) {
			now[c.Group] = c
		}
	}
	for i := range losses {
		l := &losses[i]
		if l.From == nil {
			continue
		}
		read := map[string]int64{}
		for k := range list {
			c := &list[k]
			if c.Offset > *l.From && onLineOf(losses, l, c.epoch) {
				read[c.Group] = max(read[c.Group], c.Offset)
			}
		}
		for group, to := range read {
			if l.To != nil {
				to = min(to, *l.To)
			}
			g := GroupLoss{Group: group, Read: to, Position: -1, CommitMs: -1, LeaderEpoch: -1, Meets: MeetsReset, GapFrom: -1}
			if c, ok := now[group]; ok {
				m := c.meetUnder(j.p, leader)
				if m.Kind == InLog && c.LeaderEpoch > j.newestKnown() {
					m.Kind, m.Why = MeetingUnknown, fmt.Sprintf("its position carries leader epoch %d, which no log and no metadata here know", c.LeaderEpoch)
				}
				meets(&g, l, &c, m)
			}
			l.Groups = append(l.Groups, g)
		}
		slices.SortFunc(l.Groups, func(a, b GroupLoss) int {
			return cmp.Or(cmp.Compare(b.Read, a.Read), cmp.Compare(a.Group, b.Group))
		})
	}
}

// unplacedIn says that a group may have read inside a loss, by a commit that nothing places on
// a line; "" if there is none that is not named already.
func (j *judgement) unplacedIn(l *Loss) string {
	var groups []string
	for i := range j.unplaced {
		if c := &j.unplaced[i]; l.From != nil && c.Offset > *l.From && !slices.Contains(groups, c.Group) && !slices.ContainsFunc(l.Groups, func(g GroupLoss) bool { return g.Group == c.Group }) {
			groups = append(groups, c.Group)
		}
	}
	switch {
	case len(groups) == 0:
		return ""
	case len(groups) == 1:
		return fmt.Sprintf("group %s committed an offset behind the first of them without a leader epoch, and by its time it may have read these records or others", strconv.Quote(groups[0]))
	}
	return fmt.Sprintf("%d groups committed offsets behind the first of them without a leader epoch, and by the times they may have read these records or others", len(groups))
}

// onLineOf reports whether a commit in epoch e is on the line of a loss: in its own
// epochs, or in a later one of records that the same copies hold behind it.
func onLineOf(losses []Loss, l *Loss, e int32) bool {
	if slices.Contains(l.Epochs, e) {
		return true
	}
	if l.To == nil || len(l.Epochs) == 0 || e < slices.Max(l.Epochs) {
		return false
	}
	return slices.ContainsFunc(losses, func(x Loss) bool {
		return x.From != nil && *x.From >= *l.To && slices.Contains(x.Epochs, e) && len(x.HeldBy) > 0 && slices.Equal(x.HeldBy, l.HeldBy)
	})
}

// meets fills in what the group finds at its position.
func meets(g *GroupLoss, l *Loss, c *Commit, m Meeting) {
	g.Position, g.CommitMs, g.LeaderEpoch = c.Offset, c.CommitMs, c.LeaderEpoch
	g.LogEnd = m.LogEnd
	switch {
	case m.Kind == BeyondEnd && c.LeaderEpoch < 0, m.Kind == BelowStart:
		g.Meets = MeetsReset
	case m.Kind == BeyondEnd, m.Kind == Replaced && c.LeaderEpoch >= 0:
		g.Meets, g.GapFrom = MeetsTruncation, m.From
	case m.Kind == Replaced:
		g.Meets, g.GapFrom = MeetsGap, m.From
	case m.Kind == InLog && c.Offset <= *l.From:
		g.Meets = MeetsAgain
	case m.Kind == InLog:
		g.Meets = MeetsNothing
	default:
		g.Meets, g.Why = MeetsUnknown, m.Why
	}
}

// groupsUnknown says what is not known of the groups that had read lost records, ""
// if all that __consumer_offsets could say is there.
func (j *judgement) groupsUnknown() string {
	if slices.Contains(internalTopics, j.p.Topic) {
		return ""
	}
	g := j.inc.Groups(j.ctx)
	copies, skipped := 0, int64(0)
	for _, p := range g.Partitions {
		if p.Cluster != j.g.cluster {
			continue
		}
		for _, c := range p.Copies {
			if c.Err == nil {
				copies++
				skipped += c.Skipped
			}
		}
	}
	total, readable := g.Total(j.g.cluster), int32(len(g.Readable(j.g.cluster)))
	switch {
	case copies == 0 && len(g.Errors) > 0:
		return "__consumer_offsets could not be read"
	case copies == 0:
		return "__consumer_offsets is not among these inputs"
	case total > readable:
		return fmt.Sprintf("%d of the %d partitions of __consumer_offsets are not among these inputs, or could not be read", total-readable, total)
	case len(g.Errors) > 0:
		return fmt.Sprintf("a copy of __consumer_offsets could not be read: %v", g.Errors[0])
	case skipped > 0:
		return fmt.Sprintf("%s batches or stretches of __consumer_offsets are damaged", humanize.Comma(skipped))
	case len(g.Undecoded) > 0:
		return fmt.Sprintf("%s records of __consumer_offsets could not be decoded: %s", humanize.Comma(g.Undecoded[0].Count), g.Undecoded[0].Reason)
	}
	return ""
}
