//go:build unix

package logdir

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain turns the test binary into a process that holds a lock as a broker does, until its
// standard input ends.
func TestMain(m *testing.M) {
	path := os.Getenv("KAFSCK_TEST_HOLD_LOCK")
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("locked\n")
	io.Copy(io.Discard, os.Stdin)
}

// holdLock runs a process that locks path and returns how to end it.
func holdLock(t *testing.T, path string) (release func()) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "KAFSCK_TEST_HOLD_LOCK="+path)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "locked\n" {
		t.Fatalf("the other process says %q", line)
	}
	return func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestLiveBroker: a held lock is noticed, also when only a partition is given, and is still held
// afterwards; a .lock that nobody holds proves nothing.
func TestLiveBroker(t *testing.T) {
	dir := onDisk(t, "b1/meta.properties = node.id=1", "b1/.lock", "b1/t-0/D0.log", "b2/meta.properties = node.id=2", "b2/.lock", "b2/t-0/D0.log")
	lock := filepath.Join(dir, "b1", ".lock")
	release := holdLock(t, lock)
	for _, p := range []string{dir, dir + "/b1", dir + "/b1/t-0"} {
		c := discover(t, p)
		if b := c.Brokers[0]; b.ID != 1 || !b.Dirs[0].Live {
			t.Errorf("%s: not noticed", p)
		}
		if len(c.Notes) != 1 || c.Notes[0].Kind != NoteLive || !strings.Contains(c.Notes[0].Text, "process ") {
			t.Errorf("%s: notes %v", p, c.Notes)
		}
		if p == dir && c.Brokers[1].Dirs[0].Live {
			t.Error("the other broker is not running")
		}
	}
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	asked := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	must(t, unix.FcntlFlock(f.Fd(), unix.F_GETLK, &asked))
	if asked.Type == unix.F_UNLCK {
		t.Error("the lock is gone")
	}
	release()
	c := discover(t, dir)
	if c.Brokers[0].Dirs[0].Live || len(c.Notes) != 0 {
		t.Error("noticed although the process has ended")
	}
}
