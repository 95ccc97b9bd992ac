package replica

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/fstest"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// besideLog are the .index and .timeindex with an entry for each 4096 bytes, as any
// broker writes them.
func besideLog(b *testing.B, data []byte) (index, times []byte) {
	b.Helper()
	since := int64(0)
	for pos := int64(0); pos < int64(len(data)); {
		h, err := batch.ParseHeader(data[pos:])
		if err != nil {
			b.Fatal(err)
		}
		if since > 4096 || pos+h.Size() == int64(len(data)) {
			index = binary.BigEndian.AppendUint32(index, uint32(h.LastOffset()))
			index = binary.BigEndian.AppendUint32(index, uint32(pos))
			times = binary.BigEndian.AppendUint64(times, uint64(h.MaxTimestamp))
			times = binary.BigEndian.AppendUint32(times, uint32(h.LastOffset()))
			since = 0
		}
		since += h.Size()
		pos += h.Size()
	}
	return index, times
}

func benchFiles(b *testing.B, data []byte, opt Options) {
	index, times := besideLog(b, data)
	fsys := fstest.MapFS{
		"meta.properties":                    {Data: []byte("version=1\nnode.id=1\ncluster.id=bench\n")},
		".kafka_cleanshutdown":               {},
		"t-0/00000000000000000000.log":       {Data: data},
		"t-0/00000000000000000000.index":     {Data: index},
		"t-0/00000000000000000000.timeindex": {Data: times},
		"t-0/leader-epoch-checkpoint":        {Data: []byte("0\n1\n3 0\n")},
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(fsys), "bench", logdir.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for p := range c.AllPartitions() {
		sources, err := View(p)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			l, err := Read(context.Background(), sources[0], opt)
			if err != nil || len(l.Anomalies.Kept) > 0 {
				b.Fatal(err, l.Anomalies.Kept)
			}
		}
	}
}

func BenchmarkSingleWithoutFiles(b *testing.B) { benchFiles(b, benchLog(16<<20, 1, 130), Options{}) }
func BenchmarkSingleFiles(b *testing.B) {
	benchFiles(b, benchLog(16<<20, 1, 130), Options{Files: true})
}
func Benchmark16KiBWithoutFiles(b *testing.B) { benchFiles(b, benchLog(64<<20, 16, 1000), Options{}) }
func Benchmark16KiBFiles(b *testing.B) {
	benchFiles(b, benchLog(64<<20, 16, 1000), Options{Files: true})
}

// One idempotent producer, single-record batches.
func BenchmarkSingleProducerFiles(b *testing.B) {
	data := benchLog(16<<20, 1, 130)
	for pos := int64(0); pos < int64(len(data)); {
		h, err := batch.ParseHeader(data[pos:])
		if err != nil {
			b.Fatal(err)
		}
		binary.BigEndian.PutUint64(data[pos+43:], 7)
		v := batch.View{Header: h, Raw: data[pos : pos+h.Size()]}
		binary.BigEndian.PutUint32(data[pos+17:], v.ComputedCRC())
		pos += h.Size()
	}
	benchFiles(b, data, Options{Files: true})
}
