package diff

import (
	"math"
	"slices"

	"kafsck/epoch"
	"kafsck/replica"
)

// Options says what the comparison may know beyond the two copies.
type Options struct {
	Ruler     int  // 0 or 1: the side that rules; -1 nobody does
	Compacted bool // compare by record
	All       bool // also report legitimate compaction differences
}

// Pair compares two live replicas a (side 0) and b (side 1) and returns their
// divergences in offset order. An error is a failed read.
func Pair(a, b Content, opt Options) ([]Divergence, error) {
	startA, endA := a.Bounds()
	startB, endB := b.Bounds()
	from, to := max(startA, startB), min(endA, endB)
	if from >= to {
		return withoutOverlap(a, b, opt), nil
	}
	if opt.Compacted {
		return pairCompacted(a, b, from, to, opt)
	}
	p := &pairWalk{a: a, b: b, opt: opt, from: from}
	spans, err := differing(a, b, from, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	for _, span := range spans {
		p.broken(span.From)
		err := differences(a, b, span.From, span.To, p.equal, p.differ)
		if err == nil {
			err = p.err
		}
		if err != nil {
			return nil, err
		}
	}
	p.broken(to) // what lies behind the last span and below both ends is equal
	p.finish(endA, endB)
	return p.found, nil
}

// differing returns the spans within [from, to) in which a and b may hold other blocks.
// [Content.Differing] tells where such blocks begin; one that begins below from may reach
// above it.
//
//	blocks   | base …… from …… last |
//	spans    |=|     ^ nothing here: they hold where blocks begin
func differing(a, b Content, from, to int64) ([]replica.Span, error) {
	all := a.Differing(b)
	out := clip(all, from, to)
	if len(all) == 0 || all[0].From >= from || len(out) > 0 && out[0].From == from {
		return out, nil
	}
	reach := from
	for _, c := range []Content{a, b} {
		for x, err := range c.Blocks(from, from+1) {
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(all, func(s replica.Span) bool { return s.From <= x.Base && x.Base < s.To }) {
				reach = max(reach, min(x.Next(), to))
			}
		}
	}
	if reach == from {
		return out, nil
	}
	for len(out) > 0 && out[0].From <= reach {
		reach = max(reach, out[0].To)
		out = out[1:]
	}
	return slices.Insert(out, 0, replica.Span{From: from, To: reach}), nil
}

// clip cuts spans to [from, to).
func clip(spans []replica.Span, from, to int64) []replica.Span {
	var out []replica.Span
	for _, s := range spans {
		s.From, s.To = max(s.From, from), min(s.To, to)
		if s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// pairWalk joins differing chunks into divergences.
type pairWalk struct {
	a, b  Content
	opt   Options
	from  int64 // the later log start: nothing below it is compared
	open  *region
	found []Divergence
	err   error // a failed read
}

func (p *pairWalk) equal(at int64) {
	p.close(&at)
}

// broken is called where a span of equal windows was skipped: an open region
// met equal blocks there.
func (p *pairWalk) broken(at int64) {
	if p.open != nil && p.open.end() < at {
		end := p.open.end()
		p.close(&end)
	}
}

func (p *pairWalk) close(equalFrom *int64) {
	if p.open == nil {
		return
	}
	d := p.open.divergence()
	if equalFrom != nil {
		at := *equalFrom
		d.EqualFrom = &at
	}
	p.found = append(p.found, d)
	p.open = nil
}

func (p *pairWalk) differ(c *chunk) {
	if p.err != nil || c.byRecord() && p.differRecords(c) {
		return
	}
	p.differBlocks(c)
}

func (p *pairWalk) differBlocks(c *chunk) {
	kind, bad := p.classify(c)
	if p.open != nil && (p.open.kind != kind || p.open.bad != bad) {
		// A fork goes on through whatever else differs behind it until the logs meet
		// again; anything else ends where the kind changes.
		if p.open.kind == EpochFork || p.open.kind == ContentFork {
			kind, bad = p.open.kind, p.open.bad
		} else {
			p.close(nil)
		}
	}
	if p.open == nil {
		p.open = newRegion(kind, bad, max(c.from, p.from))
	}
	for i := range c.first {
		if c.first[i] != nil {
			p.open.add(i, c.ends[i], c.epochs[i])
		}
	}
}

// onesided marks a chunk that only one side holds until finish knows whether it
// is a hole or the tail.
const onesided Kind = "onesided"

// classify names the difference of one chunk. bad is the side at fault, -1 for
// none or both.
func (p *pairWalk) classify(c *chunk) (kind Kind, bad int) {
	x, y := c.first[0], c.first[1]
	switch {
	case c.again[0]:
		return Damaged, 0
	case c.again[1]:
		return Damaged, 1
	case x == nil:
		if c.flaws[1]&(replica.BadCRC|replica.Unreadable) != 0 {
			return Damaged, 1
		}
		return onesided, 0
	case y == nil:
		if c.flaws[0]&(replica.BadCRC|replica.Unreadable) != 0 {
			return Damaged, 0
		}
		return onesided, 1
	}
	const rotten = replica.BadCRC | replica.Unreadable
	const outOfLine = replica.SuspectBase | replica.SuspectEpoch
	forked := x.Epoch != y.Epoch && x.Epoch >= 0 && y.Epoch >= 0
	switch {
	case (c.flaws[0]|c.flaws[1])&rotten != 0 && !forked:
		return Damaged, atFault(c.flaws[0]&rotten != 0, c.flaws[1]&rotten != 0)
	case (c.flaws[0]|c.flaws[1])&outOfLine != 0 && x.SameRecords(y):
		return Damaged, atFault(c.flaws[0]&outOfLine != 0, c.flaws[1]&outOfLine != 0)
	case x.Epoch < 0 && y.Epoch < 0:
		return ContentFork, -1
	case x.Epoch < 0 || y.Epoch < 0:
		return ContentFork, -1
	case x.Epoch != y.Epoch:
		return EpochFork, -1
	}
	return SameEpochConflict, -1
}

func atFault(a, b bool) int {
	switch {
	case a && !b:
		return 0
	case b && !a:
		return 1
	}
	return -1
}

// finish settles one-sided regions: behind the end of the shorter log they are
// its tail, before it a hole.
func (p *pairWalk) finish(endA, endB int64) {
	p.close(nil)
	ends := [2]int64{endA, endB}
	var out []Divergence
	for _, d := range p.found {
		if d.Kind != onesided {
			if (d.Kind == EpochFork || d.Kind == ContentFork) && d.EqualFrom != nil && *d.EqualFrom > d.To {
				*d.EqualFrom = d.To
			}
			out = append(out, d)
			continue
		}
		lacks := d.Bad
		if d.EqualFrom != nil || d.From < ends[lacks] {
			d.Kind = MissingRange
			out = append(out, d)
			continue
		}
		d.EqualFrom = nil
		contents := [2]Content{p.a, p.b}
		out = append(out, tailOf(d, lacks, contents[lacks], p.opt.Ruler)...)
	}
	p.found = joinForkTail(out)
}

// joinForkTail lets a fork that never closed run on over the tail of the longer
// side.
func joinForkTail(ds []Divergence) []Divergence {
	var out []Divergence
	for _, d := range ds {
		if n := len(out); n > 0 {
			f := &out[n-1]
			if (f.Kind == EpochFork || f.Kind == ContentFork) && f.EqualFrom == nil && d.From <= f.To {
				for i := range f.Sides {
					if d.Sides[i].To > d.Sides[i].From {
						f.Sides[i].To = max(f.Sides[i].To, d.Sides[i].To)
						f.Sides[i].Epochs = union(f.Sides[i].Epochs, d.Sides[i].Epochs)
					}
				}
				f.To = max(f.To, d.To)
				continue
			}
		}
		out = append(out, d)
	}
	return out
}

func union(a, b []int32) []int32 {
	for _, e := range b {
		found := false
		for _, x := range a {
			found = found || x == e
		}
		if !found {
			a = append(a, e)
		}
	}
	return a
}

// tailOf names the records that side lacks lacks behind its own log end. Below
// its own high watermark it once had them; else it has not fetched them yet. When
// it rules, the others hold more than the leader.
func tailOf(d Divergence, lacks int, shorter Content, ruler int) []Divergence {
	if ruler == lacks {
		d.Kind, d.Bad = LeaderBehind, -1
		return []Divergence{d}
	}
	hw, ok := shorter.HighWatermark()
	if !ok || hw <= d.From {
		d.Kind, d.Bad = Behind, -1
		return []Divergence{d}
	}
	if hw >= d.To {
		d.Kind = MissingRange
		return []Divergence{d}
	}
	gone, rest := d, d
	gone.Kind, gone.To = MissingRange, hw
	rest.Kind, rest.Bad, rest.From, rest.CommonEnd = Behind, -1, hw, d.CommonEnd
	for i := range d.Sides {
		gone.Sides[i].To = min(gone.Sides[i].To, hw)
		rest.Sides[i].From = hw
		rest.Sides[i].To = max(rest.Sides[i].To, hw)
	}
	gone.Sides[lacks].From, gone.Sides[lacks].To = d.From, d.From
	rest.Sides[lacks].To = hw
	return []Divergence{gone, rest}
}

// withoutOverlap compares two logs that share no offset, by lineage: the one
// that ends first is either a prefix of the other's line, or left it.
func withoutOverlap(a, b Content, opt Options) []Divergence {
	startA, endA := a.Bounds()
	startB, endB := b.Bounds()
	if endA == endB {
		return nil
	}
	contents := [2]Content{a, b}
	low := 0
	if endB < endA || endA == endB && startB < startA {
		low = 1
	}
	ends, starts := [2]int64{endA, endB}, [2]int64{startA, startB}
	high := 1 - low
	lineage := contents[high].Lineage()
	common, forked := commonEnd(contents[low], contents[high])
	if forked {
		r := newRegion(EpochFork, -1, max(starts[0], starts[1]))
		d := r.divergence()
		d.CommonEnd = common
		for i := range d.Sides {
			d.Sides[i].To = max(ends[i], d.From)
			d.Sides[i].Epochs = epochsOf(contents[i], d.From, ends[i])
			if ends[i] <= d.From { // this side lies wholly below: show its part behind the fork
				d.Sides[i].From, d.Sides[i].To = max(common, starts[i]), ends[i]
				d.Sides[i].Epochs = epochsOf(contents[i], d.Sides[i].From, ends[i])
			}
		}
		d.To = max(ends[0], ends[1])
		return []Divergence{d}
	}
	from := ends[low]
	r := newRegion(onesided, low, from)
	r.add(high, ends[high], lineage.In(from, ends[high]))
	d := r.divergence()
	return tailOf(d, low, contents[low], opt.Ruler)
}

func epochsOf(c Content, from, to int64) []int32 {
	return c.Lineage().In(from, to)
}

// commonEnd asks the way a follower does: where does the low log's newest epoch
// end in the high log? forked is true when that is below the low log's end.
func commonEnd(low, high Content) (common int64, forked bool) {
	_, lowEnd := low.Bounds()
	_, highEnd := high.Bounds()
	e := low.Lineage().Latest()
	if e < 0 {
		e = low.Cache().EpochFor(lowEnd - 1)
	}
	if e < 0 {
		return lowEnd, false // an empty log is a prefix of every log
	}
	// The high log may start above the low log's end; its checkpoint still knows the
	// epochs before, rewritten to its log start.
	cache := high.Cache()
	if len(cache) == 0 {
		cache = high.Lineage().Rebuild()
	}
	if l := high.Lineage(); len(l) > 0 && l[0].Epoch >= 0 && l[0].Epoch < e {
		// The high log goes on in an older epoch than the low log has reached: the low
		// one left the line where its first newer epoch starts.
		if start, ok := epoch.StartAtOrAfter(low.Lineage(), low.Cache(), l[0].Epoch+1); ok {
			return start, true
		}
	}
	known, end := cache.EndOffsetFor(e, highEnd)
	if known < 0 || end >= lowEnd {
		return lowEnd, false
	}
	return end, true
}
