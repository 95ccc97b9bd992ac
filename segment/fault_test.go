package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"kafsck/batch"
	"kafsck/internal/logtest"
	"kafsck/segment"
)

var errBad = errors.New("input/output error")

// badDisk cannot read the byte at bad. A partial one returns what lies before it.
type badDisk struct {
	data    []byte
	bad     int64
	partial bool
	err     error
}

func (d badDisk) ReadAt(p []byte, at int64) (int, error) {
	if at <= d.bad && d.bad < at+int64(len(p)) {
		if !d.partial {
			return 0, d.err
		}
		return copy(p, d.data[at:d.bad]), d.err
	}
	return copy(p, d.data[at:]), nil
}

// damagedLogs holds every kind of frame.
func damagedLogs(t testing.TB) map[string][]byte {
	image := fmt.Sprintf("%x", logtest.Log(t, "batch base=3"))
	return map[string][]byte{
		"sound":  imageLog(t),
		"legacy": legacyLog(t),
		"all kinds": append(logtest.Log(t, "batch base=100 records=3 ; message magic=1 base=103 ; raw text=junkjunkjunkjunkjunk ; raw hex="+image+
			" ; raw text=junk ; raw zeros=700 ; raw text=junk ; batch base=104 ; batch ; damage batch=2 ; batch ; batch ; damage batch=4 field=length set=7 ; batch size=300 ; torn bytes=100"),
			nil...),
		"zero tail":     logtest.Log(t, "batch ; batch ; damage batch=1 field=length set=77777 ; tail zeros=900"),
		"image in torn": append(logtest.Log(t, "batch base=9"), logtest.Batch{BaseOffset: 10, Records: logtest.Values(string(logtest.Log(t, "batch ; batch ; batch")) + "more and more")}.Encode()[:290]...),
	}
}

// TestFaultAtEveryPosition: whatever byte cannot be read, the frames before are those of the
// whole file, and the error is no damage.
func TestFaultAtEveryPosition(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	for name, log := range damagedLogs(t) {
		sound := describeAll(scan(t, log, segment.ScanOptions{BufferSize: 4096}))
		for _, partial := range []bool{false, true} {
			for bad := range int64(len(log)) {
				var got []string
				var failed error
				for f, err := range segment.Scan(badDisk{log, bad, partial, errBad}, int64(len(log)), segment.ScanOptions{BufferSize: 4096}) {
					if failed != nil {
						t.Fatalf("%s, byte %d: something follows the error", name, bad)
					}
					if failed = err; err != nil {
						if f.Kind != 0 || f.Len != 0 || f.Raw != nil {
							t.Fatalf("%s, byte %d: a frame with an error: %s", name, bad, describe(f))
						}
						continue
					}
					got = append(got, describe(f))
				}
				var re *segment.ReadError
				switch {
				case !errors.As(failed, &re) || !errors.Is(failed, errBad):
					t.Fatalf("%s, byte %d: %v", name, bad, failed)
				case re.Pos > bad || bad >= re.Pos+re.Len:
					t.Fatalf("%s, byte %d: the error names %d bytes at %d", name, bad, re.Len, re.Pos)
				case errors.Is(failed, batch.ErrCRC) || errors.Is(failed, batch.ErrLength) || errors.Is(failed, segment.ErrNoBatch):
					t.Fatalf("%s, byte %d: a read error that is damage: %v", name, bad, failed)
				case len(got) > len(sound) || strings.Join(got, "\n") != strings.Join(sound[:len(got)], "\n"):
					t.Fatalf("%s, byte %d:\ngot  %s\nwant %s", name, bad, strings.Join(got, "\n     "), strings.Join(sound, "\n     "))
				}
				if name == "sound" {
					// All that lies before the byte and does not need it is there.
					n := 0
					for f := range segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{}) {
						if f.End() <= bad {
							n++
						}
					}
					if len(got) != n {
						t.Fatalf("byte %d: %d frames, want %d", bad, len(got), n)
					}
				}
			}
		}
	}
}

// TestFileGetsShorter: a file that ends before its size was cut while it was read.
func TestFileGetsShorter(t *testing.T) {
	for name, log := range damagedLogs(t) {
		for size := range len(log) {
			var failed error
			end := int64(0)
			for f, err := range segment.Scan(bytes.NewReader(log[:size]), int64(len(log)), segment.ScanOptions{BufferSize: 4096}) {
				failed = err
				end = max(end, f.End())
			}
			var re *segment.ReadError
			if !errors.As(failed, &re) || re.Err != io.ErrUnexpectedEOF || re.Pos != int64(size) || end > int64(size) {
				t.Fatalf("%s cut at %d: frames up to %d, then %v", name, size, end, failed)
			}
		}
	}
}

func TestReadErrorText(t *testing.T) {
	for want, err := range map[string]*segment.ReadError{
		"a/0.log: read 10 bytes at position 7: input/output error": {Path: "a/0.log", Op: "read", Pos: 7, Len: 10, Err: errBad},
		"read 10 bytes at position 7: input/output error":          {Op: "read", Pos: 7, Len: 10, Err: errBad},
		"a/0.log: open: input/output error":                        {Path: "a/0.log", Op: "open", Err: errBad},
	} {
		if err.Error() != want || !errors.Is(err, errBad) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// TestStops: a consumer may stop at any frame, and range again.
func TestStops(t *testing.T) {
	for name, log := range damagedLogs(t) {
		all := describeAll(scan(t, log, segment.ScanOptions{}))
		seq := segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{})
		for stop := range len(all) {
			n := 0
			for f, err := range seq {
				if err != nil || describe(f) != all[n] {
					t.Fatalf("%s: %s, %v, want %s", name, describe(f), err, all[n])
				}
				if n == stop {
					break
				}
				n++
			}
			if n != stop {
				t.Fatalf("%s: %d frames", name, n)
			}
		}
	}
}
