package broker

import (
	"encoding/binary"
	"errors"

	"kafsck/batch"
)

// appended is a ProducerAppendInfo: what the batches of one producer make of its entry.
type appended struct {
	now     producer
	started []int64 // first offsets of transactions
}

// ended is a CompletedTxn.
type ended struct {
	first, last int64
	aborted     bool
}

func (ps *producerState) prepare(id int64) *appended {
	p, ok := ps.producers[id]
	if !ok {
		p = producer{id: id, timestamp: -1, txnFirst: noTxn, epoch: -1}
	}
	return &appended{now: p}
}

// update is ProducerStateManager.update.
func (ps *producerState) update(a *appended) error {
	ps.producers[a.now.id] = a.now
	for _, o := range a.started {
		ps.ongoing[o] = a.now.id
	}
	return ps.shrink()
}

// complete is completeTxn.
func (ps *producerState) complete(e ended, file string) error {
	if _, ok := ps.ongoing[e.first]; !ok {
		return throw(unchecked, "IllegalArgumentException", file, "a marker at offset %d ends a transaction from offset %d, which was not begun", e.last, e.first)
	}
	delete(ps.ongoing, e.first)
	ps.completed[e.first] = e.last
	return nil
}

// updateProducer is LogSegment.updateProducerState, for one batch of a segment that is recovered.
func (l *loader) updateProducer(s *modelSegment, ps *producerState, w *walked, h *[batch.HeaderSize]byte) error {
	id := int64(binary.BigEndian.Uint64(h[prodPos:]))
	if id < 0 {
		return nil
	}
	a := ps.prepare(id)
	done, err := l.appendBatch(a, w, h)
	if err != nil {
		return err
	}
	if err := ps.update(a); err != nil {
		return err
	}
	if done == nil {
		return nil
	}
	if done.aborted {
		if err := l.appendTxn(s, done.last); err != nil {
			return err
		}
	}
	return ps.complete(*done, s.log.name)
}

// appendTxn is TransactionIndex.append, which makes the file if there is none.
func (l *loader) appendTxn(s *modelSegment, last int64) error {
	if s.hasTx && s.lastTx >= last {
		return throw(unchecked, "IllegalArgumentException", s.name(".txnindex"), "an aborted transaction that ends at offset %d would follow one at %d", last, s.lastTx)
	}
	s.lastTx, s.hasTx = last, true
	if s.txns == nil {
		f, _, err := l.dir.open(s.name(".txnindex"))
		if err != nil {
			return err
		}
		s.txns = f
		f.isBuilt = true
	}
	s.txns.size += 34
	return nil
}

// loadProducers is loadProducersFromRecords: the batches in [from, to) of a .log, of which nothing is
// checked. A producer's transactions count once all are read.
func (l *loader) loadProducers(ps *producerState, f *modelFile, from, to int64) error {
	loaded := map[int64]*appended{}
	var all []ended
	pos := from
	for {
		w, ok, err := l.next(f, pos, to)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		pos = w.end()
		if w.legacy() {
			continue
		}
		b, err := l.head(&w)
		if err != nil {
			return err
		}
		h := [batch.HeaderSize]byte(b)
		id := int64(binary.BigEndian.Uint64(h[prodPos:]))
		if id < 0 {
			continue
		}
		a := loaded[id]
		if a == nil {
			if len(loaded) >= maxProducers {
				return &tooLarge{file: f.name, what: "producers", size: int64(len(loaded))}
			}
			a = ps.prepare(id)
			loaded[id] = a
		}
		done, err := l.appendBatch(a, &w, &h)
		if err != nil {
			return err
		}
		if done != nil {
			all = append(all, *done)
		}
	}
	l.out.ScanBytes += pos - from
	for _, a := range loaded {
		if err := ps.update(a); err != nil {
			return err
		}
	}
	for _, e := range all {
		if err := ps.complete(e, f.name); err != nil {
			return err
		}
	}
	return nil
}

// appendBatch is ProducerAppendInfo.append for a batch that was replicated: neither sequences nor
// epochs are insisted on.
func (l *loader) appendBatch(a *appended, w *walked, h *[batch.HeaderSize]byte) (*ended, error) {
	attributes := batch.Attributes(binary.BigEndian.Uint16(h[attrPos:]))
	epoch := int16(binary.BigEndian.Uint16(h[prodEpPos:]))
	if attributes.Control() {
		m, err := l.marker(w, h, attributes)
		if err != nil || m == nil {
			return nil, err
		}
		var done *ended
		if a.now.txnFirst != noTxn {
			done = &ended{first: a.now.txnFirst, last: w.offset, aborted: m.abort}
		}
		a.now.epoch, a.now.timestamp, a.now.txnFirst = epoch, m.timestamp, noTxn
		return done, nil
	}
	a.now.epoch = epoch
	a.now.timestamp = int64(binary.BigEndian.Uint64(h[maxTsPos:]))
	switch open := a.now.txnFirst != noTxn; {
	case open && !attributes.Transactional():
		return nil, throwAt(unchecked, "InvalidTxnStateException", w.f.name, w.pos, "producer %d writes outside of its transaction, which is open since offset %d", a.now.id, a.now.txnFirst)
	case !open && attributes.Transactional():
		a.now.txnFirst = w.offset
		a.started = append(a.started, w.offset)
	}
	return nil, nil
}

// marker is the end of a transaction, from the first record of a control batch.
type marker struct {
	abort     bool
	timestamp int64
}

// marker reads it; nil for a control batch that the cleaner emptied. What recovery takes for the end
// of the log (InvalidRecordException) and what stops the broker (anything else) is told apart.
//
// Sources: DefaultRecordBatch.iterator, EndTransactionMarker.deserialize, ControlRecordType.parse.
func (l *loader) marker(w *walked, h *[batch.HeaderSize]byte, attributes batch.Attributes) (*marker, error) {
	invalid := func(format string, args ...any) error {
		return throwAt(corruptRecord, "InvalidRecordException", w.f.name, w.pos, format, args...)
	}
	fatal := func(class, format string, args ...any) error {
		return throwAt(unchecked, class, w.f.name, w.pos, format, args...)
	}
	records := int32(binary.BigEndian.Uint32(h[countPos:]))
	if records == 0 {
		return nil, nil
	}
	if c := attributes.Codec(); c > batch.Zstd {
		return nil, fatal("IllegalArgumentException", "unknown compression %d", c)
	}
	if records < 0 {
		return nil, invalid("a record count of %d", records)
	}
	if w.size() < batch.HeaderSize {
		return nil, fatal("IllegalArgumentException", "a batch of %d bytes, less than its header", w.size())
	}
	raw, err := l.whole(w)
	if err != nil {
		return nil, err
	}
	view := batch.View{Header: batch.Header{
		BaseOffset: w.offset, Length: w.length, Magic: 2, Attributes: attributes,
		BaseTimestamp: int64(binary.BigEndian.Uint64(h[27:])), MaxTimestamp: int64(binary.BigEndian.Uint64(h[maxTsPos:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(h[deltaPos:])), BaseSequence: int32(binary.BigEndian.Uint32(h[53:])), RecordCount: records,
	}, Raw: raw}
	var first batch.Record
	some := false
	for r, err := range view.Records(l.decompressor()) {
		if err != nil {
			switch {
			case errors.Is(err, batch.ErrCodec):
				return nil, fatal("KafkaException", "a control batch that cannot be decompressed: %v", err)
			case errors.Is(err, batch.ErrTooLarge):
				return nil, &tooLarge{file: w.f.name, pos: w.pos, size: w.size()}
			}
			return nil, invalid("%v", err)
		}
		if !some {
			first, some = r, true
			first.Key, first.Value = append([]byte(nil), r.Key...), append([]byte(nil), r.Value...)
			if r.Key == nil {
				first.Key = nil
			}
			if r.Value == nil {
				first.Value = nil
			} else if len(r.Value) == 0 {
				first.Value = []byte{}
			}
		}
		if attributes.Codec() == batch.None && records > 1 {
			break // only as far as Kafka reads: the rest of a plain batch is never looked at
		}
	}
	if !some {
		return nil, invalid("a control batch without its records")
	}
	key, value := first.Key, first.Value
	switch {
	case key == nil:
		return nil, fatal("NullPointerException", "a control record without a key")
	case len(key) < 4:
		return nil, invalid("a control record with a key of %d bytes", len(key))
	case int16(binary.BigEndian.Uint16(key)) < 0:
		return nil, invalid("a control record of a negative version")
	}
	kind := int16(binary.BigEndian.Uint16(key[2:]))
	switch {
	case kind != int16(batch.ControlAbort) && kind != int16(batch.ControlCommit):
		return nil, fatal("IllegalArgumentException", "a control record of type %d, which ends no transaction", kind)
	case value == nil:
		return nil, fatal("NullPointerException", "a transaction marker without a value")
	case len(value) < 2:
		return nil, fatal("BufferUnderflowException", "a transaction marker of %d bytes", len(value))
	case int16(binary.BigEndian.Uint16(value)) < 0:
		return nil, invalid("a transaction marker of a negative version")
	case len(value) < 6:
		return nil, fatal("RuntimeException", "a transaction marker of %d bytes", len(value))
	}
	return &marker{abort: kind == int16(batch.ControlAbort), timestamp: first.Timestamp}, nil
}
