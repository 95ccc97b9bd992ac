package replica

import (
	"encoding/binary"
	"math"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// markerSize is that of a batch with a transaction marker, in bytes: a header of 61 and one
// record of 17 (EndTransactionMarker.CURRENT_END_TXN_SCHEMA_RECORD_SIZE).
const markerSize = 78

// lostMarkers is what may have become of markers that cannot be read.
//
//	| 4001 | 4000 | damaged | COMMIT 4000 | 4001 | COMMIT 4001 |
//
// What the producer 4001 wrote in front of the damage is not committed by its marker behind
// it if its first transaction ended in the damage. An ABORT marker there has an entry in the
// .txnindex. Where that is whole and has none, the marker was a COMMIT, or there was none.
type lostMarkers struct {
	index  txnCursor
	begun  bool // the first entry was read
	spoilt bool // an entry cannot be right, or is not what the log says

	// Offsets behind the last stretch that may have held a marker: any one, or a COMMIT
	// marker only; or that is missing without a trace.
	anyTo, commitTo, gapTo int64
}

func (m *lostMarkers) begin(s *logdir.Segment) error {
	m.begun, m.spoilt = false, s.TxnIndex != nil && s.TxnIndex.Size%segment.TxnEntrySize != 0
	return m.index.open(s.TxnIndex, s.BaseOffset)
}

// advance makes the first entry current whose marker is at or above an offset.
func (m *lostMarkers) advance(offset int64) error {
	for !m.begun || m.index.at < offset {
		m.begun = true
		if err := m.take(); err != nil {
			return err
		}
	}
	return nil
}

// take makes the next entry current. Where one cannot be right, nothing is believed from there on.
func (m *lostMarkers) take() error {
	c := &m.index
	ok, err := c.take()
	if err != nil || !ok {
		return err
	}
	if e := &c.cur; e.Refused() || e.Version != 0 || e.LastOffset <= c.last || e.FirstOffset > e.LastOffset || e.FirstOffset < 0 {
		m.spoilt = true
		c.stop()
		return nil
	}
	c.last = c.cur.LastOffset
	return nil
}

// hole takes a stretch into account of which no batch can be read: size bytes, 0 where there
// are none, that had offsets [from, to).
func (w *transactionWatch) hole(size, from, to int64) error {
	m := &w.lost
	if len(w.open) == 0 || to <= from || w.stopped {
		return nil
	}
	if err := m.advance(from); err != nil {
		return err
	}
	for m.index.at < to && !m.spoilt {
		w.abortedByIndex(&m.index.cur)
		if err := m.take(); err != nil {
			return err
		}
	}
	switch {
	case size == 0:
		m.gapTo = to
		return nil
	case size < markerSize:
		return nil
	}
	if one, err := w.oneBatch(size, from, to); one || err != nil {
		return err
	}
	// Without an entry behind it, the file may not have got so far.
	reaches := m.index.at != math.MaxInt64 || w.log.closedSegment(w.seg) || w.log.Partition.LogDir.CleanShutdown
	if m.index.file != nil && !m.spoilt && reaches {
		m.commitTo = to
	} else {
		m.anyTo = to
	}
	return nil
}

// oneBatch reports whether a stretch is one damaged batch with several offsets, by its header
// and by the batches around it: a marker has one.
func (w *transactionWatch) oneBatch(size, from, to int64) (bool, error) {
	if size < batch.HeaderSize || to-from < 2 || to == math.MaxInt64 {
		return false, nil
	}
	var head [batch.HeaderSize]byte
	err := withFile(w.log.Segments[w.seg].Log, func(f rofs.File) error {
		_, err := f.ReadAt(head[:], w.prevEnd)
		return err
	})
	if err != nil {
		return false, err
	}
	base, length := int64(binary.BigEndian.Uint64(head[:])), int64(int32(binary.BigEndian.Uint32(head[8:])))
	last := int64(int32(binary.BigEndian.Uint32(head[23:])))
	return base == from && length+12 == size && last == to-from-1, nil
}

// abortedByIndex ends a transaction whose marker cannot be read and that an entry of the
// .txnindex knows.
func (w *transactionWatch) abortedByIndex(e *segment.AbortedTxn) {
	m := &w.lost
	t := w.open[e.ProducerID]
	switch {
	case t == nil || t.First > e.LastOffset:
		return
	case t.First < e.FirstOffset && max(m.anyTo, m.commitTo, m.gapTo) <= t.First:
		m.spoilt = true // no transaction of the log begins there
		m.index.stop()
		return
	}
	delete(w.open, e.ProducerID)
	t.State, t.Marker, t.FromIndex = TransactionAborted, e.LastOffset, true
	t.CoordinatorEpoch, t.CoordinatorBefore = -1, -1
	if t.First < e.FirstOffset {
		t.DoubtTo = e.FirstOffset
	}
	w.finish(t)
}

// doubt says which records of a transaction may have been ended by a marker before the one
// that ends it here.
func (w *transactionWatch) doubt(t *Transaction) error {
	m := &w.lost
	doubt := max(m.anyTo, m.commitTo)
	if t.First < 0 || max(doubt, m.gapTo) <= t.First {
		return nil
	}
	if t.State == TransactionCommitted {
		doubt = m.anyTo // one COMMIT or two, they are committed
	} else {
		if err := m.advance(t.Marker); err != nil {
			return err
		}
		if e := &m.index.cur; !m.spoilt && m.index.at == t.Marker && e.ProducerID == t.ProducerID {
			if e.FirstOffset > t.First {
				t.DoubtTo = e.FirstOffset
			}
			return nil // it says where the transaction began
		}
	}
	t.DoubtTo, t.GapTo = doubt, m.gapTo
	return nil
}
