package repair

import (
	"cmp"
	"math/bits"
	"slices"

	"kafsck/replica"
)

// maxContradicting is how many batches are held against the line at a time, and how many are remembered so
// that each counts once.
const maxContradicting = 1 << 18

// Contradicted counts whole batches whose offsets other batches have, or deny, and that are not in the
// result. From and To span the offsets, nil where they are not known.
type Contradicted struct {
	Batches int64  `json:"batches"`
	Records int64  `json:"records"` // that the headers claim
	From    *int64 `json:"from"`
	To      *int64 `json:"to"`
}

func (c *Contradicted) add(z *zone) *Contradicted {
	if c == nil {
		c = &Contradicted{}
	}
	c.Batches += z.blocks
	c.Records += z.records
	if z.from < z.to {
		from, to := z.from, z.to
		if c.From != nil {
			from, to = min(from, *c.From), max(to, *c.To)
		}
		c.From, c.To = &from, &to
	}
	return c
}

// contradicts reports whether a zone holds batches that others contradict. Harmless are those of zoneSame and
// zoneOffset: the result has them.
func (w zoneWhy) contradicts() bool {
	return w == zoneDouble || w == zoneShadow || w == zoneWide || w == zoneDenied
}

// contradicting is a whole batch of a copy that others contradict.
type contradicting struct {
	block replica.Block
	zone  int // of the copy
	why   zoneWhy
	known bool // its offsets are those that it claims
	held  bool // the result has its records
}

// counted tells batches apart.
type counted struct {
	base, span, length int64
	crc                uint32
}

// contradictions finds out what the result has of the batches that others contradict, and counts those that
// it has not, each once.
//
//	0.log   |--0–9--|--10–19--|--20–29 A--|
//	20.log                    |--20–29 B--|--30–39--|   A is in lost+found; harmless if it is B once more
//
// Harmless is, besides: the same records with another epoch in the header, or at the offset where they belong;
// in a log that is compacted the same batch before or after cleaning, and one of which cleaning left nothing.
// Cleaning keeps first and last offset and epoch, and what one leader wrote at an offset is one batch.
func (w *salvaging) contradictions() error {
	once := map[counted]struct{}{}
	for _, x := range w.sources {
		if err := w.contradictionsOf(x, once); err != nil {
			return err
		}
	}
	return nil
}

func (w *salvaging) contradictionsOf(x *source, once map[counted]struct{}) error {
	var rest, zones []zone
	for _, z := range x.zones {
		if z.why == zoneOffset || z.why.contradicts() {
			zones = append(zones, z)
		} else {
			rest = append(rest, z)
		}
	}
	if len(zones) == 0 {
		return nil
	}
	parts := make([][]zone, len(zones)) // by what was found
	mixed := make([]bool, len(zones))
	var list []*contradicting
	settle := func() error {
		if err := w.hold(list); err != nil {
			return err
		}
		for _, c := range list {
			z := &zones[c.zone]
			one := zone{byteRun: byteRun{c.block.Segment, c.block.Position, c.block.Length}, from: 0, to: -1, epoch: -1, why: c.why, blocks: 1, records: records(&c.block)}
			key := counted{-1, c.block.WrittenSpan(), c.block.Length, c.block.CRC}
			if c.known {
				one.from, one.to, one.epoch, key.base = c.block.Base, c.block.Next(), c.block.Epoch, c.block.Base
			}
			p := parts[c.zone]
			mixed[c.zone] = mixed[c.zone] || len(p) > 0 && p[0].why != c.why
			parts[c.zone] = appendZone(p, one)
			if !c.why.contradicts() {
				continue
			}
			if _, again := once[key]; again {
				continue
			}
			if len(once) < maxContradicting {
				once[key] = struct{}{}
			}
			if !c.known {
				one.from, one.to = z.from, z.to
			}
			w.told.Contradicted = w.told.Contradicted.add(&one)
		}
		list = list[:0]
		return nil
	}
	for b, err := range x.within(zones) {
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return err
		}
		i, _ := slices.BinarySearchFunc(zones, byteRun{b.Segment, b.Position + 1, 0}, func(z zone, at byteRun) int { return z.compare(at) })
		c := &contradicting{block: b, zone: i - 1, why: zones[i-1].why}
		if n := x.wide[[2]int64{int64(b.Segment), b.Position}]; n > 0 {
			c.block.Last = b.Base + n - 1
		}
		c.known = c.why != zoneOffset
		if list = append(list, c); len(list) == maxContradicting {
			if err := settle(); err != nil {
				return err
			}
		}
	}
	if err := settle(); err != nil {
		return err
	}
	x.zones = rest
	for i := range zones {
		switch {
		case len(parts[i]) == 0: // no batch any more where there was one
			return ErrChanging
		case mixed[i]:
			x.zones = append(x.zones, parts[i]...)
		default:
			zones[i].why = parts[i][0].why
			x.zones = append(x.zones, zones[i])
		}
	}
	slices.SortFunc(x.zones, func(a, b zone) int { return a.byteRun.compare(b.byteRun) })
	return nil
}

// hold holds batches against the line.
func (w *salvaging) hold(list []*contradicting) error {
	if len(list) == 0 {
		return nil
	}
	byContent := slices.Clone(list)
	slices.SortFunc(byContent, func(a, b *contradicting) int {
		return cmp.Or(cmp.Compare(a.block.CRC, b.block.CRC), cmp.Compare(a.block.Length, b.block.Length))
	})
	ahead := slices.Clone(list)
	slices.SortStableFunc(ahead, func(a, b *contradicting) int { return cmp.Compare(a.block.Base, b.block.Base) })
	cleaned := func(c *contradicting, l *replica.Block) {
		b := &c.block
		if !w.compacted || c.why != zoneDouble && c.why != zoneShadow {
			return
		}
		switch {
		case l != nil && l.Base < b.Next():
			if l.Legacy && b.Legacy || l.Base == b.Base && l.Last == b.Last && l.Epoch == b.Epoch {
				c.why = zoneCleaned
			}
		case !w.lacks(b):
			c.why = zoneCleaned
		}
	}
	line := w.walkLine()
	defer line.stop()
	for ; line.ok; line.advance() {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		l := &line.block
		i, _ := slices.BinarySearchFunc(byContent, l, func(c *contradicting, l *replica.Block) int {
			return cmp.Or(cmp.Compare(c.block.CRC, l.CRC), cmp.Compare(c.block.Length, l.Length))
		})
		for ; i < len(byContent) && byContent[i].block.CRC == l.CRC && byContent[i].block.Length == l.Length; i++ {
			byContent[i].found(l)
		}
		for len(ahead) > 0 && ahead[0].block.Base < l.Next() {
			cleaned(ahead[0], l)
			ahead = ahead[1:]
		}
	}
	if line.err != nil {
		return line.err
	}
	for _, c := range ahead {
		cleaned(c, nil)
	}
	for _, c := range list {
		if c.why == zoneOffset && !c.held {
			c.why = zoneDenied
		}
	}
	return nil
}

// found takes note of a batch of the line with the same checksum and length. At another offset it is the same
// one if a producer numbered it, if this one's offset is denied, or if one bit makes the difference; others may
// have been sent twice.
func (c *contradicting) found(l *replica.Block) {
	b := &c.block
	switch {
	case b.Magic != l.Magic || !b.Legacy && l.Last-l.Base+1 != b.WrittenSpan():
	case c.why == zoneOffset:
		c.held = true
	case l.Last == b.Last || c.why == zoneWide && l.Base == b.Base:
		if c.why = zoneSame; l.WrittenEpoch != b.WrittenEpoch {
			c.why = zoneEpoch
		}
	case (b.ProducerID >= 0 || bits.OnesCount64(uint64(b.WrittenBase^l.WrittenBase)) == 1) && c.why != zoneSame && c.why != zoneEpoch:
		c.why, c.held = zoneOffset, true
	}
}
