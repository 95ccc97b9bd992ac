package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/replica"
)

// choose picks the copy whose line the result follows.
func (w *salvaging) choose() {
	var with []*source
	for _, x := range w.sources {
		if x.first < x.next {
			with = append(with, x)
		}
	}
	if len(with) == 0 {
		w.chooseEmpty()
		return
	}
	tie := func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(w.newest(b), w.newest(a)), cmp.Compare(b.next, a.next))
	}
	better := func(a, b *source) int {
		sounder, _ := w.sounder(a, b)
		return cmp.Or(tie(a, b), sounder, cmp.Compare(a.first, b.first), cmp.Compare(a.copy.Index, b.copy.Index))
	}
	if len(w.opt.Prefer) > 0 {
		mine := slices.DeleteFunc(slices.Clone(with), func(x *source) bool {
			return !slices.Contains(w.opt.Prefer, x.log.Partition.LogDir.Broker)
		})
		if len(mine) > 0 {
			w.ref = slices.MinFunc(mine, better)
			w.told.Why = fmt.Sprintf("--prefer says so: %s", w.ref.who())
			return
		}
		defer func() {
			w.told.Why = fmt.Sprintf("broker %s, which --prefer names, has no whole batch of this partition here; %s", w.opt.Prefer[0], w.told.Why)
		}()
	}
	absurd := slices.ContainsFunc(with, func(x *source) bool { return w.newest(x) != x.log.Lineage.Latest() })
	if r := &w.p.Ruling; r.Leader != nil && !(r.Guess && absurd) {
		for _, x := range with {
			if c := x.copy; c.State == replica.Live && !c.Extra && c.Broker == *r.Leader {
				w.ref = x
				if w.told.Why = fmt.Sprintf("%s leads (%s)", x.who(), r.Why); r.Guess {
					why := r.Why
					for _, o := range with {
						c := o.copy
						if n, _ := w.sounder(o, w.ref); n < 0 && tie(o, x) == 0 && c.State == replica.Live && !c.Extra {
							_, by := w.sounder(o, x)
							w.ref, why = o, strings.TrimSuffix(r.Why, ", then lowest id")+", then "+by
						}
					}
					w.told.Why = fmt.Sprintf("%s: %s", w.ref.who(), why)
				}
				if !r.Judged {
					w.told.Why += "; " + r.Reason
				}
				return
			}
		}
	}
	w.ref = slices.MinFunc(with, better)
	why := w.p.Ruling.Why
	if absurd {
		why = "a leader epoch that one batch alone has, and its own epoch file has not, counts for nothing"
	} else if w.p.Ruling.Leader != nil {
		why = fmt.Sprintf("%s, but no whole batch of broker %s is among the inputs", why, w.p.Ruling.Leader.Name)
	}
	if e := w.newest(w.ref); e >= 0 {
		w.told.Why = fmt.Sprintf("%s has the newest chain of epochs, up to epoch %d at offset %d; nobody is known to rule (%s)", w.ref.who(), e, w.ref.next-1, why)
	} else {
		w.told.Why = fmt.Sprintf("%s has the longest log; nobody is known to rule (%s)", w.ref.who(), why)
	}
}

// sounder tells which of two copies that reach equally far is the sounder one, and by what: the one that lacks
// fewer offsets, that has fewer batches which contradict others of it, that has more records. Of a compacted
// log the cleaner decides how many there are.
func (w *salvaging) sounder(a, b *source) (int, string) {
	if c := cmp.Compare(b.covers, a.covers); c != 0 && !w.compacted {
		return c, "fewest offsets missing"
	}
	if c := cmp.Compare(a.odd, b.odd); c != 0 {
		return c, "fewest batches that contradict others"
	}
	if c := cmp.Compare(b.records, a.records); c != 0 && !w.compacted {
		return c, "most records"
	}
	return 0, ""
}

// newest is the latest epoch of a copy's batches, without one that is more likely a flipped bit: no
// checksum covers it, one batch alone has it, and neither the epoch file beside it, which has another
// one there, nor any other copy or the metadata know of it.
func (w *salvaging) newest(x *source) int32 {
	e := x.log.Lineage.Latest()
	if e < 0 || len(x.file) == 0 || x.file.Has(e) {
		return e
	}
	rest := int32(-1)
	for _, r := range x.log.Lineage {
		if r.Epoch != e {
			rest = max(rest, r.Epoch)
			continue
		}
		if said := x.file.EpochFor(r.From); said < 0 || said != x.file.EpochFor(r.To-1) {
			return e
		}
		for b, err := range x.log.Blocks(r.From, r.From+1) {
			if err != nil || good(&b) && b.Next() != r.To {
				return e
			}
		}
		rest = max(rest, x.file.EpochFor(r.From))
	}
	for _, o := range w.sources {
		if o != x && (o.log.Lineage.Has(e) || o.file.Has(e)) {
			return e
		}
	}
	if c := newestLeadership(w.p); c != nil && c.LeaderEpoch >= e {
		return e
	}
	return rest
}

// chooseEmpty takes a live log that holds no batch, and no damage either, as the empty log that it is.
func (w *salvaging) chooseEmpty() {
	for _, x := range w.sources {
		if x.rank == 0 && len(x.log.Segments) > 0 && x.log.Bytes == 0 {
			w.ref = x
			w.told.Why = fmt.Sprintf("%s has an empty log, and no copy here has a batch", x.who())
			return
		}
	}
}
