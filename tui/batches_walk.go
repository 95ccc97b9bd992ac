package tui

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"kafsck/batch"
	"kafsck/incident"
	"kafsck/segment"
)

// targetKind says how a place in a log is given.
type targetKind uint8

const (
	atPosition targetKind = iota // the frame that holds a byte
	atOffset                     // the first batch that ends above an offset
	atTime                       // the first batch with a timestamp of that time or above, ms
	atEpoch                      // the first batch of a leader epoch
	atEnd                        // the last frame
)

// target is a place in a log.
type target struct {
	kind targetKind
	n    int64
}

// How many frames are read around a place, and at most kept.
const (
	framesBefore = 64
	framesAfter  = 192
	framesKept   = 4096
	// enoughBytes end a reading that has framesAfter/4 frames: batches may be large.
	enoughBytes = 8 << 20
)

// stretch is frames that lie one behind the other.
type stretch struct {
	frames     []frame
	head, tail bool // it begins at 0, it ends with the file
	size       int64
}

// reached is what reading for a target gave.
type reached struct {
	log *logFiles // the segment that it is in
	stretch
	selected int    // of frames; -1 if the file is empty
	note     string // where the target is not what was found
	bounds   []int64
}

// walk goes through the frames of a .log from a boundary on, as they are kept.
type walk struct {
	f      *watchedFile
	next   int64 // offset behind the last part of the log, below 0 not known
	epoch  int32
	bounds []int64 // frame boundaries, a few a file, found in passing
	step   int64   // bytes between them
}

func newWalk(f *watchedFile) *walk {
	return &walk{f: f, next: -1, epoch: -1, step: max(f.size/16384, 256<<10)}
}

// run calls each for every frame from pos on, until it returns false. skip, if not nil,
// is asked before: a run of sound batches of which it says true is passed over, but for
// the last ones.
func (w *walk) run(pos int64, ahead bool, skip func(run []segment.SoundBatch) bool, each func(f *frame, raw *segment.Frame) bool) error {
	opt := segment.ScanOptions{From: pos, NextOffset: w.next, BufferSize: 256 << 10, ReadAhead: ahead && incident.CoresToSpare()}
	if ahead {
		opt.BufferSize = 0
	}
	var raw segment.Frame
	for run, err := range segment.Runs(w.f, w.f.size, opt) {
		if err != nil {
			return w.f.failed(err)
		}
		if run.Odd != nil {
			w.bound(run.Odd.Pos)
			w.bound(run.Odd.End())
			if !w.one(run.Odd, each) {
				return nil
			}
			continue
		}
		if len(run.Sound) == 0 {
			continue
		}
		w.bound(run.Sound[0].Pos)
		first := 0
		if skip != nil && skip(run.Sound) {
			first = max(len(run.Sound)-framesBefore, 0)
			if first > 0 {
				h := &run.Sound[first-1].Header
				w.next, w.epoch = h.NextOffset(), h.PartitionLeaderEpoch
			}
		}
		for i := first; i < len(run.Sound); i++ {
			run.Frame(i, &raw)
			if !w.one(&raw, each) {
				return nil
			}
		}
	}
	return nil
}

func (w *walk) one(raw *segment.Frame, each func(*frame, *segment.Frame) bool) bool {
	f := frameOf(raw)
	f.after(w.next, w.epoch)
	if f.hasOffsets() {
		if n := f.next(); n >= 0 {
			w.next = n
		}
		if e := f.epoch(); e >= 0 && !f.badCRC {
			w.epoch = e
		}
	}
	return each(&f, raw)
}

func (w *walk) bound(pos int64) {
	if n := len(w.bounds); n == 0 || pos >= w.bounds[n-1]+w.step {
		w.bounds = append(w.bounds, pos)
	}
}

// boundBelow is the last of ascending boundaries at or below pos, 0 if there is none.
func boundBelow(bounds []int64, pos int64) int64 {
	i := sort.Search(len(bounds), func(i int) bool { return bounds[i] > pos })
	if i == 0 {
		return 0
	}
	return bounds[i-1]
}

// boundary is where to begin reading so that pos is reached soon. bounds are known ones.
func boundary(f *watchedFile, l *logFiles, bounds []int64, pos int64) int64 {
	known := boundBelow(bounds, pos)
	said := positionBelow(f.ctx, l.segment(), pos)
	if said > known && soundAt(f, said) {
		return said
	}
	return known
}

// reach is work that reads the frames around a place. bounds are boundaries of frames
// known in the segment that l is at.
func reach(l *logFiles, t target, bounds []int64) work {
	return func(ctx context.Context) any {
		r, err := locate(ctx, l, t, bounds)
		if err != nil {
			return err
		}
		return r
	}
}

// boundOfOffset is the last of known boundaries at which a batch begins that does not begin
// above an offset. It is looked at like what an index says.
func boundOfOffset(f *watchedFile, bounds []int64, offset int64) int64 {
	head := make([]byte, batch.HeaderSize)
	i := sort.Search(len(bounds), func(i int) bool {
		if n, _ := f.ReadAt(head, bounds[i]); n < len(head) || !batch.Plausible(head) {
			return false
		}
		h, _ := batch.ParseHeader(head)
		return h.BaseOffset > offset
	})
	if i == 0 {
		return 0
	}
	return bounds[i-1]
}

// locate is reach within a work.
func locate(ctx context.Context, l *logFiles, t target, bounds []int64) (*reached, error) {
	here := l
	switch t.kind {
	case atOffset:
		here = l.to(l.holding(t.n))
	case atTime:
		here = l.to(segmentOfTime(ctx, l, t.n))
	}
	if here.at != l.at {
		bounds = nil
	}
	add := func(int64) {}
	f, err := openWatched(ctx, here.file(), func(n int64) { add(n) })
	if err != nil {
		return nil, err
	}
	defer f.close()
	from := int64(0)
	switch t.kind {
	case atOffset:
		from = max(positionForOffset(ctx, here.segment(), t.n), boundOfOffset(f, bounds, t.n))
	case atTime:
		from = positionForOffset(ctx, here.segment(), offsetForTime(ctx, here.segment(), t.n))
	case atPosition:
		from = boundary(f, here, bounds, min(t.n, f.size))
	case atEnd:
		from = boundary(f, here, bounds, f.size)
	}
	if from > 0 && (t.kind == atOffset || t.kind == atTime) && !soundAt(f, from) {
		from = 0
	}
	add = progress(ctx, "reading", max(f.size-from, 1), true)
	r, sure, err := around(f, from, t)
	if err == nil && !sure && from > 0 { // the index is wrong: without it
		add = progress(ctx, "reading", f.size, true)
		r, _, err = around(f, 0, t)
	}
	if err != nil {
		return nil, err
	}
	r.log = here
	return r, nil
}

// around reads from a boundary to the target and a little further. sure is false where
// the target must lie before the boundary.
func around(f *watchedFile, from int64, t target) (r *reached, sure bool, err error) {
	w := newWalk(f)
	r = &reached{selected: -1}
	r.size = f.size
	hit := func(fr *frame) bool {
		_, last := fr.offsets()
		switch t.kind {
		case atPosition:
			return fr.end() > t.n
		case atOffset:
			return fr.hasOffsets() && last >= t.n
		case atTime:
			return fr.hasOffsets() && fr.maxTimestamp() >= t.n
		case atEpoch:
			return fr.kind == segment.Batch && int64(fr.epoch()) == t.n
		}
		return false
	}
	// A run of batches of which none can be hit is not looked at one by one.
	skip := func(run []segment.SoundBatch) bool {
		last := &run[len(run)-1]
		switch {
		case r.selected >= 0:
			return false
		case t.kind == atEnd:
			return true
		case t.kind == atPosition:
			return last.Pos+last.Header.Size() <= t.n
		}
		for i := range run {
			h := &run[i].Header
			if t.kind == atOffset && h.LastOffset() >= t.n || t.kind == atTime && h.MaxTimestamp >= t.n || t.kind == atEpoch && int64(h.PartitionLeaderEpoch) == t.n {
				return false
			}
		}
		return true
	}
	trimmed := false
	begun := int64(0) // where the frames behind the target began
	sure, r.tail = true, true
	count := 0
	err = w.run(from, from == 0 && t.kind != atPosition || t.kind == atEnd, skip, func(fr *frame, _ *segment.Frame) bool {
		if count++; count == 1 && from > 0 && fr.hasOffsets() {
			first, _ := fr.offsets()
			sure = !(t.kind == atOffset && first > t.n || t.kind == atTime && fr.maxTimestamp() >= t.n)
		}
		if r.selected < 0 {
			if hit(fr) {
				r.selected, begun = len(r.frames), fr.end()
			} else if len(r.frames) >= 2*framesBefore {
				r.frames = append(r.frames[:0], r.frames[len(r.frames)-framesBefore:]...)
				trimmed = true
			}
		}
		if len(r.frames) > 0 && r.frames[len(r.frames)-1].end() != fr.pos { // a run was passed over
			r.frames, trimmed = r.frames[:0], true
			if r.selected >= 0 {
				r.selected = 0
			}
		}
		r.frames = append(r.frames, *fr)
		if n := len(r.frames) - r.selected; r.selected >= 0 && (n >= framesAfter || n >= framesAfter/4 && fr.end()-begun >= enoughBytes) {
			r.tail = fr.end() == f.size
			return false
		}
		return true
	})
	if err != nil {
		return nil, true, err
	}
	r.bounds = w.bounds
	r.head = from == 0 && !trimmed && (len(r.frames) == 0 || r.frames[0].pos == 0)
	if r.selected < 0 && len(r.frames) > 0 {
		r.selected = len(r.frames) - 1
	}
	r.note = t.missed(r)
	return r, sure, nil
}

// missed says in which way a target was not found.
func (t target) missed(r *reached) string {
	if r.selected < 0 {
		return "the file is empty"
	}
	f := &r.frames[r.selected]
	first, last := f.offsets()
	switch t.kind {
	case atOffset:
		switch {
		case !f.hasOffsets() || last < t.n:
			return fmt.Sprintf("offset %d is not in this log: this is its last part below it", t.n)
		case first > t.n:
			return fmt.Sprintf("no batch holds offset %d; this is the next one", t.n)
		}
	case atTime:
		if f.maxTimestamp() < t.n {
			return fmt.Sprintf("no batch from %s on; this is the end", timestamp(t.n))
		}
	case atEpoch:
		if int64(f.epoch()) != t.n {
			return fmt.Sprintf("no batch of this segment has leader epoch %d", t.n)
		}
	}
	return ""
}

// segmentOfTime is the first segment that may hold a timestamp of ms or above: those
// before it have a .timeindex that ends below.
func segmentOfTime(ctx context.Context, l *logFiles, ms int64) int {
	for i := range l.segs[:len(l.segs)-1] {
		if ctx.Err() != nil {
			return i
		}
		if last := lastTime(ctx, l.segs[i]); last < 0 || last >= ms {
			return i
		}
	}
	return len(l.segs) - 1
}

// further is frames behind or before those that are there.
type further struct {
	stretch
	back   bool
	bounds []int64
	// lost: reading from before did not come by where the frames begin: the boundary
	// that was said to be one is none.
	lost bool
}

// forward is work that reads on behind the last frame.
func forward(l *logFiles, last frame) work {
	return func(ctx context.Context) any {
		f, err := openWatched(ctx, l.file(), nil)
		if err != nil {
			return err
		}
		defer f.close()
		w := newWalk(f)
		w.next, w.epoch = last.next(), last.epoch()
		r := &further{stretch: stretch{size: f.size, tail: true}}
		err = w.run(last.end(), false, nil, func(fr *frame, _ *segment.Frame) bool {
			r.frames = append(r.frames, *fr)
			if n := len(r.frames); n >= 2*framesAfter || n >= framesAfter/4 && fr.end()-last.end() >= enoughBytes {
				r.tail = fr.end() == f.size
				return false
			}
			return true
		})
		if err != nil {
			return err
		}
		r.bounds = w.bounds
		return r
	}
}

// backward is work that reads the frames before pos.
func backward(l *logFiles, pos int64, bounds []int64) work {
	return func(ctx context.Context) any {
		add := func(int64) {}
		f, err := openWatched(ctx, l.file(), func(n int64) { add(n) })
		if err != nil {
			return err
		}
		defer f.close()
		for _, reach := range []int64{64 << 10, 1 << 20, 16 << 20, 256 << 20, pos} {
			from := boundary(f, l, bounds, max(pos-reach, 0))
			add = progress(ctx, "reading back", max(pos-from, 1), true)
			w := newWalk(f)
			r := &further{back: true, stretch: stretch{size: f.size}, lost: true}
			trimmed := false
			skip := func(run []segment.SoundBatch) bool { return run[len(run)-1].Pos+run[len(run)-1].Header.Size() < pos }
			err := w.run(from, from == 0 && pos > enoughBytes, skip, func(fr *frame, _ *segment.Frame) bool {
				if fr.pos >= pos {
					r.lost = fr.pos != pos
					return false
				}
				if n := len(r.frames); n > 0 && r.frames[n-1].end() != fr.pos || n >= framesKept/2 {
					r.frames = slices.Delete(r.frames, 0, max(n-framesBefore, 0))
					if k := len(r.frames); k > 0 && r.frames[k-1].end() != fr.pos {
						r.frames = r.frames[:0]
					}
					trimmed = true
				}
				r.frames = append(r.frames, *fr)
				return true
			})
			if err != nil {
				return err
			}
			if n := len(r.frames); n > 0 && r.frames[n-1].end() == pos {
				r.lost = false
			}
			r.bounds = w.bounds
			r.head = from == 0 && !trimmed && (len(r.frames) == 0 && pos == 0 || len(r.frames) > 0 && r.frames[0].pos == 0)
			if n := len(r.frames); from == 0 || !r.lost && (n >= framesBefore || n > 0 && pos-from >= enoughBytes) {
				return r
			}
		}
		return nil
	}
}
