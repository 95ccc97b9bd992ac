package segment

import (
	"errors"
	"io"
	"math"
)

const (
	// carveReach is the size in bytes of the largest batch that is looked at in memory. Kafka's
	// default limit (message.max.bytes) is 1 MiB.
	carveReach = 4 << 20
	// carveChunk is how many bytes are read at once: few enough to be in the processor's cache
	// still when they are searched.
	carveChunk = 1 << 20
	// badPiece is how much is given up where the medium cannot be read: a sector of today's disks.
	badPiece = 4 << 10
	// badProbe: behind badRun pieces that cannot be read, one of each badProbe bytes is tried.
	badProbe = 64 << 10
	badRun   = 256
)

// span is a run of bytes [from, to).
type span struct{ from, to int64 }

// carveWindow goes over the bytes once, in chunks, and reads the next one meanwhile.
//
//	all  |=== searched ===|=== in memory ===|-- being read --|            |
//	     pos              p                 next
//
// Where there is no room for another chunk what lies before p is given up, and the rest moved to the
// front: a few bytes where no batch is, up to reach where one is.
type carveWindow struct {
	r     io.ReaderAt
	size  int64 // MaxInt64: not known
	reach int
	chunk int
	tee   func([]byte)
	holes func(int64) int64

	all  []byte
	buf  []byte // what of all is in memory
	pos  int64  // its position
	next int64  // where the next chunk begins
	end  bool   // the bytes end with the window
	keep int64  // what lies behind it is not given up
	hole int64  // up to here the file has no bytes of its own behind the window; next or below: it has

	pending bool
	loaded  chan chunk
	bad     []span // that could not be read, in or behind the window, and their errors
	badErr  []error
	failed  int // pieces in a row that could not be read
	read    int64
	unkept  int64 // bytes of holes

	sums [2]prefixSums // Castagnoli, IEEE
}

// chunk is what one read brought.
type chunk struct {
	n    int
	end  bool
	bad  []span
	errs []error
	read int64
	// hole is the end of the hole that the chunk lies in as a whole, 0 in none.
	hole int64
}

func newCarveWindow(r io.ReaderAt, opt CarveOptions) *carveWindow {
	w := &carveWindow{r: r, size: opt.Size, reach: opt.reach, chunk: carveChunk, tee: opt.Tee, holes: opt.Hole, keep: math.MaxInt64, loaded: make(chan chunk, 1)}
	if w.size < 0 {
		w.size, w.holes = math.MaxInt64, nil
	}
	if w.reach == 0 {
		w.reach = carveReach
	} else {
		w.chunk = w.reach / 4
	}
	w.reach = max(minBuffer, int(min(int64(w.reach), w.size)))
	w.chunk = min(w.chunk, w.reach)
	w.all = make([]byte, 3*w.reach+prefixStep)
	w.sums[0].poly, w.sums[1].poly = castagnoliPoly, ieeePoly
	w.start()
	return w
}

// start begins to read the next chunk.
func (w *carveWindow) start() {
	w.pending = true
	b := w.all[len(w.buf):]
	b = b[:min(int64(len(b)), int64(w.chunk), w.size-w.next)]
	go func(at, hole int64) { w.loaded <- w.load(b, at, hole) }(w.next, w.hole)
}

// settle waits for the read that is under way.
func (w *carveWindow) settle() {
	if w.pending {
		w.pending = false
		<-w.loaded
	}
}

// turn takes the next chunk in. What lies before p may be given up.
func (w *carveWindow) turn(p int64) {
	w.pending = false
	c := <-w.loaded
	w.read += c.read
	w.buf = w.all[:len(w.buf)+c.n]
	w.next += int64(c.n)
	if w.hole = c.hole; c.hole > 0 {
		w.unkept += int64(c.n)
	}
	for i, b := range c.bad {
		if k := len(w.bad); k > 0 && w.bad[k-1].to == b.from {
			w.bad[k-1].to = b.to
			continue
		}
		w.bad, w.badErr = append(w.bad, b), append(w.badErr, c.errs[i])
	}
	if w.end = c.end || w.next >= w.size; w.end {
		return
	}
	if len(w.buf)+w.chunk > len(w.all) {
		from := min((min(p, w.keep)-w.pos)/prefixStep*prefixStep, int64(len(w.buf)))
		w.buf = w.all[:copy(w.all, w.buf[from:])]
		w.pos += from
		for i := range w.sums {
			w.sums[i].move(int(from), len(w.buf) > 0)
		}
	}
	w.start()
}

// need makes sure that the n bytes at p are in memory, at most reach and a header, if there are as
// many. What lies before p is given up, as are slices of the window. p never goes back.
func (w *carveWindow) need(p int64, n int) {
	for !w.end && p+int64(n) > w.next {
		w.turn(p)
	}
}

// from returns what is in memory from p on: a header if there is one, and nothing at the end.
func (w *carveWindow) from(p int64) []byte {
	w.need(p, headPeek+1)
	if p >= w.next {
		return nil
	}
	return w.buf[p-w.pos:]
}

// skip passes over what is left of the hole that begins behind the window, if that is worth it, and
// returns how many bytes these are. Then the window is a few zeros of its end. Where the bytes are
// teed a hole is bytes as others are.
//
//	… data |0 0 0 0 0 0 0 … window |  hole …                |0 0| data …
//	                               next                      ^pos
func (w *carveWindow) skip() int64 {
	const few = 4 * prefixStep
	n := w.hole - w.next - few
	if w.end || w.tee != nil || n < 2*int64(w.chunk) {
		return 0
	}
	w.settle()
	w.unkept += w.hole - w.next
	w.pos, w.next = w.hole-few, w.hole
	w.buf = w.all[:few]
	clear(w.buf)
	for i := range w.sums {
		w.sums[i].reset()
	}
	if w.end = w.next >= w.size; !w.end {
		w.start()
	}
	return n
}

// holds reports whether bytes are in memory.
func (w *carveWindow) holds(pos, n int64) bool {
	return pos >= w.pos && n <= w.next-pos
}

// ahead is what is in memory from a position on.
func (w *carveWindow) ahead(pos int64) []byte { return w.buf[pos-w.pos:] }

// unread reports whether a byte of [from, to) could not be read.
func (w *carveWindow) unread(from, to int64) bool {
	for i := len(w.bad) - 1; i >= 0 && w.bad[i].to > from; i-- {
		if w.bad[i].from < to {
			return true
		}
	}
	return false
}

// load reads one chunk, in smaller pieces where that fails. hole is what is known already.
func (w *carveWindow) load(b []byte, at, hole int64) chunk {
	c := chunk{}
	if w.holes != nil && hole <= at {
		hole = w.holeAt(at, &c)
	}
	if n := min(hole-at, int64(len(b))); n > 0 {
		clear(b[:n])
		if c.n = int(n); c.n == len(b) {
			c.hole = hole
			return w.loadedChunk(b, c)
		}
	}
	for c.n < len(b) {
		n, err := w.r.ReadAt(b[c.n:], at+int64(c.n))
		c.n += n
		c.read += int64(n)
		switch {
		case c.n == len(b):
		case errors.Is(err, io.EOF) && w.size == math.MaxInt64:
			c.end = true
			return w.loadedChunk(b, c)
		case err != nil || n == 0:
			w.pieces(b, at, &c)
			return w.loadedChunk(b, c)
		}
	}
	return w.loadedChunk(b, c)
}

// holeAt is the end of the hole at a position, and the position itself if there is none. A few bytes of
// it are read all the same: file systems have called holes what they had not written down yet
// (OpenZFS issue 15526), and then none of their word counts.
func (w *carveWindow) holeAt(at int64, c *chunk) int64 {
	end := min(w.holes(at), w.size)
	if end <= at {
		return at
	}
	var b [sector]byte
	for _, p := range [...]int64{at, at + (end-at)/2, end - int64(len(b))} {
		part := b[:min(int64(len(b)), end-max(p, at))]
		n, err := w.r.ReadAt(part, max(p, at))
		c.read += int64(n)
		if n < len(part) && err != nil || !allZero(part[:n]) {
			w.holes = nil
			return at
		}
	}
	return end
}

func (w *carveWindow) loadedChunk(b []byte, c chunk) chunk {
	if w.tee != nil && c.n > 0 {
		w.tee(b[:c.n])
	}
	return c
}

// pieces reads what is left of a chunk piece by piece. Those that cannot be read are zeros.
func (w *carveWindow) pieces(b []byte, at int64, c *chunk) {
	for c.n < len(b) {
		p := at + int64(c.n)
		n := int(min(badPiece-p%badPiece, int64(len(b)-c.n)))
		k, e := w.r.ReadAt(b[c.n:c.n+n], p)
		c.read += int64(n)
		if k == n {
			c.n += n
			w.failed = 0
			continue
		}
		if e == nil || errors.Is(e, io.EOF) {
			if w.size == math.MaxInt64 && e != nil {
				c.n += k
				c.end = true
				return
			}
			e = io.ErrUnexpectedEOF // the file is shorter than it was
			n = len(b) - c.n
		}
		if w.failed++; w.failed > badRun {
			n = int(min(badProbe-p%badProbe, int64(len(b)-c.n)))
		}
		clear(b[c.n : c.n+n])
		c.bad = append(c.bad, span{p, p + int64(n)})
		c.errs = append(c.errs, &ReadError{Op: "read", Pos: p, Len: int64(n), Err: e})
		c.n += n
	}
}
