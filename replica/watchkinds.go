package replica

// What the files beside a .log say, compared with its batches. Which of these are
// harmless is for the check package to say; what the names promise is only that
// the normal has another name than the wrong. Anomaly.File is the file, or nil where
// it is missing; Position and Length are bytes in it.
const (
	// IndexMissing and TimeIndexMissing: there is no such file. Detail says so where
	// the segment is empty: brokers make the files when they are first needed.
	IndexMissing     AnomalyKind = "index-missing"
	TimeIndexMissing AnomalyKind = "timeindex-missing"
	// TimeIndexEmpty: no entry beside a closed segment that has timestamps. Brokers make
	// a missing .timeindex anew without filling it.
	TimeIndexEmpty AnomalyKind = "timeindex-empty"
	// ZeroCapacityIndex: 0 bytes beside an empty active .log that follows other segments.
	ZeroCapacityIndex AnomalyKind = "zero-capacity-index"
	// IndexMisaligned: the size is no multiple of the entry's.
	IndexMisaligned AnomalyKind = "index-misaligned"
	// IndexNotTrimmed: preallocated zeros behind the entries, or nothing else.
	IndexNotTrimmed AnomalyKind = "index-not-trimmed"
	// IndexFullOfZeros and TimeIndexFullOfZeros: nothing but zeros, beside a segment
	// that was closed (sealed, or the broker stopped cleanly) and must have an entry.
	IndexFullOfZeros     AnomalyKind = "index-full-of-zeros"
	TimeIndexFullOfZeros AnomalyKind = "timeindex-full-of-zeros"
	// IndexStale: entries of the active segment that point at or behind the log end or
	// contradict the batches, of a .index, .timeindex or .txnindex. An in-place
	// truncation leaves them when the broker is killed or copied alive; the recovery of
	// the segment removes them. One anomaly a file.
	IndexStale AnomalyKind = "index-stale-entries"

	// IndexOutOfOrder and TimeIndexOutOfOrder: an entry that does not ascend.
	IndexOutOfOrder     AnomalyKind = "index-out-of-order"
	TimeIndexOutOfOrder AnomalyKind = "timeindex-out-of-order"
	// IndexPointsNowhere: no batch begins at the entry's position.
	IndexPointsNowhere AnomalyKind = "index-points-nowhere"
	// IndexWrongOffset: a batch does, but the entry's offset cannot be right, so that a
	// lookup would begin behind the record or at the wrong batch.
	IndexWrongOffset AnomalyKind = "index-wrong-offset"
	// TimeIndexWrong: the entry's timestamp is not the largest up to its offset.
	TimeIndexWrong AnomalyKind = "timeindex-wrong"
	// IndexSpanMissing: more of a closed segment without an entry than any append can write.
	IndexSpanMissing AnomalyKind = "index-span-missing"

	// TxnIndexMalformed: an entry that Kafka refuses or cannot have written.
	TxnIndexMalformed AnomalyKind = "txnindex-malformed"
	// TxnIndexMismatch: entries and ABORT markers disagree.
	TxnIndexMismatch AnomalyKind = "txnindex-mismatch"
	// TxnDataWithoutMarker: a .txnindex knows of an ABORT marker, records of the transaction
	// are here, and the marker is not. The cleaner keeps it as long as there are records.
	TxnDataWithoutMarker AnomalyKind = "txn-data-without-marker"
	// TxnIndexBehind: the last ABORT markers of the active segment have no entry yet, and the
	// broker was not stopped cleanly.
	TxnIndexBehind AnomalyKind = "txnindex-behind"
	// SnapshotMalformed: a .snapshot that Kafka deletes; Detail is the kind of
	// segment.SnapshotProblem.
	SnapshotMalformed AnomalyKind = "snapshot-malformed"
	// SnapshotContent: a producer in a .snapshot contradicts the batches before it, or
	// one that must be there is missing. Detail names the field, or "missing".
	SnapshotContent AnomalyKind = "snapshot-content"
	// NotCompared: one of our own limits was reached; what follows was not looked at.
	NotCompared AnomalyKind = "not-compared"
)

// maxBad bounds how many bad entries of one file are looked at.
const maxBad = 1000
