package logtest

import (
	"encoding/binary"
	"hash/crc32"
)

// Message is a message of magic 0 or 1, as logs held them before Kafka 0.11.
type Message struct {
	Magic      int8
	Offset     int64
	Codec      Codec
	AppendTime bool  // magic 1: the timestamp is LogAppendTime
	Timestamp  int64 // magic 1
	Key, Value []byte
}

// Encode returns the bytes of the message.
//
//	0       8     12   16    17          18 (26)
//	offset  size  crc  magic attributes  [timestamp]  key length, key, value length, value
func (m Message) Encode() []byte {
	attributes := byte(m.Codec)
	if m.AppendTime {
		attributes |= 1 << 3
	}
	be := binary.BigEndian
	out := make([]byte, 16, 34+len(m.Key)+len(m.Value))
	out = append(out, byte(m.Magic), attributes)
	if m.Magic > 0 {
		out = be.AppendUint64(out, uint64(m.Timestamp))
	}
	for _, b := range [][]byte{m.Key, m.Value} {
		n := int32(len(b))
		if b == nil {
			n = -1
		}
		out = append(be.AppendUint32(out, uint32(n)), b...)
	}
	be.PutUint64(out, uint64(m.Offset))
	be.PutUint32(out[8:], uint32(len(out)-12))
	be.PutUint32(out[12:], crc32.ChecksumIEEE(out[16:]))
	return out
}

// Wrapper is a compressed message holding others of the same magic, which must have
// ascending offsets. It carries the offset of the last; those of magic 1 are counted
// from the first. The frame of LZ4 in magic 0 has the wrong header checksum that all
// Kafka versions wrote there (KAFKA-3160).
func Wrapper(c Codec, inner ...Message) Message {
	last := inner[len(inner)-1]
	w := Message{Magic: last.Magic, Offset: last.Offset, Codec: c}
	var set []byte
	base := inner[0].Offset
	for _, m := range inner {
		if m.Magic > 0 {
			m.Offset -= base
			w.Timestamp = max(w.Timestamp, m.Timestamp)
		}
		set = append(set, m.Encode()...)
	}
	w.Value = compress(c, set)
	if c == LZ4 && w.Magic == 0 {
		w.Value[6] = 0x1a // over magic number and descriptor 60 40, not over the descriptor
	}
	return w
}
