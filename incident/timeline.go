package incident

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kafsck/serverlog"
)

// TimelineOptions steer how sources are joined.
type TimelineOptions struct {
	// Skew is how far a node's clock was ahead of the true time, by id; negative behind.
	// It is taken off that node's times: files, text logs, metadata records that it
	// wrote as controller, batches that it stamped as leader (LogAppendTime).
	Skew map[int32]time.Duration
	// FromMs and ToMs are a window, half open; ToMs 0 is without end. What has no time is kept.
	FromMs, ToMs int64
}

// Clock says whose clock gave a time.
type Clock string

// The clocks. None of them is exact.
const (
	ControllerClock Clock = "controller" // the active controller wrote it into a metadata record
	BrokerClock     Clock = "broker"     // a broker wrote it into its text log or, as LogAppendTime, into a batch
	ClientClock     Clock = "client"     // a producer wrote it into a batch (CreateTime): it may be anything
	FileClock       Clock = "file"       // modification time of a file; a copy may have changed it
	NoClock         Clock = ""           // no time
)

// TimelineEvent is one row.
type TimelineEvent struct {
	TimeMs int64 // with the skew taken off, -1 none
	RawMs  int64 // as its source has it, -1 none
	Clock  Clock
	// ClockOf is the node whose clock it is, -1 unknown.
	ClockOf int32
	// Backwards: the source has it behind something later.
	Backwards bool
	Kind      string

	Cluster   *Cluster
	Partition string // "" none
	TopicID   string // "" unknown
	// Brokers is on whom it was seen, or whom it is about; nil nobody in particular.
	Brokers        []BrokerRef
	MetadataOffset int64 // -1 none
	From, To       int64 // offsets, half open; -1 none
	Epoch          int32 // leader epoch, -1 none
	Says           string
	Source         string

	key  int64 // by which it is placed; -1 behind all others
	rank int   // of several at one time
}

// The kinds of TimelineEvent beside those of MetadataEvent.
const (
	TimeLeadership = "leadership"
	TimeUnclean    = "unclean-election"
	TimeFirstWrite = "first-write"
	TimeLastWrite  = "last-write"
	TimeSetAside   = "set-aside"
	TimeTrace      = "trace"
	TimeCheckpoint = "checkpoint"
	TimeFile       = "file"
	TimeGap        = "gap"
	TimeServerLog  = "server-log"
)

// Timeline joins all that carries a time.
type Timeline struct {
	// Notes say what to make of the times, for people.
	Notes  []string
	opt    TimelineOptions
	inc    *Incident
	events []TimelineEvent
	names  map[clusterPartition]string // partitions that were added, with their topic id
	dirs   map[*disk]bool
	ids    map[*Cluster]*History
}

// NewTimeline begins with what the metadata tell.
func (inc *Incident) NewTimeline(histories []*History, opt TimelineOptions) *Timeline {
	opt.ToMs = cmp.Or(opt.ToMs, math.MaxInt64)
	t := &Timeline{opt: opt, inc: inc, names: map[clusterPartition]string{}, dirs: map[*disk]bool{}, ids: map[*Cluster]*History{}}
	for _, h := range histories {
		t.ids[h.Cluster] = h
		if h.Log != nil {
			t.metadata(h)
		}
	}
	t.logDirs()
	return t
}

// event makes a row with nothing known but its place.
func event(cl *Cluster, kind string) TimelineEvent {
	return TimelineEvent{TimeMs: -1, RawMs: -1, ClockOf: -1, Kind: kind, Cluster: cl, MetadataOffset: -1, From: -1, To: -1, Epoch: -1, key: -1}
}

// at gives a row its time.
func (t *Timeline) at(e *TimelineEvent, ms int64, clock Clock, of int32) {
	if ms < 0 {
		return
	}
	e.RawMs, e.TimeMs, e.Clock, e.ClockOf = ms, ms, clock, of
	if of >= 0 {
		e.TimeMs -= t.opt.Skew[of].Milliseconds()
	}
	e.key = e.TimeMs
}

// add keeps a row that lies within the window.
func (t *Timeline) add(e TimelineEvent) {
	if e.TimeMs < 0 || t.opt.FromMs <= e.TimeMs && e.TimeMs < t.opt.ToMs {
		t.events = append(t.events, e)
	}
}

// inOrder places rows that have an order of their own: none before the one ahead of it,
// whatever its clock said.
func inOrder(list []TimelineEvent) {
	latest := int64(-1)
	for i := range list {
		e := &list[i]
		if e.key >= 0 && e.key < latest {
			e.Backwards = true
		}
		latest = max(latest, e.key)
		e.key = latest
	}
}

// metadata adds what the metadata tell, in metadata order.
func (t *Timeline) metadata(h *History) {
	var list []TimelineEvent
	for i := range h.Events {
		x := &h.Events[i]
		e := event(h.Cluster, x.Kind)
		e.MetadataOffset, e.Says = x.Offset, x.Says()
		if x.Broker >= 0 {
			e.Brokers = []BrokerRef{nodeRef(x.Broker)}
		}
		if !x.TopicID.IsZero() {
			e.TopicID = x.TopicID.String()
		}
		t.at(&e, x.TimeMs, ControllerClock, h.Controller(x.Offset))
		list = append(list, e)
	}
	for _, p := range h.Partitions {
		t.names[clusterPartition{h.Cluster, p.Name}] = p.Topic.ID.String()
		for i := range p.Changes {
			c := &p.Changes[i]
			e := event(h.Cluster, TimeLeadership)
			e.Partition, e.TopicID, e.MetadataOffset, e.Epoch = p.Name, p.Topic.ID.String(), c.Offset, c.LeaderEpoch
			if c.Leader >= 0 {
				e.Brokers = []BrokerRef{nodeRef(c.Leader)}
			}
			if p.UncleanAt(i) != nil {
				e.Kind = TimeUnclean
			}
			e.Says = fmt.Sprintf("%s (epoch %d, ISR %v)", h.Happened(p, i), c.LeaderEpoch, c.ISR)
			t.at(&e, c.TimeMs, ControllerClock, h.Controller(c.Offset))
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b TimelineEvent) int { return cmp.Compare(a.MetadataOffset, b.MetadataOffset) })
	inOrder(list)
	source := "cluster metadata"
	for i := range list {
		list[i].Source = source
		t.add(list[i])
	}
}

func nodeRef(id int32) BrokerRef { return BrokerRef{ID: id, Known: true, Name: fmt.Sprint(id)} }

// UncleanAt is the unclean election that change i is, nil if it is none.
func (p *PartitionHistory) UncleanAt(i int) *UncleanElection {
	k := slices.IndexFunc(p.Unclean, func(u UncleanElection) bool { return u.Index == i })
	if k < 0 {
		return nil
	}
	return &p.Unclean[k]
}

// Events are all rows in order of their time; those without one come last.
func (t *Timeline) Events() []TimelineEvent {
	slices.SortStableFunc(t.events, func(a, b TimelineEvent) int {
		switch {
		case a.key < 0 && b.key < 0:
			return cmp.Or(strings.Compare(a.Partition, b.Partition), cmp.Compare(a.rank, b.rank))
		case a.key < 0:
			return 1
		case b.key < 0:
			return -1
		}
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank))
	})
	return t.events
}

// Rows at one time: metadata (0), text logs, batches, files.
const (
	rankServerLog = 1
	rankBatch     = 2
	rankFile      = 3
)

// ServerLogs adds the lines of --server-log: those about the partitions that are here,
// and those about a broker as a whole. It is called once, behind all partitions.
func (t *Timeline) ServerLogs(ctx context.Context) {
	byFile := map[string][]TimelineEvent{}
	take := func(cl *Cluster, partition, topicID string, lines []LogLine) {
		for i := range lines {
			l := &lines[i]
			e := event(cl, TimeServerLog)
			e.Partition, e.TopicID, e.Epoch, e.Source, e.rank = partition, topicID, l.Epoch, l.Source(), rankServerLog
			if l.Offset >= 0 {
				e.From = l.Offset
			}
			if l.Broker >= 0 {
				e.Brokers = []BrokerRef{nodeRef(l.Broker)}
			}
			e.Says = string(l.Kind) + ": " + l.Text
			if at := t.replayed(cl, partition, topicID, l); at >= 0 {
				e.MetadataOffset, e.Says = at, fmt.Sprintf("no new election: controller %d applies that of metadata offset %d: %s", l.Broker, at, l.Text)
			}
			t.at(&e, l.TimeMs, BrokerClock, l.Broker)
			byFile[l.File] = append(byFile[l.File], e)
		}
	}
	for k, lines := range t.inc.lines.byPartition {
		if id, here := t.names[k]; here && ctx.Err() == nil {
			take(k.cluster, k.name, id, lines)
		}
	}
	for cl, lines := range t.inc.lines.others {
		take(cl, "", "", slices.DeleteFunc(slices.Clone(lines), func(l LogLine) bool { return !aboutBroker(l.Kind) }))
	}
	files := make([]string, 0, len(byFile))
	for name := range byFile {
		files = append(files, name)
	}
	slices.Sort(files)
	for _, name := range files {
		list := byFile[name]
		slices.SortStableFunc(list, func(a, b TimelineEvent) int { return cmp.Compare(lineOf(a.Source), lineOf(b.Source)) })
		inOrder(list)
		for _, e := range list {
			t.add(e)
		}
	}
}

// replayed is the metadata offset of the unclean election that a line of a controller's log
// tells of, -1 none: every controller logs each of them when it applies the record, also
// when it starts and reads its metadata log again (ReplicationControlManager.replay).
func (t *Timeline) replayed(cl *Cluster, partition, topicID string, l *LogLine) int64 {
	h := t.ids[cl]
	if l.Kind != serverlog.UncleanElection || h == nil {
		return -1
	}
	at := int64(-1)
	for _, p := range h.Partitions {
		if p.Name != partition || topicID != "" && p.Topic.ID.String() != topicID {
			continue
		}
		for i := range p.Unclean {
			if c := &p.Changes[p.Unclean[i].Index]; c.Leader == l.Leader && (l.Epoch < 0 || c.LeaderEpoch == l.Epoch) {
				at = c.Offset
			}
		}
	}
	return at
}

// lineOf is the number of the line in its file: lines of several partitions are put
// together again as the file has them.
func lineOf(source string) int64 {
	var n int64
	if i := strings.LastIndex(source, " line "); i >= 0 {
		fmt.Sscan(source[i+len(" line "):], &n)
	}
	return n
}

func aboutBroker(k serverlog.Kind) bool {
	switch k {
	case serverlog.Started, serverlog.Stopping, serverlog.Stopped, serverlog.CleanStart, serverlog.UncleanStart, serverlog.DirRenamed:
		return true
	}
	return false
}
