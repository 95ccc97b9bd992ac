package replica

// edgeWatch finds the first and the last whole batch of a log when their epoch
// stands alone: it occurs in that one batch only.
type edgeWatch struct {
	first, last       Block // the first batch of the first and of the last run of equal epochs
	firstRun, lastRun int64 // batches in them
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
		e.more(1)
	default:
		e.last = *b
		e.lastRun = 1
		e.runs++
	}
}

// more sees n more batches of the last one's epoch.
func (e *edgeWatch) more(n int64) {
	e.lastRun += n
	if e.runs == 1 {
		e.firstRun += n
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
