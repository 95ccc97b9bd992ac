package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"kafsck/internaltopic"
	"kafsck/logdir"
	"kafsck/replica"
)

// InternalTopic is what was read of one of Kafka's own topics: every record of every copy,
// live or set aside, of every partition among the inputs, whatever Options.Match says.
type InternalTopic struct {
	Topic      internaltopic.Topic
	Partitions []*InternalPartition // by cluster, then number
	// Undecoded counts records whose key or value is not decoded, by reason; at most 100
	// reasons, copies counted apart.
	Undecoded []Undecoded
	// Errors are failed reads: what such a copy would have said is not known.
	Errors []logdir.PathError
}

// Undecoded is a reason why records were not decoded.
type Undecoded struct {
	Reason string
	Count  int64
	First  RecordRef
}

// InternalPartition is a partition of an internal topic and the copy whose word counts.
type InternalPartition struct {
	Cluster *Cluster
	Topic   internaltopic.Topic
	Number  int32
	TopicID string // "" unknown
	Ruling  Ruling
	// From is the copy that says what holds now (positions, states): the ruling leader's,
	// else the longest live one, else the longest of all. Every copy is evidence of what once
	// was. nil if none could be read.
	From *InternalCopy
	// Why says why From was taken.
	Why    string
	Copies []*InternalCopy // live ones by broker, then what was set aside
	// Story is the partition as judged; its logs can no longer be compared.
	Story *Partition
}

// Name is TOPIC-PART.
func (p *InternalPartition) Name() string { return fmt.Sprintf("%s-%d", p.Topic, p.Number) }

// InternalCopy is one copy of such a partition.
type InternalCopy struct {
	Broker                       BrokerRef
	State                        replica.State
	Dir                          string // shown path
	LogStartOffset, LogEndOffset int64
	// NewestMs is the largest timestamp in it, ms; -1 none.
	NewestMs int64
	// Skipped counts batches and stretches of bytes that could not be used: a wrong CRC, no
	// batch, records that cannot be decoded. SkippedAt names the first: file and position.
	Skipped   int64
	SkippedAt string
	Err       error // a failed read; then nothing is concluded from the copy
}

// RecordRef is the place of a record in an internal topic.
type RecordRef struct {
	Cluster   *Cluster
	Partition int32 // of the internal topic
	Offset    int64
	Epoch     int32 // leader epoch of its batch, -1 unknown
	// TimeMs is the record's timestamp; where it has none, that of the newest record before
	// it that had one. -1 none.
	TimeMs int64
	Broker BrokerRef
	State  replica.State
	File   string // shown path of the .log
}

// internalRecord is one record with its place; borrowed until the next one.
type internalRecord struct {
	internaltopic.Record
	offset        int64
	epoch         int32
	timeMs        int64 // as in RecordRef
	producerID    int64 // -1 none
	transactional bool
	file          *logdir.File
}

// collector takes the records of one copy in file order, then end.
type collector interface {
	record(r *internalRecord)
	// marker ends the transaction of a producer: its records count from here on (commit),
	// or never do.
	marker(producerID int64, commit bool, offset, timeMs int64)
	end()
}

// internalReader reads one internal topic.
type internalReader struct {
	inc   *Incident
	topic internaltopic.Topic
	out   InternalTopic
	// begin makes the collector of a copy; from says that it is InternalPartition.From,
	// which is read before the others of its partition.
	begin func(p *InternalPartition, c *InternalCopy, from bool) collector
	// done, if not nil, is called when all copies of a partition have been read.
	done func(p *InternalPartition)

	mu        sync.Mutex
	undecoded map[string]*Undecoded
}

// maxReasons bounds Undecoded.
const maxReasons = 100

// read reads all partitions, as many at once as there are cores; the copies of one
// partition follow each other.
func (r *internalReader) read(ctx context.Context) InternalTopic {
	r.out.Topic = r.topic
	r.undecoded = map[string]*Undecoded{}
	// The topic's own partitions are judged like any other, to know who rules, but without a
	// look at the files beside the logs.
	sub := &Incident{Case: r.inc.Case, Clusters: r.inc.Clusters, opt: Options{
		Background: r.inc.opt.Background, Leaders: r.inc.opt.Leaders, MinISR: r.inc.opt.MinISR,
		Match: func(topic string, _ int32) bool { return topic == r.topic.String() }}}
	groups := sub.groups()
	parts := make([]*InternalPartition, len(groups))
	panics := make([]*caught, len(groups))
	var wg sync.WaitGroup
	slots := newReadSlots(&r.inc.opt)
	for i, g := range groups {
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() == nil {
				panics[i] = guard(func() { parts[i] = r.partition(ctx, sub, g) })
			}
		}()
	}
	wg.Wait()
	for _, c := range panics {
		if c != nil {
			panic(c)
		}
	}
	for _, p := range parts {
		if p != nil {
			r.out.Partitions = append(r.out.Partitions, p)
			r.out.Errors = append(r.out.Errors, p.Story.Errors...)
		}
	}
	if err := ctx.Err(); err != nil {
		r.out.Errors = append(r.out.Errors, logdir.PathError{Path: r.topic.String(), Err: err})
	}
	for _, u := range r.undecoded {
		r.out.Undecoded = append(r.out.Undecoded, *u)
	}
	slices.SortFunc(r.out.Undecoded, func(a, b Undecoded) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return r.out
}

// partition reads the copies of one partition, the one whose word counts first.
func (r *internalReader) partition(ctx context.Context, sub *Incident, g *group) *InternalPartition {
	story := sub.judge(ctx, g)
	p := &InternalPartition{Cluster: g.cluster, Topic: r.topic, Number: g.number, TopicID: story.TopicID, Ruling: story.Ruling, Story: story}
	byCopy := map[*Copy]*InternalCopy{}
	for _, c := range story.Copies {
		ic := &InternalCopy{Broker: c.Broker, State: c.State, Dir: c.Dir, NewestMs: -1, Err: c.Err}
		if c.readable() {
			ic.LogStartOffset, ic.LogEndOffset = c.Log.LogStartOffset, c.Log.LogEndOffset
		}
		p.Copies = append(p.Copies, ic)
		byCopy[c] = ic
	}
	from := p.choose(story)
	p.From = byCopy[from]
	order := slices.Clone(story.Copies)
	slices.SortStableFunc(order, func(a, b *Copy) int {
		switch {
		case a == from && b != from:
			return -1
		case b == from && a != from:
			return 1
		}
		return 0
	})
	for _, c := range order {
		if !c.readable() || ctx.Err() != nil {
			continue
		}
		ic := byCopy[c]
		if err := r.copy(ctx, p, ic, c.Log, c == from); err != nil && ctx.Err() == nil {
			ic.Err = err
			story.Errors = append(story.Errors, failedRead(c.Dir, err))
			if c == from {
				p.From, p.Why = nil, "the copy that rules could not be read to its end"
			}
		}
	}
	if r.done != nil {
		r.done(p)
	}
	for _, c := range story.Copies {
		if c.Log != nil {
			c.Log.Fingerprint = replica.Fingerprint{} // the largest part of a log
		}
	}
	return p
}

// choose finds the copy whose word counts, and says why.
func (p *InternalPartition) choose(story *Partition) *Copy {
	r := &story.Ruling
	if r.Judged && r.copy != nil {
		p.Why = r.Why
		return r.copy
	}
	why := r.Why
	if !r.Judged {
		why = r.Reason
	}
	var best *Copy
	for _, c := range story.Copies {
		if c.readable() && (best == nil || best.State != replica.Live && c.State == replica.Live ||
			(best.State == replica.Live) == (c.State == replica.Live) && c.Log.LogEndOffset > best.Log.LogEndOffset) {
			best = c
		}
	}
	switch {
	case best == nil:
		p.Why = "no copy could be read"
	case best.State == replica.Live:
		p.Why = "the longest live copy, since nobody is known to rule: " + why
	default:
		p.Why = "the longest copy that was set aside, since no live one is among the inputs"
	}
	return best
}

// note counts a record that is not decoded.
func (r *internalReader) note(p *InternalPartition, ic *InternalCopy, rec *internalRecord) {
	// Positions differ from record to record; the kind of reason does not.
	reason := rec.Err.Error()
	for _, known := range []error{internaltopic.ErrNoKey, internaltopic.ErrNoValue} {
		if errors.Is(rec.Err, known) {
			reason = known.Error()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.undecoded[reason]
	if u == nil {
		if len(r.undecoded) >= maxReasons {
			reason = "other reasons"
			u = r.undecoded[reason]
		}
		if u == nil {
			u = &Undecoded{Reason: reason, First: rec.ref(p, ic)}
			r.undecoded[reason] = u
		}
	}
	u.Count++
}

func (rec *internalRecord) ref(p *InternalPartition, ic *InternalCopy) RecordRef {
	return RecordRef{Cluster: p.Cluster, Partition: p.Number, Offset: rec.offset, Epoch: rec.epoch, TimeMs: rec.timeMs, Broker: ic.Broker, State: ic.State, File: rec.file.Path}
}

// Total is the number of partitions that the cluster metadata give the topic; 0 if they do
// not say. A group or transactional id lives in partition PartitionFor(id, Total).
func (t *InternalTopic) Total(cl *Cluster) int32 {
	m := cl.Metadata
	if m == nil {
		return 0
	}
	n := int32(0)
	for _, topic := range m.TopicByName(t.Topic.String()) {
		if topic.RemovedAt >= 0 {
			continue
		}
		for id := range m.Partitions {
			if id.Topic == topic.ID {
				n = max(n, id.Partition+1)
			}
		}
	}
	return n
}

// Readable are the numbers of the partitions of a cluster of which some copy was read.
func (t *InternalTopic) Readable(cl *Cluster) []int32 {
	var out []int32
	for _, p := range t.Partitions {
		if p.Cluster == cl && p.From != nil && !slices.Contains(out, p.Number) {
			out = append(out, p.Number)
		}
	}
	return out
}
