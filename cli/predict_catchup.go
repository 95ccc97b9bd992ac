package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/report"
)

type catchupOptions struct {
	input          inputOptions
	judge          judgeOptions
	follower       int32
	throttle       rateFlag
	leaderThrottle rateFlag
	moveThrottle   rateFlag
	write          writeRateFlag
	deleteDelay    time.Duration
	kafka          versionFlag
	all            bool
}

func newPredictCatchupCommand(a *app) *cobra.Command {
	o := &catchupOptions{kafka: versionFlag(broker.Latest)}
	cmd := &cobra.Command{
		Use:   "catchup PATH...",
		Short: "What a returning broker throws away and fetches, how long it takes, how much room it needs",
		Long: `What followers do when they meet their leaders: which go on where their log
ends, which are rebuilt because it ends below the leader's log start, how many
bytes each throws away and fetches, how long that takes under a throttle while
new data arrive, and how full the disks get meanwhile: old segments stay until
the file delete delay is over. Copies in -future directories are moves between
the disks of a broker; they have a throttle of their own.

The leader is the one by the metadata; where these name none, the first eligible
replica, and without metadata the newest epoch: then it is called a guess.
A RATE is bytes a second: 50MiB, 1.5GB/s, 1048576. A throttle is one budget of a
broker for all its partitions, on the follower's side (--throttle) and on the
leader's (--leader-throttle); the slower decides. New data count in it, also
those of partitions that have caught up. The network and the disks may be
slower. A throttle that the metadata hold already counts where none is given.

What a follower throws away and its leader lacks is lost, and is told first, with
whether it had been committed. Nothing is ever performed.` + pathHelp + exitHelp(
			"0  every follower is in sync, or goes on where its log ends",
			"1  a follower throws something away, is rebuilt, gets stuck, or may never catch up",
			"2  something could not be read, or a leader's log is not among the inputs (3: both)"),
		Example: `  kafsck predict catchup --throttle 50MiB/s copies/
  kafsck predict catchup --follower 3 --throttle 50MiB --write-rate 8MB copies/
  kafsck predict catchup --follower 3 --leader orders-0=2 copies/broker-2 copies/broker-3

  1 TiB to fetch takes ` + report.Duration(tebibyteSeconds(1)) + ` at 1 MiB/s, and ` + report.Duration(tebibyteSeconds(50)) + ` at 50 MiB/s. While
  producers write 25 MiB/s to the same partitions, it takes ` + report.Duration(tebibyteSeconds(50-25)) + ` at
  50 MiB/s, and never ends at 25 MiB/s.`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runCatchup(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.Int32Var(&o.follower, "follower", -1, "only the replicas of this broker `ID`; disks that are not among the inputs count as empty")
	f.Lookup("follower").DefValue = ""
	f.Var(&o.throttle, "throttle", "follower.replication.throttled.rate of each broker that fetches")
	f.Var(&o.leaderThrottle, "leader-throttle", "leader.replication.throttled.rate of each leader")
	f.Var(&o.moveThrottle, "move-throttle", "replica.alter.log.dirs.io.max.bytes.per.second, for -future copies")
	f.Var(&o.write, "write-rate", "new data meanwhile: RATE for all partitions together that a broker has to catch up, evenly; or PARTITION=RATE for one (repeatable)")
	f.DurationVar(&o.deleteDelay, "delete-delay", time.Minute, "file.delete.delay.ms of the topics, a `TIME` such as 60s")
	f.Var(&o.kafka, "kafka", "the `RELEASE` of the brokers, such as 3.9: it decides how followers truncate, and which commands set a throttle")
	f.BoolVar(&o.all, "all", false, "every partition and every command")
	return cmd
}

// tebibyteSeconds is how long 1 TiB takes at mib MiB/s.
func tebibyteSeconds(mib float64) float64 {
	return broker.CatchUpTimes([]broker.Flow{{Bytes: 1 << 40, Through: []int{0}}}, []float64{mib * (1 << 20)}, 0)[0].Seconds
}

func runCatchup(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *catchupOptions) error {
	if o.deleteDelay < 0 {
		return usagef("--delete-delay %s: want 0 or more", o.deleteDelay)
	}
	how := incident.CatchupOptions{Version: broker.Version(o.kafka), VersionGiven: cmd.Flags().Changed("kafka")}
	if cmd.Flags().Changed("follower") {
		if o.follower < 0 {
			return usagef("--follower %d: want a broker id", o.follower)
		}
		how.Follower = &o.follower
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	opt.Compare = true // which records a follower throws away
	return catchupCase(ctx, a, cmd, c, args, o, opt, how)
}

// catchupCase is runCatchup for inputs that are discovered already.
func catchupCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *catchupOptions, opt incident.Options, how incident.CatchupOptions) error {
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	var j *report.JSON
	if a.json && !a.quiet {
		j = a.jsonWriter("predict catchup")
		j.Notes(s.c.Notes)
		j.Errors(s.errors())
	}
	var list []incident.FollowerCatchup
	var untold []incident.CatchupUntold
	names := map[string]bool{}
	bits := func(p *incident.Partition) int {
		names[p.Name] = true
		before := len(p.Errors)
		found, not := p.Catchups(ctx, how)
		s.scope.Errors += len(p.Errors) - before
		list = append(list, found...)
		unread := unreadReplicas(p, how.Follower)
		untold = append(untold, unread...)
		if not != nil {
			untold = append(untold, *not)
			return exitIncomplete
		}
		if len(unread) > 0 {
			return exitIncomplete
		}
		return 0
	}
	for p := range s.partitions(ctx, bits) {
		switch {
		case j != nil:
			j.Ruling(p)
			j.Errors(p.Errors)
		case a.quiet:
			for _, e := range p.Errors {
				a.complain("%s", e)
			}
		}
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	for name := range sorted(o.write.of) {
		if !names[name] {
			return usagef("--write-rate: no partition %q among the inputs", name)
		}
	}
	plan := incident.PlanCatchups(list, untold, incident.Rates{
		Throttle: float64(o.throttle), LeaderThrottle: float64(o.leaderThrottle), Move: float64(o.moveThrottle),
		Write: o.write.all, WriteOf: o.write.of, DeleteDelay: o.deleteDelay, InForce: s.inc.RatesInForce(),
	})
	a.fail(catchupBits(plan))
	switch {
	case j != nil:
		j.Catchups(plan, s.inc.ThrottlesInForce(plan), how.Version)
		return s.endJSON(ctx, j, false)
	case a.quiet:
		s.explainErrors()
		return done(ctx, nil)
	}
	s.explainErrors()
	t := &report.Catchups{Paths: s.paths, Scope: &s.scope, Plan: plan, InForce: s.inc.ThrottlesInForce(plan), Follower: how.Follower, Version: how.Version, Assumed: !cmd.Flags().Changed("kafka"), Clusters: s.inc.Clusters, All: o.all}
	return done(ctx, t.Print(a.stdout))
}

// unreadReplicas are the followers of a partition of which nothing is known because they could not be
// read.
func unreadReplicas(p *incident.Partition, follower *int32) []incident.CatchupUntold {
	var out []incident.CatchupUntold
	for _, c := range p.Copies {
		if c.Err != nil && c.State == replica.Live && (follower == nil || c.Broker.Known && c.Broker.ID == *follower) {
			out = append(out, incident.CatchupUntold{Partition: p.Name, TopicID: p.TopicID, Why: fmt.Sprintf("the replica of broker %s could not be read: %v", c.Broker.Name, c.Err)})
		}
	}
	return out
}

// catchupBits: a follower that throws something away, or does not get to the end.
func catchupBits(p *incident.CatchupPlan) int {
	for i := range p.Followers {
		if t := &p.Followers[i]; t.Way == broker.Rebuild || t.Truncates() || t.Never() {
			return exitFindings
		}
	}
	return 0
}

// rateFlag is a number of bytes a second.
type rateFlag float64

func (f *rateFlag) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*f), 'f', -1, 64)
}
func (f *rateFlag) Type() string { return "RATE" }

func (f *rateFlag) Set(s string) error {
	v, err := parseRate(s)
	*f = rateFlag(v)
	return err
}

// rateUnits are bytes by their unit. Bits are not among them: "Mb" is a trap.
var rateUnits = map[string]float64{
	"": 1, "B": 1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// parseRate reads "50MiB", "1.5 GB/s", "1048576": bytes a second, at least 1.
func parseRate(s string) (float64, error) {
	number := strings.TrimSuffix(strings.TrimSpace(s), "/s")
	unit := strings.TrimLeft(number, "0123456789.")
	number = strings.TrimSuffix(number, unit)
	factor, known := rateUnits[strings.TrimSpace(unit)]
	v, err := strconv.ParseFloat(number, 64)
	if !known || err != nil {
		return 0, fmt.Errorf("want bytes a second such as 50MiB, 1.5GB/s or 1048576 (units: kB MB GB TB KiB MiB GiB TiB)")
	}
	if v *= factor; v < 1 || v >= math.MaxInt64 {
		return 0, fmt.Errorf("want at least 1 byte a second, and less than 2^63")
	}
	return v, nil
}

// writeRateFlag is --write-rate RATE or PARTITION=RATE, repeatable.
type writeRateFlag struct {
	all float64
	of  map[string]float64
}

func (f *writeRateFlag) String() string { return "" }
func (f *writeRateFlag) Type() string   { return "RATE" }

func (f *writeRateFlag) Set(s string) error {
	at := strings.LastIndexByte(s, '=')
	v, err := parseRate(s[at+1:])
	switch {
	case err != nil:
		return err
	case at < 0 && f.all > 0:
		return fmt.Errorf("the rate of all partitions together is given twice")
	case at < 0:
		f.all = v
	case at == 0:
		return fmt.Errorf("want RATE or PARTITION=RATE, such as orders-0=5MB")
	default:
		if f.of == nil {
			f.of = map[string]float64{}
		}
		f.of[s[:at]] = v
	}
	return nil
}
