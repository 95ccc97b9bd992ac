package tui

import (
	"encoding/binary"
	"fmt"

	"kafsck/batch"
	"kafsck/internal/visible"
	"kafsck/internal/wire"
	"kafsck/segment"
)

// space says what the bytes of a field are counted in.
type space uint8

const (
	inFrame   space = iota // bytes of the frame, as they lie in the file
	inRecords              // decompressed records of a compressed batch: not in the file
	nowhere                // computed or explained; no bytes of its own
)

// field is a line of the field tree.
type field struct {
	name     string // Kafka's
	value    string // raw
	from, to int64  // bytes [from, to) in its space
	in       space
	depth    int
	level    level
	// jump: opening it goes to this byte of the frame, -1 nowhere.
	jump int64
}

// batchFields are the fields of the header of magic 2, in the order of the bytes (see
// batch.Header). raw is the frame, or its first bytes where that is not in memory.
//
// Source: org.apache.kafka.common.record.DefaultRecordBatch.
func batchFields(d *batchData) []field {
	h := &d.frame.head
	var out []field
	add := func(name string, from, to int64, value string) *field {
		out = append(out, field{name: name, value: value, from: from, to: to, jump: -1})
		return &out[len(out)-1]
	}
	bit := func(name, value string) *field {
		f := add(name, 21, 23, value)
		f.depth = 1
		return f
	}
	add("baseOffset", 0, 8, itoa(h.BaseOffset))
	if f := add("batchLength", 8, 12, itoa(h.Length)+": the batch has "+itoa(h.Size())+" bytes"); d.frame.len != h.Size() && d.frame.kind != segment.Embedded {
		f.level = levelDamage
		f.value = itoa(h.Length) + ": " + itoa(h.Size()) + " bytes, and here are " + itoa(d.frame.len)
	}
	add("partitionLeaderEpoch", 12, 16, itoa(h.PartitionLeaderEpoch))
	add("magic", 16, 17, itoa(int32(h.Magic)))
	crc := add("crc", 17, 21, hex32(h.CRC)+" stored")
	switch {
	case d.raw == nil:
		crc.value += "; not computed here"
	case d.computed == h.CRC:
		crc.value += ", computed the same"
		crc.level = levelOK
	default:
		crc.level = levelDamage
		f := add("computed", 21, d.frame.len, hex32(d.computed)+" over bytes 21 to the end")
		f.depth, f.level = 1, levelDamage
		if d.flip != nil {
			f := add("one bit flipped", d.flip.Position, d.flip.Position+1, fmt.Sprintf("bit %d of byte %d (%s) explains it; enter goes there", d.flip.Bit, d.flip.Position, d.flip.Field))
			f.depth, f.level, f.jump = 1, levelDamage, d.flip.Position
		} else if d.tried {
			f := add("more than one bit differs", 21, d.frame.len, "no single flipped bit explains it")
			f.depth, f.level = 1, levelDamage
		}
	}
	a := h.Attributes
	add("attributes", 21, 23, fmt.Sprintf("0x%04x", uint16(a)))
	codec := bit("bits 0–2 compression", a.Codec().String())
	if a.Codec() > 4 {
		codec.level = levelDamage
	}
	bit("bit 3 timestamp type", a.TimestampType().String())
	bit("bit 4 transactional", yesNo(a.Transactional()))
	bit("bit 5 control", yesNo(a.Control()))
	bit("bit 6 delete horizon", yesNo(a.DeleteHorizon()))
	if rest := uint16(a) >> 7; rest != 0 {
		bit("bits 7–15 unused", fmt.Sprintf("0x%03x: not 0", rest)).level = levelWarning
	}
	add("lastOffsetDelta", 23, 27, itoa(h.LastOffsetDelta)+": the last offset is "+itoa(h.LastOffset()))
	base := add("baseTimestamp", 27, 35, timestampAndMs(h.BaseTimestamp))
	if a.DeleteHorizon() {
		base.value += ": the delete horizon"
	}
	add("maxTimestamp", 35, 43, timestampAndMs(h.MaxTimestamp))
	add("producerId", 43, 51, none(h.ProducerID))
	add("producerEpoch", 51, 53, none(int64(h.ProducerEpoch)))
	seq := none(int64(h.BaseSequence))
	if last := h.LastSequence(); last >= 0 && last != h.BaseSequence {
		seq += ": the last one is " + itoa(last)
	}
	add("baseSequence", 53, 57, seq)
	count := add("recordsCount", 57, 61, itoa(h.RecordCount))
	if d.problem != "" && !d.limit {
		count.level = levelDamage
	}
	if d.frame.len > batch.HeaderSize {
		text := countOf(d.frame.len-batch.HeaderSize, "byte", "bytes")
		if d.compressed {
			text += " of " + a.Codec().String()
			if d.payload != nil {
				text += ", decompressed " + comma(int64(len(d.payload)))
			}
		}
		add("records", batch.HeaderSize, d.frame.len, text)
	}
	if d.problem != "" {
		f := add("records end here", 0, 0, d.problem)
		f.in, f.level = nowhere, levelDamage
		if d.limit {
			f.name, f.level = "not decoded", levelNote
		}
	}
	return out
}

func yesNo(b bool) string {
	if b {
		return "1, yes"
	}
	return "0, no"
}

func none(n int64) string {
	if n == -1 {
		return "-1: none"
	}
	return itoa(n)
}

func timestampAndMs(ms int64) string {
	if ms == -1 {
		return "-1: none"
	}
	if t := clock(ms); t != "" && timestamp(ms) == t {
		return itoa(ms) + "  " + t
	}
	return itoa(ms)
}

// legacyFields are the fields of a message of magic 0 or 1 (see batch.LegacyHeader), as
// far as they fit.
//
// Source: org.apache.kafka.common.record.LegacyRecord.
func legacyFields(d *batchData) []field {
	out := messageFields(d.raw, &d.frame.legacy)
	if d.compressed && len(out) > 0 {
		out[0].value += ": of the last message inside"
		if f := &out[len(out)-1]; f.name == "value" && d.payload != nil {
			f.value = countOf(f.to-f.from, "byte", "bytes") + " of " + d.frame.legacy.Codec().String() + ", decompressed " + comma(int64(len(d.payload))) + ", " + d.recordsText()
		}
	}
	if d.problem != "" {
		f := field{name: "messages end here", value: d.problem, in: nowhere, level: levelDamage, jump: -1}
		if d.limit {
			f.name, f.level = "not decoded", levelNote
		}
		out = append(out, f)
	}
	return out
}

// innerFields are the fields of a message inside a wrapper, at byte at of what that holds.
func innerFields(raw []byte, at int64, old *oldRecords) []field {
	h, err := batch.ParseLegacyHeader(raw)
	if err != nil {
		return []field{{name: "malformed", value: err.Error(), from: at, to: at + int64(len(raw)), in: inRecords, depth: 1, level: levelDamage, jump: -1}}
	}
	out := messageFields(raw, &h)
	if old.base != 0 {
		out[0].value += ": offset " + itoa(h.Offset+old.base)
	}
	for i := range out {
		f := &out[i]
		f.from, f.to, f.in, f.depth = f.from+at, f.to+at, inRecords, 1
		if f.name == "timestamp" && h.Magic == 1 && old.wrapper.TimestampType() == batch.LogAppendTime {
			f.value += ": not used, the wrapper has LogAppendTime"
		}
	}
	return out
}

// messageFields are the fields of the message that fills raw, which is nil where it is not in
// memory.
func messageFields(raw []byte, h *batch.LegacyHeader) []field {
	var out []field
	add := func(name string, from, to int64, value string) *field {
		out = append(out, field{name: name, value: value, from: from, to: to, jump: -1})
		return &out[len(out)-1]
	}
	add("offset", 0, 8, itoa(h.Offset))
	add("messageSize", 8, 12, itoa(h.Size))
	crc := add("crc", 12, 16, hex32(h.CRC)+" stored")
	switch {
	case raw == nil:
		crc.value += "; not computed here"
	case batch.CheckLegacyCRC(raw) != nil:
		crc.level = levelDamage
		crc.value += "; the bytes give another one"
	default:
		crc.value += ", computed the same"
		crc.level = levelOK
	}
	add("magic", 16, 17, itoa(int32(h.Magic)))
	attributes := add("attributes", 17, 18, fmt.Sprintf("0x%02x: %s", uint8(h.Attributes), h.Codec()))
	at := int64(18)
	if h.Magic > 0 {
		attributes.value += ", " + h.TimestampType().String()
		add("timestamp", 18, 26, timestampAndMs(h.Timestamp))
		at = 26
	}
	for _, name := range []string{"key", "value"} {
		if at+4 > int64(len(raw)) {
			return out
		}
		n := int64(int32(binary.BigEndian.Uint32(raw[at:])))
		add(name+"Length", at, at+4, none(n))
		at += 4
		if n < 0 {
			continue
		}
		if n > int64(len(raw))-at {
			add(name, at, int64(len(raw)), "longer than the message").level = levelDamage
			return out
		}
		add(name, at, at+n, preview(raw[at:at+n]))
		at += n
	}
	return out
}

// otherFields tell of bytes that are no batch.
func otherFields(d *batchData) []field {
	f := &d.frame
	out := []field{{name: f.kind.String(), value: f.says(), in: nowhere, level: f.level(true), jump: -1}}
	add := func(name string, from, to int64, value string) *field {
		out = append(out, field{name: name, value: value, from: from, to: to, jump: -1})
		return &out[len(out)-1]
	}
	switch f.kind {
	case segment.Zeros:
		add("zeros", 0, f.len, countOf(f.len, "zero byte", "zero bytes"))
		return out
	case segment.Junk:
		add("bytes", 0, f.len, countOf(f.len, "byte", "bytes"))
	}
	if len(d.start) < 12 {
		return out
	}
	// What a header that Kafka would read here says.
	add("baseOffset as read", 0, 8, itoa(int64(binary.BigEndian.Uint64(d.start))))
	length := int64(int32(binary.BigEndian.Uint32(d.start[8:])))
	claim := add("batchLength as read", 8, 12, itoa(length))
	switch {
	case length < 14:
		claim.value += ": Kafka refuses less than 14"
		claim.level = levelDamage
	case 12+length > f.len:
		claim.value += ": " + comma(12+length-f.len) + " more than there are"
		claim.level = levelWarning
	}
	if h, err := batch.ParseHeader(d.start); err == nil || h.Magic == 2 && len(d.start) >= batch.HeaderSize {
		add("partitionLeaderEpoch", 12, 16, itoa(h.PartitionLeaderEpoch))
		add("magic", 16, 17, itoa(int32(h.Magic)))
		add("crc", 17, 21, hex32(h.CRC))
		add("attributes", 21, 23, fmt.Sprintf("0x%04x: %s", uint16(h.Attributes), h.Attributes.Codec()))
		add("lastOffsetDelta", 23, 27, itoa(h.LastOffsetDelta))
		add("baseTimestamp", 27, 35, timestampAndMs(h.BaseTimestamp))
		add("maxTimestamp", 35, 43, timestampAndMs(h.MaxTimestamp))
		add("producerId", 43, 51, none(h.ProducerID))
		add("producerEpoch", 51, 53, none(int64(h.ProducerEpoch)))
		add("baseSequence", 53, 57, none(int64(h.BaseSequence)))
		add("recordsCount", 57, 61, itoa(h.RecordCount))
	} else if len(d.start) > 16 {
		add("magic", 16, 17, itoa(int32(int8(d.start[16])))+": not 2")
	}
	return out
}

// recordFields takes one record apart (see batch.View.Records). b are the records, at is
// where it begins, in what the positions count: a batch that is not compressed has its
// header before them. Fields that do not fit end the list with what is wrong.
//
// Source: org.apache.kafka.common.record.DefaultRecord.readFrom.
func recordFields(b []byte, at, end int64, in space, h *batch.Header, shift int64) []field {
	b = b[:min(end, int64(len(b)))]
	if at > int64(len(b)) {
		return nil
	}
	r := wire.New(b[at:])
	var out []field
	begin := int64(0)
	add := func(name, value string) *field {
		out = append(out, field{name: name, value: value, from: shift + at + begin, to: shift + at + r.Pos(), in: in, depth: 1, jump: -1})
		begin = r.Pos()
		return &out[len(out)-1]
	}
	broken := func() bool {
		if err := r.Err(); err != nil {
			f := add("malformed", err.Error())
			f.level = levelDamage
			f.to = shift + int64(len(b))
			return true
		}
		return false
	}
	number := func(name string, n int32) bool {
		if broken() {
			return false
		}
		text := itoa(n)
		if n == -1 && name != "offsetDelta" {
			text = "-1: null"
		}
		add(name, text)
		return true
	}
	bytes := func(name string, n int32) bool {
		if n < 0 {
			return true
		}
		v := r.Bytes(int64(n))
		if broken() {
			return false
		}
		add(name, preview(v))
		return true
	}
	if n := r.Varint(); !number("length", n) {
		return out
	}
	attributes := r.Int8()
	if broken() {
		return out
	}
	add("attributes", itoa(int32(attributes)))
	delta := r.Varlong()
	if broken() {
		return out
	}
	if h.Attributes.TimestampType() == batch.LogAppendTime {
		add("timestampDelta", itoa(delta)+": not used, the batch has LogAppendTime")
	} else {
		add("timestampDelta", itoa(delta)+": "+timestamp(h.BaseTimestamp+delta))
	}
	offset := r.Varint()
	if broken() {
		return out
	}
	add("offsetDelta", itoa(offset)+": offset "+itoa(h.BaseOffset+int64(offset)))
	for _, name := range []string{"key", "value"} {
		n := r.Varint()
		if !number(name+"Length", n) || !bytes(name, n) {
			return out
		}
	}
	count := r.Varint()
	if !number("headersCount", count) {
		return out
	}
	const most = 1000
	for i := int32(0); i < count; i++ {
		if i == most {
			begin = r.Pos()
			r.Skip(r.Remaining())
			add("headers", comma(int64(count-most))+" more are not taken apart here")
			return out
		}
		for _, name := range []string{"headerKey", "headerValue"} {
			n := r.Varint()
			if !number(name+"Length", n) || !bytes(name, n) {
				return out
			}
			for k := range out[len(out)-2:] {
				out[len(out)-2+k].depth = 2
			}
		}
	}
	if r.Remaining() > 0 {
		begin = r.Pos()
		r.Skip(r.Remaining())
		add("left over", "bytes behind the last header").level = levelDamage
	}
	return out
}

// preview is the beginning of a key or value on one line: text in quotes, anything else
// in hex. Raw: who shows it escapes it.
func preview(b []byte) string {
	if b == nil {
		return "null"
	}
	const most = 120
	shown := b[:min(len(b), most)]
	if !visible.IsText(visible.WholeRunes(b[:min(len(b), 1024)])) {
		text := "0x" + fmt.Sprintf("%x", shown[:min(len(shown), 32)])
		if len(b) > 32 {
			text += "… (" + countOf(int64(len(b)), "byte", "bytes") + ")"
		}
		return text
	}
	text := string(shown)
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return text + cutMark(len(b) > most, len(b))
	}
	return inQuotes(text) + cutMark(len(b) > most, len(b))
}

func cutMark(cut bool, n int) string {
	if !cut {
		return ""
	}
	return "… (" + countOf(int64(n), "byte", "bytes") + ")"
}

// inQuotes puts text into quotes without changing it: escaping is for who shows it.
func inQuotes(s string) string { return `"` + s + `"` }

// recordLength is the number of bytes of the record that b begins with, its length field
// included.
func recordLength(b []byte) (int64, bool) {
	r := wire.New(b)
	n := int64(r.Varint())
	if r.Err() != nil || n < 0 || n > r.Remaining() {
		return 0, false
	}
	return r.Pos() + n, true
}
