package logtest

import (
	"encoding/binary"
	"hash/crc32"
)

// Codec is the compression in the low three bits of a batch's attributes.
type Codec byte

// The codecs; Snappy is written with the framing of snappy-java ("xerial").
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// Producer is what an idempotent producer stamps on a batch.
type Producer struct {
	ID       int64
	Epoch    int16
	Sequence int32 // base sequence, -1 for none
}

// Header is a record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a batch. Key and value nil are null.
type Record struct {
	Timestamp  int64
	Key, Value []byte
	Headers    []Header
}

// Values returns records with these values, null keys and timestamp 0.
func Values(values ...string) []Record {
	out := make([]Record, len(values))
	for i, v := range values {
		out[i].Value = []byte(v)
	}
	return out
}

// Batch is a record batch of magic 2, as a writer sees it.
type Batch struct {
	BaseOffset int64
	Epoch      int32 // partition leader epoch
	Codec      Codec
	Records    []Record

	Producer      *Producer // nil: id, epoch and sequence are -1
	Transactional bool
	Control       bool

	// AppendTime other than 0 makes it LogAppendTime with this time.
	AppendTime int64
	// DeleteHorizon other than 0 sets the flag and stands in for the base timestamp.
	DeleteHorizon int64
	// Deltas are the offset deltas of the records, after compaction; nil is 0, 1, 2, …
	Deltas []int32
	// LastDelta is the last offset delta if that of the last record is lower.
	LastDelta int32
	// MaxTimestamp is used when there are no records.
	MaxTimestamp int64
}

// NextOffset is the offset behind the batch.
func (b Batch) NextOffset() int64 { return b.BaseOffset + int64(b.lastDelta()) + 1 }

func (b Batch) delta(i int) int32 {
	if b.Deltas != nil {
		return b.Deltas[i]
	}
	return int32(i)
}

func (b Batch) lastDelta() int32 {
	last := b.LastDelta
	if n := len(b.Records); n > 0 {
		last = max(last, b.delta(n-1))
	}
	return last
}

// Encode returns the bytes of the batch.
//
//	0       8     12    16 17  21  23    27      35      43      51  53    57    61
//	base    length epoch 2 crc att last  base    max     producer    base  count records
//	offset                         delta timest. timest. id      ep. seq.
func (b Batch) Encode() []byte {
	baseTimestamp, maxTimestamp := int64(-1), b.MaxTimestamp
	if len(b.Records) > 0 {
		baseTimestamp, maxTimestamp = b.Records[0].Timestamp, b.Records[0].Timestamp
		for _, r := range b.Records {
			maxTimestamp = max(maxTimestamp, r.Timestamp)
		}
	}
	attributes := uint16(b.Codec)
	if b.AppendTime != 0 {
		attributes |= 1 << 3
		maxTimestamp = b.AppendTime
	}
	if b.Transactional {
		attributes |= 1 << 4
	}
	if b.Control {
		attributes |= 1 << 5
	}
	if b.DeleteHorizon != 0 {
		attributes |= 1 << 6
		baseTimestamp = b.DeleteHorizon
	}
	p := Producer{ID: -1, Epoch: -1, Sequence: -1}
	if b.Producer != nil {
		p = *b.Producer
	}
	var records []byte
	for i, r := range b.Records {
		records = appendRecord(records, r, r.Timestamp-baseTimestamp, b.delta(i))
	}
	if len(b.Records) > 0 {
		records = compress(b.Codec, records)
	}

	out := make([]byte, 61, 61+len(records))
	be := binary.BigEndian
	be.PutUint64(out[0:], uint64(b.BaseOffset))
	be.PutUint32(out[8:], uint32(49+len(records)))
	be.PutUint32(out[12:], uint32(b.Epoch))
	out[16] = 2
	be.PutUint16(out[21:], attributes)
	be.PutUint32(out[23:], uint32(b.lastDelta()))
	be.PutUint64(out[27:], uint64(baseTimestamp))
	be.PutUint64(out[35:], uint64(maxTimestamp))
	be.PutUint64(out[43:], uint64(p.ID))
	be.PutUint16(out[51:], uint16(p.Epoch))
	be.PutUint32(out[53:], uint32(p.Sequence))
	be.PutUint32(out[57:], uint32(len(b.Records)))
	out = append(out, records...)
	SetCRC(out)
	return out
}

// SetCRC stores the right CRC in a batch of magic 2, after its bytes were changed.
func SetCRC(batch []byte) {
	sum := crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(batch[17:], sum)
}

// appendRecord: length, attributes, timestamp delta, offset delta, key, value, headers;
// all numbers zig-zag varints, lengths of null are -1.
func appendRecord(out []byte, r Record, timestampDelta int64, offsetDelta int32) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, timestampDelta)
	body = binary.AppendVarint(body, int64(offsetDelta))
	body = appendBytes(body, r.Key)
	body = appendBytes(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendBytes(body, h.Value)
	}
	return append(binary.AppendVarint(out, int64(len(body))), body...)
}

func appendBytes(out, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(out, -1)
	}
	return append(binary.AppendVarint(out, int64(len(b))), b...)
}

// Marker is a transaction marker, ABORT or COMMIT, as the coordinator has it written.
type Marker struct {
	Offset           int64
	Epoch            int32
	Timestamp        int64
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
}

// Batch is the control batch of one record that carries the marker.
func (m Marker) Batch() Batch {
	key := []byte{0, 0, 0, 0} // version, type
	if m.Commit {
		key[3] = 1
	}
	value := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.CoordinatorEpoch))
	return Batch{
		BaseOffset: m.Offset, Epoch: m.Epoch, Transactional: true, Control: true,
		Producer: &Producer{ID: m.ProducerID, Epoch: m.ProducerEpoch, Sequence: -1},
		Records:  []Record{{Timestamp: m.Timestamp, Key: key, Value: value}},
	}
}
