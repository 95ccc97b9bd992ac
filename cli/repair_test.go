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
