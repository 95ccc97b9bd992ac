package segment_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/segment"
)

// imageLog has batches of all codecs, and one whose record is the image of two batches.
func imageLog(t testing.TB) []byte {
	t.Helper()
	images := string(logtest.Log(t, "batch base=0 records=2 ; batch"))
	log := logtest.Log(t, "batch base=100 records=3 epoch=4 ; batch records=2 codec=gzip size=300")
	log = append(log, logtest.Batch{BaseOffset: 105, Epoch: 4, Records: logtest.Values("x", images, "y")}.Encode()...)
	return append(log, logtest.Log(t, "batch base=108 epoch=5 codec=lz4 pid=7 pepoch=1 seq=0 txn ; marker commit pid=7 pepoch=1 ; batch records=0 lastdelta=4 ; batch")...)
}

// legacyLog has messages of magic 0 and 1, wrappers among them, then batches.
func legacyLog(t testing.TB) []byte {
	t.Helper()
	return logtest.Log(t, `message magic=0 base=100 count=3 ; message magic=0 count=2 codec=lz4 ; message magic=0 key=null value=null
		message magic=1 count=2 value="something longer" ; message magic=1 count=4 codec=gzip ; message magic=1 value=null
		batch ; batch`)
}

// TestEveryBit flips every bit of a log. All batches but the one that is hit must come
// out as in the sound log, and that one as a single frame.
func TestEveryBit(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	for name, log := range map[string][]byte{"batches": imageLog(t), "messages": legacyLog(t)} {
		sound := scan(t, log, segment.ScanOptions{NextOffset: 100})
		for hit, target := range sound {
			for bit := range int(target.Len) * 8 {
				at := int(target.Pos) + bit/8
				log[at] ^= 1 << (bit % 8)
				got := scan(t, log, segment.ScanOptions{NextOffset: 100})
				log[at] ^= 1 << (bit % 8)
				ok := len(got) == len(sound)
				for i := 0; ok && i < len(got); i++ {
					if i != hit {
						ok = describe(got[i]) == describe(sound[i])
						continue
					}
					ok = got[i].Pos == target.Pos && got[i].Len == target.Len
					field := bit / 8
					switch {
					case field >= 8 && field < 12:
						ok = ok && got[i].Kind == target.Kind && strings.HasSuffix(describe(got[i]), "length")
					case target.Kind == segment.Batch && field < 16:
						ok = ok && got[i].Kind == segment.Batch && got[i].Damage == nil // not covered by the CRC
					case target.Kind == segment.Batch && field == 16:
						ok = ok && got[i].Kind == segment.Batch && strings.HasSuffix(describe(got[i]), "magic")
					case target.Kind == segment.Batch:
						ok = ok && got[i].Kind == segment.Batch && strings.HasSuffix(describe(got[i]), "crc")
					case field < 8:
						ok = ok && got[i].Kind == segment.Legacy && got[i].Damage == nil
					}
				}
				if !ok {
					t.Fatalf("%s, bit %d of byte %d of frame %d:\ngot  %s\nwant %s", name, bit%8, bit/8, hit,
						strings.Join(describeAll(got), "\n     "), strings.Join(describeAll(sound), "\n     "))
				}
			}
		}
	}
}

// TestEveryLength cuts a log at every length: whole batches, then one torn frame.
func TestEveryLength(t *testing.T) {
	for name, log := range map[string][]byte{"batches": imageLog(t), "messages": legacyLog(t)} {
		sound := scan(t, log, segment.ScanOptions{})
		for size := range len(log) {
			got := scan(t, log[:size], segment.ScanOptions{})
			for i, f := range got {
				ok := describe(f) == describe(sound[i])
				if i == len(got)-1 && f.End() != sound[i].End() {
					ok = f.Kind == segment.Torn || f.Kind == segment.Zeros && f.Len <= 17
				}
				if !ok {
					t.Fatalf("%s cut at %d:\ngot  %s", name, size, strings.Join(describeAll(got), "\n     "))
				}
			}
		}
	}
}

// TestEveryStart scans from every frame: the rest is the same.
func TestEveryStart(t *testing.T) {
	log := append(imageLog(t), make([]byte, 3000)...)
	sound := scan(t, log, segment.ScanOptions{})
	for i, f := range sound {
		got := describeAll(scan(t, log, segment.ScanOptions{From: f.Pos, NextOffset: -1}))
		if want := describeAll(sound[i:]); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("from %d: %q, want %q", f.Pos, got, want)
		}
	}
	if got := scan(t, nil, segment.ScanOptions{From: 5}); got != nil {
		t.Error(got)
	}
	if got := scan(t, log, segment.ScanOptions{From: int64(len(log))}); got != nil {
		t.Error(got)
	}
}

// TestSurvivors damages logs at several places at once, with garbage, zeros, missing and
// additional bytes, in many ways. Every batch whose own bytes are whole must be found.
func TestSurvivors(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 800 {
		var parts [][]byte
		offset := int64(rng.IntN(3) * 1000)
		first := offset
		for range 3 + rng.IntN(12) {
			b := logtest.Batch{BaseOffset: offset, Epoch: int32(offset % 5), Codec: logtest.Codec(max(0, rng.IntN(20)-15))}
			for range 1 + rng.IntN(3) {
				value := bytes.Repeat([]byte{0xaa}, rng.IntN(1200))
				if rng.IntN(2) == 0 {
					for i := range value {
						value[i] = byte(rng.Uint32())
					}
				}
				b.Records = append(b.Records, logtest.Record{Value: value})
			}
			parts = append(parts, b.Encode())
			offset = b.NextOffset()
		}
		log := bytes.Join(parts, nil)
		var whole []string // batches that no damage touches
		cuts := 1 + rng.IntN(4)
		touched := make([]bool, len(parts))
		var out []byte
		for i, p := range parts {
			p = bytes.Clone(p)
			if cuts > 0 && rng.IntN(3) == 0 {
				cuts--
				at := rng.IntN(len(p) - 1)
				n := min(1+rng.IntN(700), len(p)-at)
				if rng.IntN(4) == 0 {
					at, n = 0, min(len(p), 61) // the header
				}
				switch rng.IntN(4) {
				case 0:
					clear(p[at : at+n])
				case 1:
					for j := range n {
						p[at+j] = byte(rng.Uint32())
					}
				case 2:
					// As long as the next batch: then the length leads over that. Two coincidences.
					for i+1 < len(parts) && n == len(parts[i+1]) {
						n--
					}
					p = append(p[:at:at], p[at+n:]...)
				case 3:
					more := make([]byte, n)
					for j := range more {
						more[j] = byte(rng.Uint32())
					}
					p = append(append(p[:at:at], more...), p[at:]...)
				}
				touched[i] = true
			}
			out = append(out, p...)
		}
		for i, p := range parts {
			if !touched[i] {
				whole = append(whole, string(p))
			}
		}
		got := scan(t, out, segment.ScanOptions{NextOffset: first, BufferSize: 4096})
		var found []string
		for _, f := range got {
			if f.Kind == segment.Batch && f.Damage == nil {
				found = append(found, string(f.Raw))
			}
		}
		// Batches begin and end with zero bytes. Where only such are missing, the batch is
		// whole with those of its neighbour, which then is not.
		if slices.ContainsFunc(found, func(k string) bool {
			i := slices.IndexFunc(parts, func(p []byte) bool { return string(p) == k })
			return i >= 0 && touched[i]
		}) {
			continue
		}
		for _, w := range whole {
			i := 0
			for i < len(found) && found[i] != w {
				i++
			}
			if i == len(found) {
				t.Fatalf("round %d: the batch at offset %d is lost\nsound %s\ngot   %s", round, binary.BigEndian.Uint64([]byte(w)),
					strings.Join(describeAll(scan(t, log, segment.ScanOptions{})), "\n      "), strings.Join(describeAll(got), "\n      "))
			}
			found = found[i+1:]
		}
	}
}

// TestImages puts whole batches into record values and damages the batch around them. An
// image must never pass for a batch of the log, nor hide one.
func TestImages(t *testing.T) {
	lower := logtest.Log(t, "batch base=3 records=2")
	higher := logtest.Log(t, "batch base=500000 records=2")
	for name, image := range map[string][]byte{
		"lower":        lower,
		"higher":       higher,
		"lower twice":  logtest.Log(t, "batch base=3 records=2 ; batch"),
		"a log":        logtest.Log(t, "batch ; batch ; batch records=4 ; batch"),
		"lower, zeros": append(bytes.Clone(lower), make([]byte, 3000)...),
		"same offset":  logtest.Log(t, "batch base=101"),
		"message":      logtest.Log(t, "message magic=1 base=3"),
	} {
		parts := [][]byte{
			logtest.Log(t, "batch base=100"),
			logtest.Batch{BaseOffset: 101, Records: logtest.Values("before", string(image), "after")}.Encode(),
			logtest.Log(t, "batch base=104 size=200"),
			logtest.Log(t, "batch base=105"),
			logtest.Log(t, "batch base=106"),
		}
		log := bytes.Join(parts, nil)
		outer, next := len(parts[0]), len(parts[0])+len(parts[1])
		for damage, apply := range map[string]func(b []byte) []byte{
			"payload":              func(b []byte) []byte { b[outer+70] ^= 1; return b },
			"length 0":             func(b []byte) []byte { copy(b[outer+8:], "\x00\x00\x00\x00"); return b },
			"length -1":            func(b []byte) []byte { copy(b[outer+8:], "\xff\xff\xff\xff"); return b },
			"length huge":          func(b []byte) []byte { copy(b[outer+8:], "\x7f\xff\xff\xff"); return b },
			"length +5":            func(b []byte) []byte { b[outer+11] += 5; return b },
			"length and payload":   func(b []byte) []byte { copy(b[outer+8:], "\x7f\xff\xff\xff"); b[outer+70] ^= 1; return b },
			"payload, next header": func(b []byte) []byte { b[outer+70] ^= 1; copy(b[next:], bytes.Repeat([]byte{0xee}, 61)); return b },
			"header":               func(b []byte) []byte { copy(b[outer:], bytes.Repeat([]byte{0xee}, 61)); return b },
			"zeroed header":        func(b []byte) []byte { clear(b[outer : outer+61]); return b },
			"torn":                 func(b []byte) []byte { return b[:next-3] },
			"torn, zeros":          func(b []byte) []byte { clear(b[next-3:]); return b },
		} {
			b := apply(bytes.Clone(log))
			got := scan(t, b, segment.ScanOptions{NextOffset: 100})
			var offsets []int64
			for _, f := range got {
				if f.Kind == segment.Batch && f.Damage == nil {
					offsets = append(offsets, f.Batch.BaseOffset)
				}
			}
			want := []int64{100, 104, 105, 106}
			if strings.HasPrefix(damage, "torn") {
				want = want[:1]
			}
			if name == "same offset" && strings.HasSuffix(damage, "header") && damage != "payload, next header" {
				continue // nothing tells it from the batch that stood here
			}
			if damage == "payload, next header" {
				want = []int64{100, 105, 106}
			}
			if fmt.Sprint(offsets) != fmt.Sprint(want) {
				t.Errorf("%s, %s: batches %v, want %v\n%s", name, damage, offsets, want, strings.Join(describeAll(got), "\n"))
			}
			if damage == "header" && name != "message" && !strings.Contains(strings.Join(describeAll(got), "\n"), "embedded") {
				t.Errorf("%s, %s: no embedded frame", name, damage)
			}
		}
	}
}

// TestLongZeroRuns: runs of zeros longer than any window, and a header right behind.
func TestLongZeroRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	for _, n := range []int{4095, 4096, 4097, 8191, 262143, 262144, 262145, 3 << 20} {
		for _, base := range []string{"base=0", "base=256", "base=4886718345"} {
			log := logtest.Log(t, fmt.Sprintf("batch ; raw zeros=%d ; batch %s ; batch", n, base))
			got := describeAll(scan(t, log, segment.ScanOptions{BufferSize: 4096}))
			if len(got) != 4 || got[1] != fmt.Sprintf("zeros 72+%d", n) && base != "base=0" {
				t.Errorf("%d zeros, then %s: %q", n, base, got)
			}
			log = logtest.Log(t, fmt.Sprintf("batch ; raw text=%s ; raw zeros=%d ; batch %s ; batch", strings.Repeat("x", 100), n, base))
			got = describeAll(scan(t, log, segment.ScanOptions{BufferSize: 4096}))
			if base != "base=0" && (len(got) != 5 || got[2] != fmt.Sprintf("zeros 172+%d", n)) {
				t.Errorf("junk, %d zeros, then %s: %q", n, base, got)
			}
		}
	}
}

// TestClaimed: the frames at the end say what Kafka's walker would do there.
func TestClaimed(t *testing.T) {
	for spec, want := range map[string]int64{
		"batch ; batch ; torn bytes=1":                           72,
		"batch ; raw hex=00000000000000010000000500000000ff00ff": 17,
		"batch ; raw zeros=40":                                   0,
		"batch ; raw hex=ffff":                                   0,
		"batch ; raw hex=000000000000000000000009":               21,
	} {
		got := scan(t, logtest.Log(t, spec), segment.ScanOptions{})
		if last := got[len(got)-1]; last.Claimed != want {
			t.Errorf("%s: %s claims %d, want %d", spec, describe(last), last.Claimed, want)
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	var names []string
	for k := segment.Batch; k <= segment.Embedded; k++ {
		names = append(names, k.String())
	}
	if got := strings.Join(names, " "); got != "batch legacy zeros torn junk embedded" || segment.FrameKind(9).String() != "kind(9)" {
		t.Error(got)
	}
}
