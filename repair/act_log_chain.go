package repair

import (
	"fmt"
	"slices"

	"kafsck/incident"
	"kafsck/replica"
)

// chained looks for the offsets of a hole in several replicas of which none has all of them. Two that hold
// the same batch (offset, epoch, CRC) are one line there, so that one goes on where the other is damaged:
//
//	this log    | 0–9 | damaged ~~~~~~~~~~~~~~~~~~~ | 40–49 |
//	broker 2    | 0–9 | 10–19 | 20–29 | damaged     | 40–49 |
//	broker 3    | ~~~ damaged | 20–29 | 30–39       | 40–49 |
//	taken         10–19 of 2, 20–29 of both, 30–39 of 3
//
// It begins at the batch before the hole and ends at the one behind it, and leaves no offset out. Where two
// offer different batches, nothing is taken.
func (s *surgery) chained(h *hole) error {
	if h.marker || h.gap || h.soft || len(h.unread) > 0 || s.log.Sparse {
		return nil
	}
	type rail struct {
		of     *incident.Copy
		cursor *replica.Cursor
		active bool
		last   replica.Block // the one that made it active
	}
	// Where bytes that are no batch stand before a batch, that one may be what a destroyed one held.
	apart := func(r *rail) bool {
		b := &r.cursor.Block
		return r.last.Length > 0 && r.last.Segment == b.Segment && r.last.Position+r.last.Length != b.Position
	}
	at, epoch := h.from, int32(-1)
	from := at
	if h.prev != nil {
		from, epoch = h.prev.Base, h.prev.Epoch
	}
	var rails []*rail
	for _, o := range s.others() {
		c := replica.NewCursor(o.Log.Blocks(from, h.next.Base+1))
		defer c.Stop()
		r := &rail{of: o, cursor: c, active: h.prev == nil}
		for !r.active && c.OK && c.Block.Base <= h.prev.Base {
			if r.active = c.Block.Same(h.prev); !r.active {
				c.Advance()
			} else {
				r.last = c.Block
			}
		}
		rails = append(rails, r)
	}
	var taken []replica.Block
	var sources []*incident.Copy
	batches := 0
	for at < h.next.Base {
		var pick *rail
		for _, r := range rails {
			for r.cursor.OK && r.cursor.Block.Last < at {
				r.cursor.Advance()
			}
			if r.cursor.Err != nil {
				return r.cursor.Err
			}
			b := &r.cursor.Block
			if !r.active || !r.cursor.OK || b.Base != at || b.Flaws != 0 || apart(r) {
				continue
			}
			if pick != nil && !b.Same(&pick.cursor.Block) {
				return nil
			}
			if pick == nil {
				pick = r
			}
		}
		if pick == nil {
			return nil
		}
		b := pick.cursor.Block
		if b.Epoch < epoch || b.Epoch > h.next.Epoch || b.Next() > h.next.Base || b.Legacy != h.next.Legacy || len(taken) > maxHoles {
			return nil
		}
		if k := len(taken) - 1; k >= 0 && sources[k] == pick.of && taken[k].Epoch == b.Epoch && follows(&taken[k], &b) && !s.begins(taken[k].Base, b.Base) {
			taken[k].Length += b.Length
			taken[k].Last = b.Last
		} else {
			taken, sources = append(taken, b), append(sources, pick.of)
		}
		batches++
		for _, r := range rails {
			if r.active = r.cursor.OK && r.cursor.Block.Same(&b); r.active {
				r.last = r.cursor.Block
			}
		}
		epoch, at = b.Epoch, b.Next()
	}
	for _, r := range rails {
		for r.cursor.OK && r.cursor.Block.Last < at {
			r.cursor.Advance()
		}
		if r.cursor.Err != nil {
			return r.cursor.Err
		}
		if r.active && r.cursor.OK && r.cursor.Block.Same(h.next) && !apart(r) && len(taken) > 0 {
			h.source, h.taken, h.sources, h.batches = sources[0], taken, sources, batches
			return nil
		}
	}
	return nil
}

// sourceOf is the copy that a block of taken lies in.
func (h *hole) sourceOf(i int) *incident.Copy {
	if i < len(h.sources) {
		return h.sources[i]
	}
	return h.source
}

// sourceNames are the brokers that something is taken from.
func (h *hole) sourceNames() string {
	var names []string
	for i := range h.taken {
		if name := h.sourceOf(i).Broker.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return "broker " + names[0]
	}
	return "brokers " + join(names)
}

// lostParts are the losses of a hole, a range for each set of brokers that have whole batches there. That
// the plan does not take them has its reason: they do not lead from the batch before the hole to the one
// behind it.
func (s *surgery) lostParts(h *hole, whole PlanLoss) ([]PlanLoss, error) {
	type span struct {
		broker   int32
		from, to int64
		records  int64
		flawed   bool // under a header that its neighbours contradict
	}
	var spans []span
	bounds := []int64{h.from, h.to}
	for _, o := range s.others() {
		if !o.Broker.Known || o.Broker.ID < 0 || s.cutBelow(o, h.to) {
			continue
		}
		var mine []span
		from, to := h.from, h.to
		if h.prev != nil {
			from = h.prev.Base
		}
		if h.next != nil {
			to = h.next.Next()
		}
		another := false // it has other batches around the hole: of another line
		for b, err := range o.Log.Blocks(from, to) {
			switch {
			case err != nil:
				return nil, err
			case !b.Whole():
			case h.prev != nil && b.Base == h.prev.Base:
				another = another || !b.Same(h.prev)
			case h.next != nil && b.Base == h.next.Base:
				another = another || !b.Same(h.next)
			case b.Base >= h.from && b.Next() <= h.to && len(mine) < maxHoles:
				mine = append(mine, span{o.Broker.ID, b.Base, b.Next(), int64(b.Records), b.Flaws != 0})
			}
		}
		if another {
			continue
		}
		for _, m := range mine {
			bounds = append(bounds, m.from, m.to)
		}
		spans = append(spans, mine...)
	}
	if len(spans) == 0 {
		return []PlanLoss{whole}, nil
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	var out []PlanLoss
	for i := 0; i+1 < len(bounds); i++ {
		l := PlanLoss{From: bounds[i], To: bounds[i+1], HeldBy: []int32{}, Note: whole.Note}
		for _, m := range spans {
			if m.from <= l.From && m.to >= l.To {
				l.Note = "" // of what is here
			}
		}
		for _, m := range spans {
			if m.from <= l.From && m.to >= l.To && !slices.Contains(l.HeldBy, m.broker) {
				l.HeldBy = append(l.HeldBy, m.broker)
				if m.flawed {
					l.Note = fmt.Sprintf("broker %d has the records under a header that its neighbours contradict, and a header is never patched: export them there", m.broker)
				}
				if m.from == l.From && m.to == l.To && m.records >= 0 && m.records <= m.to-m.from {
					n := m.records
					l.Records = &n
				}
			}
		}
		slices.Sort(l.HeldBy)
		if k := len(out) - 1; k >= 0 && slices.Equal(out[k].HeldBy, l.HeldBy) && out[k].Note == l.Note {
			out[k].To = l.To
			if out[k].Records != nil && l.Records != nil {
				n := *out[k].Records + *l.Records
				out[k].Records = &n
			} else {
				out[k].Records = nil
			}
			continue
		}
		out = append(out, l)
	}
	if len(out) == 1 && whole.Records != nil {
		out[0].Records = whole.Records
	}
	return out, nil
}

// second is what goes with the second of two batches at the same offsets: nil where it is the first one
// again, byte for byte. Another copy may hold it where the first one stays here.
func (s *surgery) second(d *replica.Block) (*PlanLoss, error) {
	from, to := d.WrittenBase, d.WrittenBase+max(d.WrittenSpan(), 1)
	if d.Control() || d.Records <= 0 || from < 0 {
		return nil, nil
	}
	again := func(b *replica.Block) bool {
		return b.Whole() && b.CRC == d.CRC && b.Base == d.WrittenBase && b.Length == d.Length
	}
	for b, err := range s.log.Blocks(d.Base, d.Base+1) {
		if err != nil {
			return nil, err
		}
		if (b.Segment != d.Segment || b.Position != d.Position) && again(&b) {
			return nil, nil
		}
	}
	l := &PlanLoss{From: from, To: to, HeldBy: []int32{}, Note: "another batch at these offsets stays"}
	if n := int64(d.Records); n <= to-from {
		l.Records = &n
	}
	for _, o := range s.others() {
		for b, err := range o.Log.Blocks(from, from+1) {
			if err != nil {
				return nil, err
			}
			if again(&b) && o.Broker.Known && o.Broker.ID >= 0 && !slices.Contains(l.HeldBy, o.Broker.ID) {
				l.HeldBy = append(l.HeldBy, o.Broker.ID)
			}
		}
	}
	return l, nil
}
