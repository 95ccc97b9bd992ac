package logdir

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"kafsck/checkpoint"
	"kafsck/internal/rofs"
)

// Case is all inputs of one run.
type Case struct {
	Brokers []*Broker   // ascending id; those without a known id last, by name
	Errors  []PathError // what could not be read, in the order of discovery
	Inputs  []string    // the PATHs as given
	Notes   []Note      // what a reader of the result should know, in the order of discovery
	Unknown []*File     // what lies in no log directory; a folder stands for all below it

	trees []rofs.FS
}

// AllPartitions yields every partition directory: by broker, log directory, then name. The metadata
// partition is not among them ([LogDir.Metadata]).
func (c *Case) AllPartitions() iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		for _, b := range c.Brokers {
			for _, d := range b.Dirs {
				for _, p := range d.Partitions {
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}

// Close releases the directories that the case holds open. Files opened before stay usable.
func (c *Case) Close() error {
	var errs []error
	for _, t := range c.trees {
		errs = append(errs, rofs.Close(t))
	}
	c.trees = nil
	return errors.Join(errs...)
}

// PathError says that something could not be read. It is never about what the bytes say.
type PathError struct {
	Path string // shown path, or the PATH as given when that itself failed
	Err  error  // operation and cause; errors.Is works with fs.ErrNotExist, fs.ErrPermission, syscall.EIO, rofs.ErrTooLarge, …
}

func (e PathError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e PathError) Unwrap() error { return e.Err }

// NoteKind tells notes apart.
type NoteKind uint8

const (
	// NoteSymlink is a symbolic link to a directory that is listed already, under its own name. A
	// link that was not followed, since it leaves the tree or dangles, is in Case.Errors.
	NoteSymlink NoteKind = iota + 1
	// NoteLive is a log directory whose .lock a running process holds.
	NoteLive
	// NoteClusters says that the inputs come from more than one cluster.
	NoteClusters
	// NoteDuplicate is an input given twice, or two directories that claim to be the same.
	NoteDuplicate
	// NoteBroker is an identity that was not as asked for with Options.BrokerIDs.
	NoteBroker
	// NoteName is a partition directory whose name says neither topic nor partition.
	NoteName
	// NoteLimit says that folders were nested too deep, or were too many, to look at all.
	NoteLimit
	// NoteServerLog is what a reader should know of a broker's text log (--server-log).
	NoteServerLog
	// NoteGroupCommit is a group commit that is not taken for what the group had read.
	NoteGroupCommit
	// NoteMetadata is what a reader should know of the copies of the metadata log.
	NoteMetadata
	// NoteChanged is a .log file that changed while it was read.
	NoteChanged
)

func (k NoteKind) String() string {
	switch k {
	case NoteSymlink:
		return "symlink"
	case NoteLive:
		return "live"
	case NoteClusters:
		return "clusters"
	case NoteDuplicate:
		return "duplicate"
	case NoteBroker:
		return "broker"
	case NoteName:
		return "name"
	case NoteLimit:
		return "limit"
	case NoteGroupCommit:
		return "group-commit"
	case NoteServerLog:
		return "server-log"
	case NoteMetadata:
		return "metadata"
	case NoteChanged:
		return "changed"
	}
	return fmt.Sprintf("NoteKind(%d)", uint8(k))
}

// Note is something that is neither damage nor a failed read.
type Note struct {
	Kind  NoteKind
	Paths []string // shown paths it is about
	Text  string   // for people; names in it are quoted as Go strings
}

// Broker is one node: a broker, a controller, or both.
type Broker struct {
	ID       int32
	IDKnown  bool
	IDSource string // "meta.properties", "--broker", "folder name", "the disk beside it"; "" when not known
	// Name is the folder's name: of the log directory or, where that only names a disk (d0, data1),
	// of the folder above. Two copies of one broker differ by it, not by the id.
	Name      string
	ClusterID string // "" if not known
	Dirs      []*LogDir
}

// String is the id, else the name.
func (b *Broker) String() string {
	if b.IDKnown {
		return strconv.Itoa(int(b.ID))
	}
	return b.Name
}

// LogDir is one entry of a broker's log.dirs.
type LogDir struct {
	Broker *Broker
	FS     rofs.FS
	Path   string // shown path; "." is the PATH itself
	Root   string // path inside FS
	// HostPath is the absolute path on this machine, "" if the tree is not on disk.
	HostPath string

	// A file that is there but could not be read, or that is no regular file, leaves its value nil;
	// then it is in Unknown with its Err, and in Case.Errors.
	Meta            *checkpoint.MetaProperties // nil absent or not readable
	MetaFile        *File                      // nil absent
	HighWatermarks  *CheckpointFile            // replication-offset-checkpoint
	RecoveryPoints  *CheckpointFile            // recovery-point-offset-checkpoint
	LogStarts       *CheckpointFile            // log-start-offset-checkpoint
	CleanerOffsets  *CheckpointFile            // cleaner-offset-checkpoint
	CleanShutdown   bool                       // .kafka_cleanshutdown exists, whatever is in it
	CleanShutdownAs *checkpoint.CleanShutdown
	Bootstrap       *File // bootstrap.checkpoint, framed like a metadata snapshot

	// Live says that another process holds the lock on .lock: a broker runs on this directory.
	// False proves nothing: the directory may be a copy or the lock held on another machine.
	Live bool

	Partitions []*Partition // by topic, partition, state, name
	Metadata   *Partition   // __cluster_metadata-0, nil absent; not in Partitions
	// Unknown holds everything else: files that no broker looks at, and directories whose names do
	// not parse (a broker refuses to start with those), by name.
	Unknown []*File
	// NewestModTime is the newest modification time of the regular files listed here and in its
	// partitions; zero without any.
	NewestModTime time.Time

	Bare       bool // found by its partitions alone: it has no meta.properties and no checkpoint file
	Partial    bool // only some partitions were given; Unknown is not listed
	Incomplete bool // not everything in it could be listed: see Case.Errors

	files []*File
}

// AllFiles yields the entries of the directory itself in name order, known and unknown, without the
// partitions. Directories among them have Mode.IsDir.
func (d *LogDir) AllFiles() iter.Seq[*File] { return values(d.files) }

// CheckpointFile is an offset checkpoint and where it came from.
type CheckpointFile struct {
	*checkpoint.OffsetFile // never nil
	File                   *File
}

// Line is what the file, nil where there is none, says of a partition directory of its
// log directory. A file that Kafka refuses says nothing. Nor does one of a -future
// directory whose live one lies in the same log directory, which Kafka never makes: the
// line is the live one's. Whether a directory in another state has a line of its own is
// for the caller to say.
func (f *CheckpointFile) Line(p *Partition) (int64, bool) {
	if f == nil || f.OffsetFile == nil || f.Malformed != nil {
		return 0, false
	}
	if p.State == Future {
		for _, other := range p.LogDir.Partitions {
			if other.State == Live && other.Topic == p.Topic && other.Partition == p.Partition {
				return 0, false
			}
		}
	}
	return f.Lookup(p.Topic, p.Partition)
}

func values[T any](s []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range s {
			if !yield(v) {
				return
			}
		}
	}
}
