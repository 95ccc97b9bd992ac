package report

import (
	"encoding/binary"
	"io"
	"strconv"

	"kafsck/batch"
	"kafsck/internal/javatext"
)

// Kafka writes the lines of kafka-dump-log (org.apache.kafka.tools.DumpLogSegments 4.3.1), byte
// for byte:
//
//	baseOffset: 0 lastOffset: 2 count: 3 … position: 0 CreateTime: 1700000000000 size: 95 … isvalid: true
//	| offset: 0 CreateTime: 1700000000000 keySize: 1 valueSize: 2 sequence: -1 headerKeys: [] key: k payload: v0
//
// Kafka prints a line in pieces, so that what it throws can cut one short. The methods here that
// return an error have then written as much as Kafka has; CutLine ends the line.
type Kafka struct {
	w   io.Writer
	buf []byte
	err error
	opt KafkaOptions
}

// KafkaOptions are those of kafka-dump-log that change its lines.
type KafkaOptions struct {
	Contents     bool // keys and values: --print-data-log, and with every decoder
	SkipMetadata bool // --skip-record-metadata
	Parser       KafkaParser
}

// kafkaBuffer is the size in bytes from which lines are written out.
const kafkaBuffer = 256 << 10

// NewKafka makes a writer of lines; Flush at the end.
func NewKafka(w io.Writer, opt KafkaOptions) *Kafka {
	return &Kafka{w: w, opt: opt, buf: make([]byte, 0, kafkaBuffer+kafkaBuffer/4)}
}

// Flush writes out all lines and returns the first failure of the writer.
func (k *Kafka) Flush() error {
	if k.err == nil && len(k.buf) > 0 {
		_, k.err = k.w.Write(k.buf)
	}
	if k.buf = k.buf[:0]; cap(k.buf) > 8<<20 {
		k.buf = make([]byte, 0, kafkaBuffer+kafkaBuffer/4) // a huge value went through
	}
	return k.err
}

// Err is the first failure of the writer.
func (k *Kafka) Err() error { return k.err }

func (k *Kafka) end(b []byte) {
	if k.buf = append(b, '\n'); len(k.buf) >= kafkaBuffer {
		k.Flush()
	}
}

// Line writes a line as it is.
func (k *Kafka) Line(parts ...string) {
	b := k.buf
	for _, p := range parts {
		b = append(b, p...)
	}
	k.end(b)
}

// Options are those that the writer was made with.
func (k *Kafka) Options() KafkaOptions { return k.opt }

// Text writes whole lines that another Kafka has made.
func (k *Kafka) Text(lines []byte) {
	if k.Flush(); k.err == nil && len(lines) > 0 {
		_, k.err = k.w.Write(lines)
	}
}

// CutLine ends the line that a method with an error left unfinished.
func (k *Kafka) CutLine() {
	if n := len(k.buf); n > 0 && k.buf[n-1] != '\n' {
		k.end(k.buf)
	}
}

func field(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

// Batch writes the line of a batch of magic 2 or above at position. Of a codec that does not
// exist Kafka writes the first half of the line; the error is then a *batch.Error.
func (k *Kafka) Batch(h *batch.Header, position int64, valid bool) error {
	b := k.buf
	b = field(b, "baseOffset: ", h.BaseOffset)
	b = field(b, " lastOffset: ", h.LastOffset())
	b = field(b, " count: ", int64(h.RecordCount))
	b = field(b, " baseSequence: ", int64(h.BaseSequence))
	b = field(b, " lastSequence: ", int64(h.LastSequence()))
	b = field(b, " producerId: ", h.ProducerID)
	b = field(b, " producerEpoch: ", int64(h.ProducerEpoch))
	b = field(b, " partitionLeaderEpoch: ", int64(h.PartitionLeaderEpoch))
	b = strconv.AppendBool(append(b, " isTransactional: "...), h.Attributes.Transactional())
	b = strconv.AppendBool(append(b, " isControl: "...), h.Attributes.Control())
	b = append(b, " deleteHorizonMs: "...)
	b = optionalLong(b, h.BaseTimestamp, h.Attributes.DeleteHorizon())
	k.buf = b
	c := h.Attributes.Codec()
	if c > batch.Zstd {
		return noCodec(21, c)
	}
	k.batchEnd(position, h.Attributes.TimestampType(), h.MaxTimestamp, h.Size(), h.Magic, c, h.CRC, valid)
	return nil
}

// Legacy writes the line of a message of magic 0 or 1.
func (k *Kafka) Legacy(h *batch.LegacyHeader, position int64, valid bool) error {
	k.buf = field(k.buf, "offset: ", h.Offset)
	c := h.Codec()
	if c > batch.Zstd {
		return noCodec(17, c)
	}
	k.batchEnd(position, h.TimestampType(), h.Timestamp, h.TotalSize(), h.Magic, c, h.CRC, valid)
	return nil
}

// LegacyCut writes what Kafka does of a message whose magic is below 0.
func (k *Kafka) LegacyCut(offset int64) { k.buf = field(k.buf, "offset: ", offset) }

func noCodec(pos int64, c batch.Codec) error {
	return &batch.Error{Pos: pos, Field: "attributes", Want: "a codec of 0 to 4", Got: c.String(), Err: batch.ErrCodec}
}

func (k *Kafka) batchEnd(position int64, t batch.TimestampType, timestamp, size int64, magic int8, c batch.Codec, crc uint32, valid bool) {
	b := field(k.buf, " position: ", position)
	b = append(append(b, ' '), t.String()...)
	b = field(b, ": ", timestamp)
	b = field(b, " size: ", size)
	b = field(b, " magic: ", int64(magic))
	b = append(append(b, " compresscodec: "...), c.String()...)
	b = field(b, " crc: ", int64(crc))
	k.end(strconv.AppendBool(append(b, " isvalid: "...), valid))
}

func optionalLong(b []byte, n int64, there bool) []byte {
	if !there {
		return append(b, "OptionalLong.empty"...)
	}
	return append(field(b, "OptionalLong[", n), ']')
}

func (k *Kafka) recordStart(t batch.TimestampType, r *batch.Record, keySize, valueSize int64) {
	b := field(k.buf, "| offset: ", r.Offset)
	b = append(append(b, ' '), t.String()...)
	b = field(b, ": ", r.Timestamp)
	b = field(b, " keySize: ", keySize)
	k.buf = field(b, " valueSize: ", valueSize)
}

// legacySizes are the sizes of key and value as they are written: Kafka prints a negative one as
// it is, and takes it for null (LegacyRecord.keySize, valueSize).
func legacySizes(r *batch.LegacyRecord) (key, value int64) {
	at := 18
	if r.Magic > 0 {
		at += 8
	}
	if len(r.Raw) < at+8 {
		return lengthOf(r.Key), lengthOf(r.Value)
	}
	key = int64(int32(binary.BigEndian.Uint32(r.Raw[at:])))
	at += 4 + max(int(key), 0)
	if len(r.Raw) < at+4 {
		return key, lengthOf(r.Value)
	}
	return key, int64(int32(binary.BigEndian.Uint32(r.Raw[at:])))
}

func lengthOf(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

// Record writes the line of a record from a batch of magic 2. The error says what Kafka would
// have thrown: a control record that is none, or a key or value that the decoder refuses.
func (k *Kafka) Record(h *batch.Header, r *batch.Record) error {
	control := h.Attributes.Control()
	if !k.opt.SkipMetadata {
		k.recordStart(h.Attributes.TimestampType(), r, lengthOf(r.Key), lengthOf(r.Value))
		b := field(k.buf, " sequence: ", int64(r.Sequence))
		b = append(b, " headerKeys: ["...)
		for i := range r.Headers {
			if i > 0 {
				b = append(b, ',')
			}
			b = javatext.AppendUTF8(b, []byte(r.Headers[i].Key))
		}
		k.buf = append(b, ']')
		if control {
			var err error
			if k.buf, err = appendControl(k.buf, r); err != nil {
				return err
			}
		}
	}
	if k.opt.Contents && !control {
		if err := k.contents(r); err != nil {
			return err
		}
	}
	k.end(k.buf)
	return nil
}

// LegacyRecord writes the line of a message of magic 0 or 1, or of one in a wrapper; t is the
// type that the wrapper says. The CRC is the only one of the record: Kafka checks it here.
func (k *Kafka) LegacyRecord(t batch.TimestampType, r *batch.LegacyRecord) error {
	if !k.opt.SkipMetadata {
		keySize, valueSize := legacySizes(r)
		k.recordStart(t, &r.Record, keySize, valueSize)
		b := strconv.AppendBool(append(k.buf, " isValid: "...), batch.CheckLegacyCRC(r.Raw) == nil)
		k.buf = field(b, " crc: ", int64(r.CRC))
	}
	if k.opt.Contents {
		if err := k.contents(&r.Record); err != nil {
			return err
		}
	}
	k.end(k.buf)
	return nil
}

func (k *Kafka) contents(r *batch.Record) error {
	prefix := " "
	if k.opt.SkipMetadata {
		prefix = "| "
	}
	var err error
	k.buf, err = k.opt.Parser.append(k.buf, prefix, r)
	return err
}
