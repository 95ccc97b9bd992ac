package broker

import (
	"encoding/binary"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// fuzzSpec is a small log directory with one of everything: two formats, a transaction that is
// committed, one that is aborted, one that is open, and epochs.
const fuzzSpec = `
	broker 1 clusterid=AAAAAAAAAAAAAAAAAAAAAg
	topic a-0 id=hF7bEvJ3TEm5wvFBX5mlPw
	segment 0
	batch records=4 epoch=0 ; batch records=3 epoch=0 codec=lz4 ; batch records=3 epoch=1 pid=7 pepoch=0 seq=0 txn
	marker commit pid=7 pepoch=0
	segment 11
	batch records=5 epoch=2 pid=8 pepoch=0 seq=0 txn ; batch records=2 epoch=2
	segment 18
	batch records=2 epoch=3 ; batch records=1 epoch=3
	epochs 0:0 1:7 2:11 3:18 ; hw 15 ; recovery 11 ; logstart 2`

func fuzzTree(t testing.TB) fstest.MapFS {
	files, err := logtest.Parse(fuzzSpec)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) { files["broker-1/a-0/"+name] = &fstest.MapFile{Data: b, Mode: 0o644} }
	for _, base := range []int64{0, 11, 18} {
		put(segmentName(base, ".index"), make([]byte, 8))
		put(segmentName(base, ".timeindex"), make([]byte, 12))
	}
	put(segmentName(11, ".txnindex"), make([]byte, 34))
	put(segmentName(11, ".snapshot"), []byte{0, 1, 0x76, 0x5e, 0xa5, 0x71, 0, 0, 0, 0})
	put(segmentName(18, ".log.deleted"), files["broker-1/a-0/"+logtest.LogName(0)].Data)
	return files
}

// damaged carries out what the fuzzer asks for: a series of one file each that is cut, flipped,
// zeroed, deleted, renamed, swapped with another, copied or turned into a directory.
//
//	+----+------+---------+-------+
//	| op | file | position| value |   5 bytes each
//	+----+------+---------+-------+
func damaged(files fstest.MapFS, program []byte) {
	endings := []string{".deleted", ".swap", ".cleaned", ".bak", ""}
	exts := []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".log.swap", ".index.swap", ".log.cleaned"}
	for ; len(program) >= 5 && len(files) > 0; program = program[5:] {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(n string) bool { return !strings.HasPrefix(n, "broker-1/a-0/") })
		if len(names) == 0 {
			return
		}
		name := names[int(program[1])%len(names)]
		data := slices.Clone(files[name].Data)
		at, v := int(binary.BigEndian.Uint16(program[2:])), program[4]
		set := func(n string, b []byte) { files[n] = &fstest.MapFile{Data: b, Mode: 0o644} }
		switch program[0] % 9 {
		case 0:
			set(name, data[:min(at, len(data))])
		case 1, 2:
			if len(data) > 0 {
				data[at%len(data)] ^= 1 << (v % 8)
				if program[0]%2 == 0 && strings.HasSuffix(name, ".log") && len(data) > 61 { // with a CRC that verifies
					if n := int64(binary.BigEndian.Uint32(data[8:])) + 12; n > 61 && n <= int64(len(data)) {
						logtest.SetCRC(data[:n])
					}
				}
			}
			set(name, data)
		case 3:
			if len(data) > 0 {
				at %= len(data)
				clear(data[at:min(len(data), at+int(v)*4)])
			}
			set(name, data)
		case 4:
			delete(files, name)
		case 5:
			delete(files, name)
			if v < 128 {
				set(name+endings[int(v)%len(endings)], data)
			} else {
				set(path.Dir(name)+"/"+segmentName(int64(int16(at))%32, exts[int(v)%len(exts)]), data)
			}
		case 6:
			other := names[at%len(names)]
			set(name, files[other].Data)
			set(other, data)
		case 7:
			set(path.Dir(name)+"/"+segmentName(int64(v), exts[at%len(exts)]), data)
		case 8:
			if !strings.HasSuffix(name, "checkpoint") || v%4 == 0 {
				delete(files, name)
				files[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			}
		}
	}
}

// FuzzLoad: whatever lies in the directory, Load comes to an end soon, without a panic and without
// calling damage a failed read; and what it says of the log agrees with itself.
func FuzzLoad(f *testing.F) {
	f.Add([]byte{}, int64(11), int64(0), false)
	f.Add([]byte{1, 4, 0, 20, 3}, int64(0), int64(0), false)                    // a flipped batch
	f.Add([]byte{4, 3, 0, 0, 0}, int64(0), int64(2), true)                      // a missing index
	f.Add([]byte{0, 8, 0, 70, 0, 5, 9, 0, 11, 129}, int64(0), int64(50), false) // cut, renamed, log start beyond the end
	f.Add([]byte{2, 4, 0, 0, 7, 2, 8, 0, 1, 7}, int64(0), int64(0), false)      // offsets out of range
	f.Add([]byte{7, 4, 0, 5, 0, 7, 3, 0, 6, 0}, int64(0), int64(0), true)       // a swap
	f.Add([]byte{8, 4, 0, 0, 0}, int64(0), int64(0), false)
	f.Fuzz(func(t *testing.T, program []byte, recoveryPoint, logStart int64, clean bool) {
		if len(program) > 100 {
			return
		}
		files := fuzzTree(t)
		damaged(files, program)
		for name := range files {
			if !strings.HasPrefix(name, "broker-1/a-0/") {
				continue
			}
			if p := path.Dir(name); files[p] == nil {
				files[p] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			}
		}
		files["broker-1/a-0"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		sub, err := fs.Sub(files, "broker-1")
		if err != nil {
			t.Fatal(err)
		}
		c, err := logdir.DiscoverFS(rofs.FromFS(sub), "broker-1", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for p := range c.AllPartitions() {
			for _, version := range []Version{Latest, {3, 9}, {2, 8}} {
				began := time.Now()
				l, err := Load(t.Context(), p, LoadInput{Version: version, Clean: clean, RecoveryPoint: recoveryPoint, LogStart: logStart, HighWatermark: 15, NowMs: logtest.T0})
				if err != nil {
					t.Fatalf("%v: %v", version, err)
				}
				if d := time.Since(began); d > 20*time.Second {
					t.Fatalf("took %v", d)
				}
				checkLoaded(t, l)
			}
		}
	})
}

func checkLoaded(t *testing.T, l *Loaded) {
	if (l.Outcome == BrokerAborts || l.Outcome == DirOffline) != (l.Why != "") {
		t.Errorf("outcome %s, why %q", l.Outcome, l.Why)
	}
	for _, a := range l.Actions {
		if a.Bytes < 0 || a.Position < 0 || a.Why == "" {
			t.Errorf("%+v", a)
		}
	}
	if l.Outcome == BrokerAborts || l.Outcome == DirOffline {
		return
	}
	if len(l.Segments) == 0 {
		t.Fatal("a loaded log without a segment")
	}
	last := l.Segments[len(l.Segments)-1]
	if l.LogStartOffset < l.Segments[0].Base {
		t.Errorf("the log starts at %d, before its first segment %d", l.LogStartOffset, l.Segments[0].Base)
	}
	// A batch with offsets below its segment's base may make Kafka's log end before it starts.
	if l.Outcome != DirAsDeletion && last.Size == 0 && l.LogEndOffset < l.LogStartOffset {
		t.Errorf("the log ends at %d, before it starts at %d", l.LogEndOffset, l.LogStartOffset)
	}
	if l.LastStableOffset > l.HighWatermark || l.HighWatermark > max(l.LogEndOffset, l.LogStartOffset) {
		t.Errorf("last stable %d, high watermark %d, log end %d", l.LastStableOffset, l.HighWatermark, l.LogEndOffset)
	}
	for i, e := range l.Epochs {
		if e.StartOffset > max(l.LogEndOffset, l.LogStartOffset) || i > 0 && (e.Epoch <= l.Epochs[i-1].Epoch || e.StartOffset <= l.Epochs[i-1].StartOffset) {
			t.Errorf("epochs %v of a log that ends at %d", l.Epochs, l.LogEndOffset)
		}
	}
}
