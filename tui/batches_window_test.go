package tui

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// countedFS counts what is read of .log files, and the longest read.
type countedFS struct {
	sync.Mutex
	bytes, longest int64
	fail           func(op, name string, pos, length int64) error
}

func (c *countedFS) reset() {
	c.Lock()
	defer c.Unlock()
	c.bytes, c.longest = 0, 0
}

func (c *countedFS) read() (bytes, longest int64) {
	c.Lock()
	defer c.Unlock()
	return c.bytes, c.longest
}

func (c *countedFS) wrap(fsys rofs.FS) rofs.FS {
	return rofs.Fault(fsys, func(op, name string, pos, length int64) error {
		if op == "read" && strings.HasSuffix(name, ".log") {
			c.Lock()
			c.bytes += length
			c.longest = max(c.longest, length)
			c.Unlock()
		}
		if c.fail != nil {
			return c.fail(op, name, pos, length)
		}
		return nil
	})
}

// bigLog writes a log of n batches of size bytes each, one record's worth of offsets in
// each, with its .index if index is true. It returns the directory.
func bigLog(t *testing.T, n, size int, index bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "big-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b := logtest.Batch{Records: []logtest.Record{{Value: make([]byte, size-80)}}, MaxTimestamp: logtest.T0}.Encode()
	var entries []byte
	for i := range n {
		binary.BigEndian.PutUint64(b, uint64(i))
		binary.BigEndian.PutUint64(b[27:], uint64(logtest.T0+i*1000)) // base and max timestamp
		binary.BigEndian.PutUint64(b[35:], uint64(logtest.T0+i*1000))
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
		if index && i > 0 {
			entries = binary.BigEndian.AppendUint32(entries, uint32(i))
			entries = binary.BigEndian.AppendUint32(entries, uint32(i*len(b)))
		}
		if _, err := log.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if index {
		if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.index"), entries, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// logIn is the first log of a partition directory, read through c.
func logIn(t *testing.T, dir string, c *countedFS) *logFiles {
	t.Helper()
	fsys, err := rofs.Dir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rofs.Close(fsys) })
	found, err := logdir.DiscoverFS(c.wrap(fsys), filepath.Dir(dir), logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range found.AllPartitions() {
		for _, x := range p.Segments {
			if x.Log != nil {
				return logAround(p, x.Log)
			}
		}
	}
	t.Fatal("no .log was found")
	return nil
}

// TestOnlyWindowsAreRead: a list of batches reads what is around the cursor, however
// large the log is, and jumps read no more than that where there is an index.
func TestOnlyWindowsAreRead(t *testing.T) {
	const n, size = 4000, 16 << 10
	c := &countedFS{}
	l := logIn(t, bigLog(t, n, size, true), c)
	s := bareSim(t, 100, 30)
	c.reset()
	s.open(newBatches(s.app.world, l, target{}))
	x := s.app.top().screen.(*batchesScreen)
	const window = 24 << 20
	bounded := func(what string, most int64) {
		t.Helper()
		if got, longest := c.read(); got > most || longest > 2<<20 {
			t.Errorf("%s: %d bytes were read (longest %d), at most %d wanted", what, got, longest, most)
		}
		if len(x.frames) > framesKept+2*framesAfter {
			t.Errorf("%s: %d frames are kept", what, len(x.frames))
		}
		c.reset()
	}
	at := func(want int64) {
		t.Helper()
		if f := x.selected(); f == nil || f.head.BaseOffset != want {
			t.Fatalf("want the batch at offset %d\n%s", want, s.view())
		}
	}
	bounded("opening", window)
	at(0)
	s.keys(":").text("goto 2345").keys("enter")
	bounded("goto", 2*window)
	at(2345)
	s.keys("k", "k", "k")
	at(2342)
	s.keys("G")
	at(n - 1)
	bounded("to the end", 2*window)
	s.keys("g")
	at(0)
	bounded("to the beginning", window)
	s.keys(":").text("time 1700001234000").keys("enter")
	at(1234)
	s.keys(":").text("position " + itoa(int64(1777*x.frames[0].len+5))).keys("enter")
	at(1777)
	c.reset()
}

// TestScrollsEndToEnd: page by page down and up again, with and without an index, every
// batch is seen, in order, and none twice.
func TestScrollsEndToEnd(t *testing.T) {
	for _, index := range []bool{true, false} {
		const n = 9000
		l := logIn(t, bigLog(t, n, 600, index), &countedFS{})
		s := bareSim(t, 100, 30)
		s.open(newBatches(s.app.world, l, target{}))
		x := s.app.top().screen.(*batchesScreen)
		seen := int64(0)
		for range n {
			from, to := x.visible()
			for _, f := range x.frames[from:to] {
				if f.head.BaseOffset > seen {
					t.Fatalf("index %v: after %d comes %d", index, seen, f.head.BaseOffset)
				}
				seen = max(seen, f.head.BaseOffset+1)
			}
			if len(x.frames) > framesKept+2*framesAfter {
				t.Fatalf("%d frames are kept", len(x.frames))
			}
			if seen == n {
				break
			}
			s.keys("pgdown")
		}
		if seen != n {
			t.Fatalf("index %v: only %d batches were seen going down", index, seen)
		}
		for range n {
			from, to := x.visible()
			for i := to - 1; i >= from; i-- {
				if f := x.frames[i]; f.head.BaseOffset < seen-1 {
					t.Fatalf("index %v: below %d comes %d", index, seen, f.head.BaseOffset)
				} else {
					seen = min(seen, f.head.BaseOffset)
				}
			}
			if seen == 0 {
				break
			}
			s.keys("pgup")
		}
		if seen != 0 {
			t.Fatalf("index %v: stopped at %d going up", index, seen)
		}
	}
}

// TestWrongIndex: an index that points into batches, backwards or beyond the end changes
// nothing of what is shown.
func TestWrongIndex(t *testing.T) {
	dir := bigLog(t, 3000, 700, true)
	name := filepath.Join(dir, "00000000000000000000.index")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, damage := range []func(b []byte) []byte{
		func(b []byte) []byte { // into the middle of batches
			for i := 4; i < len(b); i += 8 {
				binary.BigEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:])+13)
			}
			return b
		},
		func(b []byte) []byte { // batches too late
			for i := 4; i < len(b); i += 8 {
				binary.BigEndian.PutUint32(b[i:], uint32(min(int(binary.BigEndian.Uint32(b[i:]))+700*500, 2999*700)))
			}
			return b
		},
		func(b []byte) []byte {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		},
		func(b []byte) []byte { return make([]byte, len(b)) },
	} {
		if err := os.WriteFile(name, damage(append([]byte(nil), whole...)), 0o644); err != nil {
			t.Fatal(err)
		}
		l := logIn(t, dir, &countedFS{})
		s := bareSim(t, 100, 30)
		s.open(newBatches(s.app.world, l, target{}))
		x := s.app.top().screen.(*batchesScreen)
		for _, offset := range []int64{0, 1, 999, 1500, 2999} {
			s.keys(":").text("goto " + itoa(offset)).keys("enter")
			if f := x.selected(); f == nil || f.head.BaseOffset != offset || f.kind != 0 {
				t.Fatalf("goto %d\n%s", offset, s.view())
			}
			s.keys("pgup")
			if f := x.selected(); f == nil || f.head.BaseOffset > offset || f.kind != 0 {
				t.Fatalf("goto %d and up\n%s", offset, s.view())
			}
		}
	}
}

// TestReadErrorsAreShown: a sector that cannot be read is told as such, and neither as
// damage nor as the end of the file.
func TestReadErrorsAreShown(t *testing.T) {
	dir := bigLog(t, 3000, 700, false)
	c := &countedFS{}
	l := logIn(t, dir, c)
	c.fail = func(op, name string, pos, length int64) error {
		if op == "read" && strings.HasSuffix(name, ".log") && pos <= 1<<20 && pos+length > 1<<20 {
			return syscall.EIO
		}
		return nil
	}
	s := bareSim(t, 100, 30)
	s.open(newBatches(s.app.world, l, target{}))
	x := s.app.top().screen.(*batchesScreen)
	if len(x.frames) == 0 {
		t.Fatalf("nothing of what can be read is shown\n%s", s.view())
	}
	s.keys("G").sees("E ", "input/output error")
	if x.tail {
		t.Error("the end of the file is said to be known")
	}
	s.keys("z").sees("input/output error", "not complete")
	s.keys("z", "esc")
	c.fail = func(op, name string, pos, length int64) error {
		if op == "open" {
			return syscall.EACCES
		}
		return nil
	}
	for _, open := range []screen{
		newBatches(s.app.world, l, target{}), newBatch(s.app.world, l, target{}, nil), newRecords(s.app.world, l, target{}),
		newTextFile(s.app.world, nil, l.file()),
	} {
		s.open(open).sees("E ", "permission denied")
		if v := s.view(); strings.Contains(v, "junk") || strings.Contains(v, "is empty") {
			t.Errorf("a failed read is told as something else:\n%s", v)
		}
	}
}

// TestScanStops: ctrl+c ends a scan, and what was found is said to be incomplete.
func TestScanStops(t *testing.T) {
	l := logIn(t, bigLog(t, 2000, 700, true), &countedFS{})
	s := bareSim(t, 100, 30)
	s.open(newBatches(s.app.world, l, target{}))
	s.held = true
	s.keys("z")
	s.keys("ctrl+c")
	s.settle().sees("not complete")
	s.held = false
	s.keys("R").sees("No fault in this segment")
}

// TestFilterOfBatches: what passes is listed as the scan finds it.
func TestFilterOfBatches(t *testing.T) {
	l := logIn(t, bigLog(t, 3000, 700, true), &countedFS{})
	s := bareSim(t, 100, 30)
	s.open(newBatches(s.app.world, l, target{}))
	s.keys("/").text("offset>=1200 offset<1210").keys("enter")
	if rows := shownBatches(s); len(rows) != 10 || rows[0][1] != 1200 || rows[9][1] != 1209 {
		t.Fatalf("%v\n%s", rows, s.view())
	}
	s.keys("j", "j", "enter").sees("offset 1202")
	s.keys("esc").sees("3/10")
	s.keys("/", "ctrl+u", "enter")
	x := s.app.top().screen.(*batchesScreen)
	if x.found != nil {
		t.Fatalf("the filter is still there\n%s", s.view())
	}
	if f := x.selected(); f == nil || f.head.BaseOffset != 1202 {
		t.Errorf("the cursor went elsewhere\n%s", s.view())
	}
}

// TestDamageIsListed: bytes that are no batch are shown as what they are, and found by z.
func TestDamageIsListed(t *testing.T) {
	dir := logtest.Dir(t, `topic t-0 ; segment 0
batch base=0 records=3 epoch=1
raw text=this-is-no-batch-but-junk-of-some-length-that-is-longer-than-a-header-of-a-batch
batch base=3 records=2 epoch=1
batch base=5 records=1 epoch=1 ; damage batch=2 field=payload flip=11
batch base=6 records=4 epoch=1
tail zeros=300`)
	l := logIn(t, filepath.Join(dir, "t-0"), &countedFS{})
	l.gaps = false
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 10}} {
		s := bareSim(t, size[0], size[1])
		s.open(newBatches(s.app.world, l, target{}))
		s.keys("z").sees("1/3")
		x := s.app.top().screen.(*batchesScreen)
		if x.found.hits[0].level != levelDamage || x.found.hits[2].level != levelWarning {
			t.Errorf("levels %v", x.found.hits)
		}
		s.keys("enter").sees("junk")
		checkFrame(t, s)
		s.keys("esc", "j", "enter")
		s.sees("CRC BAD")
		if size[0] == 120 {
			s.sees("one bit flipped", "bit 3 of byte 62")
		}
		checkFrame(t, s)
		s.keys("n").sees("zeros")
		checkFrame(t, s)
		s.keys("tab", "G").sees("byte ")
		checkFrame(t, s)
	}
}

// TestRandomKeysOnBytes: whatever is typed on these screens, nothing breaks and every frame fits.
func TestRandomKeysOnBytes(t *testing.T) {
	dir := logtest.Dir(t, `broker 1 ; topic t-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
batch base=0 records=30 epoch=1 codec=lz4 ; batch base=30 records=2 epoch=2 pid=7 pepoch=0 seq=0 txn ; marker commit pid=7 pepoch=0
raw text=junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk-junk
batch base=33 records=5 epoch=2 ; tail zeros=200
segment 40 ; batch base=40 records=9 epoch=3 ; torn bytes=7
epochs 1:0 2:30 3:40
file 00000000000000000040.snapshot hex=0001
file 00000000000000000000.index hex=0000001f00000200`)
	keys := []string{"up", "down", "left", "right", "pgup", "pgdown", "g", "G", "enter", "tab", "n", "N", "z", " ", "'", "s", "r", "b", "c", "E", "P", ">", "<", "+", "esc", "]", "[", "R", "x", "y", "/", ":", "ctrl+d", "ctrl+u", "3", "e", "backspace", "ctrl+c"}
	r := rand.New(rand.NewPCG(7, 11))
	for round := range 6 {
		s := newSim(t, 120, 40, openDir(dir)).settle()
		p, c := storyOf(s, "t-0", "1")
		s.open(openSegments(s.app.world, p, c))
		for range 400 {
			if r.IntN(40) == 0 {
				size := [][2]int{{40, 10}, {80, 24}, {120, 40}, {20, 5}, {200, 60}}[r.IntN(5)]
				s.app.w, s.app.h = size[0], size[1]
			}
			k := keys[r.IntN(len(keys))]
			if k == "ctrl+c" && len(s.app.jobs) == 0 || s.app.leaving {
				continue // it would quit
			}
			s.held = r.IntN(3) == 0
			s.keys(k)
			if s.app.crashed != nil {
				t.Fatalf("round %d, key %s: %v\n%s", round, k, s.app.crashed.value, s.app.crashed.stack)
			}
			checkFrame(t, s)
			if s.app.at == 0 {
				s.held = false
				s.open(openSegments(s.app.world, p, c))
			}
		}
		s.settle()
	}
}

// bareSim is a browser without inputs, for screens that bring their own.
func bareSim(t *testing.T, w, h int) *sim {
	t.Helper()
	return newSim(t, w, h, func(context.Context) (*Source, error) { return nil, errors.New("no inputs") }).settle()
}
