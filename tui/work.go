package tui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// work is something that takes time: reading, judging, sorting a long list. A screen
// returns it, the root runs it in a goroutine of its own and hands the result to the
// screen's deliver, unless the screen was closed or has restarted meanwhile. An error
// is a result like any other; the root shows it as well.
//
// It must return soon after ctx ends, and must not touch what the screen changes: what
// it needs is captured by value when it is made.
type work func(ctx context.Context) any

// more is the result of a work that goes on: value is delivered now, and next runs
// right after under the same job.
type more struct {
	value any
	next  work
}

// errStopped is delivered where the user stopped the work.
var errStopped = errors.New("stopped: this is not complete (R starts it again)")

// stream is work that delivers many values: produce calls emit for each, which waits
// until the last one was taken (so that nothing piles up) and returns false when the
// work is over. What produce returns is delivered last; nil is not delivered.
func stream(produce func(ctx context.Context, emit func(v any) bool) any) work {
	return func(ctx context.Context) any {
		values := make(chan any)
		if j, _ := ctx.Value(jobKey{}).(*job); j != nil {
			j.running.Add(1)
			inner := produce
			produce = func(ctx context.Context, emit func(any) bool) any {
				defer j.running.Add(-1)
				return inner(ctx, emit)
			}
		}
		go func() {
			defer close(values)
			defer func() {
				if v := recover(); v != nil {
					select {
					case values <- crash{v, debug.Stack()}:
					case <-ctx.Done():
					}
				}
			}()
			emit := func(v any) bool {
				select {
				case values <- v:
					return true
				case <-ctx.Done():
					return false
				}
			}
			if last := produce(ctx, emit); last != nil {
				emit(last)
			}
		}()
		var pull work
		pull = func(ctx context.Context) any {
			select {
			case v, ok := <-values:
				if !ok {
					return nil
				}
				return more{v, pull}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return pull(ctx)
	}
}

// job is running work and how far it has come.
type job struct {
	begun   time.Time
	text    atomic.Pointer[jobText]
	total   atomic.Int64 // 0: not known
	done    atomic.Int64
	stop    context.CancelFunc
	stopped bool // by the user
	owner   *entry
	gen     int
	ctx     context.Context
	running *atomic.Int32 // goroutines of works: the inputs are closed when all have ended
}

type jobKey struct{}

// progress tells how far the work of ctx has come; it may be called from several
// goroutines. label is shown beside it ("judging"), units are bytes if bytes is set.
// Work that says nothing is shown without a figure.
func progress(ctx context.Context, label string, total int64, bytes bool) (add func(n int64)) {
	j, _ := ctx.Value(jobKey{}).(*job)
	if j == nil {
		return func(int64) {}
	}
	j.total.Store(total)
	j.done.Store(0)
	j.text.Store(&jobText{label, bytes, time.Now()})
	return func(n int64) { j.done.Add(n) }
}

// jobText is what running work says of itself, from its own goroutine.
type jobText struct {
	label string
	bytes bool
	begun time.Time
}

// describe says what a job is at, for the status line.
func (j *job) describe(now time.Time) string {
	label, bytes, begun := "reading", false, j.begun
	if t := j.text.Load(); t != nil {
		label, bytes, begun = t.label, t.bytes, t.begun
	}
	total, done := j.total.Load(), j.done.Load()
	if total <= 0 {
		if done > 0 && bytes {
			return fmt.Sprintf("%s %s", label, humanBytes(done))
		}
		return label + " …"
	}
	done = min(done, total)
	text := fmt.Sprintf("%s %d%%", label, done*100/total)
	if bytes {
		text += " of " + humanBytes(total)
	}
	if spent := now.Sub(begun); done > 0 && done < total && spent > time.Second {
		left := time.Duration(float64(spent) * float64(total-done) / float64(done))
		text += ", " + humanDuration(left) + " left"
	}
	return text
}

// crash is a panic of ours, caught so that the terminal is given back first.
type crash struct {
	value any
	stack []byte
}

func (c crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.value, c.stack) }

// runWork runs w and turns a panic into a crash.
func runWork(ctx context.Context, w work) (v any) {
	defer func() {
		if p := recover(); p != nil {
			v = crash{p, debug.Stack()}
		}
	}()
	return w(ctx)
}
