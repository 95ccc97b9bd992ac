package incident

import (
	"context"
	"math"
	"slices"

	"kafsck/epoch"
	"kafsck/replica"
)

// No CRC covers the leader epoch in a batch's header. Where one batch differs from
// both neighbours the log itself shows it (replica.SuspectEpoch). Everywhere else a
// short run of batches with an epoch of its own is either an election or a flip, and
// only somebody else can tell:
//
//	log       0 0 0 99 2 2 5 5     a flip: 99 is in nobody's books, and 2 follows it
//	log       0 0 0  1 2 2 5 5     an election of which one batch is left, or a flip
//	log       0 0 2 2 5 5 5 7      the newest epoch, or a flip
//
// Unless another copy knows better, a flip is taken to hide the epoch of the batches on one
// side of it.

// doubtEpochs asks the witnesses of every short run: the directory's own epoch file,
// other copies of the same batch, the metadata. What they deny, or none of those who
// could know confirms, is suspect, and the log is read again with that in force.
func (j *judgement) doubtEpochs(ctx context.Context) {
	for _, c := range j.p.Copies {
		if !c.readable() || c.State != replica.Live && c.State != replica.Future && c.State != replica.Stray {
			continue
		}
		doubts, err := j.doubts(c)
		if err == nil && len(doubts) > 0 {
			err = c.Log.Doubt(ctx, doubts)
		}
		if err != nil {
			c.Err = err
			j.p.Errors = append(j.p.Errors, failedRead(c.Dir, err))
		}
	}
}

// doubts collects what the witnesses say of one log.
func (j *judgement) doubts(c *Copy) ([]replica.Doubt, error) {
	var out []replica.Doubt
	for i := range c.Log.ShortRuns {
		r := &c.Log.ShortRuns[i]
		if epoch.Cache(c.Log.Checkpoint).Has(r.Epoch) {
			continue
		}
		of, err := j.doubtRun(c, r)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	real, err := j.realAfterAll(c)
	return append(out, real...), err
}

// doubtRun asks about each batch of a run. Where a copy confirms one, the others, which
// have the same epoch, are right as well.
func (j *judgement) doubtRun(c *Copy, r *replica.Run) ([]replica.Doubt, error) {
	var out []replica.Doubt
	for b, err := range c.Log.Blocks(r.Base, r.End) {
		if err != nil {
			return nil, err
		}
		says, known, err := copiesSay(j.p.Copies, c, r, &b)
		if err != nil || known && says == r.Epoch {
			return nil, err
		}
		suspect := known
		if !known {
			says, suspect = j.rightEpoch(c, r, &b)
		}
		if suspect {
			out = append(out, replica.Doubt{From: b.Base, To: b.Next(), Written: b.WrittenEpoch, Epoch: says})
		}
	}
	return out, nil
}

// realAfterAll looks again at batches that were corrected for the sake of their neighbours.
// In 0 0 2 0 2 2 either the third or the fourth batch is wrong, and the log alone corrects
// the third. A copy that has it under the same epoch tells that it is right; without one the
// reading that Kafka's recovery has is kept, in which epoch 2 begins earlier: a follower
// then truncates too much and fetches that again, rather than too little.
func (j *judgement) realAfterAll(c *Copy) ([]replica.Doubt, error) {
	var out []replica.Doubt
	for _, a := range c.Log.Anomalies.Kept {
		if a.Kind != replica.EpochOutOfLine {
			continue
		}
		for b, err := range c.Log.Blocks(a.From, a.From+1) {
			if err != nil {
				return nil, err
			}
			if b.Flaws&replica.SuspectEpoch == 0 {
				continue
			}
			b.Flaws, b.Epoch = 0, b.WrittenEpoch
			says, known, err := copiesSay(j.p.Copies, c, &replica.Run{Block: b, Before: a.Epoch, After: a.Epoch}, &b)
			if err != nil {
				return nil, err
			}
			real := known && says == b.WrittenEpoch
			if !known {
				if real, err = returns(c.Log, &b, a.Epoch); err != nil {
					return nil, err
				}
			}
			if real {
				out = append(out, replica.Doubt{From: b.Base, To: b.Next(), Written: b.WrittenEpoch, Epoch: b.WrittenEpoch})
			}
		}
	}
	return out, nil
}

// returns reports whether a higher epoch comes back after one batch of the lower one, and
// stays.
func returns(l *replica.Log, b *replica.Block, lower int32) (bool, error) {
	if b.WrittenEpoch <= lower {
		return false, nil
	}
	n := 0
	for x, err := range l.Blocks(b.Next(), math.MaxInt64) {
		if err != nil {
			return false, err
		}
		if n++; n == 2 {
			return x.WrittenEpoch == b.WrittenEpoch, nil
		}
	}
	return false, nil
}

// rightEpoch decides about one batch of a short run of which no other copy tells. right is
// the epoch of a neighbour of the run.
func (j *judgement) rightEpoch(c *Copy, r *replica.Run, b *replica.Block) (right int32, suspect bool) {
	switch {
	case j.neverElected(c.Log, r.Epoch):
		return neighbour(r, epoch.Load(c.Log.Checkpoint).EpochFor(b.Base)), true
	case j.elected(r.Epoch) && (r.AtStart() || r.AtEnd()) && !falls(r):
		return 0, false
	case speaks(c.Log):
		return fileSays(c.Log, r, b)
	}
	return r.After, poisons(c.Log, r)
}

// elected reports whether the metadata have come as far as an epoch.
func (j *judgement) elected(e int32) bool {
	newest := j.known.last()
	return newest != nil && 0 <= e && e <= newest.LeaderEpoch
}

// neverElected reports whether the metadata deny an epoch: they have not come as far. They
// are no witness if the log has other epochs that they do not know: then they are older.
func (j *judgement) neverElected(l *replica.Log, e int32) bool {
	newest := j.known.last()
	if newest == nil || e <= newest.LeaderEpoch {
		return false
	}
	return !slices.ContainsFunc(l.Lineage, func(x epoch.Range) bool { return x.Epoch > newest.LeaderEpoch && x.Epoch != e })
}

// falls reports whether a lower epoch follows the run: none of Kafka since 2.0 writes that.
func falls(r *replica.Run) bool { return !r.AtEnd() && r.After < r.Epoch }

// neighbour is the epoch e if a neighbour has it, else that of the neighbour there is.
func neighbour(r *replica.Run, e int32) int32 {
	switch {
	case e >= 0 && (e == r.After || e == r.Before):
		return e
	case r.AtEnd():
		return r.Before
	}
	return r.After
}

// copiesSay asks the other copies. One with the same batch (offsets, and bytes under the
// CRC) knows its epoch; if that is another one, it counts only where it is not itself
// the one that was flipped (see stands), and fits between the neighbours here. One without the
// batch, which ends before or went on under another leader, can only confirm: it knows the
// epoch or says nothing.
func copiesSay(copies []*Copy, c *Copy, r *replica.Run, batch *replica.Block) (says int32, known bool, err error) {
	for _, o := range copies {
		if o == c || !o.readable() {
			continue
		}
		held := false
		for b, err := range o.Log.Blocks(batch.Base, batch.Base+1) {
			if err != nil {
				return 0, false, err
			}
			if !b.SameRecords(batch) {
				continue
			}
			held = true
			switch {
			case b.Epoch == r.Epoch:
				return r.Epoch, true, nil
			case b.Epoch >= r.Before && (r.AtEnd() || b.Epoch <= r.After) && stands(o.Log, &b, r):
				says, known = b.Epoch, true
			}
		}
		if !held && (o.Log.Lineage.Has(r.Epoch) || epoch.Cache(o.Log.Checkpoint).Has(r.Epoch)) {
			return r.Epoch, true, nil
		}
	}
	return says, known, nil
}

// stands reports whether a copy's word for its epoch of a batch counts against run r: more
// than one of its batches has that epoch there; or its epoch file has, and r is out of line.
func stands(l *replica.Log, b *replica.Block, r *replica.Run) bool {
	for _, x := range l.Lineage {
		if x.Epoch == b.Epoch && x.From <= b.Base && b.Base < x.To && (x.From < b.Base || x.To > b.Next()) {
			return true
		}
	}
	return falls(r) && slices.ContainsFunc(l.Checkpoint, func(x epoch.Entry) bool { return x.Epoch == b.Epoch && x.StartOffset <= b.Base })
}

// fileSays asks the directory's own epoch file, which does not know the run's epoch. It
// can be wrong itself: an entry may be missing from it. So it counts only where a neighbour
// of the run has the epoch that the file has there, and the run is out of line besides: alone
// at an end of the log, or with a lower epoch behind it.
func fileSays(l *replica.Log, r *replica.Run, b *replica.Block) (right int32, suspect bool) {
	f := epoch.Load(l.Checkpoint).EpochFor(b.Base)
	switch {
	case r.AtEnd():
		// Kafka records a new epoch before it writes its first batch. Two batches are no
		// flip, and a file that does not fit the others is no witness.
		return r.Before, r.Batches == 1 && fitsRest(l, r)
	case f < 0 || f != r.Before && f != r.After:
		return 0, false
	}
	return f, r.AtStart() || r.Epoch < 0 || falls(r)
}

// fitsRest reports whether the epoch file is what the log rebuilds without its last run.
func fitsRest(l *replica.Log, r *replica.Run) bool {
	var rest epoch.Lineage
	for _, x := range l.Lineage {
		if x.From != r.Base {
			rest = rest.Add(x.Epoch, x.From, x.To)
		}
	}
	return slices.Equal(rest.Rebuild().TruncateFromStart(l.LogStartOffset), epoch.Load(l.Checkpoint).TruncateFromStart(l.LogStartOffset))
}

// poisons reports whether, with nobody to ask, a run must not be obeyed all the same: all
// that follows it, at least as much as itself, has lower epochs. Recovery would take it
// for the newest epoch and ignore every later one.
func poisons(l *replica.Log, r *replica.Run) bool {
	if !falls(r) {
		return false
	}
	later := 0
	for _, x := range l.Lineage {
		if x.From < r.End {
			continue
		}
		if x.Epoch >= r.Epoch {
			return false
		}
		later++
	}
	return later > 0
}

// speaks reports whether the epoch file of a log is a witness at all: one that is
// gone, empty or damaged knows nothing, of this epoch or any other.
func speaks(l *replica.Log) bool {
	f := l.Partition.Epochs
	return len(l.Checkpoint) > 0 && f != nil && f.Malformed == nil
}
