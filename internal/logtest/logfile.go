package logtest

import "encoding/binary"

// open reports whether there is a segment to write to.
func (b *builder) open(v *values) bool {
	if b.log == nil {
		v.fail("no segment yet")
		return false
	}
	return true
}

func (b *builder) append(p []byte, legacy bool) {
	pos := len(b.log.Data)
	b.log.Data = append(b.log.Data, p...)
	b.places = append(b.places, place{pos: pos, end: pos + len(p), legacy: legacy})
}

func (b *builder) batch(v *values) {
	if !b.open(v) {
		return
	}
	base := v.int("base", b.next)
	b.epoch = int32(v.int("epoch", int64(b.epoch)))
	batch := Batch{
		BaseOffset: base, Epoch: b.epoch, Codec: v.codec(),
		Transactional: v.flag("txn"), AppendTime: v.int("appendtime", 0), DeleteHorizon: v.int("horizon", 0),
		Deltas: v.ints("deltas"), LastDelta: int32(v.int("lastdelta", 0)), MaxTimestamp: v.int("maxts", T0+base),
	}
	if v.has("pid") {
		batch.Producer = &Producer{ID: v.int("pid", 0), Epoch: int16(v.int("pepoch", 0)), Sequence: int32(v.int("seq", 0))}
	}
	records := v.int("records", 1)
	if batch.Deltas != nil {
		records = int64(len(batch.Deltas))
	}
	if records < 0 || records > 1<<20 {
		v.fail("records=%d", records)
		return
	}
	key, value := v.template("key", "k%d"), v.template("value", "v%d")
	ts, step, size := v.int("ts", T0+base), v.int("step", 1), v.int("size", 0)
	for i := range int(records) {
		offset := base + int64(batch.delta(i))
		r := Record{Timestamp: ts + step*int64(i), Key: key(offset), Value: value(offset)}
		for r.Value != nil && int64(len(r.Value)) < size {
			r.Value = append(r.Value, '.')
		}
		batch.Records = append(batch.Records, r)
	}
	b.append(batch.Encode(), false)
	b.next = batch.NextOffset()
}

func (b *builder) marker(v *values) {
	if !b.open(v) {
		return
	}
	base := v.int("base", b.next)
	b.epoch = int32(v.int("epoch", int64(b.epoch)))
	commit, abort := v.flag("commit"), v.flag("abort")
	if commit == abort {
		v.fail("commit or abort")
	}
	m := Marker{
		Offset: base, Epoch: b.epoch, Commit: commit, Timestamp: v.int("ts", T0+base),
		ProducerID: v.int("pid", 0), ProducerEpoch: int16(v.int("pepoch", 0)), CoordinatorEpoch: int32(v.int("coordinator", 0)),
	}
	b.append(m.Batch().Encode(), false)
	b.next = base + 1
}

func (b *builder) message(v *values) {
	if !b.open(v) {
		return
	}
	base, count := v.int("base", b.next), v.int("count", 1)
	if count < 1 || count > 1<<20 {
		v.fail("count=%d", count)
		return
	}
	magic, codec := int8(v.int("magic", 1)), v.codec()
	key, value, ts := v.template("key", "k%d"), v.template("value", "v%d"), v.int("ts", T0+base)
	list := make([]Message, count)
	for i := range list {
		offset := base + int64(i)
		list[i] = Message{Magic: magic, Offset: offset, Timestamp: ts + int64(i), Key: key(offset), Value: value(offset)}
	}
	if codec != None {
		list = []Message{Wrapper(codec, list...)}
	}
	for _, m := range list {
		b.append(m.Encode(), true)
	}
	b.next = base + count
}

func (b *builder) raw(v *values) {
	if b.open(v) {
		b.log.Data = append(b.log.Data, v.content()...)
	}
}

func (b *builder) torn(v *values) {
	if !b.open(v) {
		return
	}
	n := int(v.int("bytes", 1))
	if n < 0 || n > len(b.log.Data) {
		v.fail("the file has %d bytes", len(b.log.Data))
		return
	}
	b.log.Data = b.log.Data[:len(b.log.Data)-n]
}

// fields of a batch, and of a message: position and size in bytes.
var (
	batchFields = map[string][2]int{
		"baseoffset": {0, 8}, "length": {8, 4}, "epoch": {12, 4}, "magic": {16, 1}, "crc": {17, 4}, "attributes": {21, 2},
		"lastoffsetdelta": {23, 4}, "basetimestamp": {27, 8}, "maxtimestamp": {35, 8}, "producerid": {43, 8},
		"producerepoch": {51, 2}, "basesequence": {53, 4}, "count": {57, 4}, "payload": {61, 0},
	}
	messageFields = map[string][2]int{
		"baseoffset": {0, 8}, "length": {8, 4}, "crc": {12, 4}, "magic": {16, 1}, "attributes": {17, 1}, "payload": {18, 0},
	}
)

func (b *builder) damage(v *values) {
	if !b.open(v) {
		return
	}
	if v.has("pos") {
		pos := v.int("pos", 0)
		if pos < 0 || pos > int64(len(b.log.Data)) {
			v.fail("the file has %d bytes", len(b.log.Data))
			return
		}
		v.flip(b.log.Data[pos:], false)
		return
	}
	k := v.int("batch", 0)
	if k < 0 || k >= int64(len(b.places)) {
		v.fail("the file has %d batches", len(b.places))
		return
	}
	at := b.places[k]
	if at.end > len(b.log.Data) {
		v.fail("batch %d is torn", k)
		return
	}
	fields := batchFields
	if at.legacy {
		fields = messageFields
	}
	name := v.text("field", "payload")
	field, ok := fields[name]
	if !ok {
		v.fail("no field %q", name)
		return
	}
	whole := b.log.Data[at.pos:at.end]
	bytes := whole[field[0]:]
	if name != "payload" {
		bytes = bytes[:field[1]]
	}
	if v.has("set") {
		store(bytes[:field[1]], uint64(v.int("set", 0)))
	} else {
		v.flip(bytes, name != "payload")
	}
	if v.flag("fixcrc") && !at.legacy {
		SetCRC(whole)
	}
}

// store writes the low bytes of n, big endian.
func store(p []byte, n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	copy(p, b[8-len(p):])
}

func (v *values) flip(p []byte, number bool) {
	bit := v.int("flip", 0)
	if bit < 0 || bit/8 >= int64(len(p)) {
		v.fail("flip=%d: there are %d bytes", bit, len(p))
		return
	}
	i := int(bit / 8)
	if number {
		i = len(p) - 1 - i
	}
	p[i] ^= 1 << (bit % 8)
}
