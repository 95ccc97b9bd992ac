package segment

import (
	"errors"
	"io"
)

// window is a part of the file in memory. It moves forward over the file in large reads;
// a step back reads again.
type window struct {
	r    io.ReaderAt
	size int64 // of the file; nothing is read beyond it

	buf  []byte // buf[:n] are the bytes [pos, pos+n) of the file
	pos  int64
	n    int
	most int // buf becomes larger, up to this, with each step through the file
	// careful is set by a failed read: from then on only what is needed is asked for, so
	// that a bad sector hides no more than the batch it lies in, and is not asked for
	// again with every batch before it.
	careful bool

	read int64 // bytes read so far

	ahead ahead
}

func (w *window) holds(pos, n int64) bool {
	return pos >= w.pos && pos+n <= w.pos+int64(w.n)
}

// from returns what is in memory from pos on, maybe nothing.
func (w *window) from(pos int64) []byte {
	if pos < w.pos || pos >= w.pos+int64(w.n) {
		return nil
	}
	return w.buf[pos-w.pos : w.n]
}

// need returns everything in memory from pos on, at least n bytes of it. pos+n must not
// be beyond the size. Memory grows only as bytes arrive: a claim of n bytes that the
// reader cannot back ends in an error before n bytes were allocated.
func (w *window) need(pos, n int64) ([]byte, error) {
	if pos < 0 || n < 0 || pos > w.size-n {
		panic("segment: read beyond the file")
	}
	if w.holds(pos, n) {
		return w.buf[pos-w.pos : w.n], nil
	}
	if !w.turn(pos) {
		w.move(pos)
	}
	for int64(w.n) < n {
		if w.n == len(w.buf) {
			grown := make([]byte, min(int64(2*len(w.buf)), n+int64(len(w.buf))))
			copy(grown, w.buf)
			w.buf = grown
		}
		if err := w.fill(n - int64(w.n)); err != nil {
			return nil, err
		}
	}
	w.start()
	return w.buf[:w.n], nil
}

// move makes pos the first byte of the window, keeping what is there behind it.
func (w *window) move(pos int64) {
	rest := w.from(pos)
	if w.n > 0 && len(w.buf) < w.most {
		w.buf = make([]byte, min(4*len(w.buf), w.most))
	}
	w.n = copy(w.buf, rest)
	w.pos = pos
}

// fill reads at least one byte behind the window, as many as there is room for; want of
// them are really needed.
func (w *window) fill(want int64) error {
	at := w.pos + int64(w.n)
	room := min(int64(len(w.buf)-w.n), w.size-at)
	want = min(want, room)
	ask := room
	if w.careful {
		ask = want
	}
	n, err := readAt(w.r, w.buf[w.n:int64(w.n)+ask], at)
	w.n += n
	w.read += int64(n)
	if n > 0 {
		return nil
	}
	if ask > want {
		// Some readers fail as a whole if any byte of the range cannot be read.
		w.careful = true
		return w.fill(want)
	}
	return &ReadError{Op: "read", Pos: at, Len: ask, Err: err}
}

// readAt reads at least one byte or says why not. The caller asks only for bytes below
// the size, so the end of the file is an error here.
func readAt(r io.ReaderAt, p []byte, at int64) (int, error) {
	n, err := r.ReadAt(p, at)
	if n < 0 || n > len(p) {
		panic("segment: the reader returned an impossible count")
	}
	if n > 0 {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return 0, err
}
