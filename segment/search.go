package segment

import (
	"hash/crc32"
	"math"

	"kafsck/batch"
)

const (
	sideBuffer = 256 << 10 // bytes of one read while searching
	// maxItems bounds what one search remembers of the stretch it has passed. Where there
	// is more, the stretch is searched in parts.
	maxItems = 4096
	// maxTornKey bounds the key of a message that the end of the file cuts before its value
	// length: beyond it, these are more likely no message at all. 1 MiB is Kafka's default
	// for whole messages.
	maxTornKey = 1 << 20
	// slack is what may be read beyond the budget, for files of a few batches.
	slack = 2 * sideBuffer
)

// search finds where the chain goes on after damage. It reads beside the main window, so
// that this only ever moves forward, and keeps account of what it costs.
type search struct {
	*scanner
	span int64 // bytes of the scan, the measure of the budget

	side   window // where the search is
	stream []byte // for what is in no window
	peeked [headPeek]byte
	aside  int64 // bytes read past both windows
	work   int64 // bytes looked at or checksummed, read or not
	// doubtful are bytes checksummed, or left out, for headers that no records seem to follow.
	doubtful int64
	walked   chain // the last one that was walked to its end
	items    []item
	run      zeroRun
	covered  runningCRC

	// sure is the next proven header (a sound batch with another header behind it) of an
	// earlier search, or the size if there is none; below the position when not known.
	sure     int64
	sureBase int64 // its base offset; the highest int64 if there is none
	// unfinished: the last search stopped in the middle of a gap.
	unfinished bool
}

// item is something in a gap that is not simply junk, in ascending order of position.
type item struct {
	pos, end int64
	embedded bool // else zeros
	head     head // of the embedded batch
	// fits: sound and with possible offsets, only with nothing sane behind it.
	fits bool
}

// found is the result of a search.
type found struct {
	end     int64 // the gap ends here, or its first part if the search is unfinished
	resume  int64 // where the chain goes on; the size if nowhere
	trueEnd int64 // > 0: the suspect's CRC verifies up to here
}

// next looks for the place where the chain goes on behind a. It also fills items.
func (s *search) next(a *suspect) (found, error) {
	from := a.pos + 1
	if s.unfinished {
		from = a.pos
	}
	s.unfinished = false
	return s.look(a, from, s.size)
}

// behindZeros is next for a run of zeros [from, end).
func (s *search) behindZeros(from, end int64) (found, error) {
	s.unfinished = false
	return s.look(&suspect{pos: end}, max(from+1, end-overhead+2), s.size)
}

// trueEnd looks inside a damaged batch for an end up to which its CRC verifies: then the
// length is what was damaged. 0 if there is none.
func (s *search) trueEnd(a *suspect) (int64, error) {
	if !a.sane || a.total() > MaxRaw {
		return 0, nil
	}
	found, err := s.look(a, a.pos+a.minTotal(), a.end())
	return found.trueEnd, err
}

// look goes through the positions [from, to). Below the size it only looks for a's
// true end.
func (s *search) look(a *suspect, from, to int64) (found, error) {
	s.items = s.items[:0]
	s.run = zeroRun{start: -1}
	s.covered = newRunningCRC(a)
	accept := to == s.size
	known := accept && s.sure > from
	if known {
		to = s.sure
	}
	cut := int64(-1) // beyond it items are not remembered

	p := from
	for p < to {
		if s.spent(0) {
			return found{}, errSpent
		}
		if len(s.items) >= maxItems && cut < 0 {
			cut = p
			if known {
				break
			}
		}
		b, err := s.bytes(p)
		if err != nil {
			return found{}, err
		}
		i, passed := candidate(b, p+int64(len(b)) == s.size)
		c := p + int64(i)
		if i < 0 || c >= to {
			passed = int(min(int64(passed), to-p))
			if err := s.pass(b[:passed], p, cut); err != nil {
				return found{}, err
			}
			p += int64(passed)
			continue
		}
		h := readHead(b[i:])
		ok, fits, err := s.header(c, &h)
		if err != nil {
			return found{}, err
		}
		if ok && s.covered.active && c-a.pos >= a.minTotal() {
			if err := s.feed(c); err != nil {
				return found{}, err
			}
			if s.covered.sum == a.crc {
				return found{trueEnd: c}, nil
			}
		}
		if ok = ok && fits && accept && (!known || h.total() <= to-c); ok {
			if ok, err = s.worth(c, &h); err == nil && ok {
				ok, err = s.sound(c, &h)
			}
			if err != nil {
				return found{}, err
			}
		}
		if !ok {
			if err := s.pass(b[:i+1], p, cut); err != nil {
				return found{}, err
			}
			p = c + 1
			continue
		}
		if err := s.pass(b[:i], p, cut); err != nil {
			return found{}, err
		}
		s.endRun(c, cut)
		it := item{pos: c, end: c + h.total(), embedded: true, head: h}
		proven, err := s.judge(a, &it)
		switch {
		case err != nil:
			return found{}, err
		case proven:
			s.sure, s.sureBase = c, h.base
			return s.settle(cut), nil
		case known && it.fits && h.next <= s.sureBase:
			return found{end: c, resume: c}, nil
		}
		if cut < 0 {
			s.items = append(s.items, it)
		}
		if err := s.feed(it.end); err != nil {
			return found{}, err
		}
		p = it.end
	}
	if !accept {
		return found{}, nil
	}
	s.endRun(min(p, to), cut)
	if cut >= 0 && known {
		s.unfinished = true
		return found{end: cut, resume: s.sure}, nil
	}
	if end, err := s.endsHere(a, p); err != nil || end > 0 {
		return found{trueEnd: end}, err
	}
	if known {
		return found{end: s.sure, resume: s.sure}, nil
	}
	s.sure, s.sureBase = s.size, math.MaxInt64
	return s.settle(cut), nil
}

// pass takes note of bytes at pos in which no batch begins.
func (s *search) pass(b []byte, pos, cut int64) error {
	s.work += int64(len(b))
	s.zeros(b, pos, cut)
	return s.feed(pos + int64(len(b)))
}

// header reports whether a sane header stands at pos, and whether the file holds all bytes
// that it claims. Of a message, both or none.
func (s *search) header(pos int64, h *head) (sane, fits bool, err error) {
	fits = h.total() >= h.minTotal() && h.total() <= s.size-pos
	if !h.legacy() || !h.sane {
		return h.sane, fits, nil
	}
	sane, err = s.fillsExactly(pos, h)
	return sane, fits, err
}

// judge decides whether a sound batch behind, or in, the suspect is proven to belong to the
// log. If not, it sets it.fits.
func (s *search) judge(a *suspect, it *item) (proven bool, err error) {
	base, floor := it.head.base, s.offsets.floor
	// What lies in a, if its length can be true, or somewhere behind a, if not, has higher
	// offsets than a or is an image. Of a's offsets the lowest end is taken: the last offset
	// delta may be what is damaged.
	holds := a.holds(it.end)
	above := int64(0)
	if (holds || a.sane && !a.sized && a.damage != nil && !a.legacy()) && s.offsets.near(a.base) {
		above = a.base + int64(max(a.count, 1))
	}
	switch {
	case base >= floor && base >= above:
		// An image in a's payload may look like this, but with any offset. A batch behind a
		// follows closely: no more offsets are missing than bytes were passed.
		it.fits = !holds || base >= a.next && base-a.next <= it.pos-a.pos
		if it.end == s.size {
			return it.fits, nil
		}
		return s.headerAt(it.end)
	case base >= floor:
		// Only a's header speaks against it: against a chain to the tail it has no say.
		return s.leads(it.pos, &it.head, toTail)
	case !holds:
		return s.leads(it.pos, &it.head, toEnd)
	}
	return false, nil
}

// settle decides, now that the next proven header is known, which of the sound batches
// before it belongs to the log: the first whose offsets agree with that header.
func (s *search) settle(cut int64) found {
	f := found{end: s.sure, resume: s.sure}
	for i, it := range s.items {
		if it.fits && it.head.next <= s.sureBase {
			f.end, f.resume = it.pos, it.pos
			s.items = s.items[:i]
			return f
		}
	}
	if cut >= 0 {
		f.end = cut
		s.unfinished = true
	}
	return f
}

// endsHere tries the ends of a that no header marks: the end of the file, and the zeros
// behind the last batch of a preallocated file, the first of which may belong to it.
func (s *search) endsHere(a *suspect, p int64) (int64, error) {
	if !s.covered.active {
		return 0, nil
	}
	if p == s.size && s.covered.sum == a.crc && s.size-a.pos >= a.minTotal() {
		return s.size, nil
	}
	for _, it := range s.items {
		from := max(it.pos, a.pos+a.minTotal())
		if it.embedded || from > it.end {
			continue
		}
		sum, err := s.crc(0, a.table(), a.pos+a.covered(), from)
		if err != nil {
			return 0, err
		}
		for end := from; end <= min(from+headPeek, it.end); end++ {
			if sum == a.crc {
				return end, nil
			}
			sum = crc32.Update(sum, a.table(), zeroBlock[:1])
		}
		break
	}
	return 0, nil
}

// candidate returns the index of the next position in b where a header may stand, or -1,
// and how many positions it has ruled out. atEnd: the file ends with b.
func candidate(b []byte, atEnd bool) (i, passed int) {
	n := len(b) - headPeek + 1
	if atEnd {
		n = len(b) - minLegacy + 1
	}
	for i := range max(n, 0) {
		magic := b[i+16]
		if magic > 2 || b[i] >= 0x80 || b[i+8] >= 0x80 {
			continue
		}
		if magic == 2 {
			if i+headPeek <= len(b) && saneAttributes(b[i:]) {
				return i, i
			}
			continue
		}
		if b[i+17] <= 15 && be32(b[i+8:]) >= batch.LegacyMinSize {
			return i, i
		}
	}
	if atEnd {
		return -1, len(b)
	}
	return -1, n
}
