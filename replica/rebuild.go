package replica

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"

	"kafsck/batch"
	"kafsck/segment"
)

// RebuildProducers is the producer state that Kafka's recovery would build, and the aborted
// transactions that it would index on the way. The zero value is not ready: see
// [NewRebuild].
//
//	snapshot 100   ---> NewRebuild      the state at offset 100
//	100.log 200.log --> Read            batches from 100 on, up to the limit
//	                --> Snapshot        300.snapshot
//	                --> aborted         200.txnindex, of the last log
//
// Nothing expires: Kafka would forget producers that were idle for a day before the moment of
// the start. Memory grows with producers and open transactions only, and ends with an error
// beyond 524,288 producers.
//
// Sources: ProducerStateManager, ProducerAppendInfo, LogSegment.recover and
// updateProducerState, UnifiedLog.rebuildProducerState.
type RebuildProducers struct {
	state *Producers
	from  int64 // batches below are in the snapshot
	// To is the offset of the snapshot that is wanted: batches at or above it are not read.
	To int64
}

// NewRebuild begins with the producers of a snapshot taken at offset from; nil and 0 for
// none.
func NewRebuild(snap *segment.ProducerSnapshot, from int64) (*RebuildProducers, error) {
	b := &RebuildProducers{state: newProducers(), from: from, To: math.MaxInt64}
	if snap == nil {
		b.from = math.MinInt64
		return b, nil
	}
	if snap.Problem != nil {
		return nil, fmt.Errorf("the snapshot of offset %d: %w", from, snap.Problem)
	}
	for i := range snap.Producers {
		p := b.state.producer(snap.Producers[i].ProducerID)
		if p == nil {
			return nil, errTooManyProducers
		}
		p.ProducerEntry = snap.Producers[i]
		if p.open() {
			p.TxnFirstRecords = p.CurrentTxnFirstOffset
			b.state.began(p)
		}
	}
	b.state.sortOngoing()
	return b, nil
}

var errTooManyProducers = fmt.Errorf("more than %d producers: more than kafsck holds in memory", maxProducers)

// Read takes in a .log of size bytes. aborted gets the entries of its .txnindex; nil for
// none.
//
// The error is a *segment.Unsound, a failed read or write, or ctx's.
func (b *RebuildProducers) Read(ctx context.Context, log io.ReaderAt, size int64, aborted io.Writer) error {
	var out *bufio.Writer
	if aborted != nil {
		out = bufio.NewWriter(aborted)
	}
	done := fmt.Errorf("the end was reached") // compared by identity, never seen
	var entry []byte
	one := func(h *batch.Header, position int64, raw func() []byte) error {
		if h.BaseOffset >= b.To {
			return done
		}
		if h.ProducerID < 0 || h.LastOffset() < b.from {
			return nil
		}
		p := b.state.producer(h.ProducerID)
		if p == nil {
			return errTooManyProducers
		}
		if !h.Attributes.Control() {
			b.state.data(p, h)
			return nil
		}
		if h.RecordCount == 0 {
			return nil // the cleaner emptied it
		}
		c, timestamp, ok := markerOf(h, raw())
		if !ok {
			return &segment.Unsound{Kind: segment.Batch, Position: position, Err: fmt.Errorf("a control batch of producer %d that is no transaction marker", h.ProducerID)}
		}
		t := b.state.marker(p, h, &c, timestamp)
		if !t.aborted || t.first < 0 || out == nil {
			return nil
		}
		entry = segment.AppendAbortedTxn(entry[:0], &segment.AbortedTxn{ProducerID: h.ProducerID, FirstOffset: t.first, LastOffset: h.LastOffset(), LastStableOffset: t.lastStable})
		_, err := out.Write(entry)
		return err
	}
	err := segment.SoundRuns(ctx, log, size, func(run *segment.Run) error {
		for i := range run.Sound {
			if err := one(&run.Sound[i].Header, run.Sound[i].Pos, func() []byte { return run.Raw(i) }); err != nil {
				return err
			}
		}
		switch f := run.Odd; {
		case f == nil:
		case f.Kind == segment.Legacy:
			if f.Legacy.Offset >= b.To {
				return done
			}
		default:
			return one(&f.Batch.Header, f.Pos, func() []byte { return f.Raw })
		}
		return nil
	})
	if err != nil && err != done {
		return err
	}
	if out != nil {
		return out.Flush()
	}
	return nil
}

// Snapshot is the bytes of the .snapshot at the offset that has been reached.
func (b *RebuildProducers) Snapshot() []byte {
	list := make([]segment.ProducerEntry, len(b.state.all))
	for i, p := range b.state.all {
		list[i] = p.ProducerEntry
	}
	return segment.AppendSnapshot(nil, list)
}

// Empty reports whether no producer is known.
func (b *RebuildProducers) Empty() bool { return len(b.state.all) == 0 }
