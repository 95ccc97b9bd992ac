package tui

import (
	"context"
	"io"

	"kafsck/segment"
)

// foundFrames is what a scan of a segment found: where the frames are that pass a filter
// or have a fault. The frames themselves are read again where they are looked at.
type foundFrames struct {
	text   string // of the filter
	flt    *filter
	faults bool
	hits   []hit
	over   bool // there are more than are kept
	done   bool
	why    string // why it is not complete
	stop   func()
	serial int

	near    map[int64]frame // read ones, by position
	loading bool
}

// hit is a frame that a scan found; what is odd about it beside the one before it is not
// seen again when it is read alone.
type hit struct {
	pos      int64
	expected int64
	odd      oddness
	level    level
}

// maxHits bounds what a scan keeps, 32 bytes each; more is told.
const maxHits = 2_000_000

func (x *foundFrames) failed(err error) {
	x.loading = false
	if !x.done {
		x.why = err.Error()
	}
}

// load reads the visible frames that are not there.
func (x *foundFrames) load(s *batchesScreen) work {
	if x.loading || x.why != "" && len(x.hits) == 0 {
		return nil
	}
	from, to := max(s.table.first-s.height, 0), min(s.table.first+2*s.height, len(x.hits))
	var want []hit
	for _, h := range x.hits[min(from, to):to] {
		if _, ok := x.near[h.pos]; !ok {
			want = append(want, h)
		}
	}
	if len(want) == 0 {
		return nil
	}
	x.loading = true
	file, serial := s.log.file(), x.serial
	return func(ctx context.Context) any {
		f, err := openWatched(ctx, file, nil)
		if err != nil {
			return err
		}
		defer f.close()
		out := foundLoaded{serial: serial}
		for _, h := range want {
			fr, err := readFrame(f, h.pos)
			if err != nil {
				return err
			}
			fr.odd, fr.expected = h.odd, h.expected
			out.frames = append(out.frames, fr)
		}
		return out
	}
}

// readFrame reads the one frame at a boundary.
func readFrame(f *watchedFile, pos int64) (frame, error) {
	for raw, err := range segment.Walk(f, f.size, segment.ScanOptions{From: pos, BufferSize: 4 << 10}) {
		if err != nil {
			return frame{}, f.failed(err)
		}
		return frameOf(raw), nil
	}
	return frame{}, f.failed(&segment.ReadError{Op: "read", Pos: pos, Len: 1, Err: io.ErrUnexpectedEOF})
}

func (x *foundFrames) frame(row int) *frame {
	if row < 0 || row >= len(x.hits) {
		return nil
	}
	if f, ok := x.near[x.hits[row].pos]; ok {
		return &f
	}
	return nil
}

// nothing is what stands there instead of an empty list.
func (x *foundFrames) nothing() string {
	switch {
	case x.why != "":
		return "Not complete: " + escape(x.why)
	case !x.done:
		return "scanning the segment; nothing so far …"
	case x.faults && x.text == "":
		return "No fault in this segment: every byte is a batch whose CRC verifies. z shows all again."
	case x.faults:
		return "No fault that passes the filter. z shows all again."
	}
	return "No batch of this segment passes the filter."
}

func (x *foundFrames) position(cursor int) string {
	t := "none"
	if n := len(x.hits); n > 0 {
		t = comma(int64(cursor+1)) + "/" + comma(int64(n))
	}
	switch {
	case x.over:
		t += " (more: only the first " + comma(maxHits) + " are listed)"
	case x.why != "":
		t += " (not complete)"
	case !x.done:
		t += " so far"
	}
	if x.faults {
		t = "z faults only  " + t
	}
	return t
}

// foundRows are the rows of what a scan found.
type foundRows struct {
	x    *foundFrames
	gaps bool
	file string
	path string
}

func (r *foundRows) Len() int { return len(r.x.hits) }

func (r *foundRows) Severity(row int) level { return r.x.hits[row].level }

func (r *foundRows) Path(int) string { return r.path }

func (r *foundRows) Cell(row, col int) string {
	if f := r.x.frame(row); f != nil {
		return frameCell(f, col)
	}
	if col == framePosition {
		return itoa(r.x.hits[row].pos)
	}
	return "…"
}

func (r *foundRows) JSON(row int) any {
	if f := r.x.frame(row); f != nil {
		return frameJSON(f, r.file)
	}
	return map[string]any{"file": r.file, "position": r.x.hits[row].pos}
}
