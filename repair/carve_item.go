package repair

import (
	"math/bits"

	"kafsck/batch"
	"kafsck/segment"
)

// item is a batch or message, whichever it is.
type item struct {
	pos, length int64
	from, to    int64
	epoch       int32
	magic       int8
	sig         uint64
	records     int64
	time        int64
	codec       batch.Codec
}

// itemOf reads what the sorting asks for.
func (c *carving) itemOf(x *segment.Carved) item {
	it := item{pos: x.Pos, length: x.Len}
	if x.Kind == segment.CarvedMessage {
		h := &x.Legacy
		it.from, it.to, it.epoch, it.magic, it.records, it.time, it.codec = h.Offset, h.Offset+1, -1, h.Magic, 1, h.Timestamp, h.Codec()
		it.sig = signature(h.Offset, -1, h.CRC, x.Len)
		if it.codec != batch.None && x.Raw != nil {
			it.from, it.records = c.inside(x.Raw, h.Offset)
		}
		return it
	}
	h := &x.Header
	it.from, it.to, it.epoch, it.magic, it.records, it.time, it.codec = h.BaseOffset, h.NextOffset(), h.PartitionLeaderEpoch, h.Magic, int64(h.RecordCount), h.MaxTimestamp, h.Attributes.Codec()
	it.sig = signature(h.BaseOffset, h.PartitionLeaderEpoch, h.CRC, x.Len)
	return it
}

// inside is the first offset of a compressed message of the old formats, and how many it holds.
func (c *carving) inside(raw []byte, offset int64) (from, records int64) {
	if c.unzip == nil {
		c.unzip = batch.NewDecompressor(0)
	}
	from = offset
	for r, err := range batch.LegacyRecords(raw, c.unzip) {
		if err != nil {
			break
		}
		if records == 0 {
			from = min(r.Offset, offset)
		}
		records++
	}
	return max(from, 0), max(records, 1)
}

// signature tells batches apart: two of the same have the same offset, epoch, CRC and size.
func signature(base int64, leaderEpoch int32, crc uint32, length int64) uint64 {
	mix := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
		return hi ^ lo
	}
	return mix(mix(uint64(base), uint64(crc)|uint64(uint32(leaderEpoch))<<32), uint64(length))
}

// snapshotEdge reports whether a batch is the first or the last one of a snapshot of the cluster
// metadata. Source: org.apache.kafka.raft.RecordsSnapshotWriter, KIP-630.
func (c *carving) snapshotEdge(x *segment.Carved) (header, footer bool) {
	if x.Kind != segment.CarvedBatch || !x.Header.Attributes.Control() || x.Header.HasProducer() || x.Raw == nil {
		return false, false
	}
	for r, err := range (batch.View{Header: x.Header, Raw: x.Raw}).Records(nil) {
		if err != nil {
			break
		}
		switch control, err := batch.ParseControl(r.Key, r.Value); {
		case err != nil:
		case control.Type == batch.ControlSnapshotHeader:
			header = true
		case control.Type == batch.ControlSnapshotFooter:
			footer = true
		}
	}
	return header, footer
}
