package cli

import (
	"bytes"
	"context"
	"runtime"

	"kafsck/batch"
	"kafsck/report"
)

// kafkaLots makes the lines of whole batches on all cores. Batches are gathered into lots, each
// lot is printed into memory by a worker, and the lots come out in their order:
//
//	log      | b | b | b | b | b | b | b | … |
//	lots     |--- lot 1 ---|--- lot 2 ---|     at most as many under way as there are cores
//	out      lines of lot 1, then of lot 2
//
// Only what needs no word on stderr is printed this way. A lot with anything else in it, an
// exception of Kafka's or lines without measure, is printed again batch by batch by kafkaLog.
type kafkaLots struct {
	l       *kafkaLog
	lot     *kafkaLot   // being gathered
	pending []*kafkaLot // with workers, the oldest first
	free    []*kafkaLot
	most    int // lots under way
}

const (
	lotBytes = 512 << 10 // of batches in a lot
	// maxLotText bounds the lines of a lot in bytes, and lotLimit what is decompressed of one
	// batch: what is larger is printed as it is read.
	maxLotText = 8 << 20
	lotLimit   = 4 << 20
)

// kafkaLot are some batches in a row and their lines.
type kafkaLot struct {
	raw     []byte
	batches []lotBatch
	runs    []offsetRun // of all batches

	text         bytes.Buffer
	out          *report.Kafka
	decompressor *batch.Decompressor
	odd          bool
	done         chan struct{}
}

type lotBatch struct {
	pos      int64
	from, to int // in kafkaLot.raw
	header   batch.Header
	runs     int // in kafkaLot.runs
}

// offsetRun are records with consecutive offsets, both inclusive.
type offsetRun struct{ first, last int64 }

// newKafkaLots returns nil where one core is all there is.
func newKafkaLots(l *kafkaLog) *kafkaLots {
	if cores := runtime.GOMAXPROCS(0); cores > 1 && l.d.deep {
		return &kafkaLots{l: l, most: min(cores, 8)}
	}
	return nil
}

// takes reports whether a batch can be printed in a lot.
func (x *kafkaLots) takes(b *kafkaBatch) bool {
	return x != nil && b.magic >= 2 && b.total >= batch.HeaderSize && b.total <= lotBytes && b.raw != nil
}

// add takes a batch, which must be one that takes accepts.
func (x *kafkaLots) add(ctx context.Context, b *kafkaBatch) {
	if x.lot != nil && len(x.lot.raw)+len(b.raw) > lotBytes {
		x.send(ctx)
	}
	if x.lot == nil {
		x.lot = x.fresh()
	}
	from := len(x.lot.raw)
	x.lot.raw = append(x.lot.raw, b.raw...)
	x.lot.batches = append(x.lot.batches, lotBatch{pos: b.pos, from: from, to: len(x.lot.raw)})
}

func (x *kafkaLots) fresh() *kafkaLot {
	if n := len(x.free); n > 0 {
		lot := x.free[n-1]
		x.free = x.free[:n-1]
		lot.raw, lot.batches, lot.runs, lot.odd = lot.raw[:0], lot.batches[:0], lot.runs[:0], false
		lot.text.Reset()
		return lot
	}
	lot := &kafkaLot{raw: make([]byte, 0, lotBytes), decompressor: batch.NewDecompressor(lotLimit), done: make(chan struct{}, 1)}
	lot.out = report.NewKafka(&lot.text, x.l.d.out.Options())
	return lot
}

// send gives the lot that was gathered to a worker.
func (x *kafkaLots) send(ctx context.Context) {
	if len(x.pending) == x.most {
		x.receive(ctx)
	}
	lot := x.lot
	x.lot, x.pending = nil, append(x.pending, lot)
	go func() {
		lot.odd = !lot.print()
		lot.done <- struct{}{}
	}()
}

// receive prints the oldest lot.
func (x *kafkaLots) receive(ctx context.Context) {
	lot := x.pending[0]
	x.pending = x.pending[1:]
	<-lot.done
	x.free = append(x.free, lot)
	switch {
	case x.l.d.stopped(ctx):
		return
	case lot.odd:
		for i := range lot.batches {
			b := &lot.batches[i]
			raw := lot.raw[b.from:b.to:b.to]
			x.l.batch(ctx, &kafkaBatch{pos: b.pos, total: int64(len(raw)), magic: 2, head: raw[:batch.HeaderSize], raw: raw})
		}
		return
	}
	x.l.d.out.Text(lot.text.Bytes())
	runs := lot.runs
	for i := range lot.batches {
		b := &lot.batches[i]
		if b.header.RecordCount == 0 {
			x.l.gaps.emptied(&b.header)
			continue
		}
		x.l.gaps.batch(&b.header)
		for _, r := range runs[:b.runs] {
			x.l.gaps.run(r)
		}
		runs = runs[b.runs:]
	}
}

// drain prints all that was taken so far.
func (x *kafkaLots) drain(ctx context.Context) {
	if x == nil {
		return
	}
	if x.lot != nil {
		x.send(ctx)
	}
	for len(x.pending) > 0 {
		x.receive(ctx)
	}
}

// print makes the lines of a lot and reports whether they are all there is to say.
func (lot *kafkaLot) print() bool {
	for i := range lot.batches {
		b := &lot.batches[i]
		raw := lot.raw[b.from:b.to:b.to]
		h, _ := batch.ParseHeader(raw) // filled in whatever is wrong
		b.header, b.runs = h, 0
		v := batch.View{Header: h, Raw: raw}
		if lot.out.Batch(&h, b.pos, v.ComputedCRC() == h.CRC) != nil {
			return lot.giveUp()
		}
		if h.RecordCount == 0 {
			continue
		}
		for r, err := range v.Records(lot.decompressor) {
			if err != nil || lot.out.Record(&h, &r) != nil || lot.text.Len() > maxLotText {
				return lot.giveUp()
			}
			if k := len(lot.runs) - 1; b.runs > 0 && r.Offset == lot.runs[k].last+1 {
				lot.runs[k].last++
			} else {
				lot.runs = append(lot.runs, offsetRun{r.Offset, r.Offset})
				b.runs++
			}
		}
	}
	return lot.out.Flush() == nil
}

// giveUp drops the lines.
func (lot *kafkaLot) giveUp() bool {
	lot.out.Flush()
	lot.text = bytes.Buffer{}
	return false
}
