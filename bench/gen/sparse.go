package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
)

// writeSparse writes a log of -bytes in one file whose batches have one record each, of
// zeros: the file system keeps the zeros as holes, so that ten gigabytes take little room.
// There is no index. It gives the log end offset.
//
//	header, lengths and key of the record | hole: value, and the count of headers, 0 | header …
//
// The base offset is not under the CRC, so that all batches are the same but for it.
func writeSparse(name string, o options) (int64, error) {
	batch, err := sparseBatch(o)
	if err != nil {
		return 0, err
	}
	file, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	head := bytes.TrimRight(batch, "\x00")
	var offset, position int64
	for ; position+int64(len(batch)) <= o.bytes; position += int64(len(batch)) {
		binary.BigEndian.PutUint64(head, uint64(offset))
		if _, err := file.WriteAt(head, position); err != nil {
			return 0, err
		}
		offset++
	}
	if err := file.Truncate(position); err != nil {
		return 0, err
	}
	return offset, file.Close()
}

// sparseBatch is a batch of -batch bytes with one record of zeros.
func sparseBatch(o options) ([]byte, error) {
	o.recordBytes = o.batchBytes - 90
	made, err := makeBatch(o, rand.New(rand.NewPCG(1, 2)), 0, 1700000000000)
	if err != nil {
		return nil, err
	}
	b := made.bytes
	clear(b[90 : len(b)-1]) // the value; before it header, lengths and key, behind it the count of headers: 0
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b, nil
}
