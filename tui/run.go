package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"

	"kafsck/broker"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/quietterm"
)

// Options say what is browsed, and on which terminal.
type Options struct {
	// Open finds and opens the inputs; it is called in the background after the first
	// frame.
	Open func(ctx context.Context) (*Source, error)
	// Command is the command line of a verb over the same inputs, quoted; extra words
	// stand before the paths.
	Command func(verb string, extra ...string) string
	// Save writes a file that the user named: never over an existing one, never into an
	// input. nil: nothing can be saved.
	Save func(name string, write func(io.Writer) error) error
	// Kafka is the release that starts and leaders are predicted for; zero: as the files
	// tell, else the newest.
	Kafka broker.Version
	// Theme is dark, light or plain; "" goes by the environment.
	Theme string
	// Tour is text shown over the first screen; nil without.
	Tour []string

	In  *os.File
	Out *os.File
}

// Source is opened inputs.
type Source struct {
	Incident *incident.Incident
	// Findings belong to no partition: log directories, brokers.
	Findings []finding.Finding
	// Bytes is the size of all .log files that judging reads.
	Bytes int64
	// Typed gives a shown path as the user would type it.
	Typed func(shown string) string
	Close func()
}

// Crash is a panic of ours. The terminal has been restored when it is returned.
type Crash struct {
	Value any
	Stack []byte
}

func (c *Crash) Error() string { return fmt.Sprint(c.Value) }

// ErrClosed says that the terminal went away, or that the context ended.
var ErrClosed = errors.New("the terminal was closed")

// Run shows the browser until the user quits or the context ends. Whatever happens, the terminal is given
// back as it was. The error is that of Options.Open if the inputs could not be opened.
func Run(ctx context.Context, opt Options) error {
	quietterm.Restore()
	st := chooseStyles(quietterm.Term())
	if s, ok := stylesOf(opt.Theme); ok {
		st = s
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := newApp(ctx, &opt, st)
	if w, h, err := term.GetSize(int(opt.Out.Fd())); err == nil {
		a.w, a.h = w, h // the first frame is a whole one
	}
	p := tea.NewProgram(a, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithInput(&watched{opt.In}), tea.WithOutput(opt.Out), tea.WithFPS(120), tea.WithoutSignalHandler())
	a.send = p.Send
	defer spareThreads()()
	_, err := p.Run()
	cancel()
	a.finishWorks()
	if a.crashed != nil {
		return &Crash{a.crashed.value, a.crashed.stack}
	}
	switch {
	case err == nil:
		return a.world.err
	case errors.Is(err, errHungUp), errors.Is(err, syscall.EIO), errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return ErrClosed
	}
	return fmt.Errorf("the terminal: %w", err)
}

// spareThreads lets more goroutines run at once than there are cores, and returns what
// undoes it. Judging keeps every core busy for seconds; a key would wait up to 10 ms,
// twice or three times, until the scheduler takes a core away from it. With threads to
// spare the operating system shares the cores, and it favours who has slept.
func spareThreads() func() {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 2)
	return func() { runtime.GOMAXPROCS(before) }
}

// finishWorks closes the inputs when the works, which were cancelled, have ended. One
// that hangs in a read keeps them open; the process ends soon.
func (a *app) finishWorks() {
	for range 50 {
		if a.running.Load() == 0 {
			a.world.close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

var errHungUp = errors.New("end of input")

// watched is the terminal as input. bubbletea takes the end of its input for silence
// and would wait for ever on a terminal that is gone.
type watched struct{ *os.File }

func (f *watched) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if errors.Is(err, io.EOF) || n == 0 && err == nil && len(p) > 0 {
		return n, errHungUp
	}
	return n, err
}
