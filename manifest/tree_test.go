package manifest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"kafsck/internal/rofs"
)

func TestEveryRegularFile(t *testing.T) {
	tree := rofs.FromFS(fstest.MapFS{
		"b/t-0/0.log": {Data: []byte("abc")},
		"b-1/x":       {Data: nil},
		"a":           {Data: []byte("1")},
		"b/link":      {Data: []byte("/etc"), Mode: fs.ModeSymlink},
	})
	files := Files(tree, ".", func(name string, err error) { t.Errorf("%s: %v", name, err) })
	var names []string
	for _, f := range files {
		names = append(names, f.Path+f.Odd)
	}
	if want := []string{"a", "b-1/x", "b/linka symbolic link", "b/t-0/0.log"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	var bytes int64
	got, err := Sum(context.Background(), tree, files[3], func(n int64) { bytes += n })
	// The SHA-256 of "abc", from FIPS 180-4's examples.
	if want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; err != nil || got != want || bytes != 3 {
		t.Errorf("got %s, %d bytes, %v", got, bytes, err)
	}
}

// TestReadsThatFail: a file that cannot be read is an error, one that grows is told apart.
func TestReadsThatFail(t *testing.T) {
	broken := errors.New("bad sector")
	tree := rofs.FromFS(fstest.MapFS{"d/a": {Data: []byte("1")}, "e/b": {Data: []byte("2")}})
	for _, op := range []string{"readdir", "lstat", "open", "read", "stat"} {
		bad := rofs.Fault(tree, func(o, name string, pos, length int64) error {
			if o == op && (name == "d" && op == "readdir" || name == "d/a") {
				return broken
			}
			return nil
		})
		errs := 0
		files := Files(bad, ".", func(string, error) { errs++ })
		for _, f := range files {
			if _, err := Sum(context.Background(), bad, f, nil); errors.Is(err, broken) {
				errs++
			} else if err != nil {
				t.Errorf("%s: %s: %v", op, f.Path, err)
			}
		}
		if errs != 1 {
			t.Errorf("%s: %d errors", op, errs)
		}
	}
	if _, err := Sum(context.Background(), tree, File{Path: "d/a", Size: 2}, nil); !errors.Is(err, ErrChanging) {
		t.Errorf("a file of another size: %v", err)
	}
}
