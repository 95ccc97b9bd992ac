package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/export"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/report"
	"kafsck/segment"
)

// takeAgainst makes the broker of --against the leader of all partitions there.
func (x *exporter) takeAgainst(c *logdir.Case, opt *incident.Options) error {
	host, err := realPath(x.o.against)
	if err != nil {
		return fmt.Errorf("--against %s: %w", x.o.against, segment.PlainCause(err))
	}
	x.against = host
	leaders := map[string]int32{}
	for p := range c.AllPartitions() {
		if p.State != logdir.Live || !x.isAgainst(p) || !x.o.input.selects(p.Topic, p.Partition) {
			continue
		}
		b := p.LogDir.Broker
		switch id, told := opt.Leaders[p.Name()]; {
		case !b.IDKnown:
			return usagef("--against %s: whose directory it is is not known, it has no meta.properties", x.o.against).hint("name the broker: --broker ID=%s", x.o.against)
		case told && id != b.ID:
			return usagef("--leader %s=%d, and --against is the directory of broker %d", p.Name(), id, b.ID)
		}
		leaders[p.Name()] = b.ID
	}
	if len(leaders) == 0 {
		return usagef("--against %s: there is no partition that was asked for", x.o.against)
	}
	for name, id := range opt.Leaders {
		leaders[name] = id
	}
	opt.Leaders = leaders
	return nil
}

func (x *exporter) isAgainst(p *logdir.Partition) bool {
	return x.against != "" && (p.HostPath == x.against || strings.HasPrefix(p.HostPath, x.against+"/"))
}

// newLog is the log that lost records are held against; nil: none, and why.
func (x *exporter) newLog(p *incident.Partition) (c *incident.Copy, why string) {
	if !p.Ruling.Judged || p.Ruling.Leader == nil {
		if p.Ruling.Removed {
			return nil, "the topic was deleted"
		}
		return nil, "what is lost cannot be told, " + reasonOf(p)
	}
	for _, c := range p.Live() {
		if c.Broker == *p.Ruling.Leader {
			for _, other := range p.Copies {
				if other.Log != nil && other != c && other.State == replica.Live && x.isAgainst(other.Log.Partition) {
					return nil, fmt.Sprintf("%s and %s are both broker %s's; leave the older one out", c.Dir, other.Dir, c.Broker.Name)
				}
			}
			if x.against != "" && x.isAgainst(c.Log.Partition) {
				return c, "the new log (--against)"
			}
			return c, "the leader's log (" + p.Ruling.Why + ")"
		}
	}
	return nil, "the leader's log is not among the inputs"
}

// lostOf exports what a partition lost.
func (x *exporter) lostOf(ctx context.Context, p *incident.Partition, out *report.ExportedPartition) error {
	log, why := x.newLog(p)
	if log == nil {
		x.text.Untold = append(x.text.Untold, p.Name+": "+why)
		return nil
	}
	a := &report.ExportedAgainst{Broker: log.Broker, Dir: log.Dir, Marks: map[string]int64{}, Grades: map[commitment.Grade]int64{}, Retried: p.Retried}
	out.Broker, out.State, out.Dir, out.Why, out.Against = log.Broker, log.State, log.Dir, why, a
	out.LogEnd, out.From = log.Log.LogEndOffset, 1 // no range of its own: To is 0
	hanging := x.hanging(ctx, p)
	var sources []*export.Source
	for i := range p.Losses {
		l := &p.Losses[i]
		if len(x.o.grades) > 0 && !slices.Contains(x.o.grades, l.Committed) {
			x.text.OtherGrades.Add(l)
			continue
		}
		c, remote := holderOf(p, l)
		switch {
		case c != nil:
		case remote:
			a.Untold++
			continue
		default:
			if l.Counts() {
				a.NoCopy++
			}
			continue
		}
		if !slices.Contains(a.Copies, c.Dir) {
			a.Copies = append(a.Copies, c.Dir)
		}
		s := x.source(p, c, hanging)
		s.From, s.To = *l.From, *l.To
		s.Lost = &export.Lost{Committed: string(l.Committed), Acknowledged: string(l.Acknowledged), Cause: l.Cause}
		sources = append(sources, s)
	}
	if len(sources) == 0 && a.NoCopy+a.Untold == 0 {
		return nil
	}
	lost := func() iter.Seq2[*export.Record, error] { return x.lostRecords(ctx, sources) }
	// What is skipped is told when the records are given out, not when they are counted.
	told := make([]*export.Source, len(sources))
	for i, s := range sources {
		again := *s
		told[i] = &again
	}
	first := true
	both := func() iter.Seq2[*export.Record, error] {
		if first {
			first = false
			return lost()
		}
		return x.lostRecords(ctx, told)
	}
	return x.write(p, out, export.Compare(ctx, both, x.source(p, log, hanging).Everything()), told...)
}

// lostRecords are the records of all sources that the filters keep.
func (x *exporter) lostRecords(ctx context.Context, sources []*export.Source) iter.Seq2[*export.Record, error] {
	return func(yield func(*export.Record, error) bool) {
		for _, s := range sources {
			for r, err := range s.Records(ctx) {
				if err == nil && !x.keeps(r) {
					continue
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// holderOf is a copy among the inputs that has the records of a loss; remote: only the remote
// tier has them.
func holderOf(p *incident.Partition, l *incident.Loss) (c *incident.Copy, remote bool) {
	if l.Basis != "copy" || l.From == nil || l.To == nil {
		return nil, false
	}
	for _, ref := range l.Copies {
		if ref.State == incident.RemoteState {
			remote = true
			continue
		}
		for _, c := range p.Copies {
			if c.Log == nil || c.Err != nil || c.Broker != ref.Broker || c.State != ref.State {
				continue
			}
			if c.Dir == ref.File || len(c.Log.Segments) > 0 && c.Log.Segments[0].Log.Path == ref.File {
				return c, false
			}
		}
	}
	return nil, remote
}
