package batch

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic     = 0xfd2fb528
	zstdSkippable = 0x184d2a50 // … 5f

	// zstdMaxBlock is the largest output of a block (RFC 8878, 3.1.1.2.4).
	zstdMaxBlock = 128 << 10
	// zstdMaxWindow is the largest window that zstd-jni accepts unless told otherwise
	// (ZSTD_WINDOWLOG_LIMIT_DEFAULT = 27), and Kafka does not tell it.
	zstdMaxWindow = 128 << 20
	// zstdSpare keeps the library on its fast path to the last byte of the output.
	zstdSpare = 64
)

// A zstd payload is one frame or more (RFC 8878), little endian; skippable frames are
// passed over, anything else is an error, as in ZstdInputStreamNoFinalizer.
//
//	+-----------+---+------+- - - - -+- - - - - - -+-----------+ … +- - - - - -+
//	|28 b5 2f fd|FHD|window|dict id  |content size | block     | … |checksum   |
//	+-----------+---+------+- - - - -+- - - - - - -+-----------+ … +- - - - - -+
//	block: 3 bytes = last (bit 0), type (bits 1, 2), size (bits 3 … 23), then its bytes
//
// The frames are found by the headers of their blocks, which bound what comes out, and
// then decoded one by one into a buffer of that size.
func (d *Decompressor) unzstd(p []byte) error {
	if len(p) == 0 {
		return codecError(0, Zstd, "empty payload")
	}
	if d.zstd == nil {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdMaxWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic("batch: zstd options: " + err.Error()) // ours, and constant
		}
		d.zstd = dec
	}
	for pos := 0; pos < len(p); {
		f := measureZstd(p[pos:])
		if f.why != "" {
			return codecError(pos+f.at, Zstd, f.why)
		}
		if !f.skip {
			if f.least > d.max()-int64(len(d.buf)) {
				return d.tooLarge(int64(pos), Zstd)
			}
			if err := d.zstdFrame(p[pos:pos+f.size], pos, f.bound); err != nil {
				return err
			}
		}
		pos += f.size
	}
	return nil
}

// zstdFrame appends what one frame holds: at most bound bytes; pos is its position.
func (d *Decompressor) zstdFrame(frame []byte, pos int, bound int64) error {
	start := len(d.buf)
	left := d.max() - int64(start)
	bound = min(bound, left) + zstdSpare
	if bound > int64(cap(d.buf)-start) {
		d.regrow(int64(start) + bound)
	}
	out, err := d.zstd.DecodeAll(frame, d.tail(bound)[:0])
	n := min(int64(len(out)), left)
	if n > 0 && &out[0] == &d.tail(1)[0] { // else the library has left our buffer, to go above the bound
		d.buf = d.buf[:start+int(n)]
	}
	switch {
	case int64(len(out)) > left || errors.Is(err, zstd.ErrDecoderSizeExceeded) && bound > left:
		return d.tooLarge(int64(pos), Zstd)
	case err != nil:
		return codecError(pos, Zstd, err.Error())
	case n != int64(len(d.buf)-start):
		return codecError(pos, Zstd, "more output than the blocks can hold")
	}
	return nil
}

// zstdMeasure is the extent of one frame.
type zstdMeasure struct {
	size  int   // bytes of the frame
	least int64 // bytes that come out, if the compressed blocks hold nothing
	bound int64 // bytes that come out, at most
	skip  bool  // a skippable frame
	at    int   // where the damage is, if why is set
	why   string
}

// measureZstd follows the block headers of the frame at the beginning of b.
func measureZstd(b []byte) zstdMeasure {
	fault := func(at int, why string) zstdMeasure { return zstdMeasure{at: at, why: why} }
	const short = "bytes end inside a frame"
	if len(b) < 5 {
		return fault(len(b), short)
	}
	magic := binary.LittleEndian.Uint32(b)
	if magic&^0xf == zstdSkippable {
		if len(b) < 8 {
			return fault(len(b), short)
		}
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if n > int64(len(b)-8) {
			return fault(4, short)
		}
		return zstdMeasure{size: 8 + int(n), skip: true}
	}
	if magic != zstdMagic {
		return fault(0, "not in zstd format")
	}
	fhd := b[4]
	single := fhd&(1<<5) != 0
	checksum := fhd&(1<<2) != 0
	pos := 5
	window := uint64(math.MaxUint64)
	if !single {
		pos++
	}
	dictSize := [4]int{0, 1, 2, 4}[fhd&3]
	sizeSize := [4]int{0, 2, 4, 8}[fhd>>6]
	if single && sizeSize == 0 {
		sizeSize = 1
	}
	end := pos + dictSize + sizeSize
	if len(b) < end {
		return fault(len(b), short)
	}
	if !single {
		base := uint64(1) << (10 + b[5]>>3)
		window = base + base/8*uint64(b[5]&7)
	}
	content := uint64(math.MaxUint64) // unknown
	switch f := b[pos+dictSize : end]; sizeSize {
	case 1:
		content = uint64(f[0])
	case 2:
		content = uint64(binary.LittleEndian.Uint16(f)) + 256
	case 4:
		content = uint64(binary.LittleEndian.Uint32(f))
	case 8:
		content = binary.LittleEndian.Uint64(f)
	}
	if single {
		window = content
	}
	if window > zstdMaxWindow {
		return fault(5, "window above 128 MiB")
	}
	maxBlock := int64(min(window, zstdMaxBlock))
	pos = end
	var least, bound int64
	for last := false; !last; {
		if len(b)-pos < 3 {
			return fault(pos, short)
		}
		head := uint32(b[pos]) | uint32(b[pos+1])<<8 | uint32(b[pos+2])<<16
		last = head&1 != 0
		size := int64(head >> 3)
		if size > maxBlock {
			return fault(pos, "block larger than the frame allows")
		}
		here := size
		switch head >> 1 & 3 {
		case 0: // raw
			least += size
		case 1: // one byte, repeated
			least += size
			here = 1
		case 2: // compressed
			bound += maxBlock
		case 3:
			return fault(pos, "reserved block type")
		}
		pos += 3
		if here > int64(len(b)-pos) {
			return fault(pos, "bytes end inside a block")
		}
		pos += int(here)
	}
	if checksum {
		if len(b)-pos < 4 {
			return fault(pos, "bytes end inside the checksum")
		}
		pos += 4
	}
	bound += least
	if content != math.MaxUint64 && content > uint64(bound) {
		return fault(5, "content size above what the blocks can hold")
	}
	return zstdMeasure{size: pos, least: least, bound: bound}
}
