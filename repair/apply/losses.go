package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/segment"
)

// A plan can be edited, so what it takes out of a log is held against what it says that it loses:
//
//	input  t-0/0.log   | batch 0–9 | batch 10–19 | damaged | batch 30–39 |
//	result t-0/0.log   | batch 0–9 |             |         | batch 30–39 |
//	                                 goes: whole, so [10, 20) must be among the loses of an action
//
// A batch that goes needs no loss where the result has it all the same: once more, under a header that
// was put right, cleaned by a compaction that was finished, or, at its offsets, one that was there before
// it. Only bytes that go are read, and files beside them where one of these is to be found out.

// goneBatch is a whole batch, or a legacy message, of an input that is not where it was in the result.
type goneBatch struct {
	file       string
	pos        int64
	base, next int64 // offsets [base, next) as the header says
	size       int64
	crc        uint32
	content    [sha256.Size]byte // of what the CRC covers; zero where the batch is too large to be held
	legible    bool              // its records can be read

	own, any int64 // offsets from base up to here are covered by what stays of this log, by what stays
	kept     bool  // the result has it, or what stands for it
}

// logOf are the .log files of one partition directory.
type logOf struct {
	root *root
	dir  string
	in   []*repair.PlanInput // by name
	out  []*target           // by name
}

// isLog reports whether a file is a .log that a broker reads as part of a partition's live log.
func isLog(file string) bool {
	dir, name := path.Split(file)
	if path.Ext(name) != ".log" || strings.Count(file, "/") != 1 {
		return false
	}
	d, err := logdir.ParseDirName(strings.TrimSuffix(dir, "/"))
	return err != nil || d.State == logdir.Live
}

// logs are those of a written root, by directory.
func (l *layout) logs(r *root) []*logOf {
	byDir := map[string]*logOf{}
	of := func(file string) *logOf {
		dir := path.Dir(file)
		if byDir[dir] == nil {
			byDir[dir] = &logOf{root: r, dir: dir}
		}
		return byDir[dir]
	}
	for name, in := range r.inputs {
		if isLog(name) {
			of(name).in = append(of(name).in, in)
		}
	}
	for _, t := range l.files {
		if t.root == r && isLog(t.file) {
			of(t.file).out = append(of(t.file).out, t)
		}
	}
	var list []*logOf
	for _, g := range byDir {
		slices.SortFunc(g.in, func(a, b *repair.PlanInput) int { return cmp.Compare(a.File, b.File) })
		slices.SortFunc(g.out, func(a, b *target) int { return cmp.Compare(a.file, b.file) })
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *logOf) int { return cmp.Compare(a.dir, b.dir) })
	return list
}

// changed reports whether a start finds other .log files than before.
func (g *logOf) changed() bool {
	return len(g.in) != len(g.out) || slices.ContainsFunc(g.out, func(t *target) bool { return t.edit != nil })
}

// extent is a run of bytes, or of offsets, [from, to).
type extent struct{ from, to int64 }

// covers reports whether all of [from, to) lies in some of the spans.
func covers(list []extent, from, to int64) bool {
	for again := true; again && from < to; {
		again = false
		for _, s := range list {
			if s.from <= from && s.to > from {
				from, again = s.to, true
			}
		}
	}
	return from >= to
}

// loses are the offsets that the actions on a partition directory say they take out of it.
func (l *layout) loses(r *root, dir string) []extent {
	var out []extent
	for _, a := range l.todo {
		if l.roots[a.Root] != r || a.Dir != dir {
			continue
		}
		for _, s := range a.Loses {
			out = append(out, extent{s.From, s.To})
		}
	}
	slices.SortFunc(out, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	return out
}

// goneOf are the bytes of an input .log that are in no .log of the same directory of the result.
func (g *logOf) goneOf(in *repair.PlanInput) []extent {
	var held, gone []extent
	for _, t := range g.out {
		if t.from == in.File {
			return nil
		}
		if t.edit == nil || t.edit.Op != repair.Compose {
			continue
		}
		for _, p := range t.edit.Pieces {
			if p.Root == g.root.index && p.File == in.File {
				held = append(held, extent{p.Position, p.Position + p.Length})
			}
		}
	}
	slices.SortFunc(held, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	at := int64(0)
	for _, s := range append(held, extent{in.Size, in.Size}) {
		if s.from > at {
			gone = append(gone, extent{at, s.from})
		}
		at = max(at, s.to)
	}
	return gone
}

// verifyLosses holds what leaves the logs of the written roots against what the plan says it loses.
func (x *run) verifyLosses(ctx context.Context) error {
	for _, r := range x.l.roots {
		if !r.written || r.New {
			continue
		}
		for _, g := range x.l.logs(r) {
			if !g.changed() {
				continue
			}
			if err := x.verifyGone(ctx, g); err != nil {
				return err
			}
		}
		if err := x.verifyLogStarts(ctx, r); err != nil {
			return err
		}
		if err := x.verifyWatermarks(r); err != nil {
			return err
		}
	}
	return nil
}

// maxGone bounds the batches that are looked for in the result in one pass.
const maxGone = 1 << 16

// verifyGone looks at what goes from one log.
func (x *run) verifyGone(ctx context.Context, g *logOf) error {
	loses := x.l.loses(g.root, g.dir)
	swaps, err := x.swapped(ctx, g)
	if err != nil {
		return err
	}
	var list []*goneBatch
	for _, in := range g.in {
		spans := g.goneOf(in)
		if base, err := baseOf(in.File); err == nil && len(spans) == 1 && spans[0] == (extent{0, in.Size}) && covers(swaps, base, base+1) {
			continue // the cleaner's output, which a start would put in its place too
		}
		for _, s := range spans {
			err := x.walkInput(ctx, g.root, in, s.from, func(f *segment.Frame) error {
				if f.Pos >= s.to {
					return io.EOF
				}
				b := wholeBatch(f, in.File)
				if b == nil || covers(loses, b.base, b.next) {
					return nil
				}
				list = append(list, b)
				if len(list) < maxGone {
					return nil
				}
				lot := list
				list = nil
				return x.settle(ctx, g, lot, loses)
			})
			if err != nil {
				return err
			}
		}
	}
	return x.settle(ctx, g, list, loses)
}

// swapped are the offsets of segments of the result that were a cleaner's complete output: LogLoader.load
// deletes the segments that begin there, when it gives the output its name.
func (x *run) swapped(ctx context.Context, g *logOf) ([]extent, error) {
	var out []extent
	for _, t := range g.out {
		if t.from == "" || !strings.HasSuffix(t.from, ".log.swap") {
			continue
		}
		base, err := baseOf(t.file)
		if err != nil {
			continue
		}
		end := base
		err = x.walkOutput(ctx, t, func(f *segment.Frame) error {
			if _, next, ok := frameOffsets(f); ok {
				end = max(end, next)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, extent{base, end})
	}
	return out, nil
}

// settle finds in the result what goes and is in no loss, and fails for what is not there.
func (x *run) settle(ctx context.Context, g *logOf, list []*goneBatch, loses []extent) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *goneBatch) int { return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.pos, b.pos)) })
	same := map[uint32][]*goneBatch{}
	reach := make([]int64, len(list)) // the largest next of those up to here
	lowest, highest := list[0].base, int64(0)
	for i, b := range list {
		same[b.crc] = append(same[b.crc], b)
		highest = max(highest, b.next)
		reach[i] = highest
	}
	see := func(f *segment.Frame, own bool) error {
		base, next, ok := frameOffsets(f)
		if !ok {
			return nil
		}
		crc := f.Legacy.CRC
		if f.Kind == segment.Batch {
			crc = f.Batch.CRC
		}
		for _, b := range same[crc] {
			b.kept = b.kept || b.size == f.Len && (f.Raw == nil && b.content == [sha256.Size]byte{} || f.Raw != nil && b.content == sha256.Sum256(covered(f)))
		}
		i, _ := slices.BinarySearchFunc(list, next, func(b *goneBatch, at int64) int { return cmp.Compare(b.base, at) })
		for i--; i >= 0 && reach[i] > base; i-- {
			if b := list[i]; b.next > base {
				if own && base <= b.own {
					b.own = max(b.own, next)
				}
				if base <= b.any {
					b.any = max(b.any, next)
				}
			}
		}
		return nil
	}
	for i, t := range g.out {
		if base, err := baseOf(t.file); err == nil && t.edit == nil {
			next := int64(math.MaxInt64)
			if i+1 < len(g.out) {
				if n, err := baseOf(g.out[i+1].file); err == nil {
					next = n
				}
			}
			if base >= highest || next <= lowest {
				continue
			}
		}
		err := x.walkOutput(ctx, t, func(f *segment.Frame) error { return see(f, !x.lent(g, t, f.Pos)) })
		if err != nil {
			return err
		}
	}
	if len(g.out) == 0 {
		if err := x.eachTwin(ctx, g, func(f *segment.Frame) error { return see(f, true) }); err != nil {
			return err
		}
	}
	var open []*goneBatch
	for _, b := range list {
		if !b.kept && b.own < b.next && (b.legible || b.any < b.next) {
			open = append(open, b)
		}
	}
	for _, b := range open {
		told, err := x.placed(ctx, g, b, loses)
		if err != nil {
			return err
		}
		if told {
			continue
		}
		by := "the plan"
		if t := x.l.droppedBy(g.files(), g.root, b.file); t != nil {
			by = "action " + t.ID
		}
		return x.fail(path.Join(g.root.Name, b.file), "%s takes the batch at offsets %d–%d, position %d, out of the log, and no action says that it loses these", by, b.base, max(b.next-1, b.base), b.pos)
	}
	return nil
}

// eachTwin walks the logs of other directories of the same broker for the same partition, where a whole
// directory goes: one of two that are the same log, of which a broker can load only one.
func (x *run) eachTwin(ctx context.Context, g *logOf, f func(*segment.Frame) error) error {
	for _, r := range x.l.roots {
		if r == g.root || r.New || r.File || r.Broker == nil || g.root.Broker == nil || *r.Broker != *g.root.Broker || r.host == "" {
			continue
		}
		for _, o := range x.l.logs(r) {
			if o.dir != g.dir {
				continue
			}
			for _, t := range o.out {
				if err := x.walkOutput(ctx, t, f); err != nil {
					return err
				}
			}
			for i := range o.in {
				if r.written {
					break
				}
				if err := x.walkInput(ctx, r, o.in[i], 0, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *logOf) files() map[string]*target {
	files := map[string]*target{}
	for _, t := range g.out {
		files[t.file] = t
	}
	return files
}

// lent reports whether the bytes at a position of the result are not those of this log as a broker read
// it: of another directory, or of a file that the cleaner left (".deleted", ".cleaned").
func (x *run) lent(g *logOf, t *target, pos int64) bool {
	if t.edit == nil {
		return false
	}
	switch t.edit.Op {
	case repair.Rename:
		return !isLog(t.from) && !strings.HasSuffix(t.from, ".log.swap") || path.Dir(t.from) != g.dir
	case repair.Compose:
		for _, p := range t.edit.Pieces {
			if pos < p.Length {
				return p.Root != g.root.index || path.Dir(p.File) != g.dir || !isLog(p.File)
			}
			pos -= p.Length
		}
	}
	return false
}

// placed reports whether a batch whose base offset cannot be where it stands (no CRC covers that field)
// is told by the offsets that are missing there.
//
//	| batch 0–9 | batch "7000–7009" | batch 20–29 |     the loss of [10, 20) tells of it
func (x *run) placed(ctx context.Context, g *logOf, b *goneBatch, loses []extent) (bool, error) {
	i := slices.IndexFunc(g.in, func(in *repair.PlanInput) bool { return in.File == b.file })
	gone := g.goneOf(g.in[i])
	from, _ := baseOf(b.file)
	to := int64(-1)
	err := x.walkInput(ctx, g.root, g.in[i], 0, func(f *segment.Frame) error {
		base, next, ok := frameOffsets(f)
		if !ok || slices.ContainsFunc(gone, func(s extent) bool { return f.Pos >= s.from && f.Pos < s.to }) {
			return nil
		}
		if f.Pos > b.pos {
			to = base
			return io.EOF
		}
		from = next
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, t := range g.out {
		if base, err := baseOf(t.file); err == nil && to < 0 && base > from {
			to = base
		}
	}
	if b.base >= from && (to < 0 || b.next <= to) {
		return false, nil // it fits where it stands, so that its offsets are those
	}
	if to < 0 {
		to = from + 1
	}
	return to > from && covers(loses, from, to), nil
}
