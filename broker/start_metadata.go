package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kafsck/checkpoint"
	"kafsck/internal/wire"
	"kafsck/logdir"
)

// errIncomplete is the error of a directory that could not be listed to its end: what is missing may
// be what matters.
var errIncomplete = errors.New("not everything in the directory could be listed")

// metadata opens __cluster_metadata-0 and reads quorum-state, which a broker does before it looks at
// any partition. The metadata log is always recovered from its first segment, and any exception ends
// the start (KafkaRaftLog.createLog, FileQuorumStateStore.readElectionState).
func (s *starter) metadata(ctx context.Context) error {
	if s.out.ZooKeeper {
		return nil
	}
	var first *logdir.Partition
	for _, d := range s.out.Dirs {
		p := d.LogDir.Metadata
		if p == nil {
			continue
		}
		passedOver := refusedMeta(d.LogDir) // nobody looks for a second metadata log there
		if first != nil && !passedOver {
			s.beforeLogs(p.Dir, "there is a second metadata log beside %s (KafkaException: Found unexpected metadata location)", first.Dir)
		}
		first = cmp.Or(first, p)
		sp := &StartedPartition{Partition: p}
		d.Metadata = sp
		if p.Incomplete {
			sp.Err = errIncomplete
		} else {
			sp.Loaded, sp.Err = Load(ctx, p, LoadInput{Version: s.opt.Version, KeepStray: true})
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if sp.Err != nil || passedOver {
			continue // a failed read is told by settle
		}
		switch {
		case p.MetaFile == nil:
			write := Action{Action: ActWriteMetadata, File: "partition.metadata", Why: "it is missing, and the topic id of the metadata log is known"}
			sp.Loaded.Actions = append(sp.Loaded.Actions, write)
			sp.Loaded.relist([]Action{write})
		case p.HasTopicID && p.TopicID != metadataTopicID && sp.Loaded.Outcome == OK:
			s.beforeLogs(p.MetaFile.Path, "it names the topic id %s, and the metadata log has %s (InconsistentTopicIdException)", p.TopicID, metadataTopicID)
		}
		if sp.Loaded.Outcome != OK {
			s.beforeLogs(p.Dir, "the metadata log does not open: %s", sp.Loaded.Why)
		} else {
			s.snapshots(p, sp.Loaded)
		}
		if q := p.QuorumState; q != nil && q.Malformed != nil {
			s.beforeLogs(p.QuorumStateFile.Path, "quorum-state is refused: %s", q.Malformed)
		}
	}
	return nil
}

// metadataTopicID is Uuid.METADATA_TOPIC_ID.
var metadataTopicID = wire.UUID{15: 1}

// ActWriteMetadata writes a partition.metadata that is missing.
const ActWriteMetadata = "write-partition-metadata"

// beforeLogs aborts a start before the partitions are loaded.
func (s *starter) beforeLogs(where, format string, args ...any) {
	if s.out.Outcome != BrokerAborts {
		s.out.BeforeLogs = true
	}
	s.abort(where, format, args...)
}

// snapshot is the id in the name of a D20-D10.checkpoint file.
type snapshot struct {
	file   *logdir.File
	offset int64
	epoch  int32
}

// older orders ids as OffsetAndEpoch.compareTo does.
func older(a, b snapshot) int {
	return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.offset, b.offset))
}

// Endings of snapshot names (Snapshots).
const (
	snapshotEnding        = ".checkpoint"
	partSnapshotEnding    = ".checkpoint.part"
	deletedSnapshotEnding = ".checkpoint.deleted"
)

// snapshots is what a start does with the snapshots of the metadata log: unfinished and deleted ones
// and those below the log start are removed; a log that begins above 0 needs one that reaches its
// start; a log that ends before the newest one is thrown away (KafkaRaftLog.recoverSnapshots,
// truncateToLatestSnapshot).
func (s *starter) snapshots(p *logdir.Partition, l *Loaded) {
	var kept, removed []snapshot
	for f := range p.AllFiles() {
		dropped := strings.HasSuffix(f.Name, partSnapshotEnding) || strings.HasSuffix(f.Name, deletedSnapshotEnding)
		if !dropped && !strings.HasSuffix(f.Name, snapshotEnding) {
			continue
		}
		x, err := snapshotID(f.Name)
		if err != nil {
			s.beforeLogs(f.Path, "the name is no snapshot's: %s", err)
			return
		}
		x.file = f
		if dropped || x.offset < l.LogStartOffset {
			removed = append(removed, x)
		} else {
			kept = append(kept, x)
		}
	}
	slices.SortFunc(kept, older)
	if l.LogStartOffset > 0 && (len(kept) == 0 || kept[len(kept)-1].offset < l.LogStartOffset) {
		s.beforeLogs(p.Dir, "the metadata log begins at offset %d and no snapshot reaches it (IllegalStateException: Inconsistent snapshot state)", l.LogStartOffset)
		return
	}
	for _, x := range removed {
		why := fmt.Sprintf("it ends below the log start offset %d", l.LogStartOffset)
		switch {
		case strings.HasSuffix(x.file.Name, partSnapshotEnding):
			why = "it is unfinished"
		case strings.HasSuffix(x.file.Name, deletedSnapshotEnding):
			why = "it was queued for deletion"
		}
		drop := Action{Action: ActDelete, File: x.file.Name, Bytes: max(x.file.Size, 0), Why: why}
		l.Actions = append(l.Actions, drop)
		l.relist([]Action{drop})
	}
	if len(kept) == 0 {
		return
	}
	newest, epoch := kept[len(kept)-1], int32(0)
	if n := len(l.Epochs); n > 0 {
		epoch = l.Epochs[n-1].Epoch
	}
	if newest.epoch > epoch || newest.epoch == epoch && newest.offset > l.LogEndOffset {
		restart(l, newest)
		for _, x := range kept {
			if x.offset < newest.offset {
				forget := Action{Action: ActMarkDeleted, File: x.file.Name, To: x.file.Name + ".deleted", Bytes: max(x.file.Size, 0), Why: "the log was cut before the newest snapshot"}
				l.Actions = append(l.Actions, forget)
				l.relist([]Action{forget})
			}
		}
	}
}

// restart throws a metadata log away that ends before its newest snapshot
// (UnifiedLog.truncateFullyAndStartAt).
func restart(l *Loaded, x snapshot) {
	why := fmt.Sprintf("the log ends at offset %d, before the newest snapshot %s", l.LogEndOffset, x.file.Name)
	loaded := len(l.Actions)
	for i, seg := range l.Segments {
		end := l.LogEndOffset
		if i+1 < len(l.Segments) {
			end = l.Segments[i+1].Base
		}
		for _, ending := range []string{".log", ".index", ".timeindex", ".txnindex"} {
			name := fmt.Sprintf("%020d%s", seg.Base, ending)
			a := Action{Action: ActMarkDeleted, File: name, To: name + ".deleted", Why: why}
			if ending == ".log" {
				a.From, a.ToOffset, a.Bytes = seg.Base, end, seg.Size
			} else if !l.lists(name) {
				continue
			}
			l.Actions = append(l.Actions, a)
		}
	}
	for _, f := range l.Files { // also those that the recovery has written
		if strings.HasSuffix(f.Name, ".snapshot") {
			l.Actions = append(l.Actions, Action{Action: ActDeleteSnapshot, File: f.Name, Bytes: f.Size, Why: why})
		}
	}
	l.Segments = []LoadedSegment{{Base: x.offset}}
	l.LogStartOffset, l.LogEndOffset, l.RecoveryPoint, l.Epochs = x.offset, x.offset, x.offset, nil
	l.EpochFileRewritten = true
	l.Actions = append(l.Actions, Action{Action: ActCreateSegment, File: fmt.Sprintf("%020d.log", x.offset), Why: "the log begins anew at the end of the snapshot"},
		Action{Action: ActRewriteEpochs, File: "leader-epoch-checkpoint", Why: "no epoch of the log is left"})
	l.relist(l.Actions[loaded:])
}

// lists reports whether a file is there after the load.
func (l *Loaded) lists(name string) bool {
	return slices.ContainsFunc(l.Files, func(f LoadedFile) bool { return f.Name == name })
}

// relist carries out more actions on the listing of files.
func (l *Loaded) relist(actions []Action) {
	sizes := map[string]int64{}
	for _, f := range l.Files {
		sizes[f.Name] = f.Size
	}
	for _, a := range actions {
		switch a.Action {
		case ActDelete, ActDeleteSnapshot:
			delete(sizes, a.File)
		case ActMarkDeleted:
			if size, ok := sizes[a.File]; ok {
				delete(sizes, a.File)
				sizes[a.To] = size
			}
		case ActCreateSegment:
			sizes[a.File] = 0
		case ActRewriteEpochs:
			sizes[a.File] = int64(len(checkpoint.FormatEpochs(nil)))
		case ActWriteMetadata:
			sizes[a.File] = partitionMetadataSize
			delete(sizes, a.File+".tmp")
		}
	}
	l.Files = nil
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		l.Files = append(l.Files, LoadedFile{Name: name, Size: sizes[name]})
	}
}

// partitionMetadataSize is the bytes of a partition.metadata as Kafka writes it: "version: 0", a
// newline, "topic_id: " and 22 characters.
const partitionMetadataSize = 43

// snapshotID reads the end offset and the epoch of D20-D10 (Snapshots.parse).
func snapshotID(name string) (snapshot, error) {
	if len(name) < 31 {
		return snapshot{}, fmt.Errorf("%q is shorter than an offset and an epoch", name)
	}
	offset, err := strconv.ParseInt(name[:20], 10, 64)
	if err != nil {
		return snapshot{}, fmt.Errorf("%q is no offset", name[:20])
	}
	epoch, err := strconv.ParseInt(name[21:31], 10, 32)
	if err != nil {
		return snapshot{}, fmt.Errorf("%q is no epoch", name[21:31])
	}
	return snapshot{offset: offset, epoch: int32(epoch)}, nil
}
