package kraft

import (
	"io"

	"kafsck/internal/wire"
)

// File is one file of the metadata log's directory.
type File struct {
	Name string // without directory
	R    io.ReaderAt
	Size int64
}

// Input names the files of one copy of the log, in any order. Segments and snapshots
// that Kafka has set aside (a further suffix .deleted) may be among them: they extend
// the history backwards and are never taken for the log itself.
type Input struct {
	Logs      []File // 00000000000000000367.log
	Snapshots []File // 00000000000000000367-0000000002.checkpoint
}

// Damage is a place that could not be used.
type Damage struct {
	File   string // name of the file
	Pos    int64  // byte position in it
	Offset int64  // log offset; -1 unknown; within a snapshot, offsets count from 0
	Why    string // for people
}

const maxDamaged = 10_000

func (l *Log) damage(d Damage) {
	if len(l.Damaged) >= maxDamaged {
		l.DamagedDropped++
		return
	}
	l.Damaged = append(l.Damaged, d)
}

// Gap is a range of offsets, half open, of which no record could be read.
type Gap struct{ From, To int64 }

// Log is what one copy of the metadata log says.
type Log struct {
	StartOffset int64 // base offset of the first segment, inclusive; of the last snapshot's end if there is no segment
	EndOffset   int64 // exclusive: behind the last sound batch, at least the newest usable snapshot's end
	RaftEpoch   int32 // epoch at EndOffset, -1 unknown
	EndTimeMs   int64 // largest timestamp of the last batch; without batches, of the snapshot's header; -1 none

	// The snapshot that replay began with; -1 and empty if the log starts at 0.
	SnapshotEnd  int64
	SnapshotName string
	Snapshots    []Snapshot // all that were given, by end offset

	Damaged        []Damage // in reading order, at most 10,000
	DamagedDropped int      // how many more there were
	Gaps           []Gap    // in offset order
	// TornTail: the last segment ends within a batch or in zeros, as that of a running
	// or killed node may. That is no damage.
	TornTail bool

	Topics     map[wire.UUID]*Topic
	Partitions map[PartitionID]*Partition
	Configs    []ConfigChange // in metadata order
	Brokers    map[int32]*Broker
	Features   map[string][]FeatureChange // in metadata order

	// Leaders of the quorum itself, in metadata order, from LEADER_CHANGE records.
	Leaders      []RaftLeader
	KRaftVersion int16   // 1: dynamic quorum
	Voters       []Voter // the last known

	Counts        map[uint32]int // records in the segments by apiKey, whatever became of them
	Newer         map[uint32]int // of these, such with a newer version than is known
	Others        []OtherRecord  // records of all types not named above but NoOp, in metadata order, at most 1,000
	OthersDropped int            // how many more there were
	// OpenTransaction is the offset of a BeginTransactionRecord without end; its records
	// have not been applied. -1 none.
	OpenTransaction int64

	Batches int   // sound ones in the segments
	Bytes   int64 // read, segments and snapshots

	configs map[configKey][]int // positions in Configs
}

// Snapshot is a snapshot file.
type Snapshot struct {
	Name      string
	EndOffset int64 // exclusive
	Epoch     int32 // of its last record
	TimeMs    int64 // of the last record in it (lastContainedLogTimestamp), -1 if there is no header
	Complete  bool  // sound from header to footer
	Used      bool  // for the history
}

// PartitionID identifies a partition for good: a topic created again has another id.
type PartitionID struct {
	Topic     wire.UUID
	Partition int32
}

// Topic is one incarnation of a topic.
type Topic struct {
	ID           wire.UUID
	Name         string
	CreatedAt    int64 // metadata offset
	CreatedMs    int64
	FromSnapshot bool  // created at CreatedAt or before
	RemovedAt    int64 // metadata offset, -1 = exists
	RemovedMs    int64 // -1 = exists
}

// Partition is the history of a partition.
type Partition struct {
	ID      PartitionID
	Changes []Change // in metadata order, never empty; the last is the current state
}

// Change is a partition's state from one metadata record on. Its lists are never nil
// and must not be modified.
type Change struct {
	Offset       int64 // metadata offset; of a snapshot, its end offset - 1
	TimeMs       int64 // controller's clock; of a snapshot, its lastContainedLogTimestamp
	RaftEpoch    int32
	FromSnapshot bool // the state is this old at least

	Leader         int32 // -1 none
	LeaderEpoch    int32
	PartitionEpoch int32
	Recovering     bool // leader recovery state: elected uncleanly, and still so marked
	// Members are never nil, and shared between changes: most of them repeat the
	// replicas and in-sync replicas of an earlier one.
	*Members

	// LeaderWritten: the record names a leader, so LeaderEpoch is new; or it is the first.
	LeaderWritten bool
	// PrevLeader is the last broker that led before this change, leaderless times
	// skipped; -2 if none is known.
	PrevLeader int32
	// Unclean: a leader was written that was neither in the previous ISR nor in the
	// previous ELR, and not by the completion of a reassignment. Only told where the
	// previous state is certain.
	Unclean bool
	// Uncertain: part of the log before this change is missing or damaged, so that the
	// fields not written by this very record, LeaderEpoch above all, may be wrong.
	Uncertain bool
}

// Members are the lists of a partition's state. They must not be modified.
type Members struct {
	Replicas     []int32 // preferred order
	ISR          []int32
	ELR          []int32 // eligible leader replicas
	LastKnownELR []int32
	Removing     []int32
	Adding       []int32
	Directories  []wire.UUID // parallel to Replicas; nil if not recorded
}

// ConfigChange sets or deletes one configuration.
type ConfigChange struct {
	Offset, TimeMs int64 // as in Change
	FromSnapshot   bool
	ResourceType   int8   // ResourceTopic, ResourceBroker, …
	ResourceName   string // topic name, or broker id in decimal; "" is the cluster's default
	Name           string
	Value          *string // nil deletes
}

// Values of ConfigChange.ResourceType (ConfigResource.Type).
const (
	ResourceTopic         int8 = 2
	ResourceBroker        int8 = 4
	ResourceBrokerLogger  int8 = 8
	ResourceClientMetrics int8 = 16
	ResourceGroup         int8 = 32
)

// Broker is the history of a broker id.
type Broker struct {
	ID     int32
	Events []BrokerEvent // in metadata order; the last is the current state
}

// EventKind says what happened to a broker.
type EventKind uint8

// The kinds of BrokerEvent. If one record does several things, the first of these counts.
const (
	Registered EventKind = iota
	Unregistered
	Fenced
	Unfenced
	ControlledShutdown
	Changed // log directories
)

var eventNames = [...]string{"registered", "unregistered", "fenced", "unfenced", "controlled-shutdown", "changed"}

// String is the kind in lower case.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// BrokerEvent is a broker's registration from one metadata record on.
type BrokerEvent struct {
	Offset, TimeMs       int64 // as in Change
	FromSnapshot         bool
	Kind                 EventKind
	BrokerEpoch          int64
	IncarnationID        wire.UUID   // of the broker's process
	LogDirs              []wire.UUID // directory ids that are online; nil if not recorded
	Fenced               bool
	InControlledShutdown bool
}

// FeatureChange sets the level of a feature such as metadata.version.
type FeatureChange struct {
	Offset, TimeMs int64 // as in Change
	FromSnapshot   bool
	Level          int16 // 0 = removed
	MinLevel       int16 // written by 3.0 to 3.2 only, else 0
}

// RaftLeader is an election of the metadata quorum.
type RaftLeader struct {
	Offset, TimeMs int64
	RaftEpoch      int32
	LeaderID       int32
	Voters         []Voter
}

// Voter is a member of the metadata quorum.
type Voter struct {
	ID          int32
	DirectoryID wire.UUID // zero with a static quorum
}

// OtherRecord is a record that the history has no place for.
type OtherRecord struct {
	Offset, TimeMs int64 // as in Change
	FromSnapshot   bool
	APIKey         uint32
	Version        uint32
	Size           int64  // of the value
	Value          []byte // its first 256 bytes at most; nil where it holds a secret
}
