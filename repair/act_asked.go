package repair

import (
	"fmt"
	"slices"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/replica"
)

// Truncation is a cut that the user asks for: nothing in the files calls for it. As any action that
// takes records out it waits to be confirmed.
type Truncation struct {
	Topic     string
	Partition int32
	// Broker is the id of the broker whose copy is cut; nil: there is only one copy.
	Broker *int32
	// Offset is the new log end, between two batches. With Epoch it is not looked at: the log is cut
	// where that leader epoch ends.
	Offset int64
	Epoch  *int32
	Typed  string // as the user typed it
}

// Uncut says why what was asked for cannot be planned.
type Uncut struct{ Typed, Why string }

func (u *Uncut) Error() string { return u.Typed + ": " + u.Why }

// of reports whether the truncation is one of this partition.
func (t *Truncation) of(p *incident.Partition) bool {
	return t.Topic == p.Topic && t.Partition == p.Number
}

// on reports whether it is one of this copy.
func (t *Truncation) on(c *incident.Copy) bool {
	return t.Broker == nil || c.Broker.Known && c.Broker.ID == *t.Broker
}

// asked is where the user wants this log cut, nil nowhere.
func (w *work) asked() (*truncation, string, error) {
	if w.copy.State != replica.Live || w.copy.Extra {
		return nil, "", nil
	}
	var out *truncation
	var why string
	for i := range w.opt.Truncate {
		t := &w.opt.Truncate[i]
		if !t.of(w.p) || !t.on(w.copy) {
			continue
		}
		no := func(format string, args ...any) error { return &Uncut{t.Typed, fmt.Sprintf(format, args...)} }
		var others []string
		for _, c := range w.p.Live() {
			if t.on(c) && w.byDir[c.Dir] != nil {
				others = append(others, c.Broker.Name)
			}
		}
		if len(others) > 1 {
			return nil, "", no("brokers %s have %s: say whose copy is cut, as in %s:%s", join(others), w.p.Name, others[0], w.p.Name)
		}
		if w.log.Swapped || w.swapping() {
			return nil, "", no("an interrupted cleaning or rename of %s is open: plan and apply that first", w.copy.Dir)
		}
		at, err := w.cutAt(t, no)
		if err != nil {
			return nil, "", err
		}
		w.cuts[i] = true
		if out != nil && out.From <= at {
			continue
		}
		out = &truncation{Span: replica.Span{From: at, To: w.log.LogEndOffset}}
		why = "you asked for it with " + t.Typed
		if hw, ok := w.t.dir.HighWatermarks.Line(w.dir); ok && w.t.only == nil && hw > at {
			why += fmt.Sprintf("; this copy's high watermark is %d: the offsets from %d up to there were committed, and may have been read", hw, at)
		}
	}
	return out, why, nil
}

// cutAt is the offset of a truncation: one between two batches.
func (w *work) cutAt(t *Truncation, no func(string, ...any) error) (int64, error) {
	start, end := w.log.LogStartOffset, w.log.LogEndOffset
	at := t.Offset
	if t.Epoch != nil {
		i := slices.IndexFunc(w.log.Lineage, func(r epoch.Range) bool { return r.Epoch > *t.Epoch })
		if i < 0 {
			return 0, no("no batch of %s carries an epoch above %d (the last one: %d)", w.copy.Dir, *t.Epoch, w.log.Lineage.Latest())
		}
		at = w.log.Lineage[i].From
	}
	if at < start || at >= end {
		return 0, no("%s begins at offset %d and ends at %d: nothing is cut at %d", w.copy.Dir, start, end, at)
	}
	for b, err := range w.log.Blocks(at, at+1) {
		switch {
		case err != nil:
			return 0, err
		case b.Flaws&(replica.Unreadable|replica.BadCRC|replica.Misplaced) != 0 || b.Last < at:
		case b.Base < at:
			return 0, no("offset %d lies inside the batch of offsets %d–%d, and a batch is never taken apart: say %d or %d", at, b.Base, b.Last, b.Base, b.Next())
		}
	}
	return at, nil
}

// unasked says which truncation was none of a partition here.
func (b *builder) unasked() error {
	for i := range b.opt.Truncate {
		t := &b.opt.Truncate[i]
		if b.cuts[i] {
			continue
		}
		why := fmt.Sprintf("no live directory of %s-%d is among the inputs", t.Topic, t.Partition)
		if t.Broker != nil {
			why += fmt.Sprintf(", of broker %d", *t.Broker)
		}
		return &Uncut{t.Typed, why + ", or it could not be read"}
	}
	for i := range b.opt.Rescan {
		if t := &b.opt.Rescan[i]; !b.scans[i] {
			return &Uncut{t.Typed, fmt.Sprintf("no live directory of %s-%d with its log directory is among the inputs, or it could not be read", t.Topic, t.Partition)}
		}
	}
	return nil
}

// cutBelow reports whether the user has a copy cut below an offset, so that it does not hold what
// goes.
func (w *work) cutBelow(o *incident.Copy, offset int64) bool {
	return slices.ContainsFunc(w.opt.Truncate, func(t Truncation) bool {
		return t.of(w.p) && t.on(o) && (t.Epoch != nil || t.Offset < offset)
	})
}

// rescan has the broker read a log from its first segment on at its next start, where the user asks for
// that: no marker, and a recovery point at the log's first offset. Nothing is lost by it but time.
func (w *work) rescan() error {
	if w.copy.State != replica.Live || w.copy.Extra || w.t.only != nil || len(w.log.Segments) == 0 {
		return nil
	}
	for i := range w.opt.Rescan {
		t := &w.opt.Rescan[i]
		if !t.of(w.p) || !t.on(w.copy) {
			continue
		}
		w.scans[i] = true
		first := w.log.Segments[0].BaseOffset
		a := Action{Kind: LowerRecovery, Undo: "the old files are in lost+found",
			Does: fmt.Sprintf("%s: the line of %s becomes %d, its first segment, and the marker of a clean shutdown goes: the next start reads this log whole", recoveryPoints, w.p.Name, first),
			Why:  "you asked for it with " + t.Typed + "; without the marker the start also reads the last segment of every other log of the directory"}
		if at, ok := w.t.dir.RecoveryPoints.Line(w.dir); ok && at > first && !w.t.lines[lineKey(recoveryPoints, w.dir.Topic, w.dir.Partition)] {
			w.line(&a, recoveryPoints, &first)
		}
		if w.t.dir.CleanShutdown {
			a.Edits = append(a.Edits, Edit{Op: Remove, File: cleanMarker})
		}
		if len(a.Edits) > 0 {
			w.add(w.t, w.dir, a, nil)
		}
		return nil
	}
	return nil
}
