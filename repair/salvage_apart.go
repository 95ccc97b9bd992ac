package repair

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"kafsck/replica"
)

// countApart counts the whole batches that are not in the result, each once, however many copies have it.
func (w *salvaging) countApart() error {
	var err error
	if w.told.Other, err = w.distinct(zoneOther); err != nil {
		return err
	}
	w.told.Unproven, err = w.distinct(zoneUnproven, zoneAlone)
	return err
}

// distinct merges the batches that the copies have in zones of some kind: nothing is held but one batch
// of each.
//
//	broker 1   |100|110|120|
//	broker 2       |110|120|       3 batches
func (w *salvaging) distinct(kinds ...zoneWhy) (*Apart, error) {
	type head struct {
		block replica.Block
		next  func() (replica.Block, error, bool)
	}
	var heads []*head
	var sum *Apart
	for _, x := range w.sources {
		var zones []zone
		for i := range x.zones {
			if slices.Contains(kinds, x.zones[i].why) {
				zones = append(zones, x.zones[i])
				sum = sum.span(x.zones[i].from, x.zones[i].to)
			}
		}
		if len(zones) == 0 {
			continue
		}
		next, stop := iter.Pull2(x.within(zones))
		defer stop()
		heads = append(heads, &head{next: next})
	}
	advance := func(h *head) (bool, error) {
		b, err, ok := h.next()
		h.block = b
		return ok, err
	}
	live := heads[:0:0]
	for _, h := range heads {
		ok, err := advance(h)
		if err != nil {
			return nil, err
		}
		if ok {
			live = append(live, h)
		}
	}
	for len(live) > 0 {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		least := slices.MinFunc(live, func(a, b *head) int { return inOrder(&a.block, &b.block) }).block
		sum.Batches++
		sum.Records += records(&least)
		rest := live[:0]
		for _, h := range live {
			ok := true
			if inOrder(&h.block, &least) == 0 {
				var err error
				if ok, err = advance(h); err != nil {
					return nil, err
				}
			}
			if ok {
				rest = append(rest, h)
			}
		}
		live = rest
	}
	return sum, nil
}

// span widens the offsets.
func (a *Apart) span(from, to int64) *Apart {
	if a == nil {
		return &Apart{From: from, To: to}
	}
	a.From, a.To = min(a.From, from), max(a.To, to)
	return a
}

// inOrder orders batches by offset, and tells different ones apart.
func inOrder(a, b *replica.Block) int {
	return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(a.Last, b.Last), cmp.Compare(a.WrittenEpoch, b.WrittenEpoch), cmp.Compare(a.CRC, b.CRC), cmp.Compare(a.Length, b.Length))
}

// within are the batches in some zones of a copy, in file order.
func (x *source) within(zones []zone) iter.Seq2[replica.Block, error] {
	zones = slices.Clone(zones)
	slices.SortFunc(zones, func(a, b zone) int { return a.compare(b.byteRun) })
	return func(yield func(replica.Block, error) bool) {
		for b, err := range x.blocks(math.MinInt64) {
			if err != nil {
				yield(b, err)
				return
			}
			i, found := slices.BinarySearchFunc(zones, byteRun{b.Segment, b.Position, 0}, func(z zone, at byteRun) int { return z.compare(at) })
			if !found {
				i--
			}
			if i < 0 || zones[i].seg != b.Segment || b.Position >= zones[i].position+zones[i].length {
				continue
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}
