package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"kafsck/batch"
	"kafsck/internal/logtest"
	"kafsck/segment"
)

// scan returns all frames, with their own memory, and fails the test if they do not tile.
func scan(t testing.TB, log []byte, opt segment.ScanOptions) []segment.Frame {
	t.Helper()
	return scanReader(t, bytes.NewReader(log), int64(len(log)), opt)
}

func scanReader(t testing.TB, r io.ReaderAt, size int64, opt segment.ScanOptions) []segment.Frame {
	t.Helper()
	var out []segment.Frame
	pos := opt.From
	for f, err := range segment.Scan(r, size, opt) {
		if err != nil {
			t.Fatalf("read error: %v", err)
		}
		check(t, f, pos)
		pos = f.End()
		f.Raw = bytes.Clone(f.Raw)
		if f.Batch.Raw != nil {
			f.Batch.Raw = f.Raw
		}
		out = append(out, f)
	}
	if pos != max(size, opt.From) {
		t.Fatalf("the frames end at %d of %d", pos, size)
	}
	return out
}

// check is what holds for every frame.
func check(t testing.TB, f segment.Frame, pos int64) {
	t.Helper()
	if f.Pos != pos || f.Len <= 0 {
		t.Fatalf("%v frame at %d, %d bytes; the one before ended at %d", f.Kind, f.Pos, f.Len, pos)
	}
	var damage *batch.Error
	if f.Damage != nil && !errors.As(f.Damage, &damage) {
		t.Fatalf("damage is a %T", f.Damage)
	}
	whole := f.Len <= segment.MaxRaw
	crc := whole && len(f.Batch.Raw) > 0 && f.Batch.CheckCRC() == nil
	is := func(target error) bool { return errors.Is(f.Damage, target) }
	ok := false
	switch f.Kind {
	case segment.Batch:
		ok = !whole ||
			f.Damage == nil && crc && f.Claimed == f.Len && f.Batch.Size() == f.Len ||
			is(batch.ErrCRC) && !crc && f.Claimed == f.Len ||
			is(batch.ErrLength) && crc && f.Claimed != f.Len ||
			is(batch.ErrMagic) && crc && f.Claimed == f.Len && f.Batch.Magic != 2
	case segment.Embedded:
		ok = f.Damage == nil && (crc || f.Batch.Raw == nil && batch.CheckLegacyCRC(f.Raw) == nil)
	case segment.Legacy:
		valid := batch.CheckLegacyCRC(f.Raw) == nil
		ok = f.Damage == nil && valid && f.Claimed == f.Len || is(batch.ErrCRC) && !valid || is(batch.ErrLength) && valid && f.Claimed != f.Len
	case segment.Zeros:
		ok = f.Damage == nil
	case segment.Torn:
		ok = is(batch.ErrLength)
	case segment.Junk:
		ok = f.Damage != nil
	}
	hasRaw := whole && (f.Kind == segment.Batch || f.Kind == segment.Embedded || f.Kind == segment.Legacy)
	if hasRaw != (int64(len(f.Raw)) == f.Len) {
		ok = false
	}
	if !ok {
		t.Fatalf("inconsistent frame: %s", describe(f))
	}
}

// describe is one line: kind, position and length, offsets, damage.
func describe(f segment.Frame) string {
	s := fmt.Sprintf("%v %d+%d", f.Kind, f.Pos, f.Len)
	switch f.Kind {
	case segment.Batch, segment.Embedded:
		s += fmt.Sprintf(" [%d,%d)", f.Batch.BaseOffset, f.Batch.NextOffset())
	case segment.Legacy:
		s += fmt.Sprintf(" [%d]", f.Legacy.Offset)
	}
	for err, name := range map[error]string{batch.ErrCRC: "crc", batch.ErrLength: "length", batch.ErrMagic: "magic", segment.ErrNoBatch: "none", segment.ErrBudget: "budget"} {
		if errors.Is(f.Damage, err) {
			s += " " + name
		}
	}
	return s
}

func describeAll(frames []segment.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, describe(f))
	}
	return out
}

const fiveBatches = "batch base=100 records=3 epoch=4 ; batch records=2 codec=zstd size=300 ; batch records=3 value=value-%d ; batch epoch=5 pid=7 pepoch=1 seq=0 txn ; marker commit pid=7 pepoch=1\n"

func TestShapes(t *testing.T) {
	image := func(spec string) string { return fmt.Sprintf("%x", logtest.Log(t, spec)) }
	for _, c := range []struct {
		name, spec string
		next       int64
		want       string
	}{
		{"empty", "", 0, ""},
		{"one", "batch", 0, "batch 0+72 [0,1)"},
		{"one zero byte", "raw hex=00", 0, "zeros 0+1"},
		{"17 zero bytes", "raw zeros=17", 0, "zeros 0+17"},
		{"18 zero bytes", "raw zeros=18", 0, "zeros 0+18"},
		{"one byte", "raw hex=07", 0, "torn 0+1 length"},
		{"17 bytes", "raw text=-----------------", 0, "torn 0+17 length"},
		{"garbage", "raw text=-------------------------------------------------------------------", 0, "junk 0+67 length"},
		{"all zeros", "raw zeros=5000000", 0, "zeros 0+5000000"},
		{"short tail", "batch ; raw text=abc", 0, "batch 0+72 [0,1); torn 72+3 length"},
		{"garbage tail", "batch ; raw text=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 0, "batch 0+72 [0,1); junk 72+78 length"},
		{"torn in the payload", "batch ; batch ; torn bytes=1", 0, "batch 0+72 [0,1); torn 72+71 length"},
		{"torn in the header", "batch ; batch ; torn bytes=40", 0, "batch 0+72 [0,1); torn 72+32 length"},
		{"torn before the magic", "batch ; batch ; torn bytes=60", 0, "batch 0+72 [0,1); torn 72+12 length"},
		{"torn first", "batch size=100000 ; torn bytes=50000", 0, "torn 0+50074 length"},
		{"preallocated", "batch ; tail zeros=100000", 0, "batch 0+72 [0,1); zeros 72+100000"},
		{"torn, preallocated", "batch ; batch size=900 ; torn bytes=500 ; tail zeros=100000", 0, "batch 0+72 [0,1); batch 72+972 [1,2) crc; zeros 1044+99500"},
		{"zeros between", "batch ; raw zeros=100 ; batch", 0, "batch 0+72 [0,1); zeros 72+100; batch 172+72 [1,2)"},
		{"zeros before offset 0", "raw zeros=100 ; batch", 0, "zeros 0+100; batch 100+72 [0,1)"},
		{"few zeros before offset 0", "raw zeros=7 ; batch", 0, "zeros 0+7; batch 7+72 [0,1)"},
		{"zeros, garbage", "batch ; raw zeros=100 ; raw text=abc ; batch ; batch", 0, "batch 0+72 [0,1); zeros 72+100; junk 172+3 none; batch 175+72 [1,2); batch 247+72 [2,3)"},
		{"zeros in garbage", "batch ; raw text=0123456789012345678901234567890123456789 ; raw zeros=600 ; raw text=abc ; batch", 0,
			"batch 0+72 [0,1); junk 72+40 length; zeros 112+600; junk 712+3 none; batch 715+72 [1,2)"},
		{"garbage, zero tail", "batch ; raw text=0123456789012345678901234567890123456789 ; tail zeros=100", 0, "batch 0+72 [0,1); junk 72+40 length; zeros 112+100"},
		{"garbage between", "batch ; raw text=abc ; batch ; raw text=abc ; batch ; raw text=abc ; batch", 0,
			"batch 0+72 [0,1); junk 72+3 length; batch 75+72 [1,2); junk 147+3 length; batch 150+72 [2,3); junk 222+3 length; batch 225+72 [3,4)"},
		{"payload", fiveBatches + "damage batch=2 flip=9", 0, "batch 0+106 [100,103); batch 106+119 [103,105); batch 225+121 [105,108) crc; batch 346+76 [108,109); batch 422+78 [109,110)"},
		{"payload of the last", "batch ; batch ; damage batch=1", 0, "batch 0+72 [0,1); batch 72+72 [1,2) crc"},
		{"length 0", "batch ; batch ; batch ; damage batch=1 field=length set=0", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; batch 144+72 [2,3)"},
		{"length -1", "batch ; batch ; batch ; damage batch=1 field=length set=-1", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; batch 144+72 [2,3)"},
		{"length 2^31-1", "batch ; batch ; batch ; damage batch=1 field=length set=0x7fffffff", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; batch 144+72 [2,3)"},
		{"length of two", "batch ; batch ; batch ; batch ; damage batch=1 field=length set=132", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; batch 144+72 [2,3); batch 216+72 [3,4)"},
		{"length of two, nothing behind", "batch ; batch ; batch ; damage batch=1 field=length set=132", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; batch 144+72 [2,3)"},
		{"length of the last", "batch ; batch ; damage batch=1 field=length set=1000", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length"},
		{"shorter length of the last", "batch ; batch ; damage batch=1 field=length set=58", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length"},
		{"length of the last, zero tail", "batch ; batch ; damage batch=1 field=length set=1000 ; tail zeros=5000", 0, "batch 0+72 [0,1); batch 72+72 [1,2) length; zeros 144+5000"},
		{"length and payload", "batch ; batch ; batch ; damage batch=1 field=length set=0 ; damage batch=1", 0, "batch 0+72 [0,1); junk 72+72 length; batch 144+72 [2,3)"},
		{"longer length and payload", "batch ; batch ; batch ; damage batch=1 field=length set=70 ; damage batch=1", 0, "batch 0+72 [0,1); junk 72+72 crc; batch 144+72 [2,3)"},
		{"shorter length and payload", "batch ; batch size=50 ; batch ; damage batch=1 field=length set=70 ; damage batch=1", 0,
			"batch 0+72 [0,1); batch 72+82 [1,2) crc; junk 154+38 length; batch 192+72 [2,3)"},
		{"magic 3", "batch ; batch ; batch ; damage batch=1 field=magic set=3", 0, "batch 0+72 [0,1); batch 72+72 [1,2) magic; batch 144+72 [2,3)"},
		{"magic 0", "batch ; batch ; batch ; damage batch=1 field=magic set=0", 0, "batch 0+72 [0,1); batch 72+72 [1,2) magic; batch 144+72 [2,3)"},
		{"magic -1", "batch ; batch ; batch ; damage batch=1 field=magic set=-1", 0, "batch 0+72 [0,1); batch 72+72 [1,2) magic; batch 144+72 [2,3)"},
		{"magic -1 and payload", "batch ; batch ; batch ; damage batch=1 field=magic set=-1 ; damage batch=1", 0, "batch 0+72 [0,1); junk 72+72 magic; batch 144+72 [2,3)"},
		{"magic 0 and payload", "batch ; batch ; batch ; damage batch=1 field=magic set=0 ; damage batch=1", 0, "batch 0+72 [0,1); legacy 72+72 [1] crc; batch 144+72 [2,3)"},
		{"base offset beyond", "batch ; batch ; batch ; damage batch=1 field=baseoffset flip=50 ; raw text=abc ; batch ; batch", 0,
			"batch 0+72 [0,1); batch 72+72 [1125899906842625,1125899906842626); batch 144+72 [2,3); junk 216+3 length; batch 219+72 [3,4); batch 291+72 [4,5)"},
		{"base offset beyond, then damage", "batch ; batch ; damage batch=1 field=baseoffset flip=50 ; raw text=abc ; batch ; batch", 0,
			"batch 0+72 [0,1); batch 72+72 [1125899906842625,1125899906842626); junk 144+3 length; batch 147+72 [2,3); batch 219+72 [3,4)"},
		{"next offset poisoned, chain to the end", "raw text=abc ; batch base=5 ; batch", 1 << 50, "junk 0+3 length; batch 3+72 [5,6); batch 75+72 [6,7)"},
		{"two base offsets beyond", "batch base=7 records=2 ; batch base=1000 ; batch base=1001 ; raw text=abc ; batch base=9 ; batch", 0,
			"batch 0+83 [7,9); batch 83+78 [1000,1001); batch 161+78 [1001,1002); junk 239+3 length; batch 242+72 [9,10); batch 314+74 [10,11)"},
		{"left over from another use of the block", "batch base=50 ; batch ; raw hex=" + "ffff" + image("batch base=3") + image("batch base=4") + "ff" + " ; batch base=52 ; batch", 0,
			"batch 0+74 [50,51); batch 74+74 [51,52); junk 148+2 length; embedded 150+72 [3,4); embedded 222+72 [4,5); junk 294+1 none; batch 295+74 [52,53); batch 369+74 [53,54)"},
		{"left over, at the end", "batch base=50 ; batch ; raw hex=" + "ffff" + image("batch base=3") + "ffff", 0,
			"batch 0+74 [50,51); batch 74+74 [51,52); junk 148+2 length; embedded 150+72 [3,4); junk 222+2 none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(describeAll(scan(t, logtest.Log(t, c.spec), segment.ScanOptions{NextOffset: c.next})), "; ")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
