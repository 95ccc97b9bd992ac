package incident

import (
	"slices"

	"kafsck/diff"
	"kafsck/replica"
)

// maxMendBytes bounds what is read to see whether another replica mends a log: behind that nothing
// is said of it.
const maxMendBytes = 256 << 20

// maxMends bounds the places that are looked at: of the others nothing is said.
const maxMends = 256

// mending finds for losses of a log that is damaged, or cut by its start at damage, the replicas that
// have what it lacks: those from which a repair takes it, so that nothing is lost.
func (j *judgement) mending(ruler *Copy, losses []Loss) error {
	cut := ruler.content != nil
	own := ruler
	if cut {
		i := slices.IndexFunc(j.p.Copies, func(c *Copy) bool { return c.Index == ruler.Index })
		if i < 0 {
			return nil
		}
		own = j.p.Copies[i]
	}
	if own.State != replica.Live || j.p.Ruling.Policy == compactPolicy {
		return nil
	}
	for i := range losses[:min(len(losses), maxMends)] {
		l := &losses[i]
		if !l.Counts() || l.Basis != "copy" || !cut && l.Cause != CauseDamage && l.Cause != CauseMissingRange {
			continue
		}
		from := *l.From
		if cut {
			from = min(from, ruler.Log.LogEndOffset)
		}
		var err error
		if l.MendedBy, err = j.p.mends(own, from, *l.To); err != nil {
			return err
		}
	}
	return nil
}

// mends names the brokers that have, whole, all that is damaged or missing in [from, to) of c, each
// hole of it between the same two batches: then it is the same line, and a repair takes the batches
// from there. nil: nothing is damaged there, or not all of it can be had, or it is not known.
//
//	c        | 180–189 | damaged 190–199 | 200–209 |
//	another  | 180–189 | 190–199         | 200–209 |   the first and the last batch are the same
func (p *Partition) mends(c *Copy, from, to int64) ([]BrokerRef, error) {
	if c.Log.Sparse || c.Log.Swapped || to > c.Log.LogEndOffset {
		return nil, nil
	}
	from, err := wholeBefore(c, from)
	if err != nil || from < 0 {
		return nil, err
	}
	var (
		out   []BrokerRef
		prev  *replica.Block
		bytes int64
		open  bool
	)
	for b, err := range c.Log.Blocks(from, c.Log.LogEndOffset) {
		if err != nil {
			return nil, err
		}
		if bytes += b.Length; bytes > maxMendBytes {
			return nil, nil
		}
		if b.Flaws != 0 {
			open = true
			continue
		}
		if prev != nil && b.Base < prev.Next() {
			return nil, nil
		}
		if prev == nil && open {
			return nil, nil
		}
		if prev != nil && (open || b.Base > prev.Next()) {
			refs, err := p.enclosing(c, prev, &b)
			if err != nil || len(refs) == 0 {
				return nil, err
			}
			for _, r := range refs {
				if !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
		open = false
		next := b
		prev = &next
		if b.Base >= to {
			break
		}
	}
	if open || prev == nil || prev.Next() < to {
		return nil, nil
	}
	return out, nil
}

// wholeBefore is the first offset of the whole batch before an offset, -1 where there is none near.
func wholeBefore(c *Copy, at int64) (int64, error) {
	const most = 64 // damaged ones in between
	for range most {
		if at <= c.Log.LogStartOffset {
			return -1, nil
		}
		found := int64(-1)
		whole := false
		for b, err := range c.Log.Blocks(at-1, at) {
			if err != nil {
				return -1, err
			}
			found, whole = b.Base, b.Flaws == 0
			break
		}
		switch {
		case found < 0 || found >= at:
			return -1, nil
		case whole:
			return found, nil
		}
		at = found
	}
	return -1, nil
}

// enclosing names the other live replicas that have two batches of c and, between them, whole ones for
// every offset.
func (p *Partition) enclosing(c *Copy, prev, next *replica.Block) (out []BrokerRef, err error) {
	for _, o := range p.Live() {
		if o == c || o.Broker == c.Broker || !o.readable() || o.Log.Swapped || o.Log.Sparse {
			continue
		}
		at, epoch, met := prev.Base, prev.Epoch, false
		same := false
		for b, err := range o.Log.Blocks(prev.Base, next.Base+1) {
			if err != nil {
				return nil, err
			}
			if b.Flaws != 0 || b.Base != at || b.Epoch < epoch || b.Legacy != next.Legacy || !met && !b.Same(prev) {
				break
			}
			if met && b.Same(next) {
				same = true
				break
			}
			met, at, epoch = true, b.Next(), b.Epoch
		}
		if same && !slices.Contains(out, o.Broker) {
			out = append(out, o.Broker)
		}
	}
	return out, nil
}

// keptMended finds for the ranges in which a follower stays different who mends it, or the leader.
func (p *Partition) keptMended(leader, follower *Copy, kept []KeptRange) error {
	for i := range kept[:min(len(kept), maxMends)] {
		k := &kept[i]
		if k.Kind != diff.Damaged && k.Kind != diff.MissingRange {
			continue
		}
		for _, c := range []*Copy{follower, leader} {
			refs, err := p.mends(c, k.From, k.To)
			if err != nil {
				return err
			}
			if len(refs) > 0 {
				k.MendedBy = refs
				break
			}
		}
	}
	return nil
}

// Mended reports whether all losses that count can be had from other replicas by a repair.
func Mended(losses []Loss) bool {
	n := 0
	for i := range losses {
		if l := &losses[i]; l.Counts() {
			if len(l.MendedBy) == 0 {
				return false
			}
			n++
		}
	}
	return n > 0
}
