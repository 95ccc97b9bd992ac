package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

// triageOptions are the flags of kafsck PATH...
type triageOptions struct {
	input inputOptions
	judge judgeOptions
}

// runTriage looks at everything and gives the verdict.
func runTriage(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *triageOptions) error {
	opt, err := o.judge.options(cmd)
	if err != nil {
		return err
	}
	c, err := a.discover(args, o.input.brokers)
	if err != nil {
		return err
	}
	return triageCase(ctx, a, cmd, c, args, o, opt)
}

// triageCase is runTriage for inputs that are discovered already.
func triageCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *triageOptions, opt incident.Options) error {
	opt.Compare, opt.Files = true, true
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	oneBroker := s.brokersWithData <= 1
	a.fail(listBits(s.findings, finding.Severity(o.judge.failOn)))
	bits := func(p *incident.Partition) int {
		n := divergenceBits(p) | lossBits(p) | findingBits(p, finding.Severity(o.judge.failOn))
		if !oneBroker {
			n |= judgedBits(p)
		}
		return n
	}
	switch {
	case a.json:
		j := a.jsonWriter("triage")
		j.Notes(s.c.Notes)
		j.Errors(s.errors())
		j.CaseFindings(s.c, s.findings)
		for p := range s.partitions(ctx, bits) {
			j.Replicas(p)
			j.Ruling(p)
			j.Divergences(p)
			j.Losses(p)
			j.Findings(p)
			j.Errors(p.Errors)
		}
		return s.endJSON(ctx, j, true)
	case a.quiet:
		return s.endQuiet(ctx, bits)
	}
	t := &report.Triage{Paths: s.paths, Scope: &s.scope, OneBroker: oneBroker}
	t.Errors(s.errors())
	t.Findings(s.findings)
	for p := range s.partitions(ctx, bits) {
		t.Add(p)
	}
	t.Notes(s.c.Notes)
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	return done(ctx, t.Print(a.stdout, a.bits))
}

// endJSON writes the summary, unless the run was interrupted.
func (s *session) endJSON(ctx context.Context, j *report.JSON, judged bool) error {
	if ctx.Err() == nil {
		j.Summary(&s.scope, s.app.bits, judged)
	}
	s.progress.finish()
	s.explainErrors()
	return done(ctx, j.Err())
}

// endQuiet goes through all partitions for the exit code alone.
func (s *session) endQuiet(ctx context.Context, bits func(*incident.Partition) int) error {
	for p := range s.partitions(ctx, bits) {
		for _, e := range p.Errors {
			s.app.complain("%s", e)
		}
	}
	s.explainErrors()
	return done(ctx, nil)
}
