package kraft

import (
	"fmt"

	"kafsck/batch"
	"kafsck/segment"
)

// reader walks the files of one copy of the log.
type reader struct {
	log          *Log
	replayer     *replayer
	decompressor *batch.Decompressor

	snapshots []snapshotFile // complete ones not yet passed, by end offset
	started   bool           // the replayer has a state, if only that of offset 0
	fromZero  bool           // the log starts at 0
	certain   bool           // the state is that of next, for sure
	next      int64          // offset up to which the log has been read or skipped; -1 nowhere yet
	epoch     int32          // raft epoch at next, -1 unknown
	suspect   int32          // epoch of the last batch that had another one
	lost      int64          // bytes given up since the last batch applied
	// left is where each copy of a merge leaves the common line; nil without a merge.
	left []int64
	// compare, if not nil, is given every snapshot at whose end the replay has a certain state.
	compare func(f snapshotFile) error
	// emit, if not nil, takes the batches instead of the replayer.
	emit func(f *segmentFile, pos int64, v batch.View) error

	// A batch whose base offset is not the next one. Base offsets are outside the CRC:
	// whether it tells of a gap or of a flipped bit shows with the batch that follows.
	held *heldBatch
}

type heldBatch struct {
	file   *segmentFile
	pos    int64
	view   batch.View
	before int64 // bytes given up between the batch applied last and this one
	first  bool  // no sound batch before it in the file: a segment may be missing
}

// Read replays one copy of the metadata log.
//
// What is damaged is in Log.Damaged and has been left out. The error is a failed read
// and says nothing about the bytes; the Log then holds what was read up to there and
// is never nil.
func Read(in Input) (*Log, error) {
	l := &Log{
		StartOffset: -1, EndOffset: -1, RaftEpoch: -1, EndTimeMs: -1,
		SnapshotEnd: -1, OpenTransaction: -1,
	}
	rd := &reader{
		log: l, replayer: newReplayer(l), decompressor: batch.NewDecompressor(batch.DefaultLimit),
		next: -1, epoch: -1, suspect: -1,
	}
	segments := l.segments(in.Logs)
	snapshots := l.snapshots(in.Snapshots)
	for _, f := range segments {
		if !f.old {
			l.StartOffset = f.base
			break
		}
	}
	err := rd.verifyAll(snapshots)
	for i := range segments {
		if err != nil {
			break
		}
		err = rd.segment(&segments[i], i+1 == len(segments))
	}
	if err == nil {
		err = rd.finish(segments)
	}
	for _, f := range snapshots {
		l.Snapshots = append(l.Snapshots, *f.info)
	}
	if tx := rd.replayer.tx; tx != nil {
		l.OpenTransaction = tx.began
	}
	return l, err
}

func (rd *reader) verifyAll(snapshots []snapshotFile) error {
	for _, f := range snapshots {
		if err := rd.verify(f); err != nil {
			return err
		}
		if f.info.Complete {
			rd.snapshots = append(rd.snapshots, f)
		}
	}
	return nil
}

// segment reads one segment.
func (rd *reader) segment(f *segmentFile, last bool) error {
	l := rd.log
	if rd.next < 0 && f.base == 0 {
		rd.started, rd.fromZero, rd.certain, rd.next = true, true, true, 0
	}
	first := true
	l.Bytes += f.Size
	for frame, err := range segment.Scan(f.R, f.Size, segment.ScanOptions{NextOffset: f.base}) {
		if err != nil {
			return named(err, f.Name)
		}
		if last && frame.End() == f.Size && (frame.Kind == segment.Torn || frame.Kind == segment.Zeros) {
			l.TornTail = true
			continue
		}
		if d, bad := frameDamage(f.Name, &frame); bad {
			l.damage(d)
			rd.lost += frame.Len
			continue
		}
		if f.old && l.StartOffset >= 0 && frame.Batch.NextOffset() > l.StartOffset {
			break // set aside because the log begins anew here
		}
		if err := rd.follow(heldBatch{file: f, pos: frame.Pos, view: frame.Batch, first: first}); err != nil {
			return err
		}
		first = false
	}
	return nil
}

// follow takes the next sound batch in file order.
func (rd *reader) follow(b heldBatch) error {
	base := b.view.BaseOffset
	if h := rd.held; h != nil {
		rd.held = nil
		// Either the log simply goes on behind it, or there are reasons for a gap and
		// nothing speaks against it.
		gap := h.first || h.before > 0
		if err := rd.settle(h, base == h.view.NextOffset() || gap && base > h.view.NextOffset()); err != nil {
			return err
		}
	}
	switch {
	case base == rd.next || rd.next < 0 && base == b.file.base:
		return rd.batch(b.file, b.pos, b.view)
	case base < rd.next:
		rd.misplaced(b.file, b.pos, b.view)
		return nil
	}
	b.view, b.before = b.view.Clone(), rd.lost
	rd.held = &b
	return nil
}

// settle applies a held batch or gives it up.
func (rd *reader) settle(h *heldBatch, accept bool) error {
	if accept {
		return rd.batch(h.file, h.pos, h.view)
	}
	rd.misplaced(h.file, h.pos, h.view)
	return nil
}

func (rd *reader) misplaced(f *segmentFile, pos int64, v batch.View) {
	rd.lost += int64(len(v.Raw))
	want := rd.next
	if want < 0 {
		want = f.base
	}
	rd.log.damage(Damage{f.Name, pos, v.BaseOffset, fmt.Sprintf("base offset is %d, expected %d", v.BaseOffset, want)})
}

// batch applies a batch that is where it should be, or behind a gap.
func (rd *reader) batch(f *segmentFile, pos int64, v batch.View) error {
	if rd.emit != nil {
		rd.next, rd.lost = v.NextOffset(), 0
		return rd.emit(f, pos, v)
	}
	if err := rd.loadUpTo(v.BaseOffset); err != nil {
		return err
	}
	l, p := rd.log, rd.replayer
	if v.BaseOffset > rd.next {
		rd.gap(v.BaseOffset)
	}
	rd.next, rd.lost = v.NextOffset(), 0
	l.Batches++
	l.EndOffset, l.EndTimeMs = v.NextOffset(), v.MaxTimestamp

	fail := func(offset int64, err error) {
		l.damage(Damage{f.Name, pos, offset, err.Error()})
		p.lose()
		rd.certain = false
	}
	at := origin{raftEpoch: rd.raftEpoch(f, pos, &v)}
	l.RaftEpoch = at.raftEpoch
	lowest := int64(0)
	for rec, err := range v.Records(rd.decompressor) {
		if err == nil && (int64(rec.OffsetDelta) < lowest || rec.OffsetDelta > v.LastOffsetDelta) {
			err = fmt.Errorf("offset delta %d of a record is not in %d to %d", rec.OffsetDelta, lowest, v.LastOffsetDelta)
		}
		if err != nil {
			fail(v.BaseOffset, err)
			break
		}
		lowest = int64(rec.OffsetDelta) + 1
		at.offset, at.timeMs = rec.Offset, rec.Timestamp
		if v.Attributes.Control() {
			c, err := batch.ParseControl(rec.Key, rec.Value)
			if err != nil {
				l.damage(Damage{f.Name, pos, rec.Offset, err.Error()})
				continue
			}
			l.control(at, c)
			continue
		}
		if err := p.record(at, rec.Value); err != nil {
			fail(rec.Offset, err)
		}
	}
	return nil
}

// raftEpoch is the epoch of a batch. The field is outside the CRC; but the first batch
// of an epoch is a LEADER_CHANGE, so that a flipped bit in another one shows.
func (rd *reader) raftEpoch(f *segmentFile, pos int64, v *batch.View) int32 {
	epoch := v.PartitionLeaderEpoch
	if rd.epoch >= 0 && epoch != rd.epoch && epoch != rd.suspect && !(v.Attributes.Control() && epoch > rd.epoch) {
		rd.log.damage(Damage{f.Name, pos, v.BaseOffset,
			fmt.Sprintf("raft epoch is %d, expected %d: no election begins here", epoch, rd.epoch)})
		rd.suspect = epoch // twice is no flipped bit
		return rd.epoch
	}
	rd.suspect = -1
	rd.epoch = epoch
	return epoch
}

// loadUpTo passes the snapshots that end at or before an offset, and loads those that
// tell more than is known.
func (rd *reader) loadUpTo(offset int64) error {
	for len(rd.snapshots) > 0 && rd.snapshots[0].info.EndOffset <= offset {
		f := rd.snapshots[0]
		rd.snapshots = rd.snapshots[1:]
		end := f.info.EndOffset
		if rd.left != nil && rd.left[f.copy] < end {
			continue // of a line that was given up
		}
		if end == rd.next && rd.certain && rd.compare != nil {
			if err := rd.compare(f); err != nil {
				return err
			}
		}
		if end < rd.next || end == rd.next && rd.certain {
			continue
		}
		if err := rd.load(f); err != nil {
			return err
		}
		rd.note(end)
		rd.next = end
		rd.epoch = f.info.Epoch
		if end > rd.log.EndOffset {
			rd.log.EndOffset, rd.log.EndTimeMs, rd.log.RaftEpoch = end, f.info.TimeMs, f.info.Epoch
		}
	}
	return nil
}

// gap notes that the log goes on at a later offset than it should, or that it does not
// begin with a known state.
func (rd *reader) gap(to int64) {
	rd.note(to)
	rd.replayer.lose()
	rd.started, rd.certain, rd.epoch = true, false, -1
}

// note keeps the offsets from next on as missing.
func (rd *reader) note(to int64) {
	if rd.next >= 0 && to > rd.next {
		rd.log.Gaps = append(rd.log.Gaps, Gap{rd.next, to})
	}
}

// lose notes that records are missing from here on back.
func (p *replayer) lose() {
	p.doubt++
	p.tx = nil
}

// finish settles what only the end of the log can tell.
func (rd *reader) finish(segments []segmentFile) error {
	if err := rd.settleLast(); err != nil {
		return err
	}
	return rd.end(segments)
}

// settleLast applies the last batch of the log if it is still held, or gives it up.
func (rd *reader) settleLast() error {
	if h := rd.held; h != nil {
		rd.held = nil
		// The last batch: no other one can speak for it. Damaged bytes before it
		// explain at most as many offsets.
		accept := h.first && h.view.BaseOffset == h.file.base || h.view.BaseOffset-rd.next <= h.before
		return rd.settle(h, accept)
	}
	return nil
}

func (rd *reader) end(segments []segmentFile) error {
	l := rd.log
	const all = 1<<63 - 1
	if err := rd.loadUpTo(all); err != nil {
		return err
	}
	if n := len(segments); n > 0 && !segments[n-1].old {
		// A segment without batches: just rolled, or behind a snapshot that was fetched.
		l.EndOffset = max(l.EndOffset, segments[n-1].base)
	}
	if l.StartOffset < 0 && rd.next >= 0 {
		l.StartOffset = rd.next
	}
	return nil
}
