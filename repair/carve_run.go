package repair

import (
	"slices"

	"kafsck/batch"
	"kafsck/epoch"
	"kafsck/segment"
)

const (
	// A piece ends where a .log of the result must end at the latest.
	maxRunBytes, maxRunOffsets = 512 << 20, 1 << 30
	// smallHole in offsets is no wide one, however short the pieces beside it.
	smallHole = 16
	// fileBlock: files begin at multiples of the file system's block, of which this is the smallest.
	fileBlock = 512
)

// run is a piece under way, and what decides where it belongs.
type run struct {
	index    int
	pos, end int64 // bytes
	from, to int64 // offsets
	batches  int64
	records  int64
	again    int64

	first, last  int64 // largest timestamps of its first and last batch that has one, ms; -1
	latest       int64
	appendTime   bool
	magic        [2]int8
	codecs       uint8 // a bit each
	epochs       epoch.Cache
	epoch0       int32 // of its first batch
	epoch1       int32 // of its last
	gaps         int64 // holes inside
	sparse       bool  // some batch has fewer records than offsets
	transactions bool
	markers      bool
	producers    bool
	heads, tails []sequence

	crc    uint32 // of its first batch
	length int64
	// What stands behind it and before it in the file: see carving.behind.
	asked, torn, fileBegin bool
	tornCRC                uint32
	tornLength             int64

	outer          int64
	embedded, lone bool
	loose          bool
	amid           bool // see carving.amid
	snapshot       bool // of the cluster metadata, from its header to its footer
	ended          bool // the footer was there

	before  *run    // a piece that this one certainly goes on from: cut for its size, or over a bridge
	over    *bridge // the damaged batch between them
	touches *run    // the piece that ends where this one begins

	votes  map[string]int64           // batches in logs whose partition is known
	live   map[string]map[int32]int64 // votes of live logs, by name and broker
	name   string
	copyOf *run
	trim   int64 // offsets below it are those of the piece before, which has the same batches; 0 none

	next, prev *run
	why        string // of the step from prev
}

// sequence is what a producer has written in a run.
type sequence struct {
	id    int64
	epoch int16
	base  int32 // of its first batch in the run, or behind its last
	shift int64 // base offset less base sequence
}

// producerKey is what one producer alone gives the batches of one partition, as long as no other one
// writes there: the distance of offset and sequence.
type producerKey struct {
	id    int64
	epoch int16
	shift int64
}

func (s *sequence) key() producerKey { return producerKey{s.id, s.epoch, s.shift} }

// maxSequences is how many producers of a run's beginning and of its end are kept.
const maxSequences = 4

// bridge is a damaged batch whose header joins two sound ones.
type bridge struct {
	pos, length int64
	from, next  int64 // offsets that it claims
}

// goesOn reports whether a batch belongs to the piece before it.
func (r *run) goesOn(it *item, x *segment.Carved) bool {
	switch {
	case r.end != it.pos || r.embedded != x.Embedded || r.lone || x.Lone || r.loose || x.Loose || r.outer != x.Outer:
		return false
	case r.end-r.pos+it.length > maxRunBytes || it.to-r.from > maxRunOffsets || it.magic < r.magic[1] || it.epoch < r.epoch1 || len(r.epochs) > 64:
		return false
	case it.from == r.to:
		return true
	case it.from < r.to || it.from-r.to > max(r.to-r.from, smallHole) || it.time >= 0 && it.time < r.last:
		return false
	}
	// A hole. The cleaner leaves many of them; one alone, in a log that is dense, may be the border of
	// two files that lie one behind the other without a file system's blocks between them.
	thin := x.Kind == segment.CarvedBatch && int64(x.Header.RecordCount) < it.to-it.from
	return r.gaps >= 3 || (r.sparse || thin) && it.pos%fileBlock != 0 || r.touches != nil && r.touches.to < r.from && r.batches < 16 && r.touches.batches < 16
}

// begin begins a piece, nil if there are too many.
func (c *carving) begin(it *item, x *segment.Carved, b *bridge) *run {
	if len(c.runs)+len(c.told.Apart) >= maxRuns {
		c.ignored = true
		c.last = nil
		return nil
	}
	r := &run{index: len(c.runs), pos: it.pos, end: it.pos, from: it.from, to: it.from, first: -1, last: -1, latest: -1, magic: [2]int8{it.magic, it.magic}, epoch0: it.epoch, epoch1: it.epoch, crc: x.Header.CRC, length: x.Len,
		outer: x.Outer, embedded: x.Embedded, lone: x.Lone, loose: x.Loose}
	p := c.last
	switch {
	case p == nil || p.embedded != r.embedded || p.lone || r.lone || p.loose || r.loose:
	case p.end == r.pos:
		r.touches = p
		if it.from == p.to && it.epoch >= p.epoch1 && it.magic >= p.magic[1] {
			r.before = p
		}
	case b != nil && b.pos == p.end && b.pos+b.length == r.pos && b.from == p.to && b.from < it.from && b.next <= it.from && it.epoch >= p.epoch1:
		r.before, r.over = p, b
	}
	if r.embedded || r.lone || r.loose {
		c.told.Apart = append(c.told.Apart, CarvedPiece{of: r})
	} else {
		c.runs = append(c.runs, r)
	}
	return r
}

// add takes a batch into the piece.
func (r *run) add(it *item, x *segment.Carved) {
	if r.batches > 0 && it.from > r.to {
		r.gaps++
	}
	r.end, r.to = it.pos+it.length, it.to
	r.batches++
	r.records += it.records
	r.magic[1] = it.magic
	r.codecs |= 1 << min(max(it.codec, 0), 7)
	if r.epoch1 = it.epoch; it.epoch >= 0 && (len(r.epochs) == 0 || it.epoch > r.epochs.Latest()) {
		r.epochs = append(r.epochs, epoch.Entry{Epoch: it.epoch, StartOffset: it.from})
	}
	if it.time >= 0 {
		if r.last = it.time; r.first < 0 {
			r.first = it.time
		}
		r.latest = max(r.latest, it.time)
	}
	if x.Kind != segment.CarvedBatch {
		return
	}
	h := &x.Header
	r.sparse = r.sparse || int64(h.RecordCount) < it.to-it.from
	r.appendTime = r.appendTime || h.Attributes.TimestampType() == batch.LogAppendTime
	r.transactions = r.transactions || h.Attributes.Transactional()
	r.markers = r.markers || h.Attributes.Transactional() && h.Attributes.Control()
	if !h.HasProducer() {
		return
	}
	r.producers = true
	if h.BaseSequence < 0 || h.Attributes.Control() {
		return
	}
	s := sequence{h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.BaseOffset - int64(h.BaseSequence)}
	same := func(o sequence) bool { return o.id == s.id && o.epoch == s.epoch }
	if len(r.heads) < maxSequences && !slices.ContainsFunc(r.heads, same) {
		r.heads = append(r.heads, s)
	}
	s.base = batch.IncrementSequence(h.LastSequence(), 1)
	if i := slices.IndexFunc(r.tails, same); i >= 0 {
		r.tails = slices.Delete(r.tails, i, i+1)
	} else if len(r.tails) == maxSequences {
		r.tails = slices.Delete(r.tails, 0, 1)
	}
	r.tails = append(r.tails, s)
}
