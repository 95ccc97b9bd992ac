package cli

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"kafsck/internaltopic"
	"kafsck/logdir"
)

// dumpKind is a kind of file that dump decodes, and the value of --as.
type dumpKind string

// The kinds. Those of text files are the names of the files.
const (
	dumpNothing      dumpKind = ""
	dumpLog          dumpKind = "log"
	dumpMetadata     dumpKind = "metadata-log"
	dumpGroups       dumpKind = "consumer-offsets"
	dumpTransactions dumpKind = "transaction-state"
	dumpShareGroups  dumpKind = "share-group-state"
	dumpRemoteLog    dumpKind = "remote-log-metadata"
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
	dumpOther        dumpKind = "other" // a file whose content says nothing, or is not decoded; not for --as
)

var dumpKinds = []dumpKind{
	dumpLog, dumpMetadata, dumpGroups, dumpTransactions, dumpShareGroups, dumpRemoteLog,
	dumpIndex, dumpTimeIndex, dumpTxnIndex, dumpSnapshot,
	dumpEpochs, dumpWatermarks, dumpRecovery, dumpLogStarts, dumpCleaner, dumpPartition, dumpProperties, dumpQuorum, dumpCleanStopped,
}

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
	logdir.KindLock:              dumpOther,
}

// otherFiles says what the files are that have no lines of their own, by name.
var otherFiles = map[string]string{
	".lock": "a broker locks this file while it uses the log directory. It is always empty; that it exists says nothing",
	"remote_log_snapshot": "Kafka's TopicBasedRemoteLogMetadataManager keeps here what it has read of __remote_log_metadata " +
		"about this partition (RemoteLogMetadataSnapshotFile). The topic has the same: kafsck does not decode the file",
	"_rlmm_committed_offsets": "Kafka's TopicBasedRemoteLogMetadataManager kept here how far it had read each partition of " +
		"__remote_log_metadata (CommittedOffsetsFile): a version, then a line \"partition offset\" for each. kafsck does not decode the file",
}

// kindOfFile tells how to decode a file, dumpNothing if its name does not tell. A log or
// index whose name is no base offset is one to dump, if not to a broker, and a text file
// that was not renamed into its place reads like the finished one.
func kindOfFile(f *logdir.File) dumpKind {
	if k, known := kindOf[f.Kind]; known {
		return k
	}
	if otherFiles[f.Name] != "" {
		return dumpOther
	}
	name, unfinished := strings.CutSuffix(f.Name, ".tmp")
	if f.Kind == logdir.KindTemporary {
		if strings.HasSuffix(name, ".checkpoint.part") {
			return dumpMetadata
		}
		for _, k := range dumpKinds {
			if k == dumpKind(name) {
				return k
			}
		}
	}
	if f.Kind == logdir.KindBadSegmentName || f.Kind == logdir.KindOther {
		// A remote index that was not fetched to its end is a .tmp, too.
		suffix := logdir.SuffixOf(f.Name)
		switch k := dumpKind(strings.TrimPrefix(path.Ext(strings.TrimSuffix(name, suffix.String())), ".")); k {
		case dumpLog, dumpSnapshot:
			if !unfinished {
				return k
			}
		case dumpIndex, dumpTimeIndex, dumpTxnIndex:
			return k
		case "leader_epoch_checkpoint": // LocalTieredStorage and others name remote ones like this
			return dumpEpochs
		}
	}
	return dumpNothing
}

// baseOffsetOf is the base offset in a file's name; -1 none. Files of remote segments have an
// id behind it: 87_RMXhx-XGQ3CNI5QN_kgzgQ.index in remote-log-index-cache (RemoteIndexCache),
// 00000000000000000087-RMXhx-XGQ3CNI5QN_kgzgQ.log in a remote store (LocalTieredStorage).
func baseOffsetOf(f *logdir.File) int64 {
	if f.BaseOffset >= 0 {
		return f.BaseOffset
	}
	end := strings.IndexFunc(f.Name, func(r rune) bool { return r < '0' || r > '9' })
	if end <= 0 || !strings.ContainsRune("._-", rune(f.Name[end])) {
		return -1
	}
	base, err := strconv.ParseInt(f.Name[:end], 10, 64)
	if err != nil {
		return -1
	}
	return base
}

// topicDecoders are the kinds that are logs of an internal topic.
var topicDecoders = map[dumpKind]internaltopic.Topic{
	dumpGroups:       internaltopic.ConsumerOffsets,
	dumpTransactions: internaltopic.TransactionState,
	dumpShareGroups:  internaltopic.ShareGroupState,
	dumpRemoteLog:    internaltopic.RemoteLogMetadata,
}

// decoderOf tells what the records of a log are, from the name of its topic; dumpNothing:
// what a producer sent.
func decoderOf(topic string) dumpKind {
	t, ok := internaltopic.TopicOf(topic)
	if !ok {
		return dumpNothing
	}
	return dumpKind(t.Kind())
}

// isLog tells files that are framed in batches.
func (k dumpKind) isLog() bool {
	_, internal := topicDecoders[k]
	return internal || k == dumpLog || k == dumpMetadata
}

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
.swap and .cleaned too, and those of a remote tier), *.checkpoint snapshots of the
metadata, leader-epoch-checkpoint, the four *-offset-checkpoint files, partition.metadata,
meta.properties, quorum-state and .kafka_cleanshutdown; --as KIND reads a FILE of
another name as one of these.`
}
