package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"

	"kafsck/batch"
	"kafsck/segment"
)

// message is one message of magic 0 or 1, taken apart here because kafsck does
// not look into wrappers; decompressing them is kafsck's.
type message struct {
	batch.LegacyHeader
	keySize, valueSize int // -1 = null
	value              []byte
	valid              bool // the checksum verifies
}

func readMessage(raw []byte) (message, error) {
	h, err := batch.ParseLegacyHeader(raw)
	if err != nil {
		return message{}, err
	}
	m := message{LegacyHeader: h}
	rest := raw[18:h.TotalSize()]
	if h.Magic == 1 {
		rest = rest[8:]
	}
	m.keySize, _, rest, err = sized(rest)
	if err != nil {
		return message{}, err
	}
	m.valid = batch.CheckLegacyCRC(raw[:h.TotalSize()]) == nil
	m.valueSize, m.value, _, err = sized(rest)
	return m, err
}

func sized(b []byte) (size int, field, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, nil, errors.New("no room for a length")
	}
	size, b = int(int32(binary.BigEndian.Uint32(b))), b[4:]
	if size < 0 {
		return -1, nil, b, nil
	}
	if size > len(b) {
		return 0, nil, nil, fmt.Errorf("length %d with %d bytes left", size, len(b))
	}
	return size, b[:size], b[size:], nil
}

// legacyLines returns what Kafka prints for a message or wrapper and for the
// messages in it; err says why the latter cannot be read.
func legacyLines(frame segment.Frame, d *batch.Decompressor) (line string, records []string, err error) {
	h := frame.Legacy
	line = fmt.Sprintf("offset: %d position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t",
		h.Offset, frame.Pos, timestampType(h), h.Timestamp, h.TotalSize(), h.Magic, h.Codec(), h.CRC,
		!errors.Is(frame.Damage, batch.ErrCRC))
	m, err := readMessage(frame.Raw)
	if err != nil {
		return line, nil, err
	}
	inner := []message{m}
	if h.Codec() != batch.None {
		if inner, err = unwrap(m, d); err != nil {
			return line, nil, err
		}
	}
	for _, i := range inner {
		timestamp := i.Timestamp
		if h.TimestampType() == batch.LogAppendTime {
			timestamp = h.Timestamp
		}
		records = append(records, fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d isValid: %t crc: %d",
			i.Offset, timestampType(h), timestamp, i.keySize, i.valueSize, i.valid, i.CRC))
	}
	return line, records, nil
}

func timestampType(m batch.LegacyHeader) string {
	if m.Magic == 0 {
		return "NoTimestampType"
	}
	return m.TimestampType().String()
}

// unwrap returns the messages in a wrapper with their absolute offsets.
func unwrap(wrapper message, d *batch.Decompressor) ([]message, error) {
	blob, err := d.DecompressLegacy(wrapper.Magic, wrapper.Codec(), wrapper.value)
	if err != nil {
		return nil, err
	}
	var inner []message
	for len(blob) > 0 {
		h, err := batch.ParseLegacyHeader(blob)
		if err != nil {
			return nil, err
		}
		if h.TotalSize() > int64(len(blob)) {
			return nil, fmt.Errorf("inner message of %d bytes with %d left", h.TotalSize(), len(blob))
		}
		m, err := readMessage(blob[:h.TotalSize()])
		if err != nil {
			return nil, err
		}
		inner = append(inner, m)
		blob = blob[h.TotalSize():]
	}
	if len(inner) == 0 {
		return nil, errors.New("empty wrapper")
	}
	if wrapper.Magic == 1 {
		// Offsets inside are relative; the wrapper has the last one's.
		base := wrapper.Offset - inner[len(inner)-1].Offset
		for i := range inner {
			inner[i].Offset += base
		}
	}
	return inner, nil
}
