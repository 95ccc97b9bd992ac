package segment_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"kafsck/segment"
)

// indexReaders are all ways to read a file beside a .log, as one function: it hands each
// entry to f, as any comparable value, if f is not nil.
var indexReaders = map[string]func(r io.ReaderAt, size int64, f func(any)) error{
	"index": func(r io.ReaderAt, size int64, f func(any)) error {
		for e, err := range segment.ScanIndex(r, size, 100) {
			if err != nil {
				return err
			}
			if f != nil {
				f(e)
			}
		}
		return nil
	},
	"timeindex": func(r io.ReaderAt, size int64, f func(any)) error {
		for e, err := range segment.ScanTimeIndex(r, size, 100) {
			if err != nil {
				return err
			}
			if f != nil {
				f(e)
			}
		}
		return nil
	},
	"txnindex": func(r io.ReaderAt, size int64, f func(any)) error {
		for e, err := range segment.ScanTxnIndex(r, size) {
			if err != nil {
				return err
			}
			if f != nil {
				f(e)
			}
		}
		return nil
	},
	"snapshot": func(r io.ReaderAt, size int64, f func(any)) error {
		s, err := segment.ReadSnapshot(r, size)
		if err == nil && f != nil {
			for _, e := range s.Producers {
				f(e)
			}
		} else if err != nil && s != nil {
			panic("a snapshot and an error")
		}
		return err
	},
	"shape of index":     func(r io.ReaderAt, size int64, _ func(any)) error { return shape(segment.ShapeOfIndex(r, size)) },
	"shape of timeindex": func(r io.ReaderAt, size int64, _ func(any)) error { return shape(segment.ShapeOfTimeIndex(r, size)) },
}

func shape(_ segment.IndexShape, err error) error { return err }

// entriesOf collects what a reader of indexReaders hands over.
func entriesOf(read func(io.ReaderAt, int64, func(any)) error, r io.ReaderAt, size int64) (out []any, err error) {
	err = read(r, size, func(e any) { out = append(out, e) })
	return out, err
}

// indexBytes are sound bytes for each reader, with gaps and zero tails.
func indexBytes(t testing.TB) map[string][]byte {
	gap := func(b []byte, width, tail int) []byte {
		b = append(append(bytes.Clone(b), make([]byte, width)...), b...)
		return append(b, make([]byte, tail)...)
	}
	i, ti := gap(unhex(t, vectorIndex), 8, 83), gap(unhex(t, vectorTimeIndex), 12, 125)
	producers := resealed(append(unhex(t, "00010000000000000003"), bytes.Repeat(unhex(t, vectorSnapshot)[10:], 3)...))
	return map[string][]byte{
		"index": i, "timeindex": ti, "txnindex": bytes.Repeat(unhex(t, vectorTxnIndex), 4), "snapshot": producers,
		"shape of index": i, "shape of timeindex": ti,
	}
}

// TestIndexFaultAtEveryPosition: whatever byte cannot be read, the error is a *ReadError
// that names it, and the entries before it are right.
func TestIndexFaultAtEveryPosition(t *testing.T) {
	widths := map[string]int64{"index": 8, "timeindex": 12, "txnindex": 34}
	for name, b := range indexBytes(t) {
		size := int64(len(b))
		sound, err := entriesOf(indexReaders[name], bytes.NewReader(b), size)
		if err != nil {
			t.Fatal(err)
		}
		for _, partial := range []bool{false, true} {
			for bad := range size {
				got, err := entriesOf(indexReaders[name], badDisk{b, bad, partial, errBad}, size)
				re, is := errors.AsType[*segment.ReadError](err)
				whole := size / max(widths[name], 1) * max(widths[name], 1)
				switch {
				case err == nil && (bad >= whole || len(name) > 8 && bad < size):
					continue // nobody needs the byte
				case !is || !errors.Is(err, errBad) || re.Op != "read" || re.Pos > bad || bad >= re.Pos+re.Len:
					t.Fatalf("%s, byte %d: %v", name, bad, err)
				case len(got) > len(sound):
					t.Fatalf("%s, byte %d: %d entries of %d", name, bad, len(got), len(sound))
				}
				for i := range got {
					if got[i] != sound[i] {
						t.Fatalf("%s, byte %d: entry %d is %+v, want %+v", name, bad, i, got[i], sound[i])
					}
				}
				// Entries of zero bytes before it wait for another one; all others are there.
				if want := bad / max(widths[name], 1); widths[name] > 0 && int64(len(got)) < min(want, 2) {
					t.Fatalf("%s, byte %d: only %d entries", name, bad, len(got))
				}
			}
		}
	}
}

// TestIndexFileGetsShorter: a file that ends before its size was cut while it was read.
func TestIndexFileGetsShorter(t *testing.T) {
	for name, b := range indexBytes(t) {
		for size := range len(b) {
			_, err := entriesOf(indexReaders[name], bytes.NewReader(b[:size]), int64(len(b)))
			if re, is := errors.AsType[*segment.ReadError](err); err != nil && (!is || re.Err != io.ErrUnexpectedEOF) {
				t.Fatalf("%s cut at %d: %v", name, size, err)
			} else if err == nil && size < len(b)-33 && name != "shape of index" && name != "shape of timeindex" {
				t.Fatalf("%s cut at %d: no error", name, size)
			}
		}
	}
}

// TestIndexTruncatedAnywhere: a file that is cut gives the entries that are whole.
func TestIndexTruncatedAnywhere(t *testing.T) {
	for name, b := range indexBytes(t) {
		sound, _ := entriesOf(indexReaders[name], bytes.NewReader(b), int64(len(b)))
		for size := range len(b) {
			got, err := entriesOf(indexReaders[name], bytes.NewReader(b[:size]), int64(size))
			if err != nil || len(got) > len(sound) {
				t.Fatalf("%s cut at %d: %d entries, %v", name, size, len(got), err)
			}
			for i := range got {
				if got[i] != sound[i] {
					t.Fatalf("%s cut at %d: entry %d is %+v, want %+v", name, size, i, got[i], sound[i])
				}
			}
		}
	}
}

// repeated is a file of any size that repeats a block.
type repeated struct {
	block []byte
	size  int64
}

func (e repeated) ReadAt(p []byte, at int64) (int, error) {
	if at >= e.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), e.size-at)]
	for n := 0; n < len(p); {
		n += copy(p[n:], e.block[(at+int64(n))%int64(len(e.block)):])
	}
	return len(p), nil
}

// TestIndexHostileSizes: 10 MiB of zeros, 2 GiB of zeros and of garbage: bounded memory and
// time, and every byte accounted for.
func TestIndexHostileSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	garbage := make([]byte, 1<<20+7)
	for i, x := 0, uint32(1); i < len(garbage); i++ {
		x = x*1664525 + 1013904223
		garbage[i] = byte(x >> 24)
	}
	zeros := make([]byte, 1<<20)
	for _, c := range []struct {
		name      string
		r         repeated
		producers bool // it gives as many producers as it has bytes for
	}{
		{"10 MiB of zeros", repeated{zeros, 10 << 20}, false},
		{"2 GiB of zeros", repeated{zeros, 2 << 30}, false},
		{"2 GiB of garbage", repeated{garbage, 2 << 30}, false},
		{"63 MiB of garbage that pass for a snapshot", repeated{append([]byte("\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff"), garbage...), 63 << 20}, true},
	} {
		for name, read := range indexReaders {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			if err := read(c.r, c.r.size, nil); err != nil {
				t.Errorf("%s as %s: %v", c.name, name, err)
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s as %s: %v, %d bytes allocated", c.name, name, took, allocated)
			limit := uint64(1 << 20)
			if c.producers && name == "snapshot" {
				limit = 100 << 20
			}
			if allocated > limit || took > time.Minute {
				t.Errorf("%s as %s: %v, %d bytes allocated", c.name, name, took, allocated)
			}
		}
	}
}
