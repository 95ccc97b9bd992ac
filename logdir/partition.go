package logdir

import (
	"fmt"
	"iter"
	"strconv"

	"kafsck/checkpoint"
	"kafsck/internal/wire"
)

// DirState is what the name of a partition directory says about it.
type DirState uint8

const (
	Live   DirState = iota // TOPIC-PART
	Future                 // …-future: being copied from another disk of the broker
	Delete                 // …-delete: queued for deletion
	Stray                  // …-stray: not known to the cluster when the broker started
)

func (s DirState) String() string {
	switch s {
	case Live:
		return "live"
	case Future:
		return "future"
	case Delete:
		return "delete"
	case Stray:
		return "stray"
	}
	return fmt.Sprintf("DirState(%d)", uint8(s))
}

// Partition is one partition directory: one replica, or what is left of one.
type Partition struct {
	LogDir    *LogDir
	Topic     string // raw, may hold any character
	Partition int32  // ≥ 0; -1 if the directory's name does not tell (Case.Notes says so)
	// TopicCut says that the name has the greatest length, so that Topic may be only the beginning
	// of the topic's name. It is false where another directory with the same topic id told the rest.
	TopicCut   bool
	TopicID    wire.UUID
	HasTopicID bool // partition.metadata was read and holds an id
	State      DirState
	Dir        string // shown path, such as broker-1/t-0
	Root       string // path inside LogDir.FS
	HostPath   string // absolute path on this machine, "" if the tree is not on disk

	Segments []*Segment // ascending base offset, then suffix

	Epochs     *checkpoint.EpochFile         // leader-epoch-checkpoint; nil absent or not readable
	EpochsFile *File                         // nil absent; its Err tells why Epochs is nil. Also what is no regular file
	Meta       *checkpoint.PartitionMetadata // partition.metadata; nil absent or not readable
	MetaFile   *File                         // nil absent

	// The metadata partition only.
	Snapshots        []*File                 // D20-D10.checkpoint by name, which is by end offset and epoch
	DeletedSnapshots []*File                 // D20-D10.checkpoint.deleted
	QuorumState      *checkpoint.QuorumState // nil absent or not readable
	QuorumStateFile  *File                   // nil absent

	Unknown []*File // all other entries, by name; also what has a known name and could not be looked at or is no regular file
	// Incomplete: the directory could not be listed to its end, or something that is called a .log
	// cannot be opened as one, so that part of the log may be missing. See Case.Errors.
	Incomplete bool

	files []*File
}

// Name is TOPIC-PART.
func (p *Partition) Name() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// OddLogs are the entries that are called a .log, with or without a suffix, and cannot be opened as
// one: a link that was not followed, a named pipe, a directory.
func (p *Partition) OddLogs() []*File {
	var out []*File
	for _, f := range p.Unknown {
		if f.Kind == KindLog && f.Err != nil {
			out = append(out, f)
		}
	}
	return out
}

// AllFiles yields every entry of the directory in name order, known and unknown.
func (p *Partition) AllFiles() iter.Seq[*File] { return values(p.files) }

// Suffix is what a file name ends in while segments are replaced or deleted.
type Suffix uint8

const (
	NoSuffix Suffix = iota
	Deleted         // renamed, to be deleted after a delay
	Swap            // complete output of the cleaner or of a split, being swapped in
	Cleaned         // incomplete output of the cleaner or of a split
)

func (s Suffix) String() string {
	switch s {
	case NoSuffix:
		return ""
	case Deleted:
		return ".deleted"
	case Swap:
		return ".swap"
	case Cleaned:
		return ".cleaned"
	}
	return fmt.Sprintf("Suffix(%d)", uint8(s))
}

// Segment is the files of one base offset that belong together.
//
// Suffix is that of the .log, or of the other files where there is no .log. Renames go one file at
// a time (log, index, timeindex, txnindex), so a directory copied from a killed or running broker
// may show D20.log.swap and D20.index.swap beside D20.timeindex.cleaned: they are one Segment, and
// each File has its own Suffix.
//
// Log is nil where only other files are left. That is normal for a producer snapshot at the log
// end, and an orphan index otherwise.
type Segment struct {
	BaseOffset                                int64
	Suffix                                    Suffix
	Log, Index, TimeIndex, TxnIndex, Snapshot *File
}
