package incident

import (
	"cmp"

	"kafsck/check"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/serverlog"
)

// Options steer the judgement.
type Options struct {
	// Leaders names the ruling leader of a partition ("t-0") by broker id, against
	// whatever metadata say.
	Leaders map[string]int32
	// MinISR is the static min.insync.replicas of the brokers, 0 unknown; MinISRSource
	// says where it comes from.
	MinISR       int
	MinISRSource string
	Acks         *commitment.AckLog
	// ServerLogs are text logs of brokers, as they were read.
	ServerLogs []*serverlog.File
	// Match selects partitions; nil takes all.
	Match func(topic string, partition int32) bool
	// All also reports legitimate compaction differences.
	All bool
	// Compare false only reads and describes the copies.
	Compare bool
	// Files also checks the files beside each .log (indexes, producer snapshots) and
	// those of the log directories; Records also decodes every record.
	Files, Records bool
	// NowMs is the wall clock, ms, that timestamps are held against; 0: they are not.
	NowMs int64
	// Transactions follows the transactions of every copy: see Incident.Transactions.
	Transactions bool
	// FilesOnly reads no .log but for the little that a start's own probe of the log
	// end reads: names, sizes and small files are judged, nothing is compared.
	FilesOnly bool
	// Tell makes findings of divergences and losses as well.
	Tell     bool
	Progress replica.Progress
	// Background leaves a core free where there is another one, for who waits at a keyboard.
	Background bool
	// Leadership asks for a prediction of each replica as leader; nil: none.
	Leadership *LeaderOptions
	// RemoteSegments lists the remote segments of a partition ("t-0"), whatever
	// __remote_log_metadata says.
	RemoteSegments map[string][]check.RemoteSegment
	// Salvaged are, by the host path of a partition directory that kafsck salvage made, the offsets
	// that its gap list names.
	Salvaged map[string][]SalvageGap
	// Starts asks what the next start of each broker takes away: see Incident.Start; nil: nothing.
	Starts *Starts
}

// BrokerRef identifies a broker to people and programs.
type BrokerRef struct {
	ID    int32 // meaningful when Known
	Known bool
	Name  string // the id as text, or the folder's name
}

// Copy is one set of files of a partition: a live replica or something set
// aside.
type Copy struct {
	Index  int
	Broker BrokerRef
	State  replica.State
	Dir    string // shown path of the partition directory
	Log    *replica.Log
	Err    error // a failed read: nothing is concluded from this copy
	// Extra marks a second live directory of the same broker: the one of the older epoch, or the
	// shorter one. The broker does not start with both.
	Extra bool
	// Fragments counts what was read of a log that could not be read whole, all zero otherwise.
	Fragments Extent

	disk *disk
	// content stands in for that of Log in a copy that clip made.
	content diff.Content
}

// Extent is how much of a log was read.
type Extent struct {
	Segments             int
	Batches              int64
	Bytes, BytesVerified int64 // of .log files; those of batches whose CRC was checked
}

// Content returns the copy for comparison.
func (c *Copy) Content() diff.Content {
	if c.content != nil {
		return c.content
	}
	return diff.LogContent{Log: c.Log}
}

func (c *Copy) readable() bool { return c.Err == nil && c.Log != nil }

// file names the copy in lists: the directory, or the first file when files of
// it were set aside.
func (c *Copy) file() string {
	switch c.State {
	case replica.Deleted, replica.Swap, replica.Replaced, replica.Cleaned:
		if len(c.Log.Segments) > 0 {
			return c.Log.Segments[0].Log.Path
		}
	}
	return c.Dir
}

// Ruling says who rules a partition and how that is known.
type Ruling struct {
	Leader   *BrokerRef // nil: nobody rules
	Why      string
	Guess    bool
	Judged   bool    // false: cannot tell, see Reason
	Reason   string  // why it cannot be told
	Eligible []int32 // who may be elected cleanly by the newest metadata: the ISR, else the ELR
	Policy   string  // "delete" or "compact"
	// PolicySource: "metadata", "cleaner-checkpoint", "batches", "internal-topic" or
	// "default".
	PolicySource string
	// Removed: the topic was deleted.
	Removed bool

	copy *Copy
}

// Divergence is a difference between two live replicas.
type Divergence struct {
	diff.Divergence
	A, B  *Copy // sides 0 and 1
	Ruled bool  // A is the ruling leader
}

// CopyRef names a copy that holds lost records.
type CopyRef struct {
	Broker BrokerRef
	State  replica.State
	File   string
}

// Loss is a range of records that the ruling log does not have.
type Loss struct {
	From, To     *int64 // [From, To); nil: not recorded
	Records      *int64
	Epochs       []int32
	Basis        string // "copy" or "trace"
	ToExact      bool
	Committed    commitment.Grade
	Acknowledged commitment.Acked
	Evidence     []commitment.Evidence
	HeldBy       []BrokerRef
	Copies       []CopyRef
	Cause        string
	// MendedBy are the brokers from which a repair takes these records into the log that lacks them,
	// which is only damaged there; nil: none, or it is not known.
	MendedBy []BrokerRef
	// Election is the one that caused it, nil where none did or none is known.
	Election *Election
	// AskFor are brokers whose disks are not among the inputs and may hold the records: no
	// copy here does, and one of these led before, or was in the ISR or the ELR.
	AskFor []int32
	// Groups are the consumer groups that had read into the range.
	Groups []GroupLoss
	// GroupsUnknown says why there may be more of them, "" if there are no more.
	GroupsUnknown string
	// FirstMs and LastMs are the batches' max timestamps at both ends, -1 unknown.
	FirstMs, LastMs int64
}

// GroupLoss is a consumer group that had read records that are lost, and what it meets
// when it comes back.
type GroupLoss struct {
	Group string // raw
	// Read is the position up to which it had read on the lost line: [Loss.From, Read).
	Read int64
	// Position is where it stands now, the next offset that it reads.
	Position int64
	// CommitMs is when Position was committed, -1 unknown.
	CommitMs int64
	// LeaderEpoch of its last commit, -1 unknown.
	LeaderEpoch int32
	Meets       Meets
	// LogEnd of the ruling log; GapFrom: the lines part there, and the ruling log has other
	// records, or none, from it to Position. -1 not so.
	LogEnd, GapFrom int64
	Why             string // MeetsUnknown: why
}

// Meets says what a group that had read lost records meets when it comes back.
type Meets string

const (
	// MeetsReset: its position lies beyond the end of the ruling log, or it has none any
	// more. The fetch is answered with OFFSET_OUT_OF_RANGE and auto.offset.reset decides:
	// latest leaves out what is written until then, earliest reads everything again.
	MeetsReset Meets = "reset"
	// MeetsTruncation: its commit carries a leader epoch, so the consumer notices that the
	// log was cut below its position (KIP-320, clients since 2.3): it goes on where the
	// lines part, or throws LogTruncationException with auto.offset.reset=none.
	MeetsTruncation Meets = "truncation-detected"
	// MeetsGap: other records stand below its position now, and it never reads those.
	MeetsGap Meets = "gap"
	// MeetsAgain: its position is not above the place where the lines part: what took the
	// place of records that it had read already comes to it as new.
	MeetsAgain Meets = "duplicates"
	// MeetsNothing: it has come back already and reads on in the ruling log.
	MeetsNothing Meets = "nothing"
	MeetsUnknown Meets = "unknown"
)

// Counts reports whether the loss counts in headline and exit code.
func (l *Loss) Counts() bool { return l.Committed != commitment.No }

// The causes of a loss, as in the JSON contract.
const (
	CauseUnclean       = "unclean-election"
	CauseNotReplicated = "not-replicated"
	CauseLeaderBehind  = "leader-behind"
	CauseMissingRange  = "missing-range"
	CauseRecordLoss    = "record-loss"
	CauseDamage        = "damage"
	CauseUnknown       = "unknown"
)

// Candidate is what would be lost if a live replica led; only where nobody
// rules.
type Candidate struct {
	Leader   BrokerRef
	Eligible bool
	Losses   []Loss
}

// Partition is the story of one partition.
type Partition struct {
	Name    string // "t-0"
	Topic   string
	Number  int32
	TopicID string // Kafka's text form, "" unknown
	Cluster *Cluster
	Copies  []*Copy // live replicas by broker, then what was set aside
	// Changes is what the cluster metadata know of the partition, in metadata order, also
	// of a deleted topic; nil without metadata of it.
	Changes []kraft.Change
	Ruling  Ruling
	// Stale: the metadata are older than a log of this partition.
	Stale       bool
	Divergences []Divergence
	Losses      []Loss
	Candidates  []Candidate
	// Leadership is what Options.Leadership asked for; nil also where a topic was deleted
	// or a copy could not be read.
	Leadership *Leadership
	// Starts are the next starts of its directories, with Options.Starts.
	Starts []*PartitionStart
	// Retried counts records that were lost and stand at another offset again.
	Retried  int64
	Findings []finding.Finding
	Errors   []logdir.PathError
}

// Live returns the live replicas, one a broker.
func (p *Partition) Live() []*Copy {
	var out []*Copy
	for _, c := range p.Copies {
		if c.State == replica.Live && !c.Extra {
			out = append(out, c)
		}
	}
	return out
}

// addFinding records a judged fact about the partition as a whole. What to do is
// what the code's entry says, unless next is more exact.
func (p *Partition) addFinding(code finding.Code, sev finding.Severity, broker, file, summary, next string) {
	p.Findings = append(p.Findings, finding.Finding{
		Code: code, Severity: sev, Count: 1, Summary: summary, Next: cmp.Or(next, check.Next(code)),
		At: finding.Location{Partition: p.Name, TopicID: p.TopicID, Broker: broker, File: file, Position: -1, Length: -1, From: -1, To: -1, Epoch: -1},
	})
}
