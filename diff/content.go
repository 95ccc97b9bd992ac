package diff

import (
	"errors"
	"iter"

	"kafsck/batch"
	"kafsck/epoch"
	"kafsck/replica"
)

// Content is what a comparison needs to know of one copy of a partition.
type Content interface {
	// Bounds returns the log start offset (inclusive) and log end offset (exclusive).
	Bounds() (start, end int64)
	// Differing returns the offset spans in which o may hold other blocks. Outside of
	// them both hold the same.
	Differing(o Content) []replica.Span
	// Blocks yields the blocks that hold an offset in [from, to). An error is a failed
	// read and ends the iteration.
	Blocks(from, to int64) iter.Seq2[replica.Block, error]
	// Records yields the records of one block; the memory is borrowed until the next
	// step. ErrNoRecords when this content has none.
	Records(b *replica.Block, d *batch.Decompressor) iter.Seq2[batch.Record, error]
	// Lineage returns the epochs of the batches, Cache those of the checkpoint as
	// loaded.
	Lineage() epoch.Lineage
	Cache() epoch.Cache
	// HighWatermark returns the checkpointed high watermark; ok is false without one.
	HighWatermark() (hw int64, ok bool)
}

// ErrNoRecords says that a content knows blocks but not their records.
var ErrNoRecords = errors.New("records are not part of this content")

// LogContent is a log on disk as a Content.
type LogContent struct{ Log *replica.Log }

// Bounds implements Content.
func (c LogContent) Bounds() (start, end int64) { return c.Log.LogStartOffset, c.Log.LogEndOffset }

// Blocks implements Content.
func (c LogContent) Blocks(from, to int64) iter.Seq2[replica.Block, error] {
	return c.Log.Blocks(from, to)
}

// Lineage implements Content.
func (c LogContent) Lineage() epoch.Lineage { return c.Log.Lineage }

// Cache implements Content.
func (c LogContent) Cache() epoch.Cache { return c.Log.Loaded }

// HighWatermark implements Content.
func (c LogContent) HighWatermark() (int64, bool) {
	if c.Log.HighWatermark == nil {
		return 0, false
	}
	return *c.Log.HighWatermark, true
}

// Differing implements Content.
func (c LogContent) Differing(o Content) []replica.Span {
	if l, ok := o.(LogContent); ok {
		return c.Log.Fingerprint.Differing(&l.Log.Fingerprint)
	}
	return o.Differing(c)
}

// Records implements Content. What ends inside the last message of a compressed one is no
// error: brokers read it like that.
func (c LogContent) Records(b *replica.Block, d *batch.Decompressor) iter.Seq2[batch.Record, error] {
	if b.Legacy {
		return c.messages(b, d)
	}
	return func(yield func(batch.Record, error) bool) {
		v, _, err := c.Log.Batch(b, nil)
		if err != nil {
			yield(batch.Record{}, err)
			return
		}
		shift := b.Base - v.BaseOffset // a wrong base offset was corrected
		for r, err := range v.Records(d) {
			r.Offset += shift
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// messages yields the records of a message of format 0 or 1.
func (c LogContent) messages(b *replica.Block, d *batch.Decompressor) iter.Seq2[batch.Record, error] {
	return func(yield func(batch.Record, error) bool) {
		raw, err := c.Log.ReadRaw(b.Segment, b.Position, b.Length, nil)
		if err != nil {
			yield(batch.Record{}, err)
			return
		}
		for r, err := range batch.LegacyRecords(raw, d) {
			if errors.Is(err, batch.ErrTorn) {
				return
			}
			if !yield(r.Record, err) || err != nil {
				return
			}
		}
	}
}
