package export

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
)

// maxCompared bounds the lost records that are held against the new log in one pass, about
// 300 bytes each. More of them take more passes.
var maxCompared = 1 << 17

// sum is a SHA-256 cut to 16 bytes: nobody can make two contents that share one.
type sum [16]byte

type sequenceKey struct {
	id       int64
	epoch    int16
	sequence int32
}

// newest is the last record of a key in the new log.
type newest struct {
	seen   bool
	epoch  int32
	offset int64
}

// entry is a lost record while the new log is read.
type entry struct {
	offset  int64
	epoch   int32
	body    sum // key, value, headers
	key     *newest
	mark    Mark
	content sum // body and timestamp
}

// Compare yields the lost records of all sources, in their order, each with its Mark: how it
// stands to the new log. The error, if any, comes last.
//
// A record of the new log is newer than a lost one if its leader epoch is higher, in the
// same epoch (or where one has none) if its offset is. What the markers of transactions
// took back there neither supersedes nor duplicates anything, nor does what is still open.
func Compare(ctx context.Context, lost func() iter.Seq2[*Record, error], log *Source) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		learn, stop := iter.Pull2(lost())
		defer stop()
		again, stop2 := iter.Pull2(lost())
		defer stop2()
		c := comparison{ctx: ctx, log: log}
		for {
			n, err := c.learn(learn)
			if err == nil && n > 0 {
				err = c.read()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range n {
				r, err, ok := again()
				if !ok {
					return
				}
				if err == nil && r.Lost == nil {
					r.Lost = &Lost{}
				}
				if err == nil {
					r.Lost.Mark = c.entries[i].mark
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
			if n < maxCompared {
				return
			}
		}
	}
}

type comparison struct {
	ctx     context.Context
	log     *Source
	entries []entry
	lowest  int32 // epoch among the entries

	bySequence map[sequenceKey]int
	byContent  map[sum][]int32 // not yet met, in order
	byKey      map[sum]*newest
	h          hasher
}

// learn takes up the next lost records.
func (c *comparison) learn(next func() (*Record, error, bool)) (int, error) {
	c.entries, c.lowest = c.entries[:0], math.MaxInt32
	c.bySequence, c.byContent, c.byKey = map[sequenceKey]int{}, map[sum][]int32{}, map[sum]*newest{}
	for len(c.entries) < maxCompared {
		r, err, ok := next()
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		e := entry{offset: r.Offset, epoch: r.LeaderEpoch, mark: Mark{Kind: Absent, Offset: -1}}
		if !r.Control {
			c.lowest = min(c.lowest, r.LeaderEpoch)
			i := len(c.entries)
			e.body, e.content = c.h.of(r)
			c.byContent[e.content] = append(c.byContent[e.content], int32(i))
			if r.ProducerID >= 0 && r.Sequence >= 0 {
				c.bySequence[sequenceKey{r.ProducerID, r.ProducerEpoch, r.Sequence}] = i
			}
			if r.Key != nil {
				k := c.h.key(r.Key)
				if c.byKey[k] == nil {
					c.byKey[k] = &newest{}
				}
				e.key = c.byKey[k]
			}
		}
		c.entries = append(c.entries, e)
	}
	return len(c.entries), nil
}

// newer reports whether a record of the new log was written after a lost one.
func newer(epoch int32, offset int64, e *entry) bool {
	if epoch >= 0 && e.epoch >= 0 && epoch != e.epoch {
		return epoch > e.epoch
	}
	return offset > e.offset
}

// read goes through the new log and marks the entries.
func (c *comparison) read() error {
	for r, err := range c.log.Records(c.ctx) {
		if err != nil {
			return err
		}
		if r.Control || r.State != None && r.State != Committed || r.LeaderEpoch >= 0 && r.LeaderEpoch < c.lowest {
			continue
		}
		if r.Key != nil {
			if k := c.byKey[c.h.key(r.Key)]; k != nil {
				*k = newest{true, r.LeaderEpoch, r.Offset}
			}
		}
		body, content := c.h.of(r)
		if r.ProducerID >= 0 && r.Sequence >= 0 {
			if i, ok := c.bySequence[sequenceKey{r.ProducerID, r.ProducerEpoch, r.Sequence}]; ok && c.entries[i].body == body {
				c.entries[i].mark = Mark{Duplicate, r.Offset, "producer"}
				continue
			}
		}
		// The first of equal ones is the oldest: where that is no older than r, none is.
		for list := c.byContent[content]; len(list) > 0; c.byContent[content] = list {
			e := &c.entries[list[0]]
			if e.mark.Kind == Absent {
				if !c.later(r, e) {
					break
				}
				e.mark = Mark{Duplicate, r.Offset, "content"}
				c.byContent[content] = list[1:]
				break
			}
			list = list[1:]
		}
	}
	for i := range c.entries {
		e := &c.entries[i]
		if e.mark.Kind == Absent && e.key != nil && e.key.seen && newer(e.key.epoch, e.key.offset, e) {
			e.mark = Mark{Superseded, e.key.offset, ""}
		}
	}
	return nil
}

// later reports whether a record of equal content can be the lost one, sent once more: of
// the same leader epoch it is another record, which both logs may have.
func (c *comparison) later(r *Record, e *entry) bool {
	if r.LeaderEpoch >= 0 && r.LeaderEpoch == e.epoch {
		return false
	}
	return newer(r.LeaderEpoch, r.Offset, e)
}

// hasher keeps its buffer.
type hasher struct{ buf []byte }

func (h *hasher) key(key []byte) (s sum) {
	full := sha256.Sum256(key)
	copy(s[:], full[:])
	return s
}

// of is the sum of key, value and headers, and that of these and the timestamp. Lengths stand
// in front of all, so that no two contents are written alike; null has the length -1.
func (h *hasher) of(r *Record) (body, content sum) {
	b := h.buf[:0]
	b = appendSized(appendSized(b, r.Key), r.Value)
	for i := range r.Headers {
		b = appendSized(appendText(b, r.Headers[i].Key), r.Headers[i].Value)
	}
	full := sha256.Sum256(b)
	copy(body[:], full[:])
	b = binary.BigEndian.AppendUint64(b, uint64(r.Timestamp))
	b = append(b, byte(r.TimestampType))
	full = sha256.Sum256(b)
	copy(content[:], full[:])
	if h.buf = b; cap(b) > keepBuffer {
		h.buf = nil
	}
	return body, content
}

func appendSized(b, v []byte) []byte {
	if v == nil {
		return binary.BigEndian.AppendUint64(b, math.MaxUint64)
	}
	return append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}
