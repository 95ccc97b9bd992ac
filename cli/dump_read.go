package cli

import (
	"context"
	"errors"
	"math"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/query"
	"kafsck/report"
	"kafsck/segment"
)

// maxTextFile bounds the text files that dump reads, in bytes.
const maxTextFile = 16 << 20

// one decodes one file.
func (d *dumper) one(ctx context.Context, t *dumpTarget) {
	d.where.in(t)
	if t.kind.isLog() {
		d.log(ctx, t)
		return
	}
	if t.kind.isIndex() {
		d.indexes = true
		d.index(ctx, t)
		return
	}
	if t.kind == dumpOther {
		if d.keeps(t, max(t.file.Size, 0), query.Line{Kind: query.OtherFile, Name: t.file.Name, Why: otherFiles[t.file.Name]}) {
			d.out.Other(t.file.Name, otherFiles[t.file.Name])
		}
		return
	}
	b, err := t.file.ReadAll(maxTextFile)
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
		return
	}
	var bad *checkpoint.Malformed
	var line query.Line
	var show func()
	switch t.kind {
	case dumpEpochs:
		f := checkpoint.ParseEpochs(b)
		line, bad = query.Line{Kind: query.EpochFile, Epochs: f}, f.Malformed
		show = func() { d.out.Epochs(f) }
	case dumpWatermarks, dumpRecovery, dumpLogStarts, dumpCleaner:
		f := checkpoint.ParseOffsets(b)
		line, bad = query.Line{Kind: query.OffsetFile, Offsets: f, Name: string(t.kind)}, f.Malformed
		show = func() { d.out.Offsets(string(t.kind), f) }
	case dumpPartition:
		f := checkpoint.ParsePartitionMetadata(b)
		line, bad = query.Line{Kind: query.PartitionFile, Partition: f}, f.Malformed
		show = func() { d.out.PartitionMetadata(f) }
	case dumpProperties:
		f := checkpoint.ParseMetaProperties(b)
		line, bad = query.Line{Kind: query.PropertiesFile, Properties: f}, f.Malformed
		show = func() { d.out.MetaProperties(f) }
	case dumpQuorum:
		f := checkpoint.ParseQuorumState(b)
		line, bad = query.Line{Kind: query.QuorumFile, Quorum: f}, f.Malformed
		show = func() { d.out.QuorumState(f) }
	case dumpCleanStopped:
		f := checkpoint.ParseCleanShutdown(b)
		line = query.Line{Kind: query.ShutdownFile, Shutdown: f}
		show = func() { d.out.CleanShutdown(f) }
	default:
		panic("cli: dump of unknown kind " + string(t.kind))
	}
	if !d.keeps(t, int64(len(b)), line) {
		return
	}
	show()
	if bad != nil && !t.ignored() {
		d.a.fail(exitFindings)
	}
}

// keeps counts a file that is one line, and names it if that is asked for.
func (d *dumper) keeps(t *dumpTarget, size int64, line query.Line) bool {
	d.sum.Files++
	d.sum.Bytes += size
	if !d.where.match(line) {
		return false
	}
	d.name(t, size)
	return true
}

func (d *dumper) name(t *dumpTarget, size int64) {
	d.named = true
	d.out.File(&report.DumpFile{Path: t.shown, Size: size, Partition: t.owner.partition, TopicID: t.owner.topicID, Broker: t.owner.broker, Ignored: t.ignored()})
}

// log decodes a file of batches.
func (d *dumper) log(ctx context.Context, t *dumpTarget) {
	f, err := t.file.Open()
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
		return
	}
	l := logDump{d: d, t: t, size: info.Size(), next: t.base, decompressor: batch.NewDecompressor(batch.DefaultLimit), decoder: t.owner.decoder}
	if t.kind != dumpLog {
		l.decoder = t.kind
	}
	if !d.opt.partial() {
		l.begin() // else only a log with something to show is named
	}
	defer l.count()
	defer d.changed.look(t.file)
	for frame, err := range segment.Scan(f, info.Size(), segment.ScanOptions{NextOffset: t.base}) {
		if err != nil {
			l.flush(math.MaxInt64, false)
			d.failed(t.shown, segment.PlainCause(err))
			return
		}
		if d.stopped(ctx) {
			return
		}
		if d.opt.positions.set && frame.Pos > d.opt.positions.last {
			break
		}
		l.take(ctx, &frame)
	}
	l.flush(math.MaxInt64, false)
}

// logDump is the state of one log.
type logDump struct {
	d            *dumper
	t            *dumpTarget
	size         int64
	begun        bool
	decompressor *batch.Decompressor
	decoder      dumpKind // what its records are; dumpNothing: what producers sent

	// Bytes that are no batch have no offsets: whether they could hold some that were
	// asked for shows only with the next batch. Until then they wait here.
	waiting []segment.Frame
	next    int64 // offset behind the last batch, below 0 unknown
	shown   bool  // the last batch was shown
	zeros   bool  // the last frame shown was zeros

	unshown *segment.Frame // of which --where will have records, or not; nil none
}

// maxWaiting bounds logDump.waiting; beyond it bytes are shown, asked for or not.
const maxWaiting = 1000

func (l *logDump) begin() {
	if !l.begun {
		l.begun = true
		l.d.name(l.t, l.size)
	}
}

// count adds a log that was read, with or without something to show.
func (l *logDump) count() {
	l.d.sum.Files++
	l.d.sum.Bytes += l.size
}

func (l *logDump) take(ctx context.Context, f *segment.Frame) {
	var first, last int64
	switch f.Kind {
	case segment.Batch:
		first, last = f.Batch.BaseOffset, f.Batch.LastOffset()
	case segment.Legacy:
		first, last = f.Legacy.Offset, f.Legacy.Offset
		if f.Legacy.Codec() != batch.None && l.next >= 0 && l.next < first {
			first = l.next // a wrapper says where it ends only
		}
	default:
		if !l.d.opt.positions.meets(f.Pos, f.End()-1) || !l.d.where.frame(f) {
			return
		}
		w := *f
		w.Raw, w.Batch.Raw = nil, nil
		if l.waiting = append(l.waiting, w); !l.d.opt.ranged() || len(l.waiting) > maxWaiting {
			l.flush(math.MaxInt64, true)
		}
		return
	}
	wanted := (l.d.opt.offsets.meets(first, last) || last < first && l.d.opt.offsets.meets(first, first)) &&
		l.d.opt.positions.meets(f.Pos, f.End()-1) && l.inEpochs(f) && l.inTimes(f) && l.d.where.batch(f)
	l.flush(first, wanted)
	if last >= first && last < math.MaxInt64 {
		l.next = last + 1
	}
	if l.shown = wanted; !wanted {
		l.zeros = false
		return
	}
	if l.unshown = nil; l.d.where.ofRecords() {
		l.unshown = f // until one of its records is shown
	} else {
		l.show(f)
	}
	switch {
	case !l.d.opt.records:
	case f.Kind == segment.Batch:
		l.records(ctx, f)
	case f.Kind == segment.Legacy:
		l.legacyRecords(ctx, f)
	}
}

// showBatch shows the batch of a record that is shown.
func (l *logDump) showBatch() {
	if f := l.unshown; f != nil {
		l.unshown = nil
		l.show(f)
	}
}

// inTimes reports whether a batch or message could hold a timestamp that was asked for.
func (l *logDump) inTimes(f *segment.Frame) bool {
	times := &l.d.opt.times
	if !times.set {
		return true
	}
	if f.Kind == segment.Legacy {
		if f.Legacy.Codec() != batch.None {
			return times.meets(0, f.Legacy.Timestamp) // a wrapper has that of its latest message
		}
		return times.meets(f.Legacy.Timestamp, f.Legacy.Timestamp)
	}
	h := &f.Batch.Header
	first := h.BaseTimestamp
	switch {
	case h.Attributes.TimestampType() == batch.LogAppendTime:
		first = h.MaxTimestamp
	case h.Attributes.DeleteHorizon():
		first = 0 // that of the first record is not written
	}
	if times.meets(min(first, h.MaxTimestamp), h.MaxTimestamp) {
		return true
	}
	// A record may be older than the first one of its batch.
	if !l.d.opt.records || h.MaxTimestamp < times.first || f.Raw == nil || h.Attributes.TimestampType() == batch.LogAppendTime {
		return false
	}
	for r, err := range f.Batch.Records(l.decompressor) {
		if err != nil {
			return true // it is shown that they cannot be decoded
		}
		if times.meets(r.Timestamp, r.Timestamp) {
			return true
		}
	}
	return false
}

// flush shows what waits, if it could hold an offset that was asked for: one below end,
// where the next batch begins. It has no times and epochs: it is in a range of them if the
// batch before it or the next one is.
func (l *logDump) flush(end int64, next bool) {
	if len(l.waiting) > 0 && l.d.opt.offsets.meets(l.next, max(end, l.next)) && (!l.d.opt.times.set && !l.d.opt.epochs.set || l.shown || next) {
		for i := range l.waiting {
			l.show(&l.waiting[i])
		}
	}
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}

// show prints a frame and counts it.
func (l *logDump) show(f *segment.Frame) {
	l.begin()
	l.d.out.Frame(f)
	s := &l.d.sum
	hole := l.zeros
	l.zeros = f.Kind == segment.Zeros
	switch f.Kind {
	case segment.Batch, segment.Legacy:
		if hole {
			l.d.a.fail(exitFindings) // zeros before the end of the log
		}
		s.Batches++
		if f.Kind == segment.Legacy {
			s.Records++
		} else {
			s.Records += int64(max(f.Batch.RecordCount, 0))
		}
		switch {
		case errors.Is(f.Damage, batch.ErrCRC):
			s.BadCRC++
		default:
			s.Verified += f.Len
		}
		if f.Damage != nil {
			l.d.a.fail(exitFindings)
			if !errors.Is(f.Damage, batch.ErrCRC) {
				s.Flawed++
			}
		}
	case segment.Junk:
		s.Other += f.Len
		if errors.Is(f.Damage, segment.ErrBudget) {
			l.d.a.fail(exitIncomplete)
		}
		l.d.a.fail(exitFindings)
	default: // zeros and a torn batch at the end are what a kill leaves behind
		s.Other += f.Len
	}
}
