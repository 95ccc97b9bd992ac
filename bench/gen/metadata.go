package main

import (
	"encoding/binary"
	"hash/crc32"
)

// clusterMetadata is the log of __cluster_metadata-0 of a cluster: its topics and
// partitions and the election of epoch 1, then elections, changes of the ISR and
// no-ops up to o.metadata records, in batches of ten as a busy controller writes them.
func clusterMetadata(o options) []byte {
	m := &metadataLog{timestamp: 1700000000000}
	m.add(12, 0, str(nil, "metadata.version"), i16(21))
	for p := range o.cluster {
		if p%topicPartitions == 0 {
			m.add(2, 0, str(nil, topicName(p/topicPartitions)), []byte(topicUUID(p/topicPartitions)))
		}
		before := int32((p+1)%3 + 1)
		m.add(3, 0, i32(int32(p%topicPartitions)), []byte(topicUUID(p/topicPartitions)), ints(1, 2, 3), ints(1, 2, 3), ints(), ints(), i32(before), i32(0), i32(0))
	}
	for p := range o.cluster {
		m.change(p, leaderOf(p), leaderOf(p))
	}
	for i := 0; m.records < o.metadata; i++ {
		p := i % o.cluster
		switch i / o.cluster % 4 {
		case 0:
			m.change(p, leaderOf(p), leaderOf(p), leaderOf(p+1), leaderOf(p+2))
		case 1:
			m.change(p, leaderOf(p+1), leaderOf(p), leaderOf(p+1))
		case 2:
			m.change(p, leaderOf(p), leaderOf(p), leaderOf(p+1))
		default:
			m.add(20, 0)
		}
	}
	m.flush()
	return m.log
}

func leaderOf(p int) int32 { return int32(p%3 + 1) }

type metadataLog struct {
	log       []byte
	values    [][]byte // of the batch at hand
	offset    int64    // of its first record
	records   int
	timestamp int64
}

// change adds a PartitionChangeRecord with leader and ISR.
func (m *metadataLog) change(p int, leader int32, isr ...int32) {
	tags := []byte{2}
	for tag, payload := range [][]byte{ints(isr...), i32(leader)} {
		tags = binary.AppendUvarint(tags, uint64(tag))
		tags = binary.AppendUvarint(tags, uint64(len(payload)))
		tags = append(tags, payload...)
	}
	m.value(5, 0, append(append(i32(int32(p%topicPartitions)), topicUUID(p/topicPartitions)...), tags...))
}

// add adds a record of the fields given, without tagged ones.
func (m *metadataLog) add(apiKey, version uint64, fields ...[]byte) {
	var body []byte
	for _, f := range fields {
		body = append(body, f...)
	}
	m.value(apiKey, version, append(body, 0))
}

// value frames a record: frame version 1, apiKey and version as uvarints, message.
func (m *metadataLog) value(apiKey, version uint64, message []byte) {
	v := binary.AppendUvarint([]byte{1}, apiKey)
	v = binary.AppendUvarint(v, version)
	m.values = append(m.values, append(v, message...))
	if m.records++; len(m.values) == 10 {
		m.flush()
	}
}

// flush writes the records at hand as a batch of raft epoch 1; see makeBatch for the
// header.
func (m *metadataLog) flush() {
	if len(m.values) == 0 {
		return
	}
	b := make([]byte, 61, 1024)
	for i, v := range m.values {
		body := []byte{0}
		body = binary.AppendVarint(body, 0)
		body = binary.AppendVarint(body, int64(i))
		body = binary.AppendVarint(body, -1) // no key
		body = binary.AppendVarint(body, int64(len(v)))
		body = append(body, v...)
		body = binary.AppendVarint(body, 0)
		b = binary.AppendVarint(b, int64(len(body)))
		b = append(b, body...)
	}
	be := binary.BigEndian
	be.PutUint64(b, uint64(m.offset))
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[12:], 1)
	b[16] = 2
	be.PutUint32(b[23:], uint32(len(m.values)-1))
	be.PutUint64(b[27:], uint64(m.timestamp))
	be.PutUint64(b[35:], uint64(m.timestamp))
	be.PutUint64(b[43:], ^uint64(0))
	be.PutUint16(b[51:], ^uint16(0))
	be.PutUint32(b[53:], ^uint32(0))
	be.PutUint32(b[57:], uint32(len(m.values)))
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	m.log = append(m.log, b...)
	m.offset += int64(len(m.values))
	m.timestamp += 500
	m.values = m.values[:0]
}

func i16(v int16) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
func i32(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// str is a compact string: length + 1, then the bytes.
func str(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s)+1)), s...)
}

// ints is a compact array of int32.
func ints(list ...int32) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)+1))
	for _, v := range list {
		b = append(b, i32(v)...)
	}
	return b
}
