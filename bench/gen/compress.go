package main

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compress returns the payload of a batch and its compression id.
func compress(codec string, records []byte) ([]byte, uint16, error) {
	switch codec {
	case "none":
		return records, 0, nil
	case "lz4":
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		// As Lz4BlockOutputStream: independent blocks of 64 KiB, no checksums of contents.
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			return nil, 0, err
		}
		if _, err := w.Write(records); err != nil {
			return nil, 0, err
		}
		err := w.Close()
		return out.Bytes(), 3, err
	case "zstd":
		return encoder.EncodeAll(records, nil), 4, nil
	}
	return nil, 0, fmt.Errorf("unknown codec %q", codec)
}

var encoder = func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // our options are constant
	}
	return e
}()
