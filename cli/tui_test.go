package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kafsck/internal/outfile"
)

// TestSaveBeside: what the browser saves never replaces a file and never lies in an input.
func TestSaveBeside(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "copies", "broker-1")
	write(t, filepath.Join(input, "meta.properties"), "version=1\n")
	if err := os.Symlink(input, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	ok := filepath.Join(dir, "table.csv")
	if err := saveBeside(ok, []string{input}, hello); err != nil {
		t.Fatal(err)
	}
	if err := saveBeside(ok, []string{input}, hello); !errors.Is(err, outfile.ErrExists) {
		t.Errorf("an existing file: %v", err)
	}
	for _, name := range []string{filepath.Join(input, "x.csv"), filepath.Join(dir, "link", "x.csv")} {
		if err := saveBeside(name, []string{filepath.Join(dir, "copies")}, hello); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	failed := filepath.Join(dir, "half.csv")
	if err := saveBeside(failed, nil, func(io.Writer) error { return io.ErrShortWrite }); err == nil {
		t.Error("a failed write is no error")
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if n := e.Name(); n != "copies" && n != "link" && n != "table.csv" {
			t.Errorf("%s was left behind", n)
		}
	}
}
