package tui

import (
	"context"
	"hash/crc32"
	"iter"
	"math"
	"slices"
	"strings"

	"kafsck/batch"
	"kafsck/diff"
	"kafsck/replica"
)

// diffItem is a batch or a record of one side; the zero value is nothing.
type diffItem struct {
	ok         bool
	base, last int64
	epoch      int32
	sum        uint32 // of a batch its CRC, of a record that of its content
	records    int32
	flawed     bool
	timeMs     int64
	text       string // of a record: key and value, shortened; raw
}

// diffRow is what both sides have at an offset, or a stretch that is left out.
type diffRow struct {
	at   int64
	side [2]diffItem
	same sameness
	hunk int   // index of the difference that it is part of, -1 none
	to   int64 // of a fold: [at, to) is left out; else 0
	next diffPlace
}

// sameness says how the sides of a row compare.
type sameness uint8

const (
	sameAll    sameness = iota // batch and epoch, or record
	sameButFor                 // the records, under another leader epoch
	sameNot
	sameLeft // only the left side has it
	sameRight
)

func (r *diffRow) fold() bool { return r.to > 0 }

// diffPlace is up to where both sides are read, exclusive.
type diffPlace [2]int64

// diffSource reads two logs in step, in windows: neither is ever read whole.
type diffSource struct {
	logs    [2]*replica.Log
	hunks   []diffHunk // by offset
	from    int64      // the later log start
	to      int64      // the later log end
	records bool       // rows are records, else batches
	context int        // equal rows shown around a difference, -1 all
}

// diffHunk is a difference of this pair.
type diffHunk struct {
	from, to int64
	kind     diff.Kind
	level    level
	text     string // raw
}

// in is the index of the difference that overlaps [from, to), -1 none.
func (d *diffSource) in(from, to int64) int {
	return slices.IndexFunc(d.hunks, func(h diffHunk) bool { return from < max(h.to, h.from+1) && to > h.from })
}

// items are the batches or records of a side that hold an offset from from on.
func (d *diffSource) items(side int, from int64) iter.Seq2[diffSeen, error] {
	return func(yield func(diffSeen, error) bool) {
		log := d.logs[side]
		var unpack batch.Decompressor
		for b, err := range log.Blocks(max(from, log.LogStartOffset), math.MaxInt64) {
			if err != nil {
				yield(diffSeen{}, err)
				return
			}
			whole := diffSeen{diffItem: diffItem{ok: true, base: b.Base, last: b.Last, epoch: b.Epoch, sum: b.CRC, records: b.Records, flawed: b.Flaws != 0, timeMs: b.MaxTimestamp}, block: b}
			if b.Control() {
				whole.text = "control batch"
			}
			if !d.records || !b.Whole() {
				if !yield(whole, nil) {
					return
				}
				continue
			}
			none := true
			for r, err := range (diff.LogContent{Log: log}).Records(&b, &unpack) {
				if err != nil {
					break // a batch that cannot be decoded is shown as one
				}
				none = false
				if r.Offset < from {
					continue
				}
				if !yield(recordItem(&b, &r), nil) {
					return
				}
			}
			if none && !yield(whole, nil) {
				return
			}
		}
	}
}

// diffSeen is an item with what comparing it takes.
type diffSeen struct {
	diffItem
	block  replica.Block
	record bool
}

func recordItem(b *replica.Block, r *batch.Record) diffSeen {
	const most = 60
	part := func(v []byte) string {
		if v == nil {
			return "null"
		}
		return string(v[:min(len(v), most)])
	}
	h := crc32.NewIEEE()
	put := func(v []byte) {
		n := int64(len(v))
		if v == nil {
			n = -1
		}
		h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
		h.Write(v)
	}
	put(r.Key)
	put(r.Value)
	for _, x := range r.Headers {
		put([]byte(x.Key))
		put(x.Value)
	}
	text := part(r.Value)
	if r.Key != nil {
		text = part(r.Key) + "=" + text
	}
	return diffSeen{diffItem: diffItem{ok: true, base: r.Offset, last: r.Offset, epoch: b.Epoch, sum: h.Sum32(), records: 1, timeMs: r.Timestamp, text: strings.Clone(text)}, record: true}
}

func compareSeen(a, b *diffSeen) sameness {
	switch {
	case a.record && b.record:
		if a.sum == b.sum && a.timeMs == b.timeMs {
			if a.epoch != b.epoch {
				return sameButFor
			}
			return sameAll
		}
	case a.record || b.record:
	case a.block.Same(&b.block):
		return sameAll
	case a.block.SameRecords(&b.block):
		return sameButFor
	}
	return sameNot
}

// rows are both sides in step from a place on: what begins at one offset stands in one
// row. The error comes last.
func (d *diffSource) rows(ctx context.Context, at diffPlace) iter.Seq2[diffRow, error] {
	return func(yield func(diffRow, error) bool) {
		var pull [2]func() (diffSeen, error, bool)
		var head [2]diffSeen
		for i := range pull {
			next, stop := iter.Pull2(d.items(i, at[i]))
			defer stop()
			pull[i] = next
		}
		take := func(i int) error {
			x, err, ok := pull[i]()
			if err != nil {
				return err
			}
			if !ok {
				x = diffSeen{}
			}
			head[i] = x
			return nil
		}
		for i := range head {
			if err := take(i); err != nil {
				yield(diffRow{}, err)
				return
			}
		}
		for (head[0].ok || head[1].ok) && ctx.Err() == nil {
			row := diffRow{next: at}
			var use [2]bool
			switch {
			case !head[1].ok || head[0].ok && head[0].base < head[1].base:
				use[0], row.same = true, sameLeft
			case !head[0].ok || head[1].base < head[0].base:
				use[1], row.same = true, sameRight
			default:
				use[0], use[1] = true, true
				row.same = compareSeen(&head[0], &head[1])
			}
			end := int64(0)
			row.at = math.MaxInt64
			for i := range head {
				if !use[i] {
					continue
				}
				row.side[i] = head[i].diffItem
				row.at, end = min(row.at, head[i].base), max(end, head[i].last+1)
				row.next[i] = max(row.next[i], head[i].last+1)
			}
			at = row.next
			row.hunk = d.in(row.at, end)
			if row.same == sameAll {
				row.hunk = -1
			}
			if !yield(row, nil) {
				return
			}
			for i := range head {
				if use[i] {
					if err := take(i); err != nil {
						yield(diffRow{}, err)
						return
					}
				}
			}
		}
		if ctx.Err() != nil {
			yield(diffRow{}, ctx.Err())
		}
	}
}

// before are the last n rows that begin below an offset. Logs are read forwards only, so
// it looks at a stretch before it that is made longer until it holds enough.
func (d *diffSource) before(ctx context.Context, offset int64, n int) ([]diffRow, error) {
	if n <= 0 {
		return nil, nil
	}
	for size := int64(n); ; size *= 4 {
		from := d.from
		if size > 0 && offset-size > d.from {
			from = offset - size
		}
		var out []diffRow
		for r, err := range d.rows(ctx, diffPlace{from, from}) {
			if err != nil {
				return nil, err
			}
			if r.at >= offset {
				break
			}
			if r.at < from && from > d.from {
				continue // the other side's part may lie before what is read
			}
			if out = append(out, r); len(out) > 2*n {
				out = slices.Delete(out, 0, len(out)-n)
			}
		}
		if len(out) >= n || from == d.from {
			return out[max(len(out)-n, 0):], nil
		}
	}
}

// after are the first n rows from an offset on.
func (d *diffSource) after(ctx context.Context, offset int64, n int) ([]diffRow, error) {
	var out []diffRow
	if n <= 0 {
		return nil, nil
	}
	for r, err := range d.rows(ctx, diffPlace{offset, offset}) {
		if err != nil {
			return nil, err
		}
		if out = append(out, r); len(out) == n {
			break
		}
	}
	return out, nil
}

// noFold: equal rows are not counted until the next difference.
const noFold = math.MinInt32

// forward reads at least n rows from a place on, without the equal stretches that lie
// further than context from a difference. since counts the equal rows behind the last
// difference.
func (d *diffSource) forward(ctx context.Context, at diffPlace, since, n int) (out []diffRow, done bool, err error) {
	for {
		jumped := false
		for r, err := range d.rows(ctx, at) {
			if err != nil {
				return out, false, err
			}
			if r.hunk >= 0 {
				since = 0
			} else {
				since++
			}
			if d.context < 0 || since <= d.context {
				out = append(out, r)
				if len(out) >= n {
					return out, false, nil
				}
				continue
			}
			h := slices.IndexFunc(d.hunks, func(h diffHunk) bool { return h.from > r.at })
			if h < 0 {
				return append(out, diffRow{at: r.at, to: d.to, hunk: -1, next: diffPlace{d.to, d.to}}), true, nil
			}
			resume := d.hunks[h].from
			tail, err := d.before(ctx, resume, d.context)
			if err != nil {
				return out, false, err
			}
			if len(tail) > 0 {
				resume = tail[0].at
			}
			since = noFold
			if resume <= r.at {
				out = append(out, r)
				continue
			}
			at = diffPlace{resume, resume}
			out = append(out, diffRow{at: r.at, to: resume, hunk: -1, next: at})
			jumped = true
			break
		}
		if !jumped {
			return out, true, nil
		}
		if len(out) >= n {
			return out, false, nil
		}
	}
}

// backward is forward in the other direction: rows before first, a row that is there.
func (d *diffSource) backward(ctx context.Context, offset int64, since, n int) (out []diffRow, done bool, err error) {
	for len(out) < n {
		list, err := d.before(ctx, offset, n)
		if err != nil {
			return out, false, err
		}
		if len(list) == 0 {
			return out, true, nil
		}
		for i := len(list) - 1; i >= 0; i-- {
			r := list[i]
			if r.hunk >= 0 {
				since = 0
			} else {
				since++
			}
			if d.context < 0 || since <= d.context {
				out = slices.Insert(out, 0, r)
				offset = r.at
				continue
			}
			end := r.side[0].last + 1
			end = max(end, r.side[1].last+1)
			h := -1
			for k := range d.hunks {
				if d.hunks[k].to <= r.at {
					h = k
				}
			}
			if h < 0 {
				return slices.Insert(out, 0, diffRow{at: d.from, to: end, hunk: -1, next: diffPlace{end, end}}), true, nil
			}
			resume := d.hunks[h].to
			head, err := d.after(ctx, resume, d.context)
			if err != nil {
				return out, false, err
			}
			if len(head) > 0 {
				last := head[len(head)-1]
				resume = max(last.side[0].last, last.side[1].last) + 1
			}
			since = noFold
			if resume >= end {
				out = slices.Insert(out, 0, r)
				offset = r.at
				continue
			}
			out = slices.Insert(out, 0, diffRow{at: resume, to: end, hunk: -1, next: diffPlace{end, end}})
			offset = resume
			break
		}
	}
	return out, false, nil
}
