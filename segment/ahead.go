package segment

// ahead reads the bytes behind a window while those in it are looked at, on another core:
// copying them out of the page cache takes as long as their CRC or longer.
//
//	current   | room |====== seen ======|= rest =|     the window's bytes
//	spare     | room |====== being read ==========|     what follows them
//	spare     |   |= rest =|====== read ==========|     after turn: now current
//
// The rest is the beginning of a batch that goes on behind the window. It is copied in
// front of what was read, so that the batch is in one piece. Where it is larger than the
// room, or damage leads elsewhere, what was read is dropped and read again.
type ahead struct {
	current, spare []byte // each with aheadRoom bytes in front; nil when not wanted
	pos            int64  // the file position of what is being read into spare
	pending        bool   // a read is under way
	done           chan int
}

// aheadRoom in bytes: most batches are far smaller than Kafka's limit of 1 MiB.
const aheadRoom = 256 << 10

// readAhead makes the window read ahead from now on.
func (w *window) readAhead() {
	n := len(w.buf) + aheadRoom
	w.ahead = ahead{current: make([]byte, n), spare: make([]byte, n), done: make(chan int, 1)}
	w.buf = w.ahead.current[aheadRoom:]
}

// start begins to read what lies behind a full window.
func (w *window) start() {
	a := &w.ahead
	end := w.pos + int64(w.n)
	if a.spare == nil || a.pending || w.careful || w.n < len(w.buf) || end == w.size {
		return
	}
	a.pos, a.pending = end, true
	p := a.spare[aheadRoom:]
	p = p[:min(int64(len(p)), w.size-end)]
	go func(done chan<- int) {
		n, _ := w.r.ReadAt(p, end) // an error is met again when the rest is really needed
		done <- n
	}(a.done)
}

// turn makes what was read ahead the window, with pos as its first byte, and reports
// whether it could.
func (w *window) turn(pos int64) bool {
	a := &w.ahead
	if !a.pending {
		return false
	}
	n := w.settle()
	rest := w.from(pos)
	skip := max(pos-a.pos, 0)
	if skip >= int64(n) || len(rest) > aheadRoom || skip == 0 && pos+int64(len(rest)) != a.pos {
		return false
	}
	a.current, a.spare = a.spare, a.current
	begin := aheadRoom + int(skip) - len(rest)
	copy(a.current[begin:], rest)
	w.buf, w.pos, w.n = a.current[begin:], pos, len(rest)+n-int(skip)
	w.read += int64(n)
	return true
}

// settle waits for the read that is under way, if there is one.
func (w *window) settle() int {
	if !w.ahead.pending {
		return 0
	}
	w.ahead.pending = false
	return <-w.ahead.done
}
