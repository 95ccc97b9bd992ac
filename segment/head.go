package segment

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"kafsck/batch"
)

const (
	// overhead is the part of the file's end that Kafka ignores silently: 17 bytes are not
	// enough to see a magic byte (FileLogInputStream.nextBatch, HEADER_SIZE_UP_TO_MAGIC).
	overhead = 17

	minLegacy = batch.LogOverhead + batch.LegacyMinSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is what the first bytes at a position say when read as a header, of a batch or
// of a message, and whether a writer could have written that.
//
//	0        8      12         16 17          21
//	+--------+------+----------+--+-----------+---- …  magic 2: crc at 17, covers 21 …
//	| offset |length| epoch/crc|m | crc/…     |        magic 0, 1: crc at 12, covers 16 …
//	+--------+------+----------+--+-----------+---- …
type head struct {
	magic  int8
	length int32
	base   int64 // base offset; of a message its offset
	next   int64 // offset behind the last record; base if that would overflow
	count  int32 // records; of a message 1
	codec  batch.Codec
	crc    uint32
	// sane: all fields but the length have values that a writer could have written. Of
	// a header cut by the end of the file only the fields that are there count.
	sane bool
}

func (h *head) legacy() bool { return h.magic < 2 }

// total is the size in bytes that the header claims, for the whole batch or message.
func (h *head) total() int64 { return batch.LogOverhead + int64(h.length) }

// minTotal is the smallest size that Kafka's reader of that magic accepts. For magic 2
// Kafka's walker itself would follow any length from 14; the batch is corrupt then.
func (h *head) minTotal() int64 {
	switch {
	case h.magic >= 2:
		return batch.HeaderSize
	case h.magic == 1:
		return minLegacy + 8
	}
	return minLegacy
}

// covered is where the bytes under the CRC begin.
func (h *head) covered() int64 {
	if h.legacy() {
		return 16
	}
	return 21
}

func (h *head) table() *crc32.Table {
	if h.legacy() {
		return crc32.IEEETable
	}
	return castagnoli
}

// readHead reads b, which begins at a header, is longer than 17 bytes and should hold
// headPeek bytes unless the file ends before.
func readHead(b []byte) head {
	h := head{
		base:   int64(binary.BigEndian.Uint64(b)),
		length: int32(binary.BigEndian.Uint32(b[8:])),
		magic:  int8(b[16]),
	}
	h.next = h.base
	h.count = 1
	if h.legacy() {
		h.crc = binary.BigEndian.Uint32(b[12:])
		if h.base < math.MaxInt64 {
			h.next = h.base + 1
		}
		h.sane = h.magic >= 0 && h.base >= 0 && saneLegacy(h.magic, b)
		return h
	}
	if len(b) < batch.HeaderSize {
		h.sane = h.magic == 2 && h.base >= 0 && int32(binary.BigEndian.Uint32(b[12:])) >= -1 &&
			(len(b) < 23 || saneAttributes(b))
		return h
	}
	h.crc = binary.BigEndian.Uint32(b[17:])
	delta := int32(binary.BigEndian.Uint32(b[23:]))
	if delta >= 0 && h.base <= math.MaxInt64-1-int64(delta) {
		h.next = h.base + int64(delta) + 1
	}
	h.count = int32(binary.BigEndian.Uint32(b[57:]))
	h.codec = batch.Codec(b[22] & 7)
	h.sane = h.magic == 2 && h.base >= 0 && h.next > h.base && saneAttributes(b) &&
		int32(binary.BigEndian.Uint32(b[12:])) >= -1 && // partitionLeaderEpoch
		int64(binary.BigEndian.Uint64(b[27:])) >= -1 && // baseTimestamp
		int64(binary.BigEndian.Uint64(b[35:])) >= -1 && // maxTimestamp
		int64(binary.BigEndian.Uint64(b[43:])) >= -1 && // producerId
		int16(binary.BigEndian.Uint16(b[51:])) >= -1 && // producerEpoch
		int32(binary.BigEndian.Uint32(b[53:])) >= -1 && // baseSequence
		h.count >= 0 && int64(h.count) <= int64(delta)+1 // fewer after compaction
	return h
}

// saneAttributes: codecs 0 to 4; bits 7 to 15 are written as 0.
func saneAttributes(b []byte) bool {
	return b[21] == 0 && b[22]&0x80 == 0 && b[22]&7 <= 4
}

// saneLegacy checks what a message says before its key. Most runs of zeros pass for
// magic 0 up to here; see fillsExactly for what tells them apart.
func saneLegacy(magic int8, b []byte) bool {
	attributes := b[17]
	if magic == 0 {
		return attributes <= 3
	}
	return attributes <= 15 && attributes&7 <= 3 &&
		(len(b) < 26 || int64(binary.BigEndian.Uint64(b[18:])) >= -1)
}

// keyLength returns the position, from the message's first byte, of the key length and
// its value; ok is false if b ends before it.
func keyLength(magic int8, b []byte) (at, n int64, ok bool) {
	at = 18
	if magic == 1 {
		at = 26
	}
	if int64(len(b)) < at+4 {
		return at, 0, false
	}
	return at, int64(int32(binary.BigEndian.Uint32(b[at:]))), true
}

// minRecord is the size of a record without key, value and headers.
const minRecord = 7

// likelyPayload reports whether the first bytes behind the header, b, look like records, or
// compressed ones, of which there are n bytes. Damage after all may have hit just these.
func (h *head) likelyPayload(b []byte, n int64) bool {
	if h.count == 0 {
		return n == 0
	}
	switch h.codec {
	case batch.Gzip:
		return bytes.HasPrefix(b, []byte{0x1f, 0x8b})
	case batch.Snappy:
		return bytes.HasPrefix(b, []byte("\x82SNAPPY\x00"))
	case batch.LZ4:
		return bytes.HasPrefix(b, []byte{0x04, 0x22, 0x4d, 0x18})
	case batch.Zstd:
		return bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd})
	}
	length, k := binary.Varint(b) // of the first record
	first, others := int64(k)+length, int64(h.count-1)*minRecord
	return k > 0 && length >= minRecord-1 && length <= n && first+others <= n && (others > 0 || first == n)
}

// decodeHeader is batch.ParseHeader for a plausible header, in place. Returning the Header by
// value would take as long as the CRC of a small batch.
func decodeHeader(h *batch.Header, b *[batch.HeaderSize]byte) {
	be := binary.BigEndian
	h.BaseOffset = int64(be.Uint64(b[0:]))
	h.Length = int32(be.Uint32(b[8:]))
	h.PartitionLeaderEpoch = int32(be.Uint32(b[12:]))
	h.Magic = int8(b[16])
	h.CRC = be.Uint32(b[17:])
	h.Attributes = batch.Attributes(be.Uint16(b[21:]))
	h.LastOffsetDelta = int32(be.Uint32(b[23:]))
	h.BaseTimestamp = int64(be.Uint64(b[27:]))
	h.MaxTimestamp = int64(be.Uint64(b[35:]))
	h.ProducerID = int64(be.Uint64(b[43:]))
	h.ProducerEpoch = int16(be.Uint16(b[51:]))
	h.BaseSequence = int32(be.Uint32(b[53:]))
	h.RecordCount = int32(be.Uint32(b[57:]))
}
