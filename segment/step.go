package segment

import (
	"hash/crc32"
	"strconv"

	"kafsck/batch"
)

// suspect is a header at the place where the chain is, or its CRC, that cannot be
// believed as it stands.
type suspect struct {
	head
	pos int64
	// sized: nothing speaks against the length, so that the bytes up to end, or to the end
	// of the file, are the batch; its payload is damaged, or torn.
	sized  bool
	damage *batch.Error // nil: no header was expected here
}

func (a *suspect) end() int64 { return a.pos + a.total() }

// holds reports whether what ends at this position, behind a's first byte, is a part of a if
// a's length is right.
func (a *suspect) holds(end int64) bool { return a.sized && end <= a.end() }

// step takes what stands at the chain's place and is not a sound batch of magic 2.
func (s *scanner) step(yield func(*Run, error) bool) error {
	if s.search.unfinished {
		return s.gap(yield, &suspect{pos: s.pos})
	}
	rest := s.size - s.pos
	b, err := s.main.need(s.pos, min(headPeek, rest))
	if err != nil {
		return err
	}
	if rest <= overhead {
		f := Frame{Kind: Torn, Pos: s.pos, Len: rest, Damage: lengthError(0, "more than 17 bytes", rest)}
		if allZero(b) {
			f.Kind, f.Damage = Zeros, nil
		} else if rest >= batch.LogOverhead {
			f.Claimed = claimed(b)
		}
		s.emit(yield, f)
		return nil
	}
	if allZero(b[:overhead]) {
		return s.zeros(yield)
	}
	a := suspect{head: readHead(b), pos: s.pos}
	switch total := a.total(); {
	case total < a.minTotal():
		a.damage = lengthError(8, "at least "+itoa(a.minTotal()-batch.LogOverhead), int64(a.length))
	case total > rest:
		a.damage = lengthError(8, "at most "+itoa(rest-batch.LogOverhead), int64(a.length))
	default:
		return s.whole(yield, &a)
	}
	if a.sized = a.sane && a.total() > rest && s.offsets.near(a.base); a.sized && a.legacy() {
		// The header of a message says little; a torn one must fit closer.
		if a.sized, err = s.search.mayFill(a.pos, &a.head); err != nil {
			return err
		}
		a.sized = a.sized && a.base >= s.offsets.floor
	}
	return s.gap(yield, &a)
}

// whole takes a header whose length fits.
func (s *scanner) whole(yield func(*Run, error) bool, a *suspect) error {
	crc, raw, err := s.checksum(a)
	if err != nil {
		return err
	}
	if crc == a.crc && a.magic >= 0 {
		f, err := s.frame(a, a.total(), raw)
		if err != nil {
			return err
		}
		if a.magic > 2 {
			f.Damage = magicError(a.magic)
		}
		s.offsets.see(a.base, a.next)
		s.emit(yield, f)
		return nil
	}
	if a.legacy() {
		if v := (batch.View{Raw: raw}); len(raw) >= batch.HeaderSize && v.ComputedCRC() == be32(raw[17:]) {
			h, _ := batch.ParseHeader(raw) // fails for the magic alone and is filled in
			s.offsets.see(h.BaseOffset, h.NextOffset())
			v.Header = h
			s.emit(yield, Frame{Kind: Batch, Pos: a.pos, Len: a.total(), Claimed: a.total(), Batch: v, Raw: raw, Damage: magicError(a.magic)})
			return nil
		}
		if a.sized, err = s.search.fillsExactly(a.pos, &a.head); err != nil {
			return err
		}
	} else {
		a.sized = a.sane && s.offsets.near(a.base)
	}
	a.damage = crcError(a, crc)
	if a.magic < 0 {
		a.damage = magicError(a.magic)
	}
	chains := a.end() == s.size
	if !chains {
		if chains, err = s.search.headerAt(a.end()); err != nil {
			return err
		}
	}
	if !chains {
		return s.gap(yield, a)
	}
	// The length leads on, yet it may lead over a batch or more.
	trueEnd, err := s.search.trueEnd(a)
	if err != nil {
		return err
	}
	if trueEnd > 0 {
		return s.mended(yield, a, trueEnd)
	}
	return s.damaged(yield, a)
}

// checksum computes the CRC that a's magic asks for over the length that it claims. raw is
// nil if that is more than MaxRaw.
func (s *scanner) checksum(a *suspect) (crc uint32, raw []byte, err error) {
	s.search.work += a.total()
	if a.total() > MaxRaw {
		crc, err = s.search.crc(0, a.table(), a.pos+a.covered(), a.end())
		return crc, nil, err
	}
	raw, err = s.main.need(a.pos, a.total())
	if err != nil {
		return 0, nil, err
	}
	raw = raw[:a.total():a.total()]
	return crc32.Checksum(raw[a.covered():], a.table()), raw, nil
}

// frame makes a Batch or Legacy frame of n bytes at a; raw may be nil if it has not been
// read or is too large.
func (s *scanner) frame(a *suspect, n int64, raw []byte) (Frame, error) {
	b := raw
	if raw == nil {
		want := n
		if n > MaxRaw {
			want = headPeek
		}
		var err error
		if b, err = s.main.need(a.pos, want); err != nil {
			return Frame{}, err
		}
		if n <= MaxRaw {
			raw = b[:n:n]
		}
	}
	f := Frame{Kind: Batch, Pos: a.pos, Len: n, Claimed: a.total(), Raw: raw}
	if a.legacy() {
		f.Kind = Legacy
		f.Legacy, _ = batch.ParseLegacyHeader(b) // filled in where length or magic are wrong
	} else {
		h, _ := batch.ParseHeader(b) // likewise
		f.Batch = batch.View{Header: h, Raw: raw}
	}
	return f, nil
}

// damaged emits a batch or message whose length can be believed and whose bytes cannot.
func (s *scanner) damaged(yield func(*Run, error) bool, a *suspect) error {
	if a.magic < 0 {
		s.emit(yield, Frame{Kind: Junk, Pos: a.pos, Len: a.total(), Claimed: a.total(), Damage: a.damage})
		return nil
	}
	f, err := s.frame(a, a.total(), nil)
	if err != nil {
		return err
	}
	f.Damage = a.damage
	s.emit(yield, f)
	return nil
}

// mended emits a batch whose CRC verifies up to end: only its length is wrong.
func (s *scanner) mended(yield func(*Run, error) bool, a *suspect, end int64) error {
	n := end - a.pos
	f, err := s.frame(a, n, nil)
	if err != nil {
		return err
	}
	f.Damage = lengthError(8, itoa(n-batch.LogOverhead), int64(a.length))
	s.offsets.see(a.base, a.next)
	s.emit(yield, f)
	return nil
}

// gap emits what lies between the chain's end at a and the place where it goes on.
func (s *scanner) gap(yield func(*Run, error) bool, a *suspect) error {
	found, err := s.search.next(a)
	switch {
	case err != nil:
		return err
	case found.trueEnd > 0:
		return s.mended(yield, a, found.trueEnd)
	case a.sized && a.end() > s.size && found.resume == s.size:
		s.search.unfinished = false
		s.emit(yield, Frame{Kind: Torn, Pos: a.pos, Len: s.size - a.pos, Claimed: a.claim(), Damage: a.damage})
		return nil
	case a.sized && a.end() <= found.resume:
		s.search.unfinished = false
		return s.damaged(yield, a)
	}
	return s.pieces(yield, a, found.end)
}

// claim is Frame.Claimed of a header that was looked at.
func (a *suspect) claim() int64 {
	if a.damage == nil {
		return 0
	}
	return a.total()
}

// pieces emits the stretch from a to end as Junk, with the Zeros and Embedded frames that
// the search has found in it.
func (s *scanner) pieces(yield func(*Run, error) bool, a *suspect, end int64) error {
	f := Frame{Kind: Junk, Claimed: a.claim()}
	if a.damage != nil {
		f.Damage = a.damage
	}
	junk := func(to int64) {
		if to <= s.pos || s.stopped {
			return
		}
		if f.Damage == nil {
			f.Damage = &batch.Error{Field: "header", Err: ErrNoBatch}
		}
		f.Pos, f.Len = s.pos, to-s.pos
		s.emit(yield, f)
		f = Frame{Kind: Junk}
	}
	for _, it := range s.search.items {
		if it.pos >= end || s.stopped {
			break
		}
		junk(it.pos)
		if s.stopped {
			break
		}
		n := min(it.end, end) - s.pos
		if !it.embedded {
			s.emit(yield, Frame{Kind: Zeros, Pos: s.pos, Len: n})
			continue
		}
		g, err := s.frame(&suspect{head: it.head, pos: it.pos}, n, nil)
		if err != nil {
			return err
		}
		g.Kind, g.Claimed = Embedded, 0
		s.emit(yield, g)
	}
	junk(end)
	return nil
}

// zeros takes a run of zero bytes at the chain's place.
func (s *scanner) zeros(yield func(*Run, error) bool) error {
	end := s.pos + overhead
	for end < s.size {
		b := s.main.from(end)
		if len(b) == 0 {
			// A few bytes before are kept: the run may reach into the next header.
			keep := max(s.pos, end-headPeek)
			if _, err := s.main.need(keep, end-keep+1); err != nil {
				return err
			}
			b = s.main.from(end)
		}
		n := zeroPrefix(b)
		end += int64(n)
		if n < len(b) {
			break
		}
	}
	if end == s.size {
		s.emit(yield, Frame{Kind: Zeros, Pos: s.pos, Len: end - s.pos})
		return nil
	}
	// A base offset of 0 and a small length make up to 11 zero bytes of a header.
	found, err := s.search.behindZeros(s.pos, end)
	if err != nil {
		return err
	}
	zerosEnd := min(end, found.end)
	if items := s.search.items; len(items) > 0 {
		zerosEnd = min(zerosEnd, items[0].pos)
	}
	s.emit(yield, Frame{Kind: Zeros, Pos: s.pos, Len: zerosEnd - s.pos})
	if s.stopped || s.pos == found.end {
		return nil
	}
	return s.pieces(yield, &suspect{pos: s.pos}, found.end)
}

func claimed(b []byte) int64 { return batch.LogOverhead + int64(int32(be32(b[8:]))) }

func lengthError(pos int64, want string, got int64) *batch.Error {
	field := "batchLength"
	if pos == 0 {
		field = "header"
	}
	return &batch.Error{Pos: pos, Field: field, Want: want, Got: itoa(got), Err: batch.ErrLength}
}

func magicError(magic int8) *batch.Error {
	return &batch.Error{Pos: 16, Field: "magic", Want: "2", Got: itoa(int64(magic)), Err: batch.ErrMagic}
}

func crcError(a *suspect, got uint32) *batch.Error {
	pos := int64(17)
	if a.legacy() {
		pos = 12
	}
	return &batch.Error{Pos: pos, Field: "crc", Want: hex32(got), Got: hex32(a.crc), Err: batch.ErrCRC}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
