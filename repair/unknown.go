package repair

import (
	"fmt"
	"slices"

	"kafsck/incident"
	"kafsck/kraft"
	"kafsck/replica"
)

// unreadable are the anomalies that hide a batch's epoch.
var unreadable = []replica.AnomalyKind{replica.BadChecksum, replica.JunkBytes, replica.ZeroHole, replica.TornTail, replica.EmbeddedBatch}

func (d *draft) gap(format string, args ...any) {
	d.gaps = append(d.gaps, fmt.Sprintf(format, args...))
}

// unknown says what these inputs cannot tell about the new file.
func (d *draft) unknown(p *incident.Partition) {
	switch {
	case d.log.Batches == 0 && d.end > 0 && len(d.entries) == 0:
		d.gap("this log holds no batch: which epochs lie below its end, offset %d, cannot be told from it", d.end)
	case d.log.Batches == 0 && (d.end > d.start || len(d.entries) > 0):
		d.gap("this log holds no batch: nothing here can contradict the entries of other sources")
	}
	if slices.ContainsFunc(d.entries, func(e EpochEntry) bool { return e.Source == Sibling }) {
		d.gap("whether this replica's own file had later starts for the entries taken from others: one that caught up after the first batches of an epoch had been cleaned has, and both serve as well")
	}
	d.unknownStarts()
	d.gaps = append(d.gaps, d.lone...)
	n := 0
	for _, k := range unreadable {
		n += d.log.Anomalies.Counts[k]
	}
	if n > 0 {
		d.gap("%d stretch(es) of this log cannot be read as batches (kafsck check lists them): an epoch that was written only there has no entry", n)
	}
	c := newestLeadership(p)
	if c != nil && !p.Stale && d.copy.Broker.Known && c.Leader == d.copy.Broker.ID && c.LeaderEpoch > d.latest() && d.of(c.LeaderEpoch) == nil {
		d.gap("the metadata (offset %d) know this broker as leader of epoch %d, and no batch here carries it; if it has an entry at its log end, that is not in the new file, which does no harm: Kafka drops it at the next load (--keep-empty-tail writes it)", c.Offset, c.LeaderEpoch)
	}
}

// unknownStarts looks at each entry with no batch right before its first one: the
// epoch may have begun there, and others may have been written there.
func (d *draft) unknownStarts() {
	for i, e := range d.entries {
		if e.Source != Headers {
			continue
		}
		stretch, ok, _ := d.darkAt(e.StartOffset - 1)
		if !ok || stretch.to != e.StartOffset {
			continue
		}
		from := max(stretch.from, d.cut)
		if d.cut < 0 && len(d.log.Segments) > 0 {
			from = max(from, d.log.Segments[0].BaseOffset)
		}
		if from >= e.StartOffset {
			continue
		}
		below := stretch.below
		if i > 0 {
			below = d.entries[i-1].Epoch
			from = max(from, d.entries[i-1].StartOffset)
		}
		why := "cleaned away, expired or moved to remote storage"
		if d.damaged(from, e.StartOffset) {
			why = "damaged"
		}
		said := fmt.Sprintf("the batches of offsets %d–%d are %s: epoch %d may have begun there", from, e.StartOffset-1, why, e.Epoch)
		switch between := e.Epoch - 1 - below; {
		case between == 1:
			said += fmt.Sprintf(", and epoch %d may have written there", e.Epoch-1)
		case between > 1:
			said += fmt.Sprintf(", and epochs %d–%d may have written there", below+1, e.Epoch-1)
		}
		d.gap("%s", said)
	}
}

// damaged reports whether something unreadable lies in the offsets [from, to).
func (d *draft) damaged(from, to int64) bool {
	return slices.ContainsFunc(d.log.Anomalies.Kept, func(a replica.Anomaly) bool {
		return slices.Contains(unreadable, a.Kind) && a.From < to && a.To > from
	})
}

// newestLeadership is the last word of the metadata on who leads, nil without any.
func newestLeadership(p *incident.Partition) *kraft.Change {
	if p.Ruling.Removed || len(p.Changes) == 0 {
		return nil
	}
	return &p.Changes[len(p.Changes)-1]
}
