package logdir

import (
	"fmt"
	"strconv"
	"strings"
)

// fileName is what a name in a partition directory means.
type fileName struct {
	kind   Kind
	suffix Suffix
	base   int64  // -1 none
	epoch  int32  // -1 none
	why    string // set: it goes to Unknown
}

var segmentKinds = map[string]Kind{
	"log": KindLog, "index": KindIndex, "timeindex": KindTimeIndex, "txnindex": KindTxnIndex, "snapshot": KindProducerSnapshot,
}

const (
	whyTemporary = "unfinished write of a checkpoint; a broker ignores it"
	whyUnused    = "not a file of a broker; a broker ignores it"
)

// SuffixOf returns the suffix that a file name ends in, whatever stands before it.
func SuffixOf(name string) Suffix {
	_, s := cutSuffix(name)
	return s
}

func cutSuffix(name string) (string, Suffix) {
	for _, s := range []Suffix{Deleted, Swap, Cleaned} {
		if rest, ok := strings.CutSuffix(name, s.String()); ok {
			return rest, s
		}
	}
	return name, NoSuffix
}

// parseFileName applies the grammar of files in a partition directory:
//
//	D20 "." ("log"|"index"|"timeindex"|"txnindex"|"snapshot") [".deleted"|".swap"|".cleaned"]
//	D20 "-" D10 ".checkpoint" [".deleted"]              metadata partition only
//	D20 "-" D10 "-" RANDOM ".checkpoint.part"           likewise
//	"leader-epoch-checkpoint" | "partition.metadata" | "quorum-state"  [".tmp"]
//
// A broker takes the text before the first dot for the base offset, parsed as Long.parseLong, and
// then opens the file with that number in 20 digits. So "7.log" does not hold offset 7: the broker
// would make a new, empty 00000000000000000007.log. Such names are unknown here.
func parseFileName(name string) fileName {
	f := fileName{base: -1, epoch: -1}
	switch name {
	case "leader-epoch-checkpoint":
		f.kind = KindEpochs
		return f
	case "partition.metadata":
		f.kind = KindPartitionMetadata
		return f
	case "quorum-state":
		f.kind = KindQuorumState
		return f
	case "leader-epoch-checkpoint.tmp", "partition.metadata.tmp", "quorum-state.tmp":
		f.kind, f.why = KindTemporary, whyTemporary
		return f
	}
	rest, suffix := cutSuffix(name)
	if prefix, ok := strings.CutSuffix(rest, ".checkpoint"); ok && (suffix == NoSuffix || suffix == Deleted) {
		if end, epoch, ok := parseSnapshotID(prefix); ok {
			f.kind, f.suffix, f.base, f.epoch = KindMetadataSnapshot, suffix, end, epoch
			return f
		}
	}
	if prefix, ok := strings.CutSuffix(name, ".checkpoint.part"); ok && len(prefix) > 32 && prefix[31] == '-' {
		if _, _, ok := parseSnapshotID(prefix[:31]); ok {
			f.kind, f.why = KindTemporary, "unfinished metadata snapshot; a broker deletes it"
			return f
		}
	}
	prefix, ext, _ := strings.Cut(rest, ".")
	if i := strings.LastIndexByte(ext, '.'); i >= 0 {
		ext = ext[i+1:] // "a.b.log" also ends in .log
	}
	kind, isSegment := segmentKinds[ext]
	if !isSegment {
		f.why = whyUnused
		return f
	}
	base, why := parseBaseOffset(prefix)
	if why == "" && rest != prefix+"."+ext {
		why = fmt.Sprintf("more than one dot before %q", "."+ext)
	}
	if why != "" {
		f.kind, f.suffix, f.why = KindBadSegmentName, suffix, why
		return f
	}
	f.kind, f.suffix, f.base = kind, suffix, base
	return f
}

// parseBaseOffset reads D20. why is empty if it is one.
func parseBaseOffset(s string) (base int64, why string) {
	if s == "" {
		return -1, "no base offset before the first dot"
	}
	digits := strings.TrimLeft(s, "+-")
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return -1, fmt.Sprintf("%q before the first dot is not a number", s)
		}
	}
	if digits == "" || len(s)-len(digits) > 1 {
		return -1, fmt.Sprintf("%q before the first dot is not a number", s)
	}
	if s[0] == '-' {
		return -1, "the base offset is negative"
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1, "the base offset does not fit in 64 bits"
	}
	if len(s) != 20 || s[0] == '+' {
		return -1, fmt.Sprintf("the base offset is not written in 20 digits; a broker would open %020d instead", base)
	}
	return base, ""
}

// parseSnapshotID reads D20-D10, the end offset and epoch of a metadata snapshot (Snapshots.parse).
func parseSnapshotID(s string) (end int64, epoch int32, ok bool) {
	if len(s) != 31 || s[20] != '-' {
		return 0, 0, false
	}
	end, why := parseBaseOffset(s[:20])
	if why != "" {
		return 0, 0, false
	}
	for _, c := range []byte(s[21:]) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
	}
	e, err := strconv.ParseInt(s[21:], 10, 32)
	if err != nil {
		return 0, 0, false
	}
	return end, int32(e), true
}

var logDirFiles = map[string]Kind{
	"meta.properties":                  KindMetaProperties,
	"replication-offset-checkpoint":    KindHighWatermarks,
	"recovery-point-offset-checkpoint": KindRecoveryPoints,
	"log-start-offset-checkpoint":      KindLogStarts,
	"cleaner-offset-checkpoint":        KindCleanerOffsets,
	".kafka_cleanshutdown":             KindCleanShutdown,
	".lock":                            KindLock,
	"bootstrap.checkpoint":             KindBootstrap,
}

// parseLogDirFile tells what a file directly in a log directory is.
func parseLogDirFile(name string) fileName {
	f := fileName{base: -1, epoch: -1}
	if k, ok := logDirFiles[name]; ok {
		f.kind = k
		return f
	}
	if known, ok := strings.CutSuffix(name, ".tmp"); ok && logDirFiles[known] != KindOther {
		f.kind, f.why = KindTemporary, whyTemporary
		return f
	}
	f.why = whyUnused
	return f
}

// marksLogDir tells the files that only a log directory has. A .lock alone is any program's, and
// bootstrap.checkpoint may lie wherever an administrator formatted something.
func (k Kind) marksLogDir() bool {
	switch k {
	case KindMetaProperties, KindHighWatermarks, KindRecoveryPoints, KindLogStarts, KindCleanerOffsets, KindCleanShutdown:
		return true
	}
	return false
}

// marksPartition tells the files that only a partition directory has.
func (k Kind) marksPartition() bool {
	switch k {
	case KindLog, KindIndex, KindTimeIndex, KindTxnIndex, KindProducerSnapshot, KindMetadataSnapshot,
		KindEpochs, KindPartitionMetadata, KindQuorumState:
		return true
	}
	return false
}
