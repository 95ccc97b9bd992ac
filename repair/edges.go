package repair

import (
	"fmt"
	"slices"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/replica"
)

// loneEpochs says which epochs rest on one header field alone, because
// nobody confirms them. What somebody denies is corrected already, and a suspect batch
// by the time a plan is made (see incident); what nobody denies is obeyed.
func loneEpochs(p *incident.Partition, f *facts) {
	f.lineage = f.log.Lineage
	for i := range f.log.ShortRuns {
		r := &f.log.ShortRuns[i]
		if r.Batches > 1 || f.fromFile.Has(r.Epoch) || confirmed(p, f, r) {
			continue
		}
		f.lone = append(f.lone, fmt.Sprintf("epoch %d stands in one batch only, %s, and nothing else here knows of it: a flipped bit in its header would look the same",
			r.Epoch, offsetsOf(r.Base, r.Last+1)))
	}
}

// confirmed reports whether the metadata or another replica know an epoch.
func confirmed(p *incident.Partition, f *facts, r *replica.Run) bool {
	if c := newestLeadership(p); c != nil && !c.Uncertain && r.Epoch <= c.LeaderEpoch {
		return true
	}
	return slices.ContainsFunc(siblings(p, f.copy), func(o *incident.Copy) bool {
		return o.Err == nil && o.Log != nil && (o.Log.Lineage.Has(r.Epoch) || epoch.Cache(o.Log.Checkpoint).Has(r.Epoch))
	})
}
