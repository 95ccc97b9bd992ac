package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kafsck/logdir"
	"kafsck/report"
)

// app is one run of kafsck: its streams, the flags that every command has, and
// the exit bits collected so far.
type app struct {
	stdin  io.Reader
	stdout io.Writer // the result; buffered, flushed by Main
	stderr io.Writer // everything else
	// terminal streams, for progress only
	rawOut, rawErr io.Writer

	json  bool // --json
	quiet bool // --quiet: the exit code and errors only
	bits  int  // exit bits collected so far

	begun    bool   // JSON output has begun
	finished bool   // what the command writes is in its place; see written
	left     string // what a run leaves that a signal stops; "" an incomplete result

	unread []logdir.PathError // inputs that could not be read
}

// Main runs kafsck with args (without the program's name) and returns its exit
// code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Buffers for big batches come and go; a soft limit keeps the collector close
	// behind them, so that memory stays below what docs promise.
	debug.SetMemoryLimit(192 << 20)
	out := bufio.NewWriterSize(stdout, 64<<10)
	a := &app{stdin: stdin, stdout: out, stderr: stderr, rawOut: stdout, rawErr: stderr}
	ctx, end := stopBySignal()
	defer end()

	return a.guard(func() int {
		err := a.execute(ctx, args)
		if flushErr := out.Flush(); err == nil && flushErr != nil {
			err = fmt.Errorf("writing the result: %w", flushErr)
		}
		switch {
		case ctx.Err() != nil && !a.finished && !decided(err):
			return a.stop(context.Cause(ctx), err)
		case errors.Is(err, syscall.EPIPE):
			return a.bits // whoever read the result has seen enough
		case err != nil:
			return a.explain(err)
		}
		return a.bits
	})
}

// guard turns a panic, which is a broken invariant of ours, into a message and
// exitBug: Go's own exit code for it, 2, means something else here.
func (a *app) guard(run func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			a.complain("a bug of ours: %v", r)
			a.complain("nothing was changed; please report this with the lines below")
			fmt.Fprintf(a.stderr, "%s", debug.Stack())
			code = exitBug
		}
	}()
	return run()
}

// execute builds the command tree and runs it.
func (a *app) execute(ctx context.Context, args []string) error {
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() == nil {
		a.failedJSON(cmd, err)
	}
	return err
}

// failedJSON ends a run that got nowhere, for readers of JSON: the first and the last
// line are there whatever happened, and what went wrong stands between. A command line
// that cannot be meant has no output.
func (a *app) failedJSON(cmd *cobra.Command, err error) {
	if _, usage := errors.AsType[*usageError](err); usage || !a.json || a.quiet || a.begun {
		return
	}
	name := "triage"
	if cmd.HasParent() {
		name = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	}
	j := a.jsonWriter(name)
	j.Errors(a.unread)
	own, ok := errors.AsType[logdir.PathError](err)
	if !ok {
		own = logdir.PathError{Path: strings.Join(cmd.Flags().Args(), " "), Err: err}
	}
	j.Errors([]logdir.PathError{own})
	j.Summary(&report.Scope{Errors: len(a.unread) + 1}, a.codeOf(err), false)
}

// codeOf is the exit code of a run that ended with err.
func (a *app) codeOf(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return a.bits | f.bits
	}
	return a.bits | exitIncomplete
}

// explain prints an error the way people can use it and returns the exit code.
func (a *app) explain(err error) int {
	if usage, ok := errors.AsType[*usageError](err); ok {
		a.complain("%s", usage.message)
		for _, h := range usage.hints {
			a.complain("hint: %s", h)
		}
		return exitUsage
	}
	if errors.Is(err, errInterrupted) {
		return a.stop(interrupted, err)
	}
	a.complain("%s", pathFirst(err))
	return a.codeOf(err)
}

// pathFirst words a bare error of a file as those of inputs are: the path, then what failed.
func pathFirst(err error) string {
	bare := err
	if f, ok := err.(*failure); ok {
		bare = f.err
	}
	if p, ok := bare.(*fs.PathError); ok {
		return fmt.Sprintf("%s: %s: %v", p.Path, p.Op, p.Err)
	}
	return err.Error()
}

// complain writes one message to stderr: the program's name, no capital, no full
// stop. Names in it are escaped.
func (a *app) complain(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Fprintf(a.stderr, "kafsck: %s\n", report.Escape(strings.TrimRight(line, "\n")))
	}
}

// fail adds exit bits.
func (a *app) fail(bits int) { a.bits |= bits }

// jsonWriter begins JSON output: the first object names command and version.
// Every command that supports --json ends with its Summary.
func (a *app) jsonWriter(command string) *report.JSON {
	a.begun = true
	return report.NewJSON(a.stdout, command, version())
}

// discover looks at paths and tells of everything that could not be looked at:
// on stderr, in the exit code, and by the returned case's Errors. An error means
// that there is nothing to go on with.
func (a *app) discover(paths []string, brokers []logdir.BrokerID) (*logdir.Case, error) {
	c, err := logdir.Discover(paths, logdir.Options{BrokerIDs: brokers})
	if err != nil {
		return nil, err
	}
	if a.unread = c.Errors; len(a.unread) > 0 {
		a.fail(exitIncomplete)
	}
	return c, nil
}

// version is that of the module, as the build recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// needPaths is the argument rule of commands that take PATH...
func needPaths(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a PATH: a log directory, a partition directory, or a folder of several", cmd.CommandPath()).
			hint("%s", cmd.UseLine())
	}
	return nil
}
