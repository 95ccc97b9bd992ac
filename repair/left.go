package repair

import (
	"kafsck/check"
	"kafsck/finding"
)

// leftWhy says of findings that nothing here mends why that is so; next is what to do instead, ""
// what the finding itself says.
var leftWhy = map[finding.Code][2]string{
	"hanging-transaction":              {"only the broker can end a transaction: a marker that is written into a file would be on one replica alone", ""},
	"quorum-state":                     {"quorum-state remembers for whom this voter voted: without it, or with another one, it may vote twice in one epoch, and the quorum may elect two leaders", ""},
	"voter-lost-state":                 {"a voter that lost its state may vote again in an epoch in which it has voted: then committed metadata may be voted away", ""},
	"metadata-log-damaged":             {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-log-diverges":            {"the cluster metadata come from the quorum, never from an edited file", "Stop this node, move its metadata directory aside, and let it fetch the metadata from the quorum."},
	"metadata-snapshot-missing":        {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-snapshot-unusable":       {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-snapshot-conflict":       {"the cluster metadata come from the quorum, never from an edited file", ""},
	"epoch-starts-beyond-end":          {"the entry is evidence that this copy once reached further; a load drops it", ""},
	"replica-far-behind-own-hw":        {"the records are not in this copy, and lowering the line would only hide that", ""},
	"active-segment-removed":           {"the records are not in this copy; a follower fetches them from its leader", ""},
	"segment-gap":                      {"no other replica among the inputs has the missing offsets with the same batches on both sides", "Give the copies of the other replicas as further PATHs, and plan again."},
	"index-orphan":                     {"no other replica among the inputs has the missing offsets with the same batches on both sides", "Give the copies of the other replicas as further PATHs, and plan again."},
	"offset-gap":                       {"no bytes here hold the missing offsets", ""},
	"topic-id-mismatch":                {"the id decides whether the cluster deletes the directory: that is not for a file to say", ""},
	"cluster-id-mismatch":              {"the id says to which cluster the disk belongs, and only its owner knows", ""},
	"node-id-mismatch":                 {"the id says to which node the disk belongs, and only its owner knows", ""},
	"directory-id":                     {"the id says to the controller which disk this is, and only its owner knows", ""},
	"meta-properties-missing":          {"no other disk of this broker is among the inputs, and an id is never invented", ""},
	"meta-properties-malformed":        {"no other disk of this broker is among the inputs, and an id is never invented", ""},
	"partition-metadata-missing":       {"neither another replica nor the metadata among the inputs know the topic id", ""},
	"partition-metadata-malformed":     {"neither another replica nor the metadata among the inputs know the topic id", ""},
	"epoch-out-of-line":                {"no other replica here has the batch with another epoch, and a header is never patched", ""},
	"inner-record-invalid":             {"more batches than a plan lists have a right CRC and records that cannot be read", ""},
	"batch-codec-unknown":              {"the batch passes its CRC: what its bytes mean cannot be guessed", ""},
	"lz4-header-checksum-wrong":        {"the batch passes its CRC: it was written so", ""},
	"batch-header-impossible":          {"the batch passes its CRC: it was written so", ""},
	"producer-epoch-regression":        {"the batches pass their CRC: they were written so", ""},
	"transaction-marker-invalid":       {"the batch passes its CRC: it was written so", ""},
	"txn-data-without-marker":          {"a marker is never made, and no other replica among the inputs has it between the same two batches", "Give the copies of the other replicas as further PATHs, and plan again."},
	"sequence-gap":                     {"the batches pass their CRC: nothing tells what is missing", ""},
	"sequence-repeat":                  {"the batches pass their CRC: they were written so", ""},
	"future-timestamp":                 {"timestamps are data", ""},
	"timestamp-negative":               {"timestamps are data", ""},
	"max-timestamp-mismatch":           {"the header says so under its CRC. A lookup by time goes by it and passes the batch over, whatever the time index says, and the next recovery builds that from the headers again", "Seek by offset here. Where time-based retention must not wait for it, or not come too early, set retention by size meanwhile."},
	"file-unreadable":                  {"permissions are not for a repair of bytes to change", ""},
	"leftover-directory":               {"it may hold records that the live one lacks, and is never taken out by default", ""},
	"remote-segment-not-in-lineage":    {"what is in remote storage is no file here", ""},
	"acked-records-only-on":            {"which copy survives is a choice for people: export first", ""},
	"divergence":                       {"which copy survives is a choice for people: export first", ""},
	"replica-ahead-of-leader":          {"which copy survives is a choice for people: a copy with more records is never cut to one with fewer", ""},
	"unclean-election-estimate":        {"it has happened; what it cost is in the copies that are left: export first", ""},
	"epoch-skips-committed-range":      {"which copy survives is a choice for people: export first", ""},
	"leader-batch-bad-followers-stuck": {"no other replica here has the batch", ""},
	"out-of-space-pattern":             {"it is many findings at once, of which each is planned by itself", "Make room on the disk before the broker starts."},
	"cleaner-stuck-before":             {"what the cleaner stands before is told by another finding", ""},
	"metadata-stale":                   {"it is about which files were copied", ""},
	"leader-not-among-inputs":          {"it is about which files were copied", ""},
	"interrupted-swap":                 {"neither the cleaner's output nor the originals are whole", ""},
	"duplicate-partition-dirs":         {"more than two directories, or one that is mended first", ""},
	"bad-segment-name":                 {"the name says nothing of the offsets inside", "Move the file out of the log directory, then kafsck salvage --scan FILE."},
}

// whyLeft is the reason why a finding is left, and what to do instead.
func whyLeft(x *found) (why, next string) {
	w := leftWhy[x.Code]
	if why = w[0]; why == "" {
		why = "nothing in these inputs proves a remedy"
	}
	for _, next = range []string{w[1], x.Next, check.Next(x.Code)} {
		if next != "" {
			return why, next
		}
	}
	return why, "kafsck explain " + string(x.Code)
}
