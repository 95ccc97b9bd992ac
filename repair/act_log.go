package repair

import (
	"fmt"
	"math"
	"slices"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/replica"
)

// logCodes are findings that a change inside the .log files answers. Tails are cut whatever their
// severity, since the next start would cut them.
var (
	tailCodes = []finding.Code{"zero-tail", "torn-tail"}
	logCodes  = []finding.Code{"batch-crc-mismatch", "log-bytes-unreadable", "log-bytes-zeroed", "batch-magic-unknown", "base-offset-out-of-line", "epoch-out-of-line",
		"duplicate-offsets", "segment-overlap", "batch-below-segment", "segment-gap", "leader-batch-bad-followers-stuck", "cleaner-stuck-before", "index-orphan",
		"txn-data-without-marker", "inner-record-invalid"}
)

// maxHoles bounds the places of one log that a plan mends: more are for salvage.
const maxHoles = 4096

// hole is a place between two batches that stay, where bytes go or offsets are missing.
//
//	| batch 180–189 | damaged 190–199 | batch 200–209 |
//	  prev            bytes of a hole   next             offsets [190, 200)
type hole struct {
	prev, next *replica.Block // nil: the log begins, or ends, here
	from, to   int64          // offsets between them; to is what the bytes claim where there is no next
	junk       bool           // at the end of the log: bytes that are no batch, no zeros and no broken-off batch
	lost       bool           // the bytes may have been records: not zeros, not a torn end
	records    int64          // claimed by headers, -1 unknown
	blocks     int            // damaged ones
	gap        bool           // no bytes: offsets are missing between two segments
	marker     bool           // no bytes: the marker of an aborted transaction, at from, is missing
	unproven   bool           // batches stand in it that may be what a destroyed one held
	soft       bool           // the block stays if nobody has a better one
	doubles    []replica.Block
	unread     []replica.Block // whole by their CRC, with records that cannot be read
	bytes      int64
	seg, pos   int64 // where it begins

	source  *incident.Copy // who has it; nil nobody
	taken   []replica.Block
	sources []*incident.Copy // of each of taken, where that is not source
	batches int              // in taken
}

// stretch is a run of bytes of a segment's .log that stays, or blocks of a sibling.
type stretch struct {
	position int64
	length   int64
	soft     *hole // it goes where somebody has a better one
}

// surgery is what becomes of the .log files of one directory.
type surgery struct {
	*work
	keep    [][]stretch // by segment, in file order
	size    []int64     // of each segment's .log
	tail    []int64     // position of a torn or zero tail in each segment, else its size
	holes   []*hole
	last    *replica.Block // the last one that stays
	pending *hole          // bytes seen since last
	at      []int64        // how far each segment is covered
	cut     int64          // offset from which batches go, MaxInt64: none
	cutFrom int64          // first offset that went that way, -1
	cutTo   int64
	cutRecs int64
	many    bool
	markers []int64 // offsets of markers of aborted transactions that are missing, ascending
	unread  places  // of batches whose records cannot be read; nil where too many are to be listed
}

func (w *work) mendLog() error {
	tails := w.where(func(x *found) bool { return x.dir == w.dir }, tailCodes)
	for _, x := range w.found {
		if x.dir == w.dir && slices.Contains(tailCodes, x.Code) && !slices.Contains(tails, x) {
			tails = append(tails, x)
		}
	}
	list := append(tails, w.of(w.dir, logCodes...)...)
	list = slices.DeleteFunc(list, func(x *found) bool { return x.Code == "index-orphan" && x.Severity < finding.Loss })
	cut, why, err := w.divergent()
	if err != nil {
		return err
	}
	asked, askedWhy, err := w.asked()
	if err != nil {
		return err
	}
	if asked != nil && (cut == nil || asked.From <= cut.From) {
		if cut != nil {
			asked.answers = cut.answers
		}
		cut, why = asked, askedWhy
	}
	if len(list) == 0 && cut == nil || len(w.log.Segments) == 0 || w.log.Swapped || w.swapping() {
		return nil
	}
	s := &surgery{work: w, cut: math.MaxInt64, cutFrom: -1}
	if cut != nil {
		s.cut = cut.From
	}
	if err := s.walk(); err != nil {
		return err
	}
	if s.many {
		if asked != nil {
			return &Uncut{askedWhy, fmt.Sprintf("%s has more than %d damaged places, which is for kafsck salvage", w.copy.Dir, maxHoles)}
		}
		return nil
	}
	if err := s.unprove(); err != nil {
		return err
	}
	for _, h := range s.holes {
		if err := s.ask(h); err != nil {
			return err
		}
	}
	return s.act(list, cut, why)
}

// walk reads the log once and sorts its bytes into what stays and what does not.
func (s *surgery) walk() error {
	n := len(s.log.Segments)
	s.keep, s.size, s.tail, s.at = make([][]stretch, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, seg := range s.log.Segments {
		s.size[i] = max(seg.Log.Size, 0)
		s.tail[i] = s.size[i]
	}
	for _, a := range s.log.Anomalies.Kept {
		if a.Kind == replica.ZeroTail || a.Kind == replica.TornTail {
			s.tail[a.Segment] = min(s.tail[a.Segment], a.Position)
		}
		if a.Kind == replica.TxnDataWithoutMarker {
			s.markers = append(s.markers, a.To-1)
		}
	}
	slices.Sort(s.markers)
	s.unread = illegibles(s.log)
	for b, err := range s.log.Blocks(math.MinInt64, math.MaxInt64) {
		if err != nil {
			return err
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		s.block(&b)
		if s.many {
			return nil
		}
	}
	s.close(n, nil)
	return nil
}

func (s *surgery) block(b *replica.Block) {
	segBase := s.log.Segments[b.Segment].BaseOffset
	const bad = replica.BadCRC | replica.Unreadable | replica.SuspectBase | replica.Misplaced
	switch {
	case b.Base >= s.cut && b.Flaws&replica.Unreadable == 0:
		if s.cutFrom < 0 {
			s.cutFrom = b.Base
		}
		s.cutTo = max(s.cutTo, b.Next())
		s.cutRecs += int64(max(b.Records, 0))
		return
	case b.Flaws&bad != 0 || b.Base < segBase:
		s.flawed(b)
		return
	case s.unread.has(b):
		s.illegible(b)
		return
	}
	s.close(b.Segment, b)
	var open *hole // of suspect epochs, right before this batch
	if k := len(s.holes) - 1; k >= 0 && s.holes[k].soft && s.holes[k].next == nil {
		open = s.holes[k]
	}
	switch {
	case b.Flaws&replica.SuspectEpoch == 0 && open != nil:
		next := *b
		open.next, open = &next, nil
	case b.Flaws&replica.SuspectEpoch != 0 && open != nil && b.Segment == int(open.seg):
		open.to = b.Next()
	case b.Flaws&replica.SuspectEpoch != 0:
		// It stays unless somebody has it with the right epoch.
		open = &hole{prev: s.last, from: b.Base, to: b.Next(), soft: true, seg: int64(b.Segment), pos: b.Position}
		s.note(open)
	}
	s.stay(b, open)
}

func (s *surgery) stay(b *replica.Block, soft *hole) {
	list := s.keep[b.Segment]
	if k := len(list) - 1; k >= 0 && list[k].soft == soft && list[k].position+list[k].length == b.Position && !s.markerAt(b) {
		list[k].length += b.Length
	} else {
		list = append(list, stretch{position: b.Position, length: b.Length, soft: soft})
	}
	s.keep[b.Segment] = list
	s.at[b.Segment] = b.Position + b.Length
	last := *b
	s.last = &last
}

// markerAt reports whether a marker is missing right before a block.
func (s *surgery) markerAt(b *replica.Block) bool {
	k := len(s.holes) - 1
	return k >= 0 && s.holes[k].marker && s.holes[k].seg == int64(b.Segment) && s.holes[k].pos == b.Position
}

// flawed files a block that does not stay by itself.
func (s *surgery) flawed(b *replica.Block) {
	h := s.open(b.Segment, b.Position)
	if b.Flaws&replica.Misplaced != 0 && b.Flaws&(replica.BadCRC|replica.Unreadable) == 0 {
		if len(h.doubles) < 64 {
			h.doubles = append(h.doubles, *b)
		}
		return
	}
	if b.Position >= s.tail[b.Segment] || s.zeros(b) {
		return
	}
	h.lost = true
	h.blocks++
	if b.Records < 0 || b.Flaws&replica.Unreadable != 0 {
		h.records = -1
	} else if h.records >= 0 {
		h.records += int64(b.Records)
	}
	h.to = max(h.to, b.Next())
}

// zeros reports whether a stretch is nothing but zero bytes.
func (s *surgery) zeros(b *replica.Block) bool {
	return slices.ContainsFunc(s.log.Anomalies.Kept, func(a replica.Anomaly) bool {
		return a.Kind == replica.ZeroHole && a.Segment == b.Segment && a.Position <= b.Position && a.Position+a.Length >= b.Position+b.Length
	})
}

func (s *surgery) open(seg int, pos int64) *hole {
	if s.pending == nil {
		s.pending = &hole{prev: s.last, seg: int64(seg), pos: pos, from: s.after()}
		s.pending.to = s.pending.from
	}
	return s.pending
}

// after is the offset behind the last batch that stays.
func (s *surgery) after() int64 {
	if s.last != nil {
		return s.last.Next()
	}
	return s.log.Segments[0].BaseOffset
}

// close ends what is open before the next batch that stays, nil at the end of the log.
func (s *surgery) close(seg int, next *replica.Block) {
	from := 0
	if s.last != nil {
		from = s.last.Segment
	}
	for i := from; i <= seg && i < len(s.size); i++ {
		end := s.size[i]
		if next != nil && i == seg {
			end = next.Position
		}
		if end > s.at[i] {
			if s.cutFrom < 0 {
				h := s.open(i, s.at[i])
				h.bytes += end - s.at[i]
				h.junk = h.junk || next == nil && s.junkIn(i, s.at[i], end)
			}
			s.at[i] = end
		}
	}
	h := s.pending
	if h == nil && next != nil && s.last != nil && next.Segment != s.last.Segment && next.Base > s.last.Next() && s.log.Anomalies.Counts[replica.SegmentGap] > 0 {
		h = &hole{prev: s.last, seg: int64(s.last.Segment), pos: s.size[s.last.Segment], from: s.last.Next(), gap: true, records: -1}
	}
	if h == nil {
		s.missingMarkers(next)
		return
	}
	s.pending = nil
	if next == nil && h.blocks == 1 && len(h.unread) == 0 && s.tail[len(s.tail)-1] < s.size[len(s.size)-1] {
		h.lost = false // the batch whose end never reached the disk: zeros, or nothing, follow where it breaks off
	}
	if next != nil {
		x := *next
		h.next, h.to = &x, max(x.Base, h.from)
	}
	s.note(h)
}

// junkIn reports whether some of the bytes [from, to) of a segment are neither batch nor zeros nor a
// batch that breaks off.
func (s *surgery) junkIn(segment int, from, to int64) bool {
	kept := 0
	for _, a := range s.log.Anomalies.Kept {
		if a.Kind == replica.JunkBytes {
			if kept++; a.Segment == segment && a.Position < to && a.Position+a.Length > from {
				return true
			}
		}
	}
	return kept < s.log.Anomalies.Counts[replica.JunkBytes]
}

// missingMarkers makes holes of the markers that are missing right before a batch.
func (s *surgery) missingMarkers(next *replica.Block) {
	if next == nil || s.last == nil {
		return
	}
	for _, m := range s.markers {
		if m < s.last.Next() || m >= next.Base {
			continue
		}
		x := *next
		h := &hole{prev: s.last, next: &x, from: m, to: m + 1, marker: true, seg: int64(s.last.Segment), pos: s.size[s.last.Segment]}
		if next.Segment == s.last.Segment {
			h.pos = next.Position
		}
		s.note(h)
	}
}

func (s *surgery) note(h *hole) {
	if s.many = len(s.holes) >= maxHoles; !s.many {
		s.holes = append(s.holes, h)
	}
}
