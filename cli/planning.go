package cli

import (
	"context"
	"errors"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/manifest"
	"kafsck/repair"
)

// planning is a plan under way: what repair plan and salvage tell meanwhile, and what they count.
type planning struct {
	s       *session
	unread  []logdir.PathError // failed reads of partitions
	hashing *progress
}

func (s *session) planning() *planning { return &planning{s: s, hashing: &progress{}} }

// seen takes a partition that was judged.
func (p *planning) seen(x *incident.Partition) {
	p.s.scope.Add(x, absent(x))
	if p.unread = append(p.unread, x.Errors...); len(x.Errors) > 0 {
		p.s.app.fail(exitIncomplete)
	}
}

// hash begins the second bar: bytes of inputs that are hashed, in all.
func (p *planning) hash(total int64) {
	p.s.progress.finish()
	p.hashing = p.s.app.newProgress(total)
}

func (p *planning) hashed(n int64) { p.hashing.add(n) }

// end ends the bars and gives what ended the plan its exit code; err is nil when there is a plan.
func (p *planning) end(ctx context.Context, err error) error {
	p.s.progress.finish()
	p.hashing.finish()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return planFailed(err)
	}
	return nil
}

// planFailed gives a plan that could not be made its exit code.
func planFailed(err error) error {
	if x, ok := errors.AsType[*repair.Unnamed](err); ok {
		return usagef("%s", x)
	}
	if x, ok := errors.AsType[*repair.Uncut](err); ok {
		return usagef("%s", x)
	}
	if x, ok := errors.AsType[*repair.NeedRelease](err); ok {
		return usagef("%s", x)
	}
	if _, ok := errors.AsType[*repair.Running](err); ok || repair.Changed(err) || errors.Is(err, manifest.ErrChanging) {
		return &failure{exitRefused, err}
	}
	return &failure{exitIncomplete, err}
}
