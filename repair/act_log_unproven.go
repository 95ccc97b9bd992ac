package repair

import (
	"fmt"
	"slices"

	"kafsck/logdir"
	"kafsck/segment"
)

// leastOuter is how many bytes stand at least before a batch that lies in a record's value: the header
// of the outer batch, and length, attributes, two deltas and two lengths of the record.
const leastOuter = 61 + 6

// unprove takes batches out of what stays that stand between two damaged stretches of which one leaves no
// offset missing. Bytes that are no batch and held no offset do not come about: whoever destroys a batch
// leaves its offsets missing. Here, then, the offsets of what was destroyed are those of the batches
// between, and these may be what its records hold as a value:
//
//	| batch 0–9 | ~~~~~~~~ | batch 10–19 | ~~~ | batch 20–29 |
//	            | header destroyed, 10–19      |
//
// Their CRCs prove nothing of that. An entry of the segment's index does: no index points into a batch.
func (s *surgery) unprove() error {
	for i := 0; i+1 < len(s.holes); i++ {
		a, b := s.holes[i], s.holes[i+1]
		if !s.around(a, b) {
			continue
		}
		from, to := a.next.Position, b.pos
		indexed, err := s.indexed(a.next.Segment, from, to)
		if err != nil {
			return err
		}
		if indexed {
			continue
		}
		bytes := int64(0)
		s.keep[a.next.Segment] = slices.DeleteFunc(s.keep[a.next.Segment], func(x stretch) bool {
			inside := x.position >= from && x.position < to
			if inside {
				bytes += x.length
			}
			return inside
		})
		m := *a
		m.next, m.to = b.next, b.to
		m.bytes = a.bytes + bytes + b.bytes
		m.lost, m.unproven, m.records = true, true, -1
		m.blocks = a.blocks + b.blocks + 1
		m.to = max(m.to, b.from)
		if b.next == nil {
			s.last = a.prev
		}
		s.holes = slices.Replace(s.holes, i, i+2, &m)
		i--
	}
	return nil
}

// around reports whether two holes are damaged stretches with batches between them that may lie in a
// batch which both belong to.
func (s *surgery) around(a, b *hole) bool {
	for _, h := range []*hole{a, b} {
		if h.gap || h.marker || h.soft || h.bytes == 0 || len(h.doubles) > 0 || len(h.unread) > 0 {
			return false
		}
	}
	if a.next == nil || a.next.Segment != int(a.seg) || b.seg != a.seg || a.bytes < leastOuter || a.next.Position >= b.pos {
		return false
	}
	if b.next != nil && b.next.Segment != int(b.seg) {
		return false
	}
	missing := a.from < a.next.Base
	if b.next == nil { // the end of a log is torn for many a reason
		return !missing
	}
	return !missing || b.from == b.next.Base
}

// indexed reports whether the index of a segment points to one of the batches in [from, to) of its .log.
func (s *surgery) indexed(seg int, from, to int64) (bool, error) {
	x := s.log.Segments[seg]
	i := slices.IndexFunc(s.dir.Segments, func(o *logdir.Segment) bool {
		return o.BaseOffset == x.BaseOffset && o.Index != nil && o.Index.Suffix == logdir.NoSuffix
	})
	if i < 0 {
		return false, nil
	}
	f := s.dir.Segments[i].Index
	h, err := f.Open()
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.Path, err)
	}
	defer h.Close()
	at := map[int64]int64{} // offsets by position
	for e, err := range segment.ScanIndex(h, f.Size, x.BaseOffset) {
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.Path, err)
		}
		if e.Position >= from && e.Position < to && len(at) < maxHoles {
			at[e.Position] = e.Offset
		}
	}
	if len(at) == 0 {
		return false, nil
	}
	for b, err := range s.log.Blocks(x.BaseOffset, at[lowest(at)]+1) {
		if err != nil {
			return false, err
		}
		if offset, ok := at[b.Position]; ok && b.Segment == seg && b.Flaws == 0 && offset >= b.Base {
			return true, nil
		}
	}
	return false, nil
}

func lowest(m map[int64]int64) int64 {
	first := int64(-1)
	for k := range m {
		if first < 0 || k < first {
			first = k
		}
	}
	return first
}
