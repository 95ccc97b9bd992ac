package serverlog

// Kind says what a line tells.
type Kind string

// The kinds. What Offset, From and the other fields mean is said for each.
const (
	// Truncated: the log was cut to Offset (UnifiedLog.truncateTo, before 3.2 Log).
	Truncated Kind = "truncated"
	// TruncatedBelow: the log is about to be cut to Offset, below HighWatermark
	// (UnifiedLog.truncateTo since 2.3, ReplicaFetcherThread before).
	TruncatedBelow Kind = "truncated-below-high-watermark"
	// NothingTruncated: asked to truncate to Offset, the log ended at End.
	NothingTruncated Kind = "nothing-truncated"
	// TruncatedFully: everything was thrown away, the log starts again at Offset.
	TruncatedFully Kind = "truncated-fully"
	// TruncationAnswer: the fetcher's decision to truncate to Offset, Leader the broker it
	// follows; Detail says by what.
	TruncationAnswer Kind = "truncation-answer"
	// FetchReset: the fetch offset From was out of range at the leader and was set to
	// Offset, its latest or start offset (Detail).
	FetchReset Kind = "fetch-offset-reset"
	// LeaderStarts and FollowerStarts: this broker's replica begins Epoch with log end
	// offset Offset and HighWatermark (-1 when the line does not say).
	LeaderStarts   Kind = "leader-starts"
	FollowerStarts Kind = "follower-starts"
	// LeaderKnown: a request or record that names Leader, Epoch and ISR.
	LeaderKnown Kind = "leader-known"
	// UncleanElection: the controller made Leader leader without it being in the ISR.
	UncleanElection Kind = "unclean-election"
	// ISRChanged: the leader's ISR is now ISR.
	ISRChanged Kind = "isr-changed"
	// WatermarkLoaded: the replica begins with HighWatermark from the checkpoint file.
	WatermarkLoaded Kind = "high-watermark-loaded"
	// WatermarkBack: a high watermark went from From to Offset. It is no proof: a
	// follower of a fresh leader learns a lower one as a matter of course.
	WatermarkBack Kind = "high-watermark-back"
	// LogLoaded: the log was opened with From (log start offset, -1 unknown) and End.
	LogLoaded Kind = "log-loaded"
	// SegmentRecovered: the segment at base offset Offset was scanned after an unclean stop.
	SegmentRecovered Kind = "segment-recovered"
	// SegmentsDeleted: segments were removed; Detail says why.
	SegmentsDeleted Kind = "segments-deleted"
	// LogStartMoved: the log start offset became Offset; Detail says why.
	LogStartMoved Kind = "log-start-moved"
	// DirRenamed: a partition directory was renamed for deletion or as a stray.
	DirRenamed Kind = "directory-renamed"
	// EpochAssigned: leader-epoch-checkpoint got Epoch at Offset.
	EpochAssigned Kind = "epoch-assigned"
	// PartitionCreated: the broker was told to host the partition, with its topic id.
	PartitionCreated Kind = "partition-created"
	// Started, Stopping and Stopped: the broker's own process.
	Started  Kind = "broker-started"
	Stopping Kind = "broker-stopping"
	Stopped  Kind = "broker-stopped"
	// CleanStart and UncleanStart: the clean shutdown file of Dir was found or not.
	CleanStart   Kind = "clean-start"
	UncleanStart Kind = "unclean-start"
)

// rare tells kinds that are evidence: they are kept when there is no room for the
// others.
func (k Kind) rare() bool {
	switch k {
	case Truncated, TruncatedBelow, TruncatedFully, FetchReset, UncleanElection, LeaderStarts, FollowerStarts, DirRenamed:
		return true
	}
	return false
}

// Event is what one line tells. A number that the line does not give is -1, but
// for Leader, where -1 is Kafka's word for no leader and NotSaid stands for unknown.
type Event struct {
	Line   int64 // number of the line in its file, from 1
	TimeMs int64 // milliseconds since 1970, -1 unknown
	Broker int32 // the broker (node) that wrote the line, -1 unknown
	Kind   Kind

	Topic     string // "" when the line is about no partition
	Partition int32
	// TopicID is Kafka's text form: what the line gives, else what the last line above it
	// that named an id for the topic gave; "" unknown.
	TopicID string
	Dir     string // log directory, "" unless the line gives it

	Offset        int64
	From          int64
	End           int64
	HighWatermark int64
	Epoch         int32
	PreviousEpoch int32
	Leader        int32
	ISR           []int32
	Detail        string

	// Text is the message without time and level, at most MaxText bytes, as it stands in
	// the file: foreign bytes that must be escaped before they are shown.
	Text string
}

// NotSaid is the Leader of an event whose line names none.
const NotSaid int32 = -2

// MaxText is the longest part of a message that an Event keeps, in bytes.
const MaxText = 400

func newEvent(k Kind) Event {
	return Event{Kind: k, TimeMs: -1, Broker: -1, Partition: -1, Offset: -1, From: -1, End: -1, HighWatermark: -1, Epoch: -1, PreviousEpoch: -1, Leader: NotSaid}
}
