package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree lists everything below dir: folders with a slash, files with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if e.IsDir() {
			out[filepath.ToSlash(name)+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		out[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, tree(t, dir)); d != "" {
		t.Errorf("the tree (-want +got):\n%s", d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lost.jsonl")
	f, err := Create(path)
	must(t, err)
	f.Write([]byte("one\n"))
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is visible before Commit: %v", err)
	}
	f.Write([]byte("two\n"))
	must(t, f.Commit())
	f.Discard()
	same(t, dir, map[string]string{"lost.jsonl": "one\ntwo\n"})
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestFileDiscarded(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "x"))
	must(t, err)
	f.Write(make([]byte, bufferSize+1))
	f.Discard()
	f.Discard()
	same(t, dir, map[string]string{})
}

func TestFileNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	must(t, os.WriteFile(path, []byte("mine"), 0o644))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, name := range []string{"x", "link", "."} {
		if _, err := Create(filepath.Join(dir, name)); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The name is taken while the file is written.
	late := filepath.Join(dir, "late")
	f, err := Create(late)
	must(t, err)
	f.Write([]byte("ours"))
	must(t, os.WriteFile(late, []byte("theirs"), 0o644))
	if err := f.Commit(); !errors.Is(err, ErrExists) {
		t.Errorf("Commit over a file: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "link")))
	same(t, dir, map[string]string{"x": "mine", "late": "theirs"})
}

func TestFileWithoutFolder(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "no", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDir(t *testing.T) {
	at := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	fill := func(d *Dir) {
		must(t, d.WriteFile("broker-1/t-0/a.log", strings.NewReader("aa"), at))
		must(t, d.WriteFile("broker-1/meta.properties", strings.NewReader("m"), at))
		must(t, d.WriteFile("top", strings.NewReader(""), time.Time{}))
	}
	want := map[string]string{"d/": "", "d/broker-1/": "", "d/broker-1/t-0/": "", "d/broker-1/t-0/a.log": "aa", "d/broker-1/meta.properties": "m", "d/top": ""}

	for _, existing := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "d")
		if existing {
			must(t, os.Mkdir(path, 0o755))
		}
		d, err := NewDir(path + string(filepath.Separator))
		must(t, err)
		fill(d)
		must(t, d.Commit())
		d.Discard()
		same(t, dir, want)
		info, err := os.Stat(filepath.Join(path, "broker-1", "t-0", "a.log"))
		must(t, err)
		if !info.ModTime().Equal(at) {
			t.Errorf("modification time %v, want %v", info.ModTime(), at)
		}
	}
}

// The current directory has a name in no other directory.
func TestDirHere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	d, err := NewDir(".")
	must(t, err)
	must(t, d.WriteFile("a/b", strings.NewReader("c"), time.Time{}))
	must(t, d.Commit())
	same(t, dir, map[string]string{"a/": "", "a/b": "c"})
}

func TestDirDiscarded(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for _, name := range []string{"new", "empty"} {
		d, err := NewDir(filepath.Join(dir, name))
		must(t, err)
		must(t, d.WriteFile("a/b", strings.NewReader("c"), time.Time{}))
		d.Discard()
	}
	same(t, dir, map[string]string{"empty/": ""})
}

func TestDirNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "full"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "full", "mine"), []byte("mine"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o644))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, name := range []string{"full", "file", "link"} {
		if _, err := NewDir(filepath.Join(dir, name)); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.Remove(filepath.Join(dir, "link")))
	want := map[string]string{"full/": "", "full/mine": "mine", "file": "mine"}
	same(t, dir, want)

	// The name is taken, or the empty directory filled, while we write.
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for _, name := range []string{"new", "empty"} {
		d, err := NewDir(filepath.Join(dir, name))
		must(t, err)
		must(t, d.WriteFile("a", strings.NewReader("ours"), time.Time{}))
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name, "a"), []byte("theirs"), 0o644))
		if err := d.Commit(); !errors.Is(err, ErrExists) {
			t.Errorf("Commit over %s: %v", name, err)
		}
		want[name+"/"], want[name+"/a"] = "", "theirs"
	}
	same(t, dir, want)
}

func TestDirNames(t *testing.T) {
	dir := t.TempDir()
	d, err := NewDir(filepath.Join(dir, "d"))
	must(t, err)
	defer d.Discard()
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b"} {
		if err := d.WriteFile(name, strings.NewReader(""), time.Time{}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	must(t, d.WriteFile("a", strings.NewReader("1"), time.Time{}))
	if err := d.WriteFile("a", strings.NewReader("2"), time.Time{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	failing := errReader{errors.New("no more")}
	if err := d.WriteFile("b", failing, time.Time{}); !errors.Is(err, failing.err) {
		t.Errorf("a failing reader: %v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestDirCreate(t *testing.T) {
	at := filepath.Join(t.TempDir(), "out")
	d, err := NewDir(at)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("a/b.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create("a/b.jsonl"); err == nil {
		t.Error("a second file of the same name was begun")
	}
	if _, err := d.Create("../b.jsonl"); err == nil {
		t.Error("a name that leads out of the directory was taken")
	}
	for range 3 {
		if _, err := f.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at); err == nil {
		t.Error("the directory is there before Commit")
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(at, "a", "b.jsonl")); err != nil || string(b) != "line\nline\nline\n" {
		t.Errorf("%q, %v", b, err)
	}
}
