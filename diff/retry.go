package diff

import (
	"errors"
	"math"

	"github.com/zeebo/xxh3"

	"kafsck/batch"
	"kafsck/replica"
)

// maxRetryRecords bounds how many records are matched in one pass.
const maxRetryRecords = 1 << 20

// producerKey identifies one idempotent producer session.
type producerKey struct {
	id    int64
	epoch int16
}

// seqRange is the span of sequence numbers that a producer's gone records cover.
type seqRange struct{ lo, hi int32 }

// Retried returns the parts of gone that stand in log at another offset: the
// same producer id, producer epoch, sequence and content. An idempotent producer
// that got no answer sends the same batch again, and a leader that never saw it
// appends it. An error is a failed read.
func Retried(log, holder Content, gone []Gone) ([]replica.Span, error) {
	producers, from, err := producersOf(holder, gone)
	if err != nil || len(producers) == 0 {
		return nil, err
	}
	m := &retryMatch{log: log, holder: holder, gone: gone, d: batch.NewDecompressor(maxBatchBytes), h: xxh3.New()}
	for b, err := range log.Blocks(from, math.MaxInt64) {
		if err != nil {
			return nil, err
		}
		if b.Legacy || !b.Whole() || b.ProducerID < 0 || b.BaseSequence < 0 || b.Control() {
			continue
		}
		r, ok := producers[producerKey{b.ProducerID, b.ProducerEpoch}]
		last := b.LastSequence()
		if !ok || last >= b.BaseSequence && (b.BaseSequence > r.hi || last < r.lo) {
			continue
		}
		block := b
		if err := m.learn(&block); err != nil {
			return nil, err
		}
	}
	if err := m.settle(); err != nil {
		return nil, err
	}
	return m.found, nil
}

// producersOf collects the idempotent producers of the gone records.
func producersOf(holder Content, gone []Gone) (map[producerKey]seqRange, int64, error) {
	producers := map[producerKey]seqRange{}
	from := int64(math.MaxInt64)
	for _, g := range gone {
		for b, err := range holder.Blocks(g.From, g.To) {
			if err != nil {
				return nil, 0, err
			}
			if b.Legacy || !b.Whole() || b.ProducerID < 0 || b.BaseSequence < 0 || b.Control() {
				continue
			}
			from = min(from, b.Base)
			k := producerKey{b.ProducerID, b.ProducerEpoch}
			r, ok := producers[k]
			if !ok {
				r = seqRange{lo: b.BaseSequence, hi: b.LastSequence()}
			}
			r.lo, r.hi = min(r.lo, b.BaseSequence), max(r.hi, b.LastSequence())
			if b.LastSequence() < b.BaseSequence { // the sequence wrapped
				r = seqRange{lo: 0, hi: math.MaxInt32}
			}
			producers[k] = r
		}
	}
	return producers, from, nil
}

type recordKey struct {
	producerKey
	sequence int32
}

type retryMatch struct {
	log, holder Content
	gone        []Gone
	d           *batch.Decompressor
	h           *xxh3.Hasher
	known       map[recordKey]xxh3.Uint128
	found       []replica.Span
}

// learn remembers the records of one block of the log.
func (m *retryMatch) learn(b *replica.Block) error {
	list, err := entries(m.log, b, m.d, m.h)
	if errors.Is(err, errUndecodable) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.known == nil {
		m.known = map[recordKey]xxh3.Uint128{}
	}
	for _, e := range list {
		m.known[recordKey{producerKey{b.ProducerID, b.ProducerEpoch}, batch.IncrementSequence(b.BaseSequence, int32(e.offset-b.Base))}] = e.content
	}
	if len(m.known) >= maxRetryRecords {
		return m.settle()
	}
	return nil
}

// settle looks the gone records up among those remembered.
func (m *retryMatch) settle() error {
	if len(m.known) == 0 {
		return nil
	}
	for _, g := range m.gone {
		for b, err := range m.holder.Blocks(g.From, g.To) {
			if err != nil {
				return err
			}
			if b.Legacy || !b.Whole() || b.ProducerID < 0 || b.BaseSequence < 0 || b.Control() {
				continue
			}
			block := b
			list, err := entries(m.holder, &block, m.d, m.h)
			if errors.Is(err, errUndecodable) {
				continue
			}
			if err != nil {
				return err
			}
			for _, e := range list {
				if e.offset < g.From || e.offset >= g.To {
					continue
				}
				k := recordKey{producerKey{b.ProducerID, b.ProducerEpoch}, batch.IncrementSequence(b.BaseSequence, int32(e.offset-b.Base))}
				if content, ok := m.known[k]; ok && content == e.content {
					m.found = appendSpan(m.found, replica.Span{From: e.offset, To: e.offset + 1})
				}
			}
		}
	}
	m.known = nil
	return nil
}

func appendSpan(list []replica.Span, s replica.Span) []replica.Span {
	if n := len(list); n > 0 && list[n-1].To == s.From {
		list[n-1].To = s.To
		return list
	}
	return append(list, s)
}
