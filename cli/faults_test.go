package cli

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/report"
)

// TestFailedReads lets every operation on every file of a recording fail in
// turn and runs every command over it: the exit code has bit 2, the path is
// named, and a failed read is never called damage, nor is there an all-clear.
func TestFailedReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	names := namesBelow(t, dir)
	if testing.Short() {
		names = sampled(names, 7)
	}
	commands := map[string]func(a *app, c *logdir.Case) error{
		"triage": func(a *app, c *logdir.Case) error {
			o := &triageOptions{judge: judgeOptions{failOn: severityFlag(finding.Warning)}}
			return triageCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, o, incident.Options{})
		},
		"diff": func(a *app, c *logdir.Case) error {
			return diffCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &diffOptions{}, incident.Options{})
		},
		"loss": func(a *app, c *logdir.Case) error {
			return lossCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &lossOptions{}, incident.Options{})
		},
		"check": func(a *app, c *logdir.Case) error {
			o := &checkOptions{level: levelFlag(report.LevelRecords), judge: judgeOptions{failOn: severityFlag(finding.Warning)}}
			return checkCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, o, incident.Options{})
		},
		"check files": func(a *app, c *logdir.Case) error {
			o := &checkOptions{level: levelFlag(report.LevelFiles), judge: judgeOptions{failOn: severityFlag(finding.Warning)}}
			return checkCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, o, incident.Options{})
		},
		"history": func(a *app, c *logdir.Case) error {
			return historyCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &historyOptions{}, incident.Options{})
		},
		"history all": func(a *app, c *logdir.Case) error {
			return historyCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &historyOptions{all: true}, incident.Options{})
		},
		"epochs": func(a *app, c *logdir.Case) error {
			return epochsCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &epochsOptions{})
		},
		"ls": func(a *app, c *logdir.Case) error {
			return lsCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, &lsOptions{})
		},
	}
	for _, op := range []string{"open", "readdir", "lstat", "stat", "read"} {
		for _, name := range names {
			asked := false
			for verb, run := range commands {
				for _, json := range []bool{false, true} {
					asked = false
					whole, err := rofs.Dir(dir) // the command closes it
					if err != nil {
						t.Fatal(err)
					}
					faulty := rofs.Fault(whole, func(o, n string, pos, length int64) error {
						if o == op && n == name {
							asked = true
							return syscall.EIO
						}
						return nil
					})
					c, err := logdir.DiscoverFS(faulty, "x", logdir.Options{})
					if err != nil {
						t.Fatal(err)
					}
					var out, errs bytes.Buffer
					a := &app{stdout: &out, stderr: &errs, json: json}
					code := a.guard(func() int {
						if err := run(a, c); err != nil {
							return a.explain(err)
						}
						return a.bits
					})
					if !asked {
						continue // this command does not need it
					}
					all := out.String() + errs.String()
					if code&exitIncomplete == 0 || code > 3 {
						t.Errorf("%s of %s fails, %s: exit code %d\n%s", op, name, verb, code, all)
					}
					if !strings.Contains(strings.Join(strings.Fields(all), " "), "input/output error") { // lines are wrapped
						t.Errorf("%s of %s fails, %s does not say so:\n%s", op, name, verb, all)
					}
					if strings.Contains(all, "DAMAGED") || strings.Contains(all, "orrupt") || slices.ContainsFunc(strings.Split(all, "\n"), func(l string) bool { return strings.HasPrefix(l, "OK ") }) {
						t.Errorf("%s of %s fails, %s draws a conclusion from it:\n%s", op, name, verb, all)
					}
				}
			}
		}
	}
}

// sampled is every nth of a list: for the race detector, which sees the same goroutines in all.
func sampled[T any](list []T, nth int) []T {
	var out []T
	for i := 0; i < len(list); i += nth {
		out = append(out, list[i])
	}
	return out
}

// namesBelow lists everything below dir, with slashes.
func namesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
