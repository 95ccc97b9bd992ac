package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type lossOptions struct {
	input inputOptions
	judge judgeOptions
}

func newLossCommand(a *app) *cobra.Command {
	o := &lossOptions{}
	cmd := &cobra.Command{
		Use:   "loss PATH...",
		Short: "Records gone from the leader's log: which, committed or not, and who still holds them",
		Long: `Records gone from the leader's log: which offsets, whether they had been
committed (so that an acks=all producer was told ok), with the proof, which
copies still hold them, and which consumer groups had read them and what these
meet when they come back. Where a partition has no leader: what would be lost
under each replica.` + pathHelp + exitHelp(
			"0  nothing lost",
			"1  records are lost, or may be; or nobody leads, and they will be whoever is elected",
			"2  something could not be read, or the disk of a leader, or of who may lead, is not among the inputs (3: both)"),
		Example: `  kafsck loss copies/
  kafsck loss --server-log logs/broker-1.log --server-log logs/broker-2.log.gz copies/
  kafsck loss --topic 'orders*' --acks acks.jsonl copies/broker-1 copies/broker-2`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runLoss(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addGradeFlags(cmd.Flags())
	return cmd
}

func runLoss(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *lossOptions) error {
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return lossCase(ctx, a, cmd, c, args, o, opt)
}

// lossCase is runLoss for inputs that are discovered already.
func lossCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *lossOptions, opt incident.Options) error {
	opt.Compare = true
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	return s.give(ctx, answer{
		verb: "loss", judged: true,
		bits: func(p *incident.Partition) int { return lossBits(p) | judgedBits(p) },
		lines: func(j *report.JSON, p *incident.Partition) {
			j.Ruling(p)
			j.Losses(p)
		},
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Losses{Paths: s.paths, Scope: &s.scope}
			t.Notes(s.c.Notes)
			return t.Add, func() error {
				t.Notes(append(s.inc.LaterNotes(), s.changes()...))
				s.explainErrors()
				return t.Print(a.stdout)
			}
		},
	})
}
