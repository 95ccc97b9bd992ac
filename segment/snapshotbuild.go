package segment

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// AppendSnapshot appends the bytes of a .snapshot of these producers, as
// ProducerStateManager.writeSnapshot writes it: in the order in which a java.util.HashMap
// holds their ids. list is sorted into that order.
func AppendSnapshot(b []byte, list []ProducerEntry) []byte {
	sortAsHashMap(list)
	start := len(b)
	b = append(b, 0, 1, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for i := range list {
		e := &list[i]
		b = binary.BigEndian.AppendUint64(b, uint64(e.ProducerID))
		b = binary.BigEndian.AppendUint16(b, uint16(e.ProducerEpoch))
		b = binary.BigEndian.AppendUint32(b, uint32(e.LastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(e.LastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(e.OffsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(e.Timestamp))
		b = binary.BigEndian.AppendUint32(b, uint32(e.CoordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.CurrentTxnFirstOffset))
	}
	binary.BigEndian.PutUint32(b[start+2:], crc32.Checksum(b[start+6:], castagnoli))
	return b
}

// sortAsHashMap orders producers by the bucket of their id in a table that has grown as they
// came; those of one bucket keep their order. The order means nothing to Kafka.
//
// Source: java.util.HashMap (hash, resize: 16 buckets, doubled beyond three quarters) and
// Long.hashCode.
func sortAsHashMap(list []ProducerEntry) {
	buckets := 16
	for len(list) > buckets/4*3 {
		buckets *= 2
	}
	bucket := func(id int64) int {
		h := uint32(uint64(id) ^ uint64(id)>>32)
		h ^= h >> 16
		return int(h) & (buckets - 1)
	}
	slices.SortStableFunc(list, func(a, b ProducerEntry) int { return cmp.Compare(bucket(a.ProducerID), bucket(b.ProducerID)) })
}

// AppendAbortedTxn appends the entry of a .txnindex.
func AppendAbortedTxn(b []byte, t *AbortedTxn) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(t.Version))
	b = binary.BigEndian.AppendUint64(b, uint64(t.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(t.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(t.LastStableOffset))
}
