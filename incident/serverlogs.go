package incident

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kafsck/logdir"
	"kafsck/serverlog"
)

// LogLine is a line of a broker's text log about a partition.
type LogLine struct {
	serverlog.Event
	File string // as the user named it
}

// Source names the place of the line.
func (l *LogLine) Source() string { return fmt.Sprintf("%s line %d", l.File, l.Line) }

// serverLines are the lines of all text logs that count, by the partition's name.
type serverLines struct {
	byPartition map[clusterPartition][]LogLine
	others      map[*Cluster][]LogLine // about no partition by name
}

// laterLines collects what is told of evidence that does not count: by file, the truncations
// that happened after the directories were copied; by partition and reason, group commits.
type laterLines struct {
	mu      sync.Mutex
	byFile  map[string]*laterInFile
	commits map[commitDoubt]*doubtedCommits
}

type commitDoubt struct{ partition, why string }

type doubtedCommits struct {
	count int
	first string // sentence about the one with the highest offset
	top   int64
	paths string
}

// addCommit remembers a commit that is not taken for what a group had read.
func (n *laterLines) addCommit(c *Commit, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.commits == nil {
		n.commits = map[commitDoubt]*doubtedCommits{}
	}
	k := commitDoubt{fmt.Sprintf("%s-%d", c.Topic, c.Partition), why}
	d := n.commits[k]
	if d == nil {
		d = &doubtedCommits{top: -1}
		n.commits[k] = d
	}
	d.count++
	if c.Offset > d.top {
		d.top, d.paths = c.Offset, c.File
		d.first = fmt.Sprintf("group %q committed offset %d of %s", c.Group, c.Offset, k.partition)
	}
}

type laterInFile struct {
	count   int
	firstMs int64 // the writer's clock, -1 none
}

func (n *laterLines) add(t *truncation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := &t.lines[len(t.lines)-1]
	if n.byFile == nil {
		n.byFile = map[string]*laterInFile{}
	}
	f := n.byFile[last.File]
	if f == nil {
		f = &laterInFile{firstMs: -1}
		n.byFile[last.File] = f
	}
	f.count++
	if last.TimeMs >= 0 && (f.firstMs < 0 || last.TimeMs < f.firstMs) {
		f.firstMs = last.TimeMs
	}
}

// LaterNotes are the notes about evidence that does not count: lines of text logs that are later
// than the copied directories and so tell nothing of them, and commits of no plausible offset. They are known when all partitions were judged.
func (inc *Incident) LaterNotes() []logdir.Note {
	inc.later.mu.Lock()
	defer inc.later.mu.Unlock()
	var out []logdir.Note
	for _, name := range slices.Sorted(maps.Keys(inc.later.byFile)) {
		f := inc.later.byFile[name]
		what, when := "truncations", ""
		if f.count == 1 {
			what = "truncation"
		}
		if f.firstMs >= 0 {
			when = ", from " + time.UnixMilli(f.firstMs).UTC().Format("2006-01-02 15:04:05.000Z") + " on by its own clock"
		}
		out = append(out, logdir.Note{Kind: logdir.NoteServerLog, Paths: []string{name},
			Text: fmt.Sprintf("server log %q tells of %d %s after these directories were copied%s: what was cut off then is not counted here", name, f.count, what, when)})
	}
	keys := slices.SortedFunc(maps.Keys(inc.later.commits), func(a, b commitDoubt) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.why, b.why))
	})
	for _, k := range keys {
		d := inc.later.commits[k]
		more := ""
		if d.count > 1 {
			more = fmt.Sprintf(" (the highest of %d such commits)", d.count)
		}
		out = append(out, logdir.Note{Kind: logdir.NoteGroupCommit, Paths: []string{d.paths}, Text: d.first + more + ": " + k.why})
	}
	return out
}

type clusterPartition struct {
	cluster *Cluster
	name    string
}

// takeServerLogs sorts the lines of --server-log by partition. A file that is not of
// these brokers is left out, and said.
func (inc *Incident) takeServerLogs() {
	inc.lines = serverLines{map[clusterPartition][]LogLine{}, map[*Cluster][]LogLine{}}
	for _, f := range inc.opt.ServerLogs {
		if f.Err != nil {
			inc.Errors = append(inc.Errors, logdir.PathError{Path: f.Name, Err: fmt.Errorf("server log: %w; %d lines before it count", f.Err, f.Lines)})
		}
		if f.Err != nil && f.Lines == 0 {
			continue
		}
		cl, why := inc.clusterOf(f)
		if cl == nil {
			inc.noteLog(f, "ignored: "+why)
			continue
		}
		names, known, about := inc.topicNames(cl), partitionNames(cl), 0
		for _, e := range f.Events {
			l := LogLine{e, f.Name}
			if l.Topic == "" && l.TopicID != "" {
				l.Topic = names[l.TopicID]
			}
			if l.Topic == "" {
				inc.lines.others[cl] = append(inc.lines.others[cl], l)
				continue
			}
			k := clusterPartition{cl, fmt.Sprintf("%s-%d", l.Topic, l.Partition)}
			inc.lines.byPartition[k] = append(inc.lines.byPartition[k], l)
			if known[k.name] {
				about++
			}
		}
		inc.describeLog(f)
		if about == 0 {
			inc.noteLog(f, fmt.Sprintf("adds nothing: none of its %d lines is about a partition looked at here; is it of another cluster, or of another time?", f.Lines))
		}
	}
	for _, list := range inc.lines.byPartition {
		sortLines(list)
	}
	for _, list := range inc.lines.others {
		sortLines(list)
	}
}

// partitionNames are the partitions that a cluster's directories or metadata know.
func partitionNames(cl *Cluster) map[string]bool {
	out := map[string]bool{}
	for _, b := range cl.Brokers {
		for _, d := range b.Dirs {
			for _, p := range d.Partitions {
				out[p.Name()] = true
			}
		}
	}
	if cl.Metadata != nil {
		for id := range cl.Metadata.Partitions {
			if t := cl.Metadata.Topics[id.Topic]; t != nil {
				out[fmt.Sprintf("%s-%d", t.Name, id.Partition)] = true
			}
		}
	}
	return out
}

// sortLines orders lines by time where they have one, but never the lines of one
// file among themselves: clocks run backwards, files do not.
func sortLines(list []LogLine) {
	latest := map[string]int64{}
	at := make([]int64, len(list))
	for i := range list {
		l := &list[i]
		latest[l.File] = max(latest[l.File], l.TimeMs)
		at[i] = latest[l.File]
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	sorted := make([]LogLine, len(list))
	for i, k := range order {
		sorted[i] = list[k]
	}
	copy(list, sorted)
}

// clusterOf finds the cluster that a text log belongs to; nil, and why, when it is of
// none of these.
func (inc *Incident) clusterOf(f *serverlog.File) (*Cluster, string) {
	if f.Lines == 0 {
		return nil, "it is empty"
	}
	if len(f.Events) == 0 && len(f.Brokers) == 0 {
		return nil, "no line of it is one of a Kafka broker about a partition"
	}
	if f.Told >= 0 {
		if id, ok := f.Broker(); len(f.Brokers) > 0 && (!ok || id != f.Told) {
			return nil, fmt.Sprintf("its lines are broker %s's, not broker %d's", strings.Trim(ids(f.Names()), "[]"), f.Told)
		}
	}
	var candidates []*Cluster
	for _, cl := range inc.Clusters {
		if len(f.Clusters) == 0 || cl.ID == "" || slices.Contains(f.Clusters, cl.ID) {
			candidates = append(candidates, cl)
		}
	}
	if len(candidates) == 0 {
		return nil, fmt.Sprintf("it is of cluster %q, and none of these directories is", strings.Join(f.Clusters, ", "))
	}
	// The topic ids that its lines name tell clusters apart where no line names the cluster.
	var matching, proved []*Cluster
	for _, cl := range candidates {
		same, other := inc.topicIDsIn(cl, f)
		if same > 0 {
			proved = append(proved, cl)
		}
		if same > 0 || other == 0 {
			matching = append(matching, cl)
		}
	}
	switch {
	case len(proved) == 1:
		return proved[0], ""
	case len(matching) == 0:
		return nil, "its topics have the names of these, and other ids: it is of another cluster, or of topics that were deleted"
	case len(matching) > 1:
		return nil, "the inputs are of several clusters, and nothing in it says which one it is of"
	}
	cl := matching[0]
	known := inc.nodes(cl)
	if known != nil && len(f.Brokers) > 0 && !slices.ContainsFunc(f.Names(), func(id int32) bool { return slices.Contains(known, id) }) {
		return nil, fmt.Sprintf("it is broker %s's, and these directories and their cluster metadata know no such broker", strings.Trim(ids(f.Names()), "[]"))
	}
	return cl, ""
}

// topicNames maps topic ids to names by the metadata and the directories.
func (inc *Incident) topicNames(cl *Cluster) map[string]string {
	out := map[string]string{}
	if cl.Metadata != nil {
		for id, t := range cl.Metadata.Topics {
			out[id.String()] = t.Name
		}
	}
	for _, b := range cl.Brokers {
		for _, d := range b.Dirs {
			for _, p := range d.Partitions {
				if p.HasTopicID {
					out[p.TopicID.String()] = p.Topic
				}
			}
		}
	}
	return out
}

// topicIDsIn counts topics of a text log that have the id they have in a cluster, and
// those that have the name of one there and another id.
func (inc *Incident) topicIDsIn(cl *Cluster, f *serverlog.File) (same, other int) {
	names := inc.topicNames(cl)
	byName := map[string]bool{}
	for _, n := range names {
		byName[n] = true
	}
	seen := map[string]bool{}
	for i := range f.Events {
		e := &f.Events[i]
		if e.TopicID == "" || seen[e.TopicID] {
			continue
		}
		seen[e.TopicID] = true
		switch {
		case names[e.TopicID] != "":
			same++
		case e.Topic != "" && byName[e.Topic]:
			other++
		}
	}
	return same, other
}

// nodes are the ids of brokers and controllers that a cluster is known to have; nil
// when only the metadata could tell and there are none.
func (inc *Incident) nodes(cl *Cluster) []int32 {
	if cl.Metadata == nil {
		return nil
	}
	var out []int32
	for id := range cl.Metadata.Brokers {
		out = append(out, id)
	}
	for _, b := range cl.Brokers {
		if b.IDKnown {
			out = append(out, b.ID)
		}
	}
	return out
}

func (inc *Incident) noteLog(f *serverlog.File, text string) {
	inc.Notes = append(inc.Notes, logdir.Note{Kind: logdir.NoteServerLog, Paths: []string{f.Name}, Text: fmt.Sprintf("server log %q %s", f.Name, text)})
}

// describeLog says what a reader should know before believing the lines of a file.
func (inc *Incident) describeLog(f *serverlog.File) {
	if f.Dropped > 0 {
		inc.noteLog(f, fmt.Sprintf("is too large to keep: %d of its lines about partitions were left out; --topic and --partition make room", f.Dropped))
	}
	if f.Long > 0 {
		inc.noteLog(f, fmt.Sprintf("has lines that are too long: of %d only the first 16 KiB were looked at", f.Long))
	}
	if f.NewestFirst {
		inc.noteLog(f, "has its newest lines first: its lines are taken from its end to its beginning")
	}
	if f.BackwardsMs >= time.Second.Milliseconds() {
		times := "once"
		if f.Backwards > 1 {
			times = fmt.Sprintf("%d times", f.Backwards)
		}
		inc.noteLog(f, fmt.Sprintf("has a clock that runs backwards: %s, by up to %s; lines are taken in the order in which they stand", times, time.Duration(f.BackwardsMs)*time.Millisecond))
	}
	if len(f.Brokers) != 1 && slices.ContainsFunc(f.Events, func(e serverlog.Event) bool { return e.Broker < 0 && e.Topic != "" }) {
		inc.noteLog(f, "has lines that do not say which broker wrote them; --server-log ID=FILE tells, for a file of one broker")
	}
}

// ServerLines are the lines of the brokers' text logs about a partition, in order;
// lines that name another topic id are left out.
func (inc *Incident) ServerLines(cl *Cluster, topic string, number int32, topicID string) []LogLine {
	list := inc.lines.byPartition[clusterPartition{cl, fmt.Sprintf("%s-%d", topic, number)}]
	if topicID == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(l LogLine) bool { return l.TopicID != "" && l.TopicID != topicID })
}

// CutByServerLog reports whether a text log tells that a broker cut something off its log
// of a partition.
func (inc *Incident) CutByServerLog(cl *Cluster, topic string, number int32) bool {
	return slices.ContainsFunc(inc.lines.byPartition[clusterPartition{cl, fmt.Sprintf("%s-%d", topic, number)}], func(l LogLine) bool {
		switch l.Kind {
		case serverlog.Truncated, serverlog.TruncatedBelow, serverlog.TruncatedFully:
			return true
		}
		return false
	})
}
