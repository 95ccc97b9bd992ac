package segment

import "math"

// tracker knows which offsets can continue the log.
//
// The base offset is outside the CRC, so a batch with a CRC that verifies may still carry
// any offset. Were the highest one seen the limit, one flipped bit would make everything
// behind the next damage look impossible. So a jump forward counts only after the
// batch behind it has followed suit:
//
//	batch     100–109   110–119   9007…–   130–139   140–149
//	next      110       120       9007…    140       150
//	floor     –         120       120      120       150
//	                    (follows  (jump)   (back)    (follows
//	                    exactly)                     exactly)
//
// Exact succession needs two offsets to agree and is believed at once, also downwards
// (segments may overlap).
type tracker struct {
	next  int64 // behind the last batch that verified, -1 before the first
	floor int64 // what comes behind damage should not have lower offsets
	known bool  // the scan was told where it begins, or some batch has verified
}

func newTracker(next int64) tracker {
	return tracker{next: max(next, -1), floor: max(next, 0), known: next >= 0}
}

// see takes note of a batch that verified, with offsets [base, next).
func (t *tracker) see(base, next int64) {
	if base < 0 || next <= base {
		return
	}
	t.known = true
	switch {
	case t.next < 0:
	case base == t.next:
		t.floor = next
	case base > t.next:
		t.floor = max(t.floor, t.next)
	}
	t.next = next
}

// near reports whether a batch of this log may have this offset, as far as an upper limit is
// known: all offsets of a segment lie within 2³¹, as its index holds the difference.
func (t *tracker) near(base int64) bool {
	return !t.known || base-max(t.floor, t.next) <= math.MaxInt32
}
