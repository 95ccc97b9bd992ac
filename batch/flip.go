package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Flip is the one bit whose change explains why the CRC stored in a batch or
// message is not that of its bytes.
type Flip struct {
	Position int64  // byte, counted from the first byte of the batch
	Bit      int    // 0 is the lowest bit of that byte
	Field    string // what lies there: "crc", "attributes", …, "records" behind the header
}

// FindFlip looks for the single bit that explains a CRC mismatch: a bit of the
// stored CRC itself or one of the bytes under it. raw is one whole batch of magic
// 2, or one message of magic 0 or 1 with its offset and size. ok is false if the
// CRC matches, or if more than one bit is wrong: then nothing at all can be said.
//
// A CRC is linear: the difference of stored and computed value depends only on
// which bits changed, not on what they were. Running that difference backwards
// through the CRC, a zero byte at a time, gives for each byte the value that would
// have to be mixed in there; where it is a power of two below 256, one bit
// explains all. Both polynomials tell any two bits of a batch apart (their order
// is 2³¹-1 and 2³²-1 bits), so the answer is the only one. The cost is a few
// nanoseconds a byte; nothing is allocated.
func FindFlip(raw []byte) (f Flip, ok bool) {
	if len(raw) < LogOverhead+minLegacyMessage {
		return Flip{}, false
	}
	start, table, rev, crcAt := crcBytes, castagnoli, &castagnoliReverse, crcPosition
	if int8(raw[magicPosition]) < 2 {
		start, table, rev, crcAt = legacyCRCBytes, crc32.IEEETable, &ieeeReverse, LogOverhead
	}
	if len(raw) < start {
		return Flip{}, false
	}
	stored := binary.BigEndian.Uint32(raw[crcAt:])
	diff := stored ^ crc32.Checksum(raw[start:], table)
	if diff == 0 {
		return Flip{}, false
	}
	if bits.OnesCount32(diff) == 1 {
		bit := bits.TrailingZeros32(diff)
		return Flip{Position: int64(crcAt + 3 - bit/8), Bit: bit % 8, Field: "crc"}, true
	}
	for i := len(raw) - 1; i >= start; i-- {
		index := rev[diff>>24]
		diff = (diff^table[index])<<8 | uint32(index)
		if diff < 256 && diff&(diff-1) == 0 {
			return Flip{Position: int64(i), Bit: bits.TrailingZeros32(diff), Field: fieldAt(raw, i)}, true
		}
	}
	return Flip{}, false
}

const (
	magicPosition    = 16
	crcPosition      = 17 // of magic 2
	crcBytes         = 21 // first byte under the CRC of magic 2
	legacyCRCBytes   = 16 // the same of magic 0 and 1, whose CRC stands before the magic byte
	minLegacyMessage = 14 // CRC, magic, attributes, key and value length
)

// castagnoliReverse and ieeeReverse find an entry of the CRC table by its highest
// byte, which is different in each of the 256.
var castagnoliReverse, ieeeReverse = reverse(castagnoli), reverse(crc32.IEEETable)

func reverse(table *crc32.Table) (r [256]byte) {
	for i, v := range table {
		r[v>>24] = byte(i)
	}
	return r
}

// fieldAt names what lies at a byte of a batch or message.
func fieldAt(raw []byte, i int) string {
	magic := int8(raw[magicPosition])
	fields := headerFields
	if magic < 2 {
		fields = messageFields
	}
	name := ""
	for _, f := range fields {
		if i >= f.from {
			name = f.name
		}
	}
	if magic == 0 && i >= 18 { // no timestamp
		return "key and value"
	}
	if name == "records" && Attributes(binary.BigEndian.Uint16(raw[crcBytes:])).Codec() != None {
		return "compressed records"
	}
	return name
}

type fieldStart struct {
	from int
	name string
}

// headerFields are the fields of a batch of magic 2, messageFields those of a
// message of magic 1, in the order of the bytes, each up to the next one.
var (
	headerFields = []fieldStart{
		{0, "base offset"}, {8, "length"}, {12, "leader epoch"}, {16, "magic"}, {17, "crc"}, {21, "attributes"}, {23, "last offset delta"}, {27, "base timestamp"},
		{35, "max timestamp"}, {43, "producer id"}, {51, "producer epoch"}, {53, "base sequence"}, {57, "record count"}, {61, "records"},
	}
	messageFields = []fieldStart{
		{0, "offset"}, {8, "size"}, {12, "crc"}, {16, "magic"}, {17, "attributes"}, {18, "timestamp"}, {26, "key and value"},
	}
)
