package cli

import (
	"context"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/report"
)

type predictLeaderOptions struct {
	input      inputOptions
	judge      judgeOptions
	kafka      versionFlag
	withRepair string
	all        bool
}

// versionFlag is --kafka.
type versionFlag broker.Version

func (f *versionFlag) String() string { return broker.Version(*f).String() }
func (f *versionFlag) Type() string   { return "VERSION" }

func (f *versionFlag) Set(s string) error {
	v, err := broker.ParseVersion(s)
	if err == nil {
		*f = versionFlag(v)
	}
	return err
}

func newPredictLeaderCommand(a *app) *cobra.Command {
	o := &predictLeaderOptions{kafka: versionFlag(broker.Latest)}
	cmd := &cobra.Command{
		Use:   "leader PATH...",
		Short: "For each replica as leader: what the others truncate, what is lost, what is fetched again",
		Long: `For each live replica of a partition as leader: where every other replica cuts
its log when it follows, which records are lost and whether they had been
committed, which transactions and consumer groups break, and how much is fetched
again. One replica is recommended, with the steps that make the controller elect
it. Nothing is ever performed.

Truncation is decided by leader epochs, so each prediction is made twice: with
the leader-epoch-checkpoint files as they are, and as "kafsck repair epochs"
would write them. Where the two differ the files decide about records.

The replicas must be copies of the disks as they are now. A partition is left out
of the text when whoever leads may go on to lead, and no follower drops anything.` + pathHelp + exitHelp(
			"0  the recommended leader loses nothing, and the epoch files are right",
			"1  some partition has no safe leader, a follower keeps other records than its leader, or the epoch files",
			"   decide about records",
			"2  something could not be read, or a replica that leads or may be elected cleanly is not among the inputs",
			"   (3: both)"),
		Example: `  kafsck predict leader copies/
  kafsck predict leader --partition orders-3 broker-1/ broker-2/ broker-3/
  kafsck predict leader --with-repair epochs --partition orders-3 copies/
  kafsck predict leader --kafka 1.1 copies/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runPredictLeader(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addGradeFlags(cmd.Flags())
	cmd.Flags().Var(&o.kafka, "kafka", "release of the brokers, such as 3.9: it decides how followers truncate")
	cmd.Flags().StringVar(&o.withRepair, "with-repair", "", "predict as if this had been repaired first: `epochs`")
	cmd.Flags().BoolVar(&o.all, "all", false, "every partition, also those where nothing is at stake")
	return cmd
}

func runPredictLeader(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *predictLeaderOptions) error {
	if o.withRepair != "" && o.withRepair != "epochs" {
		return usagef("--with-repair %s: want epochs", o.withRepair)
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return predictLeaderCase(ctx, a, cmd, c, args, o, opt)
}

// predictLeaderCase is runPredictLeader for inputs that are discovered already.
func predictLeaderCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *predictLeaderOptions, opt incident.Options) error {
	opt.Compare = true
	opt.Leadership = &incident.LeaderOptions{
		Version: broker.Version(o.kafka), VersionGiven: cmd.Flags().Changed("kafka"), Repaired: o.withRepair != "",
		Regenerate: func(ctx context.Context, p *incident.Partition, c *incident.Copy) (epoch.Cache, error) {
			plan, err := repair.PlanEpochs(ctx, p, c, repair.EpochOptions{})
			if err != nil {
				return nil, err
			}
			return plan.Cache(), nil
		},
	}
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	var plans incident.Plans
	return s.give(ctx, answer{
		verb: "predict leader", judged: true,
		bits: leadershipBits,
		lines: func(j *report.JSON, p *incident.Partition) {
			j.Ruling(p)
			j.Leadership(p)
			plans.Add(p)
		},
		end: func(j *report.JSON) { j.LeaderPlans(plans) },
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Leaders{Paths: s.paths, Scope: &s.scope, All: o.all, Full: len(o.input.partitions) > 0,
				Part: len(o.input.partitions)+len(o.input.topics) > 0}
			return t.Add, func() error { s.explainErrors(); return t.Print(a.stdout) }
		},
	})
}

// leadershipBits: no safe leader, a replica that stays different, or epochs that decide;
// and what an absent replica leaves open.
func leadershipBits(p *incident.Partition) int {
	l := p.Leadership
	if l == nil {
		return 0
	}
	bits := 0
	if l.Open() || l.EraMatters {
		bits |= exitIncomplete
	}
	best := l.Recommended()
	if best == nil || !best.Harmless() || best.RepairFirst || best.Forks() > 0 {
		return bits | exitFindings
	}
	for i := range l.Candidates {
		for k := range l.Candidates[i].Followers {
			if l.Candidates[i].Followers[k].Otherwise != nil {
				return bits | exitFindings
			}
		}
	}
	return bits
}
