package replica_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// Two sealed segments and an active one. The batches of one have the same size. Producer 7
// commits 300–301 and aborts 303–304, 8 is open from 306 on.
const filesSpec = `
broker 1
clean
topic t-0
segment 0
` + batches10 + `
segment 100
` + batches10 + `
segment 200
` + batches10 + `
segment 300
batch records=2 pid=7 pepoch=3 seq=0 txn ; marker commit pid=7 pepoch=3 coordinator=5
batch records=2 pid=7 pepoch=3 seq=2 txn ; marker abort pid=7 pepoch=3 coordinator=6
batch records=4 pid=8 pepoch=0 seq=0 txn
segment 310
batch records=2
`

const batches10 = `
batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36
batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36 ; batch records=10 key=k size=36
`

type files struct{ fstest.MapFS }

func (f files) at(name string) *fstest.MapFile { return f.MapFS["broker-1/t-0/"+name] }

func (f files) set(name string, data []byte) {
	f.MapFS["broker-1/t-0/"+name] = &fstest.MapFile{Data: data, ModTime: time.UnixMilli(logtest.T0 + 1000)}
}

func (f files) remove(name string) { delete(f.MapFS, "broker-1/t-0/"+name) }

func d20(base int64, ext string) string { return fmt.Sprintf("%020d.%s", base, ext) }

// entries are numbers of the given widths, big endian, one entry a row.
func entries(widths []int, rows ...[]int64) []byte {
	var out []byte
	for _, r := range rows {
		for i, n := range r {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], uint64(n))
			out = append(out, b[8-widths[i]:]...)
		}
	}
	return out
}

func index(rows ...[]int64) []byte     { return entries([]int{4, 4}, rows...) }
func timeindex(rows ...[]int64) []byte { return entries([]int{8, 4}, rows...) }
func txnindex(rows ...[]int64) []byte  { return entries([]int{2, 8, 8, 8, 8}, rows...) }

// snapshot: producer id, epoch, last sequence, last offset, delta, timestamp, coordinator
// epoch, first offset of the open transaction.
func snapshot(rows ...[]int64) []byte {
	body := entries([]int{4}, []int64{int64(len(rows))})
	body = append(body, entries([]int{8, 2, 4, 8, 4, 8, 4, 8}, rows...)...)
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return append(entries([]int{2, 4}, []int64{1, int64(sum)}), body...)
}

// soundIndex has an entry for each batch but the first, as recovery writes it; soundTimes
// one for each of these.
func soundIndex(size int64) (i, t [][]int64) {
	for k := int64(1); k < 10; k++ {
		i = append(i, []int64{10*k + 9, k * size})
		t = append(t, []int64{0, 10*k + 9})
	}
	return i, t
}

var soundTxns = []int64{0, 7, 303, 305, 306}

var soundProducers = [][]int64{
	{7, 3, 3, 304, 1, logtest.T0 + 305, 6, -1},
	{8, 0, 3, 309, 3, logtest.T0 + 309, -1, 306},
}

// soundFiles are the directory with files that Kafka would accept.
func soundFiles(t testing.TB) files {
	t.Helper()
	f := files{logtest.FS(t, filesSpec)}
	for _, base := range []int64{0, 100, 200} {
		size := int64(len(f.at(d20(base, "log")).Data)) / 10
		i, times := soundIndex(size)
		for k := range times {
			times[k][0] = logtest.T0 + base + times[k][1]
		}
		f.set(d20(base, "index"), index(i...))
		f.set(d20(base, "timeindex"), timeindex(times...))
	}
	f.set(d20(300, "index"), nil)
	f.set(d20(300, "timeindex"), timeindex([]int64{logtest.T0 + 309, 9}))
	f.set(d20(300, "txnindex"), txnindex(soundTxns))
	f.set(d20(310, "index"), nil)
	f.set(d20(310, "timeindex"), timeindex([]int64{logtest.T0 + 311, 1}))
	f.set(d20(100, "snapshot"), snapshot())
	f.set(d20(310, "snapshot"), snapshot(soundProducers...))
	f.set(d20(312, "snapshot"), snapshot(soundProducers...))
	return f
}

func readFiles(t testing.TB, fsys rofs.FS) (*replica.Log, error) {
	t.Helper()
	return readSource(sourceOf(t, fsys))
}

// sourceOf is the log of the only partition.
func sourceOf(t testing.TB, fsys rofs.FS) replica.Source {
	t.Helper()
	c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		return sources[0]
	}
	t.Fatal("no partition")
	return replica.Source{}
}

func readSource(s replica.Source) (*replica.Log, error) {
	return replica.Read(context.Background(), s, replica.Options{Files: true})
}

func kinds(l *replica.Log) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(l.Anomalies.Counts)) {
		out = append(out, fmt.Sprintf("%s×%d", k, l.Anomalies.Counts[k]))
	}
	return strings.Join(out, " ")
}

func patch(b []byte, at int, with ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], with)
	return b
}

// Each kind of anomaly has a directory that shows it, one change away from one that shows
// nothing.
func TestFileAnomalies(t *testing.T) {
	unclean := func(f files) { delete(f.MapFS, "broker-1/.kafka_cleanshutdown") }
	change := func(name string, how func([]byte) []byte) func(*testing.T, files) {
		return func(_ *testing.T, f files) { f.set(name, how(bytes.Clone(f.at(name).Data))) }
	}
	set := func(name string, data []byte) func(*testing.T, files) {
		return func(_ *testing.T, f files) { f.set(name, data) }
	}
	producer := func(i int, field int, value int64) func(*testing.T, files) {
		rows := [][]int64{slices.Clone(soundProducers[0]), slices.Clone(soundProducers[1])}
		rows[i][field] = value
		return set(d20(312, "snapshot"), snapshot(rows...))
	}
	txn := func(field int, value int64) func(*testing.T, files) {
		row := slices.Clone(soundTxns)
		row[field] = value
		return set(d20(300, "txnindex"), txnindex(row))
	}
	i0, t0, a0 := d20(0, "index"), d20(0, "timeindex"), d20(310, "timeindex")
	for _, tc := range []struct {
		name string
		do   func(*testing.T, files)
		want string
		file string // of the first anomaly; "" none
		pos  int64
	}{
		{"sound", func(*testing.T, files) {}, "", "", 0},
		{"no .index", func(_ *testing.T, f files) { f.remove(i0) }, "index-missing×1", "", 0},
		{"no .timeindex", func(_ *testing.T, f files) { f.remove(t0) }, "timeindex-missing×1", "", 0},
		{"empty .timeindex", set(t0, nil), "timeindex-empty×1", t0, 0},
		{"7 more bytes", change(i0, func(b []byte) []byte { return append(b, 1, 2, 3, 4, 5, 6, 7) }), "index-misaligned×1", i0, 72},
		{"5 more bytes", change(t0, func(b []byte) []byte { return append(b, 1, 2, 3, 4, 5) }), "index-misaligned×1", t0, 108},
		{"zero tail", change(i0, func(b []byte) []byte { return append(b, make([]byte, 4096-72)...) }), "index-not-trimmed×1", i0, 72},
		{"zero tail of the time index", change(t0, func(b []byte) []byte { return append(b, make([]byte, 4092-108)...) }), "index-not-trimmed×1", t0, 108},
		{"nothing but zeros", set(i0, make([]byte, 10<<20)), "index-full-of-zeros×1", i0, 0},
		{"nothing but zeros in the time index", set(t0, make([]byte, 10485756)), "timeindex-full-of-zeros×1", t0, 0},
		{"nothing but zeros, active, small", set(a0, make([]byte, 10485756)), "index-not-trimmed×1", a0, 0},
		{"empty active segment, 0 bytes of index", func(_ *testing.T, f files) {
			f.set(d20(312, "log"), nil)
			f.set(d20(312, "index"), nil)
			f.set(d20(312, "timeindex"), nil)
		}, "zero-capacity-index×1", d20(312, "index"), 0},
		{"position lowered", change(i0, func(b []byte) []byte { return patch(b, 3*8+4, 0, 0, 0, 1) }), "index-out-of-order×1", i0, 24},
		{"position raised over the next", change(i0, func(b []byte) []byte { return patch(b, 3*8+4, 0, 0, 0x0d, 0) }), "index-out-of-order×1", i0, 24},
		{"position above the file", change(i0, func(b []byte) []byte { return patch(b, 3*8+4, 0x7f) }), "index-out-of-order×1", i0, 24},
		{"last position above the file", change(i0, func(b []byte) []byte { return patch(b, 8*8+4, 0x7f) }), "index-points-nowhere×1", i0, 64},
		{"negative position", change(i0, func(b []byte) []byte { return patch(b, 4, 0x80) }), "index-points-nowhere×1", i0, 0},
		{"position off by one", change(i0, func(b []byte) []byte { b[3*8+7]++; return b }), "index-points-nowhere×1", i0, 24},
		{"entry twice", change(i0, func(b []byte) []byte { return append(b, b[64:]...) }), "index-out-of-order×1", i0, 72},
		{"offset too low", change(i0, func(b []byte) []byte { return patch(b, 3*8, 0, 0, 0, 3) }), "index-out-of-order×1", i0, 24},
		{"offset of the batch before", change(i0, func(b []byte) []byte { return patch(b, 0, 0, 0, 0, 9) }), "index-wrong-offset×1", i0, 0},
		{"offset too high", change(i0, func(b []byte) []byte { return patch(b, 3*8, 0, 0, 0, 95) }), "index-wrong-offset×1", i0, 24},
		{"offset beyond the segment", change(i0, func(b []byte) []byte { return patch(b, 8*8, 0, 0, 0, 100) }), "index-wrong-offset×1", i0, 64},
		{"first offset of the batch, as up to 1.1", change(i0, func(b []byte) []byte { return patch(b, 3*8, 0, 0, 0, 40) }), "", "", 0},
		{"last offset of three batches, as on a follower", change(i0, func(b []byte) []byte { return append(patch(b[:32], 24, 0, 0, 0, 69), b[56:]...) }), "", "", 0},
		{"no entry at all", set(i0, nil), "", "", 0},
		{"timestamp too high", change(t0, func(b []byte) []byte { b[3*12+5]++; return b }), "timeindex-wrong×1", t0, 36},
		{"timestamp too low", change(t0, func(b []byte) []byte { b[3*12+7] -= 3; return b }), "timeindex-wrong×1", t0, 36},
		{"timestamp below the entry before", change(t0, func(b []byte) []byte { return patch(b, 3*12, 0) }), "", "", 0}, // the same byte
		{"timestamp of long ago", change(t0, func(b []byte) []byte { return patch(b, 3*12, 0, 0, 0) }), "timeindex-out-of-order×1", t0, 36},
		{"offset below the entry before", change(t0, func(b []byte) []byte { return patch(b, 3*12+8, 0, 0, 0, 2) }), "timeindex-out-of-order×1", t0, 36},
		{"offset above the next entries", change(t0, func(b []byte) []byte { return patch(b, 3*12+8, 0, 0, 0, 95) }), "timeindex-out-of-order×1", t0, 36},
		{"last offset beyond the segment", change(t0, func(b []byte) []byte { return patch(b, 8*12+8, 0, 0, 0, 120) }), "timeindex-wrong×1", t0, 96},
		{"no last entry", change(t0, func(b []byte) []byte { return b[:96] }), "timeindex-wrong×1", t0, 84},
		{"killed: stale entries of the active segment", func(_ *testing.T, f files) {
			unclean(f)
			f.set(d20(310, "index"), append(index([]int64{50, 900}, []int64{60, 1400}), make([]byte, 1000)...))
			f.set(a0, append(timeindex([]int64{logtest.T0 + 360, 50}), make([]byte, 12*80)...))
		}, "index-not-trimmed×2 index-stale-entries×2", d20(310, "index"), 16},
		{"partial entry", change(d20(300, "txnindex"), func(b []byte) []byte { return append(b, b[:20]...) }), "txnindex-malformed×1", d20(300, "txnindex"), 34},
		{"version 256", txn(0, 256), "txnindex-malformed×1", d20(300, "txnindex"), 0},
		{"aborted below the segment", txn(3, 299), "txnindex-malformed×1 txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"another producer", txn(1, 8), "txnindex-mismatch×2", d20(300, "txnindex"), 0},
		{"another first offset", txn(2, 300), "txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"a marker that commits", txn(3, 302), "txnindex-malformed×1 txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"another last stable offset", txn(4, 301), "txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"a last stable offset below 0", txn(4, -1), "txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"a last stable offset where no transaction begins", txn(4, 307), "txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"a last stable offset of another segment", txn(4, 310), "txnindex-mismatch×1", d20(300, "txnindex"), 0},
		{"version 1, which Kafka does not see", txn(0, 1), "txnindex-malformed×1", d20(300, "txnindex"), 0},
		{"no .txnindex", func(_ *testing.T, f files) { f.remove(d20(300, "txnindex")) }, "txnindex-mismatch×1", "", 0},
		{"entry of nobody", change(d20(300, "txnindex"), func(b []byte) []byte { return append(b, txnindex([]int64{0, 9, 306, 307, 306})...) }), "txnindex-mismatch×1", d20(300, "txnindex"), 34},
		{"snapshot of 3 bytes", set(d20(310, "snapshot"), []byte{0, 1, 0}), "snapshot-malformed×1", d20(310, "snapshot"), 3},
		{"snapshot with a flipped bit", change(d20(310, "snapshot"), func(b []byte) []byte { b[30] ^= 4; return b }), "snapshot-malformed×1", d20(310, "snapshot"), 2},
		{"epoch", producer(0, 1, 4), "snapshot-content×1", d20(312, "snapshot"), 10},
		{"last sequence", producer(0, 2, 4), "snapshot-content×1", d20(312, "snapshot"), 10},
		{"last offset", producer(1, 3, 308), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"last offset behind the snapshot", producer(1, 3, 400), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"offset delta", producer(1, 4, 1), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"timestamp", producer(1, 5, 1), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"coordinator epoch", producer(0, 6, 5), "snapshot-content×1", d20(312, "snapshot"), 10},
		{"transaction that is over", producer(0, 7, 303), "snapshot-content×1", d20(312, "snapshot"), 10},
		{"transaction that is open", producer(1, 7, -1), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"unknown producer", set(d20(312, "snapshot"), snapshot(append(slices.Clone(soundProducers), []int64{9, 0, 0, 250, 0, 1, -1, -1})...)), "snapshot-content×1", d20(312, "snapshot"), 102},
		{"producer that only wrote a marker that is gone", set(d20(312, "snapshot"), snapshot(append(slices.Clone(soundProducers), []int64{9, 0, -1, -1, 0, 1, 3, -1})...)), "", "", 0},
		{"open transaction missing", set(d20(312, "snapshot"), snapshot(soundProducers[0])), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"producer missing", set(d20(312, "snapshot"), snapshot(soundProducers[1])), "snapshot-content×1", d20(312, "snapshot"), 56},
		{"producer expired", func(_ *testing.T, f files) {
			f.set(d20(312, "snapshot"), snapshot(soundProducers[1]))
			f.at(d20(312, "snapshot")).ModTime = time.UnixMilli(logtest.T0).Add(25 * time.Hour)
		}, "", "", 0},
		{"producer twice", set(d20(312, "snapshot"), snapshot(soundProducers[0], soundProducers[1], soundProducers[0])), "snapshot-content×1", d20(312, "snapshot"), 102},
		{"stray snapshot, with anything in it", set(d20(305, "snapshot"), snapshot([]int64{9, 0, 0, 900, 0, 1, -1, -1})), "", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := soundFiles(t)
			tc.do(t, f)
			l, err := readFiles(t, rofs.FromFS(f.MapFS))
			if err != nil {
				t.Fatal(err)
			}
			if got := kinds(l); got != tc.want {
				t.Fatalf("got %q, want %q\n%+v", got, tc.want, l.Anomalies.Kept)
			}
			if tc.want == "" {
				return
			}
			a := l.Anomalies.Kept[0]
			if tc.file == "" {
				if a.File != nil {
					t.Errorf("file %s, want none", a.File.Name)
				}
				return
			}
			if a.File == nil {
				t.Fatalf("no file, want %s", tc.file)
			}
			if a.File.Name != tc.file || a.Position != tc.pos {
				t.Errorf("got %s at %d, want %s at %d", a.File.Name, a.Position, tc.file, tc.pos)
			}
		})
	}
}

// TestTxnIndexLastStable: a wrong last stable offset in any entry that a broker wrote is told,
// though one behind the marker is what a follower writes where the next transaction begins there.
func TestTxnIndexLastStable(t *testing.T) {
	tree := fstest.MapFS{}
	for name, f := range fixture.Tree(t, "base") {
		if rest, ok := strings.CutPrefix(name, "T1/"); ok {
			tree[rest] = f
		}
	}
	for _, name := range []string{"tx-0/" + d20(0, "txnindex"), "tx-0/" + d20(100, "txnindex")} {
		sound := tree[name]
		for entry := range len(sound.Data) / 34 {
			for _, shift := range []int64{-1 << 62, 1, 2, 1000, 1 << 40} {
				data := slices.Clone(sound.Data)
				was := binary.BigEndian.Uint64(data[entry*34+26:])
				binary.BigEndian.PutUint64(data[entry*34+26:], was+uint64(shift))
				tree[name] = &fstest.MapFile{Data: data, ModTime: sound.ModTime}
				l, err := readFiles(t, rofs.FromFS(tree))
				if err != nil {
					t.Fatal(err)
				}
				if got := kinds(l); got != "txnindex-mismatch×1" {
					t.Errorf("%s entry %d: %d for %d: got %q", name, entry, int64(was)+shift, was, got)
				}
			}
		}
		tree[name] = sound
	}
}

// TestHighestOffset: a batch whose base offset is the highest number there is lies behind all entries.
func TestHighestOffset(t *testing.T) {
	f := soundFiles(t)
	data := f.at(d20(300, "log")).Data
	for at := 0; at < len(data); at += 12 + int(binary.BigEndian.Uint32(data[at+8:])) {
		g := files{maps.Clone(f.MapFS)}
		b := slices.Clone(data)
		binary.BigEndian.PutUint64(b[at:], math.MaxInt64)
		g.set(d20(300, "log"), b)
		l, err := readFiles(t, rofs.FromFS(g.MapFS))
		if err != nil || kinds(l) == "" {
			t.Errorf("position %d: got %q, %v", at, kinds(l), err)
		}
	}
}

// The last ABORT markers of a log that was not stopped cleanly may lack their entries.
func TestTxnIndexBehind(t *testing.T) {
	f := soundFiles(t)
	delete(f.MapFS, "broker-1/.kafka_cleanshutdown")
	for _, ext := range []string{"log", "index", "timeindex"} {
		f.remove(d20(310, ext))
	}
	f.remove(d20(312, "snapshot"))
	f.remove(d20(300, "txnindex"))
	l, err := readFiles(t, rofs.FromFS(f.MapFS))
	if err != nil || kinds(l) != "txnindex-behind×1" {
		t.Errorf("got %q, %v", kinds(l), err)
	}
}

// A base offset outside the CRC that is wrong is one anomaly, about the .log; the sound
// entries around it stay sound.
func TestWrongBaseOffsetIsNoIndexAnomaly(t *testing.T) {
	for bit := range 40 {
		f := soundFiles(t)
		log := bytes.Clone(f.at(d20(0, "log")).Data)
		log[4*len(log)/10+7-bit/8] ^= 1 << (bit % 8)
		f.set(d20(0, "log"), log)
		l, err := readFiles(t, rofs.FromFS(f.MapFS))
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(l); got != "base-offset-out-of-line×1" {
			t.Errorf("bit %d: %q", bit, got)
		}
	}
}

// The producer state at the log end.
func TestProducers(t *testing.T) {
	l, err := readFiles(t, rofs.FromFS(soundFiles(t).MapFS))
	if err != nil {
		t.Fatal(err)
	}
	s := l.Producers
	if !s.Complete || s.First != 0 || s.Next != 312 || s.LastStableOffset() != 306 || len(s.All()) != 2 || len(s.Open()) != 1 {
		t.Fatalf("got %+v", s)
	}
	p := s.Open()[0]
	if p.ProducerID != 8 || p.TxnStarted != logtest.T0+309 || p.TxnFirstRecords != 306 || s.Get(7).LastMarker != 305 {
		t.Errorf("got %+v, %+v", p, s.Get(7))
	}
}
