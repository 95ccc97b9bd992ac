package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kafsck/internal/fixture"
	"kafsck/logdir"
)

// TestOnATerminal runs kafsck as it is linked for users: what init functions of libraries
// do to a terminal shows in nothing else.
func TestOnATerminal(t *testing.T) {
	if testing.Short() {
		return // the program that it builds is without the race detector
	}
	program := filepath.Join(t.TempDir(), "kafsck")
	if out, err := exec.Command("go", "build", "-o", program, "kafsck").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, program string)
	}{
		{"verbs", onlyTheBrowserTouchesTheTerminal},
		{"browser", browserGivesTheTerminalBack},
		{"closed", browserOnAClosedTerminal},
		{"unopened", browserThatCannotOpen},
		{"signals", stoppedBySignals},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, program) })
	}
}

// terminalRun is a run on a terminal of its own that answers nothing, as a serial line or a pipe of
// a pseudo terminal does.
type terminalRun struct {
	t     *testing.T
	cmd   *exec.Cmd
	other *os.File
	mu    sync.Mutex
	got   bytes.Buffer
	done  chan error
	read  chan struct{}
}

func runOnTerminal(t *testing.T, program string, args ...string) *terminalRun {
	t.Helper()
	other, terminal := pty(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	r := &terminalRun{t: t, other: other, done: make(chan error, 1), read: make(chan struct{})}
	r.cmd = exec.CommandContext(t.Context(), program, args...)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = terminal, terminal, terminal
	// A session of its own, so that the terminal is its controlling one.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "TERM", "CI", "NO_COLOR", "COLORFGBG", "TMUX", "STY", "COLORTERM", "TERM_PROGRAM":
		default:
			r.cmd.Env = append(r.cmd.Env, e)
		}
	}
	r.cmd.Env = append(r.cmd.Env, "TERM=xterm-256color")
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	// Without blocking: a read under way would keep the terminal open beyond Close.
	if err := unix.SetNonblock(int(other.Fd()), true); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.read)
		buf := make([]byte, 64<<10)
		for {
			n, err := other.Read(buf)
			r.mu.Lock()
			r.got.Write(buf[:max(n, 0)])
			r.mu.Unlock()
			switch {
			case errors.Is(err, syscall.EAGAIN):
				time.Sleep(2 * time.Millisecond)
			case err != nil:
				return
			}
		}
	}()
	go func() { r.done <- r.cmd.Wait() }()
	return r
}

func (r *terminalRun) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// sees waits until the output holds text.
func (r *terminalRun) sees(text string) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(r.output(), text) {
			return
		}
	}
	got := r.output()
	r.t.Fatalf("the terminal does not show %q:\n…%q", text, got[max(0, len(got)-2000):])
}

func (r *terminalRun) typed(keys string) {
	r.t.Helper()
	if _, err := r.other.WriteString(keys); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit code.
func (r *terminalRun) ends() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		got := r.output()
		r.t.Fatalf("it does not end:\n…%q", got[max(0, len(got)-500):])
	}
	select {
	case <-r.read: // the rest of the output
	case <-time.After(5 * time.Second):
	}
	return r.cmd.ProcessState.ExitCode()
}

// onlyTheBrowserTouchesTheTerminal: on a terminal that understands everything and
// answers nothing, no verb writes an escape sequence, asks or waits, whatever libraries
// are linked in. bubbletea's init would write ESC ] 11 ; ? and wait five seconds.
func onlyTheBrowserTouchesTheTerminal(t *testing.T, program string) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	part := filepath.Join(dir, "broker-1", "unclean-demo-0")
	runs := [][]string{
		{dir}, {"ls", dir}, {"check", dir}, {"diff", dir}, {"loss", dir}, {"epochs", dir}, {"history", dir}, {"txns", dir}, {"groups", dir},
		{"dump", part}, {"explain", "batch-crc-mismatch"}, {"demo"}, {"completion", "bash"}, {"--help"}, {"tui", "--help"}, {"--version"}, {"nonsense"},
		{"predict", "start", dir}, {"predict", "leader", dir}, {"predict", "catchup", dir}, {"ls", "--json", dir}, {"repair", "--help"}, {"manifest", dir}, {"salvage", dir}, {},
	}
	for _, args := range runs {
		begin := time.Now()
		r := runOnTerminal(t, program, args...)
		r.ends()
		got := r.output()
		if strings.ContainsRune(got, 0x1b) {
			t.Errorf("kafsck %q writes escape sequences: %.200q", args, got)
		}
		if got == "" && len(args) > 0 {
			t.Errorf("kafsck %q says nothing", args)
		}
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("kafsck %q takes %v: does it wait for the terminal?", args, d)
		}
	}
}

// TestVerbsOfThePTYTest: a verb that is new must stand in the test above.
func TestVerbsOfThePTYTest(t *testing.T) {
	known := "ls check diff loss epochs history txns groups dump explain demo completion predict repair salvage manifest export tui help"
	for _, c := range newRootCommand(&app{}).Commands() {
		if !strings.Contains(" "+known+" ", " "+c.Name()+" ") {
			t.Errorf("add %s to onlyTheBrowserTouchesTheTerminal", c.Name())
		}
	}
}

const altScreenOn, altScreenOff, cursorOn = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"

// restored fails unless the terminal was given back: the normal screen, the cursor, and
// the mode that it was in.
func (r *terminalRun) restored() {
	r.t.Helper()
	got := r.output()
	if strings.LastIndex(got, altScreenOff) < strings.LastIndex(got, altScreenOn) || strings.LastIndex(got, cursorOn) < strings.LastIndex(got, "\x1b[?25l") {
		r.t.Errorf("the terminal is not restored: …%q", got[max(0, len(got)-300):])
	}
	state, err := unix.IoctlGetTermios(int(r.other.Fd()), unix.TCGETS)
	if err != nil {
		r.t.Fatal(err)
	}
	if state.Lflag&(unix.ICANON|unix.ECHO) != unix.ICANON|unix.ECHO {
		r.t.Errorf("the terminal is left in raw mode: %#x", state.Lflag)
	}
}

// browserGivesTheTerminalBack: it opens at once on a terminal that answers nothing, asks it nothing, and
// gives it back.
func browserGivesTheTerminalBack(t *testing.T, program string) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	for _, args := range [][]string{{"tui", dir}, {"demo", "--tui"}} {
		begin := time.Now()
		r := runOnTerminal(t, program, args...)
		r.sees("READ-ONLY")
		if d := time.Since(begin); d > 2*time.Second { // the exact time is measured in bench/
			t.Errorf("%q: the first frame took %v", args, d)
		}
		if args[0] == "demo" {
			r.sees("enter closes this")
			r.typed("\r")
		}
		r.sees("LOST: 100 committed records")
		r.typed("q")
		if code := r.ends(); code != 0 {
			t.Errorf("%q: exit code %d: %q", args, code, r.output())
		}
		r.restored()
		for _, question := range []string{"\x1b]11;?", "\x1b[6n", "\x1b[c", "\x1b[>"} {
			if strings.Contains(r.output(), question) {
				t.Errorf("%q asks the terminal %q", args, question)
			}
		}
	}
}

// browserOnAClosedTerminal: it ends when the terminal goes away, by hangup or by the
// end of its input.
func browserOnAClosedTerminal(t *testing.T, program string) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	r := runOnTerminal(t, program, "tui", dir)
	r.sees("LOST: 100")
	r.other.Close()
	r.ends()

	for signal, want := range map[syscall.Signal]int{syscall.SIGHUP: exitHungUp, syscall.SIGTERM: exitTerminated} {
		r = runOnTerminal(t, program, "tui", dir)
		r.sees("LOST: 100")
		if err := r.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := r.ends(); code != want {
			t.Errorf("%v: exit code %d, want %d: %q", signal, code, want, r.output())
		}
		r.restored()
	}
}

// browserThatCannotOpen: the error is on the screen until one quits, then on stderr
// and in the exit code.
func browserThatCannotOpen(t *testing.T, program string) {
	r := runOnTerminal(t, program, "tui", t.TempDir())
	r.sees("NOT READ")
	r.typed("q")
	if code := r.ends(); code != exitIncomplete {
		t.Errorf("exit code %d", code)
	}
	r.restored()
	if got := r.output(); !strings.Contains(got[strings.LastIndex(got, altScreenOff):], "kafsck: nothing of Kafka's in") {
		t.Errorf("%q", got)
	}
}

// TestBrowserAfterACrash: a panic of ours is told after the terminal was given back, and
// ends with the exit code of a bug.
func TestBrowserAfterACrash(t *testing.T) {
	var code int
	var errs bytes.Buffer
	got := screen(t, func(terminal *os.File) {
		before, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		a := &app{stdin: terminal, stdout: terminal, rawOut: terminal, stderr: &errs, rawErr: terminal}
		err = a.browse(t.Context(), browse{
			cmd: newTUICommand(a), args: []string{"x"}, input: &inputOptions{},
			discover: func() (*logdir.Case, error) { panic("broken invariant") },
		})
		code = a.explain(err)
		after, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if *after != *before {
			t.Errorf("the mode of the terminal is %+v, was %+v", after, before)
		}
	})
	if code != exitBug || !strings.Contains(errs.String(), "a bug of ours: broken invariant") || !strings.Contains(errs.String(), "pty_linux_test.go") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
	if s := string(got); strings.LastIndex(s, altScreenOff) < strings.LastIndex(s, altScreenOn) || strings.LastIndex(s, cursorOn) < strings.LastIndex(s, "\x1b[?25l") {
		t.Errorf("the terminal is not restored: %q", s)
	}
}
