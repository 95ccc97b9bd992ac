package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type lsOptions struct{ input inputOptions }

func newLsCommand(a *app) *cobra.Command {
	o := &lsOptions{}
	cmd := &cobra.Command{
		Use:   "ls PATH...",
		Short: "List brokers, log directories and partitions: offsets, epochs, sizes, state",
		Long: `List brokers, log directories and partitions: offsets, epochs, sizes, times and
state, files that were set aside, and files that no broker gives a meaning to.
The logs are read, since only their last batch tells where they end.` + pathHelp + exitHelp(
			"0  done",
			"2  something could not be read"),
		Example: `  kafsck ls copies/`,
		Args:    needPaths,
		RunE:    func(cmd *cobra.Command, args []string) error { return runLs(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	return cmd
}

func runLs(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *lsOptions) error {
	c, err := a.discover(args, o.input.brokers)
	if err != nil {
		return err
	}
	return lsCase(ctx, a, cmd, c, args, o)
}

// lsCase is runLs for inputs that are discovered already.
func lsCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *lsOptions) error {
	s, err := a.openCase(cmd, c, args, &o.input, incident.Options{})
	if err != nil {
		return err
	}
	defer s.close()
	bits := func(*incident.Partition) int { return 0 }
	switch {
	case a.json:
		j := a.jsonWriter("ls")
		j.Notes(s.c.Notes)
		j.LogDirs(s.c)
		j.Errors(s.errors())
		for p := range s.partitions(ctx, bits) {
			j.Replicas(p)
			j.Errors(p.Errors)
		}
		return s.endJSON(ctx, j, false)
	case a.quiet:
		return s.endQuiet(ctx, bits)
	}
	t := &report.Listing{Case: s.c, Scope: &s.scope}
	t.Errors(s.errors())
	for p := range s.partitions(ctx, bits) {
		t.Add(p)
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	return done(ctx, t.Print(a.stdout))
}
