package diff

import "slices"

// Kind names how two copies differ.
type Kind string

// The kinds of divergence; see docs/json.md for what each means to a user.
const (
	Behind            Kind = "behind"              // the shorter side is no ruling leader: normal
	LeaderBehind      Kind = "leader-behind"       // the ruling leader is the shorter side
	EpochFork         Kind = "epoch-fork"          // other epochs at the same offsets: an election explains it
	ContentFork       Kind = "content-fork"        // other records, and no epochs to tell why
	SameEpochConflict Kind = "same-epoch-conflict" // other bytes in one epoch: must never happen
	MissingRange      Kind = "missing-range"       // one side has a hole
	Damaged           Kind = "damaged"             // one side's bytes are damaged
	RecordLoss        Kind = "record-loss"         // compacted topic: the latest value of a key is gone on one side
	Compaction        Kind = "compaction"          // legitimate difference of cleaning schedules
)

// Side is one copy's part of a divergence.
type Side struct {
	Index  int   // 0 or 1: which of the two copies
	From   int64 // inclusive
	To     int64 // exclusive; From when this side holds nothing there
	Epochs []int32
}

// Divergence is one range in which two copies differ.
type Divergence struct {
	Kind      Kind
	From, To  int64  // [From, To); To is the greatest end of the sides
	CommonEnd int64  // up to here both copies hold the same
	EqualFrom *int64 // from here on they hold the same again
	Sides     [2]Side
	Bad       int // index of the side at fault (damaged, missing-range, record-loss), -1 none or both
	// CopiedLater marks records that are only in the copy taken later.
	CopiedLater bool
}

// region gathers one stretch of differing blocks.
type region struct {
	kind   Kind
	bad    int
	from   int64
	ends   [2]int64 // greatest end per side; from where nothing
	seen   [2]bool
	epochs [2][]int32
}

func newRegion(kind Kind, bad int, from int64) *region {
	return &region{kind: kind, bad: bad, from: from, ends: [2]int64{from, from}}
}

func (r *region) add(side int, end int64, epochs []int32) {
	r.ends[side] = max(r.ends[side], end)
	r.seen[side] = true
	for _, e := range epochs {
		if e >= 0 && !slices.Contains(r.epochs[side], e) {
			r.epochs[side] = append(r.epochs[side], e)
		}
	}
}

func (r *region) end() int64 { return max(r.ends[0], r.ends[1]) }

func (r *region) divergence() Divergence {
	d := Divergence{Kind: r.kind, From: r.from, To: r.end(), CommonEnd: r.from, Bad: r.bad}
	for i := range d.Sides {
		d.Sides[i] = Side{Index: i, From: r.from, To: r.ends[i], Epochs: r.epochs[i]}
		if d.Sides[i].Epochs == nil {
			d.Sides[i].Epochs = []int32{}
		}
	}
	return d
}
