package tui

import (
	"context"
	"io"
	"strings"
	"time"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/segment"
)

// segmentFacts is what a look at the ends of a .log tells.
type segmentFacts struct {
	known       bool
	first, last int64 // timestamps, ms; -1 none or not known
	batches     int64 // -1 not known
	// Entries of the index files up to their zero tail, -1 not known.
	offsets, times int64
	level          level
	says           string // why they are not known
}

// numberedFacts are the facts of a row.
type numberedFacts struct {
	row int
	segmentFacts
}

// A log of at most smallLog bytes is read whole for its facts; of a larger one its first
// header and what is behind the last index entry, up to longTail bytes.
const (
	smallLog = 64 << 10
	longTail = 1 << 20
)

// readFacts is work that reads the facts of all segments, in their order. A file that
// cannot be read is told on its row.
func readFacts(list []segmentRow) work {
	return stream(func(ctx context.Context, emit func(any) bool) any {
		add := progress(ctx, "reading the ends of the segments", int64(len(list)), false)
		var fresh []numberedFacts
		last := time.Now()
		for i := range list {
			add(1)
			x := list[i].seg
			if x == nil || x.Log == nil {
				continue
			}
			f, err := factsOf(ctx, x)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				dir := strings.TrimSuffix(x.Log.Path, x.Log.Name) // that of all rows
				f = segmentFacts{known: true, first: -1, last: -1, batches: -1, offsets: -1, times: -1, level: levelUnread, says: strings.ReplaceAll(err.Error(), dir, "")}
			}
			fresh = append(fresh, numberedFacts{i, f})
			if now := time.Now(); now.Sub(last) > 60*time.Millisecond {
				last = now
				if !emit(fresh) {
					return nil
				}
				fresh = nil
			}
		}
		if fresh == nil {
			return nil
		}
		return fresh
	})
}

func factsOf(ctx context.Context, x *logdir.Segment) (segmentFacts, error) {
	out := segmentFacts{known: true, first: -1, last: -1, batches: -1, offsets: -1, times: -1}
	for _, x := range []struct {
		file  *logdir.File
		shape func(io.ReaderAt, int64) (segment.IndexShape, error)
		to    *int64
	}{{x.Index, segment.ShapeOfIndex, &out.offsets}, {x.TimeIndex, segment.ShapeOfTimeIndex, &out.times}} {
		if x.file == nil {
			continue
		}
		f, err := openWatched(ctx, x.file, nil)
		if err != nil {
			return out, err
		}
		shape, err := x.shape(f, f.size)
		f.close()
		if err != nil {
			return out, f.failed(err)
		}
		*x.to = shape.Entries
	}
	f, err := openWatched(ctx, x.Log, nil)
	if err != nil {
		return out, err
	}
	defer f.close()
	if f.size == 0 {
		out.batches = 0
		return out, nil
	}
	start := make([]byte, min(f.size, batch.HeaderSize))
	if n, err := f.ReadAt(start, 0); n < len(start) {
		return out, f.failed(err)
	}
	if h, err := batch.ParseHeader(start); err == nil {
		out.first = h.BaseTimestamp
		switch a := h.Attributes; {
		case a.TimestampType() == batch.LogAppendTime:
			out.first = h.MaxTimestamp
		case a.DeleteHorizon():
			out.first = -1
		}
	} else if h, err := batch.ParseLegacyHeader(start); err == nil && h.Magic > 0 {
		out.first = h.Timestamp
	}
	from := int64(0)
	if f.size > smallLog {
		out.last = lastTime(ctx, x)
		from = positionBelow(ctx, x, f.size-1)
		if f.size-from > longTail || !soundAt(f, from) {
			return out, nil
		}
	}
	n := int64(0)
	for fr, err := range segment.Walk(f, f.size, segment.ScanOptions{From: from, BufferSize: 64 << 10}) {
		if err != nil {
			return out, f.failed(err)
		}
		switch fr.Kind {
		case segment.Batch:
			n++
			out.last = max(out.last, fr.Batch.MaxTimestamp)
		case segment.Legacy:
			n++
			out.last = max(out.last, fr.Legacy.Timestamp)
		}
	}
	if from == 0 {
		out.batches = n
	}
	return out, nil
}
