package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/repair/apply"
	"kafsck/report"
)

type repairPlanOptions struct {
	input      inputOptions
	judge      judgeOptions
	kafka      versionFlag
	only, skip []string
	confirm    []string
	truncate   []string
	cutEpoch   []string
	rescan     []string
	out        string
	all        bool
	level      levelFlag
}

func newRepairPlanCommand(a *app) *cobra.Command {
	o := &repairPlanOptions{kafka: versionFlag(broker.Latest), level: levelFlag(report.LevelBatches)}
	cmd := &cobra.Command{
		Use:   "plan PATH... [--out PLAN.json]",
		Short: "What can be mended, what it costs, and who else holds what goes: a plan to review, nothing is done",
		Long: `Plan the repair of log directories: from the findings of kafsck check, one action
each, with what it writes, what proves it, which offsets go (or none), which other
copy holds them, and how to go back. Nothing is written but the plan itself.

Replicas among the PATHs serve each other: a damaged batch is taken from another
one that has the same batches on both sides of it. Give them all.

An action that takes records out of a log, or that is a choice and no proof, waits
for your word: it is done only when named, with --only here, with --confirm at
repair apply, or by "confirmed": true in the plan. What a broker mends by itself at
its next start is planned with --all alone; torn and zero tails always are.

--level records also reads every record: a batch with a right CRC and records that
nobody can read is taken from another replica that has it readable, or cut out, with
your word.

--truncate and --truncate-epoch plan a cut that no finding calls for: between two
batches, of one broker's copy, with what goes and who else holds it. It waits for your
word too. --rescan lowers the recovery point and takes the clean marker away.

--out writes the plan as a document to review and edit. It rests on the SHA-256 of
every file of the directories that it mends: repair apply refuses when one of them
has changed.` + pathHelp + exitHelp(
			"0  nothing to do, and nothing is wrong",
			"1  a plan with work in it, or findings that no repair of files mends",
			"2  something could not be read (3: both)",
			"4  refused: a broker runs on a directory, a file changed while it was read, PLAN.json exists or lies below a PATH"),
		Example: `  kafsck repair plan copies/ --out plan.json
  kafsck repair plan copies/broker-1 copies/broker-2 --only take-from-sibling
  kafsck repair plan copies/ --skip a3 --out plan.json
  kafsck repair plan --level records --topic orders copies/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runRepairPlan(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	o.judge.addFlags(f)
	f.Var(&o.kafka, "kafka", fmt.Sprintf("the `RELEASE` of Kafka that is to start on the result, such as 3.9 (default: what the directories and the metadata say, else %s)", broker.Latest))
	f.StringSliceVar(&o.only, "only", nil, "these actions alone, by `KIND` or id; that confirms them")
	f.StringSliceVar(&o.skip, "skip", nil, "leave these actions out, by `KIND` or id")
	f.StringArrayVar(&o.truncate, "truncate", nil, "plan to cut a log at an offset: `[BROKER:]TOPIC-PARTITION@OFFSET` (repeatable)")
	f.StringArrayVar(&o.cutEpoch, "truncate-epoch", nil, "plan to cut a log where a leader epoch ends: `[BROKER:]TOPIC-PARTITION@EPOCH` (repeatable)")
	f.StringArrayVar(&o.rescan, "rescan", nil, "plan to have a log read whole at the next start: `[BROKER:]TOPIC-PARTITION` (repeatable)")
	f.StringSliceVar(&o.confirm, "confirm", nil, "belongs to repair apply")
	_ = f.MarkHidden("confirm") // only so that whoever types it here is told where it belongs
	f.Var(&o.level, "level", "how deep: batches or records")
	f.StringVar(&o.out, "out", "", "write the plan to the new `FILE`")
	f.BoolVar(&o.all, "all", false, "also what a broker mends at its next start, and leftovers that do no harm")
	return cmd
}

func runRepairPlan(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *repairPlanOptions) error {
	if cmd.Flags().Changed("confirm") {
		return usagef("--confirm belongs to kafsck repair apply, which does what the plan says: this only plans. An action that waits for your word is confirmed there with --confirm ID, here with --only ID, or by \"confirmed\": true in the plan").
			hint("kafsck repair apply PLAN --out DIR --confirm ID")
	}
	if report.Level(o.level) == report.LevelFiles {
		return usagef("--level files: a plan rests on all batches; want batches or records")
	}
	cuts, err := o.truncations()
	if err != nil {
		return err
	}
	scans, err := o.rescans()
	if err != nil {
		return err
	}
	if o.out != "" {
		a.left = nothingWritten
	}
	file, err := newPlanFile(o.out, args)
	defer file.close()
	if err != nil {
		return err
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	opt.Files, opt.Tell, opt.Compare, opt.Transactions = true, true, true, true
	opt.Records = report.Level(o.level) == report.LevelRecords
	opt.NowMs = time.Now().UnixMilli()
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	notes := len(slices.DeleteFunc(slices.Clone(s.findings), func(f finding.Finding) bool { return f.Severity > finding.Note }))
	undecoded := false
	var forks report.PlanForks
	work := s.planning()
	plan, err := repair.Build(ctx, s.inc, repair.BuildOptions{
		Kafsck: version(), Kafka: broker.Version(o.kafka), KafkaNamed: cmd.Flags().Changed("kafka"), Now: time.Now(), All: o.all, Only: o.only, Skip: o.skip, Truncate: cuts, Rescan: scans, Findings: s.findings,
		Typed: s.paths.Typed,
		Seen: func(p *incident.Partition) {
			work.seen(p)
			forks.Add(p)
			if bits := undecodedBits(p); bits != 0 {
				a.fail(bits)
				undecoded = true
			}
			for _, f := range p.Findings {
				if f.Severity == finding.Note {
					notes++
				}
			}
		},
		Hash:     work.hash,
		Progress: work.hashed,
	})
	if err := work.end(ctx, err); err != nil {
		return err
	}
	plan.Paths = args
	if err := dropUnfit(plan); err != nil {
		return err
	}
	if err := file.write(plan); err != nil {
		return err
	}
	if len(plan.Actions) > 0 || plan.Findings() > 0 { // of a plan that is there
		a.fail(exitFindings)
	}
	if o.out != "" {
		ctx = a.written(ctx)
	}
	if a.json {
		j := a.jsonWriter("repair plan")
		j.Notes(s.c.Notes)
		j.Errors(slices.Concat(s.errors(), work.unread))
		j.RepairPlan(plan)
		j.Summary(&s.scope, a.bits, false)
		return done(ctx, j.Err())
	}
	for _, e := range slices.Concat(s.errors(), work.unread) {
		a.complain("%s", e)
	}
	if a.quiet {
		return nil
	}
	t := &report.RepairPlan{Plan: plan, Paths: s.paths, Scope: &s.scope, Out: o.out, Notes: notes, All: o.all, Level: report.Level(o.level), Undecoded: undecoded, Skipped: len(o.skip) > 0, Asked: o.asked(), Forks: forks}
	return done(ctx, t.Print(a.stdout))
}

// asked are the flags that choose what is planned.
func (o *repairPlanOptions) asked() []string {
	var out []string
	for _, f := range []struct {
		name   string
		values []string
	}{{"--only", o.only}, {"--skip", o.skip}, {"--truncate", o.truncate}, {"--truncate-epoch", o.cutEpoch}, {"--rescan", o.rescan}} {
		for _, v := range f.values {
			out = append(out, f.name, v)
		}
	}
	return out
}

// dropUnfit leaves actions out that repair apply would refuse, and tells of them: a plan is what can be
// done.
func dropUnfit(plan *repair.Plan) error {
	for {
		id, err := apply.Fits(plan)
		if err == nil {
			return nil
		}
		i := slices.IndexFunc(plan.Actions, func(a repair.Action) bool { return a.ID == id })
		if i < 0 {
			return &failure{exitBug, fmt.Errorf("the plan that was made cannot be carried out, which is a bug of kafsck: %w", err)}
		}
		a := plan.Actions[i]
		for _, code := range a.Findings {
			plan.Left = append(plan.Left, repair.Left{Code: code, Partition: a.Partition, Root: &a.Root, Why: fmt.Sprintf("the action that was planned for it cannot be carried out, which is a bug of kafsck (%v)", err),
				Next: "Report it, with kafsck check --json of this directory."})
		}
		if err := plan.Select(nil, []string{id}); err != nil {
			return err
		}
	}
}

// truncations are the cuts of --truncate and --truncate-epoch.
func (o *repairPlanOptions) truncations() ([]repair.Truncation, error) {
	var out []repair.Truncation
	for i, typed := range slices.Concat(o.truncate, o.cutEpoch) {
		flag, bits, unit := "--truncate", 64, "OFFSET"
		if i >= len(o.truncate) {
			flag, bits, unit = "--truncate-epoch", 32, "EPOCH"
		}
		t := repair.Truncation{Typed: flag + " " + typed}
		at := strings.LastIndexByte(typed, '@')
		number, err := strconv.ParseInt(typed[at+1:], 10, bits)
		if at < 0 || err != nil || number < 0 || !nameCopy(&t, typed[:at]) {
			return nil, usagef("%s: want [BROKER:]TOPIC-PARTITION@%s, such as 1:orders-0@%d", t.Typed, unit, map[bool]int{true: 7, false: 1200}[bits == 32])
		}
		if t.Offset = number; bits == 32 {
			t.Offset, t.Epoch = 0, &[]int32{int32(number)}[0]
		}
		out = append(out, t)
	}
	return out, nil
}

// rescans are the logs of --rescan.
func (o *repairPlanOptions) rescans() ([]repair.Truncation, error) {
	var out []repair.Truncation
	for _, typed := range o.rescan {
		t := repair.Truncation{Typed: "--rescan " + typed}
		if !nameCopy(&t, typed) {
			return nil, usagef("%s: want [BROKER:]TOPIC-PARTITION, such as 1:orders-0", t.Typed)
		}
		out = append(out, t)
	}
	return out, nil
}

// nameCopy takes [BROKER:]TOPIC-PARTITION apart, and reports whether it is that.
func nameCopy(t *repair.Truncation, name string) bool {
	if broker, rest, ok := strings.Cut(name, ":"); ok {
		id, err := strconv.ParseInt(broker, 10, 32)
		if err != nil || id < 0 {
			return false
		}
		name, t.Broker = rest, &[]int32{int32(id)}[0]
	}
	dir, err := logdir.ParseDirName(name)
	t.Topic, t.Partition = dir.Topic, dir.Partition
	return err == nil && dir.State == logdir.Live
}
