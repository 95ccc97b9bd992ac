package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// TestRepairFailedReads lets every operation on every file fail in turn: the exit
// code has bit 2, nothing is written, and nobody speaks of damage.
func TestRepairFailedReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	if err := os.Remove(filepath.Join(dir, "broker-1/unclean-demo-0/leader-epoch-checkpoint")); err != nil {
		t.Fatal(err)
	}
	names := namesBelow(t, dir)
	if testing.Short() {
		names = sampled(names, 7)
	}
	outs := t.TempDir()
	run := 0
	for _, op := range []string{"open", "readdir", "lstat", "stat", "read"} {
		for _, name := range names {
			for _, json := range []bool{false, true} {
				whole, err := rofs.Dir(dir)
				if err != nil {
					t.Fatal(err)
				}
				asked := false
				c, err := logdir.DiscoverFS(rofs.Fault(whole, func(o, n string, _, _ int64) error {
					if o == op && n == name {
						asked = true
						return syscall.EIO
					}
					return nil
				}), "x", logdir.Options{})
				if err != nil {
					continue
				}
				run++
				out := filepath.Join(outs, strconv.Itoa(run))
				var stdout, stderr bytes.Buffer
				a := &app{stdout: &stdout, stderr: &stderr, rawErr: &stderr, json: json}
				o := &repairEpochsOptions{out: out, source: "merge"}
				code := 0
				if err := repairEpochsCase(context.Background(), a, newRepairEpochsCommand(a), c, []string{"x"}, o, []string{""}); err != nil {
					a.explain(err)
				}
				code = a.bits
				_, statErr := os.Lstat(out)
				written := !errors.Is(statErr, fs.ErrNotExist)
				text := stdout.String() + stderr.String()
				switch {
				case asked && code&exitIncomplete == 0:
					t.Errorf("%s %s: exit code %d\n%s", op, name, code, text)
				case asked && written:
					t.Errorf("%s %s: written all the same", op, name)
				case !asked && (code != 0 || !written):
					t.Errorf("%s %s: nothing failed, exit code %d\n%s", op, name, code, text)
				case asked && (strings.Contains(text, "damage") || strings.Contains(text, "corrupt")):
					t.Errorf("%s %s: a failed read is called damage:\n%s", op, name, text)
				}
			}
		}
	}
}

// TestRepairHostileNames: no byte of a name reaches the terminal as it is.
func TestRepairHostileNames(t *testing.T) {
	dir := t.TempDir()
	evil := "\x1b]0;owned\x07\u202e-0"
	log := filepath.Join(dir, "broker\x1b[2J", evil)
	write(t, filepath.Join(log, "00000000000000000000.log"), "")
	write(t, filepath.Join(log, "leader-epoch-checkpoint"), "0\n1\n3 \x1b[31m\n")
	for i, flags := range [][]string{nil, {"--json"}, {"--changed"}} {
		code, stdout, stderr := kafsck(append([]string{"repair", "epochs", dir, "--out", filepath.Join(t.TempDir(), "out\x1b"+strconv.Itoa(i))}, flags...)...)
		if code != 0 {
			t.Errorf("%v: exit code %d, %s", flags, code, stderr)
		}
		for _, r := range stdout + stderr {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Errorf("%v: %U reaches the terminal:\n%q", flags, r, stdout+stderr)
				break
			}
		}
	}
}

// TestRepairOtherNames: a name that cannot be written keeps nobody else's file back.
func TestRepairOtherNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bad\xff\xfe-1", "t-0"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Skip("names are UTF-8 here: ", err)
		}
		write(t, filepath.Join(dir, name, "00000000000000000000.log"), "")
	}
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := kafsck("repair", "epochs", dir, "--out", out)
	if code != exitIncomplete || !strings.Contains(stderr, `bad\xff\xfe-1: its name is not UTF-8`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "t-0", "leader-epoch-checkpoint")); err != nil {
		t.Error(err)
	}
}

// TestRepairWhileWritten: an epoch file that is written to, or a segment that goes,
// during the run is a refusal, not a failed read.
func TestRepairWhileWritten(t *testing.T) {
	for _, c := range []struct {
		file   string
		open   int // at which open of the file it is changed
		change func(path string) error
	}{
		{"leader-epoch-checkpoint", 2, func(path string) error { return os.WriteFile(path, []byte("0\n1\n7 0\n"), 0o600) }},
		{"leader-epoch-checkpoint", 3, func(path string) error { return os.WriteFile(path, []byte("0\n1\n7 0\n"), 0o600) }},
		{"leader-epoch-checkpoint", 2, os.Remove},
		{"00000000000000000000.log", 1, os.Remove},
		{"00000000000000000000.log", 1, func(path string) error { return os.Truncate(path, 100) }},
	} {
		dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b", "broker-1")
		name := "unclean-demo-0/" + c.file
		whole, err := rofs.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		opened := 0
		found, err := logdir.DiscoverFS(rofs.Fault(whole, func(op, n string, _, _ int64) error {
			if op != "open" || n != name {
				return nil
			}
			if opened++; opened == c.open {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.Chmod(filepath.Dir(path), 0o700), os.Chmod(path, 0o600)); err != nil {
					t.Error(err)
				}
				if err := c.change(path); err != nil {
					t.Error(err)
				}
			}
			return nil
		}), "x", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		var stdout, stderr bytes.Buffer
		a := &app{stdout: &stdout, stderr: &stderr, rawErr: &stderr}
		err = repairEpochsCase(context.Background(), a, newRepairEpochsCommand(a), found, []string{"x"}, &repairEpochsOptions{out: out, source: "merge"}, []string{""})
		if err != nil {
			a.explain(err)
		}
		if a.bits != exitRefused || !strings.Contains(stderr.String(), "changed") {
			t.Errorf("%s at open %d: exit code %d, %s", c.file, c.open, a.bits, stderr.String())
		}
		if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s at open %d: written all the same", c.file, c.open)
		}
	}
}

// TestRepairLiveWitness: the result says when it rests on files that a broker goes on
// writing to.
func TestRepairLiveWitness(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	own := filepath.Join(dir, "broker-1")
	c, err := logdir.Discover([]string{own, filepath.Join(dir, "broker-2")}, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Brokers[1].Dirs[0].Live = true
	root, err := realPath(own)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, rawErr: &stderr}
	o := &repairEpochsOptions{out: filepath.Join(t.TempDir(), "out"), source: "merge"}
	if err := repairEpochsCase(context.Background(), a, newRepairEpochsCommand(a), c, []string{own}, o, []string{root}); err != nil {
		t.Error(err)
	}
	if text := strings.Join(strings.Fields(stdout.String()), " "); !strings.Contains(text, "note a running broker holds the lock on broker-2") {
		t.Errorf("no note:\n%s%s", stdout.String(), stderr.String())
	}
}
