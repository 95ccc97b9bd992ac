package repair

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/bits"
	"slices"

	"kafsck/batch"
	"kafsck/epoch"
	"kafsck/logdir"
	"kafsck/segment"
)

// CarveOptions steer Carve.
type CarveOptions struct {
	// File is the path of the file as it was typed; Size its bytes, below 0 not known.
	File string
	Size int64
	// Within names the partition directory that the file is a segment of by its own path and name:
	// "t-0", "" none; WithinID is the topic id beside it.
	Within, WithinID string
	// Known are log directories whose batches tell which partition a carved one is of, nil none.
	Known *logdir.Case
	Match func(topic string, partition int32) bool // of Known; nil all
	// Each is told of everything that is found, as it is found; nil nobody.
	Each func(x *segment.Carved)
	// Progress is told of bytes that were searched.
	Progress func(n int64)
	// Hash also takes the SHA-256 of the file.
	Hash bool
}

// Carving is what raw bytes hold: batches, sorted into likely logs.
//
//	file     | A0–9 | garbage | B0–4 | A10–19 | zeros | B5–9 | A0–9 again | C 10–19, other content |
//	pieces     a       .         b      c         .       d       (a)           e
//	logs     log 1: a c      log 2: b d      log 3: e, the same offsets as c with other content
//
// A piece is a run of batches that lie one behind the other and continue each other's offsets. Two
// pieces are put into one log only for a reason that is told: the same batches, an offset that goes
// on exactly where no other piece does as well, a producer's sequence numbers, a damaged batch
// between them whose header joins both. What could go on in several places stays apart.
type Carving struct {
	File   string
	Size   int64  // bytes that were there
	SHA256 string // "" not taken, or a part could not be read
	Stats  segment.CarveStats

	Batches  int64 // with a CRC that verifies, the following ones too
	Messages int64 // of them messages of magic 0 and 1
	Again    int64 // the same batch found another time, of the same log
	Embedded int64 // in the bytes of a damaged batch: images in a value, no data
	Cut      int64 // data in bytes that a damaged batch claims, which ends before them
	Lone     int64 // messages for which nothing speaks but a CRC over few bytes
	Loose    int64 // batches with an offset that may be of another block of the file system
	// Snapshots of the cluster metadata (*.checkpoint) are batches too, with offsets of their own from 0.
	Snapshots, SnapshotBatches int64
	Damaged                    int64 // batches between sound ones, with a CRC that does not verify
	Unread                     []segment.ReadError
	Unsorted                   int64 // batches behind more pieces than are kept

	Logs  []CarvedLog
	Apart []CarvedPiece // embedded and loose batches, lone messages and metadata snapshots: in no log

	// Known counts the batches of the PATHs that were compared, KnownErrors are failed reads there.
	Known       int64
	KnownErrors []logdir.PathError
}

// CarvedLog is a likely partition, or one history of it.
type CarvedLog struct {
	Number int // from 1
	// Partition is its proved name, "" not known; Named says how it is proved.
	Partition, TopicID string
	Named              string
	Proved             int64 // batches that stand in a log of this partition
	// Dir is the partition directory that the log is written to: "orders-0", "carved-2".
	Dir string

	From, To     int64 // offsets, To exclusive
	Batches      int64
	Records      int64
	Bytes        int64
	Epochs       epoch.Cache // from the headers
	Codecs       []string
	Magic        [2]int8 // lowest and highest
	First, Last  int64   // largest timestamps of its first and last batch with one, ms; -1 none
	Transactions bool
	Cleaned      int64       // holes between batches inside pieces: compaction, if nothing was lost
	Holes        []CarvedGap // between pieces
	Again        int64       // of its batches that were found more than once
	// Assumed says what puts the pieces together, each a sentence; Doubts what speaks for another
	// reading.
	Assumed, Doubts []string
	Pieces          []CarvedPiece // ascending offsets
}

// CarvedGap is a range of offsets [From, To) that no piece of the log has.
type CarvedGap struct {
	From, To int64
	// Damaged is the position of a damaged batch that stands there, -1 none.
	Damaged, Length int64
}

// CarvedPiece is a run of batches in the file.
type CarvedPiece struct {
	Pos, Len int64 // bytes
	From, To int64 // offsets
	Batches  int64
	// Outer is the damaged batch that claims the bytes, -1 none. Embedded, Lone: see segment.Carved.
	Outer          int64
	Embedded, Lone bool
	Loose          bool // see segment.Carved
	Snapshot       bool // a snapshot of the cluster metadata: no log

	of *run
}

const (
	// maxRuns bounds the pieces that are kept: 250 bytes each.
	maxRuns = 250_000
	// maxSigs bounds the batches that are remembered by their content: 16 bytes each.
	maxSigs = 2 << 20
	// maxUnread bounds the unreadable places that are listed.
	maxUnread = 1000
	// A piece ends where a .log of the result must end at the latest.
	maxRunBytes, maxRunOffsets = 512 << 20, 1 << 30
	// smallHole in offsets is no wide one, however short the pieces beside it.
	smallHole = 16
	// fileBlock: files begin at multiples of the file system's block, of which this is the smallest.
	fileBlock = 512
)

// Carve searches a file for batches, and sorts them. r is read once, and in parts again where pieces
// hold the same batches or offsets.
//
// The error is ctx's. What could not be read is in Carving.Unread.
func Carve(ctx context.Context, r io.ReaderAt, opt CarveOptions) (*Carving, error) {
	c := &carving{ctx: ctx, r: r, opt: opt, ids: map[string]string{}, told: &Carving{File: opt.File, Apart: []CarvedPiece{}}}
	hash := sha256.New()
	scan := segment.CarveOptions{Size: opt.Size, Progress: opt.Progress, Stats: &c.told.Stats}
	if opt.Hash {
		scan.Tee = func(b []byte) { hash.Write(b) }
	}
	for x, err := range segment.Carve(ctx, r, scan) {
		if err != nil {
			return nil, err
		}
		if opt.Each != nil {
			opt.Each(x)
		}
		c.take(x)
	}
	c.told.Size = c.told.Stats.Bytes
	if opt.Hash && c.told.Stats.Unread == 0 {
		c.told.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	if err := c.names(); err != nil {
		return nil, err
	}
	if err := c.same(); err != nil {
		return nil, err
	}
	c.join()
	c.tell()
	return c.told, ctx.Err()
}

// carving is one under way.
type carving struct {
	ctx  context.Context
	r    io.ReaderAt
	opt  CarveOptions
	told *Carving

	runs    []*run // data, in order of position
	last    *run   // of the latest batch, data or apart
	bridge  *bridge
	sigs    []sigOf
	mask    uint64 // only contents of which these bits are 0 are remembered
	unzip   *batch.Decompressor
	offers  map[*run]map[*run]bool // pieces that have other batches at the same offsets
	reread  int64                  // bytes read again
	ignored bool                   // maxRuns reached
	ids     map[string]string      // topic ids by name
	edges   []knownEdge
}

// sigOf is a batch by its content.
type sigOf struct {
	sig uint64
	run int32
}

// bridge is a damaged batch whose header joins two sound ones.
type bridge struct {
	pos, length int64
	from, next  int64 // offsets that it claims
}

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
	snapshot       bool // of the cluster metadata, from its header to its footer
	ended          bool // the footer was there

	before  *run    // a piece that this one certainly goes on from: cut for its size, or over a bridge
	over    *bridge // the damaged batch between them
	touches *run    // the piece that ends where this one begins

	votes  map[string]int64 // batches in logs whose partition is known
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

// maxSequences is how many producers of a run's beginning and of its end are kept.
const maxSequences = 4

// item is a batch or message, whichever it is.
type item struct {
	pos, length int64
	from, to    int64
	epoch       int32
	magic       int8
	sig         uint64
	records     int64
	time        int64
	codec       batch.Codec
}

// snapshotEdge reports whether a batch is the first or the last one of a snapshot of the cluster
// metadata. Source: org.apache.kafka.raft.RecordsSnapshotWriter, KIP-630.
func (c *carving) snapshotEdge(x *segment.Carved) (header, footer bool) {
	if x.Kind != segment.CarvedBatch || !x.Header.Attributes.Control() || x.Header.HasProducer() || x.Raw == nil {
		return false, false
	}
	for r, err := range (batch.View{Header: x.Header, Raw: x.Raw}).Records(nil) {
		if err != nil {
			break
		}
		switch control, err := batch.ParseControl(r.Key, r.Value); {
		case err != nil:
		case control.Type == batch.ControlSnapshotHeader:
			header = true
		case control.Type == batch.ControlSnapshotFooter:
			footer = true
		}
	}
	return header, footer
}

// itemOf reads what the sorting asks for.
func (c *carving) itemOf(x *segment.Carved) item {
	it := item{pos: x.Pos, length: x.Len}
	if x.Kind == segment.CarvedMessage {
		h := &x.Legacy
		it.from, it.to, it.epoch, it.magic, it.records, it.time, it.codec = h.Offset, h.Offset+1, -1, h.Magic, 1, h.Timestamp, h.Codec()
		it.sig = signature(h.Offset, -1, h.CRC, x.Len)
		if it.codec != batch.None && x.Raw != nil {
			it.from, it.records = c.inside(x.Raw, h.Offset)
		}
		return it
	}
	h := &x.Header
	it.from, it.to, it.epoch, it.magic, it.records, it.time, it.codec = h.BaseOffset, h.NextOffset(), h.PartitionLeaderEpoch, h.Magic, int64(h.RecordCount), h.MaxTimestamp, h.Attributes.Codec()
	it.sig = signature(h.BaseOffset, h.PartitionLeaderEpoch, h.CRC, x.Len)
	return it
}

// inside is the first offset of a compressed message of the old formats, and how many it holds.
func (c *carving) inside(raw []byte, offset int64) (from, records int64) {
	if c.unzip == nil {
		c.unzip = batch.NewDecompressor(0)
	}
	from = offset
	for r, err := range batch.LegacyRecords(raw, c.unzip) {
		if err != nil {
			break
		}
		if records == 0 {
			from = min(r.Offset, offset)
		}
		records++
	}
	return max(from, 0), max(records, 1)
}

// signature tells batches apart: two of the same have the same offset, epoch, CRC and size.
func signature(base int64, leaderEpoch int32, crc uint32, length int64) uint64 {
	mix := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
		return hi ^ lo
	}
	return mix(mix(uint64(base), uint64(crc)|uint64(uint32(leaderEpoch))<<32), uint64(length))
}

// take sorts one find into the piece that it goes on, or begins one.
func (c *carving) take(x *segment.Carved) {
	t := c.told
	switch x.Kind {
	case segment.CarvedUnread:
		c.last = nil
		if e, ok := x.Err.(*segment.ReadError); ok && len(t.Unread) < maxUnread {
			t.Unread = append(t.Unread, *e)
		}
		return
	case segment.CarvedDamaged:
		t.Damaged++
		h := &x.Header
		c.bridge = &bridge{x.Pos, x.Len, h.BaseOffset, -1}
		if n := h.NextOffset(); n > h.BaseOffset {
			c.bridge.next = n
		}
		return
	}
	it := c.itemOf(x)
	t.Batches++
	if x.Kind == segment.CarvedMessage {
		t.Messages++
	}
	switch {
	case x.Embedded:
		t.Embedded++
	case x.Lone:
		t.Lone++
	case x.Loose:
		t.Loose++
	case x.Outer >= 0:
		t.Cut++
	}
	b := c.bridge
	c.bridge = nil
	header, footer := c.snapshotEdge(x)
	r := c.last
	if r != nil && r.snapshot && !r.ended && r.end == it.pos && !header {
		r.ended = footer
		t.SnapshotBatches++
		r.add(&it, x)
		return
	}
	if r == nil || r.snapshot || header || !r.goesOn(&it, x) {
		if r = c.begin(&it, x, b); r == nil {
			t.Unsorted++
			return
		}
	}
	if header {
		r.snapshot = true
		t.Snapshots++
		t.SnapshotBatches++
		if !r.embedded && !r.lone && !r.loose {
			c.runs = c.runs[:len(c.runs)-1]
			c.told.Apart = append(c.told.Apart, CarvedPiece{of: r})
		}
	}
	r.add(&it, x)
	c.last = r
	if !r.snapshot && !r.embedded && !r.lone && !r.loose {
		c.remember(it.sig, r.index)
	}
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

// remember keeps the content of a batch; of very many a part, chosen by content so that the same ones
// are kept of every copy.
func (c *carving) remember(sig uint64, run int) {
	if sig&c.mask != 0 {
		return
	}
	if len(c.sigs) == maxSigs {
		c.mask = c.mask<<1 | 1
		c.sigs = slices.DeleteFunc(c.sigs, func(s sigOf) bool { return s.sig&c.mask != 0 })
		if sig&c.mask != 0 {
			return
		}
	}
	c.sigs = append(c.sigs, sigOf{sig, int32(run)})
}
