package segment

import "kafsck/batch"

// worth reports whether the CRC of the batch at pos should be computed: always if records
// seem to follow the header, else only as long as that has not cost too much. Data of many
// zeros and small numbers can look like headers everywhere.
func (s *search) worth(pos int64, h *head) (bool, error) {
	if h.legacy() {
		return true, nil
	}
	n := h.total() - batch.HeaderSize
	b, err := s.peek(pos+batch.HeaderSize, min(8, n))
	if err != nil || h.likelyPayload(b, n) {
		return err == nil, err
	}
	s.doubtful += h.total()
	return s.doubtful <= 2*s.span+slack, nil
}

// sound reports whether the CRC of the batch at pos verifies.
func (s *search) sound(pos int64, h *head) (bool, error) {
	s.work += h.total()
	sum, err := s.crc(0, h.table(), pos+h.covered(), pos+h.total())
	return sum == h.crc, err
}

// headerAt reports whether a sane header stands at pos. Its batch may be torn.
func (s *search) headerAt(pos int64) (bool, error) {
	if s.size-pos <= overhead {
		return false, nil
	}
	b, err := s.peek(pos, min(headPeek, s.size-pos))
	if err != nil {
		return false, err
	}
	h := readHead(b)
	if !h.sane || h.total() < h.minTotal() || !s.offsets.near(h.base) {
		return false, nil
	}
	if !h.legacy() {
		return true, nil
	}
	return s.fillsExactly(pos, &h)
}

// fillsExactly reports whether key and value of the message at pos fill the size that it
// claims: Kafka writes nothing else, and random bytes that look like magic 0 are common.
func (s *search) fillsExactly(pos int64, h *head) (bool, error) {
	if !h.sane || h.total() < h.minTotal() || h.total() > s.size-pos {
		return false, nil
	}
	return s.mayFill(pos, h)
}

// mayFill is fillsExactly so far as the message is there.
func (s *search) mayFill(pos int64, h *head) (bool, error) {
	b, err := s.peek(pos, min(headPeek, s.size-pos))
	if err != nil {
		return false, err
	}
	end := pos + h.total()
	at, key, ok := keyLength(h.magic, b)
	if !ok {
		return true, nil
	}
	value := pos + at + 4 + max(key, 0)
	if key < -1 || value > end-4 {
		return false, nil
	}
	if value > s.size-4 {
		return key <= maxTornKey, nil
	}
	if b, err = s.peek(value, 4); err != nil {
		return false, err
	}
	n := int64(int32(be32(b)))
	return n >= -1 && value+4+max(n, 0) == end, nil
}

// chain is a run of sound batches with ascending offsets, each where the one before ends.
type chain struct {
	end int64 // position behind the last
	to  chainEnd
}

type chainEnd uint8

const (
	toNowhere chainEnd = iota
	toTail             // zeros, a torn batch, or a few bytes
	toEnd              // the end of the file
)

// leads reports whether a chain of at least two batches leads from pos to the tail or, if
// that is asked for, exactly to the end of the file. An image inside a record does not lead
// to the end, as more of its batch follows; so this is the log, and what spoke against its
// offsets was wrong.
func (s *search) leads(pos int64, h *head, to chainEnd) (bool, error) {
	first := pos + h.total()
	if pos >= s.walked.end {
		end, where, err := s.walk(first, h.next)
		if err != nil {
			return false, err
		}
		s.walked = chain{end, where}
	}
	return s.walked.to >= to && first < s.walked.end, nil
}

// walk follows a chain from p on, where an offset of at least next is due.
func (s *search) walk(p, next int64) (int64, chainEnd, error) {
	for p < s.size {
		b, err := s.peek(p, min(headPeek, s.size-p))
		if err != nil {
			return 0, toNowhere, err
		}
		if len(b) <= overhead || allZero(b[:overhead]) {
			return p, toTail, nil
		}
		h := readHead(b)
		if !h.sane || h.base < next || h.total() < h.minTotal() {
			return p, toNowhere, nil
		}
		if h.total() > s.size-p {
			return p, toTail, nil
		}
		if ok, err := s.sound(p, &h); err != nil || !ok {
			return p, toNowhere, err
		}
		next = h.next
		p += h.total()
	}
	return p, toEnd, nil
}
