package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type diffOptions struct {
	input inputOptions
	judge judgeOptions
}

func newDiffCommand(a *app) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff PATH...",
		Short: "Compare the replicas of each partition: common prefix, every difference, its kind",
		Long: `Compare the replicas of each partition: what they have in common, every range
in which they differ, and what kind of difference it is. Each replica is
compared with the leader's, or with all others where nobody leads.` + pathHelp + exitHelp(
			"0  the replicas agree, or a follower is merely behind",
			"1  they differ",
			"2  something could not be read, or a leader's disk is not among the inputs (3: both)"),
		Example: `  kafsck diff copies/
  kafsck diff --partition orders-3 broker-1/ broker-2/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addAllFlag(cmd.Flags())
	return cmd
}

func runDiff(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *diffOptions) error {
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return diffCase(ctx, a, cmd, c, args, o, opt)
}

// diffCase is runDiff for inputs that are discovered already.
func diffCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *diffOptions, opt incident.Options) error {
	opt.Compare = true
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	return s.give(ctx, answer{
		verb: "diff", judged: true,
		bits: func(p *incident.Partition) int { return divergenceBits(p) | judgedBits(p) },
		lines: func(j *report.JSON, p *incident.Partition) {
			j.Ruling(p)
			j.Divergences(p)
		},
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Diff{Paths: s.paths, Scope: &s.scope}
			return t.Add, func() error { s.explainErrors(); return t.Print(a.stdout) }
		},
	})
}
