package export

import (
	"cmp"
	"context"
	"math"
	"slices"

	"kafsck/replica"
)

// maxAborted bounds the aborted transactions that are known at a time: 40 bytes each.
// Where a log has more, it is gone through once more for each further lot.
var maxAborted = 1 << 20

// span is the offsets that a transaction takes up, both included, or a part of them.
type span struct {
	first, last int64
	state       TransactionState
}

// states knows what became of the transactions of a log, for offsets that only rise.
type states struct {
	log       *replica.Log
	hanging   func(producer, first int64) bool // nil: not known
	compacted bool

	from, to int64            // what is known holds for offsets [from, to)
	ended    map[int64][]span // by producer id, ascending: aborted, or not known how
	open     map[int64]span   // by producer id; last is the largest int64
	more     bool             // more were open at a time than are followed
	none     bool             // the log has no transactions
	reading  context.Context  // of the walk
}

func newStates(ctx context.Context, src *Source) *states {
	log := src.Log
	s := &states{log: log, hanging: src.Hanging, compacted: src.Compacted, to: math.MinInt64, reading: ctx}
	if t := log.Txns; t != nil {
		s.none, s.more = !t.Any(), t.Overflow
	}
	return s
}

// of is the state of a transactional batch. An error is a failed read.
func (s *states) of(b *replica.Block) (TransactionState, error) {
	if s.none {
		return None, nil
	}
	if b.Base >= s.to || b.Base < s.from {
		if err := s.load(b.Base); err != nil {
			return "", err
		}
	}
	in := func(x span) bool { return x.first <= b.Base && b.Base <= x.last }
	list := s.ended[b.ProducerID]
	// The first span that ends at or behind the batch is the only one that it can be in.
	i, _ := slices.BinarySearchFunc(list, b.Base, func(x span, at int64) int {
		if x.last < at {
			return -1
		}
		return 1
	})
	if i < len(list) && in(list[i]) {
		return list[i].state, nil
	}
	if x, ok := s.open[b.ProducerID]; ok && in(x) {
		if s.hanging != nil && s.hanging(b.ProducerID, x.first) {
			return Hanging, nil
		}
		return Open, nil
	}
	if s.more {
		return Unknown, nil
	}
	return Committed, nil
}

// load learns of the transactions from an offset on, of as many as may be known at a time.
func (s *states) load(from int64) error {
	type part struct {
		producer int64
		span
	}
	var list []part
	s.from = from
	s.ended, s.open, s.to = map[int64][]span{}, map[int64]span{}, math.MaxInt64
	for t, err := range s.log.Transactions(s.reading) {
		if err != nil {
			return err
		}
		switch {
		case t.First < 0 || t.First >= s.to:
		case t.State == replica.TransactionOpen:
			s.open[t.ProducerID] = span{t.First, math.MaxInt64, Open}
		case t.Marker >= from:
			// Where a marker is lost, the next one of the producer does not tell of what
			// stands in front of the lost one.
			doubt := t.DoubtTo
			if !s.compacted {
				doubt = max(doubt, t.GapTo)
			}
			first := t.First
			if doubt > first {
				list = append(list, part{t.ProducerID, span{first, doubt - 1, Unknown}})
				first = doubt
			}
			if t.State == replica.TransactionAborted && first <= t.Marker {
				list = append(list, part{t.ProducerID, span{first, t.Marker, Aborted}})
			}
		}
		if len(list) > maxAborted {
			// The half that begins first is kept; the others come with the next pass.
			slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.first, b.first) })
			half := len(list) / 2
			i := slices.IndexFunc(list[half:], func(x part) bool { return x.first > from })
			if i < 0 {
				s.more = true // all of these were open here at a time: far more than brokers have
			} else {
				half += i
				s.to = list[half].first
			}
			list = list[:half]
		}
	}
	slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.first, b.first) })
	for _, x := range list {
		if x.first < s.to {
			s.ended[x.producer] = append(s.ended[x.producer], x.span)
		}
	}
	return nil
}
