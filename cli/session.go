package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/wire"
	"kafsck/logdir"
	"kafsck/report"
)

// session is the inputs of one command, discovered and opened, with what its
// printers need.
type session struct {
	app   *app
	c     *logdir.Case
	inc   *incident.Incident
	scope report.Scope
	paths *report.Paths
	// brokersWithData counts brokers with a selected partition among the inputs.
	brokersWithData int
	progress        *progress
	// read tells the partitions of which the .log files are read; nil none.
	read func(topic string, partition int32) bool
	// findings are those that belong to no partition; empty where the command does
	// not ask for the files of log directories.
	findings []finding.Finding
	// late are reads that failed after the partitions were judged; see changes.
	late []logdir.PathError
}

// openCase reads the metadata of inputs that are discovered, and counts what
// could not be read.
func (a *app) openCase(cmd *cobra.Command, c *logdir.Case, args []string, in *inputOptions, opt incident.Options) (*session, error) {
	s := &session{app: a, c: c}
	if err := s.selectPartitions(args, in, opt.Leaders, !opt.Compare || opt.Files); err != nil {
		c.Close()
		return nil, err
	}
	if len(c.Errors) > 0 {
		a.fail(exitIncomplete)
	}
	opt.Match = in.selects
	if !opt.FilesOnly {
		s.read = in.selects
	}
	s.progress = a.newProgress(s.bytes(in))
	opt.Progress = s.progress.add
	if opt.Files || opt.Tell {
		opt.Salvaged = salvageGaps(c)
	}
	s.inc = incident.Open(c, opt)
	if opt.Leadership == nil { // a prediction may ask what holds with nobody of the known as leader
		if err := s.known(opt.Leaders); err != nil {
			s.close()
			return nil, err
		}
	}
	c.Notes = append(c.Notes, s.inc.Notes...)
	if opt.Files {
		s.findings = s.inc.Findings()
		s.scope.AddFindings(s.findings)
	}
	if len(s.inc.Errors) > 0 {
		a.fail(exitIncomplete)
	}
	s.scope.Brokers = len(c.Brokers)
	s.scope.MetadataLogs = s.metadataLogs()
	s.scope.Errors = len(c.Errors) + len(s.inc.Errors)
	s.paths = &report.Paths{Typed: locate(c), Again: againOf(cmd, args), Ambiguous: s.ambiguous(in), Mixed: report.MixedClusters(c.Brokers), ServerLogs: len(opt.ServerLogs) > 0}
	return s, nil
}

func (s *session) close() {
	s.progress.finish()
	s.c.Close()
}

// selectPartitions makes sure that there is something to answer about, and that
// every name on the command line means something.
func (s *session) selectPartitions(args []string, in *inputOptions, leaders map[string]int32, mayBeEmpty bool) error {
	all, names, data := 0, map[string]bool{}, map[*logdir.Broker]bool{}
	for p := range s.c.AllPartitions() {
		all++
		if in.selects(p.Topic, p.Partition) {
			names[p.Name()] = true
			data[p.LogDir.Broker] = true
		}
	}
	s.brokersWithData = len(data)
	if all == 0 && !(mayBeEmpty && s.anyLogDir()) {
		s.explainErrors()
		return s.nothingFound(args)
	}
	if all > 0 && len(names) == 0 {
		return usagef("none of the %d partition directories matches --topic and --partition", all)
	}
	for name := range leaders {
		if !names[name] {
			return usagef("--leader %s=%d: no such partition among the inputs", name, leaders[name])
		}
	}
	return nil
}

// known makes sure that the brokers which --leader names are some of the inputs, or of the metadata:
// an id that nobody has would take the leader away that is known.
func (s *session) known(leaders map[string]int32) error {
	for _, name := range slices.Sorted(maps.Keys(leaders)) {
		if id := leaders[name]; !s.knows(id) {
			return usagef("--leader %s=%d: no broker %d, neither among the inputs (%s) nor in the metadata", name, id, id, s.brokerNames()).hint("a directory without meta.properties gets its id with --broker ID=PATH")
		}
	}
	return nil
}

func (s *session) knows(id int32) bool {
	if slices.ContainsFunc(s.c.Brokers, func(b *logdir.Broker) bool { return b.IDKnown && b.ID == id }) {
		return true
	}
	return slices.ContainsFunc(s.inc.Clusters, func(cl *incident.Cluster) bool {
		return cl.Metadata != nil && cl.Metadata.Brokers[id] != nil
	})
}

// brokerNames lists the brokers among the inputs: the id, else the folder.
func (s *session) brokerNames() string {
	var names []string
	for _, b := range s.c.Brokers {
		if x := b.String(); !slices.Contains(names, x) {
			names = append(names, x)
		}
	}
	if more := len(names) - maxBrokerNames; more > 0 {
		names = append(names[:maxBrokerNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// maxBrokerNames bounds the names in a message.
const maxBrokerNames = 12

// brokerOf finds the broker that a flag names by id or by folder: several are copies of one. An empty
// name is none. One that no input has, or that has nothing of what is asked for, is bad usage.
func (s *session) brokerOf(flag, name string, in *inputOptions) ([]*logdir.Broker, error) {
	if name == "" {
		return nil, nil
	}
	of := func(is func(b *logdir.Broker) bool) (out []*logdir.Broker) {
		for _, b := range s.c.Brokers {
			if is(b) {
				out = append(out, b)
			}
		}
		return out
	}
	named := of(func(b *logdir.Broker) bool { return b.IDKnown && strconv.Itoa(int(b.ID)) == name })
	if len(named) == 0 {
		named = of(func(b *logdir.Broker) bool { return b.Name == name })
	}
	var list []string
	for _, b := range named {
		if x := b.String(); !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	switch {
	case len(named) == 0:
		return nil, usagef("%s %s: no broker among the inputs has this id or folder; they are %s", flag, name, s.brokerNames())
	case len(list) > 1:
		return nil, usagef("%s %s: that is the folder of brokers %s; give the id", flag, name, strings.Join(list, ", "))
	}
	for p := range s.c.AllPartitions() {
		if in.selects(p.Topic, p.Partition) && slices.Contains(named, p.LogDir.Broker) {
			return named, nil
		}
	}
	return nil, usagef("%s %s: broker %s has no copy of a partition that is asked for", flag, name, list[0])
}

// anyLogDir reports whether there is a log directory with something in it to
// list.
func (s *session) anyLogDir() bool {
	return slices.ContainsFunc(s.c.Brokers, func(b *logdir.Broker) bool { return len(b.Dirs) > 0 })
}

// metadataLogs counts the copies of the metadata log among the inputs.
func (s *session) metadataLogs() int {
	n := 0
	for _, b := range s.c.Brokers {
		for _, d := range b.Dirs {
			if d.Metadata != nil {
				n++
			}
		}
	}
	return n
}

// nothingFound is the answer to inputs without any partition.
func (s *session) nothingFound(args []string) error {
	what := "no partition directory (NAME-NUMBER with .log files or a leader-epoch-checkpoint)"
	switch {
	case s.metadataLogs() > 0:
		return fmt.Errorf("only cluster metadata in %s, %s: nothing to compare; kafsck history and kafsck check read the metadata", strings.Join(args, ", "), what)
	case s.anyLogDir():
		return fmt.Errorf("no replica in %s: %s; kafsck check judges the log directories themselves", strings.Join(args, ", "), what)
	}
	return fmt.Errorf("nothing of Kafka's in %s: %s, no log directory (meta.properties, replication-offset-checkpoint), no folder of those", strings.Join(args, ", "), what)
}

// bytes is the size of all selected .log files, for progress.
func (s *session) bytes(in *inputOptions) int64 {
	var n int64
	for p := range s.c.AllPartitions() {
		if !in.selects(p.Topic, p.Partition) {
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

// ambiguous finds partition names that exist under several topic ids or
// clusters.
func (s *session) ambiguous(in *inputOptions) map[string]bool {
	type identity struct {
		id      wire.UUID
		cluster string
	}
	first, out := map[string]identity{}, map[string]bool{}
	for p := range s.c.AllPartitions() {
		if !in.selects(p.Topic, p.Partition) || !p.HasTopicID && p.LogDir.Broker.ClusterID == "" {
			continue
		}
		me := identity{p.TopicID, p.LogDir.Broker.ClusterID}
		known, ok := first[p.Name()]
		switch {
		case !ok:
			first[p.Name()] = me
		case !known.id.IsZero() && !me.id.IsZero() && known.id != me.id, known.cluster != "" && me.cluster != "" && known.cluster != me.cluster:
			out[p.Name()] = true
		}
	}
	return out
}

// partitions judges all partitions, counts them, and collects the exit bits that
// bits gives. It ends early when the user interrupts: then the context says so.
func (s *session) partitions(ctx context.Context, bits func(*incident.Partition) int) iter.Seq[*incident.Partition] {
	return func(yield func(*incident.Partition) bool) {
		for p := range s.inc.Partitions(ctx) {
			s.scope.Add(p, absent(p))
			s.app.fail(bits(p))
			if len(p.Errors) > 0 {
				s.app.fail(exitIncomplete)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// errors are the failed reads that belong to no partition.
func (s *session) errors() []logdir.PathError { return slices.Concat(s.c.Errors, s.inc.Errors, s.late) }

// explainErrors tells of failed reads on stderr, for output that does not.
func (s *session) explainErrors() {
	list := s.c.Errors
	if s.inc != nil {
		list = s.errors()
	}
	for _, e := range list {
		s.app.complain("%s", e)
	}
}

// absent are the brokers that by the metadata have a replica of p and none among
// the inputs.
func absent(p *incident.Partition) []int32 {
	if p.TopicID == "" || len(p.Changes) == 0 {
		return nil
	}
	var out []int32
	for _, id := range p.Changes[len(p.Changes)-1].Replicas {
		if !slices.ContainsFunc(p.Cluster.Brokers, func(b *logdir.Broker) bool { return b.IDKnown && b.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}

// done turns the end of a loop over partitions into the command's error.
func done(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return &failure{exitIncomplete, errors.Join(errors.New("writing the result"), err)}
	}
	return nil
}
