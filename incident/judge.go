package incident

import (
	"context"
	"fmt"

	"kafsck/check"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
)

// judge makes the story of one partition.
func (inc *Incident) judge(ctx context.Context, g *group) *Partition {
	p := &Partition{Name: g.name, Topic: g.topic, Number: g.number, Cluster: g.cluster}
	if !g.id.IsZero() {
		p.TopicID = g.id.String()
	}
	inc.read(ctx, g, p)
	defer func() {
		for _, c := range p.Copies {
			if c.Log != nil {
				c.Log.Release()
			}
		}
	}()
	j := &judgement{inc: inc, p: p, g: g}
	j.known = j.lookUp()
	j.doubtEdges(ctx)
	j.policy()
	if err := j.rule(); err != nil {
		j.fail(err)
		return p
	}
	j.remark()
	j.check()
	if !inc.opt.Compare || ctx.Err() != nil {
		return p
	}
	if err := j.diverge(); err != nil {
		j.fail(err)
		return p
	}
	if err := j.lose(); err != nil {
		j.fail(err)
	}
	return p
}

// judgement is the working state of one partition.
type judgement struct {
	inc   *Incident
	p     *Partition
	g     *group
	known *knowledge
}

// knowledge is what the cluster metadata say of the partition.
type knowledge struct {
	topic   *kraft.Topic
	part    *kraft.Partition // nil when the metadata do not know it
	removed bool
	// foreign: the metadata know the topic's name under another id only.
	foreign bool
}

func (k *knowledge) last() *kraft.Change {
	if k.part == nil || len(k.part.Changes) == 0 {
		return nil
	}
	return &k.part.Changes[len(k.part.Changes)-1]
}

func (j *judgement) fail(err error) {
	j.p.Errors = append(j.p.Errors, logdir.PathError{Path: j.p.Name, Err: err})
	j.p.Ruling.Judged = false
	j.p.Ruling.Reason = "a copy could not be read: " + err.Error()
	j.p.Divergences, j.p.Losses, j.p.Candidates = nil, nil, nil
}

// lookUp finds the partition in the metadata: by topic id, else by name among
// the topics that exist.
func (j *judgement) lookUp() *knowledge {
	k := &knowledge{}
	m := j.g.cluster.Metadata
	if m == nil {
		return k
	}
	id := j.g.id
	if id.IsZero() {
		for _, t := range m.TopicByName(j.g.topic) {
			if t.RemovedAt < 0 {
				id = t.ID
			}
		}
	}
	if id.IsZero() {
		return k
	}
	t := m.Topics[id]
	if t == nil {
		k.foreign = len(m.TopicByName(j.g.topic)) > 0
		return k
	}
	k.topic = t
	if t.RemovedAt >= 0 {
		k.removed = true
		return k
	}
	k.part = m.Partitions[kraft.PartitionID{Topic: id, Partition: j.g.number}]
	return k
}

// doubtEdges looks for witnesses of a lone epoch in the first or last batch of a
// log: its own checkpoint, another copy, the metadata. Without any, the epoch is
// suspect; where no witness could exist at all it is taken as it is.
func (j *judgement) doubtEdges(ctx context.Context) {
	for _, c := range j.p.Copies {
		if !c.readable() || c.State != replica.Live && c.State != replica.Future {
			continue
		}
		first := c.Log.FirstEdge != nil && j.unwitnessed(c, c.Log.FirstEdge.Epoch)
		last := c.Log.LastEdge != nil && j.unwitnessed(c, c.Log.LastEdge.Epoch)
		if first || last {
			if err := c.Log.DoubtEdges(ctx, first, last); err != nil {
				c.Err = err
				j.p.Errors = append(j.p.Errors, logdir.PathError{Path: c.Dir, Err: err})
			}
		}
	}
}

func (j *judgement) unwitnessed(c *Copy, e int32) bool {
	witnesses := 0
	if c.Log.Checkpoint != nil {
		witnesses++
		for _, x := range c.Log.Checkpoint {
			if x.Epoch == e {
				return false
			}
		}
	}
	if last := j.known.last(); last != nil {
		witnesses++
		if e <= last.LeaderEpoch {
			return false
		}
	}
	for _, o := range j.p.Copies {
		if o == c || !o.readable() {
			continue
		}
		witnesses++
		if o.Log.Lineage.Has(e) {
			return false
		}
		for _, x := range o.Log.Checkpoint {
			if x.Epoch == e {
				return false
			}
		}
	}
	return witnesses > 0
}

// check judges the anomalies of every copy.
func (j *judgement) check() {
	p := j.p
	for _, c := range p.Copies {
		if c.readable() {
			p.Findings = append(p.Findings, check.Log(c.Log, check.Subject{Partition: p.Name, TopicID: p.TopicID, Broker: c.Broker.Name, Compacted: p.Ruling.Policy == compactPolicy})...)
		}
	}
}

// remark adds findings about the partition as a whole.
func (j *judgement) remark() {
	p := j.p
	for _, c := range p.Copies {
		if c.Log == nil || c.State != replica.Live {
			continue
		}
		if e := c.Log.Partition.Epochs; e != nil && e.Malformed != nil {
			p.addFinding("epoch-file-malformed", finding.Damage, c.Broker.Name, c.Log.Partition.EpochsFile.Path,
				fmt.Sprintf("leader-epoch-checkpoint of broker %s cannot be parsed (line %d: %s); Kafka takes the log directory offline or aborts", c.Broker.Name, e.Malformed.Line, e.Malformed.Reason),
				"kafsck dump shows the file; do not start the broker with it")
		}
		if f := c.Log.Partition.LogDir.HighWatermarks; f != nil && f.OffsetFile != nil && f.Malformed != nil {
			p.addFinding("watermark-file-malformed", finding.Damage, c.Broker.Name, f.File.Path,
				fmt.Sprintf("replication-offset-checkpoint of broker %s cannot be parsed (line %d: %s): its high watermarks prove nothing here", c.Broker.Name, f.Malformed.Line, f.Malformed.Reason),
				"kafsck dump shows the file")
		}
	}
	for _, c := range p.Copies {
		if c.Extra {
			p.addFinding("duplicate-partition-dirs", finding.Damage, c.Broker.Name, c.Dir,
				fmt.Sprintf("broker %s has a second live directory of %s; a broker does not start with both", c.Broker.Name, p.Name),
				"keep the longer one; move the other out of the log directory")
		}
	}
	if j.known.foreign {
		p.addFinding("topic-id-mismatch", finding.Warning, "", "",
			fmt.Sprintf("the metadata know %s under another topic id than %s: these directories belong to another topic of the same name, and a broker sets them aside as -stray", p.Topic, p.TopicID),
			"compare only directories with the same topic id")
	}
	if p.Stale {
		p.addFinding("metadata-stale", finding.Warning, "", "",
			fmt.Sprintf("%s: %s (newest epoch in the logs: %d); who rules is a guess", p.Name, j.whyStale(), j.latestEpoch()),
			"add the metadata directory of a controller or of the broker copied last")
	}
	if !p.Ruling.Judged && p.Ruling.Reason != "" && p.Ruling.Leader != nil {
		p.addFinding("leader-not-among-inputs", finding.Warning, p.Ruling.Leader.Name, "", p.Ruling.Reason,
			fmt.Sprintf("copy broker %s's log directory and add it", p.Ruling.Leader.Name))
	}
}

func (j *judgement) latestEpoch() int32 {
	latest := int32(-1)
	for _, c := range j.readableLive() {
		latest = max(latest, c.Log.LatestEpoch())
	}
	return latest
}

// diverge compares the live replicas: each with the ruling leader, or all pairs
// where nobody rules or the leader's disk is absent.
func (j *judgement) diverge() error {
	p := j.p
	if p.Ruling.Removed || j.known.foreign {
		return nil
	}
	live := j.readableLive()
	if ruler := p.Ruling.copy; ruler != nil && p.Ruling.Judged {
		for _, c := range live {
			if c != ruler {
				if err := j.pair(ruler, c, ruler); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i, a := range live {
		for _, b := range live[i+1:] {
			if err := j.pair(a, b, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *judgement) readableLive() []*Copy {
	var out []*Copy
	for _, c := range j.p.Live() {
		if c.readable() {
			out = append(out, c)
		}
	}
	return out
}

func (j *judgement) pair(a, b, ruler *Copy) error {
	opt := diff.Options{Ruler: -1, Compacted: j.p.Ruling.Policy == compactPolicy, All: j.inc.opt.All}
	if ruler == a {
		opt.Ruler = 0
	}
	ds, err := diff.Pair(a.Content(), b.Content(), opt)
	if err != nil {
		return err
	}
	for _, d := range ds {
		if d.Kind == diff.LeaderBehind && ruler != nil {
			d.CopiedLater, err = j.copiedLater(ruler, b, d.From, d.To)
			if err != nil {
				return err
			}
		}
		j.p.Divergences = append(j.p.Divergences, Divergence{Divergence: d, A: a, B: b, Ruled: ruler == a})
	}
	return nil
}
