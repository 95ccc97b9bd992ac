package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type groupsOptions struct {
	input   inputOptions
	leaders leaderFlag
	groups  globFlag
	asOf    asOfFlag
	members bool
	all     bool
}

// asOfFlag is --as-of: a time, or an offset in one partition of __consumer_offsets.
type asOfFlag struct {
	text      string
	moment    incident.AsOf
	partition int32 // of __consumer_offsets, -1 not given
}

func (f *asOfFlag) String() string { return f.text }
func (f *asOfFlag) Type() string   { return "TIME|OFFSET|PARTITION:OFFSET" }

func (f *asOfFlag) Set(s string) error {
	f.text, f.moment, f.partition = s, incident.AsOf{}, -1
	offset := s
	if p, rest, ok := strings.Cut(strings.TrimPrefix(s, "__consumer_offsets-"), ":"); ok {
		if n, err := strconv.ParseInt(p, 10, 32); err == nil && n >= 0 {
			f.partition, offset = int32(n), rest
		}
	}
	if n, err := strconv.ParseInt(offset, 10, 64); err == nil && n >= 0 {
		f.moment.Bounded, f.moment.Offset = true, n
		return nil
	}
	if f.partition < 0 {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil && t.UnixMilli() > 0 {
			f.moment.TimeMs = t.UnixMilli()
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-11-30T01:52:00Z, an offset of __consumer_offsets such as 1200, or its partition and an offset such as 7:1200")
}

func newGroupsCommand(a *app) *cobra.Command {
	o := &groupsOptions{asOf: asOfFlag{partition: -1}}
	cmd := &cobra.Command{
		Use:   "groups PATH...",
		Short: "Consumer groups: positions, members, and what each group will find where it goes on",
		Long: `Show consumer groups as __consumer_offsets tells of them: committed positions,
members, generation or epoch, protocol and state, for classic groups, those of
KIP-848, share and streams groups. Each position is held against the log that it
points into: the lag, whether it lies beyond the log end or below the log start,
and whether the log was truncated and written anew below it. Commits in
transactions count only behind their COMMIT marker.

With --as-of the positions are those of a moment: a time, or an offset in
__consumer_offsets (commits at or above it do not count yet). Logs are always as
they are now. --topic and --partition choose positions, not inputs.

Only the records that are left after compaction can be seen, and only those of
the partitions of __consumer_offsets among the inputs: a group lives in one of
them, by the hash of its name. Whether a member still lives, only a running
coordinator knows.` + pathHelp + exitHelp(
			"0  done",
			"1  a position lies beyond the log end, or above records that were replaced",
			"2  something could not be read, no partition of __consumer_offsets is among the inputs, or not the one in which the",
			"   group asked for lives (3: both)"),
		Example: `  kafsck groups copies/
  kafsck groups --group billing copies/
  kafsck groups --topic orders --members copies/broker-1 copies/broker-2
  kafsck groups --group billing --as-of 2026-11-30T01:52:00Z copies/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runGroups(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	f.Var(&o.groups, "group", "only groups that match, such as 'billing*' (repeatable)")
	f.Var(&o.asOf, "as-of", "positions as of a time, or as of an offset in __consumer_offsets")
	f.BoolVar(&o.members, "members", false, "each member with what it is assigned")
	f.BoolVar(&o.all, "all", false, "every group and position in full, deleted positions too")
	f.Var(&o.leaders, "leader", "take this broker as the leader, whatever the metadata say, such as orders-0=2 (repeatable)")
	return cmd
}

func runGroups(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *groupsOptions) error {
	c, err := a.discover(args, o.input.brokers)
	if err != nil {
		return err
	}
	return groupsCase(ctx, a, cmd, c, args, o)
}

// groupsCase is runGroups for inputs that are discovered already.
func groupsCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *groupsOptions) error {
	// --topic and --partition choose positions: the directories of other topics do not matter,
	// and __consumer_offsets always does.
	in := inputOptions{brokers: o.input.brokers}
	s, err := a.openCase(cmd, c, args, &in, incident.Options{Leaders: o.leaders})
	if err != nil {
		return err
	}
	defer s.close()
	g := s.inc.GroupsAsOf(ctx, o.asOf.moment)
	if ctx.Err() != nil {
		return errInterrupted
	}
	views := g.Views(o.filter())
	if err := o.onePartition(views); err != nil {
		return err
	}
	failed := g.Errors
	s.scope.Errors += len(failed)
	for _, p := range g.Partitions {
		p.Story.Errors = nil // counted among g.Errors
		s.scope.Add(p.Story, absent(p.Story))
	}
	for p := range s.inc.Logs(ctx, views.Wants()) {
		s.scope.Add(p, absent(p))
		views.Meet(p)
		failed = slices.Concat(failed, p.Errors)
	}
	if len(failed) > 0 {
		a.fail(exitIncomplete)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	homeless := o.homeless(s.inc, g, views)
	if len(homeless) > 0 {
		a.fail(exitIncomplete)
	}
	if !slices.ContainsFunc(g.Partitions, func(p *incident.InternalPartition) bool { return p.From != nil }) {
		a.fail(exitIncomplete) // nothing can be told of any group
	}
	for _, v := range views {
		if v.Harmed() > 0 {
			a.fail(exitFindings)
		}
	}
	x := &report.Groups{Paths: s.paths, Scope: &s.scope, Groups: g, Views: views, Clusters: len(s.inc.Clusters), Homeless: homeless,
		AsOf: o.asOf.text, Members: o.members, All: o.all, Chosen: len(o.groups) > 0}
	switch {
	case a.json:
		j := a.jsonWriter("groups")
		j.Notes(s.c.Notes)
		j.Errors(s.errors())
		j.Groups(x)
		j.Errors(failed)
		return s.endJSON(ctx, j, false)
	case a.quiet:
	default:
		err = x.Print(a.stdout)
	}
	s.progress.finish()
	s.explainErrors()
	for _, e := range failed {
		a.complain("%s", e)
	}
	return done(ctx, err)
}

func (o *groupsOptions) filter() incident.GroupFilter {
	f := incident.GroupFilter{OffsetsPartition: o.asOf.partition}
	if len(o.groups) > 0 {
		f.Group = func(group string) bool { return o.groups.match(group) }
	}
	if len(o.input.topics)+len(o.input.partitions) > 0 {
		f.Partition = o.input.selects
	}
	return f
}

// onePartition refuses an offset that would mean another moment for each group.
func (o *groupsOptions) onePartition(views incident.GroupViews) error {
	if !o.asOf.moment.Bounded || o.asOf.partition >= 0 {
		return nil
	}
	for _, v := range views {
		if v.Partition != views[0].Partition || v.Cluster != views[0].Cluster {
			return usagef("--as-of %s: these groups live in several partitions of __consumer_offsets, and offsets count in one", o.asOf.text).
				hint("name one, such as --as-of %d:%s, or one group with --group", views[0].Partition, o.asOf.text)
		}
	}
	return nil
}

// homeless are groups asked for by name that were not found because their partition of
// __consumer_offsets is not among the inputs.
func (o *groupsOptions) homeless(inc *incident.Incident, g *incident.Groups, views incident.GroupViews) []string {
	var out []string
	for _, name := range o.groups {
		if strings.ContainsAny(name, `*?[\`) {
			continue
		}
		found := false
		for _, v := range views {
			found = found || v.Group == name
		}
		for _, cl := range inc.Clusters {
			if found {
				break
			}
			if why := g.WhyAbsent(cl, name); why != "" {
				out = append(out, why)
			}
		}
	}
	if n := o.asOf.partition; n >= 0 && !slices.ContainsFunc(g.Partitions, func(p *incident.InternalPartition) bool { return p.Number == n && p.From != nil }) {
		out = append(out, fmt.Sprintf("partition %d of __consumer_offsets is not among the inputs, or could not be read", n))
	}
	return out
}
