package apply

import (
	"context"
	"crypto/sha256"
	"io"
	"math"

	"kafsck/batch"
	"kafsck/repair"
	"kafsck/segment"
)

// walkInput walks an input from a frame on; f may end it with io.EOF.
func (x *run) walkInput(ctx context.Context, r *root, in *repair.PlanInput, from int64, f func(*segment.Frame) error) error {
	src, err := r.fsys.Open(r.inside(in.File))
	if err != nil {
		return err
	}
	defer src.Close()
	return walkFrames(ctx, src, from, in.Size, f)
}

// walkOutput walks a .log of the result.
func (x *run) walkOutput(ctx context.Context, t *target, f func(*segment.Frame) error) error {
	file, size, err := x.resultFile(t.root, t.file)
	if err != nil {
		return err
	}
	defer file.Close()
	return walkFrames(ctx, file, 0, size, f)
}

func walkFrames(ctx context.Context, r io.ReaderAt, from, size int64, each func(*segment.Frame) error) error {
	n := 0
	for f, err := range segment.Walk(r, size, segment.ScanOptions{From: from, NextOffset: -1}) {
		if n++; err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = each(f)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// frameOffsets are the offsets of a frame that is a batch or a message, and bears its checksum.
func frameOffsets(f *segment.Frame) (base, next int64, ok bool) {
	switch {
	case f.Damage != nil:
		return 0, 0, false
	case f.Kind == segment.Batch:
		base = f.Batch.BaseOffset
		return base, max(f.Batch.NextOffset(), base), base >= 0 && base < math.MaxInt64
	case f.Kind == segment.Legacy:
		base = f.Legacy.Offset
		return base, base + 1, base >= 0 && base < math.MaxInt64
	}
	return 0, 0, false
}

func wholeBatch(f *segment.Frame, file string) *goneBatch {
	base, next, ok := frameOffsets(f)
	if !ok {
		return nil
	}
	b := &goneBatch{file: file, pos: f.Pos, base: base, next: next, size: f.Len, crc: f.Legacy.CRC, own: base, any: base, legible: true}
	if f.Kind == segment.Batch {
		b.crc = f.Batch.CRC
	}
	if f.Raw == nil {
		return b
	}
	b.content = sha256.Sum256(covered(f))
	if f.Kind == segment.Batch {
		b.legible = legible(f)
	}
	return b
}

// covered is what the CRC of a batch covers, and the CRC: not the base offset and the leader epoch.
func covered(f *segment.Frame) []byte {
	if f.Kind == segment.Batch {
		return f.Raw[17:]
	}
	return f.Raw[8:]
}

// legible reports whether the records of a batch can all be read, each at an offset of its own: what
// check tells as inner-record-invalid else.
func legible(f *segment.Frame) bool {
	d := batch.NewDecompressor(batch.DefaultLimit)
	last := int32(-1)
	for r, err := range f.Batch.Records(d) {
		if err != nil || r.OffsetDelta <= last || r.OffsetDelta > f.Batch.LastOffsetDelta {
			return false
		}
		last = r.OffsetDelta
	}
	return true
}
