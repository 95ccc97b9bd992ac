package tui

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// TestHostileBytes: whatever is in keys, values and headers, nothing of it drives the
// terminal.
func TestHostileBytes(t *testing.T) {
	evil := []string{
		"\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07", "\u202eoverridden\u202c\u2066x\u2069", "\x9b31m\x90\x9d", "\x00\x01\x7f\b\r\n\t",
		"日本語 wide \u200b\u200d\ufeff zero", "e\u0301\u0301\u0301\u0301\u0301", "\xff\xfe\xc3", `{"a":"\u001b[31m","b":"` + "\u202e" + `","c":"` + "\u0085" + `"}`, "\u2028\u2029 lines",
		strings.Repeat("\x1b[31m", 5000), "👩‍👩‍👧‍👦🏳️‍🌈",
	}
	var list []logtest.Record
	for i, e := range evil {
		list = append(list, logtest.Record{Key: []byte(e), Value: []byte(evil[(i+1)%len(evil)]), Headers: []logtest.Header{{Key: e, Value: []byte(e)}, {Key: e}}})
	}
	fsys := logtest.FS(t, "broker 1 ; topic t-0 ; segment 0")
	for _, codec := range []logtest.Codec{logtest.None, logtest.Zstd} {
		b := logtest.Batch{Records: list, Codec: codec, Epoch: 1}.Encode()
		name := "broker-1/t-0/" + logtest.LogName(0)
		fsys[name].Data = append(b, evil[0]+strings.Repeat(evil[1], 9)...)
		l := logInTree(t, fsys)
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
			s := bareSim(t, size[0], size[1])
			s.open(newBatches(s.app.world, l, target{}))
			checkFrame(t, s)
			s.keys("enter", "tab")
			for range 60 {
				s.keys("l")
				checkFrame(t, s)
			}
			s.keys("tab", "G", "+")
			for range 40 {
				s.keys("j")
				checkFrame(t, s)
			}
			s.keys("r")
			for range len(list) {
				s.keys("j")
				checkFrame(t, s)
				s.keys("tab", "pgdown", "G")
				checkFrame(t, s)
				s.keys("tab")
				for _, what := range []string{"c", "r", "j"} {
					s.keys("y", what)
					checkFrame(t, s)
				}
				for _, kind := range []copyKind{copyCell, copyRow, copyPath} {
					text, err := s.app.top().screen.(copier).copyText(kind)
					if err != nil {
						t.Fatal(err)
					}
					checkForeign(t, strings.ReplaceAll(text, "\t", ""))
				}
			}
			s.keys("x")
			checkFrame(t, s)
		}
	}
}

// logInTree is the log of the only partition of a tree in memory.
func logInTree(t *testing.T, fsys fstest.MapFS) *logFiles {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(fsys), "tree", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		for _, x := range p.Segments {
			if x.Log != nil {
				return logAround(p, x.Log)
			}
		}
	}
	t.Fatal("no .log")
	return nil
}

// TestFieldsTile: the fields of the header and of every record cover the bytes without a
// gap, of every batch of the recordings; and a record taken apart is the record that
// package batch decodes.
func TestFieldsTile(t *testing.T) {
	records := 0
	for _, name := range []string{"unclean-election", "transactions", "compaction"} {
		for path, file := range fixture.Tree(t, name) {
			if !strings.HasSuffix(path, ".log") {
				continue
			}
			for f, err := range segment.Scan(bytes.NewReader(file.Data), int64(len(file.Data)), segment.ScanOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				if f.Kind != segment.Batch || f.Damage != nil {
					continue
				}
				d := &batchData{frame: frameOf(&f), raw: f.Raw, start: f.Raw[:batch.HeaderSize], selected: -1}
				d.decode(t.Context(), &f)
				at := int64(0)
				for _, x := range batchFields(d) {
					if x.depth > 0 || x.in != inFrame {
						continue
					}
					if x.from != at {
						t.Fatalf("%s at %d: %s begins at %d, want %d", path, f.Pos, x.name, x.from, at)
					}
					at = x.to
				}
				if at != f.Len {
					t.Fatalf("%s at %d: the fields end at %d of %d", path, f.Pos, at, f.Len)
				}
				i := 0
				for r, err := range f.Batch.Records(nil) {
					if err != nil {
						t.Fatal(err)
					}
					from, to := d.recordRange(i)
					_, shift := d.recordSpace()
					if from != r.Pos || to != r.Pos+r.Len {
						t.Fatalf("%s at %d: record %d is %d–%d, want %d–%d", path, f.Pos, i, from, to, r.Pos, r.Pos+r.Len)
					}
					at := from + shift
					for _, x := range d.fieldsOf(i) {
						if x.from != at || x.level.fault() {
							t.Fatalf("%s at %d, record %d: %+v, want it to begin at %d", path, f.Pos, i, x, at)
						}
						at = x.to
					}
					if at != to+shift {
						t.Fatalf("%s at %d, record %d: fields end at %d, want %d", path, f.Pos, i, at, to+shift)
					}
					got, ok := d.record(i)
					if !ok || got.Offset != r.Offset || got.Timestamp != r.Timestamp || !bytes.Equal(got.Key, r.Key) || !bytes.Equal(got.Value, r.Value) || len(got.Headers) != len(r.Headers) || got.Sequence != r.Sequence {
						t.Fatalf("%s at %d, record %d: %+v, want %+v", path, f.Pos, i, got, r)
					}
					i++
					records++
				}
			}
		}
	}
	if records < 1000 {
		t.Errorf("only %d records were looked at", records)
	}
}

// TestSelectionGoesBothWays: a selected field lights its bytes, and each byte selects a
// field that holds it, in compressed batches too.
func TestSelectionGoesBothWays(t *testing.T) {
	for _, codec := range []logtest.Codec{logtest.None, logtest.LZ4} {
		fsys := logtest.FS(t, "broker 1 ; topic t-0 ; segment 0")
		fsys["broker-1/t-0/"+logtest.LogName(0)].Data = logtest.Batch{Codec: codec, Records: []logtest.Record{
			{Key: []byte("k"), Value: []byte("a value"), Headers: []logtest.Header{{Key: "h", Value: []byte("v")}}}, {Value: []byte(strings.Repeat("x", 200))}, {},
		}}.Encode()
		l := logInTree(t, fsys)
		s := bareSim(t, 120, 40)
		s.open(newBatch(s.app.world, l, target{}, nil))
		x := s.app.top().screen.(*batchScreen)
		for i := range 3 {
			x.expand(i, false)
		}
		for i := range x.lines() {
			x.selectLine(i)
			f := x.field(i)
			if f.in == nowhere {
				continue
			}
			if x.hex.lit != [2]int64{f.from, f.to} || x.hex.cursor != f.from || x.in != f.in {
				t.Fatalf("%s: lit %v, cursor %d", f.name, x.hex.lit, x.hex.cursor)
			}
		}
		for _, in := range []space{inFrame, inRecords} {
			if in == inRecords && codec == logtest.None {
				continue
			}
			x.showSpace(in)
			for pos := range x.hex.src.size() {
				x.hex.to(pos)
				x.follow()
				if f := x.field(x.cursor); f.in != in || pos < f.from || pos >= f.to {
					t.Fatalf("codec %d, byte %d of space %d selects %s (%d–%d)", codec, pos, in, f.name, f.from, f.to)
				}
			}
		}
		s.keys("tab")
		checkFrame(t, s)
	}
}

// FuzzRecordFields: whatever the bytes, fields lie one behind the other inside of them.
func FuzzRecordFields(f *testing.F) {
	b := logtest.Batch{Records: []logtest.Record{{Key: []byte("k"), Value: []byte("v"), Headers: []logtest.Header{{Key: "h"}}}}}.Encode()
	f.Add(b[batch.HeaderSize:])
	f.Add([]byte{0x7e, 0, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := &batch.Header{}
		at := int64(0)
		for _, x := range recordFields(b, 0, int64(len(b)), inRecords, h, 0) {
			if x.from != at || x.to < x.from || x.to > int64(len(b)) {
				t.Fatalf("%+v, want it to begin at %d of %d", x, at, len(b))
			}
			at = x.to
		}
		if n, ok := recordLength(b); ok && (n <= 0 || n > int64(len(b))) {
			t.Fatalf("length %d of %d", n, len(b))
		}
		_, _ = parseRecord(b, 0, h)
	})
}
