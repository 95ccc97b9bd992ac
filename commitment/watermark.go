package commitment

import (
	"fmt"
	"slices"
	"time"
)

// Span is a range of offsets [From, To).
type Span struct{ From, To int64 }

// HighWatermark is a line of replication-offset-checkpoint as a witness: below
// it, what its own replica holds was committed (Partition.scala: the follower's
// watermark is the leader's, cut to its own log end).
//
// The file carries no epoch and may predate a truncation or an election, so it
// is silent about epochs that began after it was written, and about offsets
// (Silent) where a log on the same later line has other records: the watermark
// was then learnt on that line.
type HighWatermark struct {
	Copy   int // the copy whose directory owns the line
	Broker int32
	Value  int64
	Source string
	// WrittenMs is when the file was written at the earliest that can be told; Dated
	// false means that nothing dates it.
	WrittenMs int64
	Dated     bool
	// Began is when each epoch began, ms: its election in the metadata, else its first
	// batch.
	Began  map[int32]int64
	Silent []Span
}

// Cuts implements Witness.
func (w *HighWatermark) Cuts(from, to int64) []int64 {
	out := inside(w.Value, from, to)
	for _, s := range w.Silent {
		out = append(out, inside(s.From, from, to)...)
		out = append(out, inside(s.To, from, to)...)
	}
	return out
}

// Testify implements Witness.
func (w *HighWatermark) Testify(p *Piece) (Evidence, bool) {
	if p.To > w.Value || !slices.Contains(p.Copies, w.Copy) {
		return Evidence{}, false
	}
	for _, s := range w.Silent {
		if p.From < s.To && s.From < p.To {
			return Evidence{}, false
		}
	}
	if began, ok := w.Began[p.Epoch]; ok && began >= 0 && w.Dated && began > w.WrittenMs {
		return Evidence{}, false
	}
	claim := fmt.Sprintf("broker %d's checkpointed high watermark is %d, above these records, which it holds", w.Broker, w.Value)
	if !w.Dated {
		claim += " (nothing dates the file)"
	}
	return Evidence{Kind: HighWatermarkKind, Says: Yes, Claim: claim, Source: w.Source}, true
}

// LogStart is the log start offset of a replica as a witness: retention and
// DeleteRecords remove only what lies below the high watermark, so everything
// below the start was committed on that replica's line.
type LogStart struct {
	Broker int32
	Value  int64
	Source string
	// Sharing are the copies that hold a batch at or above Value in common with this
	// replica: they are on the same line.
	Sharing []int
}

// Cuts implements Witness.
func (w *LogStart) Cuts(from, to int64) []int64 { return inside(w.Value, from, to) }

// Testify implements Witness.
func (w *LogStart) Testify(p *Piece) (Evidence, bool) {
	if p.To > w.Value || !slices.ContainsFunc(p.Copies, func(c int) bool { return slices.Contains(w.Sharing, c) }) {
		return Evidence{}, false
	}
	return Evidence{Kind: LogStartKind, Says: Yes, Source: w.Source,
		Claim: fmt.Sprintf("broker %d's log starts at %d on the same line; only committed records are ever removed from the start", w.Broker, w.Value)}, true
}

// utc prints a millisecond timestamp for claims.
func utc(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z") }
