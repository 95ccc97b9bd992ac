package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
)

// TestChangedWhileRead: .log files that grow, shrink or go between the listing and the end of the
// reading are a note of check, triage, loss and dump, in text and JSON, and no error.
func TestChangedWhileRead(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	logs, err := filepath.Glob(filepath.Join(dir, "broker-*", "*-0", "00000000000000000000.log"))
	if err != nil || len(logs) < 2 {
		t.Fatal(logs, err)
	}
	whole, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]func(a *app, c *logdir.Case) error{
		"check": func(a *app, c *logdir.Case) error {
			return checkCase(t.Context(), a, newCheckCommand(a), c, []string{dir}, &checkOptions{level: "batches"}, incident.Options{})
		},
		"triage": func(a *app, c *logdir.Case) error {
			return triageCase(t.Context(), a, &cobra.Command{Use: "kafsck"}, c, []string{dir}, &triageOptions{}, incident.Options{})
		},
		"dump": func(a *app, c *logdir.Case) error {
			d := newDumper(a, &dumpOptions{offsets: everyOffset, values: "auto"})
			d.wholeCase(t.Context(), c)
			return d.finish(t.Context())
		},
	}
	for _, what := range []struct {
		says   string
		change func() error
	}{
		{"grew by 61 bytes", func() error { return os.WriteFile(logs[0], append(bytes.Clone(whole), whole[:61]...), 0o666) }},
		{"was written to", func() error { return os.Chtimes(logs[0], time.Time{}, time.Now().Add(time.Hour)) }},
		{"", func() error { return nil }},
	} {
		for verb, run := range verbs {
			for _, json := range []bool{false, true} {
				if err := os.WriteFile(logs[0], whole, 0o666); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				a := &app{stdout: &out, stderr: &errs, rawOut: &out, rawErr: &errs, json: json}
				c, err := a.discover([]string{dir}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := what.change(); err != nil {
					t.Fatal(err)
				}
				if err := run(a, c); err != nil || errs.Len() > 0 || a.bits&exitIncomplete != 0 {
					t.Errorf("%s, %s: %v, %s", verb, what.says, err, errs.String())
				}
				got := strings.Join(strings.Fields(out.String()), " ")
				want := "00000000000000000000.log " + what.says + " while it was read: a process is writing here"
				if what.says == "" {
					if strings.Contains(got, "while it was read") {
						t.Errorf("%s: a change where there was none:\n%s", verb, got)
					}
				} else if !strings.Contains(got, want) || json && !strings.Contains(got, `"kind":"changed"`) {
					t.Errorf("%s, json %v: no %q:\n%s", verb, json, want, got)
				}
			}
		}
	}
}

// TestChanged has what a run cannot be made to see in time.
func TestChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t-0")
	var names []string
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6"} {
		names = append(names, filepath.Join(dir, strings.Repeat("0", 19)+n+".log"))
		write(t, names[len(names)-1], "12345")
	}
	c, _ := logdir.Discover([]string{dir}, logdir.Options{})
	defer c.Close()
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	for _, n := range names[1:] {
		write(t, n, "1")
	}
	var x changed
	for p := range c.AllPartitions() {
		for f := range p.AllFiles() {
			x.look(f)
		}
	}
	notes := x.notes()
	if len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "7 .log files changed while they were read: ") || !strings.Contains(notes[0].Text, "0.log was deleted or renamed; also ") || !strings.Contains(notes[0].Text, "4.log and 2 more: ") {
		t.Errorf("%v", notes)
	}
	x = changed{}
	for p := range c.AllPartitions() {
		for f := range p.AllFiles() {
			if f.BaseOffset == 3 {
				x.look(f)
			}
		}
	}
	if notes := x.notes(); len(notes) != 1 || !strings.Contains(notes[0].Text, "3.log shrank by 4 bytes while it was read") {
		t.Errorf("%v", notes)
	}
}
