package incident

import (
	"cmp"

	"kafsck/broker"
	"kafsck/diff"
	"kafsck/replica"
)

// fate lets a replica meet a leader in an epoch.
func (w *whatIf) fate(leader, follower *loadedCopy, e int32) (FollowerFate, error) {
	f := FollowerFate{Copy: follower.copy, State: follower.asIs, Offline: follower.offline, Base: -1}
	era := w.version.Era()
	asItLeads := leader.asIs
	if leader.repairs {
		asItLeads = leader.repaired
	}
	asIs := broker.Truncate(era, broker.BecomeLeader(asItLeads, e), follower.asIs)
	w.otherEras(broker.BecomeLeader(asItLeads, e), follower.asIs, asIs)
	f.Truncation = asIs
	var err error
	if leader.same && follower.same {
		if f.Kept, err = w.kept(leader.copy, follower.copy, asIs.To); err != nil {
			return f, err
		}
	} else {
		repaired := broker.Truncate(era, broker.BecomeLeader(leader.repaired, e), follower.repaired)
		other := Alternative{Truncation: repaired}
		offline := cmp.Or(follower.offline, leader.offline)
		if w.opt.Repaired {
			f.State, f.Offline, f.Truncation = follower.repaired, "", repaired
			other = Alternative{Truncation: asIs, Offline: offline}
		}
		if f.Kept, err = w.kept(leader.copy, follower.copy, f.To); err != nil {
			return f, err
		}
		if other.To != f.To || other.Stuck != f.Stuck || other.Rebuild != f.Rebuild || offline != "" {
			if other.Kept, err = w.kept(leader.copy, follower.copy, other.To); err != nil {
				return f, err
			}
			f.Otherwise = &other
		}
	}
	if f.Offline != "" {
		return f, nil
	}
	return f, w.measure(leader.copy, leader.asIs.LogEnd, &f)
}

// otherEras notes whether a follower of another release that it may be would end elsewhere.
func (w *whatIf) otherEras(leader, follower broker.State, t broker.Truncation) {
	if w.hint == nil || len(w.hint.Brokers) == 0 {
		return // every release with KRaft does the same
	}
	for _, era := range []broker.Era{broker.KIP101, broker.KIP279, broker.FetchEra} {
		other := broker.Truncate(era, leader, follower)
		w.eraMatters = w.eraMatters || other.To != t.To || other.Rebuild != t.Rebuild || other.Stuck != t.Stuck
	}
}

// kept are the ranges below the cut in which the two hold other records.
func (w *whatIf) kept(leader, follower *Copy, to int64) ([]KeptRange, error) {
	key := [2]*Copy{leader, follower}
	if follower.Index < leader.Index {
		key = [2]*Copy{follower, leader}
	}
	ds, known := w.pairs[key]
	if !known {
		var err error
		ds, err = diff.Pair(key[0].Content(), key[1].Content(), diff.Options{Ruler: -1, Compacted: w.j.p.Ruling.Policy == compactPolicy})
		if err != nil {
			return nil, err
		}
		w.pairs[key] = ds
	}
	var out []KeptRange
	for _, d := range ds {
		switch d.Kind {
		case diff.EpochFork, diff.ContentFork, diff.SameEpochConflict, diff.Damaged, diff.MissingRange:
			if end := min(d.To, to); d.From < end {
				out = append(out, KeptRange{From: d.From, To: end, Kind: d.Kind})
			}
		}
	}
	return out, nil
}

// measure counts what a follower drops and fetches.
func (w *whatIf) measure(leader *Copy, end int64, f *FollowerFate) (err error) {
	own, from := f.Copy.Log, f.To
	holder := own
	if f.Rebuild {
		from, holder = own.LogStartOffset, leader.Log
	}
	for b, err := range holder.Blocks(f.To, f.To+1) {
		if err != nil {
			return err
		}
		if b.Base < f.To {
			f.Base = b.Base
		}
	}
	f.BelowHighWatermark = !f.Rebuild && f.To < f.State.HighWatermark
	if from < f.State.LogEnd {
		gone := replica.Span{From: from, To: f.State.LogEnd}
		if f.ThrownAway, f.ThrownAwayBytes, err = recordsAndBytes(f.Copy, []replica.Span{gone}); err != nil {
			return err
		}
		left := leader // after its start
		if end < leader.Log.LogEndOffset {
			left = clip(leader, end)
		}
		again, err := diff.Held(f.Copy.Content(), left.Content(), []replica.Span{gone})
		if err != nil {
			return err
		}
		if f.Again, _, err = recordsAndBytes(f.Copy, again); err != nil {
			return err
		}
		if !f.Rebuild && f.Base >= 0 {
			f.hole()
		}
	}
	if !f.Stuck {
		f.FetchBytes, err = bytesBetween(leader.Log, f.To, end)
	}
	return err
}

// hole: a batch that the cut lies inside of is dropped as a whole, while the log end in memory
// is the cut. What follows is appended there, and the offsets between stay empty
// (LogSegment.truncateTo, LocalLog.truncateTo).
func (f *FollowerFate) hole() {
	kept := f.Kept[:0]
	for _, k := range f.Kept {
		if k.To = min(k.To, f.Base); k.From < k.To {
			kept = append(kept, k)
		}
	}
	f.Kept = append(kept, KeptRange{From: f.Base, To: f.To, Kind: diff.MissingRange})
}

// recordsAndBytes counts the records of whole batches in spans, and the bytes of all
// batches there.
func recordsAndBytes(c *Copy, spans []replica.Span) (records, bytes int64, err error) {
	for _, s := range spans {
		for b, err := range c.Log.Blocks(s.From, s.To) {
			if err != nil {
				return 0, 0, err
			}
			bytes += b.Length
			if !b.Whole() {
				continue
			}
			n, err := diff.CountRecords(c.Content(), &b, max(b.Base, s.From), min(b.Next(), s.To))
			if err != nil {
				return 0, 0, err
			}
			records += n
		}
	}
	return records, bytes, nil
}

// bytesBetween is the size of the batches that hold an offset in [from, to). Only the first
// and the last of their segments are read, the others count with their size.
func bytesBetween(l *replica.Log, from, to int64) (int64, error) {
	if from >= to {
		return 0, nil
	}
	var n int64
	first := -1
	for b, err := range l.Blocks(from, to) {
		if err != nil {
			return 0, err
		}
		if first < 0 {
			first = b.Segment
		}
		if b.Segment != first {
			break
		}
		n += b.Length
	}
	last := first
	for i, s := range l.Segments {
		if i > first && s.BaseOffset < to {
			last = i
		}
	}
	if first < 0 || first == last {
		return n, nil
	}
	for _, s := range l.Segments[first+1 : last] {
		n += max(s.Log.Size, 0)
	}
	for b, err := range l.Blocks(l.Segments[last].BaseOffset, to) {
		if err != nil {
			return 0, err
		}
		if b.Segment == last {
			n += b.Length
		}
	}
	return n, nil
}
