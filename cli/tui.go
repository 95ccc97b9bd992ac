package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/outfile"
	"kafsck/logdir"
	"kafsck/tui"
)

// tuiOptions are the flags of kafsck tui.
type tuiOptions struct {
	input inputOptions
	judge judgeOptions
	kafka versionFlag
	theme string
}

func newTUICommand(a *app) *cobra.Command {
	o := &tuiOptions{kafka: versionFlag(broker.Latest)}
	cmd := &cobra.Command{
		Use:   "tui PATH...",
		Short: "Browse an incident on the terminal",
		Long: `Browse the inputs on the terminal: the case, its partitions, what differs and what
is lost, down to the bytes of a batch. It opens at once and reads in the background.
? shows all keys, x the command that gives the same as text, q quits.` + pathHelp + exitHelp(
			"0  it was opened and left",
			"2  the inputs could not be opened"),
		Example: `  kafsck tui copies/
  kafsck tui --topic 'orders*' copies/
  kafsck demo --tui                   the embedded incident`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runTUI(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addGradeFlags(cmd.Flags())
	cmd.Flags().Var(&o.kafka, "kafka", "the `RELEASE` of Kafka that starts and leaders are predicted for, such as 3.9 or 2.8")
	cmd.Flags().StringVar(&o.theme, "theme", "", "colours for a `BACKGROUND`: dark, light, or plain for none (default: by NO_COLOR and COLORFGBG, else dark)")
	return cmd
}

func runTUI(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *tuiOptions) error {
	opt, err := o.judge.options(cmd)
	if err != nil {
		return err
	}
	for _, path := range args {
		if _, err := os.Lstat(path); err != nil && os.IsNotExist(err) {
			return usagef("%s: there is no such file or directory", path)
		}
	}
	release := broker.Version{}
	if cmd.Flags().Changed("kafka") {
		release = broker.Version(o.kafka)
	}
	return a.browse(ctx, browse{
		cmd: cmd, args: args, input: &o.input, judge: opt, theme: o.theme, kafka: release,
		discover: func() (*logdir.Case, error) {
			return logdir.Discover(args, logdir.Options{BrokerIDs: o.input.brokers})
		},
	})
}

// browse is what the browser is opened on.
type browse struct {
	cmd      *cobra.Command
	args     []string
	input    *inputOptions
	judge    incident.Options
	theme    string
	kafka    broker.Version
	tour     []string
	discover func() (*logdir.Case, error)
}

// browse opens the browser and waits for its end.
func (a *app) browse(ctx context.Context, b browse) error {
	name := b.cmd.CommandPath()
	if b.tour != nil {
		name = "kafsck demo --tui"
	}
	in, inOK := a.stdin.(*os.File)
	out, outOK := a.rawOut.(*os.File)
	switch {
	case a.json || a.quiet:
		return usagef("%s has neither --json nor --quiet: it is for people", name).hint("%s", a.textVerbs(b))
	case !inOK || !outOK || !isTerminal(in) || !isTerminal(out):
		return usagef("%s needs a terminal", name).hint("%s", a.textVerbs(b))
	}
	if b.theme != "" && b.theme != "dark" && b.theme != "light" && b.theme != "plain" {
		return usagef("--theme %s: want dark, light or plain", b.theme)
	}
	again := againOf(b.cmd, b.args)
	a.left = "the browser was closed"
	err := tui.Run(ctx, tui.Options{
		Open:    func(ctx context.Context) (*tui.Source, error) { return b.open(ctx) },
		Command: again,
		Save:    func(name string, write func(io.Writer) error) error { return saveBeside(name, b.args, write) },
		Theme:   b.theme,
		Kafka:   b.kafka,
		Tour:    b.tour,
		In:      in,
		Out:     out,
	})
	var crash *tui.Crash
	switch {
	case errors.As(err, &crash):
		a.complain("a bug of ours: %v", crash.Value)
		a.complain("nothing was changed; please report this with the lines below")
		fmt.Fprintf(a.stderr, "%s", crash.Stack)
		return &failure{exitBug, errors.New("the browser ended")}
	case errors.Is(err, tui.ErrClosed):
		return nil // nobody is there to be told
	}
	return err
}

// textVerbs names what gives the same without a terminal.
func (a *app) textVerbs(b browse) string {
	if b.tour != nil {
		return "kafsck demo tells the same as text"
	}
	return fmt.Sprintf("as text or with --json: %s, and the verbs ls, check, diff, loss, epochs, dump, history (kafsck --help)", againOf(b.cmd, b.args)(""))
}

// open finds the inputs and reads their metadata; nothing is judged yet.
func (b browse) open(ctx context.Context) (*tui.Source, error) {
	c, err := b.discover()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		c.Close()
		return nil, ctx.Err()
	}
	// Exit bits, progress and complaints are not for a browser: it shows them itself.
	quiet := &app{stdout: io.Discard, stderr: io.Discard, rawOut: io.Discard, rawErr: io.Discard, quiet: true}
	opt := b.judge
	opt.Compare, opt.Files, opt.Tell, opt.Background = true, true, true, true
	s, err := quiet.openCase(b.cmd, c, b.args, b.input, opt)
	if err != nil {
		return nil, err
	}
	return &tui.Source{
		Incident: s.inc, Findings: s.findings, Bytes: s.bytes(b.input),
		Typed: s.paths.Typed, Close: s.close,
	}, nil
}

// saveBeside writes a file that the user named, which must not exist and must not lie in
// an input.
func saveBeside(name string, inputs []string, write func(io.Writer) error) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	for _, in := range inputs {
		host, err := filepath.Abs(in)
		if err == nil {
			host, err = filepath.EvalSymlinks(host)
		}
		if err != nil {
			continue // such as the name of an embedded tree
		}
		if rest, err := filepath.Rel(host, dir); err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
			return fmt.Errorf("%s lies in an input, and inputs are never changed", name)
		}
	}
	f, err := outfile.Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}
