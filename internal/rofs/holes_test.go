package rofs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestHoles: whatever is called a hole reads as zeros, and what was written is in none.
func TestHoles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sparse")
	w, err := os.Create(name)
	must(t, err)
	const size = 8 << 20
	must(t, w.Truncate(size))
	for _, at := range []int64{0, 1 << 20, 1<<20 + 5000, 5<<20 - 1} {
		_, err := w.WriteAt([]byte{1}, at)
		must(t, err)
	}
	must(t, w.Close())
	fsys, err := Dir(dir)
	must(t, err)
	defer Close(fsys)
	f, err := fsys.Open("sparse")
	must(t, err)
	defer f.Close()
	holes := Holes(f)
	if holes == nil {
		t.Skip("the system cannot say")
	}
	var in int64
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	must(t, err)
	for pos := int64(0); pos < size; {
		end := min(holes(pos), size)
		if end < pos {
			t.Fatalf("the hole at %d ends at %d", pos, end)
		}
		if n := len(bytes.TrimLeft(b[pos:end], "\x00")); n > 0 {
			t.Fatalf("byte %d is in the hole [%d, %d)", end-int64(n), pos, end)
		}
		in += end - pos
		pos = max(end, pos+512)
	}
	t.Logf("%d of %d bytes are in holes", in, int64(size))
	if Holes(fakeFile{}) != nil {
		t.Error("holes of what is no file")
	}
}

type fakeFile struct{}

func (fakeFile) ReadAt(p []byte, at int64) (int, error) { return len(p), nil }
