package tui

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// TestCrashGivesTheTerminalBack: a panic in a work, in Update or in View of the real
// program ends it at once, and the normal screen is back before the crash is told.
func TestCrashGivesTheTerminalBack(t *testing.T) {
	for _, at := range []string{"work", "update", "view"} {
		st, _ := stylesOf("plain")
		ctx, cancel := context.WithCancel(context.Background())
		a := newApp(ctx, &Options{Open: func(ctx context.Context) (*Source, error) { <-ctx.Done(); return nil, ctx.Err() }}, st)
		a.w, a.h = 80, 24
		l := newListScreen("list", sizes{1})
		l.work = func(context.Context) any { panic("broken invariant") }
		var out bytes.Buffer
		p := tea.NewProgram(withCrashing{a, l}, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithInput(nil), tea.WithOutput(&out), tea.WithoutSignalHandler())
		a.send = p.Send
		ended := make(chan error, 1)
		go func() { _, err := p.Run(); ended <- err }()
		p.Send(keyMsg(map[string]string{"work": "a", "update": "c", "view": "v"}[at]))
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: %v", at, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the program goes on", at)
		}
		cancel()
		if a.crashed == nil || len(a.crashed.stack) == 0 {
			t.Errorf("%s: the crash is not told", at)
		}
		if s := out.String(); strings.LastIndex(s, "\x1b[?1049l") < strings.LastIndex(s, "\x1b[?1049h") {
			t.Errorf("%s: the terminal is not restored: %q", at, s)
		}
	}
}

// withCrashing is the root with a screen opened on it that falls over: by "a" in a work, by
// "c" in Update, by "v" in View.
type withCrashing struct {
	*app
	list *list
}

func (m withCrashing) Init() tea.Cmd {
	cmd := m.app.Init()
	m.app.push(m.list)
	return tea.Batch(cmd, m.app.commands())
}

func (m withCrashing) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok && k.String() == "v" {
		m.list.rows = nil
		return m, nil
	}
	_, cmd := m.app.Update(msg)
	return m, cmd
}
