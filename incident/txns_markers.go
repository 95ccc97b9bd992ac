package incident

import (
	"context"
	"iter"
	"math"

	"kafsck/replica"
)

// compareMarkers walks the transactions of all live replicas side by side, by the offset of
// their markers. A replica that has not got so far is behind, which is normal; one whose
// cleaner removed transaction and marker holds nothing of it, which is normal too.
//
//	broker 1 | 4000 | 4001 | COMMIT 4000 | ABORT 4001 |
//	broker 2 | 4000 | 4001 |             | ABORT 4001 |     missing: COMMIT 4000
//	broker 3 | 4000 | 4001 |                                behind
func (t *Transactions) compareMarkers(ctx context.Context) {
	var sides []*markerSide
	for _, c := range t.Copies {
		if c.Copy.State == replica.Live && !c.Copy.Extra {
			sides = append(sides, &markerSide{c: c.Copy, lacks: map[int64]lack{}})
		}
	}
	if len(sides) < 2 || sameTransactions(sides) {
		return
	}
	for _, s := range sides {
		next, stop := iter.Pull2(s.c.Log.Transactions(ctx))
		defer stop()
		s.pull = next
		s.next()
	}
	for {
		at := int64(math.MaxInt64)
		for _, s := range sides {
			if s.have {
				at = min(at, s.cur.Marker)
			}
		}
		if at == math.MaxInt64 {
			break
		}
		var first *markerSide
		for _, s := range sides {
			switch {
			case !s.have || s.cur.Marker != at:
			case first == nil:
				first = s
			case (s.cur.State != first.cur.State || s.cur.ProducerID != first.cur.ProducerID) && len(t.Contrary) < maxMissing:
				t.Contrary = append(t.Contrary, ContraryMarker{at, first.c, s.c, first.cur, s.cur})
			}
		}
		for _, s := range sides {
			if s.have && s.cur.Marker == at {
				t.ended(s)
			} else if l := s.c.Log; at < l.LogEndOffset && first.cur.Last >= l.LogStartOffset && first.cur.First >= 0 && len(s.lacks) < maxLacks {
				if _, known := s.lacks[first.cur.ProducerID]; !known {
					s.lacks[first.cur.ProducerID] = lack{first.cur, first.c}
				}
			}
		}
		for _, s := range sides {
			if s.have && s.cur.Marker == at {
				s.next()
			}
		}
	}
	for _, s := range sides {
		if s.err != nil {
			if ctx.Err() == nil {
				t.Errors = append(t.Errors, failedRead(s.c.Dir, s.err))
			}
			continue
		}
		for _, x := range s.c.Log.Txns.Open {
			if l, ok := s.lacks[x.ProducerID]; ok && l.sameAs(&x) {
				t.missing(MissingMarker{Transaction: l.Transaction, Has: l.has, Lacks: s.c, Open: true, EndedAt: -1})
			}
		}
	}
}

// ended settles what the side's current transaction says of a marker that it lacks: if it
// began with the other's records, those ended with it.
func (t *Transactions) ended(s *markerSide) {
	l, ok := s.lacks[s.cur.ProducerID]
	if !ok {
		return
	}
	delete(s.lacks, s.cur.ProducerID)
	if s.cur.First >= 0 && l.sameAs(&s.cur) {
		t.missing(MissingMarker{Transaction: l.Transaction, Has: l.has, Lacks: s.c, EndedAt: s.cur.Marker})
	}
}

func (t *Transactions) missing(m MissingMarker) {
	if t.MissingCount++; len(t.Missing) < maxMissing {
		t.Missing = append(t.Missing, m)
	}
}

// maxLacks bounds how many markers that a replica lacks are followed up at a time.
const maxLacks = 1 << 16

// lack is a transaction whose marker a replica does not have at its offset.
type lack struct {
	replica.Transaction
	has *Copy
}

// sameAs reports whether another replica's transaction began with the same records: a fork
// has others at these offsets. The cleaner may have removed the first ones of either. Where
// bytes cannot be read the marker is damaged, not missing: check tells of that.
func (l *lack) sameAs(x *replica.Transaction) bool {
	switch {
	case x.Damaged:
		return false
	case x.First == l.First && x.FirstEpoch == l.FirstEpoch:
		return x.FirstMs == l.FirstMs || x.FromSnapshot || l.FromSnapshot
	case x.Gap || l.Gap:
		return x.First <= l.Last && l.First <= max(x.Last, x.First)
	}
	return false
}

// markerSide is one replica in the walk.
type markerSide struct {
	c     *Copy
	pull  func() (replica.Transaction, error, bool)
	cur   replica.Transaction
	have  bool
	last  int64 // offset of the marker before
	err   error
	lacks map[int64]lack // by producer id
}

// next takes the next finished transaction. Markers whose offsets step back end the walk of
// this replica: check tells of such a log.
func (s *markerSide) next() {
	x, err, ok := s.pull()
	s.have = ok && err == nil && x.Marker >= s.last && x.Marker >= 0
	s.cur, s.last = x, x.Marker
	if ok && err != nil {
		s.err = err
	}
}

// sameTransactions reports whether the logs hold the same blocks, so that their markers
// need not be compared.
func sameTransactions(sides []*markerSide) bool {
	for _, s := range sides[1:] {
		if !sides[0].c.Log.SameBlocks(s.c.Log) {
			return false
		}
	}
	return true
}
