package replica

import (
	"errors"
	"fmt"
	"math"

	"kafsck/batch"
)

// What the records of a batch say whose CRC is right. Position and Length are the batch
// in the .log; Detail says what is wrong inside.
const (
	// RecordInvalid: the records do not have the number or the form that the header says, or
	// have offsets outside of it; or a message inside a compressed one has a wrong CRC.
	RecordInvalid AnomalyKind = "record-invalid"
	// CodecUnknown: the compression bits have a value that Kafka does not know, 5 to 7.
	CodecUnknown AnomalyKind = "batch-codec-unknown"
	// LZ4HeaderChecksum: the LZ4 frame has a wrong header checksum, and Kafka refuses it.
	LZ4HeaderChecksum AnomalyKind = "lz4-header-checksum"
	// LZ4LegacyChecksum: the same in format 0, where Kafka expects nothing else (KAFKA-3160).
	LZ4LegacyChecksum AnomalyKind = "lz4-legacy-checksum"
	// MaxTimestampMismatch: the header's is not the largest timestamp of the records.
	MaxTimestampMismatch AnomalyKind = "max-timestamp-mismatch"
	// DecompressionLimit: more than this program decodes. It says nothing about the bytes.
	DecompressionLimit AnomalyKind = "decompression-limit"
)

// recordDecoder looks at the records of one batch after the other.
type recordDecoder struct {
	small  *batch.Decompressor
	parcel *parcel
}

// placed fills in what the header of a batch says of its place.
func placed(a Anomaly, h *batch.Header) Anomaly {
	a.From, a.To, a.Epoch = h.BaseOffset, addOffset(h.BaseOffset, int64(h.LastOffsetDelta))+1, h.PartitionLeaderEpoch
	return a
}

// batch looks at a batch of magic 2.
//
// Source: DefaultRecordBatch.iterator and DefaultRecord.readFrom (see batch.View.Records)
// for the form; LogValidator.validateRecord and DefaultRecordBatch.writeHeader for offsets
// and the maximum of the timestamps, which the cleaner keeps up (MemoryRecords.filterTo).
func (d *recordDecoder) batch(it *parcelItem, raw []byte) {
	v, err := batch.ParseView(raw)
	h := &v.Header
	tell := func(kind AnomalyKind, want, got, detail string) {
		d.parcel.anomalies = append(d.parcel.anomalies, placed(Anomaly{Kind: kind, Segment: it.segment, Position: it.position, Length: int64(it.n),
			Want: want, Got: got, Detail: detail}, h))
	}
	if err != nil {
		tell(RecordInvalid, "", "", err.Error())
		return
	}
	codec := h.Attributes.Codec()
	if codec > batch.Zstd {
		return // told by its header, see oddHeader
	}
	if codec != batch.None && d.parcel.skip {
		tell(DecompressionLimit, fmt.Sprintf("at most %d times the size of the log", maxExpansion), "more", "compressed batches were no longer decoded from here on")
		return
	}
	var sum summary
	err = d.decode(func(with *batch.Decompressor) (err error) {
		sum, err = summarize(&v, with)
		return err
	})
	if errors.Is(err, batch.ErrTooLarge) {
		sum.bytes = batch.DefaultLimit
	}
	if codec != batch.None {
		d.parcel.produced += sum.bytes
	}
	if err == nil {
		err = sum.stray
	}
	switch e, _ := errors.AsType[*batch.Error](err); {
	case e == nil:
	case errors.Is(err, batch.ErrTooLarge):
		tell(DecompressionLimit, e.Want, e.Got, e.Place())
	case codec == batch.LZ4 && errors.Is(err, batch.ErrCodec) && d.onlyHeaderChecksum(v.Payload()):
		tell(LZ4HeaderChecksum, e.Want, e.Got, e.Place())
	default:
		tell(RecordInvalid, e.Want, e.Got, e.Place())
	}
	if err == nil && h.RecordCount > 0 && h.Attributes.TimestampType() == batch.CreateTime && sum.maxTimestamp != h.MaxTimestamp {
		tell(MaxTimestampMismatch, fmt.Sprint(sum.maxTimestamp), fmt.Sprint(h.MaxTimestamp), "maxTimestamp of the header, want the largest of the records")
	}
}

// summary is what the records of one batch have in common.
type summary struct {
	maxTimestamp int64
	bytes        int64 // of the records, decompressed
	stray        error // an offset that is not above the one before or not in the batch
}

func summarize(v *batch.View, d *batch.Decompressor) (sum summary, err error) {
	sum.maxTimestamp = math.MinInt64
	previous := int32(-1)
	i := 0
	for r, err := range v.Records(d) {
		if err != nil {
			return sum, err
		}
		if (r.OffsetDelta <= previous || r.OffsetDelta > v.LastOffsetDelta) && sum.stray == nil {
			sum.stray = &batch.Error{Pos: r.Pos, Decompressed: true, Field: fmt.Sprintf("record %d offsetDelta", i),
				Want: fmt.Sprintf("%d to %d", int64(previous)+1, v.LastOffsetDelta), Got: fmt.Sprint(r.OffsetDelta), Err: batch.ErrRecord}
		}
		previous = r.OffsetDelta
		sum.maxTimestamp = max(sum.maxTimestamp, r.Timestamp)
		sum.bytes += r.Len
		i++
	}
	return sum, nil
}

// onlyHeaderChecksum reports whether an LZ4 payload that cannot be decompressed can be
// without a look at the checksum of its frame header.
func (d *recordDecoder) onlyHeaderChecksum(payload []byte) bool {
	_, err := d.small.DecompressLegacy(0, batch.LZ4, payload)
	return err == nil || errors.Is(err, batch.ErrTooLarge)
}
