package cli

import (
	"errors"
	"fmt"
)

// Exit bits and codes; see the package comment.
const (
	exitFindings    = 1
	exitIncomplete  = 2
	exitRefused     = 4
	exitUsage       = 64
	exitBug         = 70
	exitHungUp      = 129
	exitInterrupted = 130
	exitTerminated  = 143
)

// usageError is a command line that cannot be meant: exit code 64. Hints stand
// on lines of their own.
type usageError struct {
	message string
	hints   []string
}

func (e *usageError) Error() string { return e.message }

// usagef makes a usageError.
func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// hint adds a line that says what to do instead.
func (e *usageError) hint(format string, args ...any) *usageError {
	e.hints = append(e.hints, fmt.Sprintf(format, args...))
	return e
}

// failure ends a run with other exit bits than exitIncomplete, such as
// exitRefused. A plain error ends it with exitIncomplete.
type failure struct {
	bits int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errInterrupted ends a run that a signal stopped; which one is the cause of the context.
var errInterrupted = errors.New("interrupted")
