package batch

import (
	"encoding/binary"

	"github.com/klauspost/compress/snappy"
)

// xerialMagic begins a payload in the framing of snappy-java.
const xerialMagic = "\x82SNAPPY\x00"

// A Snappy payload is in the framing of snappy-java, or one raw Snappy block:
//
//	0                 8         12        16
//	+-----------------+---------+---------+-------+-------------+-------+-----
//	| 82 "SNAPPY" 00  |version 1|compat. 1| n     | n bytes: a  | n     | …     big endian
//	+-----------------+---------+---------+-------+ raw block   +-------+-----
//
// A second header may stand where a length is expected (streams that were joined).
// Fewer than four bytes at the end are ignored. Source: SnappyInputStream.readHeader
// and hasNextChunk, which look at the version in a second header but not in the first.
func (d *Decompressor) unsnappy(payload []byte) error {
	if len(payload) == 0 {
		return codecError(0, Snappy, "empty payload")
	}
	if len(payload) < 16 || string(payload[:8]) != xerialMagic {
		return d.snappyBlock(payload, 0)
	}
	pos := 16
	for len(payload)-pos >= 4 {
		if string(payload[pos:pos+4]) == xerialMagic[:4] {
			if len(payload)-pos < 16 {
				return codecError(pos, Snappy, "bytes end inside a second header")
			}
			if string(payload[pos:pos+8]) != xerialMagic {
				return nil // taken for the end
			}
			if int32(binary.BigEndian.Uint32(payload[pos+8:])) < 1 {
				return codecError(pos+8, Snappy, "version of a second header below 1")
			}
			pos += 16
			continue
		}
		n := int32(binary.BigEndian.Uint32(payload[pos:]))
		if n < 0 || int64(n) > int64(len(payload)-pos-4) {
			return codecError(pos, Snappy, "chunk of "+itoa(n)+" bytes where "+itoa(len(payload)-pos-4)+" are left")
		}
		pos += 4
		if err := d.snappyBlock(payload[pos:pos+int(n)], pos); err != nil {
			return err
		}
		pos += int(n)
	}
	return nil
}

// snappyBlock appends what one raw block holds; base is its position in the payload.
func (d *Decompressor) snappyBlock(block []byte, base int) error {
	n, at, why := measureSnappy(block, d.max()-int64(len(d.buf)))
	if why != "" {
		return codecError(base+at, Snappy, why)
	}
	if !d.room(n) {
		return d.tooLarge(int64(base), Snappy)
	}
	if n == 0 {
		return nil
	}
	// The library reads S2, a superset of Snappy; measureSnappy has refused the rest.
	out, err := snappy.Decode(d.tail(n), block)
	if err != nil || int64(len(out)) != n {
		return codecError(base, Snappy, "corrupt block")
	}
	d.buf = d.buf[:len(d.buf)+int(n)]
	return nil
}

// measureSnappy follows the elements of a raw block without producing output. It
// returns the number of bytes the block holds, or where and why Snappy refuses it.
// A block whose declared length is above limit is not followed: its declared length,
// which nothing vouches for, is returned to be compared with the limit.
//
//	length of the output: varint of at most 5 bytes, then elements up to the end:
//	…..00  literal of 1 … 60 bytes, or 61 … 64: the length is in the next 1 … 4 bytes
//	…..01  copy of 4 … 11 bytes from at most 2047 back       (tag, 1 byte)
//	…..10  copy of 1 … 64 bytes from at most 65535 back      (tag, 2 bytes little endian)
//	…..11  copy of 1 … 64 bytes from up to 2^32-1 back       (tag, 4 bytes little endian)
//
// Every copy must come from output that exists, at a distance of at least 1 (S2 gives
// the distance 0 a meaning, Snappy does not), and the output must be of the declared
// length exactly. Source: google/snappy's format_description.txt and the checks of its
// DecompressAllTags.
func measureSnappy(b []byte, limit int64) (n int64, at int, why string) {
	declared, i := uint64(0), 0
	for {
		if i == len(b) {
			return 0, i, "bytes end inside the length of the output"
		}
		c := b[i]
		if i == 4 && c > 0x0f {
			return 0, i, "length of the output above 32 bits"
		}
		declared |= uint64(c&0x7f) << (7 * i)
		i++
		if c < 0x80 {
			break
		}
	}
	if int64(declared) > limit {
		return int64(declared), 0, ""
	}
	var produced uint64
	for i < len(b) {
		tag, start := b[i], i
		var length, distance uint64
		switch tag & 3 {
		case 0:
			length = uint64(tag>>2) + 1
			head := 1
			if length > 60 {
				extra := int(length - 60)
				if len(b)-i < 1+extra {
					return 0, i, "bytes end inside a literal"
				}
				length = 1
				for k := range extra {
					length += uint64(b[i+1+k]) << (8 * k)
				}
				head += extra
			}
			if length > uint64(len(b)-i-head) {
				return 0, i, "bytes end inside a literal"
			}
			produced += length
			if produced > declared {
				return 0, i, "more output than declared"
			}
			i += head + int(length)
			continue
		case 1:
			if len(b)-i < 2 {
				return 0, i, "bytes end inside a copy"
			}
			length = 4 + uint64(tag>>2&7)
			distance = uint64(tag>>5)<<8 | uint64(b[i+1])
			i += 2
		case 2:
			if len(b)-i < 3 {
				return 0, i, "bytes end inside a copy"
			}
			length = 1 + uint64(tag>>2)
			distance = uint64(binary.LittleEndian.Uint16(b[i+1:]))
			i += 3
		case 3:
			if len(b)-i < 5 {
				return 0, i, "bytes end inside a copy"
			}
			length = 1 + uint64(tag>>2)
			distance = uint64(binary.LittleEndian.Uint32(b[i+1:]))
			i += 5
		}
		// Distance 0 wraps to the largest number, so one comparison finds both faults.
		if distance-1 >= produced {
			if distance == 0 {
				return 0, start, "copy from distance 0 (S2, not Snappy)"
			}
			return 0, start, "copy from before the output"
		}
		produced += length
		if produced > declared {
			return 0, start, "more output than declared"
		}
	}
	if produced != declared {
		return 0, i, "less output than declared"
	}
	return int64(produced), 0, ""
}
