package cli

import (
	"context"
	"io"
	"math"

	"kafsck/internal/rofs"
	"kafsck/query"
	"kafsck/report"
	"kafsck/segment"
)

// indexDump is the state of one index file or snapshot.
type indexDump struct {
	d    *dumper
	t    *dumpTarget
	file rofs.File
	size int64
	base int64  // base offset in the name; 0 without one
	head func() // announces the file

	zeros, zerosAt int64 // entries of zero bytes that wait to be told in one line, and the first
}

// index decodes an index file or a snapshot.
func (d *dumper) index(ctx context.Context, t *dumpTarget) {
	f, err := t.file.Open()
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
		return
	}
	x := &indexDump{d: d, t: t, file: f, size: info.Size(), base: max(t.base, 0)}
	d.sum.Files++
	d.sum.Bytes += x.size
	if !d.opt.hasValues(t.kind) {
		d.out.Note("%s: nothing in a .%s has all that %s asks for", t.shown, t.kind, d.opt.ranges())
		return
	}
	switch t.kind {
	case dumpIndex:
		err = x.offsets(ctx)
	case dumpTimeIndex:
		err = x.times(ctx)
	case dumpTxnIndex:
		err = x.aborted(ctx)
	case dumpSnapshot:
		err = x.snapshot(ctx)
	}
	if err != nil {
		d.failed(t.shown, segment.PlainCause(err))
	}
}

// announce names the file, at once or, where a range was asked for, with the first entry in it:
// a file that has nothing to show is not named.
func (x *indexDump) announce(head func()) {
	x.head = func() {
		x.d.name(x.t, x.size)
		if x.t.base < 0 && x.t.kind != dumpSnapshot && x.t.kind != dumpTxnIndex {
			x.d.out.Note("  the file's name has no base offset: offsets count from 0")
		}
		head()
	}
	if !x.d.opt.partial() {
		x.begin()
	}
}

// asked announces the file if it is itself what --where asks for.
func (x *indexDump) asked(line query.Line) {
	if x.d.where != nil && !x.d.opt.ranged() && x.d.where.match(line) {
		x.begin()
	}
}

func (x *indexDump) begin() {
	if x.head != nil {
		x.head()
		x.head = nil
	}
}

// entry makes ready for an entry that is shown.
func (x *indexDump) entry() {
	x.begin()
	x.d.sum.Entries++
}

// zero takes an entry of zero bytes.
func (x *indexDump) zero(number int64) {
	if x.zeros == 0 {
		x.zerosAt = number
	}
	x.zeros++
}

// endZeros tells of the entries of zero bytes before the one that comes now: a hole in a large
// file is one line.
func (x *indexDump) endZeros(width int64) {
	if x.zeros > 0 && x.d.where.match(query.Line{Kind: query.ZeroEntries, Zeros: query.Zeros{Number: x.zerosAt, Count: x.zeros, Width: width}}) {
		x.begin()
		x.d.out.ZeroEntries(x.zerosAt, x.zeros, width)
	}
	x.zeros = 0
}

// damaged sets the exit code for bytes that no broker writes, which are shown.
func (x *indexDump) damaged(is bool) {
	if is {
		x.begin()
		x.d.a.fail(exitFindings)
	}
}

// shaped announces an index file.
func (x *indexDump) shaped(of func(io.ReaderAt, int64) (segment.IndexShape, error)) error {
	s, err := of(x.file, x.size)
	if err != nil {
		x.d.name(x.t, x.size)
		return err
	}
	x.announce(func() { x.d.out.Index(&report.DumpIndex{Kind: string(x.t.kind), IndexShape: s}) })
	x.asked(query.Line{Kind: query.IndexFile, IndexKind: string(x.t.kind), Index: s})
	x.damaged(s.Remainder > 0)
	return nil
}

func (x *indexDump) offsets(ctx context.Context) error {
	if err := x.shaped(segment.ShapeOfIndex); err != nil {
		return err
	}
	opt := x.d.opt
	before := segment.OffsetEntry{Offset: math.MinInt64, Position: math.MinInt64}
	for e, err := range segment.ScanIndex(x.file, x.size, x.base) {
		if err != nil || e.Number&1023 == 0 && x.d.stopped(ctx) {
			return err
		}
		zero := e.Relative == 0 && e.RawPosition == 0 && e.Number > 0 // the first may be one
		flaw := report.EntryFlaw{OutOfOrder: e.Offset <= before.Offset || e.Position <= before.Position}
		if !zero {
			x.endZeros(segment.IndexEntrySize)
			before = e
		}
		switch {
		case e.Relative < 0:
			flaw.Damage = "the relative offset is below 0"
		case e.RawPosition < 0:
			flaw.Damage = "the position is below 0"
		}
		switch {
		case !opt.offsets.meets(e.Offset, e.Offset) || !opt.positions.meets(e.Position, e.Position):
		case zero:
			x.zero(e.Number)
		case !x.d.where.match(query.Line{Kind: query.IndexEntry, Offset: &e, OutOfOrder: flaw.OutOfOrder, Damage: flaw.Damage}):
		default:
			x.entry()
			x.damaged(flaw.Damage != "")
			x.d.out.IndexEntry(&e, flaw)
		}
	}
	return nil
}

func (x *indexDump) times(ctx context.Context) error {
	if err := x.shaped(segment.ShapeOfTimeIndex); err != nil {
		return err
	}
	opt := x.d.opt
	before := segment.TimeEntry{Timestamp: math.MinInt64, Offset: math.MinInt64}
	for e, err := range segment.ScanTimeIndex(x.file, x.size, x.base) {
		if err != nil || e.Number&1023 == 0 && x.d.stopped(ctx) {
			return err
		}
		zero := e.Relative == 0 && e.Timestamp == 0 && e.Number > 0
		flaw := report.EntryFlaw{OutOfOrder: e.Timestamp <= before.Timestamp || e.Offset < before.Offset}
		if !zero {
			x.endZeros(segment.TimeEntrySize)
			before = e
		}
		switch {
		case e.Relative < 0:
			flaw.Damage = "the relative offset is below 0"
		case e.Timestamp < 0:
			flaw.Damage = "the timestamp is below 0"
		}
		switch {
		case !opt.offsets.meets(e.Offset, e.Offset) || !opt.times.meets(e.Timestamp, e.Timestamp):
		case zero:
			x.zero(e.Number)
		case !x.d.where.match(query.Line{Kind: query.TimeEntry, Time: &e, OutOfOrder: flaw.OutOfOrder, Damage: flaw.Damage}):
		default:
			x.entry()
			x.damaged(flaw.Damage != "")
			x.d.out.TimeEntry(&e, flaw)
		}
	}
	return nil
}

func (x *indexDump) aborted(ctx context.Context) error {
	shape := segment.IndexShape{Entries: x.size / segment.TxnEntrySize, Remainder: x.size % segment.TxnEntrySize}
	x.announce(func() { x.d.out.Index(&report.DumpIndex{Kind: string(dumpTxnIndex), IndexShape: shape}) })
	x.asked(query.Line{Kind: query.IndexFile, IndexKind: string(dumpTxnIndex), Index: shape})
	x.damaged(shape.Remainder > 0)
	opt := x.d.opt
	for e, err := range segment.ScanTxnIndex(x.file, x.size) {
		if err != nil || e.Number&1023 == 0 && x.d.stopped(ctx) {
			return err
		}
		// A refused entry is shown whatever was asked for: nothing behind it can be.
		if e.Refused() || opt.offsets.meets(e.FirstOffset, e.LastOffset) && x.d.where.match(query.Line{Kind: query.AbortedTxn, Aborted: &e}) {
			x.entry()
			x.damaged(e.Refused())
			x.d.out.AbortedTxn(&e)
		}
	}
	return nil
}

func (x *indexDump) snapshot(ctx context.Context) error {
	s, err := segment.ReadSnapshot(x.file, x.size)
	if err != nil {
		x.d.name(x.t, x.size)
		return err
	}
	x.announce(func() { x.d.out.Snapshot(&report.DumpSnapshot{ProducerSnapshot: s, Offset: x.t.base}) })
	x.asked(query.Line{Kind: query.Snapshot, Snapshot: s, SnapshotAt: x.t.base})
	switch {
	case s.Problem == nil:
	case s.Problem.Limit():
		x.begin()
		x.d.a.fail(exitIncomplete)
	default:
		x.damaged(true)
	}
	opt := x.d.opt
	for i := range s.Producers {
		if x.d.stopped(ctx) {
			return nil
		}
		e := &s.Producers[i]
		in := opt.offsets == everyOffset || e.HasBatch() && opt.offsets.meets(e.FirstOffset(), e.LastOffset) ||
			e.CurrentTxnFirstOffset >= 0 && opt.offsets.meets(e.CurrentTxnFirstOffset, max(e.LastOffset, e.CurrentTxnFirstOffset))
		if in && opt.times.meets(e.Timestamp, e.Timestamp) && x.d.where.match(query.Line{Kind: query.Producer, Producer: e, Number: int64(i)}) {
			x.entry()
			x.d.out.Producer(i, e)
		}
	}
	return nil
}
