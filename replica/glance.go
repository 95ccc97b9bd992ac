package replica

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"kafsck/logdir"
	"kafsck/segment"
)

// Glance describes a log without reading its records: names, sizes and the small
// files. The only bytes of a .log that it reads are those that a start with a clean
// shutdown marker reads: the end of the last segment, from its last index entry on
// (LogSegment.readNextOffset). So LogEndOffset is as right as that index; lineage,
// batch counts and checked bytes stay empty.
//
// Of the files beside each .log the shapes are compared, not the entries.
func Glance(ctx context.Context, src Source) (*Log, error) {
	l := &Log{Source: src, MaxTimestamp: -1, Ascending: true}
	l.readSmallFiles()
	for i := range l.Segments {
		if err := ctx.Err(); err != nil {
			return l, err
		}
		s := l.Segments[i]
		l.Bytes += max(s.Log.Size, 0)
		if err := l.glanceAt(i); err != nil {
			return l, err
		}
	}
	if n := len(l.Segments); n > 0 {
		end, legacy, err := probeEnd(l.Segments[n-1])
		if err != nil {
			return l, err
		}
		l.LogEndOffset, l.HasLegacy = end, legacy
	}
	return l, l.settleStart()
}

// glanceAt compares the sizes of the files of one segment.
func (l *Log) glanceAt(i int) error {
	s := l.Segments[i]
	empty := s.Log.Size == 0
	detail := ""
	if empty {
		detail = "the segment is empty: a broker makes the file when it is first needed"
	}
	tell := func(kind AnomalyKind, f *logdir.File, position int64, want, got string) {
		l.Anomalies.add(Anomaly{Kind: kind, Segment: i, File: f, Position: position, From: -1, To: -1, Epoch: -1, Want: want, Got: got, Detail: detail})
	}
	for _, x := range []struct {
		file            *logdir.File
		width           int64
		missing, zeroed AnomalyKind
	}{
		{s.Index, segment.IndexEntrySize, IndexMissing, IndexFullOfZeros},
		{s.TimeIndex, segment.TimeEntrySize, TimeIndexMissing, TimeIndexFullOfZeros},
	} {
		f := x.file
		if f == nil {
			if !empty {
				tell(x.missing, nil, -1, "", "")
			}
			continue
		}
		if f.Size == 0 && empty && f.Kind == logdir.KindIndex && i == len(l.Segments)-1 && i > 0 {
			tell(ZeroCapacityIndex, f, 0, "a preallocated file, or none", "0 bytes")
			continue
		}
		if f.Size <= 0 {
			continue
		}
		shape, err := shapeOf(f, x.width)
		if err != nil {
			return err
		}
		if shape.Remainder > 0 {
			tell(IndexMisaligned, f, f.Size-shape.Remainder, fmt.Sprintf("a multiple of %d", x.width), humanize.Comma(f.Size)+" bytes")
		}
		switch {
		case shape.ZeroEntries == 0 || shape.Entries == 0 && shape.ZeroEntries == 1:
		case shape.Entries == 0 && !empty && l.closedSegment(i) && f.Kind == logdir.KindTimeIndex:
			tell(x.zeroed, f, 0, "", fmt.Sprintf("%d zero bytes", f.Size))
		default:
			tell(IndexNotTrimmed, f, shape.Entries*x.width, "", fmt.Sprintf("%d zero bytes behind %d entries", f.Size-shape.Entries*x.width, shape.Entries))
		}
	}
	return l.glanceAtSnapshot(i, s.Snapshot)
}

// glanceAtSnapshot reads a producer snapshot, which is small.
func (l *Log) glanceAtSnapshot(i int, f *logdir.File) error {
	if f == nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return &segment.ReadError{Path: f.Path, Op: "open", Err: err}
	}
	defer r.Close()
	p, err := segment.ReadSnapshot(r, f.Size)
	if err != nil {
		return withPath(err, f.Path)
	}
	if p.Problem != nil && !p.Problem.Limit() {
		l.Anomalies.add(Anomaly{Kind: SnapshotMalformed, Segment: i, File: f, Position: p.Problem.Position, From: -1, To: -1, Epoch: -1,
			Want: p.Problem.Want, Got: p.Problem.Got, Detail: p.Problem.Kind})
	}
	return nil
}

func shapeOf(f *logdir.File, width int64) (segment.IndexShape, error) {
	r, err := f.Open()
	if err != nil {
		return segment.IndexShape{}, &segment.ReadError{Path: f.Path, Op: "open", Err: err}
	}
	defer r.Close()
	shape := segment.ShapeOfIndex
	if width == segment.TimeEntrySize {
		shape = segment.ShapeOfTimeIndex
	}
	s, err := shape(r, f.Size)
	if err != nil {
		return s, withPath(err, f.Path)
	}
	return s, nil
}

// probeEnd is the log end as a start takes it from the last segment: the batches
// from the last index entry on. An entry that points at no batch is not believed;
// then the segment is read from its start, as a broker that recovers it would.
func probeEnd(s *logdir.Segment) (end int64, legacy bool, err error) {
	from, err := lastIndexed(s)
	if err != nil {
		return 0, false, err
	}
	r, err := s.Log.Open()
	if err != nil {
		return 0, false, &segment.ReadError{Path: s.Log.Path, Op: "open", Err: err}
	}
	defer r.Close()
	for {
		sound := true
		end, legacy = s.BaseOffset, false
		for f, err := range segment.Scan(r, s.Log.Size, segment.ScanOptions{From: from, NextOffset: -1}) {
			if err != nil {
				return 0, false, withPath(err, s.Log.Path)
			}
			legacy = legacy || f.Kind == segment.Legacy
			if f.Pos == from && f.Kind != segment.Batch && f.Kind != segment.Legacy {
				sound = false
				break
			}
			if next, ok := nextOf(&f); ok {
				end = max(end, next)
			}
		}
		if sound || from == 0 {
			return end, legacy, nil
		}
		from = 0
	}
}

// nextOf is the offset behind a whole batch or message.
func nextOf(f *segment.Frame) (int64, bool) {
	switch {
	case f.Damage != nil:
	case f.Kind == segment.Batch:
		return addOffset(f.Batch.BaseOffset, int64(f.Batch.LastOffsetDelta)) + 1, true
	case f.Kind == segment.Legacy:
		return addOffset(f.Legacy.Offset, 1), true
	}
	return 0, false
}

// lastIndexed is the position of the last entry of the offset index, 0 without
// one that lies within the .log.
func lastIndexed(s *logdir.Segment) (int64, error) {
	if s.Index == nil || s.Index.Size < segment.IndexEntrySize {
		return 0, nil
	}
	shape, err := shapeOf(s.Index, segment.IndexEntrySize)
	if err != nil || shape.Entries == 0 {
		return 0, err
	}
	r, err := s.Index.Open()
	if err != nil {
		return 0, &segment.ReadError{Path: s.Index.Path, Op: "open", Err: err}
	}
	defer r.Close()
	last := io.NewSectionReader(r, (shape.Entries-1)*segment.IndexEntrySize, segment.IndexEntrySize)
	position := int64(0)
	for e, err := range segment.ScanIndex(last, segment.IndexEntrySize, s.BaseOffset) {
		if err != nil {
			return 0, withPath(err, s.Index.Path)
		}
		position = e.Position
	}
	if position < 0 || position >= s.Log.Size {
		return 0, nil
	}
	return position, nil
}
