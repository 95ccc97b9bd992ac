package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"kafsck/batch"
	"kafsck/segment"
)

// kafkaChain follows offsets and sizes through a log, exactly as far as Kafka does and no further
// (FileLogInputStream.nextBatch). It reads forward in large pieces.
//
//	0        8    12         16 17
//	+--------+----+----------+--+------ …   the next batch begins 12 + size bytes on
//	| offset |size| …        |m |           17 bytes or less at the end are not looked at
//	+--------+----+----------+--+------ …   size below 14: Kafka throws; beyond the end: it stops
type kafkaChain struct {
	r    io.ReaderAt
	size int64 // of the file
	end  int64 // where the slice ends that Kafka reads
	pos  int64 // of the next batch

	buf []byte // bytes of the file from at on
	at  int64
	mem []byte // what buf is a part of
}

const kafkaRead = 1 << 20

func newKafkaChain(r io.ReaderAt, size int64) *kafkaChain {
	return &kafkaChain{r: r, size: size, end: size}
}

// kafkaBatch is one link of the chain. Raw and head are borrowed until the next one.
type kafkaBatch struct {
	pos, total int64
	magic      int8
	offset     int64  // the first eight bytes
	head       []byte // the first 61 bytes from pos, or less at the end of the file
	raw        []byte // the whole batch, nil if it has more than segment.MaxRaw bytes or was not asked for
}

// kafkaThrew is what Kafka throws at a position.
type kafkaThrew struct {
	pos int64
	why string
}

func (e *kafkaThrew) Error() string { return fmt.Sprintf("at position %d: %s", e.pos, e.why) }

// errKafkaEnd says that Kafka goes no further, without an exception.
var errKafkaEnd = errors.New("end of the chain")

// bytes returns n bytes from pos on, which the file must have.
func (c *kafkaChain) bytes(pos, n int64) ([]byte, error) {
	if pos < c.at || pos+n > c.at+int64(len(c.buf)) {
		if err := c.load(pos, n); err != nil {
			return nil, err
		}
	}
	b := c.buf[pos-c.at:]
	return b[:n:n], nil
}

func (c *kafkaChain) load(pos, n int64) error {
	want := min(max(n, kafkaRead), c.size-pos)
	if int64(cap(c.mem)) < want || int64(cap(c.mem)) > 4*max(want, kafkaRead) {
		c.mem = make([]byte, want)
	}
	kept := 0
	if pos >= c.at && pos < c.at+int64(len(c.buf)) {
		kept = copy(c.mem[:want], c.buf[pos-c.at:])
	}
	b := c.mem[:want]
	c.buf, c.at = nil, pos
	if read, err := c.r.ReadAt(b[kept:], pos+int64(kept)); read < len(b)-kept {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return &segment.ReadError{Pos: pos + int64(kept), Err: err}
	}
	c.buf = b
	return nil
}

// next returns the batch at pos and moves on behind it; whole: with its bytes.
func (c *kafkaChain) next(b *kafkaBatch, whole bool) error {
	if c.pos >= c.end-17 {
		return errKafkaEnd
	}
	head, err := c.bytes(c.pos, min(batch.HeaderSize, c.size-c.pos))
	if err != nil {
		return err
	}
	size := int32(binary.BigEndian.Uint32(head[8:]))
	if size < batch.LegacyMinSize {
		return &kafkaThrew{c.pos, fmt.Sprintf("the record size %d is below the least, %d", size, batch.LegacyMinSize)}
	}
	total := batch.LogOverhead + int64(size)
	if c.pos+total > c.end {
		return errKafkaEnd
	}
	*b = kafkaBatch{pos: c.pos, total: total, magic: int8(head[16]), offset: int64(binary.BigEndian.Uint64(head)), head: head}
	if whole && total <= segment.MaxRaw {
		n := min(max(total, batch.HeaderSize), c.size-c.pos)
		all, err := c.bytes(c.pos, n)
		if err != nil {
			return err
		}
		b.head, b.raw = all[:min(batch.HeaderSize, n)], all[:total:total]
	}
	c.pos += total
	return nil
}

// lastOffset is that of the batch as Kafka computes it; it needs the header of magic 2.
func (b *kafkaBatch) lastOffset() (int64, error) {
	if b.magic < 2 {
		return b.offset, nil
	}
	if len(b.head) < batch.HeaderSize {
		return 0, b.short()
	}
	return b.offset + int64(int32(binary.BigEndian.Uint32(b.head[23:]))), nil
}

func (b *kafkaBatch) short() error {
	return &kafkaThrew{b.pos, "the file ends within the header of the batch"}
}

// maxTimestamp is the largest timestamp by the header; -1 if it has none.
func (b *kafkaBatch) maxTimestamp() int64 {
	switch {
	case b.magic >= 2 && len(b.head) >= batch.HeaderSize:
		return int64(binary.BigEndian.Uint64(b.head[35:]))
	case b.magic == 1:
		return int64(binary.BigEndian.Uint64(b.head[18:]))
	}
	return -1
}

// valid is RecordBatch.isValid.
func (c *kafkaChain) valid(b *kafkaBatch) (bool, error) {
	covered, stored, table := int64(21), uint32(0), castagnoli
	if b.magic < 2 {
		covered, stored, table = 16, binary.BigEndian.Uint32(b.head[12:]), crc32.IEEETable
	} else {
		if b.total < batch.HeaderSize {
			return false, nil
		}
		stored = binary.BigEndian.Uint32(b.head[17:])
	}
	if b.raw != nil {
		return crc32.Checksum(b.raw[covered:], table) == stored, nil
	}
	var crc uint32
	piece := make([]byte, kafkaRead)
	for at := b.pos + covered; at < b.pos+b.total; {
		p := piece[:min(int64(len(piece)), b.pos+b.total-at)]
		if n, err := c.r.ReadAt(p, at); n < len(p) {
			return false, &segment.ReadError{Pos: at, Err: err}
		}
		crc = crc32.Update(crc, table, p)
		at += int64(len(p))
	}
	return crc == stored, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
