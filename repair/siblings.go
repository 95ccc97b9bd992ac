package repair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kafsck/incident"
	"kafsck/replica"
)

// sibling is another copy of the partition and what both logs share.
type sibling struct {
	*facts
	known []EpochEntry // what it knows by itself: its batches, and its file where that fits them

	compared bool
	common   int64 // end of the last batch that both hold, below any contradiction; MinInt64 without one
	parts    int64 // first offset at which both carry different epochs, MaxInt64 without one
}

func (s *sibling) name() string { return "broker " + s.copy.Broker.Name }

// hearSiblings admits what other replicas know of stretches without a batch, the
// earliest start first: a later one comes from a replica that caught up after
// the first batches of the epoch had been cleaned.
func (d *draft) hearSiblings() error {
	type offer struct {
		EpochEntry
		from *sibling
	}
	var offers []offer
	for _, s := range d.siblings {
		own := &draft{facts: s.facts, cut: s.head()}
		own.headers()
		if s.useFile {
			own.file(false)
		}
		s.known = cutAt(own.entries, d.cut)
		for _, e := range s.known {
			offers = append(offers, offer{e, s})
		}
		if err := d.refuseUnproved(s); err != nil {
			return err
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int { return cmp.Compare(a.StartOffset, b.StartOffset) })
	for _, o := range offers {
		if err := d.hear(o.EpochEntry, o.from); err != nil {
			return err
		}
	}
	return nil
}

// cutAt is truncateFromStart on entries that know their source.
func cutAt(entries []EpochEntry, start int64) []EpochEntry {
	drop := 0
	for drop < len(entries) && entries[drop].StartOffset <= start {
		drop++
	}
	if drop == 0 {
		return entries
	}
	head := entries[drop-1]
	head.StartOffset = start
	return append([]EpochEntry{head}, entries[drop:]...)
}

// refuseUnproved names the lines of a sibling's file that its own batches do not
// bear out.
func (d *draft) refuseUnproved(s *sibling) error {
	if s.file == nil {
		return nil
	}
	for _, e := range s.file.Entries {
		switch {
		case e.StartOffset <= d.cut || d.has(e) || slices.ContainsFunc(s.known, func(k EpochEntry) bool { return k.Entry == e }):
		case s.file.Malformed != nil:
			d.refuse(e, Sibling, &s.copy.Broker, "%s's file is malformed; a line that its batches do not confirm is not believed", s.name())
		case e.StartOffset == s.end:
			d.refuseTail(e, Sibling, &s.copy.Broker, "starts at the end of %s's log: only a leader that has written nothing has such an entry", s.name())
		case e.StartOffset > s.end:
			d.refuse(e, Sibling, &s.copy.Broker, "starts beyond the end of %s's own log, offset %d", s.name(), s.end)
		default:
			d.refuse(e, Sibling, &s.copy.Broker, "does not fit %s's own batches", s.name())
		}
	}
	return nil
}

// hear decides on one entry of a sibling.
func (d *draft) hear(e EpochEntry, s *sibling) error {
	broker := &s.copy.Broker
	own := d.of(e.Epoch)
	switch {
	case d.has(e.Entry):
		return nil
	case own != nil && own.StartOffset < e.StartOffset:
		// This log knows an earlier start, so it knows more; unless the epoch went on
		// elsewhere there, which the batches would show.
		if own.Source == Sibling {
			d.refuse(e.Entry, Sibling, broker, "%s knows an earlier start of epoch %d, offset %d", "broker "+own.Broker.Name, e.Epoch, own.StartOffset)
		}
		return nil
	case own != nil && own.Source == File:
		d.refuse(e.Entry, Sibling, broker, "this log's own file says that epoch %d begins at offset %d; both are normal where the first batches of an epoch were cleaned before a replica caught up", e.Epoch, own.StartOffset)
		return nil
	case e.StartOffset >= d.end:
		d.refuse(e.Entry, Sibling, broker, "this log ends at offset %d: it has not reached epoch %d on this line", d.end, e.Epoch)
		return nil
	}
	if err := d.compare(s); err != nil {
		return err
	}
	apart := ""
	if s.parts <= e.StartOffset {
		apart = fmt.Sprintf("; the two logs part at offset %d", s.parts)
	}
	if ok, why := d.fits(e.Entry); !ok {
		d.refuse(e.Entry, Sibling, broker, "%s%s", why, apart)
		return nil
	}
	if e.StartOffset >= s.common {
		if s.common == math.MinInt64 {
			d.refuse(e.Entry, Sibling, broker, "this log shares no batch with %s, so nothing shows that they are one line%s", s.name(), apart)
		} else {
			d.refuse(e.Entry, Sibling, broker, "the last batch that this log shares with %s ends at offset %d%s", s.name(), s.common-1, apart)
		}
		return nil
	}
	how := "batches"
	if e.Source == File {
		how = "file"
	}
	e.Said = fmt.Sprintf("%s of %s, with which it shares batches up to offset %d; this log has none here", how, s.name(), s.common-1)
	e.Source, e.Broker = Sibling, broker
	if !d.admit(e) {
		d.refuse(e.Entry, Sibling, broker, "contradicts the entries around it")
	}
	return nil
}

// compare finds the last batch that both logs hold, by offset, epoch and CRC,
// below the first offset at which they carry different epochs. What the logs
// share behind that offset proves nothing for what lies before it (KIP-279).
func (d *draft) compare(s *sibling) error {
	if s.compared {
		return nil
	}
	s.compared, s.common, s.parts = true, math.MinInt64, math.MaxInt64
	from, to := max(d.firstBatch(), s.firstBatch()), min(d.end, s.end)
	if from >= to {
		return nil
	}
	a, b := replica.NewCursor(d.log.Blocks(from, to)), replica.NewCursor(s.log.Blocks(from, to))
	defer a.Stop()
	defer b.Stop()
	for a.OK && b.OK {
		x, y := &a.Block, &b.Block
		switch {
		case x.Same(y) && x.Epoch >= 0:
			s.common = x.Next()
		case x.Base <= y.Last && y.Base <= x.Last && contradict(x, y):
			s.parts = max(x.Base, y.Base)
			return nil
		}
		mine, theirs := x.Last, y.Last // x and y are overwritten by the next step
		if mine <= theirs {
			a.Advance()
		}
		if theirs <= mine {
			b.Advance()
		}
	}
	if a.Err != nil {
		return a.Err
	}
	return b.Err
}

// contradict: both blocks are believed and were written under different epochs.
func contradict(x, y *replica.Block) bool {
	return x.Whole() && y.Whole() && x.Epoch >= 0 && y.Epoch >= 0 && x.Epoch != y.Epoch
}

// nameCopies notes that the old file is another replica's, word for word, and does
// not fit the batches beside it.
func (d *draft) nameCopies(old *OldFile) {
	misfit := slices.ContainsFunc(d.refused, func(r RefusedEntry) bool {
		return r.Source == File && r.StartOffset < d.end
	})
	if !misfit || len(old.Written) == 0 || old.Malformed != nil {
		return
	}
	var of []*incident.BrokerRef
	for _, s := range d.siblings {
		if s.file != nil && s.file.Malformed == nil && slices.Equal(s.file.Entries, old.Written) {
			of = append(of, &s.copy.Broker)
		}
	}
	for _, b := range of {
		d.note("the old file is word for word that of broker %s and does not fit the batches beside it: it was copied from there", b.Name)
	}
}
