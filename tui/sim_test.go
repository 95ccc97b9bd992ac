package tui

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
)

// sim drives the root without a terminal: messages in, views out. Works run to their
// end, in the order in which they were asked for.
type sim struct {
	t    *testing.T
	app  *app
	cmds []tea.Cmd
	// held: works wait until settle is called.
	held bool
}

// newSim opens the browser on a source; open may be nil for a screen without one.
func newSim(t *testing.T, w, h int, open func(context.Context) (*Source, error)) *sim {
	t.Helper()
	if open == nil {
		open = func(ctx context.Context) (*Source, error) { <-ctx.Done(); return nil, ctx.Err() }
	}
	st, _ := stylesOf("plain")
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s := &sim{t: t, app: newApp(ctx, &Options{Open: open}, st)}
	t.Cleanup(s.app.world.close)
	s.app.w, s.app.h = w, h
	s.push(s.app.Init())
	return s
}

// openFixture is Options.Open on a stage of a recording, such as
// "unclean-election/stage-b".
func openFixture(t *testing.T, name string) func(context.Context) (*Source, error) {
	t.Helper()
	recording, stage, _ := strings.Cut(name, "/")
	return openDir(filepath.Join(fixture.Unpack(t, recording), stage))
}

func openDir(dir string) func(context.Context) (*Source, error) {
	return func(context.Context) (*Source, error) {
		c, err := logdir.Discover([]string{dir}, logdir.Options{})
		if err != nil {
			return nil, err
		}
		inc := incident.Open(c, incident.Options{Compare: true, Files: true, Tell: true})
		return &Source{Incident: inc, Findings: inc.Findings(), Close: func() { c.Close() }}, nil
	}
}

func (s *sim) push(c tea.Cmd) {
	if c != nil {
		s.cmds = append(s.cmds, c)
	}
}

// send delivers one message.
func (s *sim) send(m tea.Msg) {
	_, c := s.app.Update(m)
	s.push(c)
}

// settle runs all works to their end.
func (s *sim) settle() *sim {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for len(s.cmds) > 0 {
		if time.Now().After(deadline) {
			s.t.Fatal("works do not end")
		}
		c := s.cmds[0]
		s.cmds = s.cmds[1:]
		// Only works keep the ticks coming, and nobody looks at progress here.
		s.app.ticking = true
		switch m := c().(type) {
		case nil, tick, tea.QuitMsg:
		case tea.BatchMsg:
			for _, c := range m {
				s.push(c)
			}
		default:
			s.send(m)
		}
	}
	if c := s.app.crashed; c != nil {
		s.t.Fatalf("%v\n%s", c.value, c.stack)
	}
	return s
}

// keys presses keys by bubbletea's names ("j", "enter", "ctrl+c") and lets the works
// end after each.
func (s *sim) keys(names ...string) *sim {
	s.t.Helper()
	for _, n := range names {
		s.send(keyMsg(n))
		if !s.held {
			s.settle()
		}
	}
	return s
}

// text types characters one by one.
func (s *sim) text(text string) *sim {
	s.t.Helper()
	for _, r := range text {
		s.keys(string(r))
	}
	return s
}

var namedKeys = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	"backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	"ctrl+a": tea.KeyCtrlA, "ctrl+b": tea.KeyCtrlB, "ctrl+c": tea.KeyCtrlC, "ctrl+d": tea.KeyCtrlD, "ctrl+e": tea.KeyCtrlE, "ctrl+f": tea.KeyCtrlF,
	"ctrl+k": tea.KeyCtrlK, "ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW, "ctrl+z": tea.KeyCtrlZ,
}

func keyMsg(name string) tea.KeyMsg {
	if k, ok := namedKeys[name]; ok {
		return tea.KeyMsg{Type: k}
	}
	alt := false
	if rest, ok := strings.CutPrefix(name, "alt+"); ok && rest != "" {
		if k, ok := namedKeys[rest]; ok {
			return tea.KeyMsg{Type: k, Alt: true}
		}
		name, alt = rest, true
	}
	if name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}, Alt: alt}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name), Alt: alt}
}

// view is the screen without styles, trailing blanks trimmed.
func (s *sim) view() string {
	lines := strings.Split(ansi.Strip(s.app.View()), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// sees fails unless the screen shows all of the texts.
func (s *sim) sees(texts ...string) *sim {
	s.t.Helper()
	v := s.view()
	for _, text := range texts {
		if !strings.Contains(v, text) {
			s.t.Fatalf("the screen does not show %q:\n%s", text, v)
		}
	}
	return s
}
