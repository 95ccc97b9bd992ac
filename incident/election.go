package incident

import (
	"kafsck/epoch"
	"kafsck/kraft"
)

// electionOf describes the election that a change of the metadata is.
func electionOf(c *kraft.Change) *Election {
	return &Election{Epoch: c.LeaderEpoch, Leader: c.Leader, Offset: c.Offset, TimeMs: c.TimeMs, Unclean: c.Unclean, FromSnapshot: c.FromSnapshot}
}

// electionAfter is the election that ended epoch e for a cause that an election is;
// nil for another cause, or where the metadata do not reach.
func (j *judgement) electionAfter(e int32, cause string) *Election {
	if cause != CauseUnclean && cause != CauseNotReplicated || j.p.Stale {
		return nil
	}
	next, _ := j.succession(e)
	if next == nil {
		return nil
	}
	return electionOf(next)
}

// successorStart is where the epoch of the leader elected next starts: in the log that is
// judged where that is the ruling one, else in any copy that knows the epoch. A
// replica that was not elected tells nothing of that leader by what it lacks.
func (j *judgement) successorStart(log *Copy, leader, e int32) (int64, bool) {
	if log == j.p.Ruling.copy {
		if start, ok := epoch.StartAtOrAfter(log.Log.Lineage, log.Log.Loaded, e); ok {
			return start, true
		}
		return log.Log.LogEndOffset, true
	}
	for _, c := range j.readableLive() {
		if !c.Log.Lineage.Has(e) && !epoch.Cache(c.Log.Checkpoint).Has(e) {
			continue
		}
		if start, ok := epoch.StartAtOrAfter(c.Log.Lineage, c.Log.Checkpoint, e); ok {
			return start, true
		}
	}
	// Who was elected wrote nothing: its end is where its epoch starts.
	for _, c := range j.readableLive() {
		if c.Broker.Known && c.Broker.ID == leader {
			return c.Log.LogEndOffset, true
		}
	}
	return 0, false
}
