package repair

import "slices"

// amid takes pieces out of the data that may be the content of a value: bytes that belong to no batch lie
// on both sides, none of them at the border of a block of a file system, and the pieces around these have just the
// offsets before and behind.
//
//	|--A 0–9--|~~ 110 bytes ~~|--B 10–19--|~~ 51 bytes ~~|--C 20–29--|   no batch stood in these bytes
//
// Files that lie in several places of a disk, or one behind the other, look the same but for the borders.
func (c *carving) amid() {
	gone := map[int32]bool{}
	for i := 1; i < len(c.runs); i++ {
		a, b := c.runs[i-1], c.runs[i]
		for k := i - 1; k > 0 && gone[int32(k)]; k-- { // what was taken out is damage, too
			a = c.runs[k-1]
		}
		if b.touches != nil || b.pos <= a.end || a.to != b.from || b.before == a && b.over != nil {
			continue
		}
		last, n := b, i+1 // pieces that lie one behind the other
		for ; n < len(c.runs) && c.runs[n].pos == last.end && c.runs[n].from == last.to; n++ {
			last = c.runs[n]
		}
		if n == len(c.runs) || last.end-b.pos > maxEnclosed {
			continue
		}
		next := c.runs[n]
		if next.pos <= last.end || next.from != last.to || b.pos-a.end > maxEnclosed || next.pos-last.end > maxEnclosed ||
			b.pos%fileBlock == 0 && next.pos%fileBlock == 0 {
			continue
		}
		for k := i; k < n; k++ {
			gone[int32(k)] = true
		}
		i = n - 1
	}
	if len(gone) == 0 {
		return
	}
	moved := make([]int32, len(c.runs))
	var stay []*run
	for i, r := range c.runs {
		if gone[int32(i)] {
			moved[i] = -1
			r.amid = true
			c.told.Amid += r.batches
			c.told.Apart = append(c.told.Apart, CarvedPiece{of: r})
			continue
		}
		moved[i] = int32(len(stay))
		r.index = len(stay)
		stay = append(stay, r)
	}
	for _, r := range stay {
		if r.before != nil && r.before.amid {
			r.before, r.over = nil, nil
		}
		if r.touches != nil && r.touches.amid {
			r.touches = nil
		}
	}
	c.runs = stay
	c.sigs = slices.DeleteFunc(c.sigs, func(s sigOf) bool { return moved[s.run] < 0 })
	for i := range c.sigs {
		c.sigs[i].run = moved[c.sigs[i].run]
	}
}
