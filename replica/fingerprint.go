package replica

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxWindows bounds the memory of a log's fingerprints. Two logs of any size
// can be compared window by window; the more offsets a log has, the wider its
// windows become.
const maxWindows = 1 << 14 // 1 MiB

// Window is the fingerprint of all blocks whose base offset lies in one aligned
// window of offsets. Sums of equal windows are equal; sums of neighbouring
// windows add up to the sum of the window twice as wide.
type Window struct {
	Sum    uint64
	Count  int64 // blocks
	Flawed bool  // some block has a flaw: never equal to anything

	key       int64 // base offset >> shift
	segment   int   // where its first block starts
	position  int64
	prevNext  int64 // end offset and epoch of the block before it
	prevEpoch int32
}

// Fingerprint is the sequence of a log's windows, ascending.
type Fingerprint struct {
	shift   uint
	windows []Window
}

// Span is a range of offsets [From, To).
type Span struct{ From, To int64 }

// add takes in the next block of the log, behind one that ends at prevNext with prevEpoch.
func (f *Fingerprint) add(b *Block, prevNext int64, prevEpoch int32) {
	w := f.window(b.Base, Window{segment: b.Segment, position: b.Position, prevNext: prevNext, prevEpoch: prevEpoch})
	w.Sum += digest(b.Base, b.Last, b.Epoch, b.CRC, b.Length)
	w.Count++
	if b.Flaws != 0 {
		w.Flawed = true
	}
}

// window is the one that a block from offset base on belongs to; if there is none yet,
// then fresh, which says where that block stands.
func (f *Fingerprint) window(base int64, fresh Window) *Window {
	fresh.key = base >> f.shift
	n := len(f.windows)
	if n == 0 || fresh.key > f.windows[n-1].key {
		if n == maxWindows {
			for len(f.windows) > maxWindows/2 {
				f.widen()
			}
			return f.window(base, fresh)
		}
		if n == cap(f.windows) {
			// append would grow in smaller steps, and copy five times as much in all.
			f.windows = slices.Grow(f.windows, min(max(n, 16), maxWindows-n))
		}
		f.windows = append(f.windows, fresh)
		return &f.windows[n]
	}
	if fresh.key == f.windows[n-1].key {
		return &f.windows[n-1]
	}
	// The log goes backwards: rare, and damage.
	i, found := slices.BinarySearchFunc(f.windows, fresh.key, func(w Window, k int64) int { return cmp.Compare(w.key, k) })
	if !found {
		f.windows = slices.Insert(f.windows, i, fresh)
	}
	f.windows[i].Flawed = true
	return &f.windows[i]
}

// widen doubles the width of every window.
func (f *Fingerprint) widen() {
	f.shift++
	out := f.windows[:0]
	for _, w := range f.windows {
		w.key >>= 1
		if n := len(out); n > 0 && out[n-1].key == w.key {
			out[n-1].Sum += w.Sum
			out[n-1].Count += w.Count
			out[n-1].Flawed = out[n-1].Flawed || w.Flawed
			continue
		}
		out = append(out, w)
	}
	f.windows = out
}

// Differing returns the spans of offsets, aligned to windows, in which the two
// logs may differ. Outside of them both hold the same blocks, and between two
// spans there is at least one such block. Spans are ascending.
func (f *Fingerprint) Differing(o *Fingerprint) []Span {
	a, b := f.clone(), o.clone()
	for a.shift < b.shift {
		a.widen()
	}
	for b.shift < a.shift {
		b.widen()
	}
	var spans []Span
	joined := false // no equal window since the last span
	mark := func(key int64) {
		from := key << a.shift
		to := (key + 1) << a.shift
		if joined {
			spans[len(spans)-1].To = to
			return
		}
		spans = append(spans, Span{From: from, To: to})
		joined = true
	}
	i, j := 0, 0
	for i < len(a.windows) || j < len(b.windows) {
		switch {
		case j == len(b.windows) || i < len(a.windows) && a.windows[i].key < b.windows[j].key:
			mark(a.windows[i].key)
			i++
		case i == len(a.windows) || b.windows[j].key < a.windows[i].key:
			mark(b.windows[j].key)
			j++
		default:
			x, y := a.windows[i], b.windows[j]
			if x.Flawed || y.Flawed || x.Sum != y.Sum || x.Count != y.Count {
				mark(x.key)
			} else {
				joined = false
			}
			i++
			j++
		}
	}
	return spans
}

func (f *Fingerprint) clone() *Fingerprint {
	return &Fingerprint{shift: f.shift, windows: slices.Clone(f.windows)}
}

// before returns the window to start reading at so that every block with an
// offset >= from is met: the last one that starts below from's own window, since
// a block may reach into the next window. nil means the start of the log.
func (f *Fingerprint) before(from int64) *Window {
	i, _ := slices.BinarySearchFunc(f.windows, from>>f.shift, func(w Window, k int64) int { return cmp.Compare(w.key, k) })
	if i == 0 {
		return nil
	}
	return &f.windows[i-1]
}

// digest condenses what makes a block the same block elsewhere: offsets, epoch,
// CRC and length, not where it lies.
func digest(base, last int64, epoch int32, crc uint32, length int64) uint64 {
	h := mix(uint64(base)^0x9e3779b97f4a7c15, uint64(last)^0xd1b54a32d192ed03)
	return mix(h^uint64(uint32(epoch))<<32^uint64(crc), uint64(length)^0x8cb92ba72f3d8dd7)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
