package segment

import (
	"errors"
	"hash/crc32"
)

// errSpent: the budget is used up.
var errSpent = errors.New("budget used up")

// spent reports whether the budget is used up, or would be by reading n bytes more. The
// main window reads the file once besides.
func (s *search) spent(n int) bool {
	return s.side.read+s.aside+int64(n) > 3*s.span+slack || s.work/16 > s.span+slack
}

// bytes returns what is in memory from p on: enough for a header if the file has it.
func (s *search) bytes(p int64) ([]byte, error) {
	n := min(headPeek, s.size-p)
	if s.main.holds(p, n) {
		return s.main.from(p), nil
	}
	if s.side.buf == nil {
		s.side.buf = make([]byte, min(sideBuffer, s.span))
	}
	return s.side.need(p, n)
}

// peek returns n bytes, at most headPeek, without moving a window.
func (s *search) peek(pos, n int64) ([]byte, error) {
	for _, w := range [...]*window{&s.main, &s.side} {
		if w.holds(pos, n) {
			return w.from(pos)[:n], nil
		}
	}
	return s.readAside(s.peeked[:n], pos)
}

func (s *search) readAside(p []byte, at int64) ([]byte, error) {
	if at > s.size-int64(len(p)) {
		panic("segment: read beyond the file")
	}
	if s.spent(len(p)) {
		return nil, errSpent
	}
	for n := 0; n < len(p); {
		k, err := readAt(s.main.r, p[n:], at+int64(n))
		if err != nil {
			return nil, &ReadError{Op: "read", Pos: at + int64(n), Len: int64(len(p) - n), Err: err}
		}
		n += k
		s.aside += int64(k)
	}
	return p, nil
}

// crc continues sum over the bytes [from, to), without moving a window.
func (s *search) crc(sum uint32, table *crc32.Table, from, to int64) (uint32, error) {
	for from < to {
		b := s.main.from(from)
		if len(b) == 0 {
			b = s.side.from(from)
		}
		if len(b) == 0 {
			if s.stream == nil {
				s.stream = make([]byte, min(sideBuffer, s.span))
			}
			var err error
			if b, err = s.readAside(s.stream[:min(int64(len(s.stream)), to-from)], from); err != nil {
				return 0, err
			}
		}
		b = b[:min(int64(len(b)), to-from)]
		sum = crc32.Update(sum, table, b)
		from += int64(len(b))
	}
	return sum, nil
}

// runningCRC is the CRC of a suspect up to where the search has come.
type runningCRC struct {
	active bool
	table  *crc32.Table
	sum    uint32
	to     int64
}

func newRunningCRC(a *suspect) runningCRC {
	if !a.sane || a.damage == nil || a.magic > 2 {
		return runningCRC{}
	}
	return runningCRC{active: true, table: a.table(), to: a.pos + a.covered()}
}

func (s *search) feed(to int64) error {
	if !s.covered.active || to <= s.covered.to {
		return nil
	}
	var err error
	s.covered.sum, err = s.crc(s.covered.sum, s.covered.table, s.covered.to, to)
	s.covered.to = to
	return err
}
