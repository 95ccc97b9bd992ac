package tui

import (
	"context"
	"errors"
	"slices"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
)

// world is what all screens share. It belongs to the goroutine of Update and View;
// works get what they need by value.
type world struct {
	opt *Options
	src *Source // nil until opened
	err error   // why the inputs could not be opened

	brokers []incident.BrokerRef
	refs    []incident.Ref // all selected partitions, in order
	// parts are the judged partitions, by index of refs; nil: not yet.
	parts  []*summary
	judged int
	// complete: all are judged. stopped: the user ended it before.
	complete, stopped bool
	round             int // how often all of it was begun
	totals            totals
	findings          []*foundFinding // in the order of judging
	keptBytes         int             // of whole ones
	kafka             broker.Version  // release to predict for, zero: not named
	unread            []string        // failed reads, each once, at most maxUnread

	// recent are the newest whole stories, at most maxRecent: what is not among them is
	// judged again when its screen opens.
	recent []judgedPartition
}

// maxUnread bounds the failed reads that are kept.
const maxUnread = 1000

// failed keeps failed reads.
func (w *world) failed(list []logdir.PathError) {
	for i := range list {
		if len(w.unread) >= maxUnread {
			return
		}
		if text := list[i].Error(); !slices.Contains(w.unread, text) {
			w.unread = append(w.unread, text)
		}
	}
}

// maxRecent bounds the whole stories that are kept: a story with its logs can take
// megabytes.
const maxRecent = 8

type judgedPartition struct {
	index int
	story *incident.Partition
}

func newWorld(opt *Options) *world { return &world{opt: opt, kafka: opt.Kafka} }

// command is a kafsck command over the same inputs.
func (w *world) command(verb string, extra ...string) string {
	if w.opt.Command == nil {
		return shellWords(append([]string{"kafsck", verb}, extra...)...)
	}
	return w.opt.Command(verb, extra...)
}

// typed is a shown path as the user would type it.
func (w *world) typed(shown string) string {
	if w.src == nil || w.src.Typed == nil {
		return shown
	}
	return w.src.Typed(shown)
}

// opened takes the opened inputs.
func (w *world) opened(o *openedCase) {
	w.src, w.refs, w.brokers = o.src, o.refs, o.brokers
	w.again()
}

// again forgets what was judged.
func (w *world) again() {
	w.parts = make([]*summary, len(w.refs))
	w.round++
	w.judged, w.complete, w.stopped = 0, false, false
	w.totals, w.findings, w.recent, w.keptBytes, w.unread = totals{}, nil, nil, 0, nil
	w.failed(w.src.Incident.Case.Errors)
	w.failed(w.src.Incident.Errors)
	for i := range w.src.Findings {
		w.addFinding(-1, 0, &w.src.Findings[i])
	}
}

// take takes a judged partition.
func (w *world) take(p *judgedSummary) {
	if w.parts[p.index] == nil {
		w.judged++
		w.totals.add(p.summary)
		w.failed(p.errors)
		for i := range p.findings {
			w.addFinding(p.index, i, &p.findings[i])
		}
	}
	w.parts[p.index] = p.summary
	w.keep(p.index, p.story)
}

func (w *world) keep(index int, story *incident.Partition) {
	if story == nil {
		return
	}
	for i := range w.recent {
		if w.recent[i].index == index {
			w.recent = append(w.recent[:i], w.recent[i+1:]...)
			break
		}
	}
	if len(w.recent) >= maxRecent {
		copy(w.recent, w.recent[1:])
		w.recent = w.recent[:maxRecent-1]
	}
	w.recent = append(w.recent, judgedPartition{index, story})
}

// story is the whole story of a partition if it is kept; else nil: use judge.
func (w *world) story(index int) *incident.Partition {
	for _, r := range w.recent {
		if r.index == index {
			return r.story
		}
	}
	return nil
}

// indexOf finds a partition by name ("t-0"), -1 if there is none; of several topic ids
// the first.
func (w *world) indexOf(name string) int {
	for i := range w.refs {
		if w.refs[i].Name == name {
			return i
		}
	}
	return -1
}

var errNoPartition = errors.New("the partition is not there any more")

// judge is work that judges one partition, as judging the case does but for change
// (nil: the same options). It delivers *incident.Partition or an error. The file bytes
// read are its progress.
func (w *world) judge(index int, change func(*incident.Options)) work {
	ref, inc := w.refs[index], w.src.Incident
	return func(ctx context.Context) any {
		add := progress(ctx, "judging "+ref.Name, w.bytesOf(ref), true)
		one := inc.With(func(o *incident.Options) {
			o.Progress = add
			if change != nil {
				change(o)
			}
		})
		p := one.One(ctx, ref)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p == nil:
			return errNoPartition
		}
		return p
	}
}

// bytesOf is the size of the .log files of a partition. It reads what discovery found,
// which does not change.
func (w *world) bytesOf(ref incident.Ref) int64 {
	var n int64
	for p := range w.src.Incident.Case.AllPartitions() {
		if p.Topic != ref.Topic || p.Partition != ref.Number {
			continue
		}
		for _, s := range p.Segments {
			if s.Log != nil {
				n += max(s.Log.Size, 0)
			}
		}
	}
	return n
}

// close ends access to the inputs.
func (w *world) close() {
	if w.src != nil && w.src.Close != nil {
		w.src.Close()
	}
}
