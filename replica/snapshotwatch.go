package replica

import (
	"fmt"
	"math"
	"time"

	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

const (
	// producerExpiry is Kafka's default of producer.id.expiration.ms: who is idle for
	// longer may be forgotten.
	producerExpiry = 24 * time.Hour
	// maxCompared bounds the work on a log with many producers and many snapshots.
	maxCompared = 1 << 27
)

// snapshotQueue is the .snapshot files still to be compared, by their offset.
type snapshotQueue struct {
	at       int64 // offset of the next one that is compared, math.MaxInt64 without one
	list     []*logdir.File
	compared int64 // producers looked at so far
	number   int64 // of the snapshot that is compared, from 1
}

// collect takes the snapshots of the directory for its own log, and those with the
// suffix of the segments for what was set aside.
func (q *snapshotQueue) collect(l *Log) {
	q.at = math.MaxInt64
	switch l.State {
	case Live, Future, Stray, Delete:
		for _, s := range l.Partition.Segments { // by base offset
			if s.Snapshot != nil && logdir.SuffixOf(s.Snapshot.Name) == logdir.NoSuffix {
				q.list = append(q.list, s.Snapshot)
			}
		}
		q.next()
	default:
		for _, s := range l.Segments {
			if s.Snapshot != nil && logdir.SuffixOf(s.Snapshot.Name) != logdir.NoSuffix {
				q.list = append(q.list, s.Snapshot)
			}
		}
	}
}

func (q *snapshotQueue) next() {
	q.at = math.MaxInt64
	if len(q.list) > 0 {
		q.at = q.list[0].BaseOffset
	}
}

// before compares the snapshots that lie at or below the last offset of the batch
// that comes next.
func (q *snapshotQueue) before(w *producerWatch, last int64) error {
	for len(q.list) > 0 && q.at <= last {
		f := q.list[0]
		q.list = q.list[1:]
		q.next()
		if err := w.snapshot(f, w.log.begins(f.BaseOffset)); err != nil {
			return err
		}
	}
	return nil
}

// end compares those at the log end. Those behind it, and all of files that were set
// aside, are only decoded: the batches that they speak of are not here.
func (q *snapshotQueue) end(w *producerWatch) error {
	for len(q.list) > 0 {
		f := q.list[0]
		q.list = q.list[1:]
		ends := f.BaseOffset == w.state.Next || w.log.begins(f.BaseOffset)
		if err := w.snapshot(f, q.at != math.MaxInt64 && ends); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether a segment begins at an offset. Kafka takes snapshots there
// and at the log end; one elsewhere is a stray, about which the batches may be gone.
func (l *Log) begins(offset int64) bool {
	for i := len(l.Segments) - 1; i >= 0; i-- {
		if l.Segments[i].BaseOffset == offset {
			return true
		}
	}
	return false
}

// snapshot reads one, and compares it with the state, which is that at its offset.
func (w *producerWatch) snapshot(f *logdir.File, compare bool) error {
	var snap *segment.ProducerSnapshot
	err := withFile(f, func(r rofs.File) error {
		var err error
		snap, err = segment.ReadSnapshot(r, f.Size)
		return err
	})
	if err != nil {
		return err
	}
	if p := snap.Problem; p != nil {
		if p.Limit() {
			w.log.notCompared(w.seg, f, p.Position, p.Error())
			return nil
		}
		a := w.anomaly(SnapshotMalformed)
		a.File, a.Position, a.Length = f, p.Position, max(f.Size-p.Position, 0)
		a.Want, a.Got, a.Detail = p.Want, p.Got, p.Kind
		w.log.Anomalies.add(a)
		return nil
	}
	q := &w.snaps
	if !compare || q.compared > maxCompared || w.state.stepped {
		return nil
	}
	if q.compared += int64(len(snap.Producers) + len(w.state.all)); q.compared > maxCompared {
		w.log.notCompared(w.seg, f, 0, "too many producers in too many snapshots: this one and those behind it were only decoded")
		return nil
	}
	if w.state.Overflow {
		w.log.notCompared(w.seg, f, 0, fmt.Sprintf("the log has more than %d producers", maxProducers))
		q.compared = maxCompared + 1
		return nil
	}
	w.compareSnapshot(f, snap)
	return nil
}

func (w *producerWatch) compareSnapshot(f *logdir.File, snap *segment.ProducerSnapshot) {
	q := &w.snaps
	q.number++
	bad := 0
	tell := func(i int, p *segment.ProducerEntry, field, want, got string) bool {
		a := w.anomaly(SnapshotContent)
		a.File, a.Position, a.Length = f, int64(10+segment.SnapshotEntrySize*i), segment.SnapshotEntrySize
		if i < 0 {
			a.Position, a.Length = f.Size, 0
		}
		if p.HasBatch() {
			a.From, a.To = p.FirstOffset(), addOffset(p.LastOffset, 1)
		}
		a.Want, a.Got, a.Detail = want, got, fmt.Sprintf("producer %d: %s", p.ProducerID, field)
		w.log.Anomalies.add(a)
		if bad++; bad == maxBad {
			w.log.notCompared(w.seg, f, a.Position, fmt.Sprintf("after %d wrong producers", maxBad))
		}
		return bad < maxBad
	}
	for i := range snap.Producers {
		e := &snap.Producers[i]
		p := w.state.Get(e.ProducerID)
		field, want, got := w.contradiction(e, p, f.BaseOffset)
		if p != nil && p.seen == q.number {
			field, want, got = "twice", "one entry", "another one"
		}
		if p != nil {
			p.seen = q.number
		}
		if field != "" && !tell(i, e, field, want, got) {
			return
		}
	}
	for _, p := range w.state.all {
		if p.seen != q.number && p.lastEvent() >= w.floor && p.lastEvent() < f.BaseOffset && !w.expired(f, p) {
			if !tell(-1, &p.ProducerEntry, "missing", fmt.Sprintf("an entry: its last batch or marker is at offset %d", p.lastEvent()), "none") {
				return
			}
		}
	}
}

// expired reports whether a broker may have forgotten a producer when the snapshot
// was written. Without a time that is not known, and so possible.
func (w *producerWatch) expired(f *logdir.File, p *Producer) bool {
	if p.open() {
		// Never while a transaction is open; but one may look open because its marker is gone.
		return !w.state.Complete
	}
	return f.ModTime.IsZero() || f.ModTime.Sub(time.UnixMilli(p.Timestamp)) >= producerExpiry
}

// contradiction compares an entry with the state that the batches give; p is nil for
// a producer that they do not know. It returns no field where the entry may be right.
func (w *producerWatch) contradiction(e *segment.ProducerEntry, p *Producer, offset int64) (field, want, got string) {
	s := w.state
	// In front of a gap the batches do not reach up to the snapshot; a base offset that is
	// too high makes them reach beyond.
	complete := s.Complete && (s.First < 0 || s.Next == offset)
	floor := max(s.First, w.floor) // what lies below is not here, or recovery does not read it
	if s.First < 0 {
		floor = offset
	}
	show := func(v int64) string { return fmt.Sprint(v) }
	switch {
	case e.LastOffset >= offset:
		return "last offset", "below the snapshot's own offset " + show(offset), show(e.LastOffset)
	case e.CurrentTxnFirstOffset >= offset:
		return "transaction's first offset", "below the snapshot's own offset " + show(offset), show(e.CurrentTxnFirstOffset)
	case p == nil:
		if complete && e.LastOffset >= floor {
			return "last offset", "a batch of the producer", show(e.LastOffset) + ", which another one wrote"
		}
		return "", "", ""
	case p.lastEvent() >= offset:
		return "", "", ""
	case !complete:
		// The cleaner keeps epoch, sequence and offsets of the batches that it keeps.
		if e.ProducerEpoch != p.ProducerEpoch || !p.HasBatch() || !e.HasBatch() {
			return "", "", ""
		}
		if e.LastOffset < p.LastOffset {
			return "last offset", "at least " + show(p.LastOffset), show(e.LastOffset)
		}
		if e.LastOffset == p.LastOffset && e.LastSequence != p.LastSequence {
			return "last sequence", show(int64(p.LastSequence)), show(int64(e.LastSequence))
		}
		if e.LastOffset == p.LastOffset && e.OffsetDelta != p.OffsetDelta {
			return "offset delta", show(int64(p.OffsetDelta)), show(int64(e.OffsetDelta))
		}
		return "", "", ""
	case p.lastEvent() < floor:
		return "", "", ""
	case e.ProducerEpoch != p.ProducerEpoch:
		return "producer epoch", show(int64(p.ProducerEpoch)), show(int64(e.ProducerEpoch))
	case e.LastOffset != p.LastOffset && (p.LastOffset >= floor || e.LastOffset >= floor):
		return "last offset", show(p.LastOffset), show(e.LastOffset)
	case e.LastOffset == p.LastOffset && e.LastSequence != p.LastSequence:
		return "last sequence", show(int64(p.LastSequence)), show(int64(e.LastSequence))
	case e.LastOffset == p.LastOffset && e.OffsetDelta != p.OffsetDelta:
		return "offset delta", show(int64(p.OffsetDelta)), show(int64(e.OffsetDelta))
	case e.Timestamp != p.Timestamp:
		return "timestamp", show(p.Timestamp), show(e.Timestamp)
	case e.CoordinatorEpoch != p.CoordinatorEpoch && p.LastMarker >= floor:
		return "coordinator epoch", show(int64(p.CoordinatorEpoch)), show(int64(e.CoordinatorEpoch))
	case e.CurrentTxnFirstOffset != p.CurrentTxnFirstOffset && (p.CurrentTxnFirstOffset >= floor || e.CurrentTxnFirstOffset >= floor || p.LastMarker >= floor && !p.open()):
		return "transaction's first offset", show(p.CurrentTxnFirstOffset), show(e.CurrentTxnFirstOffset)
	}
	return "", "", ""
}
