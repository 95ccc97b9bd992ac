package repair

import (
	"math"

	"kafsck/batch"
	"kafsck/replica"
)

// wideBatches finds batches that claim offsets which others have. The last offset of a batch is in its checksum, so
// that a wrong one was written so, by a producer or a tool; a broker takes none of a producer that does not fit
// the number of records (LogValidator.validateBatch), but a follower, or a tool that writes files, does. Only
// the cleaner leaves a batch with fewer records than offsets.
//
//	|--0–9--|--10–2147483657, 10 records--|--20–29--|--30–39--|   the second one is wrong, not those behind it
//	|--0–9--|--10–29, 3 records--|--30–39--|                      cleaned
//
// In a log without holes one batch that begins among the offsets without a record decides, as both cannot
// be; in one with holes two of them, or one that goes on exactly where the records end.
type wideBatches struct {
	open  []wideBatch
	found []wideBatch
	all   int
}

// wideBatch is a batch with fewer records than offsets.
type wideBatch struct {
	at         [2]int64 // segment, position
	base, next int64
	records    int64 // offsets that its records take
	end        int64 // position behind it
	among      int   // batches behind it that begin among the others
	exact      bool  // the one that lies behind it goes on where its records end
}

// maxOpenWide is among how many of them, the latest ones, a batch is sought.
const maxOpenWide = 16

// add takes the next sound batch in file order.
func (c *wideBatches) add(b *replica.Block) {
	for i := range c.open {
		o := &c.open[i]
		if o.base+o.records <= b.Base && b.Base < o.next {
			o.among++
		}
		if b.Base == o.base+o.records && (int64(b.Segment) == o.at[0] && b.Position == o.end || int64(b.Segment) == o.at[0]+1 && b.Position == 0) {
			o.exact = true
		}
	}
	if emptied(b) {
		c.all++
	}
	records := offsetsTaken(b)
	if records == 0 {
		return
	}
	if len(c.open) == maxOpenWide {
		c.close(c.open[0])
		c.open = append(c.open[:0], c.open[1:]...)
	}
	c.open = append(c.open, wideBatch{at: [2]int64{int64(b.Segment), b.Position}, base: b.Base, next: b.Next(), records: records, end: b.Position + b.Length})
}

// emptied reports whether cleaning left no record of a batch.
func emptied(b *replica.Block) bool { return !b.Legacy && !b.Control() && b.Records == 0 }

// offsetsTaken is how many offsets the records of a batch take if it claims more, else 0.
func offsetsTaken(b *replica.Block) int64 {
	if b.Legacy || b.Control() || b.Records <= 0 || !possible(b) {
		return 0
	}
	n := int64(b.Records)
	if b.Codec == batch.None {
		n = min(n, (b.Length-batch.HeaderSize)/minRecord)
	}
	if n >= b.Next()-b.Base {
		return 0
	}
	return n
}

func (c *wideBatches) close(o wideBatch) {
	c.all++
	if (o.among > 0 || o.exact) && len(c.found) < maxUnborne {
		c.found = append(c.found, o)
	}
}

// end decides which are wrong, in a log with holes or without.
func (c *wideBatches) end(x *source, sparse bool) {
	for _, o := range c.open {
		c.close(o)
	}
	c.open = nil
	sparse = sparse || c.all > len(c.found)
	for _, o := range c.found {
		if !sparse || o.exact || o.among > 1 {
			x.widens(o.at, o.records)
		}
	}
	x.cleaned = c.all > len(x.wide)
}

// last is the last batch of a copy, if it claims more offsets than it has records.
func (x *source) last() (*replica.Block, error) {
	end := x.log.LogEndOffset
	if end <= 0 || !x.log.Sparse {
		return nil, nil
	}
	for b, err := range x.log.Blocks(end-1, end) {
		if err != nil {
			return nil, err
		}
		if good(&b) && b.Next() == end && offsetsTaken(&b) > 0 {
			return &b, nil
		}
	}
	return nil, nil
}

// checkpointed finds that the last batch claims too much because a checkpoint has just the offset behind its
// records: these hold no others than those at which a batch ends.
func (w *salvaging) checkpointed(x *source, b *replica.Block) {
	for _, line := range []*int64{x.log.RecoveryPoint, x.log.HighWatermark} {
		if n := offsetsTaken(b); line != nil && *line == b.Base+n {
			x.widens([2]int64{int64(b.Segment), b.Position}, n)
		}
	}
}

// wideEverywhere finds them in the other copies, at whose end no batch shows that they are wrong, and decides
// whether the log is a cleaned one.
func (w *salvaging) wideEverywhere() error {
	type same struct {
		base, length int64
		crc          uint32
	}
	known := map[same]int64{}
	each := func(x *source, do func(b *replica.Block, at [2]int64)) error {
		for b, err := range x.blocks(math.MinInt64) {
			if err == nil {
				err = w.ctx.Err()
			}
			if err != nil {
				return err
			}
			do(&b, [2]int64{int64(b.Segment), b.Position})
		}
		return nil
	}
	for _, x := range w.sources {
		if len(x.wide) == 0 {
			continue
		}
		if err := each(x, func(b *replica.Block, at [2]int64) {
			if n := x.wide[at]; n > 0 {
				known[same{b.Base, b.Length, b.CRC}] = n
			}
		}); err != nil {
			return err
		}
	}
	for _, x := range w.sources {
		if len(known) > 0 && x.log.Sparse {
			rest := false
			if err := each(x, func(b *replica.Block, at [2]int64) {
				if n := known[same{b.Base, b.Length, b.CRC}]; n > 0 && good(b) {
					x.widens(at, n)
				} else if good(b) && (emptied(b) || offsetsTaken(b) > 0) {
					rest = true
				}
			}); err != nil {
				return err
			}
			x.cleaned = rest
		}
		w.compacted = w.compacted || x.cleaned
	}
	for _, x := range w.sources {
		x.sparse = x.sparse || w.compacted
	}
	return nil
}

func (x *source) widens(at [2]int64, n int64) {
	if x.wide == nil {
		x.wide = map[[2]int64]int64{}
	}
	x.wide[at] = n
	x.doubted = true
}
