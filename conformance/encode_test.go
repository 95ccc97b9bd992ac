package conformance

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/logtest"
)

var codecs = []logtest.Codec{logtest.None, logtest.Gzip, logtest.Snappy, logtest.LZ4, logtest.Zstd}

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// TestKafkaReadsBatches has kafka-dump-log read what the tests of this module
// build: if Kafka read it otherwise than it was meant, the tests would prove
// nothing. The expectations come from what was asked of the encoder.
func TestKafkaReadsBatches(t *testing.T) {
	var batches []logtest.Batch
	offset := int64(0)
	add := func(b logtest.Batch) {
		b.BaseOffset = offset
		offset = b.NextOffset()
		batches = append(batches, b)
	}
	for i, codec := range codecs {
		records := []logtest.Record{
			{Timestamp: 1700000000000, Key: []byte("key"), Value: []byte("value"), Headers: []logtest.Header{{Key: "a", Value: []byte("1")}, {Key: "b"}}},
			{Timestamp: 1699999999000, Value: []byte(strings.Repeat("long ", 200))},
			{Timestamp: 1700000001000, Key: []byte{}, Value: []byte{}},
			{Timestamp: 1700000000500, Key: []byte("tombstone")},
		}
		epoch := int32(i)
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records})
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records, AppendTime: 1700000009000})
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records, Producer: &logtest.Producer{ID: 4000 + int64(i), Epoch: 3, Sequence: 1<<31 - 3}})
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records, Producer: &logtest.Producer{ID: 5000, Epoch: 1, Sequence: 10}, Transactional: true})
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records, Deltas: []int32{1, 4, 5, 9}, LastDelta: 12})
		add(logtest.Batch{Epoch: epoch, Codec: codec, Records: records, DeleteHorizon: 1700000100000})
	}
	add(logtest.Batch{Epoch: 7, LastDelta: 4, MaxTimestamp: 1700000000000}) // compaction left nothing
	for _, commit := range []bool{true, false} {
		add(logtest.Marker{Offset: offset, Epoch: 8, Timestamp: 1700000000000, ProducerID: 5000, ProducerEpoch: 1, Commit: commit, CoordinatorEpoch: 6}.Batch())
	}

	var want []string
	var log []byte
	for i, b := range batches {
		bytes := b.Encode()
		want = append(want, wantBatch(b, bytes, len(log)))
		for j := range b.Records {
			line := wantRecord(b, j)
			if b.Control {
				line += fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: 6", []string{"ABORT", "COMMIT"}[len(batches)-1-i])
			}
			want = append(want, line)
		}
		log = append(log, bytes...)
	}
	kafkaPrints(t, log, want)
}

func wantBatch(b logtest.Batch, bytes []byte, position int) string {
	p := logtest.Producer{ID: -1, Epoch: -1, Sequence: -1}
	if b.Producer != nil {
		p = *b.Producer
	}
	lastDelta := b.NextOffset() - 1 - b.BaseOffset
	lastSequence := int64(p.Sequence)
	if p.Sequence >= 0 {
		lastSequence = (lastSequence + lastDelta) % (1 << 31)
	}
	horizon := "OptionalLong.empty"
	if b.DeleteHorizon != 0 {
		horizon = fmt.Sprintf("OptionalLong[%d]", b.DeleteHorizon)
	}
	timestampType, timestamp := "CreateTime", b.MaxTimestamp
	for _, r := range b.Records {
		timestamp = max(timestamp, r.Timestamp)
	}
	if b.AppendTime != 0 {
		timestampType, timestamp = "LogAppendTime", b.AppendTime
	}
	return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d"+
		" partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s"+
		" position: %d %s: %d size: %d magic: 2 compresscodec: %s crc: %d isvalid: true",
		b.BaseOffset, b.BaseOffset+lastDelta, len(b.Records), p.Sequence, lastSequence, p.ID, p.Epoch,
		b.Epoch, b.Transactional, b.Control, horizon,
		position, timestampType, timestamp, len(bytes), codecNames[b.Codec], binary.BigEndian.Uint32(bytes[17:]))
}

func wantRecord(b logtest.Batch, i int) string {
	r := b.Records[i]
	delta := int32(i)
	if b.Deltas != nil {
		delta = b.Deltas[i]
	}
	timestampType, timestamp := "CreateTime", r.Timestamp
	if b.AppendTime != 0 {
		timestampType, timestamp = "LogAppendTime", b.AppendTime
	}
	sequence := int64(-1)
	if b.Producer != nil && b.Producer.Sequence >= 0 {
		sequence = (int64(b.Producer.Sequence) + int64(delta)) % (1 << 31)
	}
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Key)
	}
	line := fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
		b.BaseOffset+int64(delta), timestampType, timestamp, size(r.Key), size(r.Value), sequence, strings.Join(headers, ","))
	if b.Control {
		return line
	}
	return line + contents(r.Key, r.Value)
}

func contents(key, value []byte) string {
	var s string
	if key != nil {
		s += " key: " + string(key)
	}
	if value != nil {
		s += " payload: " + string(value)
	}
	return s
}

// TestKafkaReadsMessages is the same for the formats before 0.11.
func TestKafkaReadsMessages(t *testing.T) {
	var log []byte
	var want []string
	offset := int64(0)
	for _, magic := range []int8{0, 1} {
		for _, codec := range codecs[:4] { // zstd came with magic 2
			inner := []logtest.Message{
				{Magic: magic, Offset: offset, Timestamp: 1466000000000, Key: []byte("k"), Value: []byte("value")},
				{Magic: magic, Offset: offset + 1, Timestamp: 1466000000500, Value: []byte(strings.Repeat("long ", 200))},
				{Magic: magic, Offset: offset + 2, Timestamp: 1465999999000, Key: []byte("tombstone")},
			}
			outer := inner
			if codec != logtest.None {
				outer = []logtest.Message{logtest.Wrapper(codec, inner...)}
			}
			for i, m := range outer {
				bytes := m.Encode()
				want = append(want, fmt.Sprintf("offset: %d position: %d %s size: %d magic: %d compresscodec: %s crc: %d isvalid: true",
					m.Offset, len(log), wantTimestamp(m), len(bytes), magic, codecNames[codec], binary.BigEndian.Uint32(bytes[12:])))
				if codec == logtest.None {
					want = append(want, wantMessage(inner[i]))
				} else {
					for _, m := range inner {
						want = append(want, wantMessage(m))
					}
				}
				log = append(log, bytes...)
			}
			offset += 3
		}
	}
	kafkaPrints(t, log, want)
}

func wantMessage(m logtest.Message) string {
	return fmt.Sprintf("| offset: %d %s keySize: %d valueSize: %d isValid: true crc: %d%s",
		m.Offset, wantTimestamp(m), size(m.Key), size(m.Value), binary.BigEndian.Uint32(m.Encode()[12:]), contents(m.Key, m.Value))
}

func wantTimestamp(m logtest.Message) string {
	if m.Magic == 0 {
		return "NoTimestampType: -1"
	}
	return fmt.Sprintf("CreateTime: %d", m.Timestamp)
}

// kafkaPrints has kafka-dump-log print a segment with all its records.
func kafkaPrints(t *testing.T, log []byte, want []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), logtest.LogName(0))
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	out := kafkaDumpLog(t).run(t, "--files", path, "--print-data-log")
	if out.threw != "" {
		t.Errorf("threw %s", out.threw)
	}
	lines := strings.Split(strings.TrimSuffix(out.stdout, "\n"), "\n")
	want = append([]string{"Dumping " + path, "Log starting offset: 0"}, want...)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("what Kafka prints (-want +got):\n%s", diff)
	}
}
