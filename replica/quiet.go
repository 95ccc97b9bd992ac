package replica

import (
	"math"

	"kafsck/batch"
	"kafsck/segment"
)

// quiet is a part of a line of whose batches the watchers are told together: most batches
// lie between two entries of an index and are no producer's, so that a watcher would only
// note where they end. Calling each for each batch would cost more than its CRC.
//
//	.index            entry                          entry
//	.log    | batch | batch | batch | batch | batch | batch | …
//	watcher   batch   batch  |====== skipped ======|  batch
type quiet struct {
	// Batches that begin at or behind toPosition or hold an offset from toOffset on are
	// told of one by one. 0 where all are.
	toPosition, toOffset int64

	batches  int64
	position int64 // of the last one in the .log
	biggest  int64 // bytes
	maxTime  int64 // ms
}

// skipped is what a watcher is told of the batches that it did not see. Each of them
// followed on exactly, in bytes, offsets and epoch, has no producer and has a record for
// each of its offsets.
type skipped struct {
	batches       int64
	position, end int64 // bytes of the last one in the .log
	next          int64 // offset behind it
	maxTime       int64 // largest timestamp, ms
	biggest       int64 // bytes
}

// quietWatcher is a watcher that need not see all batches.
type quietWatcher interface {
	// until says which batch it must see next, if the next one begins at offset next:
	// the first that begins at or behind position or holds an offset from offset on. 0: that one.
	until(next int64) (position, offset int64)
	skip(x *skipped)
}

// setWatchers sets who is told. Only if all of them are quiet watchers, batches are skipped.
func (s *stream) setWatchers(list []watcher) {
	s.watch, s.quietWatch = list, nil
	for _, w := range list {
		q, ok := w.(quietWatcher)
		if !ok {
			s.quietWatch = nil
			return
		}
		s.quietWatch = append(s.quietWatch, q)
	}
}

// skips reports whether the watchers need not see a batch that the line has taken, which
// ends before offset next; it is counted then.
func (q *quiet) skips(h *batch.Header, position, next int64) bool {
	if position >= q.toPosition || next > q.toOffset || h.ProducerID >= 0 || h.RecordCount-1 != h.LastOffsetDelta {
		return false
	}
	if q.batches == 0 {
		q.maxTime = h.MaxTimestamp
	}
	q.batches++
	q.position = position
	q.biggest = max(q.biggest, h.Size())
	q.maxTime = max(q.maxTime, h.MaxTimestamp)
	return true
}

// watchInLine tells the watchers of the i-th batch of a run, which the line has taken and
// they must see.
func (s *stream) watchInLine(run *segment.Run, i int) error {
	x := &run.Sound[i]
	s.endQuiet(x.Pos, x.Header.BaseOffset)
	raw := run.Raw(i)
	for _, w := range s.watch {
		if err := w.batch(x.Pos, &x.Header, raw); err != nil {
			return err
		}
	}
	q := &s.line.quiet
	if len(s.quietWatch) > 0 {
		q.toPosition, q.toOffset = math.MaxInt64, math.MaxInt64
	}
	for _, w := range s.quietWatch {
		position, offset := w.until(s.line.next)
		q.toPosition, q.toOffset = min(q.toPosition, position), min(q.toOffset, offset)
	}
	return nil
}

// endQuiet tells the watchers of what they were not told; it ended at position end of the
// .log, before offset next.
func (s *stream) endQuiet(end, next int64) {
	q := &s.line.quiet
	if q.batches == 0 {
		return
	}
	s.skipped = skipped{q.batches, q.position, end, next, q.maxTime, q.biggest}
	for _, w := range s.quietWatch {
		w.skip(&s.skipped)
	}
	*q = quiet{}
}

func (w *indexWatch) until(next int64) (position, offset int64) {
	if w.have || w.muddled != 0 || w.prevLast+1 != next {
		return 0, 0
	}
	return w.index.at, w.times.at
}

func (w *indexWatch) skip(x *skipped) {
	w.batches += x.batches
	w.lastPos, w.prevEnd, w.prevLast = x.position, x.end, x.next-1
	w.maxTime = max(w.maxTime, x.maxTime)
	w.biggest = max(w.biggest, x.biggest)
}

func (w *producerWatch) until(next int64) (position, offset int64) {
	if w.state.First < 0 || w.state.Next != next {
		return 0, 0
	}
	return math.MaxInt64, min(w.snaps.at, w.txns.at)
}

func (w *producerWatch) skip(x *skipped) {
	w.unread, w.prevEnd = false, x.end
	w.state.Next = x.next
}
