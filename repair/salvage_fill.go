package repair

import (
	"cmp"
	"math"
	"slices"
)

// fill takes what the line lacks from the other copies, live ones first, and before all else what
// a damaged header of the chosen copy names. What one copy has may be proven only with what another one gave.
func (w *salvaging) fill() error {
	order := slices.DeleteFunc(slices.Clone(w.sources), func(x *source) bool { return x == w.ref })
	slices.SortStableFunc(order, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.log.Lineage.Latest(), a.log.Lineage.Latest()), cmp.Compare(b.next, a.next))
	})
	if w.twinsOnly = len(w.wrecks) > 0; w.twinsOnly {
		for _, x := range order {
			taken, err := w.compare(x)
			if err != nil {
				return err
			}
			w.insert(taken)
		}
		w.twinsOnly = false
	}
	for round := range 4 {
		progress := false
		for _, x := range order {
			if round > 0 && !x.waiting {
				continue
			}
			taken, err := w.compare(x)
			if err != nil {
				return err
			}
			progress = progress || len(taken) > 0
			w.insert(taken)
		}
		if !progress {
			break
		}
	}
	return nil
}

// insert puts runs of another copy into the line's holes, and in the place of a batch whose epoch
// nothing bears out.
func (w *salvaging) insert(taken []lineRun) {
	if len(taken) == 0 {
		return
	}
	starts, instead := map[int64]bool{}, map[int64]bool{}
	for i := range taken {
		starts[taken[i].from] = true
		instead[taken[i].from] = taken[i].instead
		taken[i].instead = false
	}
	before := len(w.line)
	w.line = slices.DeleteFunc(w.line, func(r lineRun) bool { return r.blocks == 1 && (r.soft && starts[r.from] || instead[r.from]) })
	gone := len(w.line) < before
	w.line = append(w.line, taken...)
	slices.SortStableFunc(w.line, func(a, b lineRun) int { return cmp.Compare(a.from, b.from) })
	// No offset twice: what stood there first stays, and the copy is compared again.
	end := int64(math.MinInt64)
	w.line = slices.DeleteFunc(w.line, func(r lineRun) bool {
		if r.from < end {
			gone = true
			return true
		}
		end = r.to
		return false
	})
	for _, x := range w.sources { // what they had the same may be that
		x.waiting = x.waiting || gone
	}
}

// classify holds the copies against the finished line: the chosen one, and those of which batches were
// left out that another may have given since. Nothing is taken any more, whatever may be proven by now.
func (w *salvaging) classify() error {
	w.final = true
	for _, x := range w.sources {
		if x != w.ref && !x.waiting {
			continue
		}
		if _, err := w.compare(x); err != nil {
			return err
		}
	}
	return nil
}
