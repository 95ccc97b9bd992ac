package export

import (
	"encoding/base64"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"kafsck/batch"
)

// JSONL writes records as JSON Lines: the record lines of docs/json.md, with more fields.
// The lines before and after them are the caller's.
type JSONL struct {
	// Redact leaves keys, values and header values out: their sizes and SHA-256 stay.
	Redact bool

	w   io.Writer
	buf []byte
}

// NewJSONL writes to w.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w: w} }

// maxLineBuffer is the size in bytes up to which the buffer of a line is kept.
const maxLineBuffer = 4 << 20

// Write writes one record on a line.
func (j *JSONL) Write(r *Record) error {
	b := append(j.buf[:0], `{"type":"record","partition":`...)
	b = appendString(b, r.Partition)
	b = append(b, `,"topicId":`...)
	if r.TopicID == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, r.TopicID)
	}
	b = append(b, `,"broker":`...)
	if r.Broker >= 0 {
		b = strconv.AppendInt(b, int64(r.Broker), 10)
	} else {
		b = appendString(b, r.BrokerName)
	}
	b = append(b, `,"file":`...)
	b = appendString(b, r.File)
	b = appendNumber(b, "offset", r.Offset)
	b = appendNumber(b, "leaderEpoch", int64(r.LeaderEpoch))
	b = append(b, `,"timestamp":`...)
	if t := time.UnixMilli(r.Timestamp).UTC(); r.Timestamp < 0 || t.Year() > 9999 {
		b = append(b, "null"...)
	} else {
		b = append(t.AppendFormat(append(b, '"'), "2006-01-02T15:04:05.000Z"), '"')
	}
	b = appendNumber(b, "timestampMs", r.Timestamp)
	b = append(b, `,"timestampType":"`...)
	b = append(append(b, r.TimestampType.String()...), '"')
	b = j.appendPayload(append(b, ','), "key", r.Key)
	b = j.appendPayload(append(b, ','), "value", r.Value)
	b = append(b, `,"headers":[`...)
	for i := range r.Headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendHeader(b, &r.Headers[i])
	}
	b = append(b, ']')
	b = appendNumber(b, "producerId", r.ProducerID)
	b = appendNumber(b, "producerEpoch", int64(r.ProducerEpoch))
	b = appendNumber(b, "sequence", int64(r.Sequence))
	b = strconv.AppendBool(append(b, `,"transactional":`...), r.Transactional)
	b = strconv.AppendBool(append(b, `,"control":`...), r.Control)
	b = appendNumber(b, "batchPosition", r.Position)
	b = append(append(append(b, `,"transactionState":"`...), r.State...), '"')
	if r.ControlType != "" {
		b = appendString(append(b, `,"controlType":`...), r.ControlType)
	}
	if r.Coordinator >= 0 {
		b = appendNumber(b, "coordinatorEpoch", int64(r.Coordinator))
	}
	b = append(append(append(b, `,"codec":"`...), r.Codec.String()...), '"')
	if r.Magic < 2 {
		b = appendNumber(b, "magic", int64(r.Magic))
	}
	if r.Misread {
		b = appendNumber(b, "writtenOffset", r.WrittenOffset)
		b = appendNumber(b, "writtenLeaderEpoch", int64(r.WrittenEpoch))
	}
	if r.Overlaps {
		b = append(b, `,"overlaps":true`...)
	}
	if l := r.Lost; l != nil {
		b = appendString(append(b, `,"committed":`...), l.Committed)
		b = appendString(append(b, `,"acknowledged":`...), l.Acknowledged)
		b = appendString(append(b, `,"cause":`...), l.Cause)
		b = appendString(append(b, `,"mark":`...), string(l.Mark.Kind))
		if l.Mark.Offset >= 0 {
			b = appendNumber(b, "markOffset", l.Mark.Offset)
		} else {
			b = append(b, `,"markOffset":null`...)
		}
		if l.Mark.By != "" {
			b = appendString(append(b, `,"duplicateBy":`...), l.Mark.By)
		}
	}
	b = append(b, "}\n"...)
	_, err := j.w.Write(b)
	if j.buf = b; cap(b) > maxLineBuffer {
		j.buf = nil
	}
	return err
}

// appendHeader tells a null value from an empty one, and keeps the bytes of a key that is
// no UTF-8.
func (j *JSONL) appendHeader(b []byte, h *batch.RecordHeader) []byte {
	b = appendString(append(b, `{"key":`...), h.Key)
	if !utf8.ValidString(h.Key) {
		b = appendBytes(append(b, `,"keyBytes":`...), []byte(h.Key))
	}
	return append(j.appendPayload(append(b, ','), "value", h.Value), '}')
}

// appendPayload is the member name with the bytes v, or with their size and hash. Null is no
// secret: it stays.
func (j *JSONL) appendPayload(b []byte, name string, v []byte) []byte {
	b = append(append(b, '"'), name...)
	if !j.Redact || v == nil {
		return appendBytes(append(b, `":`...), v)
	}
	b = strconv.AppendInt(append(b, `Size":`...), int64(len(v)), 10)
	b = append(append(append(b, `,"`...), name...), `Sha256":"`...)
	return append(append(b, hashOf(v)...), '"')
}

// appendBytes is base64, null for nil.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), v), '"')
}

// bigNumber is the first integer that a JSON reader with floating point numbers may change:
// from there on a number has a twin in text.
const bigNumber = 1 << 53

func appendNumber(b []byte, name string, n int64) []byte {
	b = append(append(append(b, ',', '"'), name...), '"', ':')
	b = strconv.AppendInt(b, n, 10)
	if n > bigNumber || n < -bigNumber {
		b = append(append(append(b, ',', '"'), name...), `Text":"`...)
		b = append(strconv.AppendInt(b, n, 10), '"')
	}
	return b
}

// appendString quotes s. What a terminal might obey or hide stands as \u; bytes that are no
// UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == utf8.RuneError && size <= 1:
			b = append(b, `\ufffd`...)
		case strconv.IsPrint(r):
			b = append(b, s[i:i+size]...)
		case r < 0x10000:
			b = appendUnit(b, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			b = appendUnit(appendUnit(b, hi), lo)
		}
		i += size
	}
	return append(b, '"')
}

func appendUnit(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
