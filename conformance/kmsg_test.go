package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafsck/batch"
	"kafsck/segment"
)

// TestSecondDecoder reads every undamaged batch with franz-go's kmsg as well
// and compares all fields of headers and records.
func TestSecondDecoder(t *testing.T) {
	batches, records := 0, 0
	for _, path := range findFiles(t, segmentName) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		stat, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		d := batch.NewDecompressor(batch.DefaultLimit)
		for frame, err := range segment.Scan(f, stat.Size(), segment.ScanOptions{NextOffset: -1}) {
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if frame.Kind != segment.Batch || frame.Damage != nil {
				continue
			}
			n, err := compareWithKmsg(frame.Batch, d)
			if err != nil {
				t.Errorf("%s: batch at %d: %v", path, frame.Pos, err)
			}
			batches++
			records += n
		}
		f.Close()
	}
	t.Logf("%d batches, %d records", batches, records)
}

func compareWithKmsg(v batch.View, d *batch.Decompressor) (records int, err error) {
	var other kmsg.RecordBatch
	if err := other.ReadFrom(v.Raw); err != nil {
		return 0, fmt.Errorf("kmsg: %w", err)
	}
	ours := kmsg.RecordBatch{
		FirstOffset:          v.BaseOffset,
		Length:               v.Length,
		PartitionLeaderEpoch: v.PartitionLeaderEpoch,
		Magic:                v.Magic,
		CRC:                  int32(v.CRC),
		Attributes:           int16(v.Attributes),
		LastOffsetDelta:      v.LastOffsetDelta,
		FirstTimestamp:       v.BaseTimestamp,
		MaxTimestamp:         v.MaxTimestamp,
		ProducerID:           v.ProducerID,
		ProducerEpoch:        v.ProducerEpoch,
		FirstSequence:        v.BaseSequence,
		NumRecords:           v.RecordCount,
	}
	if got, want := header(ours), header(other); got != want {
		return 0, fmt.Errorf("header\nkmsg:   %s\nkafsck: %s", want, got)
	}
	// The payload is decompressed by kafsck: kmsg has no codecs. That the result
	// is right is what the comparison with Kafka's own tool shows.
	blob, err := d.Decompress(v.Attributes.Codec(), other.Records)
	if err != nil {
		return 0, err
	}
	blob = bytes.Clone(blob)
	position := 0
	for r, err := range v.Records(d) {
		if err != nil {
			return records, err
		}
		length, width := binary.Varint(blob[position:])
		if width <= 0 || length < 0 || int64(len(blob)-position-width) < length {
			return records, fmt.Errorf("record %d does not fit at %d", records, position)
		}
		end := position + width + int(length)
		var m kmsg.Record
		if err := m.ReadFrom(blob[position:end]); err != nil {
			return records, fmt.Errorf("kmsg: record %d: %w", records, err)
		}
		if got, want := ourRecord(r, v), kmsgRecord(m, v); got != want {
			return records, fmt.Errorf("record %d\nkmsg:   %s\nkafsck: %s", records, want, got)
		}
		if r.Pos != int64(position) || r.Len != int64(end-position) {
			return records, fmt.Errorf("record %d: kafsck says [%d, +%d), it is [%d, %d)", records, r.Pos, r.Len, position, end)
		}
		position = end
		records++
	}
	if records != int(v.RecordCount) || position != len(blob) {
		return records, fmt.Errorf("%d of %d records, %d of %d bytes", records, v.RecordCount, position, len(blob))
	}
	return records, nil
}

func header(b kmsg.RecordBatch) string {
	b.Records = nil
	return fmt.Sprintf("%+v", b)
}

func ourRecord(r batch.Record, v batch.View) string {
	s := fmt.Sprintf("offset %d key %s value %s", r.Offset, text(r.Key), text(r.Value))
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %q=%s", h.Key, text(h.Value))
	}
	return s + fmt.Sprintf(" time %d", r.Timestamp)
}

func kmsgRecord(m kmsg.Record, v batch.View) string {
	s := fmt.Sprintf("offset %d key %s value %s", v.BaseOffset+int64(m.OffsetDelta), text(m.Key), text(m.Value))
	for _, h := range m.Headers {
		s += fmt.Sprintf(" %q=%s", h.Key, text(h.Value))
	}
	timestamp := v.BaseTimestamp + m.TimestampDelta64
	if v.Attributes.TimestampType().String() == "LogAppendTime" {
		timestamp = v.MaxTimestamp
	}
	return s + fmt.Sprintf(" time %d", timestamp)
}

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}
