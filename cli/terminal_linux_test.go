package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kafsck/internal/fixture"
)

// pty opens a pseudo terminal; what is written to the terminal can be read from
// its other end.
func pty(t *testing.T) (other, terminal *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if err := unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return other, terminal
}

// screen collects what appears on a terminal until it is closed.
func screen(t *testing.T, run func(terminal *os.File)) []byte {
	t.Helper()
	other, terminal := pty(t)
	var got bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := other.Read(buf)
			got.Write(buf[:n])
			if err != nil {
				return
			}
		}
	})
	run(terminal)
	terminal.Close()
	wg.Wait()
	return got.Bytes()
}

// TestNoEscapeSequences: nothing emits ESC, also on a terminal that understands
// everything, with the bar shown.
func TestNoEscapeSequences(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("CI", "")
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	for _, args := range [][]string{{dir}, {"ls", dir}, {"diff", dir}, {"loss", dir}, {"loss", "--json", dir}, {"--help"}, {"nonsense"}} {
		got := screen(t, func(terminal *os.File) { Main(args, terminal, terminal, terminal) })
		if len(got) == 0 || bytes.ContainsRune(got, 0x1b) {
			t.Errorf("%q: %q", args, got)
		}
	}
	got := screen(t, func(terminal *os.File) {
		a := &app{stdout: terminal, stderr: terminal, rawOut: terminal, rawErr: terminal}
		p := a.newProgress(worthwhile)
		for range 4 {
			p.add(worthwhile / 8)
			time.Sleep(250 * time.Millisecond)
		}
		p.finish()
		p.add(1)
	})
	if !bytes.Contains(got, []byte("reading")) || bytes.ContainsRune(got, 0x1b) {
		t.Errorf("the bar: %q", got)
	}
}

// TestProgressIsOutOfTheWay: without a terminal, for little to read, with
// --quiet, and beside JSON on the same terminal nothing is drawn.
func TestProgressIsOutOfTheWay(t *testing.T) {
	_, terminal := pty(t)
	for _, c := range []struct {
		app   app
		total int64
	}{
		{app{rawErr: &bytes.Buffer{}}, worthwhile},
		{app{rawErr: terminal}, worthwhile - 1},
		{app{rawErr: terminal, quiet: true}, worthwhile},
		{app{rawErr: terminal, rawOut: terminal, json: true}, worthwhile},
	} {
		if p := c.app.newProgress(c.total); p.bar != nil {
			t.Errorf("a bar is drawn for %+v", c)
		}
	}
}
