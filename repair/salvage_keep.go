package repair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kafsck/logdir"
	"kafsck/replica"
)

// maxKept bounds the pieces of one file that are kept one by one; of more the whole file is kept.
const maxKept = 10_000

// zeroReach is how many zeros at the end of damaged bytes are kept: a batch may end in some.
const zeroReach = 64 << 10

// gaps tells of every hole what each copy has there, and of the end.
func (w *salvaging) gaps() {
	o := &w.result
	list := slices.Clone(o.holes)
	if len(w.line) > 0 {
		first := w.line[0]
		if first.from > o.start {
			list = slices.Insert(list, 0, outHole{o.start, first.from, -1, first.epoch})
		}
	}
	for _, x := range w.sources {
		if x.rank > 1 {
			continue
		}
		for i := range x.zones {
			switch z := &x.zones[i]; {
			case x != w.ref || z.from < o.end || z.from >= z.to:
			case z.why.damaged():
				w.reach(z.to, "damaged bytes of "+x.who())
			case z.why == zoneAlone:
				w.reach(z.to, "a batch of "+x.who()+" of which nothing bears the offset out")
			}
		}
	}
	for _, e := range w.later {
		w.reach(e.StartOffset, fmt.Sprintf("the epoch file of %s, in which epoch %d begins there", w.ref.who(), e.Epoch))
	}
	if p := w.ref.log.RecoveryPoint; p != nil {
		w.reach(*p, "the recovery point of "+w.ref.who())
	}
	tail := -1
	if w.reached > o.end {
		g := outHole{o.end, w.reached, -1, -1}
		if n := len(w.line); n > 0 {
			g.before = w.line[n-1].epoch
		}
		tail = len(list)
		list = append(list, g)
		w.note("the log once went on to offset %d: so says %s", w.reached-1, w.reachedBy)
	} else if w.torn && len(w.line) > 0 {
		w.note("bytes that are no batch lie behind the last one of %s: what stood there, if anything, cannot be told", w.ref.who())
	}
	has := make([]func(outHole) GapHas, len(w.told.Copies))
	for _, x := range w.sources {
		has[x.told] = x.asked()
	}
	last := int64(math.MinInt64)
	answers := make([]GapHas, len(has))
	for i, h := range list {
		if h.to <= o.start {
			continue // deleted, and nobody reads there
		}
		h.from = max(h.from, o.start)
		cleaned := false
		for k, ask := range has {
			if answers[k] = HasUnread; ask != nil {
				answers[k] = ask(h)
			}
			// A copy that is whole around the hole, and has nothing there, was cleaned.
			cleaned = cleaned || w.compacted && i != tail && answers[k] == HasNothing && w.told.Copies[k].State == string(replica.Live)
		}
		if cleaned {
			w.told.Cleaned++
			continue
		}
		last = h.to
		g := Gap{From: h.from, To: h.to, Before: known(h.before), After: known(h.after), Why: GapMissing, Has: slices.Clone(answers)}
		switch {
		case slices.Contains(g.Has, HasUnproven):
			g.Why = GapUnproven
		case i == tail:
			g.Why = GapTail
		case slices.Contains(g.Has, HasDamage):
			g.Why = GapDamaged
		}
		w.told.Gaps = append(w.told.Gaps, g)
	}
	for _, t := range o.open {
		t.Gap = t.From < last
		w.told.Open = append(w.told.Open, t)
	}
	slices.SortFunc(w.told.Open, func(a, b OpenTxn) int { return cmp.Compare(a.From, b.From) })
	w.told.OpenCount, w.told.Ended = len(w.told.Open), o.ended
	if len(w.told.Open) > maxOpenTold {
		w.told.Open = w.told.Open[:maxOpenTold]
	}
}

// damaged reports whether a zone's bytes stand where others should.
func (w zoneWhy) damaged() bool {
	return w == zoneDamaged || w == zoneOffset || w == zoneDenied || w == zoneWide || w == zoneImpossible
}

// asked answers what the copy has in holes that are asked for in ascending order.
func (x *source) asked() func(outHole) GapHas {
	zones := slices.DeleteFunc(slices.Clone(x.zones), func(z zone) bool { return z.from >= z.to })
	slices.SortFunc(zones, func(a, b zone) int { return cmp.Compare(a.from, b.from) })
	at := 0
	return func(h outHole) GapHas {
		for at < len(zones) && zones[at].to <= h.from {
			at++
		}
		var found [3]bool
		for i := at; i < len(zones) && zones[i].from < h.to; i++ {
			switch z := &zones[i]; {
			case z.to <= h.from:
			case z.why == zoneUnproven || z.why == zoneAlone:
				found[0] = true
			case z.why == zoneOther || z.why == zoneShadow || z.why == zoneDouble:
				found[1] = true
			case z.why.damaged():
				found[2] = true
			}
		}
		switch {
		case found[0]:
			return HasUnproven
		case found[1]:
			return HasOther
		case found[2]:
			return HasDamage
		case x.first >= x.next:
			return HasNothing
		case h.to <= x.first && h.from < x.log.Segments[0].BaseOffset:
			return HasNotYet
		case h.from >= x.next:
			return HasEnded
		}
		return HasNothing
	}
}

// zoneSays is what lost+found tells of bytes.
var zoneSays = map[zoneWhy]string{
	zoneDamaged:    "damaged: no checksum bears these bytes out",
	zoneSame:       "once more in the same copy: the result has the very same batch",
	zoneDouble:     "other content at offsets that another batch of the same copy has, and the result has that one",
	zoneShadow:     "other content at offsets of a later segment of the same copy, and a broker reads that one",
	zoneOther:      "another line: other batches than the result has at these offsets, or behind such",
	zoneUnproven:   "nothing proves that they are on the line of the result: no batch that both have lies beside them",
	zoneCleaned:    "the result has these offsets cleaned, or without what the cleaner took out",
	zoneDeleted:    "below the log start: these records were deleted on purpose",
	zoneImpossible: "damaged: the checksum is right, but no log can have the offsets in its header",
	zoneWide:       "whole, and claims more offsets than it has records, though batches behind it have these",
	zoneOffset:     "whole, with an offset that what lies beside it or in other copies denies: no checksum covers it; the result has the same records at another one",
	zoneDenied:     "whole, with an offset that what lies beside it or in other copies denies: no checksum covers it",
	zoneAlone:      "whole, between damaged bytes, and nothing bears out its offset, which no checksum covers, or that it is no content of a value",
	zoneEpoch:      "the result has the same records with another leader epoch in the batch header",
}

// keep makes the action of the partition, with all that goes to lost+found.
func (w *salvaging) keep() error {
	for _, x := range w.sources {
		told := &w.told.Copies[x.told]
		for i := range x.zones {
			switch z := &x.zones[i]; z.why {
			case zoneDamaged, zoneOffset, zoneImpossible:
				told.Damaged += z.blocks
			case zoneSame:
				told.Doubles += z.blocks
			case zoneShadow, zoneDouble, zoneWide, zoneDenied:
				told.Contradicted = told.Contradicted.add(z)
			case zoneOther:
				told.Other = told.Other.add(z)
			case zoneUnproven, zoneAlone:
				told.Unproven = told.Unproven.add(z)
			}
		}
		for i := range x.log.Segments {
			if err := w.keepOf(x, i, told); err != nil {
				return err
			}
		}
		for _, s := range x.same {
			told.SameBytes += s.length
		}
	}
	for i := range w.line {
		r := &w.line[i]
		told := &w.told.Copies[r.src.told]
		told.Taken += r.blocks
		told.TakenBytes += r.length
	}
	if err := w.countApart(); err != nil {
		return err
	}
	w.keepStrangers()
	if len(w.edits) == 0 {
		return nil
	}
	r := w.into
	if r == nil { // bytes to keep and nothing to write: beside the other partitions
		r = w.anyRoot()
	}
	a := Action{Kind: SalvageLog, Partition: w.p.Name, Dir: w.p.Name, Does: w.does(), Why: w.told.Why, Undo: "nothing of the inputs was changed", Edits: w.edits}
	w.add(r.target, nil, a, nil)
	last := &w.plan.Actions[len(w.plan.Actions)-1]
	last.Partition, last.Dir = w.p.Name, w.p.Name
	return nil
}

// anyRoot is a root for an action that only keeps bytes.
func (w *salvaging) anyRoot() *newRoot {
	if len(w.new) > 0 {
		return w.new[0]
	}
	return w.root(w.p, w.sources[0])
}

func (w *salvaging) does() string {
	o := &w.result
	if w.told.Root < 0 {
		return "nothing can be salvaged; its bytes go to lost+found"
	}
	if len(w.line) == 0 {
		return fmt.Sprintf("an empty log, the next offset is %d", o.end)
	}
	var from []string
	for i := range w.told.Copies {
		if c := &w.told.Copies[i]; c.Taken > 0 {
			from = append(from, fmt.Sprintf("%s of broker %s", plural(int(c.Taken), "batch", "batches"), c.Broker))
		}
	}
	s := fmt.Sprintf("offsets %d–%d from %s", o.start, o.end-1, listed(from))
	if n := len(w.told.Gaps); n > 0 {
		s += fmt.Sprintf("; %s", plural(n, "gap", "gaps"))
	}
	return s
}

// keepOf keeps what a segment has that the result has not.
//
//	segment   |- same -|-- damaged --|- other line -|- same -|00000|
//	kept                <----------->|<------------>          zeros are not
func (w *salvaging) keepOf(x *source, seg int, told *SalvagedOf) error {
	f := x.log.Segments[seg].Log
	name := file(x.log.Partition, f.Name)
	var parts []zone
	at := int64(0)
	odd := func(from, to int64) {
		if from >= to {
			return
		}
		if k := len(parts) - 1; k >= 0 && parts[k].why == zoneDamaged && parts[k].position+parts[k].length == from {
			parts[k].length += to - from
			return
		}
		parts = append(parts, zone{byteRun: byteRun{seg, from, to - from}, from: 0, to: -1, epoch: -1, why: zoneDamaged})
	}
	si, _ := slices.BinarySearchFunc(x.same, byteRun{seg, 0, 0}, func(a, t byteRun) int { return a.compare(t) })
	zi, _ := slices.BinarySearchFunc(x.zones, byteRun{seg, 0, 0}, func(a zone, t byteRun) int { return a.byteRun.compare(t) })
	for at < f.Size {
		var nextSame, nextZone int64 = math.MaxInt64, math.MaxInt64
		if si < len(x.same) && x.same[si].seg == seg {
			nextSame = x.same[si].position
		}
		if zi < len(x.zones) && x.zones[zi].seg == seg {
			nextZone = x.zones[zi].position
		}
		switch {
		case nextSame <= nextZone && nextSame < math.MaxInt64:
			odd(at, nextSame)
			at = max(at, nextSame+x.same[si].length)
			si++
		case nextZone < math.MaxInt64:
			odd(at, nextZone)
			z := x.zones[zi]
			if end := z.position + z.length; end > at {
				z.length, z.position = end-max(z.position, at), max(z.position, at)
				if k := len(parts) - 1; k >= 0 && z.why == zoneDamaged && parts[k].why == zoneDamaged && parts[k].position+parts[k].length == z.position && parts[k].from > parts[k].to {
					z.length, z.position = z.length+parts[k].length, parts[k].position
					parts = parts[:k]
				}
				parts = append(parts, z)
				at = end
			}
			zi++
		default:
			odd(at, f.Size)
			at = f.Size
		}
	}
	var kept []zone
	for _, z := range parts {
		if z.why == zoneDamaged {
			n, err := w.behindZeros(x, seg, z.position, z.length)
			if err != nil {
				return err
			}
			z.length = n
		}
		if z.length > 0 {
			kept = append(kept, z)
		}
	}
	if len(kept) > maxKept {
		kept = []zone{{byteRun: byteRun{seg, 0, f.Size}, from: 0, to: -1, epoch: -1, zeros: true, blocks: int64(len(kept))}}
	}
	for _, z := range kept {
		k := &Kept{Why: zoneSays[z.why]}
		if z.zeros {
			k.Why = fmt.Sprintf("%d places of it are not in the result, so that it is kept whole", z.blocks)
		}
		if z.from < z.to {
			from, to := z.from, z.to
			k.From, k.To = &from, &to
			k.Epoch = known(z.epoch)
		}
		w.saved(x.t, name, z.position, z.length, f.Size, k)
		told.KeptBytes += z.length
	}
	return nil
}

// saved adds the edit that keeps bytes of an input.
func (w *salvaging) saved(t *target, name string, position, length, size int64, k *Kept) {
	x := Piece{Root: t.index, File: name, Position: position, Length: length}
	w.edits = append(w.edits, Edit{Op: Keep, File: KeptAs(&t.root, x, size), Pieces: []Piece{x}, Kept: k})
	t.lent[name] = true
}

// behindZeros is the length of damaged bytes without the zeros that they end in: 0 where there is
// nothing else.
func (w *salvaging) behindZeros(x *source, seg int, position, length int64) (int64, error) {
	const chunk = 1 << 20
	var buf []byte
	for end := length; end > 0; {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		n := min(end, chunk)
		b, err := x.log.ReadRaw(seg, position+end-n, n, buf)
		if err != nil {
			return 0, err
		}
		buf = b
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != 0 {
				return min(length, end-n+int64(i)+1+zeroReach), nil
			}
		}
		end -= n
	}
	return 0, nil
}

// keepStrangers keeps files that are called segments and whose names say no offset.
func (w *salvaging) keepStrangers() {
	done := map[*logdir.Partition]bool{}
	for _, x := range w.sources {
		p := x.log.Partition
		if done[p] {
			continue
		}
		done[p] = true
		for _, f := range p.Unknown {
			if f.Kind != logdir.KindBadSegmentName || !f.Mode.IsRegular() || f.Err != nil || f.Size <= 0 || len(f.Name) < 4 || f.Name[len(f.Name)-4:] != ".log" {
				continue
			}
			w.saved(x.t, file(p, f.Name), 0, f.Size, f.Size, &Kept{Why: "its name says no offset: kafsck salvage --scan looks for batches in it"})
			w.note("%s is no name of a segment: the file is in lost+found, and kafsck salvage --scan looks for batches in it", f.Name)
		}
	}
}
