package replica

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// Log is one copy of a partition and what a single pass over it found.
type Log struct {
	Source

	// LogStartOffset is the first offset that a reader of this log could see, and
	// LogStartSource what says so: "segment" (base offset of the first one),
	// "checkpoint" (log-start-offset-checkpoint) or "epoch-file" (the first entry of
	// leader-epoch-checkpoint lies inside the first batch: a rebuild whose checkpoint
	// line lags).
	LogStartOffset int64
	LogStartSource string
	// LogEndOffset is the offset behind the last batch, exclusive; the base offset of
	// the last segment when that has no batch. In a log whose offsets go backwards it is
	// the highest end (Kafka takes the last batch in file order).
	LogEndOffset int64

	// HighWatermark and RecoveryPoint are the lines of the directory's own log dir, nil
	// without a line and for files or directories that these lines do not belong to.
	HighWatermark     *int64
	HighWatermarkFile *logdir.File
	RecoveryPoint     *int64

	Lineage    epoch.Lineage // from batches, suspect epochs corrected
	Checkpoint []epoch.Entry // as written; nil when the file is absent
	Loaded     epoch.Cache   // as Kafka would hold it after load, before any recovery

	Fingerprint Fingerprint
	Anomalies   Anomalies
	Ascending   bool // offsets never go backwards
	Sparse      bool // some batch has fewer records than offsets: it was compacted
	HasLegacy   bool // messages of format 0 or 1

	Batches       int64
	Records       int64           // by the headers of batches of format 2 that bear their CRC, those of control batches left out
	Bytes         int64           // of the .log files
	BytesVerified int64           // under a CRC that was computed
	MaxTimestamp  int64           // ms, -1 none
	EpochStarted  map[int32]int64 // max timestamp of the first batch of each epoch, ms

	// Producers is the producer state at the log end; nil without Options.Files.
	Producers *Producers
	// Txns is what it holds of transactions; nil without Options.Transactions.
	Txns *TransactionTally

	// ShortRuns are runs of one or two batches whose epoch differs from that of their
	// neighbours, and which the directory's own epoch file does not know: only an outside
	// witness can tell whether it is real. At most 256, in file order.
	ShortRuns []Run

	opt         Options // of Read
	careful     bool    // no short way for batches in line: for tests
	mu          sync.Mutex
	open        rofs.File // the segment that ReadRaw read last
	openSegment int

	dense        bool
	segmentTimes []int64 // largest timestamp of each segment, ms, -1 none
	doubts       []Doubt
}

// SegmentTime is the largest timestamp of a segment in ms, -1 none or not known.
func (l *Log) SegmentTime(segment int) int64 {
	if segment < 0 || segment >= len(l.segmentTimes) {
		return -1
	}
	return l.segmentTimes[segment]
}

// Progress is told how many bytes have been read since the last call.
type Progress func(bytes int64)

// Options say how deep a pass looks. The zero value reads the .log files alone.
type Options struct {
	Progress Progress
	// NoReadAhead keeps to one core. Reading ahead takes a second one, where there is one.
	NoReadAhead bool
	// Files reads the files beside each .log too (.index, .timeindex, .txnindex,
	// .snapshot) and compares them with the batches.
	Files bool
	// Records decodes every record of every batch.
	Records bool
	// NowMs is the wall clock, ms, that timestamps are held against: see FutureTimestamp. 0: none.
	NowMs int64
	// Transactions follows the transactions; the oldest and the newest .snapshot of a log
	// that begins above offset 0 are read for it.
	Transactions bool
}

// Read makes the one pass over a source. The error is a failed read (a
// *segment.ReadError) or ctx's error; the Log is then incomplete and must not be
// judged.
func Read(ctx context.Context, src Source, opt Options) (*Log, error) {
	l := &Log{Source: src, dense: true, opt: opt}
	l.readSmallFiles()
	if err := l.pass(ctx, opt); err != nil {
		return l, err
	}
	if err := l.future(opt.NowMs); err != nil {
		return l, err
	}
	return l, l.settleStart()
}

func (l *Log) pass(ctx context.Context, opt Options) error {
	l.Ascending, l.Sparse, l.HasLegacy = true, false, false
	l.Batches, l.Records, l.Bytes, l.BytesVerified, l.MaxTimestamp = 0, 0, 0, 0, -1
	l.Lineage, l.Fingerprint, l.Anomalies = nil, Fingerprint{}, Anomalies{}
	l.EpochStarted = map[int32]int64{}
	l.ShortRuns = nil
	l.LogEndOffset = 0
	l.segmentTimes = slices.Repeat([]int64{-1}, len(l.Segments))
	if n := len(l.Segments); n > 0 {
		l.LogEndOffset = l.Segments[0].BaseOffset
	}

	t := tally{log: l, ctx: ctx, progress: opt.Progress, runs: runWatch{log: l}, lastSegment: -1}
	s := stream{
		log: l, prevNext: -1, prevEpoch: -1,
		anomaly: l.Anomalies.add,
		before:  l.Fingerprint.add,
		tally:   &t,
		careful: l.careful,
		ahead:   !opt.NoReadAhead && runtime.GOMAXPROCS(0) > 1,
	}
	s.setWatchers(l.watchers(opt))
	if opt.Records {
		s.records = newRecordWatch(l)
		defer s.records.abandon()
	}
	err := s.run(0, 0, t.block)
	t.tell()
	if err == nil {
		err = t.err
	}
	if err != nil {
		return err
	}
	if s.records != nil {
		s.records.end()
	}
	if n := len(l.Segments); n > 0 {
		last := l.Segments[n-1].BaseOffset
		if t.lastSegment < n-1 && (t.lastSegment < 0 || last > l.LogEndOffset) {
			l.LogEndOffset = last
		}
	}
	l.ShortRuns = t.runs.result()
	return nil
}

func (s *stream) report(b *Block) {
	if s.anomaly == nil || b.Flaws == 0 {
		return
	}
	a := Anomaly{Segment: b.Segment, Position: b.Position, Length: b.Length, From: b.Base, To: b.Next(), Epoch: b.Epoch}
	if b.Last < b.Base {
		a.From, a.To = -1, -1
	}
	if b.Flaws&BadCRC != 0 {
		x := a
		x.Kind, x.Got = BadChecksum, fmt.Sprintf("stored 0x%08x", b.CRC)
		s.anomaly(x)
	}
	if b.Flaws&SuspectBase != 0 {
		x := a
		x.Kind, x.Want, x.Got = BaseOutOfLine, fmt.Sprint(b.Base), fmt.Sprint(b.WrittenBase)
		s.anomaly(x)
	}
	if b.Flaws&SuspectEpoch != 0 {
		x := a
		x.Kind, x.Want, x.Got = EpochOutOfLine, fmt.Sprint(b.Epoch), fmt.Sprint(b.WrittenEpoch)
		s.anomaly(x)
	}
}

// readSmallFiles takes over what the checkpoint files of the log directory say
// about this directory. A live or future directory owns its lines; a directory
// or file that was set aside does not.
func (l *Log) readSmallFiles() {
	p := l.Partition
	if l.State == Live || l.State == Future || l.State == Stray || l.State == Delete {
		if p.Epochs != nil {
			l.Checkpoint = p.Epochs.Entries
			if l.Checkpoint == nil {
				l.Checkpoint = []epoch.Entry{}
			}
		}
	}
	if l.State != Live && l.State != Future {
		return
	}
	d := p.LogDir
	if v, ok := d.HighWatermarks.Line(p); ok {
		l.HighWatermark, l.HighWatermarkFile = &v, d.HighWatermarks.File
	}
	if v, ok := d.RecoveryPoints.Line(p); ok {
		l.RecoveryPoint = &v
	}
}

func (l *Log) settleStart() error {
	l.LogStartOffset, l.LogStartSource = 0, "segment"
	if len(l.Segments) > 0 {
		l.LogStartOffset = l.Segments[0].BaseOffset
	}
	l.Loaded = epoch.Load(l.Checkpoint).TruncateFromEnd(l.LogEndOffset)
	if l.State == Live || l.State == Future {
		if v, ok := l.Partition.LogDir.LogStarts.Line(l.Partition); ok {
			// LogLoader cuts at the checkpointed start, also where that lies below the
			// first segment (tiered storage: the epochs of remote segments stay).
			l.Loaded = l.Loaded.TruncateFromStart(v)
			if v > l.LogStartOffset {
				l.LogStartOffset, l.LogStartSource = v, "checkpoint"
			}
		}
	}
	if len(l.Checkpoint) > 0 && l.LogStartSource == "segment" && len(l.Lineage) > 0 {
		first := l.Checkpoint[0].StartOffset
		for b, err := range l.Blocks(math.MinInt64, l.Lineage[0].From+1) {
			if err != nil {
				return err
			}
			if b.Base < first && first <= b.Last {
				l.LogStartOffset, l.LogStartSource = first, "epoch-file"
			}
			break
		}
	}
	return nil
}

func (l *Log) hasCheckpointEntry(e int32, start int64) bool {
	for _, x := range l.Checkpoint {
		if x == (checkpoint.EpochEntry{Epoch: e, StartOffset: start}) {
			return true
		}
	}
	return false
}

// Empty reports whether the log holds no batch.
func (l *Log) Empty() bool { return l.Batches == 0 }

// LatestEpoch is the highest epoch that batches or the checkpoint know; a
// leader's entry at the log end counts. -1 without any.
func (l *Log) LatestEpoch() int32 {
	latest := l.Lineage.Latest()
	for _, e := range l.Checkpoint {
		latest = max(latest, e.Epoch)
	}
	return latest
}

// Batch reads the bytes of one block of this log into buf (grown as needed) and
// returns them as a batch. See ReadRaw.
func (l *Log) Batch(b *Block, buf []byte) (batch.View, []byte, error) {
	buf, err := l.ReadRaw(b.Segment, b.Position, b.Length, buf)
	if err != nil {
		return batch.View{}, buf, err
	}
	v, err := batch.ParseView(buf)
	return v, buf, err
}

// ReadRaw reads length bytes at a position of a segment's .log into buf (grown as
// needed). The file stays open for the next call; Release closes it. It may be called
// from several goroutines. The error is a *segment.ReadError.
func (l *Log) ReadRaw(seg int, position, length int64, buf []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.Segments[seg].Log
	if l.open == nil || l.openSegment != seg {
		l.release()
		r, err := f.Open()
		if err != nil {
			return buf, &segment.ReadError{Path: f.Path, Op: "open", Err: err}
		}
		l.open, l.openSegment = r, seg
	}
	if int64(cap(buf)) < length {
		buf = make([]byte, length)
	}
	buf = buf[:length]
	if _, err := l.open.ReadAt(buf, position); err != nil {
		return buf, &segment.ReadError{Path: f.Path, Op: "read", Pos: position, Len: length, Err: err}
	}
	return buf, nil
}

// Release closes the file that ReadRaw keeps open.
func (l *Log) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
}

func (l *Log) release() {
	if l.open != nil {
		l.open.Close() // nothing was written: a failed close loses nothing
		l.open = nil
	}
}
