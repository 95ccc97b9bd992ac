package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"kafsck/repair/apply"
)

// stopped is why a run ends before its time: a signal, with what it is called and the
// exit code, which is that of a shell for a program that the signal killed.
type stopped struct {
	signal os.Signal
	word   string
	code   int
}

func (s *stopped) Error() string { return s.word }

var (
	interrupted = &stopped{os.Interrupt, "interrupted", exitInterrupted}
	stopSignals = []*stopped{
		interrupted,
		{syscall.SIGTERM, "terminated (SIGTERM)", exitTerminated},
		{syscall.SIGHUP, "hung up (SIGHUP)", exitHungUp},
	}
)

// oneStop is how long after the first signal others are the same one: a terminal that is closed
// and timeout(1) send theirs twice, to the process and to its group.
const oneStop = 200 * time.Millisecond

// stopBySignal returns a context that ends with the first signal that asks the program to stop; its
// cause is a *stopped. After that the usual way of dying is restored, so that a second one works
// whatever we are waiting for. A hangup that was ignored from the start (nohup) stays ignored.
func stopBySignal() (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	arrived := make(chan os.Signal, 1)
	for _, s := range stopSignals {
		if s.signal != syscall.SIGHUP || !signal.Ignored(s.signal) {
			signal.Notify(arrived, s.signal)
		}
	}
	go func() {
		select {
		case got := <-arrived:
			for _, s := range stopSignals {
				if s.signal == got {
					cancel(s)
				}
			}
			time.Sleep(oneStop)
			signal.Stop(arrived)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(arrived)
		cancel(context.Canceled)
	}
}

// stop ends a run that a signal stopped: what happened, what is left, how to go on.
func (a *app) stop(by error, err error) int {
	s, ok := errors.AsType[*stopped](by)
	if !ok {
		s = interrupted
	}
	left := a.left
	if l, ok := errors.AsType[interface {
		error
		Left() string
	}](err); ok {
		left = l.Left()
	}
	if left == "" {
		left = "the result is not complete"
	}
	a.complain("%s; %s", s.word, left)
	return s.code
}

// decided reports whether a repair was refused, or failed, whatever signal came meanwhile.
func decided(err error) bool {
	if _, ok := errors.AsType[*apply.Refused](err); ok {
		return true
	}
	_, ok := errors.AsType[*apply.Failed](err)
	return ok
}

// written says that what the command writes is in its place: a signal now comes too late, and what
// remains to be told is told.
func (a *app) written(ctx context.Context) context.Context {
	a.finished = true
	return context.WithoutCancel(ctx)
}

// Words for what a run leaves that a signal stopped.
const (
	nothingWritten = "nothing was written"
	nothingChanged = "nothing was changed"
)
