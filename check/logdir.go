package check

import (
	"cmp"
	"fmt"
	"slices"

	"kafsck/checkpoint"
	"kafsck/finding"
	"kafsck/logdir"
)

// Match selects partitions; nil takes all.
type Match func(topic string, partition int32) bool

func (m Match) takes(topic string, partition int32) bool { return m == nil || m(topic, partition) }

// LogDir judges the files of one log directory that belong to no single
// partition. name is the broker's.
func LogDir(d *logdir.LogDir, name string, match Match) []finding.Finding {
	s := Subject{Broker: name}
	var out []finding.Finding
	out = append(out, metaProperties(d, s)...)
	for _, f := range checkpointFiles {
		if x := f.of(d); x != nil {
			out = append(out, f.judge(x, s)...)
		}
	}
	out = append(out, orphanLines(d, s, match)...)
	out = append(out, foreign(d, s)...)
	out = append(out, unreadable(d, s, match)...)
	out = append(out, recoveryScan(d, s, match)...)
	if !d.Partial {
		out = append(out, oddNames(d.Unknown, s)...)
	}
	if d.Metadata != nil {
		out = append(out, quorumState(d.Metadata, s)...)
	}
	return out
}

// metaProperties: MetaPropertiesEnsemble.Loader.load and verify, KafkaServer.
// A directory that is known by its partitions alone is a copy of some of them.
func metaProperties(d *logdir.LogDir, s Subject) []finding.Finding {
	if d.Bare || d.Partial {
		return nil
	}
	if d.MetaFile == nil {
		if d.Incomplete {
			return nil
		}
		severity, kafka := damage, "Refuses to start in KRaft mode; with ZooKeeper it takes a new broker id."
		if zooKeeper(d) {
			severity, kafka = warning, "Takes a new broker id, and all partitions of the old one are under-replicated."
		}
		f := raise("meta-properties-missing", severity, s.At(d.Path), "meta.properties is missing", says("%s holds checkpoint files and %s, but no meta.properties", d.Path, count(len(d.Partitions), "partition directory", "partition directories")))
		f.Kafka = kafka
		return []finding.Finding{f}
	}
	m := d.Meta
	if m == nil {
		return nil // could not be read: an error, told as such
	}
	var lacks []string
	_, node := m.Properties["node.id"]
	_, broker := m.Properties["broker.id"]
	if !node && !broker {
		lacks = append(lacks, "the node id")
	}
	if m.Version >= 1 && m.ClusterID == "" {
		lacks = append(lacks, "the cluster id")
	}
	switch {
	case d.MetaFile.Size == 0 || len(m.Properties) == 0 && m.Malformed == nil:
		f := raise("meta-properties-missing", damage, s.At(d.MetaFile.Path), "meta.properties is empty", says("%s, %s", d.MetaFile.Path, inBytes(d.MetaFile.Size)))
		f.Kafka = "Parses it, then stops: the node id is not found."
		return []finding.Finding{f}
	case len(lacks) > 0:
		summary := "meta.properties lacks " + lacks[0]
		if len(lacks) > 1 {
			summary += " and " + lacks[1]
		}
		return []finding.Finding{raise("meta-properties-missing", damage, s.At(d.MetaFile.Path), summary, says("%s, %s", d.MetaFile.Path, inBytes(d.MetaFile.Size)))}
	case m.Malformed != nil:
		return []finding.Finding{raise("meta-properties-malformed", damage, s.At(d.MetaFile.Path), fmt.Sprintf("meta.properties cannot be parsed (%s)", m.Malformed),
			badLine(d.MetaFile.Path, m.Malformed))}
	}
	return nil
}

// zooKeeper reports whether the directory was written by a broker of a ZooKeeper
// cluster: its clean shutdown marker carries no broker epoch.
func zooKeeper(d *logdir.LogDir) bool {
	return d.CleanShutdownAs != nil && d.CleanShutdownAs.HasBrokerEpoch && d.CleanShutdownAs.BrokerEpoch == -1
}

// checkpointFile is one of the four offset checkpoints.
type checkpointFile struct {
	name     string
	code     finding.Code
	severity finding.Severity // when it cannot be parsed
	of       func(*logdir.LogDir) *logdir.CheckpointFile
	// kafka is what happens on an IOException and on an unchecked exception.
	kafka, unchecked string
}

const queuedAsFailed = " The directory is queued as failed and goes offline once the replica manager starts; with one log directory the broker stops."

var checkpointFiles = []checkpointFile{
	{"replication-offset-checkpoint", "watermark-file-malformed", damage, func(d *logdir.LogDir) *logdir.CheckpointFile { return d.HighWatermarks },
		"Takes the log directory offline when the file is first read.", "Fails every partition of the log directory when the file is first read."},
	{"recovery-point-offset-checkpoint", "recovery-point-file-malformed", warning, func(d *logdir.LogDir) *logdir.CheckpointFile { return d.RecoveryPoints },
		"Warns and takes all recovery points for 0: an unclean start scans every segment." + queuedAsFailed, "Warns and takes all recovery points for 0: an unclean start scans every segment."},
	{"log-start-offset-checkpoint", "log-start-file-malformed", warning, func(d *logdir.LogDir) *logdir.CheckpointFile { return d.LogStarts },
		"Warns and lets every log start at its first segment." + queuedAsFailed, "Warns and lets every log start at its first segment."},
	{"cleaner-offset-checkpoint", "cleaner-file-malformed", warning, func(d *logdir.LogDir) *logdir.CheckpointFile { return d.CleanerOffsets },
		"Takes it for empty: everything is cleaned again from the start.", "The cleaner stops with the exception."},
}

func (c *checkpointFile) judge(f *logdir.CheckpointFile, s Subject) []finding.Finding {
	path := f.File.Path
	if m := f.Malformed; m != nil {
		x := raise(c.code, c.severity, s.At(path), fmt.Sprintf("%s cannot be parsed (%s)", c.name, m), badLine(path, m))
		x.Kafka = c.kafka
		if m.Unchecked {
			x.Kafka = c.unchecked
		}
		return []finding.Finding{x}
	}
	if twice := repeated(f.Entries); len(twice) > 0 {
		x := raise(c.code, warning, s.At(path), fmt.Sprintf("%s lists %s more than once", c.name, count(len(twice), "partition", "partitions")))
		x.Count = len(twice)
		for _, t := range twice[:min(len(twice), maxExamples)] {
			x.Evidence = append(x.Evidence, says("%s-%d: %d, then %d, which counts", t.topic, t.partition, t.first, t.last))
		}
		x.Kafka = "Accepts the file; of several lines the last one counts."
		x.Next = "Nothing fails. kafsck repair plan writes the file with one line of each partition."
		return []finding.Finding{x}
	}
	return nil
}

type twice struct {
	topic       string
	partition   int32
	first, last int64
}

// repeated finds partitions with several lines.
func repeated(list []checkpoint.OffsetEntry) []twice {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b checkpoint.OffsetEntry) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var out []twice
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1].Topic == sorted[i].Topic && sorted[j+1].Partition == sorted[i].Partition {
			j++
		}
		if j > i {
			out = append(out, twice{sorted[i].Topic, sorted[i].Partition, sorted[i].Offset, sorted[j].Offset})
		}
		i = j + 1
	}
	return out
}

type topicPartition struct {
	topic     string
	partition int32
}

// directories are the partitions that have a directory in d, in whatever state.
func directories(d *logdir.LogDir) map[topicPartition]bool {
	m := map[topicPartition]bool{}
	for _, p := range d.Partitions {
		m[topicPartition{p.Topic, p.Partition}] = true
	}
	return m
}

// orphanLines finds lines of checkpoint files without a directory. The cleaner's
// are told by [Broker] when the partition lies on another disk.
func orphanLines(d *logdir.LogDir, s Subject, match Match) []finding.Finding {
	if d.Partial || d.Incomplete {
		return nil
	}
	have := directories(d)
	elsewhere := map[topicPartition]bool{}
	if d.Broker != nil {
		for _, other := range d.Broker.Dirs {
			if other != d {
				for k := range directories(other) {
					elsewhere[k] = true
				}
			}
		}
	}
	var evidence []finding.Evidence
	n, file := 0, ""
	for _, c := range checkpointFiles {
		f := c.of(d)
		if f == nil || f.Malformed != nil {
			continue
		}
		for _, e := range f.Entries {
			k := topicPartition{e.Topic, e.Partition}
			if have[k] || !match.takes(e.Topic, e.Partition) || f == d.CleanerOffsets && elsewhere[k] {
				continue
			}
			if n++; n <= maxExamples {
				evidence = append(evidence, says("%s: %s-%d %d", f.File.Path, e.Topic, e.Partition, e.Offset))
			}
			file = cmp.Or(file, f.File.Path)
		}
	}
	if n == 0 {
		return nil
	}
	f := raise("checkpoint-entry-orphan", note, s.At(file), count(n, "line of a checkpoint file names a partition", "lines of checkpoint files name partitions")+" without a directory here", evidence...)
	f.Count = n
	return []finding.Finding{f}
}

// foreign: LogManager.loadLogs parses the name of every directory but
// remote-log-index-cache.
func foreign(d *logdir.LogDir, s Subject) []finding.Finding {
	if d.Bare || d.Partial {
		return nil
	}
	var list []*logdir.File
	for _, f := range d.Unknown {
		if !f.Mode.IsDir() || f.Kind == logdir.KindRemoteIndexCache {
			continue
		}
		if _, err := logdir.ParseDirName(f.Name); err != nil {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return nil
	}
	f := raise("foreign-directory", damage, s.At(list[0].Path), count(len(list), "directory in the log directory has no partition's name", "directories in the log directory have no partition's name"))
	f.Count = len(list)
	for _, x := range list[:min(len(list), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s: %s", x.Path, x.Why))
	}
	return []finding.Finding{f}
}

// quorumState: FileQuorumStateStore.readElectionState.
func quorumState(p *logdir.Partition, s Subject) []finding.Finding {
	q := p.QuorumState
	if q == nil || q.Malformed == nil {
		return nil
	}
	f := raise("quorum-state", damage, s.At(p.QuorumStateFile.Path), fmt.Sprintf("quorum-state cannot be parsed (%s)", q.Malformed),
		badLine(p.QuorumStateFile.Path, q.Malformed))
	f.Kafka = "Aborts the start of the node."
	return []finding.Finding{f}
}

// StaleQuorumState judges a quorum-state beside the metadata log whose newest
// batch has raftEpoch: KafkaRaftClient.initialize takes the log's epoch then.
func StaleQuorumState(p *logdir.Partition, name string, raftEpoch int32) []finding.Finding {
	q := p.QuorumState
	if q == nil || q.Malformed != nil || q.LeaderEpoch >= raftEpoch {
		return nil
	}
	f := raise("quorum-state", warning, Subject{Broker: name}.At(p.QuorumStateFile.Path), fmt.Sprintf("quorum-state names epoch %d, the metadata log has epoch %d", q.LeaderEpoch, raftEpoch),
		finding.Evidence{Claim: p.QuorumStateFile.Path, Want: fmt.Sprintf("epoch %d or above", raftEpoch), Got: fmt.Sprint(q.LeaderEpoch)})
	f.Kafka = "Logs a warning and takes the log's epoch; whom it voted for in that epoch is not known any more."
	return []finding.Finding{f}
}
