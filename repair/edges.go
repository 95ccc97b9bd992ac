package repair

import (
	"context"
	"fmt"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/replica"
)

// settleEdges decides about the epoch of the first and the last batch where it
// stands in that batch alone. The neighbours of all other batches show whether an
// epoch, which no CRC covers, is real; for these two somebody else must know.
//
// The directory's own file may confirm such an epoch but not refute it, since the
// file is what is in doubt here. Refuted it is by the metadata, if they have never
// heard of so high an epoch, and by another replica that holds the same records
// under another epoch. What nobody refutes is obeyed; what nobody confirms is said.
func settleEdges(ctx context.Context, p *incident.Partition, f *facts) error {
	l := f.log
	if l.Anomalies.Counts[replica.EpochOutOfLine] > 0 {
		// Some of these may be edges that were doubted for the sake of the old file.
		if err := l.DoubtEdges(ctx, false, false); err != nil {
			return err
		}
	}
	first, err := f.refuted(p, l.FirstEdge)
	if err != nil {
		return err
	}
	last, err := f.refuted(p, l.LastEdge)
	if err != nil {
		return err
	}
	if first || last {
		if err := l.DoubtEdges(ctx, first, last); err != nil {
			return err
		}
	}
	f.lineage = l.Lineage
	return nil
}

// refuted decides about one edge, nil for none.
func (f *facts) refuted(p *incident.Partition, b *replica.Block) (bool, error) {
	if b == nil || f.fromFile.Has(b.Epoch) {
		return false, nil
	}
	confirmed := false
	if c := newestLeadership(p); c != nil && !c.Uncertain {
		if c.LeaderEpoch < b.Epoch {
			return true, nil
		}
		confirmed = true
	}
	for _, o := range siblings(p, f.copy) {
		if o.Err != nil || o.Log == nil {
			continue
		}
		if o.Log.Lineage.Has(b.Epoch) {
			confirmed = true
			continue
		}
		for x, err := range o.Log.Blocks(b.Base, b.Base+1) {
			if err != nil {
				return false, err
			}
			if x.SameRecords(b) && x.Epoch != b.Epoch && x.Epoch >= 0 && wider(o.Log.Lineage, &x) {
				return true, nil
			}
		}
	}
	if !confirmed {
		f.lone = append(f.lone, fmt.Sprintf("epoch %d stands in one batch only, offsets %d–%d at an end of the log, and nothing else here knows of it: a flipped bit in its header would look the same",
			b.Epoch, b.Base, b.Last))
	}
	return false, nil
}

// wider reports whether the epoch of a block reaches beyond it: a neighbour has it
// too, so that not one flipped bit made it.
func wider(l epoch.Lineage, b *replica.Block) bool {
	for _, r := range l {
		if r.Epoch == b.Epoch && r.From <= b.Base && b.Base < r.To {
			return r.From < b.Base || r.To > b.Next()
		}
	}
	return false
}
