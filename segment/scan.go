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
	headPeek  = batch.HeaderSize
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

// Walk is [Scan] for those who look at every batch of large files: the frame itself is
// borrowed too, until the next step, and must not be changed. It is nil with an error.
// (Copying a frame takes as long as the CRC of a small batch.)
func Walk(r io.ReaderAt, size int64, opt ScanOptions) iter.Seq2[*Frame, error] {
	return func(yield func(*Frame, error) bool) {
		from := max(opt.From, 0)
		if from >= size {
			return
		}
		s := newScanner(r, from, size, opt)
		defer s.main.settle()
		if err := s.run(yield); err != nil {
			yield(nil, err)
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
	odd     Frame // the last one that was not handed over by run
}

func newScanner(r io.ReaderAt, from, size int64, opt ScanOptions) *scanner {
	n := int64(opt.BufferSize)
	if n <= 0 {
		n = DefaultBufferSize
	}
	n = min(max(n, minBuffer), size-from)
	s := &scanner{pos: from, size: size, offsets: newTracker(opt.NextOffset)}
	s.main = window{r: r, size: size, buf: make([]byte, n), pos: from}
	if opt.ReadAhead && n < size-from {
		s.main.readAhead()
	}
	s.search = search{scanner: s, span: size - from, side: window{r: r, size: size}, sure: -1}
	return s
}

// run is the way through sound batches; step takes everything else.
func (s *scanner) run(yield func(*Frame, error) bool) error {
	f := Frame{Kind: Batch} // kept over the steps: only what changes is written
	h := &f.Batch.Header
	for s.pos < s.size && !s.stopped {
		if !s.search.unfinished {
			b := s.main.from(s.pos)
			for batch.Plausible(b) {
				decodeHeader(h, (*[batch.HeaderSize]byte)(b))
				total := h.Size()
				if total > int64(len(b)) {
					break
				}
				raw := b[:total:total]
				if crc32.Checksum(raw[21:], castagnoli) != h.CRC {
					break
				}
				s.offsets.see(h.BaseOffset, h.NextOffset())
				f.Pos, f.Len, f.Claimed = s.pos, total, total
				f.Batch.Raw, f.Raw = raw, raw
				s.pos += total
				if !yield(&f, nil) {
					return nil
				}
				b = b[total:]
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
func (s *scanner) emit(yield func(*Frame, error) bool, f Frame) {
	if f.Pos != s.pos || f.Len <= 0 || f.End() > s.size {
		panic("segment: frames do not tile")
	}
	s.pos = f.End()
	s.odd = f
	s.stopped = !yield(&s.odd, nil)
}
