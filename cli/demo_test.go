package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/demodata"
)

// What the demo shows under each prompt is what that command prints on the extracted
// directories, and the last line of the demo is how to get these.
func TestDemoIsReal(t *testing.T) {
	t.Chdir(t.TempDir())
	story, errs, code := typed(t, "demo")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, stderr: %s", code, errs)
	}
	if n := strings.Count(story, "\n"); n > 66 {
		t.Errorf("%d lines are too long a story", n)
	}
	var commands []string
	for line := range strings.Lines(story) {
		if command, ok := strings.CutPrefix(line, "$ kafsck "); ok {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	last := len(commands) - 1
	if last != 3 || commands[last] != "demo --extract unclean-election" {
		t.Fatalf("commands %q", commands)
	}
	if _, errs, code := typed(t, strings.Fields(commands[last])...); code != 0 {
		t.Fatalf("exit code %d, stderr: %s", code, errs)
	}
	for _, command := range commands[:last] {
		out, errs, code := typed(t, strings.Fields(command)...)
		if code != exitFindings || errs != "" {
			t.Errorf("%s: exit code %d, stderr: %s", command, code, errs)
		}
		if want := "$ kafsck " + command + "\n" + out; !strings.Contains(story, want) {
			t.Errorf("the demo does not show\n%s", want)
		}
	}
	if !strings.Contains(story, "Of 220 records that producers were told are safe, 100 are not in the leader's log.") {
		t.Errorf("the comparison with the acknowledgements is missing:\n%s", story)
	}
}

func TestDemoJSON(t *testing.T) {
	out, errs, code := typed(t, "demo", "--json")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, stderr: %s", code, errs)
	}
	var types []string
	for line := range strings.Lines(out) {
		var l struct {
			Type, Command, Committed, Acknowledged string
			From, To, Records                      int64
			ExitCode                               int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		types = append(types, l.Type)
		switch l.Type {
		case "kafsck":
			if l.Command != "demo" {
				t.Errorf("command %q", l.Command)
			}
		case "loss":
			if l.From != 100 || l.To != 200 || l.Records != 100 || l.Committed != "yes" || l.Acknowledged != "all" {
				t.Errorf("%+v", l)
			}
		case "summary":
			if l.ExitCode != 0 {
				t.Errorf("%+v", l)
			}
		}
	}
	if got := strings.Join(types, " "); got != "kafsck ruling loss summary" {
		t.Errorf("lines: %s", got)
	}
	for _, args := range [][]string{{"demo", "-q"}, {"demo", "-q", "--json"}} {
		if out, errs, code := typed(t, args...); out+errs != "" || code != 0 {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

func TestDemoExtract(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{filepath.Join(dir, "new"), empty} {
		if _, errs, code := typed(t, "demo", "--extract", target); code != 0 {
			t.Fatalf("exit code %d, stderr: %s", code, errs)
		}
		recording := demodata.Recording()
		err := fs.WalkDir(recording, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			want, err := fs.ReadFile(recording, name)
			if err != nil {
				return err
			}
			got, err := os.ReadFile(filepath.Join(target, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			wantInfo, err := e.Info()
			if err != nil {
				return err
			}
			info, err := os.Stat(filepath.Join(target, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			if string(got) != string(want) || !info.ModTime().Equal(wantInfo.ModTime()) {
				t.Errorf("%s: content or time (%v, want %v) is not the recording's", name, info.ModTime(), wantInfo.ModTime())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Nothing is written over what is there.
		out, errs, code := typed(t, "demo", "--extract", target)
		if code != exitRefused || out != "" || !strings.Contains(errs, "exists and is not empty; nothing was written") {
			t.Errorf("exit code %d\n%s%s", code, out, errs)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%d entries are left, want 2: %v", len(entries), err)
	}
	for code, args := range map[int][]string{
		exitIncomplete: {"demo", "--extract", filepath.Join(dir, "no", "such")},
		exitUsage:      {"demo", "--extract", "", "--json"},
	} {
		if _, errs, got := typed(t, args...); got != code || errs == "" {
			t.Errorf("%q: exit code %d, want %d; stderr: %s", args, got, code, errs)
		}
	}
	if _, _, code := typed(t, "demo", "--extract", ""); code != exitUsage {
		t.Errorf("an empty name: exit code %d", code)
	}
}
