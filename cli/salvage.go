package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/repair"
	"kafsck/repair/apply"
	"kafsck/report"
)

type salvageOptions struct {
	input        inputOptions
	leaders      leaderFlag
	prefer       string
	kafka        versionFlag
	out          string
	plan         string
	link, resume bool
	scan         string
}

func newSalvageCommand(a *app) *cobra.Command {
	o := &salvageOptions{kafka: versionFlag(broker.Latest)}
	cmd := &cobra.Command{
		Use:   "salvage PATH... [--out DIR]",
		Short: "The longest good log out of damaged replicas, in a new log directory, with a list of what is missing",
		Long: `Put the longest good log of each partition together from all copies among the
PATHs: live replicas first, then what a broker has set aside (-future, -stray,
-delete, .deleted, .swap). Offsets are kept, batches are whole and unchanged;
everything beside the logs is built anew.

The result follows one line: that of the leader that the metadata name, else of
the copy with the newest chain of leader epochs; --prefer BROKER takes another.
A damaged or missing batch is taken from another copy only where both have the
same batches (offset, epoch, CRC) around it. Batches of another line never go in.

DIR/salvaged is a log directory that a broker starts on, DIR/gaps.json lists the
offsets that no copy has, DIR/lost+found holds, byte for byte with a manifest,
what the result does not have: damaged bytes, batches of other lines, doubles.
Before DIR appears, the result is checked and its start predicted.

Without --out nothing is written: it says what it would do. --plan FILE writes
that as a plan to review, for kafsck repair apply. Inputs are opened read-only
and never changed; cluster metadata are not salvaged.

--scan FILE looks for batches in any file or disk image.` + pathHelp + exitHelp(
			"0  done: no gap, and every whole batch is in the result",
			"1  done, and there are gaps, or whole batches that are not in the result; or it is not as planned",
			"2  something could not be read (3: both)",
			"4  refused: DIR exists or lies in an input, a broker runs on a PATH, a file changed; nothing was written"),
		Example: `  kafsck salvage copies/
  kafsck salvage copies/ --out salvaged
  kafsck salvage copies/broker-1 copies/broker-2 --partition orders-0 --prefer 2 --out salvaged
  kafsck salvage --scan disk.img --out carved`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.scan != "" {
				return nil
			}
			return needPaths(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.scan != "" {
				return runSalvageScan(cmd.Context(), a, cmd, args, o)
			}
			return runSalvage(cmd.Context(), a, cmd, args, o)
		},
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	f.Var(&o.leaders, "leader", "take this broker as the leader, whatever the metadata say, such as orders-0=2 (repeatable)")
	f.StringVar(&o.prefer, "prefer", "", "follow the line of this `BROKER`, by id or folder, wherever it has a copy")
	f.Var(&o.kafka, "kafka", "the `RELEASE` of Kafka that is to start on the result, such as 3.9")
	f.StringVar(&o.out, "out", "", "the new directory `DIR` to write to; it must not exist")
	f.StringVar(&o.plan, "plan", "", "write the plan to the new `FILE`, and nothing else")
	f.BoolVar(&o.link, "link", false, "hard links of closed .log files that are taken whole: a change of one is a change of both")
	f.BoolVar(&o.resume, "resume", false, "go on with what a stopped run left beside DIR")
	f.StringVar(&o.scan, "scan", "", "look for batches in this `FILE`, of any kind: a disk image, a file that lost its name")
	return cmd
}

func runSalvage(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *salvageOptions) error {
	switch {
	case o.out != "" && o.plan != "":
		return usagef("--plan writes a plan alone: carry it out with kafsck repair apply")
	case o.out == "" && (o.link || o.resume):
		return usagef("--link and --resume need --out DIR")
	}
	if o.out != "" {
		if err := apply.MayCreate(o.out, args); err != nil {
			return applyFailure(ctx, err)
		}
	}
	if o.out+o.plan != "" {
		a.left = nothingWritten
	}
	file, err := newPlanFile(o.plan, args)
	defer file.close()
	if err != nil {
		return err
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return incident.Options{Leaders: o.leaders}, nil })
	if err != nil {
		return err
	}
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	version_ := broker.Version(o.kafka)
	if !cmd.Flags().Changed("kafka") && len(s.inc.Clusters) == 1 {
		version_, _ = s.inc.Clusters[0].ReleaseFor(version_, false)
	}
	prefer, err := s.brokerOf("--prefer", o.prefer, &o.input)
	if err != nil {
		return err
	}
	work := s.planning()
	plan, err := repair.Salvage(ctx, s.inc, repair.SalvageOptions{
		Kafsck: version(), Kafka: version_, Now: time.Now(), Prefer: prefer, Typed: s.paths.Typed,
		Seen:     work.seen,
		Hash:     work.hash,
		Progress: work.hashed,
	})
	if err := work.end(ctx, err); err != nil {
		return err
	}
	if len(plan.Salvaged.Partitions) == 0 {
		for _, e := range work.unread {
			a.complain("%s", e)
		}
		s.explainErrors()
		return s.nothingFound(args)
	}
	if gaps, _ := plan.Salvaged.Gaps(); gaps > 0 || plan.Salvaged.Apart() {
		a.fail(exitFindings)
	}
	if slices.ContainsFunc(plan.Salvaged.Partitions, func(p repair.SalvagedPartition) bool { return p.Root < 0 }) {
		a.fail(exitFindings)
	}
	plan.Paths = args
	if err := file.write(plan); err != nil {
		return err
	}
	if o.plan != "" {
		ctx = a.written(ctx)
	}
	t := &report.Salvage{Plan: plan, Paths: s.paths, Scope: &s.scope, File: o.plan, Args: args}
	if o.out != "" {
		if t.Done, err = a.applySalvage(ctx, plan, apply.Options{Out: o.out, Link: o.link, Resume: o.resume, KeepOut: args}); err != nil {
			return err
		}
		ctx = a.written(ctx)
	}
	if a.json {
		j := a.jsonWriter("salvage")
		j.Notes(s.c.Notes)
		j.Errors(slices.Concat(s.errors(), work.unread))
		j.Salvage(plan, t.Done)
		j.Summary(&s.scope, a.bits, false)
		return done(ctx, j.Err())
	}
	for _, e := range slices.Concat(s.errors(), work.unread) {
		a.complain("%s", e)
	}
	if a.quiet {
		return nil
	}
	return done(ctx, t.Print(a.stdout))
}

// applySalvage carries the plan of a salvage out.
func (a *app) applySalvage(ctx context.Context, plan *repair.Plan, opt apply.Options) (*repair.Done, error) {
	bar := &applyProgress{app: a}
	opt.Kafsck, opt.Progress = version(), bar.at
	done, err := apply.Run(ctx, plan, opt)
	bar.finish()
	if err != nil {
		return nil, applyFailure(ctx, err)
	}
	if !done.Complete() {
		a.fail(exitFindings)
	}
	return done, nil
}
