package tui

import (
	"errors"

	"kafsck/batch"
	"kafsck/segment"
)

// frame is what is kept of a stretch of a .log: a batch, a message of the old formats,
// or bytes that are none. It owns its memory; contents are read again when they are
// looked at.
type frame struct {
	kind     segment.FrameKind
	pos, len int64 // bytes in the file
	claimed  int64 // what the header claims, see segment.Frame
	head     batch.Header
	legacy   batch.LegacyHeader
	damage   string // what is wrong, "" nothing
	badCRC   bool
	odd      oddness
	expected int64 // offset that should have followed, where odd says that it does not
}

// oddness is what is odd about a batch beside the one before it.
type oddness uint8

const (
	oddNone      oddness = iota
	oddGap               // offsets are missing before it
	oddBackwards         // it starts below the end of the one before it
	oddEpoch             // its leader epoch is lower than that of the one before it
)

func frameOf(f *segment.Frame) frame {
	out := frame{kind: f.Kind, pos: f.Pos, len: f.Len, claimed: f.Claimed, head: f.Batch.Header, legacy: f.Legacy}
	if f.Damage != nil {
		out.badCRC = errors.Is(f.Damage, batch.ErrCRC)
		if !errors.Is(f.Damage, segment.ErrNoBatch) {
			out.damage = f.Damage.Error()
		}
	}
	return out
}

func (f *frame) end() int64 { return f.pos + f.len }

// isMessage: an embedded message of the old formats, or a frame of one.
func (f *frame) isMessage() bool {
	return f.kind == segment.Legacy || f.kind == segment.Embedded && f.head.Length == 0
}

// hasOffsets tells frames that are a part of the log.
func (f *frame) hasOffsets() bool { return f.kind == segment.Batch || f.kind == segment.Legacy }

// offsets are the first and the last offset of a part of the log, both inclusive.
func (f *frame) offsets() (first, last int64) {
	if f.isMessage() {
		return f.legacy.Offset, f.legacy.Offset
	}
	return f.head.BaseOffset, f.head.LastOffset()
}

// next is the offset behind the frame, -1 where it has none.
func (f *frame) next() int64 {
	first, last := f.offsets()
	if !f.hasOffsets() || last < first || last+1 < 0 {
		return -1
	}
	return last + 1
}

// maxTimestamp in ms, -1 none.
func (f *frame) maxTimestamp() int64 {
	switch {
	case !f.hasOffsets() && f.kind != segment.Embedded:
		return -1
	case f.isMessage():
		return f.legacy.Timestamp
	}
	return f.head.MaxTimestamp
}

// after notes what is odd about f beside the part of the log before it, which ended at
// offset next under epoch; below 0 not known.
func (f *frame) after(next int64, epoch int32) {
	if !f.hasOffsets() || next < 0 {
		return
	}
	first, _ := f.offsets()
	switch {
	case first < next:
		f.odd, f.expected = oddBackwards, next
	case f.kind == segment.Batch && epoch >= 0 && f.head.PartitionLeaderEpoch >= 0 && f.head.PartitionLeaderEpoch < epoch:
		f.odd, f.expected = oddEpoch, int64(epoch)
	case first > next && !f.isMessage():
		f.odd, f.expected = oddGap, next
	}
}

// follow is after for a frame behind others.
func (f *frame) follow(before []frame) {
	for i := len(before) - 1; i >= 0; i-- {
		if b := &before[i]; b.hasOffsets() {
			f.after(b.next(), b.epoch())
			return
		}
	}
}

func (f *frame) epoch() int32 {
	if f.kind == segment.Batch || f.kind == segment.Embedded && !f.isMessage() {
		return f.head.PartitionLeaderEpoch
	}
	return -1
}

// level says how bad it is. gaps: offsets may be missing, as in a compacted log.
func (f *frame) level(gaps bool) level {
	switch {
	case f.kind == segment.Junk, f.hasOffsets() && f.damage != "":
		return levelDamage
	case !f.hasOffsets():
		return levelWarning // normal at the end after a kill: whether it is there is for check to say
	case f.odd == oddBackwards:
		return levelDamage
	case f.odd == oddEpoch, f.odd == oddGap && !gaps:
		return levelWarning
	case f.odd == oddGap:
		return levelNote
	}
	return levelNone
}

// says is what there is to say of a frame beside its numbers, best first.
func (f *frame) says() string {
	switch f.kind {
	case segment.Zeros:
		return "zeros: no batch (preallocated, not written before a crash, or a hole)"
	case segment.Torn:
		if f.claimed > f.len {
			return "torn: a batch of " + itoa(f.claimed) + " bytes of which " + itoa(f.len) + " are in the file"
		}
		return "torn: too few bytes for a batch; Kafka ignores them"
	case segment.Junk:
		if f.damage != "" {
			return "junk: no batch can be made out: " + f.damage
		}
		return "junk: no batch can be made out"
	case segment.Embedded:
		return "embedded: a whole batch that is no part of this log"
	}
	text := ""
	add := func(s string) {
		if s == "" {
			return
		}
		if text != "" {
			text += ", "
		}
		text += s
	}
	add(f.damage)
	switch f.odd {
	case oddBackwards:
		add("starts below offset " + itoa(f.expected) + ", the end of the one before")
	case oddEpoch:
		add("epoch below " + itoa(f.expected) + " before it")
	case oddGap:
		first, _ := f.offsets()
		add("offsets " + span(f.expected, first) + " are missing before it")
	}
	if f.isMessage() {
		add("message format " + itoa(int32(f.legacy.Magic)))
		if f.legacy.Codec() != batch.None {
			add("wrapper: its offset is that of the last message in it")
		}
		return text
	}
	add(producerText(&f.head))
	return text
}

// producerText is the producer and the flags of a batch.
func producerText(h *batch.Header) string {
	text := ""
	add := func(s string) {
		if text != "" {
			text += ", "
		}
		text += s
	}
	if h.HasProducer() {
		add("producer " + itoa(h.ProducerID) + " epoch " + itoa(int32(h.ProducerEpoch)))
		if h.BaseSequence != -1 {
			text += " seq " + itoa(h.BaseSequence)
			if last := h.LastSequence(); last != h.BaseSequence {
				text += "–" + itoa(last)
			}
		}
	}
	a := h.Attributes
	if a.Transactional() {
		add("transactional")
	}
	if a.Control() {
		add("control")
	}
	if a.TimestampType() == batch.LogAppendTime {
		add("LogAppendTime")
	}
	if a.DeleteHorizon() {
		add("delete horizon " + timestamp(h.BaseTimestamp))
	}
	return text
}

// timestamp is milliseconds since 1970, or the number where that is no year of people;
// "-" for none.
func timestamp(ms int64) string {
	const lastYear = 253402300799999
	switch {
	case ms == -1:
		return "-"
	case ms < 0 || ms > lastYear:
		return itoa(ms) + " ms"
	}
	return clock(ms)
}

// frameColumns are the columns of a list of batches.
var frameColumns = []column{
	{name: "position", right: true},
	{name: "offset", right: true},
	{name: "last", right: true},
	{name: "epoch", right: true},
	{name: "records", right: true},
	{name: "size", right: true},
	{name: "codec"},
	{name: "crc"},
	{name: "time", min: 24},
	{name: "what", grow: true, max: 100},
}

// The columns by name.
const (
	framePosition = iota
	frameOffset
	frameLast
	frameEpoch
	frameRecords
	frameSize
	frameCodec
	frameCRC
	frameTime
	frameWhat
)

// frameRows are frames that lie in memory. They are not changed after they were made.
type frameRows struct {
	list []frame
	gaps bool
	file string // shown path
	path string // as typed
}

func (r *frameRows) Len() int               { return len(r.list) }
func (r *frameRows) Severity(row int) level { return r.list[row].level(r.gaps) }
func (r *frameRows) Path(int) string        { return r.path }

func (r *frameRows) Cell(row, col int) string { return frameCell(&r.list[row], col) }

func frameCell(f *frame, col int) string {
	switch col {
	case framePosition:
		return itoa(f.pos)
	case frameSize:
		return itoa(f.len)
	case frameWhat:
		return f.says()
	}
	if !f.hasOffsets() && f.kind != segment.Embedded {
		return ""
	}
	first, last := f.offsets()
	switch col {
	case frameOffset:
		if f.isMessage() && f.legacy.Codec() != batch.None {
			return "≤" + itoa(first) // a wrapper does not say where its messages begin
		}
		return itoa(first)
	case frameLast:
		return itoa(last)
	case frameTime:
		return timestamp(f.maxTimestamp())
	case frameCRC:
		if f.badCRC {
			return "BAD"
		}
		return "ok"
	}
	if f.isMessage() {
		if col == frameCodec {
			return f.legacy.Codec().String()
		}
		return "-"
	}
	switch col {
	case frameEpoch:
		return itoa(f.head.PartitionLeaderEpoch)
	case frameRecords:
		return itoa(f.head.RecordCount)
	}
	return f.head.Attributes.Codec().String()
}

func (r *frameRows) Value(row, col int) any { return frameValue(&r.list[row], col) }

func frameValue(f *frame, col int) any {
	switch col {
	case framePosition:
		return f.pos
	case frameSize:
		return f.len
	case frameWhat:
		return f.says()
	}
	if !f.hasOffsets() && f.kind != segment.Embedded {
		return nil
	}
	first, last := f.offsets()
	switch col {
	case frameOffset:
		return first
	case frameLast:
		return last
	case frameTime:
		if ms := f.maxTimestamp(); ms >= 0 {
			return timeOf(ms)
		}
		return nil
	case frameEpoch, frameRecords:
		if f.isMessage() {
			return nil
		}
		if col == frameEpoch {
			return int64(f.head.PartitionLeaderEpoch)
		}
		return int64(f.head.RecordCount)
	}
	return frameCell(f, col)
}

func (r *frameRows) Level(row, col int) level {
	f := &r.list[row]
	switch {
	case col == frameCRC && f.badCRC:
		return levelDamage
	case col == frameWhat:
		if l := f.level(r.gaps); l >= levelNote {
			return l
		}
	}
	return levelNone
}

// JSON is the line of dump --json.
func (r *frameRows) JSON(row int) any { return frameJSON(&r.list[row], r.file) }

func frameJSON(f *frame, file string) any {
	m := map[string]any{"file": file, "position": f.pos, "length": f.len, "damage": nil}
	if f.damage != "" {
		m["damage"] = f.damage
	}
	if f.kind != segment.Batch {
		m["type"], m["kind"] = "frame", f.kind.String()
		if f.hasOffsets() || f.kind == segment.Embedded {
			first, last := f.offsets()
			m["from"], m["to"] = first, last+1
		}
		return m
	}
	h := &f.head
	m["type"], m["from"], m["to"], m["crcOk"] = "batch", h.BaseOffset, h.NextOffset(), !f.badCRC
	m["baseOffset"], m["batchLength"], m["partitionLeaderEpoch"], m["magic"] = h.BaseOffset, h.Length, h.PartitionLeaderEpoch, h.Magic
	m["crc"], m["attributes"], m["codec"] = hex32(h.CRC), int16(h.Attributes), h.Attributes.Codec().String()
	m["timestampType"], m["transactional"], m["control"] = h.Attributes.TimestampType().String(), h.Attributes.Transactional(), h.Attributes.Control()
	m["deleteHorizon"], m["lastOffsetDelta"] = h.Attributes.DeleteHorizon(), h.LastOffsetDelta
	m["baseTimestampMs"], m["maxTimestampMs"] = h.BaseTimestamp, h.MaxTimestamp
	m["producerId"], m["producerEpoch"], m["baseSequence"], m["recordCount"] = h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.RecordCount
	return m
}
