package rofs

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample is the same small tree on disk and in memory.
func sample(t *testing.T) map[string]FS {
	t.Helper()
	files := map[string]string{"a.txt": "hello", "sub/b.bin": "\x00\x01\x02", "sub/empty": ""}
	dir := t.TempDir()
	m := fstest.MapFS{}
	for name, content := range files {
		full := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(content), 0o644))
		m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	disk, err := Dir(dir)
	must(t, err)
	t.Cleanup(func() { must(t, Close(disk)) })
	none := func(string, string, int64, int64) error { return nil }
	return map[string]FS{
		"disk": disk, "memory": FromFS(m), "without ReadAt": FromFS(plainFS{m}), "without fault": Fault(disk, none),
	}
}

// plainFS hides that its files can be read at positions.
type plainFS struct{ fs.FS }

func (p plainFS) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if _, ok := f.(fs.ReadDirFile); ok || err != nil {
		return f, err
	}
	return struct{ fs.File }{f}, err
}

func TestRead(t *testing.T) {
	for kind, fsys := range sample(t) {
		b, err := ReadFile(fsys, "sub/b.bin", 3)
		if err != nil || string(b) != "\x00\x01\x02" {
			t.Errorf("%s: ReadFile: %q, %v", kind, b, err)
		}
		if b, err := ReadFile(fsys, "sub/empty", 0); err != nil || len(b) != 0 {
			t.Errorf("%s: empty file: %q, %v", kind, b, err)
		}
		if b, err := ReadFile(fsys, "a.txt", math.MaxInt64); err != nil || string(b) != "hello" {
			t.Errorf("%s: no limit: %q, %v", kind, b, err)
		}
		f, err := fsys.Open("a.txt")
		must(t, err)
		p := make([]byte, 4)
		if n, err := f.ReadAt(p, 3); n != 2 || err != io.EOF || string(p[:2]) != "lo" {
			t.Errorf("%s: ReadAt at the end: %d, %v", kind, n, err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != 5 {
			t.Errorf("%s: Stat: %v, %v", kind, info, err)
		}
		must(t, f.Close())
		entries, err := fsys.ReadDir(".")
		if err != nil || len(entries) != 2 || entries[0].Name() != "a.txt" || !entries[1].IsDir() {
			t.Errorf("%s: ReadDir: %v, %v", kind, entries, err)
		}
		if info, err := fsys.Lstat("sub"); err != nil || !info.IsDir() {
			t.Errorf("%s: Lstat: %v, %v", kind, info, err)
		}
		if info, err := Stat(fsys, "a.txt"); err != nil || info.Size() != 5 {
			t.Errorf("%s: Stat: %v, %v", kind, info, err)
		}
	}
}

// TestErrors: every error names its operation and file, and keeps its cause.
func TestErrors(t *testing.T) {
	for kind, fsys := range sample(t) {
		_, err := fsys.Open("gone")
		wantPathError(t, kind, err, "open", "gone", fs.ErrNotExist)
		_, err = fsys.Open("sub")
		wantPathError(t, kind, err, "open", "sub", ErrNotRegular)
		_, err = fsys.ReadDir("gone")
		wantPathError(t, kind, err, "readdir", "gone", fs.ErrNotExist)
		if _, err = fsys.ReadDir("a.txt"); err == nil {
			t.Errorf("%s: a file was listed", kind)
		}
		_, err = fsys.Lstat("gone")
		wantPathError(t, kind, err, "lstat", "gone", fs.ErrNotExist)
		_, err = Stat(fsys, "gone")
		wantPathError(t, kind, err, "stat", "gone", fs.ErrNotExist)
		_, err = ReadFile(fsys, "a.txt", 4)
		wantPathError(t, kind, err, "read", "a.txt", ErrTooLarge)
		for _, outside := range []string{"../x", "/etc/passwd", "sub/../../x", ""} {
			if _, err := fsys.Open(outside); err == nil {
				t.Errorf("%s: %q was opened", kind, outside)
			}
			if _, err := fsys.ReadDir(outside); err == nil {
				t.Errorf("%s: %q was listed", kind, outside)
			}
		}
	}
	if _, err := Dir(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Dir: %v", err)
	}
}

func wantPathError(t *testing.T, kind string, err error, op, name string, cause error) {
	t.Helper()
	pe, ok := errors.AsType[*fs.PathError](err)
	if !ok || pe.Op != op || pe.Path != name || !errors.Is(err, cause) {
		t.Errorf("%s: got %#v (%v), want %s %s: %v", kind, err, err, op, name, cause)
	}
}

// TestGrowingFile: a file that grows while it is read is refused, not cut.
func TestGrowingFile(t *testing.T) {
	b := bytes.Repeat([]byte("x"), 100)
	if _, err := ReadFile(liar{b}, "x", 50); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if got, err := ReadFile(liar{b}, "x", 100); err != nil || len(got) != 100 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// liar says that its one file has no bytes.
type liar struct{ b []byte }

func (l liar) Open(string) (File, error)             { return liarFile{bytes.NewReader(l.b)}, nil }
func (l liar) ReadDir(string) ([]fs.DirEntry, error) { return nil, nil }
func (l liar) Lstat(string) (fs.FileInfo, error)     { return nil, fs.ErrNotExist }

type liarFile struct{ *bytes.Reader }

func (liarFile) Close() error { return nil }
func (liarFile) Stat() (fs.FileInfo, error) {
	return fs.Stat(fstest.MapFS{"x": &fstest.MapFile{}}, "x")
}

// TestFault: each operation can be failed, by name and by position.
func TestFault(t *testing.T) {
	disk := sample(t)["disk"]
	failing := operation{}
	fsys := Fault(disk, func(op, name string, pos, length int64) error {
		if op == failing.op && name == failing.name && pos <= failing.pos && failing.pos < pos+max(length, 1) {
			return syscall.EIO
		}
		return nil
	})
	for _, failing = range []operation{
		{"open", "a.txt", 0}, {"stat", "a.txt", 0}, {"read", "a.txt", 3}, {"readdir", ".", 0}, {"lstat", "a.txt", 0},
	} {
		_, readErr := ReadFile(fsys, "a.txt", 10)
		entries, dirErr := fsys.ReadDir(".")
		_, lstatErr := fsys.Lstat("a.txt")
		_, statErr := Stat(fsys, "a.txt")
		var infoErr error
		if dirErr == nil {
			_, infoErr = entries[0].Info()
		}
		got := []bool{readErr != nil, dirErr != nil, lstatErr != nil, statErr != nil, infoErr != nil}
		want := map[string][]bool{
			"open": {true, false, false, false, false}, "stat": {true, false, false, true, false}, "read": {true, false, false, false, false},
			"readdir": {false, true, false, false, false}, "lstat": {false, false, true, false, true},
		}[failing.op]
		if !slices.Equal(got, want) {
			t.Errorf("%v: failed %v, want %v", failing, got, want)
		}
		for _, err := range []error{readErr, dirErr, lstatErr, statErr, infoErr} {
			if err != nil {
				wantPathError(t, "fault", err, failing.op, failing.name, syscall.EIO)
			}
		}
	}
	// Bytes before the bad one can still be read.
	failing = operation{"read", "a.txt", 3}
	f, err := fsys.Open("a.txt")
	must(t, err)
	defer f.Close()
	if n, err := f.ReadAt(make([]byte, 3), 0); n != 3 || err != nil {
		t.Errorf("before the bad byte: %d, %v", n, err)
	}
	if _, err := f.ReadAt(make([]byte, 4), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("over the bad byte: %v", err)
	}
	if _, ok := f.(syscall.Conn); !ok {
		t.Error("the descriptor is hidden")
	}
}

type operation struct {
	op, name string
	pos      int64
}

// TestSnapshot: the proof that nothing changed notices every kind of change.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.MkdirAll(at("sub"), 0o755))
	must(t, os.WriteFile(at("a"), []byte("aaa"), 0o644))
	must(t, os.WriteFile(at("sub/b"), []byte("bbb"), 0o644))
	fsys, err := Dir(dir)
	must(t, err)
	defer Close(fsys)
	before, err := Snapshot(fsys)
	must(t, err)

	// Reading everything changes nothing.
	if _, err := ReadFile(fsys, "sub/b", 10); err != nil {
		t.Fatal(err)
	}
	again, err := Snapshot(fsys)
	must(t, err)
	if lines := Changes(before, again); len(lines) > 0 {
		t.Errorf("reading changed %q", lines)
	}
	info, err := os.Stat(at("a"))
	must(t, err)
	for _, change := range []struct {
		do, undo func() error
		names    string // all of them are told
	}{
		{func() error { return os.WriteFile(at("sub/new"), nil, 0o644) }, func() error { return os.Remove(at("sub/new")) }, "sub sub/new"},
		{func() error { return os.Mkdir(at("dir"), 0o755) }, func() error { return os.Remove(at("dir")) }, ". dir"},
		{func() error { return os.Rename(at("a"), at("c")) }, func() error { return os.Rename(at("c"), at("a")) }, ". a c"},
		{func() error { return os.WriteFile(at("a"), []byte("axa"), 0o644) }, func() error { return os.WriteFile(at("a"), []byte("aaa"), 0o644) }, "a"},
		{func() error { return os.Chmod(at("a"), 0o600) }, func() error { return os.Chmod(at("a"), 0o644) }, "a"},
		{func() error { return os.Chtimes(at("a"), info.ModTime(), info.ModTime().Add(1e9)) }, func() error { return nil }, "a"},
	} {
		before, err := Snapshot(fsys)
		must(t, err)
		must(t, change.do())
		after, err := Snapshot(fsys)
		must(t, err)
		var names []string
		for _, line := range Changes(before, after) {
			name, _ := strconv.QuotedPrefix(line)
			name, _ = strconv.Unquote(name)
			names = append(names, name)
		}
		for _, name := range strings.Fields(change.names) {
			if !slices.Contains(names, name) {
				t.Errorf("change of %s: told %q", change.names, names)
			}
		}
		must(t, change.undo())
	}
}

// TestNothingWrites holds the package's own sources to its promise: of package os only these names
// occur, and os.Root is used through Lstat, Open, Stat and Close alone.
func TestNothingWrites(t *testing.T) {
	allowed := []string{"os.OpenRoot", "os.Root", "os.File", "root.Lstat", "root.Readlink", "root.Open", "root.Stat", "root.Close"}
	sources, err := filepath.Glob("*.go")
	must(t, err)
	seen := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			owner := ""
			switch x := sel.X.(type) {
			case *ast.Ident:
				owner = x.Name
			case *ast.SelectorExpr:
				owner = x.Sel.Name
			}
			if owner == "os" || owner == "root" {
				seen++
				if !slices.Contains(allowed, owner+"."+sel.Sel.Name) {
					t.Errorf("%s uses %s.%s", name, owner, sel.Sel.Name)
				}
			}
			return true
		})
	}
	if seen < 5 {
		t.Errorf("only %d uses found: the test looks at the wrong thing", seen)
	}
}
