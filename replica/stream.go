package replica

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"kafsck/batch"
	"kafsck/segment"
)

// hole is a stretch of a file between two batches that is no batch.
type hole struct {
	segment       int
	position, len int64
	kind          segment.FrameKind
}

// stream turns the frames of consecutive segments into blocks. It looks one
// batch ahead, since only a neighbour on each side can tell whether a base
// offset or an epoch, which no CRC covers, is out of line.
type stream struct {
	log *Log
	// anomaly is told of everything that is not a sound batch; nil to stay silent.
	anomaly func(Anomaly)
	// before is told of the state in front of each block; nil to stay silent.
	before func(b *Block, prevNext int64, prevEpoch int32)
	watch  []watcher
	// quietWatch are the same, if they need not see all batches.
	quietWatch []quietWatcher
	skipped    skipped // what they are told next; here so that it is not allocated
	// records decodes what is in the batches; nil to look at headers only.
	records *recordWatch
	// tally counts the frames and takes the batches in line, of which neither before nor
	// yield is told. nil to have a block made of each.
	tally *tally
	line  line
	// careful has every batch wait for the one behind it, also those in line.
	careful bool
	ahead   bool // read ahead on another core

	seg   int   // the segment being read
	base  int64 // its base offset
	frame segment.Frame

	prevNext  int64 // end offset of the last block emitted, -1 at the start of a log
	prevEpoch int32 // epoch of it, -1 unknown
	prevMagic int8  // format of the last whole block that was emitted; those in line have it, too
	pending   Block
	pendingOK bool
	incoming  Block // scratch: blocks live in the stream so that none is allocated
	out       Block
	trail     []hole // holes behind the pending block
}

// run emits the blocks from a position on. It stops when yield returns false. A
// block is borrowed until the next one.
func (s *stream) run(firstSegment int, position int64, yield func(*Block) bool) error {
	for i := firstSegment; i < len(s.log.Segments); i++ {
		goOn, err := s.file(i, position, yield)
		if err != nil || !goOn {
			return err
		}
		position = 0
	}
	s.flush(nil, yield)
	return nil
}

func (s *stream) file(i int, position int64, yield func(*Block) bool) (goOn bool, err error) {
	seg := s.log.Segments[i]
	if s.prevNext < 0 && !s.pendingOK {
		s.prevNext = seg.BaseOffset
	}
	f, err := seg.Log.Open()
	if err != nil {
		return false, &segment.ReadError{Path: seg.Log.Path, Op: "open", Err: err}
	}
	defer f.Close()
	for _, w := range s.watch {
		if err := w.begin(i); err != nil {
			return false, err
		}
	}
	lowest := s.lowest()
	s.base = seg.BaseOffset
	s.seg = i
	s.join()
	for run, err := range segment.Runs(f, seg.Log.Size, segment.ScanOptions{From: position, NextOffset: lowest, ReadAhead: s.ahead}) {
		if err == nil {
			goOn, err = s.take(run, yield)
		}
		if err != nil {
			return false, withPath(err, seg.Log.Path)
		}
		if !goOn {
			return false, nil
		}
	}
	s.leave()
	for _, w := range s.watch {
		if err := w.end(i); err != nil {
			return false, err
		}
	}
	return true, nil
}

// take takes the next part of a file: batches in line together, all others one by one.
func (s *stream) take(run *segment.Run, yield func(*Block) bool) (goOn bool, err error) {
	if run.Odd != nil {
		return s.takeFrame(run.Odd, yield)
	}
	for i := 0; i < len(run.Sound); {
		n, err := s.inLine(run, i)
		if err != nil {
			return false, err
		}
		if i += n; i == len(run.Sound) {
			break
		}
		if n > 0 {
			continue // the line ended, or was cut
		}
		run.Frame(i, &s.frame)
		if goOn, err := s.takeFrame(&s.frame, yield); err != nil || !goOn {
			return false, err
		}
		i++
	}
	if s.line.bytes >= tellEvery {
		s.leave()
		s.join()
		return s.tally.tell(), nil
	}
	return true, nil
}

// takeFrame takes a frame that the line does not.
func (s *stream) takeFrame(f *segment.Frame, yield func(*Block) bool) (goOn bool, err error) {
	s.leave()
	defer s.join()
	if s.records != nil {
		s.records.frame(s.seg, f, s.lowest())
	}
	if s.tally != nil && f.Kind == segment.Batch && f.Damage == nil && odd(&f.Batch.Header) {
		s.log.oddHeader(s.seg, f.Pos, &f.Batch.Header)
	}
	if err := watched(s.watch, f); err != nil {
		return false, err
	}
	return (s.tally == nil || s.tally.frame(f)) && s.block(s.seg, f, yield), nil
}

// block makes a block of a frame that is one.
func (s *stream) block(i int, f *segment.Frame, yield func(*Block) bool) bool {
	b := &s.incoming
	switch f.Kind {
	case segment.Batch:
		fromHeader(b, &f.Batch.Header)
	case segment.Legacy:
		*b = s.fromLegacy(f)
	case segment.Embedded:
		s.tell(Anomaly{Kind: EmbeddedBatch, Segment: i, Position: f.Pos, Length: f.Len, From: -1, To: -1, Detail: "a whole batch inside damaged bytes; not part of the log"})
		s.addHole(hole{i, f.Pos, f.Len, f.Kind})
		return true
	default:
		s.addHole(hole{i, f.Pos, f.Len, f.Kind})
		return true
	}
	b.Segment, b.Position, b.Length = i, f.Pos, f.Len
	if f.Damage != nil {
		// A wrong length or magic byte outside the CRC leaves the offsets believable, but
		// a broker cannot read on here, so the block is not whole either.
		b.Flaws |= BadCRC
		if !errors.Is(f.Damage, batch.ErrCRC) && !errors.Is(f.Damage, batch.ErrLength) && !errors.Is(f.Damage, batch.ErrMagic) {
			b.Flaws |= Unreadable
		}
	}
	return s.flush(b, yield)
}

func (s *stream) addHole(h hole) {
	s.trail = append(s.trail, h)
}

// flush settles the pending block now that its successor is known (nil: the log
// ends) and makes next the pending one.
func (s *stream) flush(next *Block, yield func(*Block) bool) bool {
	if s.pendingOK {
		s.settle(next)
		if !s.emit(yield) {
			return false
		}
	}
	if !s.passHoles(next, yield) {
		return false
	}
	s.pendingOK = next != nil
	if next == nil {
		return true
	}
	s.pending = *next
	if s.follows(next) {
		s.pendingOK = false
		return s.emit(yield)
	}
	return true
}

// follows reports whether a block is in line with the one before it: see line.
func (s *stream) follows(b *Block) bool {
	return b.WrittenBase == s.prevNext && b.WrittenEpoch == s.prevEpoch && s.prevEpoch >= 0 && b.Flaws == 0 && !b.Legacy &&
		b.spanWritten > 0 && b.WrittenBase <= math.MaxInt64-1-b.spanWritten &&
		!s.careful && len(s.log.doubts) == 0
}

// settle decides on the flaws of the pending block.
func (s *stream) settle(next *Block) {
	p := &s.pending
	adjacent := next != nil && len(s.trail) == 0
	span := p.WrittenSpan()
	if p.Flaws&BadCRC != 0 {
		if !s.plausible(next) {
			p.Flaws |= Unreadable
			p.Base, p.Last = s.prevNext, s.prevNext-1
			if next != nil && next.WrittenBase > s.prevNext {
				p.Last = next.WrittenBase - 1
			}
			p.Epoch = -1
		}
		return
	}
	if p.Legacy {
		return
	}
	if p.WrittenBase != s.prevNext && s.prevNext >= 0 {
		fits := adjacent && next.Flaws == 0 && s.prevNext+span == next.WrittenBase
		// The last batch has no neighbour behind it. In a log without gaps it can only
		// follow on: stepping back, or being off by exactly one bit, gives it away.
		opens := p.Position == 0 && p.WrittenBase == s.log.Segments[p.Segment].BaseOffset
		jumpsAtEnd := next == nil && s.log.dense && !opens &&
			(p.WrittenBase < s.prevNext || bits.OnesCount64(uint64(p.WrittenBase^s.prevNext)) == 1)
		if fits || jumpsAtEnd {
			p.Flaws |= SuspectBase
			p.Base, p.Last = s.prevNext, s.prevNext+span-1
		}
	}
	doubted, isDoubted := s.log.doubted(p)
	switch {
	case isDoubted:
		if doubted != p.WrittenEpoch {
			p.Flaws |= SuspectEpoch
			p.Epoch = doubted
		}
	case s.prevEpoch >= 0 && p.WrittenEpoch != s.prevEpoch && next != nil && next.WrittenEpoch == s.prevEpoch && !next.Legacy && next.Flaws == 0:
		if !s.log.hasCheckpointEntry(p.WrittenEpoch, p.Base) {
			p.Flaws |= SuspectEpoch
			p.Epoch = s.prevEpoch
		}
	}
}

// plausible reports whether the header of a batch with a bad CRC still fits
// between its neighbours, so that its offsets can be believed.
func (s *stream) plausible(next *Block) bool {
	p := &s.pending
	span := p.WrittenSpan()
	switch {
	case p.Flaws&Unreadable != 0, span < 1, span > math.MaxInt32:
		return false
	case s.prevNext >= 0 && p.WrittenBase < s.prevNext:
		return false
	case p.WrittenBase > math.MaxInt64-span:
		return false
	case next != nil:
		return next.WrittenBase >= p.WrittenBase+span || next.Flaws != 0
	}
	return s.prevNext < 0 || p.WrittenBase == s.prevNext || !s.log.dense
}

func (s *stream) emit(yield func(*Block) bool) bool {
	p := &s.pending
	if s.prevNext >= 0 && p.Base < s.prevNext && p.Flaws&Unreadable == 0 {
		p.Flaws |= Misplaced
	}
	s.report(p)
	if p.Flaws&Unreadable != 0 && p.Last < p.Base {
		return true // no offsets are left open for it: an anomaly, not a block
	}
	if s.before != nil {
		s.before(p, s.prevNext, s.prevEpoch)
	}
	s.prevNext = max(s.prevNext, p.Next())
	if p.Whole() {
		s.prevEpoch = p.Epoch
		if p.Magic < s.prevMagic {
			s.tell(Anomaly{Kind: FormatBack, Segment: p.Segment, Position: p.Position, Length: p.Length, From: p.Base, To: p.Next(), Epoch: -1,
				Want: fmt.Sprintf("format %d or above", s.prevMagic), Got: fmt.Sprintf("format %d", p.Magic)})
		}
		s.prevMagic = p.Magic
	}
	return yield(p)
}

// passHoles reports the stretches without a batch that lie before next, and
// emits one unreadable block for the offsets that they leave open.
func (s *stream) passHoles(next *Block, yield func(*Block) bool) bool {
	if len(s.trail) == 0 {
		return true
	}
	holes := s.trail
	s.trail = nil
	first := holes[0]
	length := int64(0)
	for _, h := range holes {
		if h.segment == first.segment {
			length += h.len
		}
	}
	from, to := int64(-1), int64(-1)
	if next != nil && s.prevNext >= 0 && next.WrittenBase > s.prevNext && next.Flaws == 0 {
		from, to = s.prevNext, next.WrittenBase
	}
	for _, h := range holes {
		if h.kind != segment.Embedded {
			s.tell(Anomaly{Kind: holeKind(h.kind, next == nil), Segment: h.segment, Position: h.position, Length: h.len, From: from, To: to})
		}
	}
	if from < 0 {
		return true
	}
	s.out = Block{Base: from, Last: to - 1, Epoch: -1, WrittenBase: from, WrittenEpoch: -1, Flaws: Unreadable, Records: -1, MaxTimestamp: -1, ProducerID: -1, BaseSequence: -1, Segment: first.segment, Position: first.position, Length: length}
	if s.before != nil {
		s.before(&s.out, s.prevNext, s.prevEpoch)
	}
	s.prevNext = s.out.Next()
	return yield(&s.out)
}

func (s *stream) tell(a Anomaly) {
	if s.anomaly != nil {
		s.anomaly(a)
	}
}

// WrittenSpan is the number of offsets that the header claims.
func (b *Block) WrittenSpan() int64 { return b.spanWritten }

func fromHeader(b *Block, h *batch.Header) {
	span := int64(h.LastOffsetDelta) + 1
	*b = Block{
		Base: h.BaseOffset, Last: addOffset(h.BaseOffset, int64(h.LastOffsetDelta)), Epoch: h.PartitionLeaderEpoch,
		WrittenBase: h.BaseOffset, WrittenEpoch: h.PartitionLeaderEpoch, spanWritten: span,
		CRC: h.CRC, Codec: h.Attributes.Codec(), Attributes: h.Attributes, Records: h.RecordCount, MaxTimestamp: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence, Magic: h.Magic,
	}
}

// addOffset adds without wrapping: a damaged offset stays at the edge.
func addOffset(base, delta int64) int64 {
	if delta > 0 && base > math.MaxInt64-1-delta {
		return math.MaxInt64 - 1
	}
	if delta < 0 && base < math.MinInt64-delta {
		return math.MinInt64
	}
	return base + delta
}

// fromLegacy makes a block of one message of format 0 or 1. A compressed wrapper
// carries the offset of its last message; its first one is inside, so the block
// starts where the log before it ended. Behind damage nothing says where that was, and the
// wrapper is opened.
func (s *stream) fromLegacy(f *segment.Frame) Block {
	h := f.Legacy
	base := h.Offset
	if codecOf(h) != batch.None {
		if next := s.lowest(); next >= 0 && next <= h.Offset {
			base = next
		}
		if f.Damage == nil && (len(s.trail) > 0 || s.pendingOK && s.pending.Flaws != 0) {
			base = min(firstOffset(f.Raw, h.Offset), h.Offset)
		}
	}
	return Block{
		Base: base, Last: h.Offset, Epoch: -1, WrittenBase: base, WrittenEpoch: -1, spanWritten: h.Offset - base + 1,
		CRC: h.CRC, Codec: codecOf(h), Records: -1, MaxTimestamp: h.Timestamp, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Legacy: true,
		Magic: h.Magic, Attributes: batch.Attributes(h.Attributes) & legacyAttributes,
	}
}

// legacyAttributes are the bits that mean the same in a message and in a batch: codec and
// timestamp type.
const legacyAttributes = 0x0f

// lowest is where the next batch begins if nothing is missing before it, -1 unknown.
func (s *stream) lowest() int64 {
	if s.pendingOK {
		return s.pending.Next()
	}
	return s.prevNext
}

// firstOffset is the offset of the first record in a wrapper, or otherwise if it cannot be
// opened.
func firstOffset(raw []byte, otherwise int64) int64 {
	for r, err := range batch.LegacyRecords(raw, batch.NewDecompressor(smallOutput)) {
		if err == nil {
			return r.Offset
		}
		break
	}
	return otherwise
}

// Blocks reads the blocks that hold an offset in [from, to), ascending as the
// files have them. The error, if any, comes last and is a failed read.
func (l *Log) Blocks(from, to int64) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		s := stream{log: l, prevNext: -1, prevEpoch: -1}
		seg, pos := 0, int64(0)
		if w := l.Fingerprint.before(from); w != nil {
			seg, pos, s.prevNext, s.prevEpoch = w.segment, w.position, w.prevNext, w.prevEpoch
		}
		err := s.run(seg, pos, func(b *Block) bool {
			if b.Base >= to && l.Ascending {
				return false
			}
			if b.Last < from || b.Base >= to {
				return true
			}
			return yield(*b, nil)
		})
		if err != nil {
			yield(Block{}, err)
		}
	}
}

// withPath adds the file's name to a read error that lacks it.
func withPath(err error, path string) error {
	if err == nil {
		return nil
	}
	var re *segment.ReadError
	if errors.As(err, &re) {
		if re.Path == "" {
			re.Path = path
		}
		return re
	}
	return &segment.ReadError{Path: path, Op: "read", Err: err}
}
