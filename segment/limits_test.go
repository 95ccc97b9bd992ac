package segment_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"kafsck/batch"
	"kafsck/internal/logtest"
	"kafsck/segment"
)

// meter counts the bytes that are read.
type meter struct {
	r    io.ReaderAt
	read int64
}

func (m *meter) ReadAt(p []byte, at int64) (int, error) {
	n, err := m.r.ReadAt(p, at)
	m.read += int64(n)
	return n, err
}

func TestSoundFilesAreReadOnce(t *testing.T) {
	for name, log := range map[string][]byte{
		"batches":   bytes.Repeat(logtest.Log(t, "batch records=10 size=400"), 3000),
		"large":     bytes.Repeat(logtest.Log(t, "batch size=1500000"), 5),
		"messages":  bytes.Repeat(logtest.Log(t, "message magic=1 value=abc ; message magic=0 count=9 codec=gzip"), 20000),
		"zero tail": append(logtest.Log(t, "batch"), make([]byte, 5<<20)...),
		"torn":      bytes.Repeat(logtest.Log(t, "batch size=3000"), 2000)[:5000000],
	} {
		for _, size := range []int{4096, 0} {
			m := &meter{r: bytes.NewReader(log)}
			scanReader(t, m, int64(len(log)), segment.ScanOptions{BufferSize: size})
			if extra := m.read - int64(len(log)); extra < 0 || extra > 256<<10 {
				t.Errorf("%s, buffer %d: %d bytes read of %d", name, size, m.read, len(log))
			}
		}
	}
}

// TestBudget: files made to be expensive. Each is read at most four times, in reasonable
// time, and comes out tiled.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	rng := rand.New(rand.NewPCG(5, 6))
	head := func(length int, offset int64) []byte {
		b := logtest.Batch{BaseOffset: offset}.Encode()
		binary.BigEndian.PutUint32(b[57:], 1)
		binary.BigEndian.PutUint32(b[8:], uint32(length))
		// The length of a record that fills the batch.
		payload := int64(length - 49)
		n := payload
		for n+int64(len(binary.AppendVarint(nil, n))) > payload {
			n--
		}
		return binary.AppendVarint(b, n)
	}
	const size = 3 << 20
	var claims, short, nested, pieces []byte
	for i := 0; len(claims) < size; i++ {
		// Headers that pass for one, each claiming all the rest.
		claims = append(claims, head(size-len(claims)-12-i%7, int64(i))...)
	}
	for i := 0; len(short) < size; i++ {
		// Headers with a wrong CRC that lead nowhere, with offsets going down.
		short = append(append(short, head(49+5, int64(size-i))...), "abcdefg"...)
	}
	for i := 0; len(nested) < size; i++ {
		// Sound batches with impossible offsets between junk.
		nested = append(append(nested, logtest.Batch{BaseOffset: int64(size - i), MaxTimestamp: 5}.Encode()...), '!')
	}
	for i := 0; len(pieces) < size; i++ {
		// Sound batches between junk, and a claim of much behind each.
		pieces = append(append(pieces, logtest.Batch{BaseOffset: int64(i), MaxTimestamp: 5}.Encode()...), head(size/2, int64(i))...)
		pieces = append(pieces, '!')
	}
	overlapping := make([]byte, size)
	for i := len(overlapping) - 70; i > 0; i -= 70 {
		// Each batch holds all that follow, and its CRC is right.
		copy(overlapping[i:], head(min(len(overlapping)-i, 70000)-12, int64(i)))
		binary.BigEndian.PutUint32(overlapping[i+17:], crc32.Checksum(overlapping[i+21:min(len(overlapping), i+70000)], table))
	}
	noise := make([]byte, size)
	for i := range noise {
		noise[i] = byte(rng.Uint32()&rng.Uint32()) & 3
	}
	for name, log := range map[string][]byte{"claims": claims, "short": short, "nested": nested, "pieces": pieces, "overlapping": overlapping[1:], "noise": noise} {
		m := &meter{r: bytes.NewReader(log)}
		opt := segment.ScanOptions{NextOffset: 1 << 40} // above all offsets, which makes it worse
		if name == "pieces" {
			opt.NextOffset = 0
		}
		frames := scanReader(t, m, int64(len(log)), opt)
		last := frames[len(frames)-1]
		t.Logf("%s: read %.2f times, %d frames, last %s", name, float64(m.read)/float64(len(log)), len(frames), describe(last))
		if m.read > 4*int64(len(log))+1<<20 {
			t.Errorf("%s: %d bytes read of %d", name, m.read, len(log))
		}
	}
}

// TestBudgetGivesUp: what is left when the budget is used up is one junk frame that says so.
func TestBudgetGivesUp(t *testing.T) {
	// Behind each sound batch stands a header that claims 5 MiB with a wrong CRC.
	var log []byte
	for i := range 60000 {
		log = append(log, logtest.Batch{BaseOffset: int64(i)}.Encode()...)
		b := logtest.Batch{BaseOffset: int64(i)}.Encode()
		binary.BigEndian.PutUint32(b[57:], 1)
		binary.BigEndian.PutUint32(b[8:], 5<<20)
		log = append(append(log, b...), '!')
	}
	frames := scan(t, log, segment.ScanOptions{})
	last := frames[len(frames)-1]
	if last.Kind != segment.Junk || !errors.Is(last.Damage, segment.ErrBudget) {
		t.Fatalf("last frame %s", describe(last))
	}
	if !strings.Contains(last.Damage.Error(), "search given up") {
		t.Error(last.Damage)
	}
}

func allocations(log []byte, buffer int) float64 {
	r := bytes.NewReader(log)
	return testing.AllocsPerRun(5, func() {
		for _, err := range segment.Scan(r, int64(len(log)), segment.ScanOptions{BufferSize: buffer}) {
			if err != nil {
				panic(err)
			}
		}
	})
}

func TestNoAllocationPerBatch(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	for name, spec := range map[string]string{"batches": "batch", "messages": "message magic=1 count=3", "wrappers": "message magic=0 codec=lz4 count=3"} {
		one := logtest.Log(t, spec)
		few := allocations(bytes.Repeat(one, 300), 4096)
		many := allocations(bytes.Repeat(one, 30000), 4096)
		if few != many || few > 12 {
			t.Errorf("%s: %v allocations for 300, %v for 30000", name, few, many)
		}
	}
}

// endless is a file of equal batches with the offsets that they should have. The bytes are
// made when they are read.
type endless struct{ one []byte }

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		i, in := (at+int64(n))/int64(len(e.one)), (at+int64(n))%int64(len(e.one))
		var base [8]byte
		binary.BigEndian.PutUint64(base[:], uint64(i))
		if in < 8 {
			n += copy(p[n:], base[in:])
			continue
		}
		n += copy(p[n:], e.one[in:])
	}
	return len(p), nil
}

func TestBeyondTwoGiB(t *testing.T) {
	one := logtest.Log(t, "batch size=1048500")
	n := int64(len(one))
	first := int64(1<<31)/n - 3
	size := (first+8)*n + 100
	frames := scanReader(t, endless{one}, size, segment.ScanOptions{From: first * n, NextOffset: first})
	if len(frames) != 9 || frames[8].Kind != segment.Torn || frames[8].Len != 100 {
		t.Fatal(describeAll(frames))
	}
	for i, f := range frames[:8] {
		if f.Kind != segment.Batch || f.Damage != nil || f.Batch.BaseOffset != first+int64(i) || f.Pos != f.Batch.BaseOffset*n {
			t.Error(describe(f))
		}
	}
}

// large is a virtual file: a batch with a payload of zeros, of this many bytes, then others.
type large struct {
	head   []byte
	zeros  int64
	behind []byte
}

func (l large) size() int64 { return int64(len(l.head)) + l.zeros + int64(len(l.behind)) }

func (l large) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		pos := at + int64(n)
		switch end := int64(len(l.head)) + l.zeros; {
		case pos < int64(len(l.head)):
			n += copy(p[n:], l.head[pos:])
		case pos < end:
			k := min(int64(len(p)-n), end-pos)
			clear(p[n : n+int(k)])
			n += int(k)
		default:
			n += copy(p[n:], l.behind[pos-end:])
		}
	}
	return len(p), nil
}

func newLarge(t testing.TB, zeros int64) large {
	b := logtest.Batch{BaseOffset: 7, Records: logtest.Values("x")}.Encode()[:61]
	binary.BigEndian.PutUint32(b[8:], uint32(49+zeros))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum(b[21:], table)
	zero := make([]byte, 1<<20)
	for left := zeros; left > 0; left -= int64(len(zero)) {
		sum = crc32.Update(sum, table, zero[:min(left, int64(len(zero)))])
	}
	binary.BigEndian.PutUint32(b[17:], sum)
	return large{head: b, zeros: zeros, behind: logtest.Log(t, "batch base=8 ; batch")}
}

func TestLargeBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	for _, zeros := range []int64{3 << 20, segment.MaxRaw - 61, segment.MaxRaw - 60, 100 << 20} {
		l := newLarge(t, zeros)
		frames := scanReader(t, l, l.size(), segment.ScanOptions{})
		want := []string{"[7,8)", "[8,9)", "[9,10)"}
		for i, f := range frames {
			if f.Kind != segment.Batch || f.Damage != nil || !strings.HasSuffix(describe(f), want[i]) {
				t.Errorf("%d zeros: %s", zeros, describe(f))
			}
		}
		if held := frames[0].Raw != nil; held != (frames[0].Len <= segment.MaxRaw) {
			t.Errorf("%d bytes, raw held: %v", frames[0].Len, held)
		}
		l.head[30]++
		frames = scanReader(t, l, l.size(), segment.ScanOptions{})
		if len(frames) != 3 || !errors.Is(frames[0].Damage, batch.ErrCRC) || frames[1].Damage != nil {
			t.Errorf("%d zeros, damaged: %q", zeros, describeAll(frames))
		}
	}
}

// TestMemoryFollowsTheBytes: a header may claim what it likes, and so may a size.
func TestMemoryFollowsTheBytes(t *testing.T) {
	b := logtest.Log(t, "batch")
	binary.BigEndian.PutUint32(b[8:], 60<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var failed error
	for _, err := range segment.Scan(bytes.NewReader(b), 1<<40, segment.ScanOptions{BufferSize: 4096}) {
		failed = err
	}
	runtime.ReadMemStats(&after)
	var re *segment.ReadError
	if !errors.As(failed, &re) || re.Pos != int64(len(b)) {
		t.Error(failed)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a file of %d", n, len(b))
	}
}
