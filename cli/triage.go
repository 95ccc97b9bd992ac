package cli

import (
	"context"
	"slices"

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
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return triageCase(ctx, a, cmd, c, args, o, opt)
}

// triageCase is runTriage for inputs that are discovered already.
func triageCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *triageOptions, opt incident.Options) error {
	opt.Compare, opt.Files, opt.Transactions = true, true, true
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	oneBroker := s.brokersWithData <= 1
	if s.brokersWithData == 0 && s.scope.MetadataLogs == 0 {
		a.fail(exitIncomplete) // a log directory without anything to judge in it
	}
	a.fail(listBits(s.findings, finding.Severity(o.judge.failOn)))
	var later []finding.Finding
	bits := func(p *incident.Partition) int {
		n := divergenceBits(p) | lossBits(p) | findingBits(p, finding.Severity(o.judge.failOn))
		if !oneBroker {
			n |= judgedBits(p)
		}
		return n
	}
	return s.give(ctx, answer{
		verb: "triage", judged: true, bits: bits,
		whole: func(j *report.JSON) { j.CaseFindings(s.c, s.findings) },
		later: func() {
			later = s.inc.LaterFindings()
			s.scope.AddFindings(later)
			a.fail(listBits(later, finding.Severity(o.judge.failOn)))
		},
		end: func(j *report.JSON) { j.CaseFindings(s.c, later) },
		lines: func(j *report.JSON, p *incident.Partition) {
			j.Replicas(p)
			j.Ruling(p)
			j.Divergences(p)
			j.Losses(p)
			j.Findings(p)
		},
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Triage{Paths: s.paths, Scope: &s.scope, OneBroker: oneBroker}
			t.Errors(s.errors())
			t.Findings(s.findings)
			return t.Add, func() error {
				t.Findings(later)
				t.Notes(slices.Concat(s.c.Notes, s.inc.LaterNotes(), s.changes()))
				t.Errors(s.late)
				return t.Print(a.stdout, a.bits)
			}
		},
	})
}
