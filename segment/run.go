package segment

import (
	"io"
	"iter"

	"kafsck/batch"
)

// Run is a stretch of the file: sound batches one behind the other, or one frame of
// another kind. Handing them over together makes the cost of each small beside its CRC,
// also for batches of one record.
//
//	file  | batch | batch | batch | junk | batch | batch | …
//	Run   |==== Sound ============| Odd  |=== Sound ===  …
//
// All of it is borrowed until the next step.
type Run struct {
	// Sound are batches of magic 2 whose CRC verifies, in memory as a whole; empty if Odd
	// is set.
	Sound []SoundBatch
	// Odd is any frame; it may be a sound batch too, such as one larger than MaxRaw.
	Odd *Frame

	list  []SoundBatch // room for Sound
	bytes []byte       // of the file from pos on
	pos   int64
}

// SoundBatch is one batch of a Run. Its length is Header.Size().
type SoundBatch struct {
	Pos    int64 // byte in the file
	Header batch.Header
}

// maxRun is the number of batches in a Run, at most: small enough to stay in the cache.
const maxRun = 256

// Raw returns the bytes of the i-th sound batch.
func (r *Run) Raw(i int) []byte {
	x := &r.Sound[i]
	from, n := x.Pos-r.pos, x.Header.Size()
	return r.bytes[from : from+n : from+n]
}

// Frame makes f the frame of the i-th sound batch.
func (r *Run) Frame(i int, f *Frame) {
	x := &r.Sound[i]
	n, raw := x.Header.Size(), r.Raw(i)
	*f = Frame{Kind: Batch, Pos: x.Pos, Len: n, Claimed: n, Batch: batch.View{Header: x.Header, Raw: raw}, Raw: raw}
}

// Runs is [Scan] for those who look at every batch of large files.
func Runs(r io.ReaderAt, size int64, opt ScanOptions) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
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
