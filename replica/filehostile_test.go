package replica_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/replica"
	"kafsck/segment"
)

// A read that fails is an error, at whatever operation on whatever file beside the .log, and
// nothing is said about the file.
func TestFailedReadsOfFiles(t *testing.T) {
	f := soundFiles(t)
	errBad := errors.New("input/output error")
	beside := func(name string) bool {
		ext := filepath.Ext(name)
		return ext == ".index" || ext == ".timeindex" || ext == ".txnindex" || ext == ".snapshot"
	}
	count, fail, on := 0, -1, false
	fsys := rofs.Fault(rofs.FromFS(f.MapFS), func(op, name string, _, _ int64) error {
		if !on || !beside(name) {
			return nil
		}
		if count++; count-1 == fail || fail >= 0 && count > fail && op == "read" {
			return errBad
		}
		return nil
	})
	sources := sourceOf(t, fsys)
	on = true
	if l, err := readSource(sources); err != nil || kinds(l) != "" {
		t.Fatalf("got %v, %v", kinds(l), err)
	}
	total := count
	if total < 20 {
		t.Fatalf("%d operations", total)
	}
	for fail = range total {
		count = 0
		l, err := readSource(sources)
		var re *segment.ReadError
		if !errors.As(err, &re) || !errors.Is(err, errBad) || re.Path == "" {
			t.Errorf("operation %d: %v", fail, err)
		}
		if got := kinds(l); got != "" {
			t.Errorf("operation %d: %s", fail, got)
		}
	}
}

// hostile are contents that no broker wrote.
func hostile(size int) map[string][]byte {
	rising := make([]byte, size)
	for i := 0; i+8 <= size; i += 8 {
		binary.BigEndian.PutUint64(rising[i:], uint64(i/8)<<32|uint64(i/8))
	}
	noise := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{4})
	rng.Read(noise)
	ends := make([]byte, size)
	ends[size-1] = 1
	return map[string][]byte{"zeros": make([]byte, size), "rising": rising, "noise": noise, "zeros with an end": ends, "0xff": bytes.Repeat([]byte{0xff}, size)}
}

// 10 MiB of anything in any file are read in no time, and the comparison ends.
func TestHostileFiles(t *testing.T) {
	contents := hostile(10 << 20)
	for _, clean := range []bool{true, false} {
		if testing.Short() && clean {
			continue
		}
		for _, name := range []string{d20(0, "index"), d20(0, "timeindex"), d20(300, "txnindex"), d20(310, "index"), d20(310, "timeindex"), d20(310, "txnindex"), d20(312, "snapshot")} {
			for what, data := range contents {
				f := soundFiles(t)
				if !clean {
					delete(f.MapFS, "broker-1/.kafka_cleanshutdown")
				}
				f.set(name, data)
				begin := time.Now()
				l, err := readFiles(t, rofs.FromFS(f.MapFS))
				if err != nil {
					t.Fatalf("%s, %s: %v", name, what, err)
				}
				if d := time.Since(begin); d > 5*time.Second {
					t.Errorf("%s, %s: %v", name, what, d)
				}
				if len(l.Anomalies.Counts) == 0 {
					t.Errorf("%s, %s: nothing found", name, what)
				}
				for kind, n := range l.Anomalies.Counts {
					if n > 1001 {
						t.Errorf("%s, %s: %d × %s", name, what, n, kind)
					}
				}
			}
		}
	}
}

// 2 GiB, sparse: zeros, and zeros between garbage.
func TestSparseFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 2 GiB a file")
	}
	for _, garbage := range []bool{false, true} {
		dir := t.TempDir()
		f := soundFiles(t)
		if err := os.CopyFS(dir, f.MapFS); err != nil {
			t.Fatal(err)
		}
		names := []string{d20(310, "snapshot"), d20(300, "txnindex"), d20(310, "index")}
		if garbage {
			names = append(names, d20(0, "index"))
		}
		for _, name := range names {
			path := filepath.Join(dir, "broker-1/t-0", name)
			if garbage {
				noise := hostile(1 << 20)["noise"]
				if strings.HasSuffix(name, "snapshot") {
					noise = append([]byte{0, 1}, noise...)
				}
				if err := os.WriteFile(path, noise, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Truncate(path, 2<<30); err != nil {
				t.Skip(err)
			}
			if garbage {
				w, err := os.OpenFile(path, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.WriteAt([]byte{1}, 2<<30-1); err != nil {
					t.Fatal(err)
				}
				w.Close()
			}
		}
		fsys, err := rofs.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		l, err := readFiles(t, fsys)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %s", time.Since(begin), kinds(l))
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("%v", d)
		}
	}
}

// A log with a new producer in each batch: the state is bounded, and what it cannot say any
// more is said.
func TestTooManyProducers(t *testing.T) {
	if testing.Short() {
		t.Skip("a log of half a million batches")
	}
	one := logtest.Batch{Records: logtest.Values("v"), Producer: &logtest.Producer{}}.Encode()
	const n = 1<<19 + 10
	log := make([]byte, 0, n*len(one))
	for i := range n {
		at := len(log)
		log = append(log, one...)
		binary.BigEndian.PutUint64(log[at:], uint64(i))
		binary.BigEndian.PutUint64(log[at+43:], uint64(i))
		logtest.SetCRC(log[at:])
	}
	f := files{logtest.FS(t, "broker 1\nclean\ntopic t-0")}
	f.set(d20(0, "log"), log)
	f.set(d20(n, "snapshot"), snapshot([]int64{1, 0, 0, 1, 0, 0, -1, -1}))
	l, err := readFiles(t, rofs.FromFS(f.MapFS))
	if err != nil {
		t.Fatal(err)
	}
	if !l.Producers.Overflow || len(l.Producers.All()) != 1<<19 || l.Anomalies.Counts[replica.NotCompared] != 1 || l.Anomalies.Counts[replica.ProducersNotCompared] != 1 || l.Anomalies.Counts[replica.SnapshotContent] != 0 {
		t.Errorf("%d producers, %s", len(l.Producers.All()), kinds(l))
	}
}

// A transaction that never ends does not make the state grow with those behind it.
func TestOpenTransactionIsBounded(t *testing.T) {
	var spec strings.Builder
	spec.WriteString("broker 1\nclean\ntopic t-0\nsegment 0\nbatch pid=1 pepoch=0 seq=0 txn\n")
	for range 5000 {
		spec.WriteString("batch pid=2 pepoch=0 seq=0 txn ; marker commit pid=2 pepoch=0\n")
	}
	l, err := readFiles(t, rofs.FromFS(logtest.FS(t, spec.String())))
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Producers; s.LastStableOffset() != 0 || len(s.Open()) != 1 || s.Remembered() > 4000 {
		t.Errorf("stable to %d, %d open, %d remembered", s.LastStableOffset(), len(s.Open()), s.Remembered())
	}
}

// Any bytes in any file beside a .log that is sound.
func FuzzFiles(f *testing.F) {
	sound := soundFiles(f)
	names := []string{d20(0, "index"), d20(0, "timeindex"), d20(300, "txnindex"), d20(310, "snapshot"), d20(312, "snapshot"), d20(310, "index"), d20(310, "timeindex"), d20(300, "index")}
	for i, name := range names {
		f.Add(byte(i), true, sound.at(name).Data)
		f.Add(byte(i), false, append(bytes.Clone(sound.at(name).Data), make([]byte, 100)...))
	}
	f.Fuzz(func(t *testing.T, which byte, clean bool, data []byte) {
		files := files{maps.Clone(sound.MapFS)}
		name := names[int(which)%len(names)]
		same := bytes.Equal(files.at(name).Data, data)
		files.set(name, data)
		if !clean {
			delete(files.MapFS, "broker-1/.kafka_cleanshutdown")
		}
		l, err := readFiles(t, rofs.FromFS(files.MapFS))
		if err != nil {
			t.Fatal(err)
		}
		if l.Batches != 36 || l.LogEndOffset != 312 {
			t.Fatalf("%d batches to offset %d", l.Batches, l.LogEndOffset)
		}
		if same && kinds(l) != "" {
			t.Fatalf("sound, but %s", kinds(l))
		}
		for _, a := range l.Anomalies.Kept {
			if a.Segment < 0 || a.Segment >= len(l.Segments) || a.Position < 0 || a.Length < 0 {
				t.Fatalf("%+v", a)
			}
			if a.File == nil && a.Kind != replica.TxnIndexMismatch {
				t.Fatalf("no file: %+v", a)
			}
			if a.File != nil && (a.File.Name != name || a.Position+a.Length > int64(len(data))) {
				t.Fatalf("%s of %d bytes: %+v", a.File.Name, len(data), a)
			}
		}
	})
}

// A closed segment without an entry for more than an append can write. One huge batch is no
// such span.
func TestIndexSpanMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("several logs of 40 MB")
	}
	value := strings.Repeat("v", 1<<20)
	var log []byte
	var rows [][]int64
	for i := range int64(20) {
		if i > 0 {
			rows = append(rows, []int64{i, int64(len(log))})
		}
		log = append(log, logtest.Batch{BaseOffset: i, Records: []logtest.Record{{Timestamp: 1, Value: []byte(value)}}}.Encode()...)
	}
	huge := logtest.Batch{BaseOffset: 20, Records: logtest.Values(strings.Repeat("v", 18<<20))}.Encode()
	for _, tc := range []struct {
		name  string
		clean bool
		rows  [][]int64
		want  string
	}{
		{"whole", true, append(rows, []int64{20, int64(len(log))}), ""},
		{"two entries", true, [][]int64{rows[0], rows[16], {20, int64(len(log))}}, ""},
		{"one entry", true, [][]int64{rows[18], {20, int64(len(log))}}, "index-span-missing×1"},
		{"one entry at the front", true, [][]int64{rows[0]}, "index-span-missing×1"},
		{"no entry for the huge batch", true, rows, ""},
		{"killed", false, [][]int64{rows[0]}, ""},
	} {
		spec := "broker 1\ntopic t-0"
		if tc.clean {
			spec = "broker 1\nclean\ntopic t-0"
		}
		f := files{logtest.FS(t, spec)}
		f.set(d20(0, "log"), append(bytes.Clone(log), huge...))
		f.set(d20(0, "index"), index(tc.rows...))
		f.set(d20(0, "timeindex"), timeindex([]int64{1, 0}))
		l, err := readFiles(t, rofs.FromFS(f.MapFS))
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(l); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Whatever one byte of a .log is changed to, the sound files beside it are not blamed.
func TestAnyByteOfTheLogIsNoFileAnomaly(t *testing.T) {
	sound := soundFiles(t)
	for _, name := range []string{d20(100, "log"), d20(300, "log")} {
		log := sound.at(name).Data
		for i := range min(len(log), 1400) {
			if testing.Short() && i%50 != 0 {
				continue
			}
			for _, x := range []byte{1, 4, 0x80, 0xff} {
				f := files{maps.Clone(sound.MapFS)}
				changed := bytes.Clone(log)
				changed[i] ^= x
				f.set(name, changed)
				l, err := readFiles(t, rofs.FromFS(f.MapFS))
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range l.Anomalies.Kept {
					if a.File != nil || strings.Contains(string(a.Kind), "index") {
						t.Fatalf("%s: byte %d ^ 0x%02x: %s: want %s, got %s", name, i, x, a.Kind, a.Want, a.Got)
					}
				}
			}
		}
	}
}

// Records of an aborted transaction without its marker, in a compacted log.
func TestDataWithoutMarker(t *testing.T) {
	spec := "broker 1\nclean\ntopic t-0\nsegment 0\nbatch records=2 ; batch base=10 records=2 pid=7 pepoch=0 seq=0 txn ; %s batch base=20 records=2"
	for marker, want := range map[string]string{"": "offset-gap×2 txn-data-without-marker×1", "marker abort base=15 pid=7 pepoch=0 ;": "offset-gap×3"} {
		f := files{logtest.FS(t, strings.Replace(spec, "%s", marker, 1))}
		f.set(d20(0, "index"), nil)
		f.set(d20(0, "timeindex"), timeindex([]int64{logtest.T0 + 21, 21}))
		f.set(d20(0, "txnindex"), txnindex([]int64{0, 7, 10, 15, 16}))
		l, err := readFiles(t, rofs.FromFS(f.MapFS))
		if err != nil || kinds(l) != want {
			t.Errorf("got %q, %v, want %q", kinds(l), err, want)
		}
	}
}
