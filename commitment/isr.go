package commitment

import (
	"fmt"
	"slices"
)

// ISRWindow is a time in which one in-sync replica set was in force under one
// leader epoch.
type ISRWindow struct {
	FromMs, ToMs   int64 // [FromMs, ToMs)
	ISR            []int32
	Replicas       int // size of the replica set
	MetadataOffset int64
	MinISR         int // min.insync.replicas in force, 0 unknown
	MinISRSource   string
	// Wrote: the leader demonstrably wrote in this epoch in this window.
	Wrote bool
}

// enough reports whether the ISR was large enough for the high watermark to move
// (Kafka >= 3.7: it stands still below min(min.insync.replicas, replicas); an
// acks=all producer was refused in all versions).
func (w *ISRWindow) enough() bool {
	return w.MinISR > 0 && len(w.ISR) > 0 && len(w.ISR) >= min(w.MinISR, max(w.Replicas, 1))
}

// ISRHistory is the cluster metadata as a witness: a record that every member
// of the ISR in force holds was committed, or would have been at the next fetch.
type ISRHistory struct {
	Source string
	// Epochs holds the windows of each leader epoch in order of time.
	Epochs map[int32][]ISRWindow
}

// Cuts implements Witness.
func (w *ISRHistory) Cuts(int64, int64) []int64 { return nil }

// Testify implements Witness.
//
// The ISR in force is the one at the batch's max timestamp, when that lies inside
// the epoch's own time: CreateTime is a client's clock, and outside it proves
// nothing. A later ISR of the epoch serves as well when the leader demonstrably
// wrote under it: the high watermark then passed all earlier records.
func (w *ISRHistory) Testify(p *Piece) (Evidence, bool) {
	windows := w.Epochs[p.Epoch]
	at := slices.IndexFunc(windows, func(x ISRWindow) bool { return x.FromMs <= p.MaxTimestamp && p.MaxTimestamp < x.ToMs })
	if at < 0 || p.Epoch < 0 {
		return Evidence{}, false
	}
	for i := at; i < len(windows); i++ {
		x := &windows[i]
		if !x.enough() || i > at && !x.Wrote || !holdAll(p.Brokers, x.ISR) {
			continue
		}
		when := "when they were written"
		if i > at {
			when = fmt.Sprintf("from %s, when the leader went on writing", utc(x.FromMs))
		}
		return Evidence{Kind: ISRHistoryKind, Says: Yes, Source: fmt.Sprintf("%s, metadata offset %d", w.Source, x.MetadataOffset),
			Claim: fmt.Sprintf("every member of the ISR %v in force %s holds them (min.insync.replicas %d, %s)", x.ISR, when, x.MinISR, x.MinISRSource)}, true
	}
	return Evidence{}, false
}

func holdAll(holders, isr []int32) bool {
	for _, m := range isr {
		if !slices.Contains(holders, m) {
			return false
		}
	}
	return true
}
