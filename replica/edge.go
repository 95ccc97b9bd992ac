package replica

// edgeWatch finds the first and the last whole batch of a log when their epoch
// stands alone: it occurs in that one batch only.
type edgeWatch struct {
	first, last       Block
	firstRun, lastRun int // batches in the run of equal epochs at each edge
	runs              int
}

func (e *edgeWatch) see(b *Block) {
	if !b.Whole() || b.Legacy {
		return
	}
	switch {
	case e.runs == 0:
		e.first, e.last, e.runs, e.firstRun, e.lastRun = *b, *b, 1, 1, 1
	case b.Epoch == e.last.Epoch:
		e.last = *b
		e.lastRun++
		if e.runs == 1 {
			e.firstRun++
		}
	default:
		e.last = *b
		e.lastRun = 1
		e.runs++
	}
}

// result returns the lone edges. An epoch that the directory's own checkpoint
// knows at that offset is no lone one.
func (e *edgeWatch) result(l *Log) (first, last *Block) {
	if e.runs < 2 {
		return nil, nil
	}
	if e.firstRun == 1 && !l.hasCheckpointEntry(e.first.Epoch, e.first.Base) {
		b := e.first
		first = &b
	}
	if e.lastRun == 1 && !l.hasCheckpointEntry(e.last.Epoch, e.last.Base) {
		b := e.last
		last = &b
	}
	return first, last
}
