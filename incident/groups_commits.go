package incident

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"kafsck/internal/wire"
	"kafsck/internaltopic"
)

// maxCommits bounds how many commits are kept; a row takes 72 bytes. maxMetadata
// bounds the bytes of their metadata strings.
const (
	maxCommits  = 1_000_000
	maxMetadata = 32 << 20
)

// commitTxn is a transaction that commits were sent in.
type commitTxn struct {
	producerID int64
	marker     int64 // offset, -1 none
	aborted    bool
}

// commitFile is a file of a copy.
type commitFile struct {
	copy      *InternalCopy
	path      string
	partition int32 // of __consumer_offsets
}

// commitStore keeps the commits of all partitions.
type commitStore struct {
	mu        sync.Mutex
	clusters  []*Cluster
	clusterOf map[*Cluster]uint32
	names     *nameTable // of groups and topics
	keys      []commitKey
	keyIndex  hashIndex
	seed      maphash.Seed
	metas     []string
	metaOf    map[string]uint32
	metaSize  int64
	ids       []wire.UUID
	idOf      map[wire.UUID]uint32
	files     []commitFile
	fileOf    map[commitFile]uint32
	txns      []commitTxn
	parts     []rowList // of copies, in the order in which they were read
	count     int       // rows in parts
	limit     int
	// left is how many rows there may be before they are thinned out again.
	left int

	thinned   int64
	thinnedMs int64
	spanMs    int64 // that was enough last

	// apart are positions of transactions, which are set by markers long after their rows,
	// and pending the commits of open transactions: thinning must not take them away.
	apart, pending []commitRow

	// positions are, after all was read, the newest effective commits by the copies whose
	// word counts: by cluster, group, topic and partition.
	positions []*commitRow

	once          sync.Once // after all was read
	byName        map[nameAndNumber][]*commitRow
	positionsName map[nameAndNumber][]*commitRow
}

type nameAndNumber struct {
	topic     string
	partition int32
}

func newCommitStore() *commitStore {
	return &commitStore{clusterOf: map[*Cluster]uint32{}, names: newNameTable(), seed: maphash.MakeSeed(), metaOf: map[string]uint32{"": 0}, metas: []string{""},
		idOf: map[wire.UUID]uint32{{}: 0}, ids: []wire.UUID{{}}, fileOf: map[commitFile]uint32{}, txns: make([]commitTxn, 1), limit: maxCommits}
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
	r.key = s.key(commitKey{intern(cl, s.clusterOf, &s.clusters), s.names.number(c.Group), s.names.number(c.Topic), c.Partition})
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

func (s *commitStore) key(k commitKey) uint32 {
	hash := maphash.Comparable(s.seed, k)
	i, ok := s.keyIndex.find(hash, func(i uint32) bool { return s.keys[i] == k })
	if !ok {
		i = uint32(len(s.keys))
		s.keys = append(s.keys, k)
		s.keyIndex.add(hash, i, func(i uint32) uint64 { return maphash.Comparable(s.seed, s.keys[i]) })
	}
	return i
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
func (s *commitStore) add(rows rowList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, rows)
	s.count += rows.n
	if s.count > max(s.limit, s.left) {
		all := s.thin(s.parts, s.limit/2)
		s.parts, s.count, s.left = []rowList{all}, all.n, 2*all.n
	}
}

// thinRows thins out the rows of a copy that is still being read.
func (s *commitStore) thinRows(rows rowList) rowList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thin([]rowList{rows}, rows.n/2)
}

// thin drops rows that the next one of the same key makes unimportant as evidence: same
// epoch, same copy, no lower offset, and at most some time later. The span is widened until
// few enough are left; without a bound, one row remains of each ascending run.
func (s *commitStore) thin(parts []rowList, want int) rowList {
	// What no bound at all leaves is the least. Where that is too much, as with a million
	// groups of one commit each, trying every span would only cost time.
	if t := markThinned(parts, math.MaxInt64); t.left > want {
		return s.drop(parts, t)
	}
	for ms := max(s.spanMs, 1000); ; ms *= 10 {
		if ms > math.MaxInt64/10 {
			ms = math.MaxInt64
		}
		if t := markThinned(parts, ms); t.left <= want || ms == math.MaxInt64 {
			s.spanMs = ms
			return s.drop(parts, t)
		}
	}
}

// thinning is which rows go, in the order of the lists.
type thinning struct {
	gone       []bool
	left       int
	farthestMs int64 // from one that goes to the one that follows it
}

// markThinned picks the rows that may go with one span.
func markThinned(parts []rowList, ms int64) thinning {
	type lineage struct {
		key, file, txn uint32
		epoch          int32
	}
	var t thinning
	for i := range parts {
		t.left += parts[i].n
	}
	t.gone = make([]bool, t.left)
	at := len(t.gone)
	next := map[lineage]*commitRow{} // the next row that stays
	for p := len(parts) - 1; p >= 0; p-- {
		for i := parts[p].n - 1; i >= 0; i-- {
			at--
			r := parts[p].at(i)
			l := lineage{r.key, r.file, r.txn, r.epoch}
			n := next[l]
			if n != nil && !r.position && !r.deleted && !n.deleted && n.offset >= r.offset && n.atMs >= r.atMs {
				if later := uint64(n.atMs) - uint64(r.atMs); later <= uint64(ms) {
					t.gone[at], t.left, t.farthestMs = true, t.left-1, max(t.farthestMs, int64(later))
					continue
				}
			}
			next[l] = r
		}
	}
	return t
}

// drop is what is left of the lists. They themselves do not change.
func (s *commitStore) drop(parts []rowList, t thinning) rowList {
	if t.left == len(t.gone) && len(parts) == 1 {
		return parts[0]
	}
	s.thinned += int64(len(t.gone) - t.left)
	s.thinnedMs = max(s.thinnedMs, t.farthestMs)
	var out rowList
	at := 0
	for p := range parts {
		for i := range parts[p].n {
			if !t.gone[at] {
				out.add(*parts[p].at(i))
			}
			at++
		}
	}
	return out
}

// settleAll finds the positions when all is read, and lets go of what is not needed then.
func (s *commitStore) settleAll() {
	s.keyIndex, s.names.index, s.metaOf, s.idOf, s.fileOf = hashIndex{}, hashIndex{}, nil, nil, nil
	at := make([]int32, len(s.keys)) // index into positions + 1
	place := func(r *commitRow) {
		switch i := at[r.key]; {
		case i == 0:
			s.positions = append(s.positions, r)
			at[r.key] = int32(len(s.positions))
		case cmp.Or(cmp.Compare(r.atMs, s.positions[i-1].atMs), cmp.Compare(s.files[r.file].partition, s.files[s.positions[i-1].file].partition)) > 0:
			// The group stands in two partitions of __consumer_offsets: their number was changed.
			s.positions[i-1] = r
		}
	}
	for p := range s.parts {
		for i := range s.parts[p].n {
			if r := s.parts[p].at(i); r.position {
				place(r)
			}
		}
	}
	for i := range s.apart {
		place(&s.apart[i])
	}
	slices.SortFunc(s.positions, s.compare)
	slices.SortStableFunc(s.pending, func(a, b commitRow) int { return s.compare(&a, &b) })
}

// compare orders rows by cluster, group, topic and partition, then by their records.
func (s *commitStore) compare(a, b *commitRow) int {
	x, y := &s.keys[a.key], &s.keys[b.key]
	if x.cluster != y.cluster {
		return cmp.Or(strings.Compare(s.clusters[x.cluster].ID, s.clusters[y.cluster].ID), cmp.Compare(x.cluster, y.cluster))
	}
	if x.group != y.group {
		return strings.Compare(s.names.text(x.group), s.names.text(y.group))
	}
	if x.topic != y.topic {
		return strings.Compare(s.names.text(x.topic), s.names.text(y.topic))
	}
	return cmp.Or(cmp.Compare(x.partition, y.partition), cmp.Compare(a.recordOffset, b.recordOffset))
}

// commit makes a Commit of a row.
func (s *commitStore) commit(r *commitRow) Commit {
	k, f := &s.keys[r.key], &s.files[r.file]
	c := Commit{Cluster: s.clusters[k.cluster], Group: s.names.text(k.group), Topic: s.names.text(k.topic), Partition: k.partition, TopicID: s.ids[r.id],
		Offset: r.offset, LeaderEpoch: r.epoch, Metadata: s.metas[r.meta], CommitMs: r.commitMs, ExpireMs: r.expireMs, Deleted: r.deleted,
		ProducerID: -1, MarkerOffset: -1, Broker: f.copy.Broker, State: f.copy.State, File: f.path,
		OffsetsPartition: f.partition, RecordOffset: r.recordOffset, RecordEpoch: r.recordEpoch, AtMs: r.atMs, Rules: r.rules}
	if r.txn > 0 {
		t := &s.txns[r.txn]
		c.Transactional, c.ProducerID, c.MarkerOffset, c.Pending = true, t.producerID, t.marker, t.marker < 0
	}
	return c
}

// index sorts rows and positions by partition, when all is read.
func (s *commitStore) index() {
	s.once.Do(func() {
		s.byName, s.positionsName = map[nameAndNumber][]*commitRow{}, map[nameAndNumber][]*commitRow{}
		for p := range s.parts {
			for i := range s.parts[p].n {
				r := s.parts[p].at(i)
				n := s.log(r)
				s.byName[n] = append(s.byName[n], r)
			}
		}
		for _, r := range s.positions {
			n := s.log(r)
			s.positionsName[n] = append(s.positionsName[n], r)
		}
	})
}

// log is the partition that a row is a position in.
func (s *commitStore) log(r *commitRow) nameAndNumber {
	k := &s.keys[r.key]
	return nameAndNumber{s.names.text(k.topic), k.partition}
}

func (s *commitStore) positionsOf(topic string, partition int32) []*commitRow {
	s.index()
	return s.positionsName[nameAndNumber{topic, partition}]
}

// commits are all rows of a partition, in the order of their records.
func (s *commitStore) commits(topic string, partition int32) []Commit {
	s.index()
	var out []Commit
	for _, r := range s.byName[nameAndNumber{topic, partition}] {
		out = append(out, s.commit(r))
	}
	slices.SortStableFunc(out, func(a, b Commit) int {
		return cmp.Or(cmp.Compare(a.OffsetsPartition, b.OffsetsPartition), cmp.Compare(a.RecordOffset, b.RecordOffset))
	})
	return out
}
