package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/report"
)

// TestOneUnreadableFileOfAThousand: of a log directory with a thousand partitions one file
// cannot be read. Every verb names it and says that it is incomplete, and tells of all others.
func TestOneUnreadableFileOfAThousand(t *testing.T) {
	t.Parallel()
	one := logtest.FS(t, "topic t-0 ; segment 0\nbatch records=2\nepochs 0:0")
	files := fstest.MapFS{"meta.properties": {Data: []byte("version=0\nbroker.id=1\n"), Mode: 0o644}}
	for i := range 1000 {
		for name, f := range one {
			if at := strings.Index(name, "t-0/"); at >= 0 && !f.Mode.IsDir() {
				files[fmt.Sprintf("t-%d/%s", i, name[at+len("t-0/"):])] = f
			}
		}
	}
	const bad = "t-500/00000000000000000000.log"
	if files[bad] == nil {
		t.Fatal("no such file")
	}
	fault := func(op, name string, _, _ int64) error {
		if op == "read" && name == bad {
			return syscall.EIO
		}
		return nil
	}
	judge := judgeOptions{failOn: severityFlag(finding.Warning)}
	verbs := map[string]func(a *app, c *logdir.Case) error{
		"check": func(a *app, c *logdir.Case) error {
			return checkCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &checkOptions{level: levelFlag(report.LevelBatches), judge: judge}, incident.Options{})
		},
		"triage": func(a *app, c *logdir.Case) error {
			return triageCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &triageOptions{judge: judge}, incident.Options{})
		},
		"ls": func(a *app, c *logdir.Case) error {
			return lsCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &lsOptions{})
		},
		"dump": func(a *app, c *logdir.Case) error {
			defer c.Close()
			d := newDumper(a, &dumpOptions{records: true, offsets: everyOffset, values: valueFormat(report.ValueAuto)})
			d.wholeCase(context.Background(), c)
			return d.finish(context.Background())
		},
	}
	for verb, run := range verbs {
		for _, asJSON := range []bool{true, false} {
			c, err := logdir.DiscoverFS(rofs.Fault(rofs.FromFS(files), fault), "x", logdir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			a := &app{stdout: &out, stderr: &errs, json: asJSON}
			code := a.guard(func() int {
				if err := run(a, c); err != nil {
					return a.explain(err)
				}
				return a.bits
			})
			if code != exitIncomplete && code != exitIncomplete|exitFindings {
				t.Errorf("%s: exit code %d", verb, code)
			}
			if all := out.String() + errs.String(); !strings.Contains(all, bad) || !strings.Contains(strings.Join(strings.Fields(all), " "), "input/output error") {
				t.Errorf("%s does not say which file it could not read", verb)
			}
			if !asJSON {
				continue
			}
			told := map[string]bool{}
			var summary map[string]any
			for _, l := range lines(t, out.String()) {
				switch p, _ := l["partition"].(string); {
				case l["type"] == "summary":
					summary = l
				case p != "":
					told[p] = true
				}
			}
			switch verb {
			case "ls":
				if len(told) != 1000 {
					t.Errorf("ls tells of %d partitions", len(told))
				}
			case "dump":
				if summary["recordsShown"].(interface{ String() string }).String() != "1998" {
					t.Errorf("dump: %v", summary)
				}
			default:
				if summary["batches"].(interface{ String() string }).String() != "999" {
					t.Errorf("%s: %v", verb, summary)
				}
			}
		}
	}
}

// TestDumpBeyond2GiB: positions in a segment are 64 bits wide. The file is sparse: a batch, 3 GiB
// of zeros, a batch.
func TestDumpBeyond2GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 3 GiB of zeros")
	}
	t.Parallel()
	const far = 3 << 30
	dir := logtest.Dir(t, "topic t-0 ; segment 0\nbatch records=2")
	var path string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if filepath.Ext(p) == ".log" {
			path = p
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatal(path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	batch := logtest.Batch{BaseOffset: 2, Records: []logtest.Record{{Value: []byte("far")}}}
	if _, err := file.WriteAt(batch.Encode(), far); err != nil {
		t.Fatal(err)
	}
	if got := dumpLines(t, exitFindings, path); len(got) != 3 || got[2].Position != far || got[2].From != 2 {
		t.Errorf("got %+v", got)
	}
	got := dumpLines(t, 0, "--positions", fmt.Sprintf("%d..", far), path)
	if len(got) != 1 || got[0].Position != far {
		t.Errorf("--positions: %+v", got)
	}
}
