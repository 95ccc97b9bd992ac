package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/replica"
	"kafsck/segment"
)

// result is what becomes of one .log: nil pieces and drop, or what it is made of.
type result struct {
	base    int64
	name    string
	pieces  []Piece
	changed bool
	drop    bool // the result has no such file
}

// act makes the one action of a directory's .log files, and all that follows from it.
func (s *surgery) act(list []*found, cut *truncation, why string) error {
	results, err := s.assemble()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(results, func(r result) bool { return r.changed || r.drop }) {
		return nil
	}
	a := Action{Kind: CutTail, Undo: "the old files are in the input, and what the result lacks of them in lost+found"}
	var does []string
	changed := int64(-1) // first offset at which another record stands than before
	at := func(offset int64) {
		if changed < 0 || offset < changed {
			changed = offset
		}
	}
	var zeros, choices int64
	read, unread := false, false // of batches whose records cannot be read: taken from a sibling, cut out
	junk := false                // at the end
	var reach int64 = -1
	for _, h := range s.holes {
		switch {
		case len(h.taken) > 0:
			a.Kind = stronger(a.Kind, TakeRange)
			read = read || len(h.unread) > 0
			if !h.soft {
				at(h.from)
			}
			if h.marker {
				does = append(does, fmt.Sprintf("the marker of an aborted transaction at offset %d from broker %s", h.from, h.source.Broker.Name))
				continue
			}
			does = append(does, fmt.Sprintf("%s (%s) from %s", offsetsOf(h.taken[0].Base, h.taken[len(h.taken)-1].Last+1), plural(h.batches, "batch", "batches"), h.sourceNames()))
		case h.soft || h.gap || h.marker:
			continue
		case h.lost && h.from < h.to:
			a.Kind, a.Confirm = stronger(a.Kind, Quarantine), true
			at(h.from)
			l := PlanLoss{From: h.from, To: h.to, HeldBy: []int32{}, Note: "damaged: no checksum bears out what stands there"}
			if h.records > 0 && h.records <= h.to-h.from {
				l.Records = &h.records
			}
			if len(h.unread) == h.blocks {
				unread = true
				l.Note = "the CRC is right, and the records cannot all be read"
				a.Loses = append(a.Loses, l)
				does = append(does, fmt.Sprintf("%s whose records cannot be read, at %s, %s to lost+found (%d bytes), what stands around stays",
					plural(h.blocks, "batch", "batches"), offsetsOf(h.from, h.to), map[bool]string{true: "goes", false: "go"}[h.blocks == 1], h.bytes))
				continue
			}
			if h.unproven {
				l.Note = "damaged bytes stand on both sides of the batches here, and no offset is missing there: they may be what a record of the destroyed batch held, and no part of the log"
			}
			parts := []PlanLoss{l}
			if !h.unproven { // else what other copies have there bears nothing out: ask has looked
				var err error
				if parts, err = s.lostParts(h, l); err != nil {
					return err
				}
			}
			a.Loses = append(a.Loses, parts...)
			does = append(does, fmt.Sprintf("what is damaged at %s goes to lost+found (%d bytes), what stands around it stays", offsetsOf(h.from, h.to), h.bytes))
		case h.next != nil && h.next.Segment == int(h.seg):
			a.Kind = stronger(a.Kind, Quarantine)
			if h.from < h.to && !s.log.Sparse {
				a.Confirm = true
				at(h.from)
			}
			if len(h.doubles) == 0 {
				does = append(does, fmt.Sprintf("%d bytes that hold no record go from between offsets %d and %d", h.bytes, h.from-1, h.next.Base))
			}
		case (h.lost || h.junk) && h.next == nil && len(h.doubles) == 0:
			l, err := s.junk(h)
			if err != nil {
				return err
			}
			if a.Kind, a.Confirm = stronger(a.Kind, Quarantine), true; l != nil {
				a.Loses = append(a.Loses, *l)
			}
			at(h.from)
			junk = true
			does = append(does, fmt.Sprintf("%d bytes that are no batch go to lost+found from the end; the log ends at offset %d", h.bytes, h.from))
		case h.bytes > 0 && len(h.doubles) == 0:
			zeros += h.bytes
			if h.next == nil {
				reach = h.from
				at(h.from)
			}
		}
		for i := range h.doubles {
			d := &h.doubles[i]
			sure, err := s.kept(d)
			if err != nil {
				return err
			}
			a.Kind, a.Confirm = stronger(a.Kind, Quarantine), a.Confirm || !sure
			at(d.Base)
			if !sure {
				choices++
			}
			from, to := d.WrittenBase, d.WrittenBase+max(d.WrittenSpan(), 1)
			l, err := s.second(d)
			if err != nil {
				return err
			}
			if l != nil {
				a.Loses = append(a.Loses, *l)
				a.Confirm = true
			}
			if i < 3 {
				does = append(does, fmt.Sprintf("the second batch at %s goes to lost+found, the first one stays", offsetsOf(from, to)))
			}
		}
	}
	if zeros > 0 {
		end := ""
		if reach >= 0 {
			end = fmt.Sprintf("; the log ends at offset %d", reach)
		}
		does = append(does, fmt.Sprintf("%d bytes behind the last whole batch are cut%s", zeros, end))
	}
	if s.cutFrom >= 0 {
		a.Kind, a.Confirm = Truncate, true
		at(s.cutFrom)
		held, err := s.holders(s.cutFrom, s.cutTo)
		if err != nil {
			return err
		}
		recs := s.cutRecs
		a.Loses = append(a.Loses, PlanLoss{From: s.cutFrom, To: s.cutTo, Records: &recs, HeldBy: held})
		does = append(does, fmt.Sprintf("the log is cut at offset %d, and lost+found has what goes: %s", s.cutFrom, offsetsOf(s.cutFrom, s.cutTo)))
	}
	if len(does) > 4 {
		does = append(does[:3], fmt.Sprintf("%d more places", len(does)-3))
	}
	a.Does = strings.Join(does, "; ") + "; indexes and checkpoints follow"
	a.Why = why
	if a.Why == "" && len(list) > 0 {
		a.Why = firstSummary(list)
	}
	switch {
	case a.Kind == TakeRange:
		a.Why += "; the batches on both sides are the same there, and its batches pass their CRC"
		if read {
			a.Why += ", have the same offsets and leader epoch, and can be read"
		}
	case a.Kind == Quarantine && choices > 0:
		a.Why += "; no other replica here tells which of the two is right, so this is a choice: export both first"
	case a.Kind == Quarantine && a.Confirm && junk:
		a.Why += "; these are not the zeros or the broken-off batch that a crash leaves. If they are what another program wrote, or encrypted, the log may be elsewhere: look there first"
	case a.Kind == Quarantine && a.Confirm && unread:
		a.Why += "; no other replica here has them readable with the same batches on both sides. A broker serves such a batch, and consumers fail on it until they skip its offsets. kafsck export gives out what can be read of it: do that first"
	case a.Kind == Quarantine && a.Confirm:
		a.Why += "; no other replica here has these offsets whole with the same batches on both sides"
	case a.Kind == CutTail:
		a.Why += "; no whole batch stands there, so no whole record goes"
		torn, err := s.torn(list)
		if err != nil {
			return err
		}
		a.Why += torn
	}
	s.derive(&a, results, changed)
	for _, r := range results { // where the first segments go, the log begins behind them
		if !r.drop {
			s.work.start = max(s.work.start, r.base)
			break
		}
	}
	var answers []*found
	for _, x := range list {
		if s.answers(x) {
			answers = append(answers, x)
		}
	}
	if cut != nil && s.cutFrom >= 0 {
		answers = append(answers, cut.answers...)
	}
	s.add(s.t, s.dir, a, answers)
	return nil
}

// strength orders the kinds that change a .log.
var strength = []Kind{CutTail, TakeRange, Quarantine, Truncate}

func stronger(a, b Kind) Kind {
	if slices.Index(strength, b) > slices.Index(strength, a) {
		return b
	}
	return a
}

// answers reports whether the changes deal with a finding: those of suspect epochs and missing
// offsets only where a sibling had them.
func (s *surgery) answers(x *found) bool {
	switch x.Code {
	case "epoch-out-of-line":
		return slices.ContainsFunc(s.holes, func(h *hole) bool { return h.soft && len(h.taken) > 0 })
	case "segment-gap", "index-orphan":
		return slices.ContainsFunc(s.holes, func(h *hole) bool { return h.gap && len(h.taken) > 0 })
	case "inner-record-invalid":
		return s.unread != nil
	case "txn-data-without-marker":
		found := 0
		for _, h := range s.holes {
			if h.marker && len(h.taken) > 0 {
				found++
			}
		}
		return found > 0 && found == len(s.markers)
	}
	return true
}

// assemble says what each .log of the result is made of.
func (s *surgery) assemble() ([]result, error) {
	type item struct {
		position int64
		order    int
		pieces   []Piece
	}
	items := make([][]item, len(s.log.Segments))
	var out []result
	for i := range s.keep {
		for _, x := range s.keep[i] {
			if x.soft != nil && len(x.soft.taken) > 0 {
				continue
			}
			items[i] = append(items[i], item{x.position, 1, []Piece{{Root: s.t.index, File: file(s.dir, s.log.Segments[i].Log.Name), Position: x.position, Length: x.length}}})
		}
	}
	for k, h := range s.holes {
		if len(h.taken) == 0 {
			continue
		}
		if h.gap {
			base := h.taken[0].Base
			out = append(out, result{base: base, name: fmt.Sprintf("%020d.log", base), pieces: s.lend(h, 0, len(h.taken)), changed: true})
			continue
		}
		seg := int(h.seg)
		for rest := h.taken; len(rest) > 0; seg++ {
			n := len(rest)
			if seg+1 < len(s.log.Segments) {
				limit := s.log.Segments[seg+1].BaseOffset
				if n = slices.IndexFunc(rest, func(b replica.Block) bool { return b.Base >= limit }); n < 0 {
					n = len(rest)
				}
			}
			position := h.pos
			if seg > int(h.seg) {
				position = -1
			}
			if n > 0 {
				items[seg] = append(items[seg], item{position, -len(s.holes) + k, s.lend(h, len(h.taken)-len(rest), len(h.taken)-len(rest)+n)})
			}
			rest = rest[n:]
		}
	}
	last := -1
	for i := range items {
		if len(items[i]) > 0 {
			last = i
		}
	}
	for i, list := range items {
		slices.SortStableFunc(list, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.order, b.order))
		})
		seg := s.log.Segments[i]
		r := result{base: seg.BaseOffset, name: seg.Log.Name}
		for _, x := range list {
			for _, piece := range x.pieces {
				if k := len(r.pieces) - 1; k >= 0 && r.pieces[k].Root == piece.Root && r.pieces[k].File == piece.File && r.pieces[k].Position+r.pieces[k].Length == piece.Position {
					r.pieces[k].Length += piece.Length
				} else {
					r.pieces = append(r.pieces, piece)
				}
			}
		}
		whole := len(r.pieces) == 1 && r.pieces[0].Root == s.t.index && r.pieces[0].Position == 0 && r.pieces[0].Length == s.size[i] || len(r.pieces) == 0 && s.size[i] == 0
		switch {
		case whole && !s.beyond(seg.BaseOffset, i, last) && (s.cutFrom < 0 || i <= last || last < 0 && i == 0):
		case len(r.pieces) == 0 && i > max(last, 0) && s.cutFrom >= 0, len(r.pieces) == 0 && i < last:
			r.drop = true
		case s.beyond(seg.BaseOffset, i, last):
			r.drop = true
		default:
			r.changed = true
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b result) int { return cmp.Compare(a.base, b.base) })
	return out, nil
}

// beyond reports whether a segment without a batch lies above the end of a log that was cut below
// it. It would make the log end where it begins, and hide that offsets are missing; a start that cuts
// a segment takes those behind it away as well.
func (s *surgery) beyond(base int64, i, last int) bool {
	if last < 0 { // no batch is left at all: an empty log begins, and ends, where the first segment does
		return i > 0 && len(s.holes) > 0 && s.holes[len(s.holes)-1].next == nil && !s.holes[len(s.holes)-1].soft
	}
	return last >= 0 && i > last && s.last != nil && base > s.last.Next() && len(s.holes) > 0 && s.holes[len(s.holes)-1].next == nil && !s.holes[len(s.holes)-1].soft
}

// lend are the bytes of a sibling's blocks.
func (s *surgery) lend(h *hole, from, to int) []Piece {
	var out []Piece
	for i := from; i < to; i++ {
		b, source := &h.taken[i], h.sourceOf(i)
		o := s.byDir[source.Dir]
		name := file(source.Log.Partition, source.Log.Segments[b.Segment].Log.Name)
		if k := len(out) - 1; k >= 0 && out[k].Root == o.index && out[k].File == name && out[k].Position+out[k].Length == b.Position {
			out[k].Length += b.Length
			continue
		}
		out = append(out, Piece{Root: o.index, File: name, Position: b.Position, Length: b.Length})
	}
	return out
}

// indexInterval is what rebuilt indexes are built with: recovery's own value.
const indexInterval = segment.DefaultIndexInterval
