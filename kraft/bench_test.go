package kraft

import (
	"encoding/binary"
	"runtime"
	"testing"

	"kafsck/internal/wire"
)

// million is a log of a million records: 2,000 topics of 5 partitions on three
// brokers, then changes of leader and ISR, and no-ops, in batches of ten.
func million() Input {
	const topics, partitions, all = 2_000, 5, 1_000_000
	var pending [][]byte
	var log []byte
	n := int64(0)
	put := func(values ...[]byte) {
		pending = append(pending, values...)
		for len(pending) >= 10 {
			log = append(log, batchOf(n, 1, 0, pending[:10]...)...)
			n, pending = n+10, pending[10:]
		}
	}
	id := func(t int) (u wire.UUID) {
		binary.BigEndian.PutUint64(u[:], uint64(t+1))
		return u
	}
	name := func(t int) string { return "topic-" + string(binary.AppendUvarint(nil, uint64(t))) }
	for t := range topics {
		put(topicRecord(name(t), id(t)))
		for p := range partitions {
			put(partitionRecord(id(t), int32(p), 1, 0, 0, ints(1, 2, 3), ints(1, 2, 3)))
		}
	}
	for i := 0; n < all-10; i++ {
		t, p := i/partitions%topics, int32(i%partitions)
		switch i / (topics * partitions) % 4 {
		case 0:
			put(leaderChange(id(t), p, int32(i%3)+1, ints(1, 2)))
		case 1:
			put(leaderChange(id(t), p, int32(i%3)+1, ints(1, 2, 3)))
		case 2:
			put(leaderChange(id(t), p, 1, ints(int32(i%3)+1)))
		default:
			put(noOp)
		}
	}
	put(pending...)
	return Input{Logs: []File{file("00000000000000000000.log", log)}}
}

// BenchmarkMerge joins three copies of a million records, of which the second and the
// third end earlier.
func BenchmarkMerge(b *testing.B) {
	whole := million().Logs[0]
	part := func(size int64) Input {
		f := whole
		f.Size = size
		return Input{Logs: []File{f}}
	}
	in := []Input{part(whole.Size), part(whole.Size * 3 / 4), part(whole.Size / 2)}
	b.SetBytes(whole.Size)
	for b.Loop() {
		m, err := Merge(in)
		if err != nil || m.Copies[0].Adds == 0 || m.Copies[1].Adds != 0 || !m.Copies[2].Agreed {
			b.Fatal(err, m.Copies)
		}
	}
}

// BenchmarkMillion replays a million metadata records: the bar is 10 s and 512 MiB,
// with what the log itself takes left out.
func BenchmarkMillion(b *testing.B) {
	in := million()
	b.SetBytes(in.Logs[0].Size)
	b.ReportAllocs()
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l := read(b, in)
		runtime.ReadMemStats(&after)
		total := 0
		for _, n := range l.Counts {
			total += n
		}
		if total < 999_000 {
			b.Fatalf("%d records", total)
		}
		runtime.GC()
		var live runtime.MemStats
		runtime.ReadMemStats(&live)
		b.ReportMetric(float64(live.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-live")
		b.ReportMetric(float64(after.HeapSys)/(1<<20), "MiB-sys")
		runtime.KeepAlive(l)
	}
}
