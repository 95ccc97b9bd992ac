package broker

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"

	"kafsck/logdir"
)

// StartOptions say which broker starts, and when.
type StartOptions struct {
	Version Version
	// Clean overrides .kafka_cleanshutdown in every log directory: true is a clean shutdown, false an
	// unclean one. Nil obeys the marker.
	Clean *bool
	// NowMs is the wall clock at the start, in ms; see LoadInput. 0 means that no producer is
	// forgotten.
	NowMs int64
	// Membership is what the cluster metadata say of a live or -future directory; nil knows nothing.
	Membership func(p *logdir.Partition) Membership
	// KeepStray leaves directories without partition.metadata where they are.
	KeepStray bool
	// Only says which partitions are loaded, nil all. The others are taken to come up as they are;
	// their names and places count all the same.
	Only func(p *logdir.Partition) bool
	// Progress is told how many bytes of .log files have been dealt with; may be nil.
	Progress func(bytes int64)
}

// Membership says whether a partition directory belongs on a broker, as a broker asks its metadata
// when it has loaded the directory (BrokerMetadataPublisher, LogManager.isStrayReplica).
type Membership uint8

// The answers.
const (
	MemberUnknown Membership = iota // no metadata, or none that tell: taken for a member
	Member                          // a replica of an existing topic
	TopicGone                       // no topic has the directory's topic id
	Unassigned                      // the topic exists, and this broker is none of the partition's replicas
)

// Started is what becomes of one broker at its next start.
type Started struct {
	Broker  *logdir.Broker
	Version Version
	// ZooKeeper: the broker belongs to a cluster with ZooKeeper, and renames no directory to -stray.
	ZooKeeper bool
	Outcome   Outcome // OK, DirOffline when a log directory fails, BrokerAborts
	Why       string  // a sentence for a failing outcome
	// Where is the shown path that Why is about, "" if it is about no single file.
	Where string
	// BeforeLogs: the start fails before any partition is looked at. Then Partitions say what their
	// load would do otherwise.
	BeforeLogs bool
	// Order is a sentence where something that no copy keeps decides between this outcome and another:
	// the order in which the broker lists its directories, or metadata.log.dir; "" mostly.
	Order  string
	Dirs   []*StartedDir // one a log directory, in the order of Broker.Dirs
	Errors []logdir.PathError
}

// StartedDir is what becomes of one log directory.
type StartedDir struct {
	LogDir  *logdir.LogDir
	Outcome Outcome
	Why     string
	Where   string
	Clean   bool // loaded as after a clean shutdown
	Marker  bool // .kafka_cleanshutdown is there, and is removed by the start
	// Reached is false when the partitions of this directory are not loaded: the start fails before, or
	// its meta.properties is refused.
	Reached bool
	// Ignored are checkpoint files that are read as if they were empty, each a sentence.
	Ignored    []string
	Metadata   *StartedPartition // __cluster_metadata-0, nil absent
	Partitions []*StartedPartition

	failed bool // a checkpoint file has reported an IOException before the partitions are loaded
}

// StartedPartition is what becomes of one partition directory.
type StartedPartition struct {
	Partition *logdir.Partition
	// Outcome of the directory: the broker's or the log directory's where those fail, else that of
	// the load.
	Outcome Outcome
	Why     string
	*Loaded
	// Skipped: StartOptions.Only left it out, and Loaded says nothing but OK.
	Skipped bool
	// Stray says why the directory is renamed to -stray, "" if it is not.
	Stray string
	// Err is a failed read: nothing is known of the load, and Loaded is nil.
	Err error
	// Unsure is a sentence on what the prediction had to leave open, "" mostly.
	Unsure string
}

// Start predicts what a broker does with all its log directories when it is started: the checks of
// meta.properties, the metadata log and quorum-state, the checkpoint files, the names of
// directories, and the load of every partition.
//
//	KafkaRaftServer.initializeLogDirs    meta.properties, one metadata directory
//	KafkaRaftLog.createLog               __cluster_metadata-0, quorum-state
//	LogManager.loadLogs                  marker, checkpoints, names, LogLoader.load, duplicates, strays
//
// Failed reads are in Started.Errors; the error is that of the context.
func Start(ctx context.Context, b *logdir.Broker, opt StartOptions) (*Started, error) {
	if opt.Version == (Version{}) {
		opt.Version = Latest
	}
	s := &starter{opt: opt, out: &Started{Broker: b, Version: opt.Version, Outcome: OK}}
	for _, ld := range b.Dirs {
		s.out.Dirs = append(s.out.Dirs, s.dir(ld))
	}
	s.out.ZooKeeper = s.zooKeeper()
	s.identity()
	if err := s.metadata(ctx); err != nil {
		return nil, err
	}
	s.names()
	if err := s.loadAll(ctx); err != nil {
		return nil, err
	}
	s.duplicates()
	s.strays()
	s.settle()
	return s.out, ctx.Err()
}

// starter is a start under way.
type starter struct {
	opt StartOptions
	out *Started
}

// abort ends the start. The first reason counts.
func (s *starter) abort(where, format string, args ...any) {
	if s.out.Outcome != BrokerAborts {
		s.out.Outcome, s.out.Where, s.out.Why = BrokerAborts, where, fmt.Sprintf(format, args...)
	}
}

// offline takes a log directory out of service. The first reason counts.
func (d *StartedDir) offline(where, format string, args ...any) {
	if d.Outcome == OK {
		d.Outcome, d.Where, d.Why = DirOffline, where, fmt.Sprintf(format, args...)
	}
}

// fail notes a failed read.
func (s *starter) fail(where string, err error) {
	s.out.Errors = append(s.out.Errors, logdir.PathError{Path: where, Err: err})
}

// dirName is the name of a partition directory as Kafka takes it apart, which is the key of the
// checkpoint files' lines also where the name is cut short.
func dirName(p *logdir.Partition) (logdir.DirName, bool) {
	n, err := logdir.ParseDirName(baseName(p))
	return n, err == nil
}

// baseName is the name of a partition directory on disk.
func baseName(p *logdir.Partition) string {
	if p.Root == "." || p.Root == "" { // a PATH of its own
		if p.HostPath != "" {
			return path.Base(strings.ReplaceAll(p.HostPath, "\\", "/"))
		}
		return path.Base(p.Dir)
	}
	return path.Base(p.Root)
}

// loadAll loads every partition of every directory, on all cores.
func (s *starter) loadAll(ctx context.Context) error {
	type job struct {
		d *StartedDir
		p *StartedPartition
	}
	var jobs []job
	for _, d := range s.out.Dirs {
		for _, p := range d.LogDir.Partitions {
			sp := &StartedPartition{Partition: p}
			d.Partitions = append(d.Partitions, sp)
			jobs = append(jobs, job{d, sp})
		}
	}
	next := make(chan job)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	for range min(max(runtime.GOMAXPROCS(0), 1), max(len(jobs), 1)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range next {
				func() {
					defer func() {
						if r := recover(); r != nil {
							mu.Lock()
							panicked = cmp.Or(panicked, r)
							mu.Unlock()
						}
					}()
					s.load(ctx, j.d, j.p)
				}()
			}
		}()
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- j
	}
	close(next)
	wg.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return ctx.Err()
}

// load loads one partition directory.
func (s *starter) load(ctx context.Context, d *StartedDir, sp *StartedPartition) {
	p := sp.Partition
	if s.opt.Only != nil && !s.opt.Only(p) {
		sp.Skipped, sp.Loaded = true, &Loaded{Outcome: OK}
		return
	}
	in := LoadInput{
		Version: s.opt.Version, Clean: d.Clean, NowMs: s.opt.NowMs,
		// KafkaServer starts its LogManager with isStray = false, and knows topics without an id.
		KeepStray:     s.opt.KeepStray || s.out.ZooKeeper,
		RecoveryPoint: d.line(d.LogDir.RecoveryPoints, p),
		LogStart:      d.line(d.LogDir.LogStarts, p),
		HighWatermark: d.line(d.LogDir.HighWatermarks, p),
	}
	if p.Incomplete {
		sp.Err = errIncomplete
	} else {
		sp.Loaded, sp.Err = Load(ctx, p, in)
	}
	if s.opt.Progress != nil {
		var n int64
		for _, seg := range p.Segments {
			if seg.Log != nil {
				n += max(seg.Log.Size, 0)
			}
		}
		s.opt.Progress(n)
	}
}

// line is a partition's line in a checkpoint file as the broker reads it: 0 without a line, and in a
// file that it refuses (LogManager.loadLogs: recoveryPoints.getOrDefault(topicPartition, 0)).
func (d *StartedDir) line(f *logdir.CheckpointFile, p *logdir.Partition) int64 {
	if f == nil || f.Malformed != nil {
		return 0
	}
	topic, number := p.Topic, p.Partition
	if n, ok := dirName(p); ok {
		topic, number = n.Topic, n.Partition
	}
	at, _ := f.Lookup(topic, number)
	return at
}
