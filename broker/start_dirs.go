package broker

import (
	"fmt"
	"path"
	"strings"

	"kafsck/checkpoint"
	"kafsck/logdir"
)

// dir reads what a broker reads of a log directory before its partitions: the marker of a clean
// shutdown and the checkpoint files (LogManager.loadLogs).
func (s *starter) dir(ld *logdir.LogDir) *StartedDir {
	d := &StartedDir{LogDir: ld, Outcome: OK, Clean: ld.CleanShutdown, Marker: ld.CleanShutdown, Reached: true}
	if s.opt.Clean != nil {
		d.Clean = *s.opt.Clean
	}
	s.checkpoint(d, ld.RecoveryPoints, "every recovery point counts as 0, so that an unclean start recovers every segment")
	s.checkpoint(d, ld.LogStarts, "every log starts at its first segment, so that records below a log start offset come back")
	return d
}

// checkpoint judges a checkpoint file whose failure the load survives: the lines count as absent. An
// IOException takes the log directory offline all the same, since the reader has reported it
// (CheckpointFileWithFailureHandler.read); an unchecked exception is only a warning.
func (s *starter) checkpoint(d *StartedDir, f *logdir.CheckpointFile, means string) {
	if f == nil || f.Malformed == nil {
		return
	}
	d.Ignored = append(d.Ignored, fmt.Sprintf("%s is refused (%s): %s", f.File.Name, f.Malformed, means))
	if s.ioError(f.Malformed) {
		d.failed = true
		d.offline(f.File.Path, "%s is refused: %s", f.File.Name, f.Malformed)
	}
}

// highWatermarks judges replication-offset-checkpoint, which is read when the first partition of the
// directory becomes leader or follower, and then fails every one of them (LazyOffsetCheckpoints).
func (s *starter) highWatermarks(d *StartedDir) {
	f := d.LogDir.HighWatermarks
	if f == nil || f.Malformed == nil || s.out.Outcome == BrokerAborts {
		return
	}
	for _, sp := range d.Partitions {
		if st := sp.Partition.State; (st == logdir.Live || st == logdir.Future) && sp.Loaded != nil && sp.Loaded.Outcome == OK {
			d.offline(f.File.Path, "%s is refused, so that no replica here can become leader or follower: %s", f.File.Name, f.Malformed)
			return
		}
	}
}

// ioError reports whether Kafka throws an IOException over a malformed checkpoint file. Until 3.0 it
// also did over a number that does not parse.
func (s *starter) ioError(m *checkpoint.Malformed) bool {
	return !m.Unchecked || s.opt.Version.Before(3, 1)
}

// names looks for directories that are no partition's. A broker refuses to start with one; what lies
// beside it is not loaded then (LogManager.loadLogs, LocalLog.parseTopicPartitionName).
func (s *starter) names() {
	for _, d := range s.out.Dirs {
		if s.out.BeforeLogs {
			d.Reached = false
		}
		if d.LogDir.Partial || d.LogDir.Bare && !wholeDir(d.LogDir) || refusedMeta(d.LogDir) {
			continue
		}
		check := func(shown, name string) {
			if _, err := logdir.ParseDirName(name); err != nil {
				d.Reached = false
				s.abort(shown, "the name of this directory is no partition's (KafkaException: %s)", err)
			}
		}
		for _, f := range d.LogDir.Unknown {
			if f.Mode.IsDir() && f.Kind != logdir.KindRemoteIndexCache && f.Name != remoteIndexCache {
				check(f.Path, f.Name)
			}
		}
		for _, p := range d.LogDir.Partitions {
			check(p.Dir, baseName(p))
		}
	}
}

// remoteIndexCache is the one directory beside the partitions that a broker skips
// (RemoteIndexCache.DIR_NAME).
const remoteIndexCache = "remote-log-index-cache"

// wholeDir reports whether a log directory without meta.properties and checkpoint files was given as
// a folder, not as a partition directory.
func wholeDir(ld *logdir.LogDir) bool {
	for _, p := range ld.Partitions {
		if path.Dir(p.Root) != ld.Root {
			return false
		}
	}
	return true
}

// strays names the directories that a broker renames to -stray: those that its metadata do not give
// it. Since 3.8 that includes those without a topic id (LogManager.isStrayReplica); Load has said so
// already.
func (s *starter) strays() {
	if s.opt.Version.Before(3, 3) || s.out.ZooKeeper {
		return
	}
	for _, d := range s.out.Dirs {
		for _, sp := range d.Partitions {
			if sp.Loaded == nil || sp.Loaded.Outcome != OK && sp.Loaded.Outcome != BecomesStray {
				continue
			}
			if st := sp.Partition.State; st == logdir.Stray || st == logdir.Delete {
				continue
			}
			switch why := s.member(sp); {
			case sp.Loaded.Outcome == BecomesStray:
				sp.Stray = "it has no partition.metadata, and so no topic id"
			case why == "":
			case s.opt.Version.Before(3, 7):
				// KRaft before 3.6.1 deleted strays; 3.6.1 and later 3.6 rename them.
				sp.Loaded.Outcome, sp.Stray = DirAsDeletion, why
				sp.Unsure = "Kafka before 3.6.1 deletes such a directory; 3.6.1 and later rename it to -stray"
			default:
				sp.Loaded.Outcome, sp.Stray = BecomesStray, why
				sp.Loaded.Actions = append(sp.Loaded.Actions, Action{Action: ActRenameStray, File: ".", Why: why})
			}
		}
	}
}

// member asks the metadata about a directory: "" when it may stay.
func (s *starter) member(sp *StartedPartition) string {
	if s.opt.Membership == nil {
		return ""
	}
	switch s.opt.Membership(sp.Partition) {
	case TopicGone:
		return "no topic in the cluster metadata has its topic id"
	case Unassigned:
		return "by the cluster metadata this broker has no replica of it"
	}
	return ""
}

// duplicates looks for two directories of one partition that both stay live. The second one to be
// loaded ends the start (LogManager.loadLog: Duplicate log directories).
func (s *starter) duplicates() {
	if s.out.BeforeLogs {
		return
	}
	type key struct {
		topic  string
		number int32
		future bool
	}
	seen := map[key]*logdir.Partition{}
	for _, d := range s.out.Dirs {
		if !d.Reached {
			continue
		}
		for _, sp := range d.Partitions {
			n, ok := dirName(sp.Partition)
			if !ok || n.State != logdir.Live && n.State != logdir.Future || sp.Loaded == nil || sp.Loaded.Outcome != OK || s.member(sp) != "" {
				continue
			}
			k := key{n.Topic, n.Partition, n.State == logdir.Future}
			if other := seen[k]; other != nil {
				s.abort(sp.Partition.Dir, "%s is a directory of the same partition, and both are live (IllegalStateException: Duplicate log directories found)", other.Dir)
				continue
			}
			seen[k] = sp.Partition
		}
	}
}

// settle gives every partition the outcome that it meets in the end.
func (s *starter) settle() {
	for _, d := range s.out.Dirs {
		for _, sp := range d.Partitions {
			if sp.Err != nil {
				s.fail(sp.Partition.Dir, sp.Err)
				continue
			}
			switch sp.Loaded.Outcome {
			case BrokerAborts:
				if d.Reached && !s.out.BeforeLogs {
					s.abort(sp.Partition.Dir, "%s", sp.Loaded.Why)
				}
			case DirOffline:
				if d.Reached && !s.out.BeforeLogs {
					d.offline(sp.Partition.Dir, "%s", sp.Loaded.Why)
				}
			}
		}
		s.refusals(d)
		if d.Metadata != nil && d.Metadata.Err != nil {
			s.fail(d.Metadata.Partition.Dir, d.Metadata.Err)
		}
	}
	for _, d := range s.out.Dirs {
		s.highWatermarks(d)
		if d.Outcome != OK && s.out.Outcome == OK {
			s.out.Outcome, s.out.Where, s.out.Why = DirOffline, d.Where, d.Why
		}
	}
	for _, d := range s.out.Dirs {
		for _, sp := range d.Partitions {
			switch {
			case s.out.Outcome == BrokerAborts:
				sp.Outcome, sp.Why = BrokerAborts, sentence(s.out.Where, s.out.Why)
			case d.Outcome == DirOffline:
				sp.Outcome, sp.Why = DirOffline, sentence(d.Where, d.Why)
			case sp.Loaded != nil:
				sp.Outcome, sp.Why = sp.Loaded.Outcome, sp.Loaded.Why
				if sp.Partition.State == logdir.Stray && sp.Outcome == OK {
					sp.Outcome = BecomesStray
				}
			}
		}
	}
}

// refusals looks for loads that a failed log directory makes fail in another way. A malformed
// checkpoint file, epoch file or partition.metadata is reported at once, and from then on renaming a
// directory there and looking up the start of an open transaction throw an exception that is no
// IOException, so that the broker aborts (LocalLog.maybeHandleIOException: The log dir is already
// offline; UnifiedLog.maybeIncrementFirstUnstableOffset).
func (s *starter) refusals(d *StartedDir) {
	if !d.Reached || s.out.BeforeLogs {
		return
	}
	var reported *StartedPartition
	for _, sp := range d.Partitions {
		if sp.Loaded != nil && sp.Loaded.Outcome == DirOffline && reportsAtOnce(sp.Partition) {
			reported = sp
		}
	}
	for _, sp := range d.Partitions {
		why := ""
		switch {
		case sp.Loaded == nil:
			continue
		case sp.Loaded.Outcome == BecomesStray && sp.Partition.State != logdir.Stray:
			why = "it would be renamed to -stray"
		case sp.Loaded.readsUnstable && (sp.Loaded.Outcome == OK || sp.Loaded.Outcome == BecomesStray):
			why = "a transaction in it is not completed, and its first record is looked up"
		default:
			continue
		}
		switch {
		case d.failed:
			s.abort(sp.Partition.Dir, "%s, and its log directory has failed already over a checkpoint file (KafkaStorageException: The log dir is already offline)", why)
		case reported != nil:
			s.out.Order = fmt.Sprintf("the broker aborts if it loads %s after %s: %s, and the log directory has failed by then (KafkaStorageException: The log dir is already offline)", sp.Partition.Dir, reported.Partition.Dir, why)
		}
	}
}

// reportsAtOnce reports whether a partition fails over a small file whose reader tells the broker.
func reportsAtOnce(p *logdir.Partition) bool {
	return p.Epochs != nil && p.Epochs.Malformed != nil || p.Meta != nil && p.Meta.Malformed != nil
}

// sentence joins where and why.
func sentence(where, why string) string {
	if where == "" || strings.HasPrefix(why, where) {
		return why
	}
	return where + ": " + why
}

// LastDir reports whether no log directory stays in service: then the broker stops although nothing
// aborted its start.
func (s *Started) LastDir() bool {
	for _, d := range s.Dirs {
		if d.Outcome == OK {
			return false
		}
	}
	return len(s.Dirs) > 0 && s.Outcome != BrokerAborts
}
