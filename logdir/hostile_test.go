//go:build unix

package logdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafsck/internal/rofs"
)

// TestLinks: links inside the tree are looked through once, at the end; links that leave it, dangle
// or turn in circles are never followed, which is an error.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir,
		"in/b1/meta.properties = node.id=1", "in/b1/t-0/D0.log = abc", "in/b1/t-0/partition.metadata",
		"in/cold/u-0/D0.log", "in/store/nine = 12345",
		"out/b2/meta.properties = node.id=2", "out/x.log")
	link := func(target, name string) { must(t, os.Symlink(target, filepath.Join(dir, "in", name))) }
	link("../out/b2", "b2")                                       // leaves the tree
	link(dir+"/out/b2", "b2abs")                                  // leaves the tree
	link("gone", "b3")                                            // dangles
	link(".", "self")                                             // circle
	link("b1", "alias")                                           // listed under its own name
	link("loop", "loop")                                          // points to itself
	link("../../store/nine", "b1/t-0/00000000000000000009.log")   // a file inside the tree
	link("../../../out/x.log", "b1/t-0/00000000000000000005.log") // a file outside
	link("../cold/u-0", "b1/u-0")                                 // a partition inside the tree
	link("../../out", "b1/v-0")                                   // a partition outside
	keepUnchanged(t, dir)

	c := discover(t, filepath.Join(dir, "in"))
	got := summary(c)
	want := strings.TrimPrefix(`
broker 1 (meta.properties) "b1"
  dir b1 incomplete
    t-0 live b1/t-0 incomplete 0 9
      ? "b1/t-0/00000000000000000005.log": symbolic link that was not followed: it leads out of the PATH; give what it leads to as a PATH, too
    ? "b1/v-0": symbolic link that was not followed: it leads out of the PATH; give what it leads to as a PATH, too
broker cold () "cold"
  dir cold bare
    u-0 live cold/u-0 0
`, "\n")
	if !strings.HasPrefix(got, want) {
		t.Errorf("got:\n%s\nwant it to begin:\n%s", got, want)
	}
	var noted []string
	for _, n := range c.Notes {
		if n.Kind == NoteSymlink {
			noted = append(noted, n.Paths...)
		}
	}
	if got, want := strings.Join(noted, " "), "alias self b1/u-0"; !sameWords(got, want) {
		t.Errorf("noted links: %s, want %s", got, want)
	}
	var failed []string
	for _, e := range c.Errors {
		failed = append(failed, e.Path)
		if !strings.HasPrefix(e.Err.Error(), "symbolic link that was not followed: ") {
			t.Errorf("error %v", e)
		}
	}
	if got, want := strings.Join(failed, " "), "b2 b2abs b3 loop b1/t-0/00000000000000000005.log b1/v-0"; !sameWords(got, want) {
		t.Errorf("links not followed: %s, want %s", got, want)
	}
	nine := c.Brokers[0].Dirs[0].Partitions[0].Segments[1].Log
	if b, err := nine.ReadAll(100); err != nil || string(b) != "12345" || nine.Size != 5 || !nine.Link {
		t.Errorf("linked file: %q, %v, size %d", b, err, nine.Size)
	}
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestLinkedDisk: log directories and partitions that are reached by a link inside the tree only.
func TestLinkedDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "in")
	writeTree(t, dir, "a/b/c/d/e/f/g/deep/b5/meta.properties = node.id=5", "a/b/c/d/e/f/g/deep/b5/t-0/D0.log", "a/b/c/d/e/f/g/part/u-1/D3.log")
	must(t, os.Symlink("a/b/c/d/e/f/g/deep", filepath.Join(dir, "brokers")))
	must(t, os.Symlink("a/b/c/d/e/f/g/part/u-1", filepath.Join(dir, "u-1")))
	must(t, os.Symlink(".", filepath.Join(dir, "a/b/c/d/e/f/g/deep/again")))
	keepUnchanged(t, dir)
	c := discover(t, dir)
	wantSummary(t, c, `
broker 5 (meta.properties) "b5"
  dir brokers/b5
    t-0 live brokers/b5/t-0 0
broker in () "in"
  dir . bare
    u-1 live u-1 3
? "a": no log directory in it
note symlink ["brokers/again"]
note limit ["a/b/c/d/e/f"]
`)
}

// TestSpecialFiles: pipes and sockets are listed, never opened; nothing hangs.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, "b1/meta.properties = node.id=1", "b1/t-0/D0.log")
	for _, name := range []string{
		"b1/replication-offset-checkpoint", "b1/.lock", "b1/x", "b1/t-0/leader-epoch-checkpoint", "b1/t-0/00000000000000000007.log", "pipe", "b1/u-0",
	} {
		must(t, syscall.Mkfifo(filepath.Join(dir, name), 0o644))
	}
	var c *Case
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, _ = Discover([]string{dir}, Options{})
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("hangs on a named pipe")
	}
	wantSummary(t, c, `
broker 1 (meta.properties) "b1"
  dir b1
    t-0 live b1/t-0 incomplete 0
      ? "b1/t-0/00000000000000000007.log": not a regular file (named pipe)
      ? "b1/t-0/leader-epoch-checkpoint": not a regular file (named pipe)
    ? "b1/.lock": not a regular file (named pipe)
    ? "b1/replication-offset-checkpoint": not a regular file (named pipe)
    ? "b1/u-0": not a regular file (named pipe)
    ? "b1/x": not a regular file (named pipe)
? "pipe": not a regular file (named pipe)
error b1/.lock: not a regular file (named pipe)
error b1/replication-offset-checkpoint: not a regular file (named pipe)
error b1/t-0/00000000000000000007.log: not a regular file (named pipe)
error b1/t-0/leader-epoch-checkpoint: not a regular file (named pipe)
`)
	if f := c.Brokers[0].Dirs[0].Partitions[0].EpochsFile; f == nil || !errors.Is(f.Err, rofs.ErrNotRegular) {
		t.Errorf("leader-epoch-checkpoint is a pipe, not absent: %+v", f)
	}
	if _, err := c.Brokers[0].Dirs[0].Unknown[0].Open(); !errors.Is(err, rofs.ErrNotRegular) {
		t.Errorf("opening a pipe: %v", err)
	}
	if _, err := Discover([]string{dir + "/pipe"}, Options{}); err == nil {
		t.Error("a pipe as PATH: no error")
	}
}

// TestRawNames: names are kept as they are, whatever is in them.
func TestRawNames(t *testing.T) {
	const evil = "evil\x1b]0;owned\x07\n\xff-0"
	dir := onDisk(t, "meta.properties = node.id=1", evil+"/D0.log", "x\x1b[2J", "t-0/\xfe.log")
	c := discover(t, dir)
	d := c.Brokers[0].Dirs[0]
	if len(d.Partitions) != 2 || d.Partitions[0].Topic != strings.TrimSuffix(evil, "-0") || d.Partitions[0].Dir != evil || len(d.Partitions[0].Segments) != 1 {
		t.Errorf("got\n%q", summary(c))
	}
	if len(d.Unknown) != 1 || d.Unknown[0].Name != "x\x1b[2J" {
		t.Errorf("unknown %+v", d.Unknown)
	}
	if u := d.Partitions[1].Unknown; len(u) != 1 || u[0].Name != "\xfe.log" || strings.Contains(u[0].Why, "\xfe") {
		t.Errorf("unknown %+v", u)
	}
	for _, n := range c.Notes {
		if strings.ContainsAny(n.Text, "\x1b\x07\n") {
			t.Errorf("raw control character in %q", n.Text)
		}
	}
}

// TestUnreadable: with the permissions of an ordinary user where the test does not run as root;
// TestEveryFault covers the same everywhere.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, "b1/meta.properties = node.id=1", "b1/t-0/D0.log", "b1/t-1/D0.log", "b2/meta.properties = node.id=2", "b2/t-0/D0.log")
	fsys, err := rofs.Dir(dir)
	must(t, err)
	defer rofs.Close(fsys)
	denied := rofs.Fault(fsys, func(op, name string, _, _ int64) error {
		if op == "readdir" && (name == "b1/t-0" || name == "b2") {
			return syscall.EACCES
		}
		return nil
	})
	c, err := DiscoverFS(denied, "copies", Options{})
	must(t, err)
	wantSummary(t, c, `
broker 1 (meta.properties) "b1"
  dir b1
    t-0 live b1/t-0 incomplete
    t-1 live b1/t-1 0
? "b2": could not be listed: readdir: permission denied
error b1/t-0: readdir: permission denied
error b2: readdir: permission denied
`)
	if !errors.Is(c.Errors[0], fs.ErrPermission) {
		t.Error("the cause is lost")
	}
}

// TestOddFiles: what has the name of a file that is read, and cannot be one, is neither absent nor a
// reason to know less of the rest.
func TestOddFiles(t *testing.T) {
	for _, kind := range []string{"directory", "named pipe", "link"} {
		dir := t.TempDir()
		writeTree(t, dir, "b1/replication-offset-checkpoint", "b1/t-0/D0.log", "b1/t-0/D0.timeindex", "outside")
		names := []string{
			"b1/meta.properties", "b1/log-start-offset-checkpoint", "b1/recovery-point-offset-checkpoint", "b1/.kafka_cleanshutdown",
			"b1/t-0/leader-epoch-checkpoint", "b1/t-0/partition.metadata", "b1/t-0/00000000000000000000.index", "b1/t-0/00000000000000000000.snapshot",
		}
		if kind == "link" {
			names = append(names, "b1/t-0/note.txt") // nothing is known of it at all
		}
		for _, name := range names {
			full := filepath.Join(dir, name)
			switch kind {
			case "directory":
				must(t, os.Mkdir(full, 0o755))
			case "named pipe":
				must(t, syscall.Mkfifo(full, 0o644))
			case "link":
				must(t, os.Symlink(filepath.Join(t.TempDir(), "outside"), full))
			}
		}
		c := discover(t, dir)
		var failed []string
		for _, e := range c.Errors {
			failed = append(failed, e.Path)
			if kind != "link" && e.Err.Error() != "not a regular file ("+kind+")" {
				t.Errorf("%s: %v", kind, e)
			}
		}
		if got, want := strings.Join(failed, " "), strings.Join(names, " "); !sameWords(got, want) {
			t.Errorf("%s: errors for %s, want %s", kind, got, want)
		}
		d := c.Brokers[0].Dirs[0]
		p := d.Partitions[0]
		if d.MetaFile == nil || !d.CleanShutdown || p.EpochsFile == nil || p.MetaFile == nil {
			t.Errorf("%s: called absent: %+v %+v %+v", kind, d.MetaFile, p.EpochsFile, p.MetaFile)
		}
		if p.Incomplete || len(p.Segments) != 1 || p.Segments[0].TimeIndex == nil {
			t.Errorf("%s: the log is all there:\n%s", kind, summary(c))
		}
	}
}
