package replica

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"testing/fstest"

	"kafsck/batch"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// benchLog is a log of about size bytes in batches of records values of
// valueSize bytes.
func benchLog(size, records, valueSize int) []byte {
	var out []byte
	offset := int64(0)
	for len(out) < size {
		b := logtest.Batch{BaseOffset: offset, Epoch: 3}
		for i := range records {
			v := make([]byte, valueSize)
			binary.BigEndian.PutUint64(v, uint64(offset)+uint64(i)*0x9e3779b97f4a7c15)
			b.Records = append(b.Records, logtest.Record{Timestamp: 1_700_000_000_000 + offset, Value: v})
		}
		out = append(out, b.Encode()...)
		offset = b.NextOffset()
	}
	return out
}

func benchSource(b testing.TB, data []byte) Source {
	b.Helper()
	fsys := fstest.MapFS{
		"meta.properties":              {Data: []byte("version=1\nnode.id=1\ncluster.id=bench\n")},
		"t-0/00000000000000000000.log": {Data: data},
		"t-0/leader-epoch-checkpoint":  {Data: []byte("0\n1\n3 0\n")},
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(fsys), "bench", logdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := View(p)
		if err != nil {
			b.Fatal(err)
		}
		return sources[0]
	}
	b.Fatal("no partition")
	return Source{}
}

func benchRead(b *testing.B, data []byte) {
	src := benchSource(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := Read(context.Background(), src, Options{})
		if err != nil || l.Batches == 0 {
			b.Fatal(err)
		}
	}
}

// benchBare is the least that any reader must do: each header, each CRC.
func benchBare(b *testing.B, data []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for pos := 0; pos < len(data); {
			h, err := batch.ParseHeader(data[pos:])
			if err != nil {
				b.Fatal(err)
			}
			end := pos + int(h.Size())
			if crc32.Checksum(data[pos+21:end], table) != h.CRC {
				b.Fatal("crc")
			}
			pos = end
		}
	}
}

func BenchmarkRead16KiB(b *testing.B)  { benchRead(b, benchLog(64<<20, 16, 1000)) }
func BenchmarkBare16KiB(b *testing.B)  { benchBare(b, benchLog(64<<20, 16, 1000)) }
func BenchmarkReadSingle(b *testing.B) { benchRead(b, benchLog(16<<20, 1, 130)) }
func BenchmarkBareSingle(b *testing.B) { benchBare(b, benchLog(16<<20, 1, 130)) }

func benchRecords(b *testing.B, data []byte) {
	src := benchSource(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := Read(context.Background(), src, Options{Records: true})
		if err != nil || l.Batches == 0 || len(l.Anomalies.Kept) > 0 {
			b.Fatal(err, l.Anomalies.Kept)
		}
	}
}

func BenchmarkRecords16KiB(b *testing.B)  { benchRecords(b, benchLog(64<<20, 16, 1000)) }
func BenchmarkRecordsSingle(b *testing.B) { benchRecords(b, benchLog(16<<20, 1, 130)) }
