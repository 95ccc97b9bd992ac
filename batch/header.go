package batch

import "encoding/binary"

// HeaderSize is the size of a magic 2 header, and so of the smallest batch.
const HeaderSize = 61

// LogOverhead is the size of base offset and length, which stand before every batch
// and message of any magic and are not counted by the length.
const LogOverhead = 12

// Header is the header of a magic 2 batch, in the order of the bytes.
//
//	0       8      12     16 17    21  23     27       35       43       51  53     57     61
//	+-------+-------+------+-+-----+---+------+--------+--------+--------+---+------+------+
//	| base  | length|leader|2| CRC |att|last  | base   | max    |producer|pro| base |record|
//	| offset|       |epoch | |     |   |offset| time-  | time-  | id     |ep.| seq. |count |
//	|       |       |      | |     |   |delta | stamp  | stamp  |        |   |      |      |
//	+-------+-------+------+-+-----+---+------+--------+--------+--------+---+------+------+
//	|<- not covered by the CRC --->|<- covered by the CRC, to the end of the batch ------ …
//
// Source: org.apache.kafka.common.record.DefaultRecordBatch.
//
// The CRC covers neither BaseOffset, Length, PartitionLeaderEpoch nor Magic: a flipped
// bit there goes unnoticed by Kafka, so each of them is evidence, not proof.
type Header struct {
	BaseOffset           int64
	Length               int32 // bytes after this field; the batch has 12 more
	PartitionLeaderEpoch int32 // -1 = unknown
	Magic                int8
	CRC                  uint32 // CRC-32C of bytes 21 … end
	Attributes           Attributes
	LastOffsetDelta      int32
	BaseTimestamp        int64 // ms; -1 = none; or the delete horizon (Attributes.DeleteHorizon)
	MaxTimestamp         int64 // ms; -1 = none
	ProducerID           int64 // -1 = none
	ProducerEpoch        int16 // -1 = none
	BaseSequence         int32 // -1 = none
	RecordCount          int32 // may be less than LastOffsetDelta+1 after compaction; 0 is legal
}

// ParseHeader reads the header at the beginning of b, which may be longer.
//
// Errors: ErrLength if b has less than 61 bytes (the Header is then zero) or if Length
// gives a batch of less than 61 bytes; ErrMagic if the magic is not 2. In the last two
// cases the Header is filled in nevertheless, so that it can be shown. All other values
// are facts, not errors, however strange. Success does not allocate.
func ParseHeader(b []byte) (Header, error) {
	var h Header
	if len(b) < HeaderSize {
		return h, &Error{Pos: int64(len(b)), Field: "header", Want: itoa(HeaderSize) + " bytes", Got: itoa(len(b)), Err: ErrLength}
	}
	h.decode((*[HeaderSize]byte)(b))
	if h.Magic != 2 {
		return h, &Error{Pos: 16, Field: "magic", Want: "2", Got: itoa(h.Magic), Err: ErrMagic}
	}
	if h.Length < HeaderSize-LogOverhead {
		return h, &Error{Pos: 8, Field: "batchLength", Want: "at least " + itoa(HeaderSize-LogOverhead), Got: itoa(h.Length), Err: ErrLength}
	}
	return h, nil
}

// Plausible reports whether ParseHeader would accept b. Unlike ParseHeader it does not
// allocate to say no: it is the first test of a search for the next header in junk.
func Plausible(b []byte) bool {
	return len(b) >= HeaderSize && b[16] == 2 &&
		int32(binary.BigEndian.Uint32(b[8:])) >= HeaderSize-LogOverhead
}

func (h *Header) decode(b *[HeaderSize]byte) {
	h.BaseOffset = int64(binary.BigEndian.Uint64(b[0:]))
	h.Length = int32(binary.BigEndian.Uint32(b[8:]))
	h.PartitionLeaderEpoch = int32(binary.BigEndian.Uint32(b[12:]))
	h.Magic = int8(b[16])
	h.CRC = binary.BigEndian.Uint32(b[17:])
	h.Attributes = Attributes(binary.BigEndian.Uint16(b[21:]))
	h.LastOffsetDelta = int32(binary.BigEndian.Uint32(b[23:]))
	h.BaseTimestamp = int64(binary.BigEndian.Uint64(b[27:]))
	h.MaxTimestamp = int64(binary.BigEndian.Uint64(b[35:]))
	h.ProducerID = int64(binary.BigEndian.Uint64(b[43:]))
	h.ProducerEpoch = int16(binary.BigEndian.Uint16(b[51:]))
	h.BaseSequence = int32(binary.BigEndian.Uint32(b[53:]))
	h.RecordCount = int32(binary.BigEndian.Uint32(b[57:]))
}

// Size is the number of bytes of the whole batch as Length claims, at least 61 if
// ParseHeader returned no error.
func (h *Header) Size() int64 { return LogOverhead + int64(h.Length) }

// LastOffset is the offset of the last record the batch was written with, inclusive;
// after compaction that record may be gone.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// NextOffset is LastOffset + 1, where the next batch may begin.
func (h *Header) NextOffset() int64 { return h.LastOffset() + 1 }

// HasProducer reports whether an idempotent or transactional producer wrote the batch.
// The producer id decides: batches of internal topics carry sequences without one.
func (h *Header) HasProducer() bool { return h.ProducerID > -1 }

// LastSequence is the sequence of the last record, inclusive, or -1 if there is none.
func (h *Header) LastSequence() int32 {
	if h.BaseSequence == -1 {
		return -1
	}
	return IncrementSequence(h.BaseSequence, h.LastOffsetDelta)
}
