package batch

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

const (
	lz4Magic = 0x184d2204

	lz4FlagContentChecksum = 1 << 2
	lz4FlagContentSize     = 1 << 3
	lz4FlagBlockChecksum   = 1 << 4
	lz4FlagIndependent     = 1 << 5
	lz4FlagReserved        = 3
	lz4Version             = 1 // bits 6, 7

	lz4Stored = 1 << 31 // top bit of a block size: not compressed
)

// An LZ4 payload is one LZ4 frame, little endian; what follows it is not looked at.
//
//	0           4   5   6            7 (or 15)
//	+-----------+---+---+- - - - - -+--+------+-----------+- - - - -+ … +----------+- - - - -+
//	|04 22 4d 18|FLG|BD | size (8)  |HC| size | block     | xxh32   |   |00000000  | content |
//	+-----------+---+---+- - - - - -+--+------+-----------+- - - - -+ … +----------+ xxh32 - +
//
//	FLG  bits 7,6 version 01; 5 blocks independent, must be 1; 4 block checksums;
//	     3 content size present; 2 content checksum present; 1,0 must be 0
//	BD   bits 6,5,4 largest block: 4 = 64 KiB, 5 = 256 KiB, 6 = 1 MiB, 7 = 4 MiB; others 0
//	HC   second byte of xxHash32 over FLG … content size
//
// Source: org.apache.kafka.common.compress.Lz4BlockInputStream with the FLG and BD of
// Lz4BlockOutputStream. Brokers up to 4.3 do not verify the content checksum, which no
// Kafka client writes; so neither do we. The content size is skipped, as there.
func (d *Decompressor) unlz4(p []byte, ignoreHC bool) error {
	pos, err := lz4Header(p, ignoreHC)
	if err != nil {
		return err
	}
	flg, maxBlock := p[4], 1<<(8+2*(p[5]>>4)) // 4 → 64 KiB
	for {
		if len(p)-pos < 4 {
			return codecError(pos, LZ4, "bytes end without an end mark")
		}
		word := binary.LittleEndian.Uint32(p[pos:])
		size := int64(word &^ lz4Stored)
		if size == 0 {
			if flg&lz4FlagContentChecksum != 0 && len(p)-pos < 8 {
				return codecError(pos, LZ4, "bytes end inside the content checksum")
			}
			return nil
		}
		if size > int64(maxBlock) {
			return codecError(pos, LZ4, "block of "+itoa(size)+" bytes where at most "+itoa(maxBlock)+" are allowed")
		}
		pos += 4
		if size > int64(len(p)-pos) {
			return codecError(pos, LZ4, "bytes end inside a block")
		}
		block := p[pos : pos+int(size)]
		if flg&lz4FlagBlockChecksum != 0 {
			sum := p[pos+int(size):]
			if len(sum) < 4 {
				return codecError(pos+int(size), LZ4, "bytes end inside a block checksum")
			}
			if xxh32(block) != binary.LittleEndian.Uint32(sum) {
				return codecError(pos+int(size), LZ4, "checksum of a block does not match")
			}
		}
		if err := d.lz4Block(block, pos, word&lz4Stored != 0, maxBlock); err != nil {
			return err
		}
		pos += int(size)
		if flg&lz4FlagBlockChecksum != 0 {
			pos += 4
		}
	}
}

// lz4Header checks the frame header and returns the position of the first block.
func lz4Header(p []byte, ignoreHC bool) (int, error) {
	const short = "bytes end inside the frame header"
	if len(p) < 7 {
		return 0, codecError(len(p), LZ4, short)
	}
	if binary.LittleEndian.Uint32(p) != lz4Magic {
		return 0, codecError(0, LZ4, "not in LZ4 frame format")
	}
	flg, bd := p[4], p[5]
	switch {
	case flg&lz4FlagReserved != 0:
		return 0, codecError(4, LZ4, "reserved bits of FLG are set")
	case flg&lz4FlagIndependent == 0:
		return 0, codecError(4, LZ4, "blocks depend on each other")
	case flg>>6 != lz4Version:
		return 0, codecError(4, LZ4, "unknown frame version")
	case bd&0x8f != 0:
		return 0, codecError(5, LZ4, "reserved bits of BD are set")
	case bd>>4 < 4:
		return 0, codecError(5, LZ4, "block size code below 4")
	}
	pos := 6
	if flg&lz4FlagContentSize != 0 {
		pos += 8
	}
	if len(p) <= pos {
		return 0, codecError(len(p), LZ4, short)
	}
	if hc := byte(xxh32(p[4:pos]) >> 8); !ignoreHC && p[pos] != hc {
		return 0, codecError(pos, LZ4, "checksum of the frame header does not match")
	}
	return pos + 1, nil
}

// CheckLZ4Header checks the frame header of an LZ4 payload, its checksum included, as brokers
// do for magic 1 and 2. It returns nil or an *Error wrapping ErrCodec.
func CheckLZ4Header(payload []byte) error {
	_, err := lz4Header(payload, false)
	return err
}

// lz4Block appends what one block holds; pos is its position in the payload.
func (d *Decompressor) lz4Block(block []byte, pos int, stored bool, maxBlock int) error {
	if stored {
		if !d.room(int64(len(block))) {
			return d.tooLarge(int64(pos), LZ4)
		}
		d.buf = append(d.buf, block...)
		return nil
	}
	n, at, why := measureLZ4(block, maxBlock)
	if why != "" {
		return codecError(pos+at, LZ4, why)
	}
	if !d.room(int64(n)) {
		return d.tooLarge(int64(pos), LZ4)
	}
	if n == 0 {
		return nil
	}
	if got, err := lz4.UncompressBlock(block, d.tail(int64(n))); err != nil || got != n {
		expandLZ4(d.tail(int64(n)), block)
	}
	d.buf = d.buf[:len(d.buf)+n]
	return nil
}

// measureLZ4 follows the sequences of a block without producing output. It returns the
// number of bytes the block holds, or where and why a broker refuses it.
//
//	token: 4 bits literal length, 4 bits match length - 4; 15 = more length bytes follow,
//	each added, up to one below 255; then the literals; then the distance, 2 bytes;
//	then the further match length. The last sequence ends after its literals.
//
// The limits near the end are those of LZ4_decompress_safe (lz4.c: MFLIMIT, LASTLITERALS)
// with a buffer of maxBlock bytes, which is how Lz4BlockInputStream calls it.
func measureLZ4(b []byte, maxBlock int) (n, at int, why string) {
	const (
		mfLimit      = 12 // literals that end closer to the end of the buffer are the last
		lastLiterals = 5  // the block ends with that many literals at least
	)
	i := 0
	for i < len(b) {
		start := i
		token := b[i]
		i++
		literals := int(token >> 4)
		if literals == 15 {
			for {
				if i == len(b) {
					return 0, start, "bytes end inside a literal length"
				}
				c := b[i]
				i++
				literals += int(c) // at most 255 × the length of b: no overflow
				if c != 255 {
					break
				}
			}
		}
		if literals > len(b)-i {
			return 0, start, "bytes end inside literals"
		}
		i += literals
		n += literals
		if n > maxBlock {
			return 0, start, "more output than the frame allows in a block"
		}
		if i == len(b) {
			return n, 0, ""
		}
		if n > maxBlock-mfLimit || len(b)-i < 2+1+lastLiterals {
			return 0, start, "block does not end with literals"
		}
		distance := int(binary.LittleEndian.Uint16(b[i:]))
		if distance == 0 || distance > n {
			return 0, i, "match from before the block"
		}
		i += 2
		match := int(token&15) + 4
		if match == 19 {
			for {
				if i == len(b) {
					return 0, start, "bytes end inside a match length"
				}
				c := b[i]
				i++
				match += int(c)
				if c != 255 {
					break
				}
			}
		}
		n += match
		if n > maxBlock-lastLiterals {
			return 0, start, "more output than the frame allows in a block"
		}
	}
	return 0, i, "block does not end with literals"
}

// expandLZ4 decodes a block that measureLZ4 has found sound, into the space it said. It
// is for the few that the library is stricter about than a broker: the match length in
// the last token, which nothing uses, need not be 0.
func expandLZ4(dst, b []byte) {
	for n, i := 0, 0; ; {
		token := b[i]
		i++
		literals, match := int(token>>4), int(token&15)+4
		if literals == 15 {
			for more := true; more; i++ {
				literals += int(b[i])
				more = b[i] == 255
			}
		}
		n += copy(dst[n:], b[i:i+literals])
		i += literals
		if i == len(b) {
			return
		}
		distance := int(binary.LittleEndian.Uint16(b[i:]))
		i += 2
		if match == 19 {
			for more := true; more; i++ {
				match += int(b[i])
				more = b[i] == 255
			}
		}
		for range match { // may overlap with what it writes
			dst[n] = dst[n-distance]
			n++
		}
	}
}
