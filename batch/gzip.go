package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// A gzip payload is one RFC 1952 member or more, one after the other:
//
//	0      2  3   4      8  9  10
//	+------+--+---+------+--+--+ … optional … +---------+-------+------+
//	| 1f 8b| 8|FLG|mtime |xf|os| extra, name, | deflate | CRC-32| size |  little endian
//	+------+--+---+------+--+--+ comment, HCRC+---------+-------+------+
//
// Source: java.util.zip.GZIPInputStream. It reads a further member where one begins,
// and takes anything else after a member for the end, without complaint.
func (d *Decompressor) gunzip(payload []byte) error {
	pos, err := gzipHeader(payload, 0)
	if err != nil {
		return err
	}
	for {
		d.src.Reset(payload[pos:])
		if d.flate == nil {
			d.flate = flate.NewReader(&d.src)
		} else if err := d.flate.(flate.Resetter).Reset(&d.src, nil); err != nil {
			return codecError(pos, Gzip, err.Error())
		}
		start := len(d.buf)
		if err := d.inflate(); err != nil {
			at := len(payload) - d.src.Len()
			switch {
			case errors.Is(err, ErrTooLarge):
				return d.tooLarge(int64(at), Gzip)
			case errors.Is(err, io.ErrUnexpectedEOF):
				return codecError(at, Gzip, "bytes end inside the compressed data")
			}
			return codecError(at, Gzip, err.Error())
		}
		// The flate reader takes single bytes from a bytes.Reader, never too many.
		pos = len(payload) - d.src.Len()
		if len(payload)-pos < 8 {
			return codecError(pos, Gzip, "bytes end inside the trailer")
		}
		if crc := crc32.ChecksumIEEE(d.buf[start:]); crc != binary.LittleEndian.Uint32(payload[pos:]) {
			return codecError(pos, Gzip, "checksum of the member does not match")
		}
		if size := uint32(len(d.buf) - start); size != binary.LittleEndian.Uint32(payload[pos+4:]) {
			return codecError(pos+4, Gzip, "size of the member does not match")
		}
		pos += 8
		if pos == len(payload) {
			return nil
		}
		if pos, err = gzipHeader(payload, pos); err != nil {
			return nil
		}
	}
}

// inflate appends the output of d.flate to d.buf, up to the limit.
func (d *Decompressor) inflate() error {
	for {
		left := d.max() - int64(len(d.buf))
		if left <= 0 {
			// Full to the last byte is still allowed, one more is not.
			var one [1]byte
			n, err := io.ReadFull(d.flate, one[:])
			if n > 0 {
				return ErrTooLarge
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if len(d.buf) == cap(d.buf) {
			d.regrow(min(max(2*int64(cap(d.buf)), 32<<10), d.max()))
		}
		room := min(int64(cap(d.buf)-len(d.buf)), left)
		n, err := d.flate.Read(d.tail(room))
		d.buf = d.buf[:len(d.buf)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

const (
	gzipHeaderCRC = 1 << 1
	gzipExtra     = 1 << 2
	gzipName      = 1 << 3
	gzipComment   = 1 << 4
)

// gzipHeader returns the position after the header that begins at pos.
func gzipHeader(b []byte, pos int) (int, error) {
	start := pos
	if len(b)-pos < 10 {
		return pos, codecError(pos, Gzip, "bytes end inside the header")
	}
	if b[pos] != 0x1f || b[pos+1] != 0x8b {
		return pos, codecError(pos, Gzip, "not in gzip format")
	}
	if b[pos+2] != 8 {
		return pos, codecError(pos+2, Gzip, "compression method is not deflate")
	}
	flags := b[pos+3]
	pos += 10
	if flags&gzipExtra != 0 {
		if len(b)-pos < 2 {
			return pos, codecError(pos, Gzip, "bytes end inside the header")
		}
		n := int(binary.LittleEndian.Uint16(b[pos:]))
		pos += 2
		if len(b)-pos < n {
			return pos, codecError(pos, Gzip, "bytes end inside the header")
		}
		pos += n
	}
	for _, flag := range [...]byte{gzipName, gzipComment} {
		if flags&flag != 0 {
			n := bytes.IndexByte(b[pos:], 0)
			if n < 0 {
				return pos, codecError(pos, Gzip, "bytes end inside the header")
			}
			pos += n + 1
		}
	}
	if flags&gzipHeaderCRC != 0 {
		if len(b)-pos < 2 {
			return pos, codecError(pos, Gzip, "bytes end inside the header")
		}
		if uint16(crc32.ChecksumIEEE(b[start:pos])) != binary.LittleEndian.Uint16(b[pos:]) {
			return pos, codecError(pos, Gzip, "checksum of the header does not match")
		}
		pos += 2
	}
	return pos, nil
}
