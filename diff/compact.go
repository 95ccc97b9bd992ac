package diff

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"kafsck/batch"
	"kafsck/replica"
)

// maxCandidates bounds how many records with a key are looked up in one pass over
// both logs; more candidates mean more passes, not more memory.
const maxCandidates = 1 << 20

// candidate is a record that only one side of a compacted topic holds, inside
// the other's range.
type candidate struct {
	offset        int64
	key           xxh3.Uint128
	side          int // the side that holds it
	epoch         int32
	producer      int64
	producerEpoch int16
	transactional bool
}

// compactWalk compares two logs of a compacted topic by record.
type compactWalk struct {
	c        [2]Content
	from, to int64
	// conflict is told of offsets at which both hold different records.
	conflict func(x, y *entry)
	// alone is told of records that only one side holds, passed holding the highest
	// epoch of the other side's records before it and ahead the epoch of its next.
	alone func(side int, e *entry, passed, ahead int32)
	same  func(offset int64)
}

func (w *compactWalk) run() error {
	spans, err := differing(w.c[0], w.c[1], w.from, w.to)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if err := w.span(s); err != nil {
			return err
		}
	}
	return nil
}

func (w *compactWalk) span(s replica.Span) error {
	var next [2]func() (entry, error, bool)
	var head [2]entry
	var ok [2]bool
	passed := [2]int32{-1, -1}
	for i := range next {
		n, stop := iter.Pull2(stream(w.c[i], s.From, s.To, nil))
		defer stop()
		next[i] = n
	}
	var failed error
	step := func(i int) {
		if ok[i] {
			passed[i] = max(passed[i], head[i].block.Epoch)
		}
		e, err, more := next[i]()
		if err != nil {
			failed = err
		}
		head[i], ok[i] = e, more && err == nil
	}
	step(0)
	step(1)
	for failed == nil && (ok[0] || ok[1]) {
		switch {
		case ok[0] && ok[1] && head[0].offset == head[1].offset:
			x, y := &head[0], &head[1]
			if x.sameRecord(y) && (x.block.Epoch == y.block.Epoch || x.block.Legacy || y.block.Legacy) {
				w.same(x.offset)
			} else {
				w.conflict(x, y)
			}
			step(0)
			step(1)
		case !ok[1] || ok[0] && head[0].offset < head[1].offset:
			w.alone(0, &head[0], passed[1], epochAhead(ok[1], &head[1]))
			step(0)
		default:
			w.alone(1, &head[1], passed[0], epochAhead(ok[0], &head[0]))
			step(1)
		}
	}
	return failed
}

func epochAhead(ok bool, e *entry) int32 {
	if !ok {
		return math.MaxInt32
	}
	return e.block.Epoch
}

func toCandidate(side int, e *entry) candidate {
	return candidate{offset: e.offset, key: e.key, side: side, epoch: e.block.Epoch, producer: e.block.ProducerID, producerEpoch: e.block.ProducerEpoch,
		transactional: e.block.Attributes.Transactional()}
}

// explained reports whether cleaning alone may drop a record: tombstones and
// transaction markers expire, records without a key are dropped.
func explained(e *entry) bool { return e.control || !e.hasKey || e.null }

// unexplained returns those candidates that compaction does not explain: no later
// record with the same key on either side, not of an aborted transaction. unsure
// tells, by candidate, that the holder ends before the other side does.
func unexplained(c [2]Content, cands []candidate) ([]candidate, error) {
	if len(cands) == 0 {
		return nil, nil
	}
	lowest := int64(math.MaxInt64)
	for i := range cands {
		lowest = min(lowest, cands[i].offset)
	}
	var aborted [2]abortedRanges
	for i := range c {
		a, err := findAborted(c[i], lowest)
		if err != nil {
			return nil, err
		}
		aborted[i] = a
	}
	newest := make(map[xxh3.Uint128]int64, len(cands))
	for i := range cands {
		newest[cands[i].key] = -1
	}
	for i := range c {
		for e, err := range stream(c[i], lowest, math.MaxInt64, nil) {
			if err != nil {
				return nil, err
			}
			if e.control || !e.hasKey {
				continue
			}
			if at, wanted := newest[e.key]; wanted && e.offset > at && !aborted[i].holds(e.block, e.offset) {
				newest[e.key] = e.offset
			}
		}
	}
	var out []candidate
	for _, x := range cands {
		if newest[x.key] > x.offset {
			continue
		}
		if x.transactional && aborted[x.side].covers(x.producer, x.producerEpoch, x.offset) {
			continue
		}
		out = append(out, x)
	}
	return out, nil
}

// abortedRanges lists the offsets of aborted transactions of one log, by
// producer id.
type abortedRanges map[int64][]replica.Span

func (a abortedRanges) holds(b *replica.Block, offset int64) bool {
	return b.Attributes.Transactional() && a.covers(b.ProducerID, b.ProducerEpoch, offset)
}

func (a abortedRanges) covers(producer int64, _ int16, offset int64) bool {
	return slices.ContainsFunc(a[producer], func(s replica.Span) bool { return s.From <= offset && offset < s.To })
}

// findAborted pairs transactional batches with the marker that ends them.
func findAborted(c Content, from int64) (abortedRanges, error) {
	open := map[int64]int64{}
	out := abortedRanges{}
	d := batch.NewDecompressor(maxBatchBytes)
	for b, err := range c.Blocks(from, math.MaxInt64) {
		if err != nil {
			return nil, err
		}
		if b.Legacy || !b.Whole() || !b.Attributes.Transactional() {
			continue
		}
		if !b.Control() {
			if _, isOpen := open[b.ProducerID]; !isOpen {
				open[b.ProducerID] = b.Base
			}
			continue
		}
		block := b
		for r, err := range c.Records(&block, d) {
			if err != nil {
				if readErr := readOr(err, nil); readErr != nil {
					return nil, readErr
				}
				break
			}
			if len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:4]) == 0 {
				first, isOpen := open[b.ProducerID]
				if !isOpen {
					first = from
				}
				out[b.ProducerID] = append(out[b.ProducerID], replica.Span{From: first, To: r.Offset})
			}
			delete(open, b.ProducerID)
		}
	}
	return out, nil
}

// missingCompacted is Missing for compacted topics.
func missingCompacted(log, holder Content, from int64) ([]Gone, error) {
	_, endLog := log.Bounds()
	_, endHolder := holder.Bounds()
	c := [2]Content{log, holder}
	to := min(endLog, endHolder)
	var found []Gone
	var batchOf []candidate
	settle := func() error {
		gone, err := unexplained(c, batchOf)
		batchOf = batchOf[:0]
		for _, g := range gone {
			found = append(found, Gone{From: g.offset, To: g.offset + 1, Reason: Latest, Unsure: endHolder < endLog})
		}
		return err
	}
	var failed error
	w := &compactWalk{c: c, from: from, to: to, same: func(int64) {},
		conflict: func(x, y *entry) {
			if !x.sameRecord(y) {
				found = append(found, Gone{From: y.offset, To: y.offset + 1, Reason: Other})
			}
		},
		alone: func(side int, e *entry, passed, ahead int32) {
			if side == 0 || failed != nil {
				return
			}
			if forkedAway(e, passed, ahead) {
				found = append(found, Gone{From: e.offset, To: e.offset + 1, Reason: Absent})
				return
			}
			if explained(e) {
				return
			}
			batchOf = append(batchOf, toCandidate(side, e))
			if len(batchOf) == maxCandidates {
				failed = settle()
			}
		}}
	if from < to {
		if err := w.run(); err != nil {
			return nil, err
		}
	}
	if failed == nil {
		failed = settle()
	}
	if failed != nil {
		return nil, failed
	}
	if endHolder > max(endLog, from) {
		found = append(found, Gone{From: max(endLog, from), To: endHolder, Reason: Absent})
	}
	return joinGone(found), nil
}

// forkedAway reports whether the other log, at this offset, is on another line:
// it has already passed to a newer epoch, or still comes to an older one.
func forkedAway(e *entry, passed, ahead int32) bool {
	at := e.block.Epoch
	return at >= 0 && (passed > at || ahead >= 0 && ahead < at)
}

func joinGone(list []Gone) []Gone {
	slices.SortFunc(list, func(a, b Gone) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	var out []Gone
	for _, g := range list {
		out = appendGone(out, g)
	}
	return out
}

// pairCompacted is Pair for compacted topics.
func pairCompacted(a, b Content, from, to int64, opt Options) ([]Divergence, error) {
	c := [2]Content{a, b}
	_, endA := a.Bounds()
	_, endB := b.Bounds()
	p := &pairWalk{a: a, b: b, opt: opt}
	var cands []candidate
	var losses []candidate
	var failed error
	settle := func() {
		gone, err := unexplained(c, cands)
		cands = cands[:0]
		losses = append(losses, gone...)
		failed = err
	}
	var skew *region
	put := func(kind Kind, offset int64, epochs [2]int32, sides [2]bool) {
		if p.open != nil && p.open.kind != kind {
			if p.open.kind == EpochFork {
				kind = EpochFork
			} else {
				p.close(nil)
			}
		}
		if p.open == nil {
			p.open = newRegion(kind, -1, offset)
		}
		for i := range sides {
			if sides[i] {
				p.open.add(i, offset+1, []int32{epochs[i]})
			}
		}
	}
	w := &compactWalk{c: c, from: from, to: to,
		same: func(at int64) { p.close(&at) },
		conflict: func(x, y *entry) {
			kind := SameEpochConflict
			switch {
			case x.block.Epoch < 0 || y.block.Epoch < 0:
				kind = ContentFork
			case x.block.Epoch != y.block.Epoch:
				kind = EpochFork
			}
			put(kind, x.offset, [2]int32{x.block.Epoch, y.block.Epoch}, [2]bool{true, true})
		},
		alone: func(side int, e *entry, passed, ahead int32) {
			if failed != nil {
				return
			}
			var sides [2]bool
			sides[side] = true
			if p.open != nil && p.open.kind == EpochFork || forkedAway(e, passed, ahead) {
				put(EpochFork, e.offset, [2]int32{e.block.Epoch, e.block.Epoch}, sides)
				return
			}
			if skew == nil {
				skew = newRegion(Compaction, -1, e.offset)
			}
			skew.add(side, e.offset+1, []int32{e.block.Epoch})
			if explained(e) {
				return
			}
			cands = append(cands, toCandidate(side, e))
			if len(cands) == maxCandidates {
				settle()
			}
		}}
	if err := w.run(); err != nil {
		return nil, err
	}
	if failed == nil {
		settle()
	}
	if failed != nil {
		return nil, failed
	}
	forked := p.open != nil && p.open.kind == EpochFork
	p.close(nil)
	p.found = append(p.found, recordLosses(losses)...)
	if endA != endB {
		lacks := 0
		if endB < endA {
			lacks = 1
		}
		ends := [2]int64{endA, endB}
		if forked {
			f := &p.found[slices.IndexFunc(p.found, func(d Divergence) bool { return d.Kind == EpochFork && d.EqualFrom == nil })]
			for i := range f.Sides {
				f.Sides[i].To = max(f.Sides[i].To, ends[i])
				f.Sides[i].Epochs = union(f.Sides[i].Epochs, c[i].Lineage().In(f.From, ends[i]))
			}
			f.To = max(endA, endB)
		} else {
			r := newRegion(onesided, lacks, ends[lacks])
			r.add(1-lacks, ends[1-lacks], c[1-lacks].Lineage().In(ends[lacks], ends[1-lacks]))
			p.found = append(p.found, tailOf(r.divergence(), lacks, c[lacks], opt.Ruler)...)
		}
	}
	if opt.All && skew != nil {
		p.found = append(p.found, skew.divergence())
	}
	slices.SortStableFunc(p.found, func(x, y Divergence) int {
		switch {
		case x.From < y.From:
			return -1
		case x.From > y.From:
			return 1
		}
		return 0
	})
	return p.found, nil
}

// recordLosses makes divergences of lost latest values; both sides show the
// range, since on a compacted topic an offset without a record is no hole.
func recordLosses(losses []candidate) []Divergence {
	slices.SortFunc(losses, func(x, y candidate) int {
		switch {
		case x.offset < y.offset:
			return -1
		case x.offset > y.offset:
			return 1
		}
		return 0
	})
	var out []Divergence
	for _, x := range losses {
		lacks := 1 - x.side
		if n := len(out); n > 0 && out[n-1].Bad == lacks && out[n-1].To == x.offset {
			d := &out[n-1]
			d.To = x.offset + 1
			for i := range d.Sides {
				d.Sides[i].To = d.To
			}
			d.Sides[x.side].Epochs = union(d.Sides[x.side].Epochs, []int32{x.epoch})
			continue
		}
		r := newRegion(RecordLoss, lacks, x.offset)
		r.add(x.side, x.offset+1, []int32{x.epoch})
		r.add(lacks, x.offset+1, nil)
		out = append(out, r.divergence())
	}
	return out
}
