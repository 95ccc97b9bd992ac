package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type historyOptions struct {
	input    inputOptions
	judge    judgeOptions
	all      bool
	csv      bool
	churn    bool
	limit    int
	from, to timeFlag
	skew     skewFlag
}

func newHistoryCommand(a *app) *cobra.Command {
	o := &historyOptions{}
	cmd := &cobra.Command{
		Use:   "history PATH...",
		Short: "Who led when: leaders, ISR, ELR, unclean elections and what they lost, from the cluster metadata",
		Long: `Who led each partition when, with which in-sync replicas (ISR), eligible leader
replicas (ELR) and leader epochs, by the cluster metadata (__cluster_metadata-0)
of any broker or controller. All copies among the inputs are joined: an older one
may hold what newer ones have replaced by a snapshot, and a copy that parts from
the others is named. Unclean elections are told with their proof and with what
they lost, if the partition's directories are among the inputs. How far back the
metadata reach is said, and so what is not known.

--server-log lets the brokers' own text logs tell how much was lost where no copy
holds it any more.

--all joins everything that carries a time into one timeline: metadata, the first
and last batch of each epoch in each replica, files, --server-log lines, traces of
records that are gone. Every row says whose clock it is; --skew corrects a
broker's clock.` + pathHelp + exitHelp(
			"0  told; no unclean election is known to have lost records",
			"1  an unclean election lost records, or may have; with --all or --server-log, anything else did; or the metadata",
			"   are damaged, have a gap, or their copies fork",
			"2  something could not be read, or what an unclean election lost cannot be told because the disk of the leader, or",
			"   of the one before, is not among the inputs (3: both)"),
		Example: `  kafsck history copies/
  kafsck history --partition orders-3 --limit 0 copies/
  kafsck history --from '2026-11-30 03:20' --to '2026-11-30 03:40' controller-1/
  kafsck history --server-log logs/broker-1.log --server-log logs/broker-2.log copies/
  kafsck history --all --server-log logs/broker-1.log --skew 2=-1.5s copies/
  kafsck history --all --csv copies/ > timeline.csv`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runHistory(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	f.BoolVar(&o.all, "all", false, "one timeline of all that carries a time")
	f.BoolVar(&o.csv, "csv", false, "the timeline as CSV (as --all does); its column to is the offset behind the last, as in --json")
	f.BoolVar(&o.churn, "churn", false, "totals of every partition and broker, not only of the busiest")
	f.IntVar(&o.limit, "limit", 24, "rows of each table, the oldest and the newest; 0 shows all")
	f.Var(&o.from, "from", "only what happened at this time or later, such as 2026-11-30T03:20:00Z or '2026-11-30 03:20' (UTC)")
	f.Var(&o.to, "to", "only what happened before this time")
	f.Var(&o.skew, "skew", "how far a broker's clock was ahead (negative: behind), such as 2=-1.5s: it is taken off its times in --all (repeatable)")
	o.judge.addFlags(f)
	o.judge.addGradeFlags(f)
	return cmd
}

func runHistory(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *historyOptions) error {
	o.all = o.all || o.csv
	switch {
	case o.csv && a.json:
		return usagef("--csv and --json are two forms of one answer; give one of them")
	case o.limit < 0:
		return usagef("--limit %d: want a number of rows, 0 for all", o.limit)
	case len(o.skew) > 0 && !o.all:
		return usagef("--skew needs --all: only a timeline joins several clocks")
	case o.from.set && o.to.set && o.to.ms <= o.from.ms:
		return usagef("--to is not after --from")
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return historyCase(ctx, a, cmd, c, args, o, opt)
}

// historyCase is runHistory for inputs that are discovered already.
func historyCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *historyOptions, opt incident.Options) error {
	r := &historyRun{app: a, o: o, stories: map[storyKey]*incident.PartitionHistory{}}
	s, err := r.open(cmd, c, args, opt)
	if err != nil {
		return err
	}
	defer s.close()
	window := incident.HistoryOptions{FromMs: o.from.ms, ToMs: o.to.ms}
	r.histories = s.inc.Histories(window)
	r.index()
	if !o.all && len(opt.ServerLogs) > 0 {
		r.truncated(s.inc)
	}
	if err := r.known(); err != nil {
		return err
	}
	s.progress = a.newProgress(r.bytes(c))
	skew := incident.TimelineOptions{Skew: o.skew, FromMs: window.FromMs, ToMs: window.ToMs}
	var line *incident.Timeline
	if o.all {
		line = s.inc.NewTimeline(r.histories, skew)
	}
	var failed []logdir.PathError
	if o.all || len(r.needed) > 0 {
		for p := range s.partitions(ctx, r.bits) {
			read := len(p.Errors)
			r.other(p)
			if line != nil {
				line.Add(p)
				s.scope.Errors += len(p.Errors) - read
			}
			if len(p.Errors) > 0 {
				a.fail(exitIncomplete)
			}
			failed = append(failed, p.Errors...)
		}
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	for _, h := range r.histories {
		if len(h.Errors) > 0 {
			a.fail(exitIncomplete)
			s.scope.Errors += len(h.Errors)
		}
		a.fail(metadataBits(h))
	}
	var rows *report.Timeline
	if line != nil {
		line.ServerLogs(ctx)
		rows = &report.Timeline{Events: line.Events(), Options: skew, Limit: o.limit}
		for _, id := range skew.Skewed() {
			if !slices.ContainsFunc(rows.Events, func(e incident.TimelineEvent) bool { return e.ClockOf == id }) {
				line.Notes = append(line.Notes, fmt.Sprintf("--skew of %d changes nothing: no time here is by the clock of a broker or controller %d", id, id))
			}
		}
		rows.Notes = line.Notes
	}
	switch {
	case a.json:
		j := a.jsonWriter("history")
		j.Notes(c.Notes)
		j.Errors(s.errors())
		r.lines(j, rows)
		j.Errors(failed)
		return s.endJSON(ctx, j, false)
	case a.quiet:
		r.complain(failed)
		s.explainErrors()
		return nil
	case o.csv:
		r.complain(failed)
		s.explainErrors()
		for _, n := range line.Notes {
			a.complain("note: %s", n)
		}
		return done(ctx, rows.CSV(a.stdout))
	}
	r.complain(failed)
	s.explainErrors()
	t := &report.History{Paths: s.paths, Scope: &s.scope, Histories: r.histories, Limit: o.limit, Churn: o.churn, Timeline: rows, Others: r.others}
	t.Notes(c.Notes)
	return done(ctx, t.Print(a.stdout))
}

// historyRun is the working state of one run.
type historyRun struct {
	app       *app
	o         *historyOptions
	histories []*incident.History
	stories   map[storyKey]*incident.PartitionHistory
	// others are partitions with losses that no unclean election in the metadata accounts for.
	others []*incident.Partition
	// needed are the names of partitions whose logs have to be read, nil before that is known.
	needed map[string]bool
}

// storyKey names a partition as the logs know it.
type storyKey struct {
	cluster   *incident.Cluster
	id        string // "" where the directory does not tell
	partition string
}

// open reads the metadata. Partition directories are no condition: a controller has none.
func (r *historyRun) open(cmd *cobra.Command, c *logdir.Case, args []string, opt incident.Options) (*session, error) {
	s := &session{app: r.app, c: c}
	if !s.anyLogDir() {
		s.explainErrors()
		c.Close()
		return nil, s.nothingFound(args)
	}
	if len(c.Errors) > 0 {
		r.app.fail(exitIncomplete)
	}
	opt.Compare = true
	opt.Match = func(topic string, partition int32) bool {
		return r.o.input.selects(topic, partition) && (r.o.all || r.needed == nil || r.needed[fmt.Sprintf("%s-%d", topic, partition)])
	}
	opt.Progress = func(n int64) {
		if s.progress != nil {
			s.progress.add(n)
		}
	}
	s.progress = r.app.newProgress(0)
	s.inc = incident.Open(c, opt)
	c.Notes = append(c.Notes, s.inc.Notes...)
	if len(s.inc.Errors) > 0 {
		r.app.fail(exitIncomplete)
	}
	s.scope.Brokers = len(c.Brokers)
	s.scope.Errors = len(c.Errors) + len(s.inc.Errors)
	s.paths = &report.Paths{Typed: locate(c), Again: againOf(cmd, args), Ambiguous: s.ambiguous(&r.o.input), Mixed: report.MixedClusters(c.Brokers), ServerLogs: len(opt.ServerLogs) > 0}
	return s, nil
}

// index finds the partitions whose logs are needed: those of which it is the question
// what an unclean election lost.
func (r *historyRun) index() {
	needed := map[string]bool{}
	for _, h := range r.histories {
		for _, p := range h.Partitions {
			r.stories[storyKey{h.Cluster, p.Topic.ID.String(), p.Name}] = p
			if p.Topic.RemovedAt < 0 {
				r.stories[storyKey{h.Cluster, "", p.Name}] = p
			}
			for i := range p.Unclean {
				if !p.Unclean[i].SameLeader && p.Topic.RemovedAt < 0 {
					needed[p.Name] = true
				}
			}
		}
	}
	r.needed = needed
}

// truncated adds the partitions of which a text log tells that something was cut off: its
// lines may be all that is left of it.
func (r *historyRun) truncated(inc *incident.Incident) {
	for _, cl := range inc.Clusters {
		for _, b := range cl.Brokers {
			for _, d := range b.Dirs {
				for _, p := range d.Partitions {
					if r.o.input.selects(p.Topic, p.Partition) && !r.needed[p.Name()] && inc.CutByServerLog(cl, p.Topic, p.Partition) {
						r.needed[p.Name()] = true
					}
				}
			}
		}
	}
}

// other keeps what is to be said of losses that belong to none of the unclean elections.
func (r *historyRun) other(p *incident.Partition) {
	x := r.stories[storyKey{p.Cluster, p.TopicID, p.Name}]
	slim := &incident.Partition{Name: p.Name, Topic: p.Topic, Number: p.Number, TopicID: p.TopicID, Cluster: p.Cluster, Ruling: p.Ruling}
	for i := range p.Losses {
		if l := &p.Losses[i]; l.Counts() && (x == nil || !x.Tells(l)) {
			slim.Losses = append(slim.Losses, *l)
		}
	}
	if len(slim.Losses) > 0 {
		r.others = append(r.others, slim)
		r.app.fail(exitFindings)
	}
}

// known makes sure that --topic and --partition name something.
func (r *historyRun) known() error {
	if len(r.o.input.topics)+len(r.o.input.partitions) == 0 {
		return nil
	}
	metadata := false
	for _, h := range r.histories {
		if len(h.Partitions) > 0 {
			return nil
		}
		metadata = metadata || h.Log != nil
		for _, b := range h.Cluster.Brokers {
			for _, d := range b.Dirs {
				for _, p := range d.Partitions {
					if r.o.input.selects(p.Topic, p.Partition) {
						return nil
					}
				}
			}
		}
	}
	if metadata {
		return usagef("neither the metadata nor the directories know a partition that matches --topic and --partition")
	}
	return usagef("no partition directory matches --topic and --partition")
}

// bytes is the size of the logs that will be read.
func (r *historyRun) bytes(c *logdir.Case) int64 {
	var n int64
	for p := range c.AllPartitions() {
		if !r.o.input.selects(p.Topic, p.Partition) || !r.o.all && !r.needed[p.Name()] {
			continue
		}
		for _, seg := range p.Segments {
			if seg.Log != nil {
				n += max(seg.Log.Size, 0)
			}
		}
	}
	return n
}

// bits joins the story of a partition's logs with its history, and gives its exit bits.
func (r *historyRun) bits(p *incident.Partition) int {
	x := r.stories[storyKey{p.Cluster, p.TopicID, p.Name}]
	if x == nil {
		return 0
	}
	x.Join(p)
	bits := 0
	for i := range x.Unclean {
		u := &x.Unclean[i]
		switch {
		case u.Lost == incident.LostYes, u.Lost == incident.LostMaybe:
			bits |= exitFindings
		case u.Lost == incident.LostUnknown && len(u.AskFor) > 0:
			bits |= exitIncomplete
		case u.Lost == incident.LostUnknown:
			bits |= judgedBits(p)
		}
	}
	return bits
}

// metadataBits: metadata that are not what a healthy cluster leaves behind.
func metadataBits(h *incident.History) int {
	if h.Log == nil {
		if len(h.Unreadable()) > 0 {
			return exitFindings
		}
		return 0
	}
	if len(h.Log.Gaps) > 0 {
		return exitFindings
	}
	for i := range h.Copies {
		c := &h.Copies[i]
		if c.Line.ForkAt >= 0 || len(c.Log.Damaged)+c.Log.DamagedDropped > 0 {
			return exitFindings
		}
	}
	return 0
}

// lines writes the JSON lines.
func (r *historyRun) lines(j *report.JSON, rows *report.Timeline) {
	for _, h := range r.histories {
		j.MetadataCopies(h)
		j.Errors(h.Errors)
		if h.Log == nil {
			continue
		}
		j.LeadershipChanges(h)
		j.MetadataEvents(h)
		for _, p := range h.Partitions {
			j.UncleanElections(p)
		}
		j.BrokerHistories(h)
	}
	for _, p := range r.others {
		j.Losses(p)
	}
	if rows != nil {
		j.Timeline(rows.Events)
		j.TimelineNotes(rows.Notes)
	}
}

// complain tells of failed reads on stderr.
func (r *historyRun) complain(failed []logdir.PathError) {
	for _, e := range failed {
		r.app.complain("%s", e)
	}
	for _, h := range r.histories {
		for _, e := range h.Errors {
			r.app.complain("%s", e)
		}
	}
}

var errNoTime = errors.New("want a time such as 2026-11-30T03:20:00Z or '2026-11-30 03:20' (UTC)")
