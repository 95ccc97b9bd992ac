package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type madeBatch struct {
	bytes        []byte
	records      int
	maxTimestamp int64
}

// makeBatch encodes a batch of magic 2 without producer and of leader epoch 0 whose
// records, before compression, are as near to o.batchBytes as whole records allow, and
// at least one record. Each record is a millisecond younger than the one before.
//
//	0  baseOffset 8 | 8 length 4 | 12 partitionLeaderEpoch 4 | 16 magic 1 | 17 crc 4
//	21 attributes 2 | 23 lastOffsetDelta 4 | 27 baseTimestamp 8 | 35 maxTimestamp 8
//	43 producerId 8 | 51 producerEpoch 2 | 53 baseSequence 4 | 57 recordCount 4 | 61 records
func makeBatch(o options, random *rand.Rand, baseOffset, timestamp int64) (madeBatch, error) {
	records := make([]byte, 0, max(o.batchBytes, o.recordBytes+32))
	n := 0
	for {
		record := makeRecord(o, random, n)
		if n > 0 && 61+len(records)+len(record) > o.batchBytes {
			break
		}
		records = append(records, record...)
		n++
	}
	payload, id, err := compress(o.codec, records)
	if err != nil {
		return madeBatch{}, err
	}
	b := append(make([]byte, 61, 61+len(payload)), payload...)
	last := int64(n - 1)
	be := binary.BigEndian
	be.PutUint64(b, uint64(baseOffset))
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[12:], 0)
	b[16] = 2
	be.PutUint16(b[21:], id)
	be.PutUint32(b[23:], uint32(last))
	be.PutUint64(b[27:], uint64(timestamp))
	be.PutUint64(b[35:], uint64(timestamp+last))
	be.PutUint64(b[43:], ^uint64(0))
	be.PutUint16(b[51:], ^uint16(0))
	be.PutUint32(b[53:], ^uint32(0))
	be.PutUint32(b[57:], uint32(n))
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return madeBatch{bytes: b, records: n, maxTimestamp: timestamp + last}, nil
}

// makeRecord encodes length, attributes, timestamp delta, offset delta, an
// 8-byte key, the value and no headers. All lengths are zigzag varints.
func makeRecord(o options, random *rand.Rand, delta int) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, int64(delta))
	body = binary.AppendVarint(body, int64(delta))
	body = binary.AppendVarint(body, 8)
	body = binary.BigEndian.AppendUint64(body, random.Uint64())
	body = binary.AppendVarint(body, int64(o.recordBytes))
	body = appendValue(body, o, random)
	body = binary.AppendVarint(body, 0)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// appendValue appends random bytes, or, where they shall be compressed, a text that
// real topics are full of: the same names, other numbers.
func appendValue(b []byte, o options, random *rand.Rand) []byte {
	end := len(b) + o.recordBytes
	for len(b) < end {
		if o.codec == "none" {
			b = binary.BigEndian.AppendUint64(b, random.Uint64())
			continue
		}
		b = fmt.Appendf(b, `{"id":"%016x","customer":%d,"status":"%s","amount":%d.%02d,"at":%d},`,
			random.Uint64(), random.IntN(100000), statuses[random.IntN(len(statuses))], random.IntN(900), random.IntN(100), 1700000000000+random.IntN(1e9))
	}
	return b[:end]
}

var statuses = []string{"created", "paid", "packed", "shipped", "delivered", "returned"}
