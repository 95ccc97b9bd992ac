package broker

import (
	"encoding/binary"
	"math"

	"kafsck/batch"
	"kafsck/segment"
)

// modelSegment is a LogSegment: a .log and its three indexes, of which two are opened when they are
// first needed.
type modelSegment struct {
	base   int64
	suffix string // "", ".swap" or ".cleaned"
	log    *modelFile
	index  *offsetIndex // nil not opened yet
	times  *timeIndex   // likewise
	txns   *modelFile   // .txnindex, nil as long as there is none
	lastTx int64        // last offset that was appended to it; valid if hasTx
	hasTx  bool

	// maxTimestamp and maxOffset are the largest timestamp and its batch's last offset, as far as
	// known; see maxTimestampSoFar.
	maxTimestamp, maxOffset int64
	known                   bool
	sinceIndex              int64 // bytes since the last index entry, of an append
}

func (s *modelSegment) name(ext string) string { return segmentName(s.base, ext+s.suffix) }

// openSegment is LogSegment.open.
func (l *loader) openSegment(base int64, suffix string) (*modelSegment, error) {
	s := &modelSegment{base: base, suffix: suffix}
	var err error
	var created bool
	if s.log, created, err = l.dir.open(s.name(".log")); err != nil {
		return nil, err
	}
	if created {
		l.act(Action{Action: ActCreateSegment, File: s.log.name, Why: "there is no " + s.log.name + ": Kafka makes an empty one."})
	}
	if s.log.size > math.MaxInt32 {
		return nil, throw(unchecked, "KafkaException", s.log.name, "%d bytes, more than a segment may have", s.log.size)
	}
	if name := s.name(".txnindex"); l.dir.exists(name) {
		if s.txns, _, err = l.dir.open(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sanityCheck is LogSegment.sanityCheck. It looks only at the .txnindex, and at whether there is a
// .index: since 2.3 the two other indexes are believed.
func (l *loader) sanityCheck(s *modelSegment, newTimeIndex bool) error {
	if !l.dir.exists(s.name(".index")) {
		return throw(ioException, "NoSuchFileException", s.name(".index"), "is missing")
	}
	if newTimeIndex {
		x, err := l.timeIndex(s)
		if err != nil {
			return err
		}
		x.f.resize(0)
		l.act(Action{Action: ActCreateTimeIndex, File: x.f.name, Why: "it is missing: Kafka makes an empty one, and fills it only where it reads the whole segment."})
	}
	return l.checkTxnIndex(s)
}

// checkTxnIndex is TransactionIndex.sanityCheck.
func (l *loader) checkTxnIndex(s *modelSegment) error {
	if s.txns == nil || s.txns.size < segment.TxnEntrySize || s.txns.isBuilt {
		return nil
	}
	if s.txns.src == nil {
		return nil
	}
	return l.eachTxn(s, func(t segment.AbortedTxn) (bool, error) {
		if t.LastOffset < s.base {
			return false, throwAt(corruptIndex, "CorruptIndexException", s.txns.name, t.Pos(), "an aborted transaction ends at offset %d, below the segment's %d", t.LastOffset, s.base)
		}
		return true, nil
	})
}

// eachTxn gives the entries of a .txnindex that has a source to visit, as long as that says true.
// An entry of a version that Kafka refuses ends it with Kafka's exception.
func (l *loader) eachTxn(s *modelSegment, visit func(segment.AbortedTxn) (bool, error)) error {
	h, err := l.reader.handle(s.txns.src)
	if err != nil {
		return err
	}
	for t, err := range segment.ScanTxnIndex(h, s.txns.size) {
		if err != nil {
			return err
		}
		if t.Refused() {
			return throwAt(unchecked, "KafkaException", s.txns.name, t.Pos(), "an entry of version %d", int8(t.Version>>8))
		}
		if more, err := visit(t); err != nil || !more {
			return err
		}
	}
	return nil
}

// inRange reports whether an offset can be told relative to a segment's base.
func inRange(base, offset int64) bool {
	rel := offset - base
	return rel >= 0 && rel <= math.MaxInt32
}

// recoverSegment is LogSegment.recover: size and CRC of every batch, the indexes anew, and the end
// of the file cut off from the first batch that fails. It does not compare offsets with each other,
// nor look into records.
func (l *loader) recoverBatches(s *modelSegment, ps *producerState) (cut int64, err error) {
	index, err := l.offsetIndex(s)
	if err != nil {
		return 0, err
	}
	index.reset()
	times, err := l.timeIndex(s)
	if err != nil {
		return 0, err
	}
	times.reset()
	if s.txns != nil {
		s.txns.src, s.txns.held, s.txns.size, s.txns.isBuilt = nil, 0, 0, true
	}
	s.hasTx = false
	s.known = false
	valid, reason, err := l.recoverAll(s, index, times, ps)
	l.out.ScanBytes += min(valid+walkHead, s.log.size)
	if err != nil {
		return 0, err
	}
	if cut = s.log.size - valid; cut > 0 {
		l.cutLog(s, valid, reason)
	}
	index.f.resize(index.entries * offsetEntrySize)
	if err := times.maybeAppend(s.maxTimestamp, s.maxOffset, true); err != nil {
		return 0, err
	}
	times.f.resize(times.entries * timeEntrySize)
	l.keep(index)
	times.f.times = nil // nobody looks at them again, except a recovery that begins with none
	return cut, nil
}

// recoverAll goes over the batches. valid is where those that pass end; reason says why nothing
// behind that is believed, nil where the file ends, maybe within a batch.
func (l *loader) recoverAll(s *modelSegment, index *offsetIndex, times *timeIndex, ps *producerState) (valid int64, reason *thrown, err error) {
	end := s.log.size
	lastIndexed := int64(0)
	l.readMax(s, times)
	for {
		w, ok, err := l.next(s.log, valid, end)
		if err == nil && !ok {
			return valid, nil, nil
		}
		if err == nil {
			err = l.ensureValid(&w)
		}
		if err != nil {
			return corruptAt(valid, err)
		}
		var h [batch.HeaderSize]byte
		last := w.offset
		maxTimestamp, err := l.maxTimestamp(&w)
		if err != nil {
			return valid, nil, err
		}
		if !w.legacy() {
			b, err := l.head(&w)
			if err != nil {
				return valid, nil, err
			}
			copy(h[:], b)
			last = w.offset + int64(int32(binary.BigEndian.Uint32(h[deltaPos:])))
		}
		if !inRange(s.base, last) {
			l.overflowed = s
			return valid, nil, throwAt(overflow, "LogSegmentOffsetOverflowException", s.log.name, w.pos, "offset %d does not fit a segment that begins at %d", last, s.base)
		}
		if maxTimestamp > s.maxTimestamp {
			s.maxTimestamp, s.maxOffset = maxTimestamp, last
		}
		if valid-lastIndexed > indexInterval {
			if err := index.append(last, valid); err != nil {
				return valid, nil, err
			}
			if err := times.maybeAppend(s.maxTimestamp, s.maxOffset, false); err != nil {
				return valid, nil, err
			}
			lastIndexed = valid
		}
		valid = w.end()
		if w.legacy() {
			continue
		}
		if l.epochsInRecovery {
			if err := l.epochs.recovered(int32(binary.BigEndian.Uint32(h[epochPos:])), w.offset); err != nil {
				return valid, nil, err
			}
		}
		if err := l.updateProducer(s, ps, &w, &h); err != nil {
			return corruptAt(valid, err)
		}
		ps.mapEnd = last + 1
	}
}

// corruptAt lets a recovery end at a batch that Kafka takes for corrupt, and passes on all else.
func corruptAt(valid int64, err error) (int64, *thrown, error) {
	if t, ok := err.(*thrown); ok && t.kind == corruptRecord {
		return valid, t, nil
	}
	return valid, nil, err
}

// readMax is LogSegment.maxTimestampSoFar: unknown, it is what the time index ends with.
func (l *loader) readMax(s *modelSegment, times *timeIndex) {
	if !s.known {
		s.maxTimestamp, s.maxOffset, s.known = times.lastTimestamp, times.lastOffset, true
	}
}

// keep keeps the entries of an index that was built, and drops the oldest ones beyond the limit.
func (l *loader) keep(x *offsetIndex) {
	l.kept = append(l.kept, x.f.offsets)
	l.keptEntries += len(x.f.offsets.entries)
	for l.keptEntries > maxKept && len(l.kept) > 1 {
		b := l.kept[0]
		l.kept = l.kept[1:]
		l.keptEntries -= len(b.entries)
		b.entries, b.dropped = nil, true
	}
}

// translate is LogSegment.translateOffset: the index says where to begin, a search goes on.
func (l *loader) translate(s *modelSegment, target int64) (found, error) {
	index, err := l.offsetIndex(s)
	if err != nil {
		return found{}, err
	}
	pos, err := l.lookup(index, target)
	if err != nil {
		return found{}, err
	}
	return l.search(s.log, target, max(pos, 0))
}

// readNextOffset is LogSegment.readNextOffset: the offset behind the last batch, found from the last
// entry of the index on. An entry that points behind the data makes it the segment's base offset.
func (l *loader) readNextOffset(s *modelSegment) (int64, error) {
	index, err := l.offsetIndex(s)
	if err != nil {
		return 0, err
	}
	at, err := l.translate(s, index.lastOffset)
	if err != nil {
		return 0, err
	}
	if !at.ok {
		return s.base, nil
	}
	var last walked
	some := false
	for pos := at.pos; ; {
		w, ok, err := l.next(s.log, pos, s.log.size)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		last, some, pos = w, true, w.end()
	}
	if !some {
		return s.base, nil
	}
	end, err := l.lastOffset(&last)
	return end + 1, err
}

// hasOverflow is LogSegment.hasOverflow, which looks at the last batch only.
func (l *loader) hasOverflow(s *modelSegment) (bool, error) {
	next, err := l.readNextOffset(s)
	if err != nil {
		return false, err
	}
	return next > s.base && !inRange(s.base, next-1), nil
}

// truncateTo is LogSegment.truncateTo.
func (l *loader) truncateTo(s *modelSegment, offset int64, reason *thrown) (cut int64, err error) {
	at, err := l.translate(s, offset)
	if err != nil {
		return 0, err
	}
	index, err := l.offsetIndex(s)
	if err != nil {
		return 0, err
	}
	times, err := l.timeIndex(s)
	if err != nil {
		return 0, err
	}
	if err := l.truncateIndex(index, offset); err != nil {
		return 0, err
	}
	if err := l.truncateTimes(times, offset); err != nil {
		return 0, err
	}
	if err := l.truncateTxns(s, offset); err != nil {
		return 0, err
	}
	index.f.resize(maxIndexBytes)
	times.f.resize(maxIndexBytes / timeEntrySize * timeEntrySize)
	if err := l.setLastTime(times); err != nil {
		return 0, err
	}
	if at.ok {
		if cut = s.log.size - at.pos; cut > 0 {
			l.cutLog(s, at.pos, reason)
		}
	}
	l.readMax(s, times)
	if s.maxTimestamp >= 0 {
		if err := l.readLargest(s, index, times); err != nil {
			return 0, err
		}
	}
	return cut, nil
}

// truncateTxns is TransactionIndex.truncateTo. What a recovery appended is not kept; it ends before
// the segment's base only if nothing is left.
func (l *loader) truncateTxns(s *modelSegment, offset int64) error {
	if s.txns == nil || s.txns.size < segment.TxnEntrySize {
		return nil
	}
	if s.txns.isBuilt || s.txns.src == nil {
		if offset <= s.base {
			s.txns.size, s.hasTx = 0, false
		}
		return nil
	}
	return l.eachTxn(s, func(t segment.AbortedTxn) (bool, error) {
		if t.LastOffset < offset {
			return true, nil
		}
		s.txns.resize(t.Pos())
		return false, nil
	})
}

// readLargest is LogSegment.readLargestTimestamp. It walks the rest of the log, and so may meet
// what no walk gets over.
func (l *loader) readLargest(s *modelSegment, index *offsetIndex, times *timeIndex) error {
	pos, err := l.lookup(index, times.lastOffset)
	if err != nil {
		return err
	}
	s.maxTimestamp, s.maxOffset = times.lastTimestamp, times.lastOffset
	for pos = max(pos, 0); ; {
		w, ok, err := l.next(s.log, pos, s.log.size)
		if err != nil || !ok {
			return err
		}
		t, err := l.maxTimestamp(&w)
		if err != nil {
			return err
		}
		s.maxTimestamp = max(s.maxTimestamp, t)
		pos = w.end()
	}
}

// cutLog truncates the .log and says what goes away with it.
func (l *loader) cutLog(s *modelSegment, at int64, reason *thrown) {
	from, to := l.offsetsBehind(s.log, at)
	why := "the file ends within a batch."
	if reason != nil {
		why = reason.what + "."
	}
	l.act(Action{Action: ActTruncate, File: s.log.name, Position: at, From: from, ToOffset: to, Bytes: s.log.size - at,
		Why: "recovery stops at position " + itoa(at) + " of " + s.log.name + ": " + why})
	s.log.resize(at)
}
