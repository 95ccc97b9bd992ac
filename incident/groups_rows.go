package incident

import (
	"cmp"
	"slices"
	"sort"
)

// commitKey is what a position belongs to; numbers into commitStore.clusters and names.
type commitKey struct {
	cluster, group, topic uint32
	partition             int32
}

// commitRow is a commit in little memory, without a pointer. Keys, metadata, files and
// transactions are shared.
type commitRow struct {
	key, meta, file, id uint32
	txn                 uint32 // index into commitStore.txns, 0 none
	epoch, recordEpoch  int32
	deleted, rules      bool
	position            bool // the newest effective commit of its key; thinning leaves it
	offset              int64
	commitMs, expireMs  int64
	recordOffset, atMs  int64
}

// same reports whether two rows are the same record, in different copies.
func (r *commitRow) same(o *commitRow) bool {
	return r.recordOffset == o.recordOffset && r.key == o.key && r.offset == o.offset && r.epoch == o.epoch && r.commitMs == o.commitMs && r.deleted == o.deleted
}

// rowChunk is how many rows stand together.
const rowChunk = 16 << 10

// rowList is a list that grows without being copied; rows never move.
type rowList struct {
	chunks [][]commitRow // all but the last are full
	n      int
}

func (l *rowList) at(i int) *commitRow { return &l.chunks[i/rowChunk][i%rowChunk] }

func (l *rowList) add(r commitRow) {
	if l.n%rowChunk == 0 {
		var c []commitRow
		if l.n > 0 {
			c = make([]commitRow, 0, rowChunk)
		}
		l.chunks = append(l.chunks, c)
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, r)
	l.n++
}

// without is the list without the rows that drop picks; the list itself if it picks none.
func (l *rowList) without(drop func(r *commitRow) bool) rowList {
	first := 0
	for first < l.n && !drop(l.at(first)) {
		first++
	}
	if first == l.n {
		return *l
	}
	var out rowList
	for i := range l.n {
		if r := l.at(i); i < first || i > first && !drop(r) {
			out.add(*r)
		}
	}
	return out
}

// sorted is the list by record offset, as files of records are, unless damaged.
func (l *rowList) sorted() rowList {
	inOrder := true
	for i := 1; i < l.n && inOrder; i++ {
		inOrder = l.at(i-1).recordOffset <= l.at(i).recordOffset
	}
	if inOrder {
		return *l
	}
	rows := slices.Concat(l.chunks...)
	slices.SortStableFunc(rows, func(a, b commitRow) int { return cmp.Compare(a.recordOffset, b.recordOffset) })
	return rowList{slices.Collect(slices.Chunk(rows, rowChunk)), l.n}
}

// contains looks for the same record in rows sorted by record offset.
func (l *rowList) contains(r *commitRow) bool {
	i := sort.Search(l.n, func(i int) bool { return l.at(i).recordOffset >= r.recordOffset })
	for ; i < l.n && l.at(i).recordOffset == r.recordOffset; i++ {
		if l.at(i).same(r) {
			return true
		}
	}
	return false
}
