package segment_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/segment"
)

// samePlain holds what Carve finds against what a look at every position finds.
func samePlain(t *testing.T, data []byte, opt segment.CarveOptions, reach int) {
	t.Helper()
	opt.Size = int64(len(data))
	want := segment.PlainCarve(data)
	for _, w := range want {
		if reach > 0 && w.Len > int64(reach) {
			return // not all positions of large ones are asked
		}
	}
	var got []segment.Plain
	if reach > 0 {
		opt = segment.SmallCarve(opt, reach)
	}
	for x, err := range segment.Carve(context.Background(), bytes.NewReader(data), opt) {
		switch {
		case err != nil:
			t.Fatal(err)
		case x.Kind == segment.CarvedBatch:
			got = append(got, segment.Plain{Pos: x.Pos, Len: x.Len, Magic: 2})
		case x.Kind == segment.CarvedMessage:
			got = append(got, segment.Plain{Pos: x.Pos, Len: x.Len, Magic: x.Legacy.Magic})
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("not found: %+v", w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("invented: %+v", g)
		}
	}
}

// smallNumbers are 32-bit integers, most of them below 1000, as tables of programs and file systems hold.
func smallNumbers(rnd *rand.Rand, size int) []byte {
	b := make([]byte, 0, size)
	for len(b) < size {
		n := rnd.Uint32N(1000)
		if rnd.IntN(4) == 0 {
			n = rnd.Uint32()
		}
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func noise(rnd *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// TestCarvePlain: among zeros, noise, numbers, text and torn batches, at any position, nothing is passed over
// that a look at every position finds. Windows are small, so that their borders lie everywhere.
func TestCarvePlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 10))
	logs := [][]byte{
		logtest.Log(t, "batch base=0 records=3 ; batch records=40 codec=gzip ; batch records=2 pid=4 pepoch=1 seq=0"),
		logtest.Log(t, "batch base=77 records=1 value="+strings.Repeat("v", 700)+" ; batch records=9 codec=zstd"),
		logtest.Log(t, "batch base=500 value="+strings.Repeat("0", 20)),
		logtest.Batch{BaseOffset: 9, Records: logtest.Values(string(make([]byte, 3000)))}.Encode(),
		logtest.Batch{BaseOffset: 1 << 40, Records: logtest.Values("")}.Encode(),
	}
	for magic := range int8(2) {
		for _, v := range []string{"", "some value", string(make([]byte, 200))} {
			logs = append(logs, logtest.Message{Magic: magic, Offset: 12, Timestamp: 1, Key: []byte("k"), Value: []byte(v)}.Encode(),
				logtest.Message{Magic: magic, Offset: 0, Value: []byte(v)}.Encode(), logtest.Message{Magic: magic, Offset: 5}.Encode())
		}
	}
	rounds := 60
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		var data []byte
		for len(data) < 60<<10 {
			n := rnd.IntN(3000)
			log := logs[rnd.IntN(len(logs))]
			switch rnd.IntN(8) {
			case 0:
				data = append(data, make([]byte, n)...)
			case 1:
				data = append(data, noise(rnd, n)...)
			case 2:
				data = append(data, smallNumbers(rnd, n)...)
			case 3:
				data = append(data, bytes.Repeat([]byte("text "), n/5)...)
			case 4:
				data = append(data, log[:rnd.IntN(len(log))]...)
			case 5:
				log = slices.Clone(log)
				log[rnd.IntN(len(log))] ^= 1 << rnd.IntN(8)
				fallthrough
			default:
				data = append(data, log...)
			}
		}
		for _, reach := range []int{4096, 5000, 16384, 0} {
			samePlain(t, data, segment.CarveOptions{}, reach)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// TestMayBegin: no position is ruled out that looks like a header.
func TestMayBegin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	few := []byte{0, 0, 0, 1, 2, 3, 4, 11, 12, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xff, 0xff}
	b := make([]byte, 400)
	for range 20_000 {
		for i := range b {
			if b[i] = few[rnd.IntN(len(few))]; rnd.IntN(4) == 0 {
				b[i] = byte(rnd.Uint32())
			}
		}
		for range 4 { // some that are headers indeed
			at := rnd.IntN(len(b) - 100)
			length := rnd.IntN(60)
			key := rnd.IntN(20) - 1
			copy(b[at:], []byte{0, 0, 0, 0, 0, 0, 0, byte(at), 0, 0, byte(rnd.IntN(2)), byte(length)})
			switch magic := rnd.IntN(3); magic {
			case 2:
				clear(b[at+12 : at+61])
				b[at+16], b[at+11] = 2, 61
			default:
				k := at + 18 + 8*magic
				copy(b[at+16:], []byte{byte(magic), byte(rnd.IntN(4))})
				if magic == 1 {
					clear(b[at+18 : k])
				}
				binary.BigEndian.PutUint32(b[k:], uint32(key))
				if v := k + 4 + max(key, 0); v+4 <= len(b) {
					binary.BigEndian.PutUint32(b[at+8:], uint32(v-at-12+4+rnd.IntN(300)))
					binary.BigEndian.PutUint32(b[v:], binary.BigEndian.Uint32(b[at+8:])-uint32(v-at-12+4))
				}
			}
		}
		notRuledOut(t, b)
	}
}

func notRuledOut(t *testing.T, b []byte) {
	t.Helper()
	const reach = 4 << 20
	i, may := segment.MayBegin(b, reach)
	if may && (i+61 > len(b) || !segment.CouldBegin(b[i:], reach)) {
		t.Fatalf("%d cannot begin anything: %x", i, b[i:min(i+61, len(b))])
	}
	for k := range i {
		if segment.CouldBegin(b[k:], reach) {
			t.Fatalf("%d was ruled out, the answer is %d, %v: %x", k, i, may, b[k:k+61])
		}
	}
}

func FuzzMayBegin(f *testing.F) {
	f.Add(logtest.Batch{BaseOffset: 1, Records: logtest.Values("v")}.Encode())
	f.Add(logtest.Message{Magic: 0, Offset: 1, Key: []byte("k"), Value: make([]byte, 90)}.Encode())
	f.Add(logtest.Message{Magic: 1, Offset: 1, Timestamp: 3, Value: make([]byte, 90)}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) { notRuledOut(t, b) })
}

// TestCarveHoles: what lies in holes is passed over and changes nothing, also where a batch reaches
// over one; and a file system that calls a hole what is none is not believed.
func TestCarveHoles(t *testing.T) {
	const block = 4096
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		var data []byte
		for range 8 {
			data = append(data, make([]byte, rnd.IntN(200<<10))...)
			data = append(data, noise(rnd, rnd.IntN(9000))...)
			data = append(data, logtest.Batch{BaseOffset: int64(len(data)), Records: logtest.Values("a", string(make([]byte, rnd.IntN(15<<10))), "b")}.Encode()...)
			data = append(data, logtest.Log(t, "batch base=7 records=3")...)
		}
		if rnd.IntN(2) == 0 {
			data = append(data, make([]byte, rnd.IntN(200<<10))...)
		}
		hole := func(pos int64) int64 { // where whole blocks of zeros end
			end := pos
			for end < int64(len(data)) {
				next := min((end/block+1)*block, int64(len(data)))
				if len(bytes.Trim(data[end/block*block:next], "\x00")) > 0 {
					break
				}
				end = next
			}
			return end
		}
		told := func(opt segment.CarveOptions) string {
			opt.Size = int64(len(data))
			opt.Stats = new(segment.CarveStats)
			var s strings.Builder
			var progress int64
			opt.Progress = func(n int64) { progress += n }
			for x, err := range segment.Carve(context.Background(), bytes.NewReader(data), segment.SmallCarve(opt, 16<<10)) {
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&s, "%d %d+%d %v %v %v\n", x.Kind, x.Pos, x.Len, x.Outer, x.Embedded, x.Loose)
			}
			if opt.Stats.Bytes != int64(len(data)) || progress != opt.Stats.Bytes {
				t.Errorf("round %d: searched %d of %d bytes, told of %d", round, opt.Stats.Bytes, len(data), progress)
			}
			if opt.Hole != nil && opt.Stats.Holes+opt.Stats.Read < int64(len(data)) {
				t.Errorf("round %d: of %d bytes %d read, %d in holes", round, len(data), opt.Stats.Read, opt.Stats.Holes)
			}
			return s.String()
		}
		want := told(segment.CarveOptions{})
		var tee bytes.Buffer
		for name, opt := range map[string]segment.CarveOptions{
			"holes": {Hole: hole},
			"teed":  {Hole: hole, Tee: func(b []byte) { tee.Write(b) }},
			"all of it, which is a lie": {Hole: func(pos int64) int64 {
				if data[pos] == 0 {
					return pos
				}
				return int64(len(data))
			}},
			"a little more than there are": {Hole: func(pos int64) int64 { return hole(pos) + 100 }},
		} {
			if got := told(opt); got != want {
				t.Errorf("round %d, %s: got\n%swant\n%s", round, name, got, want)
			}
		}
		if !bytes.Equal(tee.Bytes(), data) {
			t.Errorf("round %d: the bytes that were teed are others", round)
		}
	}
}
