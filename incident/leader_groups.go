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
	e, known := c.LeaderEpoch, c.LeaderEpoch >= 0
	for _, p := range w.j.commits(ctx) {
		if p.Group == c.Group && p.Offset == c.Offset && p.CommitMs == c.CommitMs {
			e, known = p.epoch, true
		}
	}
	gone = slices.ContainsFunc(out.Losses, func(l Loss) bool {
		return l.From != nil && *l.From < c.Offset && (!known || onLineOf(out.Losses, &l, e))
	})
	return gone, gone && !known
}
