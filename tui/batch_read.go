package tui

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"kafsck/batch"
	"kafsck/segment"
)

// batchData is one frame with its bytes.
type batchData struct {
	log   *logFiles
	frame frame
	// raw is the whole frame; nil where it is no batch or too large: then its bytes are
	// read where they are looked at. start is its first bytes, at most 61.
	raw, start []byte
	size       int64 // of the file
	file       string

	old *oldRecords // of a message of magic 0 or 1; nil of a batch

	compressed bool
	// payload are the records, decompressed; nil where they could not be. Of a message that
	// is not compressed it is raw.
	payload  []byte
	records  []int32
	problem  string // why the records end before their number
	limit    bool   // because of a limit of ours
	computed uint32
	flip     *batch.Flip
	tried    bool // flip was looked for
	note     string
	selected int // record that was asked for, -1 none
}

// readBatch is work that reads one frame and takes it apart.
func readBatch(l *logFiles, t target, bounds []int64) work {
	return func(ctx context.Context) any {
		r, err := locate(ctx, l, t, bounds)
		if err != nil {
			return err
		}
		if r.selected < 0 {
			return fmt.Errorf("%s: there is nothing at this place: the file is empty", r.log.file().Path)
		}
		d, err := readData(ctx, r.log, r.frames[r.selected])
		if err != nil {
			return err
		}
		d.note = r.note
		if t.kind == atOffset {
			d.selected = d.recordOf(t.n)
		}
		return d
	}
}

// readBeside is work that reads the frame behind (by = 1) or before one.
func readBeside(l *logFiles, here frame, by int) work {
	return func(ctx context.Context) any {
		pos := here.end()
		if by < 0 {
			pos = here.pos - 1
		}
		f, err := openWatched(ctx, l.file(), nil)
		if err != nil {
			return err
		}
		size := f.size
		f.close()
		switch {
		case pos < 0 && l.at > 0:
			return readBatch(l.to(l.at-1), target{atEnd, 0}, nil)(ctx)
		case pos >= size && l.at+1 < len(l.segs):
			return readBatch(l.to(l.at+1), target{atPosition, 0}, nil)(ctx)
		case pos < 0:
			return noFurther("this is the first batch of the log")
		case pos >= size:
			return noFurther("this is the end of the log")
		}
		return readBatch(l, target{atPosition, pos}, []int64{here.pos * int64((by+1)/2)})(ctx)
	}
}

// noFurther says that there is nothing in that direction.
type noFurther string

// readData reads the frame that stands at a boundary.
func readData(ctx context.Context, l *logFiles, fr frame) (*batchData, error) {
	f, err := openWatched(ctx, l.file(), nil)
	if err != nil {
		return nil, err
	}
	defer f.close()
	d := &batchData{log: l, frame: fr, size: f.size, file: l.file().Path, selected: -1}
	d.start = make([]byte, min(fr.len, batch.HeaderSize))
	if n, err := f.ReadAt(d.start, fr.pos); n < len(d.start) {
		return nil, f.failed(&segment.ReadError{Op: "read", Pos: fr.pos, Len: int64(len(d.start)), Err: err})
	}
	if !fr.hasOffsets() && fr.kind != segment.Embedded {
		return d, nil
	}
	for raw, err := range segment.Walk(f, fr.end(), segment.ScanOptions{From: fr.pos, BufferSize: int(min(max(fr.len, 4<<10), segment.MaxRaw))}) {
		if err != nil {
			return nil, f.failed(err)
		}
		// Nothing is read behind this frame, so its bytes stay as they are.
		if raw.Pos == fr.pos && raw.Len == fr.len {
			d.raw = raw.Raw
			switch {
			case fr.isMessage():
				d.decodeOld(ctx)
			case fr.kind == segment.Batch || fr.kind == segment.Embedded:
				d.decode(ctx, raw)
			}
		}
		break
	}
	return d, nil
}

// decode finds the records of a batch.
func (d *batchData) decode(ctx context.Context, raw *segment.Frame) {
	d.compressed = d.frame.head.Attributes.Codec() != batch.None
	if raw.Raw == nil {
		d.problem, d.limit = errTooLarge.Error(), true
		return
	}
	v := batch.View{Header: raw.Batch.Header, Raw: raw.Raw}
	d.computed = v.ComputedCRC()
	if d.computed != v.CRC {
		d.tried = true
		if flip, ok := batch.FindFlip(raw.Raw); ok {
			d.flip = &flip
		}
	}
	dec := batch.NewDecompressor(batch.DefaultLimit)
	for r, err := range v.Records(dec) {
		if err != nil {
			d.problem, d.limit = err.Error(), errors.Is(err, batch.ErrTooLarge)
			break
		}
		if ctx.Err() != nil {
			return
		}
		d.records = append(d.records, int32(r.Pos))
	}
	d.payload = v.Payload()
	if d.compressed {
		// The decompressor is ours alone: what it gives stays.
		out, err := dec.Decompress(v.Attributes.Codec(), v.Payload())
		if err != nil && d.problem == "" {
			d.problem, d.limit = err.Error(), errors.Is(err, batch.ErrTooLarge)
		}
		d.payload = out
	}
}

// offsets are the first and the last one, both inclusive. The header of a wrapper has the
// last one only.
func (d *batchData) offsets() (first, last int64) {
	first, last = d.frame.offsets()
	if d.old != nil && d.compressed && len(d.records) > 0 {
		if r, ok := d.oldRecord(0); ok {
			first = r.Offset
		}
		if r, ok := d.oldRecord(len(d.records) - 1); ok {
			last = r.Offset
		}
	}
	return first, last
}

// recordSpace is what the records are counted in, and what is before them there.
func (d *batchData) recordSpace() (in space, shift int64) {
	switch {
	case d.compressed:
		return inRecords, 0
	case d.old != nil:
		return inFrame, 0
	}
	return inFrame, batch.HeaderSize
}

// recordRange is where a record lies in payload.
func (d *batchData) recordRange(i int) (from, to int64) {
	from = int64(d.records[i])
	if i+1 < len(d.records) {
		return from, int64(d.records[i+1])
	}
	// The last one ends by its own length.
	if d.old != nil {
		h, err := batch.ParseLegacyHeader(d.payload[from:])
		if err != nil || h.TotalSize() > int64(len(d.payload))-from {
			return from, int64(len(d.payload))
		}
		return from, from + h.TotalSize()
	}
	if rec, ok := d.record(i); ok {
		return from, from + rec.Len
	}
	return from, int64(len(d.payload))
}

// fieldsOf takes a record apart.
func (d *batchData) fieldsOf(i int) []field {
	from, to := d.recordRange(i)
	in, shift := d.recordSpace()
	if d.old != nil {
		return innerFields(d.payload[from:to], from, d.old)
	}
	return d.hideSecret(i, recordFields(d.payload, from, to, in, &d.frame.head, shift))
}

// record decodes one record. Its key and value are borrowed from payload.
func (d *batchData) record(i int) (batch.Record, bool) {
	if d.old != nil {
		r, ok := d.oldRecord(i)
		return r.Record, ok
	}
	from := int64(d.records[i])
	to := int64(len(d.payload))
	if i+1 < len(d.records) {
		to = int64(d.records[i+1])
	}
	return parseRecord(d.payload[from:to], from, &d.frame.head)
}

// recordOf is the record with an offset, or the first one above it; -1 if there is none.
func (d *batchData) recordOf(offset int64) int {
	i := sort.Search(len(d.records), func(i int) bool {
		r, ok := d.record(i)
		return !ok || r.Offset >= offset
	})
	if i < len(d.records) {
		return i
	}
	return -1
}

// at is the record that holds a byte of payload, -1 none.
func (d *batchData) recordAt(pos int64) int {
	i := sort.Search(len(d.records), func(i int) bool { return int64(d.records[i]) > pos }) - 1
	if i >= 0 {
		if _, to := d.recordRange(i); pos >= to {
			return -1
		}
	}
	return i
}

// parseRecord decodes the record that b begins with, as batch.View.Records does: it is
// made into a batch of one record, so that there is one decoder of records.
func parseRecord(b []byte, pos int64, h *batch.Header) (batch.Record, bool) {
	raw := make([]byte, batch.HeaderSize, batch.HeaderSize+len(b))
	n, ok := recordLength(b)
	if !ok {
		return batch.Record{}, false
	}
	v := batch.View{Header: *h, Raw: append(raw, b[:n]...)}
	v.Attributes &^= 7
	v.RecordCount = 1
	for r, err := range v.Records(nil) {
		r.Pos = pos
		return r, err == nil
	}
	return batch.Record{}, false
}
