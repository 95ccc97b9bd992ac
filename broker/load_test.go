package broker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// recordedLoad is a line of testdata/loads.jsonl: what Kafka 4.3.1 itself made of a partition
// directory (conformance, TestRecordedLoads).
type recordedLoad struct {
	Dir, Partition string
	Clean          bool
	Points         [3]int64 // checkpointed recovery point, log start, high watermark
	Outcome        string
	Exception      string
	Offsets        *[5]int64 // log start, log end, recovery point, high watermark, last stable
	Epochs         [][2]int64
	Segments       [][2]int64
	Gone           []string
	New, Changed   []LoadedFile
}

func (r *recordedLoad) name() string {
	return fmt.Sprintf("%s/%s clean=%v points=%v", r.Dir, r.Partition, r.Clean, r.Points)
}

func recordedLoads(t testing.TB) (all []recordedLoad) {
	t.Helper()
	f, err := os.Open("testdata/loads.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var r recordedLoad
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// recordings holds recordings in memory, and what lies in their log directories.
type recordings struct {
	files map[string]fstest.MapFS
	cases map[string]*logdir.Case
}

func newRecordings() *recordings {
	return &recordings{files: map[string]fstest.MapFS{}, cases: map[string]*logdir.Case{}}
}

// logDir is a log directory of a recording, as a tree of its own.
func (rs *recordings) logDir(t testing.TB, dir string) rofs.FS {
	t.Helper()
	name, rest, _ := strings.Cut(dir, "/")
	if rs.files[name] == nil {
		rs.files[name] = fixture.Tree(t, name)
	}
	sub := fs.FS(rs.files[name])
	if rest != "" {
		var err error
		if sub, err = fs.Sub(sub, rest); err != nil {
			t.Fatal(err)
		}
	}
	return rofs.FromFS(sub)
}

// load loads the partition directory of a recorded load.
func (rs *recordings) load(t testing.TB, r *recordedLoad) (*logdir.Partition, *Loaded) {
	t.Helper()
	c := rs.cases[r.Dir]
	if c == nil {
		var err error
		if c, err = logdir.DiscoverFS(rs.logDir(t, r.Dir), "broker", logdir.Options{}); err != nil {
			t.Fatal(err)
		}
		rs.cases[r.Dir] = c
		t.Cleanup(func() { c.Close() })
	}
	for p := range c.AllPartitions() {
		if path.Base(p.Root) != r.Partition {
			continue
		}
		l, err := Load(t.Context(), p, LoadInput{
			Version: Latest, Clean: r.Clean, RecoveryPoint: r.Points[0], LogStart: r.Points[1], HighWatermark: r.Points[2], NowMs: 1700003600000,
		})
		if err != nil {
			t.Fatalf("%s: %v", r.name(), err)
		}
		return p, l
	}
	t.Fatalf("no partition directory %s", r.name())
	return nil, nil
}

// TestLoadAsRecorded compares Load with what Kafka did, to the last file and its size.
func TestLoadAsRecorded(t *testing.T) {
	all := recordedLoads(t)
	if len(all) < 700 {
		t.Fatalf("%d recorded loads", len(all))
	}
	rs := newRecordings()
	for _, r := range all {
		p, l := rs.load(t, &r)
		for _, d := range r.differences(p, l) {
			t.Errorf("%s: %s", r.name(), d)
		}
	}
}

func (r *recordedLoad) differences(p *logdir.Partition, l *Loaded) (out []string) {
	differ := func(what string, want, got any) {
		if w, g := fmt.Sprint(want), fmt.Sprint(got); w != g {
			out = append(out, fmt.Sprintf("%s: Kafka has %s, Load says %s", what, w, g))
		}
	}
	differ("outcome", r.Outcome, l.Outcome)
	if l.Outcome == BrokerAborts || l.Outcome == DirOffline {
		if l.Why == "" {
			out = append(out, "no reason for the outcome")
		}
	} else if r.Offsets != nil {
		differ("offsets", *r.Offsets, [5]int64{l.LogStartOffset, l.LogEndOffset, l.RecoveryPoint, l.HighWatermark, l.LastStableOffset})
		epochs, segments := [][2]int64{}, [][2]int64{}
		for _, e := range l.Epochs {
			epochs = append(epochs, [2]int64{int64(e.Epoch), e.StartOffset})
		}
		for _, s := range l.Segments {
			segments = append(segments, [2]int64{s.Base, s.Size})
		}
		differ("epochs", r.Epochs, epochs)
		differ("segments", r.Segments, segments)
	}
	want := map[string]int64{}
	for f := range p.AllFiles() {
		want[f.Name] = f.Size
	}
	for _, f := range r.Gone {
		delete(want, f)
	}
	for _, f := range append(slices.Clone(r.New), r.Changed...) {
		want[f.Name] = f.Size
	}
	got := map[string]int64{}
	for _, f := range l.Files {
		got[f.Name] = f.Size
	}
	if !maps.Equal(want, got) {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if size, ok := got[name]; !ok || size != want[name] {
				out = append(out, fmt.Sprintf("%s: %d bytes after Kafka's load, Load says %d (there: %v)", name, want[name], size, ok))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[name]; !ok {
				out = append(out, name+" is not there after Kafka's load")
			}
		}
	}
	return out
}

// TestActionsTellTheFiles carries the actions out on a listing: what Kafka cuts, deletes and renames
// is all told, in an order that works.
func TestActionsTellTheFiles(t *testing.T) {
	rs := newRecordings()
	for _, r := range recordedLoads(t) {
		p, l := rs.load(t, &r)
		files := map[string]int64{}
		for f := range p.AllFiles() {
			files[f.Name] = f.Size
		}
		for _, a := range l.Actions {
			if a.Why == "" || !strings.HasSuffix(a.Why, ".") {
				t.Errorf("%s: %s %s has no reason that is a sentence: %q", r.name(), a.Action, a.File, a.Why)
			}
			if a.ToOffset < a.From {
				t.Errorf("%s: %s %s: offsets [%d, %d)", r.name(), a.Action, a.File, a.From, a.ToOffset)
			}
			size, there := files[a.File]
			switch a.Action {
			case ActTruncate:
				if !there || size-a.Bytes != a.Position {
					t.Errorf("%s: %s of %d bytes (there: %v) is cut by %d at %d", r.name(), a.File, size, there, a.Bytes, a.Position)
				}
				files[a.File] = a.Position
			case ActDelete, ActDeleteSnapshot, ActRename, ActMarkDeleted:
				if !there {
					t.Errorf("%s: %s of %s, which is not there", r.name(), a.Action, a.File)
				}
				delete(files, a.File)
				if a.To != "" {
					files[a.To] = size
				}
			case ActCreateSegment, ActWriteSnapshot, ActRewriteEpochs:
				files[a.File] = 0
			case ActSplit:
				files[a.To] = 0
			}
		}
		for _, f := range l.Files {
			if _, ok := files[f.Name]; !ok && !strings.Contains(f.Name, "index") && f.Name != epochsName {
				t.Errorf("%s: no action tells of %s", r.name(), f.Name)
			}
			delete(files, f.Name)
		}
		for name := range files {
			t.Errorf("%s: no action tells that %s goes away", r.name(), name)
		}
	}
}

// TestLoadReadsLittle: after a clean stop a load reads the end of an index and a few headers.
func TestLoadReadsLittle(t *testing.T) {
	read := int64(0)
	counted := rofs.Fault(newRecordings().logDir(t, "base"), func(op, name string, pos, length int64) error {
		if op == "read" && !strings.HasSuffix(name, "checkpoint") {
			read += length
		}
		return nil
	})
	c, err := logdir.DiscoverFS(counted, "broker", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	n, size := int64(0), int64(0)
	for p := range c.AllPartitions() {
		var points [2]int64
		points[0], _ = p.LogDir.RecoveryPoints.Line(p)
		points[1], _ = p.LogDir.LogStarts.Line(p)
		l, err := Load(t.Context(), p, LoadInput{Version: Latest, Clean: true, RecoveryPoint: points[0], LogStart: points[1]})
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, s := range l.Segments {
			size += s.Size
		}
	}
	if n == 0 || size == 0 {
		t.Fatal("nothing was loaded")
	}
	t.Logf("%d partitions of %d bytes, %d bytes read", n, size, read)
	if read > n*64<<10 {
		t.Errorf("%d bytes read of %d partitions", read, n)
	}
}

// TestFailedReadIsAnError: a bad sector is neither damage nor an outcome, wherever it lies.
func TestFailedReadIsAnError(t *testing.T) {
	bad := errors.New("input/output error")
	for _, ext := range []string{".log", ".index", ".snapshot"} {
		hit, hits := false, 0
		fsys := rofs.Fault(newRecordings().logDir(t, "base/B1"), func(op, name string, pos, length int64) error {
			if op == "read" && strings.HasSuffix(name, ext) {
				hit = true
				return bad
			}
			return nil
		})
		c, err := logdir.DiscoverFS(fsys, "broker", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for p := range c.AllPartitions() {
			hit = false
			// With a snapshot at the log end a clean start reads it; without a marker the log is read.
			l, err := Load(t.Context(), p, LoadInput{Version: Latest, Clean: ext != ".log", RecoveryPoint: 0})
			if hit {
				hits++
			}
			if hit && !errors.Is(err, bad) {
				t.Errorf("%s of %s: error %v, %+v", ext, p.Dir, err, l)
			}
			if !hit && err != nil {
				t.Errorf("%s of %s: %v", ext, p.Dir, err)
			}
		}
		if hits == 0 {
			t.Errorf("no %s was read", ext)
		}
	}
}

// TestVersions: what older releases do otherwise (kafka-format §1.5, §5.5, §7.2).
func TestVersions(t *testing.T) {
	const spec = `
		broker 1 clusterid=AAAAAAAAAAAAAAAAAAAAAg
		topic a-0%s
		segment 10
		batch base=10 records=5 epoch=2
		segment 15
		batch records=5 epoch=4
		epochs %s`
	tests := []struct {
		what, id, epochs string
		version          Version
		drop             string
		outcome          Outcome
		want             string
	}{
		{"the first entry lies below the first segment", " id=hF7bEvJ3TEm5wvFBX5mlPw", "1:0 2:7 4:15", Latest, "", OK, "[{1 0} {2 7} {4 15}]"},
		{"it is cut at the first segment up to 2.8", " id=hF7bEvJ3TEm5wvFBX5mlPw", "1:0 2:7 4:15", Version{2, 8}, "", OK, "[{2 10} {4 15}]"},
		{"a missing index gives epochs", " id=hF7bEvJ3TEm5wvFBX5mlPw", "", Latest, "10", OK, "[{2 10}]"},
		{"but not up to 2.8", " id=hF7bEvJ3TEm5wvFBX5mlPw", "", Version{2, 8}, "10", OK, "[]"},
		{"no topic id: stray", "", "2:10 4:15", Latest, "", BecomesStray, "[]"},
		{"no topic id on 3.9: stray", "", "2:10 4:15", Version{3, 9}, "", BecomesStray, "[]"},
		{"no topic id on 3.7: an exception", "", "2:10 4:15", Version{3, 7}, "", BrokerAborts, "[{2 10} {4 15}]"},
		{"no topic id on 3.6", "", "2:10 4:15", Version{3, 6}, "", OK, "[{2 10} {4 15}]"},
	}
	for _, tt := range tests {
		files := logtest.FS(t, fmt.Sprintf(spec, tt.id, tt.epochs))
		for _, base := range []int64{10, 15} {
			name := "broker-1/a-0/" + segmentName(base, ".index")
			if files[name] = (&fstest.MapFile{Mode: 0o644}); fmt.Sprint(base) == tt.drop {
				delete(files, name)
			}
		}
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
			l, err := Load(t.Context(), p, LoadInput{Version: tt.version, Clean: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(l.Epochs); l.Outcome != tt.outcome || got != tt.want {
				t.Errorf("%s: %s with epochs %s, want %s with %s (%s)", tt.what, l.Outcome, got, tt.outcome, tt.want, l.Why)
			}
		}
	}
}

// TestTieredLogStart: the log of a tiered topic starts where the checkpoint says.
func TestTieredLogStart(t *testing.T) {
	sub, err := fs.Sub(logtest.FS(t, "broker 1 clusterid=AAAAAAAAAAAAAAAAAAAAAg\ntopic a-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 10 ; batch base=10 records=5 epoch=2"), "broker-1")
	if err != nil {
		t.Fatal(err)
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(sub), "broker-1", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range c.AllPartitions() {
		for _, tiered := range []bool{false, true} {
			l, err := Load(t.Context(), p, LoadInput{Version: Latest, LogStart: 3, Tiered: tiered})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int64{false: 10, true: 3}[tiered]; l.LogStartOffset != want || l.LogEndOffset != 15 {
				t.Errorf("tiered %v: log [%d, %d), want [%d, 15)", tiered, l.LogStartOffset, l.LogEndOffset, want)
			}
		}
	}
}
