package logdir

import (
	"fmt"
	"io/fs"
	"path"
	"time"

	"kafsck/internal/rofs"
)

// Kind is what a name says a file is.
type Kind uint8

const (
	KindOther             Kind = iota // nothing that a broker gives a meaning to
	KindLog                           // D20.log
	KindIndex                         // D20.index
	KindTimeIndex                     // D20.timeindex
	KindTxnIndex                      // D20.txnindex
	KindProducerSnapshot              // D20.snapshot
	KindMetadataSnapshot              // D20-D10.checkpoint
	KindEpochs                        // leader-epoch-checkpoint
	KindPartitionMetadata             // partition.metadata
	KindQuorumState                   // quorum-state
	KindMetaProperties                // meta.properties
	KindHighWatermarks                // replication-offset-checkpoint
	KindRecoveryPoints                // recovery-point-offset-checkpoint
	KindLogStarts                     // log-start-offset-checkpoint
	KindCleanerOffsets                // cleaner-offset-checkpoint
	KindCleanShutdown                 // .kafka_cleanshutdown
	KindLock                          // .lock
	KindBootstrap                     // bootstrap.checkpoint
	KindTemporary                     // a known name with .tmp or .part: an unfinished write
	KindBadSegmentName                // *.log, *.index, … whose prefix is no base offset
	KindRemoteIndexCache              // remote-log-index-cache/
)

var kindNames = [...]string{
	"other", "log", "index", "timeindex", "txnindex", "snapshot", "metadata-snapshot", "leader-epoch-checkpoint",
	"partition.metadata", "quorum-state", "meta.properties", "replication-offset-checkpoint",
	"recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint",
	"clean-shutdown", "lock", "bootstrap", "temporary", "bad-segment-name", "remote-index-cache",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// File is one directory entry as it was when the case was discovered. It holds nothing open.
type File struct {
	Name    string      // base name, raw
	Path    string      // shown path
	Size    int64       // bytes; of a link's target; -1 if it could not be asked
	ModTime time.Time   // zero if it could not be asked
	Mode    fs.FileMode // type and permissions, of a link's target where that was followed
	Owner   Owner       // who may use the owner's and the group's permissions
	Link    bool        // a symbolic link

	Kind       Kind
	Suffix     Suffix // of a segment's file or a metadata snapshot
	BaseOffset int64  // the number in the name where Kind is a segment's file or a metadata snapshot (end offset, exclusive); else -1
	Epoch      int32  // of a metadata snapshot's name; else -1

	Why string // in an Unknown list: why it is there
	Err error  // why its content, or its size and time, could not be read; also in Case.Errors

	fsys rofs.FS
	name string // path inside fsys
}

// Owner is the user and the group that a file belongs to. Trees that are not on disk, and Windows,
// tell none.
type Owner struct {
	UID, GID uint32
	Known    bool
}

// ReadableBy reports whether the permissions let an owner read the file, root's rights aside. Of an
// unknown owner it is taken to be the file's own.
func (f *File) ReadableBy(o Owner) bool {
	perm := f.Mode.Perm()
	switch {
	case !o.Known || !f.Owner.Known || f.Owner.UID == o.UID:
		return perm&0o400 != 0
	case f.Owner.GID == o.GID:
		return perm&0o040 != 0
	}
	return perm&0o004 != 0
}

// Open opens the file, which must be a regular one, for reading at positions.
func (f *File) Open() (rofs.File, error) { return f.fsys.Open(f.name) }

// ReadAll returns the content if it is at most limit bytes, else rofs.ErrTooLarge.
func (f *File) ReadAll(limit int64) ([]byte, error) { return rofs.ReadFile(f.fsys, f.name, limit) }

// Source returns the tree that the file lies in and its path there.
func (f *File) Source() (rofs.FS, string) { return f.fsys, f.name }

func joinShown(dir, name string) string {
	if dir == "." || dir == "" {
		return name
	}
	return dir + "/" + name
}

func joinName(dir, name string) string { return path.Join(dir, name) }
