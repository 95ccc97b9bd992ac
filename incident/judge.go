package incident

import (
	"context"

	"kafsck/diff"
	"kafsck/kraft"
)

// judge makes the story of one partition.
func (inc *Incident) judge(ctx context.Context, g *group) *Partition {
	p := &Partition{Name: g.name, Topic: g.topic, Number: g.number, Cluster: g.cluster}
	if !g.id.IsZero() {
		p.TopicID = g.id.String()
	}
	defer func() { p.Errors = notTold(p.Errors, inc.Case.Errors) }()
	inc.read(ctx, g, p)
	defer func() {
		for _, c := range p.Copies {
			if c.Log != nil {
				c.Log.Release()
			}
		}
	}()
	j := &judgement{ctx: ctx, inc: inc, p: p, g: g}
	j.known = j.lookUp()
	j.disownWatermarks()
	if inc.opt.Starts != nil {
		defer j.listStarts()
	}
	if inc.opt.FilesOnly {
		j.policy()
		j.check(ctx)
		return p
	}
	j.doubtEpochs(ctx)
	j.policy()
	if err := j.rule(); err != nil {
		j.fail(err)
		return p
	}
	j.check(ctx)
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
	p.askForHolders()
	if inc.opt.Leadership != nil {
		if err := j.predictLeaders(ctx); err != nil {
			j.fail(err)
		}
	}
	if inc.opt.Starts != nil {
		if err := j.predictStarts(); err != nil {
			j.fail(err)
		}
	}
	if inc.opt.Tell {
		p.tell()
	}
	return p
}

// judgement is the working state of one partition.
type judgement struct {
	inc   *Incident
	p     *Partition
	g     *group
	known *knowledge
	// ctx ends the reading of internal topics, which is done when first asked for.
	ctx context.Context

	placed     []placed // group commits on a line, see commits
	unplaced   []Commit // those that cannot be placed
	placedOnce bool
	tieredRuns []tieredRun
	tieredOnce bool
	byProducer map[int64][]LoggedTransaction
}

// knowledge is what the cluster metadata say of the partition.
type knowledge struct {
	topic   *kraft.Topic
	part    *kraft.Partition // nil when the metadata do not know it
	removed bool
	// foreign: the metadata know the topic's name under another id only.
	foreign bool
	// owner is the topic that has this id by the metadata, "" where that is this one: then the
	// partition is foreign, too.
	owner string
}

func (k *knowledge) last() *kraft.Change {
	if k.part == nil || len(k.part.Changes) == 0 {
		return nil
	}
	return &k.part.Changes[len(k.part.Changes)-1]
}

func (j *judgement) fail(err error) {
	j.p.Errors = append(j.p.Errors, failedRead(j.p.Name, err))
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
	if t != nil && t.Name != j.g.topic && !j.g.cut() {
		k.foreign, k.owner = true, t.Name
		return k
	}
	part := m.Partitions[kraft.PartitionID{Topic: id, Partition: j.g.number}]
	if part != nil {
		j.p.Changes = part.Changes
	}
	if t == nil {
		k.foreign = len(m.TopicByName(j.g.topic)) > 0
		return k
	}
	k.topic = t
	if t.RemovedAt >= 0 {
		k.removed = true
		return k
	}
	k.part = part
	return k
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
		return j.twins(ruler)
	}
	for i, a := range live {
		for _, b := range live[i+1:] {
			if err := j.pair(a, b, nil); err != nil {
				return err
			}
		}
	}
	return j.twins(nil)
}

// twins compares each second live directory of a broker with the one that it is to keep.
func (j *judgement) twins(ruler *Copy) error {
	for _, c := range j.readableLive() {
		for _, o := range j.p.Copies {
			if !o.Extra || o.Broker != c.Broker || !o.readable() {
				continue
			}
			leads := ruler
			if ruler != c {
				leads = nil
			}
			if err := j.pair(c, o, leads); err != nil {
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
