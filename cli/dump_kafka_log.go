package cli

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/report"
	"kafsck/segment"
)

// kafkaLog is the state of one .log or .checkpoint.
type kafkaLog struct {
	d            *kafkaDump
	path         string
	chain        *kafkaChain
	decompressor *batch.Decompressor
	gaps         *kafkaGaps
	lots         *kafkaLots // nil: one core
	reads        int64      // batches, to look for an interrupt now and then
}

// log prints a .log or .checkpoint.
func (d *kafkaDump) log(ctx context.Context, path, name string) {
	if strings.HasSuffix(name, ".log") {
		if base, err := baseOffset(name); err == nil {
			d.out.Line("Log starting offset: ", strconv.FormatInt(base, 10))
		} else {
			d.threw(path, "%s", err)
		}
	} else if name == "bootstrap.checkpoint" {
		d.out.Line("KRaft bootstrap snapshot")
	} else if end, epoch, ok := snapshotName(name); ok {
		d.out.Line("Snapshot end offset: ", end, ", epoch: ", epoch)
	} else {
		d.threw(path, "the name is not that of a snapshot")
	}
	f, size, err := d.open(path)
	if err != nil {
		d.unread(path, err)
		return
	}
	defer f.Close()
	if size > math.MaxInt32 {
		d.threw(path, "the file has %d bytes, more than the %d of the largest segment", size, math.MaxInt32)
	}
	l := &kafkaLog{d: d, path: path, chain: newKafkaChain(f, size), decompressor: batch.NewDecompressor(batch.DefaultLimit), gaps: newKafkaGaps(path)}
	if l.chain.end > int64(d.k.maxBytes) && d.k.maxBytes != math.MaxInt32 {
		l.chain.end = int64(d.k.maxBytes)
	}
	l.lots = newKafkaLots(l)
	l.print(ctx, f, name)
	if d.deep {
		l.gaps.report(&d.nonConsecutive)
	}
}

// snapshotName takes the name of a snapshot apart (Snapshots.parse): 20 digits, a dash, 10 digits.
func snapshotName(name string) (end, epoch string, ok bool) {
	if len(name) < 31 || name[20] != '-' {
		return "", "", false
	}
	e, err1 := strconv.ParseInt(name[:20], 10, 64)
	p, err2 := strconv.ParseInt(name[21:31], 10, 32)
	return strconv.FormatInt(e, 10), strconv.FormatInt(p, 10), err1 == nil && err2 == nil
}

// print prints the batches that Kafka finds, and what lies behind where it throws.
func (l *kafkaLog) print(ctx context.Context, f rofs.File, name string) {
	d, c := l.d, l.chain
	var b kafkaBatch
	for {
		if l.reads++; l.reads&63 == 0 && d.stopped(ctx) {
			l.lots.drain(ctx)
			return
		}
		err := c.next(&b, true)
		if err == nil && l.lots.takes(&b) {
			l.lots.add(ctx, &b)
			continue
		}
		l.lots.drain(ctx)
		threw, isThrew := errors.AsType[*kafkaThrew](err)
		switch {
		case err == nil:
			l.batch(ctx, &b)
			continue
		case err == errKafkaEnd:
			if rest := c.size - c.pos; rest > 0 && d.k.maxBytes == math.MaxInt32 {
				d.out.Line("Found ", strconv.FormatInt(rest, 10), " invalid bytes at the end of ", name)
				l.hidden(ctx, f)
			}
		case isThrew:
			l.behind(ctx, f, threw)
		default:
			d.unread(l.path, err)
		}
		return
	}
}

// batch prints a batch and, with deep iteration, its records.
func (l *kafkaLog) batch(ctx context.Context, b *kafkaBatch) {
	valid, err := l.chain.valid(b)
	if err != nil {
		l.d.unread(l.path, err)
		return
	}
	if b.magic < 2 {
		l.legacy(ctx, b, valid)
		return
	}
	if len(b.head) < batch.HeaderSize {
		l.d.threw(l.path, "%s", b.short())
		return
	}
	h, _ := batch.ParseHeader(b.head) // filled in whatever is wrong
	if err := l.d.out.Batch(&h, b.pos, valid); err != nil {
		l.d.threw(l.path, "batch at position %d: %s", b.pos, err)
		return
	}
	if l.d.deep {
		l.records(ctx, b.pos, b.total, &batch.View{Header: h, Raw: b.raw})
	}
}

// records prints those of a batch of magic 2 or above.
func (l *kafkaLog) records(ctx context.Context, pos, total int64, v *batch.View) {
	switch {
	case total < batch.HeaderSize:
		l.d.threw(l.path, "batch at position %d: it is shorter than its header", pos)
		return
	case v.RecordCount == 0:
		l.gaps.emptied(&v.Header)
		return // Kafka does not look at the bytes
	case v.Raw == nil:
		l.tooLarge(pos, total)
		return
	}
	l.gaps.batch(&v.Header)
	for r, err := range v.Records(l.decompressor) {
		if err != nil {
			l.recordsEnd(pos, err)
			return
		}
		l.gaps.record(r.Offset)
		if err := l.d.out.Record(&v.Header, &r); err != nil {
			l.d.threw(l.path, "record with offset %d: %s", r.Offset, err)
		}
	}
	if l.d.stopped(ctx) {
		return
	}
}

func (l *kafkaLog) tooLarge(pos, total int64) {
	l.d.say("%s: the batch at position %d has %d bytes, kafsck holds at most %d in memory: its records are not shown", l.path, pos, total, segment.MaxRaw)
	l.d.a.fail(exitIncomplete)
}

// recordsEnd tells why there are no more records in a batch.
func (l *kafkaLog) recordsEnd(pos int64, err error) {
	switch {
	case errors.Is(err, batch.ErrTorn): // Kafka takes that for the end
	case errors.Is(err, batch.ErrTooLarge):
		l.d.out.CutLine()
		l.d.say("%s: batch at position %d: %s; a limit of kafsck, the rest of its records is not shown", l.path, pos, err)
		l.d.a.fail(exitIncomplete)
	default:
		l.d.threw(l.path, "batch at position %d: %s", pos, err)
	}
}

// legacy prints a message of magic 0 or 1 and what is in it.
func (l *kafkaLog) legacy(ctx context.Context, b *kafkaBatch, valid bool) {
	if b.magic < 0 {
		l.d.out.LegacyCut(b.offset)
		l.d.threw(l.path, "message at position %d: magic %d", b.pos, b.magic)
		return
	}
	h, _ := batch.ParseLegacyHeader(b.head) // filled in whatever is wrong
	if err := l.d.out.Legacy(&h, b.pos, valid); err != nil {
		l.d.threw(l.path, "message at position %d: %s", b.pos, err)
		return
	}
	if !l.d.deep {
		return
	}
	if b.raw == nil {
		l.tooLarge(b.pos, b.total)
		return
	}
	l.gaps.message()
	for r, err := range batch.LegacyRecords(b.raw, l.decompressor) {
		if err != nil {
			l.recordsEnd(b.pos, err)
			return
		}
		l.gaps.record(r.Offset)
		if err := l.d.out.LegacyRecord(h.TimestampType(), &r); err != nil {
			l.d.threw(l.path, "record with offset %d: %s", r.Offset, err)
		}
	}
}

// behind prints the batches behind the place where Kafka throws, where there are any. A log that
// was made to its full size at once ends with zeros, and nothing in it is unread.
func (l *kafkaLog) behind(ctx context.Context, f rofs.File, threw *kafkaThrew) {
	d := l.d
	zeros, found := true, 0
	bits := d.a.bits
	d.threw(l.path, "%s", threw)
	next := int64(-1)
	if l.gaps.any {
		next = l.gaps.last + 1
	}
	for frame, err := range segment.Scan(f, l.chain.size, segment.ScanOptions{From: threw.pos, NextOffset: next}) {
		if err != nil {
			d.unread(l.path, err)
			return
		}
		if d.stopped(ctx) {
			return
		}
		zeros = zeros && frame.Kind == segment.Zeros
		if frame.Kind == segment.Batch || frame.Kind == segment.Legacy {
			found++
			l.frame(ctx, &frame)
		}
	}
	switch {
	case zeros:
		d.a.bits = bits
		d.say("%s: zeros from position %d to the end: a preallocated log that was not closed; no batch is left out", l.path, threw.pos)
	case found == 0:
		d.say("%s: no batch behind position %d", l.path, threw.pos)
	default:
		d.say("%s: %d batches and messages behind position %d are printed, too", l.path, found, threw.pos)
	}
}

// frame prints a batch that kafsck found beyond Kafka's reach.
func (l *kafkaLog) frame(ctx context.Context, f *segment.Frame) {
	b := kafkaBatch{pos: f.Pos, total: f.Len, magic: 2, raw: f.Raw}
	if f.Kind == segment.Legacy {
		b.magic, b.offset = f.Legacy.Magic, f.Legacy.Offset
	}
	if f.Raw != nil {
		b.head = f.Raw[:min(batch.HeaderSize, len(f.Raw))]
		l.batch(ctx, &b)
		return
	}
	valid := !errors.Is(f.Damage, batch.ErrCRC)
	if f.Kind == segment.Batch {
		l.d.out.Batch(&f.Batch.Header, f.Pos, valid)
	} else {
		l.d.out.Legacy(&f.Legacy, f.Pos, valid)
	}
	if l.d.deep {
		l.tooLarge(f.Pos, f.Len)
	}
}

// hidden says whether there are batches in what Kafka calls invalid bytes. They are not printed:
// kafka-dump-log ends without an exception here, and so the output is the same.
func (l *kafkaLog) hidden(ctx context.Context, f rofs.File) {
	n := 0
	first := int64(0)
	for frame, err := range segment.Scan(f, l.chain.size, segment.ScanOptions{From: l.chain.pos, NextOffset: -1}) {
		if err != nil {
			l.d.unread(l.path, err)
			return
		}
		if l.d.stopped(ctx) {
			return
		}
		if frame.Kind == segment.Batch || frame.Kind == segment.Legacy {
			if n++; n == 1 {
				first = frame.Pos
			}
		}
	}
	if n > 0 {
		l.d.say("%s: among these bytes are %d batches that kafka-dump-log does not find, the first at position %d: kafsck dump %s", l.path, n, first, report.ShellWord(l.path))
	}
}
