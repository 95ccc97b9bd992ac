package repair

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// Source says what an entry of leader-epoch-checkpoint is taken from.
type Source string

// The sources of an entry, best first.
const (
	Headers  Source = "headers"  // the batches of this log
	File     Source = "file"     // its leader-epoch-checkpoint as it lies there
	Sibling  Source = "sibling"  // another replica
	Metadata Source = "metadata" // the cluster metadata
)

// EpochEntry is one line of the new file.
type EpochEntry struct {
	epoch.Entry
	Source Source
	Broker *incident.BrokerRef // of a sibling
	Said   string              // how the source knows, one sentence
}

// RefusedEntry is an entry that some source has and the new file has not.
type RefusedEntry struct {
	epoch.Entry
	Source Source
	Broker *incident.BrokerRef // of a sibling
	// EmptyTail: the normal entry of a leader that wrote nothing, at its log end.
	EmptyTail bool
	Why       string
}

// OldFile is the leader-epoch-checkpoint as it lies there.
type OldFile struct {
	Absent    bool
	Path      string                // shown path, also of an absent one
	Written   []epoch.Entry         // lines that parse, in file order
	Malformed *checkpoint.Malformed // nil: Kafka accepts the file
	// Loaded is what Kafka would hold after the load of this log; nil when malformed or
	// absent. A line of log-start-offset-checkpoint that cannot be right does not count.
	Loaded epoch.Cache
}

// Input is a file that a plan was made from, so that a change is noticed.
type Input struct {
	Path    string // shown path
	Size    int64  // bytes; -1: the file did not exist
	SHA256  string // hexadecimal; "" where only size and time were taken (.log files)
	ModTime time.Time

	Partition *logdir.Partition // the directory that the file belongs to
	File      *logdir.File      // nil: the file did not exist
}

// EpochPlan is the new leader-epoch-checkpoint of one replica and how it came
// about. It is a value; nothing has been written.
type EpochPlan struct {
	Partition string // "t-0"
	TopicID   string // "" unknown
	Broker    incident.BrokerRef
	State     replica.State
	Dir       string // shown path of the partition directory
	HostDir   string // the same on this machine, "" if the tree is not on disk
	Live      bool   // a running process holds the lock of the log directory

	LogStart, LogEnd int64 // offsets; end exclusive

	Old     OldFile
	Entries []EpochEntry // the new file, ascending
	Refused []RefusedEntry
	Unknown []string // what cannot be known from these inputs
	Notes   []string // what else a reader should know, such as a file that is a sibling's

	// Changed: Kafka would hold other epochs with the new file than with the old
	// one. Lines that Kafka drops at the load, such as a leader's empty tail, do not
	// count.
	Changed bool
	Inputs  []Input
}

// EpochOptions steer PlanEpochs.
type EpochOptions struct {
	// HeadersOnly takes entries from the batches alone.
	HeadersOnly bool
	// KeepEmptyTail keeps the entry of a leader that has written nothing yet: an
	// epoch that starts at the log end.
	KeepEmptyTail bool
}

// Cache returns the entries of the new file.
func (p *EpochPlan) Cache() epoch.Cache {
	c := make(epoch.Cache, 0, len(p.Entries))
	for _, e := range p.Entries {
		c = append(c, e.Entry)
	}
	return c
}

// Text is the new file as Kafka's LeaderEpochCheckpointFile writes it on Unix.
func (p *EpochPlan) Text() []byte { return checkpoint.FormatEpochs(p.Cache()) }

// Change is one line of the difference between the old file and the new one.
type Change struct {
	Op byte // ' ' in both, '-' in the old file only, '+' in the new file only
	epoch.Entry
	Why string // where the line comes from, or why it goes
}

// Changes is the difference from the old file to the new one, line by line in
// order of start offsets.
func (p *EpochPlan) Changes() []Change {
	var out []Change
	fresh := p.Cache()
	for _, e := range p.Old.Written {
		if !slices.Contains(fresh, e) {
			out = append(out, Change{'-', e, p.whyGone(e)})
		}
	}
	for _, e := range p.Entries {
		op := byte('+')
		if slices.Contains(p.Old.Written, e.Entry) {
			op = ' '
		}
		out = append(out, Change{op, e.Entry, e.Said})
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.StartOffset, b.StartOffset) })
	return out
}

func (p *EpochPlan) whyGone(e epoch.Entry) string {
	for _, r := range p.Refused {
		if r.Source == File && r.Entry == e {
			return r.Why
		}
	}
	return "below the log start, where Kafka cuts the file"
}

// PlanEpochs regenerates the leader-epoch-checkpoint of one copy of p, which
// must have been read without error; the other directories of p are its
// siblings. An error is a failed read: then there is no plan.
func PlanEpochs(ctx context.Context, p *incident.Partition, c *incident.Copy, opt EpochOptions) (*EpochPlan, error) {
	own, err := newFacts(ctx, p, c, !opt.HeadersOnly)
	if err != nil {
		return nil, err
	}
	dir := c.Log.Partition
	plan := &EpochPlan{
		Partition: p.Name, TopicID: p.TopicID, Broker: c.Broker, State: c.State, Dir: c.Dir, HostDir: dir.HostPath,
		Live:     dir.LogDir.Live,
		LogStart: own.start, LogEnd: own.end,
		Old: own.oldFile(),
	}
	if err := plan.take(own); err != nil {
		return nil, err
	}
	d := &draft{facts: own, cut: own.head()}
	if own.endsAtStart() {
		d.cut = own.start
	}
	if own.bogus != "" {
		d.note("%s", own.bogus)
	}
	d.headers()
	switch {
	case own.useFile:
		d.file(opt.KeepEmptyTail)
	case own.mayUse && own.file != nil:
		d.malformedFile()
	}
	if !opt.HeadersOnly {
		for _, o := range siblings(p, c) {
			other, err := newFacts(ctx, p, o, true)
			if err != nil {
				return nil, err
			}
			if err := plan.take(other); err != nil {
				return nil, err
			}
			d.siblings = append(d.siblings, &sibling{facts: other})
		}
		if err := d.hearSiblings(); err != nil {
			return nil, err
		}
		if opt.KeepEmptyTail {
			d.tailFromMetadata(p)
		}
		d.nameCopies(&plan.Old)
	}
	d.lowestEpoch()
	plan.Entries, plan.Refused = d.entries, d.refused
	plan.Changed = plan.Old.Malformed != nil || !slices.Equal(own.load(plan.Cache()), plan.Old.Loaded)
	if plan.Changed && own.start == own.end && own.file != nil && own.file.Malformed == nil && len(own.file.Entries) == 0 {
		d.note("the log start is the log end, offset %d: a broker that stopped in this state forgets at the next start in which epoch its log ends, so the empty file need not come from damage", own.end)
	}
	d.unknown(p)
	plan.Notes, plan.Unknown = d.notes, d.gaps
	return plan, nil
}

// siblings are the other directories of the partition that a broker keeps in
// order: no deleted ones and no files set aside.
func siblings(p *incident.Partition, c *incident.Copy) []*incident.Copy {
	var out []*incident.Copy
	for _, o := range p.Copies {
		if o != c && (o.State == replica.Live || o.State == replica.Future) {
			out = append(out, o)
		}
	}
	return out
}

// Regenerates reports whether a copy is one whose leader-epoch-checkpoint a
// broker uses or will use.
func Regenerates(c *incident.Copy) bool {
	return c.State == replica.Live || c.State == replica.Future || c.State == replica.Stray
}
