package replica

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
	"kafsck/segment"
)

// recordWatch decodes every record of every sound batch, in parallel over batches, and
// reports what it finds in the order of the files.
//
//	pass        copies batches into parcels        |1|2|3|4|5|     filling 6
//	workers     decode parcels, any order           ✓   ✓
//	pass        takes results, first parcel first   1
//
// The pass waits for the oldest parcel when too many bytes are under way.
type recordWatch struct {
	log     *Log
	filling *parcel
	queue   []*parcel // handed to workers, oldest first
	bytes   int64     // in queue
	free    []*parcel
	cost    expansion
}

const (
	// parcelSize in bytes: large enough that handing it over costs nothing, small enough
	// for the cache of a core.
	parcelSize = 256 << 10
	// maxUnderWay bounds the bytes of one log that wait for a worker or are with one.
	maxUnderWay = 32 << 20
	// maxCopied in bytes: the pass does not copy a batch that is larger, but waits for it.
	maxCopied = 4 << 20
)

// parcel is a number of batches on their way to a worker and what it found in them.
type parcel struct {
	data  []byte
	items []parcelItem

	done      chan struct{}
	anomalies []Anomaly
	produced  int64 // bytes that came out of compressed batches
	skip      bool  // decode nothing more that is compressed: see expansion
	panicked  any
}

// parcelItem is one batch, or one message if legacy, of n bytes in parcel.data.
type parcelItem struct {
	segment  int
	position int64
	n        int
	legacy   bool
	next     int64 // legacy: where the log before it ends, -1 unknown
}

func newRecordWatch(l *Log) *recordWatch {
	return &recordWatch{log: l, filling: newParcel()}
}

func newParcel() *parcel { return &parcel{done: make(chan struct{}, 1)} }

// frame takes a copy of a batch or message that a broker could read.
// next is where the log before it ends, -1 unknown.
func (w *recordWatch) frame(seg int, f *segment.Frame, next int64) {
	if f.Damage != nil || f.Kind != segment.Batch && f.Kind != segment.Legacy {
		return
	}
	if f.Raw == nil {
		w.send()
		a := Anomaly{Kind: DecompressionLimit, Segment: seg, Position: f.Pos, Length: f.Len, From: -1, To: -1, Epoch: -1,
			Want: "at most " + humanize.Comma(segment.MaxRaw) + " bytes", Got: humanize.Comma(f.Len) + " bytes", Detail: "the batch was not held in memory as a whole"}
		if f.Kind == segment.Batch {
			a = placed(a, &f.Batch.Header)
		}
		w.drain(0)
		w.log.Anomalies.add(a)
		return
	}
	w.add(parcelItem{segment: seg, position: f.Pos, n: len(f.Raw), legacy: f.Kind == segment.Legacy, next: next}, f.Raw)
}

// batch takes a copy of a sound batch of magic 2.
func (w *recordWatch) batch(seg int, position int64, raw []byte) {
	w.add(parcelItem{segment: seg, position: position, n: len(raw)}, raw)
}

func (w *recordWatch) add(it parcelItem, raw []byte) {
	if len(raw) > maxCopied {
		w.send()
		w.filling = &parcel{data: raw, items: []parcelItem{it}, done: w.filling.done}
		w.send()
		w.drain(0)
		return
	}
	if p := w.filling; len(p.data) > 0 && len(p.data)+len(raw) > parcelSize {
		w.send()
	}
	p := w.filling
	p.data = append(p.data, raw...)
	p.items = append(p.items, it)
}

// send hands the parcel that is being filled to a worker.
func (w *recordWatch) send() {
	p := w.filling
	if len(p.items) == 0 {
		return
	}
	w.drain(maxUnderWay - int64(len(p.data)))
	p.skip = w.cost.tooMuch()
	w.queue = append(w.queue, p)
	w.bytes += int64(len(p.data))
	go p.work()
	if n := len(w.free); n > 0 {
		w.filling, w.free = w.free[n-1], w.free[:n-1]
	} else {
		w.filling = newParcel()
	}
}

// drain waits for the oldest parcels until no more than bytes, and no more parcels than
// keep all cores busy, are under way.
func (w *recordWatch) drain(bytes int64) {
	for len(w.queue) > 0 && (w.bytes > bytes || len(w.queue) > 2*runtime.GOMAXPROCS(0)) {
		p := w.queue[0]
		<-p.done
		w.queue = w.queue[1:]
		w.bytes -= int64(len(p.data))
		if p.panicked != nil {
			panic(p.panicked)
		}
		for _, a := range p.anomalies {
			w.log.Anomalies.add(a)
		}
		w.cost.add(int64(len(p.data)), p.produced)
		if cap(p.data) <= 2*parcelSize {
			*p = parcel{data: p.data[:0], items: p.items[:0], done: p.done, anomalies: p.anomalies[:0]}
			w.free = append(w.free, p)
		}
	}
}

// end waits for everything.
func (w *recordWatch) end() {
	w.send()
	w.drain(0)
}

// abandon waits for the workers of a pass that failed.
func (w *recordWatch) abandon() {
	for _, p := range w.queue {
		<-p.done
	}
}

// expansion bounds the time that compressed batches can cost: a batch of 2 KiB may hold
// 64 MiB. Real data rarely hold 50 times their size, and never for long.
type expansion struct{ in, out int64 }

func (e *expansion) add(in, out int64) { e.in, e.out = e.in+in, e.out+out }

func (e *expansion) tooMuch() bool { return e.out > maxExpansion*e.in+expansionSlack }

const (
	maxExpansion   = 200
	expansionSlack = 4 << 30
)

// decoders are shared by all logs that are read at once, one for each core, so that their
// memory does not grow with the number of logs.
var decoders = func() chan *recordDecoder {
	n := runtime.GOMAXPROCS(0)
	c := make(chan *recordDecoder, n)
	for range n {
		c <- &recordDecoder{small: batch.NewDecompressor(smallOutput)}
	}
	return c
}()

// A batch that holds more than smallOutput is decoded again by largeDecoder, of which
// there is one.
const smallOutput = 8 << 20

var largeDecoder struct {
	sync.Mutex
	batch.Decompressor
}

// decode decodes a batch, and where it holds more than smallOutput once again with largeDecoder. The
// error that is left wraps batch.ErrTooLarge for one that holds more than batch.DefaultLimit.
func (d *recordDecoder) decode(with func(*batch.Decompressor) error) error {
	err := with(d.small)
	if !errors.Is(err, batch.ErrTooLarge) {
		return err
	}
	d.parcel.produced += smallOutput
	largeDecoder.Lock()
	defer largeDecoder.Unlock()
	return with(&largeDecoder.Decompressor)
}

// work decodes a parcel.
func (p *parcel) work() {
	d := <-decoders
	defer func() {
		if v := recover(); v != nil {
			p.panicked = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
		}
		decoders <- d
		p.done <- struct{}{}
	}()
	d.parcel = p
	rest := p.data
	for i := range p.items {
		it := &p.items[i]
		raw := rest[:it.n:it.n]
		rest = rest[it.n:]
		if it.legacy {
			d.message(it, raw)
		} else {
			d.batch(it, raw)
		}
	}
}
