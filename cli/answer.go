package cli

import (
	"context"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

// answer is what a verb makes of its inputs, partition by partition: the same walk
// for JSON, for the exit code alone, and for text.
type answer struct {
	verb string
	// judged: the summary counts divergences, losses and findings.
	judged bool
	// bits are the exit bits of a partition. It is called once for each, before the others.
	bits func(*incident.Partition) int
	// whole writes JSON lines about the inputs as a whole; may be nil.
	whole func(*report.JSON)
	// lines writes a partition's JSON lines, but for its errors.
	lines func(*report.JSON, *incident.Partition)
	// later judges what only all partitions together tell; it is called when all were judged,
	// before end and print; may be nil.
	later func()
	// end writes JSON lines about all partitions together, before the summary; may be nil.
	end func(*report.JSON)
	// text begins the text: add is called with each partition, print once at the end.
	text func() (add func(*incident.Partition), print func() error)
}

// inputs are the arguments of a verb that judges: discovered directories and options.
func (a *app) inputs(args []string, in *inputOptions, judge func() (incident.Options, error)) (*logdir.Case, incident.Options, error) {
	opt, err := judge()
	if err != nil {
		return nil, opt, err
	}
	c, err := a.discover(args, in.brokers)
	return c, opt, err
}

// give gives the answer in the form that was asked for.
func (s *session) give(ctx context.Context, x answer) error {
	switch {
	case s.app.json:
		j := s.app.jsonWriter(x.verb)
		j.Notes(s.c.Notes)
		j.Errors(s.errors())
		if x.whole != nil {
			x.whole(j)
		}
		for p := range s.partitions(ctx, x.bits) {
			x.lines(j, p)
			j.Errors(p.Errors)
		}
		j.Notes(append(s.inc.LaterNotes(), s.changes()...))
		j.Errors(s.late)
		x.judgeLater(ctx)
		if x.end != nil && ctx.Err() == nil {
			x.end(j)
		}
		return s.endJSON(ctx, j, x.judged)
	case s.app.quiet:
		err := s.endQuiet(ctx, x.bits)
		x.judgeLater(ctx)
		return err
	}
	add, print := x.text()
	for p := range s.partitions(ctx, x.bits) {
		add(p)
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	x.judgeLater(ctx)
	return done(ctx, print())
}

func (x *answer) judgeLater(ctx context.Context) {
	if x.later != nil && ctx.Err() == nil {
		x.later()
	}
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
