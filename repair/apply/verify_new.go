package apply

import (
	"context"
	"slices"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

// newFinding is what findings of the result and of the inputs are told apart by: positions and offsets
// may differ between the two.
type newFinding struct {
	code      finding.Code
	partition string
}

// verifyNothingNew fails for a finding of damage or loss in the result of a root that its input does not
// have, or not as often, and of which the plan does not tell. The input is only looked at where the
// result has such findings at all.
func (x *run) verifyNothingNew(ctx context.Context, r *root, list []finding.Finding, partitions map[string]bool) error {
	list = slices.DeleteFunc(list, func(f finding.Finding) bool {
		return f.Severity < finding.Damage || f.At.Partition != "" && !partitions[f.At.Partition] || x.toldOf(r, &f)
	})
	if len(list) == 0 || r.New {
		return nil
	}
	had, err := x.findingsBefore(ctx, r, partitions)
	if err != nil {
		return err
	}
	for _, f := range list {
		key := newFinding{f.Code, f.At.Partition}
		if had[key] -= max(f.Count, 1); had[key] < 0 {
			return x.fail(f.At.File, "%s, which the input did not have: %s", f.Code, f.Summary)
		}
	}
	return nil
}

// toldOf reports whether the plan tells of a finding: as one that it leaves, or by the offsets that it
// loses.
func (x *run) toldOf(r *root, f *finding.Finding) bool {
	if slices.ContainsFunc(x.l.plan.Left, func(l repair.Left) bool { return l.Code == string(f.Code) && l.Partition == f.At.Partition }) {
		return true
	}
	if f.At.Partition == "" {
		return false
	}
	if f.Code == "segment-gap" { // a segment was split there, or what went is held against the losses: verifyLosses
		return true
	}
	for _, a := range x.l.todo {
		if x.l.roots[a.Root] == r && a.Partition == f.At.Partition && len(a.Loses) > 0 && (f.Code == "hanging-transaction" || f.At.From < 0 || f.At.To <= f.At.From || covers(x.l.loses(r, a.Dir), f.At.From, f.At.To)) {
			return true
		}
	}
	return false
}

// findingsBefore counts the findings of damage and loss on the input of a root.
func (x *run) findingsBefore(ctx context.Context, r *root, partitions map[string]bool) (map[newFinding]int, error) {
	c, err := logdir.Discover([]string{r.host}, logdir.Options{})
	if c != nil {
		defer c.Close()
	}
	if err == nil && len(c.Errors) > 0 {
		err = c.Errors[0]
	}
	if err != nil {
		return nil, err
	}
	inc := incident.Open(c, x.judging(r, partitions))
	if len(inc.Errors) > 0 {
		return nil, inc.Errors[0]
	}
	had := map[newFinding]int{}
	count := func(list []finding.Finding) {
		for _, f := range list {
			had[newFinding{f.Code, f.At.Partition}] += max(f.Count, 1)
		}
	}
	count(inc.Findings())
	for p := range inc.Partitions(ctx) {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		count(p.Findings)
	}
	return had, ctx.Err()
}
