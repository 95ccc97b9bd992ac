package logtest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compress writes p in the framing that Kafka's Java classes write.
func compress(c Codec, p []byte) []byte {
	var out bytes.Buffer
	switch c {
	case None:
		return p
	case Gzip:
		w := gzip.NewWriter(&out)
		mustWrite(w.Write(p))
		must(w.Close())
	case Snappy:
		// 16 bytes of header, then chunks of at most 32 KiB: length, raw snappy block.
		out.WriteString("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
		for len(p) > 0 {
			n := min(len(p), 32<<10)
			block := snappy.Encode(nil, p[:n])
			must(binary.Write(&out, binary.BigEndian, uint32(len(block))))
			out.Write(block)
			p = p[n:]
		}
	case LZ4:
		w := lz4.NewWriter(&out)
		must(w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)))
		mustWrite(w.Write(p))
		must(w.Close())
	case Zstd:
		w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		must(err)
		mustWrite(w.Write(p))
		must(w.Close())
	default:
		panic(fmt.Sprintf("logtest: codec %d", c))
	}
	return out.Bytes()
}

func mustWrite(_ int, err error) { must(err) }

// must: writers into memory do not fail, and options are constants.
func must(err error) {
	if err != nil {
		panic("logtest: " + err.Error())
	}
}
