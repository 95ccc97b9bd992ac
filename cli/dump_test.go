package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/report"
)

func TestOffsetRange(t *testing.T) {
	for _, c := range []struct {
		text string
		want offsetRange
	}{
		{"100..199", offsetRange{100, 199}},
		{"100..", offsetRange{100, math.MaxInt64}},
		{"..9", offsetRange{math.MinInt64, 9}},
		{"7", offsetRange{7, 7}},
		{"0..0", offsetRange{0, 0}},
		{"0..9223372036854775807", offsetRange{0, math.MaxInt64}},
	} {
		r := everyOffset
		if err := r.Set(c.text); err != nil || r != c.want {
			t.Errorf("%s: %+v, %v", c.text, r, err)
		}
		again := everyOffset
		if err := again.Set(r.String()); err != nil || again != r {
			t.Errorf("%s: printed as %s, read as %+v, %v", c.text, r.String(), again, err)
		}
	}
	for _, text := range []string{"", "a", "1..b", "-1", "5..4", "1...2", "1-2", "..-1", "9223372036854775808", "1..2..3"} {
		r := everyOffset
		if err := r.Set(text); err == nil || r != everyOffset {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
	if everyOffset.String() != "" {
		t.Error("everything has a text")
	}
}

// shown are the types, kinds and offsets of lines.
func shown(lines []dumped) []string {
	var out []string
	for _, d := range lines {
		switch d.Type {
		case "batch":
			out = append(out, fmt.Sprintf("batch %d..%d", d.From, d.To-1))
		case "record":
			out = append(out, fmt.Sprint("record ", d.Offset))
		case "frame":
			out = append(out, fmt.Sprintf("%s at %d", d.Kind, d.Position))
		default:
			out = append(out, d.Type)
		}
	}
	return out
}

func TestDumpRange(t *testing.T) {
	const log = `
		topic t-0 ; segment 0
		batch records=10 ; batch records=10
		segment 20
		batch records=10
		raw text="no batch stands here, for hundred bytes or so, and nothing tells which offsets were here before it"
		batch base=40 records=10
		segment 50
		batch records=10
		tail zeros=64
		epochs 0:0`
	dir := filepath.Join(logtest.Dir(t, log), "t-0")
	for _, c := range []struct {
		offsets string
		code    int
		want    []string
	}{
		{"3..4", 0, []string{"batch 0..9", "record 3", "record 4"}},
		{"9..10", 0, []string{"batch 0..9", "record 9", "batch 10..19", "record 10"}},
		{"29..30", 1, []string{"batch 20..29", "record 29", "junk at 202"}},
		{"35", 1, []string{"junk at 202"}},
		{"41", 0, []string{"batch 40..49", "record 41"}},
		{"39..40", 1, []string{"junk at 202", "batch 40..49", "record 40"}},
		{"59..", 0, []string{"batch 50..59", "record 59", "zeros at 212"}},
		{"60..", 0, []string{"zeros at 212"}},
		{"..0", 0, []string{"batch 0..9", "record 0"}},
	} {
		got := shown(dumpLines(t, c.code, "--records", "--offsets", c.offsets, dir))
		// Positions depend on how many digits the offsets have.
		for i := range got {
			if strings.HasPrefix(got[i], "junk at") {
				got[i] = "junk at 202"
			}
			if strings.HasPrefix(got[i], "zeros at") {
				got[i] = "zeros at 212"
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("--offsets %s (-want +got):\n%s", c.offsets, d)
		}
	}
	out, _, _ := typed(t, "dump", "--offsets", "3", dir)
	if !strings.Contains(out, "t-0: 2 .log files were not read: their names say that they hold none of the offsets asked for") || strings.Contains(out, "epoch-checkpoint") {
		t.Errorf("segments that cannot hold the offsets:\n%s", out)
	}
}

// A hole of zeros is a finding, zeros at the end are not; a range that leaves the hole
// out does not see it.
func TestDumpZeros(t *testing.T) {
	dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch records=2\nraw zeros=200\nbatch base=2\ntail zeros=100")
	want := []string{"batch 0..1", "zeros at", "batch 2..2", "zeros at"}
	got := shown(dumpLines(t, exitFindings, dir))
	for i := range got {
		if strings.HasPrefix(got[i], "zeros at") {
			got[i] = "zeros at"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	dumpLines(t, 0, "--offsets", "0", dir)
	dumpLines(t, 0, logtest.Dir(t, "topic t-0 ; segment 0\nbatch records=2\ntail zeros=100"))
	dumpLines(t, 0, logtest.Dir(t, "topic t-0 ; segment 0\nbatch ; batch\ntorn bytes=9"))
}

func TestDumpDamage(t *testing.T) {
	for _, c := range []struct {
		spec string
		code int
		want []string
		text string
	}{
		{"batch records=3 ; batch ; damage batch=0 field=payload flip=66", exitFindings, []string{"batch 0..2", "record 0", "record 1", "record 2", "batch 3..3", "record 3"}, "BAD"},
		{"batch records=3 ; damage batch=0 field=count set=4 fixcrc", exitFindings, []string{"batch 0..2", "record 0", "record 1", "record 2", "undecoded"}, "the records cannot be decoded: malformed record"},
		{"batch records=3 codec=zstd ; damage batch=0 field=payload flip=7 fixcrc", exitFindings, []string{"batch 0..2", "undecoded"}, "the records cannot be decoded: cannot decompress"},
		{"batch records=3 ; damage batch=0 field=attributes set=7 fixcrc", exitFindings, []string{"batch 0..2", "undecoded"}, "invalid(7)"},
		{"batch ; batch ; damage batch=0 field=length flip=3 ; batch", exitFindings, []string{"batch 0..0", "record 0", "batch 1..1", "record 1", "batch 2..2", "record 2"}, "bad length"},
		{"message magic=1 ; message magic=0 count=2 codec=gzip", 0, []string{"legacy at 0", "record 0", "legacy at 38", "record 1", "record 2"}, "message format 0, wrapper: the offset is that of its last message"},
		{"message magic=1 ; message magic=1 ; damage batch=0 field=crc flip=1", exitFindings, []string{"legacy at 0", "record 0", "legacy at 38", "record 1"}, "checksum mismatch"},
		{"batch ; torn bytes=60", 0, []string{"torn at 0"}, "torn: a batch that does not end in this file"},
	} {
		file := filepath.Join(logtest.Dir(t, "topic t-0 ; segment 0\n"+c.spec), "t-0", logtest.LogName(0))
		if d := cmp.Diff(c.want, shown(dumpLines(t, c.code, "--records", file))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.spec, d)
		}
		out, _, _ := typed(t, "dump", "--records", file)
		if !strings.Contains(out, c.text) {
			t.Errorf("%s: no %q in\n%s", c.spec, c.text, out)
		}
	}
}

// A record of a batch whose CRC does not verify says so wherever it goes.
func TestDumpBadCRCIsOnTheRecord(t *testing.T) {
	file := filepath.Join(logtest.Dir(t, "topic t-0 ; segment 0\nbatch records=1 ; damage batch=0 field=crc flip=0 ; batch"), "t-0")
	for _, d := range dumpLines(t, exitFindings, "--records", file) {
		if d.Type == "record" && (d.Offset == 0) != (d.CRCOk != nil && !*d.CRCOk) {
			t.Errorf("record %d: crcOk %v", d.Offset, d.CRCOk)
		}
	}
}

const everyFile = `
	broker 3 clusterid=c
	topic t-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
	batch records=2 ; batch codec=lz4 records=2
	file 00000000000000000000.index hex=00000003000000500000000000000000
	file 00000000000000000000.timeindex hex=0000018bcfe5680000000003
	file 00000000000000000000.txnindex hex=00000000000000000fa0000000000000000000000000000000030000000000000004
	file 00000000000000000004.snapshot hex=0001120f3a78000000010000000000000fa00002000000090000000000000066000000020000018bcfe56805ffffffffffffffffffffffff
	epochs 0:0
	hw 4 ; recovery 4 ; logstart 0 ; cleaner 2
	clean brokerepoch=9
	topic __cluster_metadata-0 ; segment 0
	batch value=x
	file quorum-state text="{\"leaderId\":3,\"leaderEpoch\":2,\"votedId\":-1,\"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}"
	file 00000000000000000007-0000000001.checkpoint hex=00`

// Whatever read fails, the exit code says incomplete, an error names the file, and
// nothing is called damage. Nothing else is left out.
func TestDumpFailedReads(t *testing.T) {
	files := logtest.FS(t, everyFile)
	run := func(asJSON bool, fault func(op, name string, pos, length int64) error) (string, string, int) {
		var out, errs bytes.Buffer
		a := &app{stdout: &out, stderr: &errs, json: asJSON}
		c, _ := logdir.DiscoverFS(rofs.Fault(rofs.FromFS(files), fault), "x", logdir.Options{})
		d := newDumper(a, &dumpOptions{records: true, indexes: true, offsets: everyOffset, values: valueFormat(report.ValueAuto)})
		d.wholeCase(context.Background(), c)
		if err := d.finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		return out.String(), errs.String(), a.bits
	}
	none := func(string, string, int64, int64) error { return nil }
	whole, _, bits := run(true, none)
	if bits != 0 {
		t.Fatalf("without a fault: exit bits %d\n%s", bits, whole)
	}
	lines := strings.Count(whole, "\n")
	for name := range files {
		if files[name].Mode.IsDir() {
			continue
		}
		for _, op := range []string{"open", "read", "stat"} {
			fault := func(o, n string, _, _ int64) error {
				if o == op && n == name {
					return syscall.EIO
				}
				return nil
			}
			for _, asJSON := range []bool{true, false} {
				out, errs, bits := run(asJSON, fault)
				if bits != exitIncomplete {
					t.Errorf("%s %s: exit bits %d\n%s", op, name, bits, errs)
				}
				if !strings.Contains(errs, name+": ") || !strings.Contains(out, "input/output error") {
					t.Errorf("%s %s: not named\n%s%s", op, name, errs, out)
				}
				for _, word := range []string{"damage\":\"", "corrupt", "MALFORMED", "BAD", "junk", "torn"} {
					if strings.Contains(out, word) {
						t.Errorf("%s %s: %q in\n%s", op, name, word, out)
					}
				}
				if asJSON && strings.Count(out, "\n") < lines-6 {
					t.Errorf("%s %s: other files are missing\n%s", op, name, out)
				}
			}
		}
	}
	// A read that fails at any position of a log: what comes before it is shown.
	log := "broker-3/t-0/" + logtest.LogName(0)
	for pos := range int64(len(files[log].Data)) {
		out, _, bits := run(true, func(o, n string, p, length int64) error {
			if o == "read" && n == log && p <= pos && pos < p+length {
				return syscall.EIO
			}
			return nil
		})
		if bits != exitIncomplete || !strings.Contains(out, `"type":"error","path":"`+log+`"`) {
			t.Fatalf("position %d: exit bits %d\n%s", pos, bits, out)
		}
	}
}

// failingWriter takes a number of bytes and then fails.
type failingWriter struct {
	room  int
	err   error
	after int // writes after the failure
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.room < len(p) {
		w.after++
		return 0, w.err
	}
	w.room -= len(p)
	return len(p), nil
}

func TestDumpStopsWhenNobodyReads(t *testing.T) {
	dir := logtest.Dir(t, "topic t-0 ; segment 0\n"+strings.Repeat("batch records=100\n", 100))
	for _, asJSON := range []bool{false, true} {
		for _, failure := range []error{syscall.EPIPE, syscall.ENOSPC} {
			w := &failingWriter{room: 1000, err: failure}
			a := &app{stdout: w, stderr: &bytes.Buffer{}, json: asJSON}
			err := runDump(context.Background(), a, []string{dir}, &dumpOptions{records: true, offsets: everyOffset, values: valueFormat(report.ValueAuto)})
			if want := failure != syscall.EPIPE; errors.Is(err, failure) != want {
				t.Errorf("json %t, %v: got %v", asJSON, failure, err)
			}
			if w.after > 1 {
				t.Errorf("json %t: written %d times after the failure", asJSON, w.after)
			}
		}
	}
}

func TestDumpInterrupted(t *testing.T) {
	dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	if err := runDump(ctx, a, []string{dir}, &dumpOptions{offsets: everyOffset}); !errors.Is(err, errInterrupted) {
		t.Errorf("got %v", err)
	}
}

// No byte of the inputs reaches the terminal as a control character, and without --full
// no line grows with a value.
func TestDumpIsSafeToRead(t *testing.T) {
	evil := "\x1b]0;owned\x07\x1b[2J\u202e\u200b\u0085\r\n\t\x00\x9b31m"
	long := strings.Repeat("é\x1b", 100_000)
	batch := logtest.Batch{Records: []logtest.Record{
		{Key: []byte(evil), Value: []byte(evil), Headers: []logtest.Header{{Key: evil, Value: []byte(evil)}}},
		{Key: []byte(long), Value: []byte(long), Headers: []logtest.Header{{Key: long, Value: []byte(long)}}},
		{Value: []byte(`{"a":"` + strings.Repeat("x", 100_000) + "\u202e" + `"}`)},
	}}
	for range 50 {
		batch.Records[1].Headers = append(batch.Records[1].Headers, logtest.Header{Key: "k"})
	}
	dir := filepath.Join(t.TempDir(), "t\x1b[31m-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		logtest.LogName(0):        string(batch.Encode()),
		"leader-epoch-checkpoint": evil,
		"partition.metadata":      "version: 0\ntopic_id: " + evil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{}, {"--json"}, {"--full"}, {"--value-format", "text"}, {"--value-format", "hex"}, {"--value-format", "base64"}, {"--value-format", "redacted"}, {"--value-format", "redacted", "--json"}} {
		out, errs, _ := typed(t, append(append([]string{"dump", "--records"}, args...), dir)...)
		for i, r := range out + errs {
			if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' || r == '\ufffd') {
				t.Fatalf("%q: %q reaches the terminal at byte %d", args, r, i)
			}
		}
		if len(args) > 0 && (args[0] == "--full" || args[len(args)-1] == "--json") {
			continue
		}
		for line := range strings.Lines(out) {
			if len(line) > 5000 {
				t.Errorf("%q: a line of %d bytes", args, len(line))
			}
		}
	}
	out, _, _ := typed(t, "dump", "--records", "--value-format", "redacted", "--json", dir)
	for line := range strings.Lines(out) { // the names of headers stay, as field names would
		if strings.Contains(line, `"type":"record"`) && (strings.Contains(line, `"value":"`) || strings.Contains(line, `"key":"`) && !strings.Contains(line, `"headers":[{"key":"`)) {
			t.Errorf("redacted values are in the output: %.300s", line)
		}
	}
	for _, want := range []string{`"valueSize":300000`, `"valueSha256":"`, `"keySize":300000`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in redacted output", want)
		}
	}
}

func TestDumpUnknownFiles(t *testing.T) {
	dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch\nfile 00000000000000000000.index zeros=8\nfile tail.bin text=x\nfile 7.log text=\nfile leader-epoch-checkpoint.bak text=\"0\\n1\\n0 0\\n\"")
	at := func(name string) string { return filepath.Join(dir, "t-0", name) }
	_, errs, code := typed(t, "dump", at("tail.bin"), at("leader-epoch-checkpoint.bak"), at(logtest.LogName(0)))
	if code != exitIncomplete || strings.Count(errs, "dump does not know this kind of file") != 2 || !strings.Contains(errs, "leader-epoch-checkpoint, the four *-offset-checkpoint files") {
		t.Errorf("exit code %d, stderr:\n%s", code, errs)
	}
	want := []string{"error", "batch 0..0"}
	if d := cmp.Diff(want, shown(dumpLines(t, exitIncomplete, at("tail.bin"), at(logtest.LogName(0))))); d != "" {
		t.Error(d)
	}
	// In a directory other files are no trouble.
	if d := cmp.Diff([]string{"batch 0..0"}, shown(dumpLines(t, 0, filepath.Join(dir, "t-0")))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"epoch-checkpoint"}, shown(dumpLines(t, 0, "--as", "leader-epoch-checkpoint", at("leader-epoch-checkpoint.bak")))); d != "" {
		t.Error(d)
	}
	if _, errs, code := typed(t, "dump", "--as", "parquet", at("tail.bin")); code != exitUsage || !strings.Contains(errs, "want one of log, metadata-log") {
		t.Errorf("exit code %d, stderr: %s", code, errs)
	}
	if _, errs, code := typed(t, "dump", filepath.Join(dir, "nothing-here")); code != exitIncomplete || !strings.Contains(errs, "no such file") {
		t.Errorf("exit code %d, stderr: %s", code, errs)
	}
	if _, errs, code := typed(t, "dump", t.TempDir()); code != exitIncomplete || !strings.Contains(errs, "nothing to show here") {
		t.Errorf("an empty directory: exit code %d, stderr: %s", code, errs)
	}
}

// A single file knows the partition and broker around it.
func TestDumpOwner(t *testing.T) {
	dir := logtest.Dir(t, everyFile)
	for _, name := range []string{"t-0/" + logtest.LogName(0), "t-0/00000000000000000000.index", "t-0/00000000000000000000.timeindex", "t-0/00000000000000000000.txnindex", "t-0/00000000000000000004.snapshot", "t-0/leader-epoch-checkpoint", "t-0/partition.metadata", "meta.properties", "replication-offset-checkpoint", ".kafka_cleanshutdown", "__cluster_metadata-0/quorum-state"} {
		lines := dumpLines(t, 0, filepath.Join(dir, "broker-3", name))
		if len(lines) == 0 || lines[0].Broker != float64(3) {
			t.Errorf("%s: %+v", name, lines)
			continue
		}
		want, got := "", ""
		if parts := strings.Split(name, "/"); len(parts) == 2 {
			want = parts[0]
		}
		if lines[0].Partition != nil {
			got = *lines[0].Partition
		}
		if got != want {
			t.Errorf("%s: partition %q, want %q", name, got, want)
		}
	}
}

func TestDumpQuiet(t *testing.T) {
	dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch ; damage batch=0 field=crc flip=0")
	for _, more := range [][]string{{}, {"--json"}} {
		out, errs, code := typed(t, append([]string{"dump", "-q", dir}, more...)...)
		if out != "" || errs != "" || code != exitFindings {
			t.Errorf("%q %q, exit code %d", out, errs, code)
		}
	}
}
