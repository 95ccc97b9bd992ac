package diff

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"kafsck/batch"
	"kafsck/replica"
)

// Reason says why a record of the holder is not in the other log.
type Reason uint8

const (
	Absent Reason = iota // nothing stands at that offset
	Other                // another record stands there
	Rotten               // damaged bytes stand there
	Latest               // compacted: the key's latest value is gone
)

// Gone is a range of offsets whose records one copy holds and the other lacks.
type Gone struct {
	From, To int64 // [From, To)
	Reason   Reason
	// Unsure: on a compacted topic the holder ends before a superseding record could
	// be seen, so compaction may explain the absence.
	Unsure bool
}

// Missing returns what holder holds at or above from and log does not: the same
// record is one at the same offset with the same timestamp, key, value and
// headers, however the batches are cut or compressed. An error is a failed read.
func Missing(log, holder Content, from int64, compacted bool) ([]Gone, error) {
	startLog, _ := log.Bounds()
	startHolder, endHolder := holder.Bounds()
	from = max(from, startLog, startHolder)
	if compacted {
		return missingCompacted(log, holder, from)
	}
	m := &missing{log: log, holder: holder, d: batch.NewDecompressor(maxBatchBytes), h: xxh3.New()}
	spans, err := differing(log, holder, from, endHolder)
	if err != nil {
		return nil, err
	}
	for _, span := range spans {
		if err := m.span(span); err != nil {
			return nil, err
		}
	}
	return m.found, nil
}

type missing struct {
	log, holder Content
	d           *batch.Decompressor
	h           *xxh3.Hasher
	found       []Gone
	overlap     []theirs
}

// theirs is a block of the log that overlaps the holder's current block, with
// its records once they were needed.
type theirs struct {
	block   replica.Block
	decoded bool
	entries []entry
}

func (m *missing) span(span replica.Span) error {
	their := replica.NewCursor(m.log.Blocks(span.From, span.To))
	defer func() { their.Stop() }()
	m.overlap = m.overlap[:0]
	last, unordered := int64(-1), false
	for b, err := range m.holder.Blocks(span.From, span.To) {
		if err != nil {
			return err
		}
		if !b.Whole() {
			continue
		}
		// Where the holder's segments overlap its offsets step back, and the log is read
		// again from there.
		if b.Base < last {
			their.Stop()
			their, m.overlap, unordered = replica.NewCursor(m.log.Blocks(b.Base, span.To)), m.overlap[:0], true
		}
		last = b.Base
		m.overlap = slices.DeleteFunc(m.overlap, func(t theirs) bool { return t.block.Last < b.Base })
		for their.OK && their.Block.Base <= b.Last {
			if their.Block.Last >= b.Base {
				m.overlap = append(m.overlap, theirs{block: their.Block})
			}
			their.Advance()
		}
		if their.Err != nil {
			return their.Err
		}
		if err := m.block(&b, span.From); err != nil {
			return err
		}
	}
	if unordered {
		m.found = inOrder(m.found)
	}
	return their.Err
}

// inOrder sorts ranges and leaves out what stands twice.
func inOrder(list []Gone) []Gone {
	slices.SortStableFunc(list, func(a, b Gone) int { return cmp.Compare(a.From, b.From) })
	var out []Gone
	at := int64(math.MinInt64)
	for _, g := range list {
		g.From = max(g.From, at)
		out = appendGone(out, g)
		at = max(at, g.To)
	}
	return out
}

// block compares one block of the holder with what overlaps it.
func (m *missing) block(b *replica.Block, from int64) error {
	whole := 0
	for i := range m.overlap {
		if m.overlap[i].block.SameRecords(b) {
			return nil
		}
		if m.overlap[i].block.Whole() {
			whole++
		}
	}
	if whole == 0 {
		m.plain(b, from)
		return nil
	}
	if len(m.overlap) == 1 && singles(b, &m.overlap[0].block) {
		m.add(Gone{From: max(from, b.Base), To: b.Next(), Reason: Other}) // their bytes differ
		return nil
	}
	mine, err := entries(m.holder, b, m.d, m.h)
	if errors.Is(err, errUndecodable) {
		m.add(Gone{From: max(from, b.Base), To: b.Next(), Reason: Other})
		return nil
	}
	if err != nil {
		return err
	}
	for i := range m.overlap {
		t := &m.overlap[i]
		if t.decoded || !t.block.Whole() {
			continue
		}
		t.entries, err = entries(m.log, &t.block, m.d, m.h)
		if err != nil && !errors.Is(err, errUndecodable) {
			return err
		}
		t.decoded = true
	}
	for _, e := range mine {
		if e.offset < from {
			continue
		}
		if reason, gone := m.lookup(&e); gone {
			m.add(Gone{From: e.offset, To: e.offset + 1, Reason: reason})
		}
	}
	return nil
}

// plain adds a block of which the log has no whole batch, split by whether
// damaged bytes stand there.
func (m *missing) plain(b *replica.Block, from int64) {
	at := max(from, b.Base)
	for i := range m.overlap {
		t := &m.overlap[i].block
		if t.Base > at {
			m.add(Gone{From: at, To: min(t.Base, b.Next()), Reason: Absent})
		}
		lo, hi := max(t.Base, at), min(t.Next(), b.Next())
		if lo < hi {
			m.add(Gone{From: lo, To: hi, Reason: Rotten})
			at = hi
		}
	}
	if at < b.Next() {
		m.add(Gone{From: at, To: b.Next(), Reason: Absent})
	}
}

// lookup finds a record among the overlapping blocks.
func (m *missing) lookup(e *entry) (reason Reason, gone bool) {
	reason = Absent
	for i := range m.overlap {
		t := &m.overlap[i]
		if e.offset < t.block.Base || e.offset > t.block.Last {
			continue
		}
		if !t.block.Whole() {
			reason = Rotten
			continue
		}
		reason = Other
		at, ok := slices.BinarySearchFunc(t.entries, e.offset, func(x entry, o int64) int {
			switch {
			case x.offset < o:
				return -1
			case x.offset > o:
				return 1
			}
			return 0
		})
		if ok && t.entries[at].sameRecord(e) {
			return 0, false
		}
	}
	return reason, true
}

func (m *missing) add(g Gone) { m.found = appendGone(m.found, g) }

// appendGone joins a range to the one before it when they touch and agree.
func appendGone(list []Gone, g Gone) []Gone {
	if g.From >= g.To {
		return list
	}
	if n := len(list); n > 0 {
		p := &list[n-1]
		if p.To == g.From && p.Reason == g.Reason && p.Unsure == g.Unsure {
			p.To = g.To
			return list
		}
	}
	return append(list, g)
}

// Held returns the sub-ranges of spans in which other holds the same records as
// holder.
func Held(holder, other Content, spans []replica.Span) ([]replica.Span, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	startOther, _ := other.Bounds()
	lacks, err := exactlyMissing(other, holder, spans)
	if err != nil {
		return nil, err
	}
	var out []replica.Span
	for _, s := range spans {
		at := max(s.From, startOther)
		for _, g := range lacks {
			if g.To <= at || g.From >= s.To {
				continue
			}
			if g.From > at {
				out = append(out, replica.Span{From: at, To: g.From})
			}
			at = max(at, g.To)
		}
		if at < s.To {
			out = append(out, replica.Span{From: at, To: s.To})
		}
	}
	return out, nil
}

// exactlyMissing compares by offset only, whatever the cleanup policy: it asks
// whether a copy of these very records exists.
func exactlyMissing(log, holder Content, spans []replica.Span) ([]Gone, error) {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range spans {
		from, to = min(from, s.From), max(to, s.To)
	}
	startLog, _ := log.Bounds()
	m := &missing{log: log, holder: holder, d: batch.NewDecompressor(maxBatchBytes), h: xxh3.New()}
	windows, err := differing(log, holder, max(from, startLog), to)
	if err != nil {
		return nil, err
	}
	for _, span := range windows {
		if err := m.span(span); err != nil {
			return nil, err
		}
	}
	return m.found, nil
}

// Conflicts returns the parts of spans in which log holds other whole records
// than holder at the same offsets.
func Conflicts(log, holder Content, spans []replica.Span) ([]replica.Span, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	lacks, err := exactlyMissing(log, holder, spans)
	if err != nil {
		return nil, err
	}
	var out []replica.Span
	for _, g := range lacks {
		if g.Reason != Other {
			continue
		}
		for _, s := range spans {
			if lo, hi := max(s.From, g.From), min(s.To, g.To); lo < hi {
				out = append(out, replica.Span{From: lo, To: hi})
			}
		}
	}
	return out, nil
}
