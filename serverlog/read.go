package serverlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options steer the reading.
type Options struct {
	// Zone is that of times without a zone; nil is UTC.
	Zone *time.Location
	// Broker is who wrote the file when the lines do not say, -1 unknown.
	Broker int32
	// MaxEvents bounds what is kept of one file; 0 is DefaultMaxEvents. Lines that are
	// evidence of a truncation or an election are the last to be given up.
	MaxEvents int
	// Match selects partitions; nil takes all. Lines about no partition are always taken.
	Match func(topic string, partition int32) bool
}

// DefaultMaxEvents keeps an Incident below some 100 MiB a file.
const DefaultMaxEvents = 200_000

// File is what one log file tells.
type File struct {
	Name   string
	Events []Event // in the order in which they were written
	Told   int32   // Options.Broker

	Lines int64 // all lines
	Dated int64 // lines with a time
	// FirstMs and LastMs are the least and the greatest time, -1 none.
	FirstMs, LastMs int64
	// Zoned counts times that carry their own zone.
	Zoned int64
	// Backwards counts times before that of the line above; BackwardsMs is the largest
	// such step in milliseconds.
	Backwards, BackwardsMs int64
	// NewestFirst: the times fall throughout, as in the exports of log servers. Events are in
	// the order in which they were written all the same, and so Backwards counts rises.
	NewestFirst bool
	// Err is the failed read that ended the reading, nil at the file's end.
	Err error
	// Long counts lines of which only the first 16 KiB were looked at.
	Long int64
	// Dropped counts events beyond MaxEvents.
	Dropped int64
	// Brokers counts lines by the broker (node) id that they name as their own.
	Brokers map[int32]int64
	ids     map[string]string // topic ids by topic, as the lines so far named them
	// rises counts times after that of the line above; risesMs is the largest such step.
	rises, risesMs int64

	// Clusters are the cluster ids that the lines name, Versions the releases.
	Clusters, Versions []string
}

// Broker returns the one broker that the lines name as their writer; ok is false
// when they name none, or several.
func (f *File) Broker() (id int32, ok bool) {
	if len(f.Brokers) != 1 {
		return -1, false
	}
	for id = range f.Brokers {
	}
	return id, true
}

// Read reads a log, as it is or gzipped, to its end. On a failed read the error
// comes with what was read before it.
func Read(ctx context.Context, name string, r io.Reader, opt Options) (*File, error) {
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	if opt.MaxEvents <= 0 {
		opt.MaxEvents = DefaultMaxEvents
	}
	f := &File{Name: name, Told: opt.Broker, FirstMs: -1, LastMs: -1, Brokers: map[int32]int64{}, ids: map[string]string{}}
	in, err := newLines(interruptible{ctx, r})
	if err != nil {
		f.Err = err
		return f, fmt.Errorf("%s: %w", name, err)
	}
	last := int64(-1)
	for {
		l, err := in.next()
		f.Long = in.long
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.settle(opt)
			f.Err = fmt.Errorf("line %d: %w", l.n, err)
			return f, fmt.Errorf("%s %w", name, f.Err)
		}
		f.Lines = l.n
		if l.n%4096 == 0 && ctx.Err() != nil {
			f.settle(opt)
			return f, ctx.Err()
		}
		h, ok := parseHead(l.bytes, opt.Zone)
		if !ok {
			continue
		}
		if h.timeMs >= 0 {
			f.date(&h, &last)
		}
		f.take(&h, &l, &opt)
	}
	f.settle(opt)
	return f, nil
}

// interruptible ends the reading of a file between two reads: a line has no bound.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func (f *File) date(h *head, last *int64) {
	f.Dated++
	if h.zoned {
		f.Zoned++
	}
	if f.FirstMs < 0 || h.timeMs < f.FirstMs {
		f.FirstMs = h.timeMs
	}
	f.LastMs = max(f.LastMs, h.timeMs)
	if *last >= 0 && h.timeMs > *last {
		f.rises++
		f.risesMs = max(f.risesMs, h.timeMs-*last)
	}
	if h.timeMs < *last {
		f.Backwards++
		f.BackwardsMs = max(f.BackwardsMs, *last-h.timeMs)
	}
	*last = h.timeMs
}

// maxNames bounds the lists of ids that a file names.
const maxNames = 64

// maxTopics bounds the topics whose ids are remembered.
const maxTopics = 100_000

func (f *File) take(h *head, l *line, opt *Options) {
	e, c, ok := parse(h, l.cut)
	if c.broker >= 0 {
		if _, known := f.Brokers[c.broker]; known || len(f.Brokers) < maxNames {
			f.Brokers[c.broker]++
		}
	}
	if !ok {
		if id, found := cluster(h.text); found && !l.cut && len(f.Clusters) < maxNames && !slices.Contains(f.Clusters, id) {
			f.Clusters = append(f.Clusters, id)
		}
		if v, found := version(h.text); found && !l.cut && len(f.Versions) < maxNames && !slices.Contains(f.Versions, v) {
			f.Versions = append(f.Versions, v)
		}
		return
	}
	if e.Broker >= 0 && c.broker < 0 { // the text names its writer (0.10: "Broker 1 received …")
		if _, known := f.Brokers[e.Broker]; known || len(f.Brokers) < maxNames {
			f.Brokers[e.Broker]++
		}
	}
	if e.Topic != "" && opt.Match != nil && !opt.Match(e.Topic, e.Partition) {
		return
	}
	switch id, known := f.ids[e.Topic]; {
	case e.Topic == "":
	case e.TopicID != "" && (known || len(f.ids) < maxTopics):
		f.ids[strings.Clone(e.Topic)] = strings.Clone(e.TopicID)
	case e.TopicID == "":
		e.TopicID = id
	}
	e.Line, e.TimeMs = l.n, h.timeMs
	if len(f.Events) >= opt.MaxEvents && !f.makeRoom(e.Kind.rare()) {
		f.Dropped++
		return
	}
	// The line's buffer is used again.
	e.Text = strings.Clone(e.Text)
	e.Topic, e.TopicID, e.Dir, e.Detail = strings.Clone(e.Topic), strings.Clone(e.TopicID), strings.Clone(e.Dir), strings.Clone(e.Detail)
	f.Events = append(f.Events, e)
}

// makeRoom gives up common events for a rare one.
func (f *File) makeRoom(rare bool) bool {
	if !rare {
		return false
	}
	n := len(f.Events)
	f.Events = slices.DeleteFunc(f.Events, func(e Event) bool { return !e.Kind.rare() })
	f.Dropped += int64(n - len(f.Events))
	return len(f.Events) < n
}

// fewFalls is how many times must fall, and none rise, for a file to be newest first; one that
// falls ten times as often as it rises is, too. A clock that is set back falls once.
const fewFalls = 3

// settle puts the events in the order in which they were written, and gives lines that do not
// name their writer the file's own.
func (f *File) settle(opt Options) {
	if f.Backwards >= fewFalls && f.Backwards >= 10*f.rises {
		f.NewestFirst = true
		slices.Reverse(f.Events)
		f.Backwards, f.BackwardsMs, f.rises, f.risesMs = f.rises, f.risesMs, f.Backwards, f.BackwardsMs
	}
	id, ok := f.Broker()
	if !ok && opt.Broker >= 0 && len(f.Brokers) == 0 {
		id, ok = opt.Broker, true
	}
	if !ok {
		return
	}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Broker < 0 {
			e.Broker = id
		}
		if e.Kind == LeaderStarts && e.Leader == NotSaid {
			e.Leader = id
		}
	}
}

// Names lists the broker ids that the lines name as their own, ascending.
func (f *File) Names() []int32 { return slices.Sorted(maps.Keys(f.Brokers)) }

// cluster reads "Cluster ID = X" (KafkaServer).
func cluster(text string) (string, bool) {
	rest, found := strings.CutPrefix(text, "Cluster ID = ")
	if !found {
		return "", false
	}
	id, _, _ := strings.Cut(rest, " ")
	return strings.Clone(id), id != "" && len(id) <= 64
}

// version reads "Kafka version: X" (AppInfoParser; 2.0 and before: "Kafka version :
// X").
func version(text string) (string, bool) {
	rest, found := strings.CutPrefix(text, "Kafka version")
	if !found {
		return "", false
	}
	v, _, _ := strings.Cut(strings.TrimLeft(rest, " :"), " ")
	return strings.Clone(v), v != "" && len(v) <= 64
}
