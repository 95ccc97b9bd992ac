package repair

import (
	"fmt"
	"math"
	"slices"

	"kafsck/epoch"
	"kafsck/replica"
)

// output is the log of the result.
type output struct {
	segments  []newSegment
	holes     []outHole
	lineage   epoch.Lineage
	start     int64
	end       int64
	line      *int64 // of log-start-offset-checkpoint
	batches   int64
	records   int64
	bytes     int64
	legacy    bool
	lastBlock *replica.Block // of its batches, nil none
	soft      int64          // batches whose epoch field nothing bears out
	softLast  bool           // the last batch is one

	producers bool // some batch has a producer id
	crowd     bool // more of them than a snapshot is built for
	open      map[int64]OpenTxn
	ended     int
}

// outHole is a hole between two batches of the result.
type outHole struct {
	from, to      int64
	before, after int32 // epochs of the batches around it, -1 none
}

// maxSegmentBytes is where a segment of the result ends although those of the copies go on: the
// default of segment.bytes.
const maxSegmentBytes = 1 << 30

// maxProducers bounds the producers that are followed: replica builds snapshots of no more.
const maxProducers = 500_000

// lay walks along the line and lays its batches into segments: those of the chosen copy, and beyond
// its ends those of the copies that had more.
func (w *salvaging) lay() error {
	o := &w.result
	o.open = map[int64]OpenTxn{}
	seen := map[int64]struct{}{}
	ref := w.ref.log
	next := 0 // of ref's segments
	limit := int64(maxSegmentBytes)
	for _, s := range ref.Segments {
		limit = min(max(limit, s.Log.Size), math.MaxInt32-(1<<20))
	}
	var prev *replica.Block
	var from *source
	rollAfter := false
	lastGap := int64(math.MinInt64)
	l := w.walkLine()
	defer l.stop()
	for ; l.ok; l.advance() {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		b, x := &l.block, w.line[l.at].src
		end := int64(math.MinInt64)
		if prev != nil {
			end = prev.Next()
			if b.Base > end {
				o.holes = append(o.holes, outHole{end, b.Base, prev.Epoch, b.Epoch})
				if !w.compacted || w.lacks(&replica.Block{Base: end, Last: b.Base - 1}) {
					lastGap = b.Base
				}
			}
		}
		base, roll := b.Base, len(o.segments) == 0
		own := x.log.Segments[b.Segment].BaseOffset
		if roll {
			if own <= b.Base && x == w.ref {
				base = own
			} else if own <= b.Base && (len(ref.Segments) == 0 || own <= ref.Segments[0].BaseOffset) {
				base = own
			} else if len(ref.Segments) > 0 && ref.Segments[0].BaseOffset <= b.Base {
				base = ref.Segments[0].BaseOffset
			}
			if base = max(base, min(w.head, b.Base)); b.Last-base > math.MaxInt32 {
				base = b.Base
			}
		}
		for next < len(ref.Segments) && ref.Segments[next].BaseOffset <= b.Base {
			if at := ref.Segments[next].BaseOffset; len(o.segments) > 0 && at >= end && at > o.last().Base && b.Last-at <= math.MaxInt32 {
				base, roll = at, true
			}
			next++
		}
		if k := len(o.segments); k > 0 && !roll {
			s := o.last()
			outside := len(ref.Segments) == 0 || b.Base < ref.Segments[0].BaseOffset || b.Base >= w.ref.next
			switch {
			case x != w.ref && outside && own >= end && own <= b.Base && own > s.Base && (from != x || prev.Segment != b.Segment):
				base, roll = own, true
			case b.Last-s.Base > math.MaxInt32, s.Size+b.Length > limit, rollAfter:
				roll = true
			}
		}
		if roll {
			o.segments = append(o.segments, newSegment{Base: base})
		}
		o.put(x, b)
		rollAfter = b.Flaws&replica.SuspectEpoch != 0
		if rollAfter {
			o.soft++
		}
		o.softLast = rollAfter
		o.count(b, lastGap, seen)
		y := *b
		prev, from = &y, x
	}
	if l.err != nil {
		return l.err
	}
	for i, s := range ref.Segments {
		if i == len(ref.Segments)-1 && (prev == nil || s.BaseOffset == prev.Next()) && (len(o.segments) == 0 || s.BaseOffset > o.last().Base) {
			o.segments = append(o.segments, newSegment{Base: max(s.BaseOffset, min(w.head, math.MaxInt64-1))})
		}
	}
	o.end = o.last().Base
	if prev != nil {
		o.end = prev.Next()
	}
	o.lastBlock = prev
	if o.softLast && o.last().Base < o.end { // so that a recovery does not read it
		o.segments = append(o.segments, newSegment{Base: o.end})
	}
	return nil
}

func known(e int32) *int32 {
	if e < 0 {
		return nil
	}
	return &e
}

func (o *output) last() *newSegment { return &o.segments[len(o.segments)-1] }

// put adds a batch to the last segment.
func (o *output) put(x *source, b *replica.Block) {
	s := o.last()
	name := file(x.log.Partition, x.log.Segments[b.Segment].Log.Name)
	s.Size += b.Length
	o.bytes += b.Length
	if k := len(s.Pieces) - 1; k >= 0 && s.Pieces[k].Root == x.t.index && s.Pieces[k].File == name && s.Pieces[k].Position+s.Pieces[k].Length == b.Position {
		s.Pieces[k].Length += b.Length
		return
	}
	s.Pieces = append(s.Pieces, Piece{Root: x.t.index, File: name, Position: b.Position, Length: b.Length})
}

// count follows epochs, records and transactions.
func (o *output) count(b *replica.Block, lastGap int64, seen map[int64]struct{}) {
	o.batches++
	o.lineage = o.lineage.Add(b.Epoch, b.Base, b.Next())
	if b.Legacy {
		o.legacy = true
		return
	}
	o.records += records(b)
	if b.ProducerID < 0 {
		return
	}
	o.producers = true
	if len(seen) < maxProducers {
		seen[b.ProducerID] = struct{}{}
	} else if _, ok := seen[b.ProducerID]; !ok {
		o.crowd = true
	}
	open, is := o.open[b.ProducerID]
	switch {
	case b.Control() && b.Records > 0:
		o.last().Markers = true
		if is {
			delete(o.open, b.ProducerID)
			if open.From < lastGap {
				o.ended++
			}
		}
	case b.Control() || !b.Attributes.Transactional():
	case !is && len(o.open) < maxProducers:
		o.open[b.ProducerID] = OpenTxn{ProducerID: b.ProducerID, Epoch: b.ProducerEpoch, From: b.Base}
	}
}

// write makes the action of the partition.
func (w *salvaging) write() error {
	if err := w.lay(); err != nil {
		return err
	}
	o := &w.result
	w.startLine()
	cache, err := w.epochCache()
	if err != nil {
		return err
	}
	r := w.root(w.p, w.ref)
	r.dirs[w.p.Name] = true
	n := newLog{Topic: w.p.Topic, Partition: w.p.Number, TopicID: w.p.TopicID, Segments: o.segments, Epochs: cache, Start: o.start, End: o.end, Line: o.line, Snapshots: o.producers && !o.crowd}
	if o.crowd {
		r.unclean = true
		w.note("more than %d producers: no producer snapshot is written, and the broker reads the log once when it starts", maxProducers)
	}
	if w.p.TopicID == "" {
		w.note("no copy here knows the topic id, so there is no partition.metadata: brokers from 3.8 on move such a directory aside as -stray")
	}
	w.highWatermark()
	if n.HighWatermark = w.told.HighWatermark; r.root.Partition {
		w.note("no copy here lies in a log directory whose meta.properties names node and cluster: the result is the partition directory alone; a broker that finds it in its log directory reads it once when it starts")
	}
	if o.soft > 0 {
		w.note("%s a leader epoch in the header that its neighbours contradict, and no copy has it with another one: the records are whole, the header is as it was found", plural(int(o.soft), "batch has", "batches have"))
	}
	w.tellTail()
	w.tellWide()
	w.told.Root, w.told.LogStartOffset, w.told.LogEndOffset = r.index, o.start, o.end
	w.told.Batches, w.told.Bytes = o.batches, o.bytes
	if !o.legacy {
		w.told.Records = &o.records
	}
	promise := n.promise(r.index)
	w.told.Epochs = promise.Epochs
	if v := w.builder.opt.Kafka; w.p.TopicID != "" || v.Major < 3 || v.Major == 3 && v.Minor < 8 {
		w.plan.Promises = append(w.plan.Promises, promise)
	}
	w.edits, w.into = n.edits(r.root.Partition), r
	return nil
}

// tellTail tells of what other copies gave behind the last whole batch of the chosen one, where bytes
// that are no batch lie: what these were, another line even, nobody can tell any more.
func (w *salvaging) tellTail() {
	if i := slices.IndexFunc(w.line, func(r lineRun) bool { return r.from >= w.ref.next }); i >= 0 && w.torn && w.ref.rank == 0 {
		w.note("behind offset %d nothing of %s is whole: the result goes on with what %s has there, and whether that is what it had cannot be told", w.ref.next-1, w.ref.who(), w.line[i].src.who())
	}
}

// tellWide tells of a log end that one batch alone claims.
func (w *salvaging) tellWide() {
	if b := w.result.lastBlock; b != nil && w.lastWide && !w.cleans() {
		if n := offsetsTaken(b); n > 0 {
			w.note("the last batch claims offsets %d–%d, and has %s: only cleaning leaves such a batch, and nothing else shows that this log was cleaned. The log end may be too high", b.Base, b.Last, plural(int(min(n, math.MaxInt32)), "record", "records"))
		}
	}
}

// startLine decides where the log of the result starts: with its first segment, or where the chosen
// copy's line says that records below were deleted.
func (w *salvaging) startLine() {
	o, x := &w.result, w.ref.log
	o.start = o.segments[0].Base
	v, ok := logStart(x.Partition)
	if x.LogStartSource == "epoch-file" {
		v, ok = x.LogStartOffset, true
	}
	if w.ref.rank > 1 {
		ok = false
	}
	switch {
	case !ok || v < 0:
	case v > o.end:
		w.note("log-start-offset-checkpoint says %d, above the log end %d: a broker would delete the whole log for it; the result has no such line", v, o.end)
	default:
		o.line = &v
		o.start = max(o.start, v)
	}
}

// highWatermark takes the highest one that a copy on this line knows of.
func (w *salvaging) highWatermark() {
	o := &w.result
	best, by, lowered := int64(-1), "", false
	for _, x := range w.sources {
		h := x.log.HighWatermark
		if h == nil || x.rank > 1 || x.first >= x.next || *h <= x.first {
			continue
		}
		on := false
		for b, err := range x.log.Blocks(min(*h, x.next)-1, min(*h, x.next)) {
			if err != nil {
				break
			}
			on = on || x.holds(&b)
		}
		if !on {
			continue
		}
		w.reach(*h, "the high watermark of "+x.who())
		if v := min(*h, o.end); v > best {
			best, by, lowered = v, x.who(), *h > o.end
		}
	}
	if best < 0 {
		w.told.HighWatermarkWhy = "no copy on this line has one"
		return
	}
	w.told.HighWatermark = &best
	w.told.HighWatermarkWhy = fmt.Sprintf("that of %s, which has the same batch below it", by)
	if lowered {
		w.told.HighWatermarkWhy = fmt.Sprintf("the log end: that of %s lies higher", by)
	}
}

// holds reports whether the result has a batch of this copy as well.
func (x *source) holds(b *replica.Block) bool {
	i, found := slices.BinarySearchFunc(x.same, byteRun{b.Segment, b.Position, 0}, func(a, t byteRun) int { return a.compare(t) })
	if found {
		return true
	}
	return i > 0 && x.same[i-1].seg == b.Segment && b.Position < x.same[i-1].position+x.same[i-1].length
}

// reach notes that something says the log once went on to an offset.
func (w *salvaging) reach(to int64, by string) {
	if to > w.result.end && to > w.reached && to-w.result.end < math.MaxInt32 {
		w.reached, w.reachedBy = to, by
	}
}

// epochCache is the new leader-epoch-checkpoint: the batches of the result, and what they cannot know
// from the files beside the copies, by the rules of PlanEpochs.
func (w *salvaging) epochCache() (epoch.Cache, error) {
	own, err := newFacts(w.ctx, w.p, w.ref.copy, true)
	if err != nil {
		return nil, err
	}
	o := &w.result
	own.lineage, own.end, own.start = o.lineage, o.end, o.start
	if o.line == nil || *o.line > o.end {
		own.line = 0
	}
	d := &draft{facts: own, cut: own.head()}
	d.headers()
	if own.useFile {
		d.file(false)
	}
	for _, c := range siblings(w.p, w.ref.copy) {
		if c.Err != nil || c.Log == nil {
			continue
		}
		other, err := newFacts(w.ctx, w.p, c, true)
		if err != nil {
			return nil, err
		}
		d.siblings = append(d.siblings, &sibling{facts: other})
	}
	if err := d.hearSiblings(); err != nil {
		return nil, err
	}
	d.lowestEpoch()
	cache := epoch.Cache{}
	for _, e := range d.entries {
		cache = append(cache, e.Entry)
	}
	return cache, nil
}
