package segment

import (
	"errors"
	"io"
	"math"
)

const (
	// carveReach is the size of a chunk in bytes, and of the largest batch that is looked at in
	// memory. Kafka's default limit (message.max.bytes) is 1 MiB.
	carveReach = 4 << 20
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
//	pos              pos+reach          pos+2·reach
//	|==== searched ===|==== in memory ====|     next: being read
//	     ^ here           so that what begins here is there whole, up to reach bytes
type carveWindow struct {
	r     io.ReaderAt
	size  int64 // MaxInt64: not known
	reach int
	tee   func([]byte)

	buf []byte // room for two chunks
	pos int64
	n   int
	end bool // the bytes end with the window

	spare   []byte
	pending bool
	loaded  chan chunk
	at      int64  // where the next chunk begins
	bad     []span // that could not be read, in or behind the window, and their errors
	badErr  []error
	failed  int // pieces in a row that could not be read
	read    int64

	sums [2]prefixSums // Castagnoli, IEEE
}

// chunk is what one read brought.
type chunk struct {
	n    int
	end  bool
	bad  []span
	errs []error
	read int64
}

func newCarveWindow(r io.ReaderAt, opt CarveOptions) *carveWindow {
	w := &carveWindow{r: r, size: opt.Size, reach: opt.reach, tee: opt.Tee, loaded: make(chan chunk, 1)}
	if w.size < 0 {
		w.size = math.MaxInt64
	}
	if w.reach == 0 {
		w.reach = carveReach
	}
	w.reach = max(minBuffer, int(min(int64(w.reach), w.size)))
	w.buf, w.spare = make([]byte, 2*w.reach), make([]byte, w.reach)
	w.sums[0].poly, w.sums[1].poly = castagnoliPoly, ieeePoly
	w.start()
	return w
}

// start begins to read the next chunk.
func (w *carveWindow) start() {
	w.pending = true
	go func(at int64) { w.loaded <- w.load(w.spare[:min(int64(w.reach), w.size-at)], at) }(w.at)
}

// settle waits for the read that is under way.
func (w *carveWindow) settle() {
	if w.pending {
		w.pending = false
		<-w.loaded
	}
}

// more puts the next chunk behind what is in memory.
func (w *carveWindow) more() {
	w.pending = false
	c := <-w.loaded
	w.read += c.read
	if w.n+c.n > len(w.buf) {
		drop := w.n + c.n - len(w.buf)
		w.n = copy(w.buf, w.buf[drop:w.n])
		w.pos += int64(drop)
	}
	copy(w.buf[w.n:], w.spare[:c.n])
	w.n += c.n
	w.at += int64(c.n)
	for i := range w.sums {
		w.sums[i].reset()
	}
	for i, b := range c.bad {
		if k := len(w.bad); k > 0 && w.bad[k-1].to == b.from {
			w.bad[k-1].to = b.to
			continue
		}
		w.bad, w.badErr = append(w.bad, b), append(w.badErr, c.errs[i])
	}
	if w.end = c.end || w.at >= w.size; !w.end {
		w.start()
	}
}

// from makes sure that everything is in memory that a batch of reach bytes at p takes, and
// returns what is there from p on; nothing at the end. p never goes back.
func (w *carveWindow) from(p int64) []byte {
	for !w.end && p+int64(w.reach) > w.pos+int64(w.n) {
		w.more()
	}
	if p >= w.pos+int64(w.n) {
		return nil
	}
	return w.buf[p-w.pos : w.n]
}

func (w *carveWindow) holds(pos, n int64) bool {
	return pos >= w.pos && n <= w.pos+int64(w.n)-pos
}

// unread reports whether a byte of [from, to) could not be read.
func (w *carveWindow) unread(from, to int64) bool {
	for i := len(w.bad) - 1; i >= 0 && w.bad[i].to > from; i-- {
		if w.bad[i].from < to {
			return true
		}
	}
	return false
}

// load reads one chunk, in smaller pieces where that fails.
func (w *carveWindow) load(b []byte, at int64) chunk {
	c := chunk{}
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
