package tui

import (
	"context"
	"errors"

	"kafsck/batch"
)

// oldRecords is what the messages inside a wrapper of magic 0 or 1 take from it (see
// batch.LegacyRecords).
type oldRecords struct {
	base    int64 // what to add to their offsets as written
	wrapper batch.LegacyHeader
}

// decodeOld finds the records of a message of magic 0 or 1: one, or those that a wrapper
// holds.
func (d *batchData) decodeOld(ctx context.Context) {
	h := d.frame.legacy
	d.old, d.compressed = &oldRecords{wrapper: h}, h.Codec() != batch.None
	if d.raw == nil {
		d.problem, d.limit = errTooLarge.Error(), true
		return
	}
	fail := func(err error) {
		if d.problem == "" {
			d.problem, d.limit = err.Error(), errors.Is(err, batch.ErrTooLarge)
		}
	}
	dec := batch.NewDecompressor(batch.DefaultLimit)
	for r, err := range batch.LegacyRecords(d.raw, dec) {
		if err != nil {
			fail(err)
			break
		}
		if ctx.Err() != nil {
			return
		}
		if len(d.records) == 0 {
			d.old.base = r.Offset - r.InnerOffset
		}
		d.records = append(d.records, int32(r.Pos))
	}
	d.payload = d.raw
	if !d.compressed {
		return
	}
	_, value, _, err := batch.LegacyFields(d.raw)
	if err == nil && value != nil {
		// The decompressor is ours alone: what it gives stays.
		value, err = dec.DecompressLegacy(h.Magic, h.Codec(), value)
	}
	if err != nil {
		fail(err)
	}
	d.payload = value
}

// oldRecord is one record of a message of magic 0 or 1, with the offset and the time that
// Kafka gives it. Its key and value are borrowed from payload.
func (d *batchData) oldRecord(i int) (batch.LegacyRecord, bool) {
	from, to := d.recordRange(i)
	for r, err := range batch.LegacyRecords(d.payload[from:to], nil) {
		if err != nil {
			break
		}
		if !d.compressed {
			return r, true
		}
		w := &d.old.wrapper
		r.Pos, r.Offset, r.Codec = from, r.Offset+d.old.base, w.Codec()
		if r.Magic == 1 {
			// Whoever wrote the wrapper has the say.
			r.TimestampType = w.TimestampType()
			if r.TimestampType == batch.LogAppendTime {
				r.Timestamp = w.Timestamp
			}
		}
		return r, true
	}
	return batch.LegacyRecord{}, false
}

// inTree is the number of records that have a line of their own in the tree of fields: a
// message that is not compressed is its own only record.
func (d *batchData) inTree() int {
	if d.old != nil && !d.compressed {
		return 0
	}
	return len(d.records)
}

// recordsText counts the records.
func (d *batchData) recordsText() string {
	return countOf(int64(len(d.records)), "record", "records")
}

// timestampType is what the timestamp of a record is.
func (d *batchData) timestampType(i int) batch.TimestampType {
	if d.old == nil {
		return d.frame.head.Attributes.TimestampType()
	}
	r, _ := d.oldRecord(i)
	return r.TimestampType
}
