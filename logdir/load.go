package logdir

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kafsck/checkpoint"
	"kafsck/internal/rofs"
)

// Greatest sizes of the text files. A broker with 100,000 partitions of long names writes offset
// checkpoints of 26 MB; an epoch file has a line per leader election and is cut with the log.
const (
	maxOffsetsFile = 4 << 20
	maxEpochsFile  = 16 << 20
	maxSmallFile   = 1 << 20
)

// newFile describes an entry. Its name in the folder is fn's.
func (d *discovery) newFile(f *folder, e *entry, fn fileName) *File {
	shown := joinShown(f.shown, e.name)
	file := &File{
		Name: endOf(shown, e.name), Path: shown, Size: -1, Mode: e.mode, Link: e.link,
		Kind: fn.kind, Suffix: fn.suffix, BaseOffset: fn.base, Epoch: fn.epoch, Why: fn.why,
		fsys: f.in.fsys, name: endOf(shown, joinName(f.name, e.name)),
	}
	if e.info != nil {
		file.Size, file.ModTime, file.Mode, file.Owner = e.info.Size(), e.info.ModTime(), e.info.Mode(), ownerOf(e.info)
	}
	switch {
	case e.err != nil && e.link && refusedLink(e.err):
		file.Err = notFollowed(e.err)
	case e.err != nil:
		file.Err = plainError(e.err)
	}
	return file
}

// endOf returns s, as a part of whole where that ends with it: with hundreds of thousands of files a
// name that is held three times is most of what they take.
func endOf(whole, s string) string {
	if !strings.HasSuffix(whole, s) {
		return s
	}
	return whole[len(whole)-len(s):]
}

// refuseOdd tells of something that has the name of a file which is read, and is none: it is neither
// absent nor malformed. What could not be looked at was told of by report.
func (d *discovery) refuseOdd(file *File) {
	if file.Err != nil || file.Mode.IsRegular() {
		return
	}
	file.Err = fmt.Errorf("%w (%s)", rofs.ErrNotRegular, typeName(file.Mode))
	d.fail(file.Path, file.Err)
}

// unusable says why an entry cannot be what its name says, "" if it can.
func (e *entry) unusable() string {
	switch {
	case e.link && e.err != nil:
		return notFollowed(e.err).Error()
	case e.err != nil:
		return fmt.Sprintf("could not be looked at: %v", plainError(e.err))
	case e.info.Mode().IsRegular():
		return ""
	}
	return "not a regular file (" + typeName(e.info.Mode()) + ")"
}

func typeName(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// read returns the content of a small text file. A failure is told on the file and in Case.Errors.
func (d *discovery) read(f *File, limit int64) ([]byte, bool) {
	b, err := f.ReadAll(limit)
	if err != nil {
		d.fail(f.Path, err)
		f.Err = plainError(err)
		return nil, false
	}
	return b, true
}

// logDir takes in a log directory. listed has the folders below it that are listed already.
func (d *discovery) logDir(f *folder, listed map[string]*folder) *LogDir {
	ld := &LogDir{
		FS: f.in.fsys, Path: f.shown, Root: f.name, HostPath: f.in.hostPath(f.name),
		Bare: f.kind() != logDirFolder, Incomplete: f.incomplete,
	}
	fd := &found{ld: ld, in: f.in, info: f.info, name: f.in.fullName(f.name), whole: f.name == "."}
	fd.paths = []string{fd.name, filepath.ToSlash(ld.HostPath)}
	if d.knownLogDir(fd) {
		return ld // left out of the case
	}
	d.dirs = append(d.dirs, fd)
	d.saw(f, nil)
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case !e.isDir() || parseLogDirFile(e.name).why == "":
			d.logDirFile(ld, f, e)
		case e.name == indexCacheDir:
			file := d.newFile(f, e, fileName{kind: KindRemoteIndexCache, base: -1, epoch: -1, why: "cached indexes of remote segments; holds no partition"})
			ld.files, ld.Unknown = append(ld.files, file), append(ld.Unknown, file)
		case e.link:
			d.later(f, e, func(child *folder) { d.partitionEntry(ld, child) })
		default:
			child := listed[e.name]
			if child == nil {
				if _, err := ParseDirName(e.name); err != nil {
					d.foreignDir(ld, f, e, notPartition(err))
					continue
				}
				child = d.list(f.in, joinName(f.name, e.name), joinShown(f.shown, e.name), e.info, f.behindLink)
				d.report(child)
			} else if child.kind() != partitionFolder && len(child.entries) > 0 {
				// Nothing says that this is a log directory, so a name like "logs-1" is not enough.
				d.foreignDir(ld, f, e, "holds no file of a partition")
				continue
			}
			d.partitionEntry(ld, child)
		}
	}
	return ld
}

// knownLogDir notes a log directory that two PATHs lead to.
func (d *discovery) knownLogDir(fd *found) bool {
	for _, other := range d.dirs {
		if !other.alone && os.SameFile(other.info, fd.info) {
			d.note(NoteDuplicate, []string{other.ld.Path, fd.ld.Path}, fmt.Sprintf("%q and %q are the same directory; looked at once", other.ld.Path, fd.ld.Path))
			return true
		}
	}
	return false
}

func notPartition(err error) string {
	return fmt.Sprintf("not the name of a partition directory: %v", err)
}

// foreignDir lists a directory in a log directory that is no partition.
func (d *discovery) foreignDir(ld *LogDir, f *folder, e *entry, why string) {
	file := d.newFile(f, e, fileName{base: -1, epoch: -1, why: why})
	ld.files, ld.Unknown = append(ld.files, file), append(ld.Unknown, file)
}

// logDirFile takes in an entry of a log directory that is no directory, or has the name of a file.
func (d *discovery) logDirFile(ld *LogDir, f *folder, e *entry) {
	fn := parseLogDirFile(e.name)
	if why := e.unusable(); why != "" {
		fn.why = why
	}
	file := d.newFile(f, e, fn)
	ld.files = append(ld.files, file)
	ld.newest(file)
	if file.Why == "" {
		d.readLogDirFile(ld, file)
		if file.Err != nil {
			file.Why = fmt.Sprintf("could not be read: %v", file.Err)
		}
	}
	if fn.kind != KindOther && fn.kind != KindTemporary && file.Why != "" {
		d.refuseOdd(file)
		if file.Kind == KindMetaProperties {
			ld.MetaFile = file
		}
	}
	if file.Kind == KindCleanShutdown {
		ld.CleanShutdown = true // existence alone counts (CleanShutdownFileHandler.exists)
	}
	if file.Why != "" {
		ld.Unknown = append(ld.Unknown, file)
	}
}

func (d *discovery) readLogDirFile(ld *LogDir, file *File) {
	offsets := func(to **CheckpointFile) {
		if b, ok := d.read(file, maxOffsetsFile); ok {
			*to = &CheckpointFile{OffsetFile: checkpoint.ParseOffsets(b), File: file}
		}
	}
	switch file.Kind {
	case KindMetaProperties:
		ld.MetaFile = file
		if b, ok := d.read(file, maxSmallFile); ok {
			ld.Meta = checkpoint.ParseMetaProperties(b)
		}
	case KindHighWatermarks:
		offsets(&ld.HighWatermarks)
	case KindRecoveryPoints:
		offsets(&ld.RecoveryPoints)
	case KindLogStarts:
		offsets(&ld.LogStarts)
	case KindCleanerOffsets:
		offsets(&ld.CleanerOffsets)
	case KindCleanShutdown:
		if b, ok := d.read(file, maxSmallFile); ok {
			ld.CleanShutdownAs = checkpoint.ParseCleanShutdown(b)
		}
	case KindBootstrap:
		ld.Bootstrap = file
	case KindLock:
		d.probeLock(ld, file)
	}
}

func (d *discovery) probeLock(ld *LogDir, file *File) {
	f, err := file.Open()
	if err != nil {
		d.fail(file.Path, err)
		file.Err = plainError(err)
		return
	}
	defer f.Close()
	held, pid, err := lockHeld(f)
	if err != nil {
		d.fail(file.Path, fmt.Errorf("asking for the lock: %w", err))
		return
	}
	if held {
		ld.Live = true
		by := "another process"
		if pid > 0 {
			by = fmt.Sprintf("process %d", pid)
		}
		d.note(NoteLive, []string{ld.Path}, fmt.Sprintf("%q is in use: %s holds the lock on %q, so files may change while they are read", ld.Path, by, file.Path))
	}
}

func (d *LogDir) newest(f *File) {
	if f.Mode.IsRegular() && f.ModTime.After(d.NewestModTime) {
		d.NewestModTime = f.ModTime
	}
}

// partitionEntry takes in a directory below a log directory.
func (d *discovery) partitionEntry(ld *LogDir, child *folder) {
	base := path.Base(child.name)
	dn, err := ParseDirName(base)
	why := ""
	switch {
	case err != nil:
		why = notPartition(err)
		if ld.Bare && child.kind() == partitionFolder {
			why = d.nameless(child, err)
		}
	case dn.Topic == metadataTopic && base != metadataDir:
		// LogManager.loadLogs passes over every directory of this topic.
		why = "a broker passes over directories of this topic; its log is " + metadataDir
	}
	if why != "" {
		parent := &folder{in: child.in, name: ld.Root, shown: ld.Path}
		d.foreignDir(ld, parent, child.asEntry(), why)
		return
	}
	d.addPartition(ld, d.partition(child, dn))
}

func (d *discovery) addPartition(ld *LogDir, p *Partition) {
	p.LogDir = ld
	if p.isMetadata() {
		ld.Metadata = p
	} else {
		ld.Partitions = append(ld.Partitions, p)
	}
	for _, f := range p.files {
		ld.newest(f)
	}
}

func (p *Partition) isMetadata() bool {
	return p.Topic == metadataTopic && p.Partition == 0 && p.State == Live
}

// partition takes in a partition directory. Only its two or three text files are opened.
func (d *discovery) partition(f *folder, dn DirName) *Partition {
	p := &Partition{
		Topic: dn.Topic, Partition: dn.Partition, State: dn.State, TopicCut: dn.TopicCut,
		Dir: f.shown, HostPath: f.in.hostPath(f.name), Incomplete: f.err != nil, Root: f.name,
	}
	d.saw(f, p)
	for i := range f.entries {
		p.files = append(p.files, d.partitionFile(p, f, &f.entries[i]))
	}
	d.arrange(p)
	p.Incomplete = p.Incomplete || len(p.OddLogs()) > 0
	return p
}

func (d *discovery) partitionFile(p *Partition, f *folder, e *entry) *File {
	fn := parseFileName(e.name)
	switch {
	case e.isDir():
		fn.why = "a directory; a broker ignores it"
	case fn.why == "" && (fn.kind == KindMetadataSnapshot || fn.kind == KindQuorumState) && !p.isMetadata():
		fn.why = "has a meaning only in " + metadataDir
	}
	if why := e.unusable(); why != "" && !e.isDir() {
		fn.why = why
	}
	file := d.newFile(f, e, fn)
	if fn.kind.marksPartition() {
		d.refuseOdd(file)
	}
	return file
}

// arrange puts the files of a partition in their places and reads the small ones.
func (d *discovery) arrange(p *Partition) {
	for _, f := range p.files {
		if f.Why != "" {
			p.Unknown = append(p.Unknown, f)
			if f.Err == nil {
				continue
			}
			switch f.Kind { // there, though nothing can be read from it
			case KindEpochs:
				p.EpochsFile = f
			case KindPartitionMetadata:
				p.MetaFile = f
			case KindQuorumState:
				p.QuorumStateFile = f
			}
			continue
		}
		switch f.Kind {
		case KindMetadataSnapshot:
			if f.Suffix == Deleted {
				p.DeletedSnapshots = append(p.DeletedSnapshots, f)
			} else {
				p.Snapshots = append(p.Snapshots, f)
			}
		case KindEpochs:
			p.EpochsFile = f
			if b, ok := d.read(f, maxEpochsFile); ok {
				p.Epochs = checkpoint.ParseEpochs(b)
			}
		case KindPartitionMetadata:
			p.MetaFile = f
			if b, ok := d.read(f, maxSmallFile); ok {
				p.Meta = checkpoint.ParsePartitionMetadata(b)
				p.TopicID, p.HasTopicID = p.Meta.TopicID, !p.Meta.TopicID.IsZero()
			}
		case KindQuorumState:
			p.QuorumStateFile = f
			if b, ok := d.read(f, maxSmallFile); ok {
				p.QuorumState = checkpoint.ParseQuorumState(b)
			}
		}
	}
	p.Segments = groupSegments(p.files)
}
