package segment_test

import (
	"bytes"
	"context"
	"hash/crc32"
	"testing"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/segment"
)

// FuzzCarve: finds ascend and do not lap over, their CRCs verify, nothing is said twice, no bytes are
// left out of the tee, and the reads are bounded. What Scan takes for sound in a row from the first
// byte on, Carve finds too, and what a look at every position finds, and nothing else.
func FuzzCarve(f *testing.F) {
	fixture.Seeds(f, "log", func(b []byte) {
		if len(b) < 20<<10 {
			f.Add(b)
			f.Add(append(make([]byte, 700), b...))
		}
	})
	f.Add(headersEverywhere(4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tee int
		opt := segment.CarveOptions{Size: int64(len(data)), Stats: new(segment.CarveStats), Tee: func(b []byte) { tee += len(b) }}
		end := int64(0)
		have := map[int64]bool{}
		for x, err := range segment.Carve(context.Background(), bytes.NewReader(data), segment.SmallCarve(opt, 4096)) {
			if err != nil {
				t.Fatal(err)
			}
			if x.Kind == segment.CarvedDamaged {
				if x.End() > int64(len(data)) || x.Len <= 0 {
					t.Fatalf("damaged [%d, %d)", x.Pos, x.End())
				}
				continue
			}
			if x.Pos < end || x.End() > int64(len(data)) || x.Kind == segment.CarvedUnread {
				t.Fatalf("[%d, %d) behind %d", x.Pos, x.End(), end)
			}
			end = x.End()
			have[x.Pos] = true
			raw := data[x.Pos:x.End()]
			if x.Raw != nil && !bytes.Equal(raw, x.Raw) {
				t.Fatalf("Raw at %d is not what stands there", x.Pos)
			}
			switch x.Kind {
			case segment.CarvedBatch:
				if crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)) != x.Header.CRC || x.Header.Size() != x.Len {
					t.Fatalf("batch at %d: the CRC does not verify", x.Pos)
				}
			case segment.CarvedMessage:
				if batch.CheckLegacyCRC(raw) != nil {
					t.Fatalf("message at %d: the CRC does not verify", x.Pos)
				}
			}
			if x.Embedded && x.Outer < 0 {
				t.Fatal("embedded in nothing")
			}
		}
		if tee != len(data) || opt.Stats.Bytes != int64(len(data)) || opt.Stats.Read > 4*int64(len(data))+2<<20 {
			t.Fatalf("%d teed of %d, %+v", tee, len(data), *opt.Stats)
		}
		for fr, err := range segment.Scan(bytes.NewReader(data), int64(len(data)), segment.ScanOptions{}) {
			if err != nil || fr.Kind != segment.Batch || fr.Damage != nil || !saneEnough(&fr.Batch.Header) {
				break
			}
			if !have[fr.Pos] {
				t.Fatalf("the batch at %d was not found", fr.Pos)
			}
		}
		samePlain(t, data, segment.CarveOptions{}, 4096)
		samePlain(t, data, segment.CarveOptions{}, 0)
	})
}

// saneEnough: fields that writers write; Scan follows a chain also where they are odd.
func saneEnough(h *batch.Header) bool {
	return h.Magic == 2 && h.BaseOffset >= 0 && h.LastOffsetDelta >= 0 && h.NextOffset() > h.BaseOffset && h.Attributes >= 0 && h.Attributes < 0x80 && h.Attributes.Codec() <= batch.Zstd &&
		h.PartitionLeaderEpoch >= -1 && h.BaseTimestamp >= -1 && h.MaxTimestamp >= -1 && h.ProducerID >= -1 && h.ProducerEpoch >= -1 && h.BaseSequence >= -1 &&
		h.RecordCount >= 0 && int64(h.RecordCount) <= int64(h.LastOffsetDelta)+1
}
