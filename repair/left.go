package repair

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kafsck/check"
	"kafsck/finding"
)

const (
	moreCopies = "If another copy of the partition exists that is not among these PATHs, give it as well and plan again; else nothing here brings them back."
	saveAround = "Save what stands around it (kafsck dump --records), and do not start this broker uncleanly before. kafsck diff shows what the other replicas have there."
	idOutside  = "The topic id is the same in all partitions of the topic, on all brokers: give one more of them, or the directory of a controller, and plan again."
)

// leftWhy says of findings that nothing here mends why that is so; next is what to do instead, ""
// what the finding itself says.
var leftWhy = map[finding.Code][2]string{
	"hanging-transaction":              {"only the broker can end a transaction: a marker that is written into a file would be on one replica alone", ""},
	"quorum-state":                     {"quorum-state remembers for whom this voter voted: without it, or with another one, it may vote twice in one epoch, and the quorum may elect two leaders", ""},
	"voter-lost-state":                 {"a voter that lost its state may vote again in an epoch in which it has voted: then committed metadata may be voted away", ""},
	"metadata-log-damaged":             {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-log-diverges":            {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-snapshot-missing":        {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-snapshot-unusable":       {"the cluster metadata come from the quorum, never from an edited file", ""},
	"metadata-snapshot-conflict":       {"the cluster metadata come from the quorum, never from an edited file", ""},
	"epoch-starts-beyond-end":          {"the entry is evidence that this copy once reached further; a load drops it", ""},
	"replica-far-behind-own-hw":        {"the records are not in this copy, and lowering the line would only hide that", ""},
	"active-segment-removed":           {"the records are not in this copy; a follower fetches them from its leader", ""},
	"segment-gap":                      {"no other replica among the inputs has the missing offsets with the same batches on both sides", moreCopies},
	"index-orphan":                     {"no other replica among the inputs has the missing offsets with the same batches on both sides", moreCopies},
	"offset-gap":                       {"no bytes here hold the missing offsets", ""},
	"topic-id-mismatch":                {"the id decides whether the cluster deletes the directory: that is not for a file to say", ""},
	"cluster-id-mismatch":              {"the id says to which cluster the disk belongs, and only its owner knows", ""},
	"node-id-mismatch":                 {"the id says to which node the disk belongs, and only its owner knows", ""},
	"directory-id":                     {"the id says to the controller which disk this is, and only its owner knows", ""},
	"meta-properties-missing":          {"no other disk of this broker is among the inputs, and an id is never invented", ""},
	"meta-properties-malformed":        {"no other disk of this broker is among the inputs, and an id is never invented", ""},
	"partition-metadata-missing":       {"neither another replica nor the metadata among the inputs know the topic id", idOutside},
	"partition-metadata-malformed":     {"neither another replica nor the metadata among the inputs know the topic id", idOutside},
	"epoch-out-of-line":                {"no other replica here has the batch with another epoch, and a header is never patched", "Do not let a broker rebuild leader-epoch-checkpoint from this log: kafsck repair epochs writes one without this epoch. kafsck diff shows what the other replicas have there."},
	"inner-record-invalid":             {"more batches than a plan lists have a right CRC and records that cannot be read", ""},
	"batch-codec-unknown":              {"the batch passes its CRC: what its bytes mean cannot be guessed", ""},
	"lz4-header-checksum-wrong":        {"the batch passes its CRC: it was written so", ""},
	"batch-header-impossible":          {"the batch passes its CRC: it was written so", ""},
	"producer-epoch-regression":        {"the batches pass their CRC: they were written so", ""},
	"transaction-marker-invalid":       {"the batch passes its CRC: it was written so", ""},
	"txn-data-without-marker":          {"a marker is never made, and no other replica among the inputs has it between the same two batches", moreCopies},
	"sequence-gap":                     {"the batches pass their CRC: nothing tells what is missing", ""},
	"sequence-repeat":                  {"the batches pass their CRC: they were written so", ""},
	"future-timestamp":                 {"timestamps are data", ""},
	"timestamp-negative":               {"timestamps are data", ""},
	"max-timestamp-mismatch":           {"the header says so under its CRC. A lookup by time goes by it and passes the batch over, whatever the time index says, and the next recovery builds that from the headers again", "Seek by offset here. Where time-based retention must not wait for it, or not come too early, set retention by size meanwhile."},
	"file-unreadable":                  {"permissions are not for a repair of bytes to change", ""},
	"leftover-directory":               {"it may hold records that the live one lacks, or all that the broker has: no plan takes it out", ""},
	"remote-segment-not-in-lineage":    {"what is in remote storage is no file here", ""},
	"acked-records-only-on":            {"which copy survives is a choice for people: export first", "Keep the holders stopped, and save what they alone have (kafsck export --lost); kafsck loss names offsets, proof and holders."},
	"divergence":                       {"which copy survives is a choice for people: export first", "kafsck diff shows each range, kafsck loss what is lost with it. Save what only one side has (kafsck export --lost); then --truncate [BROKER:]TOPIC-PARTITION@OFFSET plans the cut."},
	"replica-ahead-of-leader":          {"which copy survives is a choice for people: a copy with more records is never cut to one with fewer", ""},
	"unclean-election-estimate":        {"it has happened; what it cost is in the copies that are left: export first", ""},
	"epoch-skips-committed-range":      {"which copy survives is a choice for people: export first", ""},
	"leader-batch-bad-followers-stuck": {"no other replica here has the batch", ""},
	"out-of-space-pattern":             {"it is many findings at once, of which each is planned by itself", "Make room on the disk before the broker starts."},
	"cleaner-stuck-before":             {"what the cleaner stands before is told by another finding", ""},
	"metadata-stale":                   {"it is about which files were copied", ""},
	"leader-not-among-inputs":          {"it is about which files were copied", ""},
	"batch-crc-mismatch":               {"", saveAround},
	"log-bytes-unreadable":             {"", saveAround},
	"log-bytes-zeroed":                 {"", saveAround},
	"batch-magic-unknown":              {"", saveAround},
	"base-offset-out-of-line":          {"", saveAround},
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
		if next = withoutPlan(next); next != "" {
			return why, next
		}
	}
	return why, "kafsck explain " + string(x.Code) + " tells more; kafsck diff compares the replicas."
}

// withoutPlan leaves out of an advice what sends to a plan: it is read in one, which has nothing to
// offer here.
func withoutPlan(next string) string {
	const plan = "kafsck repair plan"
	if !strings.Contains(next, plan) {
		return next
	}
	var kept []string
	for _, sentence := range strings.SplitAfter(next, ". ") {
		if strings.Contains(sentence, plan) {
			clauses := slices.DeleteFunc(strings.Split(strings.TrimSuffix(strings.TrimSpace(sentence), "."), "; "), func(c string) bool { return strings.Contains(c, plan) })
			if sentence = strings.Join(clauses, "; "); sentence == "" || strings.HasSuffix(sentence, ":") {
				continue
			}
			sentence = capital(sentence) + "."
		}
		kept = append(kept, strings.TrimSpace(sentence))
	}
	return capital(strings.TrimPrefix(strings.Join(kept, " "), "Else "))
}

// capital begins a sentence; a command stays as it is typed.
func capital(s string) string {
	if s == "" || strings.HasPrefix(s, "kafsck ") {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
