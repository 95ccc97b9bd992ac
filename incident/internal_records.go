package incident

import (
	"context"
	"errors"
	"fmt"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/segment"
)

// internalScan hands the records of one copy to a collector, in file order. Batches whose
// CRC is wrong, and what is no batch, are passed over and counted. Records are taken in the
// order of the file, not of their offsets: no CRC covers the base offset.
type internalScan struct {
	r    *internalReader
	p    *InternalPartition
	ic   *InternalCopy
	to   collector
	file *logdir.File
	d    *batch.Decompressor

	rec    internalRecord
	lastMs int64
}

// copy reads a copy. The error is a failed read or ctx's.
func (r *internalReader) copy(ctx context.Context, p *InternalPartition, ic *InternalCopy, log *replica.Log, from bool) error {
	s := internalScan{r: r, p: p, ic: ic, to: r.begin(p, ic, from), d: new(batch.Decompressor), lastMs: -1}
	for i, seg := range log.Segments {
		if err := s.segment(ctx, seg.Log, seg.BaseOffset); err != nil {
			return fmt.Errorf("segment %d of %d: %w", i+1, len(log.Segments), err)
		}
	}
	ic.NewestMs = s.lastMs
	s.to.end()
	return nil
}

func (s *internalScan) segment(ctx context.Context, file *logdir.File, base int64) error {
	f, err := file.Open()
	if err != nil {
		return &segment.ReadError{Path: file.Path, Op: "open", Err: err}
	}
	defer f.Close()
	s.file = file
	for frame, err := range segment.Walk(f, file.Size, segment.ScanOptions{NextOffset: base}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		s.frame(frame)
	}
	return nil
}

func (s *internalScan) frame(f *segment.Frame) {
	switch {
	case f.Kind == segment.Zeros || f.Kind == segment.Torn || f.Kind == segment.Embedded:
	case f.Damage != nil || f.Raw == nil:
		s.skip(f.Pos)
	case f.Kind == segment.Batch:
		s.batch(f)
	case f.Kind == segment.Legacy:
		s.message(f)
	default:
		s.skip(f.Pos)
	}
}

func (s *internalScan) skip(position int64) {
	if s.ic.Skipped++; s.ic.SkippedAt == "" {
		s.ic.SkippedAt = fmt.Sprintf("%s, position %d", s.file.Path, position)
	}
}

func (s *internalScan) batch(f *segment.Frame) {
	v := &f.Batch
	ok := true
	for rec, err := range v.Records(s.d) {
		if err != nil {
			ok = false
			break
		}
		if !v.Attributes.Control() {
			s.record(rec.Key, rec.Value, internalRecord{offset: rec.Offset, epoch: v.PartitionLeaderEpoch, timeMs: rec.Timestamp,
				producerID: v.ProducerID, transactional: v.Attributes.Transactional() && v.ProducerID >= 0})
			continue
		}
		c, err := batch.ParseControl(rec.Key, rec.Value)
		if err != nil {
			ok = false
			break
		}
		s.lastMs = max(s.lastMs, rec.Timestamp)
		if c.Type == batch.ControlAbort || c.Type == batch.ControlCommit {
			s.to.marker(v.ProducerID, c.Type == batch.ControlCommit, rec.Offset, s.lastMs)
		}
	}
	if !ok {
		s.skip(f.Pos)
	}
}

func (s *internalScan) record(key, value []byte, r internalRecord) {
	if r.timeMs < 0 {
		r.timeMs = s.lastMs
	}
	s.lastMs = max(s.lastMs, r.timeMs)
	r.file = s.file
	r.Record = s.r.topic.Decode(key, value)
	// Commits of format 0 are dated by themselves alone.
	if c, ok := r.OffsetCommit(); ok && r.timeMs < 0 && c.CommitMs >= 0 {
		r.timeMs = c.CommitMs
	}
	s.rec = r
	if r.Err != nil {
		s.r.note(s.p, s.ic, &s.rec)
	}
	s.to.record(&s.rec)
}

// message takes a message of format 0 or 1, or those inside a compressed one, as far as they are sound.
func (s *internalScan) message(f *segment.Frame) {
	for r, err := range batch.LegacyRecords(f.Raw, s.d) {
		if errors.Is(err, batch.ErrTorn) {
			return // the end, for a broker
		}
		if err != nil || r.Codec != batch.None && batch.CheckLegacyCRC(r.Raw) != nil {
			s.skip(f.Pos)
			return
		}
		s.record(r.Key, r.Value, internalRecord{offset: r.Offset, epoch: -1, timeMs: r.Timestamp, producerID: -1})
	}
}
