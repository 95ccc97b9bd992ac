package segment_test

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/segment"
)

// FuzzScan: whatever the bytes, the frames tile, say only what is true (check), cost no more
// than promised; the sound beginning scans the same alone, and the buffer does not matter.
func FuzzScan(f *testing.F) {
	for _, name := range append(realLogs(f, "testdata/real/*.log"), realLogs(f, "testdata/bad/*.log")...) {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int64(0))
	}
	for _, b := range damagedLogs(f) {
		f.Add(b, int64(100))
	}
	fixture.Seeds(f, "log", func(b []byte) { f.Add(b, int64(0)) })
	f.Add([]byte{}, int64(-1))
	f.Add(make([]byte, 100), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, log []byte, next int64) {
		opt := segment.ScanOptions{NextOffset: next}
		size := int64(len(log))
		m := &meter{r: bytes.NewReader(log)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		frames := scanReader(t, m, size, opt)
		runtime.ReadMemStats(&after)
		if m.read > 4*size+1<<20 {
			t.Fatalf("%d bytes read of %d", m.read, size)
		}
		// scan keeps a copy of each frame, and of its bytes.
		if n := int64(after.TotalAlloc - before.TotalAlloc); n > 20*size+int64(len(frames))*4096+8<<20 {
			t.Fatalf("%d bytes allocated for %d", n, size)
		}
		got := describeAll(frames)
		opt.BufferSize = 4096
		if small := describeAll(scan(t, log, opt)); !slices.Equal(got, small) {
			t.Fatalf("with a small buffer\n%s\nelse\n%s", strings.Join(small, "\n"), strings.Join(got, "\n"))
		}
		sound := 0
		for sound < len(frames) && frames[sound].Damage == nil && (frames[sound].Kind == segment.Batch || frames[sound].Kind == segment.Legacy) {
			sound++
		}
		if sound > 0 {
			again := describeAll(scan(t, log[:frames[sound-1].End()], opt))
			if !slices.Equal(again, got[:sound]) {
				t.Fatalf("the sound beginning alone\n%s\nelse\n%s", strings.Join(again, "\n"), strings.Join(got[:sound], "\n"))
			}
		}
	})
}
