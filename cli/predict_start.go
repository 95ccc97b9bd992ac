package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type predictStartOptions struct {
	input     inputOptions
	judge     judgeOptions
	kafka     versionFlag
	clean     bool
	unclean   bool
	oneBroker bool
	all       bool
}

func newPredictStartCommand(a *app) *cobra.Command {
	o := &predictStartOptions{kafka: versionFlag(broker.Latest)}
	cmd := &cobra.Command{
		Use:   "start PATH...",
		Short: "What a broker does to these files at its next start: every deletion, cut, rebuild and failure",
		Long: `What a broker does to its log directories when it is started: which files it
deletes (a .deleted segment may be the last copy of lost records: copy it first),
where it cuts a log and which records go with that, which indexes and snapshots
it builds anew, where each log starts and ends afterwards, which directories it
renames to -stray, and whether it starts at all. Nothing is performed.

The start is that of the release given with --kafka. Without it, the directories
of a broker with ZooKeeper or the metadata.version decide where they tell of a
release before 4.0, and the verdict says so; else it is Kafka ` + broker.Latest.String() + `. Whether the
broker was stopped cleanly is read from .kafka_cleanshutdown; --clean and
--unclean say otherwise.

A broker that starts becomes a follower wherever another one leads, and cuts its
log where the two part. Where that throws records away that the leader lacks, the
answer is KEEP STOPPED, whatever the start itself does; the leader's disk must be
among the inputs for that. Who should lead is for predict leader; retention and
cleaning go on as usual and are not told.

Not modelled: a malformed bootstrap.checkpoint (the process ends while it reads
it), a malformed cleaner-offset-checkpoint (the cleaner reads it after the start;
Kafka may then take its log directory offline), and a -future directory that its
broker takes over as the live one because the cluster metadata assign the replica
to that log directory already (KAFKA-16082).` + pathHelp + exitHelp(
			"0  it starts, and nothing of value changes",
			"1  something is cut, or records are deleted with a file, or a directory becomes -stray, or the start fails,",
			"   or the broker throws lost records away as a follower, or who is elected decides what is lost",
			"2  something could not be read (3: both)"),
		Example: `  kafsck predict start copies/broker-1
  kafsck predict start --unclean --kafka 3.9 /var/lib/kafka/data
  kafsck predict start --one-broker disks/d0 disks/d1`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runPredictStart(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	o.judge.addFlags(f)
	o.judge.addGradeFlags(f)
	f.Var(&o.kafka, "kafka", "the `RELEASE` of Kafka that is started, such as 3.9 or 2.8")
	f.BoolVar(&o.clean, "clean", false, "as after a clean shutdown, whether or not .kafka_cleanshutdown is there")
	f.BoolVar(&o.unclean, "unclean", false, "as after a crash, whether or not .kafka_cleanshutdown is there")
	f.BoolVar(&o.oneBroker, "one-broker", false, "all log directories are disks of one broker, whatever their meta.properties say")
	f.BoolVar(&o.all, "all", false, "every partition and every action, also what changes nothing of value")
	return cmd
}

func runPredictStart(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *predictStartOptions) error {
	if o.clean && o.unclean {
		return usagef("--clean and --unclean contradict each other")
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	how := incident.StartOptions{StartOptions: broker.StartOptions{Version: broker.Version(o.kafka), NowMs: time.Now().UnixMilli()}, VersionGiven: cmd.Flags().Changed("kafka"), OneBroker: o.oneBroker}
	if o.clean || o.unclean {
		how.Clean = &o.clean
	}
	starts, err := s.inc.Start(ctx, how)
	if err != nil {
		return done(ctx, err)
	}
	s.inc.ExpectStarts(starts)
	for _, b := range starts.Brokers {
		a.fail(startBits(b))
		for _, failed := range b.Errors {
			if !slices.ContainsFunc(s.errors(), func(x logdir.PathError) bool { return x.Error() == failed.Error() }) {
				s.inc.Errors = append(s.inc.Errors, failed)
				s.scope.Errors++
			}
		}
	}
	return s.give(ctx, answer{
		verb: "predict start",
		bits: partitionStartBits,
		whole: func(j *report.JSON) {
			for _, b := range starts.Brokers {
				j.BrokerStart(b)
			}
		},
		lines: func(j *report.JSON, p *incident.Partition) { j.Start(p) },
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Starts{Paths: s.paths, Scope: &s.scope, Brokers: starts.Brokers, Clusters: s.inc.Clusters, Errors: s.errors(), Assumed: !cmd.Flags().Changed("kafka"), All: o.all}
			return t.Add, func() error { s.explainErrors(); return t.Print(a.stdout) }
		},
	})
}

// startBits are the exit bits of a broker: a start that fails, or a failed read.
func startBits(b *incident.BrokerStart) (bits int) {
	if b.Outcome != broker.OK {
		bits |= exitFindings
	}
	if len(b.Errors) > 0 {
		bits |= exitIncomplete
	}
	for _, d := range b.Dirs {
		if d.Metadata != nil && d.Metadata.Loaded != nil && report.Takes(d.Metadata) {
			bits |= exitFindings
		}
	}
	return bits
}

// partitionStartBits: a log is cut, records go with a file, or a directory leaves service.
func partitionStartBits(p *incident.Partition) (bits int) {
	for _, ps := range p.Starts {
		if ps.Err != nil {
			bits |= exitIncomplete
		}
		if ps.Loaded == nil {
			continue
		}
		if report.TakesValue(ps) {
			bits |= exitFindings
		}
	}
	return bits
}
