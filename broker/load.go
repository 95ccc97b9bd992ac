package broker

import (
	"context"
	"errors"
	"fmt"

	"kafsck/epoch"
	"kafsck/logdir"
)

// LoadInput is what a broker knows of a partition directory before it loads it.
type LoadInput struct {
	Version Version
	// Clean: the log directory's .kafka_cleanshutdown was there.
	Clean bool
	// RecoveryPoint, LogStart and HighWatermark are the partition's lines in
	// recovery-point-, log-start- and replication-offset-checkpoint as the broker read them, 0
	// without one.
	RecoveryPoint, LogStart, HighWatermark int64
	// NowMs is the wall clock at the start, in ms: producers idle for longer than
	// producer.id.expiration.ms are forgotten. 0 means that none is.
	NowMs int64
	// Tiered: the topic keeps its older segments in remote storage, so that the log starts where
	// log-start-offset-checkpoint says, also below its first local segment.
	Tiered bool
	// KeepStray leaves a directory without partition.metadata where it is. A KRaft broker since 3.8
	// renames it to -stray.
	KeepStray bool
}

// Outcome is what becomes of the broker, or of its log directory, by the loading of one partition.
type Outcome string

// The outcomes.
const (
	OK            Outcome = "ok"
	DirOffline    Outcome = "log-dir-offline" // an IOException: the broker goes on without this log directory
	BrokerAborts  Outcome = "broker-aborts"   // any other exception: the broker does not start
	BecomesStray  Outcome = "stray"           // loaded, and renamed to -stray
	DirAsDeletion Outcome = "deleted"         // a -delete directory: loaded without recovery, queued for deletion
)

// Action is one thing that Kafka does to a file.
type Action struct {
	// Action is one of the Act constants.
	Action   string
	File     string // base name in the partition directory
	To       string // new base name, of a rename
	Position int64  // byte where a file is cut
	// From and ToOffset are the offsets [From, ToOffset) of the batches that go away with it; both
	// 0 where there are none, or where nobody can tell.
	From, ToOffset int64
	Bytes          int64  // bytes that go away; 0 for a .log that was split, whose batches stay in others
	Why            string // a sentence
	// Replaced: a finished .swap takes the place of the file, so that what the cleaner kept is in there.
	Replaced bool
}

// The acts.
const (
	ActTruncate        = "truncate"         // of a .log: what stands behind Position is gone at once
	ActDelete          = "delete"           // the file is removed at once
	ActRename          = "rename"           // of a .swap file to its final name
	ActMarkDeleted     = "mark-deleted"     // renamed to .deleted, removed after file.delete.delay.ms
	ActRecover         = "recover-segment"  // every batch is read, the three indexes are built anew
	ActRebuildIndex    = "rebuild-index"    // a .index that was missing or refused
	ActCreateTimeIndex = "create-timeindex" // an empty one that was missing; only a recovery of its segment fills it
	ActRebuildTxnIndex = "rebuild-txnindex" // a .txnindex that was refused
	ActWriteSnapshot   = "write-snapshot"   // of the producers' state
	ActDeleteSnapshot  = "delete-snapshot"
	ActRewriteEpochs   = "rewrite-epochs" // leader-epoch-checkpoint
	ActSplit           = "split"          // a segment whose offsets span more than 2^31 - 1
	ActCreateSegment   = "create-segment" // an empty one
	ActRenameStray     = "rename-stray"   // the directory itself
)

// LoadedSegment is a segment of the log after the load.
type LoadedSegment struct {
	Base int64
	Size int64 // bytes of the .log
}

// LoadedFile is a file of the directory after the load.
type LoadedFile struct {
	Name string
	Size int64 // bytes
}

// Loaded is what a broker holds of one partition directory after it loaded it, and what it did on
// the way. With an outcome other than OK, BecomesStray and DirAsDeletion the load ended early:
// Actions are those up to there, and the offsets mean nothing.
//
// The log end may lie below the log start: where a batch claims offsets below its segment's base, a
// clean start does not notice.
type Loaded struct {
	Dir     string // shown path
	Outcome Outcome
	Why     string // sentence for a failing outcome: file, position and Kafka's exception

	LogStartOffset, LogEndOffset, RecoveryPoint, HighWatermark, LastStableOffset int64

	Epochs             epoch.Cache
	EpochFileRewritten bool
	Segments           []LoadedSegment // ascending
	Actions            []Action        // in Kafka's order
	Files              []LoadedFile    // all regular files afterwards, by name; .deleted ones are still there
	ScanBytes          int64           // bytes of .log files that are read to recover segments and producers

	// readsUnstable: the load looks up the batch of the first unstable offset (a transaction that is
	// open, or ended above the high watermark), which fails in a log directory that has failed.
	readsUnstable bool
}

// State is what the broker holds in memory of the replica.
func (l *Loaded) State(broker int32) State {
	return State{Broker: broker, LogStart: l.LogStartOffset, LogEnd: l.LogEndOffset, HighWatermark: l.HighWatermark, Epochs: l.Epochs}
}

// Load predicts what a start of Kafka does to a partition directory: it goes the way of Kafka's own
// code over a model of the directory, of which it changes nothing.
//
//	load_log.go        LogLoader.load: temporary files, swaps, segments opened, in passes 1–4
//	load_recover.go    recoverLog: segments recovered, cut, set aside, in passes 5 and 6
//	load_split.go      LocalLog.splitOverflowedSegment
//	load_segment.go    LogSegment: recover, readNextOffset, truncateTo
//	load_walk.go       FileLogInputStream, FileRecords: from batch to batch
//	load_index.go      OffsetIndex, TimeIndex
//	load_producers.go  ProducerStateManager, UnifiedLog.rebuildProducerState
//	load_append.go     ProducerAppendInfo: transactions begin and end
//	load_epochs.go     LeaderEpochFileCache and its file; partition.metadata
//	load_settle.go     UnifiedLog: log start, recovery point, high watermark, last stable offset
//	load_files.go      the model of the directory
//
// Numbers of passes are those of kafka-format §7.2. Releases from 2.8 on are modelled; where they
// differ, Version decides. Topic configurations are the brokers' defaults.
//
// An error is a failed read, or more than kafsck holds in memory; what Kafka refuses is an Outcome.
func Load(ctx context.Context, p *logdir.Partition, in LoadInput) (*Loaded, error) {
	l := &loader{ctx: ctx, in: in, p: p, out: &Loaded{Dir: p.Dir, Outcome: OK}}
	defer l.reader.close()
	var err error
	if l.dir, err = newModelDir(p); err != nil {
		return nil, err
	}
	err = l.load()
	var t *thrown
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
	case errors.As(err, &t):
		l.out.Outcome, l.out.Why = BrokerAborts, t.Error()
		if t.kind == ioException || t.kind == storageException {
			l.out.Outcome = DirOffline
		}
	default:
		return nil, fmt.Errorf("%s: %w", p.Dir, err)
	}
	l.finish()
	return l.out, nil
}

// finish runs what the load left to be done at once, and takes stock.
func (l *loader) finish() {
	out := l.out
	if l.epochs != nil {
		renamed := out.Outcome == BecomesStray && l.p.State != logdir.Stray
		if renamed {
			l.epochs.dirty = false // the task runs after the rename, and finds no directory
		}
		if l.epochs.flush() {
			l.act(Action{Action: ActRewriteEpochs, File: epochsName, Why: l.epochs.changes(l.p)})
		}
		if out.Epochs = l.epochs.cache; renamed {
			out.Epochs = nil // UnifiedLog.renameDir clears it; the file stays
		}
	}
	for _, s := range l.segments {
		out.Segments = append(out.Segments, LoadedSegment{Base: s.base, Size: s.log.size})
	}
	for _, name := range l.dir.list() {
		out.Files = append(out.Files, LoadedFile{Name: name, Size: l.dir.files[name].size})
	}
}
