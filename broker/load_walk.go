package broker

import (
	"encoding/binary"
	"hash/crc32"

	"kafsck/batch"
	"kafsck/segment"
)

// walked is a batch as a walk over a .log finds it, by its first 17 bytes.
//
//	0             8        12       16    17
//	+-------------+--------+--------+-----+------------------ … -----+
//	|   offset    | length | epoch  |magic|                          |
//	|             |        | or CRC |     |                          |
//	+-------------+--------+--------+-----+------------------ … -----+
//	                       |<--------------- length ---------------->|
//
// Magic 2 and above is read as a batch, anything below as a message of magic 0 or 1, also what is
// negative (FileLogInputStream.nextBatch).
type walked struct {
	f      *modelFile
	pos    int64
	offset int64 // base offset of a batch, offset of a message
	length int32 // ≥ 14
	magic  int8
}

const (
	walkHead  = batch.LogOverhead + 5 // up to and with the magic
	epochPos  = 12
	crcPos    = 17
	attrPos   = 21
	deltaPos  = 23
	maxTsPos  = 35
	prodPos   = 43
	prodEpPos = 51
	countPos  = 57
)

func (w *walked) size() int64  { return batch.LogOverhead + int64(w.length) }
func (w *walked) end() int64   { return w.pos + w.size() }
func (w *walked) legacy() bool { return w.magic < 2 }

// next reads the batch at pos of a log that ends at end. ok is false where Kafka's walk ends without
// a complaint: 17 bytes or less are left, or the batch goes beyond the end.
//
// Source: FileLogInputStream.nextBatch.
func (l *loader) next(f *modelFile, pos, end int64) (w walked, ok bool, err error) {
	if l.steps++; l.steps%1024 == 0 && l.ctx.Err() != nil {
		return walked{}, false, l.ctx.Err()
	}
	if pos >= end-walkHead {
		return walked{}, false, nil
	}
	b, err := l.bytes(f, pos, walkHead)
	if err != nil {
		return walked{}, false, err
	}
	w = walked{f: f, pos: pos, offset: int64(binary.BigEndian.Uint64(b)), length: int32(binary.BigEndian.Uint32(b[8:])), magic: int8(b[16])}
	if w.length < batch.LegacyMinSize {
		return walked{}, false, throwAt(corruptRecord, "CorruptRecordException", f.name, pos, "a batch of length %d", w.length)
	}
	if w.end() > end {
		return walked{}, false, nil
	}
	return w, true, nil
}

// bytes borrows n bytes until the next call, from a .log or another file.
func (l *loader) bytes(f *modelFile, pos, n int64) ([]byte, error) {
	if pos+n <= f.held {
		return l.reader.bytes(f, pos, n)
	}
	return l.reader.small(f, pos, n) // zero bytes behind the source
}

// head is the header of a batch of magic 2, borrowed until the next read. It may reach into the
// next batch, or beyond the file, where the batch is too small for one
// (FileChannelRecordBatch.loadBatchHeader).
func (l *loader) head(w *walked) ([]byte, error) {
	if w.pos+batch.HeaderSize > w.f.size {
		return nil, throwAt(unchecked, "KafkaException", w.f.name, w.pos, "the header of the batch reaches beyond the file")
	}
	return l.bytes(w.f, w.pos, batch.HeaderSize)
}

// lastOffset is the offset of the batch's last record.
func (l *loader) lastOffset(w *walked) (int64, error) {
	if w.legacy() {
		return w.offset, nil
	}
	b, err := l.head(w)
	if err != nil {
		return 0, err
	}
	return w.offset + int64(int32(binary.BigEndian.Uint32(b[deltaPos:]))), nil
}

// maxTimestamp is the largest timestamp of the batch, -1 for none and always so in magic 0.
func (l *loader) maxTimestamp(w *walked) (int64, error) {
	switch {
	case w.magic == 0:
		return -1, nil
	case w.legacy():
		b, err := l.bytes(w.f, w.pos+walkHead+1, 8)
		if err != nil {
			return 0, err
		}
		return int64(binary.BigEndian.Uint64(b)), nil
	}
	b, err := l.head(w)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b[maxTsPos:])), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ensureValid checks size and CRC of a batch or message: all that a recovery checks
// (DefaultRecordBatch.ensureValid, LegacyRecord.ensureValid).
func (l *loader) ensureValid(w *walked) error {
	table, from, stored := castagnoli, int64(attrPos), int64(crcPos)
	if w.legacy() {
		table, from, stored = crc32.IEEETable, 16, 12
	} else if w.size() < batch.HeaderSize {
		return throwAt(corruptRecord, "CorruptRecordException", w.f.name, w.pos, "a batch of %d bytes, less than the 61 of its header", w.size())
	}
	b, err := l.bytes(w.f, w.pos+stored, 4)
	if err != nil {
		return err
	}
	want, sum := binary.BigEndian.Uint32(b), uint32(0)
	for at, end := w.pos+from, w.end(); at < end; {
		n := min(end-at, readAhead/2)
		if b, err = l.bytes(w.f, at, n); err != nil {
			return err
		}
		sum = crc32.Update(sum, table, b)
		at += n
	}
	if sum != want {
		return throwAt(corruptRecord, "CorruptRecordException", w.f.name, w.pos, "CRC 0x%08x is stored, 0x%08x computed", want, sum)
	}
	return nil
}

// whole is the bytes of a batch. It is nil, without an error, for one larger than kafsck holds.
func (l *loader) whole(w *walked) ([]byte, error) {
	if w.size() > segment.MaxRaw {
		return nil, &tooLarge{file: w.f.name, pos: w.pos, size: w.size()}
	}
	return l.reader.small(w.f, w.pos, w.size())
}

// baseOffset is the offset of the first record. Of a compressed message of magic 0 or 1 it is found
// only by decompressing it.
//
// Source: AbstractLegacyRecordBatch.DeepRecordsIterator.
func (l *loader) baseOffset(w *walked) (int64, error) {
	if !w.legacy() {
		return w.offset, nil
	}
	b, err := l.bytes(w.f, w.pos+walkHead, 1)
	if err != nil {
		return 0, err
	}
	refuse := func(format string, args ...any) error {
		return throwAt(unchecked, "InvalidRecordException", w.f.name, w.pos, format, args...)
	}
	codec := batch.Codec(b[0] & 0x07)
	switch {
	case codec == batch.None:
		return w.offset, nil
	case codec > batch.Zstd:
		return 0, throwAt(unchecked, "IllegalArgumentException", w.f.name, w.pos, "unknown compression %d", codec)
	case w.magic < 0 || codec == batch.Zstd:
		return 0, refuse("a compressed message of magic %d in %v", w.magic, codec)
	}
	raw, err := l.whole(w)
	if err != nil {
		return 0, err
	}
	value, ok := legacyValue(raw[batch.LogOverhead:], w.magic)
	if !ok {
		return 0, refuse("a compressed message without a value")
	}
	inner, err := l.decompressor().DecompressLegacy(w.magic, codec, value)
	if err != nil {
		return 0, refuse("a compressed message that cannot be read: %v", err)
	}
	first, last, n := int64(0), int64(0), 0
	for len(inner) >= batch.LogOverhead {
		size := int32(binary.BigEndian.Uint32(inner[8:]))
		if size < batch.LegacyMinSize {
			return 0, refuse("an inner message of length %d", size)
		}
		if int64(len(inner)) < batch.LogOverhead+int64(size) {
			break
		}
		last = int64(binary.BigEndian.Uint64(inner))
		if n == 0 {
			if first = last; inner[walkHead]&0x07 != 0 {
				return 0, refuse("a compressed message within a compressed one")
			}
		}
		n++
		inner = inner[batch.LogOverhead+int64(size):]
	}
	switch {
	case n == 0:
		return 0, refuse("a compressed message with nothing in it")
	case w.magic == 0 || w.offset == 0:
		return first, nil // magic 0: inner offsets are absolute; 0: some librdkafka
	case w.offset < last:
		return 0, refuse("a compressed message at offset %d with an inner offset %d", w.offset, last)
	}
	return w.offset - last + first, nil
}

// legacyValue cuts the value out of a message of magic 0 or 1, without offset and size.
func legacyValue(b []byte, magic int8) ([]byte, bool) {
	at := int64(6)
	if magic > 0 {
		at = 14
	}
	field := func() (v []byte, null, ok bool) {
		if at+4 > int64(len(b)) {
			return nil, false, false
		}
		n := int64(int32(binary.BigEndian.Uint32(b[at:])))
		if at += 4; n < 0 {
			return nil, true, true
		}
		if n > int64(len(b))-at {
			return nil, false, false
		}
		v, at = b[at:at+n], at+n
		return v, false, true
	}
	if _, _, ok := field(); !ok {
		return nil, false
	}
	v, null, ok := field()
	return v, ok && !null
}

// found is where a search ended.
type found struct {
	ok     bool
	offset int64 // base offset of the batch
	pos    int64
}

// search looks from a position on for the batch that holds an offset, or the first one behind it.
//
//	before 4.1   the first batch whose last offset is not below it     searchForOffsetWithSize
//	since 4.1    decided by base offsets where they tell               searchForOffsetFromPosition
//
// The two differ where offsets do not grow.
func (l *loader) search(f *modelFile, target, from int64) (found, error) {
	at := func(w *walked) (found, error) {
		base, err := l.baseOffset(w)
		return found{ok: true, offset: base, pos: w.pos}, err
	}
	byLast := l.in.Version.Before(4, 1)
	var before walked
	some := false
	for pos := from; ; {
		w, ok, err := l.next(f, pos, f.size)
		if err != nil {
			return found{}, err
		}
		if !ok {
			break
		}
		if byLast {
			last, err := l.lastOffset(&w)
			if err != nil {
				return found{}, err
			}
			if last >= target {
				return at(&w)
			}
		} else {
			base, err := l.baseOffset(&w)
			if err != nil {
				return found{}, err
			}
			if base == target {
				return at(&w)
			}
			if base > target {
				if some {
					last, err := l.lastOffset(&before)
					if err != nil {
						return found{}, err
					}
					if last >= target {
						return at(&before)
					}
				}
				return at(&w)
			}
		}
		before, some, pos = w, true, w.end()
	}
	if some && !byLast {
		last, err := l.lastOffset(&before)
		if err != nil {
			return found{}, err
		}
		if last >= target {
			return at(&before)
		}
	}
	return found{}, nil
}
