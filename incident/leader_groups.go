package incident

import (
	"cmp"
	"context"
	"slices"
)

// groups finds the positions of consumer groups that the candidate does not bear out.
func (w *whatIf) groups(ctx context.Context, out *Candidacy) {
	p := w.j.p
	for _, c := range w.j.inc.Groups(ctx).Positions(p.Topic, p.Number) {
		if !c.belongs(p) || c.Deleted || c.Offset < 0 {
			continue
		}
		g := StrandedGroup{Group: c.Group, Position: c.Offset, TimeMs: c.CommitMs, Beyond: c.Offset > out.State.LogEnd}
		gone := false
		gone, g.Guess = w.readGone(ctx, out, &c)
		if g.Beyond || gone {
			out.Groups = append(out.Groups, g)
		}
	}
	slices.SortFunc(out.Groups, func(a, b StrandedGroup) int {
		return cmp.Or(cmp.Compare(b.Position, a.Position), cmp.Compare(a.Group, b.Group))
	})
}

// readGone reports whether a group has read records that the candidate lacks: some lie below
// its position, and are of the line on which it committed. That is its own leader epoch, else
// the one in force at the time of its commit; where neither is known, it is a guess.
func (w *whatIf) readGone(ctx context.Context, out *Candidacy, c *Commit) (gone, guess bool) {
	if c.LeaderEpoch >= 0 && out.Copy.Log.Lineage.At(c.Offset-1) == c.LeaderEpoch {
		return false, false
	}
	e, known := w.placedAt(ctx, c)
	if !known {
		e, known = c.LeaderEpoch, c.LeaderEpoch >= 0
	}
	gone = slices.ContainsFunc(out.Losses, func(l Loss) bool {
		return l.From != nil && *l.From < c.Offset && (!known || onLineOf(out.Losses, &l, e))
	})
	return gone, gone && !known
}

// position is a commit as several copies of __consumer_offsets tell it.
type position struct {
	group            string
	offset, commitMs int64
}

// placedAt is the epoch of the line on which a group committed; known false: it cannot be placed.
func (w *whatIf) placedAt(ctx context.Context, c *Commit) (epoch int32, known bool) {
	if w.epochs == nil {
		w.epochs = map[position]int32{}
		for _, p := range w.j.commits(ctx) {
			w.epochs[position{p.Group, p.Offset, p.CommitMs}] = p.epoch
		}
	}
	epoch, known = w.epochs[position{c.Group, c.Offset, c.CommitMs}]
	return epoch, known
}
