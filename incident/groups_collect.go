package incident

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"kafsck/internal/wire"
	"kafsck/internaltopic"
)

// GroupsAsOf reads __consumer_offsets and looks at positions and states as of a moment. It
// reads every time.
func (inc *Incident) GroupsAsOf(ctx context.Context, asOf AsOf) *Groups {
	b := groupsBuilder{g: &Groups{AsOf: asOf, store: newCommitStore()}, held: map[*InternalPartition]rowList{}}
	r := internalReader{inc: inc, topic: internaltopic.ConsumerOffsets, begin: b.begin, done: b.done}
	b.g.InternalTopic = r.read(ctx)
	g := b.g
	g.store.settleAll()
	g.nameTopics(inc)
	g.Thinned, g.ThinnedMs = g.store.thinned, g.store.thinnedMs
	slices.SortFunc(g.States, func(a, b *GroupState) int {
		return cmp.Or(strings.Compare(a.Cluster.ID, b.Cluster.ID), strings.Compare(a.Group, b.Group), cmp.Compare(a.Partition, b.Partition))
	})
	return g
}

// nameTopics gives the topics in members' assignments their names, which the newer groups
// know by id: from the metadata, the directories and the commits.
func (g *Groups) nameTopics(inc *Incident) {
	names := map[wire.UUID]string{}
	for _, r := range g.store.positions {
		names[g.store.ids[r.id]] = g.store.names.text(g.store.keys[r.key].topic)
	}
	for p := range inc.Case.AllPartitions() {
		if p.HasTopicID && !p.TopicCut {
			names[p.TopicID] = p.Topic
		}
	}
	for _, cl := range inc.Clusters {
		if cl.Metadata != nil {
			for id, t := range cl.Metadata.Topics {
				names[id] = t.Name
			}
		}
	}
	delete(names, wire.UUID{})
	for _, s := range g.States {
		for i := range s.Members {
			for k := range s.Members[i].Assigned {
				if a := &s.Members[i].Assigned[k]; a.Topic == "" {
					a.Topic = names[a.TopicID]
				}
			}
		}
	}
}

// groupsBuilder makes Groups of the collectors' results.
type groupsBuilder struct {
	g  *Groups
	mu sync.Mutex
	// held are the rows of the copy that rules, by record offset, until its partition's other
	// copies are read.
	held map[*InternalPartition]rowList
}

func (b *groupsBuilder) begin(p *InternalPartition, c *InternalCopy, from bool) collector {
	gc := &groupCollector{b: b, p: p, ic: c, from: from, open: map[int64]*openCommits{}}
	if from {
		gc.positions, gc.apart, gc.states = map[uint32]int{}, map[uint32]commitRow{}, map[string]*groupFold{}
	}
	return gc
}

// done forgets what only the copies of one partition need.
func (b *groupsBuilder) done(p *InternalPartition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.held, p)
}

// openCommits are the commits of a producer's open transaction.
type openCommits struct {
	txn  uint32
	rows []commitRow // as they count for positions, in file order
}

// notInRows stands for the index of a row that stands apart.
const notInRows = -1

// groupCollector takes the records of one copy.
type groupCollector struct {
	b    *groupsBuilder
	p    *InternalPartition
	ic   *InternalCopy
	from bool
	rows rowList
	left int // how many rows there may be before they are thinned out again
	open map[int64]*openCommits

	// Of the copy whose word counts: positions are indexes into rows, or notInRows, then
	// the row is in apart.
	positions map[uint32]int
	apart     map[uint32]commitRow
	states    map[string]*groupFold
}

func (c *groupCollector) record(r *internalRecord) {
	if oc, ok := r.OffsetCommit(); ok {
		c.commit(&oc, r)
		return
	}
	if c.from && c.b.g.AsOf.includes(r.offset, r.timeMs) {
		c.state(r)
	}
}

func (c *groupCollector) commit(oc *internaltopic.OffsetCommit, r *internalRecord) {
	s := c.b.g.store
	row := s.row(c.p.Cluster, oc, commitFile{c.ic, r.file.Path, c.p.Number})
	row.recordOffset, row.recordEpoch, row.atMs, row.rules = r.offset, r.epoch, r.timeMs, c.from
	counts := c.b.g.AsOf.includes(r.offset, r.timeMs)
	if r.transactional {
		o := c.open[r.producerID]
		if o == nil {
			o = &openCommits{txn: s.transaction(r.producerID)}
			c.open[r.producerID] = o
		}
		row.txn = o.txn
		if c.from && counts {
			o.rows = append(o.rows, row)
		}
	} else if c.from && counts {
		c.unplace(row.key)
		row.position = true
		c.positions[row.key] = c.rows.n
		if row.deleted {
			c.dropOpen(row.key)
		}
	}
	c.rows.add(row)
	if c.rows.n > max(s.limit/2, c.left) {
		c.rows = s.thinRows(c.rows)
		c.left = 2 * c.rows.n // where each row stands alone, looking again soon is in vain
		for i := range c.rows.n {
			if r := c.rows.at(i); r.position {
				c.positions[r.key] = i
			}
		}
	}
}

// unplace says that what was the position of a key is not any more.
func (c *groupCollector) unplace(key uint32) {
	if i, ok := c.positions[key]; ok && i == notInRows {
		delete(c.apart, key)
	} else if ok {
		c.rows.at(i).position = false
	}
}

// placeCommitted makes a row of a transaction the position of its key, unless a later
// record is (OffsetMetadataManager).
func (c *groupCollector) placeCommitted(row commitRow) {
	if i, ok := c.positions[row.key]; ok {
		known := c.apart[row.key]
		if i != notInRows {
			known = *c.rows.at(i)
		}
		if known.recordOffset > row.recordOffset {
			return
		}
		c.unplace(row.key)
	}
	c.positions[row.key], c.apart[row.key] = notInRows, row
}

// dropOpen forgets pending commits that a tombstone deletes (OffsetMetadataManager.replay).
func (c *groupCollector) dropOpen(key uint32) {
	for _, o := range c.open {
		o.rows = slices.DeleteFunc(o.rows, func(r commitRow) bool { return r.key == key })
	}
}

func (c *groupCollector) marker(producerID int64, commit bool, offset, timeMs int64) {
	o := c.open[producerID]
	if o == nil {
		return
	}
	delete(c.open, producerID)
	c.b.g.store.settle(o.txn, commit, offset)
	switch {
	case !c.b.g.AsOf.includes(offset, timeMs):
		c.keepPending(o) // the moment lies before the marker
	case commit:
		for _, row := range o.rows {
			c.placeCommitted(row)
		}
	}
}

func (c *groupCollector) keepPending(o *openCommits) {
	if len(o.rows) == 0 {
		return
	}
	s := c.b.g.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, o.rows...)
}

// end hands the rows over: those of the copy that rules, then of the others what it lacks.
func (c *groupCollector) end() {
	s := c.b.g.store
	c.rows = c.rows.without(func(r *commitRow) bool { return r.txn > 0 && s.aborted(r.txn) })
	for _, o := range c.open {
		c.keepPending(o)
	}
	if !c.from {
		c.b.mu.Lock()
		base := c.b.held[c.p]
		c.b.mu.Unlock()
		s.add(c.rows.without(base.contains))
		return
	}
	rows := c.rows.sorted()
	s.add(rows)
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if len(c.p.Copies) > 1 {
		c.b.held[c.p] = rows
	}
	s.mu.Lock()
	for _, row := range c.apart {
		s.apart = append(s.apart, row)
	}
	s.mu.Unlock()
	for _, f := range c.states {
		c.b.g.States = append(c.b.g.States, f.finish())
	}
}
