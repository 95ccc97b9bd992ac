package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// randomFor is how long TestRandomProgram types: KAFSCK_RANDOM_KEYS=60s, as .ci/full has it.
func randomFor(t *testing.T) time.Duration {
	text := os.Getenv("KAFSCK_RANDOM_KEYS")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KAFSCK_RANDOM_KEYS: %v", err)
	}
	return d
}

// TestRandomProgram types at random into the real program, whose works run in goroutines of
// their own, on disks that are slow and sometimes fail, while the window changes its size: no
// panic, every frame fits, q quits at once, and nothing is left running. Run it with -race.
func TestRandomProgram(t *testing.T) {
	whole := randomFor(t)
	end := time.Now().Add(whole)
	trees := randomTrees(t)
	seed := uint64(time.Now().UnixNano())
	seen := map[string]int{}
	keys := 0
	for i := 0; i == 0 || time.Now().Before(end); i++ {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		tree := trees[i%len(trees)]
		m := newMonkey(t, r, tree, fmt.Sprintf("seed %d, program %d on %s", seed, i, tree))
		m.play(min(whole/4, 3*time.Second))
		for k, n := range m.seen {
			seen[k] += n
		}
		keys += len(m.typed)
		if t.Failed() {
			return
		}
	}
	var names []string
	for k, n := range seen {
		names = append(names, fmt.Sprintf("%s %d", strings.TrimPrefix(k, "*tui."), n))
	}
	slices.Sort(names)
	t.Logf("seed %d: %d keys; on screens: %s", seed, keys, strings.Join(names, ", "))
}

// randomTrees are directories with something for every screen, and one with a log so large
// that scans of it are under way when the next keys come.
func randomTrees(t *testing.T) []string {
	var dirs []string
	names := []string{"unclean-election", "transactions", "divergence", "compaction", "metadata", "internal-topics"}
	if os.Getenv("KAFSCK_RANDOM_KEYS") == "" {
		names = names[:2]
	}
	for _, name := range names {
		dir := fixture.Unpack(t, name)
		if stages, _ := filepath.Glob(filepath.Join(dir, "stage-*")); len(stages) > 0 {
			dir = stages[len(stages)-1]
		}
		dirs = append(dirs, dir)
	}
	big := logtest.Dir(t, `broker 1 ; topic t-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
batch base=0 records=30 epoch=1 codec=lz4 ; batch base=30 records=2 epoch=2 pid=7 pepoch=0 seq=0 txn ; marker commit pid=7 pepoch=0
raw text=junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk
batch base=33 records=5 epoch=2 ; tail zeros=200
segment 40 ; batch base=40 records=9 epoch=3 ; torn bytes=7
epochs 1:0 2:30 3:40 ; hw 49
broker 2 ; topic t-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
batch base=0 records=30 epoch=1 ; batch base=30 records=12 epoch=2 ; batch base=42 records=300 epoch=4
epochs 1:0 2:30 4:42 ; hw 300`)
	for _, broker := range []string{"broker-1", "broker-2"} {
		if err := os.Rename(bigLog(t, 8000, 4<<10, broker == "broker-1"), filepath.Join(big, broker, "big-0")); err != nil {
			t.Fatal(err)
		}
	}
	return append([]string{big}, dirs...)
}

// monkey is the program under a hand that types at random. It is also the model: it knows on
// which screen the keys go.
type monkey struct {
	*app
	t     *testing.T
	r     *rand.Rand
	what  string
	tree  string
	typed []string
	seen  map[string]int
}

// press asks for the next key.
type press struct{}

// openSlow opens a tree of which reads take a moment, and one in a thousand fails.
func openSlow(tree string) func(context.Context) (*Source, error) {
	return func(context.Context) (*Source, error) {
		fsys, err := rofs.Dir(tree)
		if err != nil {
			return nil, err
		}
		var n atomic.Int64
		slow := rofs.Fault(fsys, func(op, name string, pos, length int64) error {
			if op != "read" {
				return nil
			}
			time.Sleep(200 * time.Microsecond)
			if n.Add(1)%1000 == 999 {
				return syscall.EIO
			}
			return nil
		})
		c, err := logdir.DiscoverFS(slow, tree, logdir.Options{})
		if err != nil {
			rofs.Close(fsys)
			return nil, err
		}
		inc := incident.Open(c, incident.Options{Compare: true, Files: true, Tell: true})
		return &Source{Incident: inc, Findings: inc.Findings(), Bytes: 1 << 26, Close: func() { c.Close(); rofs.Close(fsys) }}, nil
	}
}

func newMonkey(t *testing.T, r *rand.Rand, tree, what string) *monkey {
	st, _ := stylesOf([]string{"dark", "light", "plain"}[r.IntN(3)])
	save := func(_ string, write func(io.Writer) error) error { return write(io.Discard) }
	opt := &Options{Open: openSlow(tree), Save: save}
	return &monkey{app: newApp(context.Background(), opt, st), t: t, r: r, what: what, tree: tree, seen: map[string]int{}}
}

// play types for a while and quits.
func (m *monkey) play(d time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.ctx = ctx
	m.w, m.h = 80, 24
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithFPS(120), tea.WithoutSignalHandler())
	m.send = p.Send
	ended := make(chan error, 1)
	go func() { _, err := p.Run(); ended <- err }()
	var err error
	over := time.After(max(d, 300*time.Millisecond))
typing:
	for {
		select {
		case err = <-ended:
			break typing
		case <-over:
			p.Send(tea.KeyMsg{Type: tea.KeyEsc}) // a line that is being typed takes q as text
			p.Send(tea.KeyMsg{Type: tea.KeyEsc})
			p.Send(keyMsg("q"))
			select {
			case err = <-ended:
			case <-time.After(5 * time.Second):
				m.t.Fatalf("%s: q does not quit\n%s", m.what, stacks())
			}
			break typing
		default:
			p.Send(press{})
			// Keys come in bursts, and then one waits for what they did.
			if m.pause() {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	if err != nil {
		m.t.Errorf("%s: %v", m.what, err)
	}
	cancel()
	m.finishWorks()
	if c := m.crashed; c != nil {
		m.t.Fatalf("%s, after %q: %v\n%s", m.what, m.typed[max(0, len(m.typed)-40):], c.value, c.stack)
	}
	m.nothingRuns()
}

var pauses atomic.Uint32

// pause is true now and then; it has no part in what is typed.
func (m *monkey) pause() bool { return pauses.Add(1)%8 == 0 }

// nothingRuns fails if a goroutine of the browser, or of what it calls, is left.
func (m *monkey) nothingRuns() {
	m.t.Helper()
	var left []string
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left = nil
		for _, g := range strings.Split(stacks(), "\n\n") {
			if strings.Contains(g, "testing.tRunner") || strings.Contains(g, "testing.(*T).Run") {
				continue
			}
			if strings.Contains(g, "kafsck/") || strings.Contains(g, "bubbletea") && !strings.Contains(g, "time.(*Timer)") && !strings.Contains(g, "tea.Tick") {
				left = append(left, g)
			}
		}
		if left == nil {
			return
		}
	}
	m.t.Errorf("%s, after %q: left running:\n%s", m.what, m.typed[max(0, len(m.typed)-40):], strings.Join(left, "\n\n"))
}

func stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

func (m *monkey) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	give := func(msg tea.Msg) {
		if m.leaving {
			return
		}
		_, cmd := m.app.Update(msg)
		cmds = append(cmds, cmd)
	}
	if _, ok := msg.(press); !ok {
		give(msg)
		return m, tea.Batch(cmds...)
	}
	m.seen[fmt.Sprintf("%T", m.top().screen)]++
	for _, k := range m.next() {
		m.typed = append(m.typed, k)
		give(keyMsg(k))
	}
	if m.r.IntN(25) == 0 {
		give(tea.WindowSizeMsg{Width: m.r.IntN(180), Height: m.r.IntN(60)})
	}
	if m.leaving {
		return m, tea.Quit
	}
	return m, tea.Batch(cmds...)
}

func (m *monkey) View() string {
	v := m.app.View()
	if lines := strings.Count(v, "\n") + 1; !m.leaving && m.crashed == nil && m.w >= minWidth && m.h >= minHeight && lines != m.h {
		m.crash(crash{value: fmt.Sprintf("%d lines in a window of %d", lines, m.h)})
	}
	return v
}

// next is the next key, or the keys of a whole command line.
func (m *monkey) next() []string {
	line := func(text string) []string {
		return append(append([]string{"esc", "esc", ":"}, strings.Split(text, "")...), "enter")
	}
	pick := func(list []string) string { return list[m.r.IntN(len(list))] }
	switch m.r.IntN(40) {
	case 0, 1: // any screen
		c := screenCommands()[m.r.IntN(len(screenCommands()))]
		if n := len(m.world.refs); n > 0 && m.r.IntN(4) > 0 {
			return line(c.name + " " + m.world.refs[m.r.IntN(n)].Name)
		}
		return line(c.name)
	case 2: // any command
		list := m.commandsOf(m.top().screen)
		c := list[m.r.IntN(len(list))]
		if c.name == "quit" {
			return nil
		}
		return line(c.name + " " + pick([]string{"", "0", "17", "3000", "999999999999", "2 1", "2026-10-29T12:00Z", "dark", "light", "offset", "3.9", "nonsense"}))
	case 3:
		return []string{"esc", "/", pick(strings.Split("abcdeopqrstxyz0123456789!=<>&|\"'\x1b\u202e大é", "")), pick([]string{"enter", "esc", "a", "0"})}
	case 4:
		return []string{"esc", "w", "x", ".", "c", "s", "v", "enter"}
	case 5:
		return []string{"y", pick([]string{"c", "r", "p", "j", "q"})}
	case 6, 7, 8, 9, 10:
		return []string{"enter"}
	case 11, 12, 13, 14:
		return []string{pick([]string{"down", "down", "right", "n", "G", "g", "tab"})}
	}
	if m.line != nil {
		return []string{pick([]string{"a", "0", " ", "tab", "shift+tab", "backspace", "left", "up", "ctrl+u", "ctrl+w", "esc", "enter"})}
	}
	var names []string
	for _, b := range append(slices.Clone(m.top().screen.bindings()), globalKeys...) {
		if b.in != quit && b.in != suspend && (b.in != stopWork || len(m.jobs) > 0) {
			names = append(names, b.keys...)
		}
	}
	return []string{pick(names)}
}
