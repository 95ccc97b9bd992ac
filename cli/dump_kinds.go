package cli

import (
	"fmt"
	"path"
	"strings"

	"kafsck/logdir"
)

// dumpKind is a kind of file that dump decodes, and the value of --as.
type dumpKind string

// The kinds. Those of text files are the names of the files.
const (
	dumpNothing      dumpKind = ""
	dumpLog          dumpKind = "log"
	dumpMetadata     dumpKind = "metadata-log"
	dumpIndex        dumpKind = "index"
	dumpTimeIndex    dumpKind = "timeindex"
	dumpTxnIndex     dumpKind = "txnindex"
	dumpSnapshot     dumpKind = "snapshot"
	dumpEpochs       dumpKind = "leader-epoch-checkpoint"
	dumpWatermarks   dumpKind = "replication-offset-checkpoint"
	dumpRecovery     dumpKind = "recovery-point-offset-checkpoint"
	dumpLogStarts    dumpKind = "log-start-offset-checkpoint"
	dumpCleaner      dumpKind = "cleaner-offset-checkpoint"
	dumpPartition    dumpKind = "partition.metadata"
	dumpProperties   dumpKind = "meta.properties"
	dumpQuorum       dumpKind = "quorum-state"
	dumpCleanStopped dumpKind = ".kafka_cleanshutdown"
)

var dumpKinds = []dumpKind{dumpLog, dumpMetadata, dumpIndex, dumpTimeIndex, dumpTxnIndex, dumpSnapshot, dumpEpochs, dumpWatermarks, dumpRecovery, dumpLogStarts, dumpCleaner, dumpPartition, dumpProperties, dumpQuorum, dumpCleanStopped}

// kindOf tells by its name how to decode a file.
var kindOf = map[logdir.Kind]dumpKind{
	logdir.KindLog:               dumpLog,
	logdir.KindIndex:             dumpIndex,
	logdir.KindTimeIndex:         dumpTimeIndex,
	logdir.KindTxnIndex:          dumpTxnIndex,
	logdir.KindProducerSnapshot:  dumpSnapshot,
	logdir.KindMetadataSnapshot:  dumpMetadata,
	logdir.KindBootstrap:         dumpMetadata,
	logdir.KindEpochs:            dumpEpochs,
	logdir.KindHighWatermarks:    dumpWatermarks,
	logdir.KindRecoveryPoints:    dumpRecovery,
	logdir.KindLogStarts:         dumpLogStarts,
	logdir.KindCleanerOffsets:    dumpCleaner,
	logdir.KindPartitionMetadata: dumpPartition,
	logdir.KindMetaProperties:    dumpProperties,
	logdir.KindQuorumState:       dumpQuorum,
	logdir.KindCleanShutdown:     dumpCleanStopped,
}

// kindOfFile tells how to decode a file, dumpNothing if its name does not tell. A log or
// index whose name is no base offset is one to dump, if not to a broker, and a text file
// that was not renamed into its place reads like the finished one.
func kindOfFile(f *logdir.File) dumpKind {
	if k, known := kindOf[f.Kind]; known {
		return k
	}
	switch f.Kind {
	case logdir.KindTemporary:
		name := dumpKind(strings.TrimSuffix(f.Name, ".tmp"))
		for _, k := range dumpKinds {
			if k == name {
				return k
			}
		}
	case logdir.KindBadSegmentName, logdir.KindOther:
		switch k := dumpKind(strings.TrimPrefix(path.Ext(strings.TrimSuffix(f.Name, logdir.SuffixOf(f.Name).String())), ".")); k {
		case dumpLog, dumpIndex, dumpTimeIndex, dumpTxnIndex, dumpSnapshot:
			return k
		}
	}
	return dumpNothing
}

// isLog tells files that are framed in batches.
func (k dumpKind) isLog() bool { return k == dumpLog || k == dumpMetadata }

// isIndex tells the files beside a .log that Kafka can make anew from it.
func (k dumpKind) isIndex() bool {
	return k == dumpIndex || k == dumpTimeIndex || k == dumpTxnIndex || k == dumpSnapshot
}

func (k *dumpKind) String() string { return string(*k) }
func (k *dumpKind) Type() string   { return "kind" }

func (k *dumpKind) Set(s string) error {
	for _, known := range dumpKinds {
		if dumpKind(s) == known {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("want one of %s", kindNames(", "))
}

func kindNames(sep string) string {
	names := make([]string, len(dumpKinds))
	for i, k := range dumpKinds {
		names[i] = string(k)
	}
	return strings.Join(names, sep)
}

// knownFiles says what dump decodes.
func knownFiles() string {
	return `dump decodes .log segments, .index, .timeindex, .txnindex and .snapshot files (.deleted,
.swap and .cleaned too), *.checkpoint snapshots of the metadata,
leader-epoch-checkpoint, the four *-offset-checkpoint files, partition.metadata,
meta.properties, quorum-state and .kafka_cleanshutdown; --as KIND reads a FILE of
another name as one of these.`
}
