package batch

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
)

// legacyRecords collects copies of what LegacyRecords yields, and the error that ends it.
func legacyRecords(t testing.TB, raw []byte, d *Decompressor) ([]LegacyRecord, error) {
	t.Helper()
	var all []LegacyRecord
	var end error
	for rec, err := range LegacyRecords(raw, d) {
		if end != nil {
			t.Fatalf("iteration went on after %v", end)
		}
		if err != nil {
			end = err
			continue
		}
		rec.Key, rec.Value, rec.Raw = clone(rec.Key), clone(rec.Value), clone(rec.Raw)
		all = append(all, rec)
	}
	return all, end
}

// legacyLines is short text of records, for comparison.
func legacyLines(all []LegacyRecord) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%d %v %d %s=%s %v crc %08x\n", r.Offset, r.TimestampType, r.Timestamp, r.Key, r.Value, r.Codec, r.CRC)
	}
	return b.String()
}

func TestLegacyRecordsVectors(t *testing.T) {
	const kv0, kw0, kv1, kw1 = 0x1fecd70a, 0x68ebe79c, 0x39268c33, 0x8faf6365
	for _, c := range []struct{ vector, want string }{
		{"v0_plain", fmt.Sprintf("20 NoTimestampType -1 k=v none crc %08x\n", kv0)},
		{"v1_plain", fmt.Sprintf("20 CreateTime %d k=v none crc %08x\n", int64(t0), kv1)},
		{"v0_lz4", fmt.Sprintf("20 NoTimestampType -1 k=v lz4 crc %08x\n21 NoTimestampType -1 k=w lz4 crc %08x\n", kv0, kw0)},
		{"v0_snappy", fmt.Sprintf("20 NoTimestampType -1 k=v snappy crc %08x\n21 NoTimestampType -1 k=w snappy crc %08x\n", kv0, kw0)},
		{"v1_lz4", fmt.Sprintf("20 CreateTime %d k=v lz4 crc %08x\n21 CreateTime %d k=w lz4 crc %08x\n", int64(t0), kv1, int64(t0)+1, kw1)},
		{"v1_snappy", fmt.Sprintf("20 CreateTime %d k=v snappy crc %08x\n21 CreateTime %d k=w snappy crc %08x\n", int64(t0), kv1, int64(t0)+1, kw1)},
	} {
		got, err := legacyRecords(t, vector(t, c.vector), nil)
		if err != nil || legacyLines(got) != c.want {
			t.Errorf("%s: %v\n got %swant %s", c.vector, err, legacyLines(got), c.want)
		}
		for _, r := range got {
			if err := CheckLegacyCRC(r.Raw); err != nil || r.Extra != 0 || int64(len(r.Raw)) != r.Len {
				t.Errorf("%s: %+v: %v", c.vector, r, err)
			}
		}
	}
}

// message makes a message of magic 0 or 1; a nil key or value is null.
func message(magic int8, offset int64, attributes byte, timestamp int64, key, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(magic), attributes)
	if magic > 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(timestamp))
	}
	for _, field := range [][]byte{key, value} {
		n := int32(len(field))
		if field == nil {
			n = -1
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(n)), field...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

// wrapper makes a gzip wrapper around messages.
func wrapper(t testing.TB, magic int8, offset int64, attributes byte, timestamp int64, inner ...[]byte) []byte {
	return message(magic, offset, attributes|byte(Gzip), timestamp, nil, gzipped(t, slices.Concat(inner...)))
}

// TestLegacyRecordsBase: what Kafka makes of offsets, magics and timestamps inside a wrapper
// (AbstractLegacyRecordBatch.DeepRecordsIterator).
func TestLegacyRecordsBase(t *testing.T) {
	v := []byte("v")
	m := func(magic int8, offset, timestamp int64) []byte { return message(magic, offset, 0, timestamp, nil, v) }
	for _, c := range []struct {
		name string
		raw  []byte
		want []string
	}{
		{"magic 1, relative", wrapper(t, 1, 102, 0, 9, m(1, 0, 7), m(1, 1, 9), m(1, 2, -1)), []string{"100 CreateTime 7", "101 CreateTime 9", "102 CreateTime -1"}},
		{"magic 1, compacted at the end", wrapper(t, 1, 102, 0, 9, m(1, 0, 7), m(1, 2, 9)), []string{"100 CreateTime 7", "102 CreateTime 9"}},
		{"magic 1, compacted at the front", wrapper(t, 1, 102, 0, 9, m(1, 5, 7), m(1, 7, 9)), []string{"100 CreateTime 7", "102 CreateTime 9"}},
		{"magic 1, absolute", wrapper(t, 1, 102, 0, 9, m(1, 101, 7), m(1, 102, 9)), []string{"101 CreateTime 7", "102 CreateTime 9"}},
		{"magic 1, offset 0 by librdkafka", wrapper(t, 1, 0, 0, 9, m(1, 0, 7), m(1, 1, 9)), []string{"0 CreateTime 7", "1 CreateTime 9"}},
		{"magic 1, all zero", wrapper(t, 1, 102, 0, 9, m(1, 0, 7), m(1, 0, 9)), []string{"102 CreateTime 7", "102 CreateTime 9"}},
		{"magic 1, append time", wrapper(t, 1, 101, 8, 50, m(1, 0, 7), m(1, 1, -1)), []string{"100 LogAppendTime 50", "101 LogAppendTime 50"}},
		{"magic 1 around magic 0", wrapper(t, 1, 101, 8, 50, m(0, 0, 0), m(0, 1, 0)), []string{"100 NoTimestampType -1", "101 NoTimestampType -1"}},
		{"magic 0, absolute", wrapper(t, 0, 101, 0, 0, m(0, 90, 0), m(0, 101, 0)), []string{"90 NoTimestampType -1", "101 NoTimestampType -1"}},
		{"magic 0, from 0", wrapper(t, 0, 101, 0, 0, m(0, 0, 0), m(0, 1, 0)), []string{"0 NoTimestampType -1", "1 NoTimestampType -1"}},
		{"magic 0 around magic 1", wrapper(t, 0, 101, 8, 0, m(1, 101, 77)), []string{"101 NoTimestampType 77"}},
	} {
		got, err := legacyRecords(t, c.raw, nil)
		var lines []string
		for _, r := range got {
			lines = append(lines, fmt.Sprintf("%d %v %d", r.Offset, r.TimestampType, r.Timestamp))
		}
		if err != nil || !slices.Equal(lines, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.name, lines, err, c.want)
		}
	}
	// Null and empty are not the same.
	got, err := legacyRecords(t, wrapper(t, 1, 1, 0, 9, message(1, 0, 0, 1, nil, []byte{}), message(1, 1, 0, 1, []byte{}, nil)), nil)
	if err != nil || len(got) != 2 || got[0].Key != nil || got[0].Value == nil || got[1].Key == nil || got[1].Value != nil {
		t.Errorf("null and empty: %+v, %v", got, err)
	}
}

func TestLegacyRecordsFaults(t *testing.T) {
	v := []byte("v")
	m := func(magic int8, offset int64) []byte { return message(magic, offset, 0, 7, nil, v) }
	bad := func(b []byte, at int, with ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], with)
		return b
	}
	nested := message(1, 1, byte(Gzip), 7, nil, gzipped(t, m(1, 0)))
	for _, c := range []struct {
		name    string
		raw     []byte
		records int
		kind    error
		text    string
	}{
		{"no value", message(1, 5, byte(Gzip), 7, nil, nil), 0, ErrRecord, "valueLength at byte 30: want a compressed set, got null"},
		{"nothing inside", wrapper(t, 1, 5, 0, 7), 0, ErrRecord, "wrapper value at decompressed byte 0: want messages, got 0 bytes without one"},
		{"less than a message inside", wrapper(t, 0, 5, 0, 7, m(0, 5)[:20]), 0, ErrRecord, "got 20 bytes without one"},
		{"zstd", message(1, 5, byte(Zstd), 7, nil, v), 0, ErrCodec, "codec at byte 17: want one that magic 1 allows, got zstd"},
		{"unknown codec", message(0, 5, 6, 7, nil, v), 0, ErrCodec, "codec at byte 17: want 0 to 4, got 6"},
		{"not gzip", message(0, 5, byte(Gzip), 7, nil, v), 0, ErrCodec, "gzip at byte 2"},
		{"compressed twice", wrapper(t, 1, 21, 0, 7, m(1, 0), nested), 1, ErrRecord, "inner message 1 attributes at decompressed byte 52: want no compression, got gzip"},
		{"magic 2 inside", wrapper(t, 1, 21, 0, 7, m(1, 0), bad(m(1, 1), 16, 2)), 1, ErrRecord, "inner message 1 magic at decompressed byte 51: want 0 or 1, got 2"},
		{"offset of the wrapper", wrapper(t, 1, 21, 0, 7, m(1, 21), m(1, 22)), 0, ErrRecord, "offset at byte 0: want at least that of the last message inside, 22, got 21"},
		{"torn", wrapper(t, 1, 21, 0, 7, m(1, 0), m(1, 1)[:30]), 1, ErrTorn, "inner message 1 at decompressed byte 35: want 35 bytes, got 30"},
		{"torn before the size", wrapper(t, 0, 21, 0, 7, m(0, 21), m(0, 1)[:11]), 1, ErrTorn, "want 12 bytes or more, got 11"},
		{"size, magic 1", wrapper(t, 1, 21, 0, 7, m(1, 0), bad(m(1, 1), 8, 0, 0, 0, 13)), 0, ErrRecord, "inner message 1 messageSize at decompressed byte 43: want at least 14, got 13"},
		{"size, magic 0", wrapper(t, 0, 21, 0, 7, m(0, 20), bad(m(0, 21), 8, 255, 0, 0, 0)), 1, ErrRecord, "inner message 1 messageSize"},
		{"key length", wrapper(t, 1, 21, 0, 7, bad(m(1, 0), 26, 0, 0, 0, 6)), 0, ErrRecord, "inner message 0 keyLength at decompressed byte 26: want at most 5, got 6"},
		{"value length", bad(m(0, 5), 22, 0, 0, 0, 2), 0, ErrRecord, "valueLength at byte 22: want at most 1, got 2"},
		{"longer than it says", append(m(0, 5), 0), 0, ErrLength, "messageSize at byte 8: want 16, got 15"},
	} {
		got, err := legacyRecords(t, c.raw, nil)
		wantError(t, err, c.kind, c.text)
		if len(got) != c.records {
			t.Errorf("%s: %d records, want %d", c.name, len(got), c.records)
		}
	}
	// What follows the value is nobody's, but no reason not to read the rest.
	longer := bad(append(m(0, 5), "more"...), 8, 0, 0, 0, 19)
	if got, err := legacyRecords(t, longer, nil); err != nil || len(got) != 1 || got[0].Extra != 4 || string(got[0].Value) != "v" {
		t.Errorf("bytes behind the value: %+v, %v", got, err)
	}
	// A cut gzip stream: with magic 0 the whole messages that came out, with magic 1 none, as
	// the offsets hang on the last.
	for magic := range int8(2) {
		var set []byte
		for i := range 400 {
			set = append(set, message(magic, int64(i), 0, int64(i*i), []byte(fmt.Sprint(i*i*i)), []byte(fmt.Sprint(i*7919)))...)
		}
		z := gzipped(t, set)
		got, err := legacyRecords(t, message(magic, 399, byte(Gzip), 1, nil, z[:len(z)-len(z)/4]), nil)
		wantError(t, err, ErrCodec, "gzip at byte")
		if (len(got) > 100) != (magic == 0) || magic == 1 && len(got) > 0 {
			t.Errorf("magic %d: %d records before the damage", magic, len(got))
		}
	}
	// The limit is the decompressor's.
	_, err := legacyRecords(t, wrapper(t, 1, 0, 0, 7, message(1, 0, 0, 7, nil, make([]byte, 100<<10))), NewDecompressor(64<<10))
	wantError(t, err, ErrTooLarge, "at most 65536 bytes decompressed")
}

// TestLegacyRecordsRecorded decodes all messages of the recorded brokers 0.9.0.1 to 2.8.2 and
// compares them with what kafka-dump-log of 4.3.1 printed of the same files, and with what
// consumers read.
func TestLegacyRecordsRecorded(t *testing.T) {
	tree := fixture.Tree(t, "old-formats")
	var d Decompressor
	dumped, read := 0, 0
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if !strings.HasPrefix(path, "dump-4.3.1/") {
			continue
		}
		part := strings.TrimSuffix(strings.TrimPrefix(path, "dump-4.3.1/"), ".txt")
		var got, want []string
		records := map[int64]LegacyRecord{}
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if !strings.HasPrefix(name, part+"/") || !strings.HasSuffix(name, ".log") {
				continue
			}
			for b := tree[name].Data; len(b) > LogOverhead; {
				size := LogOverhead + int(binary.BigEndian.Uint32(b[8:]))
				if size <= LogOverhead || size > len(b) {
					break // the preallocated end
				}
				raw := b[:size]
				b = b[size:]
				if raw[16] > 1 {
					continue
				}
				all, err := legacyRecords(t, raw, &d)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, r := range all {
					line := fmt.Sprintf("offset: %d %v: %d keySize: %d valueSize: %d isValid: %v crc: %d", r.Offset, r.TimestampType, r.Timestamp,
						sizeOf(r.Key), sizeOf(r.Value), CheckLegacyCRC(r.Raw) == nil, r.CRC)
					if r.Key != nil {
						line += " key: " + string(r.Key)
					}
					if r.Value != nil {
						line += " payload: " + string(r.Value)
					}
					got = append(got, strings.TrimSpace(line))
					records[r.Offset] = r
				}
			}
		}
		for line := range strings.Lines(string(tree[path].Data)) {
			if rest, ok := strings.CutPrefix(line, "| "); ok && strings.Contains(line, " isValid: ") {
				want = append(want, strings.TrimSpace(rest))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d records, dumped %d", part, len(got), len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("got  %s\nwant %s", got[i], want[i])
					break
				}
			}
		}
		dumped += len(want)
		stage, topic, _ := strings.Cut(strings.TrimSuffix(part, "-0"), "/broker-4/")
		if stage == "stage5-2.8.2" {
			stage += "-client-4.3.1"
		}
		read += compareConsumer(t, tree["consumer/"+stage+"/"+topic+".jsonl"], records)
	}
	if dumped < 9000 || read < 2000 {
		t.Errorf("only %d records compared with dumps, %d with consumers", dumped, read)
	}
}

func sizeOf(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// compareConsumer compares records by offset with the lines that a consumer wrote of them, and
// returns the number of records that both have.
func compareConsumer(t *testing.T, file *fstest.MapFile, records map[int64]LegacyRecord) int {
	t.Helper()
	n := 0
	if file == nil {
		return n
	}
	for line := range strings.Lines(string(file.Data)) {
		var c struct {
			Topic         string
			Offset        int64
			Timestamp     *int64 // not in the client of 0.9.0.1
			TimestampType string
			Key, Value    *string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		r, ok := records[c.Offset]
		if !ok {
			continue // of magic 2
		}
		n++
		text := func(b []byte) *string {
			if b == nil {
				return nil
			}
			s := base64.StdEncoding.EncodeToString(b)
			return &s
		}
		if c.Timestamp != nil && (r.Timestamp != *c.Timestamp || r.TimestampType.String() != c.TimestampType) || !reflect.DeepEqual(text(r.Key), c.Key) || !reflect.DeepEqual(text(r.Value), c.Value) {
			t.Errorf("%s offset %d: %v %d %q=%q, the consumer read %s", c.Topic, c.Offset, r.TimestampType, r.Timestamp, r.Key, r.Value, line)
		}
	}
	return n
}

// FuzzLegacyRecords: the invariants of LegacyRecords, whatever the bytes.
func FuzzLegacyRecords(f *testing.F) {
	seeds(f, 0, "v1_", "v0_")
	m := func(magic int8, offset int64) []byte { return message(magic, offset, 0, 7, []byte("k"), []byte("v")) }
	for _, name := range []string{"legacy-v0-gzip", "legacy-v0-lz4", "legacy-v0-snappy", "legacy-v1-lz4"} {
		log, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			f.Fatal(err)
		}
		for len(log) > 0 {
			n := LogOverhead + int(binary.BigEndian.Uint32(log[8:]))
			f.Add(log[:n:n])
			log = log[n:]
		}
	}
	f.Add(wrapper(f, 1, 102, 8, 9, m(1, 0), m(1, 2)))
	f.Add(wrapper(f, 1, 0, 0, 9, m(1, 0), m(0, 1)))
	f.Add(wrapper(f, 0, 5, 0, 9, m(0, 4), m(0, 5)[:17]))
	d, again := NewDecompressor(fuzzLimit), NewDecompressor(fuzzLimit)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < LogOverhead+LegacyMinSize {
			return
		}
		b = append([]byte(nil), b...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
		b[16] &= 1
		h, err := ParseLegacyHeader(b)
		if err != nil {
			return
		}
		set := b
		if _, value, _, err := legacyFields(h.Magic, b); err == nil && h.Codec() != None {
			set, _ = again.DecompressLegacy(h.Magic, h.Codec(), value)
		}
		first, err1 := legacyRecords(t, b, d)
		checkError(t, err1, len(b))
		pos := int64(0)
		for i, r := range first {
			if r.Pos != pos || r.Len < LogOverhead+LegacyMinSize || r.Pos+r.Len > int64(len(set)) || !bytes.Equal(set[r.Pos:r.Pos+r.Len], r.Raw) {
				t.Fatalf("record %d at %d of %d bytes, after %d of %d", i, r.Pos, r.Len, pos, len(set))
			}
			pos += r.Len
			if int64(len(r.Key)+len(r.Value)+r.Extra) != r.Len-26-8*int64(r.Magic) || r.Extra < 0 {
				t.Fatalf("%d + %d + %d bytes in a record of %d", len(r.Key), len(r.Value), r.Extra, r.Len)
			}
			in, err := ParseLegacyHeader(r.Raw)
			if err != nil || in.Offset != r.InnerOffset || in.Magic != r.Magic || in.CRC != r.CRC || in.Attributes != r.Attributes || r.Codec != h.Codec() {
				t.Fatalf("record %+v of %+v, %v", r, in, err)
			}
			if want := first[0].Offset - first[0].InnerOffset; r.Offset-r.InnerOffset != want || h.Magic == 0 && want != 0 {
				t.Fatalf("offset %d, written %d", r.Offset, r.InnerOffset)
			}
			if r.Magic == 0 && (r.Timestamp != -1 || r.TimestampType != NoTimestampType) {
				t.Fatalf("magic %d: %v %d", r.Magic, r.TimestampType, r.Timestamp)
			}
			if h.Magic == 1 && r.Magic == 1 && r.TimestampType != h.TimestampType() || r.TimestampType == LogAppendTime && r.Timestamp != h.Timestamp {
				t.Fatalf("%v %d in a wrapper of %v %d", r.TimestampType, r.Timestamp, h.TimestampType(), h.Timestamp)
			}
		}
		if err1 == nil {
			if len(first) == 0 || pos != int64(len(set)) || h.Codec() == None && len(first) != 1 {
				t.Fatalf("%d records, %d of %d bytes", len(first), pos, len(set))
			}
			if last := first[len(first)-1].Offset; h.Magic == 1 && h.Offset != 0 && last != h.Offset {
				t.Fatalf("the last record has offset %d, the wrapper %d", last, h.Offset)
			}
		}
		second, err2 := legacyRecords(t, b, again)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(err1, err2) {
			t.Fatalf("twice the same message: %v, %v", err1, err2)
		}
	})
}

func BenchmarkLegacyRecords(b *testing.B) {
	for _, c := range []Codec{None, Gzip, Snappy, LZ4} {
		b.Run(c.String(), func(b *testing.B) {
			raw := vector(b, "v1_plain")
			switch c {
			case Gzip:
				raw = wrapper(b, 1, 21, 0, 7, message(1, 0, 0, 7, nil, text(100)), message(1, 1, 0, 7, nil, text(100)))
			case Snappy:
				raw = vector(b, "v1_snappy")
			case LZ4:
				raw = vector(b, "v1_lz4")
			}
			var d Decompressor
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range LegacyRecords(raw, &d) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
