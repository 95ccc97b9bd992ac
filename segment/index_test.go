package segment_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/segment"
)

// t0 is 2023-11-14T22:13:20Z, as in the vectors.
const t0 = 1700000000000

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// all collects a sequence and fails at an error.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	out := []T{}
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func index(t testing.TB, b []byte, base int64) []segment.OffsetEntry {
	t.Helper()
	return all(t, segment.ScanIndex(bytes.NewReader(b), int64(len(b)), base))
}

func timeIndex(t testing.TB, b []byte, base int64) []segment.TimeEntry {
	t.Helper()
	return all(t, segment.ScanTimeIndex(bytes.NewReader(b), int64(len(b)), base))
}

func txnIndex(t testing.TB, b []byte) []segment.AbortedTxn {
	t.Helper()
	return all(t, segment.ScanTxnIndex(bytes.NewReader(b), int64(len(b))))
}

func snapshot(t testing.TB, b []byte) *segment.ProducerSnapshot {
	t.Helper()
	s, err := segment.ReadSnapshot(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantEqual[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// Bytes that Kafka's OffsetIndex, TimeIndex, TransactionIndex and ProducerStateManager wrote.
const (
	vectorIndex         = "00000032000010680000007800002134"
	vectorTimeIndex     = "0000018bcfe56800000000320000018bcfe5680900000078"
	vectorTxnIndex      = "00000000000000000fa0000000000000006400000000000000670000000000000068"
	vectorSnapshot      = "0001120f3a78000000010000000000000fa00002000000090000000000000066000000020000018bcfe56805ffffffffffffffffffffffff"
	vectorEmptySnapshot = "000148674bc700000000"
)

func TestIndexVector(t *testing.T) {
	want := []segment.OffsetEntry{
		{Number: 0, Offset: 150, Position: 4200, Relative: 50, RawPosition: 4200},
		{Number: 1, Offset: 220, Position: 8500, Relative: 120, RawPosition: 8500},
	}
	b := unhex(t, vectorIndex)
	wantEqual(t, "trimmed", want, index(t, b, 100))
	b = append(b, make([]byte, 1024-len(b))...)
	wantEqual(t, "preallocated", want, index(t, b, 100))
	s, err := segment.ShapeOfIndex(bytes.NewReader(b), 1024)
	if err != nil || s != (segment.IndexShape{Entries: 2, ZeroEntries: 126}) {
		t.Errorf("%+v, %v", s, err)
	}
	if want[1].Pos() != 8 {
		t.Error("the second entry is not at 8")
	}
}

func TestTimeIndexVector(t *testing.T) {
	want := []segment.TimeEntry{
		{Number: 0, Timestamp: t0, Offset: 150, Relative: 50},
		{Number: 1, Timestamp: t0 + 9, Offset: 220, Relative: 120},
	}
	b := unhex(t, vectorTimeIndex)
	wantEqual(t, "trimmed", want, timeIndex(t, b, 100))
	b = append(b, make([]byte, 1020-len(b))...)
	wantEqual(t, "preallocated", want, timeIndex(t, b, 100))
	s, err := segment.ShapeOfTimeIndex(bytes.NewReader(b), 1020)
	if err != nil || s != (segment.IndexShape{Entries: 2, ZeroEntries: 83}) {
		t.Errorf("%+v, %v", s, err)
	}
	if want[1].Pos() != 12 {
		t.Error("the second entry is not at 12")
	}
}

func TestTxnIndexVector(t *testing.T) {
	want := []segment.AbortedTxn{{ProducerID: 4000, FirstOffset: 100, LastOffset: 103, LastStableOffset: 104}}
	b := unhex(t, vectorTxnIndex)
	wantEqual(t, "one", want, txnIndex(t, b))
	wantEqual(t, "with the beginning of another", want, txnIndex(t, append(b, b[:33]...)))
}

// Kafka tests the first byte of the version only, as a signed number.
func TestTxnIndexVersion(t *testing.T) {
	one := unhex(t, vectorTxnIndex)
	for version, refused := range map[uint16]bool{0: false, 1: false, 0xff: false, 0x0100: true, 0x7fff: true, 0x8000: false, 0xffff: false} {
		b := bytes.Repeat(one, 3)
		binary.BigEndian.PutUint16(b[34:], version)
		got, want := txnIndex(t, b), 3
		if refused {
			want = 2
		}
		if len(got) != want || got[1].Version != int16(version) || got[1].Refused() != refused || got[1].Number != 1 || got[1].Pos() != 34 {
			t.Errorf("version %#04x: %+v", version, got)
		}
	}
}

func TestSnapshotVector(t *testing.T) {
	wantEqual(t, "one producer", &segment.ProducerSnapshot{
		Version: 1, StoredCRC: 0x120f3a78, ComputedCRC: 0x120f3a78, CRCWithoutTrailing: 0x120f3a78, Count: 1,
		Producers: []segment.ProducerEntry{{
			ProducerID: 4000, ProducerEpoch: 2, LastSequence: 9, LastOffset: 102, OffsetDelta: 2, Timestamp: t0 + 5, CoordinatorEpoch: -1, CurrentTxnFirstOffset: -1,
		}},
	}, snapshot(t, unhex(t, vectorSnapshot)))
	wantEqual(t, "empty", &segment.ProducerSnapshot{
		Version: 1, StoredCRC: 0x48674bc7, ComputedCRC: 0x48674bc7, CRCWithoutTrailing: 0x48674bc7, Producers: []segment.ProducerEntry{},
	}, snapshot(t, unhex(t, vectorEmptySnapshot)))
	e := snapshot(t, unhex(t, vectorSnapshot)).Producers[0]
	if e.FirstSequence() != 7 || e.FirstOffset() != 100 || !e.HasBatch() {
		t.Errorf("first sequence %d, first offset %d", e.FirstSequence(), e.FirstOffset())
	}
}

// resealed writes the CRC that the bytes give.
func resealed(b []byte) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestSnapshotProblems(t *testing.T) {
	sound := unhex(t, vectorSnapshot)
	change := func(at int, bytes ...byte) []byte {
		b := append([]byte(nil), sound...)
		copy(b[at:], bytes)
		return b
	}
	for _, c := range []struct {
		name      string
		b         []byte
		kind      string
		producers int
		trailing  int64
		says      string
	}{
		{"nothing", nil, "short", 0, 0, "the file has 0 bytes, want at least 10 bytes"},
		{"9 bytes", sound[:9], "short", 0, 0, "the file has 9 bytes, want at least 10 bytes"},
		{"version", change(0, 0, 2), "version", 0, 0, "version at position 0: 2, want 1"},
		{"a bit", change(20, 0xff), "crc", 1, 0, "the CRC does not verify: 0x120f3a78 is stored, the bytes give 0x"},
		{"cut in the entry", sound[:55], "crc", 0, 0, "the CRC does not verify"},
		{"cut and sealed", resealed(sound[:55]), "count", 0, 0, "count at position 6: 1, want 0 to 0"},
		{"negative count", resealed(change(6, 0xff, 0xff, 0xff, 0xff)), "count", 0, 0, "count at position 6: -1, want 0 to 1"},
		{"count beyond the file", resealed(change(6, 0x7f, 0xff, 0xff, 0xff)), "count", 1, 0, "count at position 6: 2147483647, want 0 to 1"},
		{"bytes behind", append(bytes.Clone(sound), 1, 2, 3), "crc", 1, 3, "the CRC does not verify"},
		{"bytes behind, sealed", resealed(append(bytes.Clone(sound), 1, 2, 3)), "", 1, 3, ""},
	} {
		s := snapshot(t, c.b)
		kind, says := "", ""
		if s.Problem != nil {
			kind, says = s.Problem.Kind, s.Problem.Error()
		}
		if kind != c.kind || !strings.HasPrefix(says, c.says) || len(s.Producers) != c.producers || s.TrailingBytes != c.trailing {
			t.Errorf("%s: %q %q, %d producers, %d bytes behind", c.name, kind, says, len(s.Producers), s.TrailingBytes)
		}
	}
	// Kafka writes over a longer snapshot without cutting it: the CRC of the new one verifies
	// over its own producers.
	if s := snapshot(t, append(bytes.Clone(sound), "the end of a longer one"...)); s.CRCWithoutTrailing != s.StoredCRC || s.ComputedCRC == s.StoredCRC {
		t.Errorf("%08x is stored, %08x, and %08x without what trails", s.StoredCRC, s.ComputedCRC, s.CRCWithoutTrailing)
	}
	if s, err := segment.ReadSnapshot(io.NewSectionReader(bytes.NewReader(sound), 0, 10), segment.MaxSnapshot+1); err != nil || !s.Problem.Limit() || s.Producers != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// The zero tail is what no entry follows.
func TestIndexGapsAndTails(t *testing.T) {
	entry := func(n byte) []byte { return []byte{0, 0, 0, n, 0, 0, 1, n} }
	zero := make([]byte, 8)
	for _, c := range []struct {
		name    string
		b       [][]byte
		numbers []int64
		offsets []int64
		shape   segment.IndexShape
	}{
		{"nothing", nil, nil, nil, segment.IndexShape{}},
		{"one zero entry", [][]byte{zero}, nil, nil, segment.IndexShape{ZeroEntries: 1}},
		{"half an entry", [][]byte{zero[:5]}, nil, nil, segment.IndexShape{Remainder: 5}},
		{"zero entries first", [][]byte{zero, zero, entry(5)}, []int64{0, 1, 2}, []int64{100, 100, 105}, segment.IndexShape{Entries: 3}},
		{"zero entries inside", [][]byte{entry(3), zero, entry(5), zero, zero}, []int64{0, 1, 2}, []int64{103, 100, 105}, segment.IndexShape{Entries: 3, ZeroEntries: 2}},
		{"remainder behind zeros", [][]byte{entry(3), zero, {1, 2}}, []int64{0}, []int64{103}, segment.IndexShape{Entries: 1, ZeroEntries: 1, Remainder: 2}},
		{"below the base", [][]byte{{0xff, 0xff, 0xff, 0xff, 0x80, 0, 0, 0}}, []int64{0}, []int64{99}, segment.IndexShape{Entries: 1}},
	} {
		b := bytes.Join(c.b, nil)
		var numbers, offsets []int64
		for _, e := range index(t, b, 100) {
			numbers, offsets = append(numbers, e.Number), append(offsets, e.Offset)
		}
		wantEqual(t, c.name, c.numbers, numbers)
		wantEqual(t, c.name, c.offsets, offsets)
		shape, err := segment.ShapeOfIndex(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Error(c.name, err)
		}
		wantEqual(t, c.name, c.shape, shape)
	}
}

// A consumer may stop at any entry.
func TestIndexScansStop(t *testing.T) {
	b := bytes.Repeat(unhex(t, vectorIndex+"0000000000000000"), 5)
	b = append(b, 1, 1, 1, 1, 1, 1, 1, 1)
	for stop := range 16 {
		n := 0
		for e := range segment.ScanIndex(bytes.NewReader(b), int64(len(b)), 0) {
			if n++; e.Number == int64(stop) {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("stopped at %d after %d entries", stop, n)
		}
	}
}
