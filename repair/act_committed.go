package repair

import (
	"fmt"
	"path"
	"slices"
)

// PlanCommitted are offsets [From, To) that the input's high watermark calls committed and that lie above
// the end of the log in the result. Nothing that a broker sees tells of them afterwards: the high
// watermark cannot lie above the log end, and its line is lowered.
type PlanCommitted struct {
	From int64 `json:"from"` // the log end in the result
	To   int64 `json:"to"`   // the high watermark of the input
	// HeldBy are the brokers of which another copy has whole batches for all of them.
	HeldBy []int32 `json:"heldBy"`
	// WasEnd is where a start on the input would have the log end, where that is above From: a leader
	// there gives new records higher offsets; nil where it is not.
	WasEnd *int64 `json:"wasEnd"`
}

// Said is what it means, as clauses.
func (c *PlanCommitted) Said() string {
	at, it, were, are := offsetsOf(c.From, c.To), "them", "were", "are"
	if c.To == c.From+1 {
		it, were, are = "it", "was", "is"
	}
	s := fmt.Sprintf("%s %s committed by this copy's high watermark, %d, and %s not in the result: its line is lowered to %d, so that kafsck loss and check find no trace of %s there (look at the input). ", at, were, c.To, are, c.From, it)
	switch n := len(c.HeldBy); {
	case n == 0:
		s += "No other copy here has " + it + " whole. "
	case n == 1:
		s += fmt.Sprintf("Broker %d has %s whole and must lead. ", c.HeldBy[0], it)
	default:
		var names []string
		for _, id := range c.HeldBy {
			names = append(names, fmt.Sprint(id))
		}
		s += fmt.Sprintf("Brokers %s have %s whole: one of these must lead. ", join(names), it)
	}
	s += fmt.Sprintf("If this copy leads, it gives %s to other records, and a consumer that was beyond does not read these", at)
	if c.WasEnd != nil {
		s += fmt.Sprintf(" (a start on the input keeps the log end at %d, without the records; a follower would then never fetch them)", *c.WasEnd)
	}
	return s
}

// uncommitted tells where the actions from index before on end a log below its high watermark.
func (w *work) uncommitted(before int) error {
	if w.t.only != nil || w.t.dir.HighWatermarks == nil || w.t.dir.HighWatermarks.Malformed != nil {
		return nil
	}
	hw, ok := w.t.dir.HighWatermarks.Line(w.dir)
	if !ok || hw <= w.end {
		return nil
	}
	at := -1
	for i := before; i < len(w.builder.plan.Actions) && at < 0; i++ {
		a := &w.builder.plan.Actions[i]
		if a.Root == w.t.index && a.Dir == base(w.dir) && slices.ContainsFunc(a.Edits, func(e Edit) bool {
			return e.Op == Compose && path.Ext(e.File) == ".log" || e.Op == Line && e.File == watermarks
		}) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	c := &PlanCommitted{From: w.end, To: hw, HeldBy: []int32{}}
	if n := len(w.log.Segments); n > 0 {
		// readNextOffset of a last segment without a batch is its base offset.
		if last := w.log.Segments[n-1]; last.Log.Size == 0 && last.BaseOffset > w.end {
			c.WasEnd = &last.BaseOffset
		}
	}
	for _, o := range w.others() {
		if !o.Broker.Known || o.Broker.ID < 0 || slices.Contains(c.HeldBy, o.Broker.ID) || w.cutBelow(o, hw) {
			continue
		}
		next := w.end
		for b, err := range o.Log.Blocks(w.end, hw) {
			if err != nil {
				return err
			}
			if b.Flaws != 0 || b.Base > next && !o.Log.Sparse {
				break
			}
			next = max(next, b.Next())
		}
		if next >= hw {
			c.HeldBy = append(c.HeldBy, o.Broker.ID)
		}
	}
	slices.Sort(c.HeldBy)
	w.builder.plan.Actions[at].Committed = c
	return nil
}
