package repair

import (
	"cmp"
	"fmt"
	"slices"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/replica"
)

// draft is a new file under way.
type draft struct {
	*facts
	cut      int64 // log start at which the head is cut, -1: nowhere
	entries  []EpochEntry
	refused  []RefusedEntry
	notes    []string
	gaps     []string
	siblings []*sibling
}

func (d *draft) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *draft) refuse(e epoch.Entry, from Source, broker *incident.BrokerRef, format string, args ...any) {
	d.refused = append(d.refused, RefusedEntry{Entry: e, Source: from, Broker: broker, Why: fmt.Sprintf(format, args...)})
}

// refuseTail refuses the entry of a leader that has written nothing.
func (d *draft) refuseTail(e epoch.Entry, from Source, broker *incident.BrokerRef, format string, args ...any) {
	d.refuse(e, from, broker, format, args...)
	d.refused[len(d.refused)-1].EmptyTail = true
}

func (d *draft) has(e epoch.Entry) bool {
	return slices.ContainsFunc(d.entries, func(x EpochEntry) bool { return x.Entry == e })
}

// of returns the entry of an epoch, nil without one.
func (d *draft) of(e int32) *EpochEntry {
	for i := range d.entries {
		if d.entries[i].Epoch == e {
			return &d.entries[i]
		}
	}
	return nil
}

func (d *draft) latest() int32 {
	if n := len(d.entries); n > 0 {
		return d.entries[n-1].Epoch
	}
	return -1
}

// admit puts an entry in its place; an earlier start replaces a later one of the
// same epoch. It reports whether epochs and starts still grow strictly.
func (d *draft) admit(e EpochEntry) bool {
	next := slices.DeleteFunc(slices.Clone(d.entries), func(x EpochEntry) bool { return x.Epoch == e.Epoch })
	at, _ := slices.BinarySearchFunc(next, e.StartOffset, func(x EpochEntry, s int64) int { return cmp.Compare(x.StartOffset, s) })
	next = slices.Insert(next, at, e)
	for i := 1; i < len(next); i++ {
		if next[i].Epoch <= next[i-1].Epoch || next[i].StartOffset <= next[i-1].StartOffset {
			return false
		}
	}
	d.entries = next
	return true
}

// admitTail admits an entry at the log end. One that stands there already, of a log
// start that is the log end, makes room, as in LeaderEpochFileCache.assign.
func (d *draft) admitTail(e EpochEntry) bool {
	d.entries = slices.DeleteFunc(d.entries, func(x EpochEntry) bool { return x.StartOffset >= d.end && x.Epoch < e.Epoch })
	return d.admit(e)
}

// headers applies LogSegment.recover to every batch, then cuts as the load and
// the log start do.
//
//	batches 0…99 of epochs 0, 2, 5   log start 60: 5 60
//	                                 log start 100, the log end: 0 0, 2 30, 5 60; loaded: 5 100
func (d *draft) headers() {
	rebuilt := d.lineage.Rebuild()
	for _, e := range rebuilt.TruncateFromEnd(d.end).TruncateFromStart(d.cut) {
		said := fmt.Sprintf("batches: epoch %d begins at offset %d", e.Epoch, e.StartOffset)
		if !slices.Contains(rebuilt, e) {
			said = fmt.Sprintf("batches: the log start, offset %d (%s), lies in epoch %d", e.StartOffset, d.startSaid, e.Epoch)
		}
		d.entries = append(d.entries, EpochEntry{Entry: e, Source: Headers, Said: said})
	}
	for _, a := range d.log.Anomalies.Kept {
		if a.Kind != replica.EpochOutOfLine {
			continue
		}
		var written int32
		if _, err := fmt.Sscan(a.Got, &written); err != nil {
			continue
		}
		d.refuse(epoch.Entry{Epoch: written, StartOffset: a.From}, Headers, nil,
			"suspect: this one batch (%s, position %d of %s) carries epoch %d, its neighbours %s, and no witness knows of it; the field is not covered by the CRC",
			offsetsOf(a.From, a.To), a.Position, d.log.Segments[a.Segment].Log.Name, written, a.Want)
	}
	if n := d.log.Anomalies.Counts[replica.EpochOutOfLine]; n > 0 {
		d.note("%d suspect epoch(s) in batch headers were not obeyed; a broker that recovers these segments would obey them", n)
	}
	if d.log.HasLegacy && d.lineage.Latest() < 0 {
		d.note("every batch of this log is of format 0 or 1, which has no leader epochs: the right file is an empty one or none")
	}
}

// lowestEpoch lets epoch 0 begin at the log start where the first batch that is
// left carries it: epochs never fall, so nothing before it carried another. A
// replica that caught up from a cleaned leader may say a later start, which its own
// file then keeps; the two mean the same, since nobody asks for an epoch below 0.
func (d *draft) lowestEpoch() {
	if len(d.entries) == 0 || len(d.lineage) == 0 {
		return
	}
	e := &d.entries[0]
	if e.Epoch != 0 || e.Source != Headers || e.StartOffset <= d.start || d.lineage[0].Epoch != 0 || d.useFile && d.contains(e.Entry) {
		return
	}
	e.Said = fmt.Sprintf("batches: the first one left, at offset %d, carries epoch 0, and none is lower, so what was before it from the log start on carried it too", e.StartOffset)
	e.StartOffset = d.start
}

// file admits what the directory's own file knows and the headers cannot.
func (d *draft) file(keepTail bool) {
	for _, e := range d.fromFile {
		if d.has(e) {
			continue
		}
		switch {
		case e.StartOffset > d.end:
			d.refuse(e, File, nil, "starts beyond the log end, offset %d: this copy once reached further, or the file is another log's; Kafka drops the line at the next load", d.end)
		case e.StartOffset == d.end && e.Epoch > d.latest():
			d.emptyTail(e, keepTail)
		default:
			d.fileEntry(e)
		}
	}
	for _, e := range d.facts.file.Entries {
		if !d.has(e) && !slices.Contains(d.fromFile, e) && (e.StartOffset > d.line || d.line >= d.end) {
			d.refuse(e, File, nil, "Kafka drops this line when it loads the file: another line contradicts it")
		}
	}
}

// malformedFile names the lines of a file that Kafka refuses. None is believed: a
// number may be cut short and still be one. What the batches say stands without
// it.
func (d *draft) malformedFile() {
	for _, e := range d.facts.file.Entries {
		if !d.has(e) {
			d.refuse(e, File, nil, "the file is malformed (%s): a line that no batch confirms is not believed", d.facts.file.Malformed)
		}
	}
}

func (d *draft) fileEntry(e epoch.Entry) {
	if d.lineage.Latest() < 0 && d.log.HasLegacy {
		d.refuse(e, File, nil, "no batch of this log records an epoch; an entry would steer truncation all the same")
		return
	}
	if ok, why := d.fits(e); !ok {
		if h := d.of(e.Epoch); h != nil {
			why = fmt.Sprintf("epoch %d begins at offset %d in this log's batches", e.Epoch, h.StartOffset)
		}
		d.refuse(e, File, nil, "%s", why)
		return
	}
	stretch, _, _ := d.darkAt(e.StartOffset)
	said := fmt.Sprintf("old file; the batches here are gone (next batch: offset %d), and those around it allow it", stretch.to)
	switch {
	case len(d.lineage) == 0:
		said = "old file; this log holds no batch that could contradict it"
	case e.StartOffset < d.firstBatch():
		said = fmt.Sprintf("old file; it lies before the first batch, offset %d", d.firstBatch())
	}
	if !d.admit(EpochEntry{Entry: e, Source: File, Said: said}) {
		d.refuse(e, File, nil, "contradicts the entries around it")
	}
}

// emptyTail is the line of a leader that has written nothing under its epoch.
func (d *draft) emptyTail(e epoch.Entry, keep bool) {
	if keep && d.admitTail(EpochEntry{Entry: e, Source: File, Said: "old file, kept on request: the leader of this epoch has written nothing"}) {
		return
	}
	d.refuseTail(e, File, nil, "starts at the log end: the leader of epoch %d has written nothing; no batch can prove it, and Kafka drops the line at the next load (--keep-empty-tail keeps it)", e.Epoch)
}

// tailFromMetadata is emptyTail where only the metadata know it.
func (d *draft) tailFromMetadata(p *incident.Partition) {
	c := newestLeadership(p)
	if c == nil || p.Stale || !d.copy.Broker.Known || c.Leader != d.copy.Broker.ID || c.Uncertain || c.LeaderEpoch <= d.latest() || d.end < 0 {
		return
	}
	d.admitTail(EpochEntry{Entry: epoch.Entry{Epoch: c.LeaderEpoch, StartOffset: d.end}, Source: Metadata,
		Said: fmt.Sprintf("metadata offset %d: this broker leads epoch %d, and no batch carries it; it would begin at the log end", c.Offset, c.LeaderEpoch)})
}

// firstBatch is the base offset of the first batch, the log end without any.
func (f *facts) firstBatch() int64 {
	if len(f.lineage) == 0 {
		return f.end
	}
	return f.lineage[0].From
}
