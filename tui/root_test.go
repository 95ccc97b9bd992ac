package tui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// list is a small screen for tests of the root: a table and a work on demand.
type list struct {
	*table
	name     string
	got      []any
	work     work
	starting work
}

func newListScreen(name string, r rows) *list {
	return &list{name: name, table: newTable([]column{{name: "name"}, {name: "size", right: true}}, r)}
}

func (l *list) crumb() string   { return l.name }
func (l *list) command() string { return shellWords("kafsck", "ls", l.name) }
func (l *list) start() work     { return l.starting }
func (l *list) bindings() []binding {
	return []binding{{keys: []string{"a"}, in: "work", help: "begin"}, {keys: []string{"b"}, in: "restart", help: "begin anew"}, {keys: []string{"c"}, in: "crash", help: "fall over"}}
}

func (l *list) deliver(v any, ctl *control) work {
	if w, ok := l.deliverTable(v); ok {
		return w
	}
	l.got = append(l.got, v)
	return nil
}

func (l *list) handle(in intent, ctl *control) work {
	switch in {
	case "work":
		return l.work
	case "restart":
		ctl.restart()
		return l.work
	case "crash":
		panic("broken invariant")
	case open:
		ctl.push(newListScreen(l.name+"+", l.rows))
		return nil
	}
	w, _ := l.handleTable(in, ctl)
	return w
}

func (l *list) view(w, h int, st *styles) string { return l.viewTable(w, h, st) }

// sizes are rows with a name and a size.
type sizes []int64

func (r sizes) Len() int { return len(r) }
func (r sizes) Cell(row, col int) string {
	if col == 0 {
		return fmt.Sprintf("file-%d", row)
	}
	return humanBytes(r[row])
}
func (r sizes) Value(row, col int) any {
	if col == 0 {
		return r.Cell(row, 0)
	}
	return r[row]
}
func (r sizes) Severity(row int) level {
	if r[row]%7 == 3 {
		return levelDamage
	}
	return levelOK
}

// withList opens the browser on a list.
func withList(t *testing.T, w, h int, r rows) (*sim, *list) {
	s := newSim(t, w, h, nil)
	l := newListScreen("list", r)
	s.app.stack, s.cmds, s.app.jobs = nil, nil, nil
	s.app.push(l)
	s.push(s.app.commands())
	s.settle()
	return s, l
}

func TestStaleAnswersAreDropped(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{1})
	n := 0
	l.work = func(context.Context) any { n++; return n }
	s.held = true
	s.keys("a", "b", "b")
	s.settle()
	if n != 3 || !slices.Equal(l.got, []any{3}) {
		t.Errorf("%d works ran, delivered: %v", n, l.got)
	}
	s.keys("a", "esc", "enter") // of a screen that stays open below, and answers
	s.settle()
	if !slices.Equal(l.got, []any{3, 4}) {
		t.Errorf("delivered: %v", l.got)
	}
	// A screen that is closed: back, and another one opened in its place.
	above := s.app.top().screen.(*list)
	above.work = func(ctx context.Context) any { <-ctx.Done(); return "late" }
	s.keys("a", "esc", "enter")
	s.settle()
	if len(above.got) != 0 {
		t.Errorf("a closed screen was given %v", above.got)
	}
}

func TestWorkIsStopped(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{1})
	l.work = stream(func(ctx context.Context, emit func(any) bool) any {
		add := progress(ctx, "scanning", 4<<30, true)
		add(1 << 30)
		emit("first")
		<-ctx.Done()
		return ctx.Err()
	})
	s.held = true
	s.keys("a")
	for len(l.got) == 0 { // the first value
		c := s.cmds[0]
		s.cmds = s.cmds[1:]
		s.app.ticking = true
		if m := c(); m != nil {
			if list, ok := m.(tea.BatchMsg); ok {
				s.cmds = append(s.cmds, list...)
			} else {
				s.send(m)
			}
		}
	}
	s.app.now = func() time.Time { return time.Now().Add(10 * time.Second) }
	s.sees("scanning 25% of 4.0 GiB, 30s left", "ctrl+c stops")
	s.keys("ctrl+c")
	s.settle()
	if !slices.Equal(l.got, []any{"first", errStopped}) {
		t.Errorf("delivered %v", l.got)
	}
	s.keys("j").sees("E stopped: this is not complete")
	if s.app.leaving {
		t.Error("ctrl+c quits while something runs")
	}
	if s.keys("ctrl+c"); !s.app.leaving {
		t.Error("ctrl+c does not quit with nothing running")
	}
}

func TestFailedReadIsShown(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{1})
	l.work = func(context.Context) any { return errors.New("t-0/\x1b[2J.log: input/output error") }
	s.keys("a").sees(`E t-0/\x1b[2J.log: input/output error`)
	s.keys("b").sees("E t-0") // it fails again
	l.work = func(context.Context) any { return "fine" }
	if s.keys("b"); strings.Contains(s.view(), "input/output") {
		t.Errorf("an error that is over stays:\n%s", s.view())
	}
}

// TestPanicsEnd: a panic wherever it is ends the program in good order.
func TestPanicsEnd(t *testing.T) {
	for _, at := range []string{"handle", "work", "stream", "view"} {
		s, l := withList(t, 80, 20, sizes{1})
		s.held = true
		switch at {
		case "handle":
			s.keys("c")
		case "work":
			l.work = func(context.Context) any { panic("broken invariant") }
			s.keys("a")
		case "stream":
			l.work = stream(func(context.Context, func(any) bool) any { panic("broken invariant") })
			s.keys("a")
		case "view":
			sent := make(chan tea.Msg, 1)
			s.app.send = func(m tea.Msg) { sent <- m }
			l.rows = nil
			s.app.View()
			s.send(<-sent)
		}
		for range 20 {
			if len(s.cmds) == 0 {
				break
			}
			c := s.cmds[0]
			s.cmds = s.cmds[1:]
			s.app.ticking = true
			switch m := c().(type) {
			case nil, tick, tea.QuitMsg:
			case tea.BatchMsg:
				s.cmds = append(s.cmds, m...)
			default:
				s.send(m)
			}
		}
		if c := s.app.crashed; c == nil || !s.app.leaving || len(c.stack) == 0 {
			t.Errorf("%s: crashed %v, leaving %v", at, c != nil, s.app.leaving)
		}
	}
}

func TestCommandLine(t *testing.T) {
	s := newSim(t, 100, 24, openFixture(t, "unclean-election/stage-b")).settle()
	s.text(":fi").keys("tab").sees(":findings")
	s.text("unc").keys("tab").sees(":findings unclean-demo-0")
	s.keys("enter").sees("findings of unclean-demo-0")
	s.text(":nonsense").keys("enter").sees("! there is no command nonsense here")
	s.keys("esc", "esc").sees("LOST")
	s.text(":f").keys("tab").sees("findings ", "forward")
	s.keys("esc", "]").sees("findings of unclean-demo-0")
	s.text(":theme x").keys("enter").sees("want dark, light or plain").keys("esc")
	s.keys("x").sees("kafsck check --partition unclean-demo-0").keys("esc")
	s.text(":q").keys("enter")
	if !s.app.leaving {
		t.Error(":q does not quit")
	}
}

// TestHelpIsComplete: every binding and command of every screen stands in its help, and no
// screen takes a key away that holds everywhere.
func TestHelpIsComplete(t *testing.T) {
	s := newSim(t, 120, 400, openFixture(t, "unclean-election/stage-b")).settle()
	for _, d := range screenCommands() {
		sc, err := d.open(&control{s.app, s.app.top()}, "")
		if err != nil || sc == nil {
			continue // needs an argument, or is at the bottom anyway
		}
		s.app.push(sc)
		s.push(s.app.commands())
		s.settle()
		checkHelp(t, s, d.name)
	}
	s.app.at = 0
	checkHelp(t, s, "case")
	s.keys("enter")
	checkHelp(t, s, "partition")
}

// checkHelp holds the help of the screen on top against its bindings.
func checkHelp(t *testing.T, s *sim, name string) {
	t.Helper()
	sc := s.app.top().screen
	s.app.openHelp()
	help := s.view()
	s.app.over = nil
	taken := map[string]string{}
	for _, b := range slices.Concat(globalKeys, sc.bindings()) {
		if b.help == "" || b.in == "" || len(b.keys) == 0 {
			t.Errorf("%s: binding %+v is incomplete", name, b)
		}
		if idle(sc, b.in) != "" {
			if strings.Contains(help, b.help) {
				t.Errorf("%s: the help says %q, which does nothing here", name, b.help)
			}
			continue
		}
		if !strings.Contains(help, b.help) {
			t.Errorf("%s: the help does not say %q", name, b.help)
		}
		for _, k := range b.keys {
			if !strings.Contains(help, keyName(k)) {
				t.Errorf("%s: the help does not name %q", name, k)
			}
			if before, ok := taken[k]; ok {
				t.Errorf("%s: %q means %q and %q", name, k, before, b.in)
			}
			taken[k] = string(b.in)
		}
	}
	for _, c := range s.app.commandsOf(sc) {
		if c.help == "" || !strings.Contains(help, ":"+c.name) || !strings.Contains(help, c.help) {
			t.Errorf("%s: the help does not tell of :%s", name, c.name)
		}
	}
	if sc.command() == "" {
		t.Errorf("%s has no command", name)
	}
	if sc.crumb() == "" {
		t.Errorf("%s has no crumb", name)
	}
}

// TestRandomKeys: whatever is typed, nothing breaks and the screen keeps its size.
func TestRandomKeys(t *testing.T) {
	names := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "backspace", "ctrl+u", "ctrl+d", "ctrl+c", "ctrl+w", " "}
	for _, b := range globalKeys {
		if b.in != quit && b.in != suspend {
			names = append(names, b.keys...)
		}
	}
	letters := strings.Split("abcdefghijklmnoprstuvwxyz0123456789!=<>&|\"'\x1b\u202e大é", "")
	open := openFixture(t, "unclean-election/stage-b")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 6))
		s := newSim(t, 80, 24, open)
		var typed []string
		for range 150 {
			key := names[r.IntN(len(names))]
			if r.IntN(3) == 0 {
				key = letters[r.IntN(len(letters))]
			}
			typed = append(typed, key)
			s.held = r.IntN(2) == 0
			s.keys(key)
			if r.IntN(20) == 0 {
				s.send(tea.WindowSizeMsg{Width: r.IntN(130), Height: r.IntN(45)})
			}
			if s.app.leaving { // ctrl+c with nothing running, :quit
				break
			}
			if c := s.app.crashed; c != nil {
				t.Fatalf("seed %d, %q: %v\n%s", seed, typed, c.value, c.stack)
			}
			checkFrame(t, s)
		}
	}
}

// checkFrame: the frame fills the window exactly, and no escape sequence in it but
// colours.
func checkFrame(t *testing.T, s *sim) {
	t.Helper()
	raw := s.app.View()
	lines := strings.Split(raw, "\n")
	if s.app.w >= minWidth && s.app.h >= minHeight && len(lines) != s.app.h {
		t.Fatalf("%d lines in a window of %d:\n%s", len(lines), s.app.h, raw)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > s.app.w {
			t.Fatalf("a line of %d cells in a window of %d: %q", w, s.app.w, l)
		}
	}
	checkForeign(t, raw)
}

// checkForeign fails on anything that could drive a terminal, but for SGR (ESC [ … m).
func checkForeign(t *testing.T, raw string) {
	t.Helper()
	rest := raw
	for {
		i := strings.IndexByte(rest, 0x1b)
		if i < 0 {
			break
		}
		end := strings.IndexFunc(rest[i+1:], func(r rune) bool { return r != '[' && r != ';' && (r < '0' || r > '9') })
		if end < 0 || rest[i+1+end] != 'm' {
			t.Fatalf("an escape sequence that is no colour: %q", rest[i:min(len(rest), i+20)])
		}
		rest = rest[i+1+end:]
	}
	for _, r := range raw {
		if r < ' ' && r != '\n' && r != 0x1b || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Fatalf("%U is in the frame:\n%q", r, raw)
		}
	}
}

// TestBackAndForward: screens left by back stay as they are until another one is opened.
func TestBackAndForward(t *testing.T) {
	s, l := withList(t, 80, 20, sizes{1, 2, 3})
	crumbs := func(want string) {
		t.Helper()
		if got, _, _ := strings.Cut(s.view(), "   "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s.keys("enter", "j", "enter")
	crumbs("kafsck › list › list+ › list++")
	s.keys("esc", "[")
	crumbs("kafsck › list")
	s.keys("]", "]", "]").sees("there is nothing to go forward to")
	crumbs("kafsck › list › list+ › list++")
	ctl := &control{s.app, s.app.top()}
	ctl.back()
	s.sees("2/3") // where the cursor was left
	(&control{s.app, s.app.top()}).replace(newListScreen("other", l.rows))
	crumbs("kafsck › list › other")
	s.keys("]").sees("there is nothing to go forward to")
	s.text("/zzz").keys("enter").sees("none of 3")
	s.keys("esc").sees("no filter any more").keys("esc")
	crumbs("kafsck › list")
	s.keys("esc").sees("this is the first screen")
}
