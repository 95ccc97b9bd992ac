package replica

// Run is a run of neighbouring batches that claim one leader epoch, so short that
// flipped bits could have made it: no CRC covers the epoch. Batches that a flaw
// corrects count with the corrected epoch.
type Run struct {
	Block   // its first batch
	Batches int64
	End     int64 // end offset of its last batch, exclusive
	// Before and After are the epochs of the runs on both sides, -1 where the log begins or
	// ends with this one.
	Before, After int32
}

// AtStart reports whether the log begins with the run.
func (r *Run) AtStart() bool { return r.Before < 0 }

// AtEnd reports whether the log ends with it.
func (r *Run) AtEnd() bool { return r.After < 0 }

const (
	shortRun = 2   // batches
	maxRuns  = 256 // that are kept
)

// runWatch finds the short runs of a log.
type runWatch struct {
	run  Run // the last one
	any  bool
	more bool // there was one before it
	out  []Run
	log  *Log
}

func (w *runWatch) see(b *Block) {
	switch {
	case !b.Whole() || b.Legacy:
	case w.any && b.Epoch == w.run.Epoch:
		w.grow(1, b.Next())
	default:
		before := int32(-1)
		if w.any {
			before = w.run.Epoch
			w.close(b.Epoch)
			w.more = true
		}
		w.run = Run{Block: *b, Batches: 1, End: b.Next(), Before: before, After: -1}
		w.any = true
	}
}

// grow adds n more batches to the last run; they end at the offset end, exclusive.
func (w *runWatch) grow(n, end int64) {
	w.run.Batches += n
	w.run.End = max(w.run.End, end)
}

// close keeps the last run if it is short. One that the directory's own checkpoint
// knows, at that offset, needs no other witness.
func (w *runWatch) close(after int32) {
	w.run.After = after
	if w.run.Batches <= shortRun && len(w.out) < maxRuns && !w.log.hasCheckpointEntry(w.run.Epoch, w.run.Base) {
		w.out = append(w.out, w.run)
	}
}

// result returns the short runs. A log with one run has none: nothing in it says
// otherwise.
func (w *runWatch) result() []Run {
	if !w.more {
		return nil
	}
	w.close(-1)
	return w.out
}
