package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// racedRecordings are those that the race detector watches. On all of them the same goroutines run; these
// have several replicas, every codec, transactions, and a comparison that is sorted in files.
var racedRecordings = []string{"unclean-election", "divergence", "codecs", "transactions"}

// leftToTheFullRun reports whether a recording is for the run without the race detector alone.
func leftToTheFullRun(recording string) bool {
	return testing.Short() && !slices.Contains(racedRecordings, recording)
}

// kafsck runs the program in this process.
func kafsck(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// lines decodes JSON Lines.
func lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, v)
	}
	return out
}

// TestRecordedAnswers compares the JSON of every recording with the answers that
// were checked against it: who rules, and each divergence with its sides.
func TestRecordedAnswers(t *testing.T) {
	for _, name := range fixture.Names {
		if leftToTheFullRun(name) && name != "compaction" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Stages map[string]struct {
					Partitions map[string]struct {
						Leader      *int32           `json:"leader"`
						Divergences []map[string]any `json:"divergences"`
						Losses      []map[string]any `json:"losses"`
					} `json:"partitions"`
				} `json:"stages"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			for stage, s := range want.Stages {
				code, out, errs := kafsck("diff", "--json", filepath.Join(dir, stage))
				if errs != "" {
					t.Errorf("%s: %s", stage, errs)
				}
				got := map[string][]string{}
				for _, l := range lines(t, out) {
					p, _ := l["partition"].(string)
					switch l["type"] {
					case "ruling":
						got[p] = append(got[p], fmt.Sprint("leader ", l["leader"]))
					case "divergence":
						got[p] = append(got[p], divergence(l))
					}
				}
				bad := 0
				for p, w := range s.Partitions {
					leader := "<nil>"
					if w.Leader != nil {
						leader = fmt.Sprint(*w.Leader)
					}
					expect := []string{"leader " + leader}
					for _, d := range w.Divergences {
						expect = append(expect, divergence(d))
						if d["kind"] != "behind" && d["kind"] != "compaction" {
							bad = exitFindings
						}
					}
					name, _, _ := strings.Cut(p, "#")
					for _, e := range expect {
						if !slices.Contains(got[name], e) {
							t.Errorf("%s %s: no %s among\n%s", stage, p, e, strings.Join(got[name], "\n"))
						}
					}
				}
				if code != bad {
					t.Errorf("%s: exit code %d, want %d", stage, code, bad)
				}
			}
		})
	}
}

func divergence(d map[string]any) string {
	var sides []string
	for _, s := range d["sides"].([]any) {
		m := s.(map[string]any)
		sides = append(sides, fmt.Sprintf("%v %v-%v %v", m["broker"], m["from"], m["to"], m["epochs"]))
	}
	slices.Sort(sides)
	return fmt.Sprintf("%v %v-%v %v %v", d["kind"], d["from"], d["to"], d["commonEnd"], sides)
}

// TestEveryFieldIsDocumented holds docs/json.md against what is written: each
// type has a section, and each of its fields a row there.
func TestEveryFieldIsDocumented(t *testing.T) {
	if testing.Short() {
		return // names of fields; what writes them is watched elsewhere
	}
	data, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range regexp.MustCompile("(?m)^### ").Split(string(data), -1) {
		head, body, _ := strings.Cut(s, "\n")
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(head, -1) {
			sections[m[1]] = body
		}
	}
	seen := map[string]bool{}
	check := func(where string, l map[string]any, section string) {
		for field, v := range l {
			key := where + "." + field
			if seen[key] || field == "type" {
				continue
			}
			seen[key] = true
			if !strings.Contains(section, "| `"+field+"` |") && !strings.HasSuffix(field, "Text") {
				t.Errorf("docs/json.md, section %s: no row for `%s` (such as %v)", where, field, v)
			}
		}
	}
	for _, name := range []string{"unclean-election/stage-a", "unclean-election/stage-b", "reassigned-dirs/stage-b", "divergence/stage-a"} {
		recording, _, _ := strings.Cut(name, "/")
		path := filepath.Join(fixture.Unpack(t, recording), strings.TrimPrefix(name, recording+"/"))
		for _, args := range [][]string{{}, {"ls"}, {"diff"}, {"loss"}, {"epochs"}} {
			_, out, _ := kafsck(append(args, "--json", path, filepath.Join(path, "nowhere"))...)
			for _, l := range lines(t, out) {
				kind := l["type"].(string)
				if sections[kind] == "" {
					t.Errorf("docs/json.md has no section for type %s", kind)
					continue
				}
				check(kind, l, sections[kind])
				for _, nested := range []string{"sides", "evidence", "copies", "losses", "ranges", "differences", "suspects"} {
					list, _ := l[nested].([]any)
					for _, x := range list {
						if m, ok := x.(map[string]any); ok {
							inner := sections[kind]
							if m["type"] == "loss" {
								inner = sections["loss"]
							}
							check(kind+"."+nested, m, inner)
						}
					}
				}
			}
		}
	}
}

// TestHostileNames: no byte of a name reaches the terminal as it is.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	evil := "\x1b]0;owned\x07\u202e\u009b31m\n\r\x7f\xff"
	log := filepath.Join(dir, "broker\x1b[2J", evil+"-0")
	write(t, filepath.Join(log, "00000000000000000000.log"), "junk that is no batch at all, but long enough for a header of sixty-one bytes and more")
	write(t, filepath.Join(log, "leader-epoch-checkpoint"), "0\n1\n3 500\n")
	write(t, filepath.Join(log, evil), "x")
	write(t, filepath.Join(dir, "broker\x1b[2J", evil+".txt"), "x")
	write(t, filepath.Join(dir, "broker\x1b[2J", "meta.properties"), "version=1\nnode.id=1\ncluster.id=\x1b[31mevil\n")
	write(t, filepath.Join(dir, "broker\x1b[2J", "replication-offset-checkpoint"), "0\n0\n")
	write(t, filepath.Join(dir, "other\u202e", evil+"-0", "00000000000000000000.log"), "")
	if err := os.Symlink("/", filepath.Join(dir, "other\u202e", "link\x1b")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"ls"}, {"diff"}, {"loss"}, {"epochs"}} {
		for _, extra := range [][]string{nil, {"--json"}, {"--quiet"}} {
			run := slices.Concat(args, extra, []string{dir, filepath.Join(dir, "missing\x1b[31m")})
			code, stdout, stderr := kafsck(run...)
			if code == exitBug {
				t.Fatalf("%q: %s", run, stderr)
			}
			for _, text := range []string{stdout, stderr} {
				for _, r := range text {
					if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' || r == '\ufffd' && !slices.Contains(run, "--json") {
						t.Errorf("%q: %U reaches the terminal:\n%q", run, r, text)
						break
					}
				}
			}
			if slices.Contains(extra, "--json") {
				lines(t, stdout)
			}
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestManyPartitions: a verdict over many partitions stays short and says where
// the rest is; the full answer names each.
func TestManyPartitions(t *testing.T) {
	from := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	dir := t.TempDir()
	const n = 60
	for _, broker := range []string{"broker-1", "broker-2"} {
		for _, file := range []string{"00000000000000000000.log", "leader-epoch-checkpoint"} {
			data, err := os.ReadFile(filepath.Join(from, broker, "unclean-demo-0", file))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				write(t, filepath.Join(dir, broker, fmt.Sprintf("orders-%d", i), file), string(data))
			}
		}
	}
	code, out, _ := kafsck(dir)
	if code != exitFindings || strings.Count(out, "\n") > 20 {
		t.Errorf("exit code %d, %d lines:\n%s", code, strings.Count(out, "\n"), out)
	}
	if !strings.HasPrefix(out, "LOST?  6,000 records that may have been committed, in 60 partitions:\n") || !regexp.MustCompile(`… and \d+ more: kafsck loss `).MatchString(out) {
		t.Errorf("got\n%s", out)
	}
	_, out, _ = kafsck("loss", dir)
	for i := range n {
		if !strings.Contains(out, fmt.Sprintf("\norders-%d\n", i)) {
			t.Errorf("loss does not tell of orders-%d", i)
		}
	}
}

// TestInterrupted: an interrupt ends every command with 130 and no summary.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	for _, args := range [][]string{{}, {"ls"}, {"diff"}, {"loss"}, {"epochs"}} {
		for _, extra := range [][]string{nil, {"--json"}, {"--quiet"}} {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			var out, errs bytes.Buffer
			a := &app{stdout: &out, stderr: &errs}
			run := slices.Concat(args, extra, []string{dir})
			if code := a.explain(a.execute(ctx, run)); code != exitInterrupted || strings.Contains(out.String(), "summary") || strings.Contains(out.String(), "Checked:") {
				t.Errorf("%q: exit code %d, %s%s", run, code, out.String(), errs.String())
			}
		}
	}
}

func TestBugOfOurs(t *testing.T) {
	var errs bytes.Buffer
	a := &app{stderr: &errs}
	if code := a.guard(func() int { panic("broken invariant \x1b") }); code != exitBug {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); !strings.HasPrefix(got, "kafsck: a bug of ours: broken invariant \\x1b\n") || !strings.Contains(got, "main_test.go") {
		t.Errorf("got\n%s", got)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestResultCannotBeWritten(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-a")
	for _, args := range [][]string{{dir}, {"ls", dir}, {"diff", "--json", dir}, {"loss", dir}, {"completion", "bash"}, {"--help"}} {
		var errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), failing{io.ErrShortWrite}, &errs); code&exitIncomplete == 0 || !strings.Contains(errs.String(), "writing the result") {
			t.Errorf("%q: exit code %d, %s", args, code, errs.String())
		}
	}
}
