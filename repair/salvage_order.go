package repair

import (
	"math"

	"kafsck/replica"
)

const (
	// maxInverted bounds the batches among which a wrong offset is sought by their order alone.
	maxInverted = 12
	// maxOrdered bounds the blocks that wait for that.
	maxOrdered = 4096
	// minMessage and minRecord are the least bytes of what has an offset: a message of format 0 with the
	// offset and size before it, a record of format 2.
	minMessage, minRecord = 26, 7
)

// order yields the blocks of a copy, and decides which can be taken: in ascending order.
type order struct {
	x       *source
	at      int64 // the offset behind the last one that was taken
	segment int   // where that one ends
	end     int64
	yield   func(*look, error) bool
	stopped bool

	wait  []*look // not yielded yet
	live  int     // of these, batches that could be taken
	apart bool    // these do not ascend
	last  int64   // the highest offset behind one of them
}

// take takes the next block.
func (o *order) take(l *look) {
	if o.stopped {
		return
	}
	x := o.x
	if l.alone && (l.Base < o.at || l.Base >= x.cut[l.Segment]) {
		l.alone = false // another batch has these offsets
	}
	if l.alone && o.beyond(l) {
		l.alone = false
		l.Flaws |= replica.SuspectBase
	}
	l.ok = l.sound && !l.wide && !l.alone && l.Flaws&flawed == 0 && l.Base >= o.at && l.Base < x.cut[l.Segment]
	if l.ok {
		o.apart = o.apart || o.live > 0 && l.Base < o.last
		o.live++
		o.last = max(o.last, l.Next())
	}
	o.wait = append(o.wait, l)
	switch {
	case len(o.wait) >= maxOrdered, l.ok && l.borne && !o.apart, o.apart && o.live >= maxInverted:
		o.flush(len(o.wait), false)
	case !o.apart && o.live > 1:
		n := len(o.wait)
		for n--; !o.wait[n].ok; n-- {
		}
		o.flush(n, false)
	}
}

// beyond reports whether an offset is higher than the bytes behind the last batch that was taken allow.
func (o *order) beyond(l *look) bool {
	if o.x.packed || o.x.sparse {
		return false // what is compressed has any number of records, and a hole any number of offsets
	}
	at, end := o.at, int64(0)
	if at < 0 || o.segment != l.Segment {
		at = o.x.log.Segments[l.Segment].BaseOffset
	} else {
		end = o.end
	}
	least := int64(minRecord)
	if l.Legacy {
		least = minMessage
	}
	return l.Base-at > (l.Position-end)/least
}

// flush decides on the blocks that wait, and yields the first n of them. ends says that there are no others.
func (o *order) flush(n int, ends bool) bool {
	if o.stopped || len(o.wait) == 0 {
		return !o.stopped
	}
	if o.apart {
		o.sort()
	}
	next := int64(-1) // of a batch behind it, -1 unknown
	if ends {
		next = math.MaxInt64
	}
	for i := len(o.wait) - 1; i >= 0; i-- {
		l := o.wait[i]
		if l.ok {
			next = l.Base
			continue
		}
		if l.within = (l.bears || l.amid) && l.Base >= o.at && l.Next() <= next; l.alone && next >= 0 && !l.within {
			l.alone = false
			l.Flaws |= replica.SuspectBase
		}
	}
	for _, l := range o.wait[:n] {
		if !o.out(l) {
			return false
		}
	}
	o.wait = append(o.wait[:0], o.wait[n:]...)
	o.live, o.apart, o.last = 0, false, 0
	for _, l := range o.wait {
		if l.ok {
			o.live++
			o.last = max(o.last, l.Next())
		}
	}
	return true
}

func (o *order) out(l *look) bool {
	if l.ok = l.ok && l.Base >= o.at; l.ok {
		o.at, o.segment, o.end = l.Next(), l.Segment, l.Position+l.Length
	}
	o.stopped = !o.yield(l, nil)
	return !o.stopped
}

// sort finds the batches that cannot be where they say: those that lie in none of the longest ascending
// rows. Those that lie in some, and in others not, are alone.
func (o *order) sort() {
	var list []*look
	for _, l := range o.wait {
		if l.ok {
			list = append(list, l)
		}
	}
	n := len(list)
	weight := func(l *look) int {
		if l.borne {
			return 4
		}
		return 1
	}
	up, down := make([]int, n), make([]int, n) // the heaviest row that ends, that begins with each
	most := 0
	for i := range n {
		for k := range i {
			if list[k].Next() <= list[i].Base {
				up[i] = max(up[i], up[k])
			}
		}
		up[i] += weight(list[i])
		most = max(most, up[i])
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			if list[i].Next() <= list[k].Base {
				down[i] = max(down[i], down[k])
			}
		}
		down[i] += weight(list[i])
	}
	in := func(i int) bool { return up[i]+down[i]-weight(list[i]) == most }
	for i, l := range list {
		if !in(i) {
			l.ok = false
			l.Flaws |= replica.SuspectBase
			continue
		}
		for k, p := range list {
			if k != i && in(k) && up[k]-weight(p) < up[i] && up[i]-weight(l) < up[k] {
				l.ok, l.alone = false, true
			}
		}
	}
}
