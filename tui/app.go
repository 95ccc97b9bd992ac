package tui

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// app is the root: it owns size, focus and routing, and knows nothing of what the
// screens are about.
type app struct {
	ctx    context.Context
	opt    *Options
	world  *world
	styles *styles
	w, h   int

	stack  []*entry // open screens; those above at were left by "back"
	at     int
	nextID int

	jobs    []*job
	ticking bool
	pending []tea.Cmd    // collected while a message is handled
	running atomic.Int32 // works in their goroutines

	line    *line    // being typed
	over    *overlay // laid over the screen
	copying bool     // after y, before the letter
	notice  notice
	typed   []string // command lines so far

	crashed *crash
	leaving bool
	now     func() time.Time
	send    func(tea.Msg) // to the program from outside; nil in tests
}

// notice is the message in the status line.
type notice struct {
	level level
	text  string // raw
}

// answer is the result of a work, addressed to the screen that asked.
type answer struct {
	to    *entry
	gen   int
	job   *job
	value any
}

// tick redraws progress while something runs.
type tick struct{}

const tickEvery = 150 * time.Millisecond

func newApp(ctx context.Context, opt *Options, st *styles) *app {
	a := &app{ctx: ctx, opt: opt, styles: st, world: newWorld(opt), now: time.Now}
	return a
}

// Init opens the first screen. Nothing is read before the first frame: works begin
// with the event loop.
func (a *app) Init() tea.Cmd {
	a.push(newCase(a.world))
	if a.opt.Tour != nil {
		a.over = &overlay{title: "Tour", lines: a.opt.Tour}
	}
	return a.commands()
}

// Update takes a message. A panic ends the program with the terminal restored.
func (a *app) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			a.crash(crashOf(v))
			cmd = tea.Quit
		}
	}()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
	case tea.KeyMsg:
		a.keys(msg)
	case answer:
		a.answered(msg)
	case tick:
		a.ticking = false
	case notice:
		a.notice = msg
	case crash:
		a.crash(msg)
	}
	return a, a.commands()
}

// commands hands what was collected to bubbletea.
func (a *app) commands() tea.Cmd {
	if a.leaving {
		a.pending = nil
		return tea.Quit
	}
	if len(a.jobs) > 0 && !a.ticking {
		a.ticking = true
		a.pending = append(a.pending, tea.Tick(tickEvery, func(time.Time) tea.Msg { return tick{} }))
	}
	list := a.pending
	a.pending = nil
	return tea.Batch(list...)
}

func (a *app) crash(c crash) {
	if a.crashed == nil {
		a.crashed = &c
	}
	a.leave()
}

// leave ends the program: everything that runs is cancelled.
func (a *app) leave() {
	a.leaving = true
	for _, e := range a.stack {
		e.cancel()
	}
}

func (a *app) top() *entry { return a.stack[a.at] }

// push opens s on top; what "back" had left open above is closed.
func (a *app) push(s screen) {
	if len(a.stack) > 0 {
		a.closeFrom(a.at + 1)
	}
	a.nextID++
	ctx, cancel := context.WithCancel(a.ctx)
	e := &entry{id: a.nextID, screen: s, ctx: ctx, cancel: cancel}
	a.stack = append(a.stack, e)
	a.at = len(a.stack) - 1
	a.notice, a.over = notice{}, nil
	a.launch(e, s.start())
	if r, ok := s.(refresher); ok {
		a.launch(e, r.refresh(&control{a, e}))
	}
}

// replace opens s in the place of the top screen.
func (a *app) replace(s screen) {
	if a.at == 0 {
		a.push(s)
		return
	}
	a.closeFrom(a.at)
	a.at--
	a.push(s)
}

// closeFrom closes the screens from i upwards.
func (a *app) closeFrom(i int) {
	for _, e := range a.stack[i:] {
		e.cancel()
		a.drop(e)
		if c, ok := e.screen.(closer); ok {
			c.close()
		}
	}
	a.stack = a.stack[:i]
}

// move goes back (-1) or forward (1).
func (a *app) move(by int) {
	if i := a.at + by; i >= 0 && i < len(a.stack) {
		a.at = i
		a.notice = notice{}
		a.refresh(a.top())
		return
	}
	if by < 0 {
		a.say(levelOK, "this is the first screen; q quits")
	} else {
		a.say(levelOK, "there is nothing to go forward to")
	}
}

// changed lets the screen on top look at the world again, unless it is who changed it.
func (a *app) changed(by *entry) {
	if len(a.stack) > 0 && a.top() != by {
		a.refresh(a.top())
	}
}

func (a *app) refresh(e *entry) {
	if r, ok := e.screen.(refresher); ok {
		a.launch(e, r.refresh(&control{a, e}))
	}
}

// restart gives up the works of e; their answers are stale from now on.
func (a *app) restart(e *entry) {
	e.gen++
	e.failed = ""
	a.drop(e)
	if r, ok := e.screen.(restarter); ok {
		a.launch(e, r.restarted())
	}
}

// drop stops the jobs of e.
func (a *app) drop(e *entry) {
	rest := a.jobs[:0]
	for _, j := range a.jobs {
		if j.owner == e {
			j.stop()
		} else {
			rest = append(rest, j)
		}
	}
	clear(a.jobs[len(rest):])
	a.jobs = rest
}

// launch runs w for e.
func (a *app) launch(e *entry, w work) {
	if w == nil {
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	j := &job{begun: a.now(), stop: cancel, owner: e, gen: e.gen, running: &a.running}
	a.jobs = append(a.jobs, j)
	a.goOn(context.WithValue(ctx, jobKey{}, j), j, w)
}

// goOn runs w, or the next step of it, under a job that runs.
func (a *app) goOn(ctx context.Context, j *job, w work) {
	j.ctx = ctx
	e, gen := j.owner, j.gen
	a.pending = append(a.pending, func() tea.Msg {
		a.running.Add(1)
		defer a.running.Add(-1)
		return answer{e, gen, j, runWork(ctx, w)}
	})
}

// answered delivers a result, unless nobody waits for it any more.
func (a *app) answered(m answer) {
	if c, ok := m.value.(crash); ok {
		a.crash(c)
		return
	}
	if m.gen != m.to.gen || m.to.ctx.Err() != nil {
		m.job.stop()
		return
	}
	value := m.value
	next, goesOn := value.(more)
	switch _, failed := value.(error); {
	case goesOn && !m.job.stopped:
		value = next.value
		a.goOn(m.job.ctx, m.job, next.next)
	case m.job.stopped && (goesOn || failed || value == nil): // else it was faster than the key
		a.finish(m.job)
		value = errStopped
	default:
		a.finish(m.job)
	}
	if c, ok := value.(crash); ok {
		a.crash(c)
		return
	}
	if value == nil {
		return
	}
	if err, ok := value.(error); ok {
		m.to.failed = err.Error()
	}
	a.launch(m.to, m.to.screen.deliver(value, &control{a, m.to}))
}

// side runs w for the root: its result is a notice for the status line.
func (a *app) side(e *entry, w work) {
	ctx := e.ctx
	a.pending = append(a.pending, func() tea.Msg {
		a.running.Add(1)
		defer a.running.Add(-1)
		return runWork(ctx, w)
	})
}

// finish takes a job off the list.
func (a *app) finish(j *job) {
	j.stop()
	rest := a.jobs[:0]
	for _, o := range a.jobs {
		if o != j {
			rest = append(rest, o)
		}
	}
	clear(a.jobs[len(rest):])
	a.jobs = rest
}

// stopJobs stops everything that runs; false if nothing does.
func (a *app) stopJobs() bool {
	for _, j := range a.jobs {
		j.stopped = true
		j.stop()
	}
	return len(a.jobs) > 0
}

func (a *app) say(l level, text string) { a.notice = notice{l, text} }

// act does what the root keeps for itself, or hands the intent to the screen.
func (a *app) act(b binding) {
	e := a.top()
	ctl := &control{a, e}
	if !b.root {
		a.launch(e, e.screen.handle(b.in, ctl))
		return
	}
	switch b.in {
	case goBack:
		a.move(-1)
	case goForward:
		a.move(1)
	case openHelp:
		a.openHelp()
	case openFilter:
		a.openFilter(e)
	case openCommand:
		a.line = newLine(lineCommand, ":", "")
		a.line.complete, a.line.history = a.completeCommand, a.typed
	case showCommand:
		a.showCommand(e)
	case openCopy:
		a.copying = true
		a.say(levelOK, "copy: c cell, r row, p path, j JSON")
	case openSave:
		a.openSave(e)
	case again:
		a.restart(e)
		a.launch(e, e.screen.start())
	case openCase, openFinds:
		a.openNamed(b.in, ctl)
	case stopWork:
		if !a.stopJobs() {
			a.leave()
		} else {
			a.say(levelOK, "stopping")
		}
	case suspend:
		a.pending = append(a.pending, tea.Suspend)
	case quit:
		a.leave()
	default:
		panic(fmt.Sprintf("the root does not know the intent %q", b.in))
	}
}
