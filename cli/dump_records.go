package cli

import (
	"context"
	"errors"
	"fmt"

	"kafsck/batch"
	"kafsck/internaltopic"
	"kafsck/kraft"
	"kafsck/report"
	"kafsck/segment"
)

// records prints the records of a batch.
func (l *logDump) records(ctx context.Context, f *segment.Frame) {
	if f.Raw == nil {
		l.undecoded(tooLarge(f))
		return
	}
	timestampType := f.Batch.Attributes.TimestampType()
	for r, err := range f.Batch.Records(l.decompressor) {
		if err != nil {
			l.undecoded(err)
			return
		}
		if l.d.stopped(ctx) {
			return
		}
		if !l.inRanges(&r) {
			continue
		}
		rec := report.DumpRecord{Frame: f, Record: &r, TimestampType: timestampType}
		if f.Batch.Attributes.Control() {
			l.control(&rec)
		} else {
			l.decode(&rec)
		}
		l.record(&rec)
	}
}

// legacyRecords prints the records of a message of format 0 or 1: itself, or those that a
// wrapper has compressed.
func (l *logDump) legacyRecords(ctx context.Context, f *segment.Frame) {
	if f.Raw == nil {
		l.undecoded(tooLarge(f))
		return
	}
	for r, err := range batch.LegacyRecords(f.Raw, l.decompressor) {
		if err != nil {
			l.undecoded(err)
			return
		}
		if l.d.stopped(ctx) {
			return
		}
		if !l.inRanges(&r.Record) {
			continue
		}
		rec := report.DumpRecord{Frame: f, Record: &r.Record, TimestampType: r.TimestampType, Legacy: &r, BadCRC: batch.CheckLegacyCRC(r.Raw) != nil}
		l.decode(&rec)
		l.record(&rec)
	}
}

func tooLarge(f *segment.Frame) error {
	return fmt.Errorf("%w: the batch has %d bytes, at most %d are held in memory", batch.ErrTooLarge, f.Len, segment.MaxRaw)
}

func (l *logDump) inRanges(r *batch.Record) bool {
	return l.d.opt.offsets.meets(r.Offset, r.Offset) && l.d.opt.times.meets(r.Timestamp, r.Timestamp)
}

// record prints a record, and counts it with what became of it.
func (l *logDump) record(rec *report.DumpRecord) {
	if !l.d.where.record(rec) {
		return
	}
	l.showBatch()
	s := &l.d.sum
	s.Shown++
	if rec.BadCRC && rec.Frame.Damage == nil {
		l.d.a.fail(exitFindings) // of a message in a wrapper that is whole
	}
	switch {
	case rec.Why == "":
	case rec.Unknown:
		s.Unknown++
		l.strict(rec)
	default:
		s.Undecoded++
		l.d.a.fail(exitFindings)
		l.strict(rec)
	}
	l.d.out.Record(rec)
}

// strict names, with --strict, a record that this version of kafsck does not know or
// cannot decode.
func (l *logDump) strict(rec *report.DumpRecord) {
	if l.d.opt.strict {
		l.d.a.complain("%s: offset %d: %s", l.t.shown, rec.Offset, rec.Why)
		l.d.a.fail(exitFindings)
	}
}

// control decodes a control record.
func (l *logDump) control(rec *report.DumpRecord) {
	c, err := batch.ParseControl(rec.Key, rec.Value)
	if err != nil {
		rec.Why = err.Error()
		return
	}
	rec.Control, rec.Decoded = &c, report.DecodedControl(&c)
	if rec.Decoded.Type == "" {
		rec.Why, rec.Unknown = fmt.Sprintf("unknown type of control record: %d", c.TypeID), true
	}
}

// decode decodes a record of one of Kafka's own topics. What is not known, because a newer
// Kafka wrote it, is no damage; what does not fit what is known is.
func (l *logDump) decode(rec *report.DumpRecord) {
	kind := l.decoder
	if kind == dumpMetadata {
		m, err := kraft.DecodeRecord(rec.Value)
		rec.Secret = kraft.HoldsSecret(rec.Value)
		if err == nil {
			rec.Metadata = &m
		} else {
			rec.Why = err.Error()
			rec.Unknown = errors.Is(err, kraft.ErrUnknownType) || errors.Is(err, kraft.ErrFrameVersion) || errors.Is(err, kraft.ErrVersion)
		}
		if err == nil || rec.Unknown && !errors.Is(err, kraft.ErrFrameVersion) {
			rec.Decoded = report.DecodedMetadata(string(kind), &m, err != nil)
		}
		return
	}
	topic, ok := topicDecoders[kind]
	if !ok {
		return
	}
	r := topic.Decode(rec.Key, rec.Value)
	rec.Decoded = r.Decoded()
	if err := r.Err; err != nil {
		rec.Why = err.Error()
		rec.Unknown = errors.Is(err, internaltopic.ErrUnknownType) || errors.Is(err, internaltopic.ErrFrameVersion) || errors.Is(err, internaltopic.ErrVersion)
	}
}

// undecoded tells of records that are not shown: because of what their bytes are, or
// because of a limit of ours.
func (l *logDump) undecoded(err error) {
	l.showBatch()
	limit := errors.Is(err, batch.ErrTooLarge)
	if limit {
		l.d.a.fail(exitIncomplete)
	} else {
		l.d.a.fail(exitFindings)
	}
	l.d.out.Undecoded(err.Error(), limit)
}
