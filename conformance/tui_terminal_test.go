package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kafsck/internal/fixture"
)

// tuiRecordings are what the browser is walked through.
var tuiRecordings = []string{"unclean-election", "divergence", "transactions", "compaction", "metadata"}

// browserLab is what all tests of the browser share: the program, built once, and a
// folder with one recording under each name.
type browserLab struct {
	kafsck string
	data   string
	expect map[string]any // by "NAME/FILE.json"
}

// TestBrowser drives the real program by keys in a real terminal, tmux, and reads its
// screens. Everything below runs in parallel, each in a tmux server of its own.
func TestBrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing: the browser is tested on a real terminal (.ci/run installs it)")
	}
	lab := &browserLab{kafsck: buildKafsck(t), data: t.TempDir(), expect: map[string]any{}}
	for _, name := range tuiRecordings {
		fixture.UnpackTo(t, name, lab.data)
		dir := filepath.Join(lab.data, name)
		for _, file := range []string{"truth.json", "expected.json"} {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatalf("%s/%s: %v", name, file, err)
			}
			lab.expect[name+"/"+file] = v
		}
		// Some screens show when a file was changed.
		stamp := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(path, stamp, stamp)
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("walks", lab.testWalks)
	t.Run("screens", lab.testScreens)
	t.Run("hostile", lab.testHostile)
	t.Run("quit", lab.testQuit)
}

// fact goes down a JSON document of a recording; a step is a key or an index. It fails
// the test where there is nothing.
func (lab *browserLab) fact(t *testing.T, file string, steps ...any) any {
	t.Helper()
	v, ok := lab.expect[file]
	if !ok {
		t.Fatalf("%s was not read", file)
	}
	for i, step := range steps {
		ok = false
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v, ok = m[step]
		case int:
			if l, _ := v.([]any); step < len(l) {
				v, ok = l[step], true
			}
		}
		if !ok {
			t.Fatalf("%s has nothing at %v", file, steps[:i+1])
		}
	}
	return v
}

// text is a fact as a screen shows it: numbers in decimal, lists as [1, 2].
func (lab *browserLab) text(t *testing.T, file string, steps ...any) string {
	t.Helper()
	return asText(lab.fact(t, file, steps...))
}

func asText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case float64:
		return strconv.FormatInt(int64(v), 10)
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = asText(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// asInt is a number of a JSON document.
func asInt(t *testing.T, v any) int64 {
	t.Helper()
	f, ok := v.(float64)
	if !ok {
		t.Fatalf("%v (%T) is not a number", v, v)
	}
	return int64(f)
}

// terminal is the browser in a tmux server of its own.
type terminal struct {
	t      *testing.T
	socket string
	keys   int // pressed so far
	most   int // that may be pressed; 0: any number
}

// open starts kafsck tui and waits for the first judged screen.
func (lab *browserLab) open(t *testing.T, w, h int, args ...string) *terminal {
	t.Helper()
	return lab.start(t, w, h, append([]string{lab.kafsck, "tui"}, args...)...)
}

// start runs a command line in a terminal of w × h cells.
func (lab *browserLab) start(t *testing.T, w, h int, command ...string) *terminal {
	t.Helper()
	// t.TempDir is too long for a socket's name.
	dir, err := os.MkdirTemp("", "kt")
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", x.socket, "kill-server").Run()
		os.RemoveAll(dir)
	})
	args := []string{"-S", x.socket, "-f", "/dev/null", "-u", "start-server", ";",
		"set-option", "-g", "status", "off", ";",
		"set-option", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), "-c", lab.data, "--"}
	cmd := exec.Command("tmux", append(args, command...)...)
	// What the terminal looks like must not depend on who runs the test.
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "NO_COLOR", "COLORFGBG", "TMUX", "LC_ALL", "LANG", "TERM":
		default:
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	return x
}

// tmux runs a command of the terminal's server.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", x.socket, "-u"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatalf("tmux %q: %v\n%s", args, err, stderr.Bytes())
	}
	return string(out)
}

// screen is what the terminal shows, trailing blanks trimmed.
func (x *terminal) screen() string {
	x.t.Helper()
	lines := strings.Split(strings.TrimSuffix(x.tmux("capture-pane", "-p"), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// longest is how long a screen is waited for: much longer than it ever takes, because the
// machine may be busy with other tests.
var longest = 60 * time.Second

// until polls until the screen is as wanted, and returns it.
func (x *terminal) until(what string, is func(screen string) bool) string {
	x.t.Helper()
	deadline := time.Now().Add(longest)
	pause := 5 * time.Millisecond
	for {
		s := x.screen()
		switch {
		case is(s):
			return s
		case time.Now().After(deadline):
			x.t.Fatalf("after %d keys the screen never showed %s:\n%s", x.keys, what, s)
		}
		time.Sleep(pause)
		pause = min(pause*3/2, 100*time.Millisecond)
	}
}

// sees waits for all of the texts on one screen and returns it.
func (x *terminal) sees(texts ...string) string {
	x.t.Helper()
	return x.until(fmt.Sprintf("%q", texts), func(s string) bool {
		for _, text := range texts {
			if !strings.Contains(s, text) {
				return false
			}
		}
		return true
	})
}

// judged waits until the overview is complete.
func (x *terminal) judged(text string) string {
	x.t.Helper()
	return x.until("a complete overview with "+text, func(s string) bool {
		return strings.Contains(s, text) && !strings.Contains(s, "so far") && !strings.Contains(s, "…  ")
	})
}

// press sends one key by tmux's name of it, and fails where that is one more than the
// walk may take.
func (x *terminal) press(key string) *terminal {
	x.t.Helper()
	if x.keys++; x.most > 0 && x.keys > x.most {
		x.t.Fatalf("key %d (%s): this walk must not take more than %d keys\n%s", x.keys, key, x.most, x.screen())
	}
	if len(key) == 1 {
		x.tmux("send-keys", "-l", key)
	} else {
		x.tmux("send-keys", key)
	}
	return x
}

// atMost says how many keys the walk may take.
func (x *terminal) atMost(keys int) *terminal {
	x.most = keys
	return x
}

// finds is the submatches of an expression on a screen; it fails where there is none.
func (x *terminal) finds(screen, expr string) []string {
	x.t.Helper()
	m := regexp.MustCompile(`(?m)` + expr).FindStringSubmatch(screen)
	if m == nil {
		x.t.Fatalf("nothing on the screen is like %s:\n%s", expr, screen)
	}
	return m[1:]
}

// wants compares facts of a screen with those of a recording.
func (x *terminal) wants(screen, expr string, want ...string) {
	x.t.Helper()
	got := x.finds(screen, expr)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		x.t.Errorf("the screen says %q, the recording %q (%s):\n%s", got, want, expr, screen)
	}
}

// waitFor polls until something holds.
func (x *terminal) waitFor(what string, is func() bool) {
	x.t.Helper()
	for deadline := time.Now().Add(longest); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("%s did not come", what)
		}
	}
}

// alive reports whether the terminal's server still runs: it ends with its program.
func (x *terminal) alive() bool {
	return exec.Command("tmux", "-S", x.socket, "list-sessions").Run() == nil
}

// testQuit: q ends the program from any screen, with the terminal as it was: no other
// screen, a cursor, lines and echo.
func (lab *browserLab) testQuit(t *testing.T) {
	for _, keys := range [][]string{{}, {"Enter"}, {"Enter", "L"}, {"?"}} {
		t.Run(strings.Join(append(keys, "q"), " "), func(t *testing.T) {
			t.Parallel()
			x := lab.start(t, 80, 24, "sh", "-c", `"$@"; echo "exit code $?"; stty -a; exec sleep 600`, "sh", lab.kafsck, "tui", "unclean-election/stage-b")
			x.sees("LOST: 100 committed records")
			for _, k := range keys {
				before := x.screen()
				x.press(k).until("another screen", func(s string) bool { return s != before })
			}
			s := x.press("q").sees("exit code", "icanon", "echoe")
			x.wants(s, `^exit code (\d+)$`, "0")
			if strings.Contains(s, "-icanon") || strings.Contains(s, "-echo ") {
				t.Errorf("the terminal was left raw:\n%s", s)
			}
			if got := strings.TrimSpace(x.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}")); got != "0 1" {
				t.Errorf("alternate screen and cursor are %q, want 0 1", got)
			}
		})
	}
}
