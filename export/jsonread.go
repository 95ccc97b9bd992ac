package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"kafsck/batch"
)

// ErrNotWhole says that JSON Lines do not end with a summary: they were cut short.
var ErrNotWhole = errors.New("no summary at the end: the file was cut short")

// maxLine bounds a line in bytes: a record of Kafka's largest size in base64, with room.
const maxLine = 3 << 30

// ReadJSONL yields the records of JSON Lines that JSONL wrote; lines of other types are
// passed over. An error names the line and ends it; ErrNotWhole comes last where the
// summary is missing. A record whose key or values were left out is an error, ErrRedacted. A
// Record is good until the next step, Origin is not set.
func ReadJSONL(in io.Reader) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		r := bufio.NewReaderSize(in, 64<<10)
		whole := false
		var rec Record
		for n := 1; ; n++ {
			line, err := readLine(r)
			if len(bytes.TrimSpace(line)) > 0 {
				kind, bad := rec.UnmarshalLine(line)
				if bad != nil {
					yield(nil, fmt.Errorf("line %d: %w", n, bad))
					return
				}
				whole = kind == "summary"
				if kind == "record" && !yield(&rec, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if !whole {
			yield(nil, ErrNotWhole)
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		if out == nil && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		if out = append(out, part...); len(out) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", int64(maxLine))
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

// jsonRecord is a line; a pointer is nil where the field is missing or null.
type jsonRecord struct {
	Type          string          `json:"type"`
	Partition     string          `json:"partition"`
	TopicID       *string         `json:"topicId"`
	Broker        json.RawMessage `json:"broker"`
	File          string          `json:"file"`
	Offset        *int64          `json:"offset"`
	LeaderEpoch   *int32          `json:"leaderEpoch"`
	TimestampMs   *int64          `json:"timestampMs"`
	TimestampType string          `json:"timestampType"`
	Key           *[]byte         `json:"key"`
	Value         *[]byte         `json:"value"`
	KeySize       *int64          `json:"keySize"` // of redacted ones
	ValueSize     *int64          `json:"valueSize"`
	Headers       []jsonHeader    `json:"headers"`
	ProducerID    *int64          `json:"producerId"`
	ProducerEpoch *int16          `json:"producerEpoch"`
	Sequence      *int32          `json:"sequence"`
	Transactional bool            `json:"transactional"`
	Control       bool            `json:"control"`
	Position      int64           `json:"batchPosition"`
	State         string          `json:"transactionState"`
	ControlType   string          `json:"controlType"`
	Coordinator   *int32          `json:"coordinatorEpoch"`
	Codec         string          `json:"codec"`
	Magic         *int8           `json:"magic"`
	WrittenOffset *int64          `json:"writtenOffset"`
	WrittenEpoch  *int32          `json:"writtenLeaderEpoch"`
	Committed     string          `json:"committed"`
	Acknowledged  string          `json:"acknowledged"`
	Cause         string          `json:"cause"`
	Mark          string          `json:"mark"`
	MarkOffset    *int64          `json:"markOffset"`
	DuplicateBy   string          `json:"duplicateBy"`
}

type jsonHeader struct {
	Key      string  `json:"key"`
	KeyBytes []byte  `json:"keyBytes"`
	Value    *[]byte `json:"value"`
	Size     *int64  `json:"valueSize"`
}

var timestampTypes = []batch.TimestampType{batch.NoTimestampType, batch.CreateTime, batch.LogAppendTime}

var codecs = []batch.Codec{batch.None, batch.Gzip, batch.Snappy, batch.LZ4, batch.Zstd}

// UnmarshalLine reads one line and returns its type; of other types than "record" the
// Record stays as it was.
func (r *Record) UnmarshalLine(line []byte) (kind string, err error) {
	var j jsonRecord
	if err := json.Unmarshal(line, &j); err != nil {
		// A line of another type may have other types of values.
		var only struct {
			Type string `json:"type"`
		}
		if e := json.Unmarshal(line, &only); e == nil && only.Type != "record" && only.Type != "" {
			return only.Type, nil
		}
		return "", err
	}
	switch {
	case j.Type == "":
		return "", errors.New("no type")
	case j.Type != "record":
		return j.Type, nil
	case j.Offset == nil:
		return "", errors.New("a record without offset")
	case j.KeySize != nil || j.ValueSize != nil || slices.ContainsFunc(j.Headers, func(h jsonHeader) bool { return h.Size != nil }):
		return "", fmt.Errorf("offset %d: %w", *j.Offset, ErrRedacted)
	}
	*r = Record{Place: Place{Partition: j.Partition, Broker: -1, File: j.File, Position: j.Position}, Magic: 2, Offset: *j.Offset, WrittenOffset: *j.Offset,
		LeaderEpoch: or(j.LeaderEpoch, -1), Timestamp: or(j.TimestampMs, -1), Key: bytesOf(j.Key), Value: bytesOf(j.Value),
		ProducerID: or(j.ProducerID, -1), ProducerEpoch: or(j.ProducerEpoch, -1), Sequence: or(j.Sequence, -1),
		Transactional: j.Transactional, State: TransactionState(j.State), Control: j.Control, ControlType: j.ControlType, Coordinator: or(j.Coordinator, -1)}
	if j.TopicID != nil {
		r.TopicID = *j.TopicID
	}
	r.WrittenEpoch = r.LeaderEpoch
	if len(j.Broker) > 0 {
		if err := json.Unmarshal(j.Broker, &r.Broker); err != nil {
			if err := json.Unmarshal(j.Broker, &r.BrokerName); err != nil {
				return "", fmt.Errorf("broker: %w", err)
			}
			r.Broker = -1
		}
	}
	if j.Magic != nil {
		r.Magic = *j.Magic
	}
	if j.WrittenOffset != nil && j.WrittenEpoch != nil {
		r.Misread, r.WrittenOffset, r.WrittenEpoch = true, *j.WrittenOffset, *j.WrittenEpoch
	}
	if r.TimestampType, err = timestampTypeOf(j.TimestampType); err != nil {
		return "", err
	}
	r.Codec = codecOf(j.Codec)
	for _, h := range j.Headers {
		x := batch.RecordHeader{Key: h.Key, Value: bytesOf(h.Value)}
		if h.KeyBytes != nil {
			x.Key = string(h.KeyBytes)
		}
		r.Headers = append(r.Headers, x)
	}
	if j.Mark != "" {
		r.Lost = &Lost{Committed: j.Committed, Acknowledged: j.Acknowledged, Cause: j.Cause, Mark: Mark{Kind: MarkKind(j.Mark), Offset: or(j.MarkOffset, -1), By: j.DuplicateBy}}
	}
	return "record", nil
}

func timestampTypeOf(name string) (batch.TimestampType, error) {
	i := slices.IndexFunc(timestampTypes, func(t batch.TimestampType) bool { return t.String() == name })
	if i < 0 {
		return 0, fmt.Errorf("timestampType %q", name)
	}
	return timestampTypes[i], nil
}

// codecOf is None for a name that is not known: no record depends on it.
func codecOf(name string) batch.Codec {
	i := slices.IndexFunc(codecs, func(c batch.Codec) bool { return c.String() == name })
	if i < 0 {
		return batch.None
	}
	return codecs[i]
}

func or[T int8 | int16 | int32 | int64 | string](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// bytesOf tells null from empty.
func bytesOf(p *[]byte) []byte {
	switch {
	case p == nil:
		return nil
	case *p == nil:
		return []byte{}
	}
	return *p
}
