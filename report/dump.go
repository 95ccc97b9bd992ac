package report

import (
	"errors"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/incident"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/segment"
)

// Dump prints decoded files. Everything between two calls of File belongs to the file
// that came first. Values may be borrowed: a Dump keeps none of them.
type Dump interface {
	File(f *DumpFile)
	// Frame is the next stretch of a log: a batch, or bytes that are none.
	Frame(f *segment.Frame)
	// Record follows the Frame that it lies in.
	Record(r *DumpRecord)
	// Undecoded says why the rest of the last frame's records is not shown. limit: a
	// limit of ours was reached; the bytes may be sound.
	Undecoded(why string, limit bool)

	// Index begins a .index, .timeindex or .txnindex; what it holds follows.
	Index(x *DumpIndex)
	IndexEntry(e *segment.OffsetEntry, flaw EntryFlaw)
	TimeEntry(e *segment.TimeEntry, flaw EntryFlaw)
	// ZeroEntries are entries of zero bytes that others follow, from number on.
	ZeroEntries(number, count, width int64)
	AbortedTxn(e *segment.AbortedTxn)
	// Snapshot begins a .snapshot; its producers follow.
	Snapshot(s *DumpSnapshot)
	Producer(number int, e *segment.ProducerEntry)

	Epochs(f *checkpoint.EpochFile)
	// Offsets is any of the four offset checkpoints; kind is the file's name.
	Offsets(kind string, f *checkpoint.OffsetFile)
	PartitionMetadata(f *checkpoint.PartitionMetadata)
	MetaProperties(f *checkpoint.MetaProperties)
	QuorumState(f *checkpoint.QuorumState)
	CleanShutdown(f *checkpoint.CleanShutdown)
	// Other is a file that is known and not decoded; says: what it is for, prose.
	Other(name, says string)

	// Failed is about a file that could not be read, or not to its end.
	Failed(path string, err error)
	// Notes are what a reader should know of the inputs.
	Notes(notes []logdir.Note)
	// Note is prose for people; JSON leaves it out.
	Note(format string, args ...any)
	Summary(s *DumpSummary)
	// Err returns the first failed write. After it nothing more is printed.
	Err() error
}

// DumpFile is what is known of a file besides its content.
type DumpFile struct {
	Path      string // shown path
	Size      int64
	Partition string // "t-0", "" unknown or none
	TopicID   string // "" unknown
	Broker    *incident.BrokerRef
	Ignored   bool // a broker does not look at a file of this name
}

// DumpRecord is one record with the batch or message it lies in.
type DumpRecord struct {
	Frame *segment.Frame
	*batch.Record
	TimestampType batch.TimestampType
	Legacy        *batch.LegacyRecord // the same record, of message format 0 or 1; nil else
	BadCRC        bool                // of Legacy: its own CRC does not verify

	Control  *batch.Control // of a control record that could be decoded
	Metadata *kraft.Record  // of a record of __cluster_metadata that could be decoded
	Decoded  *Decoded       // both, and of internal topics; as far as it could be decoded
	Why      string         // why it could not be decoded, or not all of it
	Unknown  bool           // because its type or version is not known: a newer Kafka may
	Secret   bool           // the value holds a password or a key: its size and hash are shown
}

// leaderEpoch is -1 before message format 2, as are the producer's numbers.
func (r *DumpRecord) leaderEpoch() int32 {
	if r.Legacy != nil {
		return -1
	}
	return r.Frame.Batch.PartitionLeaderEpoch
}

func (r *DumpRecord) producer() (id int64, epoch int16) {
	if r.Legacy != nil {
		return -1, -1
	}
	return r.Frame.Batch.ProducerID, r.Frame.Batch.ProducerEpoch
}

// badCRC tells that the record may be damaged.
func (r *DumpRecord) badCRC() bool { return r.BadCRC || errors.Is(r.Frame.Damage, batch.ErrCRC) }

// DumpIndex is how the bytes of an index file are used.
type DumpIndex struct {
	Kind string // index, timeindex, txnindex
	segment.IndexShape
}

// DumpSnapshot is a producer snapshot.
type DumpSnapshot struct {
	*segment.ProducerSnapshot
	Offset int64 // the end of what it covers, from the file's name; -1 unknown
}

// EntryFlaw is what is odd about an index entry.
type EntryFlaw struct {
	OutOfOrder bool   // not above the entry before it: an entry left behind by a truncation, or damage
	Damage     string // a value that no broker writes; "" none
}

// DumpSummary is the scope of a dump.
type DumpSummary struct {
	ExitCode int
	Files    int
	Batches  int64 // of any format
	BadCRC   int64 // among them
	Flawed   int64 // among them: damaged where no CRC looks
	Records  int64 // as their headers count them; messages of old formats count as one
	Shown    int64 // records printed
	// Of these, records of Kafka's own: of a type or version that is not known, and that do
	// not fit what is known.
	Unknown, Undecoded int64
	Bytes              int64 // of the files read
	Verified           int64 // bytes of batches with a CRC that verifies
	Other              int64 // bytes that are no batch
	Entries            int64 // of index files and snapshots printed
	Failed             int   // files not read, or not to their end
	// NotAsked are kinds of lines that --where was not asked of, since they lack a name in it.
	NotAsked []string
}

// malformedFile is what Kafka refuses about a text file, and what that leads to.
type malformedFile struct {
	*checkpoint.Malformed
	consequence string
}

// consequences of a text file that Kafka 4.3 refuses, by the file's name: what its
// reader's IOException leads to, and what an unchecked exception does. Sources:
// LogManager.loadLogs, LogCleanerManager.allCleanerCheckpoints, LazyOffsetCheckpoints,
// MetaPropertiesEnsemble.Loader, FileQuorumStateStore, CheckpointFileWithFailureHandler.
var consequences = map[string][2]string{
	"leader-epoch-checkpoint": {
		"the log directory goes offline at the next start, the broker goes on without it (before 3.2.1 the broker does not start)",
		"the broker does not start",
	},
	"recovery-point-offset-checkpoint": {
		"every recovery point of the directory counts as 0, and the directory goes offline at the next start",
		"a warning: every recovery point of the directory counts as 0",
	},
	"log-start-offset-checkpoint": {
		"every line counts as missing, and the directory goes offline at the next start",
		"a warning: every line counts as missing",
	},
	"cleaner-offset-checkpoint": {
		"the log directory goes offline when the log cleaner reads the file",
		"the log cleaner's thread ends: nothing is compacted any more",
	},
	"replication-offset-checkpoint": {
		"the log directory goes offline when the first high watermark is asked for",
		"the partition whose high watermark is asked for fails",
	},
	"partition.metadata": {
		"the log directory goes offline at the next start",
		"the broker does not start",
	},
	"meta.properties": {
		"the log directory counts as failed; a broker without another one does not start",
		"the log directory counts as failed; a broker without another one does not start",
	},
	"quorum-state": {
		"the node does not start",
		"the node does not start",
	},
}

// refused joins what is wrong with a text file with what Kafka does about it; nil if
// nothing is wrong. ignored says that Kafka does not read the file.
func refused(kind string, m *checkpoint.Malformed, ignored bool) *malformedFile {
	if m == nil {
		return nil
	}
	if ignored {
		return &malformedFile{m, "nothing follows: it ignores a file of this name"}
	}
	i := 0
	if m.Unchecked {
		i = 1
	}
	return &malformedFile{m, consequences[kind][i]}
}
