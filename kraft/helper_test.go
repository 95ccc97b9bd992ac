package kraft

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kafsck/internal/wire"
)

var archive = sync.OnceValues(func() (map[string][]byte, error) {
	f, err := os.Open(filepath.Join("testdata", "metadata.tar.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[path.Clean(h.Name)], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
})

// recorded returns the files of testdata/metadata.tar.gz.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := archive()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func file(name string, b []byte) File {
	return File{Name: name, R: bytes.NewReader(b), Size: int64(len(b))}
}

// node returns the files of a node, "kafka-4.3.1/stage2-clean/node-1"; with old, those
// set aside as well.
func node(t testing.TB, dir string, old bool) Input {
	t.Helper()
	in := Input{}
	for name, b := range recorded(t) {
		base := path.Base(name)
		if path.Dir(name) != dir || base == "bootstrap.checkpoint" {
			continue
		}
		live := strings.TrimSuffix(base, ".deleted")
		if live != base && !old {
			continue
		}
		if path.Ext(live) == ".log" {
			in.Logs = append(in.Logs, file(base, b))
		} else {
			in.Snapshots = append(in.Snapshots, file(base, b))
		}
	}
	if len(in.Logs) == 0 {
		t.Fatalf("no files of %s", dir)
	}
	slices.SortFunc(in.Logs, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(in.Snapshots, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return in
}

func read(t testing.TB, in Input) *Log {
	t.Helper()
	l, err := Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sound fails the test if anything was damaged.
func sound(t testing.TB, l *Log) {
	t.Helper()
	if len(l.Damaged)+len(l.Gaps) > 0 {
		t.Errorf("damaged %v, gaps %v", l.Damaged, l.Gaps)
	}
}

func content(t testing.TB, f File) []byte {
	t.Helper()
	b := make([]byte, f.Size)
	if _, err := f.R.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The builders below write batches as DefaultRecordBatch.writeHeader and records as
// DefaultRecord.writeTo do, for what no recorded log holds.

const epochMs = 1_700_000_000_000

// logOf is a segment from offset 0 on, with one batch for each argument.
func logOf(batches ...[][]byte) []byte {
	var out []byte
	offset := int64(0)
	for _, values := range batches {
		out = append(out, batchOf(offset, 1, 0, values...)...)
		offset += int64(len(values))
	}
	return out
}

// batchOf is one batch; the records of a control batch (attributes 0x20) are given as
// their key, value, key, value.
func batchOf(offset int64, epoch int32, attributes int16, values ...[]byte) []byte {
	var records []byte
	count := 0
	for i := 0; i < len(values); i++ {
		var key []byte
		if attributes&0x20 != 0 {
			key = values[i]
			i++
		}
		rec := []byte{0, 0} // attributes, timestamp delta
		rec = binary.AppendVarint(rec, int64(count))
		if key == nil {
			rec = binary.AppendVarint(rec, -1)
		} else {
			rec = append(binary.AppendVarint(rec, int64(len(key))), key...)
		}
		rec = append(binary.AppendVarint(rec, int64(len(values[i]))), values[i]...)
		rec = append(rec, 0) // headers
		records = append(append(records, binary.AppendVarint(nil, int64(len(rec)))...), rec...)
		count++
	}
	body := binary.BigEndian.AppendUint16(nil, uint16(attributes))
	body = binary.BigEndian.AppendUint32(body, uint32(count-1))
	body = binary.BigEndian.AppendUint64(body, uint64(epochMs+offset))
	body = binary.BigEndian.AppendUint64(body, uint64(epochMs+offset))
	body = binary.BigEndian.AppendUint64(body, ^uint64(0))
	body = binary.BigEndian.AppendUint16(body, ^uint16(0))
	body = binary.BigEndian.AppendUint32(body, ^uint32(0))
	body = binary.BigEndian.AppendUint32(body, uint32(count))
	body = append(body, records...)

	out := binary.BigEndian.AppendUint64(nil, uint64(offset))
	out = binary.BigEndian.AppendUint32(out, uint32(4+1+4+len(body)))
	out = binary.BigEndian.AppendUint32(out, uint32(epoch))
	out = append(out, 2)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, body...)
}

// snapshotOf is a snapshot file of epoch 1 with the records given in one batch.
func snapshotOf(values ...[]byte) []byte {
	out := batchOf(0, 1, 0x20, []byte{0, 0, 0, 3}, append(binary.BigEndian.AppendUint64([]byte{0, 0}, epochMs+77), 0))
	if len(values) > 0 {
		out = append(out, batchOf(1, 1, 0, values...)...)
	}
	return append(out, batchOf(1+int64(len(values)), 1, 0x20, []byte{0, 0, 0, 4}, []byte{0, 0, 0})...)
}

func records(values ...[]byte) [][]byte { return values }

func uvarint(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func str(s string) []byte { return append(uvarint(len(s)+1), s...) }

func ints(l ...int32) []byte {
	b := uvarint(len(l) + 1)
	for _, v := range l {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func int32be(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

func rec(apiKey, version int, parts ...[]byte) []byte {
	b := append([]byte{1}, uvarint(apiKey)...)
	b = append(b, uvarint(version)...)
	return append(b, bytes.Join(parts, nil)...)
}

func tags(fields ...[]byte) []byte { return append(uvarint(len(fields)), bytes.Join(fields, nil)...) }

func tag(n int, payload []byte) []byte {
	return append(append(uvarint(n), uvarint(len(payload))...), payload...)
}

var topicA = wire.UUID{1, 2, 3, 15: 9}

func topicRecord(name string, id wire.UUID) []byte { return rec(keyTopic, 0, str(name), id[:], tags()) }

func partitionRecord(id wire.UUID, partition, leader, leaderEpoch, partitionEpoch int32, replicas, isr []byte) []byte {
	return rec(keyPartition, 0, int32be(partition), id[:], replicas, isr, ints(), ints(), int32be(leader), int32be(leaderEpoch), int32be(partitionEpoch), tags())
}

func leaderChange(id wire.UUID, partition, leader int32, isr []byte) []byte {
	return rec(keyPartitionChange, 0, int32be(partition), id[:], tags(tag(0, isr), tag(1, int32be(leader))))
}

func configRecord(resourceType byte, resource, name string, value *string) []byte {
	v := []byte{0}
	if value != nil {
		v = str(*value)
	}
	return rec(keyConfig, 0, []byte{resourceType}, str(resource), str(name), v, tags())
}

var (
	begin = rec(keyBeginTransaction, 0, tags())
	end   = rec(keyEndTransaction, 0, tags())
	abort = rec(keyAbortTransaction, 0, tags())
	noOp  = rec(keyNoOp, 0, tags())
)
