package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"kafsck/batch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/segment"
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

func hex32(n uint32) string { return fmt.Sprintf("0x%08x", n) }

// logFiles are the .log files that form one log, and which of them is looked at. It is
// a value: works get a copy.
type logFiles struct {
	part *logdir.Partition
	segs []*logdir.Segment // of one log, ascending; each has a .log. Not changed
	at   int
	// metadata: the records are those of __cluster_metadata.
	metadata bool
	// gaps: offsets may be missing, as in a compacted log.
	gaps bool
	copy *incident.Copy // nil: not judged
}

func (l *logFiles) segment() *logdir.Segment { return l.segs[l.at] }
func (l *logFiles) file() *logdir.File       { return l.segs[l.at].Log }

// to is the same log at another segment.
func (l *logFiles) to(i int) *logFiles {
	other := *l
	other.at = i
	return &other
}

// logOf is the log of a copy.
func logOf(p *incident.Partition, c *incident.Copy) *logFiles {
	if c.Log == nil || c.Log.Partition == nil {
		return nil
	}
	l := &logFiles{part: c.Log.Partition, segs: c.Log.Segments, copy: c, gaps: p == nil || p.Ruling.Policy != "delete"}
	l.metadata = l.part == l.part.LogDir.Metadata
	if len(l.segs) == 0 {
		return nil
	}
	return l
}

// logAround is the log that a .log file belongs to: those of its directory with the same
// suffix.
func logAround(part *logdir.Partition, file *logdir.File) *logFiles {
	l := &logFiles{part: part, gaps: true, metadata: part == part.LogDir.Metadata}
	at := -1
	for _, s := range part.Segments {
		if s.Log == nil || s.Log.Suffix != file.Suffix {
			continue
		}
		if s.Log == file {
			at = len(l.segs)
		}
		l.segs = append(l.segs, s)
	}
	if at < 0 {
		return nil
	}
	l.at = at
	return l
}

// holding is the segment that holds an offset if any does.
func (l *logFiles) holding(offset int64) int {
	i := sort.Search(len(l.segs), func(i int) bool { return l.segs[i].BaseOffset > offset })
	return max(i-1, 0)
}

// watchedFile reads a file for a work: it ends with ctx, and tells how much it read.
type watchedFile struct {
	io.ReaderAt
	ctx  context.Context
	add  func(n int64)
	size int64
	path string
	done func() error
}

// openWatched opens a file; add may be nil.
func openWatched(ctx context.Context, f *logdir.File, add func(int64)) (*watchedFile, error) {
	if f.Err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, segment.PlainCause(f.Err))
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, segment.PlainCause(err))
	}
	info, err := r.Stat()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", f.Path, segment.PlainCause(err))
	}
	if add == nil {
		add = func(int64) {}
	}
	return &watchedFile{r, ctx, add, info.Size(), f.Path, r.Close}, nil
}

func (f *watchedFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.ReaderAt.ReadAt(p, at)
	f.add(int64(n))
	return n, err
}

func (f *watchedFile) close() { _ = f.done() } // it was only read

// failed names the file in a failed read; the end of the work is told as such.
func (f *watchedFile) failed(err error) error {
	if f.ctx.Err() != nil {
		return f.ctx.Err()
	}
	if re, ok := errors.AsType[*segment.ReadError](err); ok { // the cause first: the line may be cut
		return fmt.Errorf("%w at byte %d of %s", segment.PlainCause(re.Err), re.Pos, f.path)
	}
	return fmt.Errorf("%s: %w", f.path, segment.PlainCause(err))
}

// unreadText is what a screen shows that has nothing because it could not be read.
func unreadText(err error, w int, st *styles) string {
	var out []string
	for i, l := range wrap(escape(err.Error()), max(w-2, 1)) {
		if i == 0 {
			out = append(out, st.level(levelUnread).Render(levelUnread.symbol()+" "+l))
		} else {
			out = append(out, "  "+st.level(levelUnread).Render(l))
		}
	}
	return strings.Join(append(out, st.dim.Render("Nothing is known about these bytes. R tries again.")), "\n")
}

// unreadLine is a failed read above what was read before it; nothing without one.
func unreadLine(err error, w int, st *styles) []string {
	if err == nil || errors.Is(err, errStopped) { // the status line has the latter
		return nil
	}
	return []string{st.level(levelUnread).Render(cutPath(levelUnread.symbol()+" not read: ", escape(err.Error()), w))}
}

// entries looks at single entries of an index file.
type entries struct {
	f     *watchedFile
	width int64
	n     int64 // without the zero tail
	base  int64
}

// openEntries opens an index of a segment; nil where there is none that can be used: an
// index only makes things quicker.
func openEntries(ctx context.Context, file *logdir.File, base, width int64) *entries {
	if file == nil {
		return nil
	}
	f, err := openWatched(ctx, file, nil)
	if err != nil {
		return nil
	}
	shape := segment.ShapeOfIndex
	if width == segment.TimeEntrySize {
		shape = segment.ShapeOfTimeIndex
	}
	sh, err := shape(f, f.size)
	if err != nil || sh.Entries == 0 {
		f.close()
		return nil
	}
	return &entries{f, width, sh.Entries, base}
}

func (e *entries) section(i int64) *io.SectionReader {
	return io.NewSectionReader(e.f, i*e.width, e.width)
}

func (e *entries) offset(i int64) (segment.OffsetEntry, bool) {
	for x, err := range segment.ScanIndex(e.section(i), e.width, e.base) {
		return x, err == nil
	}
	return segment.OffsetEntry{Offset: e.base}, true // zero bytes: (base, 0)
}

func (e *entries) time(i int64) (segment.TimeEntry, bool) {
	for x, err := range segment.ScanTimeIndex(e.section(i), e.width, e.base) {
		return x, err == nil
	}
	return segment.TimeEntry{Offset: e.base}, true
}

// last is the number of the last entry for which below holds, -1 none. In an index that
// does not ascend it is some entry for which it holds: whoever uses it must look.
func (e *entries) last(below func(i int64) (bool, bool)) int64 {
	lo, hi := int64(-1), e.n // below(lo) holds, below(hi) does not
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		is, ok := below(mid)
		if !ok {
			return -1
		}
		if is {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// positionForOffset is where the index says to begin for an offset.
func positionForOffset(ctx context.Context, s *logdir.Segment, offset int64) int64 {
	return indexedPosition(ctx, s, func(e segment.OffsetEntry) bool { return e.Offset <= offset })
}

// positionBelow is the last position in the index at or below pos.
func positionBelow(ctx context.Context, s *logdir.Segment, pos int64) int64 {
	return indexedPosition(ctx, s, func(e segment.OffsetEntry) bool { return e.Position <= pos })
}

// indexedPosition is the position of the last entry of the index before which all are wanted,
// 0 without one.
func indexedPosition(ctx context.Context, s *logdir.Segment, wanted func(segment.OffsetEntry) bool) int64 {
	x := openEntries(ctx, s.Index, s.BaseOffset, segment.IndexEntrySize)
	if x == nil {
		return 0
	}
	defer x.f.close()
	i := x.last(func(i int64) (bool, bool) { e, ok := x.offset(i); return wanted(e), ok })
	if i < 0 {
		return 0
	}
	e, _ := x.offset(i)
	return max(e.Position, 0)
}

// offsetForTime is an offset before which no batch has a timestamp of ms or above, if the
// .timeindex is right.
func offsetForTime(ctx context.Context, s *logdir.Segment, ms int64) int64 {
	x := openEntries(ctx, s.TimeIndex, s.BaseOffset, segment.TimeEntrySize)
	if x == nil {
		return s.BaseOffset
	}
	defer x.f.close()
	i := x.last(func(i int64) (bool, bool) { e, ok := x.time(i); return e.Timestamp < ms, ok })
	if i < 0 {
		return s.BaseOffset
	}
	e, _ := x.time(i)
	return e.Offset
}

// lastTime is the largest timestamp that the .timeindex of a segment knows, -1 none.
func lastTime(ctx context.Context, s *logdir.Segment) int64 {
	x := openEntries(ctx, s.TimeIndex, s.BaseOffset, segment.TimeEntrySize)
	if x == nil {
		return -1
	}
	defer x.f.close()
	e, ok := x.time(x.n - 1)
	if !ok {
		return -1
	}
	return e.Timestamp
}

// sound reports whether a sound batch begins at pos, so that a walk may begin there. What
// an index says is not believed unseen.
func soundAt(f *watchedFile, pos int64) bool {
	if pos <= 0 || pos >= f.size {
		return pos == 0
	}
	for fr, err := range segment.Walk(f, f.size, segment.ScanOptions{From: pos, BufferSize: 64 << 10}) {
		return err == nil && fr.Pos == pos && (fr.Kind == segment.Batch || fr.Kind == segment.Legacy) && fr.Damage == nil
	}
	return false
}

// errTooLarge is told where a batch is larger than what is held in memory.
var errTooLarge = fmt.Errorf("%w: batches above %s are not decoded here", batch.ErrTooLarge, humanBytes(segment.MaxRaw))
