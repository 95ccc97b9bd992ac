package repair

import (
	"fmt"
	"path"
	"time"
)

// PlanVersion is the version of the plan's JSON. A plan of another version is refused.
const PlanVersion = 1

// Plan says what a repair would write, from which bytes, and what it costs. It is pure
// data: made by Build, printed, reviewed, edited, kept as JSON, and carried out by
// repair/apply, which decides nothing. Nothing of it has been done.
//
//	inputs (never changed)            OUT
//	  copies/broker-1/  Root 0 --->     broker-1/             a log directory that a broker starts on
//	    t-0/0.log                         t-0/0.log           unchanged: reflinked, linked or copied
//	    t-0/0.index     Action a1 --->    t-0/0.index         an Edit: rebuilt
//	  copies/broker-2/  Root 1            (nothing to do: not written; a source of bytes)
//	                                    lost+found/broker-1/  what the edits drop, byte for byte
//	                                    repair.json           what was done, with the plan
type Plan struct {
	Type    string    `json:"type"`    // "repair-plan"
	Version int       `json:"version"` // PlanVersion
	ID      string    `json:"id"`      // 16 hexadecimal digits; names the journal, the backup, and what a stopped run leaves
	Made    time.Time `json:"made"`
	Kafsck  string    `json:"kafsck"` // the version that made it
	Kafka   string    `json:"kafka"`  // the release whose start is promised, such as "4.3"
	// KafkaWhy is what speaks for that release where nobody named it, and it is not the newest.
	KafkaWhy string `json:"kafkaWhy,omitempty"`
	// KafkaDoubts are sentences that say why the directories cannot be those of that release.
	KafkaDoubts []string `json:"kafkaDoubts,omitempty"`

	// Paths are the PATHs that it was made from, as they were typed: OUT must lie in none of them.
	Paths   []string    `json:"paths,omitempty"`
	Roots   []Root      `json:"roots"`
	Inputs  []PlanInput `json:"inputs"`
	Actions []Action    `json:"actions"`
	// Left are findings at or above warning that no action here mends, each with the reason.
	Left []Left `json:"left"`
	// Promises is what a broker of release Kafka finds when it starts on the result: one for
	// each partition directory with an action.
	Promises []Promise `json:"promises"`
	// Salvaged is what a salvage found, nil for a repair: the gap list.
	Salvaged *Salvaged `json:"salvaged,omitempty"`
}

// Root is a directory of the inputs that the result has a twin of: a log directory, or a
// single partition directory.
type Root struct {
	// Name is the twin's slash path below OUT: "broker-1", "broker-1/disk2"; for a partition
	// directory "." (its files are below "t-0/" then).
	Name string `json:"name"`
	// Path is where the root lies on this machine, as it was typed; it can be edited when the
	// copies were moved. "" of a new one.
	Path string `json:"path"`
	// Broker is the id of the broker, nil unknown.
	Broker *int32 `json:"broker"`
	// Partition: Path is a partition directory, and the result has it alone.
	Partition bool `json:"partition,omitempty"`
	// Source: bytes are taken from this root, nothing is written for it.
	Source bool `json:"source,omitempty"`
	// New: no input has such a directory; all of it comes from edits. With Partition it is not a
	// log directory, only a folder of partition directories.
	New bool `json:"new,omitempty"`
	// File: Path is one file, of any kind, and its input, a single name, is that file. Only of a
	// source.
	File bool `json:"file,omitempty"`
}

// PlanInput is a file that the result rests on, unchanged ones included: apply refuses when
// one is not what it was, or when files came or went.
type PlanInput struct {
	Root   int    `json:"root"`   // index of Plan.Roots
	File   string `json:"file"`   // slash path below the root: "t-0/00000000000000000000.log"
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hexadecimal
}

// Kind says what an action mends.
type Kind string

// The kinds of actions.
const (
	RewriteEpochs       Kind = "rewrite-epochs"      // leader-epoch-checkpoint regenerated
	RebuildIndex        Kind = "rebuild-index"       // .index of a segment
	RebuildTimeIndex    Kind = "rebuild-timeindex"   // .timeindex
	RebuildTxnIndex     Kind = "rebuild-txnindex"    // .txnindex
	RebuildSnapshot     Kind = "rebuild-snapshot"    // producer .snapshot
	CutTail             Kind = "cut-tail"            // a torn or zero tail: no record goes
	Truncate            Kind = "truncate"            // records at and above an offset go
	Quarantine          Kind = "quarantine-segment"  // a damaged or overlapping segment goes
	TakeRange           Kind = "take-from-sibling"   // batches of another replica with the same offsets and epochs
	SplitSegment        Kind = "split-segment"       // one whose offsets do not fit its index
	FixLine             Kind = "fix-checkpoint-line" // one line of an offset checkpoint, the others kept
	RewriteOffsets      Kind = "rewrite-checkpoint"  // an offset checkpoint that cannot be read, from the partitions
	WritePartitionMeta  Kind = "write-partition-metadata"
	WriteMetaProperties Kind = "write-meta-properties"
	FinishCleaning      Kind = "finish-cleaning" // a complete swap takes the place of the originals
	UndoCleaning        Kind = "undo-cleaning"   // .cleaned and .swap go, the originals stay
	FinishRename        Kind = "finish-rename"   // half-renamed files of a segment
	LowerRecovery       Kind = "lower-recovery"  // marker and recovery points, so that the broker scans
	RemoveFile          Kind = "remove-file"     // a stray file of no use
	MoveAside           Kind = "move-aside"      // a whole directory
	SalvageLog          Kind = "salvage"         // a partition put together from what several copies hold
	WriteDirectory      Kind = "write-directory" // the files of a new log directory itself
)

// Action is one discrete repair. It can be taken out of the plan; After names those that
// must then go too.
type Action struct {
	ID        string `json:"id"` // "a1", unique in the plan
	Kind      Kind   `json:"kind"`
	Root      int    `json:"root"`
	Partition string `json:"partition,omitempty"` // "t-0"; "" of a log directory
	Dir       string `json:"dir,omitempty"`       // slash path of the partition directory below the root
	// Findings are the codes of the findings that it answers.
	Findings []string `json:"findings"`
	// Does says in a sentence what is written; Why what is wrong and what proves the remedy.
	Does string `json:"does"`
	Why  string `json:"why"`
	// Loses are the offsets that the result no longer holds, empty for none. What goes is kept
	// in lost+found all the same.
	Loses []PlanLoss `json:"loses"`
	// Transactions are those that end otherwise in the result than in the input.
	Transactions []PlanTxn `json:"transactions,omitempty"`
	// Committed: the log ends below its high watermark. nil: it does not.
	Committed *PlanCommitted `json:"committed,omitempty"`
	// Undo says how to go back.
	Undo string `json:"undo"`
	// Reads: a start after it reads more of the .log files than one on the inputs. nil: no more.
	Reads *StartReads `json:"reads,omitempty"`
	// Confirm: it is a choice, not a proof, or records go; it is done only when named (--only, or
	// by setting confirmed).
	Confirm   bool     `json:"confirm,omitempty"`
	Confirmed bool     `json:"confirmed,omitempty"`
	After     []string `json:"after,omitempty"`
	Edits     []Edit   `json:"edits"`
}

// PlanLoss is a range of offsets [From, To) that an action takes out of a log.
type PlanLoss struct {
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Records *int64 `json:"records"` // nil: the bytes cannot be decoded
	// HeldBy are the brokers of which another copy, unchanged by this plan, has all of these
	// offsets with the same epochs and CRCs.
	HeldBy []int32 `json:"heldBy"`
	Note   string  `json:"note,omitempty"`
}

// StartReads is what the next start of a broker reads of .log files, where an action lowers the recovery
// point of a log, or takes the marker of a clean shutdown away. Sizes are bytes; those before are of a
// start on the inputs.
type StartReads struct {
	Marker        bool   `json:"marker"`        // the marker goes: every log of the directory is read from its recovery point on
	RecoveryPoint int64  `json:"recoveryPoint"` // of this log in the result
	Was           *int64 `json:"was"`           // of this log in the inputs; nil: no line, as 0
	Bytes         int64  `json:"bytes"`         // of this log, from the segment with the recovery point on
	BytesBefore   int64  `json:"bytesBefore"`
	Others        int64  `json:"others"` // of the other logs of the directory
	OthersBefore  int64  `json:"othersBefore"`
}

// Op is what an edit does to a file of the result.
type Op string

// The edits. Together they are all that apply can do.
const (
	Compose Op = "compose" // File is the Pieces of inputs, one after the other: whole batches, unchanged
	Write   Op = "write"   // File is Text
	Rebuild Op = "rebuild" // File, an index or snapshot by its suffix, is built from Logs as they are in the result
	Remove  Op = "remove"  // File, or a directory with all below it, is not in the result
	Rename  Op = "rename"  // File appears as To
	Line    Op = "line"    // one line of File, an offset checkpoint, is set or removed; all others stay as they are
	Keep    Op = "keep"    // the one piece of Pieces, of a root that is a source, goes to lost+found; File is its name there
)

// Edit is one change of one file. No two edits of the actions that are carried out name the
// same File or To, but for lines of different partitions, and edits that are equal. Paths are
// slash paths below the action's root.
type Edit struct {
	Op     Op       `json:"op"`
	File   string   `json:"file"`
	To     string   `json:"to,omitempty"`     // Rename
	Pieces []Piece  `json:"pieces,omitempty"` // Compose; none: an empty file
	Text   *string  `json:"text,omitempty"`   // Write: UTF-8
	Logs   []string `json:"logs,omitempty"`   // Rebuild: .log files of the result; a snapshot's in order from the first needed
	// Snapshot is the producer snapshot that a rebuilt one starts from, "" for none.
	Snapshot string `json:"snapshot,omitempty"`
	// Interval is index.interval.bytes of a rebuilt index.
	Interval int64       `json:"interval,omitempty"`
	Line     *OffsetLine `json:"line,omitempty"` // Line
	Kept     *Kept       `json:"kept,omitempty"` // Keep
}

// Kept says what bytes are that go to lost+found.
type Kept struct {
	From  *int64 `json:"from,omitempty"` // offsets [From, To), nil unknown
	To    *int64 `json:"to,omitempty"`
	Epoch *int32 `json:"epoch,omitempty"` // leader epoch, nil several or unknown
	Why   string `json:"why"`
}

// KeptAs is the name below lost+found of bytes of an input: "broker-1/t-0/0.log" for all of a file,
// "broker-1/t-0/0.log.512-1024" for those from position 512 to 1024 (exclusive).
func KeptAs(root *Root, x Piece, size int64) string {
	name := path.Join(root.Name, x.File)
	if x.Position == 0 && x.Length == size {
		return name
	}
	return fmt.Sprintf("%s.%d-%d", name, x.Position, x.Position+x.Length)
}

// OffsetLine is a line of an offset checkpoint: of replication-, recovery-point-, log-start- or
// cleaner-offset-checkpoint. See EditLines.
type OffsetLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    *int64 `json:"offset"` // nil: the line is taken out
}

// Piece is a run of bytes of an input, [Position, Position+Length).
type Piece struct {
	Root     int    `json:"root"`
	File     string `json:"file"`
	Position int64  `json:"position"`
	Length   int64  `json:"length"`
}

// Left is a finding that the plan leaves.
type Left struct {
	Code      string `json:"code"`
	Partition string `json:"partition,omitempty"`
	Root      *int   `json:"root"`
	File      string `json:"file,omitempty"`
	Why       string `json:"why"`  // why nothing here mends it
	Next      string `json:"next"` // what to do instead
}

// Findings counts the findings that the plan leaves; files that are not copied are none.
func (p *Plan) Findings() int {
	n := 0
	for i := range p.Left {
		if p.Left[i].Code != "not-copied" {
			n++
		}
	}
	return n
}

// Promise is what a start on the result finds.
type Promise struct {
	Root           int    `json:"root"`
	Dir            string `json:"dir"` // slash path of the partition directory below the root
	Partition      string `json:"partition"`
	LogStartOffset int64  `json:"logStartOffset"`
	LogEndOffset   int64  `json:"logEndOffset"`
	// Records are those that a consumer with read_uncommitted gets from start to end, control records
	// left out; nil where they cannot be told from the headers.
	Records *int64     `json:"records"`
	Epochs  [][2]int64 `json:"epochs"` // as Kafka holds them: epoch, start offset
	// Actions are the IDs of those that it rests on: of the partition, and of the log directory
	// itself. With one of them left out, or taken out of the plan, nothing is promised here.
	Actions []string `json:"actions"`
}
