package segment_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/segment"
)

// indexSeeds adds what real brokers wrote, and the sound bytes of indexBytes with damage.
func indexSeeds(f *testing.F, kind string) {
	f.Helper()
	n := 0
	err := filepath.WalkDir(unpacked(f, "transactions"), func(path string, d fs.DirEntry, err error) error {
		if k, base := kindOfIndex(path); err != nil || k != kind || n >= 20 {
			return err
		} else if b, err := os.ReadFile(path); err != nil {
			return err
		} else if len(b) > 0 {
			f.Add(b, base)
			n++
		}
		return nil
	})
	if err != nil || n == 0 {
		f.Fatal("no seeds", err)
	}
	fixture.Seeds(f, kind, func(b []byte) { f.Add(b, int64(0)) })
	sound := indexBytes(f)[kind]
	f.Add([]byte{}, int64(0))
	f.Add(make([]byte, 1000), int64(-1))
	f.Add(sound, int64(100))
	f.Add(sound[:len(sound)-3], int64(1)<<62)
	for _, at := range []int{0, 2, 6, 9, len(sound) / 2} {
		b := bytes.Clone(sound)
		b[at] ^= 0x81
		f.Add(b, int64(0))
	}
}

// sameBytes: the entries, written again, the zero tail and the remainder are the file.
func sameBytes(t *testing.T, file, entries []byte, shape segment.IndexShape, width int64) {
	t.Helper()
	if int64(len(entries)) != shape.Entries*width || shape.Entries < 0 || shape.ZeroEntries < 0 || shape.Remainder < 0 || shape.Remainder >= width {
		t.Fatalf("%d bytes of entries, shape %+v", len(entries), shape)
	}
	zeros := make([]byte, shape.ZeroEntries*width)
	if again := append(append(entries, zeros...), file[int64(len(file))-shape.Remainder:]...); !bytes.Equal(again, file) {
		t.Fatalf("the file %x\nwritten again %x\nshape %+v", file, again, shape)
	}
	if n := int64(len(entries)); n > 0 && bytes.Equal(entries[n-width:], make([]byte, width)) {
		t.Fatal("the last entry belongs to the zero tail")
	}
}

func FuzzScanIndex(f *testing.F) {
	indexSeeds(f, "index")
	f.Fuzz(func(t *testing.T, b []byte, base int64) {
		var again []byte
		for i, e := range index(t, b, base) {
			if e.Number != int64(i) || e.Pos() != int64(len(again)) || e.Offset != base+int64(e.Relative) || e.Position != int64(e.RawPosition) {
				t.Fatalf("entry %d is %+v", i, e)
			}
			again = binary.BigEndian.AppendUint32(again, uint32(e.Relative))
			again = binary.BigEndian.AppendUint32(again, uint32(e.RawPosition))
		}
		shape, err := segment.ShapeOfIndex(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, b, again, shape, segment.IndexEntrySize)
	})
}

func FuzzScanTimeIndex(f *testing.F) {
	indexSeeds(f, "timeindex")
	f.Fuzz(func(t *testing.T, b []byte, base int64) {
		var again []byte
		for i, e := range timeIndex(t, b, base) {
			if e.Number != int64(i) || e.Pos() != int64(len(again)) || e.Offset != base+int64(e.Relative) {
				t.Fatalf("entry %d is %+v", i, e)
			}
			again = binary.BigEndian.AppendUint64(again, uint64(e.Timestamp))
			again = binary.BigEndian.AppendUint32(again, uint32(e.Relative))
		}
		shape, err := segment.ShapeOfTimeIndex(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, b, again, shape, segment.TimeEntrySize)
	})
}

func FuzzScanTxnIndex(f *testing.F) {
	indexSeeds(f, "txnindex")
	f.Fuzz(func(t *testing.T, b []byte, _ int64) {
		var again []byte
		refused := false
		for i, e := range txnIndex(t, b) {
			if refused || e.Number != int64(i) || e.Pos() != int64(len(again)) {
				t.Fatalf("entry %d is %+v", i, e)
			}
			refused = e.Refused()
			again = binary.BigEndian.AppendUint16(again, uint16(e.Version))
			for _, v := range []int64{e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset} {
				again = binary.BigEndian.AppendUint64(again, uint64(v))
			}
		}
		if !bytes.HasPrefix(b, again) || !refused && len(b)-len(again) >= segment.TxnEntrySize {
			t.Fatalf("the file %x\nwritten again %x", b, again)
		}
	})
}

func FuzzReadSnapshot(f *testing.F) {
	indexSeeds(f, "snapshot")
	f.Fuzz(func(t *testing.T, b []byte, _ int64) {
		s := snapshot(t, b)
		if s.Problem != nil && (s.Problem.Error() == "" || s.Problem.Position < 0 || s.Problem.Position > int64(len(b)) || s.Problem.Limit()) {
			t.Fatalf("problem %+v", s.Problem)
		}
		if s.Problem != nil && s.Producers == nil {
			return // short, or another version
		}
		again := binary.BigEndian.AppendUint16(nil, uint16(s.Version))
		again = binary.BigEndian.AppendUint32(again, s.StoredCRC)
		again = binary.BigEndian.AppendUint32(again, uint32(s.Count))
		for _, e := range s.Producers {
			again = binary.BigEndian.AppendUint64(again, uint64(e.ProducerID))
			again = binary.BigEndian.AppendUint16(again, uint16(e.ProducerEpoch))
			again = binary.BigEndian.AppendUint32(again, uint32(e.LastSequence))
			again = binary.BigEndian.AppendUint64(again, uint64(e.LastOffset))
			again = binary.BigEndian.AppendUint32(again, uint32(e.OffsetDelta))
			again = binary.BigEndian.AppendUint64(again, uint64(e.Timestamp))
			again = binary.BigEndian.AppendUint32(again, uint32(e.CoordinatorEpoch))
			again = binary.BigEndian.AppendUint64(again, uint64(e.CurrentTxnFirstOffset))
			e.FirstSequence()
			e.FirstOffset()
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatalf("the file %x\nwritten again %x", b, again)
		}
		if int64(s.Count) == int64(len(s.Producers)) && s.TrailingBytes != int64(len(b)-len(again)) {
			t.Fatalf("%d bytes behind %d of %d", s.TrailingBytes, len(again), len(b))
		}
		table := crc32.MakeTable(crc32.Castagnoli)
		if s.ComputedCRC != crc32.Checksum(b[6:], table) || s.CRCWithoutTrailing != crc32.Checksum(again[6:], table) {
			t.Fatalf("CRCs %08x, %08x", s.ComputedCRC, s.CRCWithoutTrailing)
		}
		if sound := s.Problem == nil; sound != (s.StoredCRC == s.ComputedCRC && int64(s.Count) == int64(len(s.Producers))) {
			t.Fatalf("problem %v", s.Problem)
		}
	})
}
