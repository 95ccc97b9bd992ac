package incident

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"kafsck/internal/wire"
	"kafsck/internaltopic"
)

// maxCommits bounds how many commits are kept; a row takes some 100 bytes. maxMetadata
// bounds the bytes of their metadata strings.
const (
	maxCommits  = 1_000_000
	maxMetadata = 32 << 20
)

// commitKey is what a position belongs to.
type commitKey struct {
	cluster      *Cluster
	group, topic string
	partition    int32
}

// commitRow is a commit in little memory. Keys, metadata, files and transactions are shared.
type commitRow struct {
	key, meta, file, id uint32
	txn                 uint32 // index into commitStore.txns, 0 none
	epoch, recordEpoch  int32
	offsetsPartition    int32
	offset              int64
	commitMs, expireMs  int64
	recordOffset, atMs  int64
	deleted, rules      bool
}

// commitTxn is a transaction that commits were sent in.
type commitTxn struct {
	producerID int64
	marker     int64 // offset, -1 none
	aborted    bool
}

// commitFile is a file of a copy.
type commitFile struct {
	copy *InternalCopy
	path string
}

// commitStore keeps the commits of all partitions.
type commitStore struct {
	mu       sync.Mutex
	keys     []commitKey
	keyOf    map[commitKey]uint32
	metas    []string
	metaOf   map[string]uint32
	metaSize int64
	ids      []wire.UUID
	idOf     map[wire.UUID]uint32
	files    []commitFile
	fileOf   map[commitFile]uint32
	txns     []commitTxn
	rows     []commitRow
	limit    int
	// left is how many rows there may be before they are thinned out again.
	left int

	thinned   int64
	thinnedMs int64

	// positions are the newest effective commits by the copies whose word counts; pending
	// those of open transactions. Rows by value: thinning must not take them away.
	positions map[uint32]commitRow
	pending   []commitRow

	once          sync.Once // after all was read
	byName        map[nameAndNumber][]int32
	positionsName map[nameAndNumber][]commitRow
}

type nameAndNumber struct {
	topic     string
	partition int32
}

func newCommitStore() *commitStore {
	return &commitStore{keyOf: map[commitKey]uint32{}, metaOf: map[string]uint32{"": 0}, metas: []string{""}, idOf: map[wire.UUID]uint32{{}: 0}, ids: []wire.UUID{{}},
		fileOf: map[commitFile]uint32{}, txns: make([]commitTxn, 1), limit: maxCommits, positions: map[uint32]commitRow{}}
}

func intern[T comparable](v T, of map[T]uint32, list *[]T) uint32 {
	i, ok := of[v]
	if !ok {
		i = uint32(len(*list))
		of[v] = i
		*list = append(*list, v)
	}
	return i
}

// row makes a row of a commit; the lock is taken once for all that it shares.
func (s *commitStore) row(cl *Cluster, c *internaltopic.OffsetCommit, f commitFile) commitRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := commitRow{epoch: c.LeaderEpoch, offset: c.Offset, commitMs: c.CommitMs, expireMs: c.ExpireMs, deleted: c.Deleted}
	r.key = intern(commitKey{cl, c.Group, c.Topic, c.Partition}, s.keyOf, &s.keys)
	r.id = intern(c.TopicID, s.idOf, &s.ids)
	r.file = intern(f, s.fileOf, &s.files)
	if _, known := s.metaOf[c.Metadata]; known || s.metaSize+int64(len(c.Metadata)) <= maxMetadata {
		if !known {
			s.metaSize += int64(len(c.Metadata))
		}
		r.meta = intern(c.Metadata, s.metaOf, &s.metas)
	}
	return r
}

func (s *commitStore) transaction(producerID int64) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.txns = append(s.txns, commitTxn{producerID: producerID, marker: -1})
	return uint32(len(s.txns) - 1)
}

func (s *commitStore) settle(txn uint32, commit bool, marker int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.txns[txn].marker, s.txns[txn].aborted = marker, !commit
}

func (s *commitStore) aborted(txn uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.txns[txn].aborted
}

// add takes over the rows of a copy, and thins out when there are too many.
func (s *commitStore) add(rows []commitRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows...)
	if len(s.rows) > max(s.limit, s.left) {
		s.rows, s.thinnedMs = s.thin(s.rows, s.limit/2, s.thinnedMs)
		s.left = 2 * len(s.rows)
	}
}

// thinRows thins out the rows of a copy that is still being read.
func (s *commitStore) thinRows(rows []commitRow) []commitRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, s.thinnedMs = s.thin(rows, len(rows)/2, s.thinnedMs)
	return rows
}

// thin drops rows that the next one of the same key makes unimportant as evidence: same
// epoch, same copy, no lower offset, and at most ms later. The span is widened until few
// enough are left; without a bound, one row remains of each ascending run.
func (s *commitStore) thin(rows []commitRow, want int, ms int64) ([]commitRow, int64) {
	const unbounded = math.MaxInt64
	// What no bound at all leaves is the least. Where that is too much, as with a million
	// groups of one commit each, trying every span would only cost time.
	if least := thinWithin(rows, unbounded); len(least) > want {
		s.thinned += int64(len(rows) - len(least))
		if len(least) == len(rows) {
			return rows, ms
		}
		return least, unbounded
	}
	for ms = max(ms, 1000); len(rows) > want; {
		kept := thinWithin(rows, ms)
		s.thinned += int64(len(rows) - len(kept))
		rows = kept
		if ms > math.MaxInt64/10 {
			ms = unbounded
		} else {
			ms *= 10
		}
	}
	return rows, ms
}

// thinWithin is what thin leaves of rows with one span. The rows given are not changed.
func thinWithin(rows []commitRow, ms int64) []commitRow {
	type lineage struct {
		key, file, txn uint32
		epoch          int32
	}
	next := map[lineage]int{} // index of the next row kept
	var kept []int32          // indexes, from the end
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		l := lineage{r.key, r.file, r.txn, r.epoch}
		if k, ok := next[l]; ok {
			n := &rows[k]
			if !r.deleted && !n.deleted && n.offset >= r.offset && n.atMs-r.atMs <= ms && n.atMs >= r.atMs {
				continue
			}
		}
		next[l] = i
		kept = append(kept, int32(i))
	}
	if len(kept) == len(rows) {
		return rows
	}
	out := make([]commitRow, len(kept))
	for i, k := range kept {
		out[len(kept)-1-i] = rows[k]
	}
	return out
}

// commit makes a Commit of a row.
func (s *commitStore) commit(r *commitRow) Commit {
	k, f := &s.keys[r.key], &s.files[r.file]
	c := Commit{Cluster: k.cluster, Group: k.group, Topic: k.topic, Partition: k.partition, TopicID: s.ids[r.id],
		Offset: r.offset, LeaderEpoch: r.epoch, Metadata: s.metas[r.meta], CommitMs: r.commitMs, ExpireMs: r.expireMs, Deleted: r.deleted,
		ProducerID: -1, MarkerOffset: -1, Broker: f.copy.Broker, State: f.copy.State, File: f.path,
		OffsetsPartition: r.offsetsPartition, RecordOffset: r.recordOffset, RecordEpoch: r.recordEpoch, AtMs: r.atMs, Rules: r.rules}
	if r.txn > 0 {
		t := &s.txns[r.txn]
		c.Transactional, c.ProducerID, c.MarkerOffset, c.Pending = true, t.producerID, t.marker, t.marker < 0
	}
	return c
}

// index sorts rows and positions by partition, when all is read.
func (s *commitStore) index() {
	s.once.Do(func() {
		s.byName, s.positionsName = map[nameAndNumber][]int32{}, map[nameAndNumber][]commitRow{}
		for i := range s.rows {
			k := &s.keys[s.rows[i].key]
			n := nameAndNumber{k.topic, k.partition}
			s.byName[n] = append(s.byName[n], int32(i))
		}
		for _, r := range s.positions {
			k := &s.keys[r.key]
			n := nameAndNumber{k.topic, k.partition}
			s.positionsName[n] = append(s.positionsName[n], r)
		}
	})
}

func (s *commitStore) positionsOf(topic string, partition int32) []commitRow {
	s.index()
	return s.positionsName[nameAndNumber{topic, partition}]
}

// commits are all rows of a partition, in the order of their records.
func (s *commitStore) commits(topic string, partition int32) []Commit {
	s.index()
	var out []Commit
	for _, i := range s.byName[nameAndNumber{topic, partition}] {
		out = append(out, s.commit(&s.rows[i]))
	}
	slices.SortStableFunc(out, func(a, b Commit) int {
		return cmp.Or(cmp.Compare(a.OffsetsPartition, b.OffsetsPartition), cmp.Compare(a.RecordOffset, b.RecordOffset))
	})
	return out
}

// same reports whether two rows are the same record, in different copies.
func (r *commitRow) same(o *commitRow) bool {
	return r.recordOffset == o.recordOffset && r.key == o.key && r.offset == o.offset && r.epoch == o.epoch && r.commitMs == o.commitMs && r.deleted == o.deleted
}
