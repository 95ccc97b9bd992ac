package segment

import (
	"hash/crc32"
	"io"
	"iter"

	"kafsck/batch"
)

const (
	// DefaultBufferSize is the size of one read, in bytes.
	DefaultBufferSize = 1 << 20
	// MaxRaw is the size in bytes up to which a batch is held in memory as a whole. Kafka's
	// default limit (message.max.bytes) is 1 MiB.
	MaxRaw = 64 << 20

	minBuffer = 4 << 10
	// firstBuffer is the first read of a scan that does not read ahead: many look at a few batches
	// in the middle of a file, one of them for each place that differs.
	firstBuffer = 64 << 10
	headPeek    = batch.HeaderSize
)

// ScanOptions say where and how to read. The zero value reads a whole file that begins near
// offset 0.
type ScanOptions struct {
	// From is the position of the first frame, which must be a frame boundary: bytes in
	// the middle of a batch are read as a header and come out as Junk. Below 0 means
	// 0; at or above the size there are no frames.
	From int64
	// BufferSize in bytes; 0 means DefaultBufferSize, at least 4 KiB are taken.
	BufferSize int
	// NextOffset is the lowest offset that may follow at From, below 0 if not known: the
	// segment's base offset, or the end of the segment before. Only the search after
	// damage asks for it, and mostly if that is at From; chained batches are yielded
	// whatever their offsets.
	NextOffset int64
	// ReadAhead reads the next buffer while the frames of one are looked at. It pays for
	// whole files when there is a core to spare; r must then allow two reads at once.
	ReadAhead bool
}

// Scan yields the frames of a file of size bytes, read by r. They tile [From, size); see
// the package comment for how they are found.
//
// A non-nil error is a *ReadError, comes last, with a zero Frame, and ends the iteration:
// the frames before it are right and end where nothing more could be told. To cancel,
// stop ranging. Each range over the result reads again, with its own memory, so that
// several may run at once if r allows it.
//
// Source: org.apache.kafka.common.record.FileLogInputStream.nextBatch, for the chain.
func Scan(r io.ReaderAt, size int64, opt ScanOptions) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for f, err := range Walk(r, size, opt) {
			if err != nil {
				yield(Frame{}, err)
				return
			}
			if !yield(*f, nil) {
				return
			}
		}
	}
}

// Walk is [Scan] without copying: the frame itself is borrowed too, until the next step,
// and must not be changed. It is nil with an error.
func Walk(r io.ReaderAt, size int64, opt ScanOptions) iter.Seq2[*Frame, error] {
	return func(yield func(*Frame, error) bool) {
		f := new(Frame)
		for run, err := range Runs(r, size, opt) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case run.Odd != nil:
				if !yield(run.Odd, nil) {
					return
				}
				continue
			}
			for i := range run.Sound {
				if run.Frame(i, f); !yield(f, nil) {
					return
				}
			}
		}
	}
}

type scanner struct {
	main    window // where the chain is; moves forward only
	pos     int64  // the next frame begins here
	size    int64
	offsets tracker
	stopped bool // the consumer has had enough
	search  search
	out     Run
	odd     Frame // what out.Odd points to
}

func newScanner(r io.ReaderAt, from, size int64, opt ScanOptions) *scanner {
	n := int64(opt.BufferSize)
	if n <= 0 {
		n = DefaultBufferSize
	}
	n = min(max(n, minBuffer), size-from)
	s := &scanner{pos: from, size: size, offsets: newTracker(opt.NextOffset)}
	first := n
	if !opt.ReadAhead {
		first = min(n, firstBuffer)
	}
	s.main = window{r: r, size: size, buf: make([]byte, first), pos: from, most: int(n)}
	if opt.ReadAhead && n < size-from {
		s.main.readAhead()
	}
	s.out.list = make([]SoundBatch, min(maxRun, 1+(size-from)/batch.HeaderSize))
	s.search = search{scanner: s, span: size - from, side: window{r: r, size: size}, sure: -1}
	return s
}

// run is the way through sound batches; step takes everything else.
func (s *scanner) run(yield func(*Run, error) bool) error {
	for s.pos < s.size && !s.stopped {
		if !s.search.unfinished {
			b := s.sound(s.main.from(s.pos))
			if len(s.out.Sound) > 0 {
				s.stopped = !yield(&s.out, nil)
				continue
			}
			if more, err := s.load(b); err != nil {
				return err
			} else if more || s.pos == s.size {
				continue
			}
		}
		if err := s.step(yield); err == errSpent {
			s.emit(yield, Frame{Kind: Junk, Pos: s.pos, Len: s.size - s.pos, Damage: &batch.Error{Field: "search", Err: ErrBudget}})
		} else if err != nil {
			return err
		}
	}
	return nil
}

// sound collects the sound batches that b begins with, as far as there is room in out, and
// returns what is left of b. It makes up nearly all of the time that is not spent in reading.
func (s *scanner) sound(b []byte) []byte {
	out := &s.out
	out.bytes, out.pos = b, s.pos
	list, n, pos := out.list, 0, s.pos
	for n < len(list) && batch.Plausible(b) {
		x := &list[n]
		decodeHeader(&x.Header, (*[batch.HeaderSize]byte)(b))
		total := x.Header.Size()
		if total > int64(len(b)) || crc32.Checksum(b[21:total], castagnoli) != x.Header.CRC {
			break
		}
		s.offsets.see(x.Header.BaseOffset, x.Header.NextOffset())
		x.Pos = pos
		pos += total
		b = b[total:]
		n++
	}
	s.pos = pos
	out.Sound, out.Odd = list[:n], nil
	return b
}

// load brings into memory what b, the bytes there from the next frame on, lacks: of the
// header, or of the batch that it promises. It reports whether it had to.
func (s *scanner) load(b []byte) (more bool, err error) {
	rest := s.size - s.pos
	n := min(headPeek, rest)
	if batch.Plausible(b) {
		n = batch.LogOverhead + int64(be32(b[8:]))
	}
	if n <= int64(len(b)) || n > min(rest, MaxRaw) {
		return false, nil
	}
	_, err = s.main.need(s.pos, n)
	return true, err
}

// emit hands over one frame and moves on behind it.
func (s *scanner) emit(yield func(*Run, error) bool, f Frame) {
	if f.Pos != s.pos || f.Len <= 0 || f.End() > s.size {
		panic("segment: frames do not tile")
	}
	s.pos = f.End()
	s.odd = f
	s.out.Sound, s.out.Odd = nil, &s.odd
	s.stopped = !yield(&s.out, nil)
}
