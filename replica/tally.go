package replica

import (
	"context"
	"fmt"

	"kafsck/segment"
)

// tally adds up the facts of a pass.
type tally struct {
	log         *Log
	ctx         context.Context
	err         error // ctx's
	progress    Progress
	untold      int64 // bytes that progress does not know of
	runs        runWatch
	lastSegment int // of the last block, -1 before the first
}

// tellEvery is how many bytes pass between two looks at the context and calls of Progress.
const tellEvery = 1 << 22

// tell calls Progress and reports whether to go on.
func (t *tally) tell() bool {
	if t.progress != nil {
		t.progress(t.untold)
	}
	t.untold = 0
	t.err = t.ctx.Err()
	return t.err == nil
}

// frame counts a frame that is not in line.
func (t *tally) frame(f *segment.Frame) bool {
	t.log.Bytes += f.Len
	if f.Kind == segment.Batch || f.Kind == segment.Legacy || f.Kind == segment.Embedded {
		t.log.BytesVerified += f.Len
	}
	t.untold += f.Len
	return t.untold < tellEvery || t.tell()
}

// block adds a block to the facts.
func (t *tally) block(b *Block) bool {
	t.log.account(b, t.lastSegment >= 0)
	t.runs.see(b)
	t.lastSegment = b.Segment
	return true
}

// line adds up batches in line: each begins where the one before it ends, under the same
// epoch, with nothing between. No neighbour can put such a batch in doubt (see
// stream.settle), so it need not wait for the one behind it, and most of what account
// asks has been answered by the batch before. That makes the cost of a batch small beside
// its CRC; what all have in common is added to the facts when the line ends.
//
//	files   | batch | batch | batch | hole | batch | batch | batch | batch |
//	               join                                   join             |
//	               |==== line =====| leave                |==== line ======| leave
type line struct {
	open    bool
	epoch   int32
	next    int64 // where the next batch must begin
	batches int64
	records int64 // not those of control batches
	bytes   int64
	maxTime int64
	end     int64 // of the last batch in the .log, in bytes
	quiet   quiet

	// The fingerprint's last window, and the base offsets that belong to it, >> shift.
	window *Window
	key    int64
	shift  uint
}

// join opens the line behind the last block, if the next batch may be in line.
func (s *stream) join() {
	l := s.log
	s.line = line{
		open: s.tally != nil && !s.careful && s.tally.lastSegment >= 0 && !s.pendingOK && len(s.trail) == 0 &&
			s.prevEpoch >= 0 && s.prevNext >= s.base && len(l.doubts) == 0,
		epoch: s.prevEpoch, next: s.prevNext, maxTime: -1,
	}
	if n := len(l.Fingerprint.windows); n > 0 {
		s.line.look(&l.Fingerprint, &l.Fingerprint.windows[n-1])
	}
}

func (x *line) look(f *Fingerprint, w *Window) {
	x.window, x.key, x.shift = w, w.key, f.shift
}

// inLine takes the batches of a run that are in line, from the i-th on, and returns how many
// these are.
func (s *stream) inLine(run *segment.Run, i int) (int, error) {
	x := &s.line
	if !x.open {
		return 0, nil
	}
	told := len(s.watch) > 0
	list := run.Sound[i:]
	for n := range list {
		h, position := &list[n].Header, list[n].Pos
		next := h.BaseOffset + int64(h.LastOffsetDelta) + 1
		if h.BaseOffset != x.next || h.PartitionLeaderEpoch != x.epoch || next <= x.next { // or it overflows
			return n, nil
		}
		size := h.Size()
		if h.BaseOffset>>(x.shift&63) != x.key {
			fp := &s.log.Fingerprint
			x.look(fp, fp.window(h.BaseOffset, Window{segment: s.seg, position: position, prevNext: x.next, prevEpoch: x.epoch}))
		}
		x.window.Sum += digest(h.BaseOffset, next-1, h.PartitionLeaderEpoch, h.CRC, size)
		x.window.Count++
		x.next = next
		x.end = position + size
		x.batches++
		if !h.Attributes.Control() {
			x.records += int64(h.RecordCount)
		}
		x.bytes += size
		x.maxTime = max(x.maxTime, h.MaxTimestamp)
		if odd(h) {
			if h.RecordCount <= h.LastOffsetDelta && h.RecordCount >= 0 && !h.Attributes.Control() {
				s.log.Sparse, s.log.dense = true, false
			}
			s.log.oddHeader(s.seg, position, h)
		}
		if told && !x.quiet.skips(h, position, next) {
			if err := s.watchInLine(run, i+n); err != nil {
				return n, err
			}
		}
		if s.records != nil {
			s.records.batch(s.seg, position, run.Raw(i+n))
		}
	}
	return len(list), nil
}

// leave adds the line to the facts, before a frame that is not in line.
func (s *stream) leave() {
	x, l, t := &s.line, s.log, s.tally
	if x.batches > 0 {
		s.endQuiet(x.end, x.next)
		s.prevNext = x.next
		l.Batches += x.batches
		l.Records += x.records
		l.Bytes += x.bytes
		l.BytesVerified += x.bytes
		l.LogEndOffset = x.next
		l.Lineage[len(l.Lineage)-1].To = x.next
		l.MaxTimestamp = max(l.MaxTimestamp, x.maxTime)
		l.segmentTimes[s.seg] = max(l.segmentTimes[s.seg], x.maxTime)
		t.runs.grow(x.batches, x.next)
		t.untold += x.bytes
		t.lastSegment = s.seg
	}
	s.line = line{}
}

// account adds one block to the facts.
func (l *Log) account(b *Block, have bool) {
	l.Batches++
	if have {
		end := l.LogEndOffset // behind all blocks so far
		switch {
		case b.Base < end:
			l.Ascending = false
			l.Anomalies.add(Anomaly{Kind: Backwards, Segment: b.Segment, Position: b.Position, Length: b.Length, From: b.Base, To: b.Next(), Epoch: b.Epoch,
				Want: fmt.Sprintf("offset %d or above", end), Got: fmt.Sprint(b.Base)})
		case b.Base > end:
			l.dense = false
			kind := Gap
			if b.Position == 0 {
				kind = SegmentGap
			}
			l.Anomalies.add(Anomaly{Kind: kind, Segment: b.Segment, Position: b.Position, Length: 0, From: end, To: b.Base, Epoch: b.Epoch})
		}
	}
	if b.Base < l.Segments[b.Segment].BaseOffset {
		l.Anomalies.add(Anomaly{Kind: BelowSegment, Segment: b.Segment, Position: b.Position, Length: b.Length, From: b.Base, To: b.Next(), Epoch: b.Epoch,
			Want: fmt.Sprintf("offset %d or above", l.Segments[b.Segment].BaseOffset), Got: fmt.Sprint(b.Base)})
	}
	l.LogEndOffset = max(l.LogEndOffset, b.Next())
	if b.Flaws&(BadCRC|Unreadable) == 0 && !b.Legacy && !b.Control() {
		l.Records += int64(b.Records)
	}
	if !b.Whole() {
		return
	}
	l.HasLegacy = l.HasLegacy || b.Legacy
	l.Lineage = l.Lineage.Add(b.Epoch, b.Base, b.Next())
	if _, seen := l.EpochStarted[b.Epoch]; !seen {
		l.EpochStarted[b.Epoch] = b.MaxTimestamp
	}
	l.MaxTimestamp = max(l.MaxTimestamp, b.MaxTimestamp)
	l.segmentTimes[b.Segment] = max(l.segmentTimes[b.Segment], b.MaxTimestamp)
	if b.Records >= 0 && int64(b.Records) < b.Last-b.Base+1 && !b.Control() {
		l.Sparse = true
		l.dense = false
	}
}
