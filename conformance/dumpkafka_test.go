package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const fixtures = "../../shared/fixtures"

// kafkaFormat runs kafsck dump --format kafka in dir. errs are the lines on stderr that
// kafka-dump-log has, ours those that kafsck adds.
func kafkaFormat(t *testing.T, dir string, args ...string) (out, errs, ours string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(sharedKafsck(t), append([]string{"dump", "--format", "kafka"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 && code != 2 {
		t.Errorf("kafsck dump --format kafka %q: exit code %d\n%s", args, code, stderr.String())
	}
	var theirs, own strings.Builder
	for line := range strings.Lines(stderr.String()) {
		if strings.HasPrefix(line, "kafsck: ") {
			own.WriteString(line)
		} else {
			theirs.WriteString(line)
		}
	}
	return stdout.String(), theirs.String(), own.String(), code
}

var (
	buildOnce   sync.Once
	builtKafsck string
	buildErr    error
)

// sharedKafsck builds kafsck once for all tests of this file, into target/ like
// everything else that is built here.
func sharedKafsck(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		if builtKafsck, buildErr = filepath.Abs("target/kafsck"); buildErr != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", builtKafsck, ".")
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("building kafsck: %w\n%s", err, out)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return builtKafsck
}

// storedRun is one file in a stored output of kafka-dump-log.
type storedRun struct {
	path   string // as it was given
	output string // stdout, then what followed on stderr, if the recording has it there
	threw  bool
}

// storedRuns takes an output apart. Recordings mark exceptions in two ways, and some have stderr
// of all files at the end, behind a line of its own.
func storedRuns(stored string) (runs []storedRun, stderr string, apart bool) {
	stored, stderr, apart = strings.Cut(stored, "---- stderr\n")
	for line := range strings.Lines(stored) {
		if path, ok := strings.CutPrefix(line, "Dumping "); ok {
			runs = append(runs, storedRun{path: strings.TrimSuffix(path, "\n"), output: line})
			continue
		}
		if len(runs) == 0 {
			continue
		}
		r := &runs[len(runs)-1]
		if strings.HasPrefix(line, "!! exception") || strings.HasPrefix(line, "### tool threw") {
			r.threw = true
			continue
		}
		r.output += line
	}
	return runs, stderr, apart
}

// decoderFor is the option with which the recordings were dumped.
func decoderFor(path string) []string {
	dir := filepath.Base(filepath.Dir(path))
	for prefix, option := range map[string]string{
		"__consumer_offsets-": "--offsets-decoder", "__transaction_state-": "--transaction-log-decoder", "__share_group_state-": "--share-group-state-decoder",
		"__remote_log_metadata-": "--remote-log-metadata-decoder", "__cluster_metadata-": "--cluster-metadata-decoder",
	} {
		if strings.HasPrefix(dir, prefix) {
			return []string{option}
		}
	}
	if strings.HasSuffix(path, ".checkpoint") {
		return []string{"--cluster-metadata-decoder"}
	}
	return []string{"--deep-iteration", "--print-data-log"}
}

// unpackStages returns the directories in which the files of a recording lie: its own, and one
// with the stages that are packed.
func unpackStages(t *testing.T, fixture string) []string {
	t.Helper()
	roots := []string{fixture}
	err := filepath.WalkDir(fixture, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".tar.gz") {
			return err
		}
		if len(roots) == 1 {
			roots = append(roots, t.TempDir())
		}
		rel, err := filepath.Rel(fixture, filepath.Dir(path))
		if err == nil {
			unpackArchive(t, path, filepath.Join(roots[1], rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func unpackArchive(t *testing.T, archive, dir string) {
	t.Helper()
	files := tar.NewReader(strings.NewReader(readMaybePacked(t, archive)))
	for {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(filepath.Clean("/"+h.Name)))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// workingDir finds the directory from which a recording's path leads to a file: the tool ran in
// the fixture, in a stage, or in a broker's folder.
func workingDir(roots []string, stored, path string) (dir string, ok bool) {
	for _, root := range roots {
		for rel := filepath.Dir(stored); ; rel = filepath.Dir(rel) {
			if _, err := os.Stat(filepath.Join(root, rel, path)); err == nil {
				return filepath.Join(root, rel), true
			}
			if rel == "." {
				break
			}
		}
	}
	return "", false
}

// TestKafkaFormatStored holds dump --format kafka against every output of kafka-dump-log that is
// stored with a recording.
func TestKafkaFormatStored(t *testing.T) {
	entries, err := os.ReadDir(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "dump-samples" {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			fixture, err := filepath.Abs(filepath.Join(fixtures, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			roots := unpackStages(t, fixture)
			n := 0
			for _, dump := range []string{"dump", "dump-4.3.1"} {
				root := filepath.Join(fixture, dump)
				var stored []string
				err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					rel, err := filepath.Rel(root, path)
					stored = append(stored, rel)
					return err
				})
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				n += compareStored(t, roots, root, stored)
			}
			t.Logf("%d files", n)
		})
	}
}

func readMaybePacked(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

// storedFile is one file in a stored output, and where it lies.
type storedFile struct {
	storedRun
	rel, dir string
	out      string // kafsck's
	errs     string
}

// compareStored compares all outputs of a recording. kafsck runs once for the files of each
// directory and decoder: a start takes longer than a file.
func compareStored(t *testing.T, roots []string, root string, stored []string) int {
	t.Helper()
	type runKey struct{ dir, options string }
	group := map[runKey][]*storedFile{}
	apart := map[string]string{} // stderr of a whole output
	var files []*storedFile
	for _, rel := range stored {
		runs, stderr, has := storedRuns(readMaybePacked(t, filepath.Join(root, rel)))
		if has {
			apart[rel] = stderr
		}
		for _, run := range runs {
			f := &storedFile{storedRun: run, rel: rel}
			var ok bool
			if f.dir, ok = workingDir(roots, rel, run.path); !ok {
				t.Errorf("%s: %s is not there", rel, run.path)
				continue
			}
			k := runKey{f.dir, strings.Join(decoderFor(run.path), " ")}
			group[k] = append(group[k], f)
			files = append(files, f)
		}
	}
	for k, list := range group {
		for part := range slices.Chunk(list, 500) {
			runFiles(t, k.dir, strings.Fields(k.options), part)
		}
	}
	errs := map[string]string{}
	for _, f := range files {
		f.errs = strings.ReplaceAll(f.errs, f.dir+"/", "<dir>/")
		errs[f.rel] += f.errs
		want, got := f.output, f.out
		if _, has := apart[f.rel]; !has {
			got += f.errs
		}
		if strings.HasPrefix(f.rel, "kafka-3.9.2") {
			want, got = as39(want), as39(got)
		}
		if !(got == want || f.threw && strings.HasPrefix(f.out, f.output)) {
			t.Errorf("%s: %s\n%s", f.rel, f.path, whereTheyPart(want, got))
		}
	}
	for rel, stderr := range apart {
		if w, g := sortedReports(stderr), sortedReports(errs[rel]); w != g {
			t.Errorf("%s: stderr (sorted)\n%s", rel, whereTheyPart(w, g))
		}
	}
	return len(files)
}

// runFiles runs kafsck over files, gives each its part of the output, and returns what kafsck says
// of its own.
func runFiles(t *testing.T, dir string, options []string, files []*storedFile) (ours string) {
	t.Helper()
	args := slices.Clone(options)
	for _, f := range files {
		args = append(args, f.path)
	}
	out, errs, ours, _ := kafkaFormat(t, dir, args...)
	parts, _, _ := storedRuns(out)
	if len(parts) != len(files) {
		t.Errorf("%s: %d files printed of %d", dir, len(parts), len(files))
		return ours
	}
	reports := reportsByFile(errs)
	for i, f := range files {
		f.out = parts[i].output
		f.errs = reports[filepath.Join(dir, f.path)]
	}
	return ours
}

var reportTitle = regexp.MustCompile(`^(Mismatches in :|Found timestamp mismatch in :|Found out of order timestamp in :|The following indexed offsets are not found in :|Non-consecutive offsets in )(.*)$`)

// reportsByFile splits what kafka-dump-log prints at its end by the file that it is about.
func reportsByFile(stderr string) map[string]string {
	of := map[string]string{}
	file := ""
	for line := range strings.Lines(stderr) {
		if m := reportTitle.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			file = m[2]
		}
		of[file] += line
	}
	return of
}

// sortedReports makes reports comparable whose files came in another order, from another place.
func sortedReports(s string) string {
	lines := strings.Split(fixturePath.ReplaceAllString(s, "${1}stage-"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// as39 leaves of an output what kafka-dump-log of 3.9.2, with which some metadata logs were
// dumped, has in common with that of 4.3.1: that one has no JSON for leader changes, and the
// recordings do not have its stderr.
func as39(out string) string {
	out, _, _ = strings.Cut(out, "Non-consecutive offsets in ")
	out = leaderChange.ReplaceAllString(out, " controlType: LEADER_CHANGE(2)")
	return strings.TrimRight(out, "\n")
}

var leaderChange = regexp.MustCompile(` LeaderChange: \{.*`)

// fixturePath is what stands before the path inside a recording.
var fixturePath = regexp.MustCompile(`(?m)( in :?)\S*stage-`)

// whereTheyPart shows the lines at which two outputs part.
func whereTheyPart(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		at := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "(ends)"
		}
		if at(w) != at(g) {
			return "line " + strconv.Itoa(i+1) + "\nKafka:  " + cut(at(w)) + "\nkafsck: " + cut(at(g))
		}
	}
	return "no difference"
}

func cut(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

// TestKafkaFormatSamples does the same with dump-samples, sound and damaged.
func TestKafkaFormatSamples(t *testing.T) {
	root, err := filepath.Abs(filepath.Join(fixtures, "dump-samples"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err != nil {
		t.Fatal(err)
	}
	for _, kind := range [][2]string{{"in", "out"}, {"bad", "bad-out"}} {
		in, out := filepath.Join(root, kind[0]), filepath.Join(root, kind[1])
		for line := range strings.Lines(readMaybePacked(t, filepath.Join(out, "commands.txt"))) {
			name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
			options, result, _ := strings.Cut(rest, " | ")
			if name == "noargs" || name == "badopt" {
				continue
			}
			gotOut, gotErr, ours, code := kafkaFormat(t, in, strings.Fields(options)...)
			wantOut := readMaybePacked(t, filepath.Join(out, name+".stdout"))
			wantErr := ""
			if b, err := os.ReadFile(filepath.Join(out, name+".stderr")); err == nil {
				wantErr = withoutTrace(string(b))
			}
			gotErr = strings.ReplaceAll(gotErr, in+"/", "<dir>/")
			threw := strings.HasPrefix(result, "rc=1")
			if threw && !strings.HasPrefix(gotOut, wantOut) || !threw && gotOut != wantOut {
				t.Errorf("%s: stdout\n%s", name, whereTheyPart(wantOut, gotOut))
			}
			if gotErr != wantErr {
				t.Errorf("%s: stderr\n%s", name, whereTheyPart(wantErr, gotErr))
			}
			if threw != (code == 2) && name != "zerotail" {
				t.Errorf("%s: exit code %d, Kafka's is %s\n%s", name, code, result, ours)
			}
			if threw && !strings.Contains(ours, "kafka-dump-log ends here") && !strings.Contains(ours, "no such file") {
				t.Errorf("%s: nothing says that Kafka's tool throws: %s", name, ours)
			}
			// The damaged indexes are really wrong, the sound ones are not.
			real := strings.HasPrefix(name, "index-") || strings.HasPrefix(name, "timeindex-")
			if strings.Contains(ours, "a false report") == real && strings.Contains(gotErr, "<dir>") {
				t.Errorf("%s: kafsck says of\n%s\n%s", name, gotErr, ours)
			}
		}
	}
}

// withoutTrace drops what Java says of an exception.
func withoutTrace(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "Exception in thread") && !strings.HasPrefix(line, "\tat ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// dumpableName matches the files that kafka-dump-log reads.
var dumpableName = regexp.MustCompile(`^([0-9]{20}(\.(log|index|timeindex|txnindex|snapshot)|-[0-9]{10}\.checkpoint)|bootstrap\.checkpoint)$`)

// kafkaOptionSets are with what options the tool and kafsck run over every file. The first is
// for each change, all are for .ci/full.
var kafkaOptionSets = [][]string{
	{"--print-data-log"},
	{},
	{"--deep-iteration"},
	{"--print-data-log", "--skip-record-metadata"},
	{"--verify-index-only"},
	{"--index-sanity-check"},
	{"--max-bytes", "5000"},
	{"--max-message-size", "300"},
	{"--offsets-decoder"},
	{"--transaction-log-decoder", "--skip-record-metadata"},
	{"--key-decoder-class", "org.apache.kafka.tools.api.LongDecoder"},
}

// TestKafkaFormatLive runs kafka-dump-log itself, and kafsck, over every file that a broker wrote.
func TestKafkaFormatLive(t *testing.T) {
	tool := kafkaDumpLog(t)
	byDir := map[string][]string{}
	for _, path := range findFiles(t, dumpableName) {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		if base, ok := strings.CutSuffix(abs, ".timeindex"); ok {
			// Kafka's tool makes an empty .index where there is none: not among the recordings.
			if _, err := os.Stat(base + ".index"); err != nil {
				continue
			}
		}
		byDir[filepath.Dir(abs)] = append(byDir[filepath.Dir(abs)], abs)
	}
	sets := kafkaOptionSets
	if !everyOptionSet {
		sets = sets[:1]
	}
	files, threw := 0, 0
	for dir, paths := range byDir {
		for i, set := range sets {
			if own := decoderFor(paths[0]); i == 0 && len(own) == 1 {
				set = own
			}
			group := make([]*storedFile, len(paths))
			for i, p := range paths {
				group[i] = &storedFile{storedRun: storedRun{path: p}}
			}
			args := append(slices.Clone(set), paths...)
			out, errs, _, _ := kafkaFormat(t, "", args...)
			parts, _, _ := storedRuns(out)
			reports := reportsByFile(errs)
			if len(parts) != len(paths) {
				t.Errorf("%s: %d files printed of %d", dir, len(parts), len(paths))
				continue
			}
			for i, path := range paths {
				files++
				want := tool.run(t, append(slices.Clone(set), "--files", path)...)
				got := parts[i].output
				if want.threw != "" {
					threw++
					if !strings.HasPrefix(got, want.stdout) {
						t.Errorf("%s %s: stdout up to %s\n%s", set, path, want.threw, whereTheyPart(want.stdout, got))
					}
					continue
				}
				if got != want.stdout {
					t.Errorf("%s %s: stdout\n%s", set, path, whereTheyPart(want.stdout, got))
				}
				if got := reports[path]; got != want.stderr && !strings.HasPrefix(want.stderr, "Snapshot ") {
					t.Errorf("%s %s: stderr\n%s", set, path, whereTheyPart(want.stderr, got))
				}
			}
		}
	}
	t.Logf("%d files and options, Kafka's tool threw for %d", files, threw)
}
