package check

import (
	"slices"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// unlessScanned: without a clean shutdown marker the next start rebuilds the indexes
// of the segments from the recovery point on; all others it takes as they are.
func unlessScanned(code finding.Code) func(*view, replica.Anomaly) verdict {
	return func(v *view, a replica.Anomaly) verdict {
		flushed := v.log.RecoveryPoint
		sealed := !v.last(a.Segment) && flushed != nil && *flushed >= v.log.Segments[a.Segment+1].BaseOffset
		if v.marker() || sealed {
			return verdict{code, damage}
		}
		return verdict{code, note}
	}
}

// absent: where a directory holds neither index files nor small ones, only the logs
// were copied.
func absent(code finding.Code) func(*view, replica.Anomaly) verdict {
	return func(v *view, _ replica.Anomaly) verdict {
		if onlyLogs(v.log.Partition) {
			return verdict{}
		}
		return verdict{code, note}
	}
}

func onlyLogs(p *logdir.Partition) bool {
	if p.EpochsFile != nil || p.MetaFile != nil {
		return false
	}
	return !slices.ContainsFunc(p.Segments, func(s *logdir.Segment) bool { return s.Index != nil || s.TimeIndex != nil })
}

// indexRules judge the anomalies of the files beside a .log.
var indexRules = []rule{
	{replica.IndexMissing, absent("index-missing"), plural("segment has no .index", "segments have no .index")},
	{replica.TimeIndexMissing, absent("timeindex-missing"), plural("segment has no .timeindex", "segments have no .timeindex")},
	{replica.TimeIndexEmpty, is("timeindex-empty", note), plural("closed segment has a .timeindex without entries", "closed segments have a .timeindex without entries")},
	{replica.ZeroCapacityIndex, is("zero-capacity-index", warning), plural("index file of the empty active segment has 0 bytes", "index files of the empty active segment have 0 bytes")},
	{replica.IndexMisaligned, is("index-misaligned", warning), plural("index file has a size that is no multiple of its entries'", "index files have sizes that are no multiple of their entries'")},
	{replica.IndexNotTrimmed, is("index-not-trimmed", note), plural("index file has its preallocated size", "index files have their preallocated size")},
	{replica.IndexFullOfZeros, unlessScanned("index-full-of-zeros"), plural(".index is full of zeros and holds no entry", ".index files are full of zeros and hold no entry")},
	{replica.TimeIndexFullOfZeros, unlessScanned("timeindex-full-of-zeros"), plural(".timeindex is full of zeros and holds no entry", ".timeindex files are full of zeros and hold no entry")},
	{replica.IndexStale, is("index-stale-entries", note), plural("index file keeps entries from before a truncation", "index files keep entries from before a truncation")},
	{replica.IndexOutOfOrder, is("index-out-of-order", damage), plural("entry of an .index does not ascend", "entries of an .index do not ascend")},
	{replica.TimeIndexOutOfOrder, is("timeindex-out-of-order", damage), plural("entry of a .timeindex does not ascend", "entries of a .timeindex do not ascend")},
	{replica.IndexPointsNowhere, is("index-points-nowhere", damage), plural("entry of an .index points to no batch", "entries of an .index point to no batch")},
	{replica.IndexWrongOffset, is("index-wrong-offset", damage), plural("entry of an .index has an offset that its batch does not have", "entries of an .index have offsets that their batches do not have")},
	{replica.TimeIndexWrong, is("timeindex-wrong", warning), plural("entry of a .timeindex contradicts the batches", "entries of a .timeindex contradict the batches")},
	{replica.IndexSpanMissing, is("index-span-missing", warning), plural("part of a segment has no index entry", "parts of segments have no index entry")},
	{replica.TxnIndexMalformed, is("txnindex-malformed", damage), plural("entry of a .txnindex cannot be right", "entries of a .txnindex cannot be right")},
	{replica.TxnIndexMismatch, is("txnindex-mismatch", damage), plural("aborted transaction differs between .txnindex and .log", "aborted transactions differ between .txnindex and .log")},
	{replica.TxnDataWithoutMarker, is("txn-data-without-marker", damage), plural("aborted transaction has records but no marker", "aborted transactions have records but no markers")},
	{replica.TxnIndexBehind, is("txnindex-behind", note), plural(".txnindex lacks the newest aborted transactions", ".txnindex files lack the newest aborted transactions")},
	{replica.SnapshotMalformed, is("producer-snapshot-corrupt", warning), plural("producer snapshot cannot be read", "producer snapshots cannot be read")},
	{replica.SnapshotContent, is("producer-snapshot-content", warning), plural("producer in a snapshot contradicts the batches before it", "producers in snapshots contradict the batches before them")},
	{replica.NotCompared, is("not-compared", note), plural("file was not compared to its end", "files were not compared to their ends")},
}
