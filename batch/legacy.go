package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// LegacyMinSize is the smallest messageSize that Kafka's readers accept for magic 0
// and 1 (LegacyRecord.RECORD_OVERHEAD_V0): crc, magic, attributes, two lengths.
const LegacyMinSize = 14

// LegacyHeader is the fixed part of a message of magic 0 or 1, which stood in logs
// before Kafka 0.11. A compressed message is a wrapper: its value holds messages.
//
//	0        8     12     16 17 18                        18       26
//	+--------+-----+------+-+-+---- … magic 0      or     +--------+---- … magic 1
//	| offset |size | CRC  |m|a| key, value                |  time- | key, value
//	|        |     |      | | | lengths first             |  stamp | lengths first
//	+--------+-----+------+-+-+---- …                     +--------+---- …
//	|<- not covered by CRC -->|<- m: magic, a: attributes, both covered
//
// Source: org.apache.kafka.common.record.LegacyRecord, AbstractLegacyRecordBatch.
type LegacyHeader struct {
	Offset     int64  // of a wrapper: the offset of its last inner message
	Size       int32  // bytes after this field; the message has 12 more
	CRC        uint32 // CRC-32 (IEEE) of bytes 16 … end
	Magic      int8   // 0 or 1
	Attributes int8   // bits 0–2 codec; bit 3 timestamp type (magic 1)
	Timestamp  int64  // ms; -1 = none, always so in magic 0
}

// ParseLegacyHeader reads the header at the beginning of b, which may be longer.
//
// Errors: ErrLength if b has less than 26 bytes (the smallest message of magic 0, and
// the fixed part of magic 1; the header is then zero) or Size is below LegacyMinSize
// (magic 1: 22); ErrMagic if the magic is neither 0 nor 1. In the last two cases the
// header is filled in nevertheless.
func ParseLegacyHeader(b []byte) (LegacyHeader, error) {
	h := LegacyHeader{Timestamp: -1}
	if len(b) < LogOverhead+LegacyMinSize {
		return LegacyHeader{}, &Error{Pos: int64(len(b)), Field: "message", Want: itoa(LogOverhead+LegacyMinSize) + " bytes", Got: itoa(len(b)), Err: ErrLength}
	}
	h.Offset = int64(binary.BigEndian.Uint64(b[0:]))
	h.Size = int32(binary.BigEndian.Uint32(b[8:]))
	h.CRC = binary.BigEndian.Uint32(b[12:])
	h.Magic = int8(b[16])
	h.Attributes = int8(b[17])
	least := int32(LegacyMinSize)
	switch h.Magic {
	case 0:
	case 1:
		least += 8
		h.Timestamp = int64(binary.BigEndian.Uint64(b[18:]))
	default:
		return h, &Error{Pos: 16, Field: "magic", Want: "0 or 1", Got: itoa(h.Magic), Err: ErrMagic}
	}
	if h.Size < least {
		return h, &Error{Pos: 8, Field: "messageSize", Want: "at least " + itoa(least), Got: itoa(h.Size), Err: ErrLength}
	}
	return h, nil
}

// TotalSize is the number of bytes of the whole message as Size claims.
func (h *LegacyHeader) TotalSize() int64 { return LogOverhead + int64(h.Size) }

// Codec is the compression of the value; not None means a wrapper.
func (h *LegacyHeader) Codec() Codec { return Codec(h.Attributes & codecMask) }

// TimestampType is NoTimestampType for magic 0, which has no timestamps at all.
func (h *LegacyHeader) TimestampType() TimestampType {
	if h.Magic < 1 {
		return NoTimestampType
	}
	return TimestampType(h.Attributes&timestampTypeMask) >> 3
}

// CheckLegacyCRC checks the message that fills raw exactly. It returns nil, an *Error
// wrapping ErrCRC with both values in hex, or one wrapping ErrLength if raw is too
// short to hold a checksum and something to check. The CRC covers everything after
// itself, but neither offset nor size.
func CheckLegacyCRC(raw []byte) error {
	if len(raw) < LogOverhead+LegacyMinSize {
		return &Error{Pos: int64(len(raw)), Field: "message", Want: itoa(LogOverhead+LegacyMinSize) + " bytes", Got: itoa(len(raw)), Err: ErrLength}
	}
	stored := binary.BigEndian.Uint32(raw[12:])
	if crc := crc32.ChecksumIEEE(raw[16:]); crc != stored {
		return &Error{Pos: 12, Field: "crc", Want: hex32(crc), Got: hex32(stored), Err: ErrCRC}
	}
	return nil
}
