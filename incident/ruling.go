package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/diff"
	"kafsck/kraft"
	"kafsck/replica"
)

const (
	deletePolicy  = "delete"
	compactPolicy = "compact"
)

// internalTopics are compacted whatever the metadata say.
var internalTopics = []string{"__consumer_offsets", "__transaction_state", "__share_group_state"}

// policy decides whether the topic is compacted: the metadata's cleanup.policy,
// else a line of cleaner-offset-checkpoint, else a batch with fewer records than
// offsets, else the topic's name.
func (j *judgement) policy() {
	r := &j.p.Ruling
	r.Policy, r.PolicySource = deletePolicy, "default"
	if m := j.g.cluster.Metadata; m != nil && j.known.topic != nil {
		value, ok := m.Config(1<<62, kraft.ResourceTopic, j.known.topic.Name, "cleanup.policy")
		if !ok {
			value, ok = m.Config(1<<62, kraft.ResourceBroker, "", "log.cleanup.policy")
		}
		if ok {
			r.PolicySource = "metadata"
			if strings.Contains(value, compactPolicy) {
				r.Policy = compactPolicy
			}
			return
		}
	}
	for _, c := range j.p.Copies {
		if c.Log == nil || c.State != replica.Live {
			continue
		}
		if f := c.Log.Partition.LogDir.CleanerOffsets; f != nil && f.OffsetFile != nil {
			if _, ok := f.Lookup(j.p.Topic, j.p.Number); ok {
				r.Policy, r.PolicySource = compactPolicy, "cleaner-checkpoint"
				return
			}
		}
	}
	for _, c := range j.p.Copies {
		if c.readable() && c.Log.Sparse {
			r.Policy, r.PolicySource = compactPolicy, "batches"
			return
		}
	}
	if slices.Contains(internalTopics, j.p.Topic) {
		r.Policy, r.PolicySource = compactPolicy, "internal-topic"
	}
}

// rule decides who rules: --leader, else the metadata unless they are stale,
// else a guess. The error is a failed read.
func (j *judgement) rule() error {
	p, r := j.p, &j.p.Ruling
	r.Judged = true
	last := j.known.last()
	if id, ok := j.inc.opt.Leaders[p.Name]; ok {
		r.Why = "--leader says so"
		j.leaderIs(id)
		return nil
	}
	switch {
	case j.known.removed:
		r.Removed = true
		r.Why = fmt.Sprintf("metadata: topic was deleted (offset %d)", j.known.topic.RemovedAt)
		return nil
	case j.known.owner != "":
		r.Why = fmt.Sprintf("metadata: the topic id is that of topic %s", j.known.owner)
		return nil
	case j.known.foreign:
		r.Why = "metadata: no topic with this id; the name belongs to another topic"
		return nil
	case last == nil && j.g.cluster.Metadata != nil && len(j.p.Live()) > 0:
		p.Stale = true
	case last != nil && (last.Uncertain || j.latestEpoch() > last.LeaderEpoch):
		p.Stale = true
	}
	if last == nil || p.Stale {
		return j.guess()
	}
	r.Eligible = slices.Clone(last.ISR)
	if len(r.Eligible) == 0 {
		r.Eligible = slices.Clone(last.ELR)
	}
	if last.Leader < 0 {
		r.Why = fmt.Sprintf("metadata: no leader (epoch %d, ISR %s, ELR %s)", last.LeaderEpoch, ids(last.ISR), ids(last.ELR))
		return nil
	}
	r.Why = fmt.Sprintf("metadata: leader of epoch %d, ISR %s", last.LeaderEpoch, ids(last.ISR))
	j.leaderIs(last.Leader)
	if r.copy != nil {
		j.copiedBeforeElection(last)
	}
	return nil
}

// leaderIs sets the ruling leader and finds its live replica among the inputs.
func (j *judgement) leaderIs(id int32) {
	r := &j.p.Ruling
	r.Leader = &BrokerRef{ID: id, Known: true, Name: fmt.Sprint(id)}
	for _, c := range j.p.Live() {
		if c.Broker.Known && c.Broker.ID == id {
			if !c.readable() {
				r.Judged, r.Reason = false, fmt.Sprintf("the log of the ruling leader, broker %d, could not be read: %v", id, c.Err)
				return
			}
			r.copy = c
			return
		}
	}
	r.Judged = false
	for _, b := range j.g.cluster.Brokers {
		if b.IDKnown && b.ID == id {
			r.Reason = fmt.Sprintf("broker %d leads %s, but its directories hold no live replica of it", id, j.p.Name)
			return
		}
	}
	r.Reason = fmt.Sprintf("broker %d leads %s, and its disk is not among the inputs", id, j.p.Name)
}

// copiedBeforeElection withdraws judgement when the leader's disk was copied
// before the election that made it leader: what its log became is then unknown.
func (j *judgement) copiedBeforeElection(last *kraft.Change) {
	elected := last
	changes := j.known.part.Changes
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].LeaderEpoch != last.LeaderEpoch {
			break
		}
		elected = &changes[i]
	}
	r := &j.p.Ruling
	d := r.copy.disk
	switch {
	case elected.FromSnapshot:
		return
	case d.metadata != nil:
		if d.metadata.EndOffset > elected.Offset {
			return
		}
	case d.newest.IsZero() || d.newest.UnixMilli() >= elected.TimeMs:
		return
	}
	r.Judged = false
	r.Reason = fmt.Sprintf("broker %d's disk was copied before it was elected for epoch %d: what its log holds now cannot be told", r.Leader.ID, last.LeaderEpoch)
}

// whyStale says why the metadata do not speak for this partition.
func (j *judgement) whyStale() string {
	if last := j.known.last(); last != nil && last.Uncertain {
		return "the cluster metadata are damaged or have a gap before their last word on this partition"
	}
	if j.known.last() == nil && j.known.topic == nil {
		return "the cluster metadata do not know this topic: they are older than these logs, or another cluster's"
	}
	return "the cluster metadata are older than these logs"
}

// guess names the replica with the newest epoch, then the longest log, then the
// lowest id. Where replicas of the newest epoch fork, or logs without epochs do,
// a guess would decide about acknowledged records, so nobody rules.
func (j *judgement) guess() error {
	r := &j.p.Ruling
	live := j.readableLive()
	because := "no cluster metadata"
	if j.p.Stale {
		because = j.whyStale()
	}
	if len(live) == 0 {
		r.Why = because + "; no live replica among the inputs"
		r.Judged = len(j.p.Live()) == 0
		if !r.Judged {
			r.Reason = "no live replica could be read"
		}
		return nil
	}
	newest := j.latestEpoch()
	var tied []*Copy
	for _, c := range live {
		if c.Log.LatestEpoch() == newest {
			tied = append(tied, c)
		}
	}
	for i, a := range tied {
		for _, b := range tied[i+1:] {
			ds, err := diff.Pair(a.Content(), b.Content(), diff.Options{Ruler: -1, Compacted: r.Policy == compactPolicy})
			if err != nil {
				return err
			}
			for _, d := range ds {
				if d.Kind == diff.EpochFork || d.Kind == diff.ContentFork {
					r.Why = fmt.Sprintf("%s; brokers %s tie in the newest leader epoch (%d), but their logs differ in offsets %d–%d: a guess by length or id would decide about acknowledged records",
						because, names(tied), newest, d.From, d.To-1)
					j.leaderByLogs(because)
					return nil
				}
			}
		}
	}
	best := slices.MinFunc(tied, func(a, b *Copy) int {
		return cmp.Or(cmp.Compare(b.Log.LogEndOffset, a.Log.LogEndOffset), cmp.Compare(a.Broker.ID, b.Broker.ID), strings.Compare(a.Broker.Name, b.Broker.Name))
	})
	ref := best.Broker
	r.Leader, r.copy, r.Guess = &ref, best, true
	r.Why = fmt.Sprintf("guess (%s): highest leader epoch in its lineage (%d)", because, newest)
	if newest < 0 {
		r.Why = fmt.Sprintf("guess (%s): no leader epochs", because)
	}
	if len(tied) > 1 {
		r.Why += fmt.Sprintf(", shared by brokers %s: longest log, then lowest id", names(tied))
	}
	return nil
}

func names(copies []*Copy) string {
	var out []string
	for _, c := range copies {
		out = append(out, c.Broker.Name)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func ids(list []int32) string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
