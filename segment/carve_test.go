package segment_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/segment"
)

// carve collects what Carve finds; Raw is not kept.
func carve(t testing.TB, b []byte, opt segment.CarveOptions) []segment.Carved {
	t.Helper()
	opt.Size = int64(len(b))
	var out []segment.Carved
	for x, err := range segment.Carve(context.Background(), bytes.NewReader(b), opt) {
		if err != nil {
			t.Fatal(err)
		}
		y := *x
		y.Raw = nil
		out = append(out, y)
	}
	return out
}

// carvedFiles are the .log files of a recording by real brokers, with their names.
func carvedFiles(t testing.TB, name string) (names []string, logs map[string][]byte) {
	logs = map[string][]byte{}
	tree := fixture.Tree(t, name)
	fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(p, ".log") && len(tree[p].Data) > 0 {
			names = append(names, p)
			logs[p] = tree[p].Data
		}
		return nil
	})
	return names, logs
}

func sameBatch(f *segment.Frame) string {
	if f.Kind == segment.Legacy {
		return fmt.Sprintf("%d+%d offset %d crc %x", f.Pos, f.Len, f.Legacy.Offset, f.Legacy.CRC)
	}
	return fmt.Sprintf("%d+%d offset %d epoch %d crc %x", f.Pos, f.Len, f.Batch.BaseOffset, f.Batch.PartitionLeaderEpoch, f.Batch.CRC)
}

func sameCarved(x *segment.Carved) string {
	if x.Kind == segment.CarvedMessage {
		return fmt.Sprintf("%d+%d offset %d crc %x", x.Pos, x.Len, x.Legacy.Offset, x.Legacy.CRC)
	}
	return fmt.Sprintf("%d+%d offset %d epoch %d crc %x", x.Pos, x.Len, x.Header.BaseOffset, x.Header.PartitionLeaderEpoch, x.Header.CRC)
}

// TestCarveFiles: in files that brokers wrote Carve finds what Scan finds, wherever they lie
// among garbage.
func TestCarveFiles(t *testing.T) {
	names := append([]string{"internal-topics", "metadata", "hw-truncation-oldformat", "tiered"}, fixture.Names...)
	for _, recording := range names {
		t.Run(recording, func(t *testing.T) {
			t.Parallel()
			files, logs := carvedFiles(t, recording)
			rnd := rand.New(rand.NewPCG(1, uint64(len(files))))
			rnd.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
			var image []byte
			want := map[string]bool{}
			for _, name := range files {
				switch rnd.IntN(3) {
				case 0:
					for range rnd.IntN(3000) {
						image = append(image, byte(rnd.Uint32()))
					}
				case 1:
					image = append(image, make([]byte, rnd.IntN(9000))...)
				}
				for f, err := range segment.Scan(bytes.NewReader(logs[name]), int64(len(logs[name])), segment.ScanOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					if f.Damage == nil && (f.Kind == segment.Batch || f.Kind == segment.Legacy) {
						f.Pos += int64(len(image))
						want[sameBatch(&f)] = true
					}
				}
				image = append(image, logs[name]...)
			}
			for _, x := range carve(t, image, segment.CarveOptions{}) {
				if x.Kind > segment.CarvedMessage || x.Embedded {
					continue
				}
				key := sameCarved(&x)
				if !want[key] {
					t.Errorf("invented: %s", key)
				}
				delete(want, key)
			}
			for key := range want {
				t.Errorf("not found: %s", key)
			}
		})
	}
}

// place is what a test wants to see of a find.
func places(list []segment.Carved) string {
	var s []string
	for _, x := range list {
		w := map[segment.CarvedKind]string{segment.CarvedBatch: "batch", segment.CarvedMessage: "message", segment.CarvedDamaged: "damaged", segment.CarvedUnread: "unread"}[x.Kind]
		switch {
		case x.Embedded:
			w += " embedded"
		case x.Outer >= 0:
			w += " cut"
		}
		if x.Lone {
			w += " lone"
		}
		if x.Loose {
			w += " loose"
		}
		off := x.Header.BaseOffset
		if x.Kind == segment.CarvedMessage {
			off = x.Legacy.Offset
		}
		s = append(s, fmt.Sprintf("%s %d", w, off))
	}
	return strings.Join(s, ", ")
}

// TestCarveEmbedded: the image of a segment in a value comes out of no sound batch, and of a damaged
// one only with the mark; what lies behind a torn one is data.
func TestCarveEmbedded(t *testing.T) {
	image := string(logtest.Log(t, "batch base=500 records=2 ; batch ; batch"))
	plain := func(base int64, c logtest.Codec, values ...string) []byte {
		return logtest.Batch{BaseOffset: base, Epoch: 4, Codec: c, Records: logtest.Values(values...)}.Encode()
	}
	outer := plain(1, logtest.None, "before", image, "behind")
	first, last := plain(0, logtest.None, "a"), plain(4, logtest.None, "z")
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	change := func(b []byte, at int, x byte) []byte {
		b = append([]byte(nil), b...)
		b[at] ^= x
		return b
	}
	message := func(offset int64, value string) []byte {
		return logtest.Message{Magic: 1, Offset: offset, Timestamp: 7, Value: []byte(value)}.Encode()
	}
	garbage := []byte("……… 0123456789 …")
	for _, x := range []struct {
		name string
		data []byte
		want string
	}{
		{"in a sound batch", join(garbage, first, outer, last), "batch 0, batch 1, batch 4"},
		{"a flipped bit behind the image", join(first, change(outer, len(outer)-3, 1), last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, damaged 1, batch 4"},
		{"a flipped bit before it", join(first, change(outer, 61+9, 1), last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, damaged 1, batch 4"},
		{"the CRC is damaged, nothing follows but garbage", join(first, change(outer, 18, 1), garbage, garbage), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503"},
		{"the magic is damaged", join(first, change(outer, 16, 4), last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, damaged 1, batch 4"},
		{"attributes are damaged", join(first, change(outer, 21, 4), last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, damaged 1, batch 4"},
		{"the length is damaged", join(first, change(outer, 8, 0x40), last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, batch 4"},
		{"a length that fits is damaged", join(first, change(outer, 11, 0x40), last, last, last), "batch 0, batch embedded 500, batch embedded 502, batch embedded 503, batch 4, batch 4, batch 4"},
		{"nothing stands before it", join(garbage, change(outer, len(outer)-3, 1), last), "batch embedded 500, batch embedded 502, batch embedded 503, damaged 1, batch 4"},
		{"torn, another file behind", join(first, outer[:90], []byte(image), last), "batch 0, batch cut 500, batch cut 502, batch cut 503, batch 4"},
		{"an image in an image", join(first, plain(1, logtest.None, string(outer)), last), "batch 0, batch 1, batch 4"},
		{"in a damaged message", join(message(7, "seven"), change(message(8, image), 13, 1), message(9, "nine"), message(10, "ten")),
			"message 7, batch embedded 500, batch embedded 502, batch embedded 503, damaged 8, message 9, message 10"},
		{"in a sound message", join(message(7, "seven"), message(8, image), message(9, "nine")), "message 7, message 8, message 9"},
		{"a message alone", join(garbage, message(7, "seven"), garbage), "message lone 7"},
		{"a compressed message alone", join(garbage, logtest.Wrapper(logtest.Gzip, logtest.Message{Magic: 1, Offset: 3, Value: []byte("x")}, logtest.Message{Magic: 1, Offset: 4, Value: []byte("y")}).Encode(), garbage), "message 4"},
		{"an offset from another block", join(make([]byte, 512-8), plain(9, logtest.None, "v"), garbage), "batch loose 9"},
		{"an offset from another block, borne out", join(make([]byte, 512-8), plain(9, logtest.None, "v"), plain(10, logtest.None, "v"), garbage), "batch 9, batch 10"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := places(carve(t, x.data, segment.CarveOptions{})); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
		})
	}
}

// TestCarveLarge: batches larger than the memory of the search are found, and what is in them is not.
func TestCarveLarge(t *testing.T) {
	image := string(logtest.Log(t, "batch base=500 ; batch ; batch"))
	large := logtest.Batch{BaseOffset: 3, Records: logtest.Values(image + strings.Repeat("v", 40<<10) + image)}.Encode()
	for _, size := range []int64{0, -1} {
		data := bytes.Join([][]byte{make([]byte, 5000), logtest.Log(t, "batch base=2"), large, logtest.Log(t, "batch base=4"), make([]byte, 9000)}, nil)
		opt := segment.CarveOptions{Size: int64(len(data)), Stats: new(segment.CarveStats)}
		if size < 0 {
			opt.Size = -1
		}
		var tee bytes.Buffer
		opt.Tee = func(b []byte) { tee.Write(b) }
		var got []segment.Carved
		for x, err := range segment.Carve(context.Background(), bytes.NewReader(data), segment.SmallCarve(opt, 4096)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *x)
		}
		if want := "batch 2, batch 3, batch 4"; places(got) != want {
			t.Errorf("size %d: got %s, want %s", opt.Size, places(got), want)
		}
		if !bytes.Equal(tee.Bytes(), data) || opt.Stats.Bytes != int64(len(data)) || opt.Stats.Read > 3*int64(len(data)) || opt.Stats.Zeros < 13000 {
			t.Errorf("size %d: teed %d of %d bytes, stats %+v", opt.Size, tee.Len(), len(data), *opt.Stats)
		}
	}
}

// badRange cannot read the bytes [from, to).
type badRange struct {
	data     []byte
	from, to int64
}

func (d badRange) ReadAt(p []byte, at int64) (int, error) {
	if at < d.to && at+int64(len(p)) > d.from {
		return 0, errBad
	}
	return bytes.NewReader(d.data).ReadAt(p, at)
}

// TestCarveBadSectors: what cannot be read is told with its place, is no damage, and what lies
// behind it is found.
func TestCarveBadSectors(t *testing.T) {
	var data []byte
	var begins []int
	for base := int64(0); len(data) < 200<<10; base++ {
		begins = append(begins, len(data))
		data = append(data, logtest.Batch{BaseOffset: base, Records: logtest.Values(strings.Repeat("v", 700))}.Encode()...)
	}
	begins = append(begins, len(data))
	for _, bad := range [][2]int64{{0, 4096}, {8192, 8193}, {50000, 90000}, {int64(len(data)) - 10, int64(len(data))}, {0, int64(len(data))}} {
		lost := [2]int64{bad[0] / 4096 * 4096, min((bad[1]+4095)/4096*4096, int64(len(data)))}
		var unread int64
		have := map[int64]bool{}
		opt := segment.CarveOptions{Size: int64(len(data)), Stats: new(segment.CarveStats)}
		for x, err := range segment.Carve(context.Background(), badRange{data, bad[0], bad[1]}, segment.SmallCarve(opt, 16<<10)) {
			switch {
			case err != nil:
				t.Fatal(err)
			case x.Kind == segment.CarvedUnread:
				unread += x.Len
				if x.Pos < lost[0] || x.End() > lost[1] || !strings.Contains(x.Err.Error(), "input/output error") {
					t.Errorf("%v: unread [%d, %d): %v", bad, x.Pos, x.End(), x.Err)
				}
			case x.Kind == segment.CarvedDamaged:
				t.Errorf("%v: called damaged at %d", bad, x.Pos)
			default:
				have[x.Pos] = true
			}
		}
		if unread != lost[1]-lost[0] || opt.Stats.Unread != unread || opt.Stats.Read > 4*int64(len(data))+1<<20 {
			t.Errorf("%v: %d bytes unread, want %d; %+v", bad, unread, lost[1]-lost[0], *opt.Stats)
		}
		for i, p := range begins[:len(begins)-1] {
			if want := int64(begins[i+1]) <= lost[0] || int64(p) >= lost[1]; have[int64(p)] != want {
				t.Errorf("%v: batch at %d found: %v, want %v", bad, p, have[int64(p)], want)
			}
		}
	}
}

// TestCarveHostile: bytes in which very many positions are the header of a batch whose CRC must be
// computed to know that it is none. One that is sound is found among them.
func TestCarveHostile(t *testing.T) {
	data := headersEverywhere(3 << 20)
	sound := logtest.Batch{BaseOffset: 77, Records: logtest.Values("needle")}.Encode()
	copy(data[2<<20:], sound)
	opt := segment.CarveOptions{Stats: new(segment.CarveStats)}
	found := false
	for _, x := range carve(t, data, opt) {
		found = found || x.Kind == segment.CarvedBatch && x.Pos == 2<<20
	}
	if !found {
		t.Error("the sound batch was not found")
	}
	if opt.Stats.Read > 4*int64(len(data)) {
		t.Errorf("%d bytes read of %d", opt.Stats.Read, len(data))
	}
}

// headersEverywhere is n bytes with a sane header every 61 bytes that claims 1 MiB, and nothing sound.
func headersEverywhere(n int) []byte {
	h := logtest.Batch{BaseOffset: 1, Records: logtest.Values("")}.Encode()[:61]
	h[8], h[9], h[10], h[11] = 0, 0x10, 0, 0
	h[57], h[58], h[59], h[60] = 0, 0, 0, 1
	return bytes.Repeat(h, n/len(h))
}
