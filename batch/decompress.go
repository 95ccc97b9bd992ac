package batch

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zstd"
)

// DefaultLimit is a sensible limit for NewDecompressor: 64 MiB, sixty-four times the
// message.max.bytes that brokers allow by default for a *compressed* batch.
const DefaultLimit = 64 << 20

// Decompressor turns compressed payloads into bytes, and refuses what a broker would
// refuse. It keeps its buffers from one call to the next, so that a steady stream of
// batches costs no allocation. It is not safe for concurrent use; make one for each
// goroutine. The zero value is ready and has DefaultLimit.
//
// Its output buffer never grows beyond the limit (but for a few bytes), whatever a payload
// claims, and is sized by what the compressed bytes can really hold: the blocks of
// Snappy and LZ4 are measured before they are decoded, a zstd frame is bounded by the
// headers of its blocks, gzip grows as it is read.
//
// Sources: org.apache.kafka.common.compress.* and the libraries behind it:
// java.util.zip.GZIPInputStream, snappy-java's SnappyInputStream, Lz4BlockInputStream,
// zstd-jni's ZstdInputStreamNoFinalizer.
type Decompressor struct {
	limit int64
	buf   []byte // output, borrowed by the caller until the next call

	src   bytes.Reader
	flate io.ReadCloser // also a flate.Resetter; nil until the first gzip
	zstd  *zstd.Decoder // nil until the first zstd; runs no goroutines
}

// NewDecompressor returns a Decompressor that gives out at most limit bytes per call.
// A limit below 1 means DefaultLimit.
func NewDecompressor(limit int64) *Decompressor {
	return &Decompressor{limit: limit}
}

func (d *Decompressor) max() int64 {
	if d.limit < 1 {
		return DefaultLimit
	}
	return d.limit
}

// Decompress returns the bytes that payload holds, for batches of magic 2.
//
// The result is borrowed until the next call; for None it is payload itself. With an
// error it is what came out before the damage, which is worth showing, but is no better
// than the checksum of the batch.
//
// Errors, positions counted in payload: ErrCodec if a broker would not read the payload,
// or the codec id is invalid; ErrTooLarge if there is more than the limit.
func (d *Decompressor) Decompress(c Codec, payload []byte) ([]byte, error) {
	return d.decompress(c, payload, false)
}

// DecompressLegacy is Decompress for the value of a compressed wrapper message of magic
// 0 or 1. Zstd is refused there, and in magic 0 the header checksum of LZ4 is not looked
// at: old clients computed it over the wrong bytes (KAFKA-3160).
func (d *Decompressor) DecompressLegacy(magic int8, c Codec, payload []byte) ([]byte, error) {
	if c == Zstd {
		return nil, &Error{Field: "codec", Want: "one that magic " + itoa(magic) + " allows", Got: c.String(), Err: ErrCodec}
	}
	return d.decompress(c, payload, magic == 0)
}

func (d *Decompressor) decompress(c Codec, payload []byte, ignoreHC bool) ([]byte, error) {
	d.buf = d.buf[:0]
	var err error
	switch c {
	case None:
		return payload, nil
	case Gzip:
		err = d.gunzip(payload)
	case Snappy:
		err = d.unsnappy(payload)
	case LZ4:
		err = d.unlz4(payload, ignoreHC)
	case Zstd:
		err = d.unzstd(payload)
	default:
		return nil, &Error{Field: "codec", Want: "0 to 4", Got: itoa(c), Err: ErrCodec}
	}
	return d.buf, err
}

// room makes space for n more bytes of output, or says that the limit forbids it.
// n must be justified by compressed bytes that are there, never by a claim.
func (d *Decompressor) room(n int64) bool {
	if n > d.max()-int64(len(d.buf)) {
		return false
	}
	if n > int64(cap(d.buf)-len(d.buf)) {
		d.regrow(int64(len(d.buf)) + n)
	}
	return true
}

// regrow moves the output to a buffer of at least size bytes, and of double the old one
// if the limit allows, so that growing in small steps stays linear.
func (d *Decompressor) regrow(size int64) {
	size = max(size, min(2*int64(cap(d.buf)), d.max()))
	next := make([]byte, len(d.buf), size)
	copy(next, d.buf)
	d.buf = next
}

// tail is the unused part of the output buffer, n bytes of it.
func (d *Decompressor) tail(n int64) []byte {
	end := len(d.buf) + int(n)
	return d.buf[len(d.buf):end:end]
}

func (d *Decompressor) tooLarge(pos int64, c Codec) error {
	return &Error{Pos: pos, Field: c.String(), Want: "at most " + itoa(d.max()) + " bytes decompressed", Got: "more", Err: ErrTooLarge}
}

func codecError(pos int, c Codec, why string) error {
	return &Error{Pos: int64(pos), Field: c.String(), Got: why, Err: ErrCodec}
}
