package diff

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/zeebo/xxh3"

	"kafsck/batch"
	"kafsck/replica"
	"kafsck/segment"
)

// maxBatchBytes caps what one batch may decompress to while records are compared.
const maxBatchBytes = batch.DefaultLimit

// entry is one record reduced to what comparison needs.
type entry struct {
	offset    int64
	content   xxh3.Uint128 // key and value
	headers   xxh3.Uint128 // zero without any
	timestamp int64
	key       xxh3.Uint128
	hasKey    bool
	null      bool // null value: a tombstone when the record has a key
	control   bool
	opaque    bool           // not decoded: content stands for the bytes of the batch
	block     *replica.Block // the block it lies in
}

// sameRecord reports whether two entries are the same record: timestamp, key, value and
// headers.
//
// While brokers of two versions, or with two settings of log.message.format.version, held
// replicas of one partition, a leader gave followers the format they asked for. Down from
// format 2 a record loses its headers, down from 1 its timestamp; that is no other record.
//
// Source: KafkaApis.handleFetchRequest (maybeConvertFetchedData), RecordsUtil.downConvert.
func (e *entry) sameRecord(o *entry) bool {
	if e.content != o.content || e.control != o.control || e.opaque != o.opaque {
		return false
	}
	a, b := e.block.Magic, o.block.Magic
	if a != b && min(a, b) == 0 {
		return true
	}
	return e.timestamp == o.timestamp && (e.headers == o.headers || a != b)
}

// fill takes over what makes a record the same record. Lengths are hashed too, so that no
// two fields can trade bytes.
func (e *entry) fill(h *xxh3.Hasher, r *batch.Record) {
	h.Reset()
	var n [8]byte
	put := func(b []byte) {
		size := int64(len(b))
		if b == nil {
			size = -1
		}
		binary.BigEndian.PutUint64(n[:], uint64(size))
		h.Write(n[:])
		h.Write(b)
	}
	e.timestamp = r.Timestamp
	put(r.Key)
	put(r.Value)
	e.content = h.Sum128()
	if len(r.Headers) > 0 {
		h.Reset()
		for _, x := range r.Headers {
			put([]byte(x.Key))
			put(x.Value)
		}
		e.headers = h.Sum128()
	}
	e.hasKey, e.null = r.Key != nil, r.Value == nil
	if e.hasKey {
		e.key = xxh3.Hash128(r.Key)
	}
}

// errUndecodable says that a batch with a good CRC does not hold records that
// can be decoded. It is a fact about the bytes, not a failed read.
var errUndecodable = errors.New("records cannot be decoded")

// entries decodes the records of one block. A failed read is returned as such;
// bytes that are no records give errUndecodable.
func entries(c Content, b *replica.Block, d *batch.Decompressor, h *xxh3.Hasher) ([]entry, error) {
	var out []entry
	for r, err := range c.Records(b, d) {
		if err != nil {
			return nil, readOr(err, errUndecodable)
		}
		e := entry{offset: r.Offset, control: b.Control(), block: b}
		e.fill(h, &r)
		out = append(out, e)
	}
	return out, nil
}

// readOr keeps a failed read and turns everything else into other.
func readOr(err, other error) error {
	var re *segment.ReadError
	// A batch beyond our own limit is not wrong, only unread.
	if errors.As(err, &re) || errors.Is(err, batch.ErrTooLarge) {
		return err
	}
	return other
}

// stream yields every record of whole blocks in [from, to) in offset order.
// Blocks that are not whole or cannot be decoded go to lost, which may be nil.
func stream(c Content, from, to int64, lost func(*replica.Block)) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		d := batch.NewDecompressor(maxBatchBytes)
		h := xxh3.New()
		for b, err := range c.Blocks(from, to) {
			if err != nil {
				yield(entry{}, err)
				return
			}
			block := b
			if !b.Whole() {
				if lost != nil {
					lost(&block)
				}
				continue
			}
			list, err := entries(c, &block, d, h)
			if errors.Is(err, errUndecodable) {
				if lost != nil {
					lost(&block)
				}
				// Without its records the batch stands for itself: equal only to the same bytes.
				whole := entry{offset: max(b.Base, from), content: xxh3.Uint128{Hi: uint64(b.Length), Lo: uint64(b.CRC)}, opaque: true, block: &block}
				if !yield(whole, nil) {
					return
				}
				continue
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			for _, e := range list {
				if e.offset >= from && e.offset < to && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Records yields the records of whole blocks in spans, in offset order; keys and
// values are borrowed until the next step. Blocks whose bytes are no records are
// passed over. An error is a failed read.
func Records(c Content, spans []replica.Span) iter.Seq2[batch.Record, error] {
	return func(yield func(batch.Record, error) bool) {
		d := batch.NewDecompressor(maxBatchBytes)
		for _, s := range spans {
			for b, err := range c.Blocks(s.From, s.To) {
				if err != nil {
					yield(batch.Record{}, err)
					return
				}
				if !b.Whole() {
					continue
				}
				block := b
				for r, err := range c.Records(&block, d) {
					if err != nil {
						if err = readOr(err, nil); err != nil {
							yield(batch.Record{}, err)
							return
						}
						break
					}
					if r.Offset >= s.From && r.Offset < s.To && !yield(r, nil) {
						return
					}
				}
			}
		}
	}
}

// CountRecords returns how many records of a block lie in [from, to): the
// header's count for a whole block, else by decoding (a compressed message of format 0 or 1
// has no count). Where a part of a block
// cannot be decoded its offsets are counted.
func CountRecords(c Content, b *replica.Block, from, to int64) (int64, error) {
	if b.Legacy && b.Codec == batch.None {
		return to - from, nil
	}
	if b.Records < 0 && !b.Legacy {
		return to - from, nil
	}
	if b.Records >= 0 && from <= b.Base && to >= b.Next() {
		return int64(b.Records), nil
	}
	if int64(b.Records) == b.Last-b.Base+1 {
		return to - from, nil
	}
	n := int64(0)
	d := batch.NewDecompressor(maxBatchBytes)
	for r, err := range c.Records(b, d) {
		if err != nil {
			if err = readOr(err, nil); err != nil {
				return 0, err
			}
			return to - from, nil
		}
		if r.Offset >= from && r.Offset < to {
			n++
		}
	}
	return n, nil
}
