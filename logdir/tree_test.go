package logdir

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/internal/rofs"
)

var someTime = time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)

// tree builds a tree in memory from lines: "name", "name = content" or "name/" (a directory).
// In contents \n is a newline; D7.log is 00000000000000000007.log.
func tree(lines ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, line := range lines {
		name, content, _ := strings.Cut(line, " = ")
		name = d20(name)
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			m[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755, ModTime: someTime}
			continue
		}
		m[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, `\n`, "\n")), Mode: 0o644, ModTime: someTime}
	}
	return m
}

// d20 writes the base offset of names that begin with D in full.
func d20(name string) string {
	if rest, ok := strings.CutSuffix(name, "/"); ok {
		return d20(rest) + "/"
	}
	dir, base := path.Split(name)
	var n int64
	if rest, ok := strings.CutPrefix(base, "D"); ok {
		if _, err := fmt.Sscanf(rest, "%d", &n); err == nil {
			return dir + fmt.Sprintf("%020d", n) + strings.TrimLeft(rest, "0123456789")
		}
	}
	return name
}

// onDisk writes the same tree into a new directory, which must stay as it is until the test ends.
func onDisk(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, lines...)
	keepUnchanged(t, dir)
	return dir
}

func writeTree(t *testing.T, dir string, lines ...string) {
	t.Helper()
	for name, f := range tree(lines...) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if f.Mode.IsDir() {
			must(t, os.MkdirAll(full, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, f.Data, 0o644))
		must(t, os.Chtimes(full, someTime, someTime))
	}
}

// keepUnchanged fails the test at its end if the tree below dir differs from now.
func keepUnchanged(t *testing.T, dir string) {
	t.Helper()
	snapshot := func() map[string]string {
		fsys, err := rofs.Dir(dir)
		must(t, err)
		defer rofs.Close(fsys)
		s, err := rofs.Snapshot(fsys)
		must(t, err)
		return s
	}
	before := snapshot()
	t.Cleanup(func() {
		for _, line := range rofs.Changes(before, snapshot()) {
			t.Errorf("input tree changed: %s", line)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func discover(t *testing.T, paths ...string) *Case {
	t.Helper()
	c, err := Discover(paths, Options{})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func discoverTree(t *testing.T, lines ...string) *Case {
	t.Helper()
	c, err := DiscoverFS(rofs.FromFS(tree(lines...)), "copies", Options{})
	must(t, err)
	return c
}

// summary tells a case in lines: brokers with their directories, and everything not in order.
func summary(c *Case) string {
	var b strings.Builder
	for _, br := range c.Brokers {
		fmt.Fprintf(&b, "broker %s (%s) %q\n", br, br.IDSource, br.Name)
		for _, d := range br.Dirs {
			fmt.Fprintf(&b, "  dir %s%s\n", d.Path, flags("bare", d.Bare, "partial", d.Partial, "incomplete", d.Incomplete, "clean", d.CleanShutdown, "live", d.Live))
			all := d.Partitions
			if d.Metadata != nil {
				all = append(all[:len(all):len(all)], d.Metadata)
			}
			for _, p := range all {
				fmt.Fprintf(&b, "    %s %s %s%s", p.Name(), p.State, p.Dir, flags("incomplete", p.Incomplete, "cut", p.TopicCut))
				for _, s := range p.Segments {
					fmt.Fprintf(&b, " %d%s", s.BaseOffset, s.Suffix)
					if s.Log == nil {
						b.WriteString("(no log)")
					}
				}
				b.WriteString("\n")
				for _, u := range p.Unknown {
					fmt.Fprintf(&b, "      ? %q: %s\n", u.Path, u.Why)
				}
			}
			for _, u := range d.Unknown {
				fmt.Fprintf(&b, "    ? %q: %s\n", u.Path, u.Why)
			}
		}
	}
	for _, u := range c.Unknown {
		fmt.Fprintf(&b, "? %q: %s\n", u.Path, u.Why)
	}
	for _, e := range c.Errors {
		fmt.Fprintf(&b, "error %s\n", e)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note %s %q\n", n.Kind, n.Paths)
	}
	return b.String()
}

func flags(pairs ...any) string {
	s := ""
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			s += " " + pairs[i].(string)
		}
	}
	return s
}

func wantSummary(t *testing.T, c *Case, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got := summary(c); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// recording is one recorded stage as a tree of names.
type recording struct {
	name  string
	tree  fstest.MapFS
	files map[string][]string // by directory
}

func recordings(t *testing.T) []recording {
	t.Helper()
	f, err := os.Open("testdata/listing.txt")
	must(t, err)
	defer f.Close()
	var all []recording
	for sc := lineScanner(f); sc.Scan(); {
		name, rest, _ := strings.Cut(sc.Text(), " ")
		if name == "==" {
			all = append(all, recording{name: rest, tree: fstest.MapFS{}, files: map[string][]string{}})
			continue
		}
		r := &all[len(all)-1]
		if path.Base(name) == "meta.properties" {
			r.tree[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(rest, " ", "\n") + "\n"), ModTime: someTime}
			r.files[path.Dir(name)] = append(r.files[path.Dir(name)], "meta.properties")
			continue
		}
		for _, file := range strings.Fields(rest) {
			if c := file[0]; '0' <= c && c <= '9' && !strings.Contains(file, ".checkpoint") {
				file = d20("D" + file)
			}
			r.tree[path.Join(name, file)] = &fstest.MapFile{ModTime: someTime}
			r.files[name] = append(r.files[name], file)
		}
	}
	if len(all) != 54 {
		t.Fatalf("%d recordings in testdata, want 54", len(all))
	}
	return all
}

func lineScanner(f *os.File) *bufio.Scanner {
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	return sc
}
